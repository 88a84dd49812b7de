//! The FIFO between a channel and memory, as the file of its adapter has it.

use hopscope_declare::Spec;

/// The largest.
const FIFO_MAX: u64 = 1 << 20;

/// A channel's FIFO.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Fifo {
    /// Bytes that the FIFO of a channel holds.
    #[bytes("channel.fifo", 2..=FIFO_MAX)]
    pub bytes: u32,
    /// Bytes that cross between FIFO and memory together; the FIFO holds that much at least.
    #[bytes("channel.piece", 2..=bytes.into(), multiple_of = 2)]
    pub piece: u32,
}
