//! The executor: processes, the event loop, and how a run ends.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::Time;
use crate::events::{Due, Events};
use crate::lane::{Lane, LaneState};
use crate::record::{Kind, Label, Observer, Record};
use crate::train::TrainState;

/// Records are handed to the observer in batches of at most this many, in one reused buffer.
const BATCH: usize = 4_096;
/// More events than this at one instant is a livelock.
const EVENTS_AT_ONE_INSTANT_MAX: u32 = 10_000;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every process returned.
    Finished,
    /// The time limit was reached with processes still at work.
    Limit,
    /// A process asked to stop.
    Stopped,
    /// Everybody waits and nothing is due: who waits for what, one line each.
    Deadlock(Vec<String>),
    /// Time stood still through too many events: the processes that kept going.
    Livelock(Vec<String>),
}

/// What a run cost the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events popped and spans skipped in place.
    pub events: u64,
    /// Lane grants, those within trains not counted.
    pub grants: u64,
    /// Trains booked.
    pub trains: u64,
    /// Of those, cut by someone else.
    pub trains_cut: u64,
    /// Bursts carried by trains.
    pub bursts_in_trains: u64,
}

struct Process {
    name: String,
    future: Option<Pin<Box<dyn Future<Output = ()>>>>,
    /// Position of the name among all names: the order of simultaneous events never depends on the order of a file.
    rank: u32,
    ready: bool,
}

/// Everything that changes on the event path.
pub(crate) struct Core {
    pub(crate) events: Events,
    pub(crate) lanes: Vec<LaneState>,
    pub(crate) trains: Vec<Option<TrainState>>,
    pub(crate) counts: Counts,
    pub(crate) sequence: u64,
    pub(crate) trains_allowed: bool,
    /// Highest event class seen at the present instant.
    pub(crate) class_reached: u32,
    ready: std::collections::VecDeque<u32>,
    is_ready: Vec<bool>,
    ranks: Vec<u32>,
    records: Vec<Record>,
    observed: bool,
}

pub(crate) struct Shared {
    pub(crate) core: RefCell<Core>,
    pub(crate) now: Cell<Time>,
    pub(crate) current: Cell<u32>,
    pub(crate) horizon: Cell<Time>,
    /// Depth of combinators being polled: inside them nothing may skip time in place.
    combinators: Cell<u32>,
    stopped: Cell<bool>,
    processes: RefCell<Vec<Process>>,
    observer: RefCell<Option<Box<dyn Observer>>>,
    queues: RefCell<Vec<Rc<dyn Waiting>>>,
}

/// A queue can say who waits at it, for the report of a deadlock.
pub(crate) trait Waiting {
    fn waiting(&self) -> Vec<(u32, &'static Label)>;
}

impl Core {
    pub(crate) fn wake(&mut self, task: u32) {
        if !std::mem::replace(&mut self.is_ready[task as usize], true) {
            self.ready.push_back(task);
        }
    }

    pub(crate) fn rank(&self, task: u32) -> u32 {
        self.ranks[task as usize]
    }

    pub(crate) fn observed(&self) -> bool {
        self.observed
    }

    pub(crate) fn record(&mut self, record: Record) {
        self.records.push(record);
    }

    /// The next sequence number: the last resort of every order.
    pub(crate) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }
}

impl Shared {
    /// Whether time may advance to `until` right here, because nobody else does anything before or at it.
    pub(crate) fn may_skip(&self, core: &Core, until: Time) -> bool {
        self.combinators.get() == 0
            && core.ready.is_empty()
            && core.events.next_time() > until
            && until <= self.horizon.get()
            && !self.stopped.get()
    }

    /// Advances time in place; only after `may_skip`.
    pub(crate) fn skip(&self, core: &mut Core, until: Time, class: u32) {
        core.counts.events += 1;
        if until > self.now.get() {
            core.class_reached = class;
            self.now.set(until);
        } else {
            core.class_reached = core.class_reached.max(class);
        }
    }

    pub(crate) fn add_queue(&self, queue: Rc<dyn Waiting>) {
        self.queues.borrow_mut().push(queue);
    }
}

/// A simulation: a handle that processes and parts clone.
#[derive(Clone)]
pub struct Sim {
    pub(crate) shared: Rc<Shared>,
}

impl Default for Sim {
    fn default() -> Self {
        Sim::new()
    }
}

