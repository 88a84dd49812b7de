//! From the phases of a simulated PCI-X transaction to its clocks. PCI-X 1.0a, 2.6 to 2.11.
//!
//! ```text
//!           |  0   |  1   |  2   |  3   |  4   |  5   |  6   |
//!   FRAME#  \________________________________/‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾
//!   AD      |addr  |attr  |      |data 0|data 1|data 2|data 3|
//!   IRDY#   ‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾\___________________________/
//!   DEVSEL# ‾‾‾‾‾‾‾‾‾‾‾‾‾‾\__________________________________/     decode A
//! ```
//!
//! FRAME# goes a clock before the last data phase; nobody inserts wait states but the target before its first data. A
//! target that stops is drawn to disconnect at the next boundary, with its last data.

use super::draw::{Course, Use, used_for};
use super::{Attributes, Clock};

/// Clocks of a transaction whose phases have an attribute phase among them.
pub fn clocks(course: &Course, seed: u64) -> Vec<Clock> {
    let mut uses: Vec<Use> = Vec::new();
    for &(label, count) in &course.phases {
        let used = used_for(label);
        let shown = if matches!(used, Use::Idle | Use::Disconnect) { 0 } else { count };
        uses.extend((0..shown).map(|_| used));
    }
    let stopped = course.phases.iter().any(|phase| used_for(phase.0) == Use::Disconnect);
    let first_answer = uses.iter().position(|used| matches!(used, Use::Data | Use::Stop | Use::Split));
    let last_data = uses.iter().rposition(|used| *used == Use::Data);
    let (length, reads, wide) = (uses.len(), course.command.reads(), course.width_bytes > 4);
    // Decode A: the clock after the attributes.
    let devsel_from = first_answer.map_or(length, |first| first.min(2));
    // Two clocks after the attributes, unless the first data come before.
    let irdy_from = first_answer.unwrap_or(3).clamp(2, 3);
    let frame_until = length.saturating_sub(2).max(irdy_from + 1).min(length.saturating_sub(1));
    let mut done = 0;
    let mut clocks = Vec::with_capacity(length);
    for (index, used) in uses.iter().copied().enumerate() {
        let ends = stopped && last_data == Some(index);
        let (ad, cbe) = match used {
            Use::Address => (Some(u64::from(course.address)), course.x_lines()),
            Use::Attribute => course.attributes().lines(),
            Use::Data => (Some(course.data(seed, done)), course.enables(done)),
            _ if !reads && index > 2 => (Some(course.data(seed, done)), course.enables(done)),
            _ => (None, if wide { 0xff } else { 0xf }),
        };
        let claimed = index >= devsel_from;
        clocks.push(Clock {
            frame: index < frame_until,
            irdy: index >= irdy_from,
            trdy: matches!(used, Use::Data | Use::Split),
            devsel: claimed && used != Use::Split,
            stop: used == Use::Stop || ends,
            ad,
            cbe: Some(cbe),
            par: None,
            req64: wide && index < frame_until,
            ack64: wide && claimed && used != Use::Split,
            grants: 0,
        });
        if used == Use::Data {
            done += course.phase_bytes(done);
        }
    }
    clocks
}

impl Course {
    /// C/BE#[3:0] of the address phase: a read of a block is 1110 on PCI-X. PCI-X 1.0a, 2.4.
    fn x_lines(&self) -> u8 {
        use hopscope_parts::protocols::pci::Command;
        match self.command {
            Command::MemoryReadMultiple => Command::MemoryReadLine.lines(),
            command => command.lines(),
        }
    }

    /// Who asks, and for how much: every agent is function 0 of a device of its number on bus 0.
    fn attributes(&self) -> Attributes {
        Attributes { requester: u16::from(self.initiator) << 3, tag: 0, bytes: self.wanted.clamp(1, 4_096) }
    }
}
