//! Pending events in order of (time, class, part, sequence), packed into one 128-bit key.
//!
//! Below some 48 pending events a sorted vector wins, above it a binary heap (measured, see the bench `events`).
//! Class 0 are timers; each lane's arbitration is a class of its own, so that all requests of an instant are
//! queued before one of them is granted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Time;

/// What to do when an event is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// Wake a task.
    Wake(u32),
    /// Grant a lane to the best of its waiters.
    Arbitrate(u32),
}

const CLASS_BITS: u32 = 12;
const PART_BITS: u32 = 12;
const SEQUENCE_BITS: u32 = 40;
/// Beyond this many pending events the vector spills into the heap.
const SORTED_MAX: usize = 48;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: u128,
    due: Due,
}

#[derive(Default)]
pub(crate) struct Events {
    /// Latest first: the next event is the last element.
    sorted: Vec<Entry>,
    heap: BinaryHeap<Reverse<Entry>>,
    sequence: u64,
}

impl Events {
    pub(crate) fn push(&mut self, at: Time, class: u32, part: u32, due: Due) {
        debug_assert!(class < 1 << CLASS_BITS && part < 1 << PART_BITS);
        self.sequence += 1;
        let key = (u128::from(at.as_ps()) << 64)
            | (u128::from(class) << (PART_BITS + SEQUENCE_BITS))
            | (u128::from(part) << SEQUENCE_BITS)
            | u128::from(self.sequence & ((1 << SEQUENCE_BITS) - 1));
        let entry = Entry { key, due };
        if self.sorted.len() >= SORTED_MAX {
            self.heap.push(Reverse(entry));
            return;
        }
        let position = self.sorted.iter().rposition(|e| e.key > key).map_or(0, |p| p + 1);
        self.sorted.insert(position, entry);
    }

    /// When the next event is due; the end of time where there is none.
    pub(crate) fn next_time(&self) -> Time {
        let key = match (self.sorted.last(), self.heap.peek()) {
            (Some(a), Some(Reverse(b))) => a.key.min(b.key),
            (Some(a), None) => a.key,
            (None, Some(Reverse(b))) => b.key,
            (None, None) => return Time::MAX,
        };
        Time::ps((key >> 64) as u64)
    }

    /// The next event: when, its class, and what to do.
    pub(crate) fn pop(&mut self) -> Option<(Time, u32, Due)> {
        let from_heap = match (self.sorted.last(), self.heap.peek()) {
            (Some(a), Some(Reverse(b))) => b.key < a.key,
            (None, Some(_)) => true,
            _ => false,
        };
        let entry = if from_heap { self.heap.pop().map(|Reverse(e)| e) } else { self.sorted.pop() }?;
        let class = (entry.key >> (PART_BITS + SEQUENCE_BITS)) as u32 & ((1 << CLASS_BITS) - 1);
        Some((Time::ps((entry.key >> 64) as u64), class, entry.due))
    }

    pub(crate) fn clear(&mut self) {
        self.sorted.clear();
        self.heap.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_class_then_part_then_sequence() {
        let mut events = Events::default();
        events.push(Time::ps(5), 0, 0, Due::Wake(1));
        events.push(Time::ps(3), 2, 0, Due::Arbitrate(2));
        events.push(Time::ps(3), 0, 7, Due::Wake(3));
        events.push(Time::ps(3), 0, 4, Due::Wake(4));
        events.push(Time::ps(3), 0, 4, Due::Wake(5));
        let order: Vec<Due> = std::iter::from_fn(|| events.pop().map(|e| e.2)).collect();
        assert_eq!(order, [Due::Wake(4), Due::Wake(5), Due::Wake(3), Due::Arbitrate(2), Due::Wake(1)]);
    }

    #[test]
    fn order_holds_when_the_vector_spills_into_the_heap() {
        let mut events = Events::default();
        for i in 0..500u64 {
            events.push(Time::ps(i * 7919 % 503), 0, 0, Due::Wake(i as u32));
        }
        let times: Vec<Time> = std::iter::from_fn(|| events.pop().map(|e| e.0)).collect();
        assert_eq!(times.len(), 500);
        assert!(times.is_sorted());
    }
}
