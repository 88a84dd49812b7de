//! Ways: lane after lane, each left to its phases, which the event loop goes by itself.
//!
//! ```text
//!   leg     lane: asked for ─▶ granted ─▶ phases, by themselves ─▶ what is owed to parts ─▶ the next leg
//! ```
//!
//! What a process would do by hand (ask for a lane, leave it to its plan, wait until that and the flight behind it are
//! over, ask for the next one) goes on without the process being polled, until the last leg is over: requests, grants,
//! waits and records are those of the same steps by hand, at the same instants and in the same order. Where nobody
//! observes, legs are booked ahead (`ahead`). Within [`join`](crate::join) and [`race`](crate::race), where other
//! branches have their turns at the same instants, the process goes its legs itself.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::Time;
use crate::arbitration::Asked;
use crate::core::{Core, Shared, Wait};
use crate::lane::Lane;
use crate::record::{Label, Record};
use crate::sim::Sim;
use crate::train::Lead;

/// Delays at the end of a leg, at most.
const OWED: usize = 2;

type Phase = (&'static Label, Time);

/// A lane to pass: why it is waited for, and its phases.
#[derive(Clone)]
struct Pass {
    lane: u32,
    reason: &'static Label,
    plan: [Phase; 2],
}

/// A lane on a way, and what follows behind it.
#[derive(Clone)]
pub struct Leg {
    pass: Option<Pass>,
    /// Delays that are owed to lanes' parts, one after the other.
    owed: [Option<(u32, &'static Label, Time)>; OWED],
    /// All of the phases, and of what is owed.
    occupied: Time,
    delayed: Time,
}

impl Leg {
    /// Asks for `lane` and leaves it to the phases of `plan`.
    pub fn over(lane: &Lane, reason: &'static Label, plan: [Phase; 2]) -> Leg {
        let occupied = plan[0].1 + plan[1].1;
        Leg { pass: Some(Pass { lane: lane.id, reason, plan }), owed: [None; OWED], occupied, delayed: Time::ZERO }
    }

    /// The lane, if there is one.
    #[inline]
    pub(crate) fn lane(&self) -> Option<u32> {
        self.pass.as_ref().map(|pass| pass.lane)
    }

    /// Why it is waited for.
    pub(crate) fn reason(&self) -> &'static Label {
        self.pass.as_ref().expect("a leg without a lane waits for none").reason
    }

    /// How long the phases take.
    #[inline]
    pub(crate) fn occupied(&self) -> Time {
        self.occupied
    }

    /// How long what is owed behind them takes.
    #[inline]
    pub(crate) fn delayed(&self) -> Time {
        self.delayed
    }

    /// Nothing but what is owed.
    pub fn owing(leads: &[Lead<'_>]) -> Leg {
        Leg { pass: None, owed: [None; OWED], occupied: Time::ZERO, delayed: Time::ZERO }.then(leads)
    }

    /// Behind it these delays are owed, one after the other: two at most, over all calls.
    #[must_use]
    pub fn then(mut self, leads: &[Lead<'_>]) -> Leg {
        for &(lane, label, span) in leads {
            let place = self.owed.iter_mut().find(|owed| owed.is_none()).expect("at most two delays behind a lane");
            *place = Some((lane.id, label, span));
            self.delayed += span;
        }
        self
    }
}

/// Where a process is on its way.
#[derive(Clone, Copy)]
pub(crate) struct Progress {
    leg: usize,
    at: At,
    /// The ticket of the lane that was asked for, or when the leg is over, in picoseconds.
    mark: u64,
    /// It has booked the legs up to this one.
    booked: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// The leg has not begun.
    Before,
    /// Its lane has been asked for.
    Asked,
    /// The lane has been left, or there was none.
    Left,
    /// The same, and no timer is set.
    Still,
}

impl Progress {
    /// Before a leg.
    pub(crate) fn at(leg: usize) -> Progress {
        Progress { leg, at: At::Before, mark: 0, booked: false }
    }
}

impl Shared {
    /// Goes on, as far as can be gone now; whether the last leg is over.
    #[inline]
    pub(crate) fn go(&self, core: &mut Core, task: u32, legs: &[Leg], progress: &mut Progress) -> bool {
        let Progress { leg: mut number, mut at, mark, .. } = *progress;
        while let Some(leg) = legs.get(number) {
            if at == At::Before
                && self.combined.get().is_none()
                && let Some((count, over)) = core.book_way(task, legs, number, self.now.get())
            {
                number += count;
                let at = match self.begin_wait(core, task, over) {
                    Wait::Over => continue,
                    Wait::Timer => At::Left,
                    Wait::Still => At::Still,
                };
                let booked = at == At::Left;
                *progress = Progress { leg: number - 1, at, mark: over.as_ps(), booked };
                return false;
            }
            let end = match (at, &leg.pass) {
                (At::Before, None) => Some(self.now.get()),
                (At::Before, Some(pass)) => match self.ask(core, pass.lane, task, 0, pass.reason) {
                    Asked::Granted(ticket) => Some(self.pass(core, task, leg, pass, ticket)),
                    Asked::Queued(ticket) => {
                        *progress = Progress { leg: number, at: At::Asked, mark: ticket, booked: false };
                        return false;
                    }
                },
                (At::Asked, Some(pass)) if core.holds(pass.lane, mark) => Some(self.pass(core, task, leg, pass, mark)),
                (At::Left | At::Still, _) if self.now.get().as_ps() >= mark => None,
                _ => return false,
            };
            if let Some(end) = end {
                let over = end + leg.delayed;
                let at = match self.begin_wait(core, task, over) {
                    Wait::Over => At::Before,
                    Wait::Timer => At::Left,
                    Wait::Still => At::Still,
                };
                if at != At::Before {
                    *progress = Progress { leg: number, at, mark: over.as_ps(), booked: false };
                    return false;
                }
            }
            if leg.delayed > Time::ZERO && core.observed() {
                self.record_owed(core, task, leg);
            }
            (number, at) = (number + 1, At::Before);
        }
        true
    }

    /// A task whose legs the event loop goes has been woken; whether the last one is over.
    #[inline]
    pub(crate) fn go_on(&self, core: &mut Core, task: u32) -> bool {
        let Some(Going { legs, until, progress }) = &core.going[task as usize] else { return true };
        let (legs, until, mut progress) = (legs.clone(), *until, *progress);
        let over = self.go(core, task, &legs[..until], &mut progress);
        match &mut core.going[task as usize] {
            Some(going) if !over => going.progress = progress,
            going => *going = None,
        }
        over
    }

    /// Has the lane, which is granted, go through its phases by itself; returns when they are over.
    #[inline]
    fn pass(&self, core: &mut Core, task: u32, leg: &Leg, pass: &Pass, ticket: u64) -> Time {
        let now = self.now.get();
        let until = now + leg.occupied;
        core.record_plan(pass.lane, task, &pass.plan, now, until);
        core.leave(pass.lane, ticket, until, now);
        until
    }

    #[cold]
    fn record_owed(&self, core: &mut Core, task: u32, leg: &Leg) {
        let mut at = self.now.get() - leg.delayed;
        for &(lane, label, span) in leg.owed.iter().flatten() {
            if span > Time::ZERO {
                core.record(Record::Delay { lane: lane as u16, who: task as u16, label, at, span });
            }
            at += span;
        }
    }

    /// Takes back what a way that is given up waits for.
    fn give_up(&self, core: &mut Core, task: u32, legs: &[Leg], progress: Progress) {
        match (progress.at, &legs[progress.leg].pass) {
            (At::Asked, Some(pass)) => core.withdraw(pass.lane, progress.mark, self.now.get()),
            (At::Left, _) if self.now.get().as_ps() < progress.mark => {
                core.cancel_timer(task, Time::ps(progress.mark));
            }
            _ => {}
        }
    }
}

/// Whose legs the event loop goes.
pub(crate) struct Going {
    legs: Rc<[Leg]>,
    /// It goes so many of them.
    until: usize,
    progress: Progress,
}

impl Going {
    pub(crate) fn new(legs: Rc<[Leg]>, until: usize, progress: Progress) -> Going {
        Going { legs, until, progress }
    }

    /// All of a way, of which it goes the first `until` legs.
    pub(crate) fn legs(&self) -> &Rc<[Leg]> {
        &self.legs
    }

    /// When what is booked is over.
    pub(crate) fn over(&self) -> Time {
        Time::ps(self.progress.mark)
    }

    pub(crate) fn is_booked(&self) -> bool {
        self.progress.booked
    }

    /// It waits for the lane of a leg.
    pub(crate) fn waits_at(&mut self, leg: usize, ticket: u64) {
        self.progress = Progress { leg, at: At::Asked, mark: ticket, booked: false };
    }

    /// It is on a leg that is over then, and a timer is set.
    pub(crate) fn is_over_at(&mut self, leg: usize, over: Time) {
        self.progress = Progress { leg, at: At::Left, mark: over.as_ps(), booked: false };
    }
}

impl Sim {
    /// Goes a way: ends when the last leg is over.
    pub fn go(&self, legs: Rc<[Leg]>) -> Way<'_> {
        Way { sim: self, task: 0, legs: Some(legs), progress: Progress::at(0), begun: false }
    }
}

/// A way under way. Dropping it gives it up, where it is.
pub struct Way<'a> {
    sim: &'a Sim,
    task: u32,
    /// Nothing while the event loop goes them, and at the end.
    legs: Option<Rc<[Leg]>>,
    progress: Progress,
    begun: bool,
}

impl Future for Way<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let shared = &*this.sim.shared;
        let mut core = shared.core.borrow_mut();
        if !std::mem::replace(&mut this.begun, true) {
            this.task = shared.current.get();
        }
        let task = this.task;
        let Some(legs) = &this.legs else {
            // The event loop has gone them, unless the process was woken for something else.
            return if core.going[task as usize].is_none() { Poll::Ready(()) } else { Poll::Pending };
        };
        if shared.go(&mut core, task, legs, &mut this.progress) {
            this.legs = None;
            return Poll::Ready(());
        }
        if shared.combined.get().is_none() {
            let going = |legs: Rc<[Leg]>| Going { until: legs.len(), legs, progress: this.progress };
            core.going[task as usize] = this.legs.take().map(going);
            core.is_taken_along[task as usize] = true;
        }
        Poll::Pending
    }
}

