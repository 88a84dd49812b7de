//! The ledger: keeps the records of a window of a run, until there are as many as asked for.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{Kind, Observer, Record, Time};

/// Collects what an account is made of. A handle: clones see the same records.
#[derive(Clone)]
pub struct Ledger(Rc<RefCell<Pages>>);

pub(super) struct Pages {
    pub(super) from: Time,
    pub(super) records: Vec<Record>,
    pub(super) enough: usize,
}

impl Ledger {
    /// Keeps `enough` records from `from` on. An account is made of no more spans than that.
    pub fn new(from: Time, enough: usize) -> Ledger {
        Ledger(Rc::new(RefCell::new(Pages { from, records: Vec::new(), enough })))
    }

    /// Whether there are as many records as asked for.
    pub fn is_full(&self) -> bool {
        let pages = self.0.borrow();
        pages.records.len() >= pages.enough
    }

    pub(super) fn read<T>(&self, with: impl FnOnce(&Pages) -> T) -> T {
        with(&self.0.borrow())
    }
}

/// When what a record speaks of has ended.
fn end(record: &Record) -> Time {
    match record.kind {
        Kind::TrainHead => record.at + record.span * u64::from(record.count),
        _ => record.at + record.span,
    }
}

impl Observer for Ledger {
    fn wants_phases(&self) -> bool {
        !self.is_full()
    }

    fn records(&mut self, batch: &[Record]) {
        let mut pages = self.0.borrow_mut();
        let pages = &mut *pages;
        let mut wanted = true;
        for record in batch {
            // The phases of a train come and go with their head.
            if record.kind != Kind::TrainPhase {
                if pages.records.len() >= pages.enough {
                    return;
                }
                wanted = end(record) > pages.from && record.kind != Kind::Mark;
            }
            if wanted {
                pages.records.push(*record);
            }
        }
    }
}
