//! The controller's data sheet and the policies that its set-up utility offers.

use hopscope_kernel::Time;

use super::cache::LINE_SECTORS_MAX;
use super::layout::{Layout, Level, SECTOR_BYTES};
use crate::parameters::{Parameters, SpecError};

/// No line rate that a simulation can count with is slower.
const RATE_MIN: u64 = 1_000_000;
const COUNT_MAX: u64 = 256;
const SCSI_CHANNELS_MAX: u64 = 4;
/// One drive each: as many as an array may have.
const ATA_CHANNELS_MAX: u64 = 32;
/// Lines of a cache: 16 GiB in lines of 64 KiB.
const LINES_MAX: u64 = 1 << 18;

/// When writes end for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteEnds {
    /// When they are in the cache.
    InCache,
    /// When they are on the drives.
    OnDrives,
}

/// When the cache is written to the drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destages {
    /// While a drive has nothing else to do.
    WhenIdle,
    /// When a write finds the limit reached: it waits for that.
    AtLimit,
}

/// What makes the firmware read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadsAhead {
    /// Nothing.
    Never,
    /// A read that goes on where the command before it, which was a read too, ended.
    AfterCommand,
    /// A read that goes on where one of the last streams of reads ended.
    InStreams,
}

/// Which command of a drive is sent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The oldest.
    FirstCome,
    /// The next one upwards from the last, and then the lowest.
    Elevator,
}

/// What kind of channels a controller has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// Of many drives, with tags.
    Scsi,
    /// Of one drive, one command at a time.
    Ata,
}

/// What moves everything over PCI, where a card has but one such engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineSpec {
    /// Bytes of a burst.
    pub burst: u32,
    /// From one burst to the next.
    pub setup: Time,
}

/// A drive that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which of the array.
    pub drive: usize,
    /// When.
    pub at: Time,
    /// From then until the firmware knows that commands are lost.
    pub noticed: Time,
}

/// The controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Whether bytes go between drives and the host as they come, and are kept nowhere on the card.
    pub keeps_nothing: bool,
    /// Bytes a second that its memory moves.
    pub memory_rate: u64,
    /// Bytes that one user of the memory moves at a time.
    pub memory_burst: u64,
    /// Channels.
    pub channels: u64,
    /// Commands of the host under way.
    pub commands: u64,
    /// Bytes of a command's description in the host's memory, and of its status.
    pub description_bytes: u32,
    /// The same.
    pub status_bytes: u32,
    /// Bytes of the host's memory that lie together.
    pub page_bytes: u32,
    /// Its engine on PCI, where all share one.
    pub engine: Option<EngineSpec>,
    /// Processor time of a command of the host, of one to a drive, and of a line in the cache.
    pub command: Time,
    /// The same.
    pub drive_command: Time,
    /// The same.
    pub line: Time,
    /// Commands to a drive under way.
    pub drive_tags: u64,
    /// Which of those that wait is next.
    pub order: Order,
    /// Bytes of the cache, and of a line of it.
    pub cache_bytes: u64,
    /// The same.
    pub line_bytes: u64,
    /// When writes end.
    pub write_ends: WriteEnds,
    /// When they go to the drives.
    pub destages: Destages,
    /// Lines that may be unwritten, those that stay unwritten while drives are idle, and those that go together.
    pub unwritten_max: usize,
    /// The same.
    pub unwritten_kept: usize,
    /// The same.
    pub together_max: usize,
    /// What is read ahead.
    pub reads_ahead: ReadsAhead,
    /// Lines ahead, and streams that are known.
    pub ahead_lines: u64,
    /// The same.
    pub streams: usize,
    /// How the array keeps its data.
    pub level: Level,
    /// Its drives, and spares beside them.
    pub drives: usize,
    /// The same.
    pub spares: usize,
    /// Bytes of a stripe unit.
    pub unit_bytes: u64,
    /// Processor time for the parity of a row.
    pub parity: Time,
    /// A drive that fails.
    pub failure: Option<Failure>,
    /// Rows of a rebuild that go together, and the pause after them.
    pub rebuild_rows: u64,
    /// The same.
    pub rebuild_pause: Time,
}

