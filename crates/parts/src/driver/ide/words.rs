//! Programmed I/O of an IDE driver: the processor moves a block of sectors at every interrupt.
//!
//! ```text
//!   read    command ─▶ interrupt, status ─▶ words ─▶ interrupt, status ─▶ words ─▶ completion
//!   write   command ─▶ status until the drive asks ─▶ words ─▶ interrupt, status ─▶ words ─▶ interrupt ─▶ completion
//! ```
//!
//! READ MULTIPLE and WRITE MULTIPLE, in blocks that SET MULTIPLE MODE has agreed on before.

use hopscope_declare::Spec;
use hopscope_kernel::Time;

use super::{ChannelDriver, Piece};
use crate::bridge::ide::{COMMAND_BLOCKS, Moves};
use crate::bus::ide_cable::IdeCable;
use crate::cpu::{Layer, Work};
use crate::protocols::ide::SECTOR_BYTES;
use crate::protocols::pci::Command;
use crate::protocols::storage::Operation;

/// Offset of the status register in the command block.
const STATUS: u32 = 7;

/// How the driver moves words.
#[derive(Clone, Debug, PartialEq, Spec)]
pub(super) struct Words {
    /// Bytes of an access to the data port: one word or two.
    #[bytes("width", 2..=4, power_of_two)]
    width_bytes: u32,
    /// From the end of an access to the next one on the bus.
    #[time("gap")]
    gap: Time,
    /// Sectors of a block, which the processor moves at one interrupt (ATA/ATAPI-4, 8.38).
    #[count("multiple", 1..=128, power_of_two)]
    pub(super) multiple: u64,
    /// From a status that does not ask for data to the next look.
    #[time("poll")]
    poll: Time,
}

impl ChannelDriver {
    /// A drive that is written by programmed I/O asks for its first block without an interrupt: its status says so.
    /// Returns how many sectors the processor has to move yet.
    pub(super) async fn first_block(&self, work: &Work<'_>, cable: &IdeCable, piece: &Piece) -> u32 {
        let mut left = if piece.mode.is_programmed() { piece.sectors } else { 0 };
        if left > 0 && piece.operation == Operation::Write {
            let status = (COMMAND_BLOCKS[self.channel] + STATUS, 1);
            loop {
                self.bridge.host().processor_cycle(work, Command::IoRead, status, (0, piece.errand)).await;
                if let Some(asked) = cable.offers().try_take() {
                    left -= self.move_block(work, asked, false).await;
                    break;
                }
                work.compute(Layer::Driver, self.spec.words.poll).await;
            }
        }
        left
    }

    /// After an interrupt: moves the block that it announced, and says whether another interrupt will come.
    pub(super) async fn next_block(&self, work: &Work<'_>, cable: &IdeCable, piece: &Piece, left: &mut u32) -> bool {
        if *left == 0 {
            return false;
        }
        let Some(asked) = cable.offers().try_take() else { return false };
        let reads = piece.operation == Operation::Read;
        *left -= self.move_block(work, asked, reads).await;
        // A write's last block is followed by one more, a read's by none.
        *left > 0 || !reads
    }

    /// Moves so many bytes; returns how many sectors they were.
    async fn move_block(&self, work: &Work<'_>, bytes: u32, reads: bool) -> u32 {
        let Words { width_bytes, gap, .. } = self.spec.words;
        let sectors = bytes / SECTOR_BYTES;
        for _ in 0..sectors {
            self.bridge.move_sector(work, self.channel, Moves { reads, width_bytes, gap }).await;
        }
        sectors
    }
}
