//! The drive's firmware: takes one command after the other, and says who goes on with it.

use hopscope_kernel::{Errand, Label, Time};

use super::ScsiDisk;
use super::buffer::Found;
use super::schedule::Job;
use super::transfers::Transfer;
use crate::protocols::scsi::Command;

static NO_COMMAND: Label = Label::reason("no command");
static OVERHEAD: Label = Label::protocol("command overhead");
static COMPLETION: Label = Label::protocol("command completion");
static FIRMWARE_BUSY: Label = Label::reason("firmware busy");
static BUFFER_BUSY: Label = Label::reason("segments wait for the bus");
static NO_ROOM: Label = Label::reason("write segment full");

impl ScsiDisk {
    pub(super) async fn run_firmware(&self) {
        let mut after_write = false;
        loop {
            let command = self.commands.take(&NO_COMMAND).await;
            self.sim.take_up(command.errand);
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
        // What continues a read that the arm has, or will have, comes from its stream: nothing is to be sought.
        let overhead = match found {
            Found::Nothing if !self.continues_a_read(first) => self.spec.read_miss,
            _ => self.spec.read_hit,
        };
        self.work_on(&OVERHEAD, overhead[usize::from(after_write)]).await;
        let Found::Whole(segment) = found else {
            self.wait_for_arm(self.job(command, None));
            return;
        };
        self.buffer.borrow_mut().touch(segment);
        let begun = self.buffer.borrow().begun(segment);
        if self.head.borrow_mut().read_on(&self.spec, segment, begun, end) {
            self.work.ring();
        }
        let (sectors, errand) = (u64::from(command.blocks), self.sim.pass_on(command.errand));
        let transfer = Transfer::Read { tag: command.tag, sectors, last: true, errand };
        self.transfers.put(transfer, &BUFFER_BUSY).await;
    }

    fn continues_a_read(&self, first: u64) -> bool {
        self.reads_up_to.get() == Some(first)
            || self.waiting.borrow().iter().any(|job| !job.writes && job.end() == first)
    }

    /// Before the status of a command.
    pub(super) async fn complete(&self, writes: bool) {
        let span = if writes { self.spec.write_completion } else { self.spec.read_completion };
        self.work_on(&COMPLETION, span).await;
    }

    /// The firmware's processor does one thing at a time.
    async fn work_on(&self, label: &'static Label, span: Time) {
        if span > Time::ZERO {
            let firmware = self.firmware.acquire(&FIRMWARE_BUSY).await;
            firmware.hold(label, self.firmware.paced(span)).await;
        }
    }

    async fn write(&self, command: Command, after_write: bool) {
        let sectors = u64::from(command.blocks);
        let mut kept = self.buffer.borrow_mut().keep(command.lba, sectors);
        let overhead = if kept.is_some() { self.spec.write_hit } else { self.spec.write_miss };
        self.work_on(&OVERHEAD, overhead[usize::from(after_write)]).await;
        while kept.is_none() {
            kept = self.buffer.borrow_mut().keep(command.lba, sectors);
            if kept.is_some() || !self.buffer.borrow().will_have_room(command.lba, sectors) {
                break;
            }
            // What continues a segment goes into it as the media empty it.
            self.room.heard(&NO_ROOM).await;
        }
        let job = self.job(command, kept);
        if kept.is_some() {
            let job = Job { errand: self.sim.pass_on(job.errand), ..job };
            self.transfers.put(Transfer::Cache(job), &BUFFER_BUSY).await;
        } else {
            self.wait_for_arm(job);
            if self.arm_works.get() {
                self.fetch_early().await;
            }
        }
    }

    /// Data of writes that wait for the arm come while it is at work for another command, as long as segments last.
    pub(super) async fn fetch_early(&self) {
        while self.fetched_early.get() < self.spec.segments {
            let Some(job) = self.next_to_fetch() else { return };
            self.fetched_early.set(self.fetched_early.get() + 1);
            self.transfers.put(Transfer::FetchEarly(job), &BUFFER_BUSY).await;
        }
    }

    /// The first write whose data could come now.
    fn next_to_fetch(&self) -> Option<Job> {
        let mut waiting = self.waiting.borrow_mut();
        let fits = |job: &Job| job.writes && !job.here && job.sectors <= self.spec.segment_sectors;
        let index = waiting.iter().position(fits)?;
        Some(waiting.remove(index))
    }

    /// The arm will come to it. What has been reported already is written for nobody.
    pub(super) fn wait_for_arm(&self, job: Job) {
        let reported = job.cached_in.is_some();
        let job = Job { errand: if reported { Errand::NOBODY } else { self.sim.pass_on(job.errand) }, ..job };
        let mut waiting = self.waiting.borrow_mut();
        let joins = |before: &&mut Job| job.cached_in.is_some() && before.cached_in == job.cached_in;
        match waiting.iter_mut().find(joins).filter(|before| before.end() == job.lba) {
            Some(before) => before.sectors += job.sectors,
            None => {
                // One whose data came early is where it would have been.
                let at = waiting.iter().rposition(|before| before.number < job.number).map_or(0, |before| before + 1);
                waiting.insert(at, job);
            }
        }
        self.work.ring();
    }

    fn job(&self, command: Command, cached_in: Option<usize>) -> Job {
        let Command { writes, lba, blocks, tag, errand } = command;
        self.jobs.set(self.jobs.get() + 1);
        let (number, sectors, here) = (self.jobs.get(), u64::from(blocks), cached_in.is_some());
        Job { number, writes, lba, sectors, tag, cached_in, here, errand }
    }
}
