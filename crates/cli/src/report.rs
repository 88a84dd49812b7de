//! What `explain` says: first ten lines for a person, then, if asked, every hop.

use hopscope_files::quantity::digits;
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::convergence::UNTIL;
use hopscope_observe::account::{Account, Entry, LaneAccount, Use};
use hopscope_observe::lives::{Enough, Latency, Split, Stage, StageKind};
use hopscope_parts::parameters::Basis;
use hopscope_questions::diagnosis::{Diagnosis, named};
use hopscope_questions::explain::Explained;
use hopscope_questions::explanation::Explanation;

use crate::measured as beside;
use crate::processor;
use crate::tables::{bold, rate, shortened, span, width, wrapped};

/// Losses below this share of the time are counted, not listed.
const LISTED: f64 = 0.005;
/// Where the requests whose stages are shown took so much more or less than all of the run, that is said.
const ANOTHER_MEAN: f64 = 0.02;
/// Stages that are shown as bars.
const BARS: usize = 5;
/// Columns of a bar, and of what is beside it.
const BAR: usize = 14;
const BESIDE_BAR: usize = 20;

/// The report of a run that was explained; `said` is how the options of the jobs were taken, `hops` whether every hop is
/// wanted.
pub fn explained(blueprint: &Blueprint, explanation: &Explanation, said: &[String], hops: bool) -> String {
    let Explanation { explained, diagnosis, measured } = explanation;
    let (diagnosis, measured) = (diagnosis.as_ref(), measured.as_ref());
    let account = &explained.alike();
    let latency = explained.latency_alike();
    let mut out = headline(explained);
    if let Some(compared) = measured {
        out += &beside::head(compared);
        out.push('\n');
    }
    let phases = explained.phase_words(rate, |time| span(time.as_ns_f64()));
    out += &phases.map_or(String::new(), |words| wrapped(&words, ""));
    match diagnosis {
        Some(diagnosis) => {
            out += &wrapped(&diagnosis.why, "");
            out += &latency.as_ref().map_or(String::new(), |latency| whose_stages(explained, latency) + &bars(latency));
            out += &remedies(diagnosis);
            if !diagnosis.then.is_empty() {
                out += &wrapped(&diagnosis.then, "");
            }
            out += &wrapped(&rests(blueprint, diagnosis), "");
        }
        None => {
            out += &wrapped(&explained.undiagnosed(), "");
            out += &latency.as_ref().map_or(String::new(), bars);
        }
    }
    out += &explained.untold().map_or(String::new(), |words| wrapped(words, ""));
    if let Some(price) = blueprint.price() {
        let words = price.words(explained.throughput(), explained.iops());
        out.extend(words.iter().map(|line| wrapped(line, "")));
    }
    if let Some(cost) = &explained.outcome.processor {
        let lines = processor::lines(cost);
        let shown = if hops { lines.len() } else { 1 };
        out += &(lines[..shown].join("\n") + "\n");
    }
    out.extend(said.iter().map(|line| wrapped(line, "")));
    if let Some(compared) = measured {
        out += &beside::rest(compared);
    }
    if !hops {
        return out + "--hops has the account of every hop, --html draws it.\n";
    }
    out += &diagnosis.map_or(String::new(), profile);
    let from = explained.phase_begins() + account.from;
    let (length, from) = (span(account.span().as_ns_f64()), span(from.as_ns_f64()));
    out += &format!("\nWhere the time goes, over {length} from {from} on; {} requests ended:\n", account.requests);
    for lane in &account.lanes {
        out += &lane_lines(account, lane);
    }
    out + &latency.map_or(String::new(), |latency| latency_lines(&latency))
}

/// What the jobs get.
fn headline(explained: &Explained) -> String {
    let Some(got) = explained.performance() else {
        return bold("no transfer ended in the measured time") + "\n";
    };
    let (throughput, iops) = (rate(got.throughput_bytes_per_s), digits(explained.iops()));
    let mut line = format!("{throughput}, {iops} IOPS, latency {}", span(got.latency_mean_ns));
    let wide = explained.outcome.rate.relative_half_width;
    if wide > UNTIL && wide.is_finite() {
        line += &format!(" (±{:.1} %)", 100.0 * wide);
    }
    bold(&line) + "\n"
}

