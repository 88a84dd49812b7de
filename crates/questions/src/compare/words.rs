//! The verdict: which is better at what, by how much, whether that is more than chance, and where it comes from.
//!
//! The order of the columns does not matter: what is best is held against the others.

use hopscope_files::quantity::digits;
use hopscope_machine::price::digits_per_dollar;

use super::{Change, Column, Comparison, Group, StageChange};

/// A stage is named where it makes up so much of a difference.
const NAMED: f64 = 0.1;
/// Stages of a difference that are named, at most.
const NAMED_MAX: usize = 3;
/// The same ratio, for readers.
const SAME_RATIO: f64 = 0.005;
const NO_DIFFERENCE: &str = "no difference that these runs could show";

/// A figure of which a verdict speaks.
struct Figure {
    value: fn(&Column) -> Option<f64>,
    wide: fn(&Column) -> Option<f64>,
    /// Whether more of it is better.
    more: bool,
}

const THROUGHPUT: Figure =
    Figure { value: |column| column.throughput_bytes_per_s, wide: |column| column.interval, more: true };
const IOPS: Figure = Figure { value: |column| column.iops, wide: |column| column.interval, more: true };
const LATENCY: Figure = Figure { value: |column| column.latency_mean_ns, wide: Column::latency_interval, more: false };
const P99: Figure = Figure { value: |column| column.latency_p99_ns, wide: |_| None, more: false };

/// Columns by a figure: the best, those that are as good as anybody can tell, and the others, each with how much larger
/// the larger figure of it and the best is.
struct Ranking<'a> {
    best: (&'a Column, f64),
    as_good: Vec<(&'a Column, f64)>,
    others: Vec<(&'a Column, f64, Change)>,
}

impl Comparison {
    /// What a group comes to, in sentences; the answer first.
    pub fn verdict(&self, group: &Group) -> Vec<String> {
        let columns: Vec<&Column> = self.of(group).collect();
        let mut lines = vec![throughput(&columns)];
        lines.extend(requests(&columns));
        lines.extend(latency(&columns));
        lines.extend(tail(&columns));
        lines.extend(limits(&columns));
        lines.extend(columns.iter().filter_map(|column| phase(column)));
        lines.extend(sources(&columns));
        lines.extend(processor(&columns));
        lines.extend(price(&columns));
        lines.extend(self.beyond_tolerance(group));
        lines
    }

    fn beyond_tolerance(&self, group: &Group) -> Option<String> {
        let (tolerance, first) = (self.tolerance?, &self.columns[*group.columns.first()?].name);
        let exceeded = self.exceeded();
        let worse: Vec<&str> = group
            .columns
            .iter()
            .filter(|index| exceeded.contains(index))
            .map(|index| &self.columns[*index].name[..])
            .collect();
        let most = percent(tolerance);
        Some(match &worse[..] {
            [] => format!("None is worse than {first} by more than {most}."),
            worse => format!("Worse than {first} by more than {most}: {}.", list(worse)),
        })
    }
}

impl Figure {
    /// Nothing where fewer than two have it.
    fn ranking<'a>(&self, columns: &[&'a Column]) -> Option<Ranking<'a>> {
        let mut known: Vec<(&Column, f64)> =
            columns.iter().filter_map(|column| Some((*column, (self.value)(column)?))).collect();
        let better = |a: f64, b: f64| if self.more { b.total_cmp(&a) } else { a.total_cmp(&b) };
        known.sort_by(|a, b| better(a.1, b.1).then_with(|| a.0.name.cmp(&b.0.name)));
        let ([best, rest @ ..], [_, _, ..]) = (&known[..], &known[..]) else { return None };
        let (mut as_good, mut others) = (Vec::new(), Vec::new());
        for (column, value) in rest {
            let (best_side, side) = ((best.1, (self.wide)(best.0)), (*value, (self.wide)(column)));
            let (large, small) = if self.more { (best_side, side) } else { (side, best_side) };
            match Change::of(large, small) {
                Some(change) if change.is_one() => others.push((*column, *value, change)),
                Some(_) => as_good.push((*column, *value)),
                None => {}
            }
        }
        Some(Ranking { best: *best, as_good, others })
    }
}

