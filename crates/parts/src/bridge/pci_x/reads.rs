//! Reads: pieces fetched ahead, and the completions of split transactions.

use hopscope_kernel::{Class, Label};

use super::port::{Beyond, Piece, Port};
use super::posted::THROUGH;
use crate::bus::pci::tenure::Ending;
use crate::protocols::pci::Command;

static NOTHING_TO_FETCH: Label = Label::reason("nothing to fetch");
static NO_SPLIT: Label = Label::reason("no split transaction");
static ON_THEIR_WAY: Label = Label::reason("read data on their way");

/// Clocks from the address of a completion to its data: whoever asked answers at once. PCI-X 1.0a, 2.8, decode A.
const COMPLETION_RESPONSE: u64 = 1;

/// Whether bytes are the user's.
pub(super) fn user(carries: &'static Label) -> bool {
    carries.class == Class::Payload
}

impl Port {
    /// One of the pieces that are asked for at a time.
    pub(super) async fn fetch(&self) {
        loop {
            let Piece { latch, address, bytes, carries, errand } = self.pieces.take(&NOTHING_TO_FETCH).await;
            self.sim.take_up(errand);
            match &self.beyond {
                Beyond::Host(path) => {
                    path.read(bytes, user(carries), (&self.lane, &THROUGH, self.latency())).await;
                }
                Beyond::Bus(upper) => {
                    self.lane.delay(&THROUGH, self.latency()).await;
                    upper.read(address, bytes, carries, errand).await;
                    self.lane.delay(&THROUGH, self.latency()).await;
                }
            }
            let latch = &self.latches[latch];
            latch.arrived.set(latch.arrived.get() + bytes);
            latch.arrivals.ring();
        }
    }

    /// The completions of one split transaction after the other.
    pub(super) async fn complete(&self, number: usize) {
        let latch = &self.latches[number];
        loop {
            let (errand, reader) = latch.begun.take(&NO_SPLIT).await;
            self.sim.take_up(errand);
            let (all, carries) = (latch.bytes.get(), latch.carries.get().expect("a latched read says what it carries"));
            while latch.gone.get() < all {
                while !self.ready(number) {
                    latch.arrivals.heard(&ON_THEIR_WAY).await;
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
