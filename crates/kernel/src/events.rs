//! Pending events in order of (time, class, part), packed into one 128-bit key that also says what to do.
//!
//! Below some 48 pending events a sorted array wins, above it a binary heap (measured, see the bench `events`).
//! Class 0 are timers; each lane's arbitration is a class of its own, so that all requests of an instant are
//! queued before one of them is granted. Two events with the same key do the same, so their order does not matter.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Time;

/// What to do when an event is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Wake a task.
    Wake(u32),
    /// Grant a lane to the best of its waiters.
    Arbitrate(u32),
}

/// Of an order of events, the class.
pub(crate) fn class_of(order: u32) -> u32 {
    order >> 16
}

/// The order of a lane's arbitration.
pub(crate) fn order_of_class(class: u32) -> u32 {
    class << 16
}

/// The order of a timer of somebody whose name has this rank.
pub(crate) fn order_of_rank(rank: u32) -> u32 {
    rank
}

/// Time in the upper half; then class (0 for timers), rank and number of the task or lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event(u128);

impl Event {
    /// A timer of a task, whose name has this rank.
    pub(crate) fn wake(at: Time, rank: u32, task: u32) -> Event {
        Event::new(at, 0, rank, task)
    }

    /// The arbitration of a lane, which has a class of its own.
    pub(crate) fn arbitrate(at: Time, class: u32, lane: u32) -> Event {
        debug_assert!(class > 0);
        Event::new(at, class, 0, lane)
    }

    fn new(at: Time, class: u32, rank: u32, number: u32) -> Event {
        debug_assert!(class < 1 << 16 && rank < 1 << 16);
        let order = (u64::from(class) << 48) | (u64::from(rank) << 32) | u64::from(number);
        Event((u128::from(at.as_ps()) << 64) | u128::from(order))
    }

    pub(crate) fn at(self) -> Time {
        Time::ps((self.0 >> 64) as u64)
    }

    /// Class and rank, as one number: the order of events of one instant.
    pub(crate) fn order(self) -> u32 {
        (self.0 as u64 >> 32) as u32
    }

    /// Rank of whose timer it is.
    pub(crate) fn rank(self) -> u32 {
        self.order() & 0xFFFF
    }

    pub(crate) fn class(self) -> u32 {
        class_of(self.order())
    }

    pub(crate) fn due(self) -> Due {
        let number = self.0 as u32;
        if self.class() == 0 { Due::Wake(number) } else { Due::Arbitrate(number) }
    }
}

/// Beyond this many pending events the array spills into the heap.
const SORTED_MAX: usize = 48;

pub(crate) struct Events {
    /// So many are there, latest first: the next event is the last one.
    len: usize,
    sorted: [Event; SORTED_MAX],
    heap: BinaryHeap<Reverse<Event>>,
}

impl Default for Events {
    fn default() -> Events {
        Events { len: 0, sorted: [Event(0); SORTED_MAX], heap: BinaryHeap::new() }
    }
}

impl Events {
    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        if self.len >= SORTED_MAX {
            return self.spill(event);
        }
        let mut position = self.len;
        self.len += 1;
        while position > 0 && self.sorted[position - 1] < event {
            self.sorted[position] = self.sorted[position - 1];
            position -= 1;
        }
        self.sorted[position] = event;
    }

    #[cold]
    fn spill(&mut self, event: Event) {
        self.heap.push(Reverse(event));
    }

    #[inline]
    fn last(&self) -> Option<Event> {
        self.sorted.get(self.len.wrapping_sub(1)).copied()
    }

    /// When the next event is due; the end of time where there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        let sorted = self.last().map_or(Time::MAX, Event::at);
        self.heap.peek().map_or(sorted, |Reverse(e)| e.at().min(sorted))
    }

    /// Takes the next event, if it is due by `until`.
    #[inline(always)]
    pub(crate) fn pop_until(&mut self, until: Time) -> Option<Event> {
        let due = |e: &Event| e.at() <= until;
        match self.heap.peek() {
            Some(Reverse(next)) if self.last().is_none_or(|e| *next < e) => {
                due(next).then(|| self.heap.pop())?.map(|Reverse(e)| e)
            }
            _ => {
                let next = self.last().filter(due)?;
                self.len -= 1;
                Some(next)
            }
        }
    }

    /// Takes back one event equal to `event`, if there is one.
    pub(crate) fn cancel(&mut self, event: Event) {
        if let Ok(position) = self.sorted[..self.len].binary_search_by(|e| event.cmp(e)) {
            self.sorted.copy_within(position + 1..self.len, position);
            self.len -= 1;
            return;
        }
        let mut found = false;
        self.heap.retain(|e| {
            let this = !found && e.0 == event;
            found |= this;
            !this
        });
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.heap.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(events: &mut Events) -> Vec<Due> {
        std::iter::from_fn(|| events.pop_until(Time::MAX).map(Event::due)).collect()
    }

    #[test]
    fn events_come_by_time_then_class_then_rank() {
        let mut events = Events::default();
        events.push(Event::wake(Time::ps(5), 0, 1));
        events.push(Event::arbitrate(Time::ps(3), 2, 0));
        events.push(Event::arbitrate(Time::ps(3), 1, 9));
        events.push(Event::wake(Time::ps(3), 7, 3));
        events.push(Event::wake(Time::ps(3), 4, 6));
        let order = [Due::Wake(6), Due::Wake(3), Due::Arbitrate(9), Due::Arbitrate(0), Due::Wake(1)];
        assert_eq!(drain(&mut events), order);
    }

    #[test]
    fn order_holds_when_the_array_spills_into_the_heap() {
        let mut events = Events::default();
        for i in 0..500u64 {
            events.push(Event::wake(Time::ps(i * 7919 % 503), 0, i as u32));
        }
        let times: Vec<Time> = std::iter::from_fn(|| events.pop_until(Time::MAX).map(Event::at)).collect();
        assert_eq!(times.len(), 500);
        assert!(times.is_sorted());
    }

    #[test]
    fn a_cancelled_event_does_not_come_and_its_twin_does() {
        for pending in [0, 10, 500] {
            let mut events = Events::default();
            let twin = Event::wake(Time::ps(7), 0, 1_000);
            for i in 0..pending {
                events.push(Event::wake(Time::ps(u64::from(i)), 0, i));
            }
            events.push(twin);
            events.push(twin);
            events.cancel(twin);
            events.cancel(Event::wake(Time::ps(8), 0, 1_000));
            let order = drain(&mut events);
            assert_eq!(order.len(), pending as usize + 1);
            assert_eq!(order.iter().filter(|&&due| due == Due::Wake(1_000)).count(), 1);
        }
    }
}
