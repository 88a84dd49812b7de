//! The PIIX4E study: one bridge, one or two disks, 108 cells and a bus trace.
//!
//! `cells` answers the SQLIO table, `bus` Tables 2 and 3 and Figure 1, `claims` the sentences, `fitting` chooses
//! the fitted numbers, `robustness` moves and removes what the result rests on. `figures` says what can be shown.

mod bus;
mod cells;
mod claims;
mod figures;
mod fitting;
pub mod picture;
mod retold;
mod robustness;

use std::collections::BTreeMap;

use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::job_file::{self, Job};
use hopscope_machine::library::Library;
use hopscope_machine::problem::{Problems, Sources};
use hopscope_machine::quantity;
use hopscope_machine::run::Failure;
use hopscope_machine::schema;
use hopscope_parts::parameters::{Basis, Entry, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::Wish;
use crate::report::{Parameter, Report};
use crate::shelf;

pub use figures::pictures;
pub use fitting::fit;

const ID: &str = "piix4e";
const PLACEMENTS: [&str; 3] = ["one-disk", "two-disks-same-channel", "two-disks-two-channels"];

#[derive(Deserialize, JsonSchema)]
pub(crate) struct StudyFile {
    /// Its name in reports.
    title: String,
    /// How accurate the publication says that its table is.
    accuracy: Accuracy,
    /// The machines, by what the study calls them.
    systems: BTreeMap<String, String>,
    /// Numbers of the workload.
    numbers: BTreeMap<String, Number>,
    /// What a fit may move.
    fit: Vec<Fit>,
    /// Mechanisms that are switched off, one at a time, to see what they are worth.
    ablation: Vec<Ablation>,
}

/// How accurate the publication says that its table is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Accuracy {
    /// A share, either way.
    #[schemars(schema_with = "any_quantity")]
    value: String,
    /// Where it says so.
    source: String,
}

