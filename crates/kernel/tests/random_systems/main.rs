//! Laws over random systems: trains change nothing, names and not positions order what is simultaneous,
//! observing changes nothing, shifting by whole clock periods shifts everything.

mod carriers;
mod carry;
mod convoys;
mod drawn;
mod trains;
mod turns;

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{
    Begun, Counts, Ended, Errand, Freight, Kind, Label, Lane, Leg, Load, Observer, Queue, Record, Sim, Time, Yielding,
    expand, join, led,
};

use carriers::{Come, Crew};
use convoys::send;
use drawn::{DrawnLeg, Step, System, draw_system, draw_system_of_turns, draw_system_of_ways};
use trains::ride;

static ARBITRATION: Label = Label::reason("arbitration");
static TOKEN: Label = Label::reason("no token");
static ADDRESS: Label = Label::protocol("address");
static LEAD: Label = Label::protocol("lead");
static DATA: Label = Label::payload("data");
static LONG: Label = Label::payload("long data");

/// The legs of a way, by the process that goes it.
async fn go_by_hand(sim: &Sim, lanes: &[Lane], legs: &[DrawnLeg]) {
    for leg in legs {
        let mut left = sim.now();
        if let Some(lane) = leg.lane {
            let grant = lanes[lane].acquire(&ARBITRATION).await;
            left = grant.leave([(&ADDRESS, Time::ps(leg.address)), (&DATA, Time::ps(leg.data))]);
        }
        let owed = leg.owed.map(|ps| (&lanes[0], &LEAD, Time::ps(ps)));
        let end = left + owed[0].2 + owed[1].2;
        sim.wait_until(end).await;
        led(&owed, end);
    }
}

fn legs(lanes: &[Lane], drawn: &[DrawnLeg]) -> Rc<[Leg]> {
    let leg = |leg: &DrawnLeg| {
        let owed = leg.owed.map(|ps| (&lanes[0], &LEAD, Time::ps(ps)));
        let plan = [(&ADDRESS, Time::ps(leg.address)), (&DATA, Time::ps(leg.data))];
        match leg.lane {
            Some(lane) => Leg::over(&lanes[lane], &ARBITRATION, plan).then(&owed),
            None => Leg::owing(&owed),
        }
    };
    drawn.iter().map(leg).collect()
}

async fn go(sim: &Sim, lanes: &[Lane], drawn: &[DrawnLeg]) {
    sim.go(legs(lanes, drawn)).await;
}

