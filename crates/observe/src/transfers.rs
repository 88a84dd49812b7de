//! Transfers: what jobs got, and how long they waited for it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use hdrhistogram::Histogram;
use hopscope_kernel::{Kind, Label, Observer, Record, Time};

use crate::Batches;

/// What one job got from one device, in one direction.
#[derive(Clone, Debug)]
pub struct JobTransfers {
    /// Transfers ended.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Latencies, ns.
    pub latency_ns: Histogram<u64>,
    /// When the last one ended.
    pub last_end: Time,
}

impl JobTransfers {
    fn new() -> JobTransfers {
        let latency_ns = Histogram::new(3).expect("three digits are a valid precision");
        JobTransfers { count: 0, bytes: 0, latency_ns, last_end: Time::ZERO }
    }

    /// Both together.
    pub fn with(&self, other: &JobTransfers) -> JobTransfers {
        let mut latency_ns = self.latency_ns.clone();
        // An automatically growing histogram takes any other.
        let _ = latency_ns.add(&other.latency_ns);
        let (count, bytes) = (self.count + other.count, self.bytes + other.bytes);
        JobTransfers { count, bytes, latency_ns, last_end: self.last_end.max(other.last_end) }
    }
}

/// Folds transfer records. A handle: clones see the same figures.
#[derive(Clone)]
pub struct Transfers(Rc<RefCell<Folded>>);

struct Folded {
    ramp: Time,
    jobs: BTreeMap<(u16, &'static Label), JobTransfers>,
    all: Batches,
}

impl Transfers {
    /// Counts transfers that end after `ramp`.
    pub fn new(ramp: Time) -> Transfers {
        let all = Batches::new(ramp);
        Transfers(Rc::new(RefCell::new(Folded { ramp, jobs: BTreeMap::new(), all })))
    }

    /// Begins anew with what ends after `from`. What processes have got stays.
    pub fn restart(&self, from: Time) {
        let mut folded = self.0.borrow_mut();
        (folded.ramp, folded.all) = (from, Batches::new(from));
    }

    /// What a process has got, by direction.
    pub fn of(&self, process: u16, label: &'static Label) -> Option<JobTransfers> {
        self.0.borrow().jobs.get(&(process, label)).cloned()
    }

    /// The rate of all jobs together.
    pub fn rate(&self) -> crate::batches::Rate {
        self.0.borrow().all.rate()
    }
}

impl Observer for Transfers {
    fn wants_phases(&self) -> bool {
        false
    }

    fn records(&mut self, batch: &[Record]) {
        let mut folded = self.0.borrow_mut();
        let folded = &mut *folded;
        for record in batch.iter().filter(|record| record.kind == Kind::Transfer) {
            let end = record.at + record.span;
            if end <= folded.ramp {
                continue;
            }
            let bytes = u64::from(record.bytes());
            let job = folded.jobs.entry((record.who, record.label)).or_insert_with(JobTransfers::new);
            job.count += 1;
            job.bytes += bytes;
            // An automatically growing histogram takes any value.
            let _ = job.latency_ns.record(record.span.as_ps() / 1_000);
            job.last_end = end;
            folded.all.completed(end, bytes);
        }
    }
}
