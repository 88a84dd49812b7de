//! A glance: what a change does to the first requests. Where it does nothing to them, it does nothing.
//!
//! Most hops and numbers of a machine hardly matter to a job, and a short trial says so as well as a long one: the same
//! requests take the same time. That counts only where the setting as it is has come to what it goes on to do: while
//! caches fill, or a limit is still to be reached, nobody can say so early what a change will do.

use std::num::NonZeroU64;

use hopscope_kernel::Time;
use hopscope_machine::run::Failure;

use super::gain::{Gain, Shift, gain};
use super::run::{PIECES, Run, pieces_between};
use super::{Progress, ROUNDS, Setting, Trials, Tried, each};

/// Requests that are looked at, of jobs that draw, and of others; behind those that do not count.
const LOOKED_AT: [usize; 2] = [400, 160];
/// A glance is worth it where a trial is so many times as long.
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

/// What a look at a change has shown.
pub struct Look {
    /// What it does, as far as that shows; nothing where a part refuses it.
    pub gain: Option<Gain>,
    /// From where it can be tried out.
    known: Tried,
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
    /// What is known for sure: that a change does nothing, or is refused.
    pub(super) fn sure(self) -> Tried {
        match self {
            Glanced::Gain(gain) if !(is_nothing(gain.throughput) && is_nothing(gain.latency)) => Tried::default(),
            _ => self.as_far_as_it_shows(),
        }
    }

    /// What is known as far as a glance shows it.
    fn as_far_as_it_shows(self) -> Tried {
        match self {
            Glanced::Refused => Tried { refused: true, ..Tried::default() },
            Glanced::Gain(gain) => Tried { gain: Some(gain), done: true, ..Tried::default() },
            Glanced::Unknown => Tried::default(),
        }
    }
}

impl Trials<'_> {
    /// What each change does, as far as a glance shows; of those that it says nothing of, one trial each.
    pub fn at_a_glance(&mut self, changes: &[Setting], progress: Progress<'_>) -> Result<Vec<Look>, Failure> {
        let glanced = self.glances(changes, progress)?;
        let seen: Vec<Tried> = glanced.iter().map(|glanced| glanced.as_far_as_it_shows()).collect();
        let tried = self.try_out(changes, seen, 1, progress)?;
        let look = |(glanced, tried): (Glanced, Tried)| {
            let gain = tried.gain();
            // What a glance has settled is settled; a trial goes on from where it is.
            Look { gain, known: if let Glanced::Unknown = glanced { tried } else { glanced.sure() } }
        };
        Ok(glanced.into_iter().zip(tried).map(look).collect())
    }

    /// What those few changes do that may gain most, as far as a look at them shows; nothing for the others. Of those it is
    /// to be found out which gain for sure, so whatever will not is left.
    pub fn gains_of_best(
        &mut self,
        changes: &[Setting],
        looks: Vec<Look>,
        few: usize,
        progress: Progress<'_>,
    ) -> Result<Vec<Option<Gain>>, Failure> {
        let most = |gain: &Gain| gain.throughput.mean + gain.throughput.half_width;
        let hopes =
            looks.into_iter().enumerate().filter_map(|(index, look)| Some((most(&look.gain?), index, look.known)));
        let mut hopes: Vec<(f64, usize, Tried)> = hopes.collect();
        hopes.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        hopes.truncate(few);
        let settings: Vec<Setting> = hopes.iter().map(|(_, index, _)| changes[*index].clone()).collect();
        let (indices, known): (Vec<usize>, Vec<Tried>) =
            hopes.into_iter().map(|(_, index, known)| (index, Tried { to_gain: true, ..known })).unzip();
        let mut gains = vec![None; changes.len()];
        for (index, tried) in indices.into_iter().zip(self.try_out(&settings, known, ROUNDS, progress)?) {
            gains[index] = tried.gain();
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
        let transfers = NonZeroU64::new(glance.until as u64);
        let runs = each(changes, progress, |change| self.run_for(change, glance.end, (seed, transfers)))?;
        let glanced = |run: Option<Run>| match run {
            None => Glanced::Refused,
            Some(run) if run.transfers.len() < glance.until => Glanced::Unknown,
            Some(run) => Glanced::Gain(gain(pieces_between(before, &run, glance.from..glance.until).iter())),
        };
        Ok(runs.into_iter().map(glanced).collect())
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
