//! The null model: what a reader would say who has seen the unloaded figures.

use super::Setup;
use super::cells::{self, FAST, FASTEST, NO_LOAD, Row, SLOW};
use crate::report::{Alternative, Cell, CellBasis};

/// A load costs so much, a faster PCI-X bus nothing; and ours, for the same cells.
pub(super) fn beside(setup: &Setup, cells: &[Cell]) -> Vec<Alternative> {
    let rows = cells::all();
    let left = 1.0 - setup.numbers.get("null_load") as f64 / 100.0;
    let published = |row: &Row, bus: &str| {
        let of = |other: &&Row| {
            (&other.benchmark, &other.adapter) == (&row.benchmark, &row.adapter)
                && other.bus == bus
                && other.background_load == NO_LOAD
        };
        rows.iter().find(of).map_or(f64::NAN, |other| other.iops)
    };
    let mut alternatives = Vec::new();
    for (id, bus, share, what) in
        [("loaded", SLOW, left, "a load on the bus"), ("pci-x", FAST, 1.0, "PCI-X at 100 MHz")]
    {
        let asked = |row: &Row| if id == "loaded" { row.is_loaded() } else { row.bus == FASTEST };
        let beside = rows.iter().zip(cells).filter(|(row, _)| asked(row) && row.benchmark != cells::AVERAGE);
        let guessed = |(row, cell): (&Row, &Cell)| {
            Cell::new(cell.key.clone(), cell.published, share * published(row, bus), CellBasis::Predicted, 0.0)
        };
        let ours: Vec<Cell> = beside.clone().map(|(_, cell)| cell.clone()).collect();
        let rule = format!(
            "null model, {what}: {:.0} % less than without it, from the published figure",
            100.0 * (1.0 - share)
        );
        alternatives.push(Alternative::of(&format!("null-model-{id}"), rule, beside.map(guessed).collect()));
        alternatives.push(Alternative::of(&format!("beside-{id}"), format!("this model, {what}"), ours));
    }
    alternatives
}
