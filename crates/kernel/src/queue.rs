//! Queues: bounded places where something waits. Full or empty, they make their users wait, and those say why.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::collections::vec_deque::IterMut;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use crate::core::Waiting;
use crate::in_order::insert_behind;
use crate::record::{Label, Record};
use crate::sim::Sim;

struct State<T> {
    items: VecDeque<T>,
    capacity: usize,
    takers: Line,
    putters: Line,
    /// Who put, and who took, last.
    put_by: Option<u32>,
    taken_by: Option<u32>,
}

/// Those who wait, in the order in which they came; at one instant, in the order of their names.
#[derive(Default)]
struct Line(VecDeque<(u64, u32, u64, u32, &'static Label)>);

impl Line {
    fn enter(&mut self, since_ps: u64, rank: u32, ticket: u64, task: u32, reason: &'static Label) {
        let entry = (since_ps, rank, ticket, task, reason);
        insert_behind(&mut self.0, entry, move |known| (known.0, known.1, known.2) < (since_ps, rank, ticket));
    }

    fn leave(&mut self, ticket: u64) {
        if self.0.front().is_some_and(|first| first.2 == ticket) {
            // Whoever is served is the first: the others need not be looked at.
            self.0.pop_front();
        } else if ticket != 0 {
            self.0.retain(|e| e.2 != ticket);
        }
    }

    fn front(&self) -> Option<(u64, u32)> {
        self.0.front().map(|e| (e.2, e.3))
    }
}

/// A bounded queue of `T`.
pub struct Queue<T> {
    sim: Sim,
    state: Rc<RefCell<State<T>>>,
}

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Queue { sim: self.sim.clone(), state: self.state.clone() }
    }
}

impl<T> Waiting for RefCell<State<T>> {
    fn empty(&self) {
        let items = std::mem::take(&mut self.borrow_mut().items);
        drop(items);
    }

    fn items(&self) -> usize {
        self.borrow().items.len()
    }

    fn is_of_places(&self) -> bool {
        size_of::<T>() == 0
    }

    fn taker(&self) -> Option<u32> {
        let state = self.borrow();
        state.taken_by.filter(|_| state.capacity > 1)
    }

    fn waiting(&self) -> Vec<(u32, &'static Label)> {
        let state = self.borrow();
        state.takers.0.iter().chain(state.putters.0.iter()).map(|e| (e.3, e.4)).collect()
    }
}

/// Somebody's place in a line.
#[derive(Default)]
pub(crate) struct Ticket {
    /// Zero before it is entered.
    number: u64,
    since_ps: u64,
    polled: bool,
}

/// Leaves the line when the wait is cancelled.
pub(crate) struct Waits<'a, T> {
    queue: &'a Queue<T>,
    ticket: Ticket,
}

impl<'a, T> Waits<'a, T> {
    /// Waits for an item.
    pub(crate) fn for_one(queue: &'a Queue<T>) -> Waits<'a, T> {
        Waits { queue, ticket: Ticket::default() }
    }

    /// Takes the first item, or waits for `reason`.
    pub(crate) fn poll_take(&mut self, reason: &'static Label) -> Poll<T> {
        self.queue.poll_take(&mut self.ticket, reason)
    }

    /// Whether nobody takes before.
    pub(crate) fn is_first(&self) -> bool {
        self.queue.state.borrow().takers.front().is_some_and(|(number, _)| number == self.ticket.number)
    }

    /// Waits no longer.
    pub(crate) fn leave(&mut self) {
        let number = std::mem::take(&mut self.ticket.number);
        if number != 0 {
            let mut state = self.queue.state.borrow_mut();
            state.takers.leave(number);
            state.putters.leave(number);
            self.queue.wake_fronts(&state);
        }
    }
}

impl<T> Drop for Waits<'_, T> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<T: 'static> Queue<T> {
    /// An empty queue for at most `capacity` items.
    pub fn new(sim: &Sim, capacity: usize) -> Queue<T> {
        let queue = Queue::unlisted(sim, capacity);
        sim.shared.add_queue(queue.as_waiting());
        queue
    }

