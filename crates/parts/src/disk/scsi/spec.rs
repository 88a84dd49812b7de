//! The drive's data sheet.

use hopscope_kernel::Time;

use super::schedule::Policy;
use crate::bus::scsi;
use crate::disk::geometry::{Geometry, Place};
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

/// How far the head reads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// So many sectors.
    Sectors,
    /// To the end of the track that the read ends on.
    Track,
    /// To the end of its cylinder.
    Cylinder,
    /// To the end of its track, and of the next one where the segment was begun on a track before.
    TrackAhead,
}

impl Reach {
    fn named(name: &str) -> Option<Reach> {
        match name {
            "sectors" => Some(Reach::Sectors),
            "track" => Some(Reach::Track),
            "cylinder" => Some(Reach::Cylinder),
            "track ahead" => Some(Reach::TrackAhead),
            _ => None,
        }
    }
}

/// How full or empty the buffer is when the drive comes back to the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    /// Of a read's sectors, parts per million that are there.
    pub(super) high_ppm: u64,
    /// Of a write's, that are not on the media yet.
    pub(super) low_ppm: u64,
    /// Shares of the request, not of a segment.
    pub(super) of_request: bool,
}

impl Marks {
    fn read(p: &mut Parameters) -> Result<Marks, SpecError> {
        let mut share = |key: &str| {
            let share = p.share(key)?;
            if share > 1_000_000 {
                return Err(p.error(key, "a buffer is never fuller than full", "expected 0 % to 100 %"));
            }
            Ok(share)
        };
        let (high_ppm, low_ppm) = (share("buffer.high_water")?, share("buffer.low_water")?);
        let of_request = match p.text("buffer.water_of")?.as_str() {
            "request" => true,
            "segment" => false,
            other => {
                let problem = format!("`{other}` has no water marks");
                return Err(p.error("buffer.water_of", problem, "write \"request\" or \"segment\""));
            }
        };
        Ok(Marks { high_ppm, low_ppm, of_request })
    }

    /// Sectors of a read that have to be there before the drive comes back: one at least, the whole read at most.
    pub(super) fn high(&self, request: u64, segment: u64) -> u64 {
        self.share(self.high_ppm, request, segment).clamp(1, request.max(1))
    }

    /// Sectors of a write that may still wait for the media when the drive asks for more: fewer than a segment.
    pub(super) fn low(&self, request: u64, segment: u64) -> u64 {
        self.share(self.low_ppm, request, segment).max(1).min(segment - 1)
    }

    fn share(&self, ppm: u64, request: u64, segment: u64) -> u64 {
        let whole = if self.of_request { request.min(segment) } else { segment };
        (whole * ppm).div_ceil(1_000_000)
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
    /// Where it stops by itself.
    pub(super) reach: Reach,
    /// Only reads that continue what the buffer has are read on after.
    pub(super) read_ahead_in_order: bool,
    /// A hit lets read-ahead that had stopped go on.
    pub read_ahead_after_hit: bool,
    /// Segments of writes that are reported before they are on the media.
    pub write_segments: usize,
    pub(super) read_hit: Overhead,
    pub(super) read_miss: Overhead,
    pub(super) write_hit: Overhead,
    pub(super) write_miss: Overhead,
    /// Before the status of a read, and of a write.
    pub(super) read_completion: Time,
    pub(super) write_completion: Time,
    pub(super) marks: Marks,
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
        let reach = p.text("buffer.read_ahead_to")?;
        let Some(reach) = Reach::named(&reach) else {
            let help = "write \"sectors\", \"track\", \"cylinder\" or \"track ahead\"";
            return Err(p.error("buffer.read_ahead_to", format!("nothing is read on to `{reach}`"), help));
        };
        let read_ahead_in_order = match p.text("buffer.read_ahead_after")?.as_str() {
            "every read" => false,
            "reads in order" => true,
            other => {
                let help = "write \"every read\" or \"reads in order\"";
                return Err(p.error("buffer.read_ahead_after", format!("nothing is read on after `{other}`"), help));
            }
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
            read_completion: p.time("overhead.read_completion")?,
            write_completion: p.time("overhead.write_completion")?,
            reach,
            read_ahead_in_order,
            marks: Marks::read(p)?,
        })
    }
}

impl Spec {
    /// The sector before which the head stops after a read up to `end`. `begun` is where its segment begins; `in_order`
    /// says that the read continues what the buffer has, or has it.
    pub(super) fn reads_on_to(&self, begun: u64, end: u64, in_order: bool) -> u64 {
        let sectors = self.geometry.sectors();
        if end >= sectors || self.read_ahead_in_order && !in_order {
            return end.min(sectors);
        }
        let last = self.geometry.place(end - 1);
        let on_track = |place: Place, of: Place| (place.cylinder, place.head) == (of.cylinder, of.head);
        let on_cylinder = |place: Place, of: Place| place.cylinder == of.cylinder;
        let stop = match self.reach {
            Reach::Sectors => u64::MAX,
            Reach::Track => self.end_of(end - 1, on_track),
            Reach::Cylinder => self.end_of(end - 1, on_cylinder),
            Reach::TrackAhead => {
                let stop = self.end_of(end - 1, on_track);
                let ahead = stop < sectors && !on_track(self.geometry.place(begun), last);
                if ahead { self.end_of(stop, on_track) } else { stop }
            }
        };
        stop.min(end + self.read_ahead_sectors).min(sectors).max(end)
    }

    /// The first sector behind `lba` that does not lie where that does.
    fn end_of(&self, lba: u64, together: fn(Place, Place) -> bool) -> u64 {
        let here = self.geometry.place(lba);
        let mut end = lba + here.left_on_track;
        // A track with slipped sectors has several runs.
        while end < self.geometry.sectors() {
            let next = self.geometry.place(end);
            if !together(next, here) {
                break;
            }
            end += next.left_on_track;
        }
        end
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
