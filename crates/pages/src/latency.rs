//! Latencies in figures: what a request's time went into, hop by hop, and how often each latency was there.

use hopscope_kernel::Time;
use hopscope_machine::run::{JobOutcome, Outcome};
use hopscope_observe::JobTransfers;
use hopscope_observe::lives::{Latency, Split, Stage, StageKind};
use hopscope_questions::passage::{Passage, Request};
use serde_json::json;

use crate::charts::columns::{self, Column, Columns};
use crate::charts::spread::{self, Slice};
use crate::charts::stacks::{self, Bar, Segment, Stacks};
use crate::drawing::{Key, WAITS, waits_key};
use crate::page::{Behind, Figure, Kind};
use crate::palette::CURVES;
use crate::table::{Cell, Table};
use crate::wording::{percent, share, slug, span, span_ps};

/// What is below this share of the longest bar has no bar of its own; the table has it.
const OWN_BAR: f64 = 0.005;
/// Columns of a histogram.
const COLUMNS: usize = 48;
/// Slices of time.
const SLICES: u64 = 64;
/// Jobs that have a histogram of their own, at most.
const JOBS_MAX: usize = 8;

/// Which hop has which colour: those that most of the time went to, each its own; the others are grey.
#[derive(Clone, Debug)]
pub struct Hues(Vec<String>);

impl Hues {
    /// Of the hops of a latency.
    pub fn of(latency: &Latency) -> Hues {
        let mut sums: Vec<(&str, Time)> = Vec::new();
        for stage in &latency.mean.stages {
            match sums.iter_mut().find(|(hop, _)| *hop == stage.lane) {
                Some((_, sum)) => *sum += stage.time,
                None => sums.push((&stage.lane, stage.time)),
            }
        }
        sums.sort_by_key(|(hop, time)| (std::cmp::Reverse(*time), *hop));
        Hues(sums.into_iter().take(CURVES).map(|(hop, _)| hop.to_string()).collect())
    }

    /// The hops that have one, in order.
    pub fn hops(&self) -> &[String] {
        &self.0
    }

    /// The class of work at a hop, or of waits for it.
    pub fn class(&self, hop: &str, waits: bool) -> String {
        let waits = if waits { WAITS } else { "" };
        match self.0.iter().position(|known| known == hop) {
            Some(number) => format!("hop-{number}{waits}"),
            None => format!("whole{waits}"),
        }
    }

    /// What the colours mean, those that `are_there`.
    pub fn legend(&self, are_there: &[&Stage]) -> Vec<Key> {
        let named = self.0.iter().filter(|hop| are_there.iter().any(|stage| stage.lane == **hop));
        let mut keys: Vec<Key> = named.map(|hop| Key::of_class(&self.class(hop, false), hop)).collect();
        if are_there.iter().any(|stage| !self.0.contains(&stage.lane)) {
            keys.push(Key::of_class("whole", "other hops"));
        }
        if are_there.iter().any(|stage| stage.kind == StageKind::Wait) {
            keys.push(waits_key());
        }
        keys
    }
}

/// Share of their time that requests waited for a hop, where their latencies are known.
pub fn awaited(latency: Option<&Latency>, hop: &str) -> Option<f64> {
    let mean = &latency?.mean;
    let of_hop = mean.stages.iter().filter(|stage| stage.kind == StageKind::Wait && stage.lane == hop);
    Some(share(of_hop.fold(Time::ZERO, |sum, stage| sum + stage.time), mean.sum))
}

