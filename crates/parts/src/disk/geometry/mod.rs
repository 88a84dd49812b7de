//! Where sectors are, and when they pass under the head.
//!
//! Sectors are numbered along a track, then from head to head, then from cylinder to cylinder; a zone is a run
//! of cylinders with equally many sectors a track. The first sector of a track is turned against the one before
//! by the track skew, that of a cylinder by the cylinder skew, so that a switch of heads costs no revolution.
//!
//! All angles are instants within a revolution, in whole picoseconds. A sector's end is computed like the next
//! one's beginning, so that a transfer that goes on never misses by rounding.

mod layout;
mod seek_curve;

use std::sync::Arc;

use hopscope_declare::Spec;
use hopscope_kernel::{Lane, Time};

use crate::parameters::declarations::Declarations;
use crate::parameters::{Parameters, SpecError};
pub(super) use layout::Place;
use layout::{Layout, Order, SlipRow, SparedZoneRow, ZoneRow};
use seek_curve::{SeekCurve, SeekPoint};

/// Layout and mechanics of a disk, on paper.
#[derive(Debug, PartialEq)]
pub struct Drawing {
    revolution: Time,
    layout: Layout,
    sectors: u64,
    seek: SeekCurve,
    head_switch: Time,
    /// A seek under the same head takes no head switch, even where that is longer.
    keeps_head: bool,
    /// What a write, and a read, settles longer than seek and head switch say.
    write_settle: Time,
    read_settle: Time,
}

/// The same of a disk that has been built: it turns and moves at the pace of its arm.
#[derive(Clone)]
pub(super) struct Geometry {
    drawing: Arc<Drawing>,
    arm: Lane,
    phase: Time,
}

/// What every disk has.
#[derive(Spec)]
struct Platters {
    /// How fast the disk turns.
    // Faster, and sectors would pass in no time.
    #[period("rotation", Time::us(60)..=Time::ms(60_000))]
    revolution: Time,
    /// Heads, each with a surface.
    #[count("heads", 1..=64)]
    heads: u64,
    /// Blocks that a host may address, no more than the zones hold.
    #[count("sectors", 1..)]
    sectors: u64,
    /// From one head to the next on the same cylinder.
    #[time("head_switch")]
    head_switch: Time,
    /// What a write settles longer than seek and head switch say.
    #[time("write_settle")]
    write_settle: Time,
}

/// A disk of which little is known.
#[derive(Spec)]
struct Drawn {
    #[nested]
    platters: Platters,
    /// Zones without spares, from the outside to the inside.
    #[rows("zones.rows")]
    zones: Vec<ZoneRow>,
    /// A few points of the seek curve: between them time grows with the square root of the distance.
    #[rows("seek.rows")]
    seek: Vec<SeekPoint>,
}

/// A disk that was measured.
#[derive(Spec)]
struct Measured {
    #[nested]
    platters: Platters,
    /// In which order the heads of a cylinder come.
    #[choice("layout.heads")]
    order: Order,
    /// Tracks that have their spares together; 0 where all of a zone has.
    #[count("layout.spare_group")]
    spare_group_tracks: u64,
    /// Zones, from the outside to the inside.
    #[rows("zones.rows")]
    zones: Vec<SparedZoneRow>,
    /// Sectors that are left out, in order; a disk without defects has a row of none.
    #[rows("slips.rows")]
    slips: Vec<SlipRow>,
    /// How time grows between two points of the seek curve.
    #[choice("seek.between", "straight line" => true, "square root" => false)]
    straight: bool,
    /// The seek curve, as it was measured.
    #[rows("seek.rows")]
    seek: Vec<SeekPoint>,
    /// What a read settles longer than seek and head switch say.
    #[time("read_settle")]
    read_settle: Time,
}

impl Platters {
    /// A disk whose zones hold so many sectors.
    fn disk(self, p: &Parameters, (layout, held): (Layout, u64), seek: SeekCurve) -> Result<Drawing, SpecError> {
        let Platters { revolution, sectors, head_switch, write_settle, .. } = self;
        if held < sectors {
            let problem = format!("the zones hold {held} sectors, the drive {sectors}");
            return Err(p.error("zones.rows", problem, "the zone table must add up to at least `sectors`"));
        }
        Ok(Drawing {
            revolution,
            layout,
            sectors,
            seek,
            head_switch,
            keeps_head: false,
            write_settle,
            read_settle: Time::ZERO,
        })
    }
}

impl Drawing {
    /// Pulls the numbers of a disk of which little is known: zones without spares, a few points of the seek curve.
    pub(super) fn read(p: &mut Parameters) -> Result<Drawing, SpecError> {
        let Drawn { platters, zones, seek } = Drawn::read(p)?;
        let (layout, held) = Layout::plain(platters.heads, &zones);
        let seek = SeekCurve::drawn(seek, layout.cylinders(), p)?;
        platters.disk(p, (layout, held), seek)
    }

