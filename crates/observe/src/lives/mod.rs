//! Lives: where the latency of a request went, from its issue to its completion, request by request.
//!
//! Processes say for which requests they work ([`Errand`](hopscope_kernel::Errand)); from their records the life of each
//! request is put together when it ends: service at a hop, and waits with the hop that was waited for and what that was
//! doing meanwhile. The stages of a request add up to its latency, to the picosecond. Only what requests in flight may
//! still need is kept.
//!
//! What lanes did is told apart, too: for requests within their lives, for requests before their issue or after their
//! completion, and for nobody (destaging, reading ahead). Work for several requests at once counts for each in part.

mod shares;
mod traces;
mod walk;
pub mod ways;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::rc::Rc;

use foldhash::fast::FixedState;
use hopscope_kernel::{Kind, Observer, PassedOn, Record, Sim, Span, Time, expand, whole};

use crate::account::{Entry, Hop, Names, Use};
pub use shares::Shares;
use shares::Sharing;
use traces::{Newest, Traces};
use walk::{Place, UNSAID, Walk, is_busy};
pub use walk::{StageKind, Stretch};

/// A class of latencies is the mean of the ranks within this share of it.
const RANKS: f64 = 0.005;
/// So many requests make a 99th percentile.
pub const FOR_P99: usize = 2_000;
/// Records, and spans of trains, between two looks at what can be forgotten.
const FORGET_EVERY: usize = 1 << 16;

/// How many lives are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Enough {
    /// Requests, at least, whatever they cost.
    pub at_least: usize,
    /// So many times what is in flight, at least.
    pub times_in_flight: usize,
    /// Requests, unless there are more records than follow.
    pub requests: usize,
    /// Spans that may be looked at for those.
    pub spans: u64,
    /// Spans that may be looked at for any number of them, once all that were in flight have been replaced.
    pub spans_most: u64,
}

impl Enough {
    /// Every request of the run.
    pub const ALL: Enough = Enough {
        at_least: usize::MAX,
        times_in_flight: 0,
        requests: usize::MAX,
        spans: u64::MAX,
        spans_most: u64::MAX,
    };
    /// Enough to speak for the others.
    pub const FOR_AN_ACCOUNT: Enough =
        Enough { at_least: 200, times_in_flight: 10, requests: FOR_P99, spans: 1_500_000, spans_most: 6_000_000 };
}

/// A stretch of requests' lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The part.
    pub part: String,
    /// Its lane.
    pub lane: String,
    /// Service, or a wait for that hop.
    pub kind: StageKind,
    /// Of service the phase, of a wait its reason.
    pub phase: String,
    /// Of a wait, what the hop was doing meanwhile; empty elsewhere.
    pub behind: String,
    /// How long, over all requests of the class.
    pub time: Time,
}

/// A class of latencies and where it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Requests in the class.
    pub count: u64,
    /// Their latencies, added up.
    pub sum: Time,
    /// Where they went, the largest first. They add up to `sum`.
    pub stages: Vec<Stage>,
}

impl Split {
    /// The mean latency.
    pub fn mean(&self) -> Time {
        Time::ps(self.sum.as_ps() / self.count.max(1))
    }

    /// What the hops were doing that the latencies went into, whether for the request or for others: the largest first.
    /// They add up to `sum`.
    pub fn phases(&self) -> Vec<Entry> {
        let mut phases: Vec<Entry> = Vec::new();
        for stage in &self.stages {
            let phase = if stage.behind.is_empty() { &stage.phase } else { &stage.behind };
            match phases.iter_mut().find(|known| (&known.lane, &known.phase) == (&stage.lane, phase)) {
                Some(known) => known.time += stage.time,
                None => {
                    let class = if stage.kind == StageKind::Wait { Use::Waiting } else { Use::Protocol };
                    let (part, lane, phase) = (stage.part.clone(), stage.lane.clone(), phase.clone());
                    phases.push(Entry { class, cause: String::new(), part, lane, phase, time: stage.time });
                }
            }
        }
        phases.sort_by(|a, b| (b.time, &a.lane, &a.phase).cmp(&(a.time, &b.lane, &b.phase)));
        phases
    }

    /// With lanes that are alike as one.
    fn alike(&self, names: &Names) -> Split {
        let named = self.stages.iter().map(|stage| Stage {
            part: names.part_of(&stage.lane).to_string(),
            lane: names.of(&stage.lane).to_string(),
            ..stage.clone()
        });
        Split { stages: added_up(named), ..self.clone() }
    }
}