impl Ranking<'_> {
    /// Where no interval is known of what is told apart.
    fn doubt(&self) -> &'static str {
        let is_known = self.others.iter().all(|(.., change)| change.sure.is_some());
        if is_known { "" } else { " Not of all is an interval known: some of that may be chance." }
    }

    /// The best, and those that are as good.
    fn first(&self) -> String {
        let names: Vec<&str> =
            [self.best.0].into_iter().chain(self.as_good.iter().map(|of| of.0)).map(|of| &of.name[..]).collect();
        list(&names)
    }

    /// How many there are.
    fn count(&self) -> usize {
        1 + self.as_good.len() + self.others.len()
    }
}

fn throughput(columns: &[&Column]) -> String {
    let silent: Vec<&str> =
        columns.iter().filter(|column| column.throughput_bytes_per_s.is_none()).map(|of| &of.name[..]).collect();
    let silence = if silent.is_empty() { String::new() } else { format!(" No transfer ended on {}.", list(&silent)) };
    let Some(ranking) = THROUGHPUT.ranking(columns) else {
        return format!("There are no two figures to compare.{silence}");
    };
    let (best, rates) = (ranking.first(), rates(&ranking));
    if ranking.others.is_empty() {
        return format!("{}: {best} get {rates}.{silence}", capital(NO_DIFFERENCE));
    }
    let others = ranking
        .others
        .iter()
        .map(|(column, value, change)| format!("{} {} ({})", larger(*change, "more than"), column.name, rate(*value)));
    let others = others.collect::<Vec<_>>().join(", ");
    let doubt = ranking.doubt();
    if ranking.as_good.is_empty() {
        let word = if ranking.count() == 2 { "faster" } else { "fastest" };
        format!("{best} is {word}: {rates}, {others}.{doubt}{silence}")
    } else {
        format!("{best} are fastest, with {NO_DIFFERENCE} between them: {rates}; {others}.{doubt}{silence}")
    }
}

/// The throughput of the best, and of those that are as good, with its interval.
fn rates(ranking: &Ranking<'_>) -> String {
    let each = |(column, value): (&Column, f64)| match column.interval {
        Some(wide) if wide >= 5e-4 => format!("{} (±{})", rate(value), percent(wide)),
        _ => rate(value),
    };
    let all: Vec<String> = [ranking.best].into_iter().chain(ranking.as_good.iter().copied()).map(each).collect();
    if all.windows(2).all(|pair| pair[0] == pair[1]) { all[0].clone() } else { list(&all) }
}

/// Requests per second, where they say something else than bytes per second.
fn requests(columns: &[&Column]) -> Option<String> {
    let sizes: Vec<f64> = columns
        .iter()
        .filter_map(|column| Some(column.throughput_bytes_per_s? / column.iops.filter(|iops| *iops > 0.0)?))
        .collect();
    let (least, most) =
        sizes.iter().fold((f64::INFINITY, 0.0), |(least, most), size| (size.min(least), size.max(most)));
    if sizes.len() < 2 || most / least - 1.0 <= SAME_RATIO {
        return None;
    }
    let ranking = IOPS.ranking(columns)?;
    if ranking.others.is_empty() {
        return Some(format!("In requests per second there is {NO_DIFFERENCE}."));
    }
    let first = ranking.first();
    let others = ranking
        .others
        .iter()
        .map(|(column, value, change)| format!("{} {} ({})", larger(*change, "more than"), column.name, iops(*value)));
    let others = others.collect::<Vec<_>>().join(", ");
    Some(format!("Their requests differ in size. {first} does most of them: {}, {others}.", iops(ranking.best.1)))
}