async fn follow(
    sim: Sim,
    lanes: Vec<Lane>,
    tokens: Queue<()>,
    [(crew, come), (comers, came)]: [(Crew, Come); 2],
    program: Vec<Step>,
    (How { leaves, ways, convoys, .. }, log): (How, impl Fn(Time)),
) {
    for step in program {
        match step {
            Step::Wait(ps) => sim.wait(Time::ps(ps)).await,
            Step::Burst { lane, priority, address, data } => {
                let grant = lanes[lane].acquire_with(priority, &ARBITRATION).await;
                let plan = [(&ADDRESS, Time::ps(address)), (&DATA, Time::ps(data))];
                if leaves {
                    sim.wait_until(grant.leave(plan)).await;
                } else {
                    grant.hold_plan(plan).await;
                }
            }
            Step::Leave { lane, priority, data } => {
                let grant = lanes[lane].acquire_with(priority, &ARBITRATION).await;
                grant.leave([(&DATA, Time::ps(data))]);
            }
            Step::Yield { lane, priority, units, unit, after, to_priority } => {
                let rule = Yielding { unit: Time::ps(unit), after: Time::ps(after), to_priority, piece: u64::MAX };
                let mut left = units;
                while left > 0 {
                    let grant = lanes[lane].acquire_with(priority, &ARBITRATION).await;
                    left -= grant.hold_yielding(&LONG, left, rule).await;
                }
            }
            Step::Train { cars, count, pitch, delay } => ride(&sim, &lanes, &cars, count, pitch, delay).await,
            Step::Turns { cars, count, during } => turns::take(&sim, &lanes, &cars, count, during).await,
            Step::Way(drawn) => match (&drawn[..], ways) {
                ([one], true) => go(&sim, &lanes, one).await,
                ([one], false) => go_by_hand(&sim, &lanes, one).await,
                ([one, two], true) => {
                    join(&sim, go(&sim, &lanes, one), go(&sim, &lanes, two)).await;
                }
                ([one, two], false) => {
                    join(&sim, go_by_hand(&sim, &lanes, one), go_by_hand(&sim, &lanes, two)).await;
                }
                _ => unreachable!("one way or two"),
            },
            Step::Convoy { tracks, count, beside } => {
                let sent = send(&sim, &lanes, &tracks, count, convoys);
                match beside {
                    None => sent.await,
                    Some(drawn) => {
                        join(&sim, sent, go(&sim, &lanes, &drawn)).await;
                    }
                }
            }
            Step::Take => tokens.take(&TOKEN).await,
            Step::Put => {
                let _ = tokens.try_put(());
            }
            Step::Give { count, legs: drawn, passed, begun } => {
                let begun = begun.map(|(leg, ps, passed)| Begun { leg, at: sim.now() + Time::ps(ps), passed });
                let (load, errand) = (Load { of: 0, bytes: 1 + drawn.len() as u32 }, sim.pass_on(Errand::NOBODY));
                crew.put_alike(Freight { load, errand, legs: legs(&lanes, &drawn), passed, begun }, count);
            }
            Step::Come { count, legs: drawn, passed, first, pitch, end } => {
                let (from, [first, pitch, end]) = (sim.now(), [first, pitch, end].map(Time::ps));
                let (load, errand) = (Load { of: 0, bytes: 1 + drawn.len() as u32 }, sim.pass_on(Errand::NOBODY));
                let freight = Freight { load, errand, legs: legs(&lanes, &drawn), passed, begun: None };
                let ahead = !sim.is_observed_by(from + end);
                let coming = ahead.then(|| comers.put_coming(&freight, count as u32, from + first, pitch)).flatten();
                match coming {
                    Some(coming) => {
                        sim.wait_until(from + end).await;
                        coming.end();
                    }
                    None => {
                        for at in (0..count).map(|number| first + pitch * number).take_while(|at| *at <= end) {
                            sim.wait_until(from + at).await;
                            comers.put_alike(freight.clone(), 1);
                        }
                        sim.wait_until(from + end).await;
                    }
                }
            }
            Step::Look => {
                for (crew, come) in [(&crew, &come), (&comers, &came)] {
                    crew.settle();
                    log(Time::ps(come.passed.get()));
                    log(Time::ps(come.arrived.get()));
                }
            }
            Step::Listen => {
                crew.settle();
                let before = come.arrived.get();
                for _ in 0..2 {
                    crew.settle();
                    if come.arrived.get() == before && sim.now() < Time::ps(100_000) {
                        crew.heard(&come.bell).await;
                    }
                }
                crew.settle();
                log(Time::ps(come.arrived.get()));
            }
        }
        log(sim.now());
    }
}

/// What was recorded, from an instant on and maybe not to the end.
#[derive(Clone, Default)]
struct Collect(Rc<RefCell<Vec<Record>>>, Time, bool);

impl Observer for Collect {
    fn records(&mut self, batch: &[Record]) {
        self.0.borrow_mut().extend_from_slice(batch);
    }

    fn wants_phases(&self) -> bool {
        !self.2 || self.0.borrow().is_empty()
    }

    fn wants_phases_from(&self) -> Time {
        self.1
    }
}

/// A span by names, which do not depend on the order in which parts are made: what it says of whom, who else is
/// concerned, and when.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Named {
    kind: &'static str,
    /// The lane, or who ended a wait at a queue.
    of: String,
    at: Time,
    who: String,
    span: Time,
    label: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    ended: Ended,
    at: Time,
    /// When each process had done its steps.
    steps: Vec<Vec<Time>>,
    spans: Vec<Named>,
}

#[derive(Clone, Copy, Debug)]
struct How {
    trains: bool,
    observed: bool,
    /// Single bursts end by themselves.
    leaves: bool,
    /// Ways are gone by the event loop.
    ways: bool,
    /// Bursts that follow one another are taken along by the event loop.
    convoys: bool,
    /// Carriers carry, not processes.
    carriers: bool,
    /// Phases are recorded from then on, and until the run has come to there and anything was recorded.
    from: u64,
    enough_at: Option<u64>,
    /// Parts are created in this order.
    reversed: bool,
    until: u64,
    shift: u64,
}

