//! Holds in pieces make way where those pieces by themselves would.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{Ended, Label, Sim, Time, Yielding};

static BUSY: Label = Label::reason("bus busy");
static DATA: Label = Label::payload("data");

fn ps(picoseconds: u64) -> Time {
    Time::ps(picoseconds)
}

/// Someone holds twelve units of 10 ps from 100 on, in pieces of so many, of which each is a hold by itself or all are one;
/// another asks. How many units are held?
fn held_in_pieces(piece: u64, by_itself: bool, after: u64, asked_at: u64) -> u64 {
    let sim = Sim::new();
    let bus = sim.lane("bus", None);
    let held = Rc::new(RefCell::new(0));
    let (s, b, h) = (sim.clone(), bus.clone(), held.clone());
    sim.process("holder", async move {
        let grant = b.acquire(&BUSY).await;
        s.wait_until(ps(100)).await;
        let rule = |after, piece| Yielding { unit: ps(10), after, to_priority: 0, piece };
        if !by_itself {
            *h.borrow_mut() = grant.hold_yielding(&DATA, 12, rule(ps(after), piece)).await;
            return;
        }
        for _ in 0..12 / piece {
            let after = ps(100 + after).saturating_sub(s.now());
            let done = grant.hold_yielding(&DATA, piece, rule(after, u64::MAX)).await;
            *h.borrow_mut() += done;
            if done < piece {
                break;
            }
        }
    });
    let (s, b) = (sim.clone(), bus.clone());
    sim.process("other", async move {
        s.wait_until(ps(asked_at)).await;
        b.acquire(&BUSY).await;
    });
    assert_eq!(sim.run(Time::ms(1)), Ended::Finished);
    held.take()
}

#[test]
fn a_hold_in_pieces_is_one_piece_after_the_other() {
    for piece in [1, 2, 3, 4, 6, 12] {
        for after in [0, 5, 10, 20, 33, 40, 55, 60, 200] {
            for asked_at in 0..=225 {
                let held = |by_itself| held_in_pieces(piece, by_itself, after, asked_at);
                assert_eq!(held(false), held(true), "pieces of {piece}, {after} at least, asked at {asked_at}");
            }
        }
    }
}
