//! What lanes, holds, trains and combinations do, to the picosecond.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use hopscope_kernel::{
    Burst, Car, CarState, Either, Ended, Kind, Label, Lane, Observer, Queue, Record, Sim, Span, Time, Yielding, expand,
    join, race,
};

static BUSY: Label = Label::reason("bus busy");
static IDLE: Label = Label::reason("no request");
static ADDRESS: Label = Label::protocol("address");
static DATA: Label = Label::payload("data");

const FOREVER: Time = Time::ms(1_000);

fn ps(picoseconds: u64) -> Time {
    Time::ps(picoseconds)
}

/// Notes who did something and when.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<(String, u64)>>>);

impl Log {
    fn note(&self, who: &str, at: Time) {
        self.0.borrow_mut().push((who.to_string(), at.as_ps()));
    }
    fn assert(&self, expected: &[(&str, u64)]) {
        let seen = self.0.borrow();
        let seen: Vec<(&str, u64)> = seen.iter().map(|(who, at)| (who.as_str(), *at)).collect();
        assert_eq!(seen, expected);
    }
}

/// Everything recorded, as spans.
#[derive(Clone, Default)]
struct Collect(Rc<RefCell<(Vec<Record>, usize)>>);

impl Observer for Collect {
    fn records(&mut self, batch: &[Record]) {
        let (records, largest) = &mut *self.0.borrow_mut();
        records.extend_from_slice(batch);
        *largest = batch.len().max(*largest);
    }
}

impl Collect {
    fn on(sim: &Sim) -> Collect {
        let collect = Collect::default();
        sim.observe(Box::new(collect.clone()));
        collect
    }
    fn spans(&self, sim: &Sim) -> Vec<Span> {
        let (lanes, mut spans) = (sim.lanes(), Vec::new());
        expand(&self.0.borrow().0, |lane| lanes[usize::from(lane)].1, |span| spans.push(span));
        spans
    }
    fn phases(&self, sim: &Sim) -> Vec<(u64, u64)> {
        let phases = self.spans(sim).into_iter().filter(|s| s.phase_of().is_some());
        phases.map(|s| (s.at.as_ps(), s.span.as_ps())).collect()
    }
}

/// A process that asks for the lane at `at` and holds it for `length`, noting when it got it.
fn user(sim: &Sim, lane: &Lane, log: &Log, name: &'static str, at: u64, priority: u8, length: u64) {
    let (s, lane, log) = (sim.clone(), lane.clone(), log.clone());
    sim.process(name, async move {
        s.wait_until(ps(at)).await;
        let grant = lane.acquire_with(priority, &BUSY).await;
        log.note(name, s.now());
        grant.hold(&DATA, ps(length)).await;
    });
}

#[test]
fn a_hold_ends_at_its_time_and_not_a_picosecond_before() {
    let (sim, log) = (Sim::new(), Log::default());
    let (s, lane, l) = (sim.clone(), sim.lane("bus", None), log.clone());
    sim.process("user", async move {
        let grant = lane.acquire(&BUSY).await;
        grant.hold_plan([(&ADDRESS, ps(40)), (&DATA, ps(60))]).await;
        l.note("ended", s.now());
    });
    assert_eq!(sim.run(ps(99)), Ended::Limit);
    log.assert(&[]);
    assert_eq!(sim.now(), ps(99));
    assert_eq!(sim.run(ps(100)), Ended::Finished);
    log.assert(&[("ended", 100)]);
}

#[test]
fn a_clocked_lane_is_granted_at_edges_only() {
    let (sim, log) = (Sim::new(), Log::default());
    let bus = sim.lane("bus", Some(ps(30)));
    user(&sim, &bus, &log, "off the edge", 31, 0, 5);
    user(&sim, &bus, &log, "at the edge", 90, 0, 35);
    user(&sim, &bus, &log, "waits for a release off the edge", 100, 0, 1);
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    log.assert(&[("off the edge", 60), ("at the edge", 90), ("waits for a release off the edge", 150)]);
}

