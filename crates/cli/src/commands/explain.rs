//! `hopscope explain`: where did the rest go, and what limits it?

use std::path::{Path, PathBuf};

use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::bottleneck::{self, Bottleneck};
use hopscope_machine::explain::{self, EXTENT, Explained};
use hopscope_machine::explain_json;
use hopscope_machine::measured::file::{self as measured_file, Measured};
use hopscope_machine::measured::json as measured_json;
use hopscope_machine::measured::{self, Comparison};
use hopscope_machine::problem::{Problems, Sources};
use hopscope_machine::run::Options;
use hopscope_machine::text_file;
use hopscope_observe::account::{Account, Entry, LaneAccount, Split, Use};
use hopscope_pages::explain::{Subject, page};
use hopscope_parts::parameters::Basis;

use super::run::end;
use crate::answer::{Answer, Refusal};
use crate::inputs::Work;
use crate::measured as beside;
use crate::outputs::Outputs;
use crate::panics::doing;
use crate::progress::Progress;
use crate::tables::{bold, digits, rate, span, wrapped};

const EXAMPLES: &str = "\
Examples:
  hopscope explain piix4e-one-disk --rw=write --bs=64k --size=64k --time_based --runtime=2
  hopscope explain piix4e-two-disks-two-channels piix4e-single-block-read-two-disks
  hopscope explain piix4e-one-disk --rw=write --bs=64k --runtime=2 --html where.html
  hopscope explain my-machine.toml my-jobs.fio --json

With what was measured beside it:
  fio my-jobs.fio --output-format=json --output=result.json
  hopscope explain my-machine.toml my-jobs.fio --measured result.json
  hopscope explain my-machine.toml result.json --measured result.json

--json then has \"measured\": every figure as measured, simulated, unexplained and
unexplained_share (of what was measured), of all jobs and in `jobs`; `ceilings` of every hop;
`sits_at` or `nearest_above`, and `exceeded`; `warnings` where what was measured is not what is
simulated.";

/// Account for every lost megabyte per second, and say what limits
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    work: Work,
    /// fio's own result of the same jobs (--output-format=json), to be put beside the simulation
    #[arg(long, value_name = "FIO.json")]
    measured: Option<PathBuf>,
    /// One JSON object: every hop with its losses in picoseconds, the critical path, latencies
    #[arg(long)]
    json: bool,
    /// Decides every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
}

impl Args {
    /// Runs the job and accounts for it.
    pub fn run(self) -> Result<Answer, Refusal> {
        doing(format!("reading {}", self.work.system()));
        let (read, mut sources) = self.work.read()?;
        let jobs = &read.jobs.jobs;
        let result = match self.measured.as_deref().map(|path| result(&mut sources, path)).transpose() {
            Ok(result) => result,
            Err(problems) => return Err(Refusal::Input(problems, sources)),
        };
        let pairing = match result.as_ref().map(|result| measured::pair(result, jobs)).transpose() {
            Ok(pairing) => pairing,
            Err(problems) => return Err(Refusal::Input(problems, sources)),
        };
        doing(format!("explaining {} with seed {}", self.work.system(), self.seed));
        let options = Options { seed: self.seed, ..Options::default() };
        let progress = Progress::of(end(&read.jobs));
        let watcher = progress.as_ref().map(Progress::watcher);
        let explained = explain::explain(&read.blueprint, jobs, options, EXTENT, watcher);
        drop(progress);
        let explained = match explained {
            Ok(explained) => explained,
            Err(failure) => return Err(Refusal::of_run(failure, sources)),
        };
        doing(format!("looking for the bottleneck of {}", self.work.system()));
        let bottleneck = match bottleneck::find(&read.blueprint, jobs, options, &explained) {
            Ok(bottleneck) => bottleneck,
            Err(failure) => return Err(Refusal::of_run(failure, sources)),
        };
        doing("writing the answer");
        let file = self.measured.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
        let compared = result.zip(pairing).map(|(result, p)| measured::compare(&file, &result, &p, jobs, &explained));
        let answer = if self.json {
            let mut report = explain_json::report(&read.blueprint, &explained, bottleneck.as_ref());
            if let Some(compared) = &compared {
                report["measured"] = measured_json::report(compared);
            }
            Answer::json(&report)
        } else {
            let texts = Texts { compared: compared.as_ref(), said: &read.jobs.said() };
            Answer::text(report(&read.blueprint, &explained, bottleneck.as_ref(), &texts))
        };
        Ok(self.outputs.write(answer, || {
            let (system, job) = (self.work.system(), self.work.job());
            let subject = Subject {
                system,
                job: &job,
                blueprint: &read.blueprint,
                explained: &explained,
                bottleneck: bottleneck.as_ref(),
                measured: compared.as_ref(),
            };
            let measured = if file.is_empty() { String::new() } else { format!(" --measured {file}") };
            page(&subject, &format!("hopscope explain {system} {job}{measured}"))
        }))
    }
}

