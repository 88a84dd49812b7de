//! PCI, clock by clock. PCI Local Bus Specification 2.1 and 2.2, chapter 3; PCI-X 1.0a, chapter 2.
//!
//! ```text
//!           |  0   |  1   |  2   |  3   |  4   |
//!   FRAME#  \_______________________/‾‾‾‾‾‾‾‾‾‾‾
//!   AD      |addr  |  z   | z    |data 0|data 1|     a read, medium DEVSEL#
//!   IRDY#   ‾‾‾‾‾‾‾\____________________________/
//!   TRDY#   ‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾\______________/
//! ```
//!
//! Signals change after a rising edge and are sampled by the next one: what is called a clock is what holds between the
//! two.
//!
//! - `draw`: from the phases of a simulated transaction to its clocks; `draw_x`: the same on PCI-X. `segment`: all of
//!   a bus, as changes of wires.
//! - `decode`: from clocks to transactions. `pins`: follows a bus among the signals of a capture, which `names` finds.
//! - `summary`: what transactions add up to; `over_time`: the same in steps of time. `pattern`: what
//!   repeats; `latency_timer`: what a timer has ended.
//! - `json`: both for programs; `csv`: the list alone. `timeline`: the list for Perfetto.
//!
//! Not drawn: lock, parity errors, configuration (IDSEL stays low); of PCI-X, how a bus is told to speak it, and Mode 2.

pub mod csv;
pub mod decode;
pub mod draw;
mod draw_x;
pub mod json;
pub mod latency_timer;
mod names;
pub mod over_time;
pub mod pattern;
pub mod pins;
pub mod segment;
pub mod summary;
#[cfg(test)]
mod tests;
pub mod timeline;

use hopscope_parts::protocols::pci::Command;

/// What holds from one rising edge to the next. Control signals are true where they are asserted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// FRAME#.
    pub frame: bool,
    /// IRDY#.
    pub irdy: bool,
    /// TRDY#.
    pub trdy: bool,
    /// DEVSEL#.
    pub devsel: bool,
    /// STOP#.
    pub stop: bool,
    /// AD; nothing where nobody drives it, or not all of it.
    pub ad: Option<u64>,
    /// C/BE#, as the wires are; nothing where nobody drives them.
    pub cbe: Option<u8>,
    /// PAR, which belongs to AD and C/BE# of the clock before.
    pub par: Option<bool>,
    /// REQ64#.
    pub req64: bool,
    /// ACK64#.
    pub ack64: bool,
    /// GNT#, a bit an initiator.
    pub grants: u64,
}

/// PAR of a clock: AD[31:0], C/BE#[3:0] and PAR have an even number of ones. 3.7.1.
pub fn parity(ad: u64, cbe: u8) -> bool {
    ((ad as u32).count_ones() + u32::from(cbe & 0xf).count_ones()) % 2 == 1
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndedBy {
    /// The initiator was done, or left.
    Initiator,
    /// STOP# with the last data phase. 3.3.3.2.1.
    DisconnectWithData,
    /// STOP# after the last data phase.
    Disconnect,
    /// STOP# before any data.
    Retry,
    /// STOP# without DEVSEL#.
    TargetAbort,
    /// TRDY# without DEVSEL#: the target will come with the data. PCI-X 1.0a, 2.11.
    SplitResponse,
    /// Nobody claimed the address. 3.3.3.1.
    MasterAbort,
    /// The capture ends in it.
    Cut,
}

impl EndedBy {
    /// In the words of the field.
    pub fn word(self) -> &'static str {
        match self {
            EndedBy::Initiator => "initiator",
            EndedBy::DisconnectWithData => "disconnect with data",
            EndedBy::Disconnect => "disconnect without data",
            EndedBy::Retry => "retry",
            EndedBy::TargetAbort => "target abort",
            EndedBy::SplitResponse => "split response",
            EndedBy::MasterAbort => "master abort",
            EndedBy::Cut => "end of the capture",
        }
    }
}

/// Who asks on PCI-X, and for how much. PCI-X 1.0a, 2.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Bus, device and function.
    pub requester: u16,
    /// Which of its sequences.
    pub tag: u8,
    /// Bytes of the sequence that are left, 1 to 4096.
    pub bytes: u32,
}

impl Attributes {
    /// AD[31:0] and C/BE# of the attribute phase.
    pub fn lines(self) -> (Option<u64>, u8) {
        let count = self.bytes & 0xfff;
        let ad = u64::from(self.tag & 0x1f) << 24 | u64::from(self.requester) << 8 | u64::from(count & 0xff);
        (Some(ad), (count >> 8) as u8)
    }

    /// The same, the other way.
    pub fn of_lines(ad: u64, cbe: u8) -> Attributes {
        let count = u32::from(cbe & 0xf) << 8 | (ad as u32 & 0xff);
        let bytes = if count == 0 { 4_096 } else { count };
        Attributes { requester: (ad >> 8) as u16, tag: (ad >> 24) as u8 & 0x1f, bytes }
    }
}

/// What C/BE# of an address phase says, with [`CommandLines::PCI_X`] where it was said on PCI-X. 3.1.1; PCI-X 1.0a, 2.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandLines(pub u8);

