//! A programmable network adapter, whose firmware makes single DMA transfers of any size: the instrument of pcie-bench.
//!
//! ```text
//!   contexts ─▶ dispatch ─┬─ write engine ─▶ builder ─▶ packet buffer ─▶ link
//!   (each has one         └─ tag, read requests ▶ builder ────────────▶ link
//!    transfer at a time)      completions ─▶ intake, tag back ─▶ internal bus (line by line) ─▶ context
//! ```
//!
//! Devices: NAME (DMA reads and writes), NAME.mixed (every second transfer is a write, the others are reads),
//! NAME.write-then-read (a write, then a read of the same bytes), NAME.command (the direct path for a few bytes: a read,
//! or with writes a write and a read after it).
//!
//! Where in the host its buffer lies, it is told: in the cache or in memory, of this socket or of the other one.
//!
//! A transfer begins at a cache line: request k of a job lies at k times its size, rounded up to 64 bytes.
//!
//! Not modelled: the network side, the firmware's instructions (its contexts are always ready), banks of its memory.

use std::cell::Cell;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Lane, Queue, Sim, Time, Tokens};

use crate::bus::pcie::{Intake, Link, PAYLOAD_MAX, PAYLOAD_MIN, Port, PortSpec};
use crate::cpu::{self, Layer, Processor};
use crate::protocols::pcie::{DATA, Home};
use crate::protocols::storage::{Operation, Request, Storage};

static NO_TRANSFER: Label = Label::workload("no transfer");
static ALL_CONTEXTS_BUSY: Label = Label::queued("all contexts busy");
static DISPATCH: Label = Label::protocol("descriptor queued and completion signalled");
static ENGINE_BUSY: Label = Label::reason("write engine busy");
static DESCRIPTOR: Label = Label::protocol("descriptor");
static BUILDER_BUSY: Label = Label::reason("packet builder busy");
static BUILDING: Label = Label::reason("packet under construction");
static PACKET: Label = Label::protocol("packet built");
static REQUEST: Label = Label::protocol("read request built");
static BUFFER_FULL: Label = Label::reason("packet buffer full");
static NO_PACKET: Label = Label::reason("no packet to send");
static BUS_BUSY: Label = Label::reason("internal bus busy");
static LINES: Label = Label::protocol("lines written to internal memory");

/// A line of the adapter's memory, and of the host's, bytes.
const LINE_BYTES: u32 = 64;
/// Largest transfer of one descriptor.
const TRANSFER_BYTES_MAX: u32 = 4_096;
/// Requests that all jobs together have in flight, at most.
const QUEUE_MAX: usize = 4_096;

/// The adapter's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    #[nested]
    port: PortSpec,
    /// Clock of the firmware.
    #[period("clock")]
    clock: Time,
    /// What jobs address.
    #[bytes("window", TRANSFER_BYTES_MAX.into()..=1 << 40)]
    window_bytes: u64,
    /// Transfers at a time.
    #[count("contexts", 1..=1_024)]
    contexts: u64,
    /// Queueing a descriptor and signalling its completion.
    #[time("dispatch")]
    dispatch: Time,
    /// The write engine, for a descriptor, and for each packet besides its lines.
    #[time("write.step")]
    step: Time,
    /// The write engine, for each line of a packet.
    #[time("write.line")]
    line: Time,
    /// The largest packet that the write engine builds.
    #[bytes("write.payload_max", PAYLOAD_MIN..=PAYLOAD_MAX, power_of_two)]
    write_payload_max: u32,
    /// Packets that wait for the link, at most.
    #[count("write.buffer", 1..=64)]
    packets_buffered: usize,
    /// Building a read request.
    #[time("read.request")]
    request: Time,
    /// Taking in a completion.
    #[time("read.intake")]
    intake: Time,
    /// One access of the internal bus, by which completions come into the memory.
    #[time("read.access")]
    access: Time,
    #[nested]
    home: Home,
}

impl Spec {
    /// Where in the host its buffer lies.
    pub fn home(&self) -> Home {
        self.home
    }
}

/// What a device of the adapter does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    Read,
    Write,
    WriteThenRead,
    CommandRead,
    CommandWriteThenRead,
}

