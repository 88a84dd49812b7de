//! The drive's electronics: a `disksim_disk` block.

use super::bus::BlockTime;
use super::disk::Disk;
use super::language::{Block, Field};
use crate::problem::Problem;

/// A number of the part file: its text, and the file that has it, or the reason where none has.
pub(super) struct Number {
    pub(super) text: String,
    pub(super) from: Result<String, String>,
}

/// What the electronics are like.
pub(super) struct Controller {
    pub(super) rate: Number,
    pub(super) depth: u64,
    pub(super) scheduling: &'static str,
    pub(super) segments: u64,
    pub(super) segment: u64,
    pub(super) burst: u64,
    /// Parts per million.
    pub(super) high_water: i128,
    pub(super) low_water: i128,
    pub(super) water_of: &'static str,
    pub(super) read_ahead: u64,
    pub(super) read_ahead_to: &'static str,
    pub(super) read_ahead_after_hit: bool,
    pub(super) write_segments: u64,
    /// By [`OVERHEADS`], picoseconds.
    pub(super) overheads: [u64; 10],
}

/// Our name of an overhead, and DiskSim's.
pub(super) const OVERHEADS: [(&str, &str); 10] = [
    ("read_hit_after_read", "Read hit over. after read"),
    ("read_hit_after_write", "Read hit over. after write"),
    ("read_miss_after_read", "Read miss over. after read"),
    ("read_miss_after_write", "Read miss over. after write"),
    ("write_hit_after_read", "Write hit over. after read"),
    ("write_hit_after_write", "Write hit over. after write"),
    ("write_miss_after_read", "Write miss over. after read"),
    ("write_miss_after_write", "Write miss over. after write"),
    ("read_completion", "Read completion overhead"),
    ("write_completion", "Write completion overhead"),
];
/// Of those, the ones that begin a command.
const BEGINNINGS: usize = 8;

/// Keys that this model has no use for, and the values with which it does the same; any value where there are none.
const NEUTRAL: &[(&str, &[&str])] = &[
    ("Print stats", &[]),
    ("Avg sectors per cylinder", &[]),
    ("Calc sector by sector", &[]),
    // With a bus of its own a drive that holds it is as fast.
    ("Hold bus entire read xfer", &[]),
    ("Hold bus entire write xfer", &[]),
    ("Allow almost read hits", &["0"]),
    ("Allow sneaky full read hits", &["0"]),
    ("Allow sneaky partial read hits", &["0"]),
    ("Allow sneaky intermediate read hits", &["0"]),
    ("Allow read hits on write data", &["1"]),
    ("Allow write prebuffering", &["0"]),
    ("Preseeking level", &["0"]),
    ("Never disconnect", &["0"]),
    ("Use separate write segment", &["0"]),
    ("Enable caching in buffer", &["1", "2"]),
    ("Minimum read-ahead (blks)", &["0"]),
    ("Read any free blocks", &["0"]),
    ("Immediate buffer read", &["0"]),
    ("Immediate buffer write", &["0"]),
    ("Combine seq writes", &["1"]),
    ("Stop prefetch in sector", &["1"]),
    ("Disconnect write if seek", &["0"]),
    ("Write hit stop prefetch", &["1"]),
    ("Read directly to buffer", &["1"]),
    ("Immed transfer partial hit", &["1"]),
    ("Data preparation overhead", &["0"]),
    ("First reselect overhead", &["0"]),
    ("Other reselect overhead", &["0"]),
    ("Read disconnect afterread", &["0"]),
    ("Read disconnect afterwrite", &["0"]),
    ("Write disconnect overhead", &["0"]),
    ("Extra write disconnect", &["0"]),
    ("Extradisc command overhead", &["0"]),
    ("Extradisc disconnect overhead", &["0"]),
    ("Extradisc inter-disconnect delay", &["0"]),
    ("Extradisc 2nd disconnect overhead", &["0"]),
    ("Extradisc seek delta", &["0"]),
    ("Minimum seek delay", &["0"]),
];

pub(super) fn read(
    block: &Block,
    disk: &Disk,
    time: &BlockTime,
    notes: &mut Vec<String>,
) -> Result<Controller, Problem> {
    let segment = bounded(block, "Segment size (in blks)", 1, 65_536, notes)?;
    let (read_ahead, read_ahead_to) = read_ahead(block, segment)?;
    let fast_writes = block.count("Fast write level")? > 0;
    let write_segments = bounded(block, "Maximum number of write segments", 1, 256, notes)?;
    let controller = Controller {
        rate: rate(block, time, notes)?,
        depth: bounded(block, "Max queue length", 1, 256, notes)?,
        scheduling: scheduling(block, notes)?,
        segments: bounded(block, "Number of buffer segments", 1, 256, notes)?,
        segment,
        // Half of a segment crosses the bus while the other half fills.
        burst: segment.div_ceil(2),
        high_water: share(block, "High (read) water mark")?,
        low_water: share(block, "Low (write) water mark")?,
        water_of: if block.scaled_or("Set watermark by reqsize", 0, 0)? != 0 { "request" } else { "segment" },
        read_ahead,
        read_ahead_to,
        read_ahead_after_hit: block.scaled_or("Read-ahead on idle hit", 0, 0)? != 0,
        write_segments: if fast_writes { write_segments } else { 0 },
        overheads: overheads(block)?,
    };
    if disk.sectors > 1 << 32 {
        return Err(Problem::at(block.place, "this drive has more blocks than READ(10) can address"));
    }
    for (key, same) in NEUTRAL {
        let Some(field) = block.find(key) else { continue };
        let alike =
            |value: &&str| field.scaled(6).is_ok_and(|number| Some(number) == super::language::decimal(value, 6));
        if !same.is_empty() && !same.iter().any(alike) {
            notes.push(format!("`{key} = {}` is not modelled", field.text()));
        }
    }
    let _ = (block.find("Model"), block.find("Scheduler"));
    let unknown =
        block.unasked().into_iter().map(|field| format!("`{} = {}` is unknown, and not used", field.key, field.text()));
    notes.extend(unknown);
    Ok(controller)
}

