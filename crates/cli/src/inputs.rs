//! What several commands are given: shipped data, a machine, a job.

use std::path::{Path, PathBuf};

use hopscope_files::library::Library;
use hopscope_files::problem::{Problems, Sources};
use hopscope_questions::work::{self, Named};

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
    /// Change one number of the machine, such as pci.clock=66MHz or pci.clock=x2, or all rows of a table: disk.seek.rows[].time=x0.5 (repeatable)
    #[arg(long, value_name = "PART.KEY=VALUE")]
    set: Vec<String>,
    /// Have a hop work so many times as fast, such as cpu=2 or drive.channel*=1.05 (repeatable; `explain` has the names)
    #[arg(long, value_name = "HOP=TIMES")]
    pace: Vec<String>,
    #[command(flatten)]
    data: Data,
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
        self.named().job_words()
    }

    /// Reads the machine and the job.
    pub fn read(&self) -> Result<(work::Work, Sources), Refusal> {
        reading(|sources| self.named().read(&self.library()?, sources))
    }

    /// What the words name.
    fn named(&self) -> Named {
        let Work { system, job, job_options, set, pace, data: _ } = self;
        Named {
            system: system.clone(),
            job: job.clone(),
            job_options: job_options.clone(),
            set: set.clone(),
            pace: pace.clone(),
        }
    }
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
