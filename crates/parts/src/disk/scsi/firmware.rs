//! The drive's firmware: takes one command after the other, and says who goes on with it.

use hopscope_kernel::Label;

use super::ScsiDisk;
use super::buffer::Found;
use super::schedule::Job;
use super::transfers::Transfer;
use crate::protocols::scsi::Command;

static NO_COMMAND: Label = Label::reason("no command");
static OVERHEAD: Label = Label::protocol("command overhead");
static BUFFER_BUSY: Label = Label::reason("segments wait for the bus");

impl ScsiDisk {
    pub(super) async fn run_firmware(&self) {
        let mut after_write = false;
        loop {
            let command = self.commands.take(&NO_COMMAND).await;
            if command.writes {
                self.write(command, after_write).await;
            } else {
                self.read(command, after_write).await;
            }
            after_write = command.writes;
        }
    }

    async fn read(&self, command: Command, after_write: bool) {
        let (first, end) = (command.lba, command.lba + u64::from(command.blocks));
        let found = self.look_up(first, end);
        let overhead = match found {
            Found::Nothing => self.spec.read_miss,
            _ => self.spec.read_hit,
        };
        self.firmware.spend(&OVERHEAD, overhead.after(after_write)).await;
        let Found::Whole(segment) = found else {
            self.wait_for_arm(job(command, None));
            return;
        };
        self.buffer.borrow_mut().touch(segment);
        if self.head.borrow_mut().read_on(&self.spec, segment, end) {
            let _ = self.work.try_put(());
        }
        let transfer = Transfer::Read { tag: command.tag, sectors: u64::from(command.blocks), last: true };
        self.transfers.put(transfer, &BUFFER_BUSY).await;
    }

    async fn write(&self, command: Command, after_write: bool) {
        let sectors = u64::from(command.blocks);
        let kept = self.buffer.borrow_mut().keep(command.lba, sectors);
        let overhead = if kept.is_some() { self.spec.write_hit } else { self.spec.write_miss };
        self.firmware.spend(&OVERHEAD, overhead.after(after_write)).await;
        let job = job(command, kept);
        if kept.is_some() {
            self.transfers.put(Transfer::Cache(job), &BUFFER_BUSY).await;
        } else {
            self.wait_for_arm(job);
        }
    }

    /// The arm will come to it.
    pub(super) fn wait_for_arm(&self, job: Job) {
        let mut waiting = self.waiting.borrow_mut();
        let joins = |before: &&mut Job| job.cached_in.is_some() && before.cached_in == job.cached_in;
        match waiting.iter_mut().find(joins).filter(|before| before.end() == job.lba) {
            Some(before) => before.sectors += job.sectors,
            None => waiting.push(job),
        }
        let _ = self.work.try_put(());
    }
}

fn job(command: Command, cached_in: Option<usize>) -> Job {
    let Command { writes, lba, blocks, tag } = command;
    Job { writes, lba, sectors: u64::from(blocks), tag, cached_in }
}
