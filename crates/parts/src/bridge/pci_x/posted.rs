//! Posted writes: from the buffer to the other side, piece by piece.
//!
//! Behind a chip set a piece goes over links into memory, and what carries it does nothing else; behind a bridge between
//! two segments it is an initiator's write.

use hopscope_kernel::{Begun, Errand, Freight, Label, Load, Time, Told};

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
    pub(super) fn of_posted(&self, load: Load, told: Told) {
        match told {
            Told::Passed => self.release(load.bytes),
            Told::Arrived => self.sending.set(self.sending.get() - 1),
        }
    }
}

impl Port {
    /// Bytes for which room was kept have come.
    pub(crate) fn post(&self, address: u32, bytes: u32, carries: &'static Label, errand: Errand) {
        self.send(address, (bytes, carries), errand, None);
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
                let (legs, left) = path.write(bytes, user(carries), (&self.lane, &THROUGH, self.latency()));
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
