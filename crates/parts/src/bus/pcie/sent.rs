//! The requests of one read on their way: each is sent, answered and taken in, one after the other at each of the three.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::Poll;

use hopscope_kernel::Time;

/// Requests of one read, at most: a page's worth in requests of 128 bytes, and a partial one.
const REQUESTS_MAX: usize = 33;

/// A request or its answer on the way.
#[derive(Clone, Copy, Default)]
pub(super) struct Sent {
    /// When it arrives.
    pub(super) arrival: Time,
    /// Bytes that are asked for.
    pub(super) bytes: u32,
    /// By which its completion is known.
    pub(super) tag: u16,
    /// The writes that it does not pass are visible then.
    pub(super) after: Time,
}

/// The requests of a read that have come so far.
pub(super) struct Steps {
    arrivals: RefCell<[Sent; REQUESTS_MAX]>,
    count: Cell<usize>,
    /// Somebody waits for the next one.
    is_awaited: Cell<bool>,
    /// He has it, and has not had his turn.
    is_handed: Cell<bool>,
}

impl Default for Steps {
    fn default() -> Self {
        Steps {
            arrivals: RefCell::new([Sent::default(); REQUESTS_MAX]),
            count: Cell::new(0),
            is_awaited: Cell::new(false),
            is_handed: Cell::new(false),
        }
    }
}

impl Steps {
    /// One more has.
    pub(super) fn push(&self, sent: &Sent) {
        self.arrivals.borrow_mut()[self.count.get()] = *sent;
        self.count.set(self.count.get() + 1);
    }

    /// One more has. Whoever waits for it has his turn before whoever hands it over goes on.
    pub(super) fn hand(&self, sent: &Sent) -> impl Future<Output = ()> {
        self.push(sent);
        self.is_handed.set(self.is_awaited.take());
        poll_fn(|_| if self.is_handed.get() { Poll::Pending } else { Poll::Ready(()) })
    }

    /// Whether one has been handed to somebody who waits for his turn: now he has it.
    pub(super) fn has_handed(&self) -> bool {
        self.is_handed.take()
    }

    /// All that have.
    pub(super) fn all(&self) -> impl Iterator<Item = Sent> + '_ {
        (0..self.count.get()).map(|index| self.arrivals.borrow()[index])
    }

    /// Waits until request `index` has come so far.
    pub(super) fn get(&self, index: usize) -> impl Future<Output = Sent> {
        poll_fn(move |_| {
            self.is_awaited.set(self.count.get() <= index);
            if self.is_awaited.get() { Poll::Pending } else { Poll::Ready(self.arrivals.borrow()[index]) }
        })
    }
}
