//! A waveform of a PCI bus, as a report.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use hopscope_machine::harmless::harmless;
use hopscope_machine::problem::Problem;
use hopscope_signals::pci::pattern::{Pattern, Step, pattern};
use hopscope_signals::pci::pins::{Missing, Pins};
use hopscope_signals::pci::summary::{Share, Summary};
use hopscope_signals::pci::{EndedBy, json, timeline};
use hopscope_signals::waves::read::{Broken, Place, Signal};

use super::source::{Source, follow_all};
use super::{drawn, ide};
use crate::answer::{Answer, BAD_INPUT, Refusal};
use crate::tables::{bold, close_table, digits, rate, wrapped};
use crate::written::{self, Inputs};

/// Signals that an error lists.
const LISTED: usize = 12;
/// Values that have a line each in a histogram, and the characters of its longest bar.
const VALUES: usize = 8;
const BAR: usize = 36;
/// Lines of a table.
const LINES: usize = 16;

/// What is wanted of it.
pub struct Asked<'a> {
    /// Where pins are that go by other names.
    pub maps: &'a [(String, String)],
    /// Which bus, of several.
    pub scope: Option<&'a str>,
    /// So many transactions are listed at most.
    pub limit: usize,
    /// One JSON object.
    pub as_json: bool,
    /// The transactions, as a file.
    pub csv: Option<&'a Path>,
    /// The same, as a timeline.
    pub pftrace: Option<&'a Path>,
    /// What these files may not be.
    pub inputs: &'a Inputs,
}

/// Reads a capture to its end, or as far as it goes.
pub fn analyze(name: &str, source: Source<'_>, length: Option<u64>, asked: &Asked<'_>) -> Result<Answer, Refusal> {
    let read = Rc::new(Cell::new(0));
    let (mut reader, signals) = source.open(&read).map_err(|broken| unreadable(name, &broken))?;
    let mut cables = ide::Cables::find(&signals);
    let mut pins = match Pins::find(&signals, asked.maps, asked.scope) {
        Ok(pins) => pins,
        Err(_) if cables.any() && asked.maps.is_empty() && asked.scope.is_none() => {
            return ide::analyze_alone(name, (reader, read, length), cables, asked);
        }
        Err(missing) => return Err(incomplete(name, &signals, &missing).into()),
    };
    reader.only(&pins.codes().chain(cables.codes()).collect());
    pins.list(asked.limit);
    cables.list(asked.limit);
    let follow = |(pins, cables): &mut (&mut Pins, &mut ide::Cables), next| {
        pins.follow(next);
        cables.follow(next);
    };
    let so_far = |(pins, _): &(&mut Pins, &mut ide::Cables)| format!("{} transactions", pins.decoder.count());
    let (_, cut) = follow_all(reader, (&read, length), &mut (&mut pins, &mut cables), follow, so_far);
    if let Some(broken) = cut.as_ref().filter(|_| pins.decoder.clocks == 0) {
        return Err(unreadable(name, broken).into());
    }
    pins.finish();
    cables.finish();
    let (_, sum, count) = pins.period_ps;
    if count == 0 {
        let problem = Problem::nowhere(format!("{name}: CLK never rises twice, so there is nothing to sample"));
        return Err(problem.help("--map clk=SIGNAL says where the clock is").into());
    }
    let clock_ps = sum as f64 / count as f64;
    let summary = Summary::of(&pins.decoder, clock_ps);
    let repeats = pattern(&pins.decoder.transactions, clock_ps);
    let cut = cut.map(|broken| until_then(&broken));
    let transactions = (&pins.decoder.transactions[..], clock_ps.round() as u64);
    let mut answer = match asked.as_json {
        true => {
            let mut all = json::report(&pins, &summary, repeats.as_ref(), cut.as_deref());
            all["cables"] = cables.json(transactions);
            Answer::json(&all)
        }
        false => {
            let report = report(name, &pins, &summary, repeats.as_ref(), cut.as_deref());
            Answer::text(report + &cables.report(transactions))
        }
    };
    if let Some(cut) = &cut {
        warn(&mut answer, name, cut);
    }
    if let Some(path) = asked.csv
        && let Err(why) = written::file(path, &csv(&pins), asked.inputs)
    {
        answer.complaints += &format!("error: {why}\n");
        answer.code = BAD_INPUT;
    }
    if let Some(path) = asked.pftrace
        && let Err(why) = drawn(path, asked.inputs, |out| timeline::draw(&pins, out))
    {
        answer.complaints += &format!("error: {why}\n");
        answer.code = BAD_INPUT;
    }
    answer.complaints = harmless(&answer.complaints);
    Ok(answer)
}

