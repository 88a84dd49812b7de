//! The bursts of a train: as a train where one can be booked, else by hand.

use hopscope_kernel::{Burst, Car, CarState, Lane, Lead, Sim, Time, join, led};

use crate::drawn::DrawnCar;
use crate::{ADDRESS, ARBITRATION, DATA, LEAD};

async fn by_hand(sim: &Sim, car: Car<'_>, start: Time, pitch: Time, state: CarState<'_>, stop: u64) {
    let mut k = state.done;
    match state.next {
        Burst::Ahead => {}
        Burst::Requested(request) => {
            let grant = request.await;
            grant.hold_plan(car.plan).await;
            k += 1;
        }
        Burst::UnderWay(burst) => {
            burst.finish().await;
            k += 1;
        }
    }
    while k < stop {
        let request = start + pitch * k + car.offset;
        sim.wait_until(request).await;
        led(car.lead, request);
        let grant = car.lane.acquire_with(car.priority, car.reason).await;
        grant.hold_plan(car.plan).await;
        k += 1;
    }
}

/// The bursts of a train, as a train where one can be booked, else by hand; booked again after some bursts.
pub async fn ride(sim: &Sim, lanes: &[Lane], cars: &[DrawnCar], count: u64, pitch: u64, delay: u64) {
    let plans: Vec<_> = cars.iter().map(|c| [(&ADDRESS, Time::ps(c.address)), (&DATA, Time::ps(c.data))]).collect();
    // Half of the way to a request is owed to the next lane's part.
    let lead = |car: &DrawnCar| [(&lanes[(car.lane + 1) % lanes.len()], &LEAD, Time::ps(car.offset / 2))];
    let leads: Vec<[Lead<'_>; 1]> = cars.iter().map(lead).collect();
    let make = |((car, plan), lead): ((&DrawnCar, _), _)| Car {
        lane: &lanes[car.lane],
        priority: car.priority,
        reason: &ARBITRATION,
        offset: Time::ps(car.offset),
        lead,
        plan,
    };
    let made: Vec<Car<'_>> =
        cars.iter().zip(&plans).zip(&leads).map(|((car, plan), lead)| make(((car, &plan[..]), &lead[..]))).collect();
    let three: [Car<'_>; 3] = std::array::from_fn(|car| made[car.min(made.len() - 1)]);
    let (pitch, start) = (Time::ps(pitch), sim.now() + Time::ps(delay));
    let mut from = 0;
    while from < count {
        let begin = start + pitch * from;
        // A train cannot begin in the past: bursts that are late are made by hand.
        let bookable = if begin >= sim.now() { count - from } else { 0 };
        let run = sim.train(bookable, begin.max(sim.now()), pitch, &three).of_the_first(made.len());
        let states = run.await.cars;
        let done = states.iter().flatten().map(|state| state.done).max().unwrap_or(0);
        // One car alone may be booked again after any burst; several meet again only where all their bursts have ended.
        let stop = if cars.len() == 1 { (done + 3).min(count - from) } else { count - from };
        let mut hands = made.iter().zip(states).map(|(car, state)| {
            let state = state.expect("every car has a state");
            by_hand(sim, *car, begin, pitch, state, stop)
        });
        match (hands.next(), hands.next(), hands.next()) {
            (Some(one), Some(two), Some(three)) => drop(join(sim, one, join(sim, two, three)).await),
            (Some(one), Some(two), None) => drop(join(sim, one, two).await),
            (Some(one), ..) => one.await,
            _ => unreachable!("a train has a car"),
        }
        from += stop;
    }
}
