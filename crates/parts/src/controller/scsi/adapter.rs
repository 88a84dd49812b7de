//! A SCSI host adapter on PCI: a sequencer, a DMA engine and a FIFO for each of its channels.
//!
//! ```text
//!   doorbell ─▶ a context: sequencer fetches the control block ─▶ channel: arbitration … command
//!                 FIFO ◀─▶ DMA engine ◀─▶ PCI (and the scatter list, as it is needed)
//!                 status ─▶ sequencer ─▶ number of the command to memory ─▶ INTx
//! ```
//!
//! A command is a control block in memory, of which the driver tells with one register write. A context carries it from
//! its fetch to its end. Each channel's sequencer does one thing at a time, its DMA engine moves one piece at a time.
//!
//! Not modelled: the sequencer's instructions (each task of it has a time), mailboxes and other ways to hand a command
//! over, control blocks that are paged out, target mode, errors and bus resets, transfers by the processor.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Lane, Numbered, Queue, Sim, Time};

use super::channel::{self, Channel, Exchange};
use crate::bridge::pci_x::initiator::Initiator;
use crate::bridge::pci_x::slot::Slot;
use crate::bus::pci::card::CardSpec;
use crate::bus::scsi::HostEnd;
use crate::controller::finished::Finished;
use crate::protocols::pci::{DATA, DESCRIPTOR_DATA};
use crate::protocols::scsi::BLOCK_BYTES;

static NO_DOORBELL: Label = Label::reason("no register written");
static NO_COMMAND: Label = Label::reason("no command");
static SEQUENCER_BUSY: Label = Label::reason("sequencer busy");
static FETCH: Label = Label::protocol("fetch of a control block");
static COMMAND: Label = Label::protocol("command set-up");
static TRANSFER: Label = Label::protocol("data set-up");
static COMPLETION: Label = Label::protocol("completion");
static POST: Label = Label::protocol("number of the command to memory");
static ENGINE_BUSY: Label = Label::reason("DMA engine busy");
static LIST: Label = Label::protocol("fetch of the scatter list");
static THROUGH: Label = Label::through("data between FIFO and PCI");

const CHANNELS_MAX: u64 = 4;
const CONTEXTS_MAX: u64 = 256;
/// An entry of a scatter list: address and length.
const ENTRY_BYTES: u32 = 8;
/// The number of an ended command.
const NUMBER_BYTES: u32 = 4;
/// Where in memory control blocks, scatter lists and numbers of ended commands are.
const BLOCKS_AT: u32 = 0x0800_0000;
const LISTS_AT: u32 = 0x0900_0000;
const LIST_BYTES: u32 = 0x1000;
const ENDED_AT: u32 = 0x0700_0000;

/// The adapter's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Channels, each with a bus.
    #[count("channels", 1..=CHANNELS_MAX)]
    pub channels: usize,
    /// What each channel is like.
    #[by(channel::read(p), declares = channel::declare)]
    channel: HostEnd,
    /// Commands of a channel that are under way, at most.
    #[count("contexts", 1..=CONTEXTS_MAX)]
    contexts: u64,
    /// Bytes of a control block, which describes a command in memory.
    #[bytes("sequencer.control_block", 4..=LIST_BYTES.into(), multiple_of = 4)]
    control_block: u32,
    /// Bytes of a scatter list that are fetched at once: entries of 8 B.
    #[bytes("sequencer.list", ENTRY_BYTES.into()..=LIST_BYTES.into(), multiple_of = ENTRY_BYTES.into())]
    list: u32,
    /// What the sequencer does of a command before the bus.
    #[time("sequencer.command")]
    command: Time,
    /// What the sequencer does of a command before its data move.
    #[time("sequencer.transfer")]
    transfer: Time,
    /// What the sequencer does of a command after its status.
    #[time("sequencer.completion")]
    completion: Time,
    /// Its card on the bus.
    #[nested("pci")]
    pci: CardSpec,
}

