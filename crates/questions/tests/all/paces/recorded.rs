//! A run with all that was recorded of it, in an order in which two of them can be compared.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_files::job_file::Job;
use hopscope_kernel::{Kind, Observer, PassedOn, Record, Sim, Span, Time, expand};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Options, run_in};

pub struct Recorded {
    /// Those of one kind by one process, in order of time; by what they are and whose.
    places: Vec<Vec<Span>>,
    /// Requests: taken up, issued, ended.
    pub requests: Vec<Record>,
    pub lanes: Vec<String>,
    pub processes: Vec<String>,
    pub transfers: usize,
    /// Trains that were booked.
    pub trains: u64,
}

impl Recorded {
    /// By what they are and whose, and in order of time.
    pub fn spans(&self) -> impl Iterator<Item = &Span> + Clone {
        self.places.iter().flatten()
    }

    /// Leaves those of other kinds out.
    pub fn retain(&mut self, is_left: impl Fn(&Span) -> bool) {
        self.places.iter_mut().for_each(|place| place.retain(&is_left));
    }

    /// Requests that ended.
    pub fn ended(&self) -> impl Iterator<Item = &Record> {
        self.requests.iter().filter(|record| matches!(record, Record::Transfer { .. }))
    }
}

/// What has been recorded so far. Of one process in one place, spans come nearly in order.
#[derive(Default)]
struct Seen {
    clocks: Vec<Option<Time>>,
    places: Vec<(Kind, u16, Vec<Span>)>,
    /// Of each process, which are its: the one that was last first.
    of_process: Vec<Vec<(Kind, usize)>>,
    requests: Vec<(Time, Record)>,
}

impl Seen {
    fn put(&mut self, span: Span) {
        let who = usize::from(span.who);
        if self.of_process.len() <= who {
            self.of_process.resize_with(who + 1, Vec::new);
        }
        let own = &mut self.of_process[who];
        let known = own.iter().position(|known| known.0 == span.kind).unwrap_or_else(|| {
            own.push((span.kind, self.places.len()));
            self.places.push((span.kind, span.who, Vec::new()));
            own.len() - 1
        });
        own.swap(0, known);
        self.places[own[0].1].2.push(span);
    }
}

/// Sees all of a run.
struct Eye(Sim, Rc<RefCell<Seen>>);

impl Observer for Eye {
    fn records(&mut self, batch: &[Record]) {
        let seen = &mut *self.1.borrow_mut();
        if seen.clocks.is_empty() {
            seen.clocks = self.0.lanes().into_iter().map(|lane| lane.1).collect();
        }
        let clocks = std::mem::take(&mut seen.clocks);
        expand(batch, |lane| clocks[usize::from(lane)], |span| seen.put(span));
        seen.clocks = clocks;
        seen.requests.extend(batch.iter().filter_map(of_request));
    }
}

pub fn record(blueprint: &Blueprint, jobs: &[Job], trains: bool) -> Recorded {
    let (sim, seen) = (Sim::new(), Rc::<RefCell<Seen>>::default());
    let options = Options { seed: 7, trains, ..Options::default() };
    let eye = Eye(sim.clone(), seen.clone());
    let outcome = run_in(sim.clone(), blueprint, jobs, options, Some(Box::new(eye))).expect("it runs");
    let Seen { mut places, mut requests, .. } = seen.take();
    // What the end of the run cuts short is not compared.
    let cut = Time::ps(outcome.simulated.as_ps() / 20 * 19);
    places.sort_unstable_by_key(|&(kind, who, _)| (kind, who));
    let mut places: Vec<Vec<Span>> = places.into_iter().map(|place| place.2).collect();
    for spans in &mut places {
        // By words only where nothing else tells two spans apart: looking them up is what takes long.
        spans.sort_by(|a, b| (a.at, a.span).cmp(&(b.at, b.span)).then_with(|| a.label.name.cmp(b.label.name)));
        spans.retain(|span| span.end() < cut);
    }
    requests.retain(|(end, _)| *end < cut);
    requests.sort_by_key(|(end, record)| (*end, order(record)));
    let requests: Vec<Record> = requests.into_iter().map(|(_, record)| record).collect();
    let transfers = requests.iter().filter(|record| matches!(record, Record::Transfer { .. })).count();
    let lanes = sim.lanes().into_iter().map(|lane| lane.0).collect();
    Recorded { places, requests, lanes, processes: sim.processes(), transfers, trains: outcome.counts.trains }
}

/// What is said of requests, and when it is over.
fn of_request(record: &Record) -> Option<(Time, Record)> {
    match *record {
        Record::Transfer { at, span, .. } => Some((at + span, *record)),
        Record::TakeUp { at, .. } | Record::TakeUpToo { at, .. } | Record::Issue { at, .. } => Some((at, *record)),
        _ => None,
    }
}

/// An order of what is said at one instant: what, by whom, of which request.
fn order(record: &Record) -> (u8, u16, u32) {
    let number = |of: Option<PassedOn>| of.map_or(0, |of| of.request.get());
    match *record {
        Record::TakeUp { who, request, .. } => (0, who, number(request)),
        Record::TakeUpToo { who, request, .. } => (1, who, number(request)),
        Record::Issue { who, request, .. } => (2, who, request.get()),
        Record::Transfer { who, bytes, .. } => (3, who, bytes),
        _ => unreachable!("of requests nothing else is said"),
    }
}
