//! The drive's firmware: one command after the other.
//!
//! A read is sent from the buffer as far as it is there, the rest as the media deliver it. A write is taken
//! into the buffer and reported at once. Bookkeeping follows while the data move; the next command waits for it.

use hopscope_kernel::{Label, Time};

use super::mechanics::Job;
use super::{Command, Disk, bytes_of};
use crate::protocols::ide::SECTOR_BYTES;

static NO_COMMAND: Label = Label::reason("no command");
static DECODE: Label = Label::protocol("decode");
static LOOK_UP: Label = Label::protocol("look up");
static FOLLOW_UP: Label = Label::protocol("follow up the command before");
static WRITE_CACHE_FULL: Label = Label::reason("write cache full");
static CABLE: Label = Label::reason("data on the cable");

impl Disk {
    pub(super) async fn run_firmware(&self) {
        let mut free_at = Time::ZERO;
        let mut overwritten = None;
        loop {
            let command = self.commands.take(&NO_COMMAND).await;
            if self.sim.now() < free_at {
                self.firmware.spend(&FOLLOW_UP, free_at - self.sim.now()).await;
            }
            self.sim.take_up(command.errand);
            self.firmware.spend(&DECODE, self.vary(self.spec.decode)).await;
            if command.writes {
                let again = overwritten.replace((command.lba, command.sectors)) == Some((command.lba, command.sectors));
                let follow_up = if again { self.spec.overwrite_interval } else { self.spec.write_follow_up };
                free_at = self.sim.now() + self.vary(follow_up);
                self.write(command).await;
            } else {
                overwritten = None;
                if self.buffer.borrow().read_end != command.lba {
                    self.firmware.spend(&LOOK_UP, self.vary(self.spec.look_up)).await;
                }
                free_at = self.sim.now() + self.vary(self.spec.read_follow_up);
                self.read(command).await;
            }
            // ATA/ATAPI-4, 9.5: a command that sends data by programmed I/O has interrupted before its last block.
            if command.writes || !self.spec.transfer_mode.is_programmed() {
                self.cable.interrupt();
            }
        }
    }

    async fn write(&self, command: Command) {
        let joins = || self.buffer.borrow().joins(command.lba, command.sectors);
        let joined = joins();
        if !joined {
            self.write_slots.take(&WRITE_CACHE_FULL).await;
        }
        if self.spec.transfer_mode.is_programmed() {
            self.take_blocks(command.sectors).await;
        } else {
            self.cable.offers().put_now(bytes_of(command.sectors));
            self.until_crossed(command.sectors).await;
        }
        if joined && !joins() {
            // The block went to the media while its successor arrived: that one needs a slot of its own.
            self.write_slots.take(&WRITE_CACHE_FULL).await;
        } else if !joined && joins() {
            self.write_slots.give();
        }
        self.buffer.borrow_mut().write(command.lba, command.sectors);
        // One such job writes all that waits: beyond as many as there can be, they would only keep others out.
        if self.jobs.len() < self.spec.cached_writes {
            self.jobs.put_now(Job::Write);
        }
    }

    async fn read(&self, command: Command) {
        let end = command.lba + command.sectors;
        self.store_stream();
        let held = self.buffer.borrow_mut().holds(command.lba, command.sectors);
        self.buffer.borrow_mut().read_end = end;
        if held && self.spec.transfer_mode.is_programmed() {
            self.extend_read_ahead(end);
            self.give_blocks(command.sectors).await;
            return;
        }
        if held {
            self.cable.offers().put_now(bytes_of(command.sectors));
            self.extend_read_ahead(end);
            self.until_crossed(command.sectors).await;
            return;
        }
        let stream = self.stream_for(command.lba, end, command.errand).await;
        let mut next = command.lba;
        if self.spec.transfer_mode.is_programmed() {
            self.give_blocks_as_they_come(&stream, command).await;
            next = end;
        }
        while next < end {
            let come = stream.come_by(self, self.sim.now()).min(end);
            let wanted = (next + self.spec.offer_sectors).min(end);
            if come >= wanted {
                self.cable.offers().put_now(bytes_of(come - next));
                next = come;
            } else {
                self.say_read_ahead(&stream, command.errand);
                self.sim.wait_until(stream.when(self, wanted - 1)).await;
                self.say_tracks(&stream);
            }
        }
        self.extend_read_ahead(end);
        if !self.spec.transfer_mode.is_programmed() {
            self.until_crossed(command.sectors).await;
        }
    }

    pub(super) async fn until_crossed(&self, sectors: u64) {
        let mut left = bytes_of(sectors);
        while left > 0 {
            left -= self.crossed.take(&CABLE).await;
        }
        debug_assert!(left.is_multiple_of(SECTOR_BYTES));
    }
}
