//! The executor: processes, the event loop, and how a run ends.

use std::cell::Cell;
use std::future::Future;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::task::{Context, Waker};

use crate::Time;
use crate::arbitration::LaneState;
use crate::convoy::convoy_of;
use crate::core::Shared;
use crate::counts::Counts;
use crate::events::Due;
use crate::lane::{Lane, Rate};
use crate::on_call::Process;
use crate::pace::Pace;
use crate::record::{Label, MOST, Observer, Record};
use crate::schedule::Schedule;

/// A livelock is watched for so many turns, to name those who have more than one of them.
const LIVELOCK_WATCHED: usize = 10_000;

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
        Sim { shared: Rc::new(Shared::new()) }
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
        core.end_all_ways(self.now());
    }

    /// Sends records to `observer` from now on; phases and waits when it wants them.
    pub fn observe(&self, observer: Box<dyn Observer>) {
        let from = observer.wants_phases_from();
        self.shared.core.borrow_mut().attended = true;
        self.shared.drawn.set(observer.wants_signals());
        *self.shared.observer.borrow_mut() = Some(observer);
        match from > self.now() {
            true => self.shared.core.borrow_mut().observed_from = Some(from),
            false => self.begin_phases(),
        }
    }

    /// From now on phases and waits are recorded, if they are wanted: nothing is done any more that is not gone one by one.
    fn begin_phases(&self) {
        let core = &mut *self.shared.core.borrow_mut();
        core.end_all_ways(self.now());
        core.cut_all_trains(self.now());
        core.observed = self.shared.observer.borrow().as_ref().is_some_and(|observer| observer.wants_phases());
        core.observed_from = None;
    }

    /// Whether somebody wants to know who did what, and what wires carried: only where nobody does may one process do in
    /// one go what is the work of several.
    pub fn is_observed(&self) -> bool {
        self.shared.core.borrow().observed || self.shared.drawn.get()
    }

    /// Whether somebody wants to know who did what, now or from some instant on.
    pub fn is_to_be_observed(&self) -> bool {
        let core = self.shared.core.borrow();
        core.observed || core.observed_from.is_some()
    }

    /// Whether somebody wants to know who did what, or what wires carried, now or at an instant to come.
    pub fn is_observed_by(&self, at: Time) -> bool {
        let core = self.shared.core.borrow();
        core.observed || self.shared.drawn.get() || core.observed_from.is_some_and(|from| from <= at)
    }

    /// The number of the process whose turn it is.
    pub fn process_at_work(&self) -> u16 {
        self.shared.current.get() as u16
    }

    /// Whether a process had its turn by now that waited until this instant: for whoever reckons what that one would have
    /// done, had it not slept on.
    pub fn would_have_had_its_turn(&self, process: u16) -> bool {
        let core = self.shared.core.borrow();
        core.order_reached > core.rank(process.into())
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
        self.shared.names.borrow_mut().push(name);
        self.shared.new_processes.borrow_mut().push(Process::AtWork(Box::pin(future)));
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
        self.shared.names.borrow().iter().map(str::to_string).collect()
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
        if let Some(left) = core.transfers_left.as_mut().filter(|left| **left > 0) {
            *left -= 1;
            if *left == 0 {
                core.stop();
            }
        }
        if core.attended {
            let (who, span) = (self.shared.current.get() as u16, self.now() - since);
            core.record(Record::Transfer { who, label, at: since, span, bytes });
        }
    }

    /// Ends the run, as by [`Sim::stop`], with so many transfers from now on.
    pub fn stop_after(&self, transfers: NonZeroU64) {
        self.shared.core.borrow_mut().transfers_left = Some(transfers.get());
    }

    /// Whether those transfers have ended.
    pub fn all_transferred(&self) -> bool {
        self.shared.core.borrow().transfers_left == Some(0)
    }

    /// Ends the run at the present instant, once the processes that are ready have had their turn.
    pub fn stop(&self) {
        self.shared.core.borrow_mut().stop();
    }

    /// Polls one of several futures of one process. Only the last one that is not over may skip time: the others would
    /// miss it, and have said by then what they wait for.
    pub(crate) fn one_of_several<R>(&self, is_last: bool, poll: impl FnOnce() -> R) -> R {
        let combined = &self.shared.combined;
        let before = combined.get();
        combined.set(Some(is_last && before != Some(false)));
        let polled = poll();
        combined.set(before);
        polled
    }

    /// Runs until everything has ended, `until` is reached, or a process stops the run. May be called again.
    pub fn run(&self, until: Time) -> Ended {
        let from = self.shared.core.borrow().observed_from;
        if let Some(from) = from.filter(|from| *from <= until) {
            match self.run_unwatched(from) {
                Ended::Limit => self.begin_phases(),
                ended => return ended,
            }
        }
        self.run_unwatched(until)
    }

    /// The same, with nothing to begin before the end.
    fn run_unwatched(&self, until: Time) -> Ended {
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
            processes[task as usize].turn(task, &mut context);
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
                shared.advance(&mut core, event.at(), event.order());
                // Nobody else is ready, so whom the event wakes is next.
                match event.due() {
                    Due::Wake(task) => Some(task),
                    Due::Arbitrate(lane) => core.arbitrate(lane, event.at()),
                }
            };
            let Some(mut task) = next else { continue };
            // Its process has its turn when all of a convoy is through.
            if let Some(process) = convoy_of(task) {
                task = process;
                if !shared.ride(&mut core, process) {
                    continue;
                }
            }
            if core.livelock {
                kept_going.push(task);
            }
            if core.is_taken_along[task as usize] {
                // Whoever is on a way has its turn when that is over.
                if core.going[task as usize].is_some() {
                    shared.current.set(task);
                    if !shared.go_on(&mut core, task) {
                        continue;
                    }
                }
                if let Some(crew) = core.crew_of[task as usize] {
                    drop(core);
                    shared.carrier_turn(crew, task);
                    continue;
                }
            }
            drop(core);
            poll(task);
        };
        self.flush();
        let running = processes.iter().any(Process::is_running);
        let next = shared.core.borrow().events.next_time();
        let carried = shared.core.borrow().is_carried_beyond(until);
        match ended {
            Ended::Limit if !running && !carried => Ended::Finished,
            Ended::Limit if next == Time::MAX && !carried => Ended::Deadlock(self.who_waits()),
            Ended::Limit => {
                // Everything due at the limit has happened, every lane's arbitration included.
                shared.now.set(until);
                shared.core.borrow_mut().order_reached = u32::MAX;
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
        drop(std::mem::take(&mut *self.shared.remembering.borrow_mut()));
        drop(std::mem::take(&mut *self.shared.told.borrow_mut()));
        self.shared.core.borrow_mut().crews.clear();
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
        processes.resize_with(names.len(), || Process::Over);
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|&a, &b| names.get(a).cmp(names.get(b)));
        core.ranks.resize(names.len(), 0);
        core.is_ready.resize(names.len(), false);
        core.is_taken_along.resize(names.len(), false);
        core.going.resize_with(names.len(), || None);
        core.schedules.resize_with(names.len(), Schedule::default);
        core.carrying.resize_with(names.len(), || None);
        core.crew_of.resize(names.len(), None);
        for (rank, &index) in order.iter().enumerate() {
            core.ranks[index] = rank as u32;
        }
        let mut lanes: Vec<usize> = (0..core.lanes.len()).collect();
        lanes.sort_by(|&a, &b| core.lanes[a].name.cmp(&core.lanes[b].name));
        for (rank, &index) in lanes.iter().enumerate() {
            core.lanes[index].class = rank as u32 + 1;
        }
        for index in order.into_iter().filter(|&index| index >= started) {
            if let Some(crew) = core.crew_of[index] {
                core.is_taken_along[index] = true;
                core.is_free_again(crew, index as u32, self.now());
            }
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
        let mut kept_going: Vec<String> = several.map(|turns| names.get(turns[0] as usize).to_string()).collect();
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
