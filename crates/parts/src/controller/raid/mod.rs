//! A RAID controller: a card with a processor, a memory, SCSI or ATA channels, and firmware that makes one device of many
//! drives, or hands each on as it is.
//!
//! ```text
//!   PCI ◀──▶ memory ◀──▶ channels ◀──▶ drives               every byte crosses the memory twice
//!              ▲
//!          firmware: contexts of host commands ─▶ cache ─▶ array ─▶ a queue and tags a drive
//!                    read-ahead, destaging, rebuilding, each by processes of its own
//! ```
//!
//! - Firmware (`contexts.rs`): takes a command with its doorbell, fetches it, and carries it out (`reads.rs`,
//!   `writes.rs`); the status goes to the host's memory before the interrupt.
//! - The cache (`cache.rs`) holds lines with a mark a sector. Writes end when they are in it (write-back) or on the
//!   drives (write-through). It is written to the drives while they are idle, or only when as much is unwritten as may
//!   be; lines that follow one another go together. Reads that follow one another are read ahead.
//! - The array (`array.rs`, `parity.rs`) spreads bytes over drives (`layout.rs`), computes parity in the memory, and does
//!   without a drive that has failed; `rebuild.rs` fills a spare.
//!
//! - Channels (`channels.rs`) are SCSI buses of many drives with tags, or ATA cables of one drive and one command each.
//! - A card of ATA channels without a cache (`through.rs`) keeps nothing: what a channel's FIFO has goes on at once.
//! - A card of ATA channels has one engine that moves all that crosses PCI, burst by burst (`contexts.rs`).
//!
//! A drive that fails takes the commands with it that are under way; they are done again from the others.
//!
//! Not modelled: several arrays of one card, drives of unequal size (each counts as the smallest), the content of any byte, consistency checks, patrol reads, the battery and
//! what becomes of the cache without it, write-back turned off by a failure, reading all drives of a row to write most
//! of it (only whole rows are written without reading, or what a lost drive asks for), commands that are aborted.

mod array;
mod cache;
pub mod channels;
mod contexts;
mod destage;
pub mod layout;
mod parity;
mod read_ahead;
mod reads;
mod rebuild;
mod spec;
mod through;
mod writes;

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use hopscope_kernel::{Bell, Errand, Label, Lane, Queue, Remembers, Sim, Time};

use crate::bridge::pci_x::initiator::Initiator;
use crate::bridge::pci_x::slot::Slot;
use crate::controller::block_card::{BlockCard, Command, Device, Registers};
use crate::controller::finished::Finished;
use array::Array;
use cache::Cache;
use channels::Channels;
use spec::EngineSpec;
pub use spec::{Interface, Spec, channel_count};

static PROCESSOR_BUSY: Label = Label::reason("processor of the adapter busy");
static MEMORY_BUSY: Label = Label::reason("memory of the adapter busy");
static FIRMWARE: Label = Label::protocol("firmware");
/// Bytes of the user cross the adapter's memory.
static MOVED: Label = Label::payload("data");
static XOR: Label = Label::protocol("parity");

/// A process of the firmware that waits for drives, or for other processes.
struct Client {
    /// Its commands to drives that have ended, and whether well.
    ended: Queue<bool>,
    /// Something has changed that it waits for.
    bell: Bell,
    sim: Sim,
    /// For whom it has drives work.
    errand: Cell<Errand>,
}

impl Client {
    fn new(sim: &Sim) -> Client {
        let (ended, bell) = (Queue::new(sim, usize::MAX), Bell::new(sim));
        Client { ended, bell, sim: sim.clone(), errand: Cell::new(Errand::NOBODY) }
    }

    /// Works for a request from now on.
    fn take_up(&self, errand: Errand) {
        self.sim.take_up(errand);
        self.errand.set(errand);
    }
}

/// What somebody waits for in the cache.
#[derive(Clone, Copy)]
enum Wanted {
    /// Room for a line, or for one that is unwritten: whoever has waited in vain waits behind all others.
    Room,
    /// These sectors of the line that is kept at a place.
    Sectors(u32, u128),
}

/// What moves everything over PCI, one thing at a time.
struct Engine {
    lane: Lane,
    spec: EngineSpec,
}

/// A RAID controller.
pub struct Raid {
    sim: Sim,
    name: String,
    spec: Spec,
    processor: Lane,
    memory: Lane,
    /// Moves one thing at a time over PCI, on a card of ATA channels.
    engine: Option<Engine>,
    /// Where a drive fails: when that is, and what the firmware lets pass then. Nobody occupies it.
    timer: Option<Lane>,
    initiator: Rc<Initiator>,
    channels: Channels,
    array: OnceCell<Array>,
    cache: RefCell<Cache>,
    /// Who waits for a change in the cache, and for which.
    waiting: RefCell<Vec<(Rc<Client>, Wanted)>>,
    commands: Queue<Command>,
    registers: Registers,
    ahead: read_ahead::ReadAhead,
    /// One a drive: there may be something to destage.
    destagers: RefCell<Vec<Bell>>,
}

