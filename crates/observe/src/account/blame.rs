//! Blame: who is to blame for a stretch of time in which a process could not go on.
//!
//! The question is answered backwards. Just before the instant at which the process went on, it ended something: it
//! worked, or its wait was ended by somebody else. Work is an answer. A wait for a lane is answered by whoever was on
//! that lane, instant by instant; a wait at a queue by whatever the process that ended it was at before it did so.
//! Where several things ended at once, a wait comes first: it is what kept the process. What was there before is
//! answered in the same way, back to the beginning of the stretch.

mod rows;

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use hopscope_kernel::{Class, Label, Time};

use super::acts::{Act, Place};
use super::timelines::{Hop, Timelines, What};
use rows::{Rows, begins_row};

/// No process says what it was at: a part that spends time without a name.
pub(super) static UNATTRIBUTED: Label = Label::reason("unattributed");

/// Waits that lead to waits, at most.
const DEPTH_MAX: usize = 256;

/// What a stretch of time went into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The lane at which the answer was found, or the process that has none.
    pub(super) hop: Hop,
    /// What that lane was at; for a lane that nobody occupied, why it was waited for.
    pub(super) phase: &'static Label,
    /// The wait that led there: for a lane, if one was crossed, else at a queue.
    pub(super) cause: Option<&'static Label>,
    pub(super) cause_is_lane: bool,
    /// It was before the request was issued: nothing was asked of the system.
    pub(super) idle: bool,
}

/// What a stretch of time went into, with how much of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Bill(pub(super) Vec<(Item, Time)>);

impl Bill {
    /// Adds what a lane did itself.
    pub(super) fn charge(&mut self, lane: u16, phase: &'static Label, time: Time) {
        self.add(Way::new(None).item(Hop::Lane(lane), phase), time);
    }

    /// Adds what was found before, seen from here.
    fn add_found(&mut self, found: &Bill, way: Way) {
        found.0.iter().for_each(|&(item, time)| self.add(way.to(item), time));
    }

    pub(super) fn add(&mut self, item: Item, time: Time) {
        match self.0.iter_mut().find(|(other, _)| *other == item) {
            Some((_, sum)) => *sum += time,
            None => self.0.push((item, time)),
        }
    }
}

/// What was crossed on the way to an answer.
#[derive(Clone, Copy)]
pub(super) struct Way {
    cause: Option<&'static Label>,
    cause_is_lane: bool,
    idle: bool,
}

impl Way {
    pub(super) fn new(cause: Option<&'static Label>) -> Way {
        Way { cause, cause_is_lane: false, idle: false }
    }

    fn across(self, act: &Act) -> Way {
        let is_lane = matches!(act.what, What::LaneWait(_));
        let idle = self.idle || act.label.class == Class::Workload;
        if is_lane || self.cause.is_none() {
            return Way { cause: Some(act.label), cause_is_lane: is_lane, idle };
        }
        Way { idle, ..self }
    }

    fn item(self, hop: Hop, phase: &'static Label) -> Item {
        let Way { cause, cause_is_lane, idle } = self;
        Item { hop, phase, cause, cause_is_lane, idle }
    }

    /// An answer that was found before, seen from here.
    fn to(self, found: Item) -> Item {
        let keeps = found.cause_is_lane || self.cause.is_none();
        let (cause, cause_is_lane) =
            if keeps { (found.cause, found.cause_is_lane) } else { (self.cause, self.cause_is_lane) };
        Item { cause, cause_is_lane, idle: self.idle || found.idle, ..found }
    }
}

/// Whether a lane in that phase is held by somebody who waits, and who is asked on.
fn asks_on(phase: &Label) -> bool {
    matches!(phase.class, Class::Reason | Class::Workload)
}

/// What a wait went into, and whether the request was issued within it.
type Found = (Bill, bool);

/// Which act: whose, and where it is among those.
type ActId = (u16, Place);

/// A stretch of time.
#[derive(Clone, Copy)]
pub(super) struct Stretch {
    pub(super) from: Time,
    pub(super) until: Time,
}

pub(super) struct Blame<'a> {
    lines: &'a Timelines,
    /// Waits at queues that have been answered.
    answered: BTreeMap<ActId, Rc<Found>>,
    /// Rows of steps that have been answered, by process and where they end.
    rows: Rows,
    /// Waits that are being answered.
    asked: Vec<ActId>,
    /// The outermost of those that an answer had to leave out.
    left_out: Cell<usize>,
}

