//! A host bridge: processor bus and memory on one side, PCI on the other (Intel 440BX).
//!
//! ```text
//!   processor ──▶ I/O and interrupt-acknowledge cycles ──▶ PCI
//!   memory    ◀── reads: first data after so many clocks, stop at the cache line or after a count ── PCI initiators
//!   memory    ◀── writes: posted ── PCI initiators
//!   PHOLD#    ──▶ arbiter ──▶ PHLDA#  (the south bridge asks by a pair of wires of its own)
//! ```
//!
//! Not modelled: AGP, DRAM pages and refresh, snoop hits in the processor's cache, a posted-write buffer that
//! fills (PCI at 133 MB/s cannot fill it), processor writes posted ahead of their bus cycle.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Bell, Errand, Label, Lane, Sim, Time};

use crate::bus::pci::PciBus;
use crate::cpu::{Processor, Work};
use crate::protocols::pci::{Answer, Command, PHASE_BYTES, PciTarget, REGISTER_DATA, Ready, Transaction};

static NOT_HALTED: Label = Label::reason("processor at work");
/// PHOLD# is asserted, PHLDA# not yet: the arbiter's delay, also on an idle bus.
pub static HOLD: Label = Label::protocol("PHOLD# to PHLDA#");
/// Idle clocks of a processor cycle that was retried.
pub static RETRY_IDLE: Label = Label::protocol("idle before a retry");
static MEMORY: Label = Label::protocol("wait for memory");

/// The bridge's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Wait clocks from the address phase of a memory read to its first data.
    #[clocks("memory.read_first_data")]
    pub read_first_data: u64,
    /// Wait clocks of a posted memory write.
    #[clocks("memory.write_first_data")]
    pub write_first_data: u64,
    /// Memory transactions are stopped after so many bytes: at multiples of a power of two, or by count.
    #[bytes("memory.cache_line", 16..=4_096, multiple_of = PHASE_BYTES.into())]
    pub cache_line_bytes: u32,
    /// From PHOLD# to PHLDA# and FRAME#.
    #[clocks("hold_acknowledge")]
    pub hold_acknowledge: u64,
    /// Idle clocks before a retried processor cycle comes again.
    #[clocks("retry_idle")]
    pub retry_idle: u64,
    /// Memory, from address zero.
    #[bytes("memory.size")]
    pub memory_bytes: u64,
}

/// A region of memory that a device is told to read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Physical address.
    pub address: u32,
    /// Length, bytes.
    pub bytes: u32,
}

/// A host bridge with its memory.
pub struct HostBridge {
    spec: Spec,
    /// The arbiter: nobody occupies it, but its delays are the bridge's.
    arbiter: Lane,
    pci: RefCell<Option<Rc<PciBus>>>,
    /// Descriptor tables in memory, by address.
    tables: RefCell<BTreeMap<u32, Vec<Region>>>,
}

impl HostBridge {
    /// A host bridge; its processor's HALT becomes a special cycle.
    pub fn new(sim: &Sim, name: &str, spec: Spec, processor: &Processor) -> Rc<HostBridge> {
        let bridge = Rc::new(HostBridge {
            spec,
            arbiter: sim.lane(name, None),
            pci: RefCell::new(None),
            tables: RefCell::new(BTreeMap::new()),
        });
        let halts = Bell::new(sim);
        processor.on_halt(halts.clone());
        let halting = bridge.clone();
        sim.process(&format!("{name}.halt"), async move {
            loop {
                halts.heard(&NOT_HALTED).await;
                let pci = halting.pci();
                // PCI 2.1, appendix A: message 0001h says HALT.
                let halt =
                    Transaction { command: Command::SpecialCycle, address: 0, bytes: 4, carries: &REGISTER_DATA };
                pci.transact(&halt).await.end().await;
            }
        });
        bridge
    }

    /// Puts the bridge on its PCI bus.
    pub fn attach(self: &Rc<Self>, pci: &Rc<PciBus>) {
        *self.pci.borrow_mut() = Some(pci.clone());
        let target: Rc<dyn PciTarget> = self.clone();
        pci.attach(Rc::downgrade(&target));
    }

    fn pci(&self) -> Rc<PciBus> {
        self.pci.borrow().clone().expect("wiring attached a bus before the run")
    }

    /// From PHOLD# to FRAME#: whoever asks by that pair of wires waits so long, also on an idle bus.
    pub fn hold_acknowledge(&self) -> Time {
        self.pci().clocks_at(&self.arbiter, self.spec.hold_acknowledge)
    }

    /// From a retried cycle of the processor until it comes again.
    pub fn retry_idle(&self) -> Time {
        self.pci().clocks_at(&self.arbiter, self.spec.retry_idle)
    }

    /// Whose delays these are.
    pub fn arbiter(&self) -> &Lane {
        &self.arbiter
    }

    /// Memory, bytes from address zero.
    pub fn memory_bytes(&self) -> u64 {
        self.spec.memory_bytes
    }

    /// Writes a descriptor table into memory.
    pub fn write_table(&self, address: u32, regions: &[Region]) {
        let mut tables = self.tables.borrow_mut();
        let table = tables.entry(address).or_default();
        table.clear();
        table.extend_from_slice(regions);
    }

    /// The descriptor at `index` of the table at `address`, and whether it is the last.
    pub fn descriptor(&self, address: u32, index: usize) -> Option<(Region, bool)> {
        let tables = self.tables.borrow();
        let table = tables.get(&address)?;
        table.get(index).map(|region| (*region, index + 1 == table.len()))
    }

    /// A cycle of the processor on PCI, which may write a value for a request: it comes again until the target is ready.
    /// The processor is stalled.
    pub async fn processor_cycle(
        &self,
        work: &Work<'_>,
        command: Command,
        (address, bytes): (u32, u32),
        (value, errand): (u32, Errand),
    ) {
        let start = work.now();
        let pci = self.pci();
        let cycle = Transaction { command, address, bytes, carries: &REGISTER_DATA };
        while let Some(end) = pin!(pci.cycle(&cycle, || pci.deliver(address, value, errand))).await {
            self.arbiter.delay_from(end, &RETRY_IDLE, self.retry_idle()).await;
        }
        work.stalled_since(start);
    }
}

impl PciTarget for HostBridge {
    fn answer(&self, transaction: &Transaction, _: Time) -> Option<Answer> {
        let Spec { read_first_data, write_first_data, cache_line_bytes, memory_bytes, .. } = self.spec;
        let waits = match transaction.command {
            Command::MemoryRead | Command::MemoryReadLine | Command::MemoryReadMultiple => read_first_data,
            Command::MemoryWrite | Command::MemoryWriteInvalidate => write_first_data,
            _ => return None,
        };
        let decoded = u64::from(transaction.address) < memory_bytes;
        let ready = Ready::After(waits);
        decoded.then_some(Answer { ready, wait: &MEMORY, boundary_bytes: cache_line_bytes })
    }
}
