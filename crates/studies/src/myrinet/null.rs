//! The null models: each host does what the fitted host of the same chip set does.

use super::cells::{BLOCK_BYTES, DIRECTIONS, Direction, Measured, Row};
use crate::report::{Alternative, Cell, CellBasis};

/// Bytes of a data phase.
const WIDTH_BYTES: f64 = 8.0;
/// Words of a seen host, and of the fitted one of its chip set.
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

/// How a rule guesses from the fitted host of the same chip set.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// As many idle clocks a burst.
    Clocks,
    /// As much idle time a burst.
    Time,
    /// As much idle time of reads; of writes the slower of two: the host as it is there, and the bus with no more idle
    /// clocks than the fastest host of the table has.
    Slower,
}

impl Rule {
    fn rate(self, row: &Row, like: &Row, direction: Direction, fastest: &Row) -> f64 {
        let data_clocks = BLOCK_BYTES as f64 / WIDTH_BYTES;
        let idle_clocks = |row: &Row| BLOCK_BYTES as f64 / row.published(direction) * clocks_per_us(row) - data_clocks;
        let bus = |idle_us: f64| BLOCK_BYTES as f64 / (data_clocks / clocks_per_us(row) + idle_us);
        match (self, direction) {
            (Rule::Clocks, _) => bus(idle_clocks(like) / clocks_per_us(row)),
            (Rule::Time, _) | (Rule::Slower, Direction::Read) => bus(idle_clocks(like) / clocks_per_us(like)),
            (Rule::Slower, Direction::Write) => {
                like.published(direction).min(bus(idle_clocks(fastest) / clocks_per_us(row)))
            }
        }
    }
}

/// All of them, and this model beside them.
pub(super) fn beside(measured: &[Measured]) -> Vec<Alternative> {
    let seen = || measured.iter().filter(|m| m.row.basis() == CellBasis::Seen);
    let quicker =
        |a: &&Measured, b: &&Measured| a.row.published(Direction::Write).total_cmp(&b.row.published(Direction::Write));
    let fastest = &measured.iter().max_by(quicker).expect("hosts are published").row;
    let guess = |rule: Rule| -> Vec<Cell> {
        let cells = seen().flat_map(|Measured { row, .. }| {
            let chip_set = SAME_CHIP_SET.iter().find(|(host, _)| row.host.contains(host));
            let like = chip_set.and_then(|(_, like)| {
                measured.iter().find(|m| m.row.host.contains(like) && m.row.basis() == CellBasis::Fitted)
            });
            let like = &like.unwrap_or_else(|| panic!("{} has a host of its chip set", row.host)).row;
            DIRECTIONS.map(|direction| {
                let rate = rule.rate(row, like, direction, fastest);
                Cell::new(row.key(direction), row.published(direction), rate, CellBasis::Seen, 0.0)
            })
        });
        cells.collect()
    };
    let ours = seen().flat_map(|Measured { row, mb_per_s }| {
        let of =
            |(direction, rate)| Cell::new(row.key(direction), row.published(direction), rate, CellBasis::Seen, 0.0);
        DIRECTIONS.into_iter().zip(*mb_per_s).map(of)
    });
    let ours: Vec<Cell> = ours.collect();
    let whose = "of a burst on the fitted host of the same chip set";
    let rules = [
        ("null-model-clocks", Rule::Clocks, format!("as many idle clocks as {whose}")),
        ("null-model-time", Rule::Time, format!("as much idle time as {whose}")),
        (
            "null-model-slower",
            Rule::Slower,
            format!(
                "reads as much idle time as {whose}; writes the slower of two: as fast as on that host, or as many idle \
                 clocks as on the fastest host of all"
            ),
        ),
    ];
    rules.map(|(id, rule, words)| Alternative::null_model(id, &words, guess(rule), &ours)).into()
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
        // 512 clocks of data and 11 of the fastest host's writes, at 100 MHz: less than the Tyan's other slot.
        let write = alternatives[2].cells.last().and_then(|cell| cell.simulated).unwrap_or(0.0);
        assert!((write - 783.1).abs() < 0.3, "{write}");
    }
}
