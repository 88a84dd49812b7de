//! Disk write, a group that memory answers in more than two bursts: fetched burst by burst, sent as it comes.

use std::cell::Cell;

use hopscope_kernel::{Label, Time, join};

use super::{
    BUFFER_BUSY, BUFFER_FULL, CHANNEL_SWITCH, Channel, EMPTY, FETCH, FIRST_STROBE, HALVES, HOLD, HOLD_AGAIN, IdeBridge,
    REREQUEST,
};
use crate::bus::ide_cable::IdeCable;

/// The cable waits for the next burst.
static NEXT_BURST: Label = Label::reason("next burst not fetched yet");

impl IdeBridge {
    /// Moves a group of `bytes` from memory at `address` to the cable.
    pub(super) async fn send_in_bursts(&self, channel: &Channel, cable: &IdeCable, address: u32, bytes: u32) {
        let port = self.buffer.port.acquire(&BUFFER_BUSY).await;
        for _ in 0..HALVES {
            self.buffer.halves.take(&BUFFER_FULL).await;
        }
        let switch = self.turn_to(channel);
        if switch > Time::ZERO {
            port.hold(&CHANNEL_SWITCH, switch).await;
        }
        let asked = self.sim.now();
        let (come, since) = (Cell::new(0), Cell::new(asked));
        let fetching = self.fetch_bursts(channel, address, bytes, &come);
        let sending = async {
            let word = self.strobe(cable);
            let (mut sent, mut words_end) = (0, asked);
            while sent < bytes {
                while come.get() == sent {
                    channel.more.heard(&NEXT_BURST).await;
                }
                let (here, now) = (come.get(), self.sim.now());
                let mut start = words_end.max(now);
                if sent == 0 {
                    start = now + self.own_clocks(self.spec.first_strobe);
                    port.was_in_until(&FETCH, asked, now);
                    port.was_in_until(&FIRST_STROBE, now, start);
                    since.set(start);
                } else if start > words_end {
                    port.was_in_until(&EMPTY, since.get(), words_end);
                    port.was_in_until(&FETCH, words_end, start);
                    since.set(start);
                }
                words_end = start + word * u64::from((here - sent) / 2);
                self.sim.wait_until(words_end - word).await;
                cable.words(start, words_end);
                sent = here;
            }
        };
        join(&self.sim, sending, fetching).await;
        port.was_in(&EMPTY, since.get());
        // Told of while words were sent, and seen without being told.
        channel.more.try_hear();
        for _ in 0..HALVES {
            self.free_half();
        }
    }

    /// Burst after burst; `come` counts the bytes.
    async fn fetch_bursts(&self, channel: &Channel, address: u32, bytes: u32, come: &Cell<u32>) {
        let port = &self.buffer.port;
        port.delay(&REREQUEST, self.own_clocks(self.spec.rerequest_delay)).await;
        loop {
            self.host.arbiter().delay(&HOLD, self.host.hold_acknowledge()).await;
            let fetch = self.fetch(address + come.get(), bytes - come.get());
            let ongoing = self.pci.transact(&fetch).await;
            // What nobody claims never comes: the cable gets what the buffer holds.
            let moved = if ongoing.bytes() == 0 { fetch.bytes } else { ongoing.bytes() };
            come.set(come.get() + moved);
            channel.more.ring();
            ongoing.end().await;
            if come.get() == bytes {
                return;
            }
            port.delay(&HOLD_AGAIN, self.own_clocks(self.spec.hold_again)).await;
        }
    }
}
