//! Chooses the fitted numbers on the Sandy Bridge host: four sizes in three directions, and four latencies.

use hopscope_machine::run::Failure;

use super::cells::{self, Row};
use super::{ID, Setup};
use crate::Wish;
use crate::machines::Machines;
use crate::measure::Effort;
use crate::report::{CellBasis, Parameter};
use crate::search::{Knob, parameter, search};
use crate::study_file;

fn mean_error(setup: &Setup, rows: &[Row], trains: bool) -> Result<f64, Failure> {
    let effort = Effort { share: 0.01, seeds_max: 1, trains };
    let measured = cells::measure(setup, rows.to_vec(), effort, &|_, _, _| {})?;
    let errors = measured.iter().map(|(row, mean)| (mean.value / row.value - 1.0).abs());
    Ok(errors.sum::<f64>() / measured.len() as f64)
}

/// Fits everything again; returns the values found. Nothing is written: the data files are the user's to change.
pub fn fit(wish: &Wish) -> Result<Vec<Parameter>, Failure> {
    let mut setup = Setup::read(wish.library)?;
    let rows: Vec<Row> = cells::all().into_iter().filter(|row| row.basis() == CellBasis::Fitted).collect();
    let mut knobs: Vec<Knob> = Vec::new();
    for fit in &study_file::read(ID).fit {
        knobs.extend(fit.keys.iter().map(|key| Knob::of(&setup.machines, &fit.part, key)));
    }
    let fixed = setup.clone();
    let error =
        |machines: &Machines| mean_error(&Setup { machines: machines.clone(), ..fixed.clone() }, &rows, wish.trains);
    let values = search(&mut setup.machines, &knobs, error, wish)?;
    let on = format!("the {} fitted cells of the Sandy Bridge host", rows.len());
    Ok(knobs.iter().zip(values).map(|(knob, value)| parameter(knob, &value, &on)).collect())
}
