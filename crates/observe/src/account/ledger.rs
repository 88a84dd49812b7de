//! The ledger: keeps the records of a window of a run, until there are as many as asked for.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{Kind, Observer, Record, Time};

/// How much an account is made of: at least so many spans and so many requests, but no more than so many spans.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Spans, at least.
    pub spans: usize,
    /// Requests that end, at least.
    pub requests: usize,
    /// Spans, at most: long requests take many.
    pub spans_max: usize,
}

impl Extent {
    /// Everything.
    pub const ALL: Extent = Extent { spans: usize::MAX, requests: usize::MAX, spans_max: usize::MAX };

    /// Whether that is enough.
    pub(super) fn is_reached(&self, spans: usize, requests: usize) -> bool {
        spans >= self.spans_max || (spans >= self.spans && requests >= self.requests)
    }
}

/// Collects what an account is made of. A handle: clones see the same records.
#[derive(Clone)]
pub struct Ledger(Rc<RefCell<Pages>>);

pub(super) struct Pages {
    pub(super) from: Time,
    pub(super) records: Vec<Record>,
    pub(super) extent: Extent,
    requests: usize,
}

impl Ledger {
    /// Keeps records from `from` on, until they are enough for an account of that extent.
    pub fn new(from: Time, extent: Extent) -> Ledger {
        Ledger(Rc::new(RefCell::new(Pages { from, records: Vec::new(), extent, requests: 0 })))
    }

    /// Whether there are as many records as asked for.
    pub fn is_full(&self) -> bool {
        self.0.borrow().is_full()
    }

    pub(super) fn read<T>(&self, with: impl FnOnce(&Pages) -> T) -> T {
        with(&self.0.borrow())
    }
}

impl Pages {
    /// A record stands for a span or more.
    fn is_full(&self) -> bool {
        self.extent.is_reached(self.records.len(), self.requests)
    }
}

/// When what a record speaks of has ended; of a train the last phase of its last burst, which may be longer than its
/// pitch (a flight).
fn end(record: &Record, phases: &[Record]) -> Time {
    match record.kind {
        Kind::TrainHead => {
            let burst = phases.iter().fold(Time::ZERO, |sum, phase| sum + phase.span).max(record.span);
            record.at + record.span * u64::from(record.count) + burst
        }
        _ => record.at + record.span,
    }
}

/// Whether a record says something of others, and takes no time.
fn says_only(kind: Kind) -> bool {
    matches!(kind, Kind::Mark | Kind::Planned | Kind::TakeUp | Kind::TakeUpToo | Kind::Issue)
}

impl Observer for Ledger {
    fn wants_phases(&self) -> bool {
        !self.is_full()
    }

    fn records(&mut self, batch: &[Record]) {
        let mut pages = self.0.borrow_mut();
        let pages = &mut *pages;
        let mut wanted = true;
        for (position, record) in batch.iter().enumerate() {
            // The phases of a train come and go with their head.
            if record.kind != Kind::TrainPhase {
                if pages.is_full() {
                    return;
                }
                let phases = if record.kind == Kind::TrainHead { usize::from(record.phases) } else { 0 };
                let phases = &batch[position + 1..=position + phases];
                wanted = end(record, phases) > pages.from && !says_only(record.kind);
                pages.requests += usize::from(wanted && record.kind == Kind::Transfer);
            }
            if wanted {
                pages.records.push(*record);
            }
        }
    }
}
