//! Lanes: what one transaction at a time can occupy, with their arbitration.
//!
//! Requests of one instant (on a clocked lane: of one clock) are all queued before one is granted: first by
//! priority, then by when they came, then by the names of those who asked. A release hands over through
//! arbitration, so that nobody overtakes and nothing recurses.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::Time;
use crate::ahead::Bookings;
use crate::core::{Core, Shared, TICKET_MAX};
use crate::events::Event;
use crate::hold::{Hold, Interruptible};
use crate::pace::Pace;
use crate::record::{Label, Record};
use crate::sim::Sim;

pub(crate) struct Waiter {
    /// Priority, clock edge, rank of the name, ticket; packed, for one comparison.
    order: u128,
    since: Time,
    task: u32,
    reason: &'static Label,
}

impl Waiter {
    pub(crate) fn priority(&self) -> u8 {
        (self.order >> 120) as u8
    }

    fn ticket(&self) -> u64 {
        self.order as u64 & TICKET_MAX
    }
}

/// Stands for a holder who has left: the lane ends its phases by itself.
const LEFT: u64 = u64::MAX;

pub(crate) struct LaneState {
    pub(crate) name: String,
    pub(crate) clock: Option<Time>,
    pub(crate) class: u32,
    /// Ticket of the holder; zero where the lane is free.
    holder: u64,
    /// When the lane is free again whose holder has left.
    left_until: Time,
    /// The best first.
    pub(crate) waiters: VecDeque<Waiter>,
    arbitrating: bool,
    /// What ways will do here.
    pub(crate) booked: Bookings,
    /// The train that runs on this lane.
    pub(crate) train: Option<u32>,
    pub(crate) interruptible: Option<Interruptible>,
    pub(crate) rates: Vec<Rate>,
    /// Seen by every handle.
    pace: Rc<Cell<Pace>>,
    /// Whether its phases are metered.
    pub(crate) metered: bool,
}

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

impl LaneState {
    pub(crate) fn new(name: &str, clock: Option<Time>, pace: Rc<Cell<Pace>>) -> LaneState {
        LaneState {
            name: name.to_string(),
            clock,
            class: 0,
            holder: 0,
            left_until: Time::ZERO,
            waiters: VecDeque::new(),
            arbitrating: false,
            booked: Bookings::default(),
            train: None,
            interruptible: None,
            rates: Vec::new(),
            pace,
            metered: false,
        }
    }

    /// The clock and the rates change with the pace; whatever else does, a part asks the lane for.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        assert!(self.pace.replace(pace).is_one(), "a lane's pace is set once");
        self.clock = self.clock.map(|clock| pace.of(clock));
        self.rates.iter_mut().for_each(|rate| rate.per = pace.of(rate.per));
    }

    /// When a request made at `at` is looked at.
    pub(crate) fn edge(&self, at: Time) -> Time {
        self.clock.map_or(at, |clock| at.edge(clock))
    }

    /// Whether nobody has the lane at `at`, now or later, or asks for it.
    pub(crate) fn is_free(&self, at: Time) -> bool {
        let held = self.holder != 0 && (self.holder != LEFT || self.left_until > at);
        let asked_for = !self.waiters.is_empty() || self.arbitrating || !self.booked.are_over(at);
        !held && !asked_for && self.train.is_none()
    }

    /// From when on ways may book it, of whose requests nobody else must know; nothing while somebody has it who may keep
    /// it, or asks for it.
    pub(crate) fn free_for_ways(&self) -> Option<Time> {
        let by_hand = self.clock.is_some() || self.metered || self.train.is_some();
        if by_hand || !self.waiters.is_empty() || self.arbitrating {
            return None;
        }
        match self.holder {
            0 => Some(Time::ZERO),
            LEFT => Some(self.left_until),
            _ => None,
        }
    }

    /// Nobody has it any more; it is free from `until` on.
    pub(crate) fn leave_to_itself(&mut self, until: Time) {
        (self.holder, self.left_until) = (LEFT, until);
    }

    /// How many wait at `now`.
    pub(crate) fn waiters(&self, now: Time) -> usize {
        self.waiters.len() + self.booked.waiting(now)
    }

    pub(crate) fn waiting(&self) -> impl Iterator<Item = (u32, &'static Label)> + '_ {
        self.waiters.iter().map(|w| (w.task, w.reason))
    }
}

