//! Explains a run: the loss account of every lane, and the lives of its requests.
//!
//! The machine runs twice. The first run says what the jobs get, and from when on that holds. The second one is observed
//! from then on, until enough requests have ended to speak for the others; of writes from the end of the ramp, for what
//! they leave behind is moved later. What is observed takes several times as long as what is not.
//!
//! Of a runtime that is needed for longer than that a tenth is left away. What the first run has come to by a fifth says how
//! the second one is to be observed, so that it may be made beside the rest of the first one.
//!
//! - `window`: what of a run is looked at.
//! - `seen`: the second run, and what was seen in it.

mod seen;
mod window;

use std::collections::BTreeMap;
use std::sync::Arc;

use hopscope_files::job_file::Job;
use hopscope_files::problem::Problem;
use hopscope_kernel::{Observer, Sim, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::Figures;
use hopscope_machine::hops::Hop;
use hopscope_machine::phases::{self, Phase};
use hopscope_machine::run::{Failure, Options, Outcome, Stop, Telling, at_once, run_in, run_telling};
use hopscope_observe::account::{Extent, Ledger, Names};
use hopscope_observe::lives::{Enough, Latency, Shares};
use hopscope_observe::{Account, Lives};

use crate::trials::{Performance, Setting, performance};
pub(crate) use seen::Seen;
use seen::Watched;
use window::window_of;
pub(crate) use window::{
    has_converged, in_flight, is_known_ahead, may_be_known_ahead, ramp_of, ramp_run, time_of, watched_since, writes,
};

/// What an account is made of: enough requests to speak for the others, few enough to cost little beside the run.
pub const EXTENT: Extent = Extent { spans: 50_000, requests: 200, spans_max: 2_000_000 };
/// Requests that are looked at to find out early which hops are at work.
const FIRST: Enough =
    Enough { at_least: 32, times_in_flight: 2, requests: 64, spans: 50_000, spans_most: 200_000, kept_most: 4_000_000 };

/// A run with its account.
#[derive(Clone, Debug)]
pub struct Explained {
    /// What the jobs got, over the whole run.
    pub outcome: Outcome,
    /// Where the time went, over a window of the run.
    pub account: Account,
    /// Where the latencies went, of the requests that ended within the window; nothing where none did.
    pub latency: Option<Latency>,
    /// Whether that is of fewer requests than it should be, or of none, because their lives were too long to be kept.
    pub too_long: bool,
    /// Whom the lanes worked for, from where the run was watched until there was enough to see in the window.
    pub shares: BTreeMap<String, Shares>,
    /// The hops that were at work.
    pub hops: Vec<Hop>,
    /// Which lanes are alike.
    pub names: Names,
    /// How long the jobs of the run went on that was watched for the account.
    pub watched: Time,
    /// Where the run is not the same all along: its phases, and which of them all of this is of but what the jobs got.
    pub phases: Option<(Arc<[Phase]>, usize)>,
}

/// Runs `jobs` and accounts for every lane, over a window of that extent from where the run has warmed up; with `watcher`
/// besides. Where the jobs have a runtime that they need, the first tenth of it is left away at least: buffers fill, arms
/// find their place.
pub fn explain(
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    extent: Extent,
    watcher: Option<Box<dyn Observer>>,
) -> Result<Explained, Failure> {
    let outcome = run_at_once(blueprint, jobs, options, watcher, &|_| {})?;
    observe(blueprint, jobs, options, extent, outcome)
}

/// Makes the run that is to be explained; tells what it says where that is known before it is over.
pub(crate) fn run_at_once(
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    watcher: Option<Box<dyn Observer>>,
    tell: &dyn Fn(Telling<'_>),
) -> Result<Outcome, Failure> {
    at_once(jobs).map_err(|problem| Failure::Input(problem.into()))?;
    let options = Options { noted_at: may_be_known_ahead(jobs), ..options };
    run_telling(Sim::new(), blueprint, jobs, options, watcher, tell)
}

/// Accounts for a run that has been made, or for one of which it is known what it will come to.
pub fn observe(
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    extent: Extent,
    outcome: Outcome,
) -> Result<Explained, Failure> {
    let seen = Seen::of(blueprint, jobs, options, window_of(&outcome, jobs), extent)?;
    seen.explained(blueprint, jobs, options, extent, outcome)
}

/// The hops that work while the first requests are under way: most of those that will be found to be at work.
pub(crate) fn hops_at_work_first(setting: &Setting, seed: u64, until: Time) -> Result<Vec<Hop>, Failure> {
    let Setting { blueprint, jobs } = setting;
    let sim = Sim::new();
    let lives = Lives::since(&sim, (Time::ZERO, Time::ZERO), FIRST);
    let options = Options { seed, while_watched: true, ..Options::USUAL };
    run_until(&sim, blueprint, jobs, options, until, Box::new(lives.clone()))?;
    Ok(Watched { sim, lives }.hops_at_work(blueprint))
}

/// Runs `jobs`, and accounts for every lane from the end of their ramp on.
pub fn run_and_account(
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    extent: Extent,
) -> Result<(Outcome, Account), Failure> {
    at_once(jobs).map_err(|problem| Failure::Input(problem.into()))?;
    let from = ramp_of(jobs);
    let (sim, ledger) = (Sim::new(), Ledger::new(from, extent));
    let outcome = run_in(sim.clone(), blueprint, jobs, options, Some(Box::new(ledger.clone())))?;
    let account = account_of(&sim, &ledger, &outcome)?;
    let account = account.ok_or_else(|| over_too_early(&jobs[0], from, outcome.simulated))?;
    Ok((outcome, account))
}

/// The account of a run that has been observed; nothing where no lane was used.
fn account_of(sim: &Sim, ledger: &Ledger, observed: &Outcome) -> Result<Option<Account>, Failure> {
    let account = Account::of(sim, ledger, observed.stop == Stop::Finished);
    account.map_err(|what| Failure::Defect(format!("the account does not add up: {what}")))
}

/// Runs `jobs` from the beginning until then, watched.
pub(crate) fn run_until(
    sim: &Sim,
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    until: Time,
    watcher: Box<dyn Observer>,
) -> Result<Outcome, Failure> {
    let shortened = |job: &Job| Job { runtime: Some(until), ramp_time: Time::ZERO, ..job.clone() };
    let shorter: Vec<Job> = jobs.iter().map(shortened).collect();
    let options = Options { until: None, not_longer_than_needed: false, cut: true, ..options };
    run_in(sim.clone(), blueprint, &shorter, options, Some(watcher))
}

/// The jobs were done before the account begins.
fn over_too_soon(job: &Job, from: Time, ended: Time) -> Failure {
    let title = format!("the jobs are done after {ended}, and the account begins at {from}, a tenth of `runtime`");
    let problem = Problem::at(job.place_of("runtime"), title);
    Failure::Input(problem.help("add `time_based`, so that they start over, or ask for a shorter `runtime`").into())
}

/// What was under way when the account begins still was when the run ended.
fn over_too_early(job: &Job, from: Time, ended: Time) -> Failure {
    let title = format!("nothing that a lane does ended from {from} to {ended}: the run is too short for an account");
    Failure::Input(Problem::at(job.place_of("runtime"), title).help("ask for a longer `runtime`").into())
}

impl Explained {
    /// Why it is not said of enough requests where their latency went, if it is not.
    pub fn untold(&self) -> Option<&'static str> {
        let words = match self.latency {
            None => {
                "It is not said where the latency of requests went: so many of them at once, and so long ones, are more \
                 than is kept. Fewer in flight (iodepth) or smaller blocks (bs) show it."
            }
            Some(_) => {
                "The stages are those of few requests: so many of them at once, and so long ones, are more than is kept. \
                 Fewer in flight (iodepth) or smaller blocks (bs) show those of more."
            }
        };
        self.too_long.then_some(words)
    }

    /// Of the longest phase of a run, or of the last one of those: what all jobs got in all phases.
    pub(crate) fn in_phases(self, jobs: &[Job], all: Vec<Phase>, of: usize) -> Explained {
        Explained { outcome: phases::whole(jobs, &all), phases: Some((all.into(), of)), ..self }
    }

    /// The phase of the run that all but what the jobs got is of; nothing where the run is the same all along.
    pub fn phase(&self) -> Option<&Phase> {
        self.phases.as_ref().map(|(all, of)| &all[*of])
    }

    /// When that begins.
    pub fn phase_begins(&self) -> Time {
        self.phase().map_or(Time::ZERO, |phase| phase.from)
    }

    /// What the phases are, in sentences; nothing where the run is the same all along. Rates and times as whoever asks
    /// writes them.
    pub fn phase_words(&self, rate: impl Fn(f64) -> String, span: impl Fn(Time) -> String) -> Option<String> {
        let (all, of) = self.phases.as_ref()?;
        let each = all.iter().map(|phase| {
            let mut got = rate(phase.outcome.rate.bytes_per_second);
            if !has_converged(&phase.outcome) {
                got += " on average";
            }
            match &phase.used_up {
                Some(what) => format!("{got} for {}, until {what} are used up", span(phase.lasts())),
                None => format!("{got} from then on"),
            }
        });
        let each: Vec<String> = each.collect();
        let seen = &all[*of];
        let lasts = span(seen.lasts());
        let whose = match *of {
            0 => format!("the first {lasts}"),
            last if last + 1 == all.len() => format!("the last {lasts}"),
            _ => format!("{lasts} from {} on", span(seen.from)),
        };
        Some(format!("It is not the same all along: {}. What follows is of {whose}.", each.join("; ")))
    }

    /// The same with what the jobs got in that phase, and the machine and its jobs as they were in it.
    pub fn by_itself(&self, whole: &Setting) -> (Setting, Explained) {
        match self.phase() {
            None => (whole.clone(), self.clone()),
            Some(Phase { blueprint, jobs, outcome, .. }) => {
                let setting = Setting { blueprint: blueprint.clone(), jobs: jobs.clone() };
                (setting, Explained { outcome: outcome.clone(), ..self.clone() })
            }
        }
    }

    /// What all jobs got together, bytes per second, over the whole run.
    pub fn throughput(&self) -> f64 {
        Figures::of_all(&self.outcome.jobs).map_or(0.0, |figures| figures.bytes_per_second)
    }

    /// Transfers per second of all jobs together, over the whole run.
    pub fn iops(&self) -> f64 {
        Figures::of_all(&self.outcome.jobs).map_or(0.0, |figures| figures.iops)
    }

    /// What all jobs got together, over the whole run; nothing where no transfer ended.
    pub fn performance(&self) -> Option<Performance> {
        performance(&self.outcome)
    }

    /// Why there is no diagnosis, where there is none.
    pub fn undiagnosed(&self) -> String {
        let Account { from, until, .. } = self.account;
        if self.account.is_idle() {
            format!("Limited by the workload: from {from} to {until} the jobs paused, and nothing was under way.")
        } else {
            "Too few requests ended in the measured time to say what limits them; a longer run would.".to_string()
        }
    }

    /// The account with lanes that are alike as one.
    pub fn alike(&self) -> Account {
        self.account.alike(&self.names)
    }

    /// The latencies with lanes that are alike as one.
    pub fn latency_alike(&self) -> Option<Latency> {
        self.latency.as_ref().map(|latency| latency.alike(&self.names))
    }

    /// How much of the window a hop works, of its lanes the one that works most.
    pub fn busy_share(&self, hop: &str) -> f64 {
        let lanes = self.account.lanes.iter().filter(|lane| self.names.of(&lane.lane) == hop);
        lanes.map(|lane| lane.busy_share()).fold(0.0, f64::max)
    }
}
