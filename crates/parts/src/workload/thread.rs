//! The thread of a job: submits, waits, thinks.

use std::cell::Cell;
use std::rc::Rc;

use hopscope_kernel::{Bell, Label, Lane, Queue, Sim, Time};

use super::addresses::{Addresses, Next};
use super::{Spec, Think};
use crate::cpu::Processor;
use crate::protocols::storage::{Completion, Operation, READ, Request, Storage, WRITE};

static IN_FLIGHT: Label = Label::workload("as many requests in flight as the job allows");
static START_DELAY: Label = Label::workload("start delay");
static TURN: Label = Label::workload("the jobs before it");
/// The pause of a job between its requests.
pub static THINK_TIME: Label = Label::workload("think time");

/// A job that has been started.
pub struct Running(Rc<State>);

#[derive(Default)]
struct State {
    /// Nothing more is issued.
    over: Cell<bool>,
    ended: Cell<Option<Time>>,
    /// The run stops when the job ends.
    stops: Cell<bool>,
    /// So many requests have been asked for, with those that it goes on behind.
    issued: Cell<u64>,
    /// Where the job waits for its turn.
    turn: Option<Bell>,
}

impl Running {
    /// It issues nothing more, and ends with the requests in flight and the pause that it is in, if it is in one.
    pub fn end(&self) {
        self.0.over.set(true);
    }

    /// The run stops when the job has ended.
    pub fn stop_at_end(&self) {
        self.0.stops.set(true);
    }

    /// When it ended: with its last request, or with the pause that followed.
    pub fn ended(&self) -> Option<Time> {
        self.0.ended.get()
    }

    /// So many requests it has asked for, with those that it went on behind.
    pub fn issued(&self) -> u64 {
        self.0.issued.get()
    }

    /// A job that waits for its turn begins.
    pub fn begin(&self) {
        if let Some(turn) = &self.0.turn {
            turn.ring();
        }
    }
}

/// Starts a job on a device; one that `waits` begins when it is told to.
pub fn start(sim: &Sim, name: &str, spec: Spec, target: Rc<dyn Storage>, waits: bool) -> Running {
    let addresses = Addresses::new(&spec, name);
    let turn = waits.then(|| Bell::new(sim));
    let state = Rc::new(State { turn, issued: Cell::new(spec.behind), ..State::default() });
    let delay = Some(spec.start_delay).filter(|time| *time > Time::ZERO && spec.behind == 0);
    // What its idle times are owed to.
    let idle = (spec.think.is_some() || delay.is_some()).then(|| sim.lane(name, None));
    let pauses = spec.think.zip(idle.clone()).map(|(think, lane)| Pauses { think, lane, at_the_last: spec.behind });
    let processor = target.processor().map(|all| match &spec.processors[..] {
        [] => all,
        some => all.bound_to(some),
    });
    let thread = Thread {
        sim: sim.clone(),
        processor,
        done: Queue::new(sim, spec.depth),
        target,
        depth: spec.depth,
        offset_bytes: spec.offset_bytes,
        state: state.clone(),
        in_flight: Cell::new(0),
    };
    sim.process(name, async move {
        if let Some(turn) = &thread.state.turn {
            turn.heard(&TURN).await;
        }
        if let (Some(idle), Some(time)) = (idle, delay) {
            idle.delay(&START_DELAY, time).await;
        }
        thread.run(addresses, pauses).await;
        thread.state.ended.set(Some(thread.sim.now()));
        if thread.state.stops.get() {
            thread.sim.stop();
        }
    });
    Running(state)
}

fn direction(operation: Operation) -> &'static Label {
    if operation == Operation::Read { &READ } else { &WRITE }
}

struct Thread {
    sim: Sim,
    processor: Option<Rc<Processor>>,
    target: Rc<dyn Storage>,
    done: Queue<Completion>,
    depth: usize,
    offset_bytes: u64,
    state: Rc<State>,
    in_flight: Cell<usize>,
}

/// When the thread pauses.
struct Pauses {
    think: Think,
    lane: Lane,
    /// How many had been counted when it was decided to pause last.
    at_the_last: u64,
}

impl Thread {
    async fn run(&self, mut addresses: Addresses, mut pauses: Option<Pauses>) {
        while let Some(Next { operation, offset, bytes }) = addresses.next().filter(|_| !self.state.over.get()) {
            let errand = self.sim.new_errand();
            if let Some(processor) = &self.processor {
                let (layer, span) = self.target.above(operation, bytes);
                processor.run_thread(layer, span).await;
            }
            let (issued, done) = (self.sim.now(), self.done.clone());
            let offset_bytes = self.offset_bytes + offset;
            self.sim.asked(direction(operation), offset_bytes);
            self.sim.issued(errand);
            let errand = self.sim.pass_on(errand);
            self.target.submit(Request { operation, offset_bytes, bytes, issued, errand, done });
            self.state.issued.set(self.state.issued.get() + 1);
            self.in_flight.set(self.in_flight.get() + 1);
            if self.in_flight.get() == self.depth {
                self.complete().await;
            }
            if let Some(pauses) = &mut pauses {
                self.pause(pauses).await;
            }
        }
        self.complete_all().await;
    }

    async fn complete(&self) {
        let Completion { operation, bytes, issued, errand } = self.done.take(&IN_FLIGHT).await;
        self.sim.take_up(errand);
        self.sim.transferred(direction(operation), issued, bytes);
        self.in_flight.set(self.in_flight.get() - 1);
    }

    async fn complete_all(&self) {
        while self.in_flight.get() > 0 {
            self.complete().await;
        }
    }

    /// After each request it is asked whether a pause is due, also after the last. What ends while the thread waits for
    /// those in flight counts for the next one already: with many in flight one request a pause is enough for that.
    async fn pause(&self, pauses: &mut Pauses) {
        let completed = self.state.issued.get() - self.in_flight.get() as u64;
        let counted = if pauses.think.counts_issues { self.state.issued.get() } else { completed };
        if counted - pauses.at_the_last < pauses.think.every {
            return;
        }
        self.complete_all().await;
        pauses.lane.delay(&THINK_TIME, pauses.think.time).await;
        pauses.at_the_last = counted;
    }
}