/// Reads what was measured.
fn result(sources: &mut Sources, path: &Path) -> Result<Measured, Problems> {
    let text = text_file::read_result(path)?;
    let file = sources.add(path.display().to_string(), text);
    measured_file::read(sources, file)
}

/// What a report says besides the run.
struct Texts<'a> {
    compared: Option<&'a Comparison>,
    said: &'a [String],
}

/// Losses below this share of the time are counted, not listed.
const LISTED: f64 = 0.005;

fn report(blueprint: &Blueprint, explained: &Explained, bottleneck: Option<&Bottleneck>, texts: &Texts<'_>) -> String {
    let account = &explained.account.alike();
    let iops = explained.iops();
    let ended = format!("{}, {} IOPS", rate(explained.throughput()), digits(iops));
    let mut out = bold(if iops > 0.0 { &ended } else { "no transfer ended in the measured time" }) + "\n";
    if let Some(Bottleneck { lane, why, next, .. }) = bottleneck {
        out += &wrapped(&format!("Bottleneck: {lane}. {why}"), "");
        out += &wrapped(next, "  ");
    }
    if let Some(compared) = texts.compared {
        out += &beside::head(compared);
        out += &beside::rest(compared);
    }
    let requests = account.latency.as_ref().map_or(0, |latency| latency.mean.count);
    let (length, from) = (span(account.span().as_ns_f64()), span(account.from.as_ns_f64()));
    out += &format!("\nWhere the time goes, over {length} from {from} on ({requests} whole requests):\n");
    for lane in &account.lanes {
        out += &lane_lines(account, lane);
    }
    if !account.path.is_empty() {
        out += &path_lines(account);
    }
    if let Some(latency) = &account.latency {
        let classes = [("mean", &latency.mean), ("median", &latency.median), ("99th percentile", &latency.p99)];
        out += &latency_lines(&classes);
    }
    let numbers = blueprint.numbers();
    let count = |of: fn(&Basis) -> bool| numbers.iter().filter(|(_, entry)| of(&entry.basis)).count();
    let assumed = count(|basis| matches!(basis, Basis::Assumed(_)));
    let fitted = count(|basis| matches!(basis, Basis::Fitted(_)));
    out += &wrapped(
        &format!(
            "\nThis rests on {assumed} assumed and {fitted} fitted numbers of {}: `hopscope systems NAME` lists them.",
            numbers.len()
        ),
        "",
    );
    out.extend(texts.said.iter().map(|line| wrapped(line, "")));
    out
}

/// What an entry says, in one line.
fn words(entry: &Entry, lane: &str) -> String {
    let at = if entry.phase.is_empty() { String::new() } else { format!("{}: {}", entry.lane, entry.phase) };
    match (entry.class, entry.cause.as_str()) {
        (Use::Protocol | Use::Payload, _) => entry.phase.clone(),
        (Use::WidthUnused, _) => format!("{}: slower than the lane can", entry.phase),
        (Use::Nothing, "") if !at.is_empty() => format!("nothing to do; meanwhile {at}"),
        (_, "") if entry.lane == lane => format!("waits: {}", entry.phase),
        (_, "") => format!("waits for {at}"),
        (_, cause) if at.is_empty() => cause.to_string(),
        (Use::Nothing, cause) => format!("{cause}; meanwhile {at}"),
        (_, cause) => format!("{cause}: {at}"),
    }
}

