//! What of a stage is simulated, and what of it may be left away.
//!
//! A ramp that jobs ask for is there for what fills until it is over. Where nothing is there to be filled, it is needless as
//! soon as everything has come to rest in it: what comes then is what comes behind it. Where parts hold what is written,
//! what they hold has to have stood still for longer than that.

use hopscope_files::job_file::Job;
use hopscope_kernel::{Sim, Time, Unit};

use super::watch::{DRAWN_MIN, TIMES_IN_FLIGHT, TIMES_PAUSED};

/// Simulated time after which a run without an end of its own is stopped.
pub(crate) const LIMIT: Time = Time::ms(60_000);
/// The same where it is to converge: the arm of a disk takes minutes.
const LIMIT_TO_CONVERGE: Time = Time::ms(600_000);
/// Pauses cost nothing to simulate: jobs that pause may take longer by so many of them to converge, and by all of them to
/// move their size, up to this time.
const PAUSES_MAX: u64 = 4 * DRAWN_MIN;
const PAUSED_MAX: Time = Time::ms(30 * 86_400_000);
/// What is written goes through stores that may stand still for a while: of a runtime with writes so much is simulated at
/// least, or so many times as long as it took to be known what it comes to.
const WRITES_FROM: f64 = 0.1;
const TIMES_KNOWN: u64 = 4;

/// What of a stage is simulated.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(super) start: Time,
    /// The end of the ramp.
    pub(crate) from: Time,
    pub(crate) end: Time,
    pub(crate) has_runtime: bool,
    /// Requests that are in flight at once, at most.
    pub(crate) in_flight: u64,
    /// Whether any of them is drawn.
    pub(crate) drawn: bool,
    /// Bytes of the longest.
    pub(crate) longest: u64,
    /// The longest pause of a job, zero where none pauses, and after how many requests.
    pub(crate) pause: Time,
    pub(crate) every: u64,
    /// Whether any of them writes, and parts hold what is written.
    pub(crate) stores: bool,
    /// From when on what is left of it may be left away, whenever it came to be known what it comes to.
    pub(super) enough: Time,
    /// When the jobs end: a store that empties before that is waited for.
    pub(super) over: Time,
    /// When something happens to the machine for the last time before that, whatever the jobs do: what was known before is not
    /// known then.
    pub(super) planned: Time,
}

impl Span {
    /// Of jobs that begin at `start` in a machine; how long all their pauses take, where they are not to converge.
    pub(crate) fn of(sim: &Sim, jobs: &[&Job], start: Time, all_pauses: Option<Time>) -> Span {
        let any = |is: fn(&Job) -> bool| jobs.iter().any(|job| is(job));
        let most = |of: fn(&Job) -> Time| jobs.iter().map(|job| of(job)).max().unwrap_or(Time::ZERO);
        let from = start + most(|job| job.ramp_time);
        let pause = most(|job| job.think.time);
        let pauses = jobs.iter().filter(|job| job.think.time > Time::ZERO);
        let every = pauses.map(|job| job.think.every).max().unwrap_or(1);
        let runtime = jobs.iter().map(|job| job.runtime).max().flatten();
        let limit = all_pauses.map_or(LIMIT_TO_CONVERGE + paused(pause, pauses_to_converge(every)), |all| LIMIT + all);
        let holds = || sim.levels().known().iter().any(|level| level.unit == Unit::Bytes);
        let stores = any(|job| job.rw.sides()[1]) && holds();
        let end = from.saturating_add(runtime.unwrap_or(limit));
        let least = if stores && runtime.is_some() { WRITES_FROM } else { 0.0 };
        let enough = from + Time::ps(((end - from).as_ps() as f64 * least) as u64);
        Span {
            start,
            from,
            end,
            has_runtime: runtime.is_some(),
            in_flight: jobs.iter().map(|job| job.iodepth).sum(),
            drawn: any(is_drawn),
            longest: jobs.iter().map(|job| job.block_bytes_max).max().unwrap_or(0),
            pause,
            every,
            stores,
            enough,
            over: end,
            planned: sim.last_planned(end).unwrap_or(Time::ZERO),
        }
    }

    /// Whether so much has been simulated by `now` that what is left may be left away where what parts hold has stood still,
    /// since it was `known` what the stage comes to.
    pub(super) fn is_known_for_long(&self, known: Option<Time>, now: Time) -> bool {
        known.is_some_and(|known| now - self.from >= (known - self.from) * TIMES_KNOWN)
    }

    /// The ramp, where what comes in it once everything has come to rest may be looked at instead of what comes behind it.
    pub(crate) fn needless_ramp(&self, sim: &Sim, jobs: &[&Job]) -> Option<Span> {
        let Span { start, from, .. } = *self;
        // Who starts later changes what the others get.
        let fills = |job: &&Job| job.buffered.is_some() || job.start_delay > Time::ZERO;
        let is_needless = from > start && !jobs.iter().any(fills) && sim.memories().is_empty();
        let enough = if self.stores { from } else { start };
        is_needless.then_some(Span { from: start, end: from, has_runtime: true, enough, ..*self })
    }
}

/// How much longer jobs may take for so many pauses.
pub(crate) fn paused(pause: Time, times: u64) -> Time {
    Time::ps(pause.as_ps().saturating_mul(times)).min(PAUSED_MAX)
}

/// So many pauses jobs may need to converge that pause after every so many requests.
fn pauses_to_converge(every: u64) -> u64 {
    PAUSES_MAX / every.max(1) + TIMES_IN_FLIGHT * TIMES_PAUSED
}

/// Whether chance decides anything about its requests.
fn is_drawn(job: &Job) -> bool {
    let sizes_vary = job.block_bytes_min < job.block_bytes_max || job.write_blocks.is_some();
    job.rw.is_random() || job.rw.sides() == [true, true] || sizes_vary || !job.splits.iter().all(Vec::is_empty)
}
