//! A machine and what it is to do, as somebody names them: words become what can be run and asked.

use hopscope_files::job_file::{self, JobFile};
use hopscope_files::library::Library;
use hopscope_files::problem::{Problem, Problems, Sources};
use hopscope_kernel::Pace;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::hops;

use crate::trials::Setting;

/// What was named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// A system file, or the name of one in the library.
    pub system: String,
    /// A job file, the name of one in the library, or a result of fio.
    pub job: Option<String>,
    /// The job as fio takes it on its command line, instead of a job file.
    pub job_options: Vec<String>,
    /// Numbers of the machine that are others, as `part.key=value`.
    pub set: Vec<String>,
    /// Hops that work faster or slower, as `hop=times`.
    pub pace: Vec<String>,
}

/// The same, read and checked, and settled with each other.
pub struct Work {
    /// The machine, as changed.
    pub blueprint: Blueprint,
    /// The jobs.
    pub jobs: JobFile,
}

impl Work {
    /// What can be asked.
    pub fn setting(&self) -> Setting {
        Setting { blueprint: self.blueprint.clone(), jobs: self.jobs.jobs.clone() }
    }
}

impl Named {
    /// The job as it was named, with what was set of the machine.
    pub fn job_words(&self) -> String {
        let set = self.set.iter().map(|assignment| format!("--set {assignment}"));
        let pace = self.pace.iter().map(|assignment| format!("--pace {assignment}"));
        self.job.iter().chain(&self.job_options).cloned().chain(set).chain(pace).collect::<Vec<_>>().join(" ")
    }

    /// Reads the machine and the job.
    pub fn read(&self, library: &Library, sources: &mut Sources) -> Result<Work, Problems> {
        let mut blueprint = system(library, sources, &self.system)?;
        let mut jobs = self.jobs(library, sources)?;
        blueprint.settle(&mut jobs, library, sources)?;
        for assignment in &self.set {
            blueprint.set(assignment)?;
        }
        for assignment in &self.pace {
            let (hop, pace) = pace(assignment)?;
            blueprint.pace(hop, pace)?;
        }
        Ok(Work { blueprint, jobs })
    }

    fn jobs(&self, library: &Library, sources: &mut Sources) -> Result<JobFile, Problems> {
        match (&self.job, &self.job_options[..]) {
            (None, []) => {
                let help = "name a job file, or write options as fio takes them: \
                            --rw=randread --bs=64k --iodepth=1 --runtime=10 --time_based";
                Err(Problem::nowhere(format!("what is `{}` to do? There is no job", self.system)).help(help).into())
            }
            (None, options) => job_file::read_options(sources, options),
            (Some(name), []) => job(library, sources, name),
            (Some(name), [option, ..]) => Err(job_twice(name, option).into()),
        }
    }
}

/// Reads a system that is named.
pub fn system(library: &Library, sources: &mut Sources, name: &str) -> Result<Blueprint, Problems> {
    let text = library.open_system(name)?;
    let file = sources.add(text.name, text.text);
    Blueprint::read(library, sources, file)
}

/// Reads a system that is named, with numbers that are others.
pub fn system_with(
    library: &Library,
    sources: &mut Sources,
    name: &str,
    set: &[String],
) -> Result<Blueprint, Problems> {
    let mut blueprint = system(library, sources, name)?;
    for assignment in set {
        blueprint.set(assignment)?;
    }
    Ok(blueprint)
}

/// Reads a job that is named.
pub(crate) fn job(library: &Library, sources: &mut Sources, name: &str) -> Result<JobFile, Problems> {
    let text = library.open_job(name)?;
    let file = sources.add(text.name, text.text);
    job_file::read(sources, file)
}

/// There is a job file, and there are options of a job.
pub(crate) fn job_twice(name: &str, option: &str) -> Problem {
    let title = format!("there is a job file, `{name}`, and an option of a job, `{option}`");
    Problem::nowhere(title).help("give one or the other; an option and its value are one word: --rw=randread")
}

/// A hop and its pace, as `HOP=TIMES`.
fn pace(assignment: &str) -> Result<(&str, Pace), Problem> {
    let read = assignment.rsplit_once('=').and_then(|(hop, times)| Some((hop.trim(), hops::pace(times)?)));
    read.ok_or_else(|| {
        let help = "write HOP=TIMES, from 0.001 to 1000, such as cpu=2, pci=1.05 or link.up=21/20";
        Problem::nowhere(format!("`{assignment}` is no pace")).help(help)
    })
}
