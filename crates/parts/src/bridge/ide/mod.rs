//! A PCI-to-IDE bridge with bus master DMA (Intel 82371AB, PIIX4/PIIX4E).
//!
//! ```text
//!   PCI ◀──▶ registers BMICX, BMISX, BMIDTPX (a set a channel) ──▶ start, stop
//!    │       command blocks 1F0h/170h, control blocks 3F6h/376h, interrupt controllers 20h/A0h
//!    │         └──▶ data port: one access read ahead or posted (`pio`)
//!    │
//!    └──▶ one buffer: two halves (of 32 bytes), shared, filled or emptied for one channel at a time
//!            ├──▶ primary channel ──▶ cable
//!            └──▶ secondary channel ──▶ cable
//! ```
//!
//! A channel is one process: it fetches a descriptor, moves the region, fetches the next, never ahead
//! (82371AB data sheet, p. 196). `to_memory` and `to_drive` are the two ways through the buffer; `to_drive_ahead` is
//! the second one in a bridge that does not wait for an empty buffer. A buffer may have any length of whole data phases:
//! what memory stops within a half or a buffer is asked for again. What a drive offers at a time begins a half of its own.
//!
//! Not modelled: a register read that is retried until the buffer has drained (it has, by the time the driver looks),
//! a latency timer shorter than a burst, simplex mode, errors, the ISA and USB sides.

mod pio;
mod spec;
mod to_drive;
mod to_drive_ahead;
mod to_drive_in_bursts;
mod to_drive_in_turn;
mod to_memory;
mod to_memory_paused;

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;

use hopscope_kernel::{Bell, Errand, Label, Lane, Lead, Queue, Sim, Time, Tokens};

use self::pio::DataPort;
pub use self::pio::Moves;
pub use self::spec::{Refill, Spec, SwitchAt};
use super::host::{HOLD, HostBridge, Region};
use crate::bus::ide_cable::IdeCable;
use crate::bus::pci::PciBus;
use crate::protocols::ide::{Access, DRIVE_NOT_READY, Register, TransferMode};
use crate::protocols::pci::{Answer, Command, DATA, DESCRIPTOR_DATA, PciTarget, Ready, Transaction};

/// Waiting for the start bit of BMICX.
pub static NOT_STARTED: Label = Label::reason("bus master not started");
/// The buffer serves the other channel.
pub static BUFFER_BUSY: Label = Label::reason("buffer busy with the other channel");
/// Both halves hold data.
pub static BUFFER_FULL: Label = Label::reason("buffer full");
/// The buffer turns from one channel to the other.
pub static CHANNEL_SWITCH: Label = Label::protocol("channel switch");
/// The drive begins to strobe again after a pause.
pub static RESUME: Label = Label::protocol("resume");
/// A half is filled from the cable.
pub static FILL: Label = Label::through("fill from drive");
/// The buffer waits for data from memory.
pub static FETCH: Label = Label::reason("fetch from memory");
/// Data are in the idle buffer, the first strobe is not on the cable yet.
pub static FIRST_STROBE: Label = Label::protocol("first strobe");
/// The buffer empties into the cable.
pub static EMPTY: Label = Label::through("empty to drive");
/// The buffer is empty, PHOLD# not asserted yet.
pub static REREQUEST: Label = Label::protocol("re-request delay");
/// PHOLD# is away between two transactions.
pub static HOLD_AGAIN: Label = Label::protocol("PHOLD# again");
static DESCRIPTOR: Label = Label::protocol("descriptor delay");
static REGISTER: Label = Label::protocol("wait for register");
static DRIVE_REGISTER: Label = Label::reason("wait for drive register");

/// Halves of the buffer.
const HALVES: usize = 2;
/// Bytes of a descriptor.
const DESCRIPTOR_BYTES: u32 = 8;

/// The buffer: one port that serves one channel at a time, two halves.
struct Buffer {
    port: Lane,
    halves: Tokens,
    /// The channel that used it last, and when it got it: in a burst; and the one of the last command.
    last_user: Cell<Option<(usize, Time)>>,
    last_command: Cell<Option<usize>>,
}

impl Buffer {
    /// Whether the channel was the last one that used it.
    fn was_used_by(&self, channel: &Channel) -> bool {
        self.last_user.get().is_some_and(|(number, _)| number == channel.number)
    }

