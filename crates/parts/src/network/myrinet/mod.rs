//! A Myrinet-2000 adapter with a PCI-X interface (PCIXD, PCIXE): two DMA engines, a processor, local memory, ports.
//!
//! ```text
//!             ┌─ read engine ──▶ ┌────────┐ ──▶ port, to the fabric
//!   host ◀──▶ │  (chained        │ local  │     (a DMA engine each way)
//!    PCI-X    └─ descriptors)    │ memory │
//!             ┌─ write engine ◀─ └────────┘ ◀── port, from the fabric
//!                    firmware: so long for each packet, sent or received
//! ```
//!
//! Every byte crosses the local memory twice: it is written there, and read.
//!
//! Devices: NAME (blocks of chained DMA, no firmware: the raw test), NAME.both (the same, every second block is
//! written, the others are read), NAME.user (every second request is sent, the others are received, in packets over all
//! ports, by firmware).
//!
//! `engines` is the DMA, `ports` what a packet goes through.
//!
//! Not modelled: the fabric (whoever sends to us is always ready, whoever we send to as well), acknowledgements,
//! page tables of the firmware, the library above it, the order in which firmware serves its work (first come).

mod engines;
mod ports;

use std::cell::Cell;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Lane, Queue, Sim, Time};

use self::engines::Engine;
use self::ports::Port;
use crate::bridge::pci_x::initiator::Initiator;
use crate::bus::pci::card::CardSpec;
use crate::cpu::{self, Layer, Processor};
use crate::protocols::pci::{BURST_BYTES_MAX, reach};
use crate::protocols::storage::{Operation, Request, Storage};

/// Bytes that a port of Myrinet-2000 moves in a second, each way: 2 Gb/s. ANSI/VITA 26-1998.
const PORT_RATE: u64 = 250_000_000;
/// Blocks that all jobs together have asked for, at most.
const BLOCKS_MAX: usize = 1 << 20;

static LOCAL_BUSY: Label = Label::reason("local memory busy");
static LOCAL: Label = Label::through("local memory");

/// The adapter's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// What it says of its bus.
    #[nested("pci")]
    pub card: CardSpec,
    /// What jobs address.
    #[bytes("window", BURST_BYTES_MAX.into()..=1 << 40)]
    window_bytes: u64,
    /// What a descriptor of the raw test moves.
    #[bytes("block", 128..=BURST_BYTES_MAX.into())]
    block: u32,
    /// Bytes that go into the local memory, or out of it, in a second.
    #[rate("local_memory", 1_000_000..=100_000_000_000)]
    local_rate: u64,
    /// Clock of the processor.
    #[period("firmware.clock")]
    clock: Time,
    /// What the processor takes for a packet that is sent.
    #[time("firmware.send", ..=Time::ms(1))]
    send: Time,
    /// What the processor takes for a packet that is received.
    #[time("firmware.receive", ..=Time::ms(1))]
    receive: Time,
    /// Ports to the fabric.
    #[count("ports", 1..=4)]
    ports: u64,
    /// Bytes that a packet has besides its data.
    #[bytes("packet_overhead", ..=1_024)]
    packet_overhead: u32,
    /// Packets that the local memory holds, each way.
    #[count("buffers", 1..=64)]
    buffers: u64,
}

/// The last part of a request tells whoever asked.
struct Block {
    address: u32,
    bytes: u32,
    queued: Time,
    errand: Errand,
    last_of: Option<Request>,
}

impl Block {
    fn ended(self, sim: &Sim) {
        if let Some(request) = self.last_of {
            request.end(sim);
        }
    }
}

struct Adapter {
    sim: Sim,
    spec: Spec,
    processor: Rc<Processor>,
    firmware: Lane,
    local: Lane,
    reads: Engine,
    writes: Engine,
    ports: Vec<Port>,
    /// Packets sent and received so far take the ports in turn.
    sent: Cell<usize>,
    received: Cell<usize>,
    to_send: Queue<Block>,
    to_receive: Queue<Block>,
}

/// What a device of the adapter does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Raw,
    Both,
    User,
}