impl Raid {
    /// A controller on a PCI card, with its channels.
    pub fn new(sim: &Sim, name: &str, spec: Spec, initiator: Rc<Initiator>, channels: Channels) -> Rc<Raid> {
        let memory = sim.lane(&format!("{name}.memory"), None);
        memory.carries(&MOVED, spec.memory_rate, Time::ps(1_000_000_000_000));
        let lines = (spec.cache_bytes / spec.line_bytes) as usize;
        Rc::new(Raid {
            sim: sim.clone(),
            name: name.to_string(),
            processor: sim.lane(&format!("{name}.processor"), None),
            memory,
            engine: spec.engine.map(|spec| Engine { lane: sim.lane(&format!("{name}.engine"), None), spec }),
            timer: spec.failure.map(|_| sim.lane(&format!("{name}.timer"), None)),
            initiator,
            channels,
            array: OnceCell::new(),
            cache: RefCell::new(Cache::new(lines)),
            waiting: RefCell::default(),
            commands: Queue::new(sim, usize::MAX),
            registers: Registers::new(sim),
            ahead: read_ahead::ReadAhead::new(sim, &spec),
            destagers: RefCell::default(),
            spec,
        })
    }

    fn array(&self) -> &Array {
        self.array.get().expect("the firmware runs when the array has been found")
    }

    /// The adapter's processor works.
    async fn compute(&self, span: Time) {
        if span > Time::ZERO {
            let grant = self.processor.acquire(&PROCESSOR_BUSY).await;
            grant.hold(&FIRMWARE, self.processor.paced(span)).await;
        }
    }

    /// The firmware lets some time pass, where a drive fails.
    async fn pause(&self, label: &'static Label, span: Time) {
        if let Some(timer) = self.timer.as_ref().filter(|_| span > Time::ZERO) {
            timer.delay(label, timer.paced(span)).await;
        }
    }

    /// Bytes cross the adapter's memory, in bursts between which others have it.
    async fn cross_memory(&self, phase: &'static Label, bytes: u64) {
        let mut left = bytes;
        while left > 0 {
            let burst = left.min(self.spec.memory_burst);
            let grant = self.memory.acquire(&MEMORY_BUSY).await;
            grant.hold(phase, self.crossing(burst)).await;
            left -= burst;
        }
    }

    /// How long a burst has the memory.
    fn crossing(&self, bytes: u64) -> Time {
        self.memory.paced(Time::ps((bytes * 1_000_000_000_000).div_ceil(self.spec.memory_rate)))
    }

    /// Wakes everybody who may go on as the cache is now.
    fn changed(&self) {
        let cache = self.cache.borrow();
        self.waiting.borrow_mut().retain(|(client, wanted)| {
            let goes_on = match *wanted {
                Wanted::Room => true,
                Wanted::Sectors(at, sectors) => cache.has(at, sectors),
            };
            if goes_on {
                client.bell.ring();
            }
            !goes_on
        });
    }

    /// Waits until something has changed in the cache.
    async fn wait_for_change(&self, client: &Rc<Client>, wanted: Wanted, reason: &'static Label) {
        self.waiting.borrow_mut().push((client.clone(), wanted));
        client.bell.heard(reason).await;
    }
}

impl Remembers for Raid {
    /// The size of a line, then what the cache holds.
    fn remembered(&self) -> Vec<u64> {
        let mut words = vec![self.spec.line_bytes];
        self.cache.borrow().remembered(&mut words);
        words
    }

    fn recall(&self, words: &[u64]) -> bool {
        let [line_bytes, held @ ..] = words else { return false };
        let can = *line_bytes == self.spec.line_bytes && self.cache.borrow_mut().recall(held);
        if can {
            self.destage_if_idle();
        }
        can
    }
}

impl BlockCard for Raid {
    fn start(self: Rc<Raid>) -> Result<bool, (String, String)> {
        if self.channels.drives()?.iter().all(Vec::is_empty) {
            return Ok(false);
        }
        let array = Array::find(&self.sim, &self.name, &self.spec, &self.channels)?;
        if self.array.set(array).is_err() {
            return Err(("the adapter has a driver already".into(), "one driver an adapter".into()));
        }
        let (unwritten, taken) = (self.clone(), self.clone());
        let held = move || unwritten.cache.borrow().unwritten_bytes();
        self.sim.level(&format!("what {} has to write to its drives", self.name), held);
        let held = move || taken.cache.borrow().taken() as u64 * taken.spec.line_bytes;
        self.sim.level(&format!("the cache of {}", self.name), held);
        if !self.spec.keeps_nothing {
            self.sim.remembers(&self.name, self.clone());
        }
        array::start(&self);
        contexts::start(&self);
        read_ahead::start(&self);
        destage::start(&self);
        rebuild::start(&self);
        Ok(true)
    }

    fn slot(&self) -> &Slot {
        self.initiator.slot()
    }

    fn devices(&self) -> Vec<Device> {
        self.array().devices(&self.name)
    }

    fn commands_max(&self) -> u64 {
        self.spec.commands
    }

    fn prepare(&self, command: Command) {
        self.registers.write(Some(command));
    }

    fn acknowledge(&self) {
        self.registers.write(None);
    }

    fn finished(&self) -> &Finished {
        self.registers.finished()
    }
}