fn choice<T: Copy>(p: &mut Parameters, key: &str, words: &[(&str, T)]) -> Result<T, SpecError> {
    let written = p.text(key)?;
    words.iter().find(|(word, _)| *word == written).map(|(_, choice)| *choice).ok_or_else(|| {
        let known: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        p.error(key, format!("`{written}` is not possible here"), format!("expected {}", known.join(" or ")))
    })
}

fn count(p: &mut Parameters, key: &str, most: u64) -> Result<u64, SpecError> {
    let count = p.count(key)?;
    if !(1..=most).contains(&count) {
        return Err(p.error(key, "no adapter has so many", format!("expected 1 to {most}")));
    }
    Ok(count)
}

fn rate(p: &mut Parameters, key: &str) -> Result<u64, SpecError> {
    let rate = p.rate(key)?;
    if rate < RATE_MIN {
        return Err(p.error(key, "no memory is so slow", "expected 1 MB/s at least"));
    }
    Ok(rate)
}

/// Channels of the controller.
pub(super) fn channels(p: &mut Parameters, interface: Interface) -> Result<u64, SpecError> {
    count(p, "channels", if interface == Interface::Ata { ATA_CHANNELS_MAX } else { SCSI_CHANNELS_MAX })
}

/// An amount of data between two others, in whole sectors.
fn sectors(p: &mut Parameters, key: &str, least: u64, most: u64) -> Result<u64, SpecError> {
    let bytes = p.bytes(key)?;
    if !bytes.is_multiple_of(SECTOR_BYTES) || !(least..=most).contains(&bytes) {
        let help = format!("expected a multiple of {SECTOR_BYTES} B, {least} to {most} B");
        return Err(p.error(key, "no adapter is like that", help));
    }
    Ok(bytes)
}

impl Spec {
    /// Pulls the numbers.
    pub fn read(p: &mut Parameters, interface: Interface) -> Result<Spec, SpecError> {
        let line_bytes = sectors(p, "cache.line", SECTOR_BYTES, LINE_SECTORS_MAX * SECTOR_BYTES)?;
        let keeps_nothing = interface == Interface::Ata && p.bytes("cache.size")? == 0;
        let least = if keeps_nothing { 0 } else { 64 * line_bytes };
        let cache_bytes = sectors(p, "cache.size", least, LINES_MAX * line_bytes)?;
        let lines = cache_bytes / line_bytes;
        let of_cache = |p: &mut Parameters, key: &str| {
            let bytes = p.bytes(key)?;
            if bytes / line_bytes > lines / 2 && !keeps_nothing {
                return Err(p.error(key, "the cache needs room for reads too", "expected half of it at most"));
            }
            Ok((bytes / line_bytes) as usize)
        };
        let unwritten_max = of_cache(p, "write_back.limit")?.max(1);
        let unwritten_kept = of_cache(p, "write_back.kept")?;
        let together_max = of_cache(p, "write_back.together")?.max(1);
        let ahead_lines = of_cache(p, "read_ahead.size")? as u64;
        let (level, drives, unit_bytes) = Spec::read_array(p, line_bytes)?;
        if keeps_nothing && level.is_redundant() {
            let problem = "a card that keeps nothing has no bytes to make copies or parity of";
            return Err(p.error("cache.size", problem, "give it a cache, or take RAID 0 or JBOD"));
        }
        let spec = Spec {
            keeps_nothing,
            memory_rate: rate(p, "memory.rate")?,
            memory_burst: sectors(p, "memory.burst", SECTOR_BYTES, 1 << 20)?,
            channels: channels(p, interface)?,
            commands: count(p, "firmware.commands", COUNT_MAX)?,
            description_bytes: p.bytes("firmware.description")?.clamp(4, 4_096) as u32,
            status_bytes: p.bytes("firmware.status")?.clamp(4, 4_096) as u32,
            page_bytes: sectors(p, "firmware.page", SECTOR_BYTES, 1 << 20)? as u32,
            engine: match interface {
                Interface::Scsi => None,
                Interface::Ata => Some(Spec::read_engine(p)?),
            },
            command: p.time("firmware.command")?,
            drive_command: p.time("firmware.drive_command")?,
            line: p.time("firmware.line")?,
            drive_tags: match interface {
                Interface::Scsi => count(p, "firmware.drive_tags", COUNT_MAX)?,
                Interface::Ata => 1,
            },
            order: match interface {
                Interface::Scsi => Order::FirstCome,
                Interface::Ata => {
                    choice(p, "firmware.order", &[("first come", Order::FirstCome), ("elevator", Order::Elevator)])?
                }
            },
            cache_bytes,
            line_bytes,
            write_ends: choice(
                p,
                "cache.writes",
                &[("write-back", WriteEnds::InCache), ("write-through", WriteEnds::OnDrives)],
            )?,
            destages: choice(
                p,
                "write_back.when",
                &[("drives idle", Destages::WhenIdle), ("limit reached", Destages::AtLimit)],
            )?,
            unwritten_max,
            unwritten_kept,
            together_max,
            reads_ahead: choice(
                p,
                "read_ahead.when",
                &[
                    ("never", ReadsAhead::Never),
                    ("previous command", ReadsAhead::AfterCommand),
                    ("any stream", ReadsAhead::InStreams),
                ],
            )?,
            ahead_lines,
            streams: count(p, "read_ahead.streams", COUNT_MAX)? as usize,
            level,
            drives,
            spares: p.count("array.spares")?.min(COUNT_MAX) as usize,
            unit_bytes,
            parity: p.time("array.parity")?,
            failure: Spec::read_failure(p, level, drives)?,
            rebuild_rows: count(p, "rebuild.rows", 1_024)?,
            rebuild_pause: p.time("rebuild.pause")?,
        };
        Ok(spec)
    }

