//! What ways have booked of a lane, one behind the other.

use std::collections::VecDeque;

use crate::Time;

/// Those who go one way, one behind the other: when the first has come to where they are, how far they are apart, and how
/// many they are.
#[derive(Clone, Copy)]
pub(crate) struct File {
    pub(crate) at: Time,
    pub(crate) pitch: Time,
    pub(crate) count: u32,
}

/// How far those of a file are apart on a leg, as they come to it and as they are granted its lane.
#[derive(Clone, Copy, Default)]
pub(crate) struct Apart {
    pub(crate) begins: Time,
    pub(crate) grants: Time,
}

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
    /// Of nobody but a task.
    fn alone((task, rank): (u32, u32), request: Time, start: Time, occupied: Time) -> Booking {
        Booking { request, rank, start, end: start + occupied, task, count: 1, apart: Apart::default() }
    }

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
    pub(crate) fn forget(&mut self, now: Time) {
        while self.0.front().is_some_and(|first| first.end <= now) {
            self.0.pop_front();
        }
    }

    /// Names those who have booked from a place on, each once.
    pub(crate) fn name_from(&self, place: usize, now: Time, named: &mut Vec<u32>) {
        for booking in self.0.range(place..).filter(|booking| booking.end > now) {
            if !named.contains(&booking.task) {
                named.push(booking.task);
            }
        }
    }

    /// Takes back what a task has booked for a request; whether that was there, and where.
    pub(crate) fn remove(&mut self, task: u32, request: Time) -> Option<usize> {
        let place = self.0.iter().position(|booking| booking.task == task && booking.request == request)?;
        self.0.remove(place);
        Some(place)
    }

    /// Books the lane, which is free from `free` until `limit`, for so long from a request on; returns when it is granted.
    /// Nothing where somebody who has booked would have to wait for that.
    #[inline]
    pub(crate) fn add(
        &mut self,
        (task, rank): (u32, u32),
        request: Time,
        occupied: Time,
        (free, limit): (Time, Time),
    ) -> Option<Time> {
        // Whoever comes later is hardly ever before.
        if self.0.back().is_some_and(|last| last.last() >= (request, rank)) {
            return self.add_before((task, rank), request, occupied, free);
        }
        let alone = File { at: request, pitch: Time::ZERO, count: 1 };
        Some(self.add_file((task, rank), alone, occupied, (free, limit))?.0)
    }

    /// The same for a file, whose grants are as far apart as those before; nothing where they would not be, or somebody who
    /// has booked comes behind any of it. When the first is granted the lane, and how far they are apart then.
    #[inline(always)]
    pub(crate) fn add_file(
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
    pub(crate) fn split(&mut self, task: u32, request: Time, occupied: Time, from: u64, members: &[(u32, u32)]) {
        let Some(place) = self.0.iter().position(|booking| booking.task == task && booking.request == request) else {
            return;
        };
        let Some(file) = self.0.remove(place) else { return };
        for (index, ((request, start), &who)) in file.each().skip(from as usize).zip(members).enumerate() {
            self.0.insert(place + index, Booking::alone(who, request, start, occupied));
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
        self.0.insert(behind, Booking::alone((task, rank), request, start, occupied));
        Some(start)
    }

    /// Takes back the last.
    pub(crate) fn forget_last(&mut self) {
        self.0.pop_back();
    }

    /// Whether what a task has booked for a request is behind all else.
    pub(crate) fn is_last(&self, task: u32, request: Time) -> bool {
        self.0.back().is_some_and(|last| last.task == task && last.request == request)
    }

    /// Leaves so many of a file that is behind all else, each of which has the lane for so long.
    pub(crate) fn shorten_last(&mut self, left: u32, occupied: Time) {
        match self.0.back_mut() {
            Some(file) if left > 0 => {
                file.count = left;
                file.end = file.start + file.apart.grants * u64::from(left - 1) + occupied;
            }
            _ => self.forget_last(),
        }
    }
}