/// Where a request's time went: all of them, those about the median, those about the 99th percentile.
pub fn figure(latency: &Latency) -> Figure {
    let hues = Hues::of(latency);
    let classes: Vec<(&str, &Split)> = [("mean", &latency.mean), ("median", &latency.median)]
        .into_iter()
        .chain(latency.p99.as_ref().map(|split| ("99th percentile", split)))
        .collect();
    let per_request = |split: &Split, time: f64| time / split.count.max(1) as f64;
    // One order for all bars: that of the mean, then whatever only others have.
    let mut order: Vec<&Stage> = Vec::new();
    for stage in classes.iter().flat_map(|(_, split)| &split.stages) {
        if !order.iter().any(|known| same(known, stage)) {
            order.push(stage);
        }
    }
    let time_of = |split: &Split, stage: &Stage| -> Time {
        split.stages.iter().find(|known| same(known, stage)).map_or(Time::ZERO, |known| known.time)
    };
    let longest_ps = classes.iter().map(|(_, split)| split.mean().as_ps() as f64).fold(0.0, f64::max);
    let (unit_ps, unit) = if longest_ps >= 2e9 { (1e9, "ms") } else { (1e6, "µs") };
    let bar = |(name, split): &(&str, &Split)| {
        let (mut segments, mut small_ps, mut small) = (Vec::new(), 0.0, 0);
        for stage in &order {
            let time = time_of(split, stage);
            let mean_ps = per_request(split, time.as_ps() as f64);
            if mean_ps < OWN_BAR * longest_ps {
                (small_ps, small) = (small_ps + mean_ps, small + usize::from(time > Time::ZERO));
                continue;
            }
            let (words, short) = stage_words(stage);
            segments.push(Segment {
                names: vec![words.clone(), short],
                class: hues.class(&stage.lane, stage.kind == StageKind::Wait),
                amount: mean_ps / unit_ps,
                tip: format!("{words}, {} ({})", span_ps(mean_ps), percent(share(time, split.sum))),
            });
        }
        if small > 0 {
            segments.push(Segment {
                names: vec![format!("{small} smaller ones")],
                class: "idle".into(),
                amount: small_ps / unit_ps,
                tip: format!("{small} smaller ones, {}; see the table", span_ps(small_ps)),
            });
        }
        let requests = if split.count == 1 { "1 request".into() } else { format!("{} requests", split.count) };
        Bar { name: name.to_string(), about: requests, figure: span(split.mean()), segments }
    };
    let said: Vec<String> = classes.iter().map(|(name, split)| format!("{name} {}", span(split.mean()))).collect();
    let drawing = stacks::draw(&Stacks {
        title: "Where a request's time goes".into(),
        description: format!("Latency: {}.", said.join(", ")),
        bars: classes.iter().map(bar).collect(),
        most: None,
        unit: format!("latency, {unit}"),
        legend: hues.legend(&order),
        row: (58.0, 36.0),
    });
    let rows = order.iter().map(|stage| {
        let mut row = vec![Cell::words(stage.phase.clone()), Cell::words(stage.lane.clone())];
        row.extend([Cell::words(kind_word(stage.kind)), Cell::words(stage.behind.clone())]);
        for (_, split) in &classes {
            let mean_ps = per_request(split, time_of(split, stage).as_ps() as f64);
            row.push(Cell::figure(span_ps(mean_ps), mean_ps));
        }
        row
    });
    let columns = [
        ("what", "phase"),
        ("at", "lane"),
        ("kind", "kind"),
        ("behind", "behind"),
        ("mean", "mean_ps"),
        ("median", "median_ps"),
        ("99th percentile", "p99_ps"),
    ];
    let table =
        Table::new("latency-table", "Latency and what it goes into", &columns[..4 + classes.len()], rows.collect());
    let stage_json = |stage: &Stage| {
        json!({ "part": stage.part, "lane": stage.lane, "phase": stage.phase, "kind": kind_word(stage.kind),
                "behind": stage.behind, "ps": stage.time.as_ps() })
    };
    let data = |split: &Split| {
        json!({ "requests": split.count, "sum_ps": split.sum.as_ps(),
                "stages": split.stages.iter().map(stage_json).collect::<Vec<_>>() })
    };
    Figure {
        id: "latency".into(),
        drawing,
        caption:
            "The life of each request, from issue to completion: work at each hop in the hop's colour, and waits for it, \
             hatched. A percentile is the mean of the requests within half a percent of its rank."
                .into(),
        kind: Kind::Marks,
        data: json!({ "mean": data(&latency.mean), "median": data(&latency.median),
                      "p99": latency.p99.as_ref().map(data) }),
        behind: Behind::Table(table),
        width_min: 760,
    }
}

/// Latencies of the requests that are listed one by one, over the time of their issue.
pub fn over_time(passage: &Passage) -> Option<Figure> {
    let requests: Vec<&Request> = passage.requests.iter().filter(|of| of.issued < passage.requests_until).collect();
    let (first, last) = (requests.first()?.issued.as_ps(), requests.last()?.issued.as_ps());
    let slice_ps = ((last - first) / SLICES + 1).max(1);
    let of = |index: u64| {
        let (from, until) = (first + index * slice_ps, first + (index + 1) * slice_ps);
        let within = requests.iter().filter(move |of| (from..until).contains(&of.issued.as_ps()));
        let all: Vec<f64> = within.map(|of| (of.ended - of.issued).as_ps() as f64).collect();
        let least = all.iter().copied().reduce(f64::min)?;
        let (mean, most) = (all.iter().sum::<f64>() / all.len() as f64, all.iter().copied().fold(least, f64::max));
        let (from, until) = (from as f64, until as f64);
        let tip = spread::tip(all.len(), (from, until), [least, mean, most]);
        Some((all.len(), Slice { from, until, least, mean, most, tip }))
    };
    let slices: Vec<(usize, Slice)> = (0..SLICES).filter_map(of).collect();
    let rows = slices.iter().map(|(count, slice)| {
        let mut row = vec![Cell::figure(span_ps(slice.from), slice.from), Cell::figure(count.to_string(), count)];
        row.extend([slice.least, slice.mean, slice.most].map(|ps| Cell::figure(span_ps(ps), ps)));
        row
    });
    let columns = [
        ("issued from", "from_ps"),
        ("requests", "requests"),
        ("shortest", "least_ps"),
        ("mean", "mean_ps"),
        ("longest", "most_ps"),
    ];
    let title = "Latencies over time";
    let table = Table::new("latencies-over-time-table", title, &columns, rows.collect());
    let only: Vec<Slice> = slices.iter().map(|(_, slice)| slice.clone()).collect();
    let described = format!("{} requests in {} slices of time.", requests.len(), only.len());
    let data = slices.iter().map(|(count, of)| {
        json!({ "from_ps": of.from, "requests": count, "least_ps": of.least, "mean_ps": of.mean, "most_ps": of.most })
    });
    Some(Figure {
        id: "latencies-over-time".into(),
        drawing: spread::draw(title, &described, (first as f64, (first + SLICES * slice_ps) as f64), &only),
        caption: format!("The first {} requests of the account's window, by when they were issued.", requests.len()),
        kind: Kind::Marks,
        data: data.collect(),
        behind: Behind::Table(table),
        width_min: 340,
    })
}

