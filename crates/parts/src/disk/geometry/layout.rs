//! Which cylinder, head and slot a logical block is on.
//!
//! Blocks are numbered along a track, then from head to head, then from cylinder to cylinder. A zone is a run of
//! cylinders with equally many sectors a track; between two zones cylinders may lie idle. Some sectors of every group
//! of tracks are spare; a sector with a defect is left out, and those behind it in its group move up by one.

use hopscope_declare::Spec;

use crate::parameters::{Parameters, SpecError};

/// A run of cylinders with equally many sectors a track.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Zone {
    pub(super) first_lba: u64,
    pub(super) first_cylinder: u64,
    pub(super) cylinders: u64,
    pub(super) sectors_per_track: u64,
    pub(super) track_skew: u64,
    pub(super) cylinder_skew: u64,
    /// Slots that the first sector of the zone lies behind the index mark.
    pub(super) offset: u64,
    /// Sectors at the beginning of the zone that hold no blocks.
    pub(super) front: u64,
    /// Sectors that a group has, and blocks that it holds.
    pub(super) group_sectors: u64,
    pub(super) group_blocks: u64,
    /// Those of the list of slipped sectors that are in this zone.
    pub(super) slips: std::ops::Range<usize>,
}

/// Sectors of a group that are left out.
#[derive(Clone, Debug, PartialEq)]
struct Slip {
    group: u64,
    /// The block of the group that is behind them, counted from the group's first one.
    before: u64,
    /// Sectors of the group that are left out, up to and with these.
    sectors: u64,
}

/// What a file says of a zone.
#[derive(Spec)]
pub(super) struct ZoneRow {
    /// Cylinders.
    #[count("cylinders", 1..=10_000_000)]
    cylinders: u64,
    /// Sectors of each track.
    #[count("sectors_per_track", 1..=100_000)]
    sectors_per_track: u64,
    /// Sectors by which a track begins later than the one before.
    #[count("track_skew", ..=sectors_per_track - 1)]
    track_skew: u64,
    /// Sectors by which a cylinder begins later than the one before ended.
    #[count("cylinder_skew", ..=sectors_per_track - 1)]
    cylinder_skew: u64,
}

/// What the file of a disk that was measured says of a zone.
#[derive(Spec)]
pub(super) struct SparedZoneRow {
    #[nested]
    zone: ZoneRow,
    /// Where the zone begins: cylinders before it may lie idle.
    #[count("first_cylinder", ..=100_000_000)]
    first_cylinder: u64,
    /// Sectors that the zone's first one lies behind the index mark.
    #[count("offset", ..=zone.sectors_per_track - 1)]
    offset: u64,
    /// Sectors at the zone's beginning that hold no blocks.
    #[count("front")]
    front: u64,
    /// Sectors of a group of tracks that are spare.
    #[count("spares")]
    spares: u64,
}

/// What the file says of sectors that are left out.
#[derive(Spec)]
pub(super) struct SlipRow {
    /// The zone, counted from 0.
    #[count("zone")]
    zone: usize,
    /// The first sector that is left out, counted from the zone's first sector.
    #[count("first")]
    first: u64,
    /// How many sectors are left out.
    #[count("sectors")]
    sectors: u64,
}

impl ZoneRow {
    /// A zone that is one group without spares.
    fn zone(&self, heads: u64, first_lba: u64, first_cylinder: u64) -> Zone {
        let ZoneRow { cylinders, sectors_per_track, track_skew, cylinder_skew } = *self;
        let sectors = cylinders * heads * sectors_per_track;
        Zone {
            first_lba,
            first_cylinder,
            cylinders,
            sectors_per_track,
            track_skew,
            cylinder_skew,
            offset: 0,
            front: 0,
            group_sectors: sectors,
            group_blocks: sectors,
            slips: 0..0,
        }
    }
}

/// In which order the heads of a cylinder come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub(super) enum Order {
    /// From the first to the last on every cylinder.
    Forward,
    /// Back on every other cylinder of a zone.
    #[word("serpentine in zone")]
    SerpentineInZone,
    /// Back on every other cylinder of the disk.
    Serpentine,
}

/// All zones.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) heads: u64,
    pub(super) zones: Vec<Zone>,
    slips: Vec<Slip>,
    order: Order,
}

/// A sector's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::disk) struct Place {
    pub(in crate::disk) cylinder: u64,
    pub(in crate::disk) head: u64,
    /// Slot on the track, counted from the index mark: sector and skew.
    pub(super) slot: u64,
    pub(super) slots: u64,
    /// Blocks from this one on that follow each other on its track without a gap.
    pub(in crate::disk) left_on_track: u64,
}

impl Place {
    /// Sectors of the track.
    pub(in crate::disk) fn slots(&self) -> u64 {
        self.slots
    }
}

impl Layout {
    /// Heads from the first to the last, and no sector left out.
    pub(super) fn forward(heads: u64, zones: Vec<Zone>) -> Layout {
        Layout { heads, zones, slips: Vec::new(), order: Order::Forward }
    }

    /// Zones without spares, one behind the other: the blocks that they hold are returned too.
    pub(super) fn plain(heads: u64, zones: &[ZoneRow]) -> (Layout, u64) {
        let mut layout = Layout::forward(heads, Vec::new());
        let (mut lba, mut cylinder) = (0, 0);
        for row in zones {
            let zone = row.zone(heads, lba, cylinder);
            (lba, cylinder) = (lba + zone.group_blocks, cylinder + zone.cylinders);
            layout.zones.push(zone);
        }
        (layout, lba)
    }