    /// The channel got the port at `at`, now or earlier.
    fn was_given_to(&self, channel: &Channel, at: Time) {
        if self.last_user.get().is_none_or(|(_, since)| since < at) {
            self.last_user.set(Some((channel.number, at)));
        }
    }
}

/// One channel: its registers, and what is on its cable.
struct Channel {
    number: usize,
    cable: RefCell<Option<Rc<IdeCable>>>,
    started: Queue<(Direction, Errand)>,
    /// Which way its last command moves data.
    direction: Cell<Option<Direction>>,
    /// Of the last group that it asked for: how long it takes from where it counts, and from the end of the other channel's
    /// until there.
    group_end: Cell<Time>,
    between_groups: Cell<Time>,
    /// BMIDTPX.
    table: Cell<u32>,
    /// When the second half of a group has arrived from memory.
    arrivals: Queue<Time>,
    /// More has come from memory.
    more: Bell,
    port: DataPort,
}

/// BMICX, bit 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    ToMemory,
    ToDrive,
}

/// A PCI-to-IDE bridge.
pub struct IdeBridge {
    sim: Sim,
    spec: Spec,
    pci: Rc<PciBus>,
    host: Rc<HostBridge>,
    buffer: Buffer,
    channels: [Channel; 2],
}

impl IdeBridge {
    /// A bridge on a PCI bus, with a process a channel.
    pub fn new(sim: &Sim, name: &str, spec: Spec, pci: &Rc<PciBus>, host: &Rc<HostBridge>) -> Rc<IdeBridge> {
        let channel = |number| Channel {
            number,
            cable: RefCell::new(None),
            started: Queue::new(sim, 1),
            direction: Cell::new(None),
            group_end: Cell::new(Time::ZERO),
            between_groups: Cell::new(Time::ZERO),
            table: Cell::new(0),
            arrivals: Queue::new(sim, 1),
            more: Bell::new(sim),
            port: DataPort::default(),
        };
        let halves = Tokens::full(sim, HALVES);
        let port = sim.lane(&format!("{name}.buffer"), None);
        let bridge = Rc::new(IdeBridge {
            sim: sim.clone(),
            spec,
            pci: pci.clone(),
            host: host.clone(),
            buffer: Buffer { port, halves, last_user: Cell::new(None), last_command: Cell::new(None) },
            channels: [channel(0), channel(1)],
        });
        let target: Rc<dyn PciTarget> = bridge.clone();
        pci.attach(Rc::downgrade(&target));
        for (number, channel_name) in CHANNELS.iter().enumerate() {
            let master = bridge.clone();
            sim.process(&format!("{name}.{channel_name}"), async move {
                loop {
                    let channel = &master.channels[number];
                    let (direction, errand) = channel.started.take(&NOT_STARTED).await;
                    master.sim.take_up(errand);
                    master.transfer(channel, direction).await;
                }
            });
        }
        bridge
    }

    /// Whether the bus lets the bridge finish its bursts: this model does not cut them short.
    pub fn bursts_fit_the_bus(&self) -> bool {
        let burst = |(command, halves)| {
            let bytes = halves * self.spec.half_bytes;
            self.pci.within_latency_timer(&Transaction { command, address: 0, bytes, carries: &DATA })
        };
        // The bridge reads as much as it has room for, and writes a half.
        [(Command::MemoryRead, HALVES as u32), (Command::MemoryWriteInvalidate, 1)].into_iter().all(burst)
    }

    /// Plugs a cable into a channel.
    pub fn attach(&self, channel: usize, cable: &Rc<IdeCable>) {
        *self.channels[channel].cable.borrow_mut() = Some(cable.clone());
    }

    /// The cable of a channel.
    pub fn cable(&self, channel: usize) -> Option<Rc<IdeCable>> {
        self.channels[channel].cable.borrow().clone()
    }

    /// The host bridge whose processor drives this bridge.
    pub fn host(&self) -> &Rc<HostBridge> {
        &self.host
    }

    /// Base of a channel's bus master registers.
    pub fn bus_master_base(&self, channel: usize) -> u32 {
        self.spec.bus_master_base + 8 * channel as u32
    }

