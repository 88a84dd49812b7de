//! Turns: two who want the same lane again and again, booked as two trains that know of each other.
//!
//! ```text
//!   the lane    ▐ left ────▌▐ right ───▌▐ left ────▌▐ right ───▌    whoever has had his turn asks again at once,
//!   beside it         ▐──▌        ▐──▌        ▐──▌        ▐──▌      and waits as long as the other one's turn takes
//! ```
//!
//! Whoever asks for his turn while the other one has his offers to take turns: it is an ordinary request. When the other's
//! turn ends and he asks again, both know what comes, and nobody needs an event for it. What they do on other lanes
//! lies within a turn: in their own, or while they wait in the other's. Whoever else asks for one of the lanes cuts both
//! (`cut`). Nobody takes turns while somebody observes.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::Time;
use crate::arbitration::Asked;
use crate::core::Core;
use crate::cut::{Booked, CARS, Cut, Standing, TrainState};
use crate::events::Event;
use crate::lane::Grant;
use crate::sim::Sim;
use crate::train::{Car, Journey};

/// In whose turn somebody does what he does on other lanes than the one that they take turns on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum During {
    /// In his own: offsets are from its beginning.
    OwnTurn,
    /// While he waits for it, in the other one's: offsets are from the end of his turn before.
    OthersTurn,
}

/// What has become of a request for turns.
pub enum Turn<'a> {
    /// This turn is by hand.
    Granted(Grant<'a>),
    /// Turns were taken ahead.
    Taken(Taken<'a>),
}

impl<'a> Turn<'a> {
    /// Turns that were taken ahead, if any were.
    pub fn taken(self) -> Option<Taken<'a>> {
        if let Turn::Taken(taken) = self { Some(taken) } else { None }
    }
}

/// Turns that were taken ahead.
pub struct Taken<'a> {
    /// When the first of them began.
    pub first: Time,
    /// From the beginning of one to that of the next.
    pub pitch: Time,
    /// What has become of the turns, and of what was done beside them.
    pub journey: Journey<'a, CARS>,
}

impl Sim {
    /// Asks for up to `count` turns, each of which is the first car; the other cars are what goes on beside it. Ends with
    /// the lane granted for one of them, by hand; or when turns have been taken ahead, and all of them are over or
    /// somebody has asked for one of the lanes.
    ///
    /// What is done beside the first turn in the other's turn, whoever offers turns does by hand.
    pub fn turns<'a, 'c>(&'c self, count: u64, during: During, cars: &'c [Car<'a>]) -> Turns<'a, 'c> {
        assert!(!cars.is_empty() && cars.len() <= CARS, "a train has at most {CARS} cars");
        Turns { sim: self, count: count.min(u64::from(u16::MAX)), during, cars, ticket: 0, train: None }
    }
}

/// A request for turns. Dropping it withdraws it, or cuts what is booked.
pub struct Turns<'a, 'c> {
    sim: &'c Sim,
    count: u64,
    during: During,
    cars: &'c [Car<'a>],
    /// Of the request, until it is granted or turns are taken.
    ticket: u64,
    /// Offered, or booked.
    train: Option<u32>,
}

