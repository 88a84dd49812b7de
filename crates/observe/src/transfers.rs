//! Transfers: what jobs got, and how long they waited for it.

use std::cell::{Ref, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use foldhash::fast::FixedState;
use hdrhistogram::Histogram;
use hopscope_kernel::{Label, Observer, Record, Time};

use crate::batches::{Batches, Grew, Rate, STEP};

/// What one job got from one device, in one direction.
#[derive(Clone, Debug)]
pub struct JobTransfers {
    /// Transfers ended.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Latencies, ns.
    pub latency_ns: Histogram<u64>,
    /// When the first one was issued.
    pub first_issue: Time,
    /// When the last one ended.
    pub last_end: Time,
}

impl JobTransfers {
    fn new() -> JobTransfers {
        let latency_ns = Histogram::new(3).expect("three digits are a valid precision");
        JobTransfers { count: 0, bytes: 0, latency_ns, first_issue: Time::MAX, last_end: Time::ZERO }
    }

    /// Both together.
    pub fn with(&self, other: &JobTransfers) -> JobTransfers {
        let mut latency_ns = self.latency_ns.clone();
        // An automatically growing histogram takes any other.
        let _ = latency_ns.add(&other.latency_ns);
        let (count, bytes) = (self.count + other.count, self.bytes + other.bytes);
        let (first_issue, last_end) = (self.first_issue.min(other.first_issue), self.last_end.max(other.last_end));
        JobTransfers { count, bytes, latency_ns, first_issue, last_end }
    }

    /// So many times as much, at the same latencies.
    pub fn times(&self, times: f64) -> JobTransfers {
        let (mut latency_ns, mut recorded, mut wanted) = (self.latency_ns.clone(), 0, 0.0);
        latency_ns.reset();
        for value in self.latency_ns.iter_recorded() {
            wanted += value.count_at_value() as f64 * times;
            let count = (wanted.round() as u64).saturating_sub(recorded);
            recorded += count;
            // An automatically growing histogram takes any value.
            let _ = latency_ns.record_n(value.value_iterated_to(), count);
        }
        let bytes = (self.bytes as f64 / self.count.max(1) as f64 * recorded as f64).round() as u64;
        JobTransfers { count: recorded, bytes, latency_ns, ..*self }
    }
}

/// What one process got in one direction.
type Key = (u16, &'static Label);

/// What was got in so many batches that a window may begin before or after them. Latencies as pairs of a value of the
/// histogram and how often it occurred.
#[derive(Default)]
struct Segment(HashMap<Key, Closed, FixedState>);

struct Closed {
    count: u64,
    bytes: u64,
    latency_ns: Vec<(u64, u64)>,
    first_issue: Time,
    last_end: Time,
}

impl Closed {
    fn join(&mut self, later: &Closed) {
        self.count += later.count;
        self.bytes += later.bytes;
        self.first_issue = self.first_issue.min(later.first_issue);
        self.last_end = self.last_end.max(later.last_end);
        self.latency_ns.extend(&later.latency_ns);
        put_in_order(&mut self.latency_ns);
    }

    fn add_to(&self, got: &mut JobTransfers) {
        got.count += self.count;
        got.bytes += self.bytes;
        got.first_issue = got.first_issue.min(self.first_issue);
        got.last_end = got.last_end.max(self.last_end);
        for (value, times) in &self.latency_ns {
            // An automatically growing histogram takes any value.
            let _ = got.latency_ns.record_n(*value, *times);
        }
    }
}

/// Values in order, each once, with how often it occurred.
fn put_in_order(values: &mut Vec<(u64, u64)>) {
    values.sort_unstable();
    values.dedup_by(|later, first| {
        let is_same = later.0 == first.0;
        first.1 += if is_same { later.1 } else { 0 };
        is_same
    });
}

/// Latencies that are kept one by one before they go into a histogram, which takes long to look through.
const FEW: usize = 1_024;

/// What one process has got since the last segment, some of its latencies one by one.
struct Recent {
    got: JobTransfers,
    few: Vec<u64>,
}

impl Recent {
    fn new() -> Recent {
        Recent { got: JobTransfers::new(), few: Vec::new() }
    }

    /// With all its latencies.
    fn all(&self) -> JobTransfers {
        let mut got = self.got.clone();
        for value in &self.few {
            // An automatically growing histogram takes any value.
            let _ = got.latency_ns.record(*value);
        }
        got
    }

    /// Ends a segment, and begins the next one.
    fn close(&mut self) -> Closed {
        let JobTransfers { count, bytes, ref mut latency_ns, first_issue, last_end } = self.got;
        let mut seen: Vec<(u64, u64)> =
            self.few.drain(..).map(|value| (latency_ns.highest_equivalent(value), 1)).collect();
        if !latency_ns.is_empty() {
            let many = latency_ns.iter_recorded();
            seen.extend(many.map(|value| (value.value_iterated_to(), value.count_at_value())));
            latency_ns.reset();
        }
        (self.got.count, self.got.bytes, self.got.first_issue) = (0, 0, Time::MAX);
        put_in_order(&mut seen);
        Closed { count, bytes, latency_ns: seen, first_issue, last_end }
    }
}

/// Folds transfer records. A handle: clones see the same figures.
#[derive(Clone)]
pub struct Transfers(Rc<RefCell<Folded>>);

struct Folded {
    ramp: Time,
    /// Since the last segment.
    jobs: HashMap<Key, Recent, FixedState>,
    all: Batches,
    /// What was got before, where a window may begin later than the figures.
    segments: Option<Vec<Segment>>,
    /// The first batch that counts.
    first: usize,
    /// Only whole steps of batches count.
    in_steps: bool,
}

impl Transfers {
    /// Counts transfers that end after `ramp`.
    pub fn new(ramp: Time) -> Transfers {
        let (jobs, all) = (HashMap::default(), Batches::new(ramp, 1));
        Transfers(Rc::new(RefCell::new(Folded { ramp, jobs, all, segments: None, first: 0, in_steps: false })))
    }

    /// Begins anew with what ends after `from`; with `windows`, where its figures begin may be said afterwards, and
    /// batches have so many completions, or a multiple of that.
    pub fn restart(&self, from: Time, windows: Option<u64>) {
        let (jobs, all) = (HashMap::default(), Batches::new(from, windows.unwrap_or(1)));
        let segments = windows.map(|_| Vec::new());
        *self.0.borrow_mut() = Folded { ramp: from, jobs, all, segments, first: 0, in_steps: false };
    }

    /// Only what ended in the window that begins with this batch counts. Without windows everything does. `in_steps` the
    /// window ends with whole batches: where jobs pause after so many requests, it has as many pauses as it is to have.
    pub fn begin_with(&self, batch: usize, in_steps: bool) {
        let mut folded = self.0.borrow_mut();
        if folded.segments.is_some() {
            (folded.first, folded.in_steps) = (batch, in_steps);
        }
    }

    /// Batches of all jobs together.
    pub fn batches(&self) -> Ref<'_, Batches> {
        Ref::map(self.0.borrow(), |folded| &folded.all)
    }

    /// What a process has got, by direction.
    pub fn of(&self, process: u16, label: &'static Label) -> Option<JobTransfers> {
        let folded = self.0.borrow();
        let key = (process, label);
        let before = folded.segments.iter().flatten().skip(folded.first / STEP).filter_map(|s| s.0.get(&key));
        let after = folded.jobs.get(&key).filter(|_| !folded.in_steps);
        let mut got = after.map_or_else(JobTransfers::new, Recent::all);
        before.for_each(|closed| closed.add_to(&mut got));
        Some(got).filter(|got| got.count > 0)
    }

    /// The rate of all jobs together.
    pub fn rate(&self) -> Rate {
        let folded = self.0.borrow();
        let of = if folded.in_steps { Batches::rate_of_steps_from } else { Batches::rate_from };
        of(&folded.all, folded.first)
    }
}

impl Folded {
    /// A batch has been filled.
    fn grew(&mut self, grew: Grew) {
        let Some(segments) = &mut self.segments else { return };
        if grew == Grew::AndJoined || self.all.len().is_multiple_of(STEP) {
            let used = self.jobs.iter_mut().filter(|(_, recent)| recent.got.count > 0);
            let closed = used.map(|(key, recent)| (*key, recent.close()));
            segments.push(Segment(closed.collect()));
        }
        if grew == Grew::AndJoined {
            let mut both = std::mem::take(segments).into_iter();
            while let Some(Segment(mut first)) = both.next() {
                for (key, second) in both.next().into_iter().flat_map(|segment| segment.0) {
                    first.entry(key).and_modify(|first| first.join(&second)).or_insert(second);
                }
                segments.push(Segment(first));
            }
        }
    }
}

impl Observer for Transfers {
    fn wants_phases(&self) -> bool {
        false
    }

    fn records(&mut self, batch: &[Record]) {
        let mut folded = self.0.borrow_mut();
        let folded = &mut *folded;
        for record in batch {
            let Record::Transfer { who, label, at, span, bytes } = *record else { continue };
            let end = at + span;
            if end <= folded.ramp {
                continue;
            }
            let bytes = u64::from(bytes);
            let recent = folded.jobs.entry((who, label)).or_insert_with(Recent::new);
            let job = &mut recent.got;
            job.count += 1;
            job.bytes += bytes;
            job.first_issue = job.first_issue.min(at);
            let latency_ns = span.as_ps() / 1_000;
            match recent.few.len() {
                0..FEW if folded.segments.is_some() => recent.few.push(latency_ns),
                // An automatically growing histogram takes any value.
                _ => drop(job.latency_ns.record(latency_ns)),
            }
            job.last_end = end;
            let grew = folded.all.completed(end, bytes);
            if grew != Grew::No {
                folded.grew(grew);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static READ: Label = Label::payload("read");

    fn ends(number: u64) -> Time {
        Time::us(10 * number)
    }

    fn record(number: u64) -> Record {
        let span = Time::ns(1_000 + number * number % 9_973);
        Record::Transfer { who: (number % 3) as u16, label: &READ, at: ends(number) - span, span, bytes: 512 }
    }

    #[test]
    fn figures_of_a_window_are_those_of_the_transfers_that_ended_in_it() {
        let numbers = 1_000..8_000;
        let records: Vec<Record> = numbers.clone().map(record).collect();
        let (mut windows, mut whole) = (Transfers::new(Time::ZERO), Transfers::new(Time::ZERO));
        windows.restart(Time::us(10_000), Some(1));
        whole.restart(Time::us(10_000), None);
        windows.records(&records);
        whole.records(&records);
        let same = |a: &Transfers, b: &Transfers| {
            for who in 0..3 {
                let (a, b) = (a.of(who, &READ).unwrap(), b.of(who, &READ).unwrap());
                assert_eq!((a.count, a.bytes, a.last_end, a.latency_ns), (b.count, b.bytes, b.last_end, b.latency_ns));
            }
        };
        same(&windows, &whole);
        let first = 4 * STEP;
        windows.begin_with(first, false);
        let from = windows.rate().warm_up;
        let mut late = Transfers::new(from);
        late.records(&records);
        same(&windows, &late);
        assert_eq!(windows.rate().bytes_per_second, late.rate().bytes_per_second);
        windows.begin_with(first, true);
        let end = windows.rate().end;
        let until = numbers.clone().position(|number| ends(number) == end).expect("it ends with a transfer");
        assert!(until + 1 < records.len(), "the last batches are no whole step");
        let mut both = Transfers::new(from);
        both.records(&records[..=until]);
        same(&windows, &both);
        assert_eq!(windows.rate().bytes_per_second, both.rate().bytes_per_second);
        whole.begin_with(first, false);
        assert_eq!(whole.rate().warm_up, Time::us(10_000), "without windows everything counts");
    }
}
