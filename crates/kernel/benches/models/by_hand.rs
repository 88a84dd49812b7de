//! Model A as hand-written state machines on the same event queue: the yardstick of what processes cost.

use std::collections::VecDeque;

use hopscope_kernel::{Time, bench::EventQueue};

use super::{Draw, times};

struct Master {
    draw: Draw,
    hold: Time,
    left: u64,
}

/// Runs `count` grants by four masters; returns when the last ended.
pub fn masters(count: u64, random: bool) -> Time {
    let mut events = EventQueue::default();
    let mut masters = [0, 1, 2, 3].map(|m| Master { draw: Draw(m), hold: Time::ZERO, left: count / 4 });
    let (mut waiting, mut holder) = (VecDeque::new(), None);
    let think = |events: &mut EventQueue, masters: &mut [Master; 4], m: u32, now: Time| {
        let master = &mut masters[m as usize];
        let (think, hold) = times(&mut master.draw, u64::from(m), random);
        master.hold = hold;
        events.push(now + think, m);
    };
    let mut now = Time::ZERO;
    for m in 0..4 {
        think(&mut events, &mut masters, m, now);
    }
    while let Some((at, m)) = events.pop() {
        now = at;
        let mut granted = None;
        if holder == Some(m) {
            holder = None;
            granted = waiting.pop_front();
            masters[m as usize].left -= 1;
            if masters[m as usize].left > 0 {
                think(&mut events, &mut masters, m, now);
            }
        } else if holder.is_none() {
            granted = Some(m);
        } else {
            waiting.push_back(m);
        }
        if let Some(next) = granted {
            holder = Some(next);
            events.push(now + masters[next as usize].hold, next);
        }
    }
    now
}
