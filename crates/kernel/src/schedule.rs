//! When a way is on which of its legs: what is booked of lanes for it, as far as that can be made out.

use crate::Time;
use crate::arbitration::LaneState;
use crate::bookings::{Apart, Bookings, File};
use crate::cut::{TrainState, first_on};
use crate::way::Leg;

/// When a leg begins, and when its lane is granted: of a file for its first, and how far the others are apart.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) begin: Time,
    pub(crate) granted: Time,
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
    pub(crate) slots: Vec<Slot>,
    /// The first of these legs.
    pub(crate) first: usize,
    /// The instant at which it was booked, the class that this had come to, and the events until then.
    pub(crate) booked: (Time, u32, u64),
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

/// What is booked of a lane from now on, and from when until when more may be; nothing where ways may not book it.
#[inline(always)]
fn bookable<'a>(
    lanes: &'a mut [LaneState],
    trains: &[Option<TrainState>],
    number: u32,
    now: Time,
) -> Option<(&'a mut Bookings, (Time, Time))> {
    let lane = &mut lanes[number as usize];
    lane.booked.forget(now);
    let (free, limit) = (lane.free_for_ways()?, first_on(trains, lane.train, number));
    Some((&mut lane.booked, (free, limit)))
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
                let Some((bookings, bounds)) = bookable(lanes, trains, number, booked.0) else { break };
                let Some(start) = bookings.add(who, at, leg.occupied(), bounds) else { break };
                start
            }
        };
        schedule.slots.push(Slot::of_one(at, start));
        at = start + leg.occupied() + leg.delayed();
    }
    at
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
            Some(number) => bookable(lanes, trains, number, booked.0)
                .and_then(|(bookings, bounds)| bookings.add_file(who, file, occupied, bounds)),
        };
        let Some((start, grants)) = granted else {
            for lane in legs[..index].iter().filter_map(Leg::lane) {
                lanes[lane as usize].booked.forget_last();
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
    let is_last = occupied().all(|(lane, begin, _)| lanes[lane].booked.is_last(task, begin));
    if is_last {
        occupied().for_each(|(lane, _, occupied)| lanes[lane].booked.shorten_last(left, occupied));
    }
    is_last
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