/// A count, put into its range.
fn bounded(block: &Block, key: &str, least: u64, most: u64, notes: &mut Vec<String>) -> Result<u64, Problem> {
    let written = block.count(key)?;
    let used = written.clamp(least, most);
    if used != written {
        notes.push(format!("`{key} = {written}` is out of range: {used} is used"));
    }
    Ok(used)
}

/// A share of one, in parts per million; nothing is none.
fn share(block: &Block, key: &str) -> Result<i128, Problem> {
    let Some(field) = block.find(key) else { return Ok(0) };
    let share = field.scaled(6)?;
    if !(0..=1_000_000).contains(&share) {
        return Err(Problem::at(field.value_place, format!("`{key}` is no share")).label("expected 0.0 to 1.0"));
    }
    Ok(share)
}

/// A block's time on the bus, as a rate.
fn rate(block: &Block, time: &BlockTime, notes: &mut Vec<String>) -> Result<Number, Problem> {
    // 512 bytes in that many picoseconds.
    let rate = if time.ps > 0 { 512_000_000_000_000 / time.ps } else { 0 };
    if (100_000..=1_000_000_000).contains(&rate) {
        return Ok(Number { text: format!("{rate} B/s"), from: Ok(time.file.clone()) });
    }
    let field = block.field("Bulk sector transfer time")?;
    notes.push(format!(
        "`{} = {}` is no time of this model, and no bus of a .parv file has one: the rate is assumed",
        field.key,
        field.text()
    ));
    let reason = "the files give no time of a block on the bus: Fast-20, 16 bits".to_string();
    Ok(Number { text: "40 MB/s".to_string(), from: Err(reason) })
}

fn scheduling(block: &Block, notes: &mut Vec<String>) -> Result<&'static str, Problem> {
    let Some(scheduler) = block.find("Scheduler") else { return Ok("fcfs") };
    let scheduler = scheduler.block()?;
    let policy = scheduler.count("Scheduling policy")?;
    let (name, exact) = match policy {
        1 => ("fcfs", true),
        3 => ("elevator", true),
        2 | 5 | 6 | 17..=19 => ("elevator", false),
        8 | 10 => ("sptf", true),
        4 | 7 | 9 | 11..=16 | 20..=26 => ("sptf", false),
        _ => ("fcfs", false),
    };
    if !exact {
        notes.push(format!("`Scheduling policy = {policy}` is taken as {name}"));
    }
    Ok(name)
}

/// Sectors that are read on, at most, and where reading on ends before.
fn read_ahead(block: &Block, segment: u64) -> Result<(u64, &'static str), Problem> {
    let field = block.field("Buffer continuous read")?;
    let most = bounded_or(block, "Maximum read-ahead (blks)", segment)?;
    let _ = block.find("Read-ahead over requested");
    match field.count()? {
        0 => Ok((0, "sectors")),
        1 => Ok((most, "track")),
        2 => Ok((most, "cylinder")),
        3 => Ok((most, "sectors")),
        4 => Ok((most, "track ahead")),
        other => {
            let title = format!("{other} is no way to read on");
            Err(Problem::at(field.value_place, title).label("expected 0 to 4"))
        }
    }
}

fn bounded_or(block: &Block, key: &str, otherwise: u64) -> Result<u64, Problem> {
    Ok(match block.find(key).map_or(Ok(0), Field::count)? {
        0 => otherwise,
        count => count.min(65_536),
    })
}

/// Overheads, in picoseconds: each that begins a command with the overhead of any request, and all of them scaled.
fn overheads(block: &Block) -> Result<[u64; 10], Problem> {
    let scale = block.scaled_or("Time scale for overheads", 6, 1_000_000)?;
    let always = block.scaled_or("Per-request overhead time", 9, 0)?;
    let mut overheads = [0; 10];
    for (index, (overhead, (_, key))) in overheads.iter_mut().zip(OVERHEADS).enumerate() {
        let begins = index < BEGINNINGS;
        let Some(field) = (if begins { Some(block.field(key)?) } else { block.find(key) }) else { continue };
        let time = (field.scaled(9)? + if begins { always } else { 0 }).checked_mul(scale).map(|time| time / 1_000_000);
        let time = time.and_then(|time| u64::try_from(time).ok()).filter(|time| *time <= 1_000_000_000_000);
        *overhead = time.ok_or_else(|| {
            Problem::at(field.value_place, format!("`{key}` is no time of a drive")).label("expected 0 to 1000 ms")
        })?;
    }
    Ok(overheads)
}
