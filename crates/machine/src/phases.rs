//! Runs whose rate changes because something is used up: phase after phase, each as long as it is known what it gets.
//!
//! ```text
//!   run ─▶ at rest, but for what empties ─▶ how long does that last? (`aged`, without time) ─▶ run from there on ─▶ …
//! ```
//!
//! A drive that takes writes in single-bit cells, or in spare blocks, does so for many seconds, and each of them is like
//! the one before. What is simulated is the beginning of each such phase; what jobs get in all follows from how long
//! phases are. Within a phase nothing changes but how much is left.

use std::fmt;

use hopscope_files::job_file::Job;
use hopscope_kernel::{Counts, Time};
use hopscope_observe::JobTransfers;
use hopscope_observe::batches::Rate;

use crate::aged::{Stretch, age};
use crate::blueprint::Blueprint;
use crate::processor_cost::ProcessorCost;
use crate::run::{Failure, JobOutcome, Outcome, Stage, Stop};

/// A phase is told apart where it is so many times as long as what of it was simulated.
const LONGER: u64 = 2;

/// A phase of a run.
#[derive(Clone)]
pub struct Phase {
    /// The machine as it is when it begins.
    pub blueprint: Blueprint,
    /// The jobs, as long as it lasts.
    pub jobs: Vec<Job>,
    /// What they get in it.
    pub outcome: Outcome,
    /// From when.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// What is used up at its end, in words; nothing of the last one.
    pub used_up: Option<String>,
}

impl Phase {
    /// How long it lasts.
    pub fn lasts(&self) -> Time {
        self.until - self.from
    }
}

impl fmt::Debug for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Phase { outcome, from, until, used_up, .. } = self;
        let mut shown = formatter.debug_struct("Phase");
        shown.field("from", from).field("until", until).field("used_up", used_up).field("outcome", outcome).finish()
    }
}

/// When the ramp of jobs that run at the same time is over, and when they are.
fn ramp_and_end(jobs: &[Job]) -> (Time, Time) {
    let longest = |of: fn(&Job) -> Time| jobs.iter().map(of).max().unwrap_or(Time::ZERO);
    let ramp = longest(|job| job.ramp_time);
    (ramp, ramp + longest(|job| job.runtime.unwrap_or(Time::ZERO)))
}

/// The same jobs from some time on.
fn later(jobs: &[Job], by: Time) -> Vec<Job> {
    let of = |job: &Job| Job {
        ramp_time: job.ramp_time.saturating_sub(by),
        runtime: job.runtime.map(|runtime| runtime.saturating_sub(by.saturating_sub(job.ramp_time))),
        ..job.clone()
    };
    jobs.iter().map(of).collect()
}

/// The same jobs up to some time.
fn until(jobs: &[Job], end: Time) -> Vec<Job> {
    let of = |job: &Job| {
        let ramp_time = job.ramp_time.min(Time::ps(end.as_ps() / 2));
        Job { ramp_time, runtime: Some(end - ramp_time), ..job.clone() }
    };
    jobs.iter().map(of).collect()
}

/// The first phase of a run that ended as a store empties ([`Stop::Emptying`]); nothing where it is not told apart.
///
/// # Errors
///
/// The machine cannot be built.
pub fn first(blueprint: &Blueprint, jobs: &[Job], seed: u64, outcome: &Outcome) -> Result<Option<Phase>, Failure> {
    let stretch = stretch(blueprint, jobs, seed, outcome, &|_| {})?;
    Ok(stretch.and_then(|Stretch { lasts, used_up, .. }| {
        let (blueprint, outcome) = (blueprint.clone(), Outcome { stop: Stop::Drifting, ..outcome.clone() });
        let used_up = Some(words(&used_up?));
        Some(Phase { blueprint, jobs: until(jobs, lasts), outcome, from: Time::ZERO, until: lasts, used_up })
    }))
}

/// How long the phase lasts that a run has begun, where it is long enough to be told apart.
fn stretch(
    blueprint: &Blueprint,
    jobs: &[Job],
    seed: u64,
    outcome: &Outcome,
    tell: &dyn Fn(Time),
) -> Result<Option<Stretch>, Failure> {
    let stretch = age(blueprint, jobs, seed, outcome, (ramp_and_end(jobs).1, tell))?;
    Ok(stretch.filter(|stretch| stretch.lasts >= outcome.simulated * LONGER))
}