impl<'a> Turns<'a, '_> {
    /// Before it has asked: takes up what somebody else has offered, if everything is known until one of both has had all
    /// his turns.
    pub fn begin(&mut self) -> bool {
        let shared = &*self.sim.shared;
        let core = &mut *shared.core.borrow_mut();
        let Some(offered) = core.lanes[self.cars[0].lane.id as usize].offered else { return false };
        if self.ticket != 0 || !core.trains_allowed || core.observed() || shared.drawn.get() {
            return false;
        }
        let now = shared.now.get();
        let mine = self.state(core, Standing::Booked, now);
        self.train = core.book_turns(offered, mine, now);
        self.train.is_some()
    }

    /// Its cars, which are not on their lanes: how long they take, and their offsets.
    fn state(&self, core: &Core, standing: Standing, now: Time) -> TrainState {
        let mut cars = [None; CARS];
        for (slot, car) in cars.iter_mut().zip(self.cars) {
            let (lane, priority, reason, first) = (car.lane.id, car.priority, car.reason, car.offset);
            let (pitch, length) = (Time::ZERO, car.length());
            *slot = Some(Booked { lane, priority, reason, first, pitch, length, cut: Cut::Not });
        }
        let (task, count, booked) = (self.sim.shared.current.get(), self.count, core.come_to(now));
        let during = Some(self.during);
        TrainState { task, count, cars, wait: Time::ZERO, standing, during, partner: None, booked }
    }

    fn ask(&mut self) -> Poll<Turn<'a>> {
        let shared = &*self.sim.shared;
        let core = &mut *shared.core.borrow_mut();
        let Car { lane, priority, reason, .. } = self.cars[0];
        match shared.ask(core, lane.id, shared.current.get(), priority, reason) {
            Asked::Granted(ticket) => Poll::Ready(Turn::Granted(Grant::held(lane, ticket))),
            Asked::Queued(ticket) => {
                self.ticket = ticket;
                if self.count > 1 && core.lanes[lane.id as usize].offered.is_none() {
                    let offer = core.keep_train(self.state(core, Standing::Offered(ticket), shared.now.get()));
                    core.lanes[lane.id as usize].offered = Some(offer);
                    self.train = Some(offer);
                }
                Poll::Pending
            }
        }
    }

    /// Nobody can take it up any more.
    fn take_back_offer(&mut self, core: &mut Core) {
        if let Some(offer) = self.train.take() {
            core.trains[offer as usize] = None;
            core.lanes[self.cars[0].lane.id as usize].offered = None;
        }
    }

    /// Turns are over or cut.
    fn leave(&mut self, core: &mut Core, id: u32, now: Time) -> Taken<'a> {
        (self.ticket, self.train) = (0, None);
        core.leave_lanes(id);
        let Core { trains, counts, .. } = &mut *core;
        let train = trains[id as usize].as_ref().expect("turns are there until their owner takes them off their lanes");
        let turn = train.cars[0].as_ref().expect("its turns are its first car");
        let (first, pitch) = (turn.first + train.wait, turn.pitch);
        let (end, task) = (train.end(), train.task);
        let journey = train.journey(self.cars, counts);
        trains[id as usize] = None;
        if end > now {
            core.cancel_timer(task, end);
        }
        core.counts.told += 2 * journey.cars.iter().flatten().map(|car| car.done).sum::<u64>();
        Taken { first, pitch, journey }
    }
}

impl<'a> Future for Turns<'a, '_> {
    type Output = Turn<'a>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Turn<'a>> {
        let this = &mut *self;
        if this.ticket == 0 && this.train.is_none() && !this.begin() {
            return this.ask();
        }
        let shared = &*this.sim.shared;
        let core = &mut *shared.core.borrow_mut();
        let now = shared.now.get();
        if let Some(id) = this.train {
            let train = core.trains[id as usize].as_ref().expect("it is there until its owner takes it off its lanes");
            match train.standing {
                Standing::Booked if now < train.end() => return Poll::Pending,
                Standing::Booked | Standing::Cut => return Poll::Ready(Turn::Taken(this.leave(core, id, now))),
                Standing::Offered(_) => {}
            }
        }
        let lane = this.cars[0].lane;
        if !core.holds(lane.id, this.ticket) {
            return Poll::Pending;
        }
        this.take_back_offer(core);
        Poll::Ready(Turn::Granted(Grant::held(lane, std::mem::take(&mut this.ticket))))
    }
}

impl Drop for Turns<'_, '_> {
    fn drop(&mut self) {
        let shared = &*self.sim.shared;
        let now = shared.now.get();
        let mut core = shared.core.borrow_mut();
        if let Some(id) = self.train {
            let standing = core.trains[id as usize].as_ref().map(|train| train.standing);
            if !matches!(standing, Some(Standing::Offered(_))) {
                core.cut_train(id, now);
                let taken = self.leave(&mut core, id, now);
                drop(core);
                return drop(taken);
            }
            self.take_back_offer(&mut core);
        }
        if self.ticket != 0 {
            core.withdraw(self.cars[0].lane.id, self.ticket, now);
        }
    }
}