fn lane_lines(account: &Account, lane: &LaneAccount) -> String {
    let whole = account.span().as_ps() as f64;
    let capacity = lane.capacity.as_ref().map(|capacity| capacity.bytes_per_second / 1e6);
    let line = |sign: &str, what: &str, share: f64| {
        let mut shortened: String = what.chars().take(56).collect();
        if what.chars().count() > 56 {
            shortened = shortened.chars().take(55).collect::<String>() + "…";
        }
        let mb = capacity.map_or(String::new(), |mb| format!("{sign}{:.2}", mb * share));
        format!("  {shortened:<56} {:>7.2} % {mb:>9}", 100.0 * share).trim_end().to_string() + "\n"
    };
    let mut out = match &lane.capacity {
        Some(capacity) => {
            let head = format!("\n{}: {} MB/s, {}", lane.lane, digits(capacity.bytes_per_second / 1e6), capacity.how);
            format!("{}\n", bold(&head)) + &line("", "capacity", 1.0)
        }
        None => format!("\n{}\n", bold(&lane.lane)),
    };
    let (mut small, mut small_count) = (Time::ZERO, 0);
    for entry in lane.entries.iter().filter(|entry| entry.class != Use::Payload) {
        let share = entry.time.as_ps() as f64 / whole;
        if share < LISTED {
            (small, small_count) = (small + entry.time, small_count + 1);
        } else {
            out += &line("-", &words(entry, &lane.lane), share);
        }
    }
    if small_count > 0 {
        let what = format!("{small_count} more below {} % each (all of them with --json)", 100.0 * LISTED);
        out += &line("-", &what, small.as_ps() as f64 / whole);
    }
    let payload = lane.time_in(Use::Payload);
    if payload > Time::ZERO {
        let phases: Vec<&str> =
            lane.entries.iter().filter(|e| e.class == Use::Payload).map(|e| e.phase.as_str()).collect();
        let what = if lane.capacity.is_some() { "delivered" } else { "bytes of the user" };
        out += &line("", &format!("{what} ({})", phases.join(", ")), payload.as_ps() as f64 / whole);
    }
    out
}

fn path_lines(account: &Account) -> String {
    let whole = account.path.iter().fold(Time::ZERO, |sum, entry| sum + entry.time).as_ps() as f64;
    let mut out = format!("\n{}\n", bold("The critical path: what had to end before anything else could go on"));
    let shown = |entry: &&Entry| entry.time.as_ps() as f64 / whole >= LISTED;
    for entry in account.path.iter().filter(shown) {
        let what = format!("{}: {}", entry.lane, entry.phase);
        out += &format!("  {what:<56} {:>7.2} %\n", 100.0 * entry.time.as_ps() as f64 / whole);
    }
    out
}

fn latency_lines(classes: &[(&str, &Split)]) -> String {
    let mut out = format!("\n{}\n", bold("Latency, and what it went into"));
    let names: String = classes.iter().map(|(name, _)| format!("{name:>16}")).collect();
    let cell = |time: f64| format!("{:>16}", span(time));
    let all: String = classes.iter().map(|(_, split)| cell(split.latency.as_ns_f64())).collect();
    out += &format!("  {:<29}{names}\n  {:<29}{all}\n", "", "all of it");
    let Some((_, first)) = classes.first() else { return out };
    let mean_of = |split: &Split, like: &Entry| {
        let same = split.entries.iter().find(|e| (&e.lane, &e.phase) == (&like.lane, &like.phase));
        same.map_or(0.0, |entry| entry.time.as_ns_f64() / split.count as f64)
    };
    let shown = |entry: &&Entry| entry.time.as_ps() as f64 >= LISTED * first.sum.as_ps() as f64;
    for entry in first.entries.iter().filter(shown) {
        let cells: String = classes.iter().map(|(_, split)| cell(mean_of(split, entry))).collect();
        let what: String = format!("{}: {}", entry.lane, entry.phase).chars().take(28).collect();
        out += &format!("  {what:<29}{cells}\n");
    }
    out
}
