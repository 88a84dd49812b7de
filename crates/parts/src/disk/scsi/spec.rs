//! The drive's data sheet.

use std::sync::Arc;

use hopscope_declare::Spec;
use hopscope_kernel::Time;

use super::schedule::Policy;
use crate::bus::scsi;
use crate::disk::geometry::{Drawing, Place};
use crate::parameters::{Parameters, SpecError};
use crate::protocols::scsi::TAGS_MAX;

/// How far the head reads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub(super) enum Reach {
    /// So many sectors.
    Sectors,
    /// To the end of the track that the read ends on.
    Track,
    /// To the end of its cylinder.
    Cylinder,
    /// To the end of its track, and of the next one where the segment was begun on a track before.
    #[word("track ahead")]
    TrackAhead,
}

/// How full or empty the buffer is when the drive comes back to the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub(super) struct Marks {
    /// The drive comes back to the bus when this share of a read is in the buffer.
    #[share("high_water", ..=1_000_000)]
    pub(super) high_ppm: u64,
    /// The drive comes back for more of a write when no more than this share still waits for the media.
    #[share("low_water", ..=1_000_000)]
    pub(super) low_ppm: u64,
    /// What `high_water` and `low_water` are shares of: a segment of the buffer, or the request.
    #[choice("water_of", "segment" => false, "request" => true)]
    pub(super) of_request: bool,
}

impl Marks {
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
#[derive(Clone, Debug, PartialEq, Spec)]
#[spec(holds = Spec::fits)]
pub struct Spec {
    /// Where sectors are, and when they pass.
    #[by(Drawing::read_measured(p).map(Arc::new), declares = Drawing::declare_measured)]
    pub geometry: Arc<Drawing>,
    /// Bytes a second on the bus, at most.
    #[rate("interface.rate", scsi::RATE_MIN..=scsi::RATE_MAX)]
    pub rate: u64,
    /// Whether the drive keeps the bus after a command whose data, or whose room, is there.
    #[choice("interface.stays_connected", "false" => false, "true" => true)]
    pub stays_connected: bool,
    /// Commands that the drive takes.
    #[count("queue.depth", 1..=TAGS_MAX.into())]
    pub queue_depth: u32,
    /// Which command that waits the arm goes to next.
    #[choice("queue.scheduling")]
    pub(super) policy: Policy,
    /// Segments of the buffer.
    #[count("buffer.segments", 1..=256)]
    pub segments: usize,
    /// Sectors of a segment.
    #[count("buffer.segment", 1..=65_536)]
    pub segment_sectors: u64,
    /// Sectors that go over the bus in one connection, at most.
    #[count("buffer.burst", 1..=65_536)]
    pub burst_sectors: u64,
    /// Sectors that the head reads on after those asked for, at most.
    #[count("buffer.read_ahead", ..=65_536)]
    pub read_ahead_sectors: u64,
    /// Where reading on stops by itself.
    #[choice("buffer.read_ahead_to")]
    pub(super) reach: Reach,
    /// After which reads the head reads on: every one, or those that continue what the buffer has.
    #[choice("buffer.read_ahead_after", "every read" => false, "reads in order" => true)]
    pub(super) read_ahead_in_order: bool,
    /// Whether a hit lets read-ahead that had stopped go on.
    #[choice("buffer.read_ahead_after_hit", "false" => false, "true" => true)]
    pub read_ahead_after_hit: bool,
    /// Segments of writes that are reported before they are on the media.
    #[count("buffer.write_segments", ..=256)]
    pub write_segments: usize,
    /// From a read that the buffer has to its first data: after a read, after a write.
    #[time(["overhead.read_hit_after_read", "overhead.read_hit_after_write"])]
    pub(super) read_hit: [Time; 2],
    /// From a read that the buffer has not to the first move of the arm: after a read, after a write.
    #[time(["overhead.read_miss_after_read", "overhead.read_miss_after_write"])]
    pub(super) read_miss: [Time; 2],
    /// From a write that finds room to its first data: after a read, after a write.
    #[time(["overhead.write_hit_after_read", "overhead.write_hit_after_write"])]
    pub(super) write_hit: [Time; 2],
    /// From a write that finds no room to the first move of the arm: after a read, after a write.
    #[time(["overhead.write_miss_after_read", "overhead.write_miss_after_write"])]
    pub(super) write_miss: [Time; 2],
    /// Before the status of a read.
    #[time("overhead.read_completion")]
    pub(super) read_completion: Time,
    /// Before the status of a write.
    #[time("overhead.write_completion")]
    pub(super) write_completion: Time,
    #[nested("buffer")]
    pub(super) marks: Marks,
}

impl Spec {
    fn fits(&self, p: &Parameters) -> Result<(), SpecError> {
        if self.geometry.sectors() > 1 << 32 {
            let help = "READ(10) addresses 4,294,967,296 blocks";
            return Err(p.error("sectors", "this disk is larger than its commands can say", help));
        }
        Ok(())
    }

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
