//! A hard disk behind an IDE cable.
//!
//! ```text
//!   cable ──▶ firmware (one command at a time) ──▶ buffer: extents read, blocks to write ──▶ mechanics
//!             decode, look up, follow up             read-ahead, write cache                   seek, rotate, media
//! ```
//!
//! Firmware and mechanics are a process each; geometry and buffer answer synchronously.
//!
//! Not modelled: defects and spares, recalibration, power modes, tagged queueing, a spindle that drifts,
//! reads that start in the middle of their range (zero latency), writes in the order that takes least time.

mod buffer;
mod firmware;
mod geometry;
mod mechanics;
mod programmed;
pub mod sata_ssd;
pub mod scsi;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Lane, Queue, Sim, Time, Tokens};
use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

use crate::bus::ide_cable::IdeCable;
use crate::chance;
use crate::protocols::ide::{IdeDrive, Register, SECTOR_BYTES, TransferMode, WRITE_DMA, WRITE_MULTIPLE};
use buffer::Buffer;
pub use buffer::WriteOrder;
use geometry::{Drawing, Geometry};
use mechanics::{Job, Stream};

/// The drive's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Where sectors are, and when they pass.
    #[by(Drawing::read(p).map(Arc::new), declares = Drawing::declare)]
    pub geometry: Arc<Drawing>,
    /// Segments of the buffer.
    #[count("buffer.segments", 1..=65_536)]
    pub segments: usize,
    /// Sectors of a segment.
    #[count("buffer.segment", 1..=65_536)]
    pub segment_sectors: u64,
    /// Sectors that read-ahead goes beyond what was asked for, at most.
    #[count("buffer.read_ahead")]
    pub read_ahead_sectors: u64,
    /// A read asks for the cable when so many sectors have come from the media, or the last one has.
    #[count("buffer.offer", 1..=65_536)]
    pub offer_sectors: u64,
    /// Writes that wait in the buffer for the media, at most.
    #[count("buffer.cached_writes", 1..=4_096)]
    pub cached_writes: usize,
    /// Which of the writes that wait goes to the media first.
    #[choice("buffer.write_order")]
    pub write_order: WriteOrder,
    /// The mode the drive is set to.
    // PIO and multiword DMA: ATA/ATAPI-4, table 17. Ultra DMA: ATA/ATAPI-6.
    #[choice(
        "transfer_mode",
        "pio-0" => TransferMode::Pio(0),
        "pio-1" => TransferMode::Pio(1),
        "pio-2" => TransferMode::Pio(2),
        "pio-3" => TransferMode::Pio(3),
        "pio-4" => TransferMode::Pio(4),
        "multiword-dma-0" => TransferMode::MultiwordDma(0),
        "multiword-dma-1" => TransferMode::MultiwordDma(1),
        "multiword-dma-2" => TransferMode::MultiwordDma(2),
        "ultra-dma-0" => TransferMode::UltraDma(0),
        "ultra-dma-1" => TransferMode::UltraDma(1),
        "ultra-dma-2" => TransferMode::UltraDma(2),
        "ultra-dma-3" => TransferMode::UltraDma(3),
        "ultra-dma-4" => TransferMode::UltraDma(4),
        "ultra-dma-5" => TransferMode::UltraDma(5)
    )]
    pub transfer_mode: TransferMode,
    /// Every command: from the command register to its meaning.
    #[time("firmware.decode")]
    pub decode: Time,
    /// A read that does not continue the one before: search of the segments.
    #[time("firmware.look_up")]
    pub look_up: Time,
    /// After a read was decoded: bookkeeping, while its data move; the next command waits for it.
    #[time("firmware.read_follow_up")]
    pub read_follow_up: Time,
    /// After a write was decoded: bookkeeping, while its data move; the next command waits for it.
    #[time("firmware.write_follow_up")]
    pub write_follow_up: Time,
    /// Pause between two writes of the same blocks, on average.
    #[time("firmware.overwrite_interval")]
    pub overwrite_interval: Time,
    /// All spans of the firmware vary evenly by this share either way.
    #[share("firmware.variation", ..=1_000_000)]
    pub variation: u64,
}

/// The registers of the command block.
#[derive(Default)]
struct CommandBlock {
    sector_count: Cell<u8>,
    lba: Cell<u32>,
}

/// A read or a write, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Command {
    writes: bool,
    lba: u64,
    sectors: u64,
    errand: Errand,
}

