//! The core: all that changes on the event path, and what it does by itself.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::task::Poll;

use crate::Time;
use crate::arbitration::LaneState;
use crate::booked::Booked;
use crate::carriers::{Carrying, Load, Told};
use crate::convoy::{Convoy, process_of};
use crate::counts::Counts;
use crate::crew::Crew;
use crate::cut::TrainState;
use crate::errand::Errand;
use crate::events::{Event, Events, class_of};
use crate::level::Held;
use crate::memory::Rememberer;
use crate::meter::Meter;
use crate::names::Names;
use crate::on_call::Process;
use crate::pace::Pace;
use crate::record::{Label, Observer, Record};
use crate::schedule::Schedule;
use crate::way::Going;

/// Records are handed to the observer in batches of at most this many, in one reused buffer.
const BATCH: usize = 4_096;
/// More events than this at one instant is a livelock.
const EVENTS_AT_ONE_INSTANT_MAX: u32 = 10_000;
/// So is more than this of whatever needs no event: items put into queues, spans of no length.
const STEPS_AT_ONE_INSTANT_MAX: u32 = 1_000_000;
/// Tickets are never reused within a run: they tell requests apart.
pub(crate) const TICKET_MAX: u64 = (1 << 40) - 1;

/// Everything that changes on the event path.
pub(crate) struct Core {
    pub(crate) events: Events,
    /// The first instant beyond the run.
    pub(crate) horizon: Time,
    /// The event loop has something to do before the next event.
    pub(crate) interrupted: bool,
    pub(crate) stopped: bool,
    pub(crate) lanes: Vec<LaneState>,
    pub(crate) trains: Vec<Option<TrainState>>,
    pub(crate) counts: Counts,
    pub(crate) ticket: u64,
    /// Requests of the workload so far.
    pub(crate) requests: u32,
    /// Transfers until the run stops, where somebody asked for that.
    pub(crate) transfers_left: Option<u64>,
    pub(crate) trains_allowed: bool,
    /// How far the present instant has come in the order of its events.
    pub(crate) order_reached: u32,
    pub(crate) events_at_this_instant: u32,
    pub(crate) steps_at_this_instant: u32,
    /// Time stands still: the run is about to end.
    pub(crate) livelock: bool,
    pub(crate) ready: VecDeque<u32>,
    pub(crate) is_ready: Vec<bool>,
    /// Who is, or may be, taken along by the event loop: carriers, and whoever has been on a way.
    pub(crate) is_taken_along: Vec<bool>,
    /// Whose legs the event loop goes, by task.
    pub(crate) going: Vec<Option<Going>>,
    /// What their ways have booked, by task, and room to name those that end.
    pub(crate) schedules: Vec<Schedule>,
    pub(crate) ended_ways: Vec<u32>,
    /// Convoys, by task; each is kept for the next one.
    pub(crate) convoys: Vec<Option<Box<Convoy>>>,
    /// Carriers: which crew a task belongs to, what each carries by hand, and what crews have booked, with places for more.
    pub(crate) crews: Vec<Crew>,
    pub(crate) crew_of: Vec<Option<u32>>,
    pub(crate) carrying: Vec<Option<Carrying>>,
    pub(crate) booked: Vec<Booked>,
    pub(crate) booked_free: Vec<u32>,
    /// Position of each name among all names: the order of simultaneous events never depends on the order of a file.
    pub(crate) ranks: Vec<u32>,
    pub(crate) records: Vec<Record>,
    pub(crate) meter: Meter,
    /// Someone wants phases and waits.
    pub(crate) observed: bool,
    /// Someone will want them from then on.
    pub(crate) observed_from: Option<Time>,
    /// Someone wants marks and transfers.
    pub(crate) attended: bool,
}

pub(crate) struct Shared {
    pub(crate) core: RefCell<Core>,
    pub(crate) now: Cell<Time>,
    pub(crate) current: Cell<u32>,
    /// Several futures of one process are being polled: whether the present one is the last of them.
    pub(crate) combined: Cell<Option<bool>>,
    /// Someone wants to see what the wires of a lane carry.
    pub(crate) drawn: Cell<bool>,
    pub(crate) names: RefCell<Names>,
    /// Those that have been started; borrowed while they run.
    pub(crate) processes: RefCell<Vec<Process>>,
    /// Those that start with the next run.
    pub(crate) new_processes: RefCell<Vec<Process>>,
    pub(crate) observer: RefCell<Option<Box<dyn Observer>>>,
    pub(crate) queues: RefCell<Vec<Rc<dyn Waiting>>>,
    pub(crate) held: RefCell<Vec<Held>>,
    pub(crate) remembering: RefCell<Vec<Rememberer>>,
    /// What is planned: after how long, at whose pace.
    pub(crate) planned: RefCell<Vec<(Rc<Cell<Pace>>, Time)>>,
    /// Who is told what crews carry.
    pub(crate) told: RefCell<Vec<Box<WhoIsTold>>>,
}

/// Somebody who is told how far what is carried has come.
pub(crate) type WhoIsTold = dyn Fn(Load, u32, Told);

