//! Rhythms that requests fall into by chance.
//!
//! Where nothing is left to be drawn, as of a file that lies in a cache, requests come in a pattern that repeats itself for
//! ever: of two in flight each has the bus while the other is with the firmware, or both are everywhere at once. What came
//! before decides which, and no interval of one run shows it. A change may lead into another pattern than it would buy.
//!
//! So the setting as it is runs with another seed, and from where it was when its ramp was over. Where these are at rest,
//! too, but at another rate, nothing that is compared with one of them is known any better than they agree. What a few seeds
//! do not show is not found. (Why one run of a deterministic simulation is not enough: A. R. Alameldeen, D. A. Wood,
//! Variability in Architectural Simulations of Multi-threaded Workloads, HPCA 2003.)

use std::ops::Range;

use hopscope_machine::run::Failure;
use rayon::prelude::*;

use super::Trials;
use super::evenly::EVEN;
use super::gain::{Gain, Shift};
use super::run::Run;
use crate::explain::{in_flight, writes};

/// Times of requests that are known to this are of a rhythm, whatever was drawn.
const STEADY: f64 = 0.01;
/// Those of another rhythm differ by more than this, and by so many times what they are known to.
const APART: f64 = 0.02;
const FOR_SURE: f64 = 3.0;
/// So many other seeds are asked.
const SEEDS: u64 = 7;

impl Trials<'_> {
    /// What the setting as it is gets in another rhythm of its requests than the run has, as a gain: chance decides which it
    /// is. Nothing where no other was found.
    pub fn another_rhythm(&mut self) -> Result<Option<f64>, Failure> {
        self.settle()?;
        Ok(self.another_rhythm)
    }

    /// What some requests of another run of the setting as it is gain over some of one, where both have a rhythm of their own;
    /// nothing where they do not, or have the same.
    pub(super) fn rhythm_beside(
        &self,
        (one, of_one): (&Run, Range<usize>),
        (other, of_other): (&Run, Range<usize>),
    ) -> Option<f64> {
        let (one, one_width) = self.rhythm(one, of_one)?;
        let (other, other_width) = self.rhythm(other, of_other)?;
        let apart = one / other - 1.0;
        (apart.abs() > APART.max(FOR_SURE * one_width.hypot(other_width))).then_some(apart)
    }

    /// Time a byte of some requests that have a rhythm, and what it is known to: those that end several at a time have one
    /// turn by turn, if at all.
    fn rhythm(&self, run: &Run, requests: Range<usize>) -> Option<(f64, f64)> {
        let (each, half_width) = run.time_a_byte(requests.clone())?;
        let half_width = if self.is_even(&run.transfers, requests) { half_width.min(EVEN) } else { half_width };
        (half_width <= STEADY).then_some((each, half_width))
    }

    /// Looks for another rhythm.
    pub(super) fn find_another_rhythm(&self) -> Result<Option<f64>, Failure> {
        let (first, parts) = (self.effort.seeds[0], self.parts_of_one_seed());
        let from_the_beginning = self.from_the_beginning.as_deref().unwrap_or(self);
        let own = from_the_beginning.before((0, first))?;
        let of_own = from_the_beginning.counted(&own, 0, parts);
        let beside = |trials: &Trials<'_>, seed| {
            let other = trials.before((0, seed))?;
            let of_other = trials.counted(&other, 0, parts);
            Ok::<_, Failure>(self.rhythm_beside((&own, of_own.clone()), (&other, of_other)))
        };
        if let Some(behind) = beside(self, first)? {
            return Ok(Some(behind));
        }
        let has_rhythm = self.rhythm(&own, of_own.clone()).is_some();
        if !has_rhythm || !self.draws || in_flight(&self.setting.jobs) < 2 {
            return Ok(None);
        }
        if let Some(other) = beside(from_the_beginning, first + 1)? {
            return Ok(Some(other));
        }
        // What comes evenly though its jobs draw is in a rhythm: another seed may be in the same by chance. Whose draws change
        // nothing at all has no other.
        let draws_count = from_the_beginning.before((0, first + 1))?.transfers != own.transfers;
        if writes(&self.setting.jobs) || !draws_count || !self.is_even(&own.transfers, of_own.clone()) {
            return Ok(None);
        }
        let others: Vec<u64> = (first + 2..=first + SEEDS).collect();
        let found = |seed: &u64| beside(from_the_beginning, *seed).transpose();
        others.par_iter().with_max_len(1).find_map_first(found).transpose()
    }
}

impl Gain {
    /// What is compared with one rhythm is known no better than that there is another one, which gains so much.
    pub(super) fn beside_another_rhythm(self, gain: f64) -> Gain {
        // From the slower one to the faster one, whichever it is.
        let apart = gain.max(1.0 / (1.0 + gain) - 1.0);
        let wider = |of: Shift| Shift { half_width: of.half_width.max(apart * (1.0 + of.mean)), ..of };
        Gain { throughput: wider(self.throughput), latency: wider(self.latency) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_is_known_as_far_as_rhythms_agree_whichever_of_them_it_is_of() {
        let shift = |half_width| Shift { mean: 0.4, half_width };
        let beside = |gain: f64, half_width| {
            let gained = Gain { throughput: shift(half_width), latency: Shift::NONE }.beside_another_rhythm(gain);
            assert!((gained.throughput.mean, gained.latency.mean) == (0.4, 0.0));
            [gained.throughput.half_width, gained.latency.half_width]
        };
        // One is half as fast again as the other.
        for gain in [0.5, 1.0 / 1.5 - 1.0] {
            let [throughput, latency] = beside(gain, 0.1);
            assert!(
                (throughput - 0.7).abs() < 1e-12 && (latency - 0.5).abs() < 1e-12,
                "{gain}: {throughput} {latency}"
            );
        }
        assert_eq!(beside(0.5, 0.9)[0], 0.9);
    }
}
