//! A hard disk on a parallel SCSI bus: tagged commands, a segmented buffer with read-ahead, and mechanics in full.
//!
//! ```text
//!   bus ─▶ firmware ─▶ hit, or a write that may wait ──────────────▶ transfers ─▶ bus
//!          overhead ─▶ waiting commands ─▶ arm: seek, rotation, media ─▶ ↑
//!          look-up     fcfs, elevator, sptf    reads on (read-ahead)    segments
//! ```
//!
//! Firmware, arm and transfers are a process each; geometry, streams and buffer answer synchronously. After the command
//! the drive leaves the bus, unless it has the data or the room and nothing else to do. A read comes back in time for
//! its last sector to be the last on the bus; longer ones come in several bursts. A write is reported when it is in a
//! write segment, or on the media where none has room.
//!
//! The overheads are the drive's own: from the command to the first data or the first move of the arm, by hit or miss, and
//! by what the command before was; and before the status. What continues a read that the arm has or will have is a hit.
//! The drive comes back to the bus at its high water mark, and asks for more of a write at its low one. A seek's time is the curve's, whatever the direction. Angles are
//! exact to a picosecond, and the angle at the start follows from the seed.
//!
//! Not modelled: remapped sectors (slipped ones are), reads that begin in the middle of their range (zero latency),
//! sector reordering of writes, a read that outruns its segment while the bus is busy, caching of sectors next to those
//! asked for except read-ahead, thermal recalibration, errors and retries, a spindle that drifts, power modes, mode
//! pages, tagged commands that must not be reordered (ORDERED and HEAD OF QUEUE), several initiators.
//!
//! Sources: SCSI-2 (X3.131-1994); G. Ganger et al., The DiskSim Simulation Environment; C. Ruemmler and J. Wilkes, An
//! Introduction to Disk Drive Modeling (1994).

mod buffer;
mod firmware;
mod mechanics;
mod schedule;
mod spec;
mod stream;
#[cfg(test)]
mod tests;
mod transfers;

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use hopscope_kernel::{Bell, Lane, Queue, Sim, Time};
use rand_core::RngCore;

use crate::bus::scsi::ScsiBus;
use crate::chance;
use crate::disk::geometry::Geometry;
use crate::protocols::scsi::{BLOCK_BYTES, Command, Target};
use buffer::{Buffer, Found};
use mechanics::Head;
use schedule::Job;
pub use spec::Spec;
use transfers::Transfer;

/// A drive.
pub struct ScsiDisk {
    sim: Sim,
    spec: Spec,
    bus: Rc<ScsiBus>,
    id: usize,
    /// A block on the bus, known when the machine is complete.
    per_block: OnceCell<Time>,
    commands: Queue<Command>,
    /// Commands that have come and are not reported yet.
    under_way: Cell<u32>,
    firmware: Lane,
    arm: Lane,
    geometry: Geometry,
    buffer: RefCell<Buffer>,
    head: RefCell<Head>,
    /// What waits for the arm, in order of arrival.
    waiting: RefCell<Vec<Job>>,
    /// How many have come.
    jobs: Cell<u64>,
    /// Wakes the arm.
    work: Bell,
    transfers: Queue<Transfer>,
    /// Sectors of a write that have come over the bus while the arm moved.
    fetched: Queue<u64>,
    /// The arm has a command.
    arm_works: Cell<bool>,
    /// The sector behind the read that the arm has.
    reads_up_to: Cell<Option<u64>>,
    /// Sectors of the write that the arm has, which have come over the bus and are not on the media.
    unwritten: Cell<u64>,
    /// So few of those are left that the drive asks for more.
    drained: Bell,
    /// Writes that are not reported, and whose data came before the arm did.
    fetched_early: Cell<usize>,
    /// A write segment has room again.
    room: Bell,
}

impl ScsiDisk {
    /// A drive at an id of a bus. An error where that id is not free. `seed` decides its spindle's angle at the start.
    pub fn new(
        sim: &Sim,
        name: &str,
        spec: Spec,
        bus: &Rc<ScsiBus>,
        id: usize,
        seed: u64,
    ) -> Result<Rc<ScsiDisk>, String> {
        let mut random = chance::of(name, seed);
        let lane = |of: &str| sim.lane(&format!("{name}.{of}"), None);
        let (firmware, arm) = (lane("firmware"), lane("arm"));
        let geometry = spec.geometry.built(&arm, random.next_u64());
        let depth = spec.queue_depth as usize;
        let disk = Rc::new(ScsiDisk {
            sim: sim.clone(),
            bus: bus.clone(),
            id,
            per_block: OnceCell::new(),
            commands: Queue::new(sim, depth),
            under_way: Cell::new(0),
            firmware,
            arm,
            geometry,
            buffer: RefCell::new(Buffer::new(spec.segments, spec.segment_sectors, spec.write_segments)),
            head: RefCell::new(Head::parked(spec.geometry.place(0))),
            waiting: RefCell::new(Vec::with_capacity(depth + spec.write_segments * 8)),
            jobs: Cell::new(0),
            work: Bell::new(sim),
            transfers: Queue::new(sim, depth + spec.segments),
            fetched: Queue::new(sim, spec.segment_sectors.div_ceil(spec.burst_sectors) as usize + 1),
            arm_works: Cell::new(false),
            reads_up_to: Cell::new(None),
            unwritten: Cell::new(0),
            drained: Bell::new(sim),
            fetched_early: Cell::new(0),
            room: Bell::new(sim),
            spec,
        });
        let target: Rc<dyn Target> = disk.clone();
        bus.attach(id, name, Rc::downgrade(&target))?;
        let held = disk.clone();
        let unwritten = move || held.buffer.borrow().unwritten_sectors() * u64::from(BLOCK_BYTES);
        sim.level(&format!("what {name} has to write to its media"), unwritten);
        let running = disk.clone();
        sim.process(&format!("{name}.firmware"), async move { running.run_firmware().await });
        let running = disk.clone();
        sim.process(&format!("{name}.mechanics"), async move { running.run_mechanics().await });
        let running = disk.clone();
        sim.process(&format!("{name}.transfers"), async move { running.run_transfers().await });
        Ok(disk)
    }

    /// What is in the buffer of a read, with all that has come from the media by now.
    fn look_up(&self, first: u64, end: u64) -> Found {
        let mut buffer = self.buffer.borrow_mut();
        self.head.borrow_mut().store(&self.geometry, &mut buffer, self.sim.now());
        buffer.find(first, end)
    }

    fn per_block(&self) -> Time {
        *self.per_block.get_or_init(|| self.bus.data_time(self.id, BLOCK_BYTES))
    }
}

impl Target for ScsiDisk {
    fn command(&self, command: Command) {
        self.under_way.set(self.under_way.get() + 1);
        self.commands.put_now(command);
    }

    fn blocks(&self) -> u64 {
        self.geometry.sectors()
    }

    fn queue_depth(&self) -> u32 {
        self.spec.queue_depth
    }

    fn rate(&self) -> u64 {
        self.spec.rate
    }

    fn stays_connected(&self, command: &Command) -> bool {
        if !self.spec.stays_connected || self.under_way.get() > 0 {
            return false;
        }
        let (first, sectors) = (command.lba, u64::from(command.blocks));
        if command.writes {
            return self.buffer.borrow().has_room(first, sectors);
        }
        matches!(self.look_up(first, first + sectors), Found::Whole(_))
    }
}
