//! What the search for fitted numbers may change here, and which cells it looks at: those of the Sandy Bridge host with
//! four sizes in three directions, and its latencies.

use hopscope_machine::run::Failure;
use hopscope_parts::parameters::Value;

use super::cells::{self, Row};
use super::{ID, Setup};
use crate::Wish;
use crate::fitting::{self, Bench, Found};
use crate::machines::Machines;
use crate::report::CellBasis;
use crate::study_file;

impl Bench for Setup {
    fn machines(&mut self) -> &mut Machines {
        &mut self.machines
    }

    /// The only one is the null model's.
    fn set(&mut self, _: &str, _: &Value) {}

    fn error(&self, cells: &str) -> Result<f64, Failure> {
        assert_eq!(cells, "Sandy Bridge", "studies/{ID}/study.toml: no other cells are fitted");
        let rows: Vec<Row> = cells::all().into_iter().filter(|row| row.basis() == CellBasis::Fitted).collect();
        let measured = cells::measure(self, rows, cells::coarse_effort(), &|_, _, _| {})?;
        let errors = measured.iter().map(|(row, mean)| (mean.value / row.value - 1.0).abs());
        Ok(errors.sum::<f64>() / measured.len() as f64)
    }
}

/// Fits everything again; returns the values found.
pub fn fit(wish: &Wish) -> Result<Vec<Found>, Failure> {
    fitting::fit(&study_file::read(ID), Setup::read(wish.library)?, wish)
}
