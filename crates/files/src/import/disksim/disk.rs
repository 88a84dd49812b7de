//! The media and the mechanics: a `dm_disk` block.

use super::language::Block;
use super::layout::{self, Layout};
use super::seek::{self, Point};
use super::{Files, shown};
use crate::problem::{Problem, Sources};

/// A disk.
pub(super) struct Disk {
    pub(super) layout: Layout,
    /// Blocks that it has for its users.
    pub(super) sectors: u64,
    /// As it is written: revolutions a minute.
    pub(super) rpm: u64,
    /// Picoseconds.
    pub(super) head_switch: u64,
    pub(super) write_settle: u64,
    pub(super) read_settle: u64,
    pub(super) seek: Vec<Point>,
    /// Between two points time grows with the root of the distance.
    pub(super) seek_by_root: bool,
    /// The file, or the formula.
    pub(super) seek_from: String,
}

/// Keys that say nothing that this model needs, besides those that are read.
const SILENT: &[&str] =
    &["First ten seek times", "Average seek time", "Full strobe seek time", "Single cylinder seek time"];

pub(super) fn read(
    files: &mut Files,
    sources: &mut Sources,
    model: &Block,
    notes: &mut Vec<String>,
) -> Result<Disk, Problem> {
    let heads = model.count("Number of data surfaces")?;
    let cylinders = model.count("Number of cylinders")?;
    if !(1..=64).contains(&heads) || !(2..=10_000_000).contains(&cylinders) {
        let field = model.field("Number of cylinders")?;
        let title = format!("{heads} surfaces of {cylinders} cylinders are no disk");
        return Err(Problem::at(field.value_place, title).label("expected 1 to 64 surfaces, 2 to 10,000,000 cylinders"));
    }
    let layout_block = files.referred(sources, model.field("Layout Model")?, "")?;
    let layout = layout::read(sources, &layout_block, heads, notes)?;
    let mechanics = files.referred(sources, model.field("Mechanical Model")?, "dm_mech_g1")?;

    let written = model.count("Block count")?;
    if written == 0 {
        let field = model.field("Block count")?;
        return Err(Problem::at(field.value_place, "a drive without blocks is none").label("expected 1 or more"));
    }
    if written != layout.blocks {
        let kept = written.min(layout.blocks);
        notes.push(format!("the drive has {written} blocks, its zones hold {}: {kept} are used", layout.blocks));
    }
    let farthest = cylinders.max(layout.cylinders) - 1;
    let kind = mechanics.field("Seek type")?.text().to_string();
    let (mut points, seek_from) = if kind == "extracted" {
        files.curve(sources, mechanics.field("Full seek curve")?)?
    } else {
        let _ = mechanics.find("Full seek curve");
        (seek::formula(&mechanics, &kind, farthest)?, format!("the formula `{kind}`"))
    };
    notes.extend(seek::span(&mut points, farthest));
    let mut head_switch = span(&mechanics, "Head switch time")?;
    let (write_settle, mut read_settle) = settle(&mechanics)?;
    // A curve is that of reads: what they settle longer is in it.
    let least = points.iter().map(|(_, time)| *time).chain([head_switch]).min().unwrap_or(0);
    if read_settle >= least {
        read_settle = least.saturating_sub(1);
        notes.push(format!("a write settles faster than a read by {}: no more can be", shown_ms(read_settle)));
    }
    points.iter_mut().for_each(|(_, time)| *time -= read_settle);
    head_switch -= read_settle;
    let disk = Disk {
        sectors: written.min(layout.blocks),
        layout,
        rpm: rotation(&mechanics)?,
        head_switch,
        write_settle,
        read_settle,
        seek: points,
        seek_by_root: matches!(kind.as_str(), "linear" | "curve"),
        seek_from,
    };
    if let Some(field) = mechanics.find("Access time type").filter(|field| field.text() != "trackSwitchPlusRotation") {
        notes.push(format!("{} is not modelled: heads switch, and the sector comes round", shown(sources, field)));
    }
    if let Some(field) = mechanics.find("Percent error in rpms").filter(|field| field.scaled(6) != Ok(0)) {
        notes.push(format!("{} is not modelled: the spindle turns evenly", shown(sources, field)));
    }
    for key in SILENT.iter().chain(&["HPL seek equation values"]) {
        let _ = mechanics.find(key);
    }
    let unasked = model.unasked().into_iter().chain(mechanics.unasked());
    notes.extend(unasked.map(|field| format!("{} is unknown, and not used", shown(sources, field))));
    Ok(disk)
}

/// Picoseconds as milliseconds.
fn shown_ms(ps: u64) -> String {
    format!("{} ms", ps as f64 / 1e9)
}

/// Revolutions a minute.
fn rotation(mechanics: &Block) -> Result<u64, Problem> {
    let field = mechanics.field("Rotation speed (in rpms)")?;
    let rpm = field.scaled(0)?;
    u64::try_from(rpm).ok().filter(|rpm| (1..=1_000_000).contains(rpm)).ok_or_else(|| {
        Problem::at(field.value_place, "no disk turns like that").label("expected 1 to 1,000,000 revolutions a minute")
    })
}

/// Milliseconds, in picoseconds.
fn span(block: &Block, key: &str) -> Result<u64, Problem> {
    let field = block.field(key)?;
    u64::try_from(field.scaled(9)?).ok().filter(|span| *span <= 1_000_000_000_000).ok_or_else(|| {
        Problem::at(field.value_place, format!("`{key}` is no time of a drive")).label("expected 0 to 1000 ms")
    })
}

/// What a write settles longer than a read, and a read than a write: one of them is nothing.
fn settle(mechanics: &Block) -> Result<(u64, u64), Problem> {
    const KEY: &str = "Add. write settling delay";
    let field = mechanics.field(KEY)?;
    let delay = field.scaled(9)?;
    let span = u64::try_from(delay.unsigned_abs()).ok().filter(|span| *span <= 1_000_000_000_000).ok_or_else(|| {
        Problem::at(field.value_place, format!("`{KEY}` is no time of a drive")).label("expected -1000 to 1000 ms")
    })?;
    Ok(if delay < 0 { (0, span) } else { (span, 0) })
}
