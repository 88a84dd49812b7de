//! The thread of a job: submits, waits, thinks.

use std::cell::Cell;
use std::rc::Rc;

use hopscope_kernel::{Label, Lane, Queue, Sim};

use super::addresses::{Addresses, Next};
use super::{Spec, Think};
use crate::protocols::storage::{Completion, Operation, READ, Request, Storage, WRITE};

static IN_FLIGHT: Label = Label::workload("as many requests in flight as the job allows");
static TURN: Label = Label::workload("the jobs before it");
static THINK_TIME: Label = Label::workload("think time");

/// A job that has been started.
pub struct Running(Rc<State>);

#[derive(Default)]
struct State {
    /// Nothing more is issued.
    over: Cell<bool>,
    ended: Cell<bool>,
    /// The run stops when the job ends.
    stops: Cell<bool>,
    /// Where the job waits for its turn.
    turn: Option<Queue<()>>,
}

impl Running {
    /// It issues nothing more, and ends with the requests in flight.
    pub fn end(&self) {
        self.0.over.set(true);
    }

    /// The run stops when the job has ended.
    pub fn stop_at_end(&self) {
        self.0.stops.set(true);
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.0.ended.get()
    }

    /// A job that waits for its turn begins.
    pub fn begin(&self) {
        if let Some(turn) = &self.0.turn {
            let _ = turn.try_put(());
        }
    }
}

/// Starts a job on a device; one that `waits` begins when it is told to.
pub fn start(sim: &Sim, name: &str, spec: Spec, target: Rc<dyn Storage>, waits: bool) -> Running {
    let addresses = Addresses::new(&spec, name);
    let turn = waits.then(|| Queue::new(sim, 1));
    let state = Rc::new(State { turn, ..State::default() });
    let pauses = spec.think.map(|think| Pauses { think, lane: sim.lane(name, None), counted: 0, until: think.every });
    let thread = Thread {
        sim: sim.clone(),
        done: Queue::new(sim, spec.depth),
        target,
        depth: spec.depth,
        offset_bytes: spec.offset_bytes,
        state: state.clone(),
    };
    sim.process(name, async move {
        if let Some(turn) = &thread.state.turn {
            turn.take(&TURN).await;
        }
        thread.run(addresses, pauses).await;
        thread.state.ended.set(true);
        if thread.state.stops.get() {
            thread.sim.stop();
        }
    });
    Running(state)
}

struct Thread {
    sim: Sim,
    target: Rc<dyn Storage>,
    done: Queue<Completion>,
    depth: usize,
    offset_bytes: u64,
    state: Rc<State>,
}

/// When the thread pauses.
struct Pauses {
    think: Think,
    /// What the pauses are owed to.
    lane: Lane,
    counted: u64,
    /// The next pause is due with so many.
    until: u64,
}

impl Thread {
    async fn run(&self, mut addresses: Addresses, mut pauses: Option<Pauses>) {
        let (processor, span) = (self.target.processor(), self.target.time_per_request());
        let mut in_flight = 0;
        loop {
            let next = addresses.next().filter(|_| !self.state.over.get());
            if in_flight == self.depth || next.is_none() {
                if in_flight == 0 {
                    return;
                }
                self.complete(&mut pauses).await;
                in_flight -= 1;
            }
            let Some(Next { operation, offset, bytes }) = next else { continue };
            if pauses.as_ref().is_some_and(Pauses::due) {
                while in_flight > 0 {
                    self.complete(&mut pauses).await;
                    in_flight -= 1;
                }
                if let Some(pauses) = &mut pauses {
                    pauses.lane.delay(&THINK_TIME, pauses.think.time).await;
                    pauses.until = pauses.counted.saturating_add(pauses.think.every);
                }
            }
            if self.state.over.get() {
                continue;
            }
            let errand = self.sim.new_errand();
            if let Some(processor) = &processor {
                processor.run_thread(span).await;
            }
            let (issued, done) = (self.sim.now(), self.done.clone());
            let offset_bytes = self.offset_bytes + offset;
            self.sim.issued(errand);
            let errand = self.sim.pass_on(errand);
            self.target.submit(Request { operation, offset_bytes, bytes, issued, errand, done });
            in_flight += 1;
            if let Some(pauses) = &mut pauses {
                pauses.counted += u64::from(pauses.think.counts_issues);
            }
        }
    }

    async fn complete(&self, pauses: &mut Option<Pauses>) {
        let Completion { operation, bytes, issued, errand } = self.done.take(&IN_FLIGHT).await;
        self.sim.take_up(errand);
        let label = if operation == Operation::Read { &READ } else { &WRITE };
        self.sim.transferred(label, issued, bytes);
        if let Some(pauses) = pauses {
            pauses.counted += u64::from(!pauses.think.counts_issues);
        }
    }
}

impl Pauses {
    fn due(&self) -> bool {
        self.counted >= self.until
    }
}
