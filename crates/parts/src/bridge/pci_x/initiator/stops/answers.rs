//! Bursts of a delayed read whose data are there, one like the other: as a train over the bus.
//!
//! ```text
//!   bus      ▐address response ▸data stop▌ idle ▐address response ▸data stop▌ idle …
//! ```
//!
//! A bridge that stops conventional bursts at every cache line has its card come for each line of a read. As long as a
//! burst asks memory for more as it ends, it goes by hand.
//!
//! PCI 2.2, 3.3.3.2.1: disconnect with data; 3.3.3.3: delayed transactions.

use hopscope_kernel::Label;

use super::{BURSTS_MIN, Initiator};
use crate::bus::pci::tenure::Ending;

impl Initiator {
    /// How many bursts of a latched read would be one like the other from now on; nothing where they go by hand.
    pub(in super::super) fn answers(&self, latch: usize, (address, bytes): (u32, u32)) -> Option<u64> {
        let each = self.port.boundary();
        if self.sim.is_observed() || self.stops.get().is_some() || !address.is_multiple_of(each) {
            return None;
        }
        let wanted = self.burst(address, bytes, self.spec.burst);
        let count = u64::from((wanted / each).min(self.port.answers_alike(latch, each)));
        (count >= BURSTS_MIN).then_some(count)
    }

    /// Moves those, if they go as a train; returns how many bytes.
    pub(in super::super) async fn answered(
        &self,
        latch: usize,
        (address, bytes): (u32, u32),
        count: u64,
        carries: &'static Label,
    ) -> u32 {
        let (each, wanted) = (self.port.boundary(), self.burst(address, bytes, self.spec.burst));
        let waits = self.port.read_response();
        let alike = self.alike(waits, (carries, each), Ending::Disconnect);
        let mut stops = self.stops_from(&alike, count);
        if count * u64::from(each) == u64::from(wanted) {
            stops.ending = Some(self.last());
        }
        if !self.bus.is_sure(stops.data) || !self.bus.lane().is_free_at(stops.start) {
            return 0;
        }
        let (done, under_way) = self.over_the_bus(&stops, &alike.plan).await;
        let before = done as u32 * each;
        self.port.gone(latch, before);
        if done > 0 {
            self.not_before.set(stops.next_request(done));
        }
        let Some((grant, begun)) = under_way else { return before };
        let (at, tenure) = (address.wrapping_add(before), self.bus.resumed(grant, begun, self.spec.width_bytes));
        let moved = tenure.go_on(begun, waits, at, each).await;
        self.port.gone(latch, moved);
        self.ended(tenure, stops.how(done));
        before + moved
    }
}