#[test]
fn priority_beats_arrival_and_arrival_beats_name_and_name_decides_the_rest() {
    let (sim, log) = (Sim::new(), Log::default());
    let bus = sim.lane("bus", None);
    user(&sim, &bus, &log, "holder", 0, 0, 100);
    user(&sim, &bus, &log, "z, early", 10, 1, 10);
    user(&sim, &bus, &log, "b, later", 20, 1, 10);
    user(&sim, &bus, &log, "a, later", 20, 1, 10);
    user(&sim, &bus, &log, "urgent", 30, 0, 10);
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    log.assert(&[("holder", 0), ("urgent", 100), ("z, early", 110), ("a, later", 120), ("b, later", 130)]);
}

#[test]
fn requests_within_one_clock_are_simultaneous() {
    let (sim, log) = (Sim::new(), Log::default());
    let bus = sim.lane("bus", Some(ps(30)));
    user(&sim, &bus, &log, "b", 31, 0, 10);
    user(&sim, &bus, &log, "a", 60, 0, 10);
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    log.assert(&[("a", 60), ("b", 90)]);
}

#[test]
fn nobody_overtakes_at_a_release() {
    let (sim, log) = (Sim::new(), Log::default());
    let bus = sim.lane("bus", None);
    let (s, b, l) = (sim.clone(), bus.clone(), log.clone());
    sim.process("a, greedy", async move {
        for _ in 0..2 {
            let grant = b.acquire(&BUSY).await;
            l.note("greedy", s.now());
            grant.hold(&DATA, ps(50)).await;
        }
    });
    user(&sim, &bus, &log, "patient", 10, 0, 50);
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    log.assert(&[("greedy", 0), ("patient", 50), ("greedy", 100)]);
}

/// Someone holds ten units of 10 ps from 100 on and makes way; another asks. When does the other get the lane?
fn yields_at(after: u64, to_priority: u8, asked_at: u64, priority: u8) -> u64 {
    let (sim, log) = (Sim::new(), Log::default());
    let bus = sim.lane("bus", None);
    let (s, b) = (sim.clone(), bus.clone());
    sim.process("holder", async move {
        let grant = b.acquire(&BUSY).await;
        s.wait_until(ps(100)).await;
        let rule = Yielding { unit: ps(10), after: ps(after), to_priority, piece: u64::MAX };
        let done = grant.hold_yielding(&DATA, 10, rule).await;
        assert_eq!(s.now(), ps(100 + done * 10));
    });
    user(&sim, &bus, &log, "other", asked_at, priority, 1);
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    let at = log.0.borrow()[0].1;
    at - 100
}

#[test]
fn a_yielding_hold_ends_with_the_unit_under_way() {
    assert_eq!(yields_at(0, 0, 125, 0), 30);
    assert_eq!(yields_at(0, 0, 120, 0), 30, "at the boundary the next unit is under way");
    assert_eq!(yields_at(0, 0, 129, 0), 30);
    assert_eq!(yields_at(0, 0, 195, 0), 100, "nothing is left to give");
}

#[test]
fn a_yielding_hold_never_ends_before_its_minimum() {
    assert_eq!(yields_at(55, 0, 105, 0), 60);
    assert_eq!(yields_at(55, 0, 175, 0), 80);
    assert_eq!(yields_at(500, 0, 105, 0), 100);
}

#[test]
fn a_yielding_hold_makes_way_for_its_priority_or_better_only() {
    assert_eq!(yields_at(0, 1, 125, 2), 100);
    assert_eq!(yields_at(0, 1, 125, 1), 30);
    assert_eq!(yields_at(0, 1, 125, 0), 30);
}

#[test]
fn a_yielding_hold_makes_way_for_who_was_there_before() {
    assert_eq!(yields_at(0, 0, 50, 0), 10);
    assert_eq!(yields_at(35, 0, 50, 0), 40);
}

