//! Arm, spindle and media: one process that goes to what the schedule says, and reads on when nothing waits.
//!
//! Reading on (read-ahead) needs no event: what has come follows from the stream, and what the arm did meanwhile is
//! said when it goes elsewhere.

use hopscope_kernel::{Errand, Grant, Label, Time};

use super::ScsiDisk;
use super::buffer::{Buffer, Found};
use super::schedule::{Job, choose, move_time};
use super::spec::Spec;
use super::stream::Stream;
use super::transfers::Transfer;
use crate::disk::geometry::{Geometry, Place};

static NO_WORK: Label = Label::reason("no work for the arm");
static BUFFER_BUSY: Label = Label::reason("segments wait for the bus");
static FROM_BUS: Label = Label::reason("data from the bus");
static SEEK: Label = Label::protocol("seek and settle");
static ROTATION: Label = Label::protocol("rotation");
static NEXT_TRACK: Label = Label::protocol("to the next track");
static READ: Label = Label::payload("read media");
static WRITE: Label = Label::payload("write media");

/// What the head reads, or read last.
struct Reading {
    stream: Stream,
    segment: usize,
    /// Where the stream is to go on to, once it has stopped.
    wanted: u64,
    /// What has been said of the arm: until when, and the stream on the run of that instant.
    said: Time,
    told: Stream,
}

/// Where the head is, and what it does by itself.
pub(super) struct Head {
    at: Place,
    /// The block behind the last one that passed.
    lba: u64,
    reading: Option<Reading>,
}

impl Head {
    pub(super) fn parked(at: Place) -> Head {
        Head { at, lba: 0, reading: None }
    }

    /// Puts into the buffer what has come by now.
    pub(super) fn store(&mut self, geometry: &Geometry, buffer: &mut Buffer, now: Time) {
        if let Some(reading) = &mut self.reading {
            let come = reading.stream.come_by(geometry, now);
            if come > self.lba {
                buffer.grow(reading.segment, self.lba, come);
                (self.lba, self.at) = (come, reading.stream.here);
            }
        }
    }

    /// A read of the segment up to `end` was a hit: the stream into that segment may go on further. Where it had
    /// stopped it begins again, if the drive does that; true if the arm has to be told.
    pub(super) fn read_on(&mut self, spec: &Spec, segment: usize, begun: u64, end: u64) -> bool {
        let Some(reading) = self.reading.as_mut().filter(|reading| reading.segment == segment) else { return false };
        let wanted = spec.reads_on_to(begun, end, true);
        let stopped = self.lba >= reading.stream.stop;
        if !stopped {
            reading.stream.stop = wanted.max(reading.stream.stop);
        } else if spec.read_ahead_after_hit {
            reading.wanted = wanted.max(reading.wanted);
        }
        reading.wanted > reading.stream.stop
    }

    /// Lets a stream begin again that is wanted beyond its stop: when the sector comes round.
    fn begin_again(&mut self, geometry: &Geometry, now: Time) {
        let Some(reading) = self.reading.as_mut().filter(|reading| reading.wanted > reading.stream.stop) else {
            return;
        };
        let there = geometry.place(self.lba);
        let start = geometry.next_pass(there, now + geometry.move_time(self.at, there));
        reading.stream = Stream { first: self.lba, here: there, start, stop: reading.wanted };
        (reading.said, reading.told) = (now, reading.stream);
    }

    /// Whether the stream goes on now with the sector that a read still needs.
    fn continues(&self, segment: usize, missing: u64) -> bool {
        self.reading.as_ref().is_some_and(|reading| reading.segment == segment && self.lba == missing)
    }
}

impl ScsiDisk {
    pub(super) async fn run_mechanics(&self) {
        let arm = self.arm.acquire(&NO_WORK).await;
        loop {
            self.come_to_now();
            let Some(job) = self.next_job() else {
                self.arm_works.set(false);
                self.say(&arm);
                self.head.borrow_mut().begin_again(&self.geometry, self.sim.now());
                self.work.heard(&NO_WORK).await;
                continue;
            };
            self.arm_works.set(true);
            self.fetch_early().await;
            // What it has read on, it has read for nobody.
            self.sim.take_up(Errand::NOBODY);
            self.say(&arm);
            self.sim.take_up(job.errand);
            if job.writes {
                self.write_media(&arm, job).await;
            } else {
                self.reads_up_to.set(Some(job.end()));
                self.read_media(&arm, job).await;
                self.reads_up_to.set(None);
            }
        }
    }

    /// The head is where the stream has come to.
    pub(super) fn come_to_now(&self) {
        self.head.borrow_mut().store(&self.geometry, &mut self.buffer.borrow_mut(), self.sim.now());
    }