impl CommandLines {
    /// The command is one of PCI-X.
    pub const PCI_X: u8 = 0x10;

    /// In the words of the field.
    pub fn word(self) -> &'static str {
        match self.0 & 0x1f {
            0x10..=0x1f => self.word_on_pci_x(),
            0b0000 => Command::InterruptAcknowledge.label().name,
            0b0001 => Command::SpecialCycle.label().name,
            0b0010 => Command::IoRead.label().name,
            0b0011 => Command::IoWrite.label().name,
            0b0110 => Command::MemoryRead.label().name,
            0b0111 => Command::MemoryWrite.label().name,
            0b1010 => "configuration read",
            0b1011 => "configuration write",
            0b1100 => Command::MemoryReadMultiple.label().name,
            0b1101 => "dual address cycle",
            0b1110 => Command::MemoryReadLine.label().name,
            0b1111 => Command::MemoryWriteInvalidate.label().name,
            _ => "reserved",
        }
    }

    fn word_on_pci_x(self) -> &'static str {
        match self.0 & 0xf {
            0b0101 => "device ID message",
            0b0110 => "memory read double word",
            0b1000 | 0b1110 => "memory read block",
            0b1001 | 0b1111 => "memory write block",
            0b1100 => Command::SplitCompletion.label().name,
            lines => CommandLines(lines).word(),
        }
    }

    /// Whether data move from the target to the initiator.
    pub fn reads(self) -> bool {
        self.0 & 1 == 0 && self.0 != CommandLines::PCI_X | 0b1100
    }

    /// Clocks before the target may answer: the address, and the attributes on PCI-X.
    pub fn own_clocks(self) -> u64 {
        1 + u64::from(self.0 & CommandLines::PCI_X != 0)
    }

    /// Whether this is a dual address cycle: the command follows a clock later. 3.9.
    pub fn is_dual_address(self) -> bool {
        self.0 & 0xf == 0b1101
    }
}

/// A transaction, as the wires show it. Times are picoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Beginning of the clock in which FRAME# was asserted first.
    pub start_ps: u64,
    /// End of its last clock.
    pub end_ps: u64,
    /// Clocks from the one to the other.
    pub clocks: u64,
    /// Whose GNT# it was, by its number among the grants; nothing where no grant was seen.
    pub initiator: Option<usize>,
    /// C/BE# of the address phase.
    pub command: CommandLines,
    /// AD of the address phase, both of a dual address cycle; nothing where it was not driven.
    pub address: Option<u64>,
    /// Bytes whose enables were asserted in data phases that ended.
    pub bytes: u64,
    /// Data phases that ended.
    pub data_phases: u64,
    /// Clocks between the address and the first data phase, or the end.
    pub wait_clocks: u64,
    /// Of all clocks between address and end without data: those in which IRDY# was not asserted, and those in which
    /// the target was not ready.
    pub initiator_waits: u64,
    /// See `initiator_waits`.
    pub target_waits: u64,
    /// Clocks after the last data phase that still belong to it.
    pub after_clocks: u64,
    /// Clocks from FRAME# to DEVSEL#: 1 is fast, 2 medium, 3 slow.
    pub devsel_clocks: Option<u64>,
    /// Clocks in which FRAME# was asserted.
    pub frame_clocks: u64,
    /// Whether GNT# of its initiator was gone before FRAME# was.
    pub grant_lost: bool,
    /// Clocks since the transaction before had ended.
    pub idle_before_clocks: u64,
    /// Whether 64 bits were asked for, and given.
    pub wide: (bool, bool),
    /// Phases whose PAR was wrong.
    pub parity_errors: u64,
    /// The attributes of a transaction on PCI-X.
    pub attributes: Option<Attributes>,
    /// How it ended.
    pub ended_by: EndedBy,
}

/// What the clocks of a transaction are spent on, in this order.
pub const SPENT_ON: [&str; 5] =
    ["address", "wait for the first data", "data", "waits between data, retries", "after the last data"];

impl Transaction {
    /// Its clocks by [`SPENT_ON`]. They sum to `clocks`.
    pub fn spent(&self) -> [u64; 5] {
        let address = self.clocks.min(self.command.own_clocks());
        let after = self.after_clocks.min(self.clocks - address);
        let wait = self.wait_clocks.min(self.clocks - address - after);
        let data = self.data_phases.min(self.clocks - address - after - wait);
        [address, wait, data, self.clocks - address - after - wait - data, after]
    }

    /// The same as stretches of time, from when until when, in the order of [`SPENT_ON`]: each begins where the one
    /// before ends.
    pub fn stretches(&self) -> [(u64, u64); 5] {
        let length = u128::from(self.end_ps - self.start_ps);
        let (mut clocks, mut until_ps) = (0, self.start_ps);
        self.spent().map(|spent| {
            clocks += spent;
            let from_ps = until_ps;
            until_ps = self.start_ps + (length * u128::from(clocks) / u128::from(self.clocks.max(1))) as u64;
            (from_ps, until_ps)
        })
    }
}