    /// One command's data: descriptor after descriptor, until the end-of-table bit.
    async fn transfer(&self, channel: &Channel, direction: Direction) {
        channel.direction.set(Some(direction));
        let Some(cable) = channel.cable.borrow().clone() else { return };
        let before = self.buffer.last_command.replace(Some(channel.number));
        if self.spec.channel_switch_at == SwitchAt::Command && before.is_some_and(|number| number != channel.number) {
            self.buffer.port.delay(&CHANNEL_SWITCH, self.channel_switch()).await;
        }
        let (mut index, mut offered) = (0, 0);
        loop {
            let fetched = self.fetch_descriptor(channel, index, direction).await;
            let Some((region, last)) = fetched else { break };
            let (mut address, mut left) = (region.address, region.bytes);
            while left > 0 {
                if offered == 0 {
                    offered = cable.offers().take(&DRIVE_NOT_READY).await;
                }
                if left == region.bytes {
                    match direction {
                        Direction::ToMemory => cable.start_burst(true, address, self.word_in(&cable)).await,
                        Direction::ToDrive => cable.start_burst(false, address, self.strobe(&cable)).await,
                    }
                }
                let bytes = offered.min(left);
                match (direction, self.spec.refill) {
                    (Direction::ToMemory, _) => pin!(self.to_memory(channel, &cable, address, bytes)).await,
                    (_, Refill::WhenEmpty) => pin!(self.to_drive(channel, &cable, address, bytes)).await,
                    (_, Refill::WhenHalfIsFree) => pin!(self.to_drive_ahead(channel, &cable, address, bytes)).await,
                }
                cable.moved(bytes);
                (address, left, offered) = (address + bytes, left - bytes, offered - bytes);
            }
            // Between two regions the bridge has nothing to strobe for: it ends the burst and begins another.
            cable.end_burst(direction == Direction::ToMemory).await;
            index += 1;
            if last {
                break;
            }
        }
    }

    /// Time of a word on the way to memory: a drive in an Ultra DMA mode strobes it, in any other the bridge does.
    fn word_in(&self, cable: &IdeCable) -> Time {
        cable.strobed_by_drive().unwrap_or_else(|| self.strobe(cable))
    }

    /// Time of a word that the bridge strobes: it counts PCI clocks, as many as the mode's shortest cycle needs. In a
    /// mode that it does not know, it runs at the fastest that it does.
    fn strobe(&self, cable: &IdeCable) -> Time {
        let counted = match cable.transfer_mode() {
            TransferMode::Pio(mode) => nearest(&self.spec.pio, mode).map(|of| of.cycle),
            TransferMode::MultiwordDma(mode) => nearest(&self.spec.multiword_dma, mode).map(|of| of.cycle),
            TransferMode::UltraDma(mode) => nearest(&self.spec.ultra_dma, mode).map(|of| of.word),
        };
        cable.word_of(counted.unwrap_or(1), self.pci.clock())
    }

    /// So many clocks of PCI that the bridge itself takes.
    fn own_clocks(&self, count: u64) -> Time {
        self.pci.clocks_at(&self.buffer.port, count)
    }

    /// The dead time when the buffer turns from one channel to the other.
    fn channel_switch(&self) -> Time {
        self.buffer.port.paced(self.spec.channel_switch)
    }

    /// What it costs to have the buffer between two bursts of the other channel.
    fn switch_each_burst(&self) -> Time {
        if self.spec.channel_switch_at == SwitchAt::Burst { self.channel_switch() } else { Time::ZERO }
    }

    /// Whether both channels move data the same way: only then each has as much of the buffer as it needs in its turn.
    fn go_the_same_way(&self) -> bool {
        self.channels[0].direction.get() == self.channels[1].direction.get()
    }

    /// PHOLD# to PHLDA#, before every request of a burst.
    fn hold(&self) -> Lead<'_> {
        (self.host.arbiter(), &HOLD, self.host.hold_acknowledge())
    }

    /// Eight bytes from memory: PIIX4 data sheet, p. 196: not before the region before has ended on the cable.
    async fn fetch_descriptor(&self, channel: &Channel, index: usize, direction: Direction) -> Option<(Region, bool)> {
        let emptied = if index > 0 && direction == Direction::ToDrive { self.spec.rerequest_delay } else { 0 };
        self.buffer.port.delay(&REREQUEST, self.own_clocks(emptied)).await;
        self.host.arbiter().delay(&HOLD, self.host.hold_acknowledge()).await;
        let address = channel.table.get() + index as u32 * DESCRIPTOR_BYTES;
        let (command, carries) = (Command::MemoryRead, &DESCRIPTOR_DATA);
        self.pci.transact(&Transaction { command, address, bytes: DESCRIPTOR_BYTES, carries }).await.end().await;
        self.buffer.port.delay(&DESCRIPTOR, self.buffer.port.paced(self.spec.descriptor_delay)).await;
        self.host.descriptor(channel.table.get(), index)
    }
}

