//! A PCI bus in a waveform, as a report.

use hopscope_files::quantity::digits;
use hopscope_signals::pci::latency_timer::LatencyTimer;
use hopscope_signals::pci::pattern::{Pattern, Step};
use hopscope_signals::pci::pins::Pins;
use hopscope_signals::pci::summary::{Share, Summary, quantile};
use hopscope_signals::waveform::Bus;

use super::histogram::{commonest, histogram};
use super::unreadable::listed;
use crate::tables::{bold, close_table, rate, wrapped};

/// Lines of a table.
const LINES: usize = 16;

/// The report of a bus.
pub fn report(name: &str, bus: &Bus, cut: Option<&str>) -> String {
    let Bus { pins, summary, repeats } = bus;
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
    for (pin, clocks) in pins.unknown_clocks() {
        let said = format!("{pin} is neither 0 nor 1 in {clocks} clocks: it is read as not asserted there.");
        lines.push(wrapped(&said, "").trim_end().to_string());
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
        ("Bursts, bytes", &summary.bursts()),
        ("Clocks from FRAME# to the first data", &summary.latencies()),
        ("Idle clocks between transactions", &summary.idles),
    ] {
        lines.push(String::new());
        lines.push(format!("{title}{}", commonest(counts)));
        lines.extend(histogram(counts));
    }
    let timers = summary.timers.found();
    if !timers.is_empty() {
        lines.push(String::new());
    }
    for LatencyTimer { initiator, clocks, bursts } in timers {
        let said = format!(
            "Latency timer of {}: it gave up {bursts} bursts after {clocks} clocks, whatever they had moved, and went on later.",
            who(pins, Some(initiator))
        );
        lines.push(wrapped(&said, "").trim_end().to_string());
    }
    let wrong = &pins.decoder.violations;
    if summary.parity_errors > 0 || !wrong.is_empty() {
        lines.push(String::new());
        lines.push(format!("{} phases with wrong parity, {} violations", summary.parity_errors, wrong.len()));
        lines.extend(wrong.iter().take(LINES).map(|of| format!("  {} ns  {}", digits(of.at_ps as f64 / 1e3), of.rule)));
    }
    lines.join("\n") + "\n"
}

fn who(pins: &Pins, number: Option<usize>) -> String {
    pins.initiator(number).unwrap_or("-").to_string()
}

pub(super) fn percent(part: u64, of: u64) -> String {
    if of == 0 { "-".to_string() } else { format!("{:.1} %", 100.0 * part as f64 / of as f64) }
}

fn by_command(pins: &Pins, summary: &Summary) -> Vec<String> {
    let header = ["initiator", "command", "count", "bytes", "data", "to data, min/half/99 %/max", "ended by others"];
    let rows = summary.shares.iter().take(LINES).map(|((initiator, command), share)| {
        vec![
            who(pins, *initiator),
            command.word().to_string(),
            share.transactions.to_string(),
            share.bytes.to_string(),
            share.data_phases.to_string(),
            to_data(share),
            share.ended_by_others(),
        ]
    });
    indented(&close_table(&header, rows))
}

/// Clocks from FRAME# to the first data.
fn to_data(share: &Share) -> String {
    let clocks: Vec<String> = [0.0, 0.5, 0.99, 1.0]
        .iter()
        .filter_map(|at| quantile(&share.latencies, *at))
        .map(|of| of.to_string())
        .collect();
    if clocks.is_empty() { "-".to_string() } else { clocks.join(" / ") }
}

pub(super) fn indented(table: &str) -> Vec<String> {
    table.lines().map(|line| format!("  {line}")).collect()
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
