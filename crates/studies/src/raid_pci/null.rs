//! The null models: what a reader would say who has seen the unloaded figures.

use super::Setup;
use super::cells::{self, AVERAGE, FAST, FASTEST, NO_LOAD, Row, SLOW};
use crate::report::{Alternative, Cell, CellBasis};

/// A load costs so much, or costs all alike what it costs the average; a faster PCI-X bus changes nothing. And ours, for
/// the same cells.
pub(super) fn beside(setup: &Setup, cells: &[Cell]) -> Vec<Alternative> {
    let rows = cells::all();
    let left = 1.0 - setup.numbers.get("null_load") as f64 / 100.0;
    let unloaded = |row: &Row, bus: &str| {
        let of = |other: &&Row| {
            (&other.benchmark, &other.adapter) == (&row.benchmark, &row.adapter)
                && other.bus == bus
                && other.background_load == NO_LOAD
        };
        rows.iter().find(of).map_or(f64::NAN, |other| other.iops)
    };
    let average = rows.iter().find(|row| row.is_loaded() && row.benchmark == AVERAGE);
    let alike = average.map_or(f64::NAN, |average| average.iops / unloaded(average, SLOW));
    let percent = |share: f64| format!("{:.0} %", 100.0 * (1.0 - share));
    let rules = [
        ("loaded", SLOW, left, format!("a load on the bus costs {}", percent(left))),
        (
            "alike",
            SLOW,
            alike,
            format!("a load on the bus costs all benchmarks what it costs the published average, {}", percent(alike)),
        ),
        ("pci-x", FAST, 1.0, "PCI-X at 100 MHz changes nothing".to_string()),
    ];
    let null_model = |(id, bus, share, rule): (&str, &str, f64, String)| {
        let asked = |row: &Row| if bus == SLOW { row.is_loaded() } else { row.bus == FASTEST };
        let beside = || rows.iter().zip(cells).filter(|(row, _)| asked(row) && row.benchmark != AVERAGE);
        let guessed = |(row, cell): (&Row, &Cell)| {
            Cell::new(cell.key.clone(), cell.published, share * unloaded(row, bus), CellBasis::Seen, 0.0)
        };
        let ours: Vec<Cell> = beside().map(|(_, cell)| cell.clone()).collect();
        Alternative::null_model(&format!("null-model-{id}"), &rule, beside().map(guessed).collect(), &ours)
    };
    rules.map(null_model).into()
}