/// Stages that say the same, added up; the largest first.
fn added_up(stages: impl Iterator<Item = Stage>) -> Vec<Stage> {
    let mut sums: BTreeMap<(String, String, StageKind, String), Stage> = BTreeMap::new();
    for stage in stages {
        let key = (stage.lane.clone(), stage.phase.clone(), stage.kind, stage.behind.clone());
        match sums.get_mut(&key) {
            Some(known) => known.time += stage.time,
            None => _ = sums.insert(key, stage),
        }
    }
    let mut stages: Vec<Stage> = sums.into_values().collect();
    stages.sort_by_key(|stage| std::cmp::Reverse(stage.time));
    stages
}

impl Latency {
    /// With lanes that are alike as one.
    pub fn alike(&self, names: &Names) -> Latency {
        let p99 = self.p99.as_ref().map(|split| split.alike(names));
        Latency { mean: self.mean.alike(names), median: self.median.alike(names), p99, ..*self }
    }
}

/// Latencies of the requests that ended within the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latency {
    /// All of them.
    pub mean: Split,
    /// Those within half a percent of the median's rank.
    pub median: Split,
    /// Those within half a percent of the 99th percentile's rank; nothing where there are too few requests.
    pub p99: Option<Split>,
    /// When the first of them ended, or the window began; and when the last of them ended.
    pub from: Time,
    /// The end.
    pub until: Time,
    /// Most requests in flight at once.
    pub in_flight: usize,
}

/// Collects lives. A handle: clones see the same requests.
#[derive(Clone)]
pub struct Lives(Rc<RefCell<Book>>);

struct Book {
    sim: Sim,
    from: Time,
    enough: Enough,
    clocks: Vec<Option<Time>>,
    traces: Traces,
    sharing: Sharing,
    /// Requests that are under way, and when they were first taken up.
    open: HashMap<NonZeroU32, Open, FixedState>,
    newest: Newest,
    in_flight: usize,
    in_flight_max: usize,
    /// Stages, by what tells them apart.
    places: HashMap<Place, u16, FixedState>,
    stages: Vec<Place>,
    /// Of the request that has just ended, by stage.
    sums: Vec<Time>,
    ended: Vec<Ended>,
    spans: u64,
    since_forgotten: usize,
    /// Spans since somebody took something up, and whether some of them are of trains.
    spans_to_enter: Vec<Span>,
    is_mixed: bool,
    /// Lanes that worked, or that delays were owed to.
    at_work: Vec<bool>,
    until: Time,
}

struct Open {
    begun: Time,
    issued: Option<Time>,
}

/// A request that has ended.
struct Ended {
    latency: Time,
    /// Stage and time.
    stages: Box<[(u16, Time)]>,
}

impl Lives {
    /// Keeps the lives of requests that end after `from` in a run in `sim`, until there are enough.
    pub fn new(sim: &Sim, from: Time, enough: Enough) -> Lives {
        Lives(Rc::new(RefCell::new(Book {
            sim: sim.clone(),
            from,
            enough,
            clocks: Vec::new(),
            traces: Traces::default(),
            sharing: Sharing::default(),
            open: HashMap::default(),
            newest: Newest::default(),
            in_flight: 0,
            in_flight_max: 0,
            places: HashMap::default(),
            stages: Vec::new(),
            sums: Vec::new(),
            ended: Vec::new(),
            spans: 0,
            since_forgotten: 0,
            spans_to_enter: Vec::new(),
            is_mixed: false,
            at_work: Vec::new(),
            until: from,
        })))
    }

    /// Whether there are as many as asked for.
    pub fn are_enough(&self) -> bool {
        self.0.borrow().are_enough()
    }

    /// Requests that have ended.
    pub fn count(&self) -> usize {
        self.0.borrow().ended.len()
    }

    /// What became of the latencies; nothing where no request has ended.
    pub fn latency(&self) -> Option<Latency> {
        self.0.borrow_mut().latency()
    }

    /// Of each lane, by number, whether it worked, or a delay was owed to it.
    pub fn at_work(&self) -> Vec<bool> {
        self.0.borrow().at_work.clone()
    }

    /// Whom each lane worked for, by number, over all that was observed.
    pub fn shares(&self) -> Vec<Shares> {
        self.0.borrow().sharing.shares()
    }

