//! For this crate's own benches: the event queue by itself. No part of the interface.

use crate::Time;
use crate::events::{Due, Event, Events};

/// The event queue.
#[derive(Default)]
pub struct EventQueue {
    events: Events,
    random: u64,
}

impl EventQueue {
    /// Schedules a timer.
    pub fn push(&mut self, at: Time, task: u32) {
        self.events.push(Event::wake(at, task, task));
    }

    /// Takes the next timer.
    pub fn pop(&mut self) -> Option<(Time, u32)> {
        let event = self.events.pop_until(Time::MAX)?;
        match event.due() {
            Due::Wake(task) => Some((event.at(), task)),
            Due::Arbitrate(_) => None,
        }
    }

    /// A queue of `pending` events, at random times.
    pub fn filled(pending: u32) -> EventQueue {
        let mut queue = EventQueue { events: Events::default(), random: 1 };
        for task in 0..pending {
            let at = queue.after(Time::ZERO);
            queue.push(at, task);
        }
        queue
    }

    /// Pops the next event and pushes it again at a later time, `count` times.
    pub fn churn(&mut self, count: u64) {
        for _ in 0..count {
            let Some(event) = self.events.pop_until(Time::MAX) else { return };
            let at = self.after(event.at());
            self.events.push(Event::wake(at, 0, 0));
        }
    }

    /// Xorshift: a time up to a million picoseconds later.
    fn after(&mut self, now: Time) -> Time {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        now + Time::ps(((self.random >> 44) & 0xF_FFFF) + 1)
    }
}