#[test]
fn a_grant_that_is_handed_over_keeps_the_others_waiting_until_its_new_holder_lets_go() {
    let (sim, log) = (Sim::new(), Log::default());
    let lane = sim.lane("bus", None);
    user(&sim, &lane, &log, "other", 5, 0, 10);
    let handed = Rc::new(RefCell::new(None));
    let (l, h) = (lane.clone(), handed.clone());
    sim.process("first", async move {
        let grant = l.acquire_with(9, &BUSY).await;
        grant.hold(&ADDRESS, ps(10)).await;
        *h.borrow_mut() = Some(grant.hand_over());
    });
    let (s, l, noted) = (sim.clone(), lane.clone(), log.clone());
    sim.process("second", async move {
        s.wait_until(ps(40)).await;
        let handed = handed.borrow_mut().take().expect("handed over at 10");
        let grant = l.take_up(handed);
        noted.note("second", s.now());
        grant.hold(&DATA, ps(20)).await;
    });
    assert_eq!(sim.run(ps(1_000)), Ended::Finished);
    log.assert(&[("second", 40), ("other", 60)]);
}

#[test]
fn dropping_a_request_withdraws_it() {
    let (sim, log) = (Sim::new(), Log::default());
    let bus = sim.lane("bus", None);
    user(&sim, &bus, &log, "holder", 0, 0, 100);
    let (s, b, l) = (sim.clone(), bus.clone(), log.clone());
    sim.process("impatient", async move {
        let outcome = race(&s, b.acquire(&BUSY), s.wait_until(ps(40))).await;
        assert!(matches!(outcome, Either::Right(())));
        l.note("gave up", s.now());
    });
    user(&sim, &bus, &log, "patient", 50, 0, 10);
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    log.assert(&[("holder", 0), ("gave up", 40), ("patient", 100)]);
}

#[test]
fn dropping_a_request_that_was_just_granted_hands_the_lane_on() {
    let (sim, log) = (Sim::new(), Log::default());
    let (bus, flag) = (sim.lane("bus", None), Rc::new(Cell::new(false)));
    user(&sim, &bus, &log, "a, holder", 0, 0, 100);
    let (s, b, f) = (sim.clone(), bus.clone(), flag.clone());
    sim.process("b, distracted", async move {
        s.wait_until(ps(10)).await;
        // Looks at the flag only when the lane's arbitration wakes it.
        let distraction = poll_fn(|_| if f.get() { Poll::Ready(()) } else { Poll::Pending });
        assert!(matches!(race(&s, distraction, b.acquire(&BUSY)).await, Either::Left(())));
    });
    user(&sim, &bus, &log, "c, next", 20, 0, 10);
    let s = sim.clone();
    sim.process("d, distracts", async move {
        s.wait_until(ps(50)).await;
        flag.set(true);
    });
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    log.assert(&[("a, holder", 0), ("c, next", 100)]);
}

#[test]
fn dropping_a_grant_in_a_hold_releases_the_lane_and_ends_the_phase() {
    let (sim, log) = (Sim::new(), Log::default());
    let (bus, seen) = (sim.lane("bus", None), Collect::on(&sim));
    let (s, b) = (sim.clone(), bus.clone());
    sim.process("interrupted", async move {
        let transfer = async {
            let grant = b.acquire(&BUSY).await;
            grant.hold_plan([(&ADDRESS, ps(30)), (&DATA, ps(70)), (&ADDRESS, ps(20))]).await;
        };
        race(&s, transfer, s.wait_until(ps(40))).await;
    });
    user(&sim, &bus, &log, "next", 10, 0, 25);
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    log.assert(&[("next", 40)]);
    assert_eq!(seen.phases(&sim), [(0, 30), (30, 10), (40, 25)]);
}

#[test]
fn tearing_down_ends_every_phase_now() {
    let (sim, log) = (Sim::new(), Log::default());
    let (bus, seen) = (sim.lane("bus", None), Collect::on(&sim));
    user(&sim, &bus, &log, "holder", 0, 0, 100);
    user(&sim, &bus, &log, "waiter", 10, 0, 100);
    assert_eq!(sim.run(ps(60)), Ended::Limit);
    sim.tear_down();
    assert_eq!(seen.phases(&sim), [(0, 60)]);
}

