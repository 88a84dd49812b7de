//! A processor, or several: a lane each that work is sent to, by priority, and that halts when it has none.
//!
//! ```text
//!   interrupt service ─┐
//!   driver (dispatch) ─┼─▶ first processor ──▶ HALT when idle ──▶ host bridge: special cycle
//!   application thread ┘        (a thread makes way for the other two)
//!         └───────────────▶ other processors, as long as one of them does nothing
//! ```
//!
//! A driver that has queues for each processor binds what it does for one to that one.
//!
//! Each span is of a layer of the I/O path (`layers.rs`), and metered by it.
//!
//! Not modelled: caches, the cost of an instruction, what processors cost each other (locks, coherence), time slices of
//! threads, threads that move from one processor to another while they run.

mod layers;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Bell, Grant, Label, Lane, Sim, Time, Yielding};

pub use layers::Layer;

/// Waiting for the processor.
pub static PROCESSOR_BUSY: Label = Label::reason("processor busy");

/// Interrupt service and the driver's deferred work: not interrupted here.
pub const DISPATCH: u8 = 0;
/// Application threads: make way for the driver.
pub const THREAD: u8 = 1;

/// Processors of a machine: as many as two sockets of 2023 have.
const PROCESSORS_MAX: u64 = 128;

/// The processor's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Core clock.
    #[period("clock")]
    pub clock: Time,
    /// How many processors there are.
    #[count("processors", 1..=PROCESSORS_MAX)]
    pub processors: usize,
}

impl Spec {
    /// So many processors of that clock.
    pub fn of(clock: Time, processors: usize) -> Spec {
        Spec { clock, processors }
    }
}

/// The lane of one processor.
struct One {
    lane: Lane,
    /// Pieces of work that run or wait.
    at_work: Cell<u32>,
}

/// The processors of a machine, as somebody sees them who may use some of them.
pub struct Processor {
    sim: Sim,
    spec: Spec,
    each: Rc<[One]>,
    halted: Rc<RefCell<Option<Bell>>>,
    /// The one that serves interrupts, and what drivers have to do.
    serves: usize,
    /// Those that threads run on, the preferred ones first.
    threads_on: Vec<usize>,
}

impl Processor {
    /// Processors named `name`.
    pub fn new(sim: &Sim, name: &str, spec: Spec) -> Rc<Processor> {
        let lane = |number: usize| match number {
            0 => sim.lane(name, None),
            other => sim.lane(&format!("{name}.processor{other}"), None),
        };
        let each = (0..spec.processors).map(|number| One { lane: lane(number), at_work: Cell::new(0) }).collect();
        // The first at last: it has the interrupts.
        let threads_on = (1..spec.processors).chain([0]).collect();
        Rc::new(Processor { sim: sim.clone(), spec, each, halted: Rc::default(), serves: 0, threads_on })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.each.len()
    }

    /// Those that threads run on, by number.
    pub fn threads_on(&self) -> &[usize] {
        &self.threads_on
    }

    /// The same processors for whoever is bound to some of them, by number: the first of those serves interrupts.
    ///
    /// # Panics
    ///
    /// There are none, or they are not among those that threads run on.
    pub fn bound_to(&self, numbers: &[usize]) -> Rc<Processor> {
        assert!(numbers.iter().all(|number| self.threads_on.contains(number)), "{numbers:?} are among the processors");
        let threads_on = numbers.to_vec();
        let Processor { sim, spec, each, halted, .. } = self;
        let (sim, spec, each, halted) = (sim.clone(), spec.clone(), each.clone(), halted.clone());
        Rc::new(Processor { sim, spec, each, halted, serves: threads_on[0], threads_on })
    }

    /// Has what they do metered.
    pub fn meter(&self) {
        self.each.iter().for_each(|one| one.lane.meter());
    }

    /// Rings whenever the first processor halts.
    pub fn on_halt(&self, bell: Bell) {
        *self.halted.borrow_mut() = Some(bell);
    }

