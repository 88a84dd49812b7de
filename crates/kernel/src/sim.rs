//! The executor: processes, the event loop, and how a run ends.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::Time;
use crate::errand::Errand;
use crate::events::{Due, Event, Events};
use crate::lane::{Lane, LaneState, Rate};
use crate::level::Held;
use crate::meter::Meter;
use crate::pace::Pace;
use crate::record::{Label, MOST, Observer, Record};
use crate::train::TrainState;
use crate::way::Going;

/// Records are handed to the observer in batches of at most this many, in one reused buffer.
const BATCH: usize = 4_096;
/// More events than this at one instant is a livelock.
const EVENTS_AT_ONE_INSTANT_MAX: u32 = 10_000;
/// So is more than this of whatever needs no event: items put into queues, spans of no length.
const STEPS_AT_ONE_INSTANT_MAX: u32 = 1_000_000;
/// A livelock is watched for so many turns, to name those who have more than one of them.
const LIVELOCK_WATCHED: usize = 10_000;

/// Tickets are never reused within a run: they tell requests apart.
pub(crate) const TICKET_MAX: u64 = (1 << 40) - 1;

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

/// A process, until it returns.
type Process = Option<Pin<Box<dyn Future<Output = ()>>>>;

/// Everything that changes on the event path.
pub(crate) struct Core {
    events: Events,
    /// Until the event loop has its turn, nobody else does anything before this: time may be skipped up to it.
    /// Whatever wakes someone, schedules something or calls the event loop lowers it.
    skip_before: Time,
    /// The first instant beyond the run.
    horizon: Time,
    /// The event loop has something to do before the next event.
    interrupted: bool,
    stopped: bool,
    pub(crate) lanes: Vec<LaneState>,
    pub(crate) trains: Vec<Option<TrainState>>,
    pub(crate) counts: Counts,
    ticket: u64,
    /// Requests of the workload so far.
    requests: u32,
    pub(crate) trains_allowed: bool,
    /// Highest event class seen at the present instant.
    pub(crate) class_reached: u32,
    events_at_this_instant: u32,
    steps_at_this_instant: u32,
    /// Time stands still: the run is about to end.
    livelock: bool,
    ready: VecDeque<u32>,
    is_ready: Vec<bool>,
    /// Whose legs the event loop goes, by task.
    pub(crate) going: Vec<Option<Going>>,
    /// Several futures of one process are being polled: whether the present one is the last of them.
    pub(crate) combined: Option<bool>,
    /// Position of each name among all names: the order of simultaneous events never depends on the order of a file.
    ranks: Vec<u32>,
    records: Vec<Record>,
    pub(crate) meter: Meter,
    /// Someone wants phases and waits.
    observed: bool,
    /// Someone wants marks and transfers.
    attended: bool,
}

pub(crate) struct Shared {
    pub(crate) core: RefCell<Core>,
    pub(crate) now: Cell<Time>,
    pub(crate) current: Cell<u32>,
    /// Someone wants to see what the wires of a lane carry.
    pub(crate) drawn: Cell<bool>,
    names: RefCell<Vec<String>>,
    /// Those that have been started; borrowed while they run.
    processes: RefCell<Vec<Process>>,
    /// Those that start with the next run.
    new_processes: RefCell<Vec<Process>>,
    observer: RefCell<Option<Box<dyn Observer>>>,
    pub(crate) queues: RefCell<Vec<Rc<dyn Waiting>>>,
    pub(crate) held: RefCell<Vec<Held>>,
}

/// A queue can say who waits at it, for the report of a deadlock, and how long it is.
pub(crate) trait Waiting {
    /// Drops what is in the queue.
    fn empty(&self);
    fn items(&self) -> usize;
    /// Whether it holds nothing but the right to something.
    fn is_of_places(&self) -> bool;
    /// Who took from it last; nobody where it has one place, and is a bell rather than a queue.
    fn taker(&self) -> Option<u32>;
    fn waiting(&self) -> Vec<(u32, &'static Label)>;
}

impl Core {
    pub(crate) fn wake(&mut self, task: u32) {
        self.skip_before = Time::ZERO;
        if !std::mem::replace(&mut self.is_ready[task as usize], true) {
            self.ready.push_back(task);
        }
    }

