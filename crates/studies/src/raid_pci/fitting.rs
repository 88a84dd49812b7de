//! What the search for fitted numbers may change here, and which cells it looks at: the adapters' numbers are fitted to all
//! fitted cells, those of each benchmark to its own.

use hopscope_machine::run::Failure;
use hopscope_parts::parameters::Value;

use super::cells::{self, Row};
use super::{ID, Setup, claims};
use crate::Wish;
use crate::fitting::{self, Bench, Found};
use crate::machines::Machines;
use crate::report::CellBasis;
use crate::shelf;
use crate::study_file;

impl Bench for Setup {
    fn machines(&mut self) -> &mut Machines {
        &mut self.machines
    }

    fn set(&mut self, number: &str, value: &Value) {
        self.numbers.set(number, value);
        self.depth = self.numbers.get("depth");
    }

    /// All fitted cells, those of benchmarks by their names, or a claim.
    fn error(&self, cells: &str) -> Result<f64, Failure> {
        if cells == claims::ONE_DRIVE {
            return Ok((claims::one_drive(self, true)? / shelf::claim(ID, cells).number() - 1.0).abs());
        }
        let chosen = |row: &Row| cells == "all" || cells.split(", ").any(|benchmark| benchmark == row.benchmark);
        let fitted = cells::benchmarks().into_iter().filter(|row| row.basis() == CellBasis::Fitted);
        let rows: Vec<Row> = fitted.filter(chosen).collect();
        assert!(!rows.is_empty(), "studies/{ID}/study.toml: no cells are called {cells}");
        let measured = cells::measure(self, rows, cells::coarse_effort(), &|_, _, _| {})?;
        let errors = measured.iter().map(|(row, mean)| (mean.value / row.iops - 1.0).abs());
        Ok(errors.sum::<f64>() / measured.len() as f64)
    }
}

/// Fits everything again; returns the values found.
pub fn fit(wish: &Wish) -> Result<Vec<Found>, Failure> {
    fitting::fit(&study_file::read(ID), Setup::read(wish.library)?, wish)
}
