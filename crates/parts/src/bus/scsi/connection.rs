//! A drive that has the bus: data, and how it leaves.
//!
//! The phases of a reselection pass with what follows them, in one hold: whoever reselects waits once.

use std::cell::Cell;

use hopscope_kernel::{Either, Grant, Label, Time, race};

use super::{Drive, Fifo, Nexus, Phase, Pieces, ScsiBus, ToHost};
use crate::protocols::scsi::{FIFO_EMPTY, FIFO_FULL, NO_REQ};

static ON_THEIR_WAY: Label = Label::reason("pieces on their way");

/// Fewer pieces are told of one by one: that costs as much.
const SEVERAL_MIN: u32 = 2;

/// A drive on its bus, with one of its commands.
pub struct Connection<'a> {
    bus: &'a ScsiBus,
    drive: &'a Drive,
    nexus: &'a Nexus,
    grant: Grant<'a>,
    /// The phases of the reselection have not passed yet.
    arriving: Cell<bool>,
    /// When the last phase on the bus ended, or the first one begins.
    last: Cell<Time>,
}

impl<'a> Connection<'a> {
    /// A drive that has just won the bus.
    pub(super) fn won(bus: &'a ScsiBus, drive: &'a Drive, nexus: &'a Nexus, grant: Grant<'a>) -> Connection<'a> {
        let last = Cell::new(bus.sim.now());
        Connection { bus, drive, nexus, grant, arriving: Cell::new(true), last }
    }

    /// A drive that has had the bus since its command.
    pub(super) fn kept(
        bus: &'a ScsiBus,
        drive: &'a Drive,
        nexus: &'a Nexus,
        grant: Grant<'a>,
        since: Time,
    ) -> Connection<'a> {
        Connection { bus, drive, nexus, grant, arriving: Cell::new(false), last: Cell::new(since) }
    }

    /// Data of the command: DATA IN or DATA OUT, as it is a read or a write, through the adapter's FIFO. Returns with
    /// the last transfer. Between two calls the drive keeps the bus.
    pub async fn data(&self, bytes: u32) {
        let label = self.drive.data(self.nexus.writes.get());
        match self.bus.fifo() {
            None => self.pass(label, self.span(bytes)).await,
            Some(fifo) if self.nexus.writes.get() => self.data_out(fifo, bytes).await,
            Some(fifo) => self.data_in(fifo, bytes).await,
        }
    }

    /// SAVE DATA POINTER and DISCONNECT. Returns at once: these phases pass by themselves, then the bus is free.
    pub async fn disconnect(self) {
        let arrival = self.arrival();
        self.grant.leave([arrival[0], arrival[1], arrival[2], self.bus.paced(self.bus.spec.disconnection())[0]]);
    }

    /// Status and COMMAND COMPLETE: the end of the command. Returns at once, as [`Connection::disconnect`] does.
    pub async fn complete(self) {
        let arrival = self.arrival();
        let [status, message] = self.bus.paced(self.bus.spec.ending());
        let ends_at = self.grant.leave([arrival[0], arrival[1], arrival[2], status, message]);
        self.nexus.to_host.put(ToHost::EndsAt(ends_at), &FIFO_FULL).await;
    }

    fn span(&self, bytes: u32) -> Time {
        self.bus.span(self.drive.period(), bytes)
    }

    async fn data_in(&self, fifo: &Fifo, bytes: u32) {
        let mut left = bytes;
        while left > 0 {
            let piece = left.min(fifo.piece_bytes);
            if !fifo.reserve(piece) {
                self.pass(self.drive.data(false), Time::ZERO).await;
                while !fifo.reserve(piece) {
                    fifo.moved.heard(&FIFO_FULL).await;
                }
                self.paused(&FIFO_FULL);
            }
            self.pass(self.drive.data(false), self.span(piece)).await;
            left -= piece;
            // A piece has come that nobody has been told of.
            loop {
                let Some(more) = self.told_at_once(fifo, piece, left) else {
                    self.nexus.to_host.put(ToHost::Data(Pieces::one(piece)), &FIFO_FULL).await;
                    break;
                };
                let come = self.several(fifo, more).await;
                left -= come.unwrap_or(more) * piece;
                if come.is_none() {
                    break;
                }
            }
        }
    }

    /// How many pieces are told of with one that has just come: as many as come behind it, if whoever carries the command
    /// takes several, has nothing else to move, and nobody looks on. The first of them has room in the FIFO then.
    fn told_at_once(&self, fifo: &Fifo, piece: u32, left: u32) -> Option<u32> {
        let more = left / fifo.piece_bytes;
        let until = self.bus.sim.now() + self.span(piece) * u64::from(more);
        let may = self.nexus.takes_several.get() && fifo.has_only(fifo.piece_bytes) && more >= SEVERAL_MIN;
        (may && piece == fifo.piece_bytes && !self.bus.sim.is_observed_by(until) && fifo.reserve(piece)).then_some(more)
    }

    /// Tells of a piece that has come and of so many others, and has these come. Nothing where all have: as long as each
    /// leaves the FIFO before the next one has come, it is never full. Otherwise how many have, of which the last has not
    /// been told of.
    async fn several(&self, fifo: &Fifo, more: u32) -> Option<u32> {
        let (sim, bytes) = (&self.bus.sim, fifo.piece_bytes);
        let (start, pitch) = (sim.now(), self.span(bytes));
        self.nexus.to_host.put_now(ToHost::Data(Pieces { bytes, count: more + 1, pitch }));
        let all_come = sim.wait_until(start + pitch * u64::from(more));
        let come = match race(sim, all_come, self.nexus.one_by_one.take(&ON_THEIR_WAY)).await {
            Either::Left(()) => {
                fifo.release(bytes);
                None
            }
            Either::Right(come) => {
                let next = start + pitch * u64::from(come);
                sim.wait_until(next).await;
                self.grant.was_in(self.drive.data(false), next - pitch);
                Some(come)
            }
        };
        self.last.set(sim.now());
        come
    }

    async fn data_out(&self, fifo: &Fifo, bytes: u32) {
        // The adapter knows whose data are wanted when the messages have passed.
        self.pass(self.drive.data(true), Time::ZERO).await;
        let (mut unasked, mut left) = (bytes, bytes);
        while left > 0 {
            while unasked > 0 && fifo.reserve(unasked.min(fifo.piece_bytes)) {
                let piece = unasked.min(fifo.piece_bytes);
                unasked -= piece;
                self.nexus.to_host.put(ToHost::Data(Pieces::one(piece)), &FIFO_FULL).await;
            }
            let piece = left.min(fifo.piece_bytes);
            if self.nexus.filled.get() < piece {
                let why = if unasked == left { &FIFO_FULL } else { &FIFO_EMPTY };
                fifo.moved.heard(why).await;
                self.paused(why);
                continue;
            }
            self.nexus.filled.set(self.nexus.filled.get() - piece);
            self.pass(self.drive.data(true), self.span(piece)).await;
            fifo.release(piece);
            left -= piece;
        }
    }

    /// A phase on the bus, after those of the reselection where they are still to come.
    async fn pass(&self, label: &'static Label, span: Time) {
        let [first, second, third] = self.arrival();
        if first.1 + second.1 + third.1 + span > Time::ZERO {
            self.grant.hold_plan([first, second, third, (label, span)]).await;
        }
        self.last.set(self.bus.sim.now());
    }

    /// The bus stood still, since `why`.
    fn paused(&self, why: &'static Label) {
        self.bus.lane.was_in(why, self.last.get());
        self.last.set(self.bus.sim.now());
    }

    /// What is still to pass of the phases of the reselection. What the drive did meanwhile, it did while they passed;
    /// what it did afterwards kept the bus waiting.
    fn arrival(&self) -> [Phase; 3] {
        let (mut at, now) = (self.last.get(), self.bus.sim.now());
        let mut phases = self.bus.paced(self.bus.spec.return_of_a_drive());
        if !self.arriving.take() {
            phases = phases.map(|(label, _)| (label, Time::ZERO));
        }
        if now > at {
            for (label, span) in &mut phases {
                let passed = (*span).min(now - at);
                self.bus.lane.was_in_until(label, at, at + passed);
                (at, *span) = (at + passed, *span - passed);
            }
            self.bus.lane.was_in_until(&NO_REQ, at, now);
        }
        phases
    }
}