/// A command, as its control block describes it.
#[derive(Clone, Copy, Debug)]
pub struct ControlBlock {
    /// The driver's number of it.
    pub number: u32,
    /// Channel and id.
    pub channel: usize,
    /// Id of the drive.
    pub target: usize,
    /// To the drive.
    pub writes: bool,
    /// First block.
    pub lba: u64,
    /// How many blocks.
    pub blocks: u32,
    /// Where its data are in memory.
    pub buffer: u32,
    /// Bytes of an entry of the scatter list.
    pub contiguous: u32,
    /// For whom it is.
    pub errand: Errand,
}

/// What the processor writes to a register.
enum Write {
    Doorbell(ControlBlock),
    ClearInterrupt,
}

/// One channel and what serves it.
struct Engine {
    channel: Rc<Channel>,
    sequencer: Lane,
    dma: Lane,
    commands: Queue<ControlBlock>,
}

/// An adapter.
pub struct Adapter {
    sim: Sim,
    spec: Spec,
    pci: Rc<Initiator>,
    engines: Vec<Engine>,
    /// Register writes that are on their way, in their order.
    writes: RefCell<VecDeque<Write>>,
    /// Commands that have ended.
    ended: Finished,
    /// INTx.
    asserted: Cell<bool>,
}

impl Adapter {
    /// An adapter in a slot. An error concerns `pci.clock`.
    pub fn new(sim: &Sim, name: &str, spec: Spec, slot: &Slot) -> Result<Rc<Adapter>, String> {
        let pci = Initiator::new(sim, name, spec.pci.clone(), slot)?;
        let engine = |number: usize| Engine {
            channel: Channel::new(sim, spec.channel.clone()),
            sequencer: sim.lane(&format!("{name}.sequencer{number}"), None),
            dma: sim.lane(&format!("{name}.dma{number}"), None),
            commands: Queue::new(sim, usize::MAX),
        };
        let adapter = Rc::new(Adapter {
            sim: sim.clone(),
            pci,
            engines: (0..spec.channels).map(engine).collect(),
            writes: RefCell::new(VecDeque::new()),
            ended: Finished::new(sim),
            asserted: Cell::new(false),
            spec,
        });
        let running = adapter.clone();
        sim.process(&format!("{name}.doorbell"), async move { running.run_doorbell().await });
        for channel in 0..adapter.spec.channels {
            let contexts = Numbered { name: &format!("{name}.channel{channel}.context"), digits: 3 };
            sim.processes_on_call(
                &adapter,
                contexts,
                adapter.spec.contexts as usize,
                &NO_COMMAND,
                move |adapter, _| adapter.engines[channel].commands.clone(),
                move |adapter, _, block| async move { adapter.run_context(channel, block).await },
            );
        }
        Ok(adapter)
    }

    /// How many channels it has.
    pub fn channels(&self) -> usize {
        self.engines.len()
    }

    /// A channel, for its bus.
    pub fn channel(&self, number: usize) -> &Rc<Channel> {
        &self.engines[number].channel
    }

    /// Its slot, for register accesses and interrupts.
    pub fn slot(&self) -> &Slot {
        self.pci.slot()
    }

    /// Puts a control block where the next register write tells of it. That write must follow at once.
    pub fn prepare(&self, block: ControlBlock) {
        self.writes.borrow_mut().push_back(Write::Doorbell(block));
    }

    /// The next register write clears the interrupt. It must follow at once.
    pub fn prepare_clear(&self) {
        self.writes.borrow_mut().push_back(Write::ClearInterrupt);
    }

    /// Commands that have ended, as memory says.
    pub fn ended(&self) -> &Finished {
        &self.ended
    }

    /// Takes register writes as they arrive.
    async fn run_doorbell(&self) {
        loop {
            let errand = self.slot().written().take(&NO_DOORBELL).await;
            self.sim.take_up(errand);
            let write = self.writes.borrow_mut().pop_front();
            match write {
                Some(Write::Doorbell(block)) => {
                    let block = ControlBlock { errand: self.sim.pass_on(errand), ..block };
                    self.engines[block.channel].commands.put(block, &NO_COMMAND).await;
                }
                Some(Write::ClearInterrupt) => {
                    self.asserted.set(false);
                    self.ended.each(|errand| self.sim.take_up_too(errand));
                    self.tell();
                }
                None => {}
            }
        }
    }