struct Device {
    adapter: Rc<Adapter>,
    role: Role,
    asked: Cell<u64>,
}

/// Devices, by name.
pub type Devices = Vec<(String, Rc<dyn Storage>)>;

/// The adapter `name` on the bus of `initiator`; returns its devices.
pub fn install(sim: &Sim, name: &str, spec: Spec, initiator: &Rc<Initiator>) -> Devices {
    let engine = |of: &str| Engine::new(sim, &format!("{name}.{of}"), initiator);
    let adapter = Rc::new(Adapter {
        sim: sim.clone(),
        processor: Processor::new(sim, &format!("{name}.processor"), cpu::Spec::of(spec.clock, 1)),
        firmware: sim.lane(&format!("{name}.firmware"), None),
        local: sim.lane(&format!("{name}.local-memory"), None),
        reads: engine("read-engine"),
        writes: engine("write-engine"),
        ports: (0..spec.ports).map(|n| Port::new(sim, &format!("{name}.port{n}"))).collect(),
        sent: Cell::new(0),
        received: Cell::new(0),
        to_send: Queue::new(sim, BLOCKS_MAX),
        to_receive: Queue::new(sim, BLOCKS_MAX),
        spec,
    });
    for (of, reads) in [("read-chain", true), ("write-chain", false)] {
        let chain = adapter.clone();
        sim.process(&format!("{name}.{of}"), async move { chain.chain(reads).await });
    }
    for number in 0..adapter.spec.buffers {
        let (sender, receiver) = (adapter.clone(), adapter.clone());
        sim.process(&format!("{name}.send{number:02}"), async move { sender.send().await });
        sim.process(&format!("{name}.receive{number:02}"), async move { receiver.receive().await });
    }
    let device = |(ending, role)| {
        let device: Rc<dyn Storage> = Rc::new(Device { adapter: adapter.clone(), role, asked: Cell::new(0) });
        (format!("{name}{ending}"), device)
    };
    [("", Role::Raw), (".both", Role::Both), (".user", Role::User)].into_iter().map(device).collect()
}

impl Storage for Device {
    fn submit(&self, request: Request) {
        let adapter = &self.adapter;
        let asked = self.asked.replace(self.asked.get() + 1);
        let writes = match self.role {
            Role::Raw => request.operation == Operation::Write,
            Role::Both | Role::User => asked.is_multiple_of(2),
        };
        let queue = match (self.role, writes) {
            (Role::User, true) => &adapter.to_receive,
            (Role::User, false) => &adapter.to_send,
            (_, true) => &adapter.writes.blocks,
            (_, false) => &adapter.reads.blocks,
        };
        let (bytes, block, queued) = (request.bytes, adapter.spec.block, adapter.sim.now());
        let errand = adapter.sim.pass_on(request.errand);
        let base = (request.offset_bytes % adapter.spec.window_bytes) as u32;
        let (mut request, mut done) = (Some(request), 0);
        while done < bytes {
            let address = base.wrapping_add(done);
            let part = reach(address, block).min(bytes - done);
            done += part;
            let last_of = if done == bytes { request.take() } else { None };
            queue.put_now(Block { address, bytes: part, queued, errand, last_of });
        }
    }

    fn size_bytes(&self) -> u64 {
        self.adapter.spec.window_bytes
    }

    fn block_bytes(&self) -> u32 {
        1
    }

    fn processor(&self) -> Option<Rc<Processor>> {
        Some(self.adapter.processor.clone())
    }

    fn above(&self, _: Operation, _: u32) -> (Layer, Time) {
        (Layer::FileSystem, Time::ZERO)
    }
}

impl Adapter {
    /// Bytes go into the local memory, or come from there.
    async fn local(&self, bytes: u32) {
        let span = self.local.paced(span(bytes, self.spec.local_rate));
        self.local.acquire(&LOCAL_BUSY).await.hold(&LOCAL, span).await;
    }
}

fn span(bytes: u32, rate: u64) -> Time {
    Time::ps(u64::from(bytes) * 1_000_000_000_000 / rate)
}
