//! `hopscope whatif`: what would it buy?

use std::collections::BTreeSet;

use hopscope_files::change;
use hopscope_files::quantity::digits;
use hopscope_kernel::Time;
use hopscope_machine::run::{Failure, Options};
use hopscope_observe::account::{Account, Entry, Use};
use hopscope_pages::whatif as pages;
use hopscope_questions::whatif::{
    self, Comparison, Effort, Limit, Only, Outlook, Performance, Sensitivities, Sensitivity, Setting, Shift, Side,
    Upgrade, Upgrades, json,
};

use crate::answer::{Answer, Refusal};
use crate::inputs::Work;
use crate::outputs::Outputs;
use crate::panics::doing;
use crate::progress::Steps;
use crate::tables::{bold, rate, span, table, wrapped};

const EXAMPLES: &str = "\
Examples:
  hopscope whatif piix4e-one-disk --rw=randread --bs=64k --iodepth=2 --runtime=5 --time_based
  hopscope whatif piix4e-one-disk --rw=write --bs=64k --runtime=2 --change pci.clock=66MHz --change pci.latency_timer=x2
  hopscope whatif win2000-atlas-10k --rw=randread --bs=4k --iodepth=32 --runtime=5 --change 'disk0.seek.rows[].time=x0.9'
  hopscope whatif piix4e-one-disk --rw=read --bs=64k --runtime=2 \\
      --add disk2=disk/quantum-fireball-el10.2a@cable.drive1 --change job.iodepth=4

All changes that are given are made together: replaced parts first, then added ones, then numbers, then the jobs.
A part that is replaced leaves its numbers: what the system file or --set says of it does not hold for the new one.
rows[] stands for all rows of a table, and x0.9 for so many times what is there.
[model] stands for a part, as in '[pci-bus].clock=x2'; the port `free` is the first that fits.
A device that is added, and that no job addresses, does what the first job does.";

/// Effects below this are left away from the text, unless all are asked for.
const SHOWN_MIN: f64 = 0.001;
/// Numbers in the text, unless all are asked for.
const SHOWN_MAX: usize = 12;
/// Entries of an account in the text.
const ENTRIES_MAX: usize = 8;
/// What is worth a line as soon as it is known.
const NEWS_MIN: f64 = 0.01;
/// A path longer than this is broken.
const PATH_MAX: usize = 24;

/// Change a machine or its job: what would it buy, and what would buy most?
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    work: Work,
    /// Change a number, a choice or the jobs, as in pci.clock=66MHz, pci.clock=x2 or job.iodepth=4 (repeatable)
    #[arg(long, value_name = "PART.KEY=VALUE")]
    change: Vec<String>,
    /// Put another device of the same kind in the place of a part (repeatable)
    #[arg(long, value_name = "PART=ROLE/MODEL")]
    replace: Vec<String>,
    /// Plug in a further part; ,PLUG=PART.PORT follows for each further plug of its kind (repeatable)
    #[arg(long, value_name = "NAME=ROLE/MODEL@PART.PORT")]
    add: Vec<String>,
    /// Show every number, whatever its effect
    #[arg(long)]
    all: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
    /// Decides every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
}