/// A hard disk.
pub struct Disk {
    sim: Sim,
    spec: Spec,
    cable: Rc<IdeCable>,
    registers: CommandBlock,
    commands: Queue<Command>,
    /// Sectors of a block of READ MULTIPLE and WRITE MULTIPLE.
    multiple: Cell<u64>,
    /// Bytes that crossed the cable for the command under way.
    crossed: Queue<u32>,
    firmware: Lane,
    arm: Lane,
    geometry: Geometry,
    buffer: RefCell<Buffer>,
    /// What the mechanics read, or read last.
    stream: RefCell<Option<Rc<Stream>>>,
    /// Wakes the mechanics.
    jobs: Queue<Job>,
    /// Room for writes.
    write_slots: Tokens,
    /// The sector after the last write to the media.
    write_reached: Cell<u64>,
    random: RefCell<Pcg64Mcg>,
}

impl Disk {
    /// A disk on a cable, as drive 0 or 1. `seed` decides its spindle's angle at the start and its draws.
    pub fn new(sim: &Sim, name: &str, spec: Spec, cable: &Rc<IdeCable>, position: usize, seed: u64) -> Rc<Disk> {
        let mut random = chance::of(name, seed);
        let lane = |of: &str| sim.lane(&format!("{name}.{of}"), None);
        let (firmware, arm) = (lane("firmware"), lane("arm"));
        let geometry = spec.geometry.built(&arm, random.next_u64());
        let write_slots = Tokens::full(sim, spec.cached_writes);
        let buffer = Buffer::new(spec.segments, spec.segment_sectors);
        let disk = Rc::new(Disk {
            sim: sim.clone(),
            cable: cable.clone(),
            registers: CommandBlock::default(),
            commands: Queue::new(sim, 1),
            multiple: Cell::new(1),
            crossed: Queue::new(sim, 4_096),
            firmware,
            arm,
            geometry,
            buffer: RefCell::new(buffer),
            stream: RefCell::new(None),
            jobs: Queue::new(sim, spec.cached_writes + 8),
            write_slots,
            write_reached: Cell::new(0),
            random: RefCell::new(random),
            spec,
        });
        let drive: Rc<dyn IdeDrive> = disk.clone();
        cable.attach(position, name, Rc::downgrade(&drive));
        let held = disk.clone();
        let unwritten = move || held.buffer.borrow().unwritten_sectors() * u64::from(SECTOR_BYTES);
        sim.level(&format!("what {name} has to write to its media"), unwritten);
        let running = disk.clone();
        sim.process(&format!("{name}.firmware"), async move { running.run_firmware().await });
        let running = disk.clone();
        sim.process(&format!("{name}.mechanics"), async move { running.run_mechanics().await });
        disk
    }

    /// A span of the firmware around `mean`, evenly within its variation.
    fn vary(&self, mean: Time) -> Time {
        let spread = (u128::from(mean.as_ps()) * u128::from(self.spec.variation) / 1_000_000) as u64;
        let drawn = (u128::from(self.random.borrow_mut().next_u64()) * u128::from(2 * spread + 1)) >> 64;
        self.firmware.paced(mean - Time::ps(spread) + Time::ps(drawn as u64))
    }
}

impl IdeDrive for Disk {
    fn write(&self, register: Register, value: u8, errand: Errand) {
        let lba = &self.registers.lba;
        let put = |shift: u32, mask: u32| lba.set(lba.get() & !(mask << shift) | (u32::from(value) & mask) << shift);
        match register {
            Register::SectorCount => self.registers.sector_count.set(value),
            Register::LbaLow => put(0, 0xFF),
            Register::LbaMid => put(8, 0xFF),
            Register::LbaHigh => put(16, 0xFF),
            Register::DriveHead => put(24, 0x0F),
            Register::Command => {
                // ATA/ATAPI-4, 8.25: a sector count of zero means 256.
                let sectors = match self.registers.sector_count.get() {
                    0 => 256,
                    count => u64::from(count),
                };
                let writes = matches!(value, WRITE_DMA | WRITE_MULTIPLE);
                self.commands.put_now(Command { writes, lba: u64::from(lba.get()), sectors, errand });
            }
        }
    }

    fn moved(&self, bytes: u32) {
        self.crossed.put_now(bytes);
    }

    fn transfer_mode(&self) -> TransferMode {
        self.spec.transfer_mode
    }

    fn set_multiple(&self, sectors: u64) {
        self.multiple.set(sectors);
    }

    fn sectors(&self) -> u64 {
        self.geometry.sectors()
    }
}

/// Sectors to bytes, within one command.
fn bytes_of(sectors: u64) -> u32 {
    sectors as u32 * SECTOR_BYTES
}
