//! Where sectors are, and when they pass under the head.
//!
//! Sectors are numbered along a track, then from head to head, then from cylinder to cylinder; a zone is a run
//! of cylinders with equally many sectors a track. The first sector of a track is turned against the one before
//! by the track skew, that of a cylinder by the cylinder skew, so that a switch of heads costs no revolution.
//!
//! All angles are instants within a revolution, in whole picoseconds. A sector's end is computed like the next
//! one's beginning, so that a transfer that goes on never misses by rounding.

use hopscope_kernel::Time;

use crate::parameters::{Parameters, SpecError};

/// A run of cylinders with equally many sectors a track.
#[derive(Clone, Debug, PartialEq)]
struct Zone {
    first_lba: u64,
    first_cylinder: u64,
    cylinders: u64,
    sectors_per_track: u64,
    track_skew: u64,
    cylinder_skew: u64,
}

/// One point of the seek curve.
#[derive(Clone, Debug, PartialEq)]
struct SeekPoint {
    distance: u64,
    time: Time,
}

/// Layout and mechanics.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    revolution: Time,
    heads: u64,
    zones: Vec<Zone>,
    sectors: u64,
    seek: Vec<SeekPoint>,
    head_switch: Time,
    write_settle: Time,
    phase: Time,
}

/// A sector's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) cylinder: u64,
    pub(super) head: u64,
    /// Slot on the track, counted from the index mark: sector and skew.
    slot: u64,
    slots: u64,
    /// Sectors from this one to the end of its track.
    pub(super) left_on_track: u64,
}

impl Place {
    /// Sectors of the track.
    pub(super) fn slots(&self) -> u64 {
        self.slots
    }
}

impl Geometry {
    /// Pulls the numbers and checks that they describe a disk.
    pub(super) fn read(p: &mut Parameters) -> Result<Geometry, SpecError> {
        let (revolution, heads) = (p.period("rotation")?, p.count("heads")?);
        if heads == 0 || heads > 64 {
            return Err(p.error("heads", format!("{heads} heads"), "a disk has 1 to 64 heads"));
        }
        let mut zones = Vec::new();
        let (mut lba, mut cylinder) = (0, 0);
        for mut row in p.rows("zones.rows")? {
            let zone = Zone {
                first_lba: lba,
                first_cylinder: cylinder,
                cylinders: row.count("cylinders")?,
                sectors_per_track: row.count("sectors_per_track")?,
                track_skew: row.count("track_skew")?,
                cylinder_skew: row.count("cylinder_skew")?,
            };
            let in_range =
                (1..=10_000_000).contains(&zone.cylinders) && (1..=100_000).contains(&zone.sectors_per_track);
            if !in_range || zone.track_skew >= zone.sectors_per_track || zone.cylinder_skew >= zone.sectors_per_track {
                let problem = "this zone is no zone";
                let help = "expected cylinders and sectors above zero, and skews below the sectors of a track";
                return Err(row.error("sectors_per_track", problem, help));
            }
            lba += zone.cylinders * heads * zone.sectors_per_track;
            cylinder += zone.cylinders;
            zones.push(zone);
        }
        let capacity = p.count("sectors")?;
        if zones.is_empty() || lba < capacity {
            let problem = format!("the zones hold {lba} sectors, the drive {capacity}");
            return Err(p.error("zones.rows", problem, "the zone table must add up to at least `sectors`"));
        }
        let mut seek = Vec::new();
        for mut row in p.rows("seek.rows")? {
            let point = SeekPoint { distance: row.count("distance")?, time: row.time("time")? };
            if seek
                .last()
                .is_some_and(|before: &SeekPoint| before.distance >= point.distance || before.time > point.time)
            {
                return Err(row.error("distance", "the seek curve falls", "expected rising distances and times"));
            }
            seek.push(point);
        }
        if seek.first().is_none_or(|first| first.distance != 1)
            || seek.last().is_none_or(|last| last.distance < cylinder - 1)
        {
            let help = format!("expected points from 1 cylinder to {} cylinders", cylinder - 1);
            return Err(p.error("seek.rows", "the seek curve does not span the disk", help));
        }
        let (head_switch, write_settle) = (p.time("head_switch")?, p.time("write_settle")?);
        Ok(Geometry { revolution, heads, zones, sectors: capacity, seek, head_switch, write_settle, phase: Time::ZERO })
    }

    /// Turns the spindle at the start of the run.
    pub(super) fn turn_by(&mut self, phase: Time) {
        self.phase = phase;
    }

    /// One revolution.
    pub(super) fn revolution(&self) -> Time {
        self.revolution
    }

    /// Capacity.
    pub(super) fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Extra settling before a write.
    pub(super) fn write_settle(&self) -> Time {
        self.write_settle
    }

    /// Where sector `lba` is.
    pub(super) fn place(&self, lba: u64) -> Place {
        let index = self.zones.partition_point(|zone| zone.first_lba <= lba) - 1;
        let zone = &self.zones[index];
        let (track, sector) =
            ((lba - zone.first_lba) / zone.sectors_per_track, (lba - zone.first_lba) % zone.sectors_per_track);
        let (cylinder, head) = (track / self.heads, track % self.heads);
        let skew = cylinder * ((self.heads - 1) * zone.track_skew + zone.cylinder_skew) + head * zone.track_skew;
        Place {
            cylinder: zone.first_cylinder + cylinder.min(zone.cylinders - 1),
            head,
            slot: (sector + skew) % zone.sectors_per_track,
            slots: zone.sectors_per_track,
            left_on_track: zone.sectors_per_track - sector,
        }
    }