/// How often each latency was there, job by job, over the whole run; of many jobs all of them together.
pub fn histograms(outcome: &Outcome) -> Vec<Figure> {
    let jobs: Vec<(&JobOutcome, &JobTransfers)> =
        outcome.jobs.iter().filter_map(|job| Some((job, job.got.as_ref()?))).filter(|(_, got)| got.count > 0).collect();
    if jobs.len() <= JOBS_MAX {
        return jobs.iter().enumerate().map(|(number, (job, got))| histogram(number, &job.name, got)).collect();
    }
    let all = jobs.iter().map(|(_, got)| (*got).clone()).reduce(|all, got| all.with(&got));
    all.iter().map(|all| histogram(0, &format!("all {} jobs", jobs.len()), all)).collect()
}

fn histogram(number: usize, name: &str, got: &JobTransfers) -> Figure {
    let ns = &got.latency_ns;
    let (least, most) = (ns.min().max(1) as f64, ns.max().max(1) as f64);
    // Columns are equally wide in the logarithm, and never narrower than what the values are told to.
    let count = ((most / least).ln() / 1.02f64.ln()).ceil().clamp(1.0, COLUMNS as f64) as usize;
    let edge = |at: usize| least * (most / least).powf(at as f64 / count as f64);
    let mut counts = vec![0u64; count];
    for value in ns.iter_recorded() {
        let along = (value.value_iterated_to().max(1) as f64 / least).ln() / (most / least).ln().max(f64::MIN_POSITIVE);
        counts[((along * count as f64) as usize).min(count - 1)] += value.count_at_value();
    }
    let of = |count: u64| count as f64 / got.count as f64;
    let columns = counts.iter().enumerate().map(|(at, count)| Column {
        from: edge(at),
        until: edge(at + 1),
        share: of(*count),
        tip: format!(
            "{} to {}: {count} requests, {}",
            span_ps(1e3 * edge(at)),
            span_ps(1e3 * edge(at + 1)),
            percent(of(*count))
        ),
    });
    let at = |quantile| ns.value_at_quantile(quantile) as f64;
    let marks = [("median", at(0.5)), ("mean", ns.mean()), ("99 %", at(0.99))];
    let said: Vec<String> = marks.iter().map(|(name, ns)| format!("{name} {}", span_ps(1e3 * ns))).collect();
    let title = format!("Latencies of {name}");
    let drawing = columns::draw(&Columns {
        title: title.clone(),
        description: format!("{} requests: {}.", got.count, said.join(", ")),
        columns: columns.collect(),
        marks: marks.iter().zip(&said).map(|((_, ns), words)| (words.clone(), *ns)).collect(),
    });
    let rows = counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(at, count)| {
        vec![
            Cell::figure(span_ps(1e3 * edge(at)), edge(at)),
            Cell::figure(span_ps(1e3 * edge(at + 1)), edge(at + 1)),
            Cell::figure(count.to_string(), count),
            Cell::figure(percent(of(*count)), of(*count)),
        ]
    });
    let columns = [("from", "from_ns"), ("to", "until_ns"), ("requests", "requests"), ("share", "share")];
    let id = format!("latencies-{}", number + 1);
    Figure {
        drawing,
        caption: format!("{} requests of the whole run, by how long they took, on a logarithmic scale.", got.count),
        kind: Kind::Marks,
        data: json!({ "job": name, "requests": got.count, "from_ns": least, "until_ns": most, "counts": counts }),
        behind: Behind::Table(Table::new(&format!("{id}-table"), &title, &columns, rows.collect())),
        id: slug(&id),
        width_min: 340,
    }
}

fn same(a: &Stage, b: &Stage) -> bool {
    (&a.lane, &a.phase, a.kind, &a.behind) == (&b.lane, &b.phase, b.kind, &b.behind)
}

/// In full, and in short.
fn stage_words(stage: &Stage) -> (String, String) {
    match stage.kind {
        StageKind::Wait if !stage.behind.is_empty() => {
            (format!("waits for {}: {}", stage.lane, stage.behind), format!("waits: {}", stage.behind))
        }
        _ => (format!("{}: {}", stage.lane, stage.phase), stage.phase.clone()),
    }
}

fn kind_word(kind: StageKind) -> &'static str {
    match kind {
        StageKind::Service => "service",
        StageKind::Shared => "shared",
        StageKind::Wait => "wait",
    }
}