    fn next_job(&self) -> Option<Job> {
        let (mut waiting, head) = (self.waiting.borrow_mut(), self.head.borrow());
        let coming = head.reading.as_ref().map(|_| head.lba);
        let (from, now) = ((head.at, head.lba), self.sim.now());
        let index = choose(self.spec.policy, &waiting, &self.geometry, from, coming, now)?;
        Some(waiting.remove(index))
    }

    /// Reads a range and hands it to the bus, burst by burst, each as soon as it does not have to wait any more.
    async fn read_media(&self, arm: &Grant<'_>, job: Job) {
        let (geometry, end) = (&self.geometry, job.end());
        let found = self.buffer.borrow().find(job.lba, end);
        let missing = match found {
            Found::Whole(_) => end,
            Found::Until(_, missing) => missing.max(job.lba),
            Found::Nothing => job.lba,
        };
        if missing == end {
            // It came while another command was at work.
            return self.hand_over(&job, job.sectors, true).await;
        }
        let now = self.sim.now();
        let begun = match found {
            Found::Until(segment, _) => self.buffer.borrow().begun(segment),
            _ => job.lba,
        };
        let stop = self.spec.reads_on_to(begun, end, found != Found::Nothing);
        let (mut stream, seek) = self.stream_to(found, missing, stop, now);
        let mut lead = [(&SEEK, seek), (&ROTATION, stream.start.saturating_sub(now + seek))];
        let mut given = job.lba;
        let (mut due, mut burst) = self.due(&stream, given, missing, end);
        loop {
            let run_first = stream.first;
            let last = (run_first + stream.run()).min(end);
            let run_end = stream.passed(geometry, last - run_first);
            while burst > given && due <= run_end {
                self.pass(arm, &mut lead, &READ, due).await;
                self.hand_over(&job, burst - given, burst == end).await;
                given = burst;
                (due, burst) = self.due(&stream, given, missing, end);
            }
            self.pass(arm, &mut lead, &READ, run_end).await;
            if last == end {
                break;
            }
            stream = stream.next_run(geometry);
            lead = [(&NEXT_TRACK, stream.start.saturating_sub(self.sim.now())), (&NEXT_TRACK, Time::ZERO)];
        }
        self.read_until(stream, end);
    }

    /// The stream that brings the sectors from `missing` on: the present one, or one after a move of the arm.
    fn stream_to(&self, found: Found, missing: u64, stop: u64, now: Time) -> (Stream, Time) {
        let geometry = &self.geometry;
        let (mut head, mut buffer) = (self.head.borrow_mut(), self.buffer.borrow_mut());
        if let Found::Until(segment, _) = found
            && head.continues(segment, missing)
            && let Some(reading) = head.reading.as_mut().filter(|reading| missing < reading.stream.stop)
        {
            buffer.touch(segment);
            reading.stream.stop = stop.max(reading.stream.stop);
            reading.wanted = reading.stream.stop;
            return (reading.stream, Time::ZERO);
        }
        let segment = match found {
            Found::Until(segment, _) => segment,
            _ => buffer.begin(missing),
        };
        buffer.touch(segment);
        let there = geometry.place(missing);
        let seek = move_time(geometry, head.at, there, false);
        let stream = Stream::new(geometry, missing, geometry.next_pass(there, now + seek), stop);
        head.reading = Some(Reading { stream, segment, wanted: stop, said: now, told: stream });
        (head.at, head.lba) = (there, missing);
        (stream, seek)
    }

    /// When the burst from `first` on may go to the bus, and where it ends. What is before `missing` is there.
    fn due(&self, stream: &Stream, first: u64, missing: u64, end: u64) -> (Time, u64) {
        let burst = (first + self.spec.burst_sectors).min(end);
        if first >= end || burst <= missing.max(stream.first) {
            return (Time::ZERO, burst);
        }
        let (geometry, segment) = (&self.geometry, self.spec.segment_sectors);
        // What lies before the present run has come.
        let missing = missing.max(stream.first);
        let there = missing.saturating_sub(first);
        let (due, _) = stream.due(geometry, first.max(missing), burst, self.per_block());
        // It never comes back before so many are there that it may, nor before it can go through without a pause.
        let mark = first + self.spec.marks.high(end - first, segment);
        let filled = if mark > missing { stream.due(geometry, mark - 1, mark, Time::ZERO).0 } else { Time::ZERO };
        (due.saturating_sub(self.per_block() * there).max(filled), burst)
    }

    /// The sectors before `end` have come, and all that the arm did for them is said; the stream goes on.
    fn read_until(&self, stream: Stream, end: u64) {
        let mut head = self.head.borrow_mut();
        let mut buffer = self.buffer.borrow_mut();
        let from = head.lba;
        if let Some(reading) = &mut head.reading {
            reading.stream = Stream { stop: reading.stream.stop, ..stream };
            (reading.said, reading.told) = (self.sim.now(), reading.stream);
            if from < end {
                buffer.grow(reading.segment, from, end);
            }
        }
        (head.at, head.lba) = (stream.here, end);
    }

