//! The ledger: keeps the records of a window of a run, until there are as many as asked for.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{Observer, Record, Time, whole};

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

/// When what records speak of that belong together has ended; nothing where it takes no time, and only says something of
/// others. Of a train it is the last phase of its last burst, which may be longer than its pitch (a flight).
fn end(records: &[Record]) -> Option<Time> {
    match records[0] {
        Record::Phase { at, span, .. }
        | Record::Delay { at, span, .. }
        | Record::LaneWait { at, span, .. }
        | Record::QueueWait { at, span, .. }
        | Record::Transfer { at, span, .. } => Some(at + span),
        Record::Train { at, pitch, count, .. } | Record::Leads { at, pitch, count, .. } => {
            Some(at + pitch * u64::from(count) + burst(&records[1..]).max(pitch))
        }
        Record::Planned { .. }
        | Record::Left { .. }
        | Record::Mark { .. }
        | Record::Carried { .. }
        | Record::TakeUp { .. }
        | Record::TakeUpToo { .. }
        | Record::Issue { .. } => None,
        Record::TrainPhase { .. } | Record::Lead { .. } => unreachable!("what is of a train follows its head"),
    }
}

/// How long the phases or delays of a burst take, all of them together.
pub(super) fn burst(phases: &[Record]) -> Time {
    let span = |record: &Record| match *record {
        Record::TrainPhase { span, .. } | Record::Lead { span, .. } => span,
        _ => Time::ZERO,
    };
    phases.iter().map(span).fold(Time::ZERO, |sum, span| sum + span)
}

impl Observer for Ledger {
    fn wants_phases(&self) -> bool {
        !self.is_full()
    }

    fn wants_phases_from(&self) -> Time {
        self.0.borrow().from
    }

    fn records(&mut self, batch: &[Record]) {
        let mut pages = self.0.borrow_mut();
        let pages = &mut *pages;
        for records in whole(batch) {
            if pages.is_full() {
                return;
            }
            if end(records).is_some_and(|end| end > pages.from) {
                pages.requests += usize::from(matches!(records[0], Record::Transfer { .. }));
                pages.records.extend_from_slice(records);
            }
        }
    }
}
