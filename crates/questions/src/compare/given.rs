//! What is compared: words of a command line, told apart, and every system with every job.

use std::path::Path;

use hopscope_files::job_file::{self, Job, JobFile};
use hopscope_files::library::Library;
use hopscope_files::problem::{Problem, Problems, Sources};
use hopscope_files::text_file;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Failure, at_once};
use hopscope_parts::nearest::{did_you_mean, nearest};

use super::{COLUMNS_MAX, Column, Comparison, read};
use crate::trials::Setting;
use crate::work;

/// What a word is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// A system file, or the name of a shipped one.
    System,
    /// A job file, or the name of a shipped one.
    Job,
    /// A result that was saved.
    Saved,
}

/// One machine with one job.
pub struct Work {
    /// The system, as it was named.
    pub system: String,
    /// The job, as it was named.
    pub job: String,
    /// Both, read and settled with each other.
    pub setting: Setting,
    /// How the options of the jobs were taken.
    pub said: Vec<String>,
    /// Whether the job tells it from the others, not the system.
    by_job: bool,
}

/// What a word of a command line is: a file by its ending, else the name of a shipped system or job.
pub fn given(library: &Library, word: &str) -> Result<Given, Problem> {
    match Path::new(word).extension().and_then(|ending| ending.to_str()) {
        Some("toml") => return Ok(Given::System),
        Some("fio") => return Ok(Given::Job),
        Some("json") => return Ok(Given::Saved),
        _ => {}
    }
    if library.system(word).is_some() {
        return Ok(Given::System);
    }
    if library.job(word).is_some() {
        return Ok(Given::Job);
    }
    let problem = Problem::nowhere(format!("`{word}` is no system, no job and no saved result"));
    let endings = "a system file ends in .toml, a job file in .fio, a result in .json";
    Err(problem.help(match nearest(word, library.systems().chain(library.jobs())) {
        Some(name) => format!("did you mean `{name}`? ({endings})"),
        None => format!("{endings}; `hopscope systems` lists what ships"),
    }))
}

impl Work {
    /// What it is called beside the others.
    pub fn name(&self) -> &str {
        if self.by_job { &self.job } else { &self.system }
    }

    /// A failure with the name of what failed.
    pub fn blamed(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Input(mut problems) => {
                problems
                    .0
                    .iter_mut()
                    .for_each(|problem| problem.title = format!("`{}`: {}", self.system, problem.title));
                Failure::Input(problems)
            }
            Failure::Defect(what) => Failure::Defect(format!("{} with {}: {what}", self.system, self.job)),
        }
    }
}

/// Every system with every job, all systems with the first job first. A device that a job names must be there in each
/// system; a job that names none does its work on each system's own.
pub fn works(
    library: &Library,
    sources: &mut Sources,
    systems: &[(String, Blueprint)],
    jobs: &[(String, JobFile)],
) -> Result<Vec<Work>, Problems> {
    match (systems, jobs) {
        ([], []) => return Ok(Vec::new()),
        ([], [(job, _), ..]) => {
            let problem = Problem::nowhere(format!("on which system is `{job}` to run? There is none"));
            return Err(problem.help("`hopscope systems` lists what ships").into());
        }
        ([(system, _), ..], []) => {
            let help = "name a job file, or write options as fio takes them: --rw=randread --bs=4k --iodepth=4";
            return Err(Problem::nowhere(format!("what is `{system}` to do? There is no job")).help(help).into());
        }
        _ => {}
    }
    let columns = systems.len().saturating_mul(jobs.len());
    if columns > COLUMNS_MAX {
        Comparison::enough(columns)?;
    }
    let (mut works, mut problems) = (Vec::new(), Problems::default());
    for (job, file) in jobs {
        for (system, blueprint) in systems {
            let (mut file, mut blueprint) = (file.clone(), blueprint.clone());
            blueprint.settle(&mut file, library, sources)?;
            problems.0.extend(strangers(system, &blueprint, &file));
            problems.0.extend(at_once(&file.jobs).err());
            let said = file.said();
            let setting = Setting { blueprint, jobs: file.jobs };
            let by_job = systems.len() == 1 && jobs.len() > 1;
            works.push(Work { system: system.clone(), job: job.clone(), setting, said, by_job });
        }
    }
    problems.0.dedup();
    problems.unless_empty(works)
}

/// Devices that jobs name and a system does not have.
fn strangers(system: &str, blueprint: &Blueprint, file: &JobFile) -> Vec<Problem> {
    let devices = blueprint.devices();
    let named = file.jobs.iter().flat_map(|job| job.targets.iter().map(move |target| (job, target)));
    let unknown = named.filter(|(_, target)| !devices.contains(target));
    let problem = |(job, target): (&Job, &String)| {
        let problem = Problem::at(job.place_of("filename"), format!("`{system}` has no device `{target}`"));
        let all = devices.join(", ");
        let help = format!("{} (devices: {all}); without `filename` each system's own", did_you_mean(target, &devices));
        problem.help(help)
    };
    unknown.map(problem).collect()
}

/// What is to be compared, read and checked.
pub struct Chosen {
    /// What is to be simulated.
    pub works: Vec<Work>,
    /// How many jobs there are.
    pub jobs: usize,
    /// What was saved.
    pub saved: Vec<Column>,
}

/// Reads what words name: systems, jobs and saved results in any order; and `options`, which are a job as fio takes it on
/// its command line.
pub fn chosen(
    library: &Library,
    sources: &mut Sources,
    words: &[String],
    options: &[String],
) -> Result<Chosen, Problems> {
    let (mut systems, mut jobs, mut saved) = (Vec::new(), Vec::new(), Vec::new());
    let mut problems = Problems::default();
    for word in words {
        match given(library, word) {
            Ok(Given::System) => match work::system(library, sources, word) {
                Ok(blueprint) => systems.push((word.clone(), blueprint)),
                Err(found) => problems.0.extend(found.0),
            },
            Ok(Given::Job) => match work::job(library, sources, word) {
                Ok(file) => jobs.push((word.clone(), file)),
                Err(found) => problems.0.extend(found.0),
            },
            Ok(Given::Saved) => match result(sources, word) {
                Ok(columns) => saved.extend(columns),
                Err(found) => problems.0.extend(found.0),
            },
            Err(problem) => problems.0.push(problem),
        }
    }
    match (&jobs[..], options) {
        (_, []) => {}
        ([], options) => match job_file::read_options(sources, options) {
            Ok(file) => jobs.push((options.join(" "), file)),
            Err(found) => problems.0.extend(found.0),
        },
        ([(name, _), ..], [option, ..]) => problems.0.push(work::job_twice(name, option)),
    }
    problems.unless_empty(())?;
    let works = works(library, sources, &systems, &jobs)?;
    Comparison::enough(works.len() + saved.len())?;
    Ok(Chosen { works, jobs: jobs.len(), saved })
}

fn result(sources: &mut Sources, name: &str) -> Result<Vec<Column>, Problems> {
    let text = text_file::read_result(Path::new(name))?;
    let file = sources.add(name, text);
    read(sources, file)
}
