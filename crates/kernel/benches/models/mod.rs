//! The models of the kernel study, for both benches. Each is made by [`Model::build`] and run by [`run`].

// Each bench uses a part of this.
#![allow(dead_code)]

pub mod by_hand;

use std::cell::Cell;
use std::rc::Rc;

use hopscope_kernel::{
    Bell, Burst, Car, CarState, During, Ended, Errand, Freight, Label, Lane, Leg, Load, Observer, Queue, Record, Sim,
    Time, Track, Turn,
};

static BUSY: Label = Label::reason("bus busy");
static NO_REQUEST: Label = Label::reason("no request");
static ADDRESS: Label = Label::protocol("address");
static DATA: Label = Label::payload("data");
static SERVICE: Label = Label::payload("service");

const BURSTS_PER_TRANSFER: u64 = 2_048;
const REGISTER_ACCESSES: u64 = 8;
const PIECES: u64 = 64;

/// Splitmix64, for think times and the like.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z ^ (z >> 27)
    }
    /// Uniform from 1 to `mean * 2`.
    fn around(&mut self, mean: u64) -> Time {
        Time::ps(1 + (((self.next() >> 32) * (mean * 2)) >> 32))
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Model {
    /// A: four masters think, acquire the one bus, first come first served, and hold it; times fixed or random.
    Masters { random: bool },
    /// B: register accesses, then 2,048 bursts back to back, as a train or burst by burst.
    Transfers { trains: bool },
    /// Four processes go over three lanes, one after the other and with a flight behind each, by hand or as ways.
    Ways { by_hand: bool },
    /// Somebody puts 64 pieces at a time before eight who carry them over these lanes and back, and waits for all of them;
    /// or eight, which are through something first and are alike.
    Carriers { observed: bool, alike: bool },
    /// Four processes send messages of 16 bursts over two lanes in a row, all of them at once.
    Convoys { observed: bool },
    /// Two who want one lane 256 times in a row, and pause then: by turns that are taken ahead, or one by one.
    Turns { ahead: bool },
    /// C: customers arrive at a queue; one server takes them.
    Server,
    /// Processes that sleep, `pending` at a time: the event queue and a poll.
    Sleepers { pending: u64 },
}

impl Model {
    /// The model, making `count` grants (A, ways, carriers, convoys, turns), bursts (B), customers (C) or sleeps.
    pub fn build(self, count: u64) -> Sim {
        let sim = Sim::new();
        match self {
            Model::Masters { random } => masters(&sim, count, random),
            Model::Transfers { trains } => {
                if !trains {
                    sim.without_trains();
                }
                transfers(&sim, count);
            }
            Model::Ways { by_hand } => ways(&sim, count, by_hand),
            Model::Carriers { observed, alike } => {
                carriers(&sim, count, alike);
                if observed {
                    return self::observed(sim);
                }
            }
            Model::Convoys { observed } => {
                convoys(&sim, count);
                if observed {
                    return self::observed(sim);
                }
            }
            Model::Turns { ahead } => {
                if !ahead {
                    sim.without_trains();
                }
                turns(&sim, count);
            }
            Model::Server => server(&sim, count),
            Model::Sleepers { pending } => sleepers(&sim, count, pending),
        }
        sim
    }
}

/// An observer that does next to nothing: what is measured is the recording.
#[derive(Default)]
struct Last(Option<Record>);

impl Observer for Last {
    fn records(&mut self, batch: &[Record]) {
        self.0 = batch.last().copied();
    }
}

pub fn observed(sim: Sim) -> Sim {
    sim.observe(Box::new(Last::default()));
    sim
}

/// Runs a model to its end.
pub fn run(sim: Sim) -> Sim {
    assert_eq!(sim.run(Time::ms(3_600_000)), Ended::Finished);
    sim
}

/// Think and hold times of a master.
fn times(draw: &mut Draw, master: u64, random: bool) -> (Time, Time) {
    if random { (draw.around(600_000), draw.around(240_000)) } else { (Time::ns(600 + 70 * master), Time::ns(240)) }
}

fn masters(sim: &Sim, count: u64, random: bool) {
    let bus = sim.lane("bus", None);
    for m in 0..4 {
        let (s, bus) = (sim.clone(), bus.clone());
        sim.process(&format!("master{m}"), async move {
            let mut draw = Draw(m);
            for _ in 0..count / 4 {
                let (think, hold) = times(&mut draw, m, random);
                s.wait(think).await;
                let grant = bus.acquire(&BUSY).await;
                grant.hold(&DATA, hold).await;
            }
        });
    }
}

fn transfers(sim: &Sim, count: u64) {
    let bus = sim.lane("bus", None);
    let (work, done) = (Queue::new(sim, 1), Queue::new(sim, 1));
    let transfers = count / BURSTS_PER_TRANSFER;
    let (s, b, w, d) = (sim.clone(), bus.clone(), work.clone(), done.clone());
    sim.process("driver", async move {
        for _ in 0..transfers {
            for _ in 0..REGISTER_ACCESSES {
                s.wait(Time::ns(200)).await;
                let grant = b.acquire(&BUSY).await;
                grant.hold_plan([(&ADDRESS, Time::ns(60)), (&DATA, Time::ns(30))]).await;
            }
            w.put((), &NO_REQUEST).await;
            d.take(&NO_REQUEST).await;
        }
    });
    let s = sim.clone();
    sim.process("engine", async move {
        let plan = [(&ADDRESS, Time::ns(60)), (&DATA, Time::ns(240))];
        let (length, bursts) = (Time::ns(300), BURSTS_PER_TRANSFER);
        for _ in 0..transfers {
            work.take(&NO_REQUEST).await;
            let car = Car { lane: &bus, priority: 0, reason: &BUSY, offset: Time::ZERO, lead: &[], plan: &plan };
            let [first, ..] = s.train(bursts, s.now(), length, &[car]).await.cars;
            let Some(state) = first else { return };
            assert!(matches!(state.next, Burst::Ahead));
            for _ in state.done..bursts {
                let grant = bus.acquire(&BUSY).await;
                grant.hold_plan(plan).await;
            }
            done.put((), &NO_REQUEST).await;
        }
    });
}

fn ways(sim: &Sim, count: u64, by_hand: bool) {
    let lanes: Rc<[Lane]> = ["request", "memory", "answer"].map(|name| sim.lane(name, None)).into();
    for p in 0..4 {
        let (s, lanes) = (sim.clone(), lanes.clone());
        sim.process(&format!("reader{p}"), async move {
            let plan = |lane: usize| [(&ADDRESS, Time::ns(10)), (&DATA, Time::ns(40 + 10 * lane as u64 + p))];
            let legs = lanes
                .iter()
                .enumerate()
                .map(|(number, lane)| Leg::over(lane, &BUSY, plan(number)).then(&[(lane, &SERVICE, Time::ns(30))]));
            let legs: Rc<[Leg]> = legs.collect();
            for _ in 0..count / 4 / lanes.len() as u64 {
                if !by_hand {
                    s.go(legs.clone()).await;
                    continue;
                }
                for (number, lane) in lanes.iter().enumerate() {
                    let left = lane.acquire(&BUSY).await.leave(plan(number));
                    let end = left + Time::ns(30);
                    s.wait_until(end).await;
                    lane.delayed(&SERVICE, left, end);
                }
            }
        });
    }
}

fn carriers(sim: &Sim, count: u64, alike: bool) {
    let pieces = if alike { 8 } else { PIECES };
    let lanes = ["request", "memory", "answer"].map(|name| sim.lane(name, None));
    let (arrived, bell) = (Rc::new(Cell::new(0)), Bell::new(sim));
    let (seen, rung) = (arrived.clone(), bell.clone());
    let names = (0..8).map(|number| format!("carrier{number}"));
    let carriers = sim.carriers(names, &NO_REQUEST, move |_, count, _| {
        seen.set(seen.get() + u64::from(count));
        rung.ring();
    });
    let s = sim.clone();
    sim.process("reader", async move {
        let leg =
            |(number, lane): (usize, &Lane)| {
                Leg::over(lane, &BUSY, [(&ADDRESS, Time::ns(10)), (&DATA, Time::ns(40 + 10 * number as u64))])
                    .then(&[(lane, &SERVICE, Time::ns(30))])
            };
        let through = alike.then(|| Leg::owing(&[(&lanes[0], &SERVICE, Time::ns(20))]));
        let legs: Rc<[Leg]> = through.into_iter().chain(lanes.iter().enumerate().map(leg)).collect();
        for round in 1..=count / pieces / lanes.len() as u64 {
            let (load, errand) = (Load { of: 0, bytes: 64 }, s.pass_on(Errand::NOBODY));
            let freight = || Freight { load, errand, legs: legs.clone(), passed: None, begun: None };
            match alike {
                true => carriers.put_alike(freight(), pieces as u32),
                false => (0..pieces).for_each(|_| carriers.put(freight())),
            }
            // About when they are there, as a bus that is busy with what came first does.
            s.wait(Time::ns(60) * pieces).await;
            carriers.settle();
            while arrived.get() < round * pieces {
                carriers.heard(&bell, &NO_REQUEST).await;
            }
        }
    });
}

fn convoys(sim: &Sim, count: u64) {
    const BURSTS: u64 = 16;
    let lanes = ["near", "far"].map(|name| sim.lane(name, None));
    for number in 0..4 {
        let (s, lanes) = (sim.clone(), lanes.clone());
        sim.process(&format!("sender{number}"), async move {
            for _ in 0..count / (4 * BURSTS * 2) {
                let tracks = lanes.iter().map(|lane| Track {
                    lane,
                    reason: &BUSY,
                    lead: (&lanes[0], &ADDRESS, Time::ns(250)),
                    plan: [(&ADDRESS, Time::ns(2)), (&DATA, Time::ns(16))],
                    first: Time::ZERO,
                    pitch: Time::ns(18),
                    state: CarState { done: 0, next: Burst::Ahead },
                });
                s.convoy(BURSTS as u32, tracks).await;
                s.wait(Time::ns(100 * (1 + number))).await;
            }
        });
    }
}

fn turns(sim: &Sim, count: u64) {
    const IN_A_ROW: u64 = 256;
    let lane = sim.lane("lane", None);
    for (name, span) in [("left", Time::ns(1_200)), ("right", Time::ns(960))] {
        let (s, lane) = (sim.clone(), lane.clone());
        sim.process(name, async move {
            let plan = [(&ADDRESS, Time::ns(185)), (&DATA, span)];
            let turn = [Car { lane: &lane, priority: 0, reason: &BUSY, offset: Time::ZERO, lead: &[], plan: &plan }];
            for _ in 0..count / (2 * IN_A_ROW) {
                let mut left = IN_A_ROW;
                while left > 0 {
                    let next = match s.turns(left, During::OwnTurn, &turn).await {
                        Turn::Granted(grant) => {
                            grant.hold_plan(plan).await;
                            left -= 1;
                            continue;
                        }
                        Turn::Taken(taken) => {
                            let [Some(CarState { done, next }), ..] = taken.journey.cars else { return };
                            left -= done;
                            next
                        }
                    };
                    match next {
                        Burst::Ahead => continue,
                        Burst::UnderWay(burst) => burst.finish().await,
                        Burst::Requested(request) => request.await.hold_plan(plan).await,
                    }
                    left -= 1;
                }
                s.wait(Time::us(50)).await;
            }
        });
    }
}

fn server(sim: &Sim, count: u64) {
    let customers = Queue::new(sim, 1_000_000);
    let (s, q) = (sim.clone(), customers.clone());
    sim.process("arrivals", async move {
        let mut draw = Draw(1);
        for n in 0..count {
            s.wait(draw.around(1_000_000)).await;
            q.put(n, &BUSY).await;
        }
    });
    let desk = sim.lane("desk", None);
    sim.process("server", async move {
        let mut draw = Draw(2);
        for _ in 0..count {
            customers.take(&NO_REQUEST).await;
            desk.spend(&SERVICE, draw.around(800_000)).await;
        }
    });
}

fn sleepers(sim: &Sim, count: u64, pending: u64) {
    for p in 0..pending {
        let s = sim.clone();
        sim.process(&format!("sleeper{p:04}"), async move {
            let mut draw = Draw(p);
            for _ in 0..count / pending {
                s.wait(draw.around(1_000_000)).await;
            }
        });
    }
}
