//! Arm, spindle and media: one process that positions, streams sectors into the buffer and writes blocks.
//!
//! A stream needs no event a sector: when a sector has come follows from the geometry, and whoever wants to
//! know asks. It goes on past what was asked for (read-ahead) until it may go no further or other work comes.

use std::cell::Cell;
use std::rc::Rc;

use hopscope_kernel::{Either, Errand, Label, Queue, Time, race};

use super::Disk;
use super::buffer::Dirty;
use super::geometry::Place;

static NOTHING_TO_DO: Label = Label::reason("no work for the arm");
static POSITIONING: Label = Label::reason("positioning");
static SEEK: Label = Label::protocol("seek and settle");
static ROTATION: Label = Label::protocol("rotation");
static READ: Label = Label::payload("read media");
static WRITE: Label = Label::payload("write media");
static NEXT_TRACK: Label = Label::protocol("to the next track");

/// What wakes the mechanics.
pub(super) enum Job {
    /// Read from a sector on; the stream is handed over when the first sector begins to pass.
    Read { first: u64, stop: u64, started: Queue<Rc<Stream>>, errand: Errand },
    /// The stream that had to stop may go on.
    GoOn,
    /// A block waits in the buffer.
    Write,
}

/// Sectors coming from the media.
pub(super) struct Stream {
    /// First sector of the run on the present track, and when it begins to pass.
    run: Cell<(u64, Time)>,
    /// The stream stops before this sector.
    stop: Cell<u64>,
    /// Sectors before this one are in the buffer's extents.
    stored: Cell<u64>,
    ended: Cell<bool>,
    /// Whether the arm follows it, or has come to the stop.
    followed: Cell<bool>,
    /// What has been said of it: the run, and the instant.
    said: Cell<((u64, Time), Time)>,
}

impl Stream {
    /// The run on the next track.
    fn next_run(disk: &Disk, (first, start): (u64, Time)) -> (u64, Time) {
        let geometry = &disk.geometry;
        let here = geometry.place(first);
        let end = geometry.passed(here, start, here.left_on_track);
        let next = first + here.left_on_track;
        let there = geometry.place(next.min(geometry.sectors() - 1));
        (next, geometry.next_pass(there, end + geometry.move_time(here, there)))
    }

    /// All sectors before the returned one have come by `now`.
    pub(super) fn come_by(&self, disk: &Disk, now: Time) -> u64 {
        let geometry = &disk.geometry;
        loop {
            let (first, start) = self.run.get();
            if now <= start {
                return first.min(self.stop.get());
            }
            let here = geometry.place(first);
            let turned = u128::from((now - start).as_ps()) * u128::from(here.slots());
            let estimate = (turned / u128::from(geometry.revolution().as_ps())) as u64;
            let mut passed = estimate.min(here.left_on_track);
            while passed > 0 && geometry.passed(here, start, passed) > now {
                passed -= 1;
            }
            while passed < here.left_on_track && geometry.passed(here, start, passed + 1) <= now {
                passed += 1;
            }
            if passed < here.left_on_track || first + passed >= self.stop.get() {
                return (first + passed).min(self.stop.get());
            }
            self.run.set(Self::next_run(disk, (first, start)));
        }
    }

    /// When sector `lba` has come; it must lie ahead of the run on the present track, and before the stop.
    pub(super) fn when(&self, disk: &Disk, lba: u64) -> Time {
        let geometry = &disk.geometry;
        let (mut first, mut start) = self.run.get();
        loop {
            let here = geometry.place(first);
            if lba < first + here.left_on_track {
                return geometry.passed(here, start, lba - first + 1);
            }
            (first, start) = Self::next_run(disk, (first, start));
        }
    }
}

