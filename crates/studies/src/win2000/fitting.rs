//! What the search for fitted numbers may change here, and which cells it looks at.

use hopscope_machine::run::Failure;
use hopscope_parts::parameters::Value;

use super::cells::{self, Row};
use super::{ID, Setup, claims};
use crate::Wish;
use crate::fitting::{self, Bench, Found};
use crate::machines::Machines;
use crate::report::CellBasis;
use crate::study_file;

/// Claims begin so.
const CLAIM: &str = "win2000-";

impl Bench for Setup {
    fn machines(&mut self) -> &mut Machines {
        &mut self.machines
    }

    fn set(&mut self, number: &str, _: &Value) {
        panic!("studies/{ID}/study.toml: nothing reads {number}")
    }

    /// The fitted cells of a machine, or a claim.
    fn error(&self, cells: &str) -> Result<f64, Failure> {
        if cells.starts_with(CLAIM) {
            return claims::error(self, cells);
        }
        let fitted = cells::rows("figures.csv").into_iter().filter(|row| row.basis() == CellBasis::Fitted);
        let rows: Vec<Row> = fitted.filter(|row| row.machine() == cells).collect();
        assert!(!rows.is_empty(), "studies/{ID}/study.toml: no cells are called {cells}");
        let measured = cells::measure(self, rows, &|_, _, _| {})?;
        let errors = measured.iter().filter_map(|(row, mean)| Some((mean.value / row.published()? - 1.0).abs()));
        Ok(errors.sum::<f64>() / measured.len() as f64)
    }
}

/// Fits everything again; returns the values found.
pub fn fit(wish: &Wish) -> Result<Vec<Found>, Failure> {
    fitting::fit(&study_file::read(ID), Setup::read(wish.library, wish.trains)?, wish)
}
