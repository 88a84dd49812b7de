//! An AHCI host bus adapter: Serial ATA ports behind one PCI Express function. AHCI 1.3.1.
//!
//! ```text
//!   PxSACT, PxCI ─▶ issue: command header and table from memory ─▶ Register FIS ─▶ until the drive is ready again
//!                                                 cable ─▶ FIFO ─▶ receive: FIS area, descriptors, data to memory
//!        memory ─▶ fetch: bursts ─▶ FIFO ─▶ transmit: Data FIS ─▶ cable
//!                                                   done ─▶ PxIS, IS ─▶ interrupt message, unless one is in service
//! ```
//!
//! A port has a process for each of these. What a port receives it takes one after the other, so that a command's data
//! are in memory before its Set Device Bits FIS, and that before the interrupt.
//!
//! Not modelled: commands that are not queued, PIO, errors, port multipliers, command completion coalescing, power
//! states, the configuration of ports.

mod port;

use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Bell, Errand, Label, Lane, Queue, Sim, Time};

use crate::bus::pcie::{Link, Port, PortSpec};
use crate::bus::sata::{self, SataCable};
use crate::protocols::pcie::{Home, PAGE_BYTES};
use crate::protocols::sata::{DATA_FIS_BYTES, Received, TAGS_MAX};

static NO_ACCESS: Label = Label::reason("no register written");
static NOTHING_DONE: Label = Label::reason("nothing to tell of");

/// Register writes that are on their way, at most: three a tag, and those of the interrupt handler.
const ACCESSES_MAX: usize = 4_096;
/// Ports that one function has (AHCI 1.3.1, 3.1.1).
const PORTS_MAX: u64 = 32;

/// The adapter's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Ports, each for one drive.
    #[count("ports", 1..=PORTS_MAX)]
    pub ports: u64,
    /// What a cable carries of encoded bits, at most.
    #[rate("rate", one_of = &sata::RATES)]
    pub rate: u64,
    /// Commands of a port that are under way, at most.
    #[count("slots", 1..=TAGS_MAX)]
    pub slots: u64,
    /// What a port moves from or to memory at once.
    #[bytes("burst", 64..=u64::from(DATA_FIS_BYTES.min(PAGE_BYTES)), power_of_two)]
    pub burst_bytes: u32,
    /// A port's FIFO in each direction: a whole burst at least.
    #[bytes("fifo", burst_bytes.into()..=1 << 20)]
    fifo_bytes: u32,
    /// From a command's arrival to its fetch.
    #[time("command")]
    command: Time,
    /// A register answers a read so much later.
    #[time("register")]
    register: Time,
    #[nested]
    port: PortSpec,
}

/// A command in its slot: its header, its table and its buffer in memory.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// From memory to the drive.
    pub writes: bool,
    /// First byte on the drive.
    pub offset_bytes: u64,
    /// How many bytes.
    pub bytes: u32,
    /// Where the buffer begins.
    pub buffer: u64,
    /// Descriptors of physical regions in its table.
    pub regions: u32,
    /// Where the data are.
    pub home: Home,
    /// For whom.
    pub errand: Errand,
}

/// What a driver writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// PxSACT: a tag will be under way.
    SerialActive(usize, u8),
    /// PxCI: a tag is issued.
    CommandIssue(usize, u8),
    /// PxIS: what a port has told of is known.
    PortInterruptStatus(usize),
    /// IS: the same for all ports; the next interrupt may come.
    InterruptStatus,
}

/// The tags whose bits are set, from the lowest on.
pub fn tags(mut bits: u32) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let tag = (bits != 0).then(|| bits.trailing_zeros() as u8)?;
        bits &= bits - 1;
        Some(tag)
    })
}

/// One port.
pub(crate) struct SataPort {
    lane: Lane,
    cable: OnceCell<Rc<SataCable>>,
    slots: RefCell<[Option<Slot>; TAGS_MAX as usize]>,
    issued: Queue<u8>,
    /// The drive is ready for the next command.
    ready: Bell,
    /// FIFO of what is received.
    received: Queue<Received>,
    /// Tags whose data are to be fetched from memory.
    to_fetch: Queue<u8>,
    /// FIFO of what is sent.
    fetched: Queue<u32>,
    /// The drive takes a Data FIS, of whose command.
    activated: Queue<Errand>,
    /// The tag whose data move, and how many bytes have moved.
    moving: Cell<(u8, u32)>,
    /// Bytes that are still to be sent for it.
    to_send: Cell<u32>,
    /// Tags that are done, until the driver takes them.
    done: Cell<u32>,
    /// PxIS is not zero.
    told: Cell<bool>,
}

/// An adapter.
pub struct Ahci {
    sim: Sim,
    name: String,
    spec: Spec,
    port: Rc<Port>,
    ports: Vec<SataPort>,
    /// What a read of a register takes is owed to it.
    registers: Lane,
    accesses: Queue<Access>,
    /// Wakes whoever sends interrupt messages.
    news: Bell,
    interrupts: Bell,
    in_service: Cell<bool>,
}

