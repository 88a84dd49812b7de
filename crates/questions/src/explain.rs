//! Explains a run: the loss account of every lane, and the lives of its requests.
//!
//! The machine runs twice. The first run says what the jobs get, and from when on that holds. The second one is observed
//! from then on, until enough requests have ended to speak for the others; of writes from the end of the ramp, for what
//! they leave behind is moved later. What is observed takes several times as long as what is not.

use std::collections::BTreeMap;
use std::sync::Arc;

use hopscope_files::job_file::Job;
use hopscope_files::problem::Problem;
use hopscope_kernel::{Observer, Sim, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::both::Both;
use hopscope_machine::fio_json::Figures;
use hopscope_machine::hops::{Hop, hops, names};
use hopscope_machine::phases::{self, Phase};
use hopscope_machine::run::{Failure, JOB, Options, Outcome, Stop, at_once, process_name, run_in, run_telling};
use hopscope_observe::account::{Extent, Ledger, Names};
use hopscope_observe::lives::{Enough, Latency, Shares};
use hopscope_observe::{Account, Lives};
use hopscope_parts::workload::THINK_TIME;

use crate::trials::{Performance, Setting, performance, spent};

/// What an account is made of: enough requests to speak for the others, few enough to cost little beside the run.
pub const EXTENT: Extent = Extent { spans: 50_000, requests: 200, spans_max: 2_000_000 };
/// Whom lanes work for is watched for so many events before the account begins, where jobs write.
const EVENTS_BEFORE: u64 = 1_000_000;
/// The observed run is so many times as long as it should take for its requests to end.
const PATIENCE: u64 = 2;
/// Requests that are looked at to find out early which hops are at work.
const FIRST: Enough =
    Enough { at_least: 32, times_in_flight: 2, requests: 64, spans: 50_000, spans_most: 200_000, kept_most: 4_000_000 };
/// Transfers below which jobs that pause are accounted for from the beginning.
const FEW: u64 = 20;

/// From when on a run is watched, and one by one; from when on it is accounted for, and until when at the latest.
type Window = ((Time, Time), Time, Time);

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
    tell: &dyn Fn(&Outcome),
) -> Result<Outcome, Failure> {
    at_once(jobs).map_err(|problem| Failure::Input(problem.into()))?;
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
    let known = outcome.first_known();
    let warm = known.stages.last().map_or(Time::ZERO, |stage| stage.warm.warm_up);
    let transfers: u64 = known.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.count).sum();
    // Jobs that pause for longer than that do nothing any more after a tenth of their runtime.
    let pauses = transfers < FEW && pause(jobs);
    // What stopped because it had come to rest has warmed up.
    let from = if pauses || has_converged(known) { ramp_run(known) } else { warm_by_then(jobs) }.max(warm);
    let (since, window) = (watched_since(known, jobs, from), window_end(known, jobs, from));
    let (simulated, stop) = (known.simulated, known.stop);
    let (seen, account) = watch(blueprint, jobs, options, (since, from, window), extent)?;
    if let Some(account) = account {
        return Ok(seen.explained(blueprint, outcome, (account, window)));
    }
    // The window was too short for anything to end in it: by the end of the run it has.
    let (longer, account) = watch(blueprint, jobs, options, (since, from, simulated), extent)?;
    if let Some(account) = account {
        return Ok(longer.explained(blueprint, outcome, (account, simulated)));
    }
    match jobs.iter().position(|job| job.think.time > Time::ZERO) {
        _ if stop == Stop::Finished => Err(over_too_soon(&jobs[0], from, simulated)),
        Some(index) => {
            let pause = (&process_name(index, &jobs[index])[..], &THINK_TIME);
            let idle = Account::idle(&seen.sim, (from, window), pause, |lane| !lane.starts_with(JOB));
            Ok(seen.explained(blueprint, outcome, (idle, window)))
        }
        None => Err(over_too_early(&jobs[0], from, simulated)),
    }
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

/// A run that was watched.
struct Watched {
    sim: Sim,
    lives: Lives,
}

/// Runs `jobs` again and watches them within a window, until there is enough. No account where no lane worked in it.
fn watch(
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    ((since, traced), from, until): Window,
    extent: Extent,
) -> Result<(Watched, Option<Account>), Failure> {
    let (sim, ledger) = (Sim::new(), Ledger::new(from, extent));
    let lives = Lives::since(&sim, (since, from), Enough::FOR_AN_ACCOUNT).traced_since(traced);
    let both = Both(Box::new(ledger.clone()), Box::new(lives.clone()));
    let options = Options { while_watched: true, ..options };
    let observed = run_until(&sim, blueprint, jobs, options, until, Box::new(both))?;
    let account = account_of(&sim, &ledger, &observed)?;
    Ok((Watched { sim, lives }, account))
}