    async fn hand_over(&self, job: &Job, sectors: u64, last: bool) {
        let (tag, errand) = (job.tag, self.sim.pass_on(job.errand));
        self.transfers.put(Transfer::Read { tag, sectors, last, errand }, &BUFFER_BUSY).await;
    }

    /// Spends the time until `until`: first what leads, then in a phase of the media.
    async fn pass(&self, arm: &Grant<'_>, lead: &mut [(&'static Label, Time); 2], media: &'static Label, until: Time) {
        let mut left = until.saturating_sub(self.sim.now());
        if left == Time::ZERO {
            return;
        }
        let mut plan = [lead[0], lead[1], (media, Time::ZERO)];
        for (phase, span) in plan.iter_mut().zip(lead.iter_mut()) {
            phase.1 = span.1.min(left);
            (span.1, left) = (span.1 - phase.1, left - phase.1);
        }
        plan[2].1 = left;
        arm.hold_plan(plan).await;
    }

    /// Says what the arm did by itself until now.
    fn say(&self, arm: &Grant<'_>) {
        let (geometry, now) = (&self.geometry, self.sim.now());
        let mut head = self.head.borrow_mut();
        let Some(Reading { stream, said, told, .. }) = &mut head.reading else { return };
        while *said < now && told.first < stream.stop {
            if *said < told.start {
                arm.was_in_until(&NEXT_TRACK, *said, told.start.min(now));
                *said = told.start.min(now);
            }
            let end = told.passed(geometry, told.run().min(stream.stop - told.first));
            if *said < end {
                arm.was_in_until(&READ, *said, end.min(now));
                *said = end.min(now);
            }
            if now <= end || told.first + told.run() >= stream.stop {
                break;
            }
            *told = told.next_run(geometry);
        }
        *said = now;
    }

    /// Writes a range; its data are in the buffer, or come while the arm moves.
    async fn write_media(&self, arm: &Grant<'_>, job: Job) {
        let geometry = &self.geometry;
        self.head.borrow_mut().reading = None;
        let (mut first, mut here) = (job.lba, job.end());
        if !job.here {
            self.unwritten.set(0);
            let job = Job { errand: self.sim.pass_on(job.errand), ..job };
            self.transfers.put(Transfer::Fetch(job), &BUFFER_BUSY).await;
            here = job.lba;
        }
        while first < job.end() {
            let there = geometry.place(first);
            let moving = move_time(geometry, self.head.borrow().at, there, true);
            let mut rotation = geometry.next_pass(there, self.sim.now() + moving);
            let wanted = if first == job.lba { job.sectors.min(self.spec.segment_sectors) } else { 1 };
            let mut lead = [(&SEEK, moving), (&ROTATION, rotation - self.sim.now() - moving)];
            if here < first + wanted {
                lead[1].1 = Time::ZERO;
                self.pass(arm, &mut lead, &SEEK, self.sim.now() + moving).await;
                while here < first + wanted {
                    here += self.fetched.take(&FROM_BUS).await;
                }
                rotation = geometry.next_pass(there, self.sim.now());
                lead = [(&ROTATION, rotation - self.sim.now()), (&ROTATION, Time::ZERO)];
            }
            // Room in a write segment comes burst by burst, so that the host can go on.
            let most = if job.cached_in.is_some() { self.spec.burst_sectors } else { self.until_mark(&job, here) };
            let sectors = there.left_on_track.min(here - first).min(most);
            self.pass(arm, &mut lead, &WRITE, geometry.passed(there, rotation, sectors)).await;
            first += sectors;
            self.written(&job, there, first, sectors);
        }
        if job.cached_in.is_none() {
            self.buffer.borrow_mut().write(job.lba, job.end());
            self.fetched_early.set(self.fetched_early.get() - usize::from(job.here));
            let end = Transfer::End { tag: job.tag, errand: self.sim.pass_on(job.errand) };
            self.transfers.put(end, &BUFFER_BUSY).await;
        }
    }

    /// Sectors of a write after which the drive asks for more of its data; `here` says what has come.
    fn until_mark(&self, job: &Job, here: u64) -> u64 {
        let above = self.unwritten.get().saturating_sub(self.low_mark(job));
        if job.here || here == job.end() || above == 0 { u64::MAX } else { above }
    }

    /// The sectors before `end` are on the media; in a write segment there is room.
    fn written(&self, job: &Job, there: Place, end: u64, sectors: u64) {
        let mut head = self.head.borrow_mut();
        (head.at, head.lba) = (there, end);
        if let Some(segment) = job.cached_in {
            self.buffer.borrow_mut().release(segment, sectors);
            self.room.ring();
        } else if !job.here {
            self.unwritten.set(self.unwritten.get() - sectors);
            self.drained.ring();
        }
    }
}
