//! From the phases of a simulated transaction to its clocks.
//!
//! How a target ends one: STOP# comes with its last data, or the last clock in which it had none; FRAME# goes a clock
//! later, and the bus is idle for the last of the clocks that a disconnect takes. 3.3.3.2.1. A retry is drawn alike.

use hopscope_kernel::{Class, Label, Time};
use hopscope_parts::protocols::pci::{
    ADDRESS, ATTRIBUTE, Command, DELAYED, DESCRIPTOR_DATA, DISCONNECT, MASTER_ABORT, REGISTER_DATA, RETRY, SPECIAL,
    SPLIT_RESPONSE, TURNAROUND,
};

use super::{Clock, draw_x};
use crate::content::word;

/// What a transaction was, and what it went through.
#[derive(Clone, Debug)]
pub struct Course {
    /// Beginning of its address phase.
    pub start: Time,
    /// The command.
    pub command: Command,
    /// The first address.
    pub address: u32,
    /// Bytes that its initiator wanted to move.
    pub wanted: u32,
    /// Bytes of a data phase.
    pub width_bytes: u32,
    /// Its phases one after the other, in clocks.
    pub phases: Vec<(&'static Label, u64)>,
    /// Whose it is, by number among those of the segment.
    pub initiator: u8,
    /// What it writes, where that is no pattern: its first byte is that at `address`.
    pub written: Option<u32>,
}

/// What a clock of a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Address,
    Attribute,
    Wait,
    Data,
    Disconnect,
    Stop,
    Split,
    Abort,
    Idle,
}

pub(super) fn used_for(label: &'static Label) -> Use {
    let is = |known: &Label| label == known;
    match label {
        _ if is(&ADDRESS) => Use::Address,
        _ if is(&ATTRIBUTE) => Use::Attribute,
        _ if is(&SPLIT_RESPONSE) => Use::Split,
        _ if is(&DISCONNECT) => Use::Disconnect,
        _ if is(&RETRY) || is(&DELAYED) => Use::Stop,
        _ if is(&MASTER_ABORT) || is(&SPECIAL) => Use::Abort,
        _ if is(&TURNAROUND) => Use::Idle,
        _ if is(&REGISTER_DATA) || is(&DESCRIPTOR_DATA) || label.class == Class::Payload => Use::Data,
        _ => Use::Wait,
    }
}

impl Course {
    /// Whether it has an attribute phase.
    pub fn speaks_pci_x(&self) -> bool {
        self.phases.iter().any(|phase| used_for(phase.0) == Use::Attribute)
    }

    /// Bytes that the data phase moves which begins at byte `done` of the transaction.
    pub(super) fn phase_bytes(&self, done: u32) -> u32 {
        let within = self.address.wrapping_add(done) % self.width_bytes;
        (self.width_bytes - within).min(self.wanted.saturating_sub(done)).max(1)
    }

    /// C/BE# of that phase: a byte that is not moved has a one.
    pub(super) fn enables(&self, done: u32) -> u8 {
        let within = self.address.wrapping_add(done) % self.width_bytes;
        let moved = (1u32 << self.phase_bytes(done)) - 1;
        !(moved << within) as u8 & if self.width_bytes > 4 { 0xff } else { 0x0f }
    }

    pub(super) fn data(&self, seed: u64, done: u32) -> u64 {
        if let Some(written) = self.written {
            return u64::from(written) << (8 * (self.address % self.width_bytes));
        }
        let at = self.address.wrapping_add(done) & !(self.width_bytes - 1);
        let high = if self.width_bytes > 4 { u64::from(word(seed, at.wrapping_add(4))) << 32 } else { 0 };
        high | u64::from(word(seed, at))
    }

    /// Its clocks from FRAME# on, without grants and parity; those that are idle at its end are not among them.
    pub fn clocks(&self, seed: u64) -> Vec<Clock> {
        if self.speaks_pci_x() {
            return draw_x::clocks(self, seed);
        }
        let mut uses: Vec<Use> = Vec::new();
        for &(label, clocks) in &self.phases {
            let used = used_for(label);
            let shown = if used == Use::Disconnect { clocks.saturating_sub(1) } else { clocks };
            let shown = if used == Use::Idle { 0 } else { shown };
            uses.extend((0..shown).map(|_| used));
        }
        let disconnected = self.phases.iter().any(|phase| used_for(phase.0) == Use::Disconnect);
        let (length, reads) = (uses.len(), self.command.reads());
        let last_data = uses.iter().rposition(|used| *used == Use::Data);
        let first_answer = uses.iter().position(|used| matches!(used, Use::Data | Use::Stop));
        let claimed = first_answer.is_some();
        let devsel_from = first_answer.map_or(length, |first| first.min(2));
        let wide = self.width_bytes > 4;
        // One data phase: FRAME# goes when IRDY# comes.
        let single = self.wanted <= self.phase_bytes(0);
        let mut done = 0;
        let mut clocks = Vec::with_capacity(length);
        for (index, used) in uses.iter().copied().enumerate() {
            let last = index + 1 == length;
            let after_data = last_data.is_some_and(|data| index > data);
            let stops_next = matches!(uses.get(index + 1), Some(Use::Stop | Use::Disconnect)) || (disconnected && last);
            let frame = if single { index == 0 } else { !last };
            let driven = used == Use::Data || (!reads && claimed && !after_data);
            let clock = Clock {
                frame,
                irdy: index > 0,
                trdy: used == Use::Data,
                devsel: claimed && index >= devsel_from,
                stop: matches!(used, Use::Disconnect | Use::Stop) || stops_next,
                ad: match used {
                    Use::Address => Some(u64::from(self.address)),
                    _ if driven => Some(self.data(seed, done)),
                    _ => None,
                },
                cbe: Some(if used == Use::Address { self.command.lines() } else { self.enables(done) }),
                par: None,
                req64: wide && frame,
                ack64: wide && claimed && index >= devsel_from,
                grants: 0,
            };
            clocks.push(clock);
            if used == Use::Data {
                done += self.phase_bytes(done);
            }
        }
        clocks
    }
}
