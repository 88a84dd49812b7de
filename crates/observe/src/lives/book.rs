//! The book of lives: what records say, until a request has ended and its life is put together.

use std::collections::HashMap;
use std::num::NonZeroU32;

use foldhash::fast::FixedState;
use hopscope_kernel::{PassedOn, Record, Sim, Span, Time, expand, whole};

use super::shares::Sharing;
use super::traces::{Newest, Traces};
use super::walk::{Place, Walk};
use super::{Enough, FOR_P99, FORGET_EVERY, Latency, Split, Stage, added_up};
use crate::account::Hop;

/// A class of latencies is the mean of the ranks within this share of it.
const RANKS: f64 = 0.005;
/// Where there will not be as many requests as are wanted, this part of the spans is enough.
const OF_SPANS: u64 = 3;

/// What is known so far.
pub(super) struct Book {
    sim: Sim,
    /// What is recorded before is nobody's to keep.
    pub(super) since: Time,
    /// What ended before is asked for by no life that is put together.
    pub(super) traced: Time,
    from: Time,
    enough: Enough,
    clocks: Vec<Option<Time>>,
    traces: Traces,
    pub(super) sharing: Sharing,
    /// Requests that are under way, and when they were first taken up.
    pub(super) open: HashMap<NonZeroU32, Open, FixedState>,
    newest: Newest,
    in_flight: usize,
    in_flight_max: usize,
    stages: Stages,
    /// Of the request that has just ended, by stage.
    sums: Vec<Time>,
    pub(super) ended: Vec<Ended>,
    /// When one more ended, there were enough: it is only told yet whom lanes work for.
    is_full: bool,
    /// Full although there were not enough: more would have had to be kept than may be.
    pub(super) are_too_long: bool,
    spans: u64,
    since_forgotten: usize,
    /// Spans since somebody took something up, and whether some of them are of trains.
    spans_to_enter: Vec<Span>,
    is_mixed: bool,
    until: Time,
}

/// Slots for places that came last: two to the power of so many.
const SLOT_BITS: u32 = 8;

pub(super) struct Open {
    begun: Time,
    issued: Option<Time>,
}

/// Places of lives, numbered as they come.
struct Stages {
    all: Vec<Place>,
    numbers: HashMap<Place, u16, FixedState>,
    /// The number of the last place of those that fall on one slot: most come again and again.
    recent: [u16; 1 << SLOT_BITS],
}

impl Default for Stages {
    fn default() -> Self {
        Stages { all: Vec::new(), numbers: HashMap::default(), recent: [0; 1 << SLOT_BITS] }
    }
}

impl Stages {
    fn number(&mut self, place: Place) -> u16 {
        let recent = &mut self.recent[slot(&place)];
        if self.all.get(usize::from(*recent)) == Some(&place) {
            return *recent;
        }
        *recent = *self.numbers.entry(place).or_insert_with(|| {
            self.all.push(place);
            self.all.len() as u16 - 1
        });
        *recent
    }
}

/// Where a place is looked for first: anything that spreads them.
fn slot(place: &Place) -> usize {
    let (Hop::Lane(hop) | Hop::Process(hop)) = place.hop;
    let behind = place.behind.map_or(0, |label| std::ptr::from_ref(label).addr());
    let mixed = std::ptr::from_ref(place.phase).addr() ^ behind.rotate_left(20) ^ (usize::from(hop) << 40);
    ((mixed as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - SLOT_BITS)) as usize
}

/// A request that has ended.
pub(super) struct Ended {
    latency: Time,
    /// Stage and time.
    stages: Box<[(u16, Time)]>,
}

impl Book {
    pub(super) fn new(sim: &Sim, (since, from): (Time, Time), enough: Enough) -> Book {
        Book {
            sim: sim.clone(),
            since,
            traced: since,
            from,
            enough,
            clocks: Vec::new(),
            traces: Traces::default(),
            sharing: Sharing::default(),
            open: HashMap::default(),
            newest: Newest::default(),
            in_flight: 0,
            in_flight_max: 0,
            stages: Stages::default(),
            sums: Vec::new(),
            ended: Vec::new(),
            is_full: false,
            are_too_long: false,
            spans: 0,
            since_forgotten: 0,
            spans_to_enter: Vec::new(),
            is_mixed: false,
            until: from,
        }
    }

    /// Whether no more lives are wanted.
    pub(super) fn are_enough(&self) -> bool {
        if self.is_full {
            return true;
        }
        let Enough { at_least, times_in_flight, requests, spans, spans_most, .. } = self.enough;
        let count = self.ended.len();
        let speak = count >= at_least && count >= self.in_flight_max.saturating_mul(times_in_flight);
        let were_long = self.spans >= spans_most && count > self.in_flight_max;
        // At this rate there will not be as many within those spans.
        let [wide, narrow] = [count as u128 * u128::from(spans), requests as u128 * u128::from(self.spans)];
        let too_few = self.spans >= spans / OF_SPANS && wide < narrow;
        were_long || speak && (count >= requests || self.spans >= spans || too_few)
    }