fn latency(columns: &[&Column]) -> Option<String> {
    let ranking = LATENCY.ranking(columns)?;
    if ranking.others.is_empty() {
        let all: Vec<String> = [ranking.best].iter().chain(&ranking.as_good).map(|(_, value)| span(*value)).collect();
        let all = if all.windows(2).all(|pair| pair[0] == pair[1]) { all[0].clone() } else { list(&all) };
        return Some(if told_apart(columns) {
            format!("In the mean latency there is {NO_DIFFERENCE}: {all}.")
        } else {
            format!("Nor in the mean latency: {all}.")
        });
    }
    let others = ranking
        .others
        .iter()
        .map(|(column, value, change)| format!("{} takes {} ({})", column.name, longer(*change), span(*value)));
    let (first, others, doubt) = (ranking.first(), others.collect::<Vec<_>>().join(", "), ranking.doubt());
    let verb = if ranking.as_good.is_empty() { "answers" } else { "answer" };
    let word = if ranking.count() == 2 { "sooner" } else { "soonest" };
    let best = span(ranking.best.1);
    Some(format!("{first} {verb} {word}, after {best} on average; {others}.{doubt}"))
}

/// Whether the throughputs differ.
fn told_apart(columns: &[&Column]) -> bool {
    THROUGHPUT.ranking(columns).is_some_and(|ranking| !ranking.others.is_empty())
}

/// The 99th percentile, where another one than that with the best mean is best there.
fn tail(columns: &[&Column]) -> Option<String> {
    let (mean, p99) = (LATENCY.ranking(columns)?, P99.ranking(columns)?);
    let is_as_good = |column: &Column| {
        [p99.best.0].into_iter().chain(p99.as_good.iter().map(|of| of.0)).any(|of| of.name == column.name)
    };
    let of_best = p99.others.iter().find(|(column, ..)| column.name == mean.best.0.name)?;
    if is_as_good(mean.best.0) || of_best.2.share < SAME_RATIO {
        return None;
    }
    let (best, other, value) = (&p99.best.0.name, &mean.best.0.name, span(of_best.1));
    let taken = span(p99.best.1);
    Some(format!("Of the slowest in a hundred it is the other way round: {taken} on {best}, {value} on {other}."))
}

fn limits(columns: &[&Column]) -> Option<String> {
    let known: Vec<_> = columns.iter().filter_map(|column| Some((&column.name, column.limit.as_ref()?))).collect();
    let (_, first) = known.first()?;
    let gain = |limit: &super::Limit| format!("{} {}", signed(limit.gain), limit.tried());
    if known.len() > 1 && known.len() == columns.len() && known.iter().all(|(_, limit)| limit.what() == first.what()) {
        let each: Vec<String> = known.iter().map(|(name, limit)| format!("{name} {}", gain(limit))).collect();
        return Some(format!("All of them are limited by {}: {}.", first.what(), each.join(", ")));
    }
    let each = known.iter().map(|(name, limit)| format!("{name} is limited by {} ({})", limit.what(), gain(limit)));
    Some(each.collect::<Vec<_>>().join("; ") + ".")
}

/// What of a run that is not the same all along is compared.
fn phase(column: &Column) -> Option<String> {
    let (phase, name) = (column.phase?, &column.name);
    let (from, until) = (span(phase.from_ps / 1e3), span(phase.until_ps / 1e3));
    Some(format!("What limits {name}, and where its time goes, is of {from} to {until}: it is not the same all along."))
}

/// Where each difference in latency comes from: of those that answer later, against the one that answers soonest.
fn sources(columns: &[&Column]) -> Vec<String> {
    let Some(ranking) = LATENCY.ranking(columns) else { return Vec::new() };
    let mut lines = Vec::new();
    let mut mute: Vec<&str> = Vec::new();
    for (column, ..) in &ranking.others {
        let changes = column.against(ranking.best.0).stages;
        let total: f64 = changes.iter().map(StageChange::longer_ns).sum();
        if changes.is_empty() {
            let without = [*column, ranking.best.0].into_iter().filter(|of| of.stages.is_empty());
            mute.extend(without.map(|of| &of.name[..]).filter(|name| !mute.contains(name)).collect::<Vec<_>>());
        } else if total > 0.0 {
            lines.push(source(&column.name, &changes, total));
        }
    }
    if !mute.is_empty() {
        lines.push(format!("Where that comes from is not in {}: only `explain` says it.", list(&mute)));
    }
    lines
}

