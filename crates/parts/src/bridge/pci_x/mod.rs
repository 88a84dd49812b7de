//! A bridge with PCI or PCI-X buses on its far side: of a chip set (behind a host link), or between two segments.
//! PCI-to-PCI Bridge Architecture Specification 1.1; PCI-X Addendum 1.0a, chapter 8.
//!
//! ```text
//!             ┌─ posted writes ─▶ [ buffer ] ─▶ pieces under way ─▶ link or upper bus ─▶ memory
//!   bus ──────┤
//!             └─ reads ─▶ split or delayed ─▶ pieces ahead ─▶ link or upper bus ─▶ memory
//!                                             └─▶ [ buffer ] ─▶ completion, or data when asked again
//! ```
//!
//! A write is posted: it ends on its bus as long as there is room in the buffer, is stopped where there is none
//! left, and retried while less than `write.accept` is free. A read is answered with a split response (PCI-X: the
//! bridge is the initiator of its completion, whose bursts end where the buffer is empty) or latched and retried (PCI:
//! the initiator asks again until data are there; while it stays, more is fetched behind it).
//!
//! `path` is the way to memory, `host` the memory, `port` what a bus of the bridge sees, `posted` and `reads` its
//! two directions, `registers` the processor's way down.
//!
//! Not modelled: peer to peer, ordering of reads behind posted writes, discarded prefetch (no more is fetched than the
//! initiator wants), completion of reads out of order within one request, errors.

pub mod host;
pub mod path;
pub mod port;
mod posted;
mod reads;
pub mod registers;

use hopscope_kernel::Time;

use crate::bus::pci::card::CLOCKS_MAX;
use crate::parameters::{Parameters, SpecError};
use crate::protocols::pci::{BURST_BYTES_MAX, DISCONNECT_BOUNDARY_BYTES, PHASE_BYTES};

/// Bytes of a bridge's buffers, at most.
const BUFFER_BYTES_MAX: u64 = 1 << 20;
/// Pieces under way in one direction, at most.
const PIECES_MAX: u64 = 64;

/// The bridge's data sheet; each of its buses is like that.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Through the bridge, each way.
    latency: Time,
    /// Conventional bursts are stopped after so many bytes: at multiples of a power of two, or by count.
    boundary: u32,
    write: Writes,
    read: Reads,
}

/// Posted writes.
#[derive(Clone, Debug, PartialEq)]
struct Writes {
    /// Bytes of the buffer.
    buffer: u32,
    /// Room below which a write is not begun.
    accept: u32,
    /// What is sent on as one.
    gather: u32,
    /// Pieces on their way to memory at a time.
    under_way: u64,
    /// Clocks from the address to the first data, DEVSEL# included.
    response: u64,
}

/// Reads of memory.
#[derive(Clone, Debug, PartialEq)]
struct Reads {
    /// Reads latched at a time: split or delayed transactions.
    latched: u64,
    /// What is asked of memory as one.
    piece: u32,
    /// Pieces asked for at a time.
    ahead: u64,
    /// Bytes that are there before a completion, or a burst, begins.
    first: u32,
    /// Clocks from the address to split response, retry or first data, DEVSEL# included.
    response: u64,
    /// PCI: bytes that are fetched for a memory read, a memory read line and a memory read multiple.
    prefetch: [u32; 3],
}

impl Spec {
    /// Pulls the numbers.
    pub fn read(p: &mut Parameters) -> Result<Spec, SpecError> {
        let prefetch = [
            phases(p, "read.prefetch", 4, BURST_BYTES_MAX)?,
            phases(p, "read.prefetch_line", 4, BURST_BYTES_MAX)?,
            phases(p, "read.prefetch_multiple", 4, BURST_BYTES_MAX)?,
        ];
        let spec = Spec {
            latency: path::latency(p, "latency")?,
            boundary: phases(p, "boundary", 16, BURST_BYTES_MAX)?,
            write: Writes {
                buffer: bytes(p, "write.buffer", DISCONNECT_BOUNDARY_BYTES)?,
                accept: bytes(p, "write.accept", 1)?,
                gather: phases(p, "write.gather", DISCONNECT_BOUNDARY_BYTES, BURST_BYTES_MAX)?,
                under_way: count(p, "write.under_way", PIECES_MAX)?,
                response: clocks(p, "write.response")?,
            },
            read: Reads {
                latched: count(p, "read.latched", 32)?,
                piece: phases(p, "read.piece", 32, BURST_BYTES_MAX)?,
                ahead: count(p, "read.ahead", PIECES_MAX)?,
                first: bytes(p, "read.first", 1)?,
                response: clocks(p, "read.response")?,
                prefetch,
            },
        };
        if spec.write.accept > spec.write.buffer {
            return Err(p.error(
                "write.accept",
                "the buffer never has as much room",
                "expected `write.buffer` at most",
            ));
        }
        Ok(spec)
    }
}

fn phases(p: &mut Parameters, key: &str, least: u32, most: u32) -> Result<u32, SpecError> {
    let bytes = p.bytes(key)?;
    if !bytes.is_multiple_of(PHASE_BYTES.into()) || !(u64::from(least)..=u64::from(most)).contains(&bytes) {
        let help = format!("expected {least} B to {most} B, in data phases of {PHASE_BYTES} bytes");
        return Err(p.error(key, "no bridge cuts data like that", help));
    }
    Ok(bytes as u32)
}

fn bytes(p: &mut Parameters, key: &str, least: u32) -> Result<u32, SpecError> {
    let bytes = p.bytes(key)?;
    if !(u64::from(least)..=BUFFER_BYTES_MAX).contains(&bytes) {
        return Err(p.error(key, "no buffer of a bridge is like that", format!("expected {least} B to 1 MiB")));
    }
    Ok(bytes as u32)
}

fn count(p: &mut Parameters, key: &str, most: u64) -> Result<u64, SpecError> {
    let count = p.count(key)?;
    if !(1..=most).contains(&count) {
        return Err(p.error(key, "no bridge has as many", format!("expected 1 to {most}")));
    }
    Ok(count)
}

fn clocks(p: &mut Parameters, key: &str) -> Result<u64, SpecError> {
    let clocks = p.clocks(key)?;
    if !(1..=CLOCKS_MAX).contains(&clocks) {
        let help = format!("expected 1 to {CLOCKS_MAX} clocks: DEVSEL# takes one at least");
        return Err(p.error(key, "no target answers like that", help));
    }
    Ok(clocks)
}

#[cfg(test)]
impl Spec {
    /// A bridge for tests of what hangs on it: 40 ns each way, a buffer of 1 KiB, pieces of 128 bytes.
    pub(crate) fn example(latched: u64, ahead: u64) -> Spec {
        let prefetch = [64, 128, 512];
        Spec {
            latency: Time::ns(40),
            boundary: 4_096,
            write: Writes { buffer: 1_024, accept: 128, gather: 256, under_way: 4, response: 1 },
            read: Reads { latched, piece: 128, ahead, first: 128, response: 2, prefetch },
        }
    }
}
