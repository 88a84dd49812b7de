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

use hopscope_machine::library::Library;
use hopscope_machine::problem::Sources;
use hopscope_machine::run::Failure;

use crate::machines::{Machines, parameters};
use crate::report::{Changed, Parameter, Report, Summary};
use crate::robustness;
use crate::study_file;
use crate::{STUDIES, Wish};

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
        let machines = Machines::read(ID, library, &mut Sources::default())?;
        Ok(Setup { title: study_file::read(ID).title, machines, numbers: Numbers::read(), depth: 1 })
    }
}

/// Runs the whole study.
pub fn reproduce(wish: &Wish) -> Result<Report, Failure> {
    let setup = Setup::read(wish.library)?;
    let measured = cells::measure(&setup, cells::benchmarks(), cells::full_effort(wish.trains), wish.progress)?;
    let tables = vec![cells::table(&measured)];
    let parameters = own(parameters(ID, &setup.machines));
    let fitted = parameters.iter().filter(|p| p.basis == "fitted").count();
    let summary = Summary::of(&tables[0].cells, fitted);
    let mut alternatives = null::beside(&setup, &tables[0].cells);
    alternatives.extend(hops::beside(&setup, &tables[0].cells, wish)?);
    alternatives.push(hops::server(&setup, cells::coarse_effort())?);
    let claims = claims::check(&setup, &measured, wish.trains)?;
    let (ablations, sensitivity) = if wish.sensitivity { shake(&setup, wish)? } else { Default::default() };
    let (study, title) = (ID.into(), setup.title);
    Ok(Report { study, title, tables, alternatives, claims, parameters, ablations, sensitivity, summary })
}

/// What another study has fitted is given here: none of these cells has chosen it.
fn own(mut parameters: Vec<Parameter>) -> Vec<Parameter> {
    let others = STUDIES.iter().map(|study| study.id).filter(|id| *id != ID);
    for other in others {
        let fitted = parameters.iter_mut().filter(|p| p.basis == "fitted" && p.from.starts_with(&format!("{other}:")));
        for parameter in fitted {
            parameter.basis = "assumed".into();
            parameter.from = format!("as another study has fitted it, {}", parameter.from);
        }
    }
    parameters
}

fn shake(setup: &Setup, wish: &Wish) -> Result<(Vec<Changed>, Vec<Changed>), Failure> {
    robustness::shake(ID, &setup.machines, wish, |machines, depth| {
        let changed = Setup { machines: machines.clone(), depth: depth.unwrap_or(setup.depth), ..setup.clone() };
        let measured = cells::measure(&changed, cells::benchmarks(), cells::coarse_effort(), &|_, _, _| {})?;
        Ok(Summary::of(&cells::table(&measured).cells, 0))
    })
}
