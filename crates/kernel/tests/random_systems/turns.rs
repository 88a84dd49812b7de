//! Turns: taken ahead where somebody else takes them, too, else by hand.

use hopscope_kernel::{Burst, Car, CarState, During, Grant, Lane, Sim, Taken, Time, Turn, join};

use crate::drawn::DrawnCar;
use crate::{ADDRESS, ARBITRATION, DATA};

/// One of the bursts beside a turn, from wherever it is; it is asked for at `request`.
async fn beside(sim: &Sim, car: &Car<'_>, burst: Burst<'_>, request: Time) {
    match burst {
        Burst::UnderWay(burst) => burst.finish().await,
        Burst::Requested(request) => request.await.hold_plan(car.plan).await,
        Burst::Ahead => {
            sim.wait_until(request.max(sim.now())).await;
            car.lane.acquire_with(car.priority, car.reason).await.hold_plan(car.plan).await;
        }
    }
}

async fn all_beside<'a>(sim: &Sim, cars: &[Car<'a>], at: Time, [one, two]: [Option<Burst<'a>>; 2]) {
    let burst = |number: usize, burst: Option<Burst<'a>>| async move {
        if let (Some(car), Some(burst)) = (cars.get(number), burst) {
            beside(sim, car, burst, at + car.offset).await;
        }
    };
    join(sim, burst(1, one), burst(2, two)).await;
}

const AHEAD: [Option<Burst<'static>>; 2] = [Some(Burst::Ahead), Some(Burst::Ahead)];

/// What is left of the `done`th burst beside turns.
fn left<'a>(state: Option<CarState<'a>>, done: u64) -> Option<Burst<'a>> {
    state.filter(|state| state.done <= done).map(|state| state.next)
}

async fn turn(grant: Grant<'_>, car: &Car<'_>) {
    grant.hold_plan(car.plan).await;
}

/// What is done beside a turn is done in it.
async fn in_own(sim: &Sim, cars: &[Car<'_>], count: u64) {
    let mut done = 0;
    while done < count {
        match sim.turns(count - done, During::OwnTurn, cars).await {
            Turn::Granted(grant) => {
                let beside = all_beside(sim, cars, sim.now(), AHEAD);
                join(sim, turn(grant, &cars[0]), beside).await;
                done += 1;
            }
            Turn::Taken(Taken { first, pitch, journey }) => {
                let [Some(own), one, two] = journey.cars else { unreachable!("a turn has a car") };
                let begin = first + pitch * own.done;
                let rest = [left(one, own.done), left(two, own.done)];
                done += own.done;
                match own.next {
                    Burst::UnderWay(burst) => {
                        join(sim, burst.finish(), all_beside(sim, cars, begin, rest)).await;
                        done += 1;
                    }
                    Burst::Requested(request) => {
                        let grant = request.await;
                        let beside = all_beside(sim, cars, sim.now(), AHEAD);
                        join(sim, turn(grant, &cars[0]), beside).await;
                        done += 1;
                    }
                    Burst::Ahead => {
                        assert!(own.done > 0 && done <= count, "the next one is asked for when one is over")
                    }
                }
            }
        }
    }
}

/// What is done beside a turn is done before it, while somebody else has his.
async fn in_others(sim: &Sim, cars: &[Car<'_>], count: u64) {
    turn(cars[0].lane.acquire(cars[0].reason).await, &cars[0]).await;
    let mut done = 1;
    while done < count {
        let mut turns = sim.turns(count - done, During::OthersTurn, cars);
        let taken = if turns.begin() {
            Some(turns.await)
        } else {
            let by_hand = async {
                match turns.await {
                    Turn::Granted(grant) => {
                        turn(grant, &cars[0]).await;
                        None
                    }
                    taken => Some(taken),
                }
            };
            join(sim, by_hand, all_beside(sim, cars, sim.now(), AHEAD)).await.0
        };
        let Some(Turn::Taken(Taken { first, pitch, journey })) = taken else {
            done += 1;
            continue;
        };
        let [Some(own), one, two] = journey.cars else { unreachable!("a turn has a car") };
        done += own.done;
        if own.done > 0 && matches!(own.next, Burst::Ahead) {
            continue;
        }
        let asked =
            first + pitch * own.done - (pitch - cars[0].plan.iter().fold(Time::ZERO, |sum, phase| sum + phase.1));
        let rest = [left(one, own.done), left(two, own.done)];
        let own = async {
            match own.next {
                Burst::UnderWay(burst) => burst.finish().await,
                Burst::Requested(request) => turn(request.await, &cars[0]).await,
                Burst::Ahead => unreachable!("the next one is asked for when one is over"),
            }
        };
        join(sim, own, all_beside(sim, cars, asked, rest)).await;
        done += 1;
    }
    all_beside(sim, cars, sim.now(), AHEAD).await;
}

/// So many turns, the first car of which is the turn.
pub async fn take(sim: &Sim, lanes: &[Lane], cars: &[DrawnCar], count: u64, during: During) {
    let plans: Vec<_> = cars.iter().map(|c| [(&ADDRESS, Time::ps(c.address)), (&DATA, Time::ps(c.data))]).collect();
    let car = |(car, plan): (&DrawnCar, _)| Car {
        lane: &lanes[car.lane],
        priority: car.priority,
        reason: &ARBITRATION,
        offset: Time::ps(car.offset),
        lead: &[],
        plan,
    };
    let cars: Vec<Car<'_>> = cars.iter().zip(&plans).map(|(drawn, plan)| car((drawn, &plan[..]))).collect();
    match during {
        During::OwnTurn => in_own(sim, &cars, count).await,
        During::OthersTurn => in_others(sim, &cars, count).await,
    }
}
