//! A drive after more writes than are worth simulating: what they leave behind in its blocks, without the time they take.
//!
//! ```text
//!   writes ──▶ stripe after stripe, die after die: what they replace is no longer valid, single-bit cells fill
//!                └─▶ until the drive would do something else with a stripe: collect a block first, or program all bits
//!                    of a cell because no single-bit cells are left
//! ```
//!
//! A run that begins there is a run behind those writes.
//!
//! Not modelled: what is in the write buffer, and the part of a stripe that is left over; folding, since nobody pauses.

use std::sync::Arc;

use super::translation::{self, Entry};
use super::{Flash, UNIT_BYTES};
use crate::protocols::storage::{Keeps, Left, Notes};

/// What a drive has used up: blocks that are free without a collection.
const SPARE_BLOCKS: &str = "the spare blocks";
/// Or room in cells that take one bit at first.
const SINGLE_BIT_CELLS: &str = "the single-bit cells";

/// What lies where on a drive, for another one of the same blocks to begin with.
struct State {
    blocks: translation::Kept,
    single_bit_room: u64,
    next_die: usize,
}

/// Writes that take no time.
struct Aging<'a> {
    flash: &'a Flash,
    /// The stripe that is being filled.
    open: Vec<Entry>,
    next_die: usize,
    /// Whether the first stripes go into single-bit cells.
    single_bit: bool,
}

impl Keeps for Flash {
    /// Nothing where blocks are being collected already: what follows then is no longer the same from stripe to stripe.
    fn note(&self) -> Option<Box<dyn Notes + '_>> {
        let stripe = self.spec.stripe_units();
        let collects = (0..self.dies.len()).any(|die| self.translation.borrow().is_collected(die));
        let single_bit = self.single_bit.has_room(self.stripe_bytes());
        let (open, next_die) = (Vec::with_capacity(stripe as usize), self.buffer.next_die());
        (!collects).then(|| Box::new(Aging { flash: self, open, next_die, single_bit }) as Box<dyn Notes>)
    }

    /// Its blocks have to be the same.
    fn begin_as(&self, left: &Left) -> bool {
        left.downcast_ref().is_some_and(|State { blocks, single_bit_room, next_die }| {
            self.single_bit.leave_room(*single_bit_room);
            self.buffer.begin_with_die(*next_die);
            self.translation.borrow_mut().recall(blocks)
        })
    }
}

impl Notes for Aging<'_> {
    fn write(&mut self, offset: u64, bytes: u32) -> Option<&'static str> {
        let (unit_bytes, end) = (u64::from(UNIT_BYTES), offset + u64::from(bytes));
        for unit in offset / unit_bytes..end.div_ceil(unit_bytes) {
            let entry = self.flash.translation.borrow_mut().accept(unit);
            self.open.push(entry);
            if self.open.len() as u64 == self.flash.spec.stripe_units() {
                let used_up = self.program();
                if used_up.is_some() {
                    return used_up;
                }
            }
        }
        None
    }

    fn left(&self) -> Left {
        Arc::new(State {
            blocks: self.flash.translation.borrow().kept(),
            single_bit_room: self.flash.single_bit.room(),
            next_die: self.next_die,
        })
    }
}

impl Aging<'_> {
    /// A stripe is full; where it would no longer be carried out as those before it were, nothing is changed by it.
    fn program(&mut self) -> Option<&'static str> {
        let (flash, die) = (self.flash, self.next_die);
        let mut translation = flash.translation.borrow_mut();
        if translation.is_collected(die) {
            return Some(SPARE_BLOCKS);
        }
        if self.single_bit && !flash.single_bit.takes(flash.stripe_bytes()) {
            return Some(SINGLE_BIT_CELLS);
        }
        translation.write(die, &self.open);
        self.open.clear();
        self.next_die = (die + 1) % flash.dies.len();
        None
    }
}
