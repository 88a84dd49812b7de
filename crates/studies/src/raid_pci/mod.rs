//! The raid-pci study: two RAID adapters, three buses, a load; six desktop benchmarks and their average.
//!
//! `jobs` makes a job of each benchmark, `cells` answers the table, `hops` says what limits each cell, `null` stands
//! beside, `claims` checks the sentences, `fitting` chooses the fitted numbers. `figures` says what can be shown.

mod cells;
mod claims;
mod figures;
mod fitting;
mod hops;
mod jobs;
mod null;

use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_machine::run::Failure;
use serde_json::{Map, Value};

use crate::Wish;
use crate::machines::{Machines, parameters};
use crate::report::{Changed, Report, Summary};
use crate::study_file;
use crate::{forecasts, robustness};

pub use figures::pictures;
pub use fitting::fit;
use jobs::Numbers;

const ID: &str = "raid-pci";

/// The study with everything that can be varied.
#[derive(Clone)]
struct Setup {
    title: String,
    machines: Machines,
    numbers: Numbers,
    /// Requests in flight.
    depth: u64,
}

impl Setup {
    /// As it is shipped.
    fn read(library: &Library) -> Result<Setup, Failure> {
        let machines = Machines::read(&study_file::read(ID), library, &mut Sources::default())?;
        let numbers = Numbers::read();
        let depth = numbers.get("depth");
        Ok(Setup { title: study_file::read(ID).title, machines, numbers, depth })
    }
}

/// Runs the whole study.
pub fn reproduce(wish: &Wish) -> Result<Report, Failure> {
    let setup = Setup::read(wish.library)?;
    let measured = cells::measure(&setup, cells::benchmarks(), cells::full_effort(wish.trains), wish.progress)?;
    let mut tables = vec![cells::table(&measured)];
    let parameters = parameters(&study_file::read(ID), &setup.machines);
    let fitted = parameters.iter().filter(|p| p.basis == "fitted").count();
    let mut claims = claims::check(&setup, &measured, wish.trains)?;
    forecasts::settle(&study_file::read(ID), &setup.machines, machine_of, &mut tables, &mut claims);
    let summary = Summary::of(&tables[0].cells, fitted);
    let mut alternatives = null::beside(&setup, &tables[0].cells);
    alternatives.extend(hops::beside(&setup, &tables[0].cells, wish)?);
    alternatives.push(hops::server(&setup, cells::coarse_effort())?);
    let (ablations, sensitivity) = if wish.sensitivity { shake(&setup, wish)? } else { Default::default() };
    let (study, title) = (ID.into(), setup.title);
    Ok(Report { study, title, tables, alternatives, claims, parameters, ablations, sensitivity, summary })
}

fn machine_of(_: &str, key: &Map<String, Value>) -> Option<String> {
    let word = |column: &str| key.get(column)?.as_str();
    Some(format!("{}, {}, {}", word("adapter")?, word("bus")?, word("background_load")?))
}

fn shake(setup: &Setup, wish: &Wish) -> Result<(Vec<Changed>, Vec<Changed>), Failure> {
    robustness::shake(&study_file::read(ID), setup, wish, |setup, depth| {
        let changed = Setup { depth: depth.unwrap_or(setup.depth), ..setup.clone() };
        let measured = cells::measure(&changed, cells::benchmarks(), cells::coarse_effort(), &|_, _, _| {})?;
        Ok(cells::table(&measured).cells)
    })
}
