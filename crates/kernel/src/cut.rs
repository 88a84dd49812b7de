//! What the kernel knows of trains while their owners sleep, and where it cuts them.
//!
//! Whoever asks for a lane of a train cuts it, and with it whoever takes turns with it (`turns`). Then every burst is where
//! it would have been by hand: over, under way, asked for, or still to come.

use crate::Time;
use crate::core::Core;
use crate::record::Label;
use crate::turns::During;

/// Cars of one train, at most.
pub(crate) const CARS: usize = 3;

/// What is booked of a car.
#[derive(Clone, Copy)]
pub(crate) struct Booked {
    pub(crate) lane: u32,
    pub(crate) priority: u8,
    pub(crate) reason: &'static Label,
    /// Its first request, and from each to the next.
    pub(crate) first: Time,
    pub(crate) pitch: Time,
    pub(crate) length: Time,
    pub(crate) cut: Cut,
}

/// Where a car is cut: so many bursts are over, and then comes this.
#[derive(Clone, Copy)]
pub(crate) enum Cut {
    Not,
    Ahead(u64),
    /// With a ticket.
    Requested(u64, u64),
    /// With a ticket, since then.
    UnderWay(u64, u64, Time),
}

/// How a train stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is nothing but a request with this ticket, until somebody takes turns with it.
    Offered(u64),
    /// It is on its lanes.
    Booked,
    /// It has been cut.
    Cut,
}

pub(crate) struct TrainState {
    pub(crate) task: u32,
    pub(crate) count: u64,
    pub(crate) cars: [Option<Booked>; CARS],
    /// From each request of the first car until the other's turn ends.
    pub(crate) wait: Time,
    pub(crate) standing: Standing,
    /// Where its first car is its turns: in whose turns the other cars have their bursts.
    pub(crate) during: Option<During>,
    /// Who takes turns with it, on the same lanes.
    pub(crate) partner: Option<u32>,
    /// The instant at which it was booked, the class that this had come to, and the events until then.
    pub(crate) booked: (Time, u32, u64),
}

impl TrainState {
    pub(crate) fn is_on(&self, lane: u32) -> bool {
        self.cars.iter().flatten().any(|car| car.lane == lane)
    }
}

/// When whoever is booked on a lane first asks for it; the end of time where nobody is.
#[inline(always)]
pub(crate) fn first_on(trains: &[Option<TrainState>], train: Option<u32>, lane: u32) -> Time {
    let first = |train: &TrainState| {
        let cars = train.cars.iter().flatten().filter(|car| car.lane == lane);
        cars.map(|car| car.first).min().unwrap_or(Time::MAX)
    };
    let Some(train) = train.and_then(|id| trains[id as usize].as_ref()) else { return Time::MAX };
    match train.partner.and_then(|id| trains[id as usize].as_ref()) {
        Some(partner) => first(train).min(first(partner)),
        None => first(train),
    }
}

impl Core {
    /// Keeps what is known of a train, which is not on its lanes yet.
    #[inline(always)]
    pub(crate) fn keep_train(&mut self, train: TrainState) -> u32 {
        let free = self.trains.iter().position(Option::is_none).unwrap_or_else(|| {
            self.trains.push(None);
            self.trains.len() - 1
        });
        self.trains[free] = Some(train);
        free as u32
    }

    /// Puts a train on its lanes.
    #[inline(always)]
    pub(crate) fn put_on_lanes(&mut self, id: u32) {
        for car in self.trains[id as usize].iter().flat_map(|train| train.cars.iter().flatten()) {
            self.lanes[car.lane as usize].train = Some(id);
        }
        self.counts.trains += 1;
    }

