//! What is asked of trials: what each of several changes does, several at once.

use std::sync::atomic::{AtomicUsize, Ordering};

use hopscope_machine::run::Failure;
use rayon::prelude::*;

use super::gain::Gain;
use super::tried::{Asked, Tried};
use super::{EVENTS_OF_ALL, PARTS_OF_ANOTHER, Progress, Setting, Trials};

/// What one of several changes does; nothing where a part refuses it.
#[derive(Clone, Copy)]
pub struct Known(Tried);

impl Known {
    /// What trials of so many changes would say of it; nothing where they would not go on for as long.
    pub fn of(self, changes: usize) -> Option<Option<Gain>> {
        self.0.is_the_same_of(changes).then(|| self.0.gain())
    }
}

/// What is asked of changes whose gain is worth to be known to so much.
fn asked(worth: Option<f64>) -> Asked {
    worth.map_or(Asked::Gain, Asked::GainTo)
}

impl Trials<'_> {
    /// What each change does; nothing where a part refuses it. Trials that say too little go on.
    pub fn gains(&mut self, changes: &[Setting], progress: Progress<'_>) -> Result<Vec<Option<Gain>>, Failure> {
        self.gains_among(changes, (changes.len(), None), progress)
    }

    /// The same of some of so many changes, which share what can be afforded; as far as a gain is worth to be known, where
    /// that is said.
    pub fn gains_among(
        &mut self,
        changes: &[Setting],
        (of, worth): (usize, Option<f64>),
        progress: Progress<'_>,
    ) -> Result<Vec<Option<Gain>>, Failure> {
        let tried = self.try_while(&|| true, (changes, of), asked(worth), progress)?;
        Ok(tried.iter().flatten().map(Tried::gain).collect())
    }

    /// What each change does whose turn comes while that is wanted; nothing of the others.
    pub fn gains_while(
        &mut self,
        wanted: &(dyn Fn() -> bool + Sync),
        changes: &[Setting],
        worth: Option<f64>,
    ) -> Result<Vec<Option<Known>>, Failure> {
        let of = changes.len();
        let tried = self.try_while(wanted, (changes, of), asked(worth), &|_, _| {})?;
        Ok(tried.into_iter().map(|tried| tried.map(Known)).collect())
    }

    /// What each change does with a wider interval: of what is only to be told from much and little.
    pub fn gains_roughly(&mut self, changes: &[Setting], progress: Progress<'_>) -> Result<Vec<Option<Gain>>, Failure> {
        let most = self.parts_max;
        self.parts_max = most.min(PARTS_OF_ANOTHER);
        let gains = self.gains(changes, progress);
        self.parts_max = most;
        gains
    }

    /// So many changes can be tried out before that takes long.
    pub fn affordable(&mut self) -> Result<usize, Failure> {
        self.settle()?;
        let before = self.before((0, self.effort.seeds[0]))?;
        Ok((EVENTS_OF_ALL / (before.events_each() * self.counted(&before, 0, 1).end as u64).max(1)) as usize)
    }

    /// Asks the same of each change.
    pub(super) fn try_out(
        &mut self,
        changes: &[Setting],
        asked: Asked,
        progress: Progress<'_>,
    ) -> Result<Vec<Tried>, Failure> {
        let tried = self.try_while(&|| true, (changes, changes.len()), asked, progress)?;
        Ok(tried.into_iter().flatten().collect())
    }

    /// Asks the same of each change, of so many, as long as that is wanted.
    fn try_while(
        &mut self,
        wanted: &(dyn Fn() -> bool + Sync),
        (changes, of): (&[Setting], usize),
        asked: Asked,
        progress: Progress<'_>,
    ) -> Result<Vec<Option<Tried>>, Failure> {
        // Whatever is asked for next is asked of these, whether all of this was known already or not.
        self.settle()?;
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let (glances, done) = (self.glances()?, AtomicUsize::new(0));
        let one = |change: &Setting| {
            if !wanted() {
                return Ok(None);
            }
            let tried = self.try_one((change, of), asked, glances);
            progress(1 + done.fetch_add(1, Ordering::Relaxed), changes.len());
            match tried {
                // A part refuses what cannot be built, a device what it has no room for.
                Err(Failure::Input(_)) => Ok(Some(Tried::refused())),
                tried => tried.map(|tried| Some(tried.beside(self.another_rhythm))),
            }
        };
        changes.par_iter().with_max_len(1).map(one).collect()
    }
}
