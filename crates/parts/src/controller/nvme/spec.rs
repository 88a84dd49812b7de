//! The numbers of an NVM Express drive.

use hopscope_declare::Spec;
use hopscope_kernel::Time;

use crate::bus::pcie::PortSpec;
use crate::flash::{self, read_ahead};
use crate::protocols::nvme::COMMAND_BYTES;
use crate::protocols::pcie::PAGE_BYTES;

/// The drive's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Its end of the link.
    #[nested]
    pub port: PortSpec,
    /// Its flash.
    #[nested]
    pub flash: flash::Spec,
    /// What it reads ahead.
    #[nested("read_ahead")]
    pub read_ahead: read_ahead::Spec,
    /// Bytes of a logical block.
    #[bytes("block", 512..=PAGE_BYTES.into(), power_of_two)]
    pub block_bytes: u32,
    /// Most bytes that a command moves (MDTS).
    // 5.21: MDTS is a power of two of pages.
    #[bytes("transfer_max", PAGE_BYTES.into()..=2 << 20, power_of_two)]
    pub transfer_max: u32,
    /// Pairs of queues that it gives a host, besides the admin queues: a driver sets one up for each processor.
    // 5.21.1.7: Number of Queues; their doorbells are in 4 KiB (3.1.24, and a stride of 4 bytes).
    #[count("queue_pairs", 1..=128)]
    pub queue_pairs: usize,
    /// Commands that one read of a submission queue fetches, at most.
    #[count("fetch.commands", 1..=u64::from(PAGE_BYTES / COMMAND_BYTES))]
    pub fetch_commands: u32,
    /// Commands that are carried at once.
    #[count("controller.commands", 1..=4_096)]
    pub commands: usize,
    /// Engines that commands take turns at.
    #[count("controller.engines", 1..=64)]
    pub engines: usize,
    /// How long a read has its engine.
    #[time("controller.read")]
    pub read: Time,
    /// How long a write has its engine.
    #[time("controller.write")]
    pub write: Time,
    /// What a read takes besides: nobody waits for it but its command.
    #[time("controller.read_latency")]
    pub read_latency: Time,
    /// What a write takes besides: nobody waits for it but its command.
    #[time("controller.write_latency")]
    pub write_latency: Time,
    /// Pieces of long commands that are carried at once.
    #[count("controller.transfers", 1..=4_096)]
    pub transfers: usize,
    /// Pages that are on their way to the host at once.
    #[count("controller.dma", 1..=256)]
    pub dma: usize,
    /// Completions that an interrupt waits for, unless the time for that is over.
    // 5.21.1.8: eight bits.
    #[count("interrupt.threshold", 1..=256)]
    pub threshold: u32,
    /// How long an interrupt waits for more completions, at most.
    #[time("interrupt.time")]
    pub aggregation_time: Time,
}
