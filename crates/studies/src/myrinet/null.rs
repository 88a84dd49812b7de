//! The null models: the idle clocks, or the idle time, of each burst are those of the fitted host of the same chip set.

use super::cells::{BLOCK_BYTES, DIRECTIONS, Measured, Row};
use crate::report::{Alternative, Cell, CellBasis};

/// Bytes of a data phase.
const WIDTH_BYTES: f64 = 8.0;
/// Words of a predicted host, and of the fitted one of its chip set.
const SAME_CHIP_SET: [(&str, &str); 6] = [
    ("Navion", "Melody"),
    ("Newisys", "Melody"),
    ("Quartet", "Melody"),
    ("E7500 chipset, 400MHz", "X5DPE"),
    ("Sunfire", "X5DPE"),
    ("Tyan", "Tyan"),
];

fn clocks_per_us(row: &Row) -> f64 {
    if row.slot_clock_mhz == 100 { 100.0 } else { 400.0 / 3.0 }
}

/// Both, and this model beside them.
pub(super) fn beside(measured: &[Measured]) -> Vec<Alternative> {
    let predicted = || measured.iter().filter(|m| m.row.basis() == CellBasis::Predicted);
    let data_clocks = BLOCK_BYTES as f64 / WIDTH_BYTES;
    let guess = |constant_clocks: bool| -> Vec<Cell> {
        let cells = predicted().flat_map(|Measured { row, .. }| {
            let chip_set = SAME_CHIP_SET.iter().find(|(host, _)| row.host.contains(host));
            let like = chip_set.and_then(|(_, like)| {
                measured.iter().find(|m| m.row.host.contains(like) && m.row.basis() == CellBasis::Fitted)
            });
            let like = &like.unwrap_or_else(|| panic!("{} has a host of its chip set", row.host)).row;
            DIRECTIONS.map(|direction| {
                let there_us = BLOCK_BYTES as f64 / like.published(direction);
                let idle_clocks = there_us * clocks_per_us(like) - data_clocks;
                let idle_us =
                    if constant_clocks { idle_clocks / clocks_per_us(row) } else { idle_clocks / clocks_per_us(like) };
                let rate = BLOCK_BYTES as f64 / (data_clocks / clocks_per_us(row) + idle_us);
                Cell::new(row.key(direction), row.published(direction), rate, CellBasis::Predicted, 0.0)
            })
        });
        cells.collect()
    };
    let ours = predicted().flat_map(|Measured { row, mb_per_s }| {
        let of = |(direction, rate)| {
            Cell::new(row.key(direction), row.published(direction), rate, CellBasis::Predicted, 0.0)
        };
        DIRECTIONS.into_iter().zip(*mb_per_s).map(of)
    });
    let whose = "of a burst on the fitted host of the same chip set";
    vec![
        Alternative::of("null-model-clocks", format!("null model: as many idle clocks as {whose}"), guess(true)),
        Alternative::of("null-model-time", format!("null model: as much idle time as {whose}"), guess(false)),
        Alternative::of("beside-null-models", "this model, on the same cells".into(), ours.collect()),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::cells;
    use super::*;

    #[test]
    fn idle_clocks_of_the_tyan_are_those_of_its_faster_slot() {
        let measured: Vec<Measured> =
            cells::all().into_iter().map(|row| Measured { row, mb_per_s: [1.0, 1.0] }).collect();
        let alternatives = beside(&measured);
        let of = |cells: &[Cell]| {
            let tyan = |cell: &&Cell| cell.key["host"].as_str().is_some_and(|host| host.contains("Tyan"));
            cells.iter().find(tyan).and_then(|cell| cell.simulated).unwrap_or(0.0)
        };
        // 512 clocks of data and 123.8 idle ones at 100 MHz; or 928 ns idle.
        assert!((of(&alternatives[0].cells) - 644.3).abs() < 0.3, "{}", of(&alternatives[0].cells));
        assert!((of(&alternatives[1].cells) - 677.2).abs() < 0.3, "{}", of(&alternatives[1].cells));
    }
}
