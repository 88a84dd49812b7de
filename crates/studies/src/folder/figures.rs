//! The figures of a run that formulas may use.

use hopscope_machine::fio_json::Figures;
use hopscope_machine::run::{JobOutcome, Outcome};
use hopscope_observe::JobTransfers;

/// What a run gives, by name, over all of its jobs or of one.
pub(super) struct Given {
    rate: Option<Figures>,
    transfers: Option<JobTransfers>,
    window_s: f64,
    whole_iops: f64,
    processor_us: f64,
}

/// A figure: how it is called, and how it is taken.
type Figure = (&'static str, fn(&Given) -> f64);

/// All of them. Latencies are those of requests, from their submission to their end. `window_…` is what ended in the
/// time that counts, over all of that time, where `iops` and `bytes_per_second` are over the time until the last end.
/// `whole_iops` counts whole requests: when the first that counts was issued, the others in flight had not ended.
const FIGURES: [Figure; 10] = [
    ("bytes_per_second", |given| given.rate.as_ref().map_or(0.0, |rate| rate.bytes_per_second)),
    ("iops", |given| given.rate.as_ref().map_or(0.0, |rate| rate.iops)),
    ("window_iops", |given| given.in_window(|got| got.count)),
    ("window_bytes_per_second", |given| given.in_window(|got| got.bytes)),
    ("whole_iops", |given| given.whole_iops),
    ("latency_mean_us", |given| given.latency_us(|got| got.latency_ns.mean())),
    ("latency_median_us", |given| given.latency_us(|got| got.latency_ns.value_at_quantile(0.5) as f64)),
    ("latency_99_us", |given| given.latency_us(|got| got.latency_ns.value_at_quantile(0.99) as f64)),
    ("latency_max_us", |given| given.latency_us(|got| got.latency_ns.max() as f64)),
    ("processor_us", |given| given.processor_us),
];

/// How they are called.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FIGURES.into_iter().map(|(name, _)| name)
}

impl Given {
    /// By the jobs of a run that are called so, or by all.
    pub(super) fn by(outcome: &Outcome, of: Option<&str>) -> Given {
        let jobs = || outcome.jobs.iter().filter(move |job| of.is_none_or(|name| job.name == name));
        let transfers = jobs().filter_map(|job| job.got.clone()).reduce(|a, b| a.with(&b));
        let count = transfers.as_ref().map_or(0, |got| got.count);
        let busy = outcome.processor.as_ref().map_or(f64::NAN, |cost| cost.busy().as_seconds_f64());
        Given {
            rate: Figures::of_all(jobs()),
            transfers,
            window_s: outcome.measured.as_seconds_f64(),
            whole_iops: jobs().filter_map(whole).sum(),
            processor_us: if count > 0 { busy * 1e6 / count as f64 } else { f64::NAN },
        }
    }

    /// Whether no request ended.
    pub(super) fn is_nothing(&self) -> bool {
        self.transfers.as_ref().is_none_or(|got| got.count == 0)
    }

    /// The figure of this name, if there is one.
    pub(super) fn figure(&self, name: &str) -> Option<f64> {
        FIGURES.iter().find(|(known, _)| *known == name).map(|(_, of)| of(self))
    }

    fn latency_us(&self, of: fn(&JobTransfers) -> f64) -> f64 {
        self.transfers.as_ref().map_or(0.0, |got| of(got) / 1e3)
    }

    fn in_window(&self, of: fn(&JobTransfers) -> u64) -> f64 {
        self.transfers.as_ref().map_or(0.0, |got| of(got) as f64 / self.window_s)
    }
}

fn whole(job: &JobOutcome) -> Option<f64> {
    let got = job.got.as_ref()?;
    Some((got.count + job.iodepth - 1) as f64 / (got.last_end - got.first_issue).as_seconds_f64())
}