impl Ahci {
    /// An adapter at the end of a link. The error says why the link does not come up.
    pub fn new(sim: &Sim, name: &str, spec: Spec, link: &Link) -> Result<Rc<Ahci>, String> {
        let port = Port::new(sim, &spec.port, link)?;
        let ports: Vec<SataPort> = (0..spec.ports).map(|number| SataPort::new(sim, name, number, &spec)).collect();
        let ahci = Rc::new(Ahci {
            sim: sim.clone(),
            name: name.to_string(),
            port,
            ports,
            registers: sim.lane(&format!("{name}.registers"), None),
            accesses: Queue::new(sim, ACCESSES_MAX),
            news: Bell::new(sim),
            interrupts: Bell::new(sim),
            in_service: Cell::new(false),
            spec,
        });
        let running = ahci.clone();
        sim.process(&format!("{name}.registers"), async move { running.run_registers().await });
        let running = ahci.clone();
        sim.process(&format!("{name}.interrupts"), async move { running.run_interrupts().await });
        Ok(ahci)
    }

    /// What it is.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Plugs a cable named `cable` into a port.
    pub fn plug(self: &Rc<Self>, sim: &Sim, cable: &str, port: usize, spec: sata::Spec) -> Rc<SataCable> {
        let (rate, burst) = (self.spec.rate, self.spec.burst_bytes);
        let cable = SataCable::new(sim, cable, spec, rate, &self.ports[port].received, burst);
        if self.ports[port].cable.set(cable.clone()).is_ok() {
            self.start(port);
        }
        cable
    }

    /// The cable at a port.
    pub fn cable(&self, port: usize) -> Option<&Rc<SataCable>> {
        self.ports.get(port)?.cable.get()
    }

    /// How many ports there are.
    pub fn ports(&self) -> usize {
        self.ports.len()
    }

    /// Writes a command's header and table into memory.
    pub fn prepare(&self, port: usize, tag: u8, slot: Slot) {
        self.ports[port].slots.borrow_mut()[usize::from(tag)] = Some(slot);
    }

    /// The processor writes a register: a posted write, on its way from now on.
    pub fn write(&self, access: Access) {
        // There are fewer accesses a tag than there is room for each.
        self.accesses.put_now(access);
    }

    /// The processor reads a register; ends when it has the answer.
    pub async fn read(&self) {
        self.port.register_read(&self.registers, self.spec.register).await;
    }

    /// Whether a port has something to tell: its bit of IS.
    pub fn tells(&self, port: usize) -> bool {
        self.ports[port].told.get()
    }

    /// PxSACT has been read, and PxIS cleared before: tags of a port that are done, one bit each.
    pub fn take_done(&self, port: usize) -> u32 {
        self.ports[port].told.set(false);
        self.ports[port].done.take()
    }

    /// For whom the command with that tag is.
    pub fn errand(&self, port: usize, tag: u8) -> Errand {
        self.ports[port].slots.borrow()[usize::from(tag)].map_or(Errand::NOBODY, |slot| slot.errand)
    }

    /// The current process has worked for a command, and passes it on.
    fn pass_on(&self, port: usize, tag: u8) {
        if let Some(slot) = &mut self.ports[port].slots.borrow_mut()[usize::from(tag)] {
            slot.errand = self.sim.pass_on(slot.errand);
        }
    }

    /// The current process works for all commands that are done on these ports; which they are, one bit each, goes to
    /// `seen`.
    pub fn take_up_done(&self, ports: Range<usize>, seen: &mut [u32]) {
        for port in ports.clone() {
            seen[port] = self.ports[port].done.get();
        }
        let done = ports.flat_map(|port| tags(seen[port]).map(move |tag| (port, tag)));
        self.sim.take_up_all(done.map(|(port, tag)| self.errand(port, tag)));
    }

    /// It has done so, and passes them on.
    pub fn pass_on_done(&self, seen: &[u32]) {
        for (port, seen) in seen.iter().enumerate() {
            tags(*seen).for_each(|tag| self.pass_on(port, tag));
        }
    }

    /// Interrupt messages that have arrived at the processor.
    pub fn interrupts(&self) -> &Bell {
        &self.interrupts
    }

    async fn run_registers(&self) {
        loop {
            let access = self.accesses.take(&NO_ACCESS).await;
            match access {
                Access::SerialActive(port, tag) => self.sim.take_up(self.errand(port, tag)),
                // It comes right behind the other write for its command.
                Access::CommandIssue(..) => {}
                Access::PortInterruptStatus(_) | Access::InterruptStatus => self.sim.take_up(Errand::NOBODY),
            }
            self.port.doorbell().await;
            match access {
                Access::SerialActive(..) | Access::PortInterruptStatus(_) => {}
                Access::CommandIssue(port, tag) => {
                    self.pass_on(port, tag);
                    self.ports[port].issued.put_now(tag);
                }
                Access::InterruptStatus => {
                    self.in_service.set(false);
                    if self.ports.iter().any(|port| port.told.get()) {
                        self.news.ring();
                    }
                }
            }
        }
    }

    async fn run_interrupts(&self) {
        let mut told = vec![0; self.ports.len()];
        loop {
            self.news.heard(&NOTHING_DONE).await;
            // AHCI 1.3.1, 5.6.5: a message is sent when IS is set from zero.
            if self.in_service.replace(true) {
                continue;
            }
            self.take_up_done(0..self.ports.len(), &mut told);
            self.port.interrupt().await;
            self.pass_on_done(&told);
            self.interrupts.ring();
        }
    }
}