    /// Time of lives for which no process says what it was at: a defect of a part. Who, and how long.
    pub fn unsaid(&self) -> Vec<(String, Time)> {
        let latency = self.latency();
        let stages = latency.iter().flat_map(|latency| &latency.mean.stages);
        let unsaid = stages.filter(|stage| [&stage.phase, &stage.behind].contains(&&UNSAID.name.to_string()));
        unsaid.map(|stage| (stage.lane.clone(), stage.time)).collect()
    }
}

impl Book {
    fn are_enough(&self) -> bool {
        let Enough { at_least, times_in_flight, requests, spans, spans_most } = self.enough;
        let count = self.ended.len();
        let speak = count >= at_least && count >= self.in_flight_max.saturating_mul(times_in_flight);
        let were_long = self.spans >= spans_most && count > self.in_flight_max;
        were_long || speak && (count >= requests || self.spans >= spans)
    }

    fn begin(&mut self) {
        if self.clocks.is_empty() {
            self.clocks = self.sim.lanes().into_iter().map(|lane| lane.1).collect();
            self.traces = Traces::new(self.sim.processes().len(), self.clocks.len());
            self.sharing = Sharing::new(self.clocks.len());
            self.at_work = vec![false; self.clocks.len()];
        }
    }

    fn take_up(&mut self, who: u16, at: Time, request: Option<PassedOn>, too: bool) {
        if let Some(PassedOn { request, .. }) = request.filter(|of| self.newest.is_before(of.request)) {
            self.open.insert(request, Open { begun: at, issued: None });
        }
        self.traces.take_up(who, at, request, too);
    }

    fn issue(&mut self, request: NonZeroU32, at: Time) {
        if let Some(open) = self.open.get_mut(&request) {
            open.issued = Some(at);
            self.sharing.issued(request, at);
            self.in_flight += 1;
            self.in_flight_max = self.in_flight_max.max(self.in_flight);
        }
    }

    /// The request that `who` works for has ended.
    fn end(&mut self, who: u16, at: Time, asked: Time) {
        let Some(request) = self.traces.members(who).first().map(|member| member.request) else { return };
        let Some(Open { issued: Some(issued), .. }) = self.open.remove(&request) else { return };
        self.in_flight -= 1;
        self.sharing.ended(request, at);
        if at <= self.from || self.are_enough() {
            return;
        }
        // What the job says of its request counts: a replay's begins when it is due.
        let issued = issued.min(asked);
        let Book { traces, places, stages, sums, .. } = self;
        let mut been: Vec<u16> = Vec::new();
        let each = |place: Place, time: Time| {
            let stage = *places.entry(place).or_insert_with(|| {
                stages.push(place);
                sums.push(Time::ZERO);
                stages.len() as u16 - 1
            });
            let sum = &mut sums[usize::from(stage)];
            if *sum == Time::ZERO {
                been.push(stage);
            }
            *sum += time;
        };
        Walk { traces, request, issued, told: each }.back(who, at);
        let life: Vec<(u16, Time)> =
            been.into_iter().map(|stage| (stage, std::mem::take(&mut sums[usize::from(stage)]))).collect();
        let sum = life.iter().fold(Time::ZERO, |sum, stage| sum + stage.1);
        assert!(sum == at - issued, "the stages of a request add up to its latency");
        self.ended.push(Ended { latency: at - issued, stages: life.into_boxed_slice() });
        self.until = at;
    }

    /// Enters the spans that were recorded since somebody took something up. Those of trains come lane by lane, and are
    /// entered as they ended.
    fn enter(&mut self) {
        let Book { traces, sharing, spans, at_work, from, since_forgotten, spans_to_enter, is_mixed, .. } = self;
        if std::mem::take(is_mixed) {
            spans_to_enter.sort_by_key(|span| span.at + span.span);
        }
        for span in spans_to_enter.drain(..) {
            if let Kind::Phase(lane) | Kind::Delay(lane) = span.kind
                && is_busy(span.label)
            {
                at_work[usize::from(lane)] = true;
            }
            traces.enter(&span);
            sharing.enter(&span, traces.members(span.who));
            *spans += u64::from(span.at >= *from);
            *since_forgotten += 1;
        }
    }

    /// Nothing before the first request under way was taken up is asked for any more.
    fn forget(&mut self, now: Time) {
        let oldest = self.open.values().map(|open| open.begun).min().unwrap_or(now);
        self.traces.forget(oldest);
        self.sharing.forget(oldest);
        self.since_forgotten = 0;
    }

