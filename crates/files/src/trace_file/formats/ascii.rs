//! DiskSim's default format in ASCII: five columns between blanks. Time (ms), device, first block, blocks of 512 bytes,
//! flags in decimal or hexadecimal, of which bit 0 says that it is a read.

use hopscope_kernel::Time;

use crate::trace_file::fields::Fields;
use crate::trace_file::lines::Wrong;
use crate::trace_file::record::{Layout, Record, SECTOR, address, size};

pub(super) const LAYOUT: Layout =
    Layout { time: 0, device: Some(1), address: 2, size: 3, address_unit: SECTOR, size_unit: SECTOR };
const NAMES: &str = "time (ms), device, block, blocks, flags";

/// Whether a line looks like one of these: numbers alone.
pub(super) fn is_like(fields: &Fields<'_>) -> bool {
    let is_number = |index| fields.bytes(index).iter().all(|byte| byte.is_ascii_digit() || b".-xabcdef".contains(byte));
    fields.count() >= 4 && (0..fields.count()).all(is_number)
}

pub(super) fn read(fields: &Fields<'_>) -> Result<Record, Wrong> {
    fields.expect(5..6, NAMES)?;
    let clock = fields.clock(0, Time::ms(1), "a time in ms")?;
    let device = fields.number(1, "a device's number")?;
    let offset_bytes = address(fields, &LAYOUT, fields.number(2, "a block")?)?;
    let bytes = size(fields, &LAYOUT, fields.number(3, "a number of blocks")?)?;
    let flags = match fields.bytes(4).strip_prefix(b"0x") {
        Some(digits) => std::str::from_utf8(digits).ok().and_then(|digits| u64::from_str_radix(digits, 16).ok()),
        None => fields.number(4, "flags").ok(),
    };
    let Some(flags) = flags else {
        return Err(fields
            .wrong(4, format!("`{}` are no flags", fields.text(4)))
            .label("expected a number; 1 is a read"));
    };
    Ok(Record { at: Time::ZERO, clock, device, writes: flags & 1 == 0, offset_bytes, bytes, response: None })
}