/// Looks names up in the simulation that it observes, as whoever sums up does.
struct Knowing {
    _sim: Sim,
    _alive: Rc<()>,
}

impl Observer for Knowing {
    fn records(&mut self, _: &[Record]) {}
}

#[test]
fn tearing_down_ends_what_an_observer_keeps() {
    let (sim, alive) = (Sim::new(), Rc::new(()));
    sim.observe(Box::new(Knowing { _sim: sim.clone(), _alive: alive.clone() }));
    sim.tear_down();
    assert_eq!(Rc::strong_count(&alive), 1, "the two do not keep each other");
}

#[test]
fn a_race_cancels_the_loser() {
    let sim = Sim::new();
    let s = sim.clone();
    sim.process("racer", async move {
        let winner = race(&s, s.wait(ps(1_000)), async { s.wait(ps(10)).await }).await;
        assert_eq!(winner, Either::Right(()));
        assert_eq!(s.now(), ps(10));
    });
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    assert_eq!(sim.now(), ps(10), "the cancelled wait does not keep the run alive");
    assert_eq!(sim.counts().events, 1);
}

#[test]
fn a_race_cancels_one_of_two_equal_waits_only() {
    let sim = Sim::new();
    let s = sim.clone();
    sim.process("racer", async move {
        let long = || s.wait_until(ps(1_000));
        join(&s, race(&s, long(), s.wait(ps(10))), long()).await;
        assert_eq!(s.now(), ps(1_000));
    });
    assert_eq!(sim.run(FOREVER), Ended::Finished);
}

#[test]
fn the_first_wins_a_race_that_is_even() {
    let sim = Sim::new();
    let s = sim.clone();
    sim.process("racer", async move {
        let winner = race(&s, s.wait(ps(10)), s.wait(ps(10))).await;
        assert_eq!(winner, Either::Left(()));
    });
    assert_eq!(sim.run(FOREVER), Ended::Finished);
}

#[test]
fn a_join_ends_with_the_later() {
    for (left, right) in [(10, 70), (70, 10), (70, 70), (0, 70)] {
        let sim = Sim::new();
        let s = sim.clone();
        sim.process("joiner", async move {
            let wait = |span: u64| {
                let s = &s;
                async move {
                    s.wait(ps(span)).await;
                    s.now().as_ps()
                }
            };
            assert_eq!(join(&s, wait(left), wait(right)).await, (left, right));
            assert_eq!(s.now(), ps(70));
            s.wait(ps(5)).await;
        });
        assert_eq!(sim.run(FOREVER), Ended::Finished);
        assert_eq!(sim.now(), ps(75));
    }
}

#[test]
fn a_livelock_through_a_lane_is_reported_with_its_name() {
    let sim = Sim::new();
    let bus = sim.lane("bus", None);
    for name in ["greedy", "starved"] {
        let bus = bus.clone();
        sim.process(name, async move {
            loop {
                // At one instant the first by name wins every time.
                let grant = bus.acquire(&BUSY).await;
                grant.hold(&DATA, Time::ZERO).await;
            }
        });
    }
    let s = sim.clone();
    sim.process("innocent", async move { s.wait(ps(10)).await });
    assert_eq!(sim.run(FOREVER), Ended::Livelock(vec!["greedy".into()]));
    assert_eq!(sim.now(), Time::ZERO);
}