impl Watched {
    /// With what the whole run said.
    fn explained(&self, blueprint: &Blueprint, outcome: Outcome, (account, watched): (Account, Time)) -> Explained {
        let Watched { sim, lives } = self;
        let lanes: Vec<String> = sim.lanes().into_iter().map(|lane| lane.0).collect();
        let shares = lanes.iter().cloned().zip(lives.shares()).collect();
        let (hops, names) = (self.hops_at_work(blueprint), names(blueprint.parts(), sim));
        let phases = None;
        let (latency, too_long) = (lives.latency(), lives.are_too_long());
        Explained { outcome, account, latency, too_long, shares, hops, names, watched, phases }
    }

    /// The hops that were seen to work.
    fn hops_at_work(&self, blueprint: &Blueprint) -> Vec<Hop> {
        let (lanes, at_work) = (self.sim.lanes(), self.lives.at_work());
        let works = |hop: &Hop| hop.lanes.iter().any(|lane| at_work.get(usize::from(*lane)) == Some(&true));
        let jobs_lanes = |hop: &Hop| lanes[usize::from(hop.lanes[0])].0.starts_with(JOB);
        hops(blueprint.parts(), &self.sim).into_iter().filter(|hop| works(hop) && !jobs_lanes(hop)).collect()
    }
}

/// Whether any of them writes.
pub(crate) fn writes(jobs: &[Job]) -> bool {
    jobs.iter().any(|job| job.rw.sides()[1])
}

/// Whether any of them pauses.
fn pause(jobs: &[Job]) -> bool {
    jobs.iter().any(|job| job.think.time > Time::ZERO)
}

/// When all of their ramps are over.
pub(crate) fn ramp_of(jobs: &[Job]) -> Time {
    jobs.iter().map(|job| job.ramp_time).max().unwrap_or(Time::ZERO)
}

/// As much of it as was run, of jobs that start at the same time.
pub(crate) fn ramp_run(outcome: &Outcome) -> Time {
    outcome.stages.last().map_or(Time::ZERO, |stage| stage.from)
}

/// When all of their ramps are over, and not before a tenth of the runtime.
fn warm_by_then(jobs: &[Job]) -> Time {
    let runtime = jobs.iter().map(|job| job.runtime).max().flatten().unwrap_or(Time::ZERO);
    ramp_of(jobs).max(Time::ps(runtime.as_ps() / 10))
}

/// From when on a run has to be watched for a window that begins at `from`, and from when on one by one. That is the longest
/// latency before the window and a quarter more, so that whatever ends in the window was made by then, which is a little
/// before it is issued. What writes leave behind may be moved by hops that do nothing in the window: whom lanes work for is
/// watched from the end of the ramp on, or for as much before as [`EVENTS_BEFORE`] take.
pub(crate) fn watched_since(outcome: &Outcome, jobs: &[Job], from: Time) -> (Time, Time) {
    if pause(jobs) {
        return (Time::ZERO, Time::ZERO);
    }
    let got = || outcome.jobs.iter().filter_map(|job| job.got.as_ref());
    let longest = got().map(|got| got.latency_ns.max()).max().unwrap_or(u64::MAX);
    let traced = from.saturating_sub(Time::ns(longest.saturating_add(longest / 4).min(u64::MAX / 1_000)));
    if !writes(jobs) {
        return (traced, traced);
    }
    let (all, spent) = (u128::from(outcome.simulated.as_ps()), u128::from(spent(&outcome.counts)));
    let before = Time::ps((all * u128::from(EVENTS_BEFORE) / spent.max(1)).try_into().unwrap_or(u64::MAX));
    (ramp_run(outcome).max(traced.saturating_sub(before)).min(traced), traced)
}

/// When enough requests will have ended.
fn window_end(outcome: &Outcome, jobs: &[Job], from: Time) -> Time {
    let got = outcome.jobs.iter().filter_map(|job| job.got.as_ref());
    let transfers: u64 = got.map(|got| got.count).sum();
    let depth: u64 = jobs.iter().map(|job| job.iodepth).fold(0, u64::saturating_add);
    let Enough { requests, times_in_flight, .. } = Enough::FOR_AN_ACCOUNT;
    let wanted = (requests as u64).max(times_in_flight as u64 * depth) * PATIENCE;
    let each = outcome.measured.as_ps().checked_div(transfers).unwrap_or(u64::MAX);
    from.saturating_add(Time::ps(each.saturating_mul(wanted))).min(time_of(outcome, jobs).max(Time::ps(1)))
}

/// How long a run is of jobs that start at the same time, without what comes after their runtime.
pub(crate) fn time_of(outcome: &Outcome, jobs: &[Job]) -> Time {
    let over = |job: &Job| job.runtime.map(|runtime| job.ramp_time.saturating_add(runtime));
    let simulated = if has_converged(outcome) { Time::MAX } else { outcome.simulated };
    jobs.iter().filter_map(over).max().map_or(outcome.simulated, |over| over.min(simulated))
}

/// Whether the jobs would have gone on as they did.
pub(crate) fn has_converged(outcome: &Outcome) -> bool {
    matches!(outcome.stop, Stop::Converged | Stop::Drifting)
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
            "Too few requests ended in the measured time to say what limits them.".to_string()
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