    /// The processor for the driver, which keeps it until it drops the work.
    pub async fn dispatch(&self) -> Work<'_> {
        let at_work = AtWork::begin(self, self.serves);
        let lane = &self.each[self.serves].lane;
        let grant = lane.acquire_with(DISPATCH, &PROCESSOR_BUSY).await;
        Work { processor: self, lane, grant, _at_work: at_work }
    }

    /// Runs a thread for `span` of processor time, in pieces where the driver takes the processor in between.
    pub async fn run_thread(&self, layer: Layer, span: Time) {
        self.run_beside(layer, span, None).await;
    }

    /// The same of a thread that has another lane at work meanwhile, in a phase of that one.
    pub async fn run_beside(&self, layer: Layer, span: Time, beside: Option<(&Lane, &'static Label)>) {
        let number = self.for_thread();
        let (_at_work, lane) = (AtWork::begin(self, number), &self.each[number].lane);
        let mut left = span.as_ps().div_ceil(self.spec.clock.as_ps());
        let rule =
            Yielding { unit: lane.paced(self.spec.clock), after: Time::ZERO, to_priority: DISPATCH, piece: u64::MAX };
        while left > 0 {
            let grant = lane.acquire_with(THREAD, &PROCESSOR_BUSY).await;
            let start = self.sim.now();
            left -= grant.hold_yielding(layer.phase(), left, rule).await;
            if let Some((other, phase)) = beside {
                other.was_in(phase, start);
            }
        }
    }

    /// The processor with the least to do.
    fn for_thread(&self) -> usize {
        match self.threads_on[..] {
            [only] => only,
            ref all => all.iter().copied().min_by_key(|number| self.each[*number].at_work.get()).unwrap_or(self.serves),
        }
    }
}

/// The processor, held by the driver.
pub struct Work<'a> {
    processor: &'a Processor,
    lane: &'a Lane,
    grant: Grant<'a>,
    _at_work: AtWork<'a>,
}

impl Work<'_> {
    /// Computes for `span`, in a layer.
    pub async fn compute(&self, layer: Layer, span: Time) {
        if span > Time::ZERO {
            self.grant.hold(layer.phase(), self.lane.paced(span)).await;
        }
    }

    /// Computes in one layer and then in another, as one piece: what is paced is the whole.
    pub async fn compute_both(&self, first: (Layer, Time), then: (Layer, Time)) {
        let (whole, begin) = (self.lane.paced(first.1 + then.1), self.lane.paced(first.1));
        if whole > Time::ZERO {
            self.grant.hold_plan([(first.0.phase(), begin), (then.0.phase(), whole - begin)]).await;
        }
    }

    /// What `span` is at the processor's pace.
    pub fn paced(&self, span: Time) -> Time {
        self.lane.paced(span)
    }

    /// Says that the processor has moved words since `start`.
    pub fn moved_words_since(&self, start: Time) {
        self.grant.was_in(Layer::Words.phase(), start);
    }

    /// The present instant.
    pub fn now(&self) -> Time {
        self.processor.sim.now()
    }

    /// Says that the processor has been stalled since `start`.
    pub fn stalled_since(&self, start: Time) {
        self.grant.was_in(Layer::RegisterAccess.phase(), start);
    }
}

/// Counts work of one processor; the last to leave the first one halts it.
struct AtWork<'a>(&'a Processor, usize);

impl<'a> AtWork<'a> {
    fn begin(processor: &'a Processor, number: usize) -> AtWork<'a> {
        let at_work = &processor.each[number].at_work;
        at_work.set(at_work.get() + 1);
        AtWork(processor, number)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        let at_work = &self.0.each[self.1].at_work;
        at_work.set(at_work.get() - 1);
        if self.1 == 0
            && at_work.get() == 0
            && self.0.sim.now() > Time::ZERO
            && let Some(bell) = self.0.halted.borrow().as_ref()
        {
            // A HALT that is not yet on the bus covers this one too.
            bell.ring();
        }
    }
}