/// A transfer of one descriptor: a request, or a part of one.
struct Transfer {
    course: Course,
    address: u64,
    bytes: u32,
    queued: Time,
    errand: Errand,
    last_of: Option<Request>,
}

/// A packet of a write.
struct Packet {
    address: u64,
    bytes: u32,
    errand: Errand,
}

/// An adapter.
struct Adapter {
    sim: Sim,
    spec: Spec,
    port: Rc<Port>,
    firmware: Rc<Processor>,
    contexts: Lane,
    engine: Lane,
    builder: Lane,
    bus: Lane,
    transfers: Queue<Transfer>,
    packets: Queue<Packet>,
    /// Room in the packet buffer.
    room: Tokens,
}

/// Which device of the adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Plain,
    Mixed,
    WriteThenRead,
    Command,
}

/// A device of the adapter.
struct Device {
    adapter: Rc<Adapter>,
    role: Role,
    /// Transfers asked for so far.
    asked: Cell<u64>,
}

/// Devices, by name.
pub type Devices = Vec<(String, Rc<dyn Storage>)>;

/// Plugs an adapter into a link; returns its devices.
pub fn plug(sim: &Sim, name: &str, spec: Spec, link: &Link) -> Result<Devices, String> {
    let lane = |of: &str| sim.lane(&format!("{name}.{of}"), None);
    let room = Tokens::full(sim, spec.packets_buffered);
    let intake = Intake { lane: lane("intake"), span: spec.intake };
    let adapter = Rc::new(Adapter {
        sim: sim.clone(),
        port: Port::with_intake(sim, &spec.port, link, Some(intake))?,
        firmware: Processor::new(sim, &format!("{name}.firmware"), cpu::Spec::of(spec.clock, 1)),
        contexts: lane("contexts"),
        engine: lane("write-engine"),
        builder: lane("builder"),
        bus: lane("internal-bus"),
        transfers: Queue::new(sim, QUEUE_MAX * (run_bytes_max() / TRANSFER_BYTES_MAX) as usize),
        packets: Queue::new(sim, spec.packets_buffered),
        room,
        spec,
    });
    for number in 0..adapter.spec.contexts {
        let context = adapter.clone();
        sim.process(&format!("{name}.context{number:04}"), async move { context.run().await });
    }
    let sender = adapter.clone();
    sim.process(&format!("{name}.sender"), async move { sender.send().await });
    let roles = [
        ("", Role::Plain),
        (".mixed", Role::Mixed),
        (".write-then-read", Role::WriteThenRead),
        (".command", Role::Command),
    ];
    let device = |(ending, role)| {
        let device: Rc<dyn Storage> = Rc::new(Device { adapter: adapter.clone(), role, asked: Cell::new(0) });
        (format!("{name}{ending}"), device)
    };
    Ok(roles.into_iter().map(device).collect())
}

/// Largest request of a job, bytes.
const fn run_bytes_max() -> u32 {
    16 << 20
}

impl Storage for Device {
    fn submit(&self, request: Request) {
        let (adapter, bytes) = (&self.adapter, request.bytes);
        let asked = self.asked.replace(self.asked.get() + 1);
        let course = match (self.role, request.operation) {
            (Role::Mixed, _) if asked.is_multiple_of(2) => Course::Write,
            (Role::Mixed, _) | (Role::Plain, Operation::Read) => Course::Read,
            (Role::Plain, Operation::Write) => Course::Write,
            (Role::WriteThenRead, _) => Course::WriteThenRead,
            (Role::Command, Operation::Read) => Course::CommandRead,
            (Role::Command, Operation::Write) => Course::CommandWriteThenRead,
        };
        let unit = u64::from(bytes.next_multiple_of(LINE_BYTES));
        let base = request.offset_bytes / u64::from(bytes) * unit % adapter.spec.window_bytes;
        let (queued, errand) = (adapter.sim.now(), request.errand);
        let (mut request, mut done) = (Some(request), 0);
        while done < bytes {
            let part = TRANSFER_BYTES_MAX.min(bytes - done);
            let address = base + u64::from(done);
            done += part;
            let last_of = if done == bytes { request.take() } else { None };
            let transfer = Transfer { course, address, bytes: part, queued, errand, last_of };
            adapter.transfers.put_now(transfer);
        }
    }

    fn size_bytes(&self) -> u64 {
        self.adapter.spec.window_bytes
    }

