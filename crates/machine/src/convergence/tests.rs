//! When a stage ends that may be left off, on a machine of which only that is there: a request of 4 KiB each microsecond,
//! and something that holds.

use std::cell::Cell;
use std::rc::Rc;

use hopscope_parts::protocols::storage::WRITE;

use super::*;

/// Of a runtime of a hundred milliseconds, as it ends where a part holds so much after so many requests, and something is
/// planned to happen then.
fn ends(holds: impl Fn(u64) -> u64 + 'static, planned: Time) -> (Stop, Time) {
    let (ending, now) = ending(None, holds, planned);
    (ending.stop, now)
}

/// The same, or of one that is to go on until its mean is known.
fn ending(until: Option<f64>, holds: impl Fn(u64) -> u64 + 'static, planned: Time) -> (Ending, Time) {
    let options = Options { not_longer_than_needed: true, until, ..Options::USUAL };
    ending_of(options, vec![Box::new(holds)], planned)
}

/// What a part holds after so many requests.
type Holds = Box<dyn Fn(u64) -> u64>;

/// The same where several parts hold something, and with other options.
fn ending_of(options: Options, holds: Vec<Holds>, planned: Time) -> (Ending, Time) {
    const REQUEST: u32 = 4_096;
    let (sim, ended) = (Sim::new(), Rc::new(Cell::new(0)));
    let (transfers, s, count) = (Transfers::new(Time::ZERO), sim.clone(), ended.clone());
    sim.observe(Box::new(transfers.clone()));
    for (number, holds) in holds.into_iter().enumerate() {
        let ended = ended.clone();
        sim.level(&format!("what part{number} holds"), move || holds(ended.get()));
    }
    sim.process("job", async move {
        loop {
            let since = s.now();
            s.wait(Time::us(1)).await;
            s.transferred(&WRITE, since, REQUEST);
            count.set(count.get() + 1);
        }
    });
    let [enough, over] = [10, 100].map(Time::ms);
    let times = Span { end: over, enough, over, planned, ..SPAN };
    let ends = Ends::of(&options, options.until, true);
    transfers.restart(Time::ZERO, Some(1));
    let ending = advance(&sim, &transfers, &times, ends, || false, |_| {}, None).expect("it goes on");
    let now = sim.now();
    sim.tear_down();
    (ending, now)
}

const SPAN: Span = Span {
    start: Time::ZERO,
    from: Time::ZERO,
    end: Time::ZERO,
    has_runtime: true,
    in_flight: 1,
    drawn: false,
    longest: 4_096,
    pause: Time::ZERO,
    every: 1,
    stores: true,
    enough: Time::ZERO,
    over: Time::ZERO,
    planned: Time::ZERO,
};

#[test]
fn what_is_known_for_long_ends_before_a_tenth_is_written_if_what_is_held_stands_still() {
    for holds in [|_| 1 << 20, |requests| (1 << 20) + requests * requests % 1_000_003 % 4_096] {
        let (stop, now) = ends(holds, Time::ZERO);
        assert!(stop == Stop::Converged && (Time::ms(2)..Time::ms(8)).contains(&now), "{stop:?} at {now}");
    }
    // A thousandth of what is written stays there.
    let (stop, now) = ends(|requests| 4 * requests, Time::ZERO);
    assert!(stop == Stop::Converged && (Time::ms(10)..Time::ms(14)).contains(&now), "{stop:?} at {now}");
}

#[test]
fn what_empties_before_the_end_is_waited_for_however_close_to_it_that_is() {
    let empties_at = |ms: u64| ends(move |requests| (ms * 1_000).saturating_sub(requests) * 4_096, Time::ZERO);
    let (stop, now) = empties_at(103);
    assert!(stop == Stop::Drifting && now < Time::ms(8), "{stop:?} at {now}");
    for ms in [97, 80, 60] {
        assert_eq!(empties_at(ms), (Stop::Runtime, Time::ms(100)), "{ms}");
    }
}

#[test]
fn what_is_planned_to_happen_is_waited_for_and_looked_at_afterwards() {
    let planned_at = |ms: u64| ends(|_| 0, Time::ms(ms));
    let (stop, now) = planned_at(5);
    assert!(stop == Stop::Converged && (Time::ms(10)..Time::ms(16)).contains(&now), "{stop:?} at {now}");
    assert_eq!(planned_at(60), (Stop::Runtime, Time::ms(100)));
    let (ending, now) = ending(Some(UNTIL), |_| 0, Time::ms(60));
    let why = ending.unsettled.map(|why| why.words());
    assert_eq!(now, Time::ms(100));
    assert_eq!(
        why.as_deref(),
        Some("something happens to the machine after 0.060 s, and too little ended behind that")
    );
}

/// Empty after so many milliseconds.
fn empties_at(ms: u64) -> Holds {
    Box::new(move |requests| (ms * 1_000).saturating_sub(requests) * 4_096)
}

#[test]
fn of_stores_that_are_alike_the_one_that_is_empty_first_is_waited_for() {
    let shorter = Options { not_longer_than_needed: true, ..Options::USUAL };
    let of = |stores: Vec<Holds>| {
        let (ending, now) = ending_of(shorter, stores, Time::ZERO);
        (ending.stop, now)
    };
    // Together they last for more than ten seconds.
    let full = || -> Holds { Box::new(|_| 40 << 30) };
    assert_eq!(of(vec![full(), empties_at(70), full()]), (Stop::Runtime, Time::ms(100)));
    let (stop, now) = of(vec![full(), empties_at(130), full()]);
    assert!(stop == Stop::Drifting && now < Time::ms(8), "{stop:?} at {now}");
}

#[test]
fn a_phase_ends_where_nothing_moves_but_a_store_that_is_used_up_later() {
    let by_phases = Options { not_longer_than_needed: true, by_phases: true, ..Options::USUAL };
    let of = |holds: Vec<Holds>| {
        let (ending, now) = ending_of(by_phases, holds, Time::ZERO);
        let lasts = matches!(ending.unsettled, Some(Unsettled::Level { lasts: Some(_), .. }));
        (ending.stop, now, lasts)
    };
    for ms in [40, 70, 97] {
        let (stop, now, lasts) = of(vec![empties_at(ms)]);
        assert!(stop == Stop::Emptying && now < Time::ms(8) && !lasts, "{ms}: {stop:?} at {now}");
        let (stop, now, _) = of(vec![empties_at(ms), empties_at(1_000)]);
        assert!(stop == Stop::Emptying && now < Time::ms(8), "{ms}: {stop:?} at {now}");
    }
    // One that outlasts the jobs; one that is empty before long; one that fills.
    let (stop, now, lasts) = of(vec![empties_at(103)]);
    assert!(stop == Stop::Drifting && now < Time::ms(8) && lasts, "{stop:?} at {now}");
    let (stop, now, _) = of(vec![empties_at(2)]);
    assert!(stop == Stop::Converged && now > Time::ms(2), "{stop:?} at {now}");
    let fills: Holds = Box::new(|requests| requests.min(70_000) * 4_096);
    assert_eq!(of(vec![fills]).0, Stop::Runtime);
}