    /// Zones with spares, slipped sectors and idle cylinders.
    pub(super) fn spared(
        heads: u64,
        order: Order,
        group_tracks: u64,
        (zones, slips): (&[SparedZoneRow], &[SlipRow]),
        p: &Parameters,
    ) -> Result<(Layout, u64), SpecError> {
        let mut layout = Layout { heads, zones: Vec::new(), slips: Vec::new(), order };
        let (mut lba, mut cylinder) = (0, 0);
        for (index, row) in zones.iter().enumerate() {
            let SparedZoneRow { first_cylinder, offset, front, spares, ref zone } = *row;
            let wrong =
                |key: &str, problem: String, help: &str| Err(p.row("zones.rows", index).error(key, problem, help));
            if first_cylinder < cylinder {
                let problem =
                    format!("this zone begins at cylinder {first_cylinder}, the one before ends at {cylinder}");
                return wrong("first_cylinder", problem, "expected zones from the outside to the inside");
            }
            let mut zone = zone.zone(heads, lba, first_cylinder);
            let sectors = zone.group_sectors;
            let group = match group_tracks {
                0 => sectors,
                tracks => tracks.saturating_mul(zone.sectors_per_track).min(sectors),
            };
            (zone.offset, zone.front) = (offset, front);
            if spares >= group {
                let problem = format!("{spares} of {group} sectors are spare");
                return wrong("spares", problem, "expected fewer spares than a group of tracks has sectors");
            }
            (zone.group_sectors, zone.group_blocks) = (group, group - spares);
            let held = sectors - spares * (sectors / group);
            if front >= held {
                let problem = format!("{front} of {held} sectors at the front of the zone hold nothing");
                return wrong("front", problem, "expected fewer than the zone has");
            }
            (lba, cylinder) = (lba + held - front, first_cylinder + zone.cylinders);
            layout.zones.push(zone);
        }
        layout.slip(slips, p)?;
        Ok((layout, lba))
    }

    fn slip(&mut self, rows: &[SlipRow], p: &Parameters) -> Result<(), SpecError> {
        let mut from = (0, 0);
        for (row, SlipRow { zone: index, first, sectors }) in rows.iter().enumerate() {
            let (index, first, sectors) = (*index, *first, *sectors);
            // A disk without defects has a row that says so.
            if sectors == 0 {
                continue;
            }
            let wrong =
                |key: &str, problem: String, help: &str| Err(p.row("slips.rows", row).error(key, problem, help));
            let Some(zone) = self.zones.get_mut(index) else {
                return wrong("zone", format!("there is no zone {index}"), "zones are counted from 0");
            };
            let held = zone.cylinders * self.heads * zone.sectors_per_track;
            let (group, within) = (first / zone.group_sectors, first % zone.group_sectors);
            if (index, first) < from || first >= held || sectors > zone.group_sectors - within {
                let help = "expected rising zones and sectors, each within its zone and its group of tracks";
                return wrong("first", "these slipped sectors are out of place".to_string(), help);
            }
            let known = self.slips.last().filter(|slip| slip.group == group && !zone.slips.is_empty());
            let already = known.map_or(0, |slip| slip.sectors);
            if zone.slips.is_empty() {
                zone.slips = self.slips.len()..self.slips.len();
            }
            zone.slips.end += 1;
            self.slips.push(Slip { group, before: within - already, sectors: already + sectors });
            from = (index, first + sectors);
        }
        Ok(())
    }

    /// Cylinders, idle ones too.
    pub(super) fn cylinders(&self) -> u64 {
        self.zones.last().map_or(0, |zone| zone.first_cylinder + zone.cylinders)
    }

    /// Where block `lba` is.
    pub(super) fn place(&self, lba: u64) -> Place {
        let index = self.zones.partition_point(|zone| zone.first_lba <= lba) - 1;
        let zone = &self.zones[index];
        let within = lba - zone.first_lba + zone.front;
        let (group, block) = (within / zone.group_blocks, within % zone.group_blocks);
        let (mut physical, mut left) = (group * zone.group_sectors + block, zone.group_blocks - block);
        if !zone.slips.is_empty() {
            let slips = &self.slips[zone.slips.clone()];
            let next = slips.partition_point(|slip| (slip.group, slip.before) <= (group, block));
            if let Some(slip) = slips[..next].last().filter(|slip| slip.group == group) {
                physical += slip.sectors;
            }
            if let Some(slip) = slips.get(next).filter(|slip| slip.group == group) {
                left = left.min(slip.before - block);
            }
        }
        let (track, sector) = (physical / zone.sectors_per_track, physical % zone.sectors_per_track);
        let (cylinder, turn) = (track / self.heads, track % self.heads);
        let skews = cylinder * ((self.heads - 1) * zone.track_skew + zone.cylinder_skew) + turn * zone.track_skew;
        let back = match self.order {
            Order::Forward => false,
            Order::SerpentineInZone => cylinder % 2 == 1,
            Order::Serpentine => (zone.first_cylinder + cylinder) % 2 == 1,
        };
        Place {
            cylinder: zone.first_cylinder + cylinder.min(zone.cylinders - 1),
            head: if back { self.heads - 1 - turn } else { turn },
            slot: (sector + zone.offset + skews) % zone.sectors_per_track,
            slots: zone.sectors_per_track,
            left_on_track: left.min(zone.sectors_per_track - sector),
        }
    }
}
