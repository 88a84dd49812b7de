//! What fio leaves out of its result, as far as its figures say it.
//!
//! fio 3.33 keeps no option that has no value: `time_based`, `group_reporting`, `stonewall`, `new_group`, `hipri`,
//! `norandommap` and others. Of a group it keeps the name of the first job and the options of the last one.

use crate::fio_result::{Measured, MeasuredJob};
use crate::job_file::Job;

/// Times below this are too short to count threads by.
const COUNTED_MS: f64 = 100.0;

/// A job that ran this much longer or shorter than its `runtime` did something else than wait for it.
pub const RUNTIME_TOLERANCE: f64 = 0.05;

/// A job that is done after less of its `runtime` has so little to do with it that it is left away.
const LONG_BEFORE: f64 = 0.5;

/// When a job began that is of another group than the one before it in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// When that one had ended: `stonewall`.
    After,
    /// With it: `new_group`.
    Together,
}

impl Measured {
    /// How many threads a job says that it had.
    pub fn numjobs(&self, job: &MeasuredJob) -> u64 {
        let value = self.option(job, "numjobs").and_then(|option| option.value.as_deref());
        value.and_then(|text| text.trim().parse().ok()).unwrap_or(1).max(1)
    }

    /// Whether the result says that a job stands for the others of its group, or that it does not.
    pub(crate) fn says_group(&self, job: &MeasuredJob) -> bool {
        self.option(job, "group_reporting").is_some()
    }

    /// Whether a job stands for the others of its group, too: there are fewer entries than jobs.
    pub fn is_group(&self, job: &MeasuredJob) -> bool {
        match self.option(job, "group_reporting") {
            Some(option) => option.value.as_deref() != Some("0"),
            None if self.is_simulated() => false,
            None => {
                let same = |other: &&MeasuredJob| other.name == job.name && other.group == job.group;
                let entries = self.jobs.iter().filter(same).count() as u64;
                entries == 1 && (self.numjobs(job) > 1 || self.threads_by_time(job) > 1)
            }
        }
    }

    /// How many jobs an entry stands for, where these are more than its options say.
    pub fn others(&self, job: &MeasuredJob) -> Option<u64> {
        let threads = self.threads_by_time(job);
        (self.is_group(job) && threads > self.numjobs(job)).then_some(threads)
    }

    /// How many jobs an entry stands for.
    pub fn threads(&self, job: &MeasuredJob) -> u64 {
        if self.is_group(job) { self.numjobs(job).max(self.threads_by_time(job)) } else { 1 }
    }

    /// The fewest threads that can have been at work for so long: `job_runtime` is the sum over all of them.
    fn threads_by_time(&self, job: &MeasuredJob) -> u64 {
        match (job.ran.threads_ms, job.ran.ran_ms) {
            (Some(sum), Some(ran)) if ran >= COUNTED_MS && job.error == 0 && !self.is_simulated() => {
                (sum / ran).round() as u64
            }
            _ => 1,
        }
    }

    /// The engine of a job that names none.
    pub fn default_engine(&self, job: &MeasuredJob) -> Option<&'static str> {
        let file = self.option(job, "filename").and_then(|option| option.value.as_deref());
        let is_windows = file.is_some_and(|file| file.contains('\\'));
        (!is_windows && !self.is_simulated()).then_some("psync")
    }

    /// Whether a job moved more than its size, although it does not say so: it was `time_based`.
    pub(crate) fn starts_over(&self, job: &MeasuredJob, asked: &Job) -> bool {
        let (Some(size), Some(bytes), Some(_)) = (asked.size_bytes, job.ran.bytes, asked.runtime) else { return false };
        // Requests of a mix of sizes may go over the end by one.
        let most = size.saturating_add(asked.block_bytes_max) as f64 * self.threads(job) as f64;
        !asked.time_based && self.option(job, "time_based").is_none() && !self.is_simulated() && bytes > most
    }

    /// Whether a job was done with its size long before its `runtime` was over, so that the runtime did nothing.
    pub fn done_with_size(&self, job: &MeasuredJob, asked: &Job) -> bool {
        let (Some(size), Some(bytes)) = (asked.size_bytes, job.ran.bytes) else { return false };
        let (Some(runtime), Some(ran)) = (asked.runtime, job.ran.ran_ms) else { return false };
        let is_early = ran < 1e3 * runtime.as_seconds_f64() * LONG_BEFORE;
        let all = size as f64 * self.threads(job) as f64;
        !asked.time_based && job.error == 0 && is_early && bytes >= all && !self.is_simulated()
    }

    /// When a job began, if it is of another group than the one before it and does not say why.
    pub(crate) fn beginning(&self, before: &MeasuredJob, job: &MeasuredJob) -> Option<Beginning> {
        let says = ["stonewall", "wait_for_previous", "new_group"].iter().any(|key| self.option(job, key).is_some());
        if says || self.is_simulated() || before.group == job.group {
            return None;
        }
        let ran = |job: &MeasuredJob| job.ran.ran_ms.unwrap_or(0.0);
        let together = match (before.ran.started_ms, job.ran.started_ms) {
            (Some(first), Some(then)) => then - first < 0.5 * ran(before),
            // One after the other they would have taken longer than all of it.
            _ => job.ran.elapsed_s.is_some_and(|elapsed| ran(before) + ran(job) > 1e3 * elapsed),
        };
        Some(if together { Beginning::Together } else { Beginning::After })
    }
}
