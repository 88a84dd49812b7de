//! Disk write: 64 bytes are fetched from memory in two PCI bursts, then sent; the next 64 are asked for when
//! the buffer is empty. Nothing overlaps but the sending of the first half with the fetch of the second.
//!
//! ```text
//!   PCI   |addr wait data|disc|  hold  |addr wait data|                              hold  |addr …
//!   cable                 |first strobe|16 words------|pause|16 words------|rerequest|
//! ```

use hopscope_kernel::{Time, join};

use super::{BUFFER_BUSY, BUFFER_FULL, CHANNEL_SWITCH, Channel, EMPTY, FETCH, IdeBridge};
use crate::bus::ide_cable::IdeCable;
use crate::protocols::pci::{Command, DATA, Transaction};

impl IdeBridge {
    /// Moves `bytes` from memory at `address` to the cable.
    pub(super) async fn to_drive(&self, channel: &Channel, cable: &IdeCable, address: u32, bytes: u32) {
        let group_bytes = 2 * self.spec.half_bytes;
        let mut done = 0;
        while done < bytes {
            let group = group_bytes.min(bytes - done);
            self.send_group(channel, cable, address + done, group).await;
            done += group;
        }
    }

    async fn send_group(&self, channel: &Channel, cable: &IdeCable, address: u32, bytes: u32) {
        let (sim, pci) = (&self.sim, &self.pci);
        let grant = self.buffer.port.acquire(&BUFFER_BUSY).await;
        self.buffer.halves.take(&BUFFER_FULL).await;
        self.buffer.halves.take(&BUFFER_FULL).await;
        let switch = self.turn_to(channel);
        if switch > Time::ZERO {
            grant.hold(&CHANNEL_SWITCH, switch).await;
        }

        let word = pci.clocks(self.spec.word_clocks[cable.mode_number().min(self.spec.word_clocks.len() - 1)]);
        let asked = sim.now();
        // The bridge hopes for the whole buffer; the memory controller stops it at the cache line.
        let fetch = Transaction { command: Command::MemoryRead, address, bytes, carries: &DATA };
        sim.wait(pci.clocks(self.spec.rerequest_delay) + self.host.hold_acknowledge()).await;
        let first = pci.transact(&fetch).await;
        grant.was_in(&FETCH, asked);
        let arrived = sim.now();
        let sent_bytes = first.bytes();
        let rest = Transaction { address: address + sent_bytes, bytes: bytes - sent_bytes, ..fetch };
        let more = rest.bytes > 0;
        let start = arrived + pci.clocks(self.spec.first_strobe);
        let first_words = async {
            let words = u64::from(sent_bytes / 2);
            let last_strobe = start + word * (words - 1);
            sim.wait_until(last_strobe).await;
            cable.words(start, last_strobe + word);
            last_strobe
        };
        let second_fetch = async {
            first.end().await;
            if more {
                sim.wait(pci.clocks(self.spec.hold_again) + self.host.hold_acknowledge()).await;
                let second = pci.transact(&rest).await;
                let arrived = sim.now();
                (arrived, Some(second))
            } else {
                (Time::ZERO, None)
            }
        };
        let (last_strobe, (second_arrived, second)) = join(sim, first_words, second_fetch).await;
        if let Some(second) = second {
            let words = u64::from(second.bytes() / 2);
            let start = (last_strobe + word).max(second_arrived);
            let ending = second.end();
            let sending = async {
                let last = start + word * (words - 1);
                sim.wait_until(last).await;
                cable.words(start, last + word);
            };
            join(sim, sending, ending).await;
        }
        grant.was_in(&EMPTY, arrived);
        self.free_half();
        self.free_half();
    }
}