impl Disk {
    /// The stream that has or will have the sectors `first..end`: the present one, or a new one.
    pub(super) async fn stream_for(&self, first: u64, end: u64, errand: Errand) -> Rc<Stream> {
        let present = self.stream.borrow().clone();
        if let Some(stream) = present.filter(|stream| !stream.ended.get()) {
            let come = stream.come_by(self, self.sim.now());
            if first == come || self.buffer.borrow_mut().holds(first, come.saturating_sub(first)) && first < come {
                self.extend(&stream, end);
                return stream;
            }
        }
        let started = Queue::new(&self.sim, 1);
        let stop = (end + self.spec.read_ahead_sectors).min(self.geometry.sectors());
        let errand = self.sim.pass_on(errand);
        self.jobs.put_now(Job::Read { first, stop, started: started.clone(), errand });
        started.take(&POSITIONING).await
    }

    /// Lets the present stream go on beyond `end`, as far as read-ahead goes. Only what continues the stream
    /// extends it: a re-read elsewhere in the buffer does not.
    pub(super) fn extend_read_ahead(&self, end: u64) {
        let present = self.stream.borrow().clone();
        if let Some(stream) = present.filter(|stream| !stream.ended.get()) {
            let come = stream.come_by(self, self.sim.now());
            if end <= come + self.spec.read_ahead_sectors {
                self.extend(&stream, end);
            }
        }
    }

    fn extend(&self, stream: &Stream, end: u64) {
        let stop = (end + self.spec.read_ahead_sectors).min(self.geometry.sectors());
        let come = stream.come_by(self, self.sim.now());
        if stop <= stream.stop.get() {
            return;
        }
        let had_stopped = come == stream.stop.replace(stop);
        if had_stopped {
            // The sector has gone by: the stream goes on when it passes again.
            let geometry = &self.geometry;
            stream.run.set((come, geometry.next_pass(geometry.place(come), self.sim.now())));
            if !stream.followed.get() {
                stream.said.set((stream.run.get(), self.sim.now()));
            }
            self.jobs.put_now(Job::GoOn);
        }
    }

    /// Puts what has come of the present stream into the buffer.
    pub(super) fn store_stream(&self) {
        if let Some(stream) = self.stream.borrow().as_ref()
            && !stream.ended.get()
        {
            let come = stream.come_by(self, self.sim.now());
            if come > stream.stored.get() {
                self.buffer.borrow_mut().read(stream.stored.replace(come), come);
            }
        }
    }

    /// The arm leaves: what has come of the present stream stays in the buffer, and nothing more comes of it.
    fn leave_stream(&self) {
        self.store_stream();
        if let Some(stream) = self.stream.borrow().as_ref() {
            stream.ended.set(true);
        }
    }

    pub(super) async fn run_mechanics(&self) {
        let mut at = self.geometry.place(0);
        let mut next = None;
        loop {
            let job = match next.take() {
                Some(job) => job,
                None => self.jobs.take(&NOTHING_TO_DO).await,
            };
            match job {
                Job::Read { first, stop, started, errand } => {
                    self.sim.take_up(errand);
                    let there = self.geometry.place(first);
                    self.position(at, there, Time::ZERO).await;
                    let run = (first, self.sim.now());
                    let stream = Rc::new(Stream {
                        run: Cell::new(run),
                        stop: Cell::new(stop),
                        stored: Cell::new(first),
                        ended: Cell::new(false),
                        followed: Cell::new(true),
                        said: Cell::new((run, self.sim.now())),
                    });
                    *self.stream.borrow_mut() = Some(stream.clone());
                    started.put_now(stream.clone());
                    // Whoever waits for sectors says so for itself; the rest is read ahead.
                    self.sim.take_up(Errand::NOBODY);
                    (at, next) = self.follow(&stream).await;
                }
                Job::GoOn => {
                    self.sim.take_up(Errand::NOBODY);
                    let stream = self.stream.borrow().clone();
                    if let Some(stream) = stream.filter(|stream| !stream.ended.get()) {
                        stream.said.set((stream.run.get(), self.sim.now()));
                        (at, next) = self.follow(&stream).await;
                    }
                }
                Job::Write => {
                    self.sim.take_up(Errand::NOBODY);
                    self.leave_stream();
                    at = self.write_dirty(at).await;
                }
            }
        }
    }