fn run(system: &System, how: How) -> (Outcome, Counts) {
    let sim = Sim::new();
    if !how.trains {
        sim.without_trains();
    }
    let collect = Collect(Rc::default(), Time::ps(how.from), how.enough_at.is_some());
    if how.observed {
        sim.observe(Box::new(collect.clone()));
    }
    let mut lanes: Vec<Option<Lane>> = vec![None; system.clocks.len()];
    let mut order: Vec<usize> = (0..lanes.len()).collect();
    let mut masters: Vec<usize> = (0..system.programs.len()).collect();
    if how.reversed {
        order.reverse();
        masters.reverse();
    }
    for i in order {
        lanes[i] = Some(sim.lane(&format!("lane{i}"), system.clocks[i].map(Time::ps)));
    }
    let lanes: Vec<Lane> = lanes.into_iter().flatten().collect();
    let tokens = Queue::new(&sim, 8);
    let crews = [&system.carriers, &system.comers].map(|names| {
        let come = Come::new(&sim);
        (Crew::new(&sim, names, &come, how.carriers), come)
    });
    let steps = Rc::new(RefCell::new(vec![Vec::new(); system.programs.len()]));
    for m in masters {
        let (s, l, t, p) = (sim.clone(), lanes.clone(), tokens.clone(), system.programs[m].clone());
        let (shift, steps, c) = (Time::ps(how.shift), steps.clone(), crews.clone());
        let log = move |at: Time| steps.borrow_mut()[m].push(at - shift);
        sim.process(&format!("master{m}"), async move {
            s.wait(shift).await;
            follow(s, l, t, c, p, (how, log)).await;
        });
    }
    if let Some(at) = how.enough_at {
        sim.run(Time::ps(at));
    }
    let ended = sim.run(Time::ps(how.until));
    let at = sim.now();
    sim.tear_down();
    let (names, processes) = (sim.lanes(), sim.processes());
    let mut spans = Vec::new();
    expand(
        &collect.0.borrow(),
        |lane| names[usize::from(lane)].1,
        |span| {
            let (kind, of) = match span.kind {
                Kind::Phase(lane) => ("phase", &names[usize::from(lane)].0),
                Kind::Delay(lane) => ("delay", &names[usize::from(lane)].0),
                Kind::LaneWait(lane) => ("wait", &names[usize::from(lane)].0),
                Kind::QueueWait(by) => ("wait at a queue", &processes[usize::from(by)]),
            };
            let (at, who) = (span.at - Time::ps(how.shift), processes[usize::from(span.who)].clone());
            // What had ended when somebody began to look is wanted by nobody.
            if how.from > 0 && span.at + span.span <= Time::ps(how.from) {
                return;
            }
            spans.push(Named { kind, of: of.clone(), at, who, span: span.span, label: span.label.name });
        },
    );
    spans.sort();
    (Outcome { ended, at, steps: steps.take(), spans }, sim.counts())
}

const PLAIN: How = How {
    trains: true,
    observed: true,
    leaves: false,
    ways: true,
    convoys: true,
    carriers: true,
    from: 0,
    enough_at: None,
    reversed: false,
    until: 1_000_000_000,
    shift: 0,
};

#[test]
fn trains_change_nothing_on_ten_thousand_random_systems() {
    let (mut booked, mut cut, mut carried, mut limited) = (0, 0, 0, 0);
    for seed in 0..10_000 {
        let system = draw_system(seed);
        // Every fourth system is stopped in the middle, which ends trains and bursts where they are.
        let until = if seed % 4 == 0 { 400 + seed } else { PLAIN.until };
        let (with, counts) = run(&system, How { until, ..PLAIN });
        let (without, none) = run(&system, How { until, trains: false, ..PLAIN });
        if with != without {
            let first = with.spans.iter().zip(&without.spans).position(|(a, b)| a != b);
            let around = first.map(|i| (&with.spans[i], &without.spans[i]));
            panic!(
                "seed {seed}: {:?} {:?}\n{around:#?}\n{system:#?}",
                (&with.ended, with.at),
                (&without.ended, without.at)
            );
        }
        assert_eq!(none.trains, 0);
        booked += counts.trains;
        cut += counts.trains_cut;
        carried += counts.bursts_in_trains;
        limited += u64::from(with.ended == Ended::Limit);
    }
    println!("trains booked {booked}, cut {cut}, bursts carried {carried}; {limited} systems stopped in the middle");
    assert!(booked > 10_000 && cut * 2 > booked, "half of the trains are cut: {cut} of {booked}");
    assert!(carried > booked && limited > 1_000);
}