    #[inline]
    pub(crate) fn schedule(&mut self, event: Event) {
        self.skip_before = self.skip_before.min(event.at());
        self.events.push(event);
    }

    /// Sends whoever runs back to the event loop at its next wait.
    pub(crate) fn interrupt(&mut self) {
        self.skip_before = Time::ZERO;
        self.interrupted = true;
    }

    /// Whether time may advance to `until` right here, because nobody else does anything before or at it.
    pub(crate) fn may_skip(&self, until: Time) -> bool {
        until < self.skip_before
    }

    /// A process is about to run: how far may it skip?
    fn begin_turn(&mut self) {
        let alone = self.ready.is_empty() && !self.interrupted && self.combined != Some(false);
        self.skip_before = if alone { self.events.next_time().min(self.horizon) } else { Time::ZERO };
    }

    /// Something happened that takes no time and needs no event.
    fn step(&mut self) {
        self.steps_at_this_instant += 1;
        if self.steps_at_this_instant > STEPS_AT_ONE_INSTANT_MAX {
            self.livelock = true;
        }
    }

    /// The same by a task, which must let the event loop have its turn after too much of that.
    pub(crate) fn stands_still(&mut self, task: u32) -> bool {
        self.step();
        if self.livelock {
            self.wake(task);
        }
        self.livelock
    }

    /// Takes back a timer.
    pub(crate) fn cancel(&mut self, event: Event) {
        self.events.cancel(event);
    }

    fn next_ready(&mut self) -> Option<u32> {
        let task = self.ready.pop_front()?;
        self.is_ready[task as usize] = false;
        self.step();
        Some(task)
    }

    pub(crate) fn rank(&self, task: u32) -> u32 {
        self.ranks[task as usize]
    }

    pub(crate) fn observed(&self) -> bool {
        self.observed
    }

    pub(crate) fn record(&mut self, record: Record) {
        self.records.push(record);
        if self.records.len() >= BATCH {
            self.interrupt();
        }
    }

    /// The number of the next request.
    pub(crate) fn next_request(&mut self) -> NonZeroU32 {
        let next = NonZeroU32::MIN.saturating_add(self.requests % Errand::REQUESTS_MAX);
        self.requests = next.get();
        next
    }

    /// The next ticket: the last resort of every order.
    pub(crate) fn next_ticket(&mut self) -> u64 {
        self.ticket += 1;
        assert!(self.ticket <= TICKET_MAX, "a run makes fewer than 10^12 requests");
        self.ticket
    }
}

impl Shared {
    /// Time comes to an event, popped or (only after `may_skip`) in place.
    #[inline]
    pub(crate) fn advance(&self, core: &mut Core, at: Time, class: u32) {
        core.counts.events += 1;
        if at > self.now.get() {
            self.now.set(at);
            core.class_reached = class;
            (core.events_at_this_instant, core.steps_at_this_instant) = (0, 0);
        } else {
            assert!(at == self.now.get(), "time never goes back");
            core.class_reached = core.class_reached.max(class);
            core.events_at_this_instant += 1;
            if core.events_at_this_instant > EVENTS_AT_ONE_INSTANT_MAX {
                core.livelock = true;
                core.interrupt();
            }
        }
    }

    /// Polls a sleep until `until`: skips there, or arms a timer for the current task, which `armed` names.
    #[inline(always)]
    pub(crate) fn sleep(&self, until: Time, armed: &mut Option<u32>) -> Poll<()> {
        match armed {
            None => self.begin_sleep(until, armed),
            Some(_) if self.now.get() < until => Poll::Pending,
            Some(_) => Poll::Ready(()),
        }
    }

    fn begin_sleep(&self, until: Time, armed: &mut Option<u32>) -> Poll<()> {
        if self.now.get() >= until {
            if !self.stands_still() {
                return Poll::Ready(());
            }
            *armed = Some(self.current.get());
            return Poll::Pending;
        }
        let mut core = self.core.borrow_mut();
        if core.may_skip(until) {
            self.advance(&mut core, until, 0);
            return Poll::Ready(());
        }
        let task = self.current.get();
        let event = Event::wake(until, core.rank(task), task);
        core.schedule(event);
        *armed = Some(task);
        Poll::Pending
    }