impl TrainState {
    /// How long its turn takes.
    fn turn(&self) -> Time {
        self.cars[0].as_ref().map_or(Time::ZERO, |turn| turn.length)
    }

    /// The end of its last turn, which is the last of what it does.
    fn end(&self) -> Time {
        let Some(turn) = &self.cars[0] else { return Time::ZERO };
        turn.first + self.wait + turn.pitch * (self.count - 1) + turn.length
    }

    fn beside(&self) -> impl Iterator<Item = &Booked> {
        self.cars[1..].iter().flatten()
    }

    /// Whether all that goes on beside its turns ends within the turn in which it is asked for, and whether nothing of what
    /// goes on in the same one is in its way.
    fn fits(&self, other: &TrainState, slack: impl Fn(u32) -> Time) -> bool {
        let turn = if self.during == Some(During::OwnTurn) { self.turn() } else { other.turn() };
        let end = |car: &Booked| car.first + slack(car.lane) + car.length;
        let together = self.during != other.during;
        self.beside().all(|car| {
            let in_the_way = |of: &Booked| of.lane == car.lane && of.first < end(car) && car.first < end(of);
            end(car) <= turn && (!together || !other.beside().any(in_the_way))
        })
    }

    /// Has `count` turns from `begin` on, for each of which it has waited as long as the other's turn takes.
    fn takes(&mut self, count: u64, begin: Time, other: Time, partner: u32) {
        let asked = begin - other;
        let pitch = self.turn() + other;
        (self.count, self.wait) = (count, other);
        (self.standing, self.partner) = (Standing::Booked, Some(partner));
        for (number, car) in self.cars.iter_mut().flatten().enumerate() {
            car.pitch = pitch;
            car.first = match self.during {
                _ if number == 0 => asked,
                Some(During::OthersTurn) => asked + car.first,
                _ => begin + car.first,
            };
        }
    }
}

impl Core {
    /// Books turns of whoever has offered them, from now on, and of who has just had his.
    fn book_turns(&mut self, offered: u32, mut mine: TrainState, now: Time) -> Option<u32> {
        let theirs = self.trains[offered as usize].as_ref()?;
        let (Standing::Offered(ticket), Some(turn)) = (theirs.standing, &theirs.cars[0]) else { return None };
        let (lane, lanes) = (&self.lanes[turn.lane as usize], &self.lanes);
        let slack = |lane: u32| lanes[lane as usize].clock.unwrap_or(Time::ZERO);
        let count = theirs.count.min(mine.count);
        // It has waited for one whole turn, and for nothing but that.
        let is_next = lane.is_only_asked_for_by(ticket, mine.turn(), now) && slack(turn.lane) == Time::ZERO;
        let fit = theirs.fits(&mine, slack) && mine.fits(theirs, slack);
        let is_free = |car: &Booked| lanes[car.lane as usize].is_free(now);
        let takes_time = mine.turn() > Time::ZERO && theirs.turn() > Time::ZERO;
        if count < 2 || !takes_time || !is_next || !fit || !theirs.beside().chain(mine.beside()).all(is_free) {
            return None;
        }
        let (own, other, lane, booked) = (mine.turn(), theirs.turn(), turn.lane, mine.booked);
        self.is_asked_for_no_more(lane, now);
        self.lanes[lane as usize].offered = None;
        mine.takes(count, now + other, other, offered);
        let id = self.keep_train(mine);
        let theirs = self.trains[offered as usize].as_mut()?;
        theirs.booked = booked;
        theirs.takes(count, now, own, id);
        for id in [offered, id] {
            self.put_on_lanes(id);
            let train = self.trains[id as usize].as_ref()?;
            let (task, end) = (train.task, train.end());
            self.schedule(Event::wake(end, self.rank(task), task));
        }
        Some(id)
    }
}
