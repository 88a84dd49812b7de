//! The pcie-bench study: a programmable adapter, two hosts, 240 bandwidths and 12 latencies.
//!
//! `cells` answers both tables, `null` counts bytes instead, `claims` checks the sentences, `fitting` chooses the
//! fitted numbers. `figures` says what can be shown.

mod cells;
mod claims;
mod figures;
mod fitting;
mod null;

use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::Value;
use serde_json::{Map, Value as Json};

use crate::Wish;
use crate::machines::{Machines, parameters};
use crate::report::{Cell, Changed, Report, Summary};
use crate::study_file;
use crate::{forecasts, robustness};

use cells::Row;

pub use figures::pictures;
pub use fitting::fit;

const ID: &str = "pcie-bench";
const SANDY_BRIDGE: &str = "Xeon E5-2630 (Sandy Bridge)";
const IVY_BRIDGE: &str = "Xeon E5-2620 v2 (Ivy Bridge), local socket";
const ADAPTER: &str = "network/netronome-nfp-6000";

/// The study with everything that can be varied: two machines, the transfers in flight.
#[derive(Clone)]
struct Setup {
    title: String,
    machines: Machines,
    depth: u64,
}

impl Setup {
    /// As it is shipped.
    fn read(library: &Library) -> Result<Setup, Failure> {
        let machines = Machines::read(&study_file::read(ID), library, &mut Sources::default())?;
        // The firmware keeps each of its contexts busy.
        let Value::Count(depth) = machines.number(ADAPTER, "contexts").value else { panic!("contexts are counted") };
        Ok(Setup { title: study_file::read(ID).title, machines, depth })
    }
}

/// Runs the whole study.
pub fn reproduce(wish: &Wish) -> Result<Report, Failure> {
    let setup = Setup::read(wish.library)?;
    let measured = cells::measure(&setup, cells::all(), cells::full_effort(wish.trains), wish.progress)?;
    let mut tables = cells::tables(&setup, &measured);
    let parameters = parameters(&study_file::read(ID), &setup.machines);
    let fitted = parameters.iter().filter(|p| p.basis == "fitted").count();
    let mut claims = claims::check(&setup, &measured, wish.trains)?;
    forecasts::settle(&study_file::read(ID), &setup.machines, machine_of, &mut tables, &mut claims);
    let summary = Summary::of(&tables[0].cells, fitted);
    let alternatives = null::beside(&tables[0].cells);
    let (ablations, sensitivity) = if wish.sensitivity { shake(&setup, wish)? } else { Default::default() };
    let (study, title) = (ID.into(), setup.title);
    Ok(Report { study, title, tables, alternatives, claims, parameters, ablations, sensitivity, summary })
}

/// Simulates only the bandwidths of so many bytes, on both hosts.
pub fn bandwidths(library: &Library, op: &str, size_bytes: u64) -> Result<Vec<Cell>, Failure> {
    let setup = Setup::read(library)?;
    let asked_for = |row: &Row| row.is_bandwidth() && row.op == op && row.size_bytes == size_bytes;
    let rows = cells::all().into_iter().filter(asked_for).collect();
    let measured = cells::measure(&setup, rows, cells::coarse_effort(), &|_, _, _| {})?;
    Ok(cells::tables(&setup, &measured).remove(0).cells)
}

fn machine_of(_: &str, key: &Map<String, Json>) -> Option<String> {
    key.get("host")?.as_str().map(str::to_string)
}

fn shake(setup: &Setup, wish: &Wish) -> Result<(Vec<Changed>, Vec<Changed>), Failure> {
    // The other host only repeats this one.
    let rows: Vec<Row> =
        cells::all().into_iter().filter(|row| row.is_bandwidth() && row.host == SANDY_BRIDGE).collect();
    robustness::shake(&study_file::read(ID), setup, wish, |setup, depth| {
        let changed = Setup { depth: depth.unwrap_or(setup.depth), ..setup.clone() };
        let measured = cells::measure(&changed, rows.clone(), cells::coarse_effort(), &|_, _, _| {})?;
        Ok(cells::tables(&changed, &measured).swap_remove(0).cells)
    })
}
