//! The figures of a run that formulas may use.

use hopscope_machine::fio_json::Figures;
use hopscope_machine::run::Outcome;
use hopscope_observe::JobTransfers;

/// What a run gives, by name, over all of its jobs.
pub(super) struct Given {
    rate: Option<Figures>,
    transfers: Option<JobTransfers>,
    processor_us: f64,
}

/// A figure: how it is called, and how it is taken.
type Figure = (&'static str, fn(&Given) -> f64);

/// All of them. Latencies are those of requests, from their submission to their end.
const FIGURES: [Figure; 7] = [
    ("bytes_per_second", |given| given.rate.as_ref().map_or(0.0, |rate| rate.bytes_per_second)),
    ("iops", |given| given.rate.as_ref().map_or(0.0, |rate| rate.iops)),
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
    /// By a run.
    pub(super) fn by(outcome: &Outcome) -> Given {
        let transfers = outcome.jobs.iter().filter_map(|job| job.got.clone()).reduce(|a, b| a.with(&b));
        let count = transfers.as_ref().map_or(0, |got| got.count);
        let busy = outcome.processor.as_ref().map_or(0.0, |cost| cost.busy().as_seconds_f64());
        let processor_us = if count > 0 { busy * 1e6 / count as f64 } else { 0.0 };
        Given { rate: Figures::of_all(&outcome.jobs), transfers, processor_us }
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
}