    /// The same for whoever says himself what it holds.
    pub(crate) fn unlisted(sim: &Sim, capacity: usize) -> Queue<T> {
        assert!(capacity > 0, "a queue holds at least one item");
        let (takers, putters) = (Line::default(), Line::default());
        let state = State { items: VecDeque::new(), capacity, takers, putters, put_by: None, taken_by: None };
        Queue { sim: sim.clone(), state: Rc::new(RefCell::new(state)) }
    }

    pub(crate) fn as_waiting(&self) -> Rc<dyn Waiting> {
        self.state.clone()
    }
}

impl<T> Queue<T> {
    /// How many items are there.
    pub fn len(&self) -> usize {
        self.state.borrow().items.len()
    }

    /// Whether nothing is there.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Looks at the first `count` items, which stay where they are, and may change them.
    pub fn look_at<R>(&self, count: usize, look: impl FnOnce(IterMut<'_, T>) -> R) -> R {
        let items = &mut self.state.borrow_mut().items;
        let count = count.min(items.len());
        look(items.range_mut(..count))
    }

    /// Puts an item if there is room and nobody waits to put; gives it back otherwise.
    #[inline]
    pub fn try_put(&self, item: T) -> Result<(), T> {
        self.try_put_by(self.sim.shared.current.get(), item)
    }

    /// The same for another task.
    #[inline]
    pub(crate) fn try_put_by(&self, task: u32, item: T) -> Result<(), T> {
        let mut state = self.state.borrow_mut();
        if state.items.len() >= state.capacity || !state.putters.0.is_empty() {
            return Err(item);
        }
        state.items.push_back(item);
        state.put_by = Some(task);
        self.wake_fronts(&state);
        Ok(())
    }

    /// Puts an item for which there is room, as whoever puts it knows.
    ///
    /// # Panics
    ///
    /// There is none: an item would be lost.
    #[inline]
    pub fn put_now(&self, item: T) {
        assert!(self.try_put(item).is_ok(), "there is no room for what is put into a queue");
    }

    /// Takes the first item if there is one and nobody waits for it.
    #[inline]
    pub fn try_take(&self) -> Option<T> {
        let mut state = self.state.borrow_mut();
        if !state.takers.0.is_empty() {
            return None;
        }
        let item = state.items.pop_front()?;
        state.taken_by = Some(self.sim.shared.current.get());
        self.wake_fronts(&state);
        Some(item)
    }

    /// Puts an item, waiting for `reason` while the queue is full.
    pub async fn put(&self, item: T, reason: &'static Label) {
        let mut item = Some(item);
        let mut waits = Waits { queue: self, ticket: Ticket::default() };
        poll_fn(|_| {
            let ticket = &mut waits.ticket;
            if self.livelock(ticket) {
                return Poll::Pending;
            }
            let mut state = self.state.borrow_mut();
            let turn = state.putters.front().is_none_or(|(number, _)| number == ticket.number);
            if !turn || state.items.len() >= state.capacity {
                self.enter(&mut state.putters, ticket, reason);
                // Who comes first by name may have come to an item that others were woken for.
                self.wake_fronts(&state);
                return Poll::Pending;
            }
            state.putters.leave(ticket.number);
            state.items.extend(item.take());
            state.put_by = Some(self.sim.shared.current.get());
            self.wake_fronts(&state);
            self.record_wait(ticket, reason, state.taken_by);
            Poll::Ready(())
        })
        .await;
    }

    /// Takes the first item, waiting for `reason` while there is none.
    pub async fn take(&self, reason: &'static Label) -> T {
        if !self.is_empty()
            && !self.sim.shared.stands_still()
            && let Some(item) = self.try_take()
        {
            return item;
        }
        let mut waits = Waits::for_one(self);
        poll_fn(|_| waits.poll_take(reason)).await
    }

    /// Wakes whoever would take the next item.
    pub(crate) fn wake_taker(&self) {
        if let Some((_, task)) = self.state.borrow().takers.front() {
            self.sim.shared.core.borrow_mut().wake(task);
        }
    }

    pub(crate) fn sim(&self) -> &Sim {
        &self.sim
    }

    /// Takes the first item for whoever has the ticket, or has it wait for `reason`.
    pub(crate) fn poll_take(&self, ticket: &mut Ticket, reason: &'static Label) -> Poll<T> {
        if self.livelock(ticket) {
            return Poll::Pending;
        }
        let mut state = self.state.borrow_mut();
        let turn = state.takers.front().is_none_or(|(number, _)| number == ticket.number);
        if !turn || state.items.is_empty() {
            self.enter(&mut state.takers, ticket, reason);
            // Who comes first by name may have come to an item that others were woken for.
            self.wake_fronts(&state);
            return Poll::Pending;
        }
        state.takers.leave(ticket.number);
        let item = state.items.pop_front().expect("an item was seen above");
        state.taken_by = Some(self.sim.shared.current.get());
        self.wake_fronts(&state);
        self.record_wait(ticket, reason, state.put_by);
        Poll::Ready(item)
    }

    /// Whether the event loop must have its turn first, because time stands still.
    fn livelock(&self, ticket: &mut Ticket) -> bool {
        !std::mem::replace(&mut ticket.polled, true) && self.sim.shared.stands_still()
    }

    fn enter(&self, line: &mut Line, ticket: &mut Ticket, reason: &'static Label) {
        if ticket.number == 0 {
            let mut core = self.sim.shared.core.borrow_mut();
            let task = self.sim.shared.current.get();
            ticket.number = core.next_ticket();
            ticket.since_ps = self.sim.now().as_ps();
            line.enter(ticket.since_ps, core.rank(task), ticket.number, task, reason);
        }
    }

    /// Wakes the first taker where an item is there, and the first putter where room is.
    #[inline(always)]
    fn wake_fronts(&self, state: &State<T>) {
        let takes = !state.items.is_empty() && !state.takers.0.is_empty();
        let puts = state.items.len() < state.capacity && !state.putters.0.is_empty();
        if takes || puts {
            self.wake_whom_it_concerns(state, takes, puts);
        }
    }

    #[inline(never)]
    fn wake_whom_it_concerns(&self, state: &State<T>, takes: bool, puts: bool) {
        let taker = state.takers.front().filter(|_| takes);
        let putter = state.putters.front().filter(|_| puts);
        let mut core = self.sim.shared.core.borrow_mut();
        for (_, task) in taker.into_iter().chain(putter) {
            core.wake(task);
        }
    }

    fn record_wait(&self, ticket: &mut Ticket, label: &'static Label, ended_by: Option<u32>) {
        let now = self.sim.now();
        let waited = ticket.number != 0 && now.as_ps() > ticket.since_ps;
        ticket.number = 0;
        let mut core = self.sim.shared.core.borrow_mut();
        if waited && core.observed() {
            let at = crate::Time::ps(ticket.since_ps);
            let who = self.sim.shared.current.get() as u16;
            let by = ended_by.expect("somebody put what was waited for, or took what was in the way") as u16;
            core.record(Record::QueueWait { who, by, label, at, span: now - at });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ended, Time};

    static EMPTY: Label = Label::reason("queue empty");
    static FULL: Label = Label::reason("queue full");

    #[test]
    fn a_full_queue_makes_its_putter_wait() {
        let sim = Sim::new();
        let queue = Queue::new(&sim, 2);
        let (s, q) = (sim.clone(), queue.clone());
        sim.process("putter", async move {
            for n in 0..4 {
                q.put(n, &FULL).await;
            }
            assert_eq!(s.now(), Time::ns(20));
        });
        let s = sim.clone();
        sim.process("taker", async move {
            for n in 0..4 {
                s.wait(Time::ns(10)).await;
                assert_eq!(queue.take(&EMPTY).await, n);
            }
        });
        assert_eq!(sim.run(Time::us(1)), Ended::Finished);
        assert_eq!(sim.now(), Time::ns(40));
    }

    #[test]
    #[should_panic(expected = "no room")]
    fn an_item_is_never_lost_in_silence() {
        let queue = Queue::new(&Sim::new(), 1);
        queue.put_now(1);
        queue.put_now(2);
    }

    #[test]
    fn a_deadlock_names_who_waits_and_why() {
        let sim = Sim::new();
        let queue: Queue<u8> = Queue::new(&sim, 1);
        sim.process("driver", async move {
            queue.take(&EMPTY).await;
        });
        assert_eq!(sim.run(Time::us(1)), Ended::Deadlock(vec!["driver waits (queue empty)".into()]));
    }
}
