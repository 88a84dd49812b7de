//! What the search for fitted numbers may change here, and which cells it looks at; and the paper's own guess, fitted.

use hopscope_kernel::Time;
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::Value;

use super::cells::{self, Row};
use super::{ID, Setup, bus};
use crate::Wish;
use crate::fitting::{self, Bench, Found};
use crate::machines::Machines;
use crate::measure::Effort;
use crate::report::{Alternative, Cell, CellBasis};
use crate::study_file;

const BRIDGE: &str = "bridge/intel-piix4e";
/// Penalties tried for the paper's guess.
const PENALTIES: [Time; 3] = [Time::us(60), Time::us(120), Time::us(180)];

/// Hundreds of these cells are run.
fn quick() -> Effort {
    Effort { share: 0.01, seeds_max: 3, trains: true }
}

fn mean(errors: impl Iterator<Item = f64>) -> f64 {
    let errors: Vec<f64> = errors.map(f64::abs).collect();
    errors.iter().sum::<f64>() / errors.len().max(1) as f64
}

/// Whether a cell is among those that are called so: those of one disk, all or of a pattern and one way or both, or those
/// that show the dead time of a channel switch.
fn chosen(row: &Row, cells: &str) -> bool {
    if cells == "single-block reads of two disks on two channels" {
        return row.shows_channel_switch();
    }
    let alike = match cells.strip_suffix("one disk").map(str::trim_end) {
        Some("") => true,
        Some(words) => {
            let (pattern, ways) = words.trim_end_matches(" of").split_once(' ').unwrap_or((words, ""));
            row.pattern == pattern && (ways == "reads and writes" || ways == format!("{}s", row.op))
        }
        None => panic!("studies/{ID}/study.toml: no cells are called {cells}"),
    };
    row.one_disk() && alike
}

impl Bench for Setup {
    fn machines(&mut self) -> &mut Machines {
        &mut self.machines
    }

    fn set(&mut self, number: &str, value: &Value) {
        let (Value::Bytes(amount) | Value::Count(amount)) = value else {
            panic!("studies/{ID}/study.toml: {number} is an amount of data or a number of requests")
        };
        match number {
            "random_span" => self.random_span = *amount,
            "depth" => self.depth = *amount,
            "megabyte" => self.megabyte = *amount,
            other => panic!("studies/{ID}/study.toml: nothing reads {other}"),
        }
    }

    fn error(&self, cells: &str) -> Result<f64, Failure> {
        if cells == "bus trace of writes" {
            let tables = bus::observe_writes(self, true)?.tables();
            let cells = tables.iter().flat_map(|table| &table.cells).filter(|cell| cell.basis == CellBasis::Fitted);
            return Ok(mean(cells.filter_map(|cell| cell.error)));
        }
        let rows = cells::all().into_iter().filter(|row| chosen(row, cells)).collect();
        let measured = cells::measure(self, rows, quick(), &|_, _, _| {})?;
        Ok(mean(cells::cells(&measured, self.megabyte).iter().filter_map(|cell| cell.error)))
    }
}

/// Fits everything again; returns the values found.
pub fn fit(wish: &Wish) -> Result<Vec<Found>, Failure> {
    fitting::fit(&study_file::read(ID), Setup::read(wish.library)?, wish)
}

/// The paper guesses that switching channels costs something between requests. Fitted to the same cells as the
/// penalty per burst, that guess stands beside it.
pub(super) fn penalty_per_request(setup: &Setup, cells: &[Cell], wish: &Wish) -> Result<Vec<Alternative>, Failure> {
    let rows: Vec<Row> = cells::all().into_iter().filter(Row::shows_channel_switch).collect();
    let with = |penalty: Time| -> Result<Vec<Cell>, Failure> {
        let mut other = setup.clone();
        other.machines.set(BRIDGE, "channel_switch", &Value::Time(penalty), &penalty.to_string())?;
        other.machines.set(BRIDGE, "channel_switch_at", &Value::Text("command".into()), "command")?;
        let effort = Effort { share: 0.008, seeds_max: 1, trains: wish.trains };
        let measured = cells::measure(&other, rows.clone(), effort, &|_, _, _| {})?;
        Ok(cells::cells(&measured, other.megabyte))
    };
    let mut theirs: Option<Alternative> = None;
    for penalty in PENALTIES {
        let what = format!("{penalty} whenever requests change channels (the paper's guess), the best of three tried");
        let tried = Alternative::of("penalty-per-request", what, with(penalty)?);
        if theirs.as_ref().is_none_or(|best| tried.mean_abs_error < best.mean_abs_error) {
            theirs = Some(tried);
        }
    }
    let per_burst: Vec<Cell> = cells
        .iter()
        .filter(|c| rows.iter().any(|row| c.key["request_kib"] == row.request_kib))
        .filter(|c| {
            c.key["pattern"] == "single-block" && c.key["op"] == "read" && c.key["placement"] == super::PLACEMENTS[2]
        })
        .cloned()
        .collect();
    let switch = setup.machines.number(BRIDGE, "channel_switch").written;
    let ours = Alternative::of(
        "penalty-per-burst",
        format!("{switch} whenever the buffer changes channels (this model)"),
        per_burst,
    );
    Ok([ours].into_iter().chain(theirs).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fit_looks_at_cells_that_are_fitted() {
        for fit in study_file::read(ID).fit.iter().filter(|fit| !fit.cells.starts_with("bus trace")) {
            let rows: Vec<Row> = cells::all().into_iter().filter(|row| chosen(row, &fit.cells)).collect();
            assert!(rows.len() >= 6, "{}: {} cells", fit.cells, rows.len());
            assert!(rows.iter().all(|row| row.basis() == CellBasis::Fitted), "{}", fit.cells);
        }
    }
}
