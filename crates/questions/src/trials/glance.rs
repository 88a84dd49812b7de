//! A glance: what a change does to the first requests. Where it does nothing to them, it does nothing.
//!
//! Most hops and numbers of a machine hardly matter to a job, and a short trial says so as well as a long one: the same
//! requests take the same time. That counts only where the setting as it is has come to what it goes on to do: while
//! caches fill, or a limit is still to be reached, nobody can say so early what a change will do.

use std::num::NonZeroU64;

use hopscope_kernel::Time;
use hopscope_machine::run::Failure;
use rayon::prelude::*;

use super::gain::{Gain, Shift, gain};
use super::run::{PIECES, Run, pieces_between};
use super::{Progress, Setting, Trials, Tried};

/// Requests that are looked at, of jobs that draw, and of others; behind those that do not count.
const LOOKED_AT: [usize; 2] = [400, 160];
/// A glance is no longer than this part of a trial.
const OF_A_TRIAL: usize = 3;
/// An effect that is smaller than this, its interval included, is none.
const NOTHING: f64 = 0.001;

/// Requests of a setting as it is: what is looked at, and when the last of them has ended.
#[derive(Clone, Copy)]
struct Glance {
    from: usize,
    until: usize,
    end: Time,
}

/// What became of a change at a glance.
#[derive(Clone, Copy)]
pub(super) enum Glanced {
    /// A part refuses it.
    Refused,
    /// So much, as far as that shows.
    Gain(Gain),
    /// Too few requests ended, or a glance is not worth it.
    Unknown,
}

impl Glanced {
    /// What is known of it for sure.
    pub(super) fn tried(self) -> Tried {
        match self {
            Glanced::Refused => Tried { refused: true, ..Tried::default() },
            Glanced::Gain(gain) if is_nothing(gain.throughput) && is_nothing(gain.latency) => {
                Tried { gain: Some(gain), done: true, ..Tried::default() }
            }
            Glanced::Gain(_) | Glanced::Unknown => Tried::default(),
        }
    }
}

impl Trials<'_> {
    /// What each change does, as far as a glance shows; of those that it says nothing of, one trial each. Nothing where a
    /// part refuses it.
    pub fn at_a_glance(&mut self, changes: &[Setting], progress: Progress<'_>) -> Result<Vec<Option<Gain>>, Failure> {
        let glanced = self.glances(changes, progress)?;
        let unknown: Vec<usize> =
            (0..changes.len()).filter(|index| matches!(glanced[*index], Glanced::Unknown)).collect();
        let settings: Vec<Setting> = unknown.iter().map(|index| changes[*index].clone()).collect();
        let tried = self.try_out(&settings, &vec![Glanced::Unknown; unknown.len()], 1, progress)?;
        let gain = |glanced: &Glanced| if let Glanced::Gain(gain) = glanced { Some(*gain) } else { None };
        let mut gains: Vec<Option<Gain>> = glanced.iter().map(gain).collect();
        for (index, gain) in unknown.into_iter().zip(tried) {
            gains[index] = gain;
        }
        Ok(gains)
    }

    /// What those few changes do that may gain most, as far as a glance shows; nothing for the others.
    pub fn gains_of_best(
        &mut self,
        changes: &[Setting],
        few: usize,
        progress: Progress<'_>,
    ) -> Result<Vec<Option<Gain>>, Failure> {
        let most = |gain: &Gain| gain.throughput.mean + gain.throughput.half_width;
        let seen = self.at_a_glance(changes, progress)?;
        let mut hopes: Vec<(f64, usize)> =
            seen.iter().enumerate().filter_map(|(index, gain)| Some((most(gain.as_ref()?), index))).collect();
        hopes.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        hopes.truncate(few);
        let settings: Vec<Setting> = hopes.iter().map(|(_, index)| changes[*index].clone()).collect();
        let mut gains = vec![None; changes.len()];
        for ((_, index), gain) in hopes.iter().zip(self.gains(&settings, progress)?) {
            gains[*index] = gain;
        }
        Ok(gains)
    }

    /// What each change does to the first requests.
    pub(super) fn glances(&mut self, changes: &[Setting], progress: Progress<'_>) -> Result<Vec<Glanced>, Failure> {
        let seed = self.effort.seeds[0];
        if !changes.is_empty() {
            self.settle()?;
            self.run_before([(0, seed)].into_iter())?;
        }
        let before = self.before.get(&(0, seed));
        let Some((before, glance)) = before.and_then(|before| Some((before, self.worth_a_glance(before)?))) else {
            return Ok(vec![Glanced::Unknown; changes.len()]);
        };
        let done = std::sync::atomic::AtomicUsize::new(0);
        let one = |change: &Setting| {
            let run = self.run_for(change, glance.end, (seed, NonZeroU64::new(glance.until as u64)));
            progress(1 + done.fetch_add(1, std::sync::atomic::Ordering::Relaxed), changes.len());
            match run {
                Ok(run) if run.transfers.len() < glance.until => Ok(Glanced::Unknown),
                Ok(run) => Ok(Glanced::Gain(gain(pieces_between(before, &run, glance.from..glance.until).iter()))),
                Err(Failure::Input(_)) => Ok(Glanced::Refused),
                Err(failure) => Err(failure),
            }
        };
        changes.par_iter().map(one).collect()
    }

    /// What is looked at; nothing where that costs nearly as much as a trial, or where the setting has not come to what it
    /// goes on to do.
    fn worth_a_glance(&self, before: &Run) -> Option<Glance> {
        let from = usize::try_from(self.first_turns).ok()?.max(1);
        let until = from + LOOKED_AT[usize::from(!self.draws)];
        let counted = before.warm(self.ramp(0))..before.transfers.len();
        if OF_A_TRIAL * until > before.transfers.len() || counted.len() < PIECES {
            return None;
        }
        let longest = before.transfers[from..until].iter().map(|transfer| transfer.latency).max()?;
        let end = before.transfers[until - 1].end.saturating_add(longest);
        before.alike(from..until, counted).then_some(Glance { from, until, end })
    }
}

fn is_nothing(shift: Shift) -> bool {
    shift.mean.abs() + shift.half_width <= NOTHING
}
