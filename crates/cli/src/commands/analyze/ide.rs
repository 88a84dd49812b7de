//! IDE cables in a waveform, as a report.

use hopscope_files::quantity::digits;
use hopscope_signals::ide::direction;
use hopscope_signals::ide::pins::Pins;
use hopscope_signals::ide::summary::Summary;
use hopscope_signals::ide::together::{Delay, Measured};
use hopscope_signals::waveform::Waveform;

use super::pci::{indented, percent};
use crate::tables::{bold, close_table, rate};

/// Every cable in words.
pub fn report(found: &Waveform) -> String {
    let cables = found.cables.iter().map(|pins| of_cable(pins, &found.delays(pins)).join("\n") + "\n");
    cables.map(|report| format!("\n{report}")).collect()
}

fn ns(ps: u64) -> String {
    digits(ps as f64 / 1e3)
}

fn of_cable(pins: &Pins, delays: &[(Delay, Measured)]) -> Vec<String> {
    let summary = Summary::of(&pins.decoder);
    let accesses: u64 = summary.registers.values().map(|(count, _)| count).sum();
    let bursts: u64 = summary.bursts.values().map(|of| of.bursts).sum();
    let mut lines = vec![bold(&format!(
        "IDE cable {}: {accesses} register accesses, {bursts} bursts, {} interrupts",
        pins.scope, summary.interrupts.0
    ))];
    if !pins.without.is_empty() {
        lines.push(format!("Not in the capture: {}.", pins.without.join(", ")));
    }
    if !summary.bursts.is_empty() {
        lines.push(String::new());
        let header = ["words by", "", "bursts", "bytes", "rate", "word, ns", "around", "paused", "wrong CRC"];
        let rows = summary.bursts.iter().map(|((protocol, reads), of)| {
            vec![
                protocol.word().to_string(),
                direction(*reads).to_string(),
                of.bursts.to_string(),
                of.bytes.to_string(),
                rate(of.bytes as f64 / (of.held_ps.max(1) as f64 / 1e12)),
                of.word_ps.map_or("-".to_string(), ns),
                percent(of.around_ps, of.held_ps),
                percent(of.pauses.1, of.held_ps),
                of.wrong_crc.to_string(),
            ]
        });
        lines.extend(indented(&close_table(&header, rows)));
    }
    if !summary.registers.is_empty() {
        lines.push(String::new());
        let header = ["register", "", "count", "strobe, ns"];
        let rows = summary.registers.iter().map(|((register, writes), (count, spent))| {
            let way = if *writes { "written" } else { "read" };
            vec![register.to_string(), way.to_string(), count.to_string(), ns(spent / count)]
        });
        lines.extend(indented(&close_table(&header, rows)));
    }
    if !delays.is_empty() {
        lines.push(String::new());
        lines.push("Delays between cause and effect, ns".to_string());
        let header = ["", "count", "least", "median", "longest"];
        let rows = delays.iter().map(|(delay, of)| {
            let spans = [of.least_ps, of.median_ps, of.longest_ps].map(ns);
            [vec![delay.word().to_string(), of.count.to_string()], spans.to_vec()].concat()
        });
        lines.extend(indented(&close_table(&header, rows)));
    }
    lines
}
