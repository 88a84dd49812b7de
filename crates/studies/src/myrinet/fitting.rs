//! Chooses the fitted numbers of three chip sets on the host of each whose cells are fitted.

use hopscope_machine::run::Failure;

use super::cells::{self, DIRECTIONS, Row};
use super::{ID, Setup};
use crate::Wish;
use crate::machines::Machines;
use crate::report::{CellBasis, Parameter};
use crate::search::{Knob, parameter, search};
use crate::study_file;

fn mean_error(setup: &Setup, rows: &[Row]) -> Result<f64, Failure> {
    let measured = cells::measure(setup, rows.to_vec(), &|_, _, _| {})?;
    let errors: Vec<f64> = measured
        .iter()
        .flat_map(|m| DIRECTIONS.into_iter().zip(m.mb_per_s).map(|(d, rate)| (rate / m.row.published(d) - 1.0).abs()))
        .collect();
    Ok(errors.iter().sum::<f64>() / errors.len() as f64)
}

/// Fits everything again; returns the values found. Nothing is written: the data files are the user's to change.
pub fn fit(wish: &Wish) -> Result<Vec<Parameter>, Failure> {
    let mut setup = Setup::read(wish.library, wish.trains)?;
    let rows: Vec<Row> = cells::all().into_iter().filter(|row| row.basis() == CellBasis::Fitted).collect();
    let mut knobs: Vec<Knob> = Vec::new();
    for fit in &study_file::read(ID).fit {
        knobs.extend(fit.keys.iter().map(|key| Knob::of(&setup.machines, &fit.part, key)));
    }
    let fixed = setup.clone();
    let error = |machines: &Machines| mean_error(&Setup { machines: machines.clone(), ..fixed.clone() }, &rows);
    let values = search(&mut setup.machines, &knobs, error, wish)?;
    let on = format!("the {} fitted cells of three hosts", 2 * rows.len());
    Ok(knobs.iter().zip(values).map(|(knob, value)| parameter(knob, &value, &on)).collect())
}
