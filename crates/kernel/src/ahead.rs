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

use std::collections::VecDeque;
use std::ops::Range;

use crate::Time;
use crate::arbitration::LaneState;
use crate::booked::booked_place;
use crate::core::Core;
use crate::events::Event;
use crate::train::{TrainState, first_on};
use crate::way::{Going, Leg};

/// A lane's part of a way, or of the ways of a file. Of requests of one instant that of the first name is granted first.
struct Booking {
    /// Of a file the first request, the first grant and the last end.
    request: Time,
    rank: u32,
    start: Time,
    end: Time,
    task: u32,
    /// How many a file is, and how far its requests and its grants are apart.
    count: u32,
    apart: Apart,
}

impl Booking {
    fn order(&self) -> (Time, u32) {
        (self.request, self.rank)
    }

    /// The same of the last of a file, which may have any name.
    #[inline]
    fn last(&self) -> (Time, u32) {
        if self.count == 1 {
            self.order()
        } else {
            (self.request + self.apart.begins * u64::from(self.count - 1), u32::MAX)
        }
    }

    /// When each asks, and when each is granted the lane.
    fn each(&self) -> impl Iterator<Item = (Time, Time)> {
        let Apart { begins, grants } = self.apart;
        (0..u64::from(self.count)).map(move |index| (self.request + begins * index, self.start + grants * index))
    }
}

/// How far those of a file are apart on a leg, as they come to it and as they are granted its lane.
#[derive(Clone, Copy, Default)]
struct Apart {
    begins: Time,
    grants: Time,
}

/// When a leg begins, and when its lane is granted: of a file for its first, and how far the others are apart.
#[derive(Clone, Copy)]
struct Slot {
    begin: Time,
    granted: Time,
    apart: Apart,
}

impl Slot {
    fn of_one(begin: Time, granted: Time) -> Slot {
        Slot { begin, granted, apart: Apart::default() }
    }
}

/// What a task's way has booked.
#[derive(Default)]
pub(crate) struct Schedule {
    slots: Vec<Slot>,
    /// The first of these legs.
    first: usize,
    /// The instant at which it was booked, the class that this had come to, and the events until then.
    booked: (Time, u32, u64),
}

impl Schedule {
    /// Nothing is booked yet, of legs from `first` on.
    fn begins(&mut self, first: usize, booked: (Time, u32, u64)) {
        self.slots.clear();
        (self.first, self.booked) = (first, booked);
    }

    /// What one of a file has booked.
    pub(crate) fn of(&self, index: u64) -> Schedule {
        let later = |slot: &Slot| {
            let Slot { begin, granted, apart } = *slot;
            Slot::of_one(begin + apart.begins * index, granted + apart.grants * index)
        };
        Schedule { slots: self.slots.iter().map(later).collect(), first: self.first, booked: self.booked }
    }

    /// How far those of a file are apart as they come to a leg, of those that are booked.
    pub(crate) fn apart_at(&self, leg: usize) -> Option<Time> {
        Some(self.slots.get(leg.checked_sub(self.first)?)?.apart.begins)
    }

    /// How many legs are booked.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// When a leg begins.
    pub(crate) fn begin_of(&self, leg: usize) -> Option<Time> {
        Some(self.slots.get(leg.checked_sub(self.first)?)?.begin)
    }
}

/// Bookings of a lane, in the order of their requests, which is that of their grants.
#[derive(Default)]
pub(crate) struct Bookings(VecDeque<Booking>);

impl Bookings {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether nothing is booked from `at` on.
    pub(crate) fn are_over(&self, at: Time) -> bool {
        self.0.back().is_none_or(|last| last.end <= at)
    }

    /// How many wait at `now`.
    pub(crate) fn waiting(&self, now: Time) -> usize {
        self.0.iter().flat_map(Booking::each).filter(|(request, start)| *request <= now && now < *start).count()
    }

    #[inline]
    fn forget(&mut self, now: Time) {
        while self.0.front().is_some_and(|first| first.end <= now) {
            self.0.pop_front();
        }
    }

    /// Names those who have booked from a place on, each once.
    fn name_from(&self, place: usize, now: Time, named: &mut Vec<u32>) {
        for booking in self.0.range(place..).filter(|booking| booking.end > now) {
            if !named.contains(&booking.task) {
                named.push(booking.task);
            }
        }
    }