    /// INTx is asserted while there is something to tell and the driver has not taken note.
    fn tell(&self) {
        if !self.ended.is_empty() && !self.asserted.replace(true) {
            self.ended.each(|errand| self.pci.interrupt(errand));
        }
    }

    async fn run_context(&self, number: usize, first: ControlBlock) {
        let (engine, mut block) = (&self.engines[number], first);
        loop {
            self.sim.take_up(block.errand);
            self.fetch(engine, &block).await;
            let channel = &engine.channel;
            let exchange = channel.begin(block.target, block.writes, block.lba, block.blocks, block.errand).await;
            self.transfer(engine, &block, exchange).await;
            self.end(engine, &block).await;
            block = engine.commands.take(&NO_COMMAND).await;
        }
    }

    /// The sequencer fetches a control block and sets the channel up.
    async fn fetch(&self, engine: &Engine, block: &ControlBlock) {
        let grant = engine.sequencer.acquire(&SEQUENCER_BUSY).await;
        let (start, bytes) = (self.sim.now(), self.spec.control_block);
        let address = BLOCKS_AT.wrapping_add(block.number.wrapping_mul(bytes));
        self.pci.read(address, bytes, &DESCRIPTOR_DATA, block.errand).await;
        grant.was_in(&FETCH, start);
        grant.hold(&COMMAND, engine.sequencer.paced(self.spec.command)).await;
    }

    /// Moves the data between FIFO and memory, piece by piece.
    async fn transfer(&self, engine: &Engine, block: &ControlBlock, mut exchange: Exchange<'_>) {
        // Bytes that the part of the scatter list that is here describes, and bytes that have been moved.
        let (mut known, mut done) = (0, 0);
        while let Some(bytes) = exchange.next().await {
            if done == 0 {
                let span = engine.sequencer.paced(self.spec.transfer);
                engine.sequencer.acquire(&SEQUENCER_BUSY).await.hold(&TRANSFER, span).await;
            }
            let grant = engine.dma.acquire(&ENGINE_BUSY).await;
            while known < done + u64::from(bytes) {
                let start = self.sim.now();
                let entry = (known / u64::from(block.contiguous)) as u32 * ENTRY_BYTES % LIST_BYTES;
                let address = LISTS_AT.wrapping_add(block.number.wrapping_mul(LIST_BYTES)).wrapping_add(entry);
                self.pci.read(address, self.spec.list, &DESCRIPTOR_DATA, block.errand).await;
                grant.was_in(&LIST, start);
                known += u64::from(self.spec.list / ENTRY_BYTES) * u64::from(block.contiguous);
            }
            let (start, address) = (self.sim.now(), block.buffer.wrapping_add(done as u32));
            if block.writes {
                self.pci.read(address, bytes, &DATA, block.errand).await;
            } else {
                self.pci.write(address, bytes, &DATA, block.errand).await;
            }
            grant.was_in(&THROUGH, start);
            drop(grant);
            exchange.moved(bytes);
            done += u64::from(bytes);
        }
        debug_assert_eq!(done, u64::from(block.blocks) * u64::from(BLOCK_BYTES), "bytes in are bytes out");
    }

    /// The sequencer writes the number of an ended command to memory and says so.
    async fn end(&self, engine: &Engine, block: &ControlBlock) {
        let grant = engine.sequencer.acquire(&SEQUENCER_BUSY).await;
        grant.hold(&COMPLETION, engine.sequencer.paced(self.spec.completion)).await;
        let start = self.sim.now();
        self.pci.write(ENDED_AT, NUMBER_BYTES, &DESCRIPTOR_DATA, block.errand).await;
        grant.was_in(&POST, start);
        drop(grant);
        self.ended.push(block.number, block.errand);
        self.tell();
    }
}
