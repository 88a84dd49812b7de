//! A measurement beside the simulation, as people read it.

use hopscope_files::quantity::digits;
use hopscope_questions::measured::{Beside, Ceiling, Comparison, Row};

use crate::tables::{bold, shortened, span, width, wrapped};

/// Jobs, direction by direction, that are listed one by one.
const LISTED: usize = 8;
/// Columns of the figures of a ceiling; and the least for the name before them.
const FIGURES: usize = 56;
const NAME: usize = 18;

/// What stands directly under the headline of a report: what makes the measurement another thing than the simulation,
/// and how far apart they are.
pub fn head(comparison: &Comparison) -> String {
    let by = if comparison.version.is_empty() { "Measured" } else { &format!("Measured by {}", comparison.version) };
    let mut out = format!("\n{}\n", bold(&format!("{by}, beside the simulation ({})", comparison.file)));
    for line in comparison.caveats().iter().chain(&comparison.verdict()) {
        out += &wrapped(line, "");
    }
    out
}

/// The rest of the comparison: figure by figure, hop by hop, and all differences.
pub fn rest(comparison: &Comparison) -> String {
    let mut out = figures(comparison);
    out += &ceilings(comparison);
    if !comparison.warnings.is_empty() {
        out += "\nNot as it was simulated:\n";
        for warning in &comparison.warnings {
            out += &format!("  {}", wrapped(&warning.words(), "    ").trim_start());
        }
    }
    out
}

fn figures(comparison: &Comparison) -> String {
    let mut out = format!("\n  {:<20}{:>17}{:>17}{:>15}\n", "", "measured", "simulated", "unexplained");
    let several = comparison.rows.len() > 1;
    if comparison.rows.len() <= LISTED {
        for Row { measured, side, throughput, iops, latency_ns, .. } in &comparison.rows {
            let room = width().saturating_sub(side.len() + 2);
            out += &format!("{}: {side}\n", shortened(measured, room));
            out += &line("throughput", throughput, mb);
            out += &line("IOPS", iops, digits);
            out += &line("mean latency", latency_ns, span);
        }
    }
    if several {
        out += &format!("all {} together\n", comparison.rows.len());
        out += &line("throughput", &comparison.throughput, mb);
        out += &line("IOPS", &comparison.iops, digits);
    }
    if comparison.rows.len() > LISTED {
        out += "  (one by one with --json)\n";
    }
    if let Some(words) = comparison.pairing() {
        out += &wrapped(words, "");
    }
    out
}

fn line(what: &str, figure: &Beside, words: fn(f64) -> String) -> String {
    let cell = |value: Option<f64>| value.map_or("-".to_string(), words);
    let share = figure.unexplained_share().map_or(String::new(), signed);
    let (measured, simulated) = (cell(figure.measured), cell(figure.simulated));
    format!("  {what:<20}{measured:>17}{simulated:>17}{share:>15}").trim_end().to_string() + "\n"
}

fn ceilings(comparison: &Comparison) -> String {
    let got = comparison.throughput.measured.unwrap_or(0.0);
    let together = if comparison.rows.len() > 1 { ", all jobs together" } else { "" };
    let mut out = format!("\n{}\n", bold(&format!("What each hop could carry of this workload{together}")));
    let hops = comparison.ceilings_alike();
    let longest = hops.iter().map(|hop| hop.lane.chars().count()).max().unwrap_or(0);
    let room = longest.min(width().saturating_sub(FIGURES + 2)).max(NAME);
    out += &format!("  {:<room$}{:>9}{:>17}{:>15}{:>15}\n", "", "busy", "at this size", "at all", "measured");
    for hop in &hops {
        let Ceiling { lane, busy_share, at_this_size, capacity, .. } = hop;
        let name = shortened(lane, room);
        let busy = format!("{:.1} %", 100.0 * busy_share);
        let at_this_size = at_this_size.map_or("not waited for".to_string(), mb);
        let capacity = capacity.map_or(String::new(), mb);
        let share = hop.lowest().map_or(String::new(), |limit| format!("{:.1} %", 100.0 * got / limit));
        let line = format!("  {name:<room$}{busy:>9}{at_this_size:>17}{capacity:>15}{share:>15}");
        out += &(line.trim_end().to_string() + "\n");
    }
    if hops.iter().any(|hop| hop.at_this_size.is_none()) {
        out += &wrapped(
            "not waited for: no request's way goes through this hop, so that it may be busy and limit nothing",
            "  ",
        );
    }
    out
}

fn mb(bytes_per_second: f64) -> String {
    format!("{} MB/s", digits(bytes_per_second / 1e6))
}

fn signed(share: f64) -> String {
    // What rounds to nothing has no sign.
    let tenths = (1_000.0 * share).round();
    if tenths == 0.0 { "0.0 %".to_string() } else { format!("{:+.1} %", tenths / 10.0) }
}
