//! Ways: each request of a run as it goes, and when it ends, the stretches that its time was spent in, one after the other.
//!
//! [`Lives`](super::Lives) adds up what became of many requests; this is for whoever draws them one by one. Only what
//! requests in flight may still need is kept.

use std::collections::HashMap;

use hopscope_kernel::{Errand, Kind, Label, Record, Sim, Span, Time, expand};

use super::FORGET_EVERY;
use super::traces::Traces;
use super::walk::{Place, Stretch, Told, Walk};

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

/// What records say, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A request was issued.
    Issued(Issued),
    /// It ended.
    Ended(Way),
    /// A lane was in a phase, or a process waited or was delayed.
    Span(Span),
    /// Something happened, with a value.
    Mark(Span),
}

/// Follows requests.
pub struct Ways {
    clocks: Vec<Option<Time>>,
    traces: Traces,
    /// Requests that were taken up and have not ended, when they were, and their issue.
    open: HashMap<u32, (Time, Option<Issued>)>,
    newest: u32,
    now: Time,
    since_forgotten: usize,
    closely: bool,
}

/// Stretches, the last one first.
struct Stretches {
    list: Vec<Stretch>,
    /// Where waits are looked behind: lanes that there are, and when what is told next was over.
    behind: Option<(usize, Time)>,
    /// Whoever had the request in the stretch that is told of.
    who: u16,
}

impl Told for &mut Stretches {
    fn place(&mut self, Place { lane, kind, phase, behind }: Place, time: Time) {
        let Some((lanes, until)) = self.behind else { return };
        let from = until.saturating_sub(time);
        let (lane, who) = match usize::from(lane) < lanes {
            true => (Some(lane), self.who),
            false => (None, u16::MAX - lane),
        };
        let label = behind.unwrap_or(phase);
        self.behind = Some((lanes, from));
        match self.list.last_mut() {
            // What goes on is one.
            Some(next)
                if (next.from, next.kind, next.lane) == (until, kind, lane) && std::ptr::eq(next.label, label) =>
            {
                next.from = from;
            }
            _ => self.list.push(Stretch { from, until, kind, label, lane, who }),
        }
    }

    fn stretch(&mut self, stretch: Stretch) -> bool {
        match &mut self.behind {
            Some((_, at)) => (*at, self.who) = (stretch.until, stretch.who),
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
        Ways { clocks, traces, open: HashMap::new(), newest: 0, now: Time::ZERO, since_forgotten: 0, closely: false }
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
        let mut at = 0;
        while let Some(record) = batch.get(at) {
            let next = at + 1 + if record.kind == Kind::TrainHead { usize::from(record.phases) } else { 0 };
            match record.kind {
                Kind::TakeUp => self.take_up(record, false),
                Kind::TakeUpToo => self.take_up(record, true),
                Kind::Issue => {
                    let issued = Issued { request: record.request(), who: record.who, at: record.at };
                    if let Some(open) = self.open.get_mut(&issued.request) {
                        open.1 = Some(issued);
                        each(self, Said::Issued(issued))?;
                    }
                }
                Kind::Transfer => {
                    if let Some(way) = self.end(record) {
                        each(self, Said::Ended(way))?;
                    }
                }
                _ => self.enter(&batch[at..next], &mut each)?,
            }
            at = next;
            self.since_forgotten += 1;
            if self.since_forgotten > FORGET_EVERY {
                self.forget();
            }
        }
        Ok(())
    }

    fn take_up(&mut self, record: &Record, too: bool) {
        let request = record.request();
        let newer = (request + Errand::REQUESTS_MAX - self.newest) % Errand::REQUESTS_MAX;
        if request != 0 && (1..Errand::REQUESTS_MAX / 2).contains(&newer) {
            self.newest = request;
            self.open.insert(request, (record.at, None));
        }
        self.traces.take_up(record, too);
    }

    fn enter<E>(&mut self, records: &[Record], each: &mut impl FnMut(&Ways, Said) -> Result<(), E>) -> Result<(), E> {
        let mut spans = Vec::new();
        expand(records, |lane| self.clocks[usize::from(lane)], |span| spans.push(span));
        for span in spans {
            if span.kind == Kind::Mark {
                each(self, Said::Mark(span))?;
            } else {
                self.traces.enter(&span);
                self.since_forgotten += 1;
                each(self, Said::Span(span))?;
            }
        }
        Ok(())
    }

    /// The request that the process of this transfer works for has ended.
    fn end(&mut self, record: &Record) -> Option<Way> {
        let request = self.traces.members(record.who).first()?.request;
        let issued = self.open.remove(&request)?.1?;
        let ended = record.at + record.span;
        self.now = ended;
        let behind = self.closely.then_some((self.clocks.len(), ended));
        let mut stretches = Stretches { list: Vec::new(), behind, who: record.who };
        Walk { traces: &self.traces, request, issued: issued.at, told: &mut stretches }.back(record.who, ended);
        stretches.list.reverse();
        Some(Way { issued, ended, label: record.label, bytes: record.bytes(), stretches: stretches.list })
    }

    fn forget(&mut self) {
        let oldest = self.open.values().map(|(begun, _)| *begun).min().unwrap_or(self.now);
        self.traces.forget(oldest);
        self.since_forgotten = 0;
    }
}
