//! The PIIX4E study: one bridge, one or two disks, 108 cells and a bus trace.
//!
//! `cells` answers the SQLIO table, `bus` Tables 2 and 3 and Figure 1, `claims` the sentences, `fitting` chooses
//! the fitted numbers. `figures` says what can be shown.

mod bus;
mod cells;
mod claims;
mod figures;
mod fitting;
pub mod picture;
mod retold;

use std::collections::BTreeMap;

use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_files::quantity;
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::Value;
use serde_json::{Map, Value as Json};

use crate::Wish;
use crate::machines::{Machines, parameters};
use crate::measure::Effort;
use crate::report::{Changed, Report, Summary};
use crate::study_file::{self, Number};
use crate::{forecasts, robustness};

pub use figures::pictures;
pub use fitting::fit;

const ID: &str = "piix4e";
/// Dozens of whole studies are run to see what the result rests on.
const COARSE: Effort = Effort { share: 0.02, seeds_max: 2, trains: true };
const PLACEMENTS: [&str; 3] = ["one-disk", "two-disks-same-channel", "two-disks-two-channels"];

/// The study with everything that can be varied: three machines, the workload's numbers, the jobs.
#[derive(Clone)]
struct Setup {
    title: String,
    machines: Machines,
    jobs: BTreeMap<String, Vec<Job>>,
    random_span: u64,
    depth: u64,
    megabyte: u64,
}

fn bytes(number: &Number) -> u64 {
    match quantity::parse(&number.value) {
        Ok(Value::Bytes(n) | Value::Count(n)) => n,
        other => panic!("studies/{ID}/study.toml: {}: {other:?}", number.value),
    }
}

impl Setup {
    fn read(library: &Library) -> Result<Setup, Failure> {
        let file = study_file::read(ID);
        let mut sources = Sources::default();
        let (machines, mut jobs) = (Machines::read(&file, library, &mut sources)?, BTreeMap::new());
        for pattern in ["single-block", "sequential", "random"] {
            for op in ["read", "write"] {
                for (disks, ending) in [("one", ""), ("two", "-two-disks")] {
                    let text = library.open_job(&format!("piix4e-{pattern}-{op}{ending}"))?;
                    let number = sources.add(text.name, text.text);
                    jobs.insert(format!("{pattern} {op} {disks}"), job_file::read(&sources, number)?.jobs);
                }
            }
        }
        let number = |name: &str| bytes(&file.numbers[name]);
        let (random_span, depth, megabyte) = (number("random_span"), number("depth"), number("megabyte"));
        Ok(Setup { title: file.title, machines, jobs, random_span, depth, megabyte })
    }
}

/// Runs the whole study.
pub fn reproduce(wish: &Wish) -> Result<Report, Failure> {
    let setup = Setup::read(wish.library)?;
    let measured = cells::measure(&setup, cells::all(), cells::full_effort(wish.trains), wish.progress)?;
    let table = cells::table(&setup, &measured, setup.megabyte);
    let observed = bus::observe(&setup, wish.trains)?;
    let parameters = parameters(&study_file::read(ID), &setup.machines);
    let fitted = parameters.iter().filter(|p| p.basis == "fitted").count();
    let mut alternatives = cells::other_readings(&setup, &measured, &table.cells);
    alternatives.extend(fitting::penalty_per_request(&setup, &table.cells, wish)?);
    let (ablations, sensitivity) = if wish.sensitivity { shake(&setup, wish)? } else { Default::default() };
    let mut tables = vec![table];
    tables.extend(observed.tables());
    let mut claims = claims::check(&observed, &retold::Retold::observe(&setup, wish.trains)?);
    forecasts::settle(&study_file::read(ID), &setup.machines, machine_of, &mut tables, &mut claims);
    let summary = Summary::of(&tables[0].cells, fitted);
    Ok(Report {
        study: ID.into(),
        title: setup.title,
        tables,
        alternatives,
        claims,
        parameters,
        ablations,
        sensitivity,
        summary,
    })
}

/// Everything but the SQLIO table is observed on one disk.
fn machine_of(_: &str, key: &Map<String, Json>) -> Option<String> {
    Some(key.get("placement").and_then(Json::as_str).unwrap_or(PLACEMENTS[0]).to_string())
}

fn shake(setup: &Setup, wish: &Wish) -> Result<(Vec<Changed>, Vec<Changed>), Failure> {
    robustness::shake(&study_file::read(ID), setup, wish, |setup, depth| {
        let changed = Setup { depth: depth.unwrap_or(setup.depth), ..setup.clone() };
        let measured = cells::measure(&changed, cells::all(), COARSE, &|_, _, _| {})?;
        Ok(cells::cells(&measured, setup.megabyte))
    })
}
