//! Explains a run: the loss account of every lane.

use hopscope_kernel::{Observer, Sim, Time};
use hopscope_observe::Account;
use hopscope_observe::account::{Extent, Ledger};

use crate::blueprint::Blueprint;
use crate::fio_json::Figures;
use crate::job_file::Job;
use crate::problem::Problem;
use crate::run::{Both, Failure, Options, Outcome, Stop, at_once, run_in};

/// What an account is made of: enough requests to speak for the others, few enough to cost little beside the run.
pub const EXTENT: Extent = Extent { spans: 50_000, requests: 8, spans_max: 1_000_000 };

/// A run with its account.
#[derive(Clone, Debug)]
pub struct Explained {
    /// What the jobs got, over the whole run.
    pub outcome: Outcome,
    /// Where the time went, over a window of the run.
    pub account: Account,
}

/// Runs `jobs` and accounts for every lane, over a window of that extent from the end of the ramp on; with
/// `watcher` besides. Where the jobs have a runtime, the first tenth of it is left away: buffers fill, arms find their
/// place.
pub fn explain(
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    extent: Extent,
    watcher: Option<Box<dyn Observer>>,
) -> Result<Explained, Failure> {
    at_once(jobs).map_err(|problem| Failure::Input(problem.into()))?;
    let ramp = jobs.iter().map(|job| job.ramp_time).max().unwrap_or(Time::ZERO);
    let runtime = jobs.iter().map(|job| job.runtime).max().flatten().unwrap_or(Time::ZERO);
    let from = ramp.saturating_add(Time::ps(runtime.as_ps() / 10));
    let (sim, ledger) = (Sim::new(), Ledger::new(from, extent));
    let keeping = Box::new(ledger.clone());
    let watcher: Box<dyn Observer> = match watcher {
        Some(watcher) => Box::new(Both(keeping, watcher)),
        None => keeping,
    };
    let outcome = run_in(sim.clone(), blueprint, jobs, options, Some(watcher))?;
    let account = Account::of(&sim, &ledger, outcome.stop == Stop::Finished)
        .map_err(|what| Failure::Defect(format!("the account does not add up: {what}")))?;
    let Some(account) = account else {
        return Err(match jobs.first() {
            Some(job) if outcome.stop == Stop::Finished => over_too_soon(job, from, outcome.simulated),
            _ => Failure::Defect("no lane was used within the run".to_string()),
        });
    };
    Ok(Explained { outcome, account })
}

/// The jobs were done before the account begins.
fn over_too_soon(job: &Job, from: Time, ended: Time) -> Failure {
    let title = format!("the jobs are done after {ended}, and the account begins at {from}, a tenth of `runtime`");
    let problem = Problem::at(job.place_of("runtime"), title);
    Failure::Input(problem.help("add `time_based`, so that they start over, or ask for a shorter `runtime`").into())
}

impl Explained {
    /// What all jobs got together, bytes per second, over the whole run.
    pub fn throughput(&self) -> f64 {
        self.sum(|figures| figures.bytes_per_second)
    }

    /// Transfers per second of all jobs together, over the whole run.
    pub fn iops(&self) -> f64 {
        self.sum(|figures| figures.iops)
    }

    fn sum(&self, of: impl Fn(Figures) -> f64) -> f64 {
        let figures = self.outcome.jobs.iter().filter_map(Figures::of);
        // The sum of nothing is zero, not minus zero.
        figures.fold(0.0, |sum, figures| sum + of(figures))
    }
}
