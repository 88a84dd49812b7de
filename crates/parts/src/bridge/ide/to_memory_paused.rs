//! Disk read where the bus is slower than the cable: words pause until a half has gone to memory.
//!
//! ```text
//!   cable   |resume|16 words|  pause  |resume|16 words|  pause  |resume|16 words|
//!   PCI     hold |addr wait data ▸▸▸▸▸| hold |addr wait data ▸▸▸▸▸| hold |addr …
//! ```
//!
//! Whatever is not whole clocks in that, each burst begins at an edge of the clock, and ends at one: all of them are alike.
//! The words of each half are recorded by hand, so all of this is done only where nobody wants records.

use hopscope_kernel::{Car, Time};

use super::to_memory::Half;
use super::{BUFFER_BUSY, Channel, FILL, HALVES, IdeBridge, RESUME};
use crate::bus::ide_cable::IdeCable;

impl IdeBridge {
    /// From one half to the next, if so many that begin to be filled now are like each other where nobody disturbs them:
    /// their words have paused, and take `span` where the half before them drains for `drain`.
    pub(super) fn paused_pitch(&self, cable: &IdeCable, halves: u32, (span, drain): (Time, Time)) -> Option<Time> {
        let (now, clock) = (self.sim.now(), self.pci.clocks(1));
        let whole = |time: Time| time.edge(clock) == time;
        let pitch = self.host.hold_acknowledge().edge(clock) + drain;
        let has_paused = cable.words_ended().is_some_and(|ended| ended < now);
        let alike = has_paused && self.resume(cable) + span < pitch && whole(now) && whole(drain);
        let others_hold_none = self.buffer.halves.len() + 1 == HALVES;
        let unseen = !self.sim.is_observed_by(now + pitch * u64::from(halves));
        (alike && others_hold_none && unseen).then_some(pitch)
    }

    /// Fills up to `halves` halves, one every `pitch`, each while the half before it drains; returns how many. The half
    /// before the first has been filled and not drained; the last one has too.
    pub(super) async fn fill_with_pauses(
        &self,
        channel: &Channel,
        cable: &IdeCable,
        (full, drains): (Half, Car<'_>),
        halves: u32,
        (span, pitch): (Time, Time),
    ) -> u32 {
        let (begin, offset, resume) = (self.sim.now(), drains.offset, self.resume(cable));
        let plan = [(&RESUME, resume), (&FILL, span)];
        let (lane, reason) = (&self.buffer.port, &BUFFER_BUSY);
        let fills = Car { lane, priority: 0, reason, offset: Time::ZERO, lead: &[], plan: &plan };
        let journey = self.sim.train(halves.into(), begin, pitch, &[fills, drains]).await;
        let [Some(fills), Some(drains)] = journey.cars else { unreachable!("two cars went in") };
        let filled = fills.done;
        if filled > 0 {
            let end = begin + pitch * (filled - 1) + resume + span;
            cable.words(end - span, end);
        }
        if drains.done == u64::from(halves) {
            return halves;
        }
        let full = Half { address: full.address + full.bytes * drains.done as u32, ..full };
        let request = begin + pitch * drains.done + offset;
        if drains.done == filled {
            self.account_halves(&fills, drains.done, 1);
            self.fill_and_drain(channel, cable, (fills.next, span), Some((drains.next, full, request))).await;
            return filled as u32 + 1;
        }
        // One has been filled, and the one before it is on its way.
        let half = self.buffer.halves.try_take();
        debug_assert!(half, "the other channel holds no half that this one has in its train");
        let course = self.pci.course(&full.transaction(), self.sim.now());
        self.drain_from(drains.next, request, full, course).await;
        filled as u32
    }
}