    /// Time to move the arm and settle; nothing where cylinder and head stay.
    pub(super) fn move_time(&self, from: Place, to: Place) -> Time {
        match from.cylinder.abs_diff(to.cylinder) {
            0 if from.head == to.head => Time::ZERO,
            0 => self.head_switch,
            distance => self.seek_time(distance).max(self.head_switch),
        }
    }

    /// The seek curve: between two points it grows with the square root of the distance.
    pub(super) fn seek_time(&self, distance: u64) -> Time {
        let after = self.seek.partition_point(|point| point.distance < distance).min(self.seek.len() - 1);
        let upper = &self.seek[after];
        if upper.distance <= distance || after == 0 {
            return upper.time;
        }
        let lower = &self.seek[after - 1];
        let root = |cylinders: u64| libm::sqrt(cylinders as f64);
        let share = (root(distance) - root(lower.distance)) / (root(upper.distance) - root(lower.distance));
        lower.time + Time::ps((share * (upper.time - lower.time).as_ps() as f64) as u64)
    }

    /// When `slot` of a track begins, within a revolution.
    fn angle(&self, slot: u64, slots: u64) -> u64 {
        (u128::from(slot) * u128::from(self.revolution.as_ps()) / u128::from(slots)) as u64
    }

    /// When the sector at `place` next begins to pass, at or after `from`.
    pub(super) fn next_pass(&self, place: Place, from: Time) -> Time {
        let revolution = self.revolution.as_ps();
        let angle = self.angle(place.slot, place.slots);
        let turned = (from.as_ps() + self.phase.as_ps()) % revolution;
        from + Time::ps((angle + revolution - turned) % revolution)
    }

    /// When `sectors` of one track have passed, the first of them beginning at `start`.
    pub(super) fn passed(&self, place: Place, start: Time, sectors: u64) -> Time {
        let angles = self.angle(place.slot + sectors, place.slots) - self.angle(place.slot, place.slots);
        start + Time::ps(angles)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn small() -> Geometry {
        let zone = |first_lba, first_cylinder, sectors_per_track| Zone {
            first_lba,
            first_cylinder,
            cylinders: 10,
            sectors_per_track,
            track_skew: 10,
            cylinder_skew: 20,
        };
        Geometry {
            revolution: Time::ps(11_111_111_111),
            heads: 2,
            zones: vec![zone(0, 0, 100), zone(2_000, 10, 70)],
            sectors: 3_400,
            seek: vec![
                SeekPoint { distance: 1, time: Time::ms(1) },
                SeekPoint { distance: 4, time: Time::ms(2) },
                SeekPoint { distance: 19, time: Time::ms(5) },
            ],
            head_switch: Time::us(900),
            write_settle: Time::us(100),
            phase: Time::ZERO,
        }
    }

    #[test]
    fn the_next_sector_passes_when_the_one_before_has_passed() {
        let disk = small();
        for lba in 0..99 {
            let (here, next) = (disk.place(lba), disk.place(lba + 1));
            let start = disk.next_pass(here, Time::ms(3));
            let end = disk.passed(here, start, 1);
            assert_eq!(disk.next_pass(next, end), end, "sector {lba}");
        }
    }

    #[test]
    fn a_track_skew_longer_than_the_head_switch_costs_no_revolution() {
        let disk = small();
        let (last, first) = (disk.place(99), disk.place(100));
        let end = disk.passed(last, disk.next_pass(last, Time::ZERO), 1);
        let start = disk.next_pass(first, end + disk.move_time(last, first));
        let skew = Time::ps(11_111_111_111 / 100 * 10);
        assert!(start - end >= skew && start - end < skew + Time::ns(1), "{}", start - end);
    }

    #[test]
    fn every_sector_passes_once_a_revolution_and_not_a_picosecond_before() {
        let disk = small();
        let place = disk.place(42);
        let pass = disk.next_pass(place, Time::ZERO);
        assert_eq!(disk.next_pass(place, pass), pass);
        assert_eq!(disk.next_pass(place, pass + Time::ps(1)), pass + disk.revolution());
    }

    #[test]
    fn the_seek_curve_meets_its_points_and_grows_with_the_root_between_them() {
        let disk = small();
        assert_eq!(disk.seek_time(1), Time::ms(1));
        assert_eq!(disk.seek_time(4), Time::ms(2));
        assert_eq!(disk.seek_time(19), Time::ms(5));
        let between = disk.seek_time(2).as_ps();
        assert_eq!(between, (1e9 + (2f64.sqrt() - 1.0) * 1e9) as u64);
    }

    #[test]
    fn zones_follow_each_other() {
        let disk = small();
        assert_eq!((disk.place(1_999).cylinder, disk.place(2_000).cylinder), (9, 10));
        assert_eq!(disk.place(2_000).left_on_track, 70);
    }
}
