//! Arbitration: who has a lane, and who gets it next.
//!
//! Requests of one instant (on a clocked lane: of one clock) are all queued before one is granted: first by
//! priority, then by when they came, then by the names of those who asked. A release hands over through
//! arbitration, so that nobody overtakes and nothing recurses.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::Time;
use crate::bookings::Bookings;
use crate::convoy::process_of;
use crate::core::{Core, Shared, TICKET_MAX};
use crate::events::{Event, order_of_class};
use crate::hold::Interruptible;
use crate::in_order::insert_behind;
use crate::lane::Rate;
use crate::pace::Pace;
use crate::record::{Label, Record};

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
    /// Turns that somebody who waits has offered to take.
    pub(crate) offered: Option<u32>,
    pub(crate) interruptible: Option<Interruptible>,
    pub(crate) rates: Vec<Rate>,
    /// Seen by every handle.
    pace: Rc<Cell<Pace>>,
    /// Whether its phases are metered.
    pub(crate) metered: bool,
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
            offered: None,
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
    #[inline]
    pub(crate) fn edge(&self, at: Time) -> Time {
        self.clock.map_or(at, |clock| at.edge(clock))
    }

    /// Whether nobody has the lane at `at`, now or later, or asks for it.
    #[inline]
    pub(crate) fn is_free(&self, at: Time) -> bool {
        !self.is_held(at) && !self.is_asked_for() && self.booked.are_over(at) && self.train.is_none()
    }

    /// Whether a train or ways have booked it.
    #[inline]
    fn is_booked(&self) -> bool {
        self.train.is_some() || !self.booked.is_empty()
    }

    fn is_held(&self, at: Time) -> bool {
        self.holder != 0 && (self.holder != LEFT || self.left_until > at)
    }

    pub(crate) fn is_asked_for(&self) -> bool {
        !self.waiters.is_empty() || self.arbitrating
    }

    /// Whether nobody has it, or has booked it, and the request with this ticket is the only one, and has waited so long.
    pub(crate) fn is_only_asked_for_by(&self, ticket: u64, waited: Time, now: Time) -> bool {
        let is_it = |waiter: &Waiter| waiter.ticket() == ticket && waiter.since + waited == now;
        let is_free = self.holder == 0 && self.train.is_none() && self.booked.are_over(now);
        is_free && self.arbitrating && self.waiters.len() == 1 && self.waiters.front().is_some_and(is_it)
    }

    /// From when on ways may book it, of whose requests nobody else must know, until a train comes; nothing while somebody
    /// has it who may keep it, or asks for it.
    pub(crate) fn free_for_ways(&self) -> Option<Time> {
        if self.clock.is_some() || self.metered || self.is_asked_for() {
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
        self.waiters.iter().map(|w| (process_of(w.task), w.reason))
    }
}

impl Core {
    /// Gives a free lane to the best of its waiters, whose task can go on.
    #[inline]
    pub(crate) fn arbitrate(&mut self, lane: u32, now: Time) -> Option<u32> {
        let state = &mut self.lanes[lane as usize];
        state.arbitrating = false;
        if state.is_held(now) {
            return None;
        }
        let w = state.waiters.pop_front()?;
        state.holder = w.ticket();
        self.counts.grants += 1;
        self.record_wait(lane, process_of(w.task), w.reason, w.since, now);
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
    #[inline]
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
        if self.observed() {
            self.record_phases((lane, task), plan, start, now);
        }
    }

    fn record_phases(&mut self, (lane, task): (u32, u32), plan: &[(&'static Label, Time)], start: Time, now: Time) {
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
        let state = &self.lanes[lane as usize];
        if !state.arbitrating && !state.waiters.is_empty() && matches!(state.holder, 0 | LEFT) {
            self.begin_arbitration(lane, now);
        }
    }

    /// Of a lane that nobody keeps. By itself, since mostly there is nothing to begin.
    #[inline(never)]
    fn begin_arbitration(&mut self, lane: u32, now: Time) {
        let state = &mut self.lanes[lane as usize];
        let free_at = if state.holder == LEFT { state.left_until.max(now) } else { now };
        state.arbitrating = true;
        let (at, class) = (state.edge(free_at), state.class);
        self.schedule(Event::arbitrate(at, class, lane));
    }

    /// Forgets the requests for a lane that would be granted now.
    pub(crate) fn is_asked_for_no_more(&mut self, lane: u32, now: Time) {
        let state = &mut self.lanes[lane as usize];
        state.waiters.clear();
        if std::mem::replace(&mut state.arbitrating, false) {
            let class = state.class;
            self.events.cancel(Event::arbitrate(now, class, lane));
        }
    }

    /// Whatever is booked on a lane goes on by hand: somebody asks for it.
    #[cold]
    fn end_what_is_booked_on(&mut self, lane: u32, now: Time) {
        self.cut_train_on(lane, now);
        self.end_ways_on(lane, now);
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
        insert_behind(&mut state.waiters, Waiter { order, since, task, reason }, move |known| known.order <= order);
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
    pub(crate) fn release(&mut self, lane: u32, ticket: u64, now: Time) {
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
        if core.lanes[lane as usize].is_booked() {
            core.end_what_is_booked_on(lane, now);
        }
        let state = &core.lanes[lane as usize];
        let (edge, class) = (state.edge(now), state.class);
        if state.is_free(now) && self.may_skip(core, edge) {
            // Nobody else does anything before this lane would be granted: it is granted here.
            self.advance(core, edge, order_of_class(class));
            let ticket = core.take_over(lane);
            core.record_wait(lane, task, reason, now, edge);
            return Asked::Granted(ticket);
        }
        Asked::Queued(core.enqueue(lane, task, priority, reason, now, now))
    }
}
