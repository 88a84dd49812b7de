//! Lanes: what one transaction at a time can occupy. Whoever wants one asks for it, has the right to it, and lets go of
//! it; who gets it when is `arbitration`.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::Time;
use crate::arbitration::Asked;
use crate::hold::Hold;
use crate::pace::Pace;
use crate::record::{Label, Record};
use crate::sim::Sim;

/// How fast a lane moves bytes in one of its phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The phase.
    pub phase: &'static Label,
    /// So many bytes…
    pub bytes: u64,
    /// …in this time.
    pub per: Time,
}

/// What one transaction at a time can occupy. A handle: clones are the same lane.
#[derive(Clone)]
pub struct Lane {
    pub(crate) sim: Sim,
    pub(crate) id: u32,
    pub(crate) pace: Rc<Cell<Pace>>,
}

impl Lane {
    /// The lane's number, as records name it.
    pub fn number(&self) -> u16 {
        self.id as u16
    }

    /// How long what takes `span` by the data takes at this lane's pace. Every span that a part computes for a phase of
    /// the lane, for a delay that is owed to it, or for an instant ahead goes through here exactly once.
    #[inline]
    pub fn paced(&self, span: Time) -> Time {
        let pace = self.pace.get();
        if pace.is_one() { span } else { pace.of(span) }
    }

    /// The period of the clock, at the lane's pace.
    pub fn clock(&self) -> Option<Time> {
        self.sim.shared.core.borrow().lanes[self.id as usize].clock
    }

    /// Changes the clock, before the run: whatever is plugged into a bus may slow it down.
    pub fn set_clock(&self, clock: Time) {
        self.sim.shared.core.borrow_mut().lanes[self.id as usize].clock = Some(clock);
    }

    /// Whether nobody will have the lane at `at`, as far as can be seen now, and nobody asks for it: only then a train can
    /// be booked on it.
    pub fn is_free_at(&self, at: Time) -> bool {
        self.sim.shared.core.borrow().lanes[self.id as usize].is_free(at)
    }

    /// Whether somebody waits for the lane.
    pub fn is_asked_for(&self) -> bool {
        self.sim.shared.core.borrow().lanes[self.id as usize].is_asked_for()
    }