impl Args {
    /// Runs the machine as it is and as it could be.
    pub fn run(self) -> Result<Answer, Refusal> {
        doing(format!("reading {}", self.work.system()));
        let inputs = self.work.inputs(None);
        self.outputs.spare(&inputs)?;
        let (library, (read, mut sources)) = (self.work.library()?, self.work.read()?);
        let said = read.jobs.said();
        let setting = Setting { blueprint: read.blueprint, jobs: read.jobs.jobs };
        let changes = match change::read_options(&mut sources, [&self.replace, &self.add, &self.change]) {
            Ok(changes) => changes,
            Err(problems) => return Err(Refusal::Input(problems, sources)),
        };
        doing(format!("changing {} with seed {}", self.work.system(), self.seed));
        let steps = Steps::new();
        let progress = |news: whatif::News<'_>| {
            if let Some(effect) = news.throughput.filter(|effect| effect.abs() >= NEWS_MIN) {
                steps.line(&format!("{:>9}  {}", percent(effect), news.what));
            }
            steps.at(news.done, news.of, news.what);
        };
        let system = self.work.system();
        let options = Options { seed: self.seed, ..Options::default() };
        let answer = if changes.is_empty() {
            whatif::outlook(&setting, &library, &mut sources, options, &progress).map(|found| {
                let Outlook { upgrades, sensitivities, only } = &found;
                let only = only.as_ref();
                let answer = if self.json {
                    Answer::json(&json::outlook(system, upgrades, sensitivities, only))
                } else {
                    Answer::text(outlook(system, upgrades, sensitivities, only, self.all))
                };
                self.outputs.write(answer, &inputs, || {
                    let blueprint = &setting.blueprint;
                    let outlook =
                        pages::Outlook { system, job: &self.work.job(), blueprint, upgrades, sensitivities, only };
                    pages::outlook(&outlook, &self.command())
                })
            })
        } else {
            whatif::compare(&setting, &changes, &library, &mut sources, options).map(|compared| {
                let answer = if self.json {
                    Answer::json(&json::comparison(system, &compared))
                } else {
                    Answer::text(comparison(&compared))
                };
                let job = self.work.job();
                self.outputs.write(answer, &inputs, || pages::comparison((system, &job), &compared, &self.command()))
            })
        };
        drop(steps);
        match answer {
            Ok(mut answer) if !self.json && !said.is_empty() => {
                answer.out.push('\n');
                answer.out.extend(said.iter().map(|line| wrapped(line, "")));
                Ok(answer)
            }
            answer => answer.map_err(|failure: Failure| Refusal::of_run(failure, sources)),
        }
    }

    /// How to get the same again.
    fn command(&self) -> String {
        let given = [("--replace", &self.replace), ("--add", &self.add), ("--change", &self.change)];
        let changes =
            given.iter().flat_map(|(option, texts)| texts.iter().map(move |text| format!(" {option} {text}")));
        format!("hopscope whatif {} {}{}", self.work.system(), self.work.job(), changes.collect::<String>())
    }
}

fn percent(share: f64) -> String {
    let text = format!("{:+.1} %", 100.0 * share);
    // Nothing has no sign.
    if text[1..].starts_with("0.0 ") { "0.0 %".to_string() } else { text }
}

/// A change with its interval, where it has one that shows.
fn shift(shift: Shift) -> String {
    match format!("{:.1}", 100.0 * shift.half_width).as_str() {
        "0.0" => percent(shift.mean),
        half_width => format!("{:+.1} ±{half_width} %", 100.0 * shift.mean),
    }
}

