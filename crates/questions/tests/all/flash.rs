//! The account of flash: every instant of a read and of a write has a name.

use std::rc::Rc;

use hopscope_kernel::{Ended, Errand, Label, Sim, Time};
use hopscope_observe::account::{Account, Extent, Ledger, Use};
use hopscope_parts::flash::{Flash, Spec, State, single_bit};

static DONE: Label = Label::mark("read");

fn spec(state: State) -> Spec {
    Spec {
        capacity_bytes: 256 << 20,
        over_provisioning: 280_000,
        state,
        channels: 2,
        dies: 2,
        planes: 2,
        independent_planes: 1,
        page_bytes: 16 << 10,
        pages_per_block: 64,
        pages_per_program: 1,
        read: Time::us(50),
        program: Time::us(500),
        erase: Time::ms(3),
        suspend_latency: Time::us(20),
        suspend_progress: Time::us(100),
        channel_rate: 1_024_000_000,
        command: Time::ns(200),
        decode: Time::us(5),
        buffer_bytes: 1 << 20,
        single_bit: single_bit::Spec::NONE,
    }
}

/// Eight processes read, write or both; the account of all of it.
fn account(state: State, reads: bool, writes: bool, bytes: u32) -> Account {
    let (sim, ledger) = (Sim::new(), Ledger::new(Time::ZERO, Extent::ALL));
    sim.observe(Box::new(ledger.clone()));
    let flash = Flash::new(&sim, "ssd", spec(state), 3);
    let left = Rc::new(std::cell::Cell::new(8));
    for number in 0..8u64 {
        let (flash, s, left) = (flash.clone(), sim.clone(), left.clone());
        sim.process(&format!("job{number}"), async move {
            let mut unit = number;
            for step in 0..200u64 {
                // Somewhere, all over the drive.
                unit = (unit * 5 + 8_191 * step + 17) % 60_000;
                let since = s.now();
                if writes && (!reads || step % 2 == 0) {
                    flash.write(unit * 4_096, bytes).await;
                } else {
                    flash.read(unit * 4_096, bytes, Errand::NOBODY).await;
                }
                s.transferred(&DONE, since, bytes);
            }
            flash.flush().await;
            left.set(left.get() - 1);
            if left.get() == 0 {
                s.stop();
            }
        });
    }
    assert_eq!(sim.run(Time::ms(100_000)), Ended::Stopped);
    let account = Account::of(&sim, &ledger, true).expect("it adds up").expect("lanes were used");
    drop(flash);
    sim.tear_down();
    account
}

#[test]
fn every_instant_of_flash_has_a_name() {
    for state in [State::Fresh, State::Steady] {
        for (reads, writes) in [(true, false), (false, true), (true, true)] {
            for bytes in [4_096, 65_536] {
                let account = account(state, reads, writes, bytes);
                let unattributed = account.unattributed();
                assert!(unattributed.is_empty(), "{state:?} {reads} {writes} {bytes}: {unattributed:?}");
            }
        }
    }
}

#[test]
fn a_channel_delivers_what_was_read_and_a_die_says_what_collection_costs() {
    let reads = account(State::Fresh, true, false, 4_096);
    let delivered: f64 = reads
        .lanes
        .iter()
        .filter(|lane| !lane.lane.contains("die"))
        .map(|lane| lane.delivered().expect("a channel has a rate"))
        .sum();
    let expected = 8.0 * 200.0 * 4_096.0 / reads.span().as_seconds_f64();
    assert!((delivered / expected - 1.0).abs() < 1e-6, "{delivered} for {expected}");
    let writes = account(State::Steady, false, true, 65_536);
    let time = |phase: &str| {
        let of_lane = |lane: &hopscope_observe::LaneAccount| {
            let own =
                lane.entries.iter().filter(|e| e.class != Use::Waiting && e.phase == phase && e.lane == lane.lane);
            own.map(|e| e.time.as_ps()).sum::<u64>()
        };
        writes.lanes.iter().filter(|lane| lane.lane.contains("die")).map(of_lane).sum::<u64>()
    };
    let (own, copies) = (time("program"), time("program of garbage collection"));
    // At 28 % the amplification is about 2.5: copies are programmed one and a half times as often as what is written.
    let share = copies as f64 / own as f64;
    assert!((1.0..1.8).contains(&share), "{share}");
    assert!(time("erase") > 0 && time("array read of garbage collection") > 0);
}
