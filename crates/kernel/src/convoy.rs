//! Convoys: bursts that follow one another over several lanes in a row, which the event loop takes along.
//!
//! ```text
//!   lane 0   ▐ a ▌▐ b ▌  stranger  ▐ c ▌
//!   lane 1      └ lead ┘▐ a ▌▐ b ▌     └ lead ┘▐ c ▌         a burst is led on when it begins, not when it ends
//! ```
//!
//! On each lane one burst follows the other: it is asked for when the one before has left the lane and its own lead is
//! over, waits for its turn among others, and holds the lane for its plan. That is what a process would do by hand that
//! awaits a loop for each lane at once, and requests, grants, waits and records are the same; but the process is polled
//! at the end only. Nothing is booked ahead, so that strangers may come as they like: what a train was cut at goes on as
//! a convoy.
//!
//! Timers and requests of a convoy are those of its process, with one bit that sends the event loop here.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::Time;
use crate::arbitration::Asked;
use crate::core::{Core, Shared, Wait};
use crate::events::Event;
use crate::lane::Lane;
use crate::record::{Label, Record};
use crate::sim::Sim;
use crate::train::{Burst, CarState, Lead};

/// Lanes of a convoy, at most.
const LANES: usize = 4;
/// Tells a convoy from the process that it is of.
const CONVOY: u32 = 1 << 30;

type Phase = (&'static Label, Time);

/// Of what is due, the process whose convoy it is.
#[inline]
pub(crate) fn convoy_of(task: u32) -> Option<u32> {
    (task & CONVOY != 0).then_some(task & !CONVOY)
}

/// The process of a task that may be a convoy.
#[inline]
pub(crate) fn process_of(task: u32) -> u32 {
    task & !CONVOY
}

/// What a convoy does on one lane.
pub struct Track<'a> {
    /// The lane.
    pub lane: &'a Lane,
    /// Why a burst waits for others.
    pub reason: &'static Label,
    /// From the beginning of a burst on the lane before to its request here; not looked at on the first lane.
    pub lead: Lead<'a>,
    /// The phases of a burst.
    pub plan: [Phase; 2],
    /// When the first burst began here, where any has.
    pub first: Time,
    /// From each of those that have begun to the next.
    pub pitch: Time,
    /// Bursts that have ended here, and the next one, as a train has left them.
    pub state: CarState<'a>,
}

/// One of its lanes.
#[derive(Clone, Copy)]
struct Stage {
    lane: u32,
    reason: &'static Label,
    lead: (u32, &'static Label, Time),
    plan: [Phase; 2],
    length: Time,
    /// Bursts that had been asked for here before it was a convoy.
    asked_before: u32,
    /// The burst that comes, or is under way.
    index: u32,
    at: At,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// The burst before has left.
    Before,
    /// The lead of the burst is over then.
    Led(Time),
    /// The lane has been asked for with this ticket.
    Asked(u64),
    /// The lane is held with this ticket, since then.
    On(u64, Time),
    /// All have left.
    Over,
}

/// The convoy of a process.
#[derive(Default)]
pub(crate) struct Convoy {
    count: u32,
    /// Nothing where none is under way.
    stages: Vec<Stage>,
    /// When the next bursts may be asked for on each lane, as far as they have begun on the one before.
    open: [VecDeque<Time>; LANES],
    /// Whether whoever takes it along may skip time, as in [`Shared::combined`].
    combined: Option<bool>,
}

impl Convoy {
    /// Whether there is something to do on a lane now.
    fn acts(&self, core: &Core, number: usize, now: Time) -> bool {
        let stage = &self.stages[number];
        match stage.at {
            At::Before => !self.open[number].is_empty(),
            At::Led(until) => until <= now,
            At::Asked(ticket) => core.holds(stage.lane, ticket),
            At::On(_, start) => start + stage.length <= now,
            At::Over => false,
        }
    }
}

impl Core {
    fn has_convoy(&self, task: u32) -> bool {
        matches!(self.convoys.get(task as usize), Some(Some(convoy)) if !convoy.stages.is_empty())
    }
}

impl Shared {
    /// The convoy of a process goes on, as far as it can now; whether it is over.
    pub(crate) fn ride(&self, core: &mut Core, task: u32) -> bool {
        let Some(mut convoy) = core.convoys[task as usize].take() else { return false };
        let Some(last) = convoy.stages.len().checked_sub(1) else {
            core.convoys[task as usize] = Some(convoy);
            return false;
        };
        convoy.combined = self.combined.get();
        for number in 0..=last {
            while self.ride_on(core, task, &mut convoy, number) {}
        }
        self.combined.set(convoy.combined);
        // A burst may be through sooner than it has left the lane before.
        let over = convoy.stages.iter().all(|stage| stage.at == At::Over);
        if over {
            convoy.stages.clear();
        }
        core.convoys[task as usize] = Some(convoy);
        over
    }