impl Sim {
    /// An empty simulation at time zero.
    pub fn new() -> Sim {
        Sim {
            shared: Rc::new(Shared {
                core: RefCell::new(Core {
                    events: Events::default(),
                    lanes: Vec::new(),
                    trains: Vec::new(),
                    counts: Counts::default(),
                    sequence: 0,
                    trains_allowed: true,
                    class_reached: 0,
                    ready: std::collections::VecDeque::new(),
                    is_ready: Vec::new(),
                    ranks: Vec::new(),
                    records: Vec::with_capacity(BATCH),
                    observed: false,
                }),
                now: Cell::new(Time::ZERO),
                current: Cell::new(0),
                horizon: Cell::new(Time::MAX),
                combinators: Cell::new(0),
                stopped: Cell::new(false),
                processes: RefCell::new(Vec::new()),
                observer: RefCell::new(None),
                queues: RefCell::new(Vec::new()),
            }),
        }
    }

    /// Books no trains from now on: every burst is simulated by itself. Results are the same, to the bit.
    pub fn without_trains(&self) {
        self.shared.core.borrow_mut().trains_allowed = false;
    }

    /// Sends records to `observer` from now on.
    pub fn observe(&self, observer: Box<dyn Observer>) {
        self.shared.core.borrow_mut().observed = true;
        *self.shared.observer.borrow_mut() = Some(observer);
    }

    /// Stops sending records, after those that are under way.
    pub fn stop_observing(&self) {
        self.flush();
        self.shared.core.borrow_mut().observed = false;
        *self.shared.observer.borrow_mut() = None;
    }

    /// The present instant.
    pub fn now(&self) -> Time {
        self.shared.now.get()
    }

    /// A new lane. With a `clock`, it is granted at clock edges only.
    pub fn lane(&self, name: &str, clock: Option<Time>) -> Lane {
        let mut core = self.shared.core.borrow_mut();
        core.lanes.push(LaneState::new(name, clock));
        Lane { sim: self.clone(), id: core.lanes.len() as u32 - 1 }
    }

    /// A new process: it starts when the run starts, in order of the names.
    pub fn process(&self, name: &str, future: impl Future<Output = ()> + 'static) {
        let mut processes = self.shared.processes.borrow_mut();
        processes.push(Process { name: name.to_string(), future: Some(Box::pin(future)), rank: 0, ready: false });
    }

    /// Name and clock of every lane, by number.
    pub fn lanes(&self) -> Vec<(String, Option<Time>)> {
        self.shared.core.borrow().lanes.iter().map(|l| (l.name.clone(), l.clock)).collect()
    }

    /// Name of every process, by number.
    pub fn processes(&self) -> Vec<String> {
        self.shared.processes.borrow().iter().map(|p| p.name.clone()).collect()
    }

    /// What the run has cost so far.
    pub fn counts(&self) -> Counts {
        self.shared.core.borrow().counts
    }

    /// Says that something happened, with a value.
    pub fn mark(&self, label: &'static Label, value: u64) {
        let mut core = self.shared.core.borrow_mut();
        if core.observed {
            let who = self.shared.current.get() as u16;
            let (at, span) = (self.now(), Time::ps(value));
            core.record(Record { at, span, label, lane: u16::MAX, who, count: 0, kind: Kind::Mark, phases: 0 });
        }
    }

    /// Ends the run at the present instant, once the processes that are ready have had their turn.
    pub fn stop(&self) {
        self.shared.stopped.set(true);
    }