#[test]
fn a_livelock_without_events_is_reported_with_its_names() {
    let ping_pong = |sim: &Sim| {
        let (a, b) = (Queue::new(sim, 1), Queue::new(sim, 1));
        for (name, from, to) in [("ping", a.clone(), b.clone()), ("pong", b, a.clone())] {
            sim.process(name, async move {
                loop {
                    from.take(&IDLE).await;
                    to.put((), &BUSY).await;
                }
            });
        }
        assert_eq!(a.try_put(()), Ok(()));
        vec!["ping", "pong"]
    };
    let stands_still = |sim: &Sim| {
        let s = sim.clone();
        sim.process("sleepless", async move {
            loop {
                s.wait(Time::ZERO).await;
            }
        });
        vec!["sleepless"]
    };
    let alone = |sim: &Sim| {
        let queue = Queue::new(sim, 1);
        sim.process("busybody", async move {
            loop {
                queue.put((), &BUSY).await;
                queue.take(&IDLE).await;
            }
        });
        vec!["busybody"]
    };
    assert_livelock(ping_pong);
    assert_livelock(stands_still);
    assert_livelock(alone);
}

/// Makes processes beside an innocent one; they are the livelock.
fn assert_livelock(make: impl FnOnce(&Sim) -> Vec<&'static str>) {
    let sim = Sim::new();
    let s = sim.clone();
    sim.process("innocent", async move { s.wait(ps(10)).await });
    let names = make(&sim).into_iter().map(String::from).collect();
    assert_eq!(sim.run(FOREVER), Ended::Livelock(names));
    sim.tear_down();
}

#[test]
fn twenty_thousand_instants_with_an_event_each_are_no_livelock() {
    let sim = Sim::new();
    let (s, bus) = (sim.clone(), sim.lane("bus", None));
    sim.process("worker", async move {
        for _ in 0..20_000 {
            s.wait(ps(10)).await;
            join(&s, bus.acquire(&BUSY), async {}).await;
        }
    });
    assert_eq!(sim.run(FOREVER), Ended::Finished);
}

#[test]
fn stop_ends_a_run_and_run_continues() {
    let (sim, log) = (Sim::new(), Log::default());
    let (s, l) = (sim.clone(), log.clone());
    sim.process("stopper", async move {
        s.wait(ps(10)).await;
        s.stop();
        l.note("stopped", s.now());
        s.wait(ps(10)).await;
        l.note("went on", s.now());
    });
    assert_eq!(sim.run(FOREVER), Ended::Stopped);
    assert_eq!(sim.now(), ps(10));
    log.assert(&[("stopped", 10)]);
    let (s, l) = (sim.clone(), log.clone());
    sim.process("latecomer", async move { l.note("started", s.now()) });
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    log.assert(&[("stopped", 10), ("started", 10), ("went on", 20)]);
}

#[test]
fn a_limit_in_the_past_does_not_turn_time_back() {
    let sim = Sim::new();
    let s = sim.clone();
    sim.process("sleeper", async move { s.wait(ps(100)).await });
    assert_eq!(sim.run(ps(20)), Ended::Limit);
    assert_eq!(sim.run(ps(5)), Ended::Limit);
    assert_eq!(sim.now(), ps(20));
}

/// How a train of ten bursts of 100 ps, one every 150 ps from 0 on, was cut: bursts done, what came next, and
/// when the other got the lane and the owner went on.
#[derive(Debug, PartialEq)]
struct CutTrain {
    done: u64,
    next: &'static str,
    other_at: u64,
    owner_at: u64,
}

fn cut(clock: Option<u64>, other: &'static str, asks_at: u64) -> CutTrain {
    let (sim, log, owner) = (Sim::new(), Log::default(), Rc::new(RefCell::new(None)));
    let bus = sim.lane("bus", clock.map(ps));
    let (s, b, o) = (sim.clone(), bus.clone(), owner.clone());
    sim.process("owner", async move {
        let plan = [(&ADDRESS, ps(40)), (&DATA, ps(60))];
        let car = Car { lane: &b, priority: 0, reason: &BUSY, offset: Time::ZERO, lead: &[], plan: &plan };
        let [first, ..] = s.train(10, Time::ZERO, ps(150), &[car]).await.cars;
        let CarState { done, next } = first.expect("the train has one car");
        let next = match next {
            Burst::Ahead => "ahead",
            Burst::Requested(request) => {
                request.await;
                "requested"
            }
            Burst::UnderWay(burst) => {
                burst.finish().await;
                "under way"
            }
        };
        *o.borrow_mut() = Some((done, next, s.now().as_ps()));
    });
    user(&sim, &bus, &log, other, asks_at, 0, 20);
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    let other_at = log.0.borrow()[0].1;
    let (done, next, owner_at) = owner.borrow().expect("the owner has ended");
    CutTrain { done, next, other_at, owner_at }
}

