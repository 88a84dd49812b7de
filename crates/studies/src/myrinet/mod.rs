//! The Myrinet study: one adapter's PCI DMA in 17 slots of hosts with PCI-X.
//!
//! `cells` answers the table and simulates the lengths of bursts, `null` guesses from the host of the same chip set,
//! `claims` checks the sentences, `fitting` chooses the fitted numbers. `figures` says what can be shown.

mod cells;
mod claims;
mod figures;
mod fitting;
mod null;

use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_machine::run::Failure;
use serde_json::{Map, Value as Json};

use crate::Wish;
use crate::machines::{Machines, parameters};
use crate::report::{Cell, Changed, Report, Summary};
use crate::study_file;
use crate::{forecasts, robustness};

pub use figures::pictures;
pub use fitting::fit;

const ID: &str = "myrinet";
/// Of the chain: as many as the paper's test has.
const BLOCKS: u64 = 32;
/// The host with two ports, which answers the user-level claim.
const TWO_PORTS: &str = "Supermicro X5DL8-GG with the two-port adapter";

/// The study with everything that can be varied.
#[derive(Clone)]
struct Setup {
    title: String,
    machines: Machines,
    depth: u64,
    trains: bool,
}

impl Setup {
    /// As it is shipped.
    fn read(library: &Library, trains: bool) -> Result<Setup, Failure> {
        let machines = Machines::read(&study_file::read(ID), library, &mut Sources::default())?;
        Ok(Setup { title: study_file::read(ID).title, machines, depth: BLOCKS, trains })
    }
}

/// Runs the whole study.
pub fn reproduce(wish: &Wish) -> Result<Report, Failure> {
    let setup = Setup::read(wish.library, wish.trains)?;
    let measured = cells::measure(&setup, cells::all(), wish.progress)?;
    let mut tables = vec![cells::table(&measured), cells::by_burst(&setup)?];
    let parameters = parameters(&study_file::read(ID), &setup.machines);
    let fitted = parameters.iter().filter(|p| p.basis == "fitted").count();
    let mut alternatives = null::beside(&measured);
    alternatives.push(claims::both_engines(&setup, &measured)?);
    let mut claims = claims::check(&setup, &measured)?;
    forecasts::settle(&study_file::read(ID), &setup.machines, machine_of, &mut tables, &mut claims);
    let summary = Summary::of(&tables[0].cells, fitted);
    let (ablations, sensitivity) = if wish.sensitivity { shake(&setup, wish)? } else { Default::default() };
    let (study, title) = (ID.into(), setup.title);
    Ok(Report { study, title, tables, alternatives, claims, parameters, ablations, sensitivity, summary })
}

/// Simulates only the published table.
pub fn cells(library: &Library) -> Result<Vec<Cell>, Failure> {
    let setup = Setup::read(library, true)?;
    Ok(cells::table(&cells::measure(&setup, cells::all(), &|_, _, _| {})?).cells)
}

fn machine_of(_: &str, key: &Map<String, Json>) -> Option<String> {
    key.get("host").or(key.get("slot"))?.as_str().map(str::to_string)
}

fn shake(setup: &Setup, wish: &Wish) -> Result<(Vec<Changed>, Vec<Changed>), Failure> {
    robustness::shake(&study_file::read(ID), setup, wish, |setup, depth| {
        let changed = Setup { depth: depth.unwrap_or(setup.depth), ..setup.clone() };
        let measured = cells::measure(&changed, cells::all(), &|_, _, _| {})?;
        Ok(cells::table(&measured).cells)
    })
}
