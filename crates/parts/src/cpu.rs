//! A processor: one lane that work is sent to, by priority, and that halts when it has none.
//!
//! ```text
//!   interrupt service ─┐
//!   driver (dispatch) ─┼─▶ one processor ──▶ HALT when idle ──▶ host bridge: special cycle
//!   application thread ┘        (a thread makes way for the other two)
//! ```
//!
//! Not modelled: caches, the cost of an instruction, more than one processor, time slices of threads.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hopscope_kernel::{Grant, Label, Lane, Queue, Sim, Time, Yielding};

use crate::parameters::{Parameters, SpecError};

/// Waiting for the processor.
pub static PROCESSOR_BUSY: Label = Label::reason("processor busy");
/// The driver runs.
pub static DRIVER: Label = Label::protocol("driver");
/// The processor moves words between a data port and memory, one after the other.
pub static WORDS: Label = Label::protocol("words moved");
/// The processor waits for a register access to complete.
pub static STALLED: Label = Label::reason("stalled on register access");
/// The operating system above the driver, and the application.
pub static ABOVE_DRIVER: Label = Label::protocol("request path above the driver");

/// Interrupt service and the driver's deferred work: not interrupted here.
pub const DISPATCH: u8 = 0;
/// Application threads: make way for the driver.
pub const THREAD: u8 = 1;

/// The processor's data sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Core clock period.
    pub clock: Time,
}

impl Spec {
    /// Pulls the numbers.
    pub fn read(p: &mut Parameters) -> Result<Spec, SpecError> {
        Ok(Spec { clock: p.period("clock")? })
    }
}

/// One processor.
pub struct Processor {
    sim: Sim,
    spec: Spec,
    lane: Lane,
    /// Pieces of work that run or wait.
    at_work: Cell<u32>,
    halted: RefCell<Option<Queue<()>>>,
}

impl Processor {
    /// A processor named `name`.
    pub fn new(sim: &Sim, name: &str, spec: Spec) -> Rc<Processor> {
        let lane = sim.lane(name, None);
        Rc::new(Processor { sim: sim.clone(), spec, lane, at_work: Cell::new(0), halted: RefCell::new(None) })
    }

    /// Tells `queue` whenever the processor halts.
    pub fn on_halt(&self, queue: Queue<()>) {
        *self.halted.borrow_mut() = Some(queue);
    }

    /// The processor for the driver, which keeps it until it drops the work.
    pub async fn dispatch(&self) -> Work<'_> {
        let at_work = AtWork::begin(self);
        let grant = self.lane.acquire_with(DISPATCH, &PROCESSOR_BUSY).await;
        Work { processor: self, grant, _at_work: at_work }
    }

    /// Runs a thread for `span` of processor time, in pieces where the driver takes the processor in between.
    pub async fn run_thread(&self, span: Time) {
        let _at_work = AtWork::begin(self);
        let mut left = span.as_ps().div_ceil(self.spec.clock.as_ps());
        let rule = Yielding { unit: self.lane.paced(self.spec.clock), after: Time::ZERO, to_priority: DISPATCH };
        while left > 0 {
            let grant = self.lane.acquire_with(THREAD, &PROCESSOR_BUSY).await;
            left -= grant.hold_yielding(&ABOVE_DRIVER, left, rule).await;
        }
    }
}

/// The processor, held by the driver.
pub struct Work<'a> {
    processor: &'a Processor,
    grant: Grant<'a>,
    _at_work: AtWork<'a>,
}

impl Work<'_> {
    /// Computes for `span`.
    pub async fn compute(&self, span: Time) {
        if span > Time::ZERO {
            self.grant.hold(&DRIVER, self.processor.lane.paced(span)).await;
        }
    }

    /// What `span` is at the processor's pace.
    pub fn paced(&self, span: Time) -> Time {
        self.processor.lane.paced(span)
    }

    /// Says that the processor has moved words since `start`.
    pub fn moved_words_since(&self, start: Time) {
        self.grant.was_in(&WORDS, start);
    }

    /// The present instant.
    pub fn now(&self) -> Time {
        self.processor.sim.now()
    }

    /// Says that the processor has been stalled since `start`.
    pub fn stalled_since(&self, start: Time) {
        self.grant.was_in(&STALLED, start);
    }
}

/// Counts work; the last to leave halts the processor.
struct AtWork<'a>(&'a Processor);

impl<'a> AtWork<'a> {
    fn begin(processor: &'a Processor) -> AtWork<'a> {
        processor.at_work.set(processor.at_work.get() + 1);
        AtWork(processor)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.at_work.set(self.0.at_work.get() - 1);
        if self.0.at_work.get() == 0
            && self.0.sim.now() > Time::ZERO
            && let Some(queue) = self.0.halted.borrow().as_ref()
        {
            // A HALT that is not yet on the bus covers this one too.
            let _ = queue.try_put(());
        }
    }
}
