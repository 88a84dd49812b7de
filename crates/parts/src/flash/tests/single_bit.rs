//! Cells that take one bit at first: when writes go there, and when what lies there is folded.

use hopscope_kernel::Time;

use super::{Do, run, spec};
use crate::flash::{Spec, State, UNIT_BYTES, single_bit};

/// Times at which a process that writes stripe after stripe, in order, was rid of each.
fn stripes(spec: &Spec, count: u64) -> Vec<Time> {
    let stripe = spec.stripe_units() * u64::from(UNIT_BYTES);
    let write = |n| [Do::Write(n * stripe, stripe as u32), Do::Flush];
    run(spec.clone(), vec![(0..count).flat_map(write).collect()]).0[0].iter().copied().skip(1).step_by(2).collect()
}

fn with_single_bit(idle: Time) -> Spec {
    let times = single_bit::Times { program: Time::us(100), idle };
    let cells = single_bit::Spec { fixed_bytes: 96 << 10, dynamic_bytes: 96 << 10, times };
    Spec { pages_per_program: 3, single_bit: cells, ..spec() }
}

#[test]
fn writes_go_to_single_bit_cells_page_by_page_until_those_are_full() {
    let page_in = Time::ns(200 + 16_000);
    let (single, all) = ((page_in * 2 + Time::us(100)) * 3, page_in * 6 + Time::us(500));
    // A stripe has 96 KiB: the third finds no room.
    let fresh = with_single_bit(Time::ms(5));
    assert_eq!(stripes(&fresh, 3), [single, single * 2, single * 2 + all]);
    // In equilibrium they are full.
    let steady = Spec { state: State::Steady, over_provisioning: 280_000, ..with_single_bit(Time::ms(5)) };
    assert!(stripes(&steady, 1)[0] >= all);
    let none = Spec { pages_per_program: 3, ..spec() };
    assert_eq!(stripes(&none, 1), [all]);
}

#[test]
fn what_lies_in_single_bit_cells_is_folded_while_nobody_asks_for_anything() {
    let page_in = Time::ns(200 + 16_000);
    let (single, all) = ((page_in * 2 + Time::us(100)) * 3, page_in * 6 + Time::us(500));
    let after = |wait: Time| {
        let stripe = 96 << 10;
        let write = |n: u64| [Do::Write(n * stripe, stripe as u32), Do::Flush];
        let list = [&write(0)[..], &write(1), &[Do::Wait(wait)], &write(2)].concat();
        let ended = run(with_single_bit(Time::ms(5)), vec![list]).0;
        ended[0][6] - ended[0][4]
    };
    // Not before it has been idle for 5 ms, which begin with the flush; then both are folded within two milliseconds.
    assert_eq!([after(Time::ms(5) - single - Time::us(1)), after(Time::ms(8))], [all, single]);
    // Who comes while it folds waits for a stripe at most.
    let during = after(Time::us(5_100));
    assert!(during >= single && during < single + Time::ms(2), "{during}");
}
