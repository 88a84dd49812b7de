//! What was measured, beside the simulation.

use hopscope_questions::measured::{Beside, Ceiling, Comparison, Row, TOLERANCE};

use crate::page::{Block, Section, Tile};
use crate::table::{Cell, Table, Tone};
use crate::wording::{digits, percent, rate, signed_percent, span_ps};

/// The section.
pub fn section(comparison: &Comparison) -> Section {
    let by = if comparison.version.is_empty() { "A result" } else { &format!("A result of {}", comparison.version) };
    let mut section = Section::new("measured", "Measured, beside the simulation");
    section = section.words(format!("{by}, {}.", comparison.file));
    let caveats = comparison.caveats();
    if !caveats.is_empty() {
        section = section.words(caveats.join(" "));
    }
    section = section.words(comparison.verdict().join(" "));
    if let Some(words) = comparison.pairing() {
        section = section.words(words);
    }
    section = section.block(Block::Table(figures(comparison))).block(Block::Table(ceilings(comparison)));
    if !comparison.warnings.is_empty() {
        section = section.block(Block::Table(warnings(comparison)));
    }
    section
}

/// The figure that is read first.
pub fn tile(comparison: &Comparison) -> Option<Tile> {
    let share = comparison.throughput.unexplained_share()?;
    Some(Tile {
        name: "Unexplained".into(),
        figure: signed_percent(share),
        about: format!("of {} measured", rate(comparison.throughput.measured?)),
        tone: if share.abs() <= TOLERANCE { Tone::Good } else { Tone::Fair },
    })
}

fn figures(comparison: &Comparison) -> Table {
    let mut rows = Vec::new();
    let mut line = |job: &str, side: &str, what: &str, figure: &Beside, words: fn(f64) -> String| {
        let cell = |value: Option<f64>| value.map_or_else(Cell::empty, |value| Cell::figure(words(value), value));
        let share = figure.unexplained_share();
        rows.push(vec![
            Cell::words(job),
            Cell::words(side),
            Cell::words(what),
            cell(figure.measured),
            cell(figure.simulated),
            share.map_or_else(Cell::empty, |share| Cell::figure(signed_percent(share), share)),
        ]);
    };
    let span_ns = |ns: f64| span_ps(1e3 * ns);
    for Row { measured, side, throughput, iops, latency_ns, .. } in &comparison.rows {
        line(measured, side, "bytes per second", throughput, rate);
        line(measured, side, "IOPS", iops, digits);
        line(measured, side, "mean latency, ns", latency_ns, span_ns);
    }
    if comparison.rows.len() > 1 {
        line("all of them", "", "bytes per second", &comparison.throughput, rate);
        line("all of them", "", "IOPS", &comparison.iops, digits);
    }
    let columns = [
        ("job", "job"),
        ("side", "side"),
        ("figure", "figure"),
        ("measured", "measured"),
        ("simulated", "simulated"),
        ("unexplained", "unexplained_share"),
    ];
    Table::new("measured-table", "Measured and simulated", &columns, rows)
}

fn ceilings(comparison: &Comparison) -> Table {
    let got = comparison.throughput.measured;
    let hops = comparison.ceilings_alike();
    let rows = hops.iter().map(|hop| {
        let Ceiling { lane, busy_share, at_this_size, capacity, .. } = hop;
        let speed = |value: &Option<f64>| value.map_or_else(Cell::empty, |value| Cell::figure(rate(value), value));
        let share = hop.lowest().zip(got).map(|(limit, got)| got / limit);
        vec![
            Cell::words(lane.clone()),
            Cell::figure(percent(*busy_share), busy_share),
            speed(at_this_size),
            speed(capacity),
            share.map_or_else(Cell::empty, |share| Cell::figure(percent(share), share)),
        ]
    });
    let columns = [
        ("hop", "lane"),
        ("busy", "busy_share"),
        ("ceiling at this size", "at_this_size_bytes_per_s"),
        ("at all", "capacity_bytes_per_s"),
        ("measured is at", "measured_share"),
    ];
    let caption = "What each hop could carry of this workload; none where no request waits for it";
    Table::new("ceilings-table", caption, &columns, rows.collect())
}

fn warnings(comparison: &Comparison) -> Table {
    let rows = comparison.warnings.iter().map(|warning| {
        let cells = [&warning.option, &warning.measured, &warning.simulated, &warning.why, &warning.jobs.join(", ")];
        cells.into_iter().map(Cell::words).collect()
    });
    let columns = [
        ("option", "option"),
        ("measured", "measured"),
        ("simulated", "simulated"),
        ("why it matters", "why"),
        ("jobs", "jobs"),
    ];
    Table::new("warnings-table", "Not as it was simulated", &columns, rows.collect())
}