    /// Takes back what a task has booked for a request; whether that was there, and where.
    fn remove(&mut self, task: u32, request: Time) -> Option<usize> {
        let place = self.0.iter().position(|booking| booking.task == task && booking.request == request)?;
        self.0.remove(place);
        Some(place)
    }

    /// Books the lane, which is free from `free` until `limit`, for so long from a request on; returns when it is granted.
    /// Nothing where somebody who has booked would have to wait for that.
    #[inline]
    fn add(
        &mut self,
        (task, rank): (u32, u32),
        request: Time,
        occupied: Time,
        (free, limit): (Time, Time),
    ) -> Option<Time> {
        // Whoever comes later is hardly ever before.
        let before = match self.0.back() {
            Some(last) if last.last() >= (request, rank) => {
                return self.add_before((task, rank), request, occupied, free);
            }
            Some(last) => last.end,
            None => Time::ZERO,
        };
        let start = request.max(free).max(before);
        if start.saturating_add(occupied) > limit {
            return None;
        }
        self.0.push_back(Booking {
            request,
            rank,
            start,
            end: start + occupied,
            task,
            count: 1,
            apart: Apart::default(),
        });
        Some(start)
    }

    /// The same for a file, whose grants are as far apart as those before; nothing where they would not be, or somebody who
    /// has booked comes behind any of it. When the first is granted the lane, and how far they are apart then.
    #[inline]
    fn add_file(
        &mut self,
        (task, rank): (u32, u32),
        file: File,
        occupied: Time,
        (free, limit): (Time, Time),
    ) -> Option<(Time, Time)> {
        let File { at: request, pitch, count } = file;
        let before = match self.0.back() {
            Some(last) if last.last() >= (request, rank) => return None,
            Some(last) => last.end.max(free),
            None => free,
        };
        let start = request.max(before);
        let grants = pitch.max(occupied);
        // Where they come to a lane that is not free yet, and go on faster than they come, they draw together.
        if count > 1 && grants > occupied && start > request {
            return None;
        }
        let end = (start + grants * u64::from(count - 1)).saturating_add(occupied);
        if end > limit {
            return None;
        }
        let apart = Apart { begins: pitch, grants };
        self.0.push_back(Booking { request, rank, start, end, task, count, apart });
        Some((start, grants))
    }

    /// Puts those of a file, from one on, in the place of the file: each has a task and a rank.
    fn split(&mut self, task: u32, request: Time, occupied: Time, from: u64, members: &[(u32, u32)]) {
        let Some(place) = self.0.iter().position(|booking| booking.task == task && booking.request == request) else {
            return;
        };
        let Some(file) = self.0.remove(place) else { return };
        for (index, (one, &(task, rank))) in file.each().skip(from as usize).zip(members).enumerate() {
            let ((request, start), apart) = (one, Apart::default());
            self.0
                .insert(place + index, Booking { request, rank, start, end: start + occupied, task, count: 1, apart });
        }
    }

    /// The same where others have booked for later.
    fn add_before(&mut self, (task, rank): (u32, u32), request: Time, occupied: Time, free: Time) -> Option<Time> {
        let behind = self.0.partition_point(|booking| booking.last() < (request, rank));
        let before = behind.checked_sub(1).map_or(free, |before| self.0[before].end.max(free));
        let start = request.max(before);
        let end = start + occupied;
        if self.0.get(behind).is_some_and(|next| next.request == request || next.request < end) {
            return None;
        }
        self.0.insert(behind, Booking { request, rank, start, end, task, count: 1, apart: Apart::default() });
        Some(start)
    }
}

/// Books lanes for legs from `at` on, as far as they can be made out now, and keeps when that is; returns when the last of
/// them is over.
#[inline]
pub(crate) fn book_legs(
    (lanes, trains): (&mut [LaneState], &[Option<TrainState>]),
    who: (u32, u32),
    (legs, first): (&[Leg], usize),
    mut at: Time,
    booked: (Time, u32, u64),
    schedule: &mut Schedule,
) -> Time {
    schedule.begins(first, booked);
    for leg in &legs[first..] {
        let start = match leg.lane() {
            None => at,
            Some(number) => {
                let lane = &mut lanes[number as usize];
                lane.booked.forget(booked.0);
                let limit = first_on(trains, lane.train, number);
                let Some(free) = lane.free_for_ways() else { break };
                let Some(start) = lane.booked.add(who, at, leg.occupied(), (free, limit)) else { break };
                start
            }
        };
        schedule.slots.push(Slot::of_one(at, start));
        at = start + leg.occupied() + leg.delayed();
    }
    at
}

