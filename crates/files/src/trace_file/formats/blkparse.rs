//! What blkparse prints of a trace of Linux's block layer: `8,0 1 3 0.000123 697 D R 223490 + 8 [fio]`. Device, processor,
//! sequence, time (s), process, action, direction, first sector and sectors of 512 bytes.
//!
//! Requests are those that were handed to the driver (`D`), or, where there are none, those that were queued (`Q`). A
//! response time ends with the completion (`C`) of the same sectors, which comes later in the text: requests are kept
//! back until theirs has come, as long as there is room. Other actions, what has no sectors (flushes, `m` lines),
//! discards and the summary at the end are passed over.

use std::collections::VecDeque;

use hopscope_kernel::Time;

use crate::trace_file::fields::{FIELDS_MAX, Fields};
use crate::trace_file::lines::Wrong;
use crate::trace_file::record::{Gate, Layout, Record, SECTOR, address, size};

pub(super) const LAYOUT: Layout =
    Layout { time: 3, device: Some(0), address: 7, size: 9, address_unit: SECTOR, size_unit: SECTOR };
/// Requests that are kept back for their completions, at most.
const KEPT_MAX: usize = 1_024;

/// Whether a line looks like one of these.
pub(super) fn is_like(fields: &Fields<'_>) -> bool {
    fields.count() >= 6 && device(fields.bytes(0)).is_some()
}

/// Whether a line hands a request to a driver.
pub(super) fn is_issue(fields: &Fields<'_>) -> bool {
    is_like(fields) && fields.bytes(5) == b"D"
}

/// `8,0` as one number, as Linux has it: 20 bits are the minor's.
fn device(bytes: &[u8]) -> Option<u64> {
    let (major, minor) = std::str::from_utf8(bytes).ok()?.split_once(',')?;
    Some(u64::from(major.parse::<u16>().ok()?) << 20 | u64::from(minor.parse::<u32>().ok()? & 0xf_ffff))
}

/// Requests that wait for their completions.
pub(super) struct Blkparse {
    /// The action that makes a request: `D` or `Q`.
    issues: u8,
    kept: VecDeque<Record>,
    /// Lines with requests that move no data.
    pub(super) without_data: u64,
    ended: bool,
}

impl Blkparse {
    pub(super) fn new(issues: u8) -> Blkparse {
        Blkparse { issues, kept: VecDeque::with_capacity(KEPT_MAX + 1), without_data: 0, ended: false }
    }

    /// Takes a line.
    pub(super) fn take(&mut self, fields: &Fields<'_>, gate: &mut Gate) -> Result<(), Wrong> {
        // The summary: per processor, per device, throughput.
        self.ended |= matches!(fields.bytes(0), b"CPU0" | b"Total" | b"Throughput" | b"Events")
            || fields.bytes(0).starts_with(b"CPU");
        if self.ended || fields.bytes(5) == b"m" || fields.bytes(4) == b"m" {
            return Ok(());
        }
        let Some(device) = device(fields.bytes(0)) else {
            let title = format!("`{}` is no device", fields.text(0));
            return Err(fields.wrong(0, title).label("expected major,minor, as in 8,0"));
        };
        if fields.count() < 7 {
            return Err(
                Wrong::at(fields.span(6), "this line is cut").label("expected action, direction, sector + sectors")
            );
        }
        let action = fields.bytes(5);
        if action != [self.issues] && action != b"C" {
            return Ok(());
        }
        let direction = fields.bytes(6);
        let has_data = direction.iter().any(|byte| b"RW".contains(byte)) && !direction.contains(&b'D');
        if !has_data || fields.bytes(7).starts_with(b"[") {
            self.without_data += u64::from(action == [self.issues]);
            return Ok(());
        }
        let cut = (7..10).find(|index| fields.bytes(*index).is_empty() || (*index == 8 && fields.bytes(8) != b"+"));
        if let Some(index) = cut {
            return Err(fields.wrong(index, "this line is cut").label("expected sector + sectors"));
        }
        let clock = fields.clock(3, Time::ms(1_000), "a time in s")?;
        let offset_bytes = address(fields, &LAYOUT, fields.number(7, "a sector")?)?;
        let sectors = fields.number(9, "a number of sectors")?;
        if action == b"C" {
            let same = |kept: &&mut Record| {
                kept.response.is_none() && (kept.device, kept.offset_bytes) == (device, offset_bytes)
            };
            if let Some(kept) = self.kept.iter_mut().find(same) {
                kept.response = u64::try_from(clock.saturating_sub(kept.clock)).ok().map(Time::ps);
            }
            return Ok(());
        }
        if sectors == 0 {
            self.without_data += 1;
            return Ok(());
        }
        let (bytes, writes) = (size(fields, &LAYOUT, sectors)?, direction.contains(&b'W'));
        let record = Record { at: Time::ZERO, clock, device, writes, offset_bytes, bytes, response: None };
        self.kept.extend(gate.admit(record, true, fields, &LAYOUT)?);
        Ok(())
    }

    /// The next request: the first, when its completion has come or no more are kept back.
    pub(super) fn next(&mut self, at_end: bool) -> Option<Record> {
        let first = self.kept.front()?;
        let due = first.response.is_some() || at_end || self.kept.len() > KEPT_MAX;
        if due { self.kept.pop_front() } else { None }
    }
}

const _: () = assert!(LAYOUT.size < FIELDS_MAX);
