//! Whether a changed machine goes on to do what its trial shows: what hops hold has to be at rest, too.
//!
//! A drive takes in whatever comes until its buffer is full; by its rate nobody sees when that will be. A faster machine
//! before such a drive does for a while what it cannot go on to do. What fills meanwhile shows it: once it is full, the
//! rate falls by just that. What fills, or empties, in the setting as it is does not count, for there the whole run says
//! what comes of it.

use std::num::NonZeroU64;
use std::ops::Range;

use hopscope_kernel::{Time, Unit};
use hopscope_machine::alike_levels::AlikeLevels;
use hopscope_machine::going::Going;
use hopscope_observe::levels::{Drift, Levels};

use super::run::Transfer;

/// What hops hold is looked at after every so many requests at first, and later.
const EVERY: [u64; 2] = [8, 20];
/// In between after this part of all.
const EVERY_OF_ALL: u64 = 32;
/// So many looks are kept, at most: however long a ramp was, enough of them are of what counts behind it.
const LOOKS_MAX: usize = 4_096;

/// What hops held over a run.
#[derive(Clone)]
pub(super) struct Held {
    names: Vec<(String, Unit)>,
    samples: Levels,
}

impl Default for Held {
    fn default() -> Self {
        Held { names: Vec::new(), samples: Levels::of_at_most(LOOKS_MAX) }
    }
}

/// Looks at what they hold while a run goes on.
#[derive(Default)]
pub(super) struct Looking {
    levels: Option<AlikeLevels>,
    held: Held,
    /// Requests between two looks, as a power of two times as many as at first.
    rarer: u32,
    /// Requests that have to end before the next one.
    due: u64,
}

impl Looking {
    /// Requests that may end before the next look is due, where so many have.
    pub(super) fn due_after(&self, ended: usize) -> NonZeroU64 {
        NonZeroU64::new(self.due.saturating_sub(ended as u64)).unwrap_or(NonZeroU64::MIN)
    }

    /// So many requests have ended.
    pub(super) fn look(&mut self, going: &Going, ended: usize) {
        if (ended as u64) < self.due.max(1) {
            return;
        }
        let levels = self.levels.get_or_insert_with(|| going.levels());
        if self.held.names.is_empty() {
            self.held.names = levels.names().to_vec();
        }
        if self.held.samples.sample(going.now(), levels.amounts()) {
            self.rarer += 1;
        }
        let every = (ended as u64 / EVERY_OF_ALL).clamp(EVERY[0], EVERY[1]);
        self.due = ended as u64 + (every << self.rarer);
    }

    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    pub(super) fn into_held(self) -> Held {
        self.held
    }
}

/// What moves by less than this part of what ended is at rest.
pub(super) const AT_REST: f64 = 0.005;
/// A store that lasts for so many times what is looked at is none that ends soon.
pub(super) const AWAITED: f64 = 100.0;

/// What fills or empties in a changed machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moving {
    /// By the largest share of what ended meanwhile.
    pub(super) share: f64,
    /// As much of it as cannot be chance.
    pub(super) sure: f64,
}

impl Moving {
    /// Whether anything does for sure.
    pub(super) fn is_sure(self) -> bool {
        self.sure >= AT_REST
    }
}

/// Requests of a run, one after the other, and what hops held in it.
#[derive(Clone)]
pub(super) struct Window<'a> {
    pub(super) held: &'a Held,
    pub(super) transfers: &'a [Transfer],
    pub(super) requests: Range<usize>,
}

/// What fills or empties in a window and does not in another one, of the setting as it is. A store that would not be empty
/// before so many times as many requests have ended is none that anybody could wait for.
pub(super) fn moving(own: &Window<'_>, changed: &Window<'_>, times: f64) -> Moving {
    let (Some(own), Some(changed)) = (own.shares(), changed.shares()) else { return Moving::default() };
    let mut most = Moving::default();
    for (name, changed) in changed {
        if changed.share < 0.0 && changed.left > times {
            continue;
        }
        let own = own.iter().find(|(other, _)| *other == name).map(|(_, own)| own);
        let (own_share, own_half_width) = own.map_or((0.0, 0.0), |own| (own.share, own.half_width));
        let share = (changed.share - own_share).abs();
        // What the setting as it is does by chance, any other may do.
        let sure = share - changed.half_width.max(own_half_width).max(own_share.abs());
        if sure > most.sure {
            most = Moving { share, sure };
        }
    }
    most
}

/// What one level does.
struct Share {
    /// By how much of what ended it grows, or shrinks.
    share: f64,
    half_width: f64,
    /// How many times as much it has left.
    left: f64,
}

impl<'a> Window<'a> {
    /// By how much of what ended each level grows; nothing where too little was seen.
    fn shares(&self) -> Option<Vec<(&'a str, Share)>> {
        let Range { start, end } = self.requests;
        let ended = self.transfers.get(start..end.min(self.transfers.len()))?;
        let from = start.checked_sub(1).map_or(Time::ZERO, |last| self.transfers[last].end);
        let drifts = self.held.samples.between(from, ended.last()?.end)?;
        let (count, bytes) = (ended.len() as u64, ended.iter().map(|transfer| transfer.bytes).sum());
        let of = |drift: &Drift| {
            let (name, unit) = &self.held.names[drift.level];
            let all = Drift::of_all(*unit, count, bytes);
            let left = drift.to.max(0.0) / drift.change();
            (&name[..], Share { share: (drift.to - drift.from) / all, half_width: drift.half_width / all, left })
        };
        Some(drifts.iter().filter(|drift| drift.change() > 0.0).map(of).collect())
    }
}
