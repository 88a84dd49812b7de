//! Trials that go on where the setting as it is was when the ramp of its jobs was over.
//!
//! A ramp that jobs ask for is mostly there to fill caches, and each trial had to fill them again: three quarters of it.
//! Parts that hold much remember what they held ([`hopscope_kernel::Remembers`]); a trial begins with that, and its jobs
//! with the requests that come next. What is in flight is replaced soon, and then it counts.
//!
//! Whether that is all that such a machine remembers is found out: requests of the setting as it is have to take as long
//! as they do from the beginning. Where chance is too large to say so, what hops hold says it: what was forgotten fills once
//! more. A changed machine that cannot remember it is tried from the beginning.

use hopscope_machine::run::Failure;

use super::gain::gain;
use super::rest::{AWAITED, moving};
use super::run::{ALIKE, Live, PIECES, pieces};
use super::{Effort, Setting, Trials};
use crate::explain::writes;

/// It has to make ramps shorter by this part of them.
const SHORTER: u64 = 3;
/// Where requests do not take as long to [`ALIKE`], how well it has to be known that this is chance.
const KNOWN: f64 = 0.05;

impl<'a> Trials<'a> {
    /// A machine where trials begin; trials from the beginning where it cannot begin there.
    pub(super) fn live(&self, setting: &Setting, seed: u64) -> Result<Result<Live, &Trials<'a>>, Failure> {
        let Some(all) = &self.from_the_beginning else { return Live::new(setting, seed).map(Ok) };
        let run = all.before((0, seed))?;
        let Some(remembered) = &run.remembered else { return Ok(Err(all)) };
        Ok(Live::behind(setting, seed, remembered)?.ok_or(all))
    }

    /// Whether parts of the setting as it is remember anything.
    pub(super) fn remembers(&self) -> Result<bool, Failure> {
        Ok(Live::new(self.setting, self.effort.seeds[0])?.remembered().is_some())
    }

    /// Whether ramps are so much shorter there.
    pub(super) fn is_shorter_behind(&self) -> bool {
        self.replaced.as_ps() <= self.effort.ramp.as_ps() / SHORTER * (SHORTER - 1)
    }

    /// These trials behind the ramp; nothing where that is not worth it, or says something else of the setting as it is.
    pub(super) fn behind_the_ramp(&self) -> Result<Option<Trials<'a>>, Failure> {
        if !self.is_shorter_behind() {
            return Ok(None);
        }
        let which = (0, self.effort.seeds[0]);
        let all = self.before(which)?;
        let Some(remembered) = &all.remembered else { return Ok(None) };
        let behind = Trials {
            effort: Effort { ramp: self.replaced, ..self.effort.clone() },
            end: self.end.saturating_sub(self.effort.ramp),
            before: Default::default(),
            from_the_beginning: Some(Box::new(self.clone())),
            ..self.clone()
        };
        let own = behind.before(which)?;
        let before = (remembered.requests() as usize).min(all.transfers.len());
        let later = &all.transfers[before..];
        let counted = behind.counted(&own, 0, self.parts_of_one_seed());
        let counted = counted.start..counted.end.min(later.len());
        if counted.len() < PIECES {
            return Ok(None);
        }
        let other = gain(pieces(later, &own.transfers, counted.clone(), PIECES).iter()).throughput;
        let off = other.mean.abs();
        let of_all = before + counted.start..before + counted.end;
        let fills = || moving(&all.window(of_all.clone()), &own.window(counted.clone()), AWAITED).is_sure();
        let is_same = off <= ALIKE || (off <= other.half_width && (other.half_width <= KNOWN || !fills()));
        // What is only read may be in another rhythm there, in which it is as good to compare as in the one of the run.
        let may_be_there = is_same
            || !writes(&self.setting.jobs)
                && self.rhythm_beside((&all, of_all.clone()), (&own, counted.clone())).is_some()
                && !fills();
        Ok(may_be_there.then_some(behind))
    }
}

#[cfg(test)]
mod tests {
    use hopscope_machine::run::{Options, run};

    use super::super::Begun;
    use super::*;

    /// A ramp of half a second, of which what is in flight needs a third to be replaced, and one that is shorter than that.
    #[test]
    fn trials_begin_behind_a_ramp_that_is_a_third_longer_than_they_need() {
        let job = "--rw=randwrite --norandommap --bs=64k --size=32m --iodepth=2 --runtime=10 --time_based";
        let shorter = Options { not_longer_than_needed: true, ..Options::default() };
        for (ramp, is_behind) in [("--ramp_time=500ms", true), ("--ramp_time=100ms", false)] {
            let setting = Setting::shipped("raid-5-acceleraid-pci-x-100", &format!("{job} {ramp}"));
            let outcome = run(&setting.blueprint, &setting.jobs, shorter, None).expect("it runs");
            let foreseen = Trials::foreseen(&setting, 1, &outcome, Begun::default()).expect("it runs");
            let mut trials = foreseen.expect("requests ended");
            let share = trials.replaced.as_ps() as f64 / trials.effort.ramp.as_ps() as f64;
            assert_eq!((0.25..0.67).contains(&share), is_behind, "{ramp}: {share}");
            trials.settle().expect("it runs");
            assert_eq!(trials.from_the_beginning.is_some(), is_behind, "{ramp}");
        }
    }
}
