//! Zones, spares and slipped sectors: a `dm_layout_g1` block.

use super::language::{Block, Value};
use super::shown;
use crate::problem::{Problem, Sources};

/// A zone.
pub(super) struct Zone {
    pub(super) first_cylinder: u64,
    pub(super) cylinders: u64,
    pub(super) sectors_per_track: u64,
    pub(super) track_skew: u64,
    pub(super) cylinder_skew: u64,
    pub(super) offset: u64,
    pub(super) front: u64,
    /// In every group of tracks.
    pub(super) spares: u64,
    /// First sector, and how many.
    pub(super) slips: Vec<(u64, u64)>,
}

/// All zones.
pub(super) struct Layout {
    pub(super) heads: u64,
    pub(super) order: &'static str,
    /// Tracks of a group with spares of its own; 0: a zone is one.
    pub(super) group_tracks: u64,
    pub(super) zones: Vec<Zone>,
    pub(super) blocks: u64,
    pub(super) cylinders: u64,
}

/// What spares a sparing scheme of DiskSim's has: of how many tracks a group is (0: the zone), and how many sectors of it
/// are spare.
struct Sparing {
    group_tracks: u64,
    spares: fn(written: u64, sectors_per_track: u64, slips: u64) -> u64,
    /// Slips are whole tracks.
    by_track: bool,
    note: Option<&'static str>,
}

/// Most zones, and most slipped runs of sectors: a part file has room for no more numbers.
const MOST_ZONES: usize = 200;
const MOST_SLIPS: usize = 2_000;

fn sparing(scheme: u64, heads: u64, range_cylinders: u64) -> Option<Sparing> {
    let plain = |group_tracks| Sparing { group_tracks, spares: |written, _, _| written, by_track: false, note: None };
    let noted = |sparing: Sparing, note| Sparing { note: Some(note), ..sparing };
    let to_the_end = "sectors with defects move those behind them in their cylinder, not in the whole zone";
    let at_front = "spares are at the end of a cylinder here, not at its front";
    Some(match scheme {
        0 => Sparing { spares: |_, _, _| 0, ..plain(0) },
        1 => Sparing { spares: |written, sectors, _| written * sectors, by_track: true, ..plain(0) },
        2 => plain(heads),
        3 => plain(1),
        4 => noted(plain(heads), to_the_end),
        5 | 6 => noted(plain(heads), at_front),
        7 => Sparing { spares: |_, _, slips| slips, ..plain(0) },
        8 => plain(range_cylinders.max(1) * heads),
        9 => plain(0),
        10 => Sparing { spares: |written, _, slips| written + slips, ..plain(0) },
        _ => return None,
    })
}

pub(super) fn read(sources: &Sources, block: &Block, heads: u64, notes: &mut Vec<String>) -> Result<Layout, Problem> {
    if block.kind != "dm_layout_g1" {
        let problem = Problem::at(block.place, format!("`{}` is no layout that can be imported", block.kind));
        return Err(problem.label("expected dm_layout_g1"));
    }
    let order = match block.count("LBN-to-PBN mapping scheme")? {
        0 => "forward",
        1 => "serpentine in zone",
        2 => "serpentine",
        other => {
            let field = block.field("LBN-to-PBN mapping scheme")?;
            let title = format!("{other} is no order of heads that can be imported");
            return Err(Problem::at(field.value_place, title).label("expected 0, 1 or 2"));
        }
    };
    let scheme = block.count("Sparing scheme used")?;
    let range = block.find("Rangesize for sparing").map_or(Ok(1), |field| field.count())?.min(10_000_000);
    let Some(sparing) = sparing(scheme, heads, range) else {
        let field = block.field("Sparing scheme used")?;
        let title = format!("{scheme} is no sparing scheme that can be imported");
        return Err(Problem::at(field.value_place, title).label("expected 0 to 10"));
    };
    notes.extend(sparing.note.map(String::from));
    let mut layout =
        Layout { heads, order, group_tracks: sparing.group_tracks, zones: Vec::new(), blocks: 0, cylinders: 0 };
    let zones = block.field("Zones")?;
    let Value::List(items) = &zones.value else {
        return Err(Problem::at(zones.value_place, "`Zones` is no list").label("expected [ … ]"));
    };
    if items.is_empty() || items.len() > MOST_ZONES {
        let title = format!("{} zones are too few, or too many", items.len());
        return Err(Problem::at(zones.value_place, title).label(format!("expected 1 to {MOST_ZONES}")));
    }
    for (item, at) in items {
        let Value::Block(item) = item else {
            return Err(Problem::at(*at, "this is no zone").label("expected dm_layout_g1_zone { … }"));
        };
        layout.add(sources, item, &sparing, notes)?;
    }
    notes
        .extend(block.unasked().into_iter().map(|field| format!("{} is unknown, and not used", shown(sources, field))));
    Ok(layout)
}

