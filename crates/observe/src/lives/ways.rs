//! Ways: each request of a run as it goes, and when it ends, the stretches that its time was spent in, one after the other.
//!
//! [`Lives`](super::Lives) adds up what became of many requests; this is for whoever draws them one by one. Only what
//! requests in flight may still need is kept.

use std::collections::HashMap;
use std::num::NonZeroU32;

use hopscope_kernel::{Label, PassedOn, Record, Sim, Span, Time, expand, whole};

use super::FORGET_EVERY;
use super::traces::{Newest, Traces};
use super::walk::{Place, Stretch, Told, Walk};
use crate::account::Hop;

/// A request of the workload, by number, and who issued it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// Its number, counted from one.
    pub request: u32,
    /// The process of its job, by number.
    pub who: u16,
    /// When it was issued.
    pub at: Time,
}

/// A request that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Which.
    pub issued: Issued,
    /// When it ended.
    pub ended: Time,
    /// Its direction.
    pub label: &'static Label,
    /// Its size.
    pub bytes: u32,
    /// What its time was spent in, one after the other, from the issue to the end.
    pub stretches: Vec<Stretch>,
}

/// Something that happened, or was carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Happened {
    /// On the wires of which lane, if it was on any.
    pub lane: Option<u16>,
    /// The process that says so, by number.
    pub who: u16,
    /// What.
    pub label: &'static Label,
    /// When.
    pub at: Time,
    /// What belongs to it.
    pub value: u64,
}

/// What records say, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A request was issued.
    Issued(Issued),
    /// It ended.
    Ended(Way),
    /// A lane was in a phase, or a process waited or was delayed.
    Span(Span),
    /// Something happened, or wires carried something.
    Happened(Happened),
}

/// Follows requests.
pub struct Ways {
    clocks: Vec<Option<Time>>,
    traces: Traces,
    /// Requests that were taken up and have not ended, when they were, and their issue.
    open: HashMap<NonZeroU32, (Time, Option<Issued>)>,
    newest: Newest,
    now: Time,
    since_forgotten: usize,
    closely: bool,
}

/// Stretches, the last one first.
struct Stretches {
    list: Vec<Stretch>,
    /// Where waits are looked behind: when what is told next was over.
    behind: Option<Time>,
    /// Whoever had the request in the stretch that is told of.
    who: u16,
}

impl Told for &mut Stretches {
    fn place(&mut self, Place { hop, kind, phase, behind }: Place, time: Time) {
        let Some(until) = self.behind else { return };
        let from = until.saturating_sub(time);
        let (lane, who) = match hop {
            Hop::Lane(lane) => (Some(lane), self.who),
            Hop::Process(who) => (None, who),
        };
        let label = behind.unwrap_or(phase);
        self.behind = Some(from);
        match self.list.last_mut() {
            // What goes on is one.
            Some(next) if (next.from, next.kind, next.lane, next.label) == (until, kind, lane, label) => {
                next.from = from;
            }
            _ => self.list.push(Stretch { from, until, kind, label, lane, who }),
        }
    }

    fn stretch(&mut self, stretch: Stretch) -> bool {
        match &mut self.behind {
            Some(at) => (*at, self.who) = (stretch.until, stretch.who),
            None => self.list.push(stretch),
        }
        self.behind.is_some()
    }
}

impl Ways {
    /// Of the machine that was built in `sim`, before its first record.
    pub fn new(sim: &Sim) -> Ways {
        let clocks: Vec<Option<Time>> = sim.lanes().into_iter().map(|lane| lane.1).collect();
        let traces = Traces::new(sim.processes().len(), clocks.len());
        Ways {
            clocks,
            traces,
            open: HashMap::new(),
            newest: Newest::default(),
            now: Time::ZERO,
            since_forgotten: 0,
            closely: false,
        }
    }

    /// The same, and where a request waited, its way says for which hops, and what they were at meanwhile: the stages
    /// that [`Lives`](super::Lives) adds up. Those of one wait are in no order of time among themselves.
    pub fn behind_waits(self) -> Ways {
        Ways { closely: true, ..self }
    }

    /// Requests that process `who` works for now, and that have been issued and not ended.
    pub fn of(&self, who: u16) -> impl Iterator<Item = Issued> + '_ {
        self.traces.members(who).iter().filter_map(|member| self.open.get(&member.request)?.1)
    }

    /// Requests that have been issued and not ended.
    pub fn open(&self) -> impl Iterator<Item = Issued> + '_ {
        self.open.values().filter_map(|(_, issued)| *issued)
    }

    /// Goes through a batch of records; `each` is told what they say, trains burst by burst, and may ask who works for
    /// whom as it is then. Stops at the first error.
    pub fn follow<E>(&mut self, batch: &[Record], mut each: impl FnMut(&Ways, Said) -> Result<(), E>) -> Result<(), E> {
        for records in whole(batch) {
            match records[0] {
                Record::TakeUp { who, at, request } => self.take_up(who, at, request, false),
                Record::TakeUpToo { who, at, request } => self.take_up(who, at, request, true),
                Record::Issue { who, at, request } => {
                    if let Some(open) = self.open.get_mut(&request) {
                        let issued = Issued { request: request.get(), who, at };
                        open.1 = Some(issued);
                        each(self, Said::Issued(issued))?;
                    }
                }
                Record::Transfer { who, label, at, span, bytes } => {
                    if let Some(way) = self.end(who, at + span, label, bytes) {
                        each(self, Said::Ended(way))?;
                    }
                }
                Record::Mark { who, label, at, value } => {
                    each(self, Said::Happened(Happened { lane: None, who, label, at, value }))?;
                }
                Record::Carried { lane, who, label, at, value } => {
                    each(self, Said::Happened(Happened { lane: Some(lane), who, label, at, value }))?;
                }
                _ => self.enter(records, &mut each)?,
            }
            self.since_forgotten += 1;
            if self.since_forgotten > FORGET_EVERY {
                self.forget();
            }
        }
        Ok(())
    }

    fn take_up(&mut self, who: u16, at: Time, request: Option<PassedOn>, too: bool) {
        if let Some(PassedOn { request, .. }) = request.filter(|of| self.newest.is_before(of.request)) {
            self.open.insert(request, (at, None));
        }
        self.traces.take_up(who, at, request, too);
    }

    fn enter<E>(&mut self, records: &[Record], each: &mut impl FnMut(&Ways, Said) -> Result<(), E>) -> Result<(), E> {
        let mut spans = Vec::new();
        expand(records, |lane| self.clocks[usize::from(lane)], |span| spans.push(span));
        for span in spans {
            self.traces.enter(&span, true);
            self.since_forgotten += 1;
            each(self, Said::Span(span))?;
        }
        Ok(())
    }

    /// The request that `who` works for has ended.
    fn end(&mut self, who: u16, ended: Time, label: &'static Label, bytes: u32) -> Option<Way> {
        let request = self.traces.members(who).first()?.request;
        let issued = self.open.remove(&request)?.1?;
        self.now = ended;
        let mut stretches = Stretches { list: Vec::new(), behind: self.closely.then_some(ended), who };
        Walk { traces: &self.traces, request, issued: issued.at, told: &mut stretches }.back(who, ended);
        stretches.list.reverse();
        Some(Way { issued, ended, label, bytes, stretches: stretches.list })
    }

    fn forget(&mut self) {
        let oldest = self.open.values().map(|(begun, _)| *begun).min().unwrap_or(self.now);
        self.traces.forget(oldest);
        self.since_forgotten = 0;
    }
}