    /// Nothing for `span`. (A part that spends time says in which phase: [`Grant::hold`](crate::Grant::hold).)
    pub fn wait(&self, span: Time) -> Delay<'_> {
        self.wait_until(self.now() + span)
    }

    /// Nothing until `until`.
    pub fn wait_until(&self, until: Time) -> Delay<'_> {
        Delay { sim: self, until, armed: false }
    }

    pub(crate) fn combined<R>(&self, poll: impl FnOnce() -> R) -> R {
        let depth = self.shared.combinators.get();
        self.shared.combinators.set(depth + 1);
        let result = poll();
        self.shared.combinators.set(depth);
        result
    }

    /// Runs until everything has ended, `until` is reached, or a process stops the run. May be called again.
    pub fn run(&self, until: Time) -> Ended {
        let shared = &*self.shared;
        shared.horizon.set(until);
        shared.stopped.set(false);
        self.start_processes();
        let mut context = Context::from_waker(Waker::noop());
        let mut at_this_instant = 0u32;
        let ended = loop {
            while let Some(task) = self.next_ready() {
                self.poll(task, &mut context);
            }
            if shared.core.borrow().records.len() >= BATCH / 2 {
                self.flush();
            }
            if shared.stopped.get() {
                break Ended::Stopped;
            }
            let mut core = shared.core.borrow_mut();
            let next = core.events.next_time();
            if next > until {
                drop(core);
                let running = shared.processes.borrow().iter().any(|p| p.future.is_some());
                break match (running, next) {
                    (false, _) => Ended::Finished,
                    (true, Time::MAX) => Ended::Deadlock(self.who_waits()),
                    _ => {
                        // Everything due at the limit has happened, every lane's arbitration included.
                        shared.now.set(until);
                        shared.core.borrow_mut().class_reached = u32::MAX;
                        Ended::Limit
                    }
                };
            }
            let Some((at, class, due)) = core.events.pop() else { continue };
            debug_assert!(at >= shared.now.get(), "time never goes back");
            if at > shared.now.get() {
                shared.now.set(at);
                core.class_reached = class;
                at_this_instant = 0;
            } else {
                core.class_reached = core.class_reached.max(class);
                at_this_instant += 1;
                if at_this_instant > EVENTS_AT_ONE_INSTANT_MAX {
                    drop(core);
                    break Ended::Livelock(self.who_waits());
                }
            }
            core.counts.events += 1;
            match due {
                Due::Wake(task) => core.wake(task),
                Due::Arbitrate(lane) => core.arbitrate(lane, at),
            }
        };
        self.flush();
        ended
    }

    /// Drops every process, which cancels whatever it waits for and ends its phases now.
    pub fn tear_down(&self) {
        let futures: Vec<_> = self.shared.processes.borrow_mut().iter_mut().map(|p| p.future.take()).collect();
        for (task, future) in futures.into_iter().enumerate() {
            // What a cancelled wait or phase records is in the name of its own process.
            self.shared.current.set(task as u32);
            drop(future);
        }
        self.shared.core.borrow_mut().events.clear();
        self.flush();
    }

    fn start_processes(&self) {
        let mut processes = self.shared.processes.borrow_mut();
        let mut core = self.shared.core.borrow_mut();
        let mut order: Vec<usize> = (0..processes.len()).collect();
        order.sort_by(|&a, &b| processes[a].name.cmp(&processes[b].name));
        for (rank, &index) in order.iter().enumerate() {
            processes[index].rank = rank as u32;
        }
        core.ranks = processes.iter().map(|p| p.rank).collect();
        core.is_ready.resize(processes.len(), false);
        let mut lanes: Vec<usize> = (0..core.lanes.len()).collect();
        lanes.sort_by(|&a, &b| core.lanes[a].name.cmp(&core.lanes[b].name));
        for (rank, &index) in lanes.iter().enumerate() {
            core.lanes[index].class = rank as u32 + 1;
        }
        for index in order {
            if !std::mem::replace(&mut processes[index].ready, true) {
                core.wake(index as u32);
            }
        }
    }

    fn next_ready(&self) -> Option<u32> {
        let mut core = self.shared.core.borrow_mut();
        let task = core.ready.pop_front()?;
        core.is_ready[task as usize] = false;
        Some(task)
    }

    fn poll(&self, task: u32, context: &mut Context<'_>) {
        let taken = self.shared.processes.borrow_mut()[task as usize].future.take();
        let Some(mut future) = taken else { return };
        self.shared.current.set(task);
        if future.as_mut().poll(context).is_pending() {
            self.shared.processes.borrow_mut()[task as usize].future = Some(future);
        }
    }

    fn flush(&self) {
        let records = std::mem::take(&mut self.shared.core.borrow_mut().records);
        if let Some(observer) = self.shared.observer.borrow_mut().as_mut()
            && !records.is_empty()
        {
            observer.records(&records);
        }
        let mut reused = records;
        reused.clear();
        self.shared.core.borrow_mut().records = reused;
    }

    fn who_waits(&self) -> Vec<String> {
        let names = self.processes();
        let core = self.shared.core.borrow();
        let mut lines = Vec::new();
        for lane in &core.lanes {
            for (task, reason) in lane.waiting() {
                lines.push(format!("{} waits for {} ({})", names[task as usize], lane.name, reason.name));
            }
        }
        for queue in self.shared.queues.borrow().iter() {
            for (task, reason) in queue.waiting() {
                lines.push(format!("{} waits ({})", names[task as usize], reason.name));
            }
        }
        lines.sort();
        lines
    }
}

/// Waits until an instant. Dropping it cancels it.
pub struct Delay<'a> {
    sim: &'a Sim,
    until: Time,
    armed: bool,
}

impl Delay<'_> {
    pub(crate) fn until(&self) -> Time {
        self.until
    }
}

impl Future for Delay<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let shared = &*self.sim.shared;
        if shared.now.get() >= self.until {
            return Poll::Ready(());
        }
        if !self.armed {
            let mut core = shared.core.borrow_mut();
            if shared.may_skip(&core, self.until) {
                shared.skip(&mut core, self.until, 0);
                return Poll::Ready(());
            }
            let task = shared.current.get();
            let rank = core.rank(task);
            core.events.push(self.until, 0, rank, Due::Wake(task));
            drop(core);
            self.armed = true;
        }
        Poll::Pending
    }
}
