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

/// Processor time of a request: fixed, and for each KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    fixed: Time,
    kib: Time,
}

impl Cost {
    fn read(p: &mut Parameters, table: &str) -> Result<Cost, SpecError> {
        Ok(Cost { fixed: p.time(&format!("{table}.fixed"))?, kib: p.time(&format!("{table}.kib"))? })
    }

    fn of(self, bytes: u32) -> Time {
        self.fixed + for_each_kib(self.kib, bytes)
    }
}

fn for_each_kib(kib: Time, bytes: u32) -> Time {
    Time::ps(kib.as_ps() * u64::from(bytes) / KIB)
}

/// What some requests cost besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extra {
    /// Of a synchronous direct read of less bytes than that.
    small_read: Time,
    small_read_below: u32,
    /// Of an asynchronous direct request.
    asynchronous: Time,
    /// Of each KiB of a buffered read of so many bytes or more: it is copied once more.
    long_read: Time,
    long_read_from: u32,
}

/// The system's behaviour.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    direct: Cost,
    /// Of a buffered request, besides its copy.
    buffered: Time,
    /// Of what the cache itself asks of the device.
    paging: Cost,
    /// Most bytes of what goes to the device at a time.
    piece: u32,
    /// Of each KiB that is copied out of the cache, and into it.
    copy: [Time; 2],
    cache_bytes: u64,
    /// What follows a run of reads is read ahead: so many pieces.
    ahead: u64,
    /// Pages that are written go to the device from so many bytes on, so many pieces at a time.
    behind_from: u64,
    behind_pieces: u64,
    /// Whoever writes waits beyond so many bytes.
    behind_limit: u64,
    extra: Extra,
}

impl Spec {
    /// Pulls the numbers.
    pub fn read(p: &mut Parameters) -> Result<Spec, SpecError> {
        let spec = Spec {
            direct: Cost::read(p, "direct")?,
            buffered: p.time("buffered.fixed")?,
            paging: Cost::read(p, "paging")?,
            piece: bytes(p, "piece", PAGE_BYTES..=1 << 24)? as u32,
            copy: [p.time("copy.read")?, p.time("copy.write")?],
            cache_bytes: bytes(p, "cache.size", 1 << 20..=1 << 36)?,
            ahead: count(p, "cache.ahead", 0..=64)?,
            behind_from: bytes(p, "write_behind.from", PAGE_BYTES..=1 << 36)?,
            behind_pieces: count(p, "write_behind.pieces", 1..=64)?,
            behind_limit: bytes(p, "write_behind.limit", PAGE_BYTES..=1 << 36)?,
            extra: Extra {
                small_read: p.time("extra.small_read")?,
                small_read_below: bytes(p, "extra.small_read_below", 0..=1 << 24)? as u32,
                asynchronous: p.time("extra.asynchronous")?,
                long_read: p.time("extra.long_read")?,
                long_read_from: bytes(p, "extra.long_read_from", 0..=1 << 24)? as u32,
            },
        };
        let Extra { small_read, asynchronous, long_read, .. } = spec.extra;
        let kib = [spec.direct.kib, spec.paging.kib, spec.copy[0], spec.copy[1], long_read];
        let fixed = [spec.direct.fixed, spec.buffered, spec.paging.fixed, small_read, asynchronous];
        if kib.iter().any(|time| *time > Time::ms(1)) || fixed.iter().any(|time| *time > Time::ms(100)) {
            let help = "expected 100 ms a request and 1 ms a KiB at most";
            return Err(p.error("direct.fixed", "no system needs as long", help));
        }
        let room = spec.behind_limit.saturating_sub(u64::from(spec.piece));
        if spec.behind_from > room || spec.behind_limit > spec.cache_bytes / 2 {
            let help = "expected write_behind.from and a piece at least, and half of the cache at most";
            return Err(p.error("write_behind.limit", "whoever waited would wait for ever", help));
        }
        Ok(spec)
    }
}

/// Whole pages, within what is possible.
fn bytes(p: &mut Parameters, key: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, SpecError> {
    let bytes = p.bytes(key)?;
    if !bytes.is_multiple_of(PAGE_BYTES) || !range.contains(&bytes) {
        let help = format!("expected pages of 4 KiB, {} B to {} B", range.start(), range.end());
        return Err(p.error(key, "no system is like that", help));
    }
    Ok(bytes)
}

fn count(p: &mut Parameters, key: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, SpecError> {
    let count = p.count(key)?;
    if !range.contains(&count) {
        return Err(p.error(key, "no system has so many", format!("expected {} to {}", range.start(), range.end())));
    }
    Ok(count)
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
    if spec.copy[0] > Time::ZERO {
        memory.carries(&COPIED, KIB, spec.copy[0]);
    }
    let through = |(device, below): (String, Rc<dyn Storage>)| {
        let inside = format!("{name}.{device}");
        let opened = Device::start(sim, &inside, spec.clone(), processor, &memory, below);
        (device, Rc::new(File::open(&opened, how)) as Rc<dyn Storage>)
    };
    Some(volumes.into_iter().map(through).collect())
}