    /// Moves the arm and waits for the sector.
    async fn position(&self, from: Place, to: Place, settle: Time) {
        let moving = self.geometry.move_time(from, to);
        if moving > Time::ZERO {
            self.arm.spend(&SEEK, moving + settle).await;
        }
        let pass = self.geometry.next_pass(to, self.sim.now());
        self.arm.spend(&ROTATION, pass - self.sim.now()).await;
    }

    /// Follows a stream until it has stopped or other work comes; returns where the arm is, and that work.
    async fn follow(&self, stream: &Rc<Stream>) -> (Place, Option<Job>) {
        let geometry = &self.geometry;
        stream.followed.set(true);
        loop {
            let stop = stream.stop.get();
            let all_come = stream.when(self, stop - 1);
            let next = race(&self.sim, self.jobs.take(&NOTHING_TO_DO), self.sim.wait_until(all_come)).await;
            let come = stream.come_by(self, self.sim.now());
            self.say_tracks(stream);
            let job = match next {
                Either::Left(Job::GoOn) => {
                    stream.said.set((stream.run.get(), self.sim.now()));
                    continue;
                }
                Either::Left(job) => Some(job),
                Either::Right(()) if stream.stop.get() > stop => continue,
                Either::Right(()) => None,
            };
            if job.is_some() {
                self.leave_stream();
            }
            stream.followed.set(false);
            return (geometry.place(come.max(1) - 1), job);
        }
    }

    /// What the arm read until now that nobody has waited for. The current process goes on for its request.
    pub(super) fn say_read_ahead(&self, stream: &Stream, errand: Errand) {
        if stream.said.get().1 < self.sim.now() {
            self.sim.take_up(Errand::NOBODY);
            self.say_tracks(stream);
            self.sim.take_up(self.sim.pass_on(errand));
        }
    }

    /// Says what the arm did until now while the stream went on, as far as that has not been said.
    pub(super) fn say_tracks(&self, stream: &Stream) {
        let (run, said) = stream.said.get();
        stream.said.set(self.say_tracks_from(run, said));
    }

    /// The same from `said` on, when the stream was on `run`; returns the run on the present track, and now.
    fn say_tracks_from(&self, mut run: (u64, Time), mut said: Time) -> ((u64, Time), Time) {
        let (geometry, now) = (&self.geometry, self.sim.now());
        // The sector that a stream goes on with has to come round first.
        if said < run.1 {
            self.arm.was_in_until(&ROTATION, said, run.1.min(now));
            said = run.1.min(now);
        }
        loop {
            let here = geometry.place(run.0);
            let end = geometry.passed(here, run.1, here.left_on_track);
            if said < end {
                self.arm.was_in_until(&READ, said, end.min(now));
                said = end.min(now);
            }
            let next = Stream::next_run(self, run);
            if now <= end {
                return (run, now);
            }
            self.arm.was_in_until(&NEXT_TRACK, said, next.1.min(now));
            said = next.1.min(now);
            if now <= next.1 {
                return (next, now);
            }
            run = next;
        }
    }

    /// Writes what waits in the buffer, in the drive's order.
    async fn write_dirty(&self, mut at: Place) -> Place {
        let (geometry, mut reached) = (&self.geometry, self.write_reached.get());
        loop {
            let next = self.buffer.borrow_mut().next_dirty(self.spec.write_order, reached);
            let Some(Dirty { lba, sectors }) = next else { return at };
            let end = lba + sectors;
            reached = end;
            self.write_reached.set(end);
            let mut first = lba;
            while first < end {
                let there = geometry.place(first);
                let settle = if first == lba { geometry.write_settle() } else { Time::ZERO };
                self.position(at, there, settle).await;
                let count = there.left_on_track.min(end - first);
                let passed = geometry.passed(there, self.sim.now(), count);
                self.arm.spend(&WRITE, passed - self.sim.now()).await;
                first += count;
                at = geometry.place(first - 1);
            }
            self.buffer.borrow_mut().being_written = None;
            self.write_slots.give();
        }
    }
}
