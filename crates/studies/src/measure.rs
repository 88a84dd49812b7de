//! The mean over seeds of what runs give, with its interval.

use hopscope_machine::run::{Failure, Options};

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mean {
    /// The mean.
    pub(crate) value: f64,
    /// Half-width of the interval.
    pub(crate) half_width: f64,
}

impl Mean {
    /// As reports have it: of a single run no interval is known, and none is said.
    pub(crate) fn as_said(self) -> Mean {
        Mean { half_width: if self.half_width.is_finite() { self.half_width } else { 0.0 }, ..self }
    }
}

/// How well a mean is to be known, and how much that may cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Half-width over the mean at which the seeds are enough. A single run may be wider by `RUN_WIDER`: that the
    /// seeds agree says more.
    pub(crate) share: f64,
    /// Seeds, at most; at least two.
    pub(crate) seeds_max: u64,
    /// Book trains.
    pub(crate) trains: bool,
    /// Account for the first runs of each cell of which it is said what it goes through.
    pub(crate) accounts: bool,
}

/// So many seeds a mean has at least.
pub(crate) const SEEDS_LEAST: u64 = 2;

/// How much wider than the mean over seeds a single run's interval may be: eight runs are narrower by √8 together.
const RUN_WIDER: f64 = 2.5;

/// Student's t, 97.5 %, by degrees of freedom from 1.
const T: [f64; 7] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36];

/// The mean of one figure: over seeds 1, 2, … until it is known well enough. Each run ends when its rate is.
pub(crate) fn until_known(
    effort: Effort,
    mut figure: impl FnMut(Options) -> Result<f64, Failure>,
) -> Result<Mean, Failure> {
    let mut figures = Vec::new();
    for seed in 1..=effort.seeds_max {
        let until = Some(RUN_WIDER * effort.share);
        figures.push(figure(Options { seed, trains: effort.trains, until, cut: true, ..Options::default() })?);
        let mean = over_seeds(&figures);
        if seed >= SEEDS_LEAST && mean.half_width <= effort.share * mean.value.abs() {
            break;
        }
    }
    Ok(over_seeds(&figures))
}

/// The mean over runs that differ in their seeds.
pub(crate) fn over_seeds(rates: &[f64]) -> Mean {
    let n = rates.len() as f64;
    let value = rates.iter().sum::<f64>() / n;
    let half_width = match rates.len() {
        0 | 1 => f64::INFINITY,
        count => {
            let variance = rates.iter().map(|r| (r - value) * (r - value)).sum::<f64>() / (n - 1.0);
            T[(count - 2).min(T.len() - 1)] * (variance / n).sqrt()
        }
    };
    Mean { value, half_width }
}