impl Core {
    /// Gives a free lane to the best of its waiters, whose task can go on.
    #[inline]
    pub(crate) fn arbitrate(&mut self, lane: u32, now: Time) -> Option<u32> {
        let state = &mut self.lanes[lane as usize];
        state.arbitrating = false;
        if state.holder != 0 && (state.holder != LEFT || state.left_until > now) {
            return None;
        }
        let w = state.waiters.pop_front()?;
        state.holder = w.ticket();
        self.counts.grants += 1;
        self.record_wait(lane, w.task, w.reason, w.since, now);
        Some(w.task)
    }

    #[inline]
    pub(crate) fn record_wait(&mut self, lane: u32, task: u32, label: &'static Label, since: Time, now: Time) {
        if self.observed() && now > since {
            let (lane, who, span) = (lane as u16, task as u16, now - since);
            self.record(Record::LaneWait { lane, who, label, at: since, span });
        }
    }

    /// Records the phases of a plan that began at `start`, as far as they have come by `now`.
    pub(crate) fn record_plan(
        &mut self,
        lane: u32,
        task: u32,
        plan: &[(&'static Label, Time)],
        start: Time,
        now: Time,
    ) {
        if self.lanes[lane as usize].metered {
            self.meter_plan(plan, start, now);
        }
        if !self.observed() {
            return;
        }
        let (lane, who) = (lane as u16, task as u16);
        let mut at = start;
        for &(label, span) in plan {
            let span = span.min(now.saturating_sub(at));
            if span > Time::ZERO {
                self.record(Record::Phase { lane, who, label, at, span });
            }
            at += span;
        }
    }

    #[inline]
    pub(crate) fn schedule_arbitration(&mut self, lane: u32, now: Time) {
        let state = &mut self.lanes[lane as usize];
        let free_at = match state.holder {
            0 => now,
            LEFT => state.left_until.max(now),
            _ => return,
        };
        if !state.arbitrating && !state.waiters.is_empty() {
            state.arbitrating = true;
            let (at, class) = (state.edge(free_at), state.class);
            self.schedule(Event::arbitrate(at, class, lane));
        }
    }

    /// Queues a request that was made at `since`; returns its ticket.
    pub(crate) fn enqueue(
        &mut self,
        lane: u32,
        task: u32,
        priority: u8,
        reason: &'static Label,
        since: Time,
        now: Time,
    ) -> u64 {
        let (ticket, rank) = (self.next_ticket(), self.rank(task));
        let state = &mut self.lanes[lane as usize];
        let (edge, low) = (state.edge(since).as_ps(), (u64::from(rank) << 40) | ticket);
        let order = (u128::from(priority) << 120) | (u128::from(edge) << 56) | u128::from(low);
        // Whoever comes later is hardly ever better.
        let mut position = state.waiters.len();
        while position > 0 && state.waiters[position - 1].order > order {
            position -= 1;
        }
        state.waiters.insert(position, Waiter { order, since, task, reason });
        if let Some(hold) = state.interruptible.as_mut()
            && let Some(woken) = hold.ask(priority, now)
        {
            self.wake(woken);
        }
        self.schedule_arbitration(lane, now);
        ticket
    }

    /// Makes someone the holder of a free lane at once; returns the ticket.
    #[inline]
    pub(crate) fn take_over(&mut self, lane: u32) -> u64 {
        let ticket = self.next_ticket();
        self.lanes[lane as usize].holder = ticket;
        self.counts.grants += 1;
        ticket
    }

    #[inline]
    fn release(&mut self, lane: u32, ticket: u64, now: Time) {
        let state = &mut self.lanes[lane as usize];
        assert_eq!(state.holder, ticket, "only the holder releases a lane");
        state.holder = 0;
        state.interruptible = None;
        self.schedule_arbitration(lane, now);
    }

    /// Whether the request with this ticket has been granted.
    #[inline]
    pub(crate) fn holds(&self, lane: u32, ticket: u64) -> bool {
        self.lanes[lane as usize].holder == ticket
    }

    /// Takes a request back, or what it was granted.
    pub(crate) fn withdraw(&mut self, lane: u32, ticket: u64, now: Time) {
        if self.holds(lane, ticket) {
            self.release(lane, ticket, now);
        } else {
            self.lanes[lane as usize].waiters.retain(|w| w.ticket() != ticket);
        }
    }

    /// The holder leaves; the lane is free from `until` on.
    #[inline]
    pub(crate) fn leave(&mut self, lane: u32, ticket: u64, until: Time, now: Time) {
        let state = &mut self.lanes[lane as usize];
        assert_eq!(state.holder, ticket, "only the holder leaves a lane");
        state.leave_to_itself(until);
        state.interruptible = None;
        self.schedule_arbitration(lane, now);
    }
}

/// What became of a request for a lane: the ticket.
pub(crate) enum Asked {
    /// It is granted.
    Granted(u64),
    /// It waits for others, or for its arbitration.
    Queued(u64),
}

impl Shared {
    /// A task asks for a lane now.
    #[inline]
    pub(crate) fn ask(&self, core: &mut Core, lane: u32, task: u32, priority: u8, reason: &'static Label) -> Asked {
        let now = self.now.get();
        if let Some(train) = core.lanes[lane as usize].train {
            core.cut_train(train, now);
        }
        if !core.lanes[lane as usize].booked.is_empty() {
            core.end_ways_on(lane, now);
        }
        let state = &core.lanes[lane as usize];
        let (edge, class) = (state.edge(now), state.class);
        if state.is_free(now) && core.may_skip(edge) {
            // Nobody else does anything before this lane would be granted: it is granted here.
            self.advance(core, edge, class);
            let ticket = core.take_over(lane);
            core.record_wait(lane, task, reason, now, edge);
            return Asked::Granted(ticket);
        }
        Asked::Queued(core.enqueue(lane, task, priority, reason, now, now))
    }
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

    /// Asks for the lane, waiting for `reason`.
    pub fn acquire(&self, reason: &'static Label) -> Acquire<'_> {
        self.acquire_with(0, reason)
    }

    /// Asks with a priority; 0 is the best.
    pub fn acquire_with(&self, priority: u8, reason: &'static Label) -> Acquire<'_> {
        Acquire { lane: self, priority, reason, ticket: 0 }
    }

    /// Takes up a grant of this lane that somebody has handed over.
    pub fn take_up(&self, handed: HandedOver) -> Grant<'_> {
        assert_eq!(handed.lane, self.id, "a grant is of one lane");
        Grant { lane: self, ticket: handed.ticket }
    }

    /// Says how fast the lane moves bytes in `phase`, whatever was said of that phase before.
    pub fn carries(&self, phase: &'static Label, bytes: u64, per: Time) {
        let rate = Rate { phase, bytes, per };
        let rates = &mut self.sim.shared.core.borrow_mut().lanes[self.id as usize].rates;
        match rates.iter_mut().find(|known| known.phase == phase) {
            Some(known) => *known = rate,
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

    pub(crate) fn held(lane: &'a Lane, ticket: u64) -> Grant<'a> {
        Grant { lane, ticket }
    }

    /// Spends time in a phase.
    pub fn hold(&self, phase: &'static Label, span: Time) -> Hold<'_, [(&'static Label, Time); 1]> {
        self.hold_plan([(phase, span)])
    }

    /// Spends time in several phases, one after the other.
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
