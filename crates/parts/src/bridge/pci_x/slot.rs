//! A slot: where a card meets its segment, the processor's cycles to it, and its interrupt wire.
//!
//! ```text
//!   driver ── register reads (the processor is stalled), posted writes ──▶ card
//!   driver ◀── interrupts() ◀── INTx, with the host's latency ──────────── card
//! ```

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hopscope_kernel::{Bell, Errand, Label, Queue, Sim};

use super::port::Port;
use super::registers::Way;
use crate::bridge::host::HostBridge;
use crate::bus::pci::PciBus;
use crate::cpu::Work;
use crate::protocols::pci::{INTX_ASSERTED, INTX_NEGATED};

static NOT_ASSERTED: Label = Label::reason("INTx not asserted");
static NOTHING_WRITTEN: Label = Label::reason("no register written");
static TOO_MANY_WRITES: Label = Label::reason("write buffer full");

/// Posted register writes of one card on their way, at most.
const WRITES_MAX: usize = 64;
/// Of those, arrived and not looked at by the card.
const WRITTEN_MAX: usize = 1 << 17;

/// Who has the other end of a segment.
#[derive(Clone)]
enum Side {
    /// A host bridge that answers at once, with its south bridge.
    Chipset(Rc<HostBridge>),
    /// A bridge with buffers.
    Bridge(Rc<Port>, Way),
}

/// A slot. Clones are the same slot.
#[derive(Clone)]
pub struct Slot(Rc<Connector>);

struct Connector {
    sim: Sim,
    bus: Rc<PciBus>,
    side: Side,
    /// Wait clocks of the card's registers.
    waits: Cell<u64>,
    /// Register writes posted, and arrived.
    posted: Queue<Errand>,
    written: Queue<Errand>,
    /// INTx, and what has come to the handler.
    asserted: Bell,
    interrupts: Bell,
    /// The requests whose end they tell of.
    told_by_card: RefCell<Vec<Errand>>,
    told_to_host: RefCell<Vec<Errand>>,
}

impl Slot {
    fn new(sim: &Sim, bus: &Rc<PciBus>, side: Side) -> Slot {
        Slot(Rc::new(Connector {
            sim: sim.clone(),
            bus: bus.clone(),
            side,
            waits: Cell::new(1),
            posted: Queue::new(sim, WRITES_MAX),
            written: Queue::new(sim, WRITTEN_MAX),
            asserted: Bell::new(sim),
            interrupts: Bell::new(sim),
            told_by_card: RefCell::default(),
            told_to_host: RefCell::default(),
        }))
    }

    /// A slot of a segment on a host bridge that answers at once.
    pub fn of_chipset(sim: &Sim, bus: &Rc<PciBus>, host: &Rc<HostBridge>) -> Slot {
        Slot::new(sim, bus, Side::Chipset(host.clone()))
    }

    /// A slot of a segment behind a bridge.
    pub fn of_bridge(sim: &Sim, bus: &Rc<PciBus>, port: &Rc<Port>) -> Slot {
        Slot::new(sim, bus, Side::Bridge(port.clone(), Way::to(port)))
    }

    /// The segment.
    pub fn bus(&self) -> &Rc<PciBus> {
        &self.0.bus
    }

    /// The host bridge, where it is one that answers at once.
    pub fn chipset(&self) -> Option<&Rc<HostBridge>> {
        match &self.0.side {
            Side::Chipset(host) => Some(host),
            Side::Bridge(..) => None,
        }
    }

    /// The bridge, where it has buffers, and the way to it.
    pub(crate) fn bridge(&self) -> Option<(&Rc<Port>, &Way)> {
        match &self.0.side {
            Side::Chipset(_) => None,
            Side::Bridge(port, way) => Some((port, way)),
        }
    }

    /// Segments between the host and a card in this slot.
    pub fn segments(&self) -> usize {
        self.bridge().map_or(1, |(_, way)| way.segments())
    }

    /// A card of `name` is in the slot: its interrupts and register writes have carriers from now on.
    pub(super) fn occupy(&self, sim: &Sim, name: &str, waits: u64) {
        self.0.waits.set(waits);
        let Some((_, way)) = self.bridge() else { return };
        let (slot, memory) = (self.clone(), way.path().memory().clone());
        sim.process(&format!("{name}.intx"), async move {
            let (mut told, sim) = (Vec::new(), &slot.0.sim);
            loop {
                slot.0.asserted.heard(&NOT_ASSERTED).await;
                std::mem::swap(&mut told, &mut slot.0.told_by_card.borrow_mut());
                sim.take_up_all(told.iter().copied());
                slot.0.bus.lane().carried(&INTX_ASSERTED, 1);
                memory.interrupt().await;
                slot.0.bus.lane().carried(&INTX_NEGATED, 0);
                slot.0.told_to_host.borrow_mut().extend(told.drain(..).map(|errand| sim.pass_on(errand)));
                slot.0.interrupts.ring();
            }
        });
        let (slot, way) = (self.clone(), way.clone());
        sim.process(&format!("{name}.register-writes"), async move {
            loop {
                let errand = slot.0.posted.take(&NOTHING_WRITTEN).await;
                slot.0.sim.take_up(errand);
                way.write(slot.0.waits.get()).await;
                slot.0.written.put_now(slot.0.sim.pass_on(errand));
            }
        });
    }

    /// The processor reads a register of the card, and is stalled until it has it.
    pub async fn register_read(&self, work: &Work<'_>) {
        let Some((_, way)) = self.bridge() else { return };
        let start = work.now();
        way.read(self.0.waits.get()).await;
        work.stalled_since(start);
    }

    /// The processor writes a register of the card for a request that is passed on. It does not wait for the write to
    /// arrive, unless too many are on their way. The card finds the arrivals in [`written`](Self::written), in the order
    /// of the writes.
    pub async fn register_write(&self, work: &Work<'_>, errand: Errand) {
        let start = work.now();
        self.0.posted.put(errand, &TOO_MANY_WRITES).await;
        if work.now() > start {
            work.stalled_since(start);
        }
    }

    /// A register write that a process of the card carries arrives.
    pub(crate) async fn doorbell(&self) {
        if let Some((_, way)) = self.bridge() {
            way.write(self.0.waits.get()).await;
        }
    }

    /// INTx that a process of the card has asserted arrives at the handler of that process.
    pub(crate) async fn signal(&self) {
        if let Some((_, way)) = self.bridge() {
            way.path().memory().interrupt().await;
        }
    }

    /// Register writes that have arrived at the card, and for whom they were made.
    pub fn written(&self) -> &Queue<Errand> {
        &self.0.written
    }

    /// Interrupts of the card that have come to the host's handler.
    pub fn interrupts(&self) -> &Bell {
        &self.0.interrupts
    }

    /// The current process, which handles interrupts, takes up the requests of whose end those tell that have come.
    pub fn take_up_told(&self) {
        self.0.sim.take_up_all(self.0.told_to_host.borrow_mut().drain(..));
    }

    /// The card asserts INTx for a request. One that is asserted already is not asserted again, and tells of both.
    pub(super) fn assert(&self, errand: Errand) {
        self.0.told_by_card.borrow_mut().push(errand);
        self.0.asserted.ring();
    }
}
