//! What the drive does on its bus: one connection after the other.

use hopscope_kernel::{Errand, Label};

use super::ScsiDisk;
use super::schedule::Job;
use crate::protocols::scsi::BLOCK_BYTES;

static NOTHING_TO_MOVE: Label = Label::reason("nothing for the bus");
static ARM_BEHIND: Label = Label::reason("the arm has not written what came before");

/// A reason to call the initiator.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transfer {
    /// Sectors of a read; the last ones end the command.
    Read { tag: u16, sectors: u64, last: bool, errand: Errand },
    /// A write that may wait in the buffer: its data, and the end of the command.
    Cache(Job),
    /// The data of a write that the arm is on its way for.
    Fetch(Job),
    /// The data of a write that the arm will come to.
    FetchEarly(Job),
    /// The end of a command whose data are on the media.
    End { tag: u16, errand: Errand },
}

impl Transfer {
    fn errand(&self) -> Errand {
        match self {
            Transfer::Read { errand, .. } | Transfer::End { errand, .. } => *errand,
            Transfer::Cache(job) | Transfer::Fetch(job) | Transfer::FetchEarly(job) => job.errand,
        }
    }
}

impl ScsiDisk {
    pub(super) async fn run_transfers(&self) {
        let mut before = Errand::NOBODY;
        loop {
            let transfer = self.transfers.take(&NOTHING_TO_MOVE).await;
            self.sim.take_up_after(before, transfer.errand());
            before = transfer.errand();
            match transfer {
                Transfer::Read { tag, sectors, last, .. } => {
                    let connection = self.bus.reselect(self.id, tag).await;
                    connection.data(bytes(sectors)).await;
                    if last {
                        self.complete(false).await;
                        self.ended();
                        connection.complete().await;
                    } else {
                        connection.disconnect().await;
                    }
                }
                Transfer::Cache(job) => {
                    let connection = self.bus.reselect(self.id, job.tag).await;
                    connection.data(bytes(job.sectors)).await;
                    self.complete(true).await;
                    self.ended();
                    connection.complete().await;
                    // What has come from the media by now is older.
                    self.come_to_now();
                    self.buffer.borrow_mut().write(job.lba, job.end());
                    self.wait_for_arm(job);
                }
                Transfer::Fetch(job) => self.fetch(job).await,
                Transfer::FetchEarly(job) => {
                    let connection = self.bus.reselect(self.id, job.tag).await;
                    connection.data(bytes(job.sectors)).await;
                    connection.disconnect().await;
                    self.wait_for_arm(Job { here: true, ..job });
                }
                Transfer::End { tag, .. } => {
                    let connection = self.bus.reselect(self.id, tag).await;
                    self.complete(true).await;
                    self.ended();
                    connection.complete().await;
                }
            }
        }
    }

    /// Data of a write, a burst at a time: as many as a segment holds, and more when it has drained to its low mark.
    async fn fetch(&self, job: Job) {
        let (mut left, low) = (job.sectors, self.low_mark(&job));
        while left > 0 {
            let mut room = left.min(self.spec.segment_sectors - self.unwritten.get());
            left -= room;
            while room > 0 {
                let burst = room.min(self.spec.burst_sectors);
                let connection = self.bus.reselect(self.id, job.tag).await;
                connection.data(bytes(burst)).await;
                connection.disconnect().await;
                self.unwritten.set(self.unwritten.get() + burst);
                self.fetched.put(burst, &ARM_BEHIND).await;
                room -= burst;
            }
            while left > 0 && self.unwritten.get() > low {
                self.drained.heard(&ARM_BEHIND).await;
            }
        }
    }

    /// Sectors of a write that may be left in the buffer when more of it come.
    pub(super) fn low_mark(&self, job: &Job) -> u64 {
        self.spec.marks.low(job.sectors, self.spec.segment_sectors)
    }

    fn ended(&self) {
        self.under_way.set(self.under_way.get() - 1);
    }
}

/// Sectors to bytes, within one command.
fn bytes(sectors: u64) -> u32 {
    sectors as u32 * BLOCK_BYTES
}
