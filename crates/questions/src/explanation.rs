//! All that an explanation answers: a run with its account, what limits it, and a measurement beside it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use hopscope_files::fio_result::{self, Measured};
use hopscope_files::job_file::Job;
use hopscope_files::problem::{Problems, Sources};
use hopscope_files::text_file;
use hopscope_kernel::Observer;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Failure, Options, Outcome};
use serde_json::Value;

use crate::diagnosis::{Diagnosis, Foreseen, diagnose_with};
use crate::explain::{EXTENT, Explained, observe, run_at_once};
use crate::explain_json;
use crate::measured::{self, Comparison, Pairing, json as measured_json};
use crate::trials::{Begun, Setting};

/// What is going on, for whoever waits. It is said from several threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The run was made and accounted for; trials begin.
    Explained,
    /// So many trials of so many are done.
    Tried(usize, usize),
}

/// Whoever waits.
pub struct Listening<'a> {
    /// Makes who sees the run while it is made.
    pub watcher: &'a (dyn Fn() -> Option<Box<dyn Observer>> + Sync),
    /// Is told what is going on.
    pub news: &'a (dyn Fn(News) + Sync),
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The run and its account.
    pub explained: Explained,
    /// What limits it; nothing where too little ended to say so.
    pub diagnosis: Option<Diagnosis>,
    /// A measurement beside it.
    pub measured: Option<Comparison>,
}

/// What was measured of the same jobs, and which of them is which.
pub struct Beside {
    file: String,
    result: Measured,
    pairing: Pairing,
}

impl Beside {
    /// Reads a result of fio that is to stand beside these jobs.
    pub fn read(sources: &mut Sources, path: &Path, jobs: &[Job]) -> Result<Beside, Problems> {
        let file = path.display().to_string();
        let text = text_file::read_result(path)?;
        let number = sources.add(file.clone(), text);
        let result = fio_result::read(sources, number)?;
        let pairing = measured::pair(&result, jobs)?;
        Ok(Beside { file, result, pairing })
    }
}

impl Explanation {
    /// Makes the run, accounts for it, and tries what limits it.
    pub fn of(
        setting: &Setting,
        options: Options,
        beside: Option<&Beside>,
        listening: Listening<'_>,
    ) -> Result<Explanation, Failure> {
        let Setting { blueprint, jobs } = setting;
        let Listening { watcher, news } = listening;
        // Trials begin meanwhile: to where all of them do while it is made, and with what they change while it is accounted for.
        let is_accounted_for = &AtomicBool::new(false);
        let wanted = || !is_accounted_for.load(Ordering::Relaxed);
        let (tell, told) = mpsc::channel::<Outcome>();
        let run_and_account = move || {
            let explained = run_at_once(blueprint, jobs, options, watcher()).and_then(|outcome| {
                // Nobody listens where trials have failed.
                tell.send(outcome.clone()).ok();
                observe(blueprint, jobs, options, EXTENT, outcome)
            });
            is_accounted_for.store(true, Ordering::Relaxed);
            explained
        };
        let try_ahead = move || {
            let begun = Begun::of(setting, options.seed, &wanted)?;
            match told.recv() {
                Ok(outcome) => Foreseen::of(setting, options.seed, &outcome, begun, &wanted),
                Err(_) => Ok(None),
            }
        };
        let (explained, foreseen) = rayon::join(run_and_account, try_ahead);
        let explained = explained?;
        news(News::Explained);
        let tried = |done, of| news(News::Tried(done, of));
        let diagnosis = diagnose_with(setting, options.seed, &explained, foreseen?, &tried)?;
        let compare = |of: &Beside| measured::compare(&of.file, &of.result, &of.pairing, jobs, &explained);
        let measured = beside.map(compare);
        Ok(Explanation { explained, diagnosis, measured })
    }

    /// As JSON, with system and job as they were named.
    pub fn json(&self, blueprint: &Blueprint, (system, job): (&str, &str)) -> Value {
        let mut report = explain_json::report(blueprint, &self.explained, self.diagnosis.as_ref());
        report["system"] = system.into();
        report["job"] = job.into();
        if let Some(compared) = &self.measured {
            report["measured"] = measured_json::report(compared);
        }
        report
    }
}