    fn read_engine(p: &mut Parameters) -> Result<EngineSpec, SpecError> {
        let burst = p.bytes("engine.burst")?;
        if !(64..=1 << 20).contains(&burst) || !burst.is_multiple_of(8) {
            return Err(p.error("engine.burst", "no engine is like that", "expected 64 B to 1 MiB, a multiple of 8 B"));
        }
        Ok(EngineSpec { burst: burst as u32, setup: p.time("engine.setup")? })
    }

    fn read_array(p: &mut Parameters, line_bytes: u64) -> Result<(Level, usize, u64), SpecError> {
        let written = p.text("array.level")?;
        let Some(level) = Level::named(&written) else {
            let help = "expected \"RAID 0\", \"RAID 1\", \"RAID 5\", \"RAID 10\" or \"JBOD\"";
            return Err(p.error("array.level", format!("`{written}` is no level of this model"), help));
        };
        let unit_bytes = p.bytes("array.stripe")?;
        if !unit_bytes.is_multiple_of(SECTOR_BYTES) || unit_bytes == 0 || unit_bytes > 1 << 24 {
            let help = "expected 512 B to 16 MiB, a multiple of 512 B";
            return Err(p.error("array.stripe", "a stripe unit is some whole sectors", help));
        }
        if !unit_bytes.is_multiple_of(line_bytes) {
            let help = "expected a multiple of `cache.line`";
            return Err(p.error("array.stripe", "a line of the cache would lie on two drives", help));
        }
        let drives = count(p, "array.drives", 32)? as usize;
        if let Err((problem, help)) = Layout::new(level, drives, unit_bytes, unit_bytes) {
            return Err(p.error("array.level", format!("{written}: {problem}"), help));
        }
        Ok((level, drives, unit_bytes))
    }

    fn read_failure(p: &mut Parameters, level: Level, drives: usize) -> Result<Option<Failure>, SpecError> {
        let (written, at, noticed) = (p.text("failure.drive")?, p.time("failure.at")?, p.time("failure.noticed")?);
        if written == "none" {
            return Ok(None);
        }
        let drive = written.strip_prefix("drive").and_then(|number| number.parse().ok()).filter(|n| *n < drives);
        let Some(drive) = drive else {
            let help = format!("expected \"none\", or \"drive0\" to \"drive{}\"", drives - 1);
            return Err(p.error("failure.drive", format!("the array has no `{written}`"), help));
        };
        if !level.is_redundant() {
            let problem = "without a second copy or parity no data outlive a drive";
            return Err(p.error("failure.drive", problem, "take another level, or \"none\""));
        }
        Ok(Some(Failure { drive, at, noticed }))
    }
}
