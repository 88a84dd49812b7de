//! Posted writes: from the buffer to the other side, piece by piece.
//!
//! Behind a chip set a piece goes over links into memory, and what carries it does nothing else; behind a bridge between
//! two segments it is an initiator's write.

use hopscope_kernel::{Begun, Coming, Errand, Freight, Label, Load, Time, Told};

use super::path::{BEHIND, Stage};
use super::port::{Across, Buffers, Port};
use super::reads::user;

pub(super) static NOTHING_POSTED: Label = Label::reason("nothing posted");
pub(super) static THROUGH: Label = Label::protocol("through the bridge");

/// A piece of a write in the buffer.
pub(super) struct Posted {
    address: u32,
    bytes: u32,
    carries: &'static Label,
    errand: Errand,
}

/// Pieces of a burst that are alike and have room, and come one after the other while the burst lasts.
pub(crate) struct Ahead<'a> {
    port: &'a Port,
    coming: Coming<'a>,
    address: u32,
    /// Bytes of each, and of all.
    pub(crate) each: u32,
    pub(crate) bytes: u32,
    carries: &'static Label,
    errand: Errand,
}

impl Ahead<'_> {
    /// So many bytes have come, and no more do.
    pub(crate) fn end(self, moved: u32) {
        let Ahead { port, address, each, bytes, .. } = self;
        self.coming.end();
        let (rest, missing) = (moved % each, (bytes - moved).div_ceil(each));
        let sending = &port.buffers.sending;
        sending.set(sending.get() - u64::from(missing));
        port.release(missing * each - rest);
        port.post(address.wrapping_add(moved - rest), rest, self.carries, self.errand);
    }
}

/// Where a piece is on its way behind a chip set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Station {
    /// Through the bridge.
    Through,
    /// On the lane that takes it out of the bridge's buffer.
    Leaving,
    /// In flight to memory.
    Flight,
    /// In memory's hands, behind a link.
    Arriving,
}

/// A piece that is on its way: where, and until when.
#[derive(Clone, Copy)]
pub(super) struct OnItsWay {
    pub(super) at: Station,
    pub(super) over: Time,
}

impl Buffers {
    /// What is carried to memory has come so far.
    pub(super) fn of_posted(&self, load: Load, pieces: u32, told: Told) {
        match told {
            Told::Passed => self.release(load.bytes * pieces),
            Told::Arrived => self.sending.set(self.sending.get() - u64::from(pieces)),
        }
    }
}

impl Port {
    /// Bytes for which room was kept have come.
    pub(crate) fn post(&self, address: u32, bytes: u32, carries: &'static Label, errand: Errand) {
        self.send(address, (bytes, carries), errand, None);
    }

    /// The same of `count` pieces of so many bytes, one behind the other, that are yet to come; the first with a burst of
    /// `burst` bytes at an instant, and the others so far apart. Nothing where they would be other pieces, or do not have room
    /// all of them, where it cannot be made out when they are where, or where somebody looks on.
    pub(crate) fn post_ahead(
        &self,
        (address, burst): (u32, u32),
        (each, count): (u32, u32),
        (carries, errand): (&'static Label, Errand),
        (first, pitch): (Time, Time),
    ) -> Option<Ahead<'_>> {
        let Across::Host { path, posted, .. } = &self.across else { return None };
        let alike = address.is_multiple_of(each) && self.spec.write.gather.is_multiple_of(each);
        let all_fit = count * each <= self.spec.write.buffer;
        if !alike || !all_fit || self.accepts(address, burst, true) != each || self.buffers.room.get() < count * each {
            return None;
        }
        if self.sim.is_observed_by(first + pitch * u64::from(count)) {
            return None;
        }
        let (legs, left) = path.write(each, user(carries), self.through());
        let load = Load { of: 0, bytes: each };
        let freight = Freight { load, errand: self.sim.pass_on(errand), legs, passed: Some(left), begun: None };
        let coming = posted.put_coming(freight, count, first, pitch)?;
        self.reserve(count * each);
        let sending = &self.buffers.sending;
        sending.set(sending.get() + u64::from(count));
        Some(Ahead { port: self, coming, address, each, bytes: count * each, carries, errand })
    }

    /// Bytes that are gathered into a piece.
    pub(crate) fn gathers(&self) -> u32 {
        self.spec.write.gather
    }

    /// The same of what may be on its way to memory already.
    pub(super) fn send(
        &self,
        address: u32,
        (bytes, carries): (u32, &'static Label),
        errand: Errand,
        on_its_way: Option<OnItsWay>,
    ) {
        if bytes == 0 {
            return;
        }
        let (errand, sending) = (self.sim.pass_on(errand), &self.buffers.sending);
        sending.set(sending.get() + 1);
        match &self.across {
            Across::Host { path, posted, .. } => {
                let (legs, left) = path.write(bytes, user(carries), self.through());
                let begun = on_its_way.map(|OnItsWay { at, over }| match at {
                    Station::Through => Begun { leg: left - 1, at: over, passed: false },
                    Station::Leaving => Begun { leg: left, at: over, passed: false },
                    Station::Flight => Begun { leg: legs.len() - 1, at: over, passed: true },
                    Station::Arriving => Begun { leg: legs.len(), at: over, passed: true },
                });
                let load = Load { of: 0, bytes };
                posted.put(Freight { load, errand, legs, passed: Some(left), begun });
            }
            Across::Bus { posted, .. } => posted.put_now(Posted { address, bytes, carries, errand }),
        }
    }

    /// One of the pieces that are on their way to another segment at a time.
    pub(super) async fn send_posted(&self) {
        let Across::Bus { upper, posted, .. } = &self.across else { return };
        loop {
            let Posted { address, bytes, carries, errand } = posted.take(&NOTHING_POSTED).await;
            self.sim.take_up(errand);
            self.lane.delay(&THROUGH, self.latency()).await;
            upper.write(address, bytes, carries, errand).await;
            self.buffers.release(bytes);
            self.buffers.sending.set(self.buffers.sending.get() - 1);
        }
    }

    /// Where pieces of so many bytes go, lane after lane; nothing where that is more than a link and memory.
    pub(super) fn stages(&self, bytes: u32, carries: &'static Label) -> Option<[Option<Stage<'_>>; BEHIND]> {
        match &self.across {
            Across::Host { path, .. } => path.stages(bytes, user(carries)),
            Across::Bus { .. } => None,
        }
    }
}