/// Whose stages are shown, where they are not those of the whole run.
fn whose_stages(explained: &Explained, latency: &Latency) -> String {
    let Some(got) = explained.performance() else { return String::new() };
    let (requests, its) = (latency.mean.count, latency.mean.mean().as_ns_f64());
    let few = requests < (Enough::FOR_AN_ACCOUNT.at_least as u64).min(got.transfers / 2);
    if !few && (its / got.latency_mean_ns - 1.0).abs() <= ANOTHER_MEAN {
        return String::new();
    }
    wrapped(&format!("The stages are those of {requests} requests, which took {} on average:", span(its)), "")
}

/// What a stage is, in a few words.
fn stage_words(stage: &Stage) -> String {
    match stage.kind {
        StageKind::Service | StageKind::Shared => format!("{} at {}", stage.phase, stage.lane),
        StageKind::Wait if stage.behind.is_empty() => format!("{} at {}", stage.phase, stage.lane),
        StageKind::Wait => format!("waits for {}: {}", stage.lane, stage.behind),
    }
}

/// The stages of the mean latency, the longest first; waits hatched.
fn bars(latency: &Latency) -> String {
    let split = &latency.mean;
    let mean_ns = |time: Time| time.as_ns_f64() / split.count as f64;
    let mut stages: Vec<(String, bool, Time)> = Vec::new();
    for stage in &split.stages {
        // For a glance it does not count why it was waited for.
        let (words, waits) = (stage_words(stage), stage.kind == StageKind::Wait);
        match stages.iter_mut().find(|known| (&known.0, known.1) == (&words, waits)) {
            Some(known) => known.2 += stage.time,
            None => stages.push((words, waits, stage.time)),
        }
    }
    stages.sort_by_key(|stage| std::cmp::Reverse(stage.2));
    let all = split.sum.as_ps().max(1) as f64;
    let shown = BARS.min(stages.len());
    let line = |name: &str, waits: bool, time: Time| {
        let share = time.as_ps() as f64 / all;
        let filled = ((share * BAR as f64).round() as usize).min(BAR);
        let bar = if waits { "░" } else { "█" }.repeat(filled);
        let name = shortened(name, width().saturating_sub(BAR + BESIDE_BAR).max(24));
        format!("  {:>9} {:>3.0} % {bar:<BAR$} {name}\n", span(mean_ns(time)), 100.0 * share)
    };
    let mut out: String = stages[..shown].iter().map(|(name, waits, time)| line(name, *waits, *time)).collect();
    let rest = stages[shown..].iter().fold(Time::ZERO, |sum, stage| sum + stage.2);
    if rest > Time::ZERO {
        out += &line(&format!("{} more stages", stages.len() - shown), false, rest);
    }
    out
}

/// Changes and what they gain.
fn remedies(diagnosis: &Diagnosis) -> String {
    if diagnosis.remedies.is_empty() {
        return String::new();
    }
    let mut out = "To try, each simulated:\n".to_string();
    for remedy in &diagnosis.remedies {
        let gain = remedy.gain.throughput;
        let gain = if gain.mean < 9.0 { gain.words() } else { format!("{:.0} times", 1.0 + gain.mean) };
        out += &wrapped(&format!("{gain}: {} (now {})", remedy.change, remedy.instead_of), "  ");
    }
    out
}

/// What the answer rests on.
fn rests(blueprint: &Blueprint, diagnosis: &Diagnosis) -> String {
    let rests = &diagnosis.rests;
    let numbers = blueprint.numbers();
    let fitted = numbers.iter().filter(|(_, entry)| matches!(entry.basis, Basis::Fitted(_))).count();
    let count = if rests.numbers == 1 { "1 number".to_string() } else { format!("{} numbers", rests.numbers) };
    let mut text = match rests.assumed {
        0 => format!("It rests on {count} of what limits, none of them assumed"),
        assumed => format!("It rests on {count} of what limits, {assumed} of them assumed"),
    };
    if let Some([worse, better]) = rests.moves {
        let percent = |gain: f64| format!("{:+.1} %", 100.0 * gain + 0.0);
        text += &if worse.abs().max(better.abs()) < 0.0005 {
            ": a tenth worse or better, they do not move it".to_string()
        } else {
            format!(": a tenth worse or better, they move it by {} or {}", percent(worse), percent(better))
        };
    }
    text + &match &rests.study {
        Some(study) => {
            format!(". The machine is compared with measurements in the study {study} ({fitted} fitted numbers).")
        }
        None => ". Nothing of this machine was compared with measurements.".to_string(),
    }
}

