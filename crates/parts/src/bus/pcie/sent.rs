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
}

impl Default for Steps {
    fn default() -> Self {
        Steps { arrivals: RefCell::new([Sent::default(); REQUESTS_MAX]), count: Cell::new(0) }
    }
}

impl Steps {
    /// One more has.
    pub(super) fn push(&self, sent: Sent) {
        self.arrivals.borrow_mut()[self.count.get()] = sent;
        self.count.set(self.count.get() + 1);
    }

    /// All that have.
    pub(super) fn all(&self) -> impl Iterator<Item = Sent> + '_ {
        (0..self.count.get()).map(|index| self.arrivals.borrow()[index])
    }

    /// Waits until request `index` has come so far.
    pub(super) async fn get(&self, index: usize) -> Sent {
        poll_fn(|_| if self.count.get() > index { Poll::Ready(()) } else { Poll::Pending }).await;
        self.arrivals.borrow()[index]
    }
}
