//! What several commands are given: shipped data, a machine, a job.

use std::path::{Path, PathBuf};

use hopscope_files::job_file::{self, JobFile};
use hopscope_files::library::Library;
use hopscope_files::problem::{Problem, Problems, Sources};
use hopscope_kernel::Pace;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::hops;

use crate::answer::Refusal;
use crate::written::Inputs;

/// Where parts, systems, jobs and upgrades come from.
#[derive(clap::Args)]
pub struct Data {
    /// Folder with parts/, systems/, jobs/, upgrades/ and studies/ that replace or join the shipped ones
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl Data {
    /// The shipped files and those of `--data`.
    pub fn library(&self) -> Result<Library, Problems> {
        Library::new(self.data.as_deref())
    }

    /// The folder, as long as it is not the shipped files alone.
    pub fn folder(&self) -> Option<&Path> {
        self.data.as_deref()
    }
}

/// A machine and what it is to do.
#[derive(clap::Args)]
pub struct Work {
    /// A system file, or the name of a shipped one (`hopscope systems`)
    system: String,
    /// A fio job file or the name of a shipped one, or a result of fio (--output-format=json): the job that it measured
    job: Option<String>,
    /// The job as fio takes it on its command line, instead of a job file: --rw=randread --bs=64k …
    #[arg(last = true, value_name = "--OPTION=VALUE", allow_hyphen_values = true)]
    job_options: Vec<String>,
    /// Change one number of the machine, such as pci.clock=66MHz (repeatable)
    #[arg(long, value_name = "PART.KEY=VALUE")]
    set: Vec<String>,
    /// Have a hop work so many times as fast, such as cpu=2 or drive.channel*=1.05 (repeatable; `explain` has the names)
    #[arg(long, value_name = "HOP=TIMES")]
    pace: Vec<String>,
    #[command(flatten)]
    data: Data,
}

/// The same, read and checked.
pub struct Read {
    /// The machine, as changed.
    pub blueprint: Blueprint,
    /// The jobs.
    pub jobs: JobFile,
}

impl Work {
    /// The machine's name on the command line.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// The shipped files and those of `--data`.
    pub fn library(&self) -> Result<Library, Problems> {
        self.data.library()
    }

    /// What it reads, and `more`.
    pub fn inputs(&self, more: Option<&Path>) -> Inputs {
        let named = [Some(Path::new(&self.system)), self.job.as_ref().map(Path::new), more];
        Inputs::of(named.into_iter().flatten()).with_data(self.data.folder())
    }

    /// The job as on the command line, with what was set of the machine.
    pub fn job(&self) -> String {
        let set = self.set.iter().map(|assignment| format!("--set {assignment}"));
        let pace = self.pace.iter().map(|assignment| format!("--pace {assignment}"));
        self.job.iter().chain(&self.job_options).cloned().chain(set).chain(pace).collect::<Vec<_>>().join(" ")
    }

    /// Reads the machine and the job.
    pub fn read(&self) -> Result<(Read, Sources), Refusal> {
        reading(|sources| {
            let library = self.library()?;
            let mut blueprint = system(&library, sources, &self.system)?;
            let mut jobs = self.jobs(&library, sources)?;
            blueprint.settle(&mut jobs, &library, sources)?;
            for assignment in &self.set {
                blueprint.set(assignment)?;
            }
            for assignment in &self.pace {
                let (hop, pace) = pace(assignment)?;
                blueprint.pace(hop, pace)?;
            }
            Ok(Read { blueprint, jobs })
        })
    }

    fn jobs(&self, library: &Library, sources: &mut Sources) -> Result<JobFile, Problems> {
        match (&self.job, &self.job_options[..]) {
            (None, []) => {
                let help = "name a job file, or write options as fio takes them: \
                            --rw=randread --bs=64k --iodepth=1 --runtime=10 --time_based";
                Err(Problem::nowhere(format!("what is `{}` to do? There is no job", self.system)).help(help).into())
            }
            (None, options) => job_file::read_options(sources, options),
            (Some(name), []) => {
                let text = library.open_job(name)?;
                let file = sources.add(text.name, text.text);
                job_file::read(sources, file)
            }
            (Some(name), [option, ..]) => {
                let title = format!("there is a job file, `{name}`, and an option of a job, `{option}`");
                let help = "give one or the other; an option and its value are one word: --rw=randread";
                Err(Problem::nowhere(title).help(help).into())
            }
        }
    }
}

/// Reads a system that a command line names.
pub fn system(library: &Library, sources: &mut Sources, name: &str) -> Result<Blueprint, Problems> {
    let text = library.open_system(name)?;
    let file = sources.add(text.name, text.text);
    Blueprint::read(library, sources, file)
}

/// What `read` makes of texts, with the texts; what is wrong goes with them too.
pub fn reading<T>(read: impl FnOnce(&mut Sources) -> Result<T, Problems>) -> Result<(T, Sources), Refusal> {
    reading_more(Sources::default(), read)
}

/// The same beside texts that were read before.
pub fn reading_more<T>(
    mut sources: Sources,
    read: impl FnOnce(&mut Sources) -> Result<T, Problems>,
) -> Result<(T, Sources), Refusal> {
    match read(&mut sources) {
        Ok(value) => Ok((value, sources)),
        Err(problems) => Err(Refusal::Input(problems, sources)),
    }
}

/// A hop and its pace, as `HOP=TIMES`.
fn pace(assignment: &str) -> Result<(&str, Pace), Problem> {
    let read = assignment.rsplit_once('=').and_then(|(hop, times)| Some((hop.trim(), hops::pace(times)?)));
    read.ok_or_else(|| {
        let help = "write HOP=TIMES, from 0.001 to 1000, such as cpu=2, pci=1.05 or link.up=21/20";
        Problem::nowhere(format!("`{assignment}` is no pace")).help(help)
    })
}

/// A share such as 0.5% or 0.005.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.trim().strip_suffix('%').map_or((text, 1.0), |percent| (percent, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / scale);
    share.filter(|share| (1e-6..1.0).contains(share)).ok_or_else(|| {
        "expected a percentage such as 0.5%, or a fraction such as 0.005, between 0.0001% and 100%".to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_fraction() {
        assert_eq!((share("0.5%"), share(" 2 %"), share("0.005")), (Ok(0.005), Ok(0.02), Ok(0.005)));
        for wrong in ["", "%", "5", "0", "-1%", "nan", "inf%", "1e-300", "100%", "half"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