/// The transactions, a line each.
fn csv(pins: &Pins) -> String {
    let mut out =
        "start_ns,initiator,command,address,bytes,data_phases,wait_clocks,idle_before_clocks,ended_by\n".to_string();
    for one in &pins.decoder.transactions {
        let address = one.address.map_or(String::new(), |address| format!("{address:#010x}"));
        let (start, who) = (one.start_ps as f64 / 1e3, who(pins, one.initiator));
        let (command, ended_by) = (one.command.word(), one.ended_by.word());
        out += &format!(
            "{start},{who},{command},{address},{},{},{},{},{ended_by}\n",
            one.bytes, one.data_phases, one.wait_clocks, one.idle_before_clocks
        );
    }
    out
}

/// Where a waveform is broken that was read so far.
pub(super) fn until_then(broken: &Broken) -> String {
    format!("{}: {}; what was read until then follows", broken.at, broken.what)
}

/// Says that an answer is of a part of its capture.
pub(super) fn warn(answer: &mut Answer, name: &str, cut: &str) {
    answer.complaints += &format!("warning: `{name}`: {cut}\n");
    answer.code = BAD_INPUT;
}

pub(super) fn unreadable(name: &str, broken: &Broken) -> Problem {
    let (at, expected) = match broken.at {
        Place::Line(line) => {
            (format!("{name}:{line}"), "a value change dump, as logic analyzers and simulators write it")
        }
        Place::Byte(_) => (format!("{name}: {}", broken.at), "an FST file, as GTKWave and simulators write it"),
    };
    Problem::nowhere(format!("{at}: {}", broken.what)).help(format!("expected {expected}"))
}

fn incomplete(name: &str, signals: &[Signal], missing: &Missing) -> Problem {
    let mut title = format!("{name}: ");
    if missing.no_scope {
        let there = if missing.buses.is_empty() { "none".to_string() } else { missing.buses.join(", ") };
        return Problem::nowhere(title + "--scope names no bus of this capture").help(format!("buses: {there}"));
    }
    if let [first, ..] = &missing.wrong[..] {
        title += &format!("--map {first} names no pin or no signal");
    } else {
        title += &format!("no {} among the {} signals", missing.pins.join(", "), signals.len());
    }
    let found: Vec<String> = missing.found.iter().map(|(pin, path)| format!("{pin}={path}")).collect();
    let mut others: Vec<String> = signals.iter().take(LISTED).map(Signal::path).collect();
    if signals.len() > LISTED {
        others.push(format!("and {} more", signals.len() - LISTED));
    }
    let found = if found.is_empty() { "nothing".to_string() } else { found.join(", ") };
    Problem::nowhere(title)
        .help(format!("found: {found}\nsignals: {}\n--map PIN=SIGNAL says where a pin is", others.join(", ")))
}

/// The first ones of many.
fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(LISTED);
    let mut shown: Vec<String> = names.iter().take(LISTED).cloned().collect();
    shown.extend((more > 0).then(|| format!("and {more} more")));
    shown.join(", ")
}

fn who(pins: &Pins, number: Option<usize>) -> String {
    number.and_then(|number| pins.initiators.get(number)).map_or("-".to_string(), String::clone)
}

pub(super) fn percent(part: u64, of: u64) -> String {
    if of == 0 { "-".to_string() } else { format!("{:.1} %", 100.0 * part as f64 / of as f64) }
}

fn report(name: &str, pins: &Pins, summary: &Summary, repeats: Option<&Pattern>, cut: Option<&str>) -> String {
    let mut lines = Vec::new();
    let headline = format!(
        "{name}: {} transactions on {} in {} clocks of {} ns; {} of data, {:.1} % of the clocks",
        summary.transactions,
        pins.decoder.protocol(),
        summary.clocks,
        digits(summary.clock_ps / 1e3),
        rate(summary.bytes_per_second()),
        100.0 * summary.efficiency(),
    );
    lines.push(bold(wrapped(&headline, "").trim_end()));
    if let Some(cut) = cut {
        lines.push(format!("The capture is broken at {cut}."));
    }
    if !pins.others.is_empty() {
        let others = listed(&pins.others);
        let said = format!("This is {}. Other buses in the capture, for --scope: {others}.", pins.scope);
        lines.push(wrapped(&said, "").trim_end().to_string());
    }
    let listed = pins.decoder.transactions.len() as u64;
    if listed < summary.transactions {
        let said =
            format!("All are added up; what repeats is that of the first {listed} (--limit), which alone are listed.");
        lines.push(wrapped(&said, "").trim_end().to_string());
    }
    if !pins.without.is_empty() {
        lines.push(format!("Not in the capture: {}.", pins.without.join(", ")));
    }
    lines.push(String::new());
    lines.push("Where the clocks went".to_string());
    for (what, clocks) in summary.spent {
        lines.push(format!("  {what:<28}{clocks:>10}  {:>7}", percent(clocks, summary.clocks)));
    }
    lines.push(String::new());
    lines.extend(by_command(pins, summary));
    if let Some(repeats) = repeats {
        lines.push(String::new());
        lines.extend(period(pins, summary, repeats));
    }
    for (title, counts) in [
        ("Bursts, bytes", &bursts(summary)),
        ("Clocks from FRAME# to the first data", &summary.latencies),
        ("Idle clocks between transactions", &summary.idles),
    ] {
        lines.push(String::new());
        lines.push(format!("{title}{}", commonest(counts)));
        lines.extend(histogram(counts));
    }
    let wrong = &pins.decoder.violations;
    if summary.parity_errors > 0 || !wrong.is_empty() {
        lines.push(String::new());
        lines.push(format!("{} phases with wrong parity, {} violations", summary.parity_errors, wrong.len()));
        lines.extend(wrong.iter().take(LINES).map(|of| format!("  {} ns  {}", digits(of.at_ps as f64 / 1e3), of.rule)));
    }
    lines.join("\n") + "\n"
}

