//! Plays a trace on a device.
//!
//! Where issues follow completions there is one process: gap, request, completion. Where they have times of their own
//! there are two: one that issues, one that takes completions. As many requests as drivers queue are under way at most;
//! what is due beyond that is issued later, and its response time still counts from when it was due.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use hopscope_files::trace_file::{Lines, Record, Requests, TraceProblem};
use hopscope_kernel::{Errand, Label, Lane, Queue, Sim, Time, Tokens};
use hopscope_parts::protocols::storage::{Completion, Operation, READ, Request, Storage, WRITE};

use super::Progress;
use super::figures::Figures;

/// Requests under way, at most: as of a job.
const UNDER_WAY_MAX: usize = 1_024;
/// After so many requests whoever watches hears of it.
const NEWS_EVERY: u64 = 4_096;

static NOT_DUE: Label = Label::workload("the next request of the trace");
static UNDER_WAY: Label = Label::workload("requests under way");
static ROOM: Label = Label::workload("as many requests under way as drivers queue");

/// What is played, and what came of it.
pub(super) struct Player {
    sim: Sim,
    target: Rc<dyn Storage>,
    lines: RefCell<Lines>,
    requests: RefCell<Requests>,
    figures: RefCell<Figures>,
    /// Why the trace could not be read to its end.
    pub(super) problem: RefCell<Option<TraceProblem>>,
    /// What is owed to the trace.
    lane: Lane,
    done: Queue<Completion>,
    room: Tokens,
    /// Requests under way that are told apart by what a completion says.
    open: RefCell<VecDeque<Open>>,
    at_end: Cell<bool>,
    /// Requests that have been read.
    read: Cell<u64>,
    progress: RefCell<Progress>,
}

struct Open {
    issued: Time,
    due: Time,
    writes: bool,
    bytes: u32,
    response: Option<Time>,
}

/// Adds the processes that play the trace.
pub(super) fn start(
    sim: &Sim,
    target: Rc<dyn Storage>,
    lines: Lines,
    requests: Requests,
    follows: bool,
    progress: Progress,
) -> Rc<Player> {
    let player = Rc::new(Player {
        sim: sim.clone(),
        target,
        lines: RefCell::new(lines),
        requests: RefCell::new(requests),
        figures: RefCell::new(Figures::new()),
        problem: RefCell::new(None),
        lane: sim.lane("trace", None),
        done: Queue::new(sim, UNDER_WAY_MAX),
        room: Tokens::full(sim, UNDER_WAY_MAX),
        open: RefCell::new(VecDeque::with_capacity(UNDER_WAY_MAX)),
        at_end: Cell::new(false),
        read: Cell::new(0),
        progress: RefCell::new(progress),
    });
    let playing = player.clone();
    if follows {
        sim.process("trace", async move { playing.one_after_the_other().await });
    } else {
        let taking = player.clone();
        sim.process("trace", async move { playing.at_their_times().await });
        sim.process("trace completions", async move { taking.completions().await });
    }
    player
}

impl Player {
    /// Whether every request that was read has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.at_end.get() && self.open.borrow().is_empty()
    }

    /// What has been computed so far.
    pub(super) fn figures(&self) -> Figures {
        self.figures.borrow().clone()
    }

    /// Lines with requests that move no data.
    pub(super) fn without_data(&self) -> u64 {
        self.requests.borrow().without_data()
    }

    async fn one_after_the_other(&self) {
        let processor = self.target.processor();
        while let Some(record) = self.next() {
            if record.at > Time::ZERO {
                self.lane.delay(&NOT_DUE, record.at).await;
            }
            let (issued, errand) = (self.sim.now(), self.sim.new_errand());
            self.sim.issued(errand);
            if let Some(processor) = &processor {
                let (layer, span) = self.target.above(operation(&record), record.bytes);
                processor.run_thread(layer, span).await;
            }
            self.submit(&record, issued, errand);
            let Completion { operation, bytes, errand, .. } = self.done.take(&UNDER_WAY).await;
            self.sim.take_up(errand);
            self.ended(operation == Operation::Write, bytes, issued, record.response);
        }
        self.at_end.set(true);
    }

    async fn at_their_times(&self) {
        let processor = self.target.processor();
        while let Some(record) = self.next() {
            let left = record.at.saturating_sub(self.sim.now());
            if left > Time::ZERO {
                self.lane.delay(&NOT_DUE, left).await;
            }
            self.room.take(&ROOM).await;
            if self.sim.now() > record.at {
                self.figures.borrow_mut().held_back += 1;
            }
            let errand = self.sim.new_errand();
            if let Some(processor) = &processor {
                let (layer, span) = self.target.above(operation(&record), record.bytes);
                processor.run_thread(layer, span).await;
            }
            let (issued, due) = (self.sim.now(), record.at);
            self.sim.issued(errand);
            let Record { writes, bytes, response, .. } = record;
            self.open.borrow_mut().push_back(Open { issued, due, writes, bytes, response });
            self.submit(&record, issued, errand);
        }
        self.at_end.set(true);
    }

    async fn completions(&self) {
        loop {
            let Completion { operation, bytes, issued, errand } = self.done.take(&UNDER_WAY).await;
            self.sim.take_up(errand);
            let writes = operation == Operation::Write;
            let same = |open: &Open| (open.issued, open.writes, open.bytes) == (issued, writes, bytes);
            let mut all = self.open.borrow_mut();
            let found = all.iter().position(same).and_then(|position| all.remove(position));
            drop(all);
            if let Some(Open { due, response, .. }) = found {
                self.ended(writes, bytes, due, response);
            }
            self.room.give();
        }
    }

    fn submit(&self, record: &Record, issued: Time, errand: Errand) {
        let Record { offset_bytes, bytes, .. } = *record;
        let operation = operation(record);
        let (errand, done) = (self.sim.pass_on(errand), self.done.clone());
        self.target.submit(Request { operation, offset_bytes, bytes, issued, errand, done });
    }

    fn ended(&self, writes: bool, bytes: u32, due: Time, recorded: Option<Time>) {
        let now = self.sim.now();
        self.sim.transferred(if writes { &WRITE } else { &READ }, due, bytes);
        self.figures.borrow_mut().ended(now, writes, bytes, now - due, recorded);
    }

    /// The next request; nothing where the trace ends or cannot be read.
    fn next(&self) -> Option<Record> {
        let mut lines = self.lines.borrow_mut();
        self.read.set(self.read.get() + 1);
        if self.read.get().is_multiple_of(NEWS_EVERY) {
            (self.progress.borrow_mut())(lines.position(), self.figures.borrow().count(), self.sim.now());
        }
        match self.requests.borrow_mut().next(&mut lines) {
            Ok(record) => record,
            Err(problem) => {
                *self.problem.borrow_mut() = Some(problem);
                None
            }
        }
    }
}

fn operation(record: &Record) -> Operation {
    if record.writes { Operation::Write } else { Operation::Read }
}