    /// One step on one lane; whether there may be another one now.
    #[inline(always)]
    fn ride_on(&self, core: &mut Core, task: u32, convoy: &mut Convoy, number: usize) -> bool {
        let now = self.now.get();
        let stage = &mut convoy.stages[number];
        match stage.at {
            At::Before if stage.index == convoy.count => {
                stage.at = At::Over;
                false
            }
            At::Before if number == 0 => self.ride_asks(core, task, convoy, number),
            At::Before => {
                let Some(open_at) = convoy.open[number].pop_front() else { return false };
                stage.at = At::Led(open_at);
                self.ride_waits(core, task, (convoy, number), open_at)
            }
            At::Led(until) if now < until => false,
            At::Led(until) => {
                let (lane, label, span) = stage.lead;
                if core.observed() && span > Time::ZERO {
                    let (lane, who) = (lane as u16, task as u16);
                    core.record(Record::Delay { lane, who, label, at: until - span, span });
                }
                self.ride_asks(core, task, convoy, number)
            }
            At::Asked(ticket) if core.holds(stage.lane, ticket) => {
                let index = stage.index;
                stage.at = At::On(ticket, now);
                let end = now + stage.length;
                if let Some(next) = convoy.stages.get(number + 1).filter(|next| index >= next.asked_before) {
                    convoy.open[number + 1].push_back(now + next.lead.2);
                }
                self.ride_waits(core, task, (convoy, number), end)
            }
            At::On(ticket, start) if now >= start + stage.length => {
                core.record_plan(stage.lane, task, &stage.plan, start, now);
                core.release(stage.lane, ticket, now);
                (stage.at, stage.index) = (At::Before, stage.index + 1);
                true
            }
            At::Asked(_) | At::On(..) | At::Over => false,
        }
    }

    fn ride_asks(&self, core: &mut Core, task: u32, convoy: &mut Convoy, number: usize) -> bool {
        self.let_skip(core, convoy, number);
        let stage = &mut convoy.stages[number];
        let (Asked::Granted(ticket) | Asked::Queued(ticket)) =
            self.ask(core, stage.lane, task | CONVOY, 0, stage.reason);
        stage.at = At::Asked(ticket);
        true
    }

    /// Only the last lane with something to do now may skip time: the others have said by then what they wait for.
    fn let_skip(&self, core: &Core, convoy: &Convoy, number: usize) {
        let mut behind = number + 1..convoy.stages.len();
        let others_act = behind.any(|other| convoy.acts(core, other, self.now.get()));
        self.combined.set(if others_act { Some(false) } else { convoy.combined });
    }