    /// Asks for the lane, waiting for `reason`.
    #[inline(always)]
    pub fn acquire(&self, reason: &'static Label) -> Acquire<'_> {
        self.acquire_with(0, reason)
    }

    /// Asks with a priority; 0 is the best.
    #[inline(always)]
    pub fn acquire_with(&self, priority: u8, reason: &'static Label) -> Acquire<'_> {
        Acquire { lane: self, priority, reason, ticket: 0 }
    }

    /// Takes up a grant of this lane that somebody has handed over.
    pub fn take_up(&self, handed: HandedOver) -> Grant<'_> {
        assert_eq!(handed.lane, self.id, "a grant is of one lane");
        Grant { lane: self, ticket: handed.ticket }
    }

    /// Says how fast the lane moves bytes in `phase`: whatever was said of that phase before, until time goes on. From
    /// then on it has to stay so, since what was moved is made out from the time in that phase.
    pub fn carries(&self, phase: &'static Label, bytes: u64, per: Time) {
        let rate = Rate { phase, bytes, per };
        let settled = self.sim.now() > Time::ZERO;
        let rates = &mut self.sim.shared.core.borrow_mut().lanes[self.id as usize].rates;
        match rates.iter_mut().find(|known| known.phase == phase) {
            Some(known) => {
                assert!(!settled || *known == rate, "the rate of a phase does not change: {}", phase.name);
                *known = rate;
            }
            None => rates.push(rate),
        }
    }

    /// Nothing for `span`, because of `label`: a delay that this lane's part asks of whoever comes, free or not.
    pub async fn delay(&self, label: &'static Label, span: Time) {
        self.delay_until(label, self.sim.now() + span).await;
    }

    /// The same until an instant that is known.
    pub async fn delay_until(&self, label: &'static Label, until: Time) {
        let start = self.sim.now();
        self.sim.wait_until(until).await;
        self.delayed(label, start, until);
    }

    /// The same for `span` from an instant on, now or later: who waits for that, too, waits once.
    pub async fn delay_from(&self, start: Time, label: &'static Label, span: Time) {
        self.sim.wait_until(start + span).await;
        self.delayed(label, start, start + span);
    }

    /// Says that the current process was delayed from `start` until `end`, now or earlier.
    pub fn delayed(&self, label: &'static Label, start: Time, end: Time) {
        let mut core = self.sim.shared.core.borrow_mut();
        if core.observed() && end > start {
            let (lane, who) = (self.number(), self.sim.shared.current.get() as u16);
            core.record(Record::Delay { lane, who, label, at: start, span: end - start });
        }
    }

    /// Says that the current process waited from `start` until now for what this lane was doing.
    pub fn awaited(&self, reason: &'static Label, start: Time) {
        let task = self.sim.shared.current.get();
        self.sim.shared.core.borrow_mut().record_wait(self.id, task, reason, start, self.sim.now());
    }

    /// Says what the wires carry from now on, for those who draw them: `label` names it, `value` is it.
    #[inline]
    pub fn carried(&self, label: &'static Label, value: u64) {
        if self.is_drawn() {
            let (lane, who, at) = (self.number(), self.sim.shared.current.get() as u16, self.sim.now());
            self.sim.shared.core.borrow_mut().record(Record::Carried { lane, who, label, at, value });
        }
    }

    /// Whether somebody draws what the wires carry.
    #[inline]
    pub fn is_drawn(&self) -> bool {
        self.sim.shared.drawn.get()
    }

    /// Spends time in a phase of a lane that has only one user, who needs no grant.
    pub fn spend(&self, phase: &'static Label, span: Time) -> Hold<'_, [(&'static Label, Time); 1]> {
        Hold::new(self, [(phase, span)])
    }

    /// Says that this lane was in `phase` from `start` until now (a phase whose length was not known before).
    #[inline]
    pub fn was_in(&self, phase: &'static Label, start: Time) {
        self.was_in_until(phase, start, self.sim.now());
    }

    /// Says that this lane was in the phases of `plan`, one after the other, `count` times: from `start` on, and every
    /// `pitch` again.
    pub fn was_in_repeatedly(&self, plan: &[(&'static Label, Time)], start: Time, pitch: Time, count: u64) {
        debug_assert!(plan.iter().fold(Time::ZERO, |sum, phase| sum + phase.1) <= pitch, "one after the other");
        let mut core = self.sim.shared.core.borrow_mut();
        if let (true, Some(&(label, _))) = (core.observed(), plan.first()) {
            let who = self.sim.shared.current.get();
            core.record_train((self.id, who), label, (start, pitch, count), plan);
        }
    }

    /// Says that this lane was in `phase` from `start` until `end`, now or earlier.
    pub fn was_in_until(&self, phase: &'static Label, start: Time, end: Time) {
        let task = self.sim.shared.current.get();
        self.sim.shared.core.borrow_mut().record_plan(self.id, task, &[(phase, end - start)], start, end);
    }
}

/// A request for a lane. Dropping it withdraws it.
pub struct Acquire<'a> {
    lane: &'a Lane,
    priority: u8,
    reason: &'static Label,
    ticket: u64,
}

impl<'a> Acquire<'a> {
    /// What has been asked for is whose that has the ticket.
    pub(crate) fn into_ticket(mut self) -> u64 {
        std::mem::take(&mut self.ticket)
    }

    pub(crate) fn queued(lane: &'a Lane, reason: &'static Label, ticket: u64) -> Acquire<'a> {
        Acquire { lane, priority: 0, reason, ticket }
    }
}

impl<'a> Future for Acquire<'a> {
    type Output = Grant<'a>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Grant<'a>> {
        if self.ticket == 0 {
            return self.begin();
        }
        let lane = self.lane;
        if !lane.sim.shared.core.borrow().holds(lane.id, self.ticket) {
            return Poll::Pending;
        }
        Poll::Ready(Grant { lane, ticket: std::mem::take(&mut self.ticket) })
    }
}

impl<'a> Acquire<'a> {
    #[inline]
    fn begin(&mut self) -> Poll<Grant<'a>> {
        let (lane, shared) = (self.lane, &*self.lane.sim.shared);
        let mut core = shared.core.borrow_mut();
        match shared.ask(&mut core, lane.id, shared.current.get(), self.priority, self.reason) {
            Asked::Granted(ticket) => Poll::Ready(Grant { lane, ticket }),
            Asked::Queued(ticket) => {
                self.ticket = ticket;
                Poll::Pending
            }
        }
    }
}

impl Drop for Acquire<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.ticket != 0 {
            let shared = &*self.lane.sim.shared;
            shared.core.borrow_mut().withdraw(self.lane.id, self.ticket, shared.now.get());
        }
    }
}