/// Every hop that was tried.
fn profile(diagnosis: &Diagnosis) -> String {
    let mut out = format!("\n{}\n", bold("Every hop at twice its pace, by itself"));
    let room = width().saturating_sub(46).max(24);
    out += &format!("  {:<room$} {:>10} {:>10} {:>9} {:>9}\n", "hop", "throughput", "latency", "±", "at work");
    for hop in &diagnosis.profile {
        let percent = |share: f64| format!("{:+.1} %", 100.0 * share + 0.0);
        out += &format!(
            "  {:<room$} {:>10} {:>10} {:>9} {:>7.0} %\n",
            shortened(&hop.hop, room),
            percent(hop.doubled.throughput.mean),
            percent(hop.doubled.latency.mean),
            format!("{:.2}", 100.0 * hop.doubled.throughput.half_width),
            100.0 * hop.busy
        );
    }
    for together in diagnosis.together.iter().take(3) {
        let gain = 100.0 * together.doubled.throughput.mean;
        out += &wrapped(&format!("{} together: {gain:+.1} %", named(&together.hops)), "  ");
    }
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
        let room = width().saturating_sub(24).max(24);
        let what = shortened(what, room);
        let mb = capacity.map_or(String::new(), |mb| format!("{sign}{:.2}", mb * share));
        format!("  {what:<room$} {:>7.2} % {mb:>9}", 100.0 * share).trim_end().to_string() + "\n"
    };
    let mut out = match &lane.capacity {
        Some(capacity) => {
            // A rate that is given as such is said once.
            let is_rate = capacity.how.split(' ').count() == 2;
            let how = if is_rate { String::new() } else { format!(", {}", capacity.how) };
            let head = format!("\n{}: {} MB/s{how}", lane.lane, digits(capacity.bytes_per_second / 1e6));
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

/// Every stage of the latencies, in columns for the mean, the median and the 99th percentile.
fn latency_lines(latency: &Latency) -> String {
    let classes: Vec<(&str, &Split)> = [("mean", &latency.mean), ("median", &latency.median)]
        .into_iter()
        .chain(latency.p99.as_ref().map(|split| ("99th percentile", split)))
        .collect();
    let mut out = format!("\n{}\n", bold("Latency, and what each request went through"));
    let room = width().saturating_sub(5 + 16 * classes.len()).max(24);
    let names: String = classes.iter().map(|(name, _)| format!("{name:>16}")).collect();
    let cell = |time: f64| format!("{:>16}", span(time));
    let all: String = classes.iter().map(|(_, split)| cell(split.mean().as_ns_f64())).collect();
    out += &format!("  {:<room$} {names}\n  {:<room$} {all}\n", "", "all of it");
    let mean_of = |split: &Split, like: &Stage| {
        let same = split.stages.iter().find(|s| Stage { time: like.time, ..(*s).clone() } == *like);
        same.map_or(0.0, |stage| stage.time.as_ns_f64() / split.count as f64)
    };
    let shown = |stage: &&Stage| stage.time.as_ps() as f64 >= LISTED * latency.mean.sum.as_ps() as f64;
    for stage in latency.mean.stages.iter().filter(shown) {
        let cells: String = classes.iter().map(|(_, split)| cell(mean_of(split, stage))).collect();
        let shared = if stage.kind == StageKind::Shared { ", shared" } else { "" };
        let why = if stage.kind == StageKind::Wait && !stage.behind.is_empty() {
            format!(" ({})", stage.phase)
        } else {
            String::new()
        };
        let words = shortened(&format!("{}{why}{shared}", stage_words(stage)), room);
        out += &format!("  {words:<room$} {cells}\n");
    }
    out
}