/// Names of the channels.
pub const CHANNELS: [&str; 2] = ["primary", "secondary"];
/// Command block bases: fixed, the data sheet says; they cannot be moved.
pub const COMMAND_BLOCKS: [u32; 2] = [0x1F0, 0x170];
/// Control blocks: of their registers the bridge decodes the one of alternate status and device control.
const CONTROL_BLOCKS: [u32; 2] = [0x3F6, 0x376];
/// Interrupt controllers: two registers each.
const INTERRUPT_CONTROLLERS: [u32; 2] = [0x20, 0xA0];

/// Which register an I/O address names.
enum Decoded {
    InterruptController,
    CommandBlock(usize, u32),
    ControlBlock(usize),
    BusMaster(usize, u32),
}

impl IdeBridge {
    fn decode(&self, address: u32) -> Option<Decoded> {
        if INTERRUPT_CONTROLLERS.iter().any(|base| (*base..base + 2).contains(&address)) {
            return Some(Decoded::InterruptController);
        }
        if let Some(channel) = COMMAND_BLOCKS.iter().position(|base| (*base..base + 8).contains(&address)) {
            return Some(Decoded::CommandBlock(channel, address - COMMAND_BLOCKS[channel]));
        }
        if let Some(channel) = CONTROL_BLOCKS.iter().position(|register| *register == address) {
            return Some(Decoded::ControlBlock(channel));
        }
        let offset = address.checked_sub(self.spec.bus_master_base).filter(|offset| *offset < 16)?;
        Some(Decoded::BusMaster(offset as usize / 8, offset % 8))
    }
}

impl PciTarget for IdeBridge {
    fn answer(&self, transaction: &Transaction, now: Time) -> Option<Answer> {
        let inside = (Ready::After(self.spec.register_first_data), &REGISTER);
        let (ready, wait) = match transaction.command {
            Command::InterruptAcknowledge => inside,
            Command::IoRead | Command::IoWrite => match self.decode(transaction.address)? {
                Decoded::InterruptController | Decoded::BusMaster(..) => inside,
                Decoded::CommandBlock(channel, pio::DATA_PORT) => {
                    (self.port_answer(&self.channels[channel], now), &DRIVE_REGISTER)
                }
                // The same cycle on the cable: a control block has a chip select of its own.
                Decoded::CommandBlock(channel, _) | Decoded::ControlBlock(channel) => {
                    let control = CONTROL_BLOCKS.contains(&transaction.address);
                    let (da, port) = ((transaction.address & 7) as u8, transaction.address as u16);
                    let access = Access { control, da, writes: !transaction.command.reads(), port };
                    let cable = self.cable(channel)?;
                    let left = cable.access(transaction.address).saturating_sub(now + self.pci.clocks(1));
                    let waits = left.as_ps().div_ceil(self.pci.clocks(1).as_ps()).max(1);
                    let ready = if waits < self.spec.retry_after {
                        cable.accessed(access, now + self.pci.clocks(1 + waits));
                        Ready::After(waits)
                    } else {
                        Ready::Retry(self.spec.retry_after)
                    };
                    (ready, &DRIVE_REGISTER)
                }
            },
            _ => return None,
        };
        Some(Answer { ready, wait, boundary_bytes: 0 })
    }

    fn io_write(&self, address: u32, value: u32, errand: Errand) {
        match self.decode(address) {
            Some(Decoded::CommandBlock(channel, offset)) => {
                if let (Some(cable), Some(register)) = (self.cable(channel), Register::at(offset)) {
                    cable.write(register, value as u8, errand);
                }
            }
            // BMICX: bit 0 starts, bit 3 says that data goes to memory.
            Some(Decoded::BusMaster(channel, 0)) if value & 1 != 0 => {
                let direction = if value & 8 != 0 { Direction::ToMemory } else { Direction::ToDrive };
                let channel = &self.channels[channel];
                channel.started.put_now((direction, errand));
            }
            Some(Decoded::BusMaster(channel, 4)) => self.channels[channel].table.set(value),
            _ => {}
        }
    }
}

/// The numbers of a mode, or of the fastest there are.
fn nearest<T>(modes: &[T], mode: usize) -> Option<&T> {
    modes.get(mode).or(modes.last())
}
