//! What the search for fitted numbers may change here, and which cells it looks at.

use hopscope_machine::run::Failure;
use hopscope_parts::parameters::Value;

use super::cells::{self, DIRECTIONS, Row};
use super::{ID, Setup, claims};
use crate::Wish;
use crate::fitting::{self, Bench, Found};
use crate::machines::Machines;
use crate::report::CellBasis;
use crate::shelf;
use crate::study_file;

/// The claim that the firmware's times are fitted to: the middle of its range.
const TWO_PORTS: &str = "myrinet-gm-two-way";

impl Bench for Setup {
    fn machines(&mut self) -> &mut Machines {
        &mut self.machines
    }

    fn set(&mut self, number: &str, _: &Value) {
        panic!("studies/{ID}/study.toml: nothing reads {number}")
    }

    /// All fitted cells, all that are input, those of one host by words of its name, or a claim.
    fn error(&self, cells: &str) -> Result<f64, Failure> {
        if cells == TWO_PORTS {
            let middle = shelf::claim(ID, TWO_PORTS).middle();
            return Ok((claims::user(self)? / middle - 1.0).abs());
        }
        let chosen = |row: &Row| match cells {
            "all fitted" => row.basis() == CellBasis::Fitted,
            "all input" => row.basis() == CellBasis::Input,
            words => row.host.contains(words) && row.basis() != CellBasis::Seen,
        };
        let rows: Vec<Row> = cells::all().into_iter().filter(chosen).collect();
        assert!(!rows.is_empty(), "studies/{ID}/study.toml: no cells are called {cells}");
        let measured = cells::measure(self, rows, &|_, _, _| {})?;
        let errors = measured.iter().flat_map(|m| {
            DIRECTIONS.into_iter().zip(m.mb_per_s).map(|(way, rate)| (rate / m.row.published(way) - 1.0).abs())
        });
        let errors: Vec<f64> = errors.collect();
        Ok(errors.iter().sum::<f64>() / errors.len() as f64)
    }
}

/// Fits everything again; returns the values found.
pub fn fit(wish: &Wish) -> Result<Vec<Found>, Failure> {
    fitting::fit(&study_file::read(ID), Setup::read(wish.library, wish.trains)?, wish)
}
