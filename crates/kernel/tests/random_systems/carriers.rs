//! Carriers, and processes that do what those do.

use std::cell::Cell;
use std::rc::Rc;

use hopscope_kernel::{Bell, Carriers, Coming, Freight, Label, Load, Queue, Sim, Time, Told};

pub static NOTHING: Label = Label::reason("nothing to carry");
static QUIET: Label = Label::reason("nothing has come");

/// What has come, as those see it who asked.
#[derive(Clone)]
pub struct Come {
    pub passed: Rc<Cell<u64>>,
    pub arrived: Rc<Cell<u64>>,
    pub bell: Bell,
}

impl Come {
    pub fn new(sim: &Sim) -> Come {
        Come { passed: Rc::default(), arrived: Rc::default(), bell: Bell::new(sim) }
    }

    fn told(&self, load: Load, told: Told) {
        match told {
            Told::Passed => self.passed.set(self.passed.get() + u64::from(load.bytes)),
            Told::Arrived => {
                self.arrived.set(self.arrived.get() + u64::from(load.bytes));
                self.bell.ring();
            }
        }
    }
}

/// Carriers, or processes that do what those do.
#[derive(Clone)]
pub enum Crew {
    Carriers(Carriers),
    Processes(Queue<Freight>),
}

impl Crew {
    pub fn new(sim: &Sim, names: &[String], come: &Come, carriers: bool) -> Crew {
        if carriers {
            let come = come.clone();
            return Crew::Carriers(sim.carriers(names.to_vec(), &NOTHING, move |load, count, told| {
                (0..count).for_each(|_| come.told(load, told))
            }));
        }
        let queue: Queue<Freight> = Queue::new(sim, 1_000);
        for name in names {
            let (s, q, come) = (sim.clone(), queue.clone(), come.clone());
            sim.process(name, async move {
                loop {
                    let Freight { load, errand, legs, passed, begun } = q.take(&NOTHING).await;
                    s.take_up(errand);
                    let (mut from, mut to_pass) = (0, passed);
                    if let Some(begun) = begun {
                        s.wait_until(begun.at).await;
                        (from, to_pass) = (begun.leg, passed.filter(|_| !begun.passed));
                    }
                    if let Some(passed) = to_pass {
                        s.go(legs[from..passed].into()).await;
                        come.told(load, Told::Passed);
                        from = passed;
                    }
                    s.go(legs[from..].into()).await;
                    come.told(load, Told::Arrived);
                }
            });
        }
        Crew::Processes(queue)
    }

    pub fn put_alike(&self, freight: Freight, count: u32) {
        match self {
            Crew::Carriers(carriers) => carriers.put_alike(freight, count),
            Crew::Processes(queue) => (0..count).for_each(|_| queue.put_now(freight.clone())),
        }
    }

    /// Of processes nothing is known ahead.
    pub fn put_coming(&self, freight: &Freight, count: u32, at: Time, pitch: Time) -> Option<Coming<'_>> {
        match self {
            Crew::Carriers(carriers) => carriers.put_coming(freight.clone(), count, at, pitch),
            Crew::Processes(_) => None,
        }
    }

    pub fn settle(&self) {
        if let Crew::Carriers(carriers) = self {
            carriers.settle();
        }
    }

    pub async fn heard(&self, bell: &Bell) {
        match self {
            Crew::Carriers(carriers) => carriers.heard(bell, &QUIET).await,
            Crew::Processes(_) => bell.heard(&QUIET).await,
        }
    }
}