fn share(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// What holds a run back, in a few words.
fn limit_words(limit: Option<&Limit>) -> String {
    limit.map_or("nothing that could be named".to_string(), |limit| {
        format!("{} ({})", limit.what(), limit.tried(&limit.gain.words()))
    })
}

fn outlook(system: &str, upgrades: &Upgrades, numbers: &Sensitivities, only: Option<&Only>, all: bool) -> String {
    let now = &upgrades.before;
    let mut out = String::new();
    let answer = match upgrades.upgrades.first().filter(|best| best.gain > SHOWN_MIN) {
        Some(best) => format!("{} would buy most: {}", best.title, percent(best.gain)),
        None => "No shipped upgrade that fits would make it faster".to_string(),
    };
    out += &bold(wrapped(&answer, "").trim_end());
    out +=
        &format!("\n{system} gets {}, mean latency {}\n", rate(now.throughput_bytes_per_s), span(now.latency_mean_ns));
    out += &format!("and is limited by {}\n", limit_words(upgrades.limit.as_ref()));
    out += &only.map_or(String::new(), |only| wrapped(&only.words(|time| span(time.as_ns_f64())), ""));
    out += &format!("\n{}\n{}", bold("Upgrades"), upgrade_table(&upgrades.upgrades));
    for (name, why) in &upgrades.do_not_fit {
        out += &wrapped(&format!("{name} does not fit: {why}"), "");
    }
    out += &format!("\n{}\n{}", bold("Numbers, a little less and a little more"), number_table(numbers, all));
    let ranged: Vec<&Sensitivity> = numbers.numbers.iter().filter(|number| number.holds_until.is_some()).collect();
    if !ranged.is_empty() {
        out += &format!("\n{}\n{}", bold("How far that goes"), range_table(&ranged));
    }
    out + "\n" + &wrapped(&effort(numbers), "")
}

fn effort(numbers: &Sensitivities) -> String {
    let Effort { ramp, runtime, seeds } = &numbers.effort;
    let list: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let still = numbers.numbers.iter().filter(|number| number.is_nothing()).count();
    format!(
        "Each figure compares the same requests before and after: {:.3} s of them after {:.3} s, with seed {}, and more \
         where they did not say enough; of numbers that do little, the first few. \
         {} numbers were moved: {still} of them change nothing, and parts refused {} values.",
        runtime.as_seconds_f64(),
        ramp.as_seconds_f64(),
        list.join(", "),
        numbers.numbers.len(),
        numbers.refused
    )
}

fn upgrade_table(upgrades: &[Upgrade]) -> String {
    let rows = upgrades.iter().map(|upgrade| {
        let also = upgrade.also_on.iter().map(|device| format!("; the same job on {device}")).collect::<String>();
        vec![
            percent(upgrade.gain),
            format!("{} MB/s", digits(upgrade.performance.throughput_bytes_per_s / 1e6)),
            span(upgrade.performance.latency_mean_ns),
            format!("{}{also}", upgrade.title),
            limit_words(upgrade.next_limit.as_ref()),
        ]
    });
    table(&["gain", "throughput", "latency", "upgrade", "then limited by"], 3, rows)
}

fn number_table(numbers: &Sensitivities, all: bool) -> String {
    let worth = |number: &&Sensitivity| all || number.size().max(number.latency_size()) >= SHOWN_MIN;
    let most = if all { usize::MAX } else { SHOWN_MAX };
    let rows = numbers.numbers.iter().filter(worth).take(most).map(|number| {
        let lines = |of: fn(&whatif::Effect) -> String| number.effects.iter().map(of).collect::<Vec<_>>().join("\n");
        vec![
            broken(&number.parameter),
            format!("{}\n{}", number.value.replace(" to ", " to\n").replace(", ", "\n"), number.basis),
            lines(|effect| effect.changed_to.clone()),
            lines(|effect| shift(effect.throughput)),
            lines(|effect| shift(effect.latency)),
        ]
    });
    table(&["number", "is", "changed to", "throughput", "latency"], 5, rows)
}

fn range_table(numbers: &[&Sensitivity]) -> String {
    let rows = numbers.iter().filter_map(|number| {
        let range = number.holds_until.as_ref()?;
        Some(vec![
            broken(&number.parameter),
            range.value.clone(),
            percent(range.throughput),
            range.beyond.words().to_string(),
        ])
    });
    table(&["number", "until", "throughput", "and then"], 3, rows)
}

/// A long path on two lines, broken at a dot.
fn broken(path: &str) -> String {
    match path[..path.len().min(PATH_MAX)].rfind('.') {
        Some(dot) if path.len() > PATH_MAX => format!("{}\n  {}", &path[..dot], &path[dot..]),
        _ => path.to_string(),
    }
}

fn comparison(compared: &Comparison) -> String {
    let (before, after) = (&compared.before.performance, &compared.after.performance);
    let gain = |of: fn(&Performance) -> f64| percent(of(after) / of(before) - 1.0);
    let (now, then) = (before.throughput_bytes_per_s, after.throughput_bytes_per_s);
    let mut out = bold(&format!("{}: {} instead of {}", gain(|got| got.throughput_bytes_per_s), rate(then), rate(now)));
    out += "\n";
    compared.changes.iter().for_each(|change| out += &wrapped(change, "  "));
    compared.also_on.iter().for_each(|device| out += &format!("  the same job runs on {device}, too\n"));
    let figures = |of: fn(&Side) -> String| vec![of(&compared.before), of(&compared.after)];
    let row = |name: &str, cells: Vec<String>, change: String| [vec![name.to_string()], cells, vec![change]].concat();
    let rows = [
        row(
            "throughput",
            figures(|side| format!("{} MB/s", digits(side.performance.throughput_bytes_per_s / 1e6))),
            gain(|got| got.throughput_bytes_per_s),
        ),
        row("latency, mean", figures(|side| span(side.performance.latency_mean_ns)), gain(|got| got.latency_mean_ns)),
        row("transfers", figures(|side| side.performance.transfers.to_string()), String::new()),
        row("limited by", figures(|side| limit_words(side.limit.as_ref())), String::new()),
    ];
    out += &format!("\n{}", table(&["", "before", "after", ""], 1, rows));
    let alike = [&compared.before, &compared.after].map(|side| side.explained.alike());
    let accounts = alike.each_ref();
    out += &format!("\n{}\n{}", bold("Lanes, shares of the time"), lanes(accounts));
    let losses = accounts.map(|account| losses(account).collect());
    out + &format!("\n{}\n{}", bold("The largest losses of lanes, share of the time"), entries(losses, accounts))
}

/// Losses of the lanes that carry bytes, with the name of the lane.
fn losses(account: &Account) -> impl Iterator<Item = (String, &Entry)> {
    let carrying = account.lanes.iter().filter(|lane| lane.capacity.is_some());
    carrying.flat_map(|lane| {
        lane.entries.iter().filter(|entry| entry.class != Use::Payload).map(|entry| (lane.lane.clone(), entry))
    })
}

fn lanes(accounts: [&Account; 2]) -> String {
    const CLASSES: [Use; 5] = [Use::Payload, Use::WidthUnused, Use::Protocol, Use::Waiting, Use::Nothing];
    let mut names: Vec<&str> = Vec::new();
    for lane in accounts.iter().flat_map(|account| &account.lanes) {
        if !names.contains(&lane.lane.as_str()) {
            names.push(&lane.lane);
        }
    }
    let cell = |name: &str, class: Use| {
        let of = |account: &Account| {
            let lane = account.lanes.iter().find(|lane| lane.lane == name);
            lane.map_or("-".to_string(), |lane| share(of_window(lane.time_in(class), account)))
        };
        accounts.map(of).join("\n")
    };
    let rows = names.iter().map(|name| {
        let cells = CLASSES.map(|class| cell(name, class)).to_vec();
        [vec![name.to_string(), "before\nafter".to_string()], cells].concat()
    });
    let header: Vec<&str> = ["lane", ""].into_iter().chain(CLASSES.map(Use::word)).collect();
    table(&header, 2, rows)
}

fn of_window(time: Time, account: &Account) -> f64 {
    time.as_ps() as f64 / account.span().as_ps().max(1) as f64
}

/// Entries of both accounts beside each other, those that are largest on either side first; `losing` lanes have a
/// column of their own where they are named.
fn entries(sides: [Vec<(String, &Entry)>; 2], accounts: [&Account; 2]) -> String {
    let key = |(losing, entry): &(String, &Entry)| {
        let Entry { class, cause, lane, phase, .. } = entry;
        (losing.clone(), lane.clone(), *class, phase.clone(), cause.clone())
    };
    let keys: BTreeSet<_> = sides.iter().flatten().map(key).collect();
    let share_of = |side: usize, wanted: &_| {
        let found = sides[side].iter().filter(|entry| key(entry) == *wanted);
        let time = found.fold(Time::ZERO, |sum, (_, entry)| sum + entry.time);
        of_window(time, accounts[side])
    };
    let mut rows: Vec<([f64; 2], _)> =
        keys.into_iter().map(|key| ([share_of(0, &key), share_of(1, &key)], key)).collect();
    rows.sort_by(|(a, _), (b, _)| b[0].max(b[1]).total_cmp(&a[0].max(a[1])));
    let rows = rows.into_iter().take(ENTRIES_MAX).map(|(shares, (losing, lane, class, phase, cause))| {
        let why = if cause.is_empty() { class.word().to_string() } else { cause };
        let [before, after] = shares.map(share);
        let named = if losing.is_empty() { Vec::new() } else { vec![losing] };
        [vec![before, after], named, vec![format!("{lane}: {phase}"), why]].concat()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    match rows.first().map(Vec::len) {
        Some(5) => table(&["before", "after", "lane", "where", "why"], 3, rows),
        _ => table(&["before", "after", "where", "why"], 2, rows),
    }
}