/// What is used up, and of which drive.
fn words((drive, what): &(String, &'static str)) -> String {
    format!("{what} of {drive}")
}

/// Makes a run of a machine and its jobs, which begins at that time of the whole, by phases or to its end.
pub type Makes<'a> = &'a dyn Fn(&Blueprint, &[Job], Time, bool) -> Result<Outcome, Failure>;

/// All phases of a run of which the first one ended as a store empties ([`Stop::Emptying`]). How far it has come is told,
/// while what is written is noted.
///
/// # Errors
///
/// Those of its runs.
pub fn phases(
    blueprint: &Blueprint,
    jobs: &[Job],
    seed: u64,
    first: Outcome,
    (run, tell): (Makes<'_>, &dyn Fn(Time)),
) -> Result<Vec<Phase>, Failure> {
    let (mut blueprint, mut jobs, mut outcome) = (blueprint.clone(), jobs.to_vec(), first);
    let (mut phases, mut from) = (Vec::new(), Time::ZERO);
    while outcome.stop == Stop::Emptying {
        let stretch = stretch(&blueprint, &jobs, seed, &outcome, &|come| tell(from + come))?;
        let Some(Stretch { lasts, used_up, aged }) = stretch else {
            outcome = run(&blueprint, &jobs, from, false)?;
            break;
        };
        outcome.stop = Stop::Drifting;
        let Some(used_up) = used_up.as_ref().map(words) else { break };
        let of_phase = until(&jobs, lasts);
        phases.push(Phase { blueprint, jobs: of_phase, outcome, from, until: from + lasts, used_up: Some(used_up) });
        (blueprint, jobs, from) = (aged, later(&jobs, lasts), from + lasts);
        outcome = run(&blueprint, &jobs, from, true)?;
    }
    let lasts = if outcome.stop == Stop::Finished { outcome.simulated } else { ramp_and_end(&jobs).1 };
    phases.push(Phase { blueprint, jobs, outcome, from, until: from + lasts, used_up: None });
    Ok(phases)
}

/// What jobs with a ramp and a runtime get in all phases of their run.
pub fn whole(jobs: &[Job], phases: &[Phase]) -> Outcome {
    let (ramp, end) = (ramp_and_end(jobs).0, phases[phases.len() - 1].until);
    // How much of what counts is in each, and so many times as long as what was measured of it.
    let counts = |phase: &Phase| phase.until.saturating_sub(phase.from.max(ramp)).as_seconds_f64();
    let times = |phase: &Phase| counts(phase) / phase.outcome.measured.as_seconds_f64().max(f64::MIN_POSITIVE);
    let of_job = |index: usize| {
        let sum = |of: &dyn Fn(&JobOutcome) -> Option<&JobTransfers>| {
            let each = phases.iter().filter_map(|phase| Some(of(&phase.outcome.jobs[index])?.times(times(phase))));
            each.reduce(|all, more| all.with(&more)).filter(|got| got.count > 0)
        };
        let job = &phases[0].outcome.jobs[index];
        let sides = [0, 1].map(|side| sum(&|job| job.sides[side].as_ref()));
        JobOutcome { from: ramp, until: end, got: sum(&|job| job.got.as_ref()), sides, ..job.clone() }
    };
    let span = (end - ramp).as_seconds_f64().max(f64::MIN_POSITIVE);
    let share = |phase: &Phase| phase.outcome.rate.bytes_per_second * counts(phase) / span;
    let bytes_per_second: f64 = phases.iter().map(share).sum();
    let off = phases.iter().map(|phase| share(phase) * phase.outcome.rate.relative_half_width);
    let off = off.filter(|off| !off.is_nan()).fold(0.0, f64::hypot);
    let rate = Rate { bytes_per_second, relative_half_width: off / bytes_per_second, warm_up: ramp, end };
    let last = &phases[phases.len() - 1].outcome;
    let (stop, warm) = (last.stop, rate);
    let stage = Stage { start: Time::ZERO, from: ramp, end, rate, warm, stop, unsettled: None, settled: None };
    let processor = phases.iter().filter_map(|phase| Some((phase.outcome.processor.as_ref()?, times(phase)))).fold(
        None,
        |all: Option<ProcessorCost>, (cost, times)| {
            let mut all = all.unwrap_or_else(|| ProcessorCost::none(cost.processors));
            all.add_times(cost, times);
            Some(all)
        },
    );
    let counts = phases.iter().map(|phase| phase.outcome.counts).fold(Counts::default(), Counts::with);
    Outcome {
        jobs: (0..jobs.len()).map(of_job).collect(),
        stages: vec![stage],
        rate,
        simulated: end,
        measured: end - ramp,
        processor,
        stop,
        counts,
        early: None,
        passed: None,
    }
}