/// How a wait begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It is over.
    Over,
    /// A timer is set.
    Timer,
    /// The instant is here, and the event loop has its turn first, because time stands still.
    Still,
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
        if !std::mem::replace(&mut self.is_ready[task as usize], true) {
            self.ready.push_back(task);
        }
    }

    #[inline]
    pub(crate) fn schedule(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Sends whoever runs back to the event loop at its next wait.
    pub(crate) fn interrupt(&mut self) {
        self.interrupted = true;
    }

    /// The run stops at the present instant.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        self.interrupt();
    }

    /// Something happened that takes no time and needs no event.
    pub(crate) fn step(&mut self) {
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

    /// Highest event class seen at the present instant.
    #[inline]
    pub(crate) fn class_reached(&self) -> u32 {
        class_of(self.order_reached)
    }

    /// The present instant, the class that it has come to, and the events until then: by that it is told later whether
    /// anybody has had his turn since.
    #[inline]
    pub(crate) fn come_to(&self, now: Time) -> (Time, u32, u64) {
        (now, self.class_reached(), self.counts.events)
    }

    /// Takes back a timer of a task.
    pub(crate) fn cancel_timer(&mut self, task: u32, until: Time) {
        let event = Event::wake(until, self.rank(task), task);
        self.events.cancel(event);
    }

    pub(crate) fn next_ready(&mut self) -> Option<u32> {
        let task = self.ready.pop_front()?;
        self.is_ready[task as usize] = false;
        self.step();
        Some(task)
    }

    pub(crate) fn rank(&self, task: u32) -> u32 {
        self.ranks[process_of(task) as usize]
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
    #[inline]
    pub(crate) fn next_ticket(&mut self) -> u64 {
        self.ticket += 1;
        assert!(self.ticket <= TICKET_MAX, "a run makes fewer than 10^12 requests");
        self.ticket
    }
}

impl Shared {
    /// Nothing yet, at time zero.
    pub(crate) fn new() -> Shared {
        Shared {
            core: RefCell::new(Core {
                events: Events::default(),
                horizon: Time::MAX,
                interrupted: false,
                stopped: false,
                lanes: Vec::new(),
                trains: Vec::new(),
                counts: Counts::default(),
                ticket: 0,
                requests: 0,
                transfers_left: None,
                trains_allowed: true,
                order_reached: 0,
                events_at_this_instant: 0,
                steps_at_this_instant: 0,
                livelock: false,
                ready: VecDeque::new(),
                is_ready: Vec::new(),
                is_taken_along: Vec::new(),
                going: Vec::new(),
                schedules: Vec::new(),
                ended_ways: Vec::new(),
                convoys: Vec::new(),
                crews: Vec::new(),
                crew_of: Vec::new(),
                carrying: Vec::new(),
                booked: Vec::new(),
                booked_free: Vec::new(),
                ranks: Vec::new(),
                records: Vec::with_capacity(BATCH),
                meter: Meter::new(),
                observed: false,
                observed_from: None,
                attended: false,
            }),
            now: Cell::new(Time::ZERO),
            current: Cell::new(0),
            combined: Cell::new(None),
            drawn: Cell::new(false),
            names: RefCell::default(),
            processes: RefCell::new(Vec::new()),
            new_processes: RefCell::new(Vec::new()),
            observer: RefCell::new(None),
            queues: RefCell::new(Vec::new()),
            held: RefCell::new(Vec::new()),
            remembering: RefCell::new(Vec::new()),
            planned: RefCell::new(Vec::new()),
            told: RefCell::new(Vec::new()),
        }
    }

    /// Whether time may advance to `until` right here, because until the event loop has its turn nobody else does anything
    /// before or at it.
    #[inline]
    pub(crate) fn may_skip(&self, core: &Core, until: Time) -> bool {
        let alone = core.ready.is_empty() && !core.interrupted && self.combined.get() != Some(false);
        alone && until < core.horizon && until < core.events.next_time()
    }

    /// Time comes to an event of some order among those of its instant, popped or (only after `may_skip`) in place.
    #[inline]
    pub(crate) fn advance(&self, core: &mut Core, at: Time, order: u32) {
        core.counts.events += 1;
        if at > self.now.get() {
            self.now.set(at);
            core.order_reached = order;
            (core.events_at_this_instant, core.steps_at_this_instant) = (0, 0);
        } else {
            assert!(at == self.now.get(), "time never goes back");
            core.order_reached = core.order_reached.max(order);
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
        let task = self.current.get();
        if self.begin_wait(&mut self.core.borrow_mut(), task, until) == Wait::Over {
            return Poll::Ready(());
        }
        *armed = Some(task);
        Poll::Pending
    }

    /// Comes to `until` in place, or sets a timer for a task.
    #[inline]
    pub(crate) fn begin_wait(&self, core: &mut Core, task: u32, until: Time) -> Wait {
        self.begin_wait_in_turn(core, task, core.rank(task), until)
    }

    /// The same in the turn of whoever's name has this rank.
    #[inline(always)]
    pub(crate) fn begin_wait_in_turn(&self, core: &mut Core, task: u32, rank: u32, until: Time) -> Wait {
        if self.now.get() >= until {
            return if core.stands_still(task) { Wait::Still } else { Wait::Over };
        }
        if self.may_skip(core, until) {
            self.advance(core, until, rank);
            return Wait::Over;
        }
        core.schedule(Event::wake(until, rank, task));
        Wait::Timer
    }

    /// Takes back the timer of a sleep that has not ended.
    #[inline]
    pub(crate) fn cancel_sleep(&self, until: Time, armed: Option<u32>) {
        if let Some(task) = armed
            && self.now.get() < until
        {
            self.core.borrow_mut().cancel_timer(task, until);
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