impl Layout {
    fn add(
        &mut self,
        sources: &Sources,
        block: &Block,
        sparing: &Sparing,
        notes: &mut Vec<String>,
    ) -> Result<(), Problem> {
        let first_cylinder = block.count("First cylinder number")?;
        let last = block.field("Last cylinder number")?;
        let last_cylinder = last.count()?;
        if first_cylinder < self.cylinders || last_cylinder < first_cylinder || last_cylinder > 10_000_000 {
            let title = format!("a zone from cylinder {first_cylinder} to {last_cylinder} is out of place");
            return Err(Problem::at(last.value_place, title).label("expected zones from the outside to the inside"));
        }
        let per_track = block.field("Blocks per track")?;
        let (cylinders, sectors_per_track) = (last_cylinder - first_cylinder + 1, per_track.count()?);
        if !(1..=100_000).contains(&sectors_per_track) {
            let title = format!("{sectors_per_track} blocks are no track");
            return Err(Problem::at(per_track.value_place, title).label("expected 1 to 100,000"));
        }
        let mut slots = |key: &str| -> Result<u64, Problem> {
            let field = block.field(key)?;
            let (exact, rounded) = (field.scaled(6)?, field.scaled(0)?);
            if exact != rounded * 1_000_000 {
                notes.push(format!("{} is rounded to a whole sector", shown(sources, field)));
            }
            Ok(rounded.rem_euclid(i128::from(sectors_per_track)) as u64)
        };
        let (track_skew, cylinder_skew) = (slots("Skew for track switch")?, slots("Skew for cylinder switch")?);
        let offset = slots("Offset of first block")?;
        let unit = if sparing.by_track { sectors_per_track } else { 1 };
        let sectors = cylinders * self.heads * sectors_per_track;
        let group = match sparing.group_tracks {
            0 => sectors,
            tracks => tracks.saturating_mul(sectors_per_track).min(sectors),
        };
        let slips = block.find("slips").map_or(Ok(Vec::new()), |field| field.numbers(0))?;
        let count = slips.len() as u64;
        let (slips, dropped) = runs(slips, unit, group, sectors);
        if dropped > 0 {
            notes.push(format!("{dropped} slipped sectors of the zone at cylinder {first_cylinder} are outside of it"));
        }
        let known: usize = self.zones.iter().map(|zone| zone.slips.len()).sum();
        if known + slips.len() > MOST_SLIPS {
            return Err(Problem::at(block.place, format!("there are more than {MOST_SLIPS} slipped sectors")));
        }
        let defects = block.find("defects").map_or(Ok(Vec::new()), |field| field.numbers(0))?;
        if !defects.is_empty() {
            let many = defects.len();
            notes.push(format!("{many} remapped sectors of the zone at cylinder {first_cylinder} are where they were"));
        }
        let number = block.field("Number of spares")?;
        let spares = (sparing.spares)(number.count()?.min(1 << 40), sectors_per_track, count);
        let front = block.field("Empty space at zone front")?;
        let held = sectors.saturating_sub(spares.saturating_mul(sectors / group));
        if spares >= group || front.count()? >= held {
            let title = format!("{spares} spare sectors and {} empty ones leave no zone", front.text());
            return Err(Problem::at(number.value_place, title).label("expected fewer"));
        }
        let zone = Zone {
            first_cylinder,
            cylinders,
            sectors_per_track,
            track_skew,
            cylinder_skew,
            offset,
            front: front.count()?,
            spares,
            slips,
        };
        (self.blocks, self.cylinders) = (self.blocks + held - zone.front, last_cylinder + 1);
        self.zones.push(zone);
        let unknown =
            block.unasked().into_iter().map(|field| format!("{} is unknown, and not used", shown(sources, field)));
        notes.extend(unknown);
        Ok(())
    }
}

/// Slipped units as runs of sectors, in order, none across two groups; and how many lie outside of the zone.
fn runs(mut slips: Vec<i128>, unit: u64, group: u64, sectors: u64) -> (Vec<(u64, u64)>, usize) {
    slips.sort_unstable();
    slips.dedup();
    let mut runs: Vec<(u64, u64)> = Vec::new();
    let mut dropped = 0;
    for slip in slips {
        let first = u64::try_from(slip).ok().and_then(|slip| slip.checked_mul(unit));
        let Some(first) = first.filter(|first| first + unit <= sectors && first % group + unit <= group) else {
            dropped += 1;
            continue;
        };
        match runs.last_mut() {
            Some((start, length)) if *start + *length == first && first % group != 0 => *length += unit,
            _ => runs.push((first, unit)),
        }
    }
    (runs, dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_become_runs_within_their_groups() {
        let (found, dropped) = runs(vec![5, 3, 4, 10, 9, 99, -1], 1, 10, 40);
        assert_eq!((found, dropped), (vec![(3, 3), (9, 1), (10, 1)], 2));
        assert_eq!(runs(vec![2], 100, 1_000, 1_000).0, [(200, 100)], "a slipped track is all its sectors");
    }
}
