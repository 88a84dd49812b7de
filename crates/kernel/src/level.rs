//! Levels: how much is where at an instant.
//!
//! A rate may stand still while a cache fills, or while a queue moves from one hop to another, and change when that is
//! over. Whoever wants to know whether a run is steady asks, between two calls of [`Sim::run`], what lanes, queues and
//! parts hold. Nothing is kept for it while the run goes on, and no answer changes anything.

use std::rc::Rc;

use crate::core::Waiting;
use crate::sim::Sim;

/// What a level counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of the workload.
    Bytes,
    /// Whatever waits in a queue or for a lane.
    Items,
}

/// What holds it: the same as long as a simulation lasts, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// A lane, by number: those who wait for it.
    Lane(usize),
    /// A queue, by number.
    Queue(usize),
    /// A part, by the order in which parts said so.
    Part(usize),
}

/// Something that holds something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// What it is.
    pub holder: Holder,
    /// In words, as the subject of a sentence.
    pub name: String,
    /// What it counts.
    pub unit: Unit,
}

/// Bytes that a part holds, whenever somebody asks.
pub(crate) struct Held {
    name: String,
    bytes: Box<dyn Fn() -> u64>,
}

enum Place {
    Lane(usize),
    Queue(Rc<dyn Waiting>),
    Part(usize),
}

/// All levels of a simulation, as they were there when they were asked for.
pub struct Levels {
    sim: Sim,
    known: Vec<Level>,
    places: Vec<Place>,
}

impl Sim {
    /// A part holds so many bytes, whenever somebody asks between two calls of [`Sim::run`].
    pub fn level(&self, name: &str, bytes: impl Fn() -> u64 + 'static) {
        self.shared.held.borrow_mut().push(Held { name: name.to_string(), bytes: Box::new(bytes) });
    }

    /// Lanes with those who wait for them, queues of more than one place that somebody takes from, and what parts hold.
    pub fn levels(&self) -> Levels {
        let (mut known, mut places) = (Vec::new(), Vec::new());
        let mut add = |name: String, unit: Unit, holder: Holder, place: Place| {
            known.push(Level { holder, name, unit });
            places.push(place);
        };
        for (number, (lane, _)) in self.lanes().into_iter().enumerate() {
            add(format!("what waits for {lane}"), Unit::Items, Holder::Lane(number), Place::Lane(number));
        }
        let processes = self.processes();
        for (number, queue) in self.shared.queues.borrow().iter().enumerate() {
            let Some(taker) = queue.taker().and_then(|taker| processes.get(taker as usize)) else { continue };
            let what = if queue.is_of_places() { "free places for" } else { "the queue of" };
            add(format!("{what} {taker}"), Unit::Items, Holder::Queue(number), Place::Queue(queue.clone()));
        }
        for (number, held) in self.shared.held.borrow().iter().enumerate() {
            add(held.name.clone(), Unit::Bytes, Holder::Part(number), Place::Part(number));
        }
        Levels { sim: self.clone(), known, places }
    }
}

impl Levels {
    /// What there is, in the order of the amounts.
    pub fn known(&self) -> &[Level] {
        &self.known
    }

    /// How much is where now.
    pub fn amounts(&self) -> impl Iterator<Item = u64> + '_ {
        let (core, now) = (self.sim.shared.core.borrow(), self.sim.now());
        let held = self.sim.shared.held.borrow();
        self.places.iter().map(move |place| match place {
            Place::Lane(number) => core.lanes[*number].waiters(now) as u64,
            Place::Queue(queue) => queue.items() as u64,
            Place::Part(number) => (held[*number].bytes)(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Label, Queue, Time};

    static EMPTY: Label = Label::reason("queue empty");
    static BUSY: Label = Label::reason("lane busy");
    static WORK: Label = Label::protocol("work");

    #[test]
    fn lanes_queues_and_parts_say_what_they_hold() {
        let sim = Sim::new();
        let (lane, queue) = (sim.lane("arm", None), Queue::new(&sim, 8));
        for number in 0..6 {
            assert!(queue.try_put(number).is_ok());
        }
        for name in ["left", "right"] {
            let (lane, queue) = (lane.clone(), queue.clone());
            sim.process(name, async move {
                loop {
                    queue.take(&EMPTY).await;
                    let grant = lane.acquire(&BUSY).await;
                    grant.hold(&WORK, Time::ns(10)).await;
                }
            });
        }
        sim.level("cache, unwritten", || 4_096);
        sim.run(Time::ns(15));
        let levels = sim.levels();
        let named: Vec<(&str, u64)> = levels.known().iter().map(|l| l.name.as_str()).zip(levels.amounts()).collect();
        assert_eq!(named, [("what waits for arm", 1), ("the queue of left", 3), ("cache, unwritten", 4_096)]);
        sim.tear_down();
    }
}