    /// What was recorded next.
    pub(super) fn records(&mut self, batch: &[Record]) {
        self.begin();
        let mut now = Time::ZERO;
        for records in whole(batch) {
            if !is_of_spans(&records[0]) {
                self.enter();
            }
            match records[0] {
                Record::TakeUp { who, at, request } => self.take_up(who, at, request, false),
                Record::TakeUpToo { who, at, request } => self.take_up(who, at, request, true),
                Record::Issue { at, request, .. } => self.issue(request, at),
                Record::Transfer { who, at, span, .. } => {
                    now = at + span;
                    self.end(who, now, at);
                }
                _ if self.is_full => self.share(records),
                _ => {
                    let Book { clocks, spans_to_enter, is_mixed, .. } = self;
                    *is_mixed |= records.len() > 1;
                    expand(records, |lane| clocks[usize::from(lane)], |span| spans_to_enter.push(span));
                    if self.spans_to_enter.len() > FORGET_EVERY {
                        self.enter();
                    }
                }
            }
            self.since_forgotten += 1;
            if self.since_forgotten > FORGET_EVERY {
                self.enter();
                self.forget(now);
            }
        }
        self.enter();
    }

    fn begin(&mut self) {
        if self.clocks.is_empty() {
            self.clocks = self.sim.lanes().into_iter().map(|lane| lane.1).collect();
            self.traces = Traces::new(self.sim.processes().len(), self.clocks.len());
            self.sharing = Sharing::new(self.clocks.len());
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
        if at <= self.from {
            return;
        }
        self.is_full = self.are_enough();
        if self.is_full {
            return;
        }
        // What the job says of its request counts: a replay's begins when it is due.
        let issued = issued.min(asked);
        let Book { traces, stages, sums, .. } = self;
        let mut been: Vec<u16> = Vec::new();
        let each = |place: Place, time: Time| {
            let stage = stages.number(place);
            if usize::from(stage) == sums.len() {
                sums.push(Time::ZERO);
            }
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
        let Book { traces, sharing, spans, traced, from, since_forgotten, spans_to_enter, is_mixed, .. } = self;
        if std::mem::take(is_mixed) {
            spans_to_enter.sort_by_key(|span| span.at + span.span);
        }
        for span in spans_to_enter.drain(..) {
            traces.enter(&span, span.at + span.span >= *traced);
            sharing.enter(&span, traces.members(span.who));
            *spans += u64::from(span.at >= *from);
            *since_forgotten += 1;
        }
    }

    /// Tells whom lanes work for, and keeps nothing.
    fn share(&mut self, records: &[Record]) {
        let Book { clocks, traces, sharing, .. } = self;
        if let Record::Train { who, .. } = records[0]
            && sharing.enter_train(records, traces.members(who))
        {
            return;
        }
        let each = |span: Span| sharing.enter(&span, traces.members(span.who));
        expand(records, |lane| clocks[usize::from(lane)], each);
    }

    /// Nothing before the first request under way was taken up is asked for any more.
    fn forget(&mut self, now: Time) {
        let oldest = self.open.values().map(|open| open.begun).min().unwrap_or(now);
        self.traces.forget(oldest);
        if !self.is_full && self.traces.kept() > self.enough.kept_most {
            (self.is_full, self.are_too_long) = (true, true);
        }
        if self.is_full {
            self.traces.let_go();
        }
        self.sharing.forget(oldest);
        self.since_forgotten = 0;
    }

    #[cfg(test)]
    pub(super) fn traces_kept(&self) -> usize {
        self.traces.kept()
    }

    pub(super) fn latency(&mut self) -> Option<Latency> {
        if self.ended.is_empty() {
            return None;
        }
        self.ended.sort_by_key(|request| request.latency);
        let names = (self.sim.lanes(), self.sim.processes());
        let split = |requests: &[Ended]| {
            let mut sums = vec![Time::ZERO; self.stages.all.len()];
            requests
                .iter()
                .flat_map(|request| &request.stages[..])
                .for_each(|(stage, time)| sums[*stage as usize] += *time);
            let named = self.stages.all.iter().zip(sums).filter(|(_, time)| *time > Time::ZERO);
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

/// Whether a record is of spans, which say nothing of whom they are for.
fn is_of_spans(record: &Record) -> bool {
    !matches!(record, Record::TakeUp { .. } | Record::TakeUpToo { .. } | Record::Issue { .. } | Record::Transfer { .. })
}
