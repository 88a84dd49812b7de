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
//! two directions, `registers` the processor's way down. A card is an `initiator` in a `slot`: they speak to the port, or
//! to a host bridge that answers at once, and a bridge on an upper segment is such an initiator itself.
//!
//! Not modelled: peer to peer, ordering of reads behind posted writes, discarded prefetch (no more is fetched than the
//! initiator wants), completion of reads out of order within one request, errors.

pub mod host;
pub mod initiator;
pub mod path;
pub mod port;
mod posted;
mod reads;
pub mod registers;
pub mod slot;

use hopscope_declare::Spec;
use hopscope_kernel::Time;

use crate::bus::pci::card::CLOCKS_MAX;
use crate::parameters::{Parameters, SpecError};
use crate::protocols::pci::{BURST_BYTES_MAX, DISCONNECT_BOUNDARY_BYTES, PHASE_BYTES};

/// Bytes of a bridge's buffers, at most.
const BUFFER_BYTES_MAX: u64 = 1 << 20;
/// Pieces under way in one direction, at most.
const PIECES_MAX: u64 = 64;

/// The bridge's data sheet; each of its buses is like that.
#[derive(Clone, Debug, PartialEq, Spec)]
#[spec(holds = Spec::fits)]
pub struct Spec {
    /// Through the bridge, each way.
    #[time("latency", ..=path::LATENCY_MAX)]
    latency: Time,
    /// Conventional bursts are stopped after so many bytes: at multiples of a power of two, or by count.
    #[bytes("boundary", 16..=BURST_BYTES_MAX.into(), multiple_of = PHASE_BYTES.into())]
    boundary: u32,
    #[nested("write")]
    write: Writes,
    #[nested("read")]
    read: Reads,
}

/// Posted writes.
#[derive(Clone, Debug, PartialEq, Spec)]
struct Writes {
    /// The buffer of posted writes.
    #[bytes("buffer", DISCONNECT_BOUNDARY_BYTES.into()..=BUFFER_BYTES_MAX)]
    buffer: u32,
    /// Room below which a write is not begun.
    #[bytes("accept", 1..=BUFFER_BYTES_MAX)]
    accept: u32,
    /// What is sent on as one.
    #[bytes("gather", DISCONNECT_BOUNDARY_BYTES.into()..=BURST_BYTES_MAX.into(), multiple_of = PHASE_BYTES.into())]
    gather: u32,
    /// Pieces on their way to memory at a time.
    #[count("under_way", 1..=PIECES_MAX)]
    under_way: u64,
    /// From the address to the first data, DEVSEL# included.
    #[clocks("response", 1..=CLOCKS_MAX)]
    response: u64,
}

/// Reads of memory.
#[derive(Clone, Debug, PartialEq, Spec)]
struct Reads {
    /// Reads latched at a time: split or delayed transactions.
    #[count("latched", 1..=32)]
    latched: u64,
    /// What is asked of memory as one.
    #[bytes("piece", 32..=BURST_BYTES_MAX.into(), multiple_of = PHASE_BYTES.into())]
    piece: u32,
    /// Pieces asked for at a time.
    #[count("ahead", 1..=PIECES_MAX)]
    ahead: u64,
    /// What is there before a completion, or a burst, begins.
    #[bytes("first", 1..=BUFFER_BYTES_MAX)]
    first: u32,
    /// From the address to split response, retry or first data, DEVSEL# included.
    #[clocks("response", 1..=CLOCKS_MAX)]
    response: u64,
    /// PCI: what is fetched for a memory read, a memory read line and a memory read multiple.
    #[bytes(["prefetch", "prefetch_line", "prefetch_multiple"], 4..=BURST_BYTES_MAX.into(), multiple_of = PHASE_BYTES.into())]
    prefetch: [u32; 3],
}

impl Spec {
    fn fits(&self, p: &Parameters) -> Result<(), SpecError> {
        if self.write.accept > self.write.buffer {
            return Err(p.error(
                "write.accept",
                "the buffer never has as much room",
                "expected `write.buffer` at most",
            ));
        }
        Ok(())
    }
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