#[test]
fn a_train_that_nobody_cuts_carries_every_burst() {
    let whole = CutTrain { done: 10, next: "ahead", other_at: 2_000, owner_at: 1_450 };
    assert_eq!(cut(None, "other", 2_000), whole);
}

#[test]
fn a_train_cut_in_a_gap_gives_the_lane_at_once() {
    assert_eq!(cut(None, "other", 120), CutTrain { done: 1, next: "ahead", other_at: 120, owner_at: 120 });
}

#[test]
fn a_train_cut_in_a_burst_ends_the_burst_first() {
    assert_eq!(cut(None, "other", 160), CutTrain { done: 1, next: "under way", other_at: 250, owner_at: 250 });
}

#[test]
fn a_train_cut_as_a_burst_ends_gives_the_lane_at_once() {
    assert_eq!(cut(None, "other", 250), CutTrain { done: 2, next: "ahead", other_at: 250, owner_at: 250 });
}

#[test]
fn a_train_cut_as_a_burst_begins_competes_by_name() {
    assert_eq!(cut(None, "after owner", 150), CutTrain { done: 1, next: "requested", other_at: 150, owner_at: 170 });
    assert_eq!(cut(None, "z", 150), CutTrain { done: 1, next: "requested", other_at: 150, owner_at: 150 });
}

#[test]
fn a_train_cut_while_a_burst_waits_for_its_clock_edge_competes_at_the_edge() {
    // Burst 1 is requested at 150 and would start at 160.
    assert_eq!(cut(Some(40), "a", 155), CutTrain { done: 1, next: "requested", other_at: 160, owner_at: 200 });
    assert_eq!(cut(Some(40), "a", 149), CutTrain { done: 1, next: "ahead", other_at: 160, owner_at: 149 });
}

#[test]
fn a_train_does_not_start_on_a_lane_in_use() {
    let sim = Sim::new();
    let (s, bus) = (sim.clone(), sim.lane("bus", None));
    sim.process("owner", async move {
        let grant = bus.acquire(&BUSY).await;
        let plan = [(&DATA, ps(100))];
        let car = Car { lane: &bus, priority: 0, reason: &BUSY, offset: Time::ZERO, lead: &[], plan: &plan };
        let [first, ..] = s.train(10, s.now(), ps(150), &[car]).await.cars;
        assert!(first.is_some_and(|car| car.done == 0 && matches!(car.next, Burst::Ahead)));
        grant.hold(&DATA, ps(1)).await;
    });
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    assert_eq!((sim.counts().trains, sim.now()), (0, ps(1)));
}

#[test]
fn dropping_a_train_ends_the_burst_under_way_now() {
    let (sim, log) = (Sim::new(), Log::default());
    let (bus, seen) = (sim.lane("bus", None), Collect::on(&sim));
    let (s, b) = (sim.clone(), bus.clone());
    sim.process("owner", async move {
        let plan = [(&ADDRESS, ps(40)), (&DATA, ps(60))];
        let car = Car { lane: &b, priority: 0, reason: &BUSY, offset: Time::ZERO, lead: &[], plan: &plan };
        race(&s, s.train(10, Time::ZERO, ps(150), &[car]), s.wait(ps(200))).await;
    });
    user(&sim, &bus, &log, "other", 200, 0, 5);
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    let mut phases = seen.phases(&sim);
    phases.sort_unstable();
    assert_eq!(phases, [(0, 40), (40, 60), (150, 40), (190, 10), (200, 5)]);
    assert_eq!(sim.now(), ps(205));
}