    fn block_bytes(&self) -> u32 {
        1
    }

    fn processor(&self) -> Option<Rc<Processor>> {
        Some(self.adapter.firmware.clone())
    }

    fn above(&self, _: Operation, _: u32) -> (Layer, Time) {
        (Layer::FileSystem, Time::ZERO)
    }
}

impl Adapter {
    /// A context of the firmware.
    async fn run(&self) {
        loop {
            let Transfer { course, address, bytes, queued, errand, last_of } = self.transfers.take(&NO_TRANSFER).await;
            self.sim.take_up(errand);
            self.contexts.awaited(&ALL_CONTEXTS_BUSY, queued);
            match course {
                Course::Read => self.read(address, bytes).await,
                Course::Write => self.write(address, bytes, errand).await,
                Course::WriteThenRead => {
                    self.write(address, bytes, errand).await;
                    self.until_sent().await;
                    self.read(address, bytes).await;
                }
                Course::CommandRead => self.port.read_past_intake(address, bytes, &DATA, self.spec.home).await,
                Course::CommandWriteThenRead => {
                    self.port.write(address, bytes, &DATA, self.spec.home).await;
                    self.port.read_past_intake(address, bytes, &DATA, self.spec.home).await;
                }
            }
            if let Some(request) = last_of {
                request.end(&self.sim);
            }
        }
    }

    async fn read(&self, address: u64, bytes: u32) {
        self.contexts.delay(&DISPATCH, self.contexts.paced(self.spec.dispatch)).await;
        let builder = self.builder.acquire(&BUILDER_BUSY).await;
        builder.hold(&REQUEST, self.builder.paced(self.spec.request)).await;
        drop(builder);
        self.port.read(address, bytes, &DATA, self.spec.home).await;
        // A line each, one for the end of a line that comes by itself, and the signal to the context.
        let tail = u64::from(self.port.tail_apart(address, bytes, LINE_BYTES));
        let accesses = u64::from(bytes.div_ceil(LINE_BYTES)) + tail + 1;
        let bus = self.bus.acquire(&BUS_BUSY).await;
        bus.hold(&LINES, self.bus.paced(self.spec.access * accesses)).await;
    }

    async fn write(&self, address: u64, bytes: u32, errand: Errand) {
        self.contexts.delay(&DISPATCH, self.contexts.paced(self.spec.dispatch)).await;
        let engine = self.engine.acquire(&ENGINE_BUSY).await;
        let max = u64::from(self.spec.write_payload_max);
        let (mut at, end) = (address, address + u64::from(bytes));
        while at < end {
            let part = (max - at % max).min(end - at) as u32;
            let begun = self.sim.now();
            let builder = self.builder.acquire(&BUILDER_BUSY).await;
            if at == address {
                builder.hold(&DESCRIPTOR, self.builder.paced(self.spec.step)).await;
            }
            let building = self.spec.step + self.spec.line * u64::from(part.div_ceil(LINE_BYTES));
            builder.hold(&PACKET, self.builder.paced(building)).await;
            drop(builder);
            engine.was_in(&BUILDING, begun);
            let built = self.sim.now();
            self.room.take(&BUFFER_FULL).await;
            if self.sim.now() > built {
                engine.was_in(&BUFFER_FULL, built);
            }
            self.packets.put_now(Packet { address: at, bytes: part, errand: self.sim.pass_on(errand) });
            at += u64::from(part);
        }
    }

    /// Waits until the packet buffer is empty.
    async fn until_sent(&self) {
        // Whoever fills the buffer has the engine.
        let engine = self.engine.acquire(&ENGINE_BUSY).await;
        let start = self.sim.now();
        for _ in 0..self.spec.packets_buffered {
            self.room.take(&BUFFER_FULL).await;
        }
        if self.sim.now() > start {
            engine.was_in(&BUFFER_FULL, start);
        }
        for _ in 0..self.spec.packets_buffered {
            self.room.give();
        }
    }

    async fn send(&self) {
        loop {
            let Packet { address, bytes, errand } = self.packets.take(&NO_PACKET).await;
            self.sim.take_up(errand);
            let max = self.spec.write_payload_max;
            self.port.write_in_packets(address, bytes, max, &DATA, self.spec.home).await;
            self.room.give();
        }
    }
}
