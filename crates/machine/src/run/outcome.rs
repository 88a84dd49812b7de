//! What a run gives, and what it tells before it is over.

use hopscope_files::job_file::Rw;
use hopscope_kernel::{Counts, Time};
use hopscope_observe::JobTransfers;
use hopscope_observe::batches::Rate;

#[cfg(doc)]
use super::Options;
use crate::convergence::{UNTIL, Unsettled};
use crate::processor_cost::ProcessorCost;

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The jobs were done.
    Finished,
    /// The jobs' time was over.
    Runtime,
    /// The mean was known as well as asked for.
    Converged,
    /// The same but for a store, such as spare blocks, that empties for longer than the run may take.
    Drifting,
    /// The same, and a store empties that is used up before the runtime is over.
    Emptying,
    /// The jobs had not ended; the limit of simulated time, or of requests, was reached.
    Limit,
    /// Somebody did not want to wait for more.
    Interrupted,
}

impl Stop {
    /// In one word, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Stop::Finished => "finished",
            Stop::Runtime => "runtime",
            Stop::Converged => "converged",
            Stop::Drifting => "drifting",
            Stop::Emptying => "emptying",
            Stop::Limit => "limit",
            Stop::Interrupted => "interrupted",
        }
    }
}

/// What one job got.
#[derive(Clone, Debug)]
pub struct JobOutcome {
    /// The job's name.
    pub name: String,
    /// The device.
    pub target: String,
    /// Direction and order.
    pub rw: Rw,
    /// Block size, bytes.
    pub block_bytes: u64,
    /// Requests in flight.
    pub iodepth: u64,
    /// Where its figures begin: the end of its ramp time, or of the pause that it was in then; the end of warm-up where
    /// the run was to converge.
    pub from: Time,
    /// Where they end: with the job, that is with its last request or the pause that followed; with the window where the
    /// run was to converge.
    pub until: Time,
    /// What it got from there on; nothing where no transfer ended.
    pub got: Option<JobTransfers>,
    /// The same of its reads, and of its writes.
    pub sides: [Option<JobTransfers>; 2],
}

/// Both directions together; nothing where no transfer ended.
pub(super) fn both(sides: &[Option<JobTransfers>; 2]) -> Option<JobTransfers> {
    match sides {
        [Some(reads), Some(writes)] => Some(reads.with(writes)),
        [one, other] => one.as_ref().or(other.as_ref()).cloned(),
    }
}

/// Jobs that ran at the same time.
#[derive(Clone, Debug)]
pub struct Stage {
    /// When they began.
    pub start: Time,
    /// When their ramp was over, or where nothing moved in it any more, as much of it as counts.
    pub from: Time,
    /// When they were done, or where a window was looked at, when that ended.
    pub end: Time,
    /// All of them together, of the time that their figures are of.
    pub rate: Rate,
    /// All of them together once warm-up was over, also where it counts in the figures because the jobs have a runtime.
    pub warm: Rate,
    /// Why they stopped.
    pub stop: Stop,
    /// Why the mean is not known as well as it was to be; nothing where it is, or where nobody asked.
    pub unsettled: Option<Unsettled>,
    /// When it was known to [`UNTIL`], where the jobs went on.
    pub settled: Option<Time>,
}

/// What a run had come to at a time that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// That time.
    pub at: Time,
    /// Since when transfers count.
    pub from: Time,
    /// Transfers that had ended since then.
    pub transfers: u64,
    /// The longest latency of these.
    pub longest: Time,
    /// What it had cost the kernel.
    pub counts: Counts,
}

/// What a run tells before it is over.
pub enum Telling<'a> {
    /// What it has come to at the time that was asked for.
    Passed(Passed),
    /// What it would be if it ended now, as soon as the rest is known to say nothing new, if it goes on for the sake of what
    /// is written. Whether it comes to the same is not known yet.
    Known(&'a Outcome),
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Job by job.
    pub jobs: Vec<JobOutcome>,
    /// Stage by stage.
    pub stages: Vec<Stage>,
    /// All jobs together; where there are several stages, those of the last one.
    pub rate: Rate,
    /// Simulated time.
    pub simulated: Time,
    /// Simulated time that counts: after the ramps, or after warm-up where the run was to converge.
    pub measured: Time,
    /// What requests cost the processors, over all stages; nothing where the machine has none.
    pub processor: Option<ProcessorCost>,
    /// Why it stopped: the last stage, where there are several.
    pub stop: Stop,
    /// What it cost the kernel.
    pub counts: Counts,
    /// What it was when the rest of the runtime was known to say nothing new, where the run went on for the sake of what is
    /// written, and came to the same. Without what requests cost the processors.
    pub early: Option<Box<Outcome>>,
    /// What it had come to when it passed [`Options::noted_at`]; nothing where it was over by then.
    pub passed: Option<Passed>,
}

impl Outcome {
    /// Of all stages so far; nothing where there is none.
    pub(super) fn of(
        jobs: Vec<JobOutcome>,
        stages: Vec<Stage>,
        processor: Option<ProcessorCost>,
        counts: Counts,
    ) -> Option<Outcome> {
        let Stage { rate, stop, end, .. } = *stages.last()?;
        let of_stage = |stage: &Stage| stage.end.saturating_sub(stage.rate.warm_up);
        let measured = stages.iter().map(of_stage).fold(Time::ZERO, |sum, time| sum + time);
        Some(Outcome {
            jobs,
            stages,
            rate,
            simulated: end,
            measured,
            processor,
            stop,
            counts,
            early: None,
            passed: None,
        })
    }

    /// What was known first of what came to be known: what of the run is looked at, and how long trials are, follows from it.
    pub fn first_known(&self) -> &Outcome {
        self.early.as_deref().unwrap_or(self)
    }

    /// Whether it came to what was known before.
    pub(super) fn confirms(&self, early: &Outcome) -> bool {
        let apart = (early.rate.bytes_per_second / self.rate.bytes_per_second - 1.0).abs();
        matches!(self.stop, Stop::Converged | Stop::Drifting) && apart <= UNTIL
    }
}
