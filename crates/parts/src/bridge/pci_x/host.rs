//! A host: memory with its controller, ports for links or bridges, the wires of its interrupts.
//!
//! ```text
//!   memory ── controller ─┬─ port0 ── link ── bridge
//!                         └─ port1 ── …            INTx ──▶ interrupt controller ──▶ handler
//! ```
//!
//! Not modelled: pages, banks, refresh, what processors do to memory and caches meanwhile.

use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Lane, Lead, Leg, Sim, Time};

use super::path::{LATENCY_MAX, RATE_MAX, RATE_MIN, Stage, carries, span};

static MEMORY_BUSY: Label = Label::reason("memory busy");
static MEMORY_DATA: Label = Label::payload("data");
static MEMORY_OTHER: Label = Label::protocol("data that are not the user's");
static MEMORY_LATENCY: Label = Label::protocol("memory latency");
/// An interrupt on its way.
pub static INTERRUPT: Label = Label::protocol("INTx to handler");

/// The host's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Ports, each for one bridge.
    #[count("ports", 1..=16)]
    pub ports: u64,
    /// From a read's arrival at memory to its data.
    #[time("memory.latency", ..=LATENCY_MAX)]
    read_latency: Time,
    /// What memory carries.
    #[rate("memory.rate", RATE_MIN..=RATE_MAX)]
    rate: u64,
    /// From an interrupt at the host to the processor.
    #[time("interrupt", ..=LATENCY_MAX)]
    interrupt: Time,
}

/// Memory, as devices see it.
pub struct Memory {
    spec: Spec,
    lane: Lane,
    /// Nobody occupies it, but interrupts are delayed there.
    interrupts: Lane,
}

impl Memory {
    /// The memory of the host `name`.
    pub fn new(sim: &Sim, name: &str, spec: Spec) -> Rc<Memory> {
        let lane = sim.lane(&format!("{name}.memory"), None);
        carries(&lane, &MEMORY_DATA, spec.rate);
        Rc::new(Memory { spec, lane, interrupts: sim.lane(name, None) })
    }

    /// From INTx to the handler.
    pub(crate) async fn interrupt(&self) {
        self.interrupts.delay(&INTERRUPT, self.interrupts.paced(self.spec.interrupt)).await;
    }

    /// From a request to its data.
    pub(super) fn latency(&self) -> Lead<'_> {
        (&self.lane, &MEMORY_LATENCY, self.lane.paced(self.spec.read_latency))
    }

    /// Data go into memory, or come from there.
    pub(super) fn leg(&self, bytes: u32, user: bool) -> Leg {
        self.stage(bytes, user).leg()
    }

    /// The same, as the end of a way.
    pub(super) fn stage(&self, bytes: u32, user: bool) -> Stage<'_> {
        let label = if user { &MEMORY_DATA } else { &MEMORY_OTHER };
        let span = self.lane.paced(span(u64::from(bytes), self.spec.rate));
        let plan = [(label, span), (label, Time::ZERO)];
        Stage { lane: &self.lane, reason: &MEMORY_BUSY, plan, flight: Time::ZERO }
    }
}

#[cfg(test)]
impl Spec {
    /// A host for tests: 100 ns to memory, 4 GB/s.
    pub(crate) fn example() -> Spec {
        Spec { ports: 1, read_latency: Time::ns(100), rate: 4_000_000_000, interrupt: Time::us(1) }
    }
}