fn bursts(summary: &Summary) -> BTreeMap<u64, u64> {
    let mut all = BTreeMap::new();
    for (bytes, count) in summary.shares.values().flat_map(|share| &share.bursts) {
        *all.entry(*bytes).or_default() += count;
    }
    all
}

/// The two commonest of many values.
fn commonest(counts: &BTreeMap<u64, u64>) -> String {
    let mut sorted: Vec<(u64, u64)> = counts.iter().map(|(value, count)| (*value, *count)).collect();
    sorted.sort_by_key(|(value, count)| (std::cmp::Reverse(*count), *value));
    match sorted[..] {
        [(first, _), (second, _), ..] if sorted.len() > VALUES => format!(", most often {first} and {second}"),
        _ => String::new(),
    }
}

/// A line a value, or a power of two where there are many.
fn histogram(counts: &BTreeMap<u64, u64>) -> Vec<String> {
    let few = counts.len() <= VALUES;
    let mut rows: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for (value, count) in counts {
        let low = if few || *value == 0 { *value } else { 1 << value.ilog2() };
        *rows.entry((low, if few || low == 0 { low } else { low + (low - 1) })).or_default() += count;
    }
    let all: u64 = rows.values().sum();
    let most = rows.values().copied().max().unwrap_or(1).max(1);
    let line = |((low, high), count): (&(u64, u64), &u64)| {
        let value = if low == high { low.to_string() } else { format!("{low} to {high}") };
        let bar = "█".repeat((count * BAR as u64).div_ceil(most) as usize);
        format!("  {value:<18}{count:>10}  {:>7}  {bar}", percent(*count, all))
    };
    if rows.is_empty() { vec!["  none".to_string()] } else { rows.iter().map(line).collect() }
}

fn by_command(pins: &Pins, summary: &Summary) -> Vec<String> {
    let header = ["initiator", "command", "count", "bytes", "data", "wait", "most", "ended by others"];
    let rows = summary.shares.iter().take(LINES).map(|((initiator, command), share)| {
        vec![
            who(pins, *initiator),
            command.word().to_string(),
            share.transactions.to_string(),
            share.bytes.to_string(),
            share.data_phases.to_string(),
            digits(share.waits as f64 / share.transactions as f64),
            share.wait_max.to_string(),
            ended(share),
        ]
    });
    indented(&close_table(&header, rows))
}

pub(super) fn indented(table: &str) -> Vec<String> {
    table.lines().map(|line| format!("  {line}")).collect()
}

fn ended(share: &Share) -> String {
    let by_others = share.ended_by.iter().filter(|(how, _)| **how != EndedBy::Initiator);
    let words: Vec<String> = by_others.map(|(how, count)| format!("{count} {}", how.word())).collect();
    words.join(", ")
}

fn period(pins: &Pins, summary: &Summary, repeats: &Pattern) -> Vec<String> {
    let (clocks, bytes) = (repeats.clocks(), repeats.bytes());
    let ns = clocks as f64 * summary.clock_ps / 1e3;
    let speed = if bytes > 0 { format!(", {}", rate(bytes as f64 / ns * 1e9)) } else { String::new() };
    let listed = pins.decoder.transactions.len() as u64;
    let of_what = if listed < summary.transactions { "those listed" } else { "all" };
    let said = format!(
        "What repeats: {} transactions in {clocks} clocks ({} ns), {bytes} bytes{speed}; {} times, {} of {of_what}",
        repeats.steps.len(),
        digits(ns),
        repeats.times,
        percent(repeats.transactions as u64, listed),
    );
    let mut lines = vec![wrapped(&said, "").trim_end().to_string()];
    let header = ["initiator", "command", "idle", "address", "wait", "data", "more", "after", "bytes", "ended by"];
    let rows = repeats.steps.iter().take(LINES).map(|step| {
        let Step { initiator, command, idle_before, address, wait, data, bytes, between, after, ended_by } = step;
        vec![
            who(pins, *initiator),
            command.word().to_string(),
            idle_before.to_string(),
            address.to_string(),
            wait.to_string(),
            data.to_string(),
            between.to_string(),
            after.to_string(),
            bytes.to_string(),
            ended_by.word().to_string(),
        ]
    });
    lines.extend(indented(&close_table(&header, rows)));
    lines
}
