//! Chooses the fitted numbers: the adapters' by all fitted cells, then those of each benchmark by its own.

use hopscope_machine::run::Failure;

use super::cells::{self, Row};
use super::jobs::{DESKTOP, Numbers};
use super::{ID, Setup};
use crate::Wish;
use crate::machines::Machines;
use crate::report::{CellBasis, Parameter};
use crate::search::{Knob, parameter, search};
use crate::study_file;

/// Steps of a number of the workload, percent of it; a share moves by a point at least.
const STEPS_PERCENT: [u64; 2] = [6, 2];

fn mean_error(setup: &Setup, rows: &[Row]) -> Result<f64, Failure> {
    let measured = cells::measure(setup, rows.to_vec(), cells::coarse_effort(), &|_, _, _| {})?;
    let errors = measured.iter().map(|(row, mean)| (mean.value / row.iops - 1.0).abs());
    Ok(errors.sum::<f64>() / measured.len() as f64)
}

/// Fits everything again; returns the values found. Nothing is written: the data files are the user's to change.
pub fn fit(wish: &Wish) -> Result<Vec<Parameter>, Failure> {
    let mut setup = Setup::read(wish.library)?;
    let rows: Vec<Row> = cells::benchmarks().into_iter().filter(|row| row.basis() == CellBasis::Fitted).collect();
    let mut knobs: Vec<Knob> = Vec::new();
    for fit in &study_file::read(ID).fit {
        knobs.extend(fit.keys.iter().map(|key| Knob::of(&setup.machines, &fit.part, key)));
    }
    let fixed = setup.clone();
    let error = |machines: &Machines| mean_error(&Setup { machines: machines.clone(), ..fixed.clone() }, &rows);
    let values = search(&mut setup.machines, &knobs, error, wish)?;
    let on = format!("the {} fitted cells", rows.len());
    let mut found: Vec<Parameter> =
        knobs.iter().zip(values).map(|(knob, value)| parameter(knob, &value, &on)).collect();
    let written = study_file::read(ID).numbers;
    let mut names: Vec<&str> = DESKTOP.into_iter().flat_map(Numbers::of).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let touched: Vec<Row> =
            rows.iter().filter(|row| Numbers::of(&row.benchmark).contains(&name)).cloned().collect();
        improve(&mut setup, name, &touched)?;
        let value = setup.numbers.get(name);
        let unit = if name.ends_with("size") { "B" } else { "%" };
        found.push(Parameter {
            name: format!("workload {name}"),
            value: format!("{value} {unit}"),
            basis: "fitted".into(),
            from: format!("{on}; study.toml has {}", written[name].value),
            range: written[name].range.join(" to "),
        });
        (wish.progress)(found.len(), found.len(), name);
    }
    Ok(found)
}

/// Moves one number of the workload while the error of its benchmarks falls.
fn improve(setup: &mut Setup, name: &str, rows: &[Row]) -> Result<(), Failure> {
    let mut best = mean_error(setup, rows)?;
    for step in STEPS_PERCENT {
        for up in [true, false] {
            loop {
                let value = setup.numbers.get(name);
                let by = (value * step / 100).max(1);
                let moved = if up { value + by } else { value - by };
                if !name.ends_with("size") && !(1..=99).contains(&moved) {
                    break;
                }
                let mut tried = setup.clone();
                tried.numbers.set(name, moved);
                let error = mean_error(&tried, rows)?;
                if error >= best {
                    break;
                }
                (best, *setup) = (error, tried);
            }
        }
    }
    Ok(())
}