    /// Takes back the timer of a sleep that has not ended.
    #[inline]
    pub(crate) fn cancel_sleep(&self, until: Time, armed: Option<u32>) {
        if let Some(task) = armed
            && self.now.get() < until
        {
            let mut core = self.core.borrow_mut();
            let event = Event::wake(until, core.rank(task), task);
            core.events.cancel(event);
        }
    }

    /// The current task does something that takes no time. After too much of that it must let the event loop
    /// have its turn, which wakes it again while it looks for those who keep going.
    pub(crate) fn stands_still(&self) -> bool {
        self.core.borrow_mut().stands_still(self.current.get())
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
                    skip_before: Time::ZERO,
                    horizon: Time::MAX,
                    interrupted: false,
                    stopped: false,
                    lanes: Vec::new(),
                    trains: Vec::new(),
                    counts: Counts::default(),
                    ticket: 0,
                    requests: 0,
                    trains_allowed: true,
                    class_reached: 0,
                    events_at_this_instant: 0,
                    steps_at_this_instant: 0,
                    livelock: false,
                    ready: VecDeque::new(),
                    is_ready: Vec::new(),
                    going: Vec::new(),
                    combined: None,
                    ranks: Vec::new(),
                    records: Vec::with_capacity(BATCH),
                    meter: Meter::new(),
                    observed: false,
                    attended: false,
                }),
                now: Cell::new(Time::ZERO),
                current: Cell::new(0),
                drawn: Cell::new(false),
                names: RefCell::new(Vec::new()),
                processes: RefCell::new(Vec::new()),
                new_processes: RefCell::new(Vec::new()),
                observer: RefCell::new(None),
                queues: RefCell::new(Vec::new()),
                held: RefCell::new(Vec::new()),
            }),
        }
    }

    /// Books no trains from now on: every burst is simulated by itself. Results are the same, to the bit.
    pub fn without_trains(&self) {
        self.shared.core.borrow_mut().trains_allowed = false;
    }

    /// The same, and cuts those that are under way: from now on every record is of one burst.
    pub fn end_trains(&self) {
        let mut core = self.shared.core.borrow_mut();
        core.trains_allowed = false;
        core.cut_all_trains(self.now());
    }

    /// Sends records to `observer` from now on.
    pub fn observe(&self, observer: Box<dyn Observer>) {
        let mut core = self.shared.core.borrow_mut();
        (core.attended, core.observed) = (true, observer.wants_phases());
        drop(core);
        self.shared.drawn.set(observer.wants_signals());
        *self.shared.observer.borrow_mut() = Some(observer);
    }

    /// The present instant.
    pub fn now(&self) -> Time {
        self.shared.now.get()
    }

    /// A new lane. With a `clock`, it is granted at clock edges only.
    pub fn lane(&self, name: &str, clock: Option<Time>) -> Lane {
        let mut core = self.shared.core.borrow_mut();
        let pace = Rc::new(Cell::new(Pace::ONE));
        core.lanes.push(LaneState::new(name, clock, pace.clone()));
        Lane { sim: self.clone(), id: core.lanes.len() as u32 - 1, pace }
    }

    /// Has the lane with this number work at another pace: before the run, once everything has its clock and its rates.
    pub fn set_pace(&self, lane: u16, pace: Pace) {
        let mut core = self.shared.core.borrow_mut();
        core.lanes[usize::from(lane)].set_pace(pace);
    }

    /// Lanes and processes so far. Records tell apart [`MOST`] of each; more do not run.
    pub fn sizes(&self) -> (usize, usize) {
        (self.shared.core.borrow().lanes.len(), self.shared.names.borrow().len())
    }

    /// A new process: it starts when the run starts, in order of the names.
    pub fn process(&self, name: &str, future: impl Future<Output = ()> + 'static) {
        self.shared.names.borrow_mut().push(name.to_string());
        self.shared.new_processes.borrow_mut().push(Some(Box::pin(future)));
    }

    /// Name and clock of every lane, by number.
    pub fn lanes(&self) -> Vec<(String, Option<Time>)> {
        self.shared.core.borrow().lanes.iter().map(|l| (l.name.clone(), l.clock)).collect()
    }

    /// How fast every lane moves bytes, by number; nothing where it has no rate of its own.
    pub fn rates(&self) -> Vec<Vec<Rate>> {
        self.shared.core.borrow().lanes.iter().map(|lane| lane.rates.clone()).collect()
    }

    /// Name of every process, by number.
    pub fn processes(&self) -> Vec<String> {
        self.shared.names.borrow().clone()
    }

    /// What the run has cost so far.
    pub fn counts(&self) -> Counts {
        self.shared.core.borrow().counts
    }

    /// Says that something happened, with a value.
    pub fn mark(&self, label: &'static Label, value: u64) {
        if self.shared.core.borrow().attended {
            self.record_mark(label, value);
        }
    }

    /// The same, whoever wants to know.
    pub(crate) fn record_mark(&self, label: &'static Label, value: u64) {
        let (who, at) = (self.shared.current.get() as u16, self.now());
        self.shared.core.borrow_mut().record(Record::Mark { who, label, at, value });
    }

    /// Says that a transfer of `bytes` that was asked for at `since` has ended.
    pub fn transferred(&self, label: &'static Label, since: Time, bytes: u32) {
        let mut core = self.shared.core.borrow_mut();
        core.meter.transferred(self.now());
        if core.attended {
            let (who, span) = (self.shared.current.get() as u16, self.now() - since);
            core.record(Record::Transfer { who, label, at: since, span, bytes });
        }
    }

    /// Ends the run at the present instant, once the processes that are ready have had their turn.
    pub fn stop(&self) {
        let mut core = self.shared.core.borrow_mut();
        core.stopped = true;
        core.interrupt();
    }

    /// Nothing for `span`. (A part that spends time says in which phase: [`Grant::hold`](crate::Grant::hold).)
    pub fn wait(&self, span: Time) -> Delay<'_> {
        self.wait_until(self.now() + span)
    }

    /// Nothing until `until`.
    pub fn wait_until(&self, until: Time) -> Delay<'_> {
        Delay { sim: self, until, armed: None }
    }

    /// Polls one of several futures of one process. Only the last one that is not over may skip time: the others would
    /// miss it, and have said by then what they wait for.
    pub(crate) fn one_of_several<R>(&self, is_last: bool, poll: impl FnOnce() -> R) -> R {
        let before = {
            let core = &mut *self.shared.core.borrow_mut();
            let before = core.combined;
            core.combined = Some(is_last && before != Some(false));
            core.begin_turn();
            before
        };
        let polled = poll();
        let core = &mut *self.shared.core.borrow_mut();
        core.combined = before;
        core.begin_turn();
        polled
    }

    /// Runs until everything has ended, `until` is reached, or a process stops the run. May be called again.
    pub fn run(&self, until: Time) -> Ended {
        let shared = &*self.shared;
        let until = until.max(self.now());
        let (lanes, processes) = self.sizes();
        assert!(
            lanes <= MOST && processes <= MOST,
            "{lanes} lanes and {processes} processes are too many to tell apart"
        );
        self.start_processes(until);
        let processes = &mut *shared.processes.borrow_mut();
        let mut context = Context::from_waker(Waker::noop());
        let mut poll = |task: u32| {
            shared.current.set(task);
            if let Some(process) = &mut processes[task as usize]
                && process.as_mut().poll(&mut context).is_ready()
            {
                processes[task as usize] = None;
            }
        };
        let mut kept_going = Vec::new();
        let ended = loop {
            let mut core = shared.core.borrow_mut();
            if kept_going.len() == LIVELOCK_WATCHED {
                break Ended::Livelock(self.who_kept_going(kept_going));
            }
            let next = if let Some(task) = core.next_ready() {
                Some(task)
            } else if core.interrupted {
                core.interrupted = false;
                if core.stopped {
                    break Ended::Stopped;
                }
                drop(core);
                self.flush();
                continue;
            } else {
                let Some(event) = core.events.pop_until(until) else { break Ended::Limit };
                shared.advance(&mut core, event.at(), event.class());
                // Nobody else is ready, so whom the event wakes is next.
                match event.due() {
                    Due::Wake(task) => Some(task),
                    Due::Arbitrate(lane) => core.arbitrate(lane, event.at()),
                }
            };
            let Some(task) = next else { continue };
            core.begin_turn();
            if core.livelock {
                kept_going.push(task);
            }
            // Whoever is on a way has its turn when that is over.
            if core.going[task as usize].is_some() {
                shared.current.set(task);
                if !shared.go_on(&mut core, task) {
                    continue;
                }
            }
            drop(core);
            poll(task);
        };
        self.flush();
        let running = processes.iter().any(Option::is_some);
        let next = shared.core.borrow().events.next_time();
        match ended {
            Ended::Limit if !running => Ended::Finished,
            Ended::Limit if next == Time::MAX => Ended::Deadlock(self.who_waits()),
            Ended::Limit => {
                // Everything due at the limit has happened, every lane's arbitration included.
                shared.now.set(until);
                shared.core.borrow_mut().class_reached = u32::MAX;
                Ended::Limit
            }
            ended => ended,
        }
    }

    /// Drops every process, which cancels whatever it waits for and ends its phases now, and then the observer.
    pub fn tear_down(&self) {
        let mut processes = std::mem::take(&mut *self.shared.processes.borrow_mut());
        processes.append(&mut self.shared.new_processes.borrow_mut());
        for (task, process) in processes.into_iter().enumerate() {
            // What a cancelled wait or phase records is in the name of its own process.
            self.shared.current.set(task as u32);
            drop(process);
        }
        self.shared.core.borrow_mut().events.clear();
        // What still waits in a queue may own a handle of this simulation.
        let queues = std::mem::take(&mut *self.shared.queues.borrow_mut());
        for queue in queues {
            queue.empty();
        }
        drop(std::mem::take(&mut *self.shared.held.borrow_mut()));
        self.flush();
        // It may own a handle, too.
        let observer = self.shared.observer.borrow_mut().take();
        drop(observer);
        let mut core = self.shared.core.borrow_mut();
        (core.attended, core.observed) = (false, false);
        self.shared.drawn.set(false);
    }

    fn start_processes(&self, until: Time) {
        let names = self.shared.names.borrow();
        let mut processes = self.shared.processes.borrow_mut();
        let mut core = self.shared.core.borrow_mut();
        core.horizon = until.saturating_add(Time::ps(1));
        (core.interrupted, core.stopped, core.livelock) = (false, false, false);
        (core.events_at_this_instant, core.steps_at_this_instant) = (0, 0);
        let started = processes.len();
        let all_ranked = core.ranks.len() == names.len() && core.lanes.last().is_none_or(|lane| lane.class > 0);
        if all_ranked && started == names.len() {
            return;
        }
        processes.append(&mut self.shared.new_processes.borrow_mut());
        processes.resize_with(names.len(), || None);
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|&a, &b| names[a].cmp(&names[b]));
        core.ranks.resize(names.len(), 0);
        core.is_ready.resize(names.len(), false);
        core.going.resize_with(names.len(), || None);
        for (rank, &index) in order.iter().enumerate() {
            core.ranks[index] = rank as u32;
        }
        let mut lanes: Vec<usize> = (0..core.lanes.len()).collect();
        lanes.sort_by(|&a, &b| core.lanes[a].name.cmp(&core.lanes[b].name));
        for (rank, &index) in lanes.iter().enumerate() {
            core.lanes[index].class = rank as u32 + 1;
        }
        for index in order.into_iter().filter(|&index| index >= started) {
            core.wake(index as u32);
        }
    }

    fn flush(&self) {
        let records = std::mem::take(&mut self.shared.core.borrow_mut().records);
        if let Some(observer) = self.shared.observer.borrow_mut().as_mut()
            && !records.is_empty()
        {
            observer.records(&records);
            let mut core = self.shared.core.borrow_mut();
            core.observed = core.observed && observer.wants_phases();
        }
        let mut reused = records;
        reused.clear();
        self.shared.core.borrow_mut().records = reused;
    }

    /// The names of those that had more than one of these turns.
    fn who_kept_going(&self, mut turns: Vec<u32>) -> Vec<String> {
        let names = self.shared.names.borrow();
        turns.sort_unstable();
        let several = turns.chunk_by(|a, b| a == b).filter(|turns| turns.len() > 1);
        let mut kept_going: Vec<String> = several.map(|turns| names[turns[0] as usize].clone()).collect();
        kept_going.sort();
        kept_going
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
    armed: Option<u32>,
}

impl Future for Delay<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let Delay { sim, until, armed } = &mut *self;
        sim.shared.sleep(*until, armed)
    }
}

impl Drop for Delay<'_> {
    #[inline]
    fn drop(&mut self) {
        self.sim.shared.cancel_sleep(self.until, self.armed);
    }
}
