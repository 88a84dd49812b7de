//! An operating system's I/O stack: what a request costs above the drivers, how it is split, and a file cache.
//!
//! ```text
//!   job ──▶ path above the driver ─┬─ direct ────▶ pieces of 64 KiB ─────────────────────────┬─▶ volume or driver
//!                                  └─ buffered ──▶ file cache ═ copy ═ (read ahead, write behind) ─┘
//! ```
//!
//! Every device of the machine is seen through it. A job opens a device with or without the cache, and with one request
//! under way (synchronous) or several (asynchronous); either way a request of its own costs the thread of the job
//! processor time, fixed and by length. `device.rs` carries pieces, `cache.rs` knows which pages are where, `files.rs`
//! copies, reads ahead and writes behind.
//!
//! Not modelled: files and their metadata, mapped files, a flush, a cache that grows with free memory, one cache over all
//! devices (each has its share), pages of direct requests that are in the cache, reading a page before it is written in
//! part, the second for which a page that is written may lie, copies of one device on two processors at once.

mod cache;
mod device;
mod files;

use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Sim, Time};

use self::device::Device;
use self::files::File;
use crate::cpu::Processor;
use crate::parameters::{Parameters, SpecError};
use crate::protocols::storage::{Opened, Storage};

/// Bytes move between cache and job at the pace of the processor that copies them.
static COPIED: Label = Label::through("copied by the processor");

/// Pages of a Pentium: what a cache keeps.
const PAGE_BYTES: u64 = 4_096;
/// What costs by length are counted in.
const KIB: u64 = 1_024;

/// Most that a request may cost whatever its length, and each KiB of it.
const FIXED_MAX: Time = Time::ms(100);
const KIB_MAX: Time = Time::ms(1);
const PIECE_MAX: u64 = 1 << 24;
const CACHE_MAX: u64 = 1 << 36;

/// Processor time of a request: fixed, and for each KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
struct Cost {
    /// Processor time of a request, whatever its length.
    #[time("fixed", ..=FIXED_MAX)]
    fixed: Time,
    /// Processor time of each KiB of a request.
    #[time("kib", ..=KIB_MAX)]
    kib: Time,
}

impl Cost {
    fn of(self, bytes: u32) -> Time {
        self.fixed + for_each_kib(self.kib, bytes)
    }
}

fn for_each_kib(kib: Time, bytes: u32) -> Time {
    Time::ps(kib.as_ps() * u64::from(bytes) / KIB)
}

/// What some requests cost besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
struct Extra {
    /// Processor time that a short synchronous direct read costs besides.
    #[time("small_read", ..=FIXED_MAX)]
    small_read: Time,
    /// Reads of less bytes than that are short.
    #[bytes("small_read_below", 0..=PIECE_MAX, multiple_of = PAGE_BYTES)]
    small_read_below: u32,
    /// Processor time that an asynchronous direct request costs besides.
    #[time("asynchronous", ..=FIXED_MAX)]
    asynchronous: Time,
    /// Processor time of each KiB that a long buffered read costs besides: it is copied once more.
    #[time("long_read", ..=KIB_MAX)]
    long_read: Time,
    /// Reads of so many bytes or more are long.
    #[bytes("long_read_from", 0..=PIECE_MAX, multiple_of = PAGE_BYTES)]
    long_read_from: u32,
}

/// The system's behaviour.
#[derive(Clone, Debug, PartialEq, Spec)]
#[spec(holds = Spec::fits)]
pub struct Spec {
    /// What a direct request costs.
    #[nested("direct")]
    direct: Cost,
    /// Processor time of a buffered request, besides its copy.
    #[time("buffered.fixed", ..=FIXED_MAX)]
    buffered: Time,
    /// What it costs that the cache itself asks something of the device.
    #[nested("paging")]
    paging: Cost,
    /// Most bytes of what goes to the device at a time.
    #[bytes("piece", PAGE_BYTES..=PIECE_MAX, multiple_of = PAGE_BYTES)]
    piece: u32,
    /// Processor time of each KiB that is copied out of the cache.
    #[time("copy.read", ..=KIB_MAX)]
    copy_read: Time,
    /// Processor time of each KiB that is copied into the cache.
    #[time("copy.write", ..=KIB_MAX)]
    copy_write: Time,
    /// Bytes of the cache of each device.
    #[bytes("cache.size", 1 << 20..=CACHE_MAX, multiple_of = PAGE_BYTES)]
    cache_bytes: u64,
    /// What follows a run of reads is read ahead: so many pieces.
    #[count("cache.ahead", 0..=64)]
    ahead: u64,
    /// Pages that are written go to the device from so many bytes on.
    #[bytes("write_behind.from", PAGE_BYTES..=CACHE_MAX, multiple_of = PAGE_BYTES)]
    behind_from: u64,
    /// Pieces of written pages that go to the device at a time.
    #[count("write_behind.pieces", 1..=64)]
    behind_pieces: u64,
    /// Whoever writes waits while more bytes than that are not on the device yet.
    #[bytes("write_behind.limit", PAGE_BYTES..=CACHE_MAX, multiple_of = PAGE_BYTES)]
    behind_limit: u64,
    /// What some requests cost besides.
    #[nested("extra")]
    extra: Extra,
}

impl Spec {
    fn fits(&self, p: &Parameters) -> Result<(), SpecError> {
        let room = self.behind_limit.saturating_sub(u64::from(self.piece));
        if self.behind_from > room || self.behind_limit > self.cache_bytes / 2 {
            let help = "expected write_behind.from and a piece at least, and half of the cache at most";
            return Err(p.error("write_behind.limit", "whoever waited would wait for ever", help));
        }
        Ok(())
    }
}

/// What the devices are called, and what they look like through the system. None may have passed one before.
pub fn install(
    sim: &Sim,
    name: &str,
    spec: Spec,
    processor: &Rc<Processor>,
    volumes: Vec<(String, Rc<dyn Storage>)>,
) -> Option<Vec<(String, Rc<dyn Storage>)>> {
    let how = Opened { buffered: false, asynchronous: false };
    if volumes.iter().any(|(_, volume)| volume.opened(how).is_some()) {
        return None;
    }
    let (spec, memory) = (Rc::new(spec), sim.lane(&format!("{name}.memory"), None));
    if spec.copy_read > Time::ZERO {
        memory.carries(&COPIED, KIB, spec.copy_read);
    }
    let through = |(device, below): (String, Rc<dyn Storage>)| {
        let inside = format!("{name}.{device}");
        let opened = Device::start(sim, &inside, spec.clone(), processor, &memory, below);
        (device, Rc::new(File::open(&opened, how)) as Rc<dyn Storage>)
    };
    Some(volumes.into_iter().map(through).collect())
}