impl Drop for Way<'_> {
    fn drop(&mut self) {
        if !self.begun {
            return;
        }
        let shared = &*self.sim.shared;
        let mut core = shared.core.borrow_mut();
        match self.legs.take() {
            Some(legs) => shared.give_up(&mut core, self.task, &legs, self.progress),
            None => {
                if core.going[self.task as usize].as_ref().is_some_and(Going::is_booked) {
                    core.end_way_of(self.task, shared.now.get());
                }
                if let Some(Going { legs, progress, .. }) = core.going[self.task as usize].take() {
                    shared.give_up(&mut core, self.task, &legs, progress);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Either, Ended, race};

    static BUSY: Label = Label::reason("lane busy");
    static DATA: Label = Label::payload("data");
    static FLIGHT: Label = Label::protocol("flight");

    /// Somebody goes over a lane that another one holds until 100 ns, and wants for a nanosecond at 110 ns, and gives up
    /// after `patience`, from 20 ns on. When is the run over?
    fn given_up_after(patience: Time) -> Time {
        let sim = Sim::new();
        let lane = sim.lane("lane", None);
        let (s, l) = (sim.clone(), lane.clone());
        sim.process("first", async move {
            let grant = l.acquire(&BUSY).await;
            grant.hold(&DATA, Time::ns(100)).await;
            drop(grant);
            s.wait(Time::ns(10)).await;
            let grant = l.acquire(&BUSY).await;
            grant.hold(&DATA, Time::ns(1)).await;
        });
        let (s, l) = (sim.clone(), lane.clone());
        sim.process("second", async move {
            s.wait(Time::ns(20)).await;
            let plan = [(&DATA, Time::ns(30)), (&DATA, Time::ZERO)];
            let legs = [Leg::over(&l, &BUSY, plan).then(&[(&l, &FLIGHT, Time::ns(500))])];
            let went = race(&s, s.go(Rc::new(legs)), s.wait(patience)).await;
            assert_eq!(went, if patience > Time::ns(610) { Either::Left(()) } else { Either::Right(()) });
        });
        assert_eq!(sim.run(Time::us(1)), Ended::Finished);
        let end = sim.now();
        sim.tear_down();
        end
    }

    #[test]
    fn a_way_that_is_given_up_asks_for_nothing_any_more() {
        // Before the lane is free: nobody has it in between.
        assert_eq!(given_up_after(Time::ns(50)), Time::ns(111));
        // While its phases pass, which they do all the same; its timer is gone.
        assert_eq!(given_up_after(Time::ns(95)), Time::ns(131));
        // Not at all: what it raced against is gone.
        assert_eq!(given_up_after(Time::ns(700)), Time::ns(630));
    }

    #[test]
    fn processes_that_end_in_the_middle_of_a_way_leave_nothing_behind() {
        let sim = Sim::new();
        let lane = sim.lane("lane", None);
        for name in ["one", "two"] {
            let (s, l) = (sim.clone(), lane.clone());
            sim.process(name, async move {
                let plan = [(&DATA, Time::ns(30)), (&DATA, Time::ZERO)];
                s.go([Leg::over(&l, &BUSY, plan)].into()).await;
            });
        }
        assert_eq!(sim.run(Time::ns(10)), Ended::Limit);
        sim.tear_down();
        let core = sim.shared.core.borrow();
        assert!(core.going.iter().all(Option::is_none) && core.lanes[0].waiters(Time::ZERO) == 0);
    }
}