    /// Comes to an instant in place, or sets a timer; whether it has come.
    fn ride_waits(&self, core: &mut Core, task: u32, (convoy, number): (&Convoy, usize), until: Time) -> bool {
        self.let_skip(core, convoy, number);
        self.now.get() >= until || self.begin_wait(core, task | CONVOY, until) == Wait::Over
    }
}

impl Sim {
    /// Whether the current process may send a convoy: it has none under way, everything may be carried that is not gone
    /// by hand, and nobody draws what is on the wires, burst by burst.
    pub fn may_convoy(&self) -> bool {
        let core = self.shared.core.borrow();
        core.trains_allowed && !self.shared.drawn.get() && !core.has_convoy(self.shared.current.get())
    }

    /// Sends `count` bursts over the lanes of `tracks`, as far as a train has not; ends when all have left all of them.
    ///
    /// # Panics
    ///
    /// There are too many lanes, or [`Sim::may_convoy`] is not true.
    pub fn convoy<'a>(&self, count: u32, tracks: impl IntoIterator<Item = Track<'a>>) -> Convoying<'_> {
        assert!(self.may_convoy(), "one convoy a process");
        let (task, now) = (self.shared.current.get(), self.now());
        let core = &mut *self.shared.core.borrow_mut();
        if core.convoys.len() <= task as usize {
            core.convoys.resize_with(task as usize + 1, || None);
        }
        let mut convoy = core.convoys[task as usize].take().unwrap_or_default();
        convoy.count = count;
        convoy.open.iter_mut().for_each(VecDeque::clear);
        // Bursts that have begun on the lane before, when the first of them did, and this one's part of them.
        let mut before: Option<(u64, Time, Time)> = None;
        for Track { lane, reason, lead, plan, first, pitch, state } in tracks {
            let CarState { done, next } = state;
            let length = plan[0].1 + plan[1].1;
            let (at, asked) = match next {
                Burst::Ahead => (At::Before, 0),
                Burst::Requested(request) => (At::Asked(request.into_ticket()), 1),
                Burst::UnderWay(burst) => {
                    let end = burst.ends_at();
                    let (grant, start) = burst.take_over();
                    let grant = grant.expect("a burst under way has its lane");
                    if end > now {
                        core.schedule(Event::wake(end, core.rank(task), task | CONVOY));
                    }
                    (At::On(grant.into_ticket(), start), 1)
                }
            };
            let number = convoy.stages.len();
            assert!(number < LANES, "a convoy has at most {LANES} lanes");
            if let Some((begun, first, pitch)) = before {
                convoy.open[number].extend((done + asked..begun).map(|k| first + pitch * k + lead.2));
            }
            before = Some((done + u64::from(matches!(at, At::On(..))), first, pitch));
            let lead = (lead.0.id, lead.1, lead.2);
            let (index, asked_before) = (done as u32, (done + asked) as u32);
            convoy.stages.push(Stage { lane: lane.id, reason, lead, plan, length, asked_before, index, at });
        }
        core.convoys[task as usize] = Some(convoy);
        Convoying { sim: self, task }
    }
}

/// A convoy on its way. Dropping it ends what is under way now.
pub struct Convoying<'a> {
    sim: &'a Sim,
    task: u32,
}

impl Future for Convoying<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let shared = &*self.sim.shared;
        let core = &mut *shared.core.borrow_mut();
        if !core.has_convoy(self.task) || shared.ride(core, self.task) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Convoying<'_> {
    fn drop(&mut self) {
        let shared = &*self.sim.shared;
        let (core, now) = (&mut *shared.core.borrow_mut(), shared.now.get());
        let Some(Some(convoy)) = core.convoys.get_mut(self.task as usize) else { return };
        for stage in std::mem::take(&mut convoy.stages) {
            let until = match stage.at {
                At::Led(until) => until,
                At::On(ticket, start) => {
                    core.record_plan(stage.lane, self.task, &stage.plan, start, now);
                    core.release(stage.lane, ticket, now);
                    start + stage.length
                }
                At::Asked(ticket) => {
                    core.withdraw(stage.lane, ticket, now);
                    continue;
                }
                At::Before | At::Over => continue,
            };
            if until > now {
                core.cancel_timer(self.task | CONVOY, until);
            }
        }
    }
}
