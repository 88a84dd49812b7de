//! The controller's data sheet and the policies that its set-up utility offers.

use hopscope_declare::Spec;
use hopscope_kernel::Time;

use super::cache::LINE_SECTORS_MAX;
use super::layout::{Layout, Level, SECTOR_BYTES};
use crate::parameters::declarations::Declarations;
use crate::parameters::{Parameters, SpecError};

/// No line rate that a simulation can count with is slower.
const RATE_MIN: u64 = 1_000_000;
const COUNT_MAX: u64 = 256;
/// Lines of a cache.
const LINES_MIN: u64 = 64;
/// 16 GiB in lines of 64 KiB.
const LINES_MAX: u64 = 1 << 18;

/// When writes end for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub enum WriteEnds {
    /// When they are in the cache.
    #[word("write-back")]
    InCache,
    /// When they are on the drives.
    #[word("write-through")]
    OnDrives,
}

/// When the cache is written to the drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub enum Destages {
    /// While a drive has nothing else to do.
    #[word("drives idle")]
    WhenIdle,
    /// When a write finds the limit reached: it waits for that.
    #[word("limit reached")]
    AtLimit,
}

/// What makes the firmware read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub enum ReadsAhead {
    /// Nothing.
    Never,
    /// A read that goes on where the command before it, which was a read too, ended.
    #[word("previous command")]
    AfterCommand,
    /// A read that goes on where one of the last streams of reads ended.
    #[word("any stream")]
    InStreams,
}

/// Which command of a drive is sent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
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

impl Interface {
    fn channels_max(self) -> u64 {
        match self {
            Interface::Scsi => 4,
            // One drive each: as many as an array may have.
            Interface::Ata => 32,
        }
    }

    /// What only controllers of this interface are asked for.
    fn only(self, of: Interface, keys: fn(&mut Declarations)) -> fn(&mut Declarations) {
        if self == of { keys } else { |_| {} }
    }
}

/// What moves everything over PCI, where a card has but one such engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub struct EngineSpec {
    /// Bytes of a burst of the one engine that moves everything over PCI.
    #[bytes("engine.burst", 64..=1 << 20, multiple_of = 8)]
    pub burst: u32,
    /// Time of the engine from one burst to the next.
    #[time("engine.setup")]
    pub setup: Time,
}

/// A drive that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which of the array.
    pub drive: usize,
    /// When, from the start of the run.
    pub at: Time,
    /// How long it takes until the firmware knows that commands are lost.
    pub noticed: Time,
}

/// The same, as files have it.
#[derive(Spec)]
#[spec(with(drives: usize))]
struct FailureSpec {
    /// Which drive of the array fails, or none.
    #[text("failure.drive", parse = |written: &str| failing(written, drives))]
    drive: Option<usize>,
    /// When the drive fails, from the start of the run.
    #[time("failure.at")]
    at: Time,
    /// From the failure of a drive until the firmware knows that commands are lost.
    #[time("failure.noticed")]
    noticed: Time,
}

impl FailureSpec {
    fn failure(self) -> Option<Failure> {
        let FailureSpec { drive, at, noticed } = self;
        drive.map(|drive| Failure { drive, at, noticed })
    }
}

/// The channels by themselves.
#[derive(Spec)]
#[spec(with(interface: Interface))]
struct ChannelsSpec {
    /// Channels, each with drives of its own.
    #[count("channels", 1..=interface.channels_max())]
    count: u64,
}

/// What firmware says of drives with tags.
#[derive(Spec)]
struct TagsSpec {
    /// Commands to a drive under way, at most.
    #[count("firmware.drive_tags", 1..=COUNT_MAX)]
    each: u64,
}

/// What firmware says of drives without tags.
#[derive(Spec)]
struct OrderSpec {
    /// Which of the commands that wait for a drive is sent first
    #[choice("firmware.order")]
    order: Order,
}