/// A number of the study itself: fitted or assumed.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Number {
    /// A quantity with its unit.
    #[schemars(schema_with = "any_quantity")]
    value: String,
    /// To what.
    fitted: Option<String>,
    /// Why it is plausible.
    assumed: Option<String>,
    /// The plausible range: lowest and highest.
    #[serde(default)]
    #[schemars(schema_with = "range_of_quantities")]
    range: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fit {
    /// A part file.
    part: String,
    /// Its numbers, in the order in which they are moved.
    keys: Vec<String>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ablation {
    /// What is switched off.
    what: String,
    /// Part file, key and value.
    #[serde(default)]
    set: Vec<(String, String, String)>,
    /// Requests in flight.
    depth: Option<u64>,
}

fn any_quantity(_: &mut SchemaGenerator) -> Schema {
    Schema::try_from(schema::any_quantity()).unwrap_or_default()
}

fn range_of_quantities(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": any_quantity(generator), "minItems": 2, "maxItems": 2 })
}

/// The study with everything that can be varied: three machines, the workload's numbers, the jobs.
#[derive(Clone)]
struct Setup {
    title: String,
    machines: BTreeMap<String, Blueprint>,
    jobs: BTreeMap<String, Vec<Job>>,
    random_span: u64,
    depth: u64,
    megabyte: u64,
}

fn study_file() -> StudyFile {
    toml::from_str(shelf::text(ID, "study.toml")).unwrap_or_else(|error| panic!("studies/{ID}/study.toml: {error}"))
}

fn bytes(number: &Number) -> u64 {
    match quantity::parse(&number.value) {
        Ok(Value::Bytes(n) | Value::Count(n)) => n,
        other => panic!("studies/{ID}/study.toml: {}: {other:?}", number.value),
    }
}

impl Setup {
    fn read(library: &Library) -> Result<Setup, Failure> {
        let file = study_file();
        let mut sources = Sources::default();
        let (mut machines, mut jobs) = (BTreeMap::new(), BTreeMap::new());
        for (placement, system) in &file.systems {
            let text = library.open_system(system)?;
            let number = sources.add(text.name, text.text);
            machines.insert(placement.clone(), Blueprint::read(library, &mut sources, number)?);
        }
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

    /// Sets a number of every part that uses a part file; nothing happens where no machine has such a part.
    fn set(&mut self, part_file: &str, key: &str, value: &Value, written: &str) -> Result<(), Problems> {
        for machine in self.machines.values_mut() {
            let names: Vec<String> =
                machine.parts().iter().filter(|p| p.uses == part_file).map(|p| p.name.clone()).collect();
            for name in names {
                let entry = machine.entry_mut(&format!("{name}.{key}"))?;
                (entry.value, entry.written) = (value.clone(), written.to_string());
            }
        }
        Ok(())
    }

    /// Every number of every part file, once.
    fn numbers(&self) -> BTreeMap<(String, String), Entry> {
        let mut numbers = BTreeMap::new();
        for machine in self.machines.values() {
            let files: BTreeMap<&str, &str> =
                machine.parts().iter().map(|p| (p.name.as_str(), p.uses.as_str())).collect();
            for (path, entry) in machine.numbers() {
                if let Some((part, key)) = path.split_once('.')
                    && let Some(file) = files.get(part)
                {
                    numbers.entry((file.to_string(), key.to_string())).or_insert_with(|| entry.clone());
                }
            }
        }
        numbers
    }

    /// The number of a part file.
    fn number(&self, part_file: &str, key: &str) -> Entry {
        let numbers = self.numbers();
        let found = numbers.get(&(part_file.to_string(), key.to_string()));
        found.unwrap_or_else(|| panic!("studies/{ID}/study.toml: {part_file} has no {key}")).clone()
    }
}

/// Numbers that were fitted or assumed, with what they rest on.
fn parameters(setup: &Setup) -> Vec<Parameter> {
    let ranged = |range: &[String]| range.join(" to ");
    let mut list = Vec::new();
    for ((file, key), entry) in setup.numbers() {
        if let Basis::Fitted(_) | Basis::Assumed(_) = entry.basis {
            list.push(Parameter {
                name: format!("{file} {key}"),
                value: entry.written.clone(),
                basis: entry.basis.word().to_string(),
                from: entry.basis.text().to_string(),
                range: entry.range.iter().map(describe).collect::<Vec<_>>().join(" to "),
            });
        }
    }
    for (name, number) in study_file().numbers {
        let (basis, from) = match (&number.fitted, &number.assumed) {
            (Some(from), _) => ("fitted", from.clone()),
            (None, from) => ("assumed", from.clone().unwrap_or_default()),
        };
        let (basis, range) = (basis.to_string(), ranged(&number.range));
        list.push(Parameter { name: format!("workload {name}"), value: number.value, basis, from, range });
    }
    list.sort_by(|a, b| (b.basis.as_str(), &a.name).cmp(&(a.basis.as_str(), &b.name)));
    list
}

/// A quantity in words, with the unit that suits it.
fn describe(value: &Value) -> String {
    match value {
        Value::Time(t) | Value::Period(t) => t.to_string(),
        Value::Clocks(n) => format!("{n} clocks"),
        Value::Share(ppm) => format!("{} %", *ppm as f64 / 1e4),
        Value::Bytes(n) => format!("{n} B"),
        Value::Rate(n) => format!("{n} B/s"),
        Value::Count(n) => n.to_string(),
        Value::Text(text) => text.clone(),
        Value::Rows(rows) => format!("{} rows", rows.len()),
    }
}

/// Runs the whole study.
pub fn reproduce(wish: &Wish) -> Result<Report, Failure> {
    let setup = Setup::read(wish.library)?;
    let measured = cells::measure(&setup, cells::all(), cells::full_effort(wish.trains), wish.progress)?;
    let table = cells::table(&setup, &measured, setup.megabyte);
    let observed = bus::observe(&setup, wish.trains)?;
    let parameters = parameters(&setup);
    let fitted = parameters.iter().filter(|p| p.basis == "fitted").count();
    let mut alternatives = cells::other_readings(&setup, &measured, &table.cells);
    alternatives.extend(fitting::penalty_per_request(&setup, &table.cells, wish)?);
    let (ablations, sensitivity) = if wish.sensitivity { robustness::shake(&setup, wish)? } else { Default::default() };
    let summary = crate::report::Summary::of(&table.cells, fitted);
    let mut tables = vec![table];
    tables.extend(observed.tables());
    let claims = claims::check(&observed, &retold::Retold::observe(&setup, wish.trains)?);
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
