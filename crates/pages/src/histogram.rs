//! How often each of many values was there, as a figure.

use std::collections::BTreeMap;

use hopscope_signals::pci::summary::bins;
use serde_json::json;

use crate::charts::stacks::{self, Bar, Segment, Stacks};
use crate::page::{Behind, Figure, Kind};
use crate::table::{Cell, Table};
use crate::wording::percent;

/// Values that have a bar each; where there are more, a bar is a power of two.
const VALUES: usize = 16;

/// Values of so large a unit, and how many `things` had each.
pub fn figure(id: &str, title: &str, unit: &str, things: &str, counts: &BTreeMap<u64, u64>) -> Figure {
    let bins = bins(counts, VALUES);
    let all: u64 = bins.values().sum();
    let share = |count: u64| count as f64 / all.max(1) as f64;
    let name = |(low, high): (u64, u64)| if low == high { low.to_string() } else { format!("{low} to {high}") };
    let bars = bins.iter().map(|(bin, count)| Bar {
        name: format!("{} {unit}", name(*bin)),
        about: String::new(),
        figure: percent(share(*count)),
        segments: vec![Segment {
            names: vec![count.to_string()],
            class: "payload".to_string(),
            amount: *count as f64,
            tip: format!("{count} {things}, {}", percent(share(*count))),
        }],
    });
    let least = counts.keys().next().copied().unwrap_or(0);
    let most = counts.keys().next_back().copied().unwrap_or(0);
    let stacks = Stacks {
        title: title.to_string(),
        description: format!("{all} {things}, from {least} to {most} {unit}."),
        bars: bars.collect(),
        most: None,
        unit: things.to_string(),
        legend: Vec::new(),
        row: (26.0, 17.0),
    };
    let rows = bins.iter().map(|(bin, count)| {
        let share = share(*count);
        vec![
            Cell::figure(name(*bin), bin.0),
            Cell::figure(count.to_string(), count),
            Cell::figure(percent(share), share),
        ]
    });
    let columns = [(unit, "from"), (things, "count"), ("share", "share")];
    Figure {
        id: id.to_string(),
        drawing: stacks::draw(&stacks),
        caption: String::new(),
        kind: Kind::Marks,
        data: json!(counts.iter().map(|(value, count)| [value, count]).collect::<Vec<_>>()),
        behind: Behind::Table(Table::new(&format!("{id}-table"), title, &columns, rows.collect())),
        width_min: 620,
    }
}
