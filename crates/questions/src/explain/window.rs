//! What of a run is looked at: from when on, until when, and since when it has to be watched for that.
//!
//! Mostly the run says so once it is over. Of a runtime that is needed for twice its first tenth, what the run has come
//! to by then says so, unless it turns out that it had not warmed up, or that requests take far longer later on.

use hopscope_files::job_file::Job;
use hopscope_kernel::Time;
use hopscope_machine::run::{Outcome, Passed, Stop};
use hopscope_observe::lives::Enough;

use crate::trials::spent;

/// Whom lanes work for is watched for so many events before the account begins, where jobs write.
const EVENTS_BEFORE: u64 = 1_000_000;
/// The observed run is so many times as long as it should take for its requests to end.
const PATIENCE: u64 = 2;
/// What ends in the window may have taken so many times as long as what ended in the first tenths of a runtime.
const LONGER_THAN_BEFORE: u64 = 2;
/// Transfers below which jobs that pause are accounted for from the beginning.
const FEW: u64 = 20;

/// What of a run is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// From when on it is watched, and one by one.
    pub(super) since: (Time, Time),
    /// From when on it is accounted for.
    pub(super) from: Time,
    /// Until when at the latest.
    pub(super) until: Time,
}

/// What is looked at of a run.
pub(super) fn window_of(outcome: &Outcome, jobs: &[Job]) -> Window {
    let known = outcome.first_known();
    if let Some(window) = window_known_ahead(known, jobs) {
        return window;
    }
    let warm = warm_up_of(known);
    let transfers: u64 = known.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.count).sum();
    // Jobs that pause for longer than that do nothing any more after a tenth of their runtime.
    let pauses = transfers < FEW && pause(jobs);
    // What stopped because it had come to rest has warmed up.
    let from = if pauses || has_converged(known) { ramp_run(known) } else { warm_by_then(jobs) }.max(warm);
    let each = known.measured.as_ps().checked_div(transfers).unwrap_or(u64::MAX);
    let until = window_end(each, jobs, from).min(time_of(known, jobs).max(Time::ps(1)));
    Window { since: watched_since(known, jobs, from), from, until }
}

/// The same, where it is what was known when the run passed its first tenths: it had warmed up by the end of the first one,
/// and no request took far longer afterwards.
fn window_known_ahead(known: &Outcome, jobs: &[Job]) -> Option<Window> {
    let window = window_ahead(known.passed?, jobs);
    let goes_on = matches!(known.stop, Stop::Runtime | Stop::Converged | Stop::Drifting);
    let sees_all = window.since.1 <= watched_since(known, jobs, window.from).1;
    (goes_on && sees_all && warm_up_of(known) <= window.from).then_some(window)
}

/// When it may be known what will be looked at of a run, if it may be before the run is over. What is over soon after its first
/// tenth is looked at from where it had come to rest, so that is when it has gone on for as long again.
pub(crate) fn may_be_known_ahead(jobs: &[Job]) -> Option<Time> {
    let (ramp, tenth) = (ramp_of(jobs), warm_by_then(jobs));
    (tenth > ramp && !pause(jobs)).then(|| tenth.saturating_add(tenth - ramp))
}

/// Whether what is looked at of a run was known when it passed its first tenths.
pub(crate) fn is_known_ahead(outcome: &Outcome, jobs: &[Job]) -> bool {
    window_known_ahead(outcome.first_known(), jobs).is_some()
}

/// What is looked at of a run that has passed its first tenths.
pub(super) fn window_ahead(Passed { at, from: ramp, transfers, longest, counts }: Passed, jobs: &[Job]) -> Window {
    let from = warm_by_then(jobs);
    let longest = Time::ps(longest.as_ps().saturating_mul(LONGER_THAN_BEFORE));
    let since = since_of(longest, (ramp, from), (at, spent(&counts)), jobs);
    let each = (at - ramp).as_ps().checked_div(transfers).unwrap_or(u64::MAX);
    let over = jobs.iter().filter_map(|job| Some(job.ramp_time.saturating_add(job.runtime?))).max();
    Window { since, from, until: window_end(each, jobs, from).min(over.unwrap_or(Time::MAX)) }
}

