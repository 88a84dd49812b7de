//! Trains: many regular bursts booked as one, cut exactly when anyone else comes.
//!
//! A train runs on one lane or on several at once, a *car* each: burst k of a car is requested at
//! `start + k·pitch + offset`, starts at the next clock edge of its lane and occupies it for the length of
//! its plan; between bursts the lane is free for others. Whoever asks for one of the lanes cuts the whole
//! train at that instant. What the bursts would have done by then stands; a burst under way goes on as an
//! ordinary hold, one that waits for its clock edge as an ordinary request, and the owner carries on by hand.
//! A run without trains records the same spans, to the bit.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::Time;
use crate::core::Core;
use crate::counts::Counts;
use crate::cut::{Booked, CARS, Cut, Standing, TrainState};
use crate::lane::{Acquire, Grant, Lane};
use crate::record::{Label, Record};
use crate::sim::Sim;

/// A delay before a request: the lane whose part asks for it, what it is, how long.
pub type Lead<'a> = (&'a Lane, &'static Label, Time);

/// Says what the time before a request went into, for a burst that is made by hand.
pub fn led(lead: &[Lead<'_>], request: Time) {
    let mut at = request - lead_length(lead);
    for &(lane, label, span) in lead {
        lane.delayed(label, at, at + span);
        at += span;
    }
}

fn lead_length(lead: &[Lead<'_>]) -> Time {
    lead.iter().fold(Time::ZERO, |sum, delay| sum + delay.2)
}

/// What a train does on one lane.
#[derive(Clone, Copy)]
pub struct Car<'a> {
    /// The lane.
    pub lane: &'a Lane,
    /// Priority of its requests; 0 is the best.
    pub priority: u8,
    /// Why a burst waits for its clock edge, or for others once the train is cut.
    pub reason: &'static Label,
    /// From the start of a burst's period to its request on this lane.
    pub offset: Time,
    /// What the time before the request goes into, ending with the request: each is owed to a lane's part.
    pub lead: &'a [Lead<'a>],
    /// The phases of a burst.
    pub plan: &'a [(&'static Label, Time)],
}

impl Car<'_> {
    pub(crate) fn length(&self) -> Time {
        length(self.plan)
    }
}

fn length(plan: &[(&'static Label, Time)]) -> Time {
    plan.iter().fold(Time::ZERO, |sum, phase| sum + phase.1)
}

/// What has become of a train.
pub struct Journey<'a, const N: usize> {
    /// Per car, in the order in which they were given.
    pub cars: [Option<CarState<'a>>; N],
}

/// What has become of a train on one lane.
pub struct CarState<'a> {
    /// Bursts that have ended.
    pub done: u64,
    /// The burst that comes after those.
    pub next: Burst<'a>,
}

/// The burst that a train was cut at.
pub enum Burst<'a> {
    /// Not requested yet (or there is none).
    Ahead,
    /// Requested: await it.
    Requested(Acquire<'a>),
    /// Under way: await its end.
    UnderWay(UnderWay<'a>),
}

/// A burst under way. Dropping it ends it now.
pub struct UnderWay<'a> {
    /// Nothing once the burst has ended or was taken over.
    grant: Option<Grant<'a>>,
    lane: &'a Lane,
    plan: &'a [(&'static Label, Time)],
    start: Time,
}

impl<'a> UnderWay<'a> {
    /// When the burst ends.
    pub fn ends_at(&self) -> Time {
        self.start + length(self.plan)
    }

    /// Waits for the end of the burst and releases the lane.
    pub async fn finish(self) {
        self.lane.sim.wait_until(self.ends_at()).await;
    }

    /// Takes the lane over in the middle of the burst: the grant, and when the burst began. What phases it has
    /// been in since then is for the caller to say.
    pub fn take_over(mut self) -> (Option<Grant<'a>>, Time) {
        (self.grant.take(), self.start)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if self.grant.is_some() {
            let shared = &*self.lane.sim.shared;
            let (now, task) = (shared.now.get(), shared.current.get());
            shared.core.borrow_mut().record_plan(self.lane.id, task, self.plan, self.start, now);
        }
    }
}