/// The controller.
#[derive(Clone, Debug, PartialEq, Spec)]
#[spec(of(interface: Interface), holds = Spec::fits)]
pub struct Spec {
    /// Bytes of a line of the cache: what it keeps, and forgets, together.
    #[bytes("cache.line", SECTOR_BYTES..=LINE_SECTORS_MAX * SECTOR_BYTES, multiple_of = SECTOR_BYTES)]
    pub line_bytes: u64,
    /// Bytes of the cache, 64 lines at least. A card of ATA channels may have 0 B: it keeps nothing.
    #[bytes("cache.size", ..=LINES_MAX * line_bytes, multiple_of = SECTOR_BYTES)]
    pub cache_bytes: u64,
    /// Whether bytes go between drives and the host as they come, and are kept nowhere on the card.
    #[given(interface == Interface::Ata && cache_bytes == 0)]
    pub keeps_nothing: bool,
    /// Bytes a second that its memory moves.
    #[rate("memory.rate", RATE_MIN..)]
    pub memory_rate: u64,
    /// Bytes that one user of the memory moves at a time.
    #[bytes("memory.burst", SECTOR_BYTES..=1 << 20, multiple_of = SECTOR_BYTES)]
    pub memory_burst: u64,
    /// Channels.
    #[by(channel_count(p, interface), declares = ChannelsSpec::declare)]
    pub channels: u64,
    /// Commands of the host under way, at most.
    #[count("firmware.commands", 1..=COUNT_MAX)]
    pub commands: u64,
    /// Bytes of a command's description in the host's memory; 4 B where it is less, 4 KiB where it is more.
    #[bytes("firmware.description")]
    description_written: u64,
    /// Bytes of a command's description that are fetched.
    #[given(description_written.clamp(4, 4_096) as u32)]
    pub description_bytes: u32,
    /// Bytes of a command's status in the host's memory; 4 B where it is less, 4 KiB where it is more.
    #[bytes("firmware.status")]
    status_written: u64,
    /// Bytes of a command's status that are sent.
    #[given(status_written.clamp(4, 4_096) as u32)]
    pub status_bytes: u32,
    /// Bytes of the host's memory that lie together: a region of a buffer.
    #[bytes("firmware.page", SECTOR_BYTES..=1 << 20, multiple_of = SECTOR_BYTES)]
    pub page_bytes: u32,
    /// Its engine on PCI, where all share one.
    #[by((interface == Interface::Ata).then(|| EngineSpec::read(p)).transpose(), declares = interface.only(Interface::Ata, EngineSpec::declare))]
    pub engine: Option<EngineSpec>,
    /// Processor time of a command of the host.
    #[time("firmware.command")]
    pub command: Time,
    /// Processor time of a command to a drive.
    #[time("firmware.drive_command")]
    pub drive_command: Time,
    /// Processor time to find a line in the cache and to mark it.
    #[time("firmware.line")]
    pub line: Time,
    /// Commands to a drive under way.
    #[by(drive_tags(p, interface), declares = interface.only(Interface::Scsi, TagsSpec::declare))]
    pub drive_tags: u64,
    /// Which of those that wait is next.
    #[by(order(p, interface), declares = interface.only(Interface::Ata, OrderSpec::declare))]
    pub order: Order,
    /// When writes end for the host: in the cache, or on the drives.
    #[choice("cache.writes")]
    pub write_ends: WriteEnds,
    /// When the cache is written to the drives.
    #[choice("write_back.when")]
    pub destages: Destages,
    /// Bytes of the cache that may be unwritten, half of it at most; one line where it is less.
    #[bytes("write_back.limit")]
    unwritten_limit_bytes: u64,
    /// Lines that may be unwritten.
    #[given(((unwritten_limit_bytes / line_bytes) as usize).max(1))]
    pub unwritten_max: usize,
    /// Bytes of the cache that stay unwritten while drives are idle, half of it at most.
    #[bytes("write_back.kept")]
    unwritten_kept_bytes: u64,
    /// Lines that stay unwritten while drives are idle.
    #[given((unwritten_kept_bytes / line_bytes) as usize)]
    pub unwritten_kept: usize,
    /// Bytes that are written to the drives together, half of the cache at most; one line where it is less.
    #[bytes("write_back.together")]
    together_bytes: u64,
    /// Lines that are written together.
    #[given(((together_bytes / line_bytes) as usize).max(1))]
    pub together_max: usize,
    /// What makes the firmware read ahead: nothing, a read that goes on where the command before it ended, or one that
    /// goes on where any known stream ended.
    #[choice("read_ahead.when")]
    pub reads_ahead: ReadsAhead,
    /// Bytes that are read ahead, half of the cache at most.
    #[bytes("read_ahead.size")]
    ahead_bytes: u64,
    /// Lines that are read ahead.
    #[given(ahead_bytes / line_bytes)]
    pub ahead_lines: u64,
    /// Streams of reads that the firmware knows at a time.
    #[count("read_ahead.streams", 1..=COUNT_MAX)]
    pub streams: usize,
    /// How the array keeps its data on its drives.
    #[choice("array.level")]
    pub level: Level,
    /// Bytes of a stripe unit, which lie together on a drive: whole sectors, and whole lines of the cache.
    #[bytes("array.stripe", SECTOR_BYTES..=1 << 24, multiple_of = SECTOR_BYTES)]
    pub unit_bytes: u64,
    /// Drives of the array, without spares.
    #[count("array.drives", 1..=32)]
    pub drives: usize,
    /// Drives that stand by for one that fails; 256 where it is more.
    #[count("array.spares")]
    spares_written: u64,
    /// Spares beside its drives.
    #[given(spares_written.min(COUNT_MAX) as usize)]
    pub spares: usize,
    /// Processor time for the parity of a row.
    #[time("array.parity")]
    pub parity: Time,
    /// A drive that fails.
    #[by(FailureSpec::read(p, drives).map(FailureSpec::failure), declares = FailureSpec::declare)]
    pub failure: Option<Failure>,
    /// Rows that a rebuild copies together.
    #[count("rebuild.rows", 1..=1_024)]
    pub rebuild_rows: u64,
    /// Pause of a rebuild after such rows.
    #[time("rebuild.pause")]
    pub rebuild_pause: Time,
}

