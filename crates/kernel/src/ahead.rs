//! Ways ahead of time: what a way does on its lanes, made out at once.
//!
//! ```text
//!   lane a   ▐request ▐start ███ end▌                    lane b   ▐request …… ▐start ████ end▌
//!                                      └── flight ──▶             behind what another way has booked
//! ```
//!
//! Where nobody observes, the requests, grants and phases of a way need not be gone one by one: as long as its lanes are
//! asked for by ways only, all of them are known. So a way books them, each from its request to the end of its phases,
//! behind what was booked before, and its process sleeps until the last leg is over. A leg that cannot be made out, for it
//! would come before somebody who has booked, ends what is booked; it is looked at again when it is due.
//!
//! Whoever asks for a lane by himself ends the ways that have booked it, and those that reckoned with them: each is put
//! where it would be now, and goes on leg by leg. A run without that gives the same, to the bit.

use std::ops::Range;

use crate::Time;
use crate::booked::booked_place;
use crate::core::Core;
use crate::events::Event;
use crate::schedule::{Schedule, Slot, book_legs};
use crate::way::{Going, Leg};

impl Core {
    /// Books lanes for the legs of a task's way from `first` on, as far as they can be made out; returns how many legs
    /// that are, and when the last of them is over. Not for a task that polls several futures at once.
    pub(crate) fn book_way(&mut self, task: u32, legs: &[Leg], first: usize, now: Time) -> Option<(usize, Time)> {
        if self.observed || !self.trains_allowed {
            return None;
        }
        let rank = self.rank(task);
        let mut schedule = std::mem::take(&mut self.schedules[task as usize]);
        let booked = self.come_to(now);
        let over = book_legs((&mut self.lanes, &self.trains), (task, rank), (legs, first), now, booked, &mut schedule);
        let count = schedule.len();
        self.schedules[task as usize] = schedule;
        (count > 0).then_some((count, over))
    }

    /// Whether a lane has been granted to a way, whose start there is known.
    fn has_started(&self, lane: u32, start: Time, booked: (Time, u32, u64), now: Time) -> bool {
        let class = self.lanes[lane as usize].class;
        let (booked_at, booked_class, events) = booked;
        // Nothing but what is ready has had its turn since it was booked.
        let just_booked = booked_at == now && events == self.counts.events;
        start < now || (start == now && self.class_reached() >= class && !(just_booked && booked_class >= class))
    }

    /// Somebody asks for a lane by himself: ways that have booked it go on leg by leg.
    pub(crate) fn end_ways_on(&mut self, lane: u32, now: Time) {
        self.lanes[lane as usize].booked.forget(now);
        let mut ended = std::mem::take(&mut self.ended_ways);
        self.lanes[lane as usize].booked.name_from(0, now, &mut ended);
        self.end_ways(ended, now);
    }

    /// Every way goes on leg by leg, also one that is on none of its lanes now.
    pub(crate) fn end_all_ways(&mut self, now: Time) {
        let mut ended = std::mem::take(&mut self.ended_ways);
        let booked = |task: &u32| self.going[*task as usize].as_ref().is_some_and(Going::is_booked);
        ended.extend((0..self.going.len() as u32).filter(booked));
        self.name_booked(now, &mut ended);
        self.end_ways(ended, now);
    }

    /// The way of a task goes on leg by leg.
    pub(crate) fn end_way_of(&mut self, task: u32, now: Time) {
        let mut ended = std::mem::take(&mut self.ended_ways);
        ended.push(task);
        self.end_ways(ended, now);
    }

    /// These ways go on leg by leg, and with them those that reckoned with what they had booked.
    pub(crate) fn end_ways(&mut self, mut ended: Vec<u32>, now: Time) {
        let mut next = 0;
        while let Some(task) = ended.get(next).copied() {
            next += 1;
            if let Some(place) = booked_place(task) {
                self.end_crew_of(place, now, &mut ended);
            }
            self.take_off(task, now, &mut ended);
        }
        // Only now every lane that somebody is on shows it.
        for task in ended.drain(..) {
            match booked_place(task) {
                Some(place) => self.carry_by_hand(place, now),
                None => self.put_where_it_is(task, now),
            }
        }
        self.ended_ways = ended;
    }

    /// Takes the bookings of a way off its lanes, and names the ways that reckoned with them.
    fn take_off(&mut self, task: u32, now: Time, ended: &mut Vec<u32>) {
        let (legs, schedule) = match booked_place(task) {
            Some(place) => self.booked_way(place),
            None => {
                let Some(going) = &self.going[task as usize] else { return };
                (going.legs().clone(), &mut self.schedules[task as usize])
            }
        };
        let schedule = std::mem::take(schedule);
        let Schedule { slots, first, booked } = &schedule;
        for (Slot { begin: request, granted: start, .. }, leg) in slots.iter().zip(&legs[*first..]) {
            let Some(lane) = leg.lane() else { continue };
            let (end, started) = (*start + leg.occupied(), self.has_started(lane, *start, *booked, now));
            if started && end <= now {
                continue;
            }
            let state = &mut self.lanes[lane as usize];
            let Some(at) = state.booked.remove(task, *request) else { continue };
            if started {
                state.leave_to_itself(end);
                continue;
            }
            // Who is behind may come to be before; and where this one waits, it is to be seen for whom.
            let from = if *request <= now { 0 } else { at };
            state.booked.name_from(from, now, ended);
        }
        match booked_place(task) {
            Some(place) => *self.booked_way(place).1 = schedule,
            None => self.schedules[task as usize] = schedule,
        }
    }

    /// A way whose bookings are off its lanes goes on from where it is.
    fn put_where_it_is(&mut self, task: u32, now: Time) {
        let Some(going) = self.going[task as usize].take() else { return };
        let schedule = std::mem::take(&mut self.schedules[task as usize]);
        self.cancel_timer(task, going.over());
        let legs = 0..going.legs().len();
        self.put_on_leg(task, going, (&schedule, legs), now);
        self.schedules[task as usize] = schedule;
    }

    /// A task goes on by hand on the leg that it is on, which is one of these.
    pub(crate) fn put_on_leg(
        &mut self,
        task: u32,
        mut going: Going,
        (schedule, legs): (&Schedule, Range<usize>),
        now: Time,
    ) {
        let Schedule { slots, first, booked } = schedule;
        let is_there = |core: &Core, index: usize| {
            let Slot { begin: request, granted: start, .. } = slots[index];
            let granted = |lane| core.has_started(lane, start, *booked, now);
            index == 0 || request < now || (request == now && going.legs()[first + index].lane().is_some_and(granted))
        };
        let index = (0..slots.len()).rev().find(|index| is_there(self, *index)).unwrap_or(0);
        let number = (first + index).clamp(legs.start, legs.end - 1);
        let Slot { begin: request, granted: start, .. } = slots[number - first];
        let leg = &going.legs()[number];
        let over = start + leg.occupied() + leg.delayed();
        let waits = leg.lane().filter(|lane| !self.has_started(*lane, start, *booked, now));
        match waits {
            Some(lane) => {
                self.cut_train_on(lane, now);
                let reason = leg.reason();
                let ticket = self.enqueue(lane, task, 0, reason, request, now);
                going.waits_at(number, ticket);
            }
            None => {
                self.schedule(Event::wake(over, self.rank(task), task));
                going.is_over_at(number, over);
            }
        }
        self.going[task as usize] = Some(going);
    }
}
