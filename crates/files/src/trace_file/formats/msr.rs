//! The block traces of Microsoft Research Cambridge (SNIA IOTTA): seven columns between commas. Time and response time in
//! ticks of 100 ns, the time as Windows counts it from 1601; host, disk, `Read` or `Write`, offset and size in bytes.

use hopscope_kernel::Time;

use crate::trace_file::fields::Fields;
use crate::trace_file::lines::Wrong;
use crate::trace_file::record::{Layout, Record, address, size};

pub(super) const LAYOUT: Layout =
    Layout { time: 0, device: Some(2), address: 4, size: 5, address_unit: 1, size_unit: 1 };
const NAMES: &str = "time (100 ns), host, disk, Read or Write, offset, bytes, response (100 ns)";
const TICK: Time = Time::ns(100);

/// Whether a line looks like one of these.
pub(super) fn is_like(fields: &Fields<'_>) -> bool {
    (0..fields.count()).any(|index| matches!(fields.bytes(index), b"Read" | b"Write"))
}

pub(super) fn read(fields: &Fields<'_>) -> Result<Record, Wrong> {
    fields.expect(7..8, NAMES)?;
    let ticks = fields.number(0, "a time in ticks of 100 ns")?;
    let unit = match ticks {
        // Seconds, milliseconds, microseconds and nanoseconds since 1970, from 2001 to 2100.
        1_000_000_000..=4_102_444_800 => "seconds",
        1_000_000_000_000..=4_102_444_800_000 => "milliseconds",
        1_000_000_000_000_000..=4_102_444_800_000_000 => "microseconds",
        1_000_000_000_000_000_000..=4_102_444_800_000_000_000 => "nanoseconds",
        _ => "",
    };
    if !unit.is_empty() {
        let title = format!("{ticks} looks like {unit} since 1970");
        return Err(fields.wrong(0, title).label("expected ticks of 100 ns since 1601"));
    }
    let device = fields.number(2, "a disk's number")?;
    let writes = match fields.bytes(3) {
        b"Read" => false,
        b"Write" => true,
        _ => {
            let title = format!("`{}` is no direction", fields.text(3));
            return Err(fields.wrong(3, title).label("expected Read or Write"));
        }
    };
    let offset_bytes = address(fields, &LAYOUT, fields.number(4, "an offset in bytes")?)?;
    let bytes = size(fields, &LAYOUT, fields.number(5, "a size in bytes")?)?;
    let response = fields.number(6, "a response time in ticks of 100 ns")?.checked_mul(TICK.as_ps()).map(Time::ps);
    Ok(Record {
        at: Time::ZERO,
        clock: u128::from(ticks) * u128::from(TICK.as_ps()),
        device,
        writes,
        offset_bytes,
        bytes,
        response,
    })
}
