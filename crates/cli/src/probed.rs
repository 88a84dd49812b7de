//! What `--probe` reads off a run that is made again, traced.

use hopscope_files::problem::Problem;
use hopscope_files::quantity::digits;
use hopscope_kernel::Time;
use hopscope_machine::run::Failure;
use hopscope_parts::nearest::did_you_mean;
use hopscope_questions::probes::{self, PROBES, Probe};
use serde_json::{Map, Value, json};

use crate::tables::close_table;
use hopscope_questions::work::Work;

/// So much is traced, at most: hundreds of requests of a disk.
const TRACED: Time = Time::ms(100);

/// The names of all.
pub fn all() -> Vec<&'static str> {
    PROBES.iter().map(|probe| probe.name).collect()
}

/// The probes of these names.
pub fn named(names: &[String]) -> Result<Vec<&'static Probe>, Problem> {
    let of = |name: &String| {
        probes::find(name).ok_or_else(|| {
            let near = did_you_mean(name, &all());
            let help = format!("{near} (`hopscope run --help` lists all)");
            Problem::nowhere(format!("there is no probe `{name}`")).help(help)
        })
    };
    names.iter().map(of).collect()
}

/// A probe with its figure.
type Figure = (&'static Probe, f64);

/// Their figures, off the jobs' runtime or as much of it as is traced.
pub fn figures(work: &Work, trains: bool, probes: &[&'static Probe]) -> Result<Vec<Figure>, Failure> {
    let jobs = &work.jobs.jobs;
    let runtime = jobs.iter().filter_map(|job| job.runtime).max();
    let span = runtime.map_or(TRACED, |runtime| runtime.min(TRACED));
    let values = probes::read(&work.blueprint, jobs, span, trains, probes)?;
    Ok(probes.iter().copied().zip(values).collect())
}

/// A line each.
pub fn text(figures: &[Figure]) -> String {
    let value = |(probe, value): &Figure| format!("{} {}", digits(*value), probe.unit).trim_end().to_string();
    let row = |figure: &Figure| vec![figure.0.name.to_string(), value(figure), figure.0.what.to_string()];
    close_table(&["probe", "value", "what it is"], figures.iter().map(row))
}

/// By name.
pub fn json(figures: &[Figure]) -> Value {
    let one = |(probe, value): &Figure| (probe.name.to_string(), json!({ "value": value, "unit": probe.unit }));
    figures.iter().map(one).collect::<Map<_, _>>().into()
}
