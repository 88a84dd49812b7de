//! Programmed I/O as the drive sees it: blocks of sectors, each with an interrupt. ATA/ATAPI-4, 9.5 and 9.6.
//!
//! ```text
//!   read    [block there] INTRQ ─▶ words ─▶ [next block there] INTRQ ─▶ words
//!   write   DRQ ─▶ words ─▶ INTRQ, DRQ ─▶ words ─▶ INTRQ
//! ```
//!
//! Not modelled: what a drive takes between two blocks that are both in its buffer.

use super::mechanics::Stream;
use super::{Command, Disk, bytes_of};

impl Disk {
    /// Sends sectors that are in the buffer, block by block.
    pub(super) async fn give_blocks(&self, sectors: u64) {
        let mut left = sectors;
        while left > 0 {
            let block = left.min(self.multiple.get());
            self.give_block(block).await;
            left -= block;
        }
    }

    /// Sends sectors that a stream brings, each block when all of it has come.
    pub(super) async fn give_blocks_as_they_come(&self, stream: &Stream, command: Command) {
        let end = command.lba + command.sectors;
        let mut next = command.lba;
        while next < end {
            let wanted = (next + self.multiple.get()).min(end);
            if stream.come_by(self, self.sim.now()) < wanted {
                self.say_read_ahead(stream, command.errand);
                self.sim.wait_until(stream.when(self, wanted - 1)).await;
                self.say_tracks(stream);
            }
            self.give_block(wanted - next).await;
            next = wanted;
        }
    }

    async fn give_block(&self, sectors: u64) {
        self.cable.offers().put_now(bytes_of(sectors));
        self.cable.interrupt();
        self.until_crossed(sectors).await;
    }

    /// Takes sectors, block by block; the command's end interrupts for the last one.
    pub(super) async fn take_blocks(&self, sectors: u64) {
        let mut left = sectors;
        loop {
            let block = left.min(self.multiple.get());
            self.cable.offers().put_now(bytes_of(block));
            self.until_crossed(block).await;
            left -= block;
            if left == 0 {
                return;
            }
            self.cable.interrupt();
        }
    }
}