fn source(name: &str, changes: &[StageChange], total: f64) -> String {
    let named = |change: &&StageChange| change.longer_ns().abs() >= NAMED * total;
    let each = |change: &StageChange| {
        let (is, was) = (change.stage.mean_ns, change.against_ns);
        let words = change.stage.words();
        match (was > 0.0, is > 0.0) {
            (false, _) => format!("{words}, {}", span(is)),
            (true, false) => format!("{words}, none instead of {}", span(was)),
            (true, true) => format!("{words}, {} instead of {}", span(is), span(was)),
        }
    };
    let longer: Vec<String> =
        changes.iter().filter(|of| of.longer_ns() > 0.0).filter(named).take(NAMED_MAX).map(each).collect();
    let shorter: Vec<String> =
        changes.iter().filter(|of| of.longer_ns() < 0.0).filter(named).take(NAMED_MAX).map(each).collect();
    let longer = if longer.is_empty() { "many small stages".to_string() } else { longer.join("; ") };
    let against = if shorter.is_empty() { String::new() } else { format!(". Against that: {}", shorter.join("; ")) };
    format!("The {} more of {name}: {longer}{against}.", span(total))
}

fn processor(columns: &[&Column]) -> Option<String> {
    let of = |column: &&Column| {
        let ps = column.processor.as_ref()?.ps_per_request?;
        Some(format!("{} on {}", span(ps / 1e3), column.name))
    };
    let each: Vec<String> = columns.iter().filter_map(of).collect();
    (!each.is_empty()).then(|| format!("A request costs the processor {}.", each.join(", ")))
}

fn price(columns: &[&Column]) -> Option<String> {
    let of = |column: &&Column| {
        let price = column.price_usd?;
        Some(format!("{} gives {} MB/s", column.name, digits_per_dollar(price.mb_per_s_per_usd?)))
    };
    let each: Vec<String> = columns.iter().filter_map(of).collect();
    let whole = columns.iter().any(|column| column.price_usd.is_some_and(|price| price.computer.is_some()));
    let of = if whole { "the machine" } else { "its parts" };
    (!each.is_empty()).then(|| format!("For a dollar of {of} {}.", each.join(", ")))
}

/// How much more the larger is.
fn larger(change: Change, than: &str) -> String {
    match change.share {
        share if share >= 1.0 => format!("{} times as much as", digits(1.0 + share)),
        share => format!("{} {than}", percent(share)),
    }
}

fn longer(change: Change) -> String {
    match change.share {
        share if share >= 1.0 => format!("{} times as long", digits(1.0 + share)),
        share => format!("{} longer", percent(share)),
    }
}

fn list(names: &[impl AsRef<str>]) -> String {
    match names {
        [] => String::new(),
        [one] => one.as_ref().to_string(),
        [rest @ .., last] => {
            let rest: Vec<&str> = rest.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", rest.join(", "), last.as_ref())
        }
    }
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn rate(bytes_per_second: f64) -> String {
    format!("{} MB/s", digits(bytes_per_second / 1e6))
}

fn iops(iops: f64) -> String {
    format!("{} IOPS", digits(iops))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn signed(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share + 0.0)
}

fn span(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{} s", digits(ns / 1e9)),
        ns if ns >= 1e6 => format!("{} ms", digits(ns / 1e6)),
        ns if ns >= 1e3 => format!("{} us", digits(ns / 1e3)),
        ns => format!("{} ns", digits(ns)),
    }
}