#[test]
fn phases_and_gaps_of_a_lane_sum_to_the_time_and_nobody_waits_for_an_idle_lane() {
    for seed in 0..200u64 {
        let (sim, end) = (Sim::new(), ps(20_000));
        let (bus, seen) = (sim.lane("bus", None), Collect::on(&sim));
        for m in 0..4u64 {
            let (s, bus) = (sim.clone(), bus.clone());
            sim.process(&format!("master{m}"), async move {
                let mut state = seed * 4 + m + 1;
                let mut draw = |n: u64| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) % n
                };
                loop {
                    s.wait(ps(1 + draw(50) * 10)).await;
                    let grant = bus.acquire_with(draw(2) as u8, &BUSY).await;
                    grant.hold_plan([(&ADDRESS, ps(10)), (&DATA, ps(draw(9) * 10))]).await;
                }
            });
        }
        assert_eq!(sim.run(end), Ended::Limit);
        sim.tear_down();
        let spans = seen.spans(&sim);
        let mut phases: Vec<&Span> = spans.iter().filter(|s| s.phase_of().is_some()).collect();
        phases.sort_by_key(|s| s.at);
        let (mut busy, mut idle, mut at, mut idle_spans) = (Time::ZERO, Time::ZERO, Time::ZERO, Vec::new());
        for phase in phases {
            assert!(phase.at >= at, "seed {seed}: two phases at once at {}", phase.at);
            if phase.at > at {
                idle += phase.at - at;
                idle_spans.push((at, phase.at));
            }
            busy += phase.span;
            at = phase.at + phase.span;
        }
        idle += end - at;
        assert_eq!(busy + idle, end, "seed {seed}");
        for wait in spans.iter().filter(|s| matches!(s.kind, Kind::LaneWait(_) | Kind::QueueWait(_))) {
            let over = |&&(from, to): &&(Time, Time)| from < wait.at + wait.span && wait.at < to;
            assert_eq!(idle_spans.iter().find(over), None, "seed {seed}: {wait:?}");
        }
    }
}

#[test]
fn a_process_that_never_meets_anyone_is_observed_in_batches() {
    let sim = Sim::new();
    let (bus, seen) = (sim.lane("bus", None), Collect::on(&sim));
    sim.process("loner", async move {
        for _ in 0..100_000 {
            let grant = bus.acquire(&BUSY).await;
            grant.hold(&DATA, ps(10)).await;
        }
    });
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    let (records, largest) = &*seen.0.borrow();
    assert_eq!(records.len(), 100_000);
    assert!(*largest < 5_000, "records pile up: {largest}");
}

#[test]
fn who_is_first_by_name_takes_what_another_was_woken_for() {
    let (sim, log) = (Sim::new(), Log::default());
    let (bus, queue) = (sim.lane("bus", None), Queue::new(&sim, 1));
    // At 10: "b" begins to take; "c" puts and so wakes "b"; but before "b" runs, "a" gets its turn.
    let (s, q, l) = (sim.clone(), queue.clone(), log.clone());
    sim.process("b", async move {
        s.wait_until(ps(10)).await;
        q.take(&IDLE).await;
        l.note("b", s.now());
    });
    let (s, q, l, go) = (sim.clone(), queue.clone(), log.clone(), Queue::new(&sim, 1));
    let g = go.clone();
    sim.process("a", async move {
        g.take(&IDLE).await;
        q.take(&IDLE).await;
        l.note("a", s.now());
    });
    let s = sim.clone();
    sim.process("c", async move {
        let grant = bus.acquire(&BUSY).await;
        s.wait_until(ps(10)).await;
        drop(grant);
        assert_eq!((go.try_put(()), queue.try_put(())), (Ok(()), Ok(())));
        s.wait(ps(10)).await;
        assert_eq!(queue.try_put(()), Ok(()), "the first item was taken");
    });
    assert_eq!(sim.run(FOREVER), Ended::Finished);
    log.assert(&[("a", 10), ("b", 20)]);
}