    fn latency(&mut self) -> Option<Latency> {
        if self.ended.is_empty() {
            return None;
        }
        self.ended.sort_by_key(|request| request.latency);
        let names = (self.sim.lanes(), self.sim.processes());
        let split = |requests: &[Ended]| {
            let mut sums = vec![Time::ZERO; self.stages.len()];
            requests
                .iter()
                .flat_map(|request| &request.stages[..])
                .for_each(|(stage, time)| sums[*stage as usize] += *time);
            let named = self.stages.iter().zip(sums).filter(|(_, time)| *time > Time::ZERO);
            let named = named.map(|(place, time)| {
                let lane = match place.hop {
                    Hop::Lane(lane) => names.0[usize::from(lane)].0.clone(),
                    Hop::Process(who) => names.1[usize::from(who)].clone(),
                };
                let part = lane.split('.').next().unwrap_or(&lane).to_string();
                let behind = place.behind.map_or("", |label| label.name).to_string();
                Stage { part, lane, kind: place.kind, phase: place.phase.name.to_string(), behind, time }
            });
            let stages = added_up(named);
            let sum = requests.iter().fold(Time::ZERO, |sum, request| sum + request.latency);
            Split { count: requests.len() as u64, sum, stages }
        };
        let around = |rank: f64| {
            let (last, n) = (self.ended.len() - 1, self.ended.len() as f64);
            let low = (((rank - RANKS) * n).floor().max(0.0) as usize).min(last);
            let high = (((rank + RANKS) * n).ceil() as usize).clamp(low + 1, last + 1);
            split(&self.ended[low..high])
        };
        let p99 = (self.ended.len() >= FOR_P99).then(|| around(0.99));
        let (mean, median) = (split(&self.ended), around(0.5));
        Some(Latency { mean, median, p99, from: self.from, until: self.until, in_flight: self.in_flight_max })
    }
}

impl Observer for Lives {
    fn wants_phases(&self) -> bool {
        !self.are_enough()
    }

    fn records(&mut self, batch: &[Record]) {
        let mut book = self.0.borrow_mut();
        let book = &mut *book;
        book.begin();
        let mut now = Time::ZERO;
        for records in whole(batch) {
            if !is_of_spans(&records[0]) {
                book.enter();
            }
            match records[0] {
                Record::TakeUp { who, at, request } => book.take_up(who, at, request, false),
                Record::TakeUpToo { who, at, request } => book.take_up(who, at, request, true),
                Record::Issue { at, request, .. } => book.issue(request, at),
                Record::Transfer { who, at, span, .. } => {
                    now = at + span;
                    book.end(who, now, at);
                }
                _ => {
                    let Book { clocks, spans_to_enter, is_mixed, .. } = &mut *book;
                    *is_mixed |= records.len() > 1;
                    expand(records, |lane| clocks[usize::from(lane)], |span| spans_to_enter.push(span));
                }
            }
            book.since_forgotten += 1;
            if book.since_forgotten > FORGET_EVERY {
                book.enter();
                book.forget(now);
            }
        }
        book.enter();
    }
}

/// Whether a record is of spans, which say nothing of whom they are for.
fn is_of_spans(record: &Record) -> bool {
    !matches!(record, Record::TakeUp { .. } | Record::TakeUpToo { .. } | Record::Issue { .. } | Record::Transfer { .. })
}

#[cfg(test)]
mod tests {
    use hopscope_kernel::{Label, Queue};

    use super::*;

    static WORK: Label = Label::protocol("work");
    static READ: Label = Label::mark("read");
    static EMPTY: Label = Label::reason("nothing to do");

    #[test]
    fn whoever_works_for_what_has_ended_opens_nothing() {
        let sim = Sim::new();
        let lives = Lives::new(&sim, Time::ZERO, Enough::ALL);
        sim.observe(Box::new(lives.clone()));
        let (lane, after) = (sim.lane("arm", None), Queue::new(&sim, 64));
        let (s, l, queue) = (sim.clone(), lane.clone(), after.clone());
        sim.process("thread", async move {
            for _ in 0..50 {
                let errand = s.new_errand();
                s.issued(errand);
                let since = s.now();
                l.delay(&WORK, Time::ns(3)).await;
                s.transferred(&READ, since, 512);
                assert!(queue.try_put(s.pass_on(errand)).is_ok());
            }
        });
        let s = sim.clone();
        sim.process("writes behind", async move {
            loop {
                let errand = after.take(&EMPTY).await;
                s.take_up(errand);
                lane.delay(&WORK, Time::ns(2)).await;
            }
        });
        sim.run(Time::us(1));
        sim.tear_down();
        assert_eq!((lives.count(), lives.0.borrow().open.len()), (50, 0));
    }
}
