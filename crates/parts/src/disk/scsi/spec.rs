//! The drive's data sheet.

use hopscope_kernel::Time;

use super::schedule::Policy;
use crate::bus::scsi;
use crate::disk::geometry::Geometry;
use crate::parameters::{Parameters, SpecError};
use crate::protocols::scsi::TAGS_MAX;

/// From a command to the first data or the first move of the arm, by what the command before was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    after_read: Time,
    after_write: Time,
}

impl Overhead {
    fn read(p: &mut Parameters, what: &str) -> Result<Overhead, SpecError> {
        let (after_read, after_write) =
            (p.time(&format!("overhead.{what}_after_read"))?, p.time(&format!("overhead.{what}_after_write"))?);
        Ok(Overhead { after_read, after_write })
    }

    /// After a write, or after a read.
    pub(super) fn after(&self, write: bool) -> Time {
        if write { self.after_write } else { self.after_read }
    }
}

/// All numbers of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Where sectors are, and when they pass.
    pub geometry: Geometry,
    /// Bytes a second on the bus, at most.
    pub rate: u64,
    /// Commands that it takes.
    pub queue_depth: u32,
    /// It keeps the bus after a command whose data, or whose room, is there.
    pub stays_connected: bool,
    /// Which of them the arm goes to next.
    pub(super) policy: Policy,
    /// Segments of the buffer.
    pub segments: usize,
    /// Sectors of a segment.
    pub segment_sectors: u64,
    /// Sectors that go over the bus in one connection, at most.
    pub burst_sectors: u64,
    /// Sectors that the head reads on after those asked for, at most.
    pub read_ahead_sectors: u64,
    /// A hit lets read-ahead that had stopped go on.
    pub read_ahead_after_hit: bool,
    /// Segments of writes that are reported before they are on the media.
    pub write_segments: usize,
    pub(super) read_hit: Overhead,
    pub(super) read_miss: Overhead,
    pub(super) write_hit: Overhead,
    pub(super) write_miss: Overhead,
}

impl Spec {
    /// Pulls the numbers.
    pub fn read(p: &mut Parameters) -> Result<Spec, SpecError> {
        let geometry = Geometry::read_measured(p)?;
        if geometry.sectors() > 1 << 32 {
            let help = "READ(10) addresses 4,294,967,296 blocks";
            return Err(p.error("sectors", "this disk is larger than its commands can say", help));
        }
        let queue_depth = p.count("queue.depth")?;
        if !(1..=u64::from(TAGS_MAX)).contains(&queue_depth) {
            return Err(p.error("queue.depth", "a queue tag is a byte", format!("expected 1 to {TAGS_MAX}")));
        }
        let policy = p.text("queue.scheduling")?;
        let Some(policy) = Policy::named(&policy) else {
            let problem = format!("`{policy}` is no policy");
            return Err(p.error("queue.scheduling", problem, "write \"fcfs\", \"elevator\" or \"sptf\""));
        };
        let in_range = |p: &mut Parameters, key: &str, least: u64, most: u64| {
            let value = p.count(key)?;
            if !(least..=most).contains(&value) {
                let help = format!("expected {least} to {most}");
                return Err(p.error(key, format!("{value} is out of range"), help));
            }
            Ok(value)
        };
        Ok(Spec {
            geometry,
            rate: scsi::rate(p, "interface.rate")?,
            stays_connected: choice(p, "interface.stays_connected")?,
            queue_depth: queue_depth as u32,
            policy,
            segments: in_range(p, "buffer.segments", 1, 256)? as usize,
            segment_sectors: in_range(p, "buffer.segment", 1, 65_536)?,
            burst_sectors: in_range(p, "buffer.burst", 1, 65_536)?,
            read_ahead_sectors: in_range(p, "buffer.read_ahead", 0, 65_536)?,
            read_ahead_after_hit: choice(p, "buffer.read_ahead_after_hit")?,
            write_segments: in_range(p, "buffer.write_segments", 0, 256)? as usize,
            read_hit: Overhead::read(p, "read_hit")?,
            read_miss: Overhead::read(p, "read_miss")?,
            write_hit: Overhead::read(p, "write_hit")?,
            write_miss: Overhead::read(p, "write_miss")?,
        })
    }
}

/// Yes or no.
fn choice(p: &mut Parameters, key: &str) -> Result<bool, SpecError> {
    match p.text(key)?.as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(p.error(key, format!("`{other}` is neither true nor false"), "write true or false")),
    }
}
