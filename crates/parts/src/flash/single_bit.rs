//! Cells that take one bit at first (an SLC cache): writes go there while there is room, at a program time of its own,
//! and are folded into cells of several bits while nobody asks for anything.
//!
//! ```text
//!   stripe ─▶ room? ─▶ page after page, one a word line ─▶ … idle ─▶ read again ─▶ programmed with all bits of a cell
//!              └ none: all bits of a cell at once
//! ```
//!
//! Only how much lies there is kept, not where. A part of fixed size is there always; a dynamic part is made of cells
//! that hold nothing else, and there is one on a fresh drive only. A drive in equilibrium begins with the fixed part full.
//!
//! Not modelled: that data in such cells are read faster, and take up three times the cells; folding because room for
//! collection runs out; the dynamic part of a drive that is nearly full.

use std::cell::Cell;

use hopscope_declare::Spec;
use hopscope_kernel::{Bell, Label, Lane, Sim, Time};

use super::die::Names;
use super::spec::State;
use super::{Die, Flash, Task, UNIT_BYTES};

static NOTHING_TO_FOLD: Label = Label::reason("nothing in single-bit cells");
static NOT_IDLE: Label = Label::reason("folding, or somebody asks");
static UNTIL_IDLE: Label = Label::protocol("until it has been idle for long enough");

static FOLD_READ: Label = Label::protocol("array read of folding");
static FOLD_OUT: Label = Label::protocol("data out of folding");
static FOLD_IN: Label = Label::protocol("data in of folding");
static FOLD_LOAD: Label = Label::protocol("load page registers, folding");
static FOLD_PROGRAM: Label = Label::protocol("program of folding");

static OF_FOLDING: Names =
    Names { read: &FOLD_READ, out: &FOLD_OUT, data_in: &FOLD_IN, load: &FOLD_LOAD, program: &FOLD_PROGRAM };

/// The numbers of single-bit cells.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Bytes that always find room.
    #[bytes("fixed", ..=1 << 50)]
    pub fixed_bytes: u64,
    /// Bytes more on a fresh drive.
    #[bytes("dynamic", ..=1 << 50)]
    pub dynamic_bytes: u64,
    /// How long they take. A drive that has none says nothing of it.
    #[by(
        if fixed_bytes + dynamic_bytes > 0 { Times::read(p) } else { Ok(Times::NONE) },
        declares = |d| d.perhaps(Times::declare)
    )]
    pub times: Times,
}

impl Spec {
    /// A drive that has none.
    pub const NONE: Spec = Spec { fixed_bytes: 0, dynamic_bytes: 0, times: Times::NONE };
}

/// How long single-bit cells take.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Times {
    /// tPROG of a page.
    #[time("program", Time::ps(1)..)]
    pub program: Time,
    /// For so long nobody asks for anything before folding begins.
    #[time("idle", Time::ps(1)..)]
    pub idle: Time,
}

impl Times {
    const NONE: Times = Times { program: Time::ZERO, idle: Time::ZERO };
}

/// What lies in single-bit cells.
pub(super) struct SingleBit {
    size_bytes: u64,
    filled_bytes: Cell<u64>,
    /// When somebody asked for something last.
    used: Cell<Time>,
    /// Nobody occupies it, but folding owes it the time for which it waits.
    lane: Option<Lane>,
    /// Something has been written, or folding has come to an end, because nothing is left or because somebody asked.
    changed: Bell,
}

impl SingleBit {
    pub(super) fn new(sim: &Sim, name: &str, spec: &super::Spec) -> SingleBit {
        let Spec { fixed_bytes, dynamic_bytes, .. } = spec.single_bit;
        let (size_bytes, filled_bytes) = match spec.state {
            State::Fresh => (fixed_bytes + dynamic_bytes, 0),
            State::Steady => (fixed_bytes, fixed_bytes),
        };
        SingleBit {
            size_bytes,
            filled_bytes: Cell::new(filled_bytes),
            used: Cell::new(Time::ZERO),
            lane: (spec.single_bit != Spec::NONE).then(|| sim.lane(&format!("{name}.folding"), None)),
            changed: Bell::new(sim),
        }
    }

    /// Whether there are such cells.
    pub(super) fn is_there(&self) -> bool {
        self.lane.is_some()
    }

    pub(super) fn filled_bytes(&self) -> u64 {
        self.filled_bytes.get()
    }

    /// Bytes that find room now.
    pub(super) fn room(&self) -> u64 {
        self.size_bytes - self.filled_bytes.get()
    }

    /// Whether a stripe of so many bytes finds room.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        bytes <= self.room()
    }

    /// Begins with room for so many bytes, if it is as large.
    pub(super) fn leave_room(&self, bytes: u64) {
        self.filled_bytes.set(self.size_bytes.saturating_sub(bytes));
    }

    /// Whether a stripe of so many bytes finds room, which it then takes.
    pub(super) fn takes(&self, bytes: u64) -> bool {
        let has_room = self.has_room(bytes);
        if has_room {
            self.filled_bytes.set(self.filled_bytes.get() + bytes);
            self.changed.ring();
        }
        has_room
    }
}

impl Flash {
    /// Bytes of a stripe.
    pub(super) fn stripe_bytes(&self) -> u64 {
        self.spec.stripe_units() * u64::from(UNIT_BYTES)
    }

    /// Somebody asks for something.
    pub(super) fn used(&self) {
        self.single_bit.used.set(self.sim.now());
    }

    /// Since when the drive has been idle for long enough.
    fn idle_from(&self, lane: &Lane) -> Time {
        self.single_bit.used.get() + lane.paced(self.spec.single_bit.times.idle)
    }

    /// Has the dies fold while nobody asks for anything.
    pub(super) async fn run_folding(&self) {
        let Some(lane) = &self.single_bit.lane else { return };
        loop {
            while self.single_bit.filled_bytes() == 0 {
                self.single_bit.changed.heard(&NOTHING_TO_FOLD).await;
            }
            let idle_from = self.idle_from(lane);
            if idle_from > self.sim.now() {
                lane.delay_until(&UNTIL_IDLE, idle_from).await;
                continue;
            }
            for die in &self.dies {
                if die.tasks.is_empty() {
                    die.tasks.put_now(Task::Fold);
                }
            }
            self.single_bit.changed.try_hear();
            self.single_bit.changed.heard(&NOT_IDLE).await;
        }
    }

    /// Folds stripe after stripe on a die.
    pub(super) async fn fold(&self, die: &Die) {
        let (held, stripe) = (&self.single_bit.filled_bytes, self.stripe_bytes());
        let Some(lane) = &self.single_bit.lane else { return };
        while held.get() > 0 && self.idle_from(lane) <= self.sim.now() {
            held.set(held.get().saturating_sub(stripe));
            self.copy(die, self.spec.pages_per_program, self.spec.stripe_units(), &OF_FOLDING).await;
        }
        self.single_bit.changed.ring();
    }
}
