//! Holds a drive against its data sheet: a converged run for each promise.

use std::sync::atomic::{AtomicUsize, Ordering};

use hopscope_files::data_sheet::{DataSheet, Figure, Promise};
use hopscope_files::library::Library;
use hopscope_files::part_file::{self, PartFile};
use hopscope_files::problem::{Problem, Problems, Sources};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::Figures;
use hopscope_machine::run::{self, Failure, Options, Stop};
use hopscope_parts::nearest::did_you_mean;
use rayon::prelude::*;

use crate::whatif::{self, Setting};

/// Where nobody asks for another share, the mean is to be known to this: a data sheet's figures are rounded, and what
/// misses by less than a tenth is no miss.
const UNTIL: f64 = 0.03;

/// What a drive does where its data sheet promises something.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// What it gave, in the unit of the promise.
    pub simulated: f64,
    /// Half-width of the 95 % interval of its throughput, over the mean.
    pub interval: f64,
    /// Why the mean is not known as well as that; nothing where it is.
    pub unsettled: Option<String>,
}

impl Held {
    /// How far it is from what was promised: 0.1 where it is a tenth more.
    pub fn error(&self, promise: &Promise) -> f64 {
        self.simulated / promise.figure.amount() - 1.0
    }
}

/// How far the runs are; called from several threads with how many are done, and of how many.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Runs the part `name`, `role/model`, against what its data sheet promises, row by row in the order of its file.
/// Nothing stands for a row that was interrupted, or in which nothing ended. Without a data sheet there are no rows.
pub fn hold(
    library: &Library,
    sources: &mut Sources,
    (name, part): (&str, &PartFile),
    options: Options,
    progress: Progress<'_>,
) -> Result<Vec<Option<Held>>, Failure> {
    let Some(sheet) = &part.data_sheet else { return Ok(Vec::new()) };
    let settings = settings(library, sources, (name, part), sheet)?;
    let options = Options { until: options.until.or(Some(UNTIL)), ..options };
    let done = AtomicUsize::new(0);
    let one = |(setting, promise): (&Setting, &Promise)| {
        let held = held(setting, promise.figure, options);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, settings.len());
        held
    };
    settings.par_iter().with_max_len(1).zip(&sheet.rows).map(one).collect()
}

/// Whether the data sheet of the part file that `sources` keeps under the number `file` can be held against it.
pub fn check(library: &Library, sources: &mut Sources, file: u32) -> Result<(), Problems> {
    let part = part_file::read(sources, file)?;
    match &part.data_sheet {
        Some(sheet) => settings(library, sources, ("", &part), sheet).map(drop),
        None => Ok(()),
    }
}

/// The machine with the drive in it, as each row wants it, and the job.
fn settings(
    library: &Library,
    sources: &mut Sources,
    (name, part): (&str, &PartFile),
    sheet: &DataSheet,
) -> Result<Vec<Setting>, Problems> {
    let Some(text) = library.system(&sheet.on) else {
        let names: Vec<&str> = library.systems().collect();
        let problem = Problem::at(sheet.place, format!("there is no system `{}`", sheet.on));
        let help = format!("{} (`hopscope systems` lists all of them)", did_you_mean(&sheet.on, &names));
        return Err(problem.help(help).into());
    };
    let file = sources.add(text.name.clone(), text.text.clone());
    let mut blueprint = Blueprint::read(library, sources, file)?;
    let target = put_in(&mut blueprint, name, part, sheet)?;
    let mut settings = Vec::new();
    for row in &sheet.rows {
        let mut job = row.job.clone();
        job.targets = vec![target.clone()];
        let setting = Setting { blueprint: blueprint.clone(), jobs: vec![job] };
        let changes: Vec<_> = sheet.changes.iter().chain(&row.changes).cloned().collect();
        settings.push(whatif::apply(&setting, &changes, library, sources)?.setting);
    }
    Ok(settings)
}

/// Puts the drive where the system has it, or in the place of the first part of its kind; gives that part's name.
fn put_in(blueprint: &mut Blueprint, name: &str, part: &PartFile, sheet: &DataSheet) -> Result<String, Problem> {
    let Some(target) = blueprint.put_in(name, part) else {
        let problem = Problem::at(sheet.place, format!("`{}` has no part of the model `{}`", sheet.on, part.model));
        return Err(problem.help("name a system that has one; this drive takes its place"));
    };
    if !blueprint.devices().contains(&target) {
        let problem = Problem::at(sheet.place, format!("`{target}` of `{}` is no device of a job", sheet.on));
        return Err(problem.help("only what stores has a data sheet that can be held against it"));
    }
    Ok(target)
}

fn held(setting: &Setting, promised: Figure, options: Options) -> Result<Option<Held>, Failure> {
    let outcome = run::run(&setting.blueprint, &setting.jobs, options, None)?;
    let job = outcome.jobs.first().filter(|_| outcome.stop != Stop::Interrupted);
    let Some((figures, got)) = job.and_then(|job| Figures::of(job).zip(job.got.as_ref())) else { return Ok(None) };
    let simulated = match promised {
        Figure::BytesPerSecond(_) => figures.bytes_per_second,
        Figure::Iops(_) => figures.iops,
        Figure::LatencyNs(_) => got.latency_ns.mean(),
    };
    let why = outcome.stages.first().and_then(|stage| stage.unsettled.as_ref());
    // What a data sheet promises of a fresh drive is promised while its spare blocks last.
    let unsettled = why.filter(|_| outcome.stop != Stop::Drifting).map(|why| why.words());
    Ok(Some(Held { simulated, interval: outcome.rate.relative_half_width, unsettled }))
}
