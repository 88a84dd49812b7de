//! A request of a trace, and whether it can be.

use hopscope_kernel::Time;

use super::fields::Fields;
use super::lines::Wrong;

/// Largest request of a trace.
const REQUEST_MAX: u64 = 16 << 20;
/// A sector.
pub(super) const SECTOR: u64 = 512;
/// A simulation ends before the end of time: a hundred days.
const TIME_MAX: Time = Time::ms(100 * 24 * 3_600 * 1_000);

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was issued, counted from the first request; where issues follow completions, how long after the last one.
    pub at: Time,
    /// The same on the trace's own clock, picoseconds.
    pub clock: u128,
    /// The trace's own number of the device.
    pub device: u64,
    /// Whether it writes.
    pub writes: bool,
    /// Where on the device.
    pub offset_bytes: u64,
    /// How much.
    pub bytes: u32,
    /// The trace's own response time.
    pub response: Option<Time>,
}

/// Where the columns of a format are, and their units.
pub(super) struct Layout {
    pub(super) time: usize,
    pub(super) device: Option<usize>,
    pub(super) address: usize,
    pub(super) size: usize,
    /// Bytes of one unit of the address, and of the size.
    pub(super) address_unit: u64,
    pub(super) size_unit: u64,
}

/// The device that a trace is played on.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Its capacity.
    pub size_bytes: u64,
    /// Requests are multiples of this.
    pub block_bytes: u64,
}

/// What every request is held against.
pub struct Gate {
    limits: Limits,
    /// The device of the trace that is played; nothing takes all.
    only: Option<Only>,
    /// The first request's time and device.
    first: Option<(u128, u64)>,
    last: u128,
}

/// Which of a trace's devices are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// All of them, as if they were one.
    All,
    /// The one with this number.
    One(u64),
}

impl Only {
    /// What is named: a number, blkparse's major,minor, or all; what was expected, where it is none of them.
    pub fn named(word: &str) -> Result<Only, String> {
        match word.split_once(',') {
            _ if word == "all" => Ok(Only::All),
            Some((major, minor)) => match (major.parse::<u16>(), minor.parse::<u32>()) {
                (Ok(major), Ok(minor)) if minor < 1 << 20 => Ok(Only::One(u64::from(major) << 20 | u64::from(minor))),
                _ => Err("expected major,minor, as in 8,0".to_string()),
            },
            None => word.parse().map(Only::One).map_err(|_| "expected a number, or all".to_string()),
        }
    }
}

impl Gate {
    /// For a device, and those of the trace whose requests are taken.
    pub fn new(limits: Limits, only: Option<Only>) -> Gate {
        Gate { limits, only, first: None, last: 0 }
    }

    /// A request with its times counted from the first one; nothing where it is another device's. `absolute` says that
    /// its time is one of a clock, not a gap.
    pub(super) fn admit(
        &mut self,
        mut record: Record,
        absolute: bool,
        fields: &Fields<'_>,
        layout: &Layout,
    ) -> Result<Option<Record>, Wrong> {
        let (first, device) = *self.first.get_or_insert((record.clock, record.device));
        if absolute {
            if record.clock < self.last {
                let title = "time goes backwards here";
                let help = "a trace is in the order of its times: sort it by this column first";
                return Err(fields.wrong(layout.time, title).label("earlier than the line before").help(help));
            }
            self.last = record.clock;
            record.at = Time::ps(u64::try_from(record.clock - first).unwrap_or(u64::MAX));
        }
        if record.at > TIME_MAX {
            return Err(fields.wrong(layout.time, "this is more than a hundred days after the first request"));
        }
        match self.only {
            Some(Only::One(number)) if record.device != number => return Ok(None),
            None if record.device != device => {
                let title = format!("this trace has several devices: {} here, {device} before", record.device);
                let help =
                    format!("choose one with --device {device}, or --device all for all of them as if they were one");
                return Err(fields.wrong(layout.device.unwrap_or(0), title).help(help));
            }
            _ => {}
        }
        self.fits(&record, fields, layout)?;
        Ok(Some(record))
    }

    fn fits(&self, record: &Record, fields: &Fields<'_>, layout: &Layout) -> Result<(), Wrong> {
        let Limits { size_bytes, block_bytes } = self.limits;
        let (bytes, offset) = (u64::from(record.bytes), record.offset_bytes);
        let unit = |unit: u64| if unit == 1 { "bytes" } else { "blocks" };
        if !offset.is_multiple_of(block_bytes) {
            let title = format!("{offset} bytes are no whole block of {block_bytes} bytes");
            let help = if layout.address_unit == 1 { "are these blocks instead of bytes?" } else { "" };
            return Err(fields
                .wrong(layout.address, title)
                .label(format!("expected {}", unit(layout.address_unit)))
                .help(help));
        }
        if bytes == 0 || !bytes.is_multiple_of(block_bytes) {
            let title = format!("a request of {bytes} bytes is no whole number of blocks of {block_bytes} bytes");
            let looks = layout.size_unit == 1 && bytes > 0 && bytes < SECTOR;
            let help = if looks {
                format!("this looks like blocks; {} bytes would be {bytes} of them", bytes * SECTOR)
            } else {
                String::new()
            };
            return Err(fields
                .wrong(layout.size, title)
                .label(format!("expected {}", unit(layout.size_unit)))
                .help(help));
        }
        if offset.saturating_add(bytes) > size_bytes {
            let units = offset / layout.address_unit;
            let title = format!(
                "{} {units} is beyond the device, which has {}",
                unit(layout.address_unit).trim_end_matches('s'),
                size_bytes / layout.address_unit
            );
            // An address in bytes where blocks are due is a multiple of a block.
            let looks = layout.address_unit == SECTOR && units.is_multiple_of(SECTOR) && units <= size_bytes;
            let help = match looks {
                true => format!("this looks like bytes: they would be block {}", units / SECTOR),
                false => {
                    "was the trace recorded on a larger device? Choose another system, or a part with --on".to_string()
                }
            };
            return Err(fields.wrong(layout.address, title).label("an address").help(help));
        }
        Ok(())
    }
}

/// A size that was read, in bytes.
pub(super) fn size(fields: &Fields<'_>, layout: &Layout, number: u64) -> Result<u32, Wrong> {
    match number.checked_mul(layout.size_unit) {
        Some(bytes) if bytes <= REQUEST_MAX => Ok(bytes as u32),
        _ => {
            let help = match layout.size_unit == SECTOR && number.is_multiple_of(SECTOR) {
                true => {
                    format!("this looks like bytes: they would be {} blocks. Or are columns swapped?", number / SECTOR)
                }
                false => "are columns swapped?".to_string(),
            };
            let title = format!("a request of {number} {}", if layout.size_unit == 1 { "bytes" } else { "blocks" });
            Err(fields.wrong(layout.size, title).label("more than 16 MiB").help(help))
        }
    }
}

/// An address that was read, in bytes.
pub(super) fn address(fields: &Fields<'_>, layout: &Layout, number: u64) -> Result<u64, Wrong> {
    number.checked_mul(layout.address_unit).ok_or_else(|| fields.wrong(layout.address, "no device is so large"))
}