    /// A train has come to its end, or has been cut: its lanes are left to whoever takes turns with it.
    #[inline(always)]
    pub(crate) fn leave_lanes(&mut self, id: u32) {
        let Some(train) = &self.trains[id as usize] else { return };
        if train.standing != Standing::Booked {
            return;
        }
        let partner = train.partner;
        for car in train.cars.iter().flatten() {
            let left_to = partner.filter(|id| self.trains[*id as usize].as_ref().is_some_and(|it| it.is_on(car.lane)));
            self.lanes[car.lane as usize].train = left_to;
        }
        if let Some(partner) = partner.and_then(|id| self.trains[id as usize].as_mut()) {
            partner.partner = None;
        }
    }

    /// Every train that is under way ends at `now`.
    pub(crate) fn cut_all_trains(&mut self, now: Time) {
        for id in 0..self.trains.len() {
            self.cut_train(id as u32, now);
        }
    }

    /// Someone asks for a lane at `now`: the train that is booked on it is cut.
    #[inline]
    pub(crate) fn cut_train_on(&mut self, lane: u32, now: Time) {
        if let Some(train) = self.lanes[lane as usize].train {
            self.cut_train(train, now);
        }
    }

    /// Someone asks for a lane of the train at `now`. Nothing where it has been cut, or is not on its lanes.
    pub(crate) fn cut_train(&mut self, id: u32, now: Time) {
        let partner = self.trains[id as usize].as_ref().and_then(|train| train.partner);
        for id in [Some(id), partner].into_iter().flatten() {
            if self.trains[id as usize].as_ref().is_none_or(|train| train.standing != Standing::Booked) {
                continue;
            }
            if let Some(task) = self.end_train(id, now) {
                self.counts.trains_cut += 1;
                self.wake(task);
            }
        }
    }

    /// The train ends at `now`: what its bursts would have done by now, they have done. Returns whose it is.
    pub(crate) fn end_train(&mut self, id: u32, now: Time) -> Option<u32> {
        let train = self.trains[id as usize].as_ref()?;
        let (count, task, is_own_turn) = (train.count, train.task, train.during == Some(During::OwnTurn));
        let (booked_at, booked_class, events) = train.booked;
        let (mut wait, mut turns_begun) = (train.wait, u64::MAX);
        let class_reached = self.class_reached();
        // Nothing but what is ready has had its turn since it was booked.
        let just_booked = booked_at == now && events == self.counts.events;
        for number in 0..CARS {
            let Some(car) = self.trains[id as usize].as_ref()?.cars[number] else { break };
            let lane = &mut self.lanes[car.lane as usize];
            lane.train = None;
            let class = lane.class;
            let requested = |k: u64| car.first + car.pitch * k;
            let start = |k: u64| lane.edge(requested(k)) + wait;
            // A burst that starts at this very instant has started only if the instant has come past its lane's class;
            // where it had before the train was booked, only if the lane would have been granted since.
            let granted = class_reached >= class && !(just_booked && booked_class >= class);
            let has_started = |k: u64| start(k) < now || (start(k) == now && granted);
            // An edge is less than a period away: of those that have been asked for only the last one may wait for it.
            let last = (now.saturating_sub(car.first + wait) / car.pitch).min(count);
            let started = last + u64::from(last < count && has_started(last));
            let begun = if started > 0 { start(started - 1) } else { now };
            let cut = if started > 0 && begun + car.length > now {
                let ticket = self.take_over(car.lane);
                Cut::UnderWay(started - 1, ticket, begun)
            } else if started < count.min(turns_begun) && requested(started) <= now {
                let since = requested(started);
                let ticket = self.enqueue(car.lane, task, car.priority, car.reason, since, now);
                Cut::Requested(started, ticket)
            } else {
                Cut::Ahead(started)
            };
            self.trains[id as usize].as_mut()?.cars[number] = Some(Booked { cut, ..car });
            wait = Time::ZERO;
            // What is done in a turn is asked for once that has begun.
            if number == 0 && is_own_turn {
                turns_begun = started;
            }
        }
        let train = self.trains[id as usize].as_mut()?;
        (train.standing, train.partner) = (Standing::Cut, None);
        Some(task)
    }
}
