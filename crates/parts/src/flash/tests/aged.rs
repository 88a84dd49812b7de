//! Writes without time: what they leave behind is what the same ones do that take it, up to where something is used up.

use std::cell::Cell;
use std::rc::Rc;

use hopscope_kernel::{Ended, Sim, Time};

use super::spec;
use crate::flash::{Flash, Spec, State, UNIT_BYTES, single_bit};
use crate::protocols::storage::Keeps;

const UNIT: u64 = UNIT_BYTES as u64;

/// Whole stripes, in order or anywhere.
fn writes(spec: &Spec, stripes: u64, anywhere: bool) -> Vec<u64> {
    let units = spec.capacity_bytes / UNIT;
    let unit = |n: u64| if anywhere { n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % units } else { n % units };
    (0..stripes * spec.stripe_units()).map(|n| unit(n) * UNIT).collect()
}

/// Bytes before a collection begins, and before single-bit cells are full.
fn room(flash: &Flash) -> (u64, u64) {
    (flash.translation.borrow().spare_bytes(), flash.single_bit.room())
}

/// A drive to which all of that was written, one after the other.
fn written(spec: &Spec, offsets: Vec<u64>) -> (Rc<Flash>, Sim) {
    let sim = Sim::new();
    let flash = Flash::new(&sim, "ssd", spec.clone(), 1);
    let (writing, done) = (flash.clone(), Rc::new(Cell::new(false)));
    let (s, is_done) = (sim.clone(), done.clone());
    sim.process("writer", async move {
        for offset in offsets {
            writing.write(offset, UNIT_BYTES).await;
        }
        writing.flush().await;
        is_done.set(true);
        s.stop();
    });
    assert_eq!(sim.run(Time::ms(3_600_000)), Ended::Stopped);
    assert!(done.get());
    (flash, sim)
}

/// How many of these writes are noted, what is used up then, and the drive.
fn noted(spec: &Spec, offsets: &[u64]) -> (usize, Option<&'static str>, Rc<Flash>) {
    let flash = Flash::new(&Sim::new(), "ssd", spec.clone(), 1);
    let mut aging = flash.note().expect("a fresh drive collects nothing");
    let used_up = offsets.iter().enumerate().find_map(|(n, offset)| Some((n, aging.write(*offset, UNIT_BYTES)?)));
    drop(aging);
    let (count, used_up) = used_up.map_or((offsets.len(), None), |(n, what)| (n, Some(what)));
    (count, used_up, flash)
}

fn with_single_bit(bytes: u64) -> Spec {
    let times = single_bit::Times { program: Time::us(100), idle: Time::ms(5_000) };
    let cells = single_bit::Spec { fixed_bytes: bytes, dynamic_bytes: 0, times };
    Spec { single_bit: cells, ..spec() }
}

#[test]
fn what_is_noted_leaves_behind_what_is_written() {
    for spec in [spec(), with_single_bit(1 << 30), with_single_bit(4 << 20)] {
        for (stripes, anywhere) in [(16, true), (16, false), (61, true)] {
            let offsets = writes(&spec, stripes, anywhere);
            let ((timed, sim), (count, used_up, flash)) = (written(&spec, offsets.clone()), noted(&spec, &offsets));
            assert_eq!((count, used_up), (offsets.len(), None));
            assert_eq!(room(&flash), room(&timed), "{stripes} {anywhere}");
            sim.tear_down();
        }
    }
}

#[test]
fn it_ends_where_a_drive_that_takes_its_time_does_something_else() {
    // As many stripes as find room, to the last one.
    let cells = with_single_bit(40 * spec().stripe_units() * UNIT);
    let (count, used_up, _) = noted(&cells, &writes(&cells, 100, true));
    let stripes = |count: usize| count as u64 / cells.stripe_units();
    assert_eq!((stripes(count), used_up), (40, Some("the single-bit cells")));
    // No block was collected before, and one is before each die has its next stripe.
    let offsets = writes(&spec(), 4_000, true);
    let (count, used_up, _) = noted(&spec(), &offsets);
    assert_eq!(used_up, Some("the spare blocks"));
    let collected = |stripes: u64| {
        let (timed, sim) = written(&spec(), offsets[..(stripes * spec().stripe_units()) as usize].to_vec());
        sim.tear_down();
        timed.written().copied + timed.written().erased
    };
    assert_eq!(collected(stripes(count)), 0);
    assert!(collected(stripes(count) + spec().lanes() as u64 + 1) > 0);
}

#[test]
fn another_drive_of_the_same_blocks_begins_as_it_was_left() {
    let offsets = writes(&spec(), 200, true);
    let flash = Flash::new(&Sim::new(), "ssd", spec(), 1);
    let mut aging = flash.note().expect("a fresh drive collects nothing");
    assert!(offsets.iter().all(|offset| aging.write(*offset, UNIT_BYTES).is_none()));
    let state = aging.left();
    let other = Flash::new(&Sim::new(), "ssd", spec(), 2);
    assert!(room(&other) != room(&flash) && other.begin_as(&state) && room(&other) == room(&flash));
    // One of other blocks cannot, and one in equilibrium collects already.
    let larger = Spec { pages_per_block: 128, ..spec() };
    assert!(!Flash::new(&Sim::new(), "ssd", larger, 1).begin_as(&state));
    let steady = Spec { state: State::Steady, over_provisioning: 280_000, ..spec() };
    assert!(Flash::new(&Sim::new(), "ssd", steady, 1).note().is_none());
}
