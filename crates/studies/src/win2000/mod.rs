//! The win2000 study: what software and buses make of disks, on an old workstation and a new one.
//!
//! `bench` runs what a row of a table asks for, `cells` answers the tables, `curves` has throughput over size and depth,
//! `claims` checks the sentences, `fitting` chooses the fitted numbers. `figures` says what can be shown.

mod bench;
mod cells;
mod claims;
mod curves;
mod figures;
mod fitting;

use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_machine::run::Failure;

use crate::Wish;
use crate::machines::{Machines, parameters};
use crate::report::{Changed, Report, Summary};
use crate::study_file;
use crate::{forecasts, robustness};

pub use figures::pictures;
pub use fitting::fit;

const ID: &str = "win2000";

/// The study with everything that can be varied.
#[derive(Clone)]
struct Setup {
    title: String,
    machines: Machines,
    trains: bool,
}

impl Setup {
    /// As it is shipped.
    fn read(library: &Library, trains: bool) -> Result<Setup, Failure> {
        let machines = Machines::read(&study_file::read(ID), library, &mut Sources::default())?;
        Ok(Setup { title: study_file::read(ID).title, machines, trains })
    }
}

/// Runs the whole study.
pub fn reproduce(wish: &Wish) -> Result<Report, Failure> {
    let setup = Setup::read(wish.library, wish.trains)?;
    let [figures, report, in_view] = ["figures.csv", "report.csv", "report-in-view.csv"].map(cells::rows);
    let known = cells::measure(&setup, figures, wish.progress)?;
    let asked = cells::measure(&setup, report, wish.progress)?;
    let viewed = cells::measure(&setup, in_view, wish.progress)?;
    let mut tables = vec![cells::known(&known), cells::asked(&asked)];
    let parameters = parameters(&study_file::read(ID), &setup.machines);
    let fitted = parameters.iter().filter(|p| p.basis == "fitted").count();
    let mut claims = claims::check(&setup, wish.progress)?;
    let mut alternatives = vec![cells::in_view(&viewed)];
    alternatives.extend(curves::beside(&setup, wish.progress)?);
    forecasts::settle(&study_file::read(ID), &setup.machines, cells::machine_of, &mut tables, &mut claims);
    let summary = Summary::of(&tables[0].cells, fitted);
    let (ablations, sensitivity) = if wish.sensitivity { shake(&setup, wish)? } else { Default::default() };
    let (study, title) = (ID.into(), setup.title);
    Ok(Report { study, title, tables, alternatives, claims, parameters, ablations, sensitivity, summary })
}

fn shake(setup: &Setup, wish: &Wish) -> Result<(Vec<Changed>, Vec<Changed>), Failure> {
    robustness::shake(&study_file::read(ID), setup, wish, |setup, _| {
        let measured = cells::measure(setup, cells::rows("figures.csv"), &|_, _, _| {})?;
        Ok(cells::known(&measured).cells)
    })
}
