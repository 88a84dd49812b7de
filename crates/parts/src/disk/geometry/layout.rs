//! Which cylinder, head and slot a logical block is on.
//!
//! Blocks are numbered along a track, then from head to head, then from cylinder to cylinder. A zone is a run of
//! cylinders with equally many sectors a track; between two zones cylinders may lie idle. Some sectors of every group
//! of tracks are spare; a sector with a defect is left out, and those behind it in its group move up by one.

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

/// In which order the heads of a cylinder come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// From the first to the last on every cylinder.
    Forward,
    /// Back on every other cylinder of a zone.
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
    pub(super) fn plain(p: &mut Parameters) -> Result<(Layout, u64), SpecError> {
        let heads = heads(p)?;
        let mut layout = Layout::forward(heads, Vec::new());
        let (mut lba, mut cylinder) = (0, 0);
        for mut row in p.rows("zones.rows")? {
            let (zone, _) = zone(&mut row, heads, lba, cylinder)?;
            (lba, cylinder) = (lba + zone.group_blocks, cylinder + zone.cylinders);
            layout.zones.push(zone);
        }
        Ok((layout, lba))
    }

    /// Zones with spares, slipped sectors and idle cylinders.
    pub(super) fn spared(p: &mut Parameters) -> Result<(Layout, u64), SpecError> {
        let heads = heads(p)?;
        let order = match p.text("layout.heads")?.as_str() {
            "forward" => Order::Forward,
            "serpentine" => Order::Serpentine,
            "serpentine in zone" => Order::SerpentineInZone,
            other => {
                let help = "write \"forward\", \"serpentine\" or \"serpentine in zone\"";
                return Err(p.error("layout.heads", format!("`{other}` is no order of heads"), help));
            }
        };
        let group_tracks = p.count("layout.spare_group")?;
        let mut layout = Layout { heads, zones: Vec::new(), slips: Vec::new(), order };
        let (mut lba, mut cylinder) = (0, 0);
        for mut row in p.rows("zones.rows")? {
            let first_cylinder = row.count("first_cylinder")?;
            if first_cylinder < cylinder || first_cylinder > 100_000_000 {
                let problem =
                    format!("this zone begins at cylinder {first_cylinder}, the one before ends at {cylinder}");
                return Err(row.error("first_cylinder", problem, "expected zones from the outside to the inside"));
            }
            let (mut zone, sectors) = zone(&mut row, heads, lba, first_cylinder)?;
            let group = match group_tracks {
                0 => sectors,
                tracks => tracks.saturating_mul(zone.sectors_per_track).min(sectors),
            };
            (zone.offset, zone.front) = (row.count("offset")?, row.count("front")?);
            if zone.offset >= zone.sectors_per_track {
                let problem = format!("the zone begins {} sectors behind the index mark", zone.offset);
                return Err(row.error("offset", problem, "expected less than a track"));
            }
            let spares = row.count("spares")?;
            if spares >= group {
                let problem = format!("{spares} of {group} sectors are spare");
                return Err(row.error("spares", problem, "expected fewer spares than a group of tracks has sectors"));
            }
            (zone.group_sectors, zone.group_blocks) = (group, group - spares);
            let held = sectors - spares * (sectors / group);
            if zone.front >= held {
                let problem = format!("{} of {held} sectors at the front of the zone hold nothing", zone.front);
                return Err(row.error("front", problem, "expected fewer than the zone has"));
            }
            (lba, cylinder) = (lba + held - zone.front, first_cylinder + zone.cylinders);
            layout.zones.push(zone);
        }
        layout.read_slips(p)?;
        Ok((layout, lba))
    }

    fn read_slips(&mut self, p: &mut Parameters) -> Result<(), SpecError> {
        let mut from = (0, 0);
        for mut row in p.rows("slips.rows")? {
            let (index, first, sectors) = (row.count("zone")? as usize, row.count("first")?, row.count("sectors")?);
            // A disk without defects has a row that says so.
            if sectors == 0 {
                continue;
            }
            let Some(zone) = self.zones.get_mut(index) else {
                return Err(row.error("zone", format!("there is no zone {index}"), "zones are counted from 0"));
            };
            let held = zone.cylinders * self.heads * zone.sectors_per_track;
            let (group, within) = (first / zone.group_sectors, first % zone.group_sectors);
            if (index, first) < from || first >= held || sectors > zone.group_sectors - within {
                let help = "expected rising zones and sectors, each within its zone and its group of tracks";
                return Err(row.error("first", "these slipped sectors are out of place", help));
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

fn heads(p: &mut Parameters) -> Result<u64, SpecError> {
    let heads = p.count("heads")?;
    if heads == 0 || heads > 64 {
        return Err(p.error("heads", format!("{heads} heads"), "a disk has 1 to 64 heads"));
    }
    Ok(heads)
}

/// A zone that is one group without spares, and its sectors.
fn zone(row: &mut Parameters, heads: u64, first_lba: u64, first_cylinder: u64) -> Result<(Zone, u64), SpecError> {
    let (cylinders, sectors_per_track) = (row.count("cylinders")?, row.count("sectors_per_track")?);
    let (track_skew, cylinder_skew) = (row.count("track_skew")?, row.count("cylinder_skew")?);
    let in_range = (1..=10_000_000).contains(&cylinders) && (1..=100_000).contains(&sectors_per_track);
    if !in_range || track_skew >= sectors_per_track || cylinder_skew >= sectors_per_track {
        let help = "expected cylinders and sectors above zero, and skews below the sectors of a track";
        return Err(row.error("sectors_per_track", "this zone is no zone", help));
    }
    let sectors = cylinders * heads * sectors_per_track;
    let (offset, front) = (0, 0);
    let (group_sectors, group_blocks, slips) = (sectors, sectors, 0..0);
    let zone = Zone {
        first_lba,
        first_cylinder,
        cylinders,
        sectors_per_track,
        track_skew,
        cylinder_skew,
        offset,
        front,
        group_sectors,
        group_blocks,
        slips,
    };
    Ok((zone, sectors))
}
