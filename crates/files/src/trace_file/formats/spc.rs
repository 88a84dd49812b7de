//! The trace format of the Storage Performance Council (SPC trace file format 1.0.1): columns between commas. Unit (ASU),
//! address in blocks of 512 bytes, size in bytes, `R` or `W`, time (s); what follows is optional and passed over.

use hopscope_kernel::Time;

use crate::trace_file::fields::{FIELDS_MAX, Fields};
use crate::trace_file::lines::Wrong;
use crate::trace_file::record::{Layout, Record, SECTOR, address, size};

pub(super) const LAYOUT: Layout =
    Layout { time: 4, device: Some(0), address: 1, size: 2, address_unit: SECTOR, size_unit: 1 };
const NAMES: &str = "ASU, LBA, bytes, R or W, time (s)";

/// Whether a line looks like one of these.
pub(super) fn is_like(fields: &Fields<'_>) -> bool {
    fields.count() >= 5 && (0..5).any(|index| matches!(fields.bytes(index), b"r" | b"R" | b"w" | b"W"))
}

pub(super) fn read(fields: &Fields<'_>) -> Result<Record, Wrong> {
    fields.expect(5..FIELDS_MAX, NAMES)?;
    let device = fields.number(0, "an ASU's number")?;
    let offset_bytes = address(fields, &LAYOUT, fields.number(1, "an LBA")?)?;
    let bytes = size(fields, &LAYOUT, fields.number(2, "a size in bytes")?)?;
    let writes = match fields.bytes(3) {
        b"r" | b"R" => false,
        b"w" | b"W" => true,
        _ => return Err(fields.wrong(3, format!("`{}` is no direction", fields.text(3))).label("expected R or W")),
    };
    let clock = fields.clock(4, Time::ms(1_000), "a time in s")?;
    Ok(Record { at: Time::ZERO, clock, device, writes, offset_bytes, bytes, response: None })
}
