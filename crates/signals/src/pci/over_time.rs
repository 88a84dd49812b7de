//! Where the clocks of a bus go over time, all together and of each initiator.

use super::{SPENT_ON, Transaction};
use crate::timeline::steps::Steps;

/// Initiators that are followed each by itself.
pub const INITIATORS_MAX: usize = 16;

/// Steps with the kinds of [`SPENT_ON`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverTime {
    /// All transactions.
    pub bus: Steps,
    /// Those of an initiator, by its number among the grants, the first ones of them; nothing where nobody's grant was
    /// seen.
    pub initiators: Vec<(Option<usize>, Steps)>,
}

impl OverTime {
    /// From a time on.
    pub fn new(origin_ps: u64) -> OverTime {
        OverTime { bus: Steps::new(SPENT_ON.len(), origin_ps), initiators: Vec::new() }
    }

    /// A transaction more.
    pub(super) fn add(&mut self, one: &Transaction) {
        let place = self.initiators.iter().position(|(initiator, _)| *initiator == one.initiator);
        let place = place.or_else(|| {
            let room = self.initiators.len() < INITIATORS_MAX;
            room.then(|| self.initiators.push((one.initiator, Steps::new(SPENT_ON.len(), self.bus.origin_ps()))))?;
            Some(self.initiators.len() - 1)
        });
        for (kind, (from_ps, until_ps)) in one.stretches().into_iter().enumerate() {
            self.bus.spent(kind, from_ps, until_ps);
            if let Some(place) = place {
                self.initiators[place].1.spent(kind, from_ps, until_ps);
            }
        }
    }
}
