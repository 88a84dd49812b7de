//! Reads: pieces fetched ahead, and the completions of split transactions.

use hopscope_kernel::{Class, Errand, Freight, Label, Load};

use super::port::{Across, Buffers, Latch, Port};
use super::posted::THROUGH;
use crate::bus::pci::tenure::Ending;
use crate::protocols::pci::Command;

pub(super) static NOTHING_TO_FETCH: Label = Label::reason("nothing to fetch");
static NO_SPLIT: Label = Label::reason("no split transaction");
static ON_THEIR_WAY: Label = Label::reason("read data on their way");

/// Clocks from the address of a completion to its data: whoever asked answers at once. PCI-X 1.0a, 2.8, decode A.
const COMPLETION_RESPONSE: u64 = 1;

/// Whether bytes are the user's.
pub(super) fn user(carries: &'static Label) -> bool {
    carries.class == Class::Payload
}

/// A piece of a read that is to be fetched over another segment.
pub(super) struct Piece {
    latch: usize,
    address: u32,
    bytes: u32,
    carries: &'static Label,
    errand: Errand,
}

impl Buffers {
    /// Pieces of a read are there.
    pub(super) fn of_fetched(&self, load: Load, pieces: u32) {
        let latch = &self.latches[load.of as usize];
        latch.arrived.set(latch.arrived.get() + load.bytes * pieces);
        latch.arrivals.ring();
    }
}

impl Port {
    /// Asks memory for the pieces of a read up to `until` bytes of it.
    pub(super) fn ask(&self, number: usize, until: u32) {
        let latch = &self.buffers.latches[number];
        let carries = latch.carries.get().expect("a latched read says what it carries");
        let errand = self.sim.pass_on(latch.errand.get());
        while latch.asked.get() < until {
            let asked = latch.asked.get();
            let (address, bytes) = self.piece_of(latch, asked);
            match &self.across {
                Across::Host { path, fetched, .. } => {
                    let mut next = asked + bytes;
                    let mut count = 1;
                    // Most pieces are alike.
                    while next < until && self.piece_of(latch, next).1 == bytes {
                        (next, count) = (next + bytes, count + 1);
                    }
                    latch.asked.set(next);
                    let legs = path.read(bytes, user(carries), self.through());
                    let load = Load { of: number as u32, bytes };
                    fetched.put_alike(Freight { load, errand, legs, passed: None, begun: None }, count);
                }
                Across::Bus { pieces, .. } => {
                    latch.asked.set(asked + bytes);
                    pieces.put_now(Piece { latch: number, address, bytes, carries, errand });
                }
            }
        }
    }

    /// The piece of a read behind so many bytes of it: where it begins, and how long it is.
    fn piece_of(&self, latch: &Latch, behind: u32) -> (u32, u32) {
        let address = latch.address.get().wrapping_add(behind);
        let piece = self.up_to(address, self.spec.read.piece, self.bus().width_bytes());
        (address, piece.min(latch.bytes.get() - behind))
    }

    /// One of the pieces that are asked for over another segment at a time.
    pub(super) async fn fetch(&self) {
        let Across::Bus { upper, pieces, .. } = &self.across else { return };
        loop {
            let Piece { latch, address, bytes, carries, errand } = pieces.take(&NOTHING_TO_FETCH).await;
            self.sim.take_up(errand);
            self.lane.delay(&THROUGH, self.latency()).await;
            upper.read(address, bytes, carries, errand).await;
            self.lane.delay(&THROUGH, self.latency()).await;
            self.buffers.of_fetched(Load { of: latch as u32, bytes }, 1);
        }
    }

    /// Bytes of a latched read that are there.
    pub(crate) fn available(&self, number: usize) -> u32 {
        if let Across::Host { fetched, .. } = &self.across {
            fetched.settle();
        }
        let latch = &self.buffers.latches[number];
        latch.arrived.get() - latch.gone.get()
    }

    /// Bytes of a latched read that are there, if a burst is worth it for them: so much, or all that has been asked of
    /// memory.
    pub(crate) fn ready(&self, number: usize) -> Option<u32> {
        let there = self.available(number);
        let (latch, gone) = (&self.buffers.latches[number], self.buffers.latches[number].gone.get());
        let burst = self.bus().whole(latch.address.get().wrapping_add(gone), there, latch.bytes.get() - gone);
        (burst > 0 && there >= self.spec.read.first.min(latch.asked.get() - gone)).then_some(there)
    }

    /// How many bursts of so many bytes of a latched read are one like the other: all that there is has been asked for, and
    /// each finds enough there.
    pub(crate) fn answers_alike(&self, number: usize, each: u32) -> u32 {
        let (there, latch) = (self.available(number), &self.buffers.latches[number]);
        let all = latch.bytes.get();
        if latch.asked.get() < all {
            return 0;
        }
        // The last of them needs as much as the first.
        let needed = if there == all - latch.gone.get() { each } else { each.max(self.spec.read.first) };
        there.checked_sub(needed).map_or(0, |more| more / each + 1)
    }

    /// Waits until more of a latched read has come.
    async fn more_of(&self, number: usize) {
        let arrivals = &self.buffers.latches[number].arrivals;
        // What has rung until now has been looked at.
        arrivals.try_hear();
        match &self.across {
            Across::Host { fetched, .. } => fetched.heard(arrivals, &ON_THEIR_WAY).await,
            Across::Bus { .. } => arrivals.heard(&ON_THEIR_WAY).await,
        }
    }

    /// The completions of one split transaction after the other.
    pub(super) async fn complete(&self, number: usize) {
        let latch = &self.buffers.latches[number];
        loop {
            let (errand, reader) = latch.begun.take(&NO_SPLIT).await;
            self.sim.take_up(errand);
            let (all, carries) = (latch.bytes.get(), latch.carries.get().expect("a latched read says what it carries"));
            while latch.gone.get() < all {
                while self.ready(number).is_none() {
                    self.more_of(number).await;
                }
                let bus = self.bus();
                let tenure = bus.own(reader.width_bytes).await;
                let (from, left) = (latch.address.get().wrapping_add(latch.gone.get()), all - latch.gone.get());
                tenure.open(Command::SplitCompletion, (from, left), COMPLETION_RESPONSE).await;
                loop {
                    let gone = latch.gone.get();
                    let address = latch.address.get().wrapping_add(gone);
                    // PCI-X 1.0a, 2.12: a completion ends at a boundary, unless it is the last.
                    let bytes = bus.whole(address, self.available(number), all - gone);
                    if bytes == 0 {
                        break;
                    }
                    let moved = tenure.data(carries, address, bytes).await;
                    self.gone(number, moved);
                    if moved < bytes {
                        break;
                    }
                }
                if latch.gone.get() == all {
                    reader.completed(all);
                    self.unlatch(number);
                }
                tenure.end(Ending::Done);
            }
        }
    }
}
