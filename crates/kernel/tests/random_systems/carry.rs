//! Carriers against processes that carry by themselves.

use hopscope_kernel::Ended;

use crate::carriers::NOTHING;
use crate::drawn::draw_system_of_carriers;
use crate::{How, PLAIN, run};

/// What ended, but for carriers, who never do.
fn of_masters(ended: Ended) -> Ended {
    match ended {
        Ended::Deadlock(mut lines) => {
            lines.retain(|line| !line.contains(NOTHING.name));
            if lines.is_empty() { Ended::Finished } else { Ended::Deadlock(lines) }
        }
        ended => ended,
    }
}

#[test]
fn carriers_are_processes_that_carry_on_ten_thousand_random_systems() {
    let (mut fewer, mut of) = (0, 0);
    // In the last one, somebody begins to look behind a single thing that was to come and did not.
    for seed in (0..10_000).chain([26_397]) {
        let system = draw_system_of_carriers(seed);
        // Every fourth system is stopped in the middle; in another fourth somebody begins to look then.
        let until = if seed % 4 == 0 { 100 + seed / 10 } else { PLAIN.until };
        let from = if seed % 4 == 1 { 50 + seed / 10 % 400 } else { 0 };
        for (observed, trains, enough_at) in
            [(true, true, None), (true, true, Some(from + 1 + seed % 50)), (false, true, None), (false, false, None)]
        {
            let how = How { until, from, observed, trains, enough_at, ..PLAIN };
            let (ours, counts) = run(&system, how);
            let (theirs, by_hand) = run(&system, How { carriers: false, ..how });
            for (master, (ours, theirs)) in ours.steps.iter().zip(&theirs.steps).enumerate() {
                let first = ours.iter().zip(theirs).position(|(a, b)| a != b);
                let around = first.map(|i| (&ours[i.saturating_sub(1)..], &theirs[i.saturating_sub(1)..]));
                assert_eq!(around, None, "seed {seed} {how:?} master {master} {system:?}");
                assert_eq!(ours.len(), theirs.len(), "seed {seed} {how:?} master {master} {system:?}");
            }
            assert_eq!(of_masters(ours.ended), of_masters(theirs.ended), "seed {seed} {how:?} {system:?}");
            // Whoever has enough keeps what happened to be recorded by then.
            if enough_at.is_none() {
                let first = ours.spans.iter().zip(&theirs.spans).position(|(a, b)| a != b);
                let around = first.map(|i| (&ours.spans[i], &theirs.spans[i]));
                assert_eq!(around, None, "seed {seed} {how:?} {system:?}");
                assert_eq!(ours.spans.len(), theirs.spans.len(), "seed {seed} {how:?}");
            }
            if !observed && trains && until == PLAIN.until {
                (fewer, of) = (fewer + counts.events, of + by_hand.events);
            }
        }
    }
    println!("{fewer} events instead of {of}");
    assert!(10 * fewer < 9 * of, "carriers book their lanes: {fewer} events, {of} by hand");
}