impl Spec {
    fn fits(&self, p: &Parameters) -> Result<(), SpecError> {
        if self.failure.is_some() && !self.level.is_redundant() {
            let problem = "without a second copy or parity no data outlive a drive";
            return Err(p.error("failure.drive", problem, "take another level, or \"none\""));
        }
        let lines = self.cache_bytes / self.line_bytes;
        if !self.keeps_nothing {
            if self.cache_bytes < LINES_MIN * self.line_bytes {
                let help = format!("expected {LINES_MIN} times `cache.line` at least");
                return Err(p.error("cache.size", "the cache has too few lines", help));
            }
            for (key, bytes) in [
                ("write_back.limit", self.unwritten_limit_bytes),
                ("write_back.kept", self.unwritten_kept_bytes),
                ("write_back.together", self.together_bytes),
                ("read_ahead.size", self.ahead_bytes),
            ] {
                if bytes / self.line_bytes > lines / 2 {
                    return Err(p.error(key, "the cache needs room for reads too", "expected half of it at most"));
                }
            }
        }
        if !self.unit_bytes.is_multiple_of(self.line_bytes) {
            let help = "expected a multiple of `cache.line`";
            return Err(p.error("array.stripe", "a line of the cache would lie on two drives", help));
        }
        if let Err((problem, help)) = Layout::new(self.level, self.drives, self.unit_bytes, self.unit_bytes) {
            let level = p.written("array.level").unwrap_or_default();
            return Err(p.error("array.level", format!("{level}: {problem}"), help));
        }
        if self.keeps_nothing && self.level.is_redundant() {
            let problem = "a card that keeps nothing has no bytes to make copies or parity of";
            return Err(p.error("cache.size", problem, "give it a cache, or take RAID 0 or JBOD"));
        }
        Ok(())
    }
}

/// How many channels the controller of a file has.
pub fn channel_count(p: &mut Parameters, interface: Interface) -> Result<u64, SpecError> {
    ChannelsSpec::read(p, interface).map(|channels| channels.count)
}

/// A drive of an ATA channel has one command at a time.
fn drive_tags(p: &mut Parameters, interface: Interface) -> Result<u64, SpecError> {
    match interface {
        Interface::Scsi => TagsSpec::read(p).map(|tags| tags.each),
        Interface::Ata => Ok(1),
    }
}

/// Drives with tags see to the order themselves.
fn order(p: &mut Parameters, interface: Interface) -> Result<Order, SpecError> {
    match interface {
        Interface::Scsi => Ok(Order::FirstCome),
        Interface::Ata => OrderSpec::read(p).map(|spec| spec.order),
    }
}

/// Which drive fails.
fn failing(written: &str, drives: usize) -> Result<Option<usize>, String> {
    let number = written.strip_prefix("drive").and_then(|number| number.parse().ok());
    match number.filter(|number| *number < drives) {
        None if written != "none" => Err(format!("\"none\", or \"drive0\" to \"drive{}\"", drives - 1)),
        drive => Ok(drive),
    }
}
