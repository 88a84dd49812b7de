//! The write buffer: stripes that are being filled, that wait for their die, or that are being programmed.
//!
//! A stripe's room is free again when its program has ended. Which units are in the buffer is kept in a table with a
//! place for each; where two share a place the older one is forgotten, and a read of it goes to the flash.

use std::cell::{Cell, RefCell};

use hopscope_kernel::{Bell, Label, Queue, Sim, Tokens};

use super::spec::Spec;
use super::translation::Entry;
use super::{Flash, Task, UNIT_BYTES};

/// No stripe of the write buffer is free.
pub static WRITE_BUFFER_FULL: Label = Label::reason("write buffer full");
static OTHER_FLUSH: Label = Label::reason("another flush");
static PROGRAMS: Label = Label::reason("programs of what was written before");

/// What the buffer holds of one program.
struct Stripe {
    units: Vec<Entry>,
    /// Its number among all stripes, from when it was opened until it was programmed.
    number: Option<u64>,
}

/// The write buffer.
pub(super) struct Buffer {
    stripes: RefCell<Vec<Stripe>>,
    free: Queue<usize>,
    /// The stripe that is being filled.
    open: Cell<Option<usize>>,
    /// Which die gets the next stripe.
    next_die: Cell<usize>,
    next_number: Cell<u64>,
    stripe_units: usize,
    /// Units that are here, each one more than its number, at the place that its number gives.
    present: RefCell<Vec<u64>>,
    /// A flush is under way unless this has an item.
    flush: Tokens,
    /// A program has ended, for the flush.
    programmed: Bell,
}

impl Buffer {
    pub(super) fn new(sim: &Sim, spec: &Spec) -> Buffer {
        let (count, stripe_units) = (spec.buffer_stripes(), spec.stripe_units() as usize);
        let free = Queue::new(sim, count);
        for number in 0..count {
            free.put_now(number);
        }
        let stripe = |_| Stripe { units: Vec::with_capacity(stripe_units), number: None };
        let flush = Tokens::full(sim, 1);
        Buffer {
            stripes: RefCell::new((0..count).map(stripe).collect()),
            free,
            open: Cell::new(None),
            next_die: Cell::new(0),
            next_number: Cell::new(0),
            stripe_units,
            present: RefCell::new(vec![0; (2 * count * stripe_units).next_power_of_two()]),
            flush,
            programmed: Bell::new(sim),
        }
    }

    /// Bytes of the stripes that are being filled, wait or are being programmed.
    pub(super) fn held_bytes(&self) -> u64 {
        let stripes = self.stripes.borrow();
        stripes.iter().map(|stripe| stripe.units.len() as u64).sum::<u64>() * u64::from(UNIT_BYTES)
    }

    /// The die that gets the next stripe.
    pub(super) fn next_die(&self) -> usize {
        self.next_die.get()
    }

    /// Before anything is written: the die that gets the first stripe.
    pub(super) fn begin_with_die(&self, die: usize) {
        self.next_die.set(die);
    }

    /// Whether a unit is here.
    pub(super) fn holds(&self, unit: u64) -> bool {
        let present = self.present.borrow();
        present[unit as usize & (present.len() - 1)] == unit + 1
    }

    /// The stripe that is being filled, a new one where there is none.
    async fn open(&self) -> usize {
        loop {
            if let Some(stripe) = self.open.get() {
                return stripe;
            }
            let stripe = self.free.take(&WRITE_BUFFER_FULL).await;
            if self.open.get().is_some() {
                // Somebody else has opened one meanwhile.
                self.free.put_now(stripe);
                continue;
            }
            let number = self.next_number.get();
            self.next_number.set(number + 1);
            self.stripes.borrow_mut()[stripe].number = Some(number);
            self.open.set(Some(stripe));
        }
    }

    /// Puts a unit into a stripe; whether that is full.
    fn put(&self, stripe: usize, entry: Entry) -> bool {
        let mut present = self.present.borrow_mut();
        let place = entry.unit as usize & (present.len() - 1);
        present[place] = entry.unit + 1;
        let units = &mut self.stripes.borrow_mut()[stripe].units;
        units.push(entry);
        units.len() == self.stripe_units
    }

    /// What is in a stripe.
    pub(super) fn with<T>(&self, stripe: usize, look: impl FnOnce(&[Entry]) -> T) -> T {
        look(&self.stripes.borrow()[stripe].units)
    }

    /// A stripe has been programmed: its room is free.
    pub(super) fn programmed(&self, stripe: usize) {
        let mut present = self.present.borrow_mut();
        let places = present.len() - 1;
        let entry = &mut self.stripes.borrow_mut()[stripe];
        for Entry { unit, .. } in entry.units.drain(..) {
            let here = &mut present[unit as usize & places];
            if *here == unit + 1 {
                *here = 0;
            }
        }
        entry.number = None;
        self.free.put_now(stripe);
        self.programmed.ring();
    }

    fn waits_for_any_before(&self, number: u64) -> bool {
        self.stripes.borrow().iter().any(|stripe| stripe.number.is_some_and(|other| other < number))
    }
}

impl Flash {
    /// Writes; returns when the data are in the write buffer. A part of a unit is read first.
    pub async fn write(&self, offset: u64, bytes: u32) {
        self.used();
        let unit_bytes = u64::from(UNIT_BYTES);
        let end = offset + u64::from(bytes);
        let mut unit = offset / unit_bytes;
        while unit * unit_bytes < end {
            let whole = unit * unit_bytes >= offset && (unit + 1) * unit_bytes <= end;
            if !whole {
                self.read_piece(unit * unit_bytes, UNIT_BYTES).await;
            }
            let stripe = self.buffer.open().await;
            self.no_longer_in_register(unit);
            let entry = self.translation.borrow_mut().accept(unit);
            if self.buffer.put(stripe, entry) {
                self.hand_over();
            }
            unit += 1;
        }
    }

    /// Returns when everything that was in the write buffer has been programmed. What is left of a stripe stays empty.
    pub async fn flush(&self) {
        self.used();
        let up_to = self.buffer.next_number.get();
        if !self.buffer.waits_for_any_before(up_to) {
            return;
        }
        self.buffer.flush.take(&OTHER_FLUSH).await;
        if let Some(open) = self.buffer.open.get()
            && self.buffer.stripes.borrow()[open].number.is_some_and(|number| number < up_to)
        {
            self.hand_over();
        }
        while self.buffer.waits_for_any_before(up_to) {
            self.buffer.programmed.heard(&PROGRAMS).await;
        }
        self.buffer.flush.give();
    }

    /// Gives the open stripe to the die whose turn it is.
    fn hand_over(&self) {
        let Some(stripe) = self.buffer.open.take() else { return };
        let die = self.buffer.next_die.get();
        self.buffer.next_die.set((die + 1) % self.dies.len());
        // A die's queue takes as many stripes as there are.
        self.dies[die].tasks.put_now(Task::Stripe(stripe));
    }
}