/// Those who go one way, one behind the other: when the first has come to where they are, how far they are apart, and how
/// many they are.
#[derive(Clone, Copy)]
pub(crate) struct File {
    pub(crate) at: Time,
    pub(crate) pitch: Time,
    pub(crate) count: u32,
}

/// Books lanes for a file, behind all that is booked, and keeps when that is; when it is over. Nothing is booked where some
/// of it cannot be made out.
#[inline]
pub(crate) fn book_file(
    (lanes, trains): (&mut [LaneState], &[Option<TrainState>]),
    who: (u32, u32),
    legs: &[Leg],
    mut file: File,
    booked: (Time, u32, u64),
    schedule: &mut Schedule,
) -> Option<File> {
    schedule.begins(0, booked);
    for (index, leg) in legs.iter().enumerate() {
        let occupied = leg.occupied();
        let granted = match leg.lane() {
            None => Some((file.at, file.pitch)),
            Some(number) => {
                let lane = &mut lanes[number as usize];
                lane.booked.forget(booked.0);
                let limit = first_on(trains, lane.train, number);
                lane.free_for_ways().and_then(|free| lane.booked.add_file(who, file, occupied, (free, limit)))
            }
        };
        let Some((start, grants)) = granted else {
            for lane in legs[..index].iter().filter_map(Leg::lane) {
                lanes[lane as usize].booked.0.pop_back();
            }
            return None;
        };
        schedule.slots.push(Slot { begin: file.at, granted: start, apart: Apart { begins: file.pitch, grants } });
        (file.at, file.pitch) = (start + occupied + leg.delayed(), grants);
    }
    Some(file)
}

/// Has a file end with so many; whether that can be, for nobody has booked any of its lanes behind it.
pub(crate) fn shorten_file(lanes: &mut [LaneState], task: u32, legs: &[Leg], schedule: &Schedule, left: u32) -> bool {
    let occupied = || {
        let booked = legs.iter().zip(&schedule.slots);
        booked.filter_map(|(leg, slot)| Some((leg.lane()? as usize, slot.begin, leg.occupied())))
    };
    let is_last = |booking: &Booking, begin| booking.task == task && booking.request == begin;
    if !occupied().all(|(lane, begin, _)| lanes[lane].booked.0.back().is_some_and(|last| is_last(last, begin))) {
        return false;
    }
    for (lane, _, occupied) in occupied() {
        let bookings = &mut lanes[lane].booked.0;
        match bookings.back_mut() {
            Some(file) if left > 0 => {
                file.count = left;
                file.end = file.start + file.apart.grants * u64::from(left - 1) + occupied;
            }
            _ => drop(bookings.pop_back()),
        }
    }
    true
}

/// Puts the ways of those of a file, from one on, in the place of the file: each has a task and a rank.
pub(crate) fn split_file(
    lanes: &mut [LaneState],
    task: u32,
    legs: &[Leg],
    schedule: &Schedule,
    (from, members): (u64, &[(u32, u32)]),
) {
    for (slot, leg) in schedule.slots.iter().zip(&legs[schedule.first..]) {
        if let Some(lane) = leg.lane() {
            lanes[lane as usize].booked.split(task, slot.begin, leg.occupied(), from, members);
        }
    }
}

/// Takes back what has just been booked.
pub(crate) fn take_back(lanes: &mut [LaneState], task: u32, legs: &[Leg], schedule: &mut Schedule) {
    for (slot, leg) in schedule.slots.drain(..).zip(&legs[schedule.first..]) {
        if let Some(lane) = leg.lane() {
            lanes[lane as usize].booked.remove(task, slot.begin);
        }
    }
}

impl Core {
    /// Books lanes for the legs of a task's way from `first` on, as far as they can be made out; returns how many legs
    /// that are, and when the last of them is over.
    pub(crate) fn book_way(&mut self, task: u32, legs: &[Leg], first: usize, now: Time) -> Option<(usize, Time)> {
        if self.observed || !self.trains_allowed || self.combined.is_some() {
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