impl TrainState {
    /// What has become of a train that is off its lanes, car by car.
    #[inline(always)]
    pub(crate) fn journey<'a, const N: usize>(&self, cars: &[Car<'a>], counts: &mut Counts) -> Journey<'a, N> {
        let state = |index: usize| {
            let (car, booked) = (cars.get(index)?, self.cars[index].as_ref()?);
            let lane = car.lane;
            let (done, next) = match booked.cut {
                Cut::Not => (self.count, Burst::Ahead),
                Cut::Ahead(done) => (done, Burst::Ahead),
                Cut::Requested(done, ticket) => (done, Burst::Requested(Acquire::queued(lane, car.reason, ticket))),
                Cut::UnderWay(done, ticket, start) => {
                    let grant = Some(Grant::held(lane, ticket));
                    (done, Burst::UnderWay(UnderWay { grant, lane, plan: car.plan, start }))
                }
            };
            counts.bursts_in_trains += done;
            Some(CarState { done, next })
        };
        Journey { cars: std::array::from_fn(state) }
    }
}

impl Core {
    /// Records a train of a task on one lane, which began at an instant and had so many bursts of a pitch: the head, and
    /// the phases of each of its bursts.
    pub(crate) fn record_train(
        &mut self,
        (lane, task): (u32, u32),
        reason: &'static Label,
        (at, pitch, count): (Time, Time, u64),
        plan: &[(&'static Label, Time)],
    ) {
        if count == 0 {
            return;
        }
        let (lane, who, count) = (lane as u16, task as u16, count as u16);
        let phases = plan.iter().filter(|phase| phase.1 > Time::ZERO).count() as u8;
        self.record(Record::Train { lane, who, label: reason, at, pitch, count, phases });
        let mut after = Time::ZERO;
        for &(label, span) in plan {
            if span > Time::ZERO {
                self.record(Record::TrainPhase { label, after, span });
            }
            after += span;
        }
    }
}

impl Sim {
    /// Books `count` bursts per car, one every `pitch` from `start`, and ends when all have ended or when
    /// someone else asks for one of the lanes. Ends at once, with nothing done, where a lane is not free.
    ///
    /// Without trains the same bursts must be made by hand: for each car and each k, wait until
    /// `start + k·pitch + offset`, acquire, hold the plan, release.
    pub fn train<'a, 'c, const N: usize>(
        &'c self,
        count: u64,
        start: Time,
        pitch: Time,
        cars: &'c [Car<'a>; N],
    ) -> TrainRun<'a, 'c, N> {
        const { assert!(N <= CARS, "a train has three cars at most") }
        TrainRun {
            sim: self,
            count: count.min(u64::from(u16::MAX)),
            start,
            pitches: [pitch; N],
            cars,
            booked: None,
            end: Time::ZERO,
            until: Time::MAX,
            armed: None,
        }
    }
}

/// A train on its way. Dropping it cuts it.
pub struct TrainRun<'a, 'c, const N: usize> {
    sim: &'c Sim,
    count: u64,
    start: Time,
    pitches: [Time; N],
    cars: &'c [Car<'a>],
    booked: Option<u32>,
    /// When its last burst ends, or its owner has something to do.
    end: Time,
    until: Time,
    armed: Option<u32>,
}

