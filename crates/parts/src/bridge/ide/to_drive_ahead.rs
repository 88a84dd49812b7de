//! Disk write by a bridge that asks for the next half as soon as one is free: fetches and words overlap.
//!
//! ```text
//!   PCI   |addr wait data|  hold  |addr wait data|  hold  |addr wait data|
//!   cable                |16 words------|16 words------|  |16 words------|
//! ```
//!
//! No bridge of its time is known to do so: it is here to say what doing so would have brought. The buffer serves one
//! channel for a region, or for as much of it as the drive takes; a bridge that fetches on empty changes every 64 bytes.
//! Bursts are made one by one, without trains.

use hopscope_kernel::{Label, Time, join};

use super::{
    BUFFER_BUSY, BUFFER_FULL, CHANNEL_SWITCH, Channel, EMPTY, FETCH, FIRST_STROBE, HOLD, HOLD_AGAIN, IdeBridge,
    REREQUEST,
};
use crate::bus::ide_cable::IdeCable;
use crate::protocols::pci::{Command, DATA, Transaction};

/// The cable waits for the next half.
static NEXT_HALF: Label = Label::reason("next half not fetched yet");

impl IdeBridge {
    /// Moves `bytes` from memory at `address` to the cable.
    pub(super) async fn to_drive_ahead(&self, channel: &Channel, cable: &IdeCable, address: u32, bytes: u32) {
        // Whoever holds the port needs no half that another one holds: a half on its way to memory needs no port.
        let port = self.buffer.port.acquire(&BUFFER_BUSY).await;
        let switch = self.turn_to(channel);
        if switch > Time::ZERO {
            port.hold(&CHANNEL_SWITCH, switch).await;
        }
        let asked = self.sim.now();
        let fetching = self.fetch_halves(channel, address, bytes);
        let sending = async {
            let word = self.strobe(cable);
            // The words of a half end, the next one's may begin.
            let (mut words_end, mut since) = (asked, asked);
            let mut left = bytes;
            while left > 0 {
                let arrived = channel.arrivals.take(&NEXT_HALF).await;
                let mut start = words_end.max(arrived);
                if left == bytes {
                    start = arrived + self.own_clocks(self.spec.first_strobe);
                    port.was_in_until(&FETCH, asked, arrived);
                    port.was_in_until(&FIRST_STROBE, arrived, start);
                    since = start;
                } else if arrived > words_end {
                    port.was_in_until(&EMPTY, since, words_end);
                    port.was_in_until(&FETCH, words_end, arrived);
                    since = arrived;
                }
                let half = self.spec.half_bytes.min(left);
                words_end = start + word * u64::from(half / 2);
                self.sim.wait_until(words_end - word).await;
                cable.words(start, words_end);
                self.free_half();
                left -= half;
            }
            port.was_in(&EMPTY, since);
        };
        join(&self.sim, sending, fetching).await;
    }

    /// Half after half, each as soon as one is free.
    async fn fetch_halves(&self, channel: &Channel, address: u32, bytes: u32) {
        let port = &self.buffer.port;
        port.delay(&REREQUEST, self.own_clocks(self.spec.rerequest_delay)).await;
        let mut done = 0;
        let mut hold_again = self.sim.now();
        while done < bytes {
            self.buffer.halves.take(&BUFFER_FULL).await;
            let end = (done + self.spec.half_bytes).min(bytes);
            // A memory controller that stops within a half is asked again.
            while done < end {
                port.delay_until(&HOLD_AGAIN, hold_again).await;
                self.host.arbiter().delay(&HOLD, self.host.hold_acknowledge()).await;
                let (command, carries) = (Command::MemoryRead, &DATA);
                let fetch = Transaction { command, address: address + done, bytes: end - done, carries };
                let ongoing = self.pci.transact(&fetch).await;
                done += ongoing.bytes();
                if done == end {
                    let room = channel.arrivals.try_put(self.sim.now());
                    debug_assert!(room.is_ok(), "a half is fetched when the one before it is being sent");
                }
                ongoing.end().await;
                hold_again = self.sim.now() + self.own_clocks(self.spec.hold_again);
            }
        }
    }
}