/// The right to a lane. Dropping it releases the lane.
pub struct Grant<'a> {
    pub(crate) lane: &'a Lane,
    ticket: u64,
}

/// A grant on its way from one process to another: the lane stays held.
#[must_use = "the lane stays held until somebody takes the grant up"]
pub struct HandedOver {
    lane: u32,
    ticket: u64,
}

impl<'a> Grant<'a> {
    /// Hands the lane over to whoever calls [`Lane::take_up`]; nobody else gets it before.
    pub fn hand_over(self) -> HandedOver {
        let handed = HandedOver { lane: self.lane.id, ticket: self.ticket };
        std::mem::forget(self);
        handed
    }

    /// Keeps the lane held by whoever has the ticket.
    pub(crate) fn into_ticket(self) -> u64 {
        self.hand_over().ticket
    }

    pub(crate) fn held(lane: &'a Lane, ticket: u64) -> Grant<'a> {
        Grant { lane, ticket }
    }

    /// Spends time in a phase.
    #[inline(always)]
    pub fn hold(&self, phase: &'static Label, span: Time) -> Hold<'_, [(&'static Label, Time); 1]> {
        self.hold_plan([(phase, span)])
    }

    /// Spends time in several phases, one after the other.
    #[inline(always)]
    pub fn hold_plan<P: AsRef<[(&'static Label, Time)]> + Unpin>(&self, plan: P) -> Hold<'_, P> {
        Hold::new(self.lane, plan)
    }

    /// Leaves the lane, which goes through the phases of `plan` by itself and is free then; returns when. Whoever has
    /// nothing else to wait for than what follows these phases waits once instead of twice.
    pub fn leave<P: AsRef<[(&'static Label, Time)]>>(self, plan: P) -> Time {
        let shared = &*self.lane.sim.shared;
        let (now, task, plan) = (shared.now.get(), shared.current.get(), plan.as_ref());
        let until = plan.iter().fold(now, |at, phase| at + phase.1);
        let mut core = shared.core.borrow_mut();
        core.record_plan(self.lane.id, task, plan, now, until);
        core.leave(self.lane.id, self.ticket, until, now);
        drop(core);
        std::mem::forget(self);
        until
    }

    /// Says that the lane was in `phase` from `start` until now.
    pub fn was_in(&self, phase: &'static Label, start: Time) {
        self.lane.was_in(phase, start);
    }

    /// Says that the lane was in `phase` from `start` until `end`.
    pub fn was_in_until(&self, phase: &'static Label, start: Time, end: Time) {
        self.lane.was_in_until(phase, start, end);
    }
}

impl Drop for Grant<'_> {
    #[inline]
    fn drop(&mut self) {
        let shared = &*self.lane.sim.shared;
        shared.core.borrow_mut().release(self.lane.id, self.ticket, shared.now.get());
    }
}
