//! An IDE driver: a list of register accesses that it walks for every request, on one processor.
//!
//! ```text
//!   request ──▶ start steps ──▶ (the bridge and the drive work) ──▶ interrupt ──▶ service steps ──▶ completion
//!                                              ▲                                     │
//!                                              └──── programmed I/O: `words` ◀───────┘ a block of sectors an interrupt
//! ```
//!
//! The list is data. A step spends its gap on the processor, then makes one bus cycle. One process a channel:
//! a channel has one command at a time, whichever of its drives it is for. For a drive in a PIO mode the accesses to
//! the bus master's registers fall away.
//!
//! Not modelled: errors, time-outs, sharing of the interrupt, reordering of requests.

mod steps;
mod words;

use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Lane, Queue, Sim, Time};

use self::steps::{Base, Step, Written};
use self::words::Words;
use crate::bridge::host::Region;
use crate::bridge::ide::{CHANNELS, COMMAND_BLOCKS, IdeBridge};
use crate::cpu::{Layer, Processor, Work};
use crate::protocols::ide::{IdeDrive, READ_DMA, READ_MULTIPLE, SECTOR_BYTES, TransferMode, WRITE_DMA, WRITE_MULTIPLE};
use crate::protocols::storage::{Operation, Request, Storage};

static NO_REQUEST: Label = Label::workload("no request");
static DEVICE_AT_WORK: Label = Label::reason("device at work");
static CHANNEL_BUSY: Label = Label::queued("channel busy with another command");
static COMMAND: Label = Label::reason("command under way");

/// Pages of memory: a transfer of more is scattered over them.
const PAGE_BYTES: u32 = 4_096;
/// Commands that a channel's driver queues, over all its drives: 4,096 requests of 16 MiB in pieces of 4 KiB.
const QUEUE_MAX: usize = 4_096 * 4_096;

/// The driver's behaviour.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Accesses from the interrupt to the end of the request.
    #[rows("service.rows")]
    service: Vec<Step>,
    /// Accesses from the request to the start of its command.
    #[rows("start.rows")]
    start: Vec<Step>,
    /// Most bytes a command moves: 256 sectors. Longer requests become several.
    #[bytes("transfer_max", PAGE_BYTES.into()..=(256 * SECTOR_BYTES).into(), multiple_of = PAGE_BYTES.into())]
    pub transfer_bytes_max: u32,
    /// Processor time of a request above the driver.
    #[time("time_above")]
    pub time_above: Time,
    /// How the processor moves the data of a drive in a PIO mode.
    #[nested("words")]
    words: Words,
}

/// A command on its way through the driver: a request, or a part of one.
struct Piece {
    operation: Operation,
    drive: usize,
    mode: TransferMode,
    lba: u32,
    sectors: u32,
    queued: Time,
    errand: Errand,
    last_of: Option<Request>,
}

/// The driver of one channel.
struct ChannelDriver {
    sim: Sim,
    spec: Rc<Spec>,
    /// The channel, from the first step for a command to the last.
    commands: Lane,
    processor: Rc<Processor>,
    bridge: Rc<IdeBridge>,
    channel: usize,
    queue: Queue<Piece>,
}

/// A drive behind the driver.
struct Volume {
    driver: Rc<ChannelDriver>,
    position: usize,
    drive: Rc<dyn IdeDrive>,
}

/// Starts the driver on every channel that has drives; returns them, by the names of the drives.
pub fn install(
    sim: &Sim,
    name: &str,
    spec: Spec,
    processor: &Rc<Processor>,
    bridge: &Rc<IdeBridge>,
) -> Vec<(String, Rc<dyn Storage>)> {
    let spec = Rc::new(spec);
    let mut volumes: Vec<(String, Rc<dyn Storage>)> = Vec::new();
    for (channel, channel_name) in CHANNELS.iter().enumerate() {
        let Some(cable) = bridge.cable(channel) else { continue };
        let (processor, bridge, queue) = (processor.clone(), bridge.clone(), Queue::new(sim, QUEUE_MAX));
        let (sim, spec, commands) = (sim.clone(), spec.clone(), sim.lane(&format!("{name}.{channel_name}"), None));
        let driver = Rc::new(ChannelDriver { sim: sim.clone(), spec, commands, processor, bridge, channel, queue });
        for (position, drive_name, drive) in cable.drives() {
            drive.set_multiple(driver.spec.words.multiple);
            volumes.push((drive_name, Rc::new(Volume { driver: driver.clone(), position, drive })));
        }
        let running = driver.clone();
        sim.process(&format!("{name}.{channel_name}"), async move { running.run().await });
    }
    volumes
}

impl Storage for Volume {
    fn submit(&self, request: Request) {
        let max = self.driver.spec.transfer_bytes_max;
        let (operation, drive, bytes) = (request.operation, self.position, request.bytes);
        let mode = self.drive.transfer_mode();
        let (queued, errand) = (self.driver.sim.now(), self.driver.sim.pass_on(request.errand));
        let mut request = Some(request);
        let offset = request.as_ref().map_or(0, |r| r.offset_bytes);
        let mut done = 0;
        while done < bytes {
            let part = max.min(bytes - done);
            let lba = ((offset + u64::from(done)) / u64::from(SECTOR_BYTES)) as u32;
            done += part;
            let last_of = if done == bytes { request.take() } else { None };
            let piece = Piece { operation, drive, mode, lba, sectors: part / SECTOR_BYTES, queued, errand, last_of };
            // Jobs keep fewer requests in flight than the driver queues.
            self.driver.queue.put_now(piece);
        }
    }

