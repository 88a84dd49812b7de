//! What a die does with what is written: copies and erases that are owed, then the stripe's program.

use hopscope_kernel::{Grant, Label, Time, Yielding};

use super::die_map::Step;
use super::{Die, Flash, Task, UNIT_BYTES};

/// Somebody else's operation is on the die.
pub static DIE_BUSY: Label = Label::reason("die busy");
/// Somebody else's bytes are on the channel.
pub static CHANNEL_BUSY: Label = Label::reason("channel busy");
/// A page register is full, or empty, until the channel is granted.
pub(super) static FOR_CHANNEL: Label = Label::reason("waits for the channel");
/// Nothing is to be written.
static NO_STRIPE: Label = Label::reason("no stripe to program");

/// tR.
pub static ARRAY_READ: Label = Label::payload("array read");
/// Command, address and status cycles.
pub static COMMAND: Label = Label::protocol("command");
/// From a page register to the controller.
pub static DATA_OUT: Label = Label::payload("data out");
/// From the controller to a page register.
pub static DATA_IN: Label = Label::payload("data in");
static LOAD: Label = Label::through("load page registers");
/// tPROG.
pub static PROGRAM: Label = Label::payload("program");
/// tPROG of a page with one bit a cell.
pub static PROGRAM_SINGLE_BIT: Label = Label::payload("program of single-bit cells");
/// tBERS.
pub static ERASE: Label = Label::protocol("erase");
/// The controller corrects what was read.
pub static DECODE: Label = Label::protocol("ECC decode");

/// The same for what garbage collection copies.
pub static COPY_READ: Label = Label::protocol("array read of garbage collection");
static COPY_OUT: Label = Label::protocol("data out of garbage collection");
static COPY_IN: Label = Label::protocol("data in of garbage collection");
static COPY_LOAD: Label = Label::protocol("load page registers, garbage collection");
/// The same for what garbage collection copies.
pub static COPY_PROGRAM: Label = Label::protocol("program of garbage collection");

/// What the phases of a copy are called, and of a program.
pub(super) struct Names {
    pub(super) read: &'static Label,
    pub(super) out: &'static Label,
    pub(super) data_in: &'static Label,
    pub(super) load: &'static Label,
    pub(super) program: &'static Label,
}

static OF_HOST: Names = Names { read: &ARRAY_READ, out: &DATA_OUT, data_in: &DATA_IN, load: &LOAD, program: &PROGRAM };
static OF_COPIES: Names =
    Names { read: &COPY_READ, out: &COPY_OUT, data_in: &COPY_IN, load: &COPY_LOAD, program: &COPY_PROGRAM };

impl Flash {
    pub(super) async fn run_die(&self, number: usize) {
        let die = &self.dies[number];
        loop {
            let Task::Stripe(stripe) = die.tasks.take(&NO_STRIPE).await else {
                self.fold(die).await;
                continue;
            };
            loop {
                let step = self.translation.borrow_mut().collect(number);
                match step {
                    Some(Step::Copy { reads, units }) => self.copy(die, reads, units, &OF_COPIES).await,
                    Some(Step::Erase) => {
                        let grant = die.lane.acquire(&DIE_BUSY).await;
                        self.suspendable(die, grant, &ERASE, self.spec.erase).await;
                    }
                    None => break,
                }
            }
            let units = self.buffer.with(stripe, |units| {
                self.translation.borrow_mut().write(number, units);
                units.len() as u64
            });
            if self.single_bit.takes(self.stripe_bytes()) {
                self.program_single_bit(die, units).await;
            } else {
                self.program(die, units, &OF_HOST).await;
            }
            self.buffer.programmed(stripe);
        }
    }

    /// Reads so many multi-plane pages, and programs their valid units.
    pub(super) async fn copy(&self, die: &Die, reads: u64, units: u64, names: &Names) {
        let mut moved = 0;
        for read in 1..=reads {
            let grant = die.lane.acquire(&DIE_BUSY).await;
            die.page.set(0);
            grant.hold(names.read, die.lane.paced(self.spec.read)).await;
            let asked = self.sim.now();
            let channel = die.channel.acquire(&CHANNEL_BUSY).await;
            grant.was_in(&FOR_CHANNEL, asked);
            drop(grant);
            let part = units * read / reads - moved;
            moved += part;
            let (command, out) = self.transfer(&die.channel, part as u32 * UNIT_BYTES);
            channel.hold_plan([(&COMMAND, command), (names.out, out)]).await;
        }
        die.decoder.delay(&DECODE, die.decoder.paced(self.spec.decode)).await;
        self.program(die, units, names).await;
    }

    /// Loads the page registers and programs them.
    async fn program(&self, die: &Die, units: u64, names: &Names) {
        let grant = self.load(die, units, names).await;
        self.suspendable(die, grant, names.program, self.spec.program).await;
    }

    /// The same, page after page: a word line of single-bit cells has one.
    async fn program_single_bit(&self, die: &Die, units: u64) {
        let mut left = units;
        while left > 0 {
            let part = left.min(self.spec.page_units());
            left -= part;
            let grant = self.load(die, part, &OF_HOST).await;
            self.suspendable(die, grant, &PROGRAM_SINGLE_BIT, self.spec.single_bit.times.program).await;
        }
    }

    /// Loads the page registers.
    async fn load<'a>(&self, die: &'a Die, units: u64, names: &Names) -> Grant<'a> {
        let grant = die.lane.acquire(&DIE_BUSY).await;
        die.page.set(0);
        let page_units = u64::from(self.spec.page_bytes / UNIT_BYTES);
        let mut left = units;
        while left > 0 {
            let part = left.min(page_units);
            left -= part;
            let asked = self.sim.now();
            let channel = die.channel.acquire(&CHANNEL_BUSY).await;
            grant.was_in(&FOR_CHANNEL, asked);
            let begun = self.sim.now();
            let (command, data_in) = self.transfer(&die.channel, part as u32 * UNIT_BYTES);
            channel.hold_plan([(&COMMAND, command), (names.data_in, data_in)]).await;
            grant.was_in(names.load, begun);
        }
        grant
    }

    /// Spends `span`, by the data, on a die in pieces: somebody else may have it in between.
    async fn suspendable<'a>(&self, die: &'a Die, mut grant: Grant<'a>, phase: &'static Label, span: Time) {
        let [span, latency, progress] =
            [span, self.spec.suspend_latency, self.spec.suspend_progress].map(|span| die.lane.paced(span));
        let unit = latency.min(span);
        let rule = Yielding { unit, after: progress.min(span), to_priority: 0, piece: u64::MAX };
        let mut left = span / unit;
        let rest = span - unit * left;
        loop {
            left -= grant.hold_yielding(phase, left, rule).await;
            if left == 0 {
                break;
            }
            drop(grant);
            grant = die.lane.acquire(&DIE_BUSY).await;
        }
        if rest > Time::ZERO {
            grant.hold(phase, rest).await;
        }
    }
}
