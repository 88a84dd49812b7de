//! The validation traces of DiskSim: six columns between blanks. `R` or `W`, what the tracer guessed (`Hit`, `Miss`, or of
//! a miss that came in two or three connections `Doub`, `Trip`), first block, blocks of 512 bytes, response time of the
//! real drive (us), and a gap (us): since the request before ended, or until the next one ([`Gaps`](super::Gaps)).
//!
//! One request is outstanding: each is issued so long after the simulated end of the one before.

use hopscope_kernel::Time;

use crate::trace_file::fields::Fields;
use crate::trace_file::lines::Wrong;
use crate::trace_file::record::{Layout, Record, SECTOR, address, size};

pub(super) const LAYOUT: Layout =
    Layout { time: 5, device: None, address: 2, size: 3, address_unit: SECTOR, size_unit: SECTOR };
/// DiskSim's words for what a buffer did, and for how often a drive came back to the bus.
const GUESSES: [&[u8]; 4] = [b"Hit", b"Miss", b"Doub", b"Trip"];
const NAMES: &str = "R or W, Hit or Miss, block, blocks, response (us), gap (us)";

/// Whether a line looks like one of these.
pub(super) fn is_like(fields: &Fields<'_>) -> bool {
    (0..fields.count()).any(|index| GUESSES.contains(&fields.bytes(index)))
}

pub(super) fn read(fields: &Fields<'_>) -> Result<Record, Wrong> {
    fields.expect(6..7, NAMES)?;
    let writes = match fields.bytes(0) {
        b"R" => false,
        b"W" => true,
        _ => return Err(fields.wrong(0, format!("`{}` is no direction", fields.text(0))).label("expected R or W")),
    };
    if !GUESSES.contains(&fields.bytes(1)) {
        let title = format!("`{}` is no guess", fields.text(1));
        return Err(fields.wrong(1, title).label("expected Hit, Miss, Doub or Trip"));
    }
    let offset_bytes = address(fields, &LAYOUT, fields.number(2, "a block")?)?;
    let bytes = size(fields, &LAYOUT, fields.number(3, "a number of blocks")?)?;
    let response = Some(fields.time(4, Time::us(1), "a response time in us")?);
    let at = fields.time(5, Time::us(1), "a time in us")?;
    Ok(Record { at, clock: 0, device: 0, writes, offset_bytes, bytes, response })
}