impl<'a> Blame<'a> {
    pub(super) fn new(lines: &'a Timelines) -> Blame<'a> {
        let (answered, rows) = (BTreeMap::new(), HashMap::new());
        Blame { lines, answered, rows, asked: Vec::new(), left_out: Cell::new(usize::MAX) }
    }

    /// Adds to `bill` what kept `process` from going on at the end of a stretch; only what was before `clip` counts.
    /// Returns whether the request was issued within the stretch: what was before that is of no request any more.
    pub(super) fn before(
        &mut self,
        process: u16,
        Stretch { from, until }: Stretch,
        clip: Time,
        mut way: Way,
        bill: &mut Bill,
    ) -> Result<bool, String> {
        let mut at = until;
        while at > from {
            let Some(id) = self.act_before(process, at) else {
                at = self.gap(process, from, at, clip, way, bill);
                continue;
            };
            if at <= clip && begins_row(id) && !self.is_asked(process) {
                let reached = self.row(id, Stretch { from, until: at }, &mut way, bill)?;
                if reached < at {
                    at = reached;
                    continue;
                }
            }
            at = self.step(id, Stretch { from, until: at }, clip, &mut way, bill)?;
        }
        Ok(way.idle)
    }

    /// Adds what an act went into that the process was at just before the end of a stretch; returns when that began.
    fn step(
        &mut self,
        id: ActId,
        Stretch { from, until: at }: Stretch,
        clip: Time,
        way: &mut Way,
        bill: &mut Bill,
    ) -> Result<Time, String> {
        let act = self.act(id);
        let (start, end) = (act.start.max(from), at.min(clip));
        // A thread that thinks asks for nothing.
        way.idle |= act.label.class == Class::Workload && matches!(act.what, What::Work(_));
        if start < end {
            match act.what {
                What::Work(lane) | What::Through(lane) => {
                    bill.add(way.item(Hop::Lane(lane), act.label), self.lines.measure(start, end));
                }
                // Whoever was on the lane had been asked by somebody else.
                What::LaneWait(lane) => {
                    self.follow_lane(id, lane, &act, Stretch { from: start, until: end }, *way, bill)?;
                }
                What::QueueWait(by) => way.idle |= self.follow_queue(id, by, &act, (start, end), *way, bill)?,
            }
        }
        way.idle |= match act.label.class {
            Class::Workload => true,
            // Its beginning is the issue of the request.
            Class::Queued => act.start > from,
            _ => false,
        };
        Ok(start)
    }

    /// Nobody says what the process was at before `at`; returns when it was at something.
    fn gap(&self, process: u16, from: Time, at: Time, clip: Time, way: Way, bill: &mut Bill) -> Time {
        let start = self.lines.processes[usize::from(process)].last_end(at).map_or(from, |end| end.max(from));
        if start < at.min(clip) {
            bill.add(way.item(Hop::Process(process), &UNATTRIBUTED), self.lines.measure(start, at.min(clip)));
        }
        start
    }

    fn act(&self, (process, place): ActId) -> Act {
        *self.lines.processes[usize::from(process)].at(place)
    }

    /// What the process was at just before `at`, or ended at `at`.
    fn act_before(&self, process: u16, at: Time) -> Option<ActId> {
        let is_left_out = |place| {
            let depth = self.asked.iter().position(|asked| *asked == (process, place));
            depth.inspect(|depth| self.left_out.set(self.left_out.get().min(*depth))).is_some()
        };
        Some((process, self.lines.processes[usize::from(process)].before(at, is_left_out)?))
    }

    fn is_asked(&self, process: u16) -> bool {
        self.asked.iter().any(|asked| asked.0 == process)
    }

    fn ask(&mut self, id: ActId) -> Result<(), String> {
        if self.asked.len() == DEPTH_MAX {
            let names: Vec<&str> = self.asked.iter().map(|id| self.lines.names[usize::from(id.0)].as_str()).collect();
            return Err(format!("a circle of waits: {}", names[DEPTH_MAX - 8..].join(", ")));
        }
        self.asked.push(id);
        Ok(())
    }

    /// A wait for a lane: whoever was on it is to blame, instant by instant.
    fn follow_lane(
        &mut self,
        id: ActId,
        lane: u16,
        act: &Act,
        Stretch { from, until }: Stretch,
        way: Way,
        bill: &mut Bill,
    ) -> Result<(), String> {
        self.ask(id)?;
        let (lines, way, mut at) = (self.lines, way.across(act), from);
        let hop = Hop::Lane(lane);
        for interval in lines.on_lane(lane, from, until) {
            let (start, end) = (interval.start.max(from), interval.end.min(until));
            if start > at {
                bill.add(way.item(hop, act.label), lines.measure(at, start));
            }
            if asks_on(interval.phase) {
                let whole = Stretch { from: start, until: interval.end };
                self.before(interval.who, whole, end, way, bill)?;
            } else {
                bill.add(way.item(hop, interval.phase), lines.measure(start, end));
            }
            at = end;
        }
        if until > at {
            bill.add(way.item(hop, act.label), lines.measure(at, until));
        }
        self.asked.pop();
        Ok(())
    }

    /// A wait at a queue: what the process that ended it was at until then is to blame.
    fn follow_queue(
        &mut self,
        id: ActId,
        by: u16,
        act: &Act,
        (start, end): (Time, Time),
        way: Way,
        bill: &mut Bill,
    ) -> Result<bool, String> {
        let way = way.across(act);
        let whole = (start, end) == (act.start, act.end);
        if let Some(found) = self.answered.get(&id).filter(|_| whole).cloned() {
            bill.add_found(&found.0, way);
            return Ok(found.1);
        }
        self.ask(id)?;
        let stretch = Stretch { from: start, until: act.end };
        let issued = if whole {
            let mut found = Bill::default();
            let left_out = self.left_out.replace(usize::MAX);
            let issued = self.before(by, stretch, end, Way::new(None), &mut found)?;
            bill.add_found(&found, way);
            // An answer that left out a wait around it is good for that place only.
            if self.left_out.get() >= self.asked.len() - 1 {
                self.answered.insert(id, Rc::new((found, issued)));
            }
            self.left_out.set(self.left_out.get().min(left_out));
            issued
        } else {
            self.before(by, stretch, end, way, bill)?
        };
        self.asked.pop();
        Ok(issued)
    }
}