    fn size_bytes(&self) -> u64 {
        self.drive.sectors() * u64::from(SECTOR_BYTES)
    }

    fn block_bytes(&self) -> u32 {
        SECTOR_BYTES
    }

    fn processor(&self) -> Option<Rc<Processor>> {
        Some(self.driver.processor.clone())
    }

    fn above(&self, _: Operation, _: u32) -> (Layer, Time) {
        (Layer::FileSystem, self.driver.spec.time_above)
    }
}

impl ChannelDriver {
    async fn run(&self) {
        let mut regions = Vec::with_capacity(64);
        loop {
            let mut piece = self.queue.take(&NO_REQUEST).await;
            self.sim.take_up(piece.errand);
            let mut work = self.processor.dispatch().await;
            let mut begun = self.sim.now();
            loop {
                self.walk((&work, Layer::Driver), &self.spec.start, &piece, &mut regions).await;
                let Some(cable) = self.bridge.cable(self.channel) else { return };
                let mut blocks = self.first_block(&work, &cable, &piece).await;
                loop {
                    drop(work);
                    cable.interrupts().take(&DEVICE_AT_WORK).await;
                    work = self.processor.dispatch().await;
                    self.walk((&work, Layer::Interrupts), &self.spec.service, &piece, &mut regions).await;
                    if !self.next_block(&work, &cable, &piece, &mut blocks).await {
                        break;
                    }
                }
                if let Some(request) = piece.last_of.take() {
                    request.end(&self.sim);
                }
                self.commands.was_in(&COMMAND, begun);
                begun = self.sim.now();
                // What waits is started at once, before the thread hears of what has ended.
                let before = piece.errand;
                match self.queue.try_take() {
                    Some(next) => piece = next,
                    None => break,
                }
                self.sim.take_up_after(before, piece.errand);
                self.commands.awaited(&CHANNEL_BUSY, piece.queued);
            }
        }
    }

    async fn walk(&self, (work, layer): (&Work<'_>, Layer), steps: &[Step], piece: &Piece, regions: &mut Vec<Region>) {
        let host = self.bridge.host();
        let programmed = piece.mode.is_programmed();
        for (index, step) in steps.iter().enumerate() {
            let (command, place, bytes, written) = step.cycle.parts();
            if programmed && place.base == Base::BusMaster {
                // The way to the list is the same.
                work.compute(layer, if index == 0 { step.gap } else { Time::ZERO }).await;
                continue;
            }
            work.compute(layer, step.gap).await;
            let address = place.offset
                + match place.base {
                    Base::Fixed => 0,
                    Base::CommandBlock => COMMAND_BLOCKS[self.channel],
                    Base::BusMaster => self.bridge.bus_master_base(self.channel),
                };
            let value = self.value(written, piece, regions);
            host.processor_cycle(work, command, (address, bytes), (value, piece.errand)).await;
        }
    }

    fn value(&self, written: Written, piece: &Piece, regions: &mut Vec<Region>) -> u32 {
        match written {
            Written::Constant(value) => value,
            Written::DescriptorTable => {
                let table = 0x0010_0000 + 0x1_0000 * self.channel as u32;
                scatter(regions, self.channel, piece.sectors * SECTOR_BYTES);
                self.bridge.host().write_table(table, regions);
                table
            }
            Written::SelectDrive => 0xE0 | (piece.drive as u32) << 4,
            // ATA/ATAPI-4, 8.25: 256 sectors are written as zero.
            Written::SectorCount => piece.sectors & 0xFF,
            Written::DriveAndLbaTop => 0xE0 | (piece.drive as u32) << 4 | piece.lba >> 24 & 0x0F,
            Written::LbaLow => piece.lba & 0xFF,
            Written::LbaMid => piece.lba >> 8 & 0xFF,
            Written::LbaHigh => piece.lba >> 16 & 0xFF,
            Written::Command => u32::from(match (piece.mode.is_programmed(), piece.operation) {
                (false, Operation::Read) => READ_DMA,
                (false, Operation::Write) => WRITE_DMA,
                (true, Operation::Read) => READ_MULTIPLE,
                (true, Operation::Write) => WRITE_MULTIPLE,
            }),
            Written::Start => {
                if piece.operation == Operation::Read {
                    0x09
                } else {
                    0x01
                }
            }
        }
    }
}

/// A channel's buffer begins here, times its number and one.
const BUFFERS_AT: u32 = 0x0100_0000;

/// Memory that the driver's buffers reach into, bytes.
pub fn memory_needed(spec: &Spec) -> u64 {
    u64::from(BUFFERS_AT) * CHANNELS.len() as u64 + 2 * u64::from(spec.transfer_bytes_max)
}

/// A buffer that begins at a page: one region a page, every second page of memory, so that none join.
fn scatter(regions: &mut Vec<Region>, channel: usize, bytes: u32) {
    regions.clear();
    let base = BUFFERS_AT * (channel as u32 + 1);
    let mut left = bytes;
    while left > 0 {
        let part = left.min(PAGE_BYTES);
        regions.push(Region { address: base + 2 * PAGE_BYTES * regions.len() as u32, bytes: part });
        left -= part;
    }
}