impl<'a, const N: usize> TrainRun<'a, '_, N> {
    /// Its owner goes on at `until`: the train is over then, wherever it is.
    #[must_use]
    pub fn until(mut self, until: Time) -> Self {
        self.until = until;
        self
    }

    /// Only the first so many cars are there.
    #[must_use]
    pub fn of_the_first(mut self, cars: usize) -> Self {
        self.cars = &self.cars[..cars];
        self
    }

    /// Each car has a pitch of its own, none a shorter one than the car before: a burst that is led to its lane sooner waits
    /// for the one before.
    #[must_use]
    pub fn slowing(mut self, pitches: [Time; N]) -> Self {
        debug_assert!(pitches.is_sorted(), "bursts that come slowly do not go fast");
        self.pitches = pitches;
        self
    }

    fn book(&mut self) -> Option<u32> {
        let shared = &*self.sim.shared;
        let mut core = shared.core.borrow_mut();
        if !core.trains_allowed || self.count == 0 {
            return None;
        }
        debug_assert!(self.start >= shared.now.get(), "a train starts now or later");
        let (mut cars, mut end) = ([None; CARS], self.end);
        for ((slot, car), pitch) in cars.iter_mut().zip(self.cars).zip(self.pitches) {
            let (lane, first, length) = (&core.lanes[car.lane.id as usize], self.start + car.offset, car.length());
            let slack = lane.clock.unwrap_or(Time::ZERO);
            if !lane.is_free(first) || (slack > Time::ZERO && length >= pitch) || length + slack > pitch {
                return None;
            }
            end = end.max(lane.edge(first + pitch * (self.count - 1)) + length);
            let (lane, priority, reason) = (car.lane.id, car.priority, car.reason);
            *slot = Some(Booked { lane, priority, reason, first, pitch, length, cut: Cut::Not });
        }
        self.end = end;
        let (task, count) = (shared.current.get(), self.count);
        let (standing, booked) = (Standing::Booked, core.come_to(shared.now.get()));
        let id = core.keep_train(TrainState {
            task,
            count,
            cars,
            wait: Time::ZERO,
            standing,
            during: None,
            partner: None,
            booked,
        });
        core.put_on_lanes(id);
        Some(id)
    }

    /// Takes the train off its lanes and records what it has done.
    fn leave(&mut self, id: u32) -> Journey<'a, N> {
        let shared = &*self.sim.shared;
        shared.cancel_sleep(self.end.min(self.until), self.armed.take());
        let core = &mut *shared.core.borrow_mut();
        self.booked = None;
        core.leave_lanes(id);
        if core.observed() {
            self.record(core, id, shared.current.get());
        }
        let Core { trains, counts, .. } = core;
        let Some(train) = &trains[id as usize] else { return self.nothing_done() };
        let journey = train.journey(self.cars, counts);
        trains[id as usize] = None;
        journey
    }

    /// Records what the train has done.
    fn record(&self, core: &mut Core, id: u32, task: u32) {
        let Some(TrainState { cars, count, .. }) = core.trains[id as usize] else { return };
        // Bursts are led to a lane as they come from the one before.
        let led = [self.pitches[0]].into_iter().chain(self.pitches);
        for ((car, booked), led) in self.cars.iter().zip(cars.iter().flatten()).zip(led) {
            let (done, is_requested) = match booked.cut {
                Cut::Not => (count, false),
                Cut::Ahead(done) => (done, false),
                Cut::Requested(done, _) => (done, true),
                Cut::UnderWay(done, _, start) => {
                    let since = booked.first + booked.pitch * done;
                    core.record_wait(booked.lane, task, car.reason, since, start);
                    (done, true)
                }
            };
            // What has been requested has been led to its request, whether it has ended or not.
            Self::record_lead(core, task, car, booked, led, done + u64::from(is_requested));
            core.record_train((booked.lane, task), car.reason, (booked.first, booked.pitch, done), car.plan);
        }
    }

    fn record_lead(core: &mut Core, task: u32, car: &Car, booked: &Booked, pitch: Time, led: u64) {
        let delays = car.lead.iter().filter(|delay| delay.2 > Time::ZERO).count() as u8;
        if led == 0 || delays == 0 {
            return;
        }
        let at = booked.first - lead_length(car.lead);
        core.record(Record::Leads { who: task as u16, at, pitch, count: led as u16, delays });
        let mut after = Time::ZERO;
        for &(lane, label, span) in car.lead {
            if span > Time::ZERO {
                core.record(Record::Lead { lane: lane.number(), label, after, span });
            }
            after += span;
        }
    }

    fn nothing_done(&self) -> Journey<'a, N> {
        let state = |_| CarState { done: 0, next: Burst::Ahead };
        Journey { cars: std::array::from_fn(|index| self.cars.get(index).map(state)) }
    }
}

impl<'a, const N: usize> Future for TrainRun<'a, '_, N> {
    type Output = Journey<'a, N>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Journey<'a, N>> {
        if self.booked.is_none() {
            self.booked = self.book();
        }
        let Some(id) = self.booked else { return Poll::Ready(self.nothing_done()) };
        let TrainRun { sim, end, until, armed, .. } = &mut *self;
        let cut =
            sim.shared.core.borrow().trains[id as usize].as_ref().is_none_or(|train| train.standing == Standing::Cut);
        if !cut && sim.shared.sleep(*end.min(until), armed).is_pending() {
            return Poll::Pending;
        }
        if !cut && until < end {
            sim.shared.core.borrow_mut().end_train(id, sim.now());
        }
        Poll::Ready(self.leave(id))
    }
}

impl<const N: usize> Drop for TrainRun<'_, '_, N> {
    fn drop(&mut self) {
        if let Some(id) = self.booked {
            let shared = &*self.sim.shared;
            shared.core.borrow_mut().cut_train(id, shared.now.get());
            drop(self.leave(id));
        }
    }
}
