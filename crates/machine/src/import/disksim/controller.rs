//! The drive's electronics: a `disksim_disk` block.

use super::disk::Disk;
use super::language::{Block, Field};
use crate::problem::Problem;

/// A number of the part file: its text, and the reason where no file says it.
pub(super) struct Number {
    pub(super) text: String,
    pub(super) assumed: Option<String>,
}

/// What the electronics are like.
pub(super) struct Controller {
    pub(super) rate: Number,
    pub(super) depth: u64,
    pub(super) scheduling: &'static str,
    pub(super) segments: u64,
    pub(super) segment: u64,
    pub(super) burst: u64,
    pub(super) read_ahead: u64,
    pub(super) read_ahead_after_hit: bool,
    pub(super) write_segments: u64,
    /// By [`OVERHEADS`], picoseconds.
    pub(super) overheads: [u64; 8],
}

/// Our name of an overhead, and DiskSim's.
pub(super) const OVERHEADS: [(&str, &str); 8] = [
    ("read_hit_after_read", "Read hit over. after read"),
    ("read_hit_after_write", "Read hit over. after write"),
    ("read_miss_after_read", "Read miss over. after read"),
    ("read_miss_after_write", "Read miss over. after write"),
    ("write_hit_after_read", "Write hit over. after read"),
    ("write_hit_after_write", "Write hit over. after write"),
    ("write_miss_after_read", "Write miss over. after read"),
    ("write_miss_after_write", "Write miss over. after write"),
];

/// Keys that this model has no use for, and the values with which it does the same; any value where there are none.
const NEUTRAL: &[(&str, &[&str])] = &[
    ("Print stats", &[]),
    ("Avg sectors per cylinder", &[]),
    ("Calc sector by sector", &[]),
    ("Set watermark by reqsize", &[]),
    ("Low (write) water mark", &["0"]),
    ("High (read) water mark", &["0"]),
    ("Hold bus entire read xfer", &["0"]),
    ("Hold bus entire write xfer", &["0"]),
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
    ("Stop prefetch in sector", &["0"]),
    ("Disconnect write if seek", &["0"]),
    ("Write hit stop prefetch", &["1"]),
    ("Read directly to buffer", &["1"]),
    ("Immed transfer partial hit", &["1"]),
    ("Read completion overhead", &["0"]),
    ("Write completion overhead", &["0"]),
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

pub(super) fn read(block: &Block, disk: &Disk, notes: &mut Vec<String>) -> Result<Controller, Problem> {
    let segment = bounded(block, "Segment size (in blks)", 1, 65_536, notes)?;
    let read_ahead = read_ahead(block, segment, notes)?;
    let fast_writes = block.count("Fast write level")? > 0;
    let write_segments = bounded(block, "Maximum number of write segments", 1, 256, notes)?;
    let controller = Controller {
        rate: rate(block, notes)?,
        depth: bounded(block, "Max queue length", 1, 256, notes)?,
        scheduling: scheduling(block, notes)?,
        segments: bounded(block, "Number of buffer segments", 1, 256, notes)?,
        segment,
        // Half of a segment crosses the bus while the other half fills.
        burst: segment.div_ceil(2),
        read_ahead,
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

/// A block's time on the bus, as a rate.
fn rate(block: &Block, notes: &mut Vec<String>) -> Result<Number, Problem> {
    let field = block.field("Bulk sector transfer time")?;
    let time = field.scaled(9)?;
    // 512 bytes in that many picoseconds.
    let rate = if time > 0 { 512_000_000_000_000 / time } else { 0 };
    if (100_000..=1_000_000_000).contains(&rate) {
        return Ok(Number { text: format!("{rate} B/s"), assumed: None });
    }
    notes.push(format!("`{} = {}` is no time of this model: the rate is assumed", field.key, field.text()));
    let reason = "the files give no time of a block on the bus: Fast-20, 16 bits".to_string();
    Ok(Number { text: "40 MB/s".to_string(), assumed: Some(reason) })
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

fn read_ahead(block: &Block, segment: u64, notes: &mut Vec<String>) -> Result<u64, Problem> {
    let (kind, most) =
        (block.count("Buffer continuous read")?, bounded_or(block, "Maximum read-ahead (blks)", segment)?);
    let _ = block.find("Read-ahead over requested");
    match kind {
        0 => Ok(0),
        3 | 4 => Ok(most),
        _ => {
            notes.push(format!(
                "`Buffer continuous read = {kind}`: read-ahead does not stop at the end of a track here"
            ));
            Ok(most)
        }
    }
}

fn bounded_or(block: &Block, key: &str, otherwise: u64) -> Result<u64, Problem> {
    Ok(match block.find(key).map_or(Ok(0), Field::count)? {
        0 => otherwise,
        count => count.min(65_536),
    })
}

/// Overheads, in picoseconds: each with the overhead of any request, and all of them scaled.
fn overheads(block: &Block) -> Result<[u64; 8], Problem> {
    let scale = block.scaled_or("Time scale for overheads", 6, 1_000_000)?;
    let always = block.scaled_or("Per-request overhead time", 9, 0)?;
    let mut overheads = [0; 8];
    for (overhead, (_, key)) in overheads.iter_mut().zip(OVERHEADS) {
        let field = block.field(key)?;
        let time = (field.scaled(9)? + always).checked_mul(scale).map(|time| time / 1_000_000);
        let time = time.and_then(|time| u64::try_from(time).ok()).filter(|time| *time <= 1_000_000_000_000);
        *overhead = time.ok_or_else(|| {
            Problem::at(field.value_place, format!("`{key}` is no time of a drive")).label("expected 0 to 1000 ms")
        })?;
    }
    Ok(overheads)
}