    /// Pulls the numbers of a disk that was measured: spares, slipped sectors, order of heads, the whole seek curve.
    pub(super) fn read_measured(p: &mut Parameters) -> Result<Drawing, SpecError> {
        let Measured { platters, order, spare_group_tracks, zones, slips, straight, seek, read_settle } =
            Measured::read(p)?;
        let (layout, held) = Layout::spared(platters.heads, order, spare_group_tracks, (&zones, &slips), p)?;
        let seek = SeekCurve::measured(seek, straight, layout.cylinders(), p)?;
        Ok(Drawing { keeps_head: true, read_settle, ..platters.disk(p, (layout, held), seek)? })
    }

    /// Says what [`Drawing::read`] pulls.
    pub(super) fn declare(d: &mut Declarations) {
        Drawn::declare(d);
    }

    /// Says what [`Drawing::read_measured`] pulls.
    pub(super) fn declare_measured(d: &mut Declarations) {
        Measured::declare(d);
    }

    /// A disk that was drawn so, whose spindle is at an angle that `turned` decides when the run begins.
    pub(super) fn built(self: &Arc<Drawing>, arm: &Lane, turned: u64) -> Geometry {
        let phase = Time::ps(turned % self.revolution.as_ps());
        Geometry { drawing: self.clone(), arm: arm.clone(), phase }
    }

    /// Capacity.
    pub(super) fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Where sector `lba` is.
    pub(super) fn place(&self, lba: u64) -> Place {
        self.layout.place(lba)
    }
}

impl Geometry {
    /// One revolution.
    pub(super) fn revolution(&self) -> Time {
        self.arm.paced(self.drawing.revolution)
    }

    /// Capacity.
    pub(super) fn sectors(&self) -> u64 {
        self.drawing.sectors()
    }

    /// Extra settling before a write.
    pub(super) fn write_settle(&self) -> Time {
        self.arm.paced(self.drawing.write_settle)
    }

    /// Where sector `lba` is.
    pub(super) fn place(&self, lba: u64) -> Place {
        self.drawing.place(lba)
    }

    /// Time to move the arm and settle to read; nothing where cylinder and head stay.
    pub(super) fn move_time(&self, from: Place, to: Place) -> Time {
        self.settled(self.moved(from, to), self.drawing.read_settle)
    }

    /// The same to write.
    pub(super) fn write_move_time(&self, from: Place, to: Place) -> Time {
        self.settled(self.moved(from, to), self.drawing.write_settle)
    }

    fn settled(&self, moved: Time, settle: Time) -> Time {
        if moved > Time::ZERO { moved + self.arm.paced(settle) } else { moved }
    }

    fn moved(&self, from: Place, to: Place) -> Time {
        match from.cylinder.abs_diff(to.cylinder) {
            0 if from.head == to.head => Time::ZERO,
            0 => self.arm.paced(self.drawing.head_switch),
            distance if self.drawing.keeps_head && from.head == to.head => self.seek_time(distance),
            distance => self.seek_time(distance).max(self.arm.paced(self.drawing.head_switch)),
        }
    }

    /// The seek curve.
    pub(super) fn seek_time(&self, distance: u64) -> Time {
        self.arm.paced(self.drawing.seek.time(distance))
    }

    /// When `slot` of a track begins, counted from a beginning of slot 0. Whole revolutions are added at last: a slot
    /// begins at the same angle in each of them, whatever is rounded.
    fn angle(&self, slot: u64, slots: u64) -> u64 {
        // Below 2^64: less than 100,000 slots, and a revolution of less than 60 s.
        let within = Time::ps(slot % slots * self.drawing.revolution.as_ps() / slots);
        (self.revolution() * (slot / slots) + self.arm.paced(within)).as_ps()
    }

    /// When the sector at `place` next begins to pass, at or after `from`.
    pub(super) fn next_pass(&self, place: Place, from: Time) -> Time {
        let revolution = self.revolution().as_ps();
        let angle = self.angle(place.slot, place.slots);
        let turned = (from.as_ps() + self.arm.paced(self.phase).as_ps()) % revolution;
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
    use hopscope_kernel::Sim;

    use super::layout::Zone;
    use super::*;

    pub(crate) fn small() -> Geometry {
        let zone = |first_lba, first_cylinder, sectors_per_track| Zone {
            first_lba,
            first_cylinder,
            cylinders: 10,
            sectors_per_track,
            track_skew: 10,
            cylinder_skew: 20,
            offset: 0,
            front: 0,
            group_sectors: 20 * sectors_per_track,
            group_blocks: 20 * sectors_per_track,
            slips: 0..0,
        };
        let points = vec![
            SeekPoint { distance: 1, time: Time::ms(1) },
            SeekPoint { distance: 4, time: Time::ms(2) },
            SeekPoint { distance: 19, time: Time::ms(5) },
        ];
        let drawing = Drawing {
            revolution: Time::ps(11_111_111_111),
            layout: Layout::forward(2, vec![zone(0, 0, 100), zone(2_000, 10, 70)]),
            sectors: 3_400,
            seek: SeekCurve { points, straight: false },
            head_switch: Time::us(900),
            keeps_head: false,
            write_settle: Time::us(100),
            read_settle: Time::ZERO,
        };
        Arc::new(drawing).built(&Sim::new().lane("arm", None), 0)
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