/// When its rate says that a run had warmed up.
fn warm_up_of(outcome: &Outcome) -> Time {
    outcome.stages.last().map_or(Time::ZERO, |stage| stage.warm.warm_up)
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
    let longest = Time::ns(longest.min(u64::MAX / 1_000));
    since_of(longest, (ramp_run(outcome), from), (outcome.simulated, spent(&outcome.counts)), jobs)
}

/// The same by the longest latency, for a window that begins at `from`, of jobs whose ramp is over at `ramp`, in a run that
/// takes so much for so much time.
fn since_of(longest: Time, (ramp, from): (Time, Time), (simulated, spent): (Time, u64), jobs: &[Job]) -> (Time, Time) {
    let traced = from.saturating_sub(longest.saturating_add(Time::ps(longest.as_ps() / 4)));
    if !writes(jobs) {
        return (traced, traced);
    }
    let (all, spent) = (u128::from(simulated.as_ps()), u128::from(spent));
    let before = Time::ps((all * u128::from(EVENTS_BEFORE) / spent.max(1)).try_into().unwrap_or(u64::MAX));
    (ramp.max(traced.saturating_sub(before)).min(traced), traced)
}

/// When enough requests will have ended that come one every so many picoseconds.
fn window_end(each: u64, jobs: &[Job], from: Time) -> Time {
    let depth = in_flight(jobs);
    let Enough { requests, times_in_flight, .. } = Enough::FOR_AN_ACCOUNT;
    let wanted = (requests as u64).max(times_in_flight as u64 * depth) * PATIENCE;
    from.saturating_add(Time::ps(each.saturating_mul(wanted)))
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

/// How many requests all of them have in flight.
pub(crate) fn in_flight(jobs: &[Job]) -> u64 {
    jobs.iter().map(|job| job.iodepth).fold(0, u64::saturating_add)
}

/// Whether any of them writes.
pub(crate) fn writes(jobs: &[Job]) -> bool {
    jobs.iter().any(|job| job.rw.sides()[1])
}

#[cfg(test)]
mod tests {
    use hopscope_machine::run::Options;

    use super::super::run_at_once;
    use super::*;
    use crate::trials::Setting;

    #[test]
    fn what_is_looked_at_is_known_ahead_unless_the_rest_of_the_run_says_something_else() {
        let setting = Setting::shipped("win2000-atlas-10k", "--rw=randwrite --bs=4k --iodepth=4 --runtime=4");
        let outcome = run_at_once(&setting.blueprint, &setting.jobs, Options::default(), None, &|_| {});
        let outcome = outcome.expect("it runs");
        let (passed, jobs) = (outcome.passed.expect("it goes on"), &setting.jobs);
        assert_eq!((passed.at, passed.from), (Time::ms(800), Time::ZERO));
        let window = window_of(&outcome, jobs);
        assert!(window == window_ahead(passed, jobs) && window.from == Time::ms(400));
        assert!(window.since.1 > Time::ZERO && window.since.1 < window.from, "{window:?}");
        let otherwise = |change: &dyn Fn(&mut Outcome)| {
            let mut outcome = outcome.clone();
            change(&mut outcome);
            let window = window_of(&outcome, jobs);
            assert_eq!(is_known_ahead(&outcome, jobs), window == window_ahead(passed, jobs));
            window
        };
        // It had not warmed up by then; some request takes far longer later on; it was over before; nobody knows.
        assert_eq!(otherwise(&|outcome| outcome.stages[0].warm.warm_up = Time::ms(900)).from, Time::ms(900));
        let longest = outcome.jobs[0].got.as_ref().map(|got| got.latency_ns.max()).expect("requests ended");
        let shorter = Passed { longest: Time::ns(longest / 4), ..passed };
        let longer = otherwise(&|outcome| outcome.passed = Some(shorter));
        assert_eq!((longer.from, longer.since.1), (window.from, window.from - Time::ps(longest * 1_250)));
        assert!(!is_known_ahead(&Outcome { passed: Some(shorter), ..outcome.clone() }, jobs));
        assert_ne!(otherwise(&|outcome| outcome.passed = None), window);
        assert_ne!(otherwise(&|outcome| outcome.stop = Stop::Finished), window);
    }
}