#[test]
fn a_holder_that_leaves_changes_nothing() {
    for seed in 0..1_000 {
        let system = draw_system(seed);
        for trains in [true, false] {
            let how = How { trains, ..PLAIN };
            let (left, held) = (run(&system, How { leaves: true, ..how }).0, run(&system, how).0);
            assert_eq!(left, held, "seed {seed} {system:#?}");
        }
    }
}

#[test]
fn a_way_is_its_legs_by_hand() {
    let mut gone = 0;
    for seed in 0..4_000 {
        let system = draw_system(seed);
        let until = if seed % 4 == 0 { 400 + seed } else { PLAIN.until };
        let ways = |step: &&Step| matches!(step, Step::Way(_));
        gone += system.programs.iter().flatten().filter(ways).count();
        for trains in [true, false] {
            let how = How { trains, until, ..PLAIN };
            let ((gone, counts), (by_hand, same)) = (run(&system, how), run(&system, How { ways: false, ..how }));
            assert_eq!(gone, by_hand, "seed {seed} {system:#?}");
            assert_eq!(counts, same, "seed {seed}");
        }
    }
    assert!(gone > 4_000, "{gone} ways");
}

#[test]
fn the_order_in_which_parts_are_made_changes_nothing() {
    for seed in 0..2_000 {
        let system = draw_system(seed);
        assert_eq!(run(&system, PLAIN).0, run(&system, How { reversed: true, ..PLAIN }).0, "seed {seed}");
    }
}

#[test]
fn observing_changes_nothing() {
    for seed in 0..2_000 {
        let system = draw_system(seed);
        assert!(is_the_same_unseen(&system, PLAIN), "seed {seed} {system:#?}");
    }
}

/// Whether everybody does everything at the same times, whether somebody looks on or not.
fn is_the_same_unseen(system: &System, how: How) -> bool {
    let (seen, unseen) = (run(system, how).0, run(system, How { observed: false, ..how }).0);
    (seen.ended, seen.at, seen.steps) == (unseen.ended, unseen.at, unseen.steps)
}

#[test]
fn ways_that_book_their_lanes_change_nothing_on_ten_thousand_random_systems() {
    let (mut fewer, mut of) = (0, 0);
    for seed in 0..10_000 {
        let system = draw_system_of_ways(seed);
        // Every fourth system is stopped in the middle.
        let until = if seed % 4 == 0 { 100 + seed / 10 } else { PLAIN.until };
        let how = How { until, ..PLAIN };
        assert!(is_the_same_unseen(&system, how), "seed {seed} {system:#?}");
        let unseen = How { observed: false, ..how };
        let (ahead, by_hand) = (run(&system, unseen), run(&system, How { trains: false, ..unseen }));
        assert_eq!(ahead.0, by_hand.0, "seed {seed} {system:#?}");
        (fewer, of) = (fewer + ahead.1.events, of + by_hand.1.events);
    }
    println!("{fewer} events instead of {of}");
    assert!(10 * fewer < 9 * of, "ways book their lanes: {fewer} events, {of} by hand");
}

#[test]
fn turns_taken_ahead_change_nothing_on_ten_thousand_random_systems() {
    let (mut fewer, mut of) = (0, 0);
    for seed in 0..10_000 {
        let system = draw_system_of_turns(seed);
        // Every fourth system is stopped in the middle.
        let until = if seed % 4 == 0 { 300 + seed / 5 } else { PLAIN.until };
        let how = How { until, ..PLAIN };
        let unseen = How { observed: false, ..how };
        let (ahead, by_hand) = (run(&system, unseen), run(&system, How { trains: false, ..unseen }));
        assert_eq!(ahead.0, by_hand.0, "seed {seed} {system:#?}");
        assert!(is_the_same_unseen(&system, how), "seed {seed} {system:#?}");
        (fewer, of) = (fewer + ahead.1.events, of + by_hand.1.events);
    }
    println!("{fewer} events instead of {of}");
    assert!(10 * fewer < 9 * of, "turns are taken ahead: {fewer} events, {of} by hand");
}

#[test]
fn a_shift_by_whole_clock_periods_shifts_everything() {
    for seed in 0..2_000 {
        let system = draw_system(seed);
        let (shifted, _) = run(&system, How { shift: 7 * 10 * 3, ..PLAIN });
        let (plain, _) = run(&system, PLAIN);
        assert_eq!(plain.spans, shifted.spans, "seed {seed}");
        assert_eq!(plain.at + Time::ps(7 * 10 * 3), shifted.at, "seed {seed}");
    }
}
