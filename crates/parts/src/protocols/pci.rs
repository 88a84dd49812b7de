//! PCI: commands, phases, and the trait of a target. PCI Local Bus Specification 2.1.

use hopscope_kernel::{Errand, Label, Time};

/// Waiting for GNT# and an idle bus.
pub static ARBITRATION: Label = Label::reason("PCI arbitration");
/// AD carries the address, C/BE# the command; FRAME# is asserted.
pub static ADDRESS: Label = Label::protocol("address");
/// IRDY# and TRDY# are asserted.
pub static DATA: Label = Label::payload("data");
/// The same of an initiator of 32 bits on a segment of 64: REQ64# is not asserted. PCI 2.2, 3.8.
pub static DATA_OF_32_BITS: Label = Label::payload("data of 32 bits");
/// Data phases of a register access: no byte of the user.
pub static REGISTER_DATA: Label = Label::protocol("register data");
/// Data phases of a data port, two bytes each: bytes of the user that the processor moves itself.
pub static PORT_WORD: Label = Label::payload("data of a data port");
/// The same, four bytes each.
pub static PORT_DWORD: Label = Label::payload("data of a data port");
/// Data phases that carry a descriptor.
pub static DESCRIPTOR_DATA: Label = Label::protocol("descriptor data");
/// The target ends the transaction with STOP#.
pub static DISCONNECT: Label = Label::protocol("target disconnect");
/// STOP# before any data.
pub static RETRY: Label = Label::protocol("retry");
/// The idle clock between transactions.
pub static TURNAROUND: Label = Label::protocol("turnaround");
/// PCI-X: the attribute phase: who asks, for how many bytes. PCI-X 1.0a, 2.5.
pub static ATTRIBUTE: Label = Label::protocol("attribute");
/// From the address until the target answers, and its waits before the first data. PCI-X 1.0a, 2.8.
pub static RESPONSE: Label = Label::protocol("target response");
/// The target will come with the data later. PCI-X 1.0a, 2.11.
pub static SPLIT_RESPONSE: Label = Label::protocol("split response");
/// A delayed read is latched, and its initiator sent away. PCI 2.1, 3.3.3.3.
pub static DELAYED: Label = Label::protocol("delayed read latched");
/// TRDY# is away between two data phases.
pub static WAIT_STATE: Label = Label::protocol("target wait state");
/// A message to everybody, claimed by nobody.
pub static SPECIAL: Label = Label::protocol("special cycle");
/// Nobody claimed the address.
pub static MASTER_ABORT: Label = Label::protocol("master abort");

/// C/BE#[3:0] of the address phase: PCI 2.1, 3.1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// 0000: reads the vector from the interrupt controller.
    InterruptAcknowledge,
    /// 0001: a message to everybody.
    SpecialCycle,
    /// 0010
    IoRead,
    /// 0011
    IoWrite,
    /// 0110
    MemoryRead,
    /// 0111
    MemoryWrite,
    /// 1100: prefetch more than one cache line. PCI-X: 1100 is a split completion, and reads of blocks are 1110.
    MemoryReadMultiple,
    /// PCI-X 1.0a, 2.4: 1100, the data of a read that was split.
    SplitCompletion,
    /// 1110: prefetch one cache line.
    MemoryReadLine,
    /// 1111: whole cache lines.
    MemoryWriteInvalidate,
}

static INTERRUPT_ACKNOWLEDGE: Label = Label::mark("interrupt acknowledge");
static SPECIAL_CYCLE: Label = Label::mark("special cycle");
static IO_READ: Label = Label::mark("I/O read");
static IO_WRITE: Label = Label::mark("I/O write");
static MEMORY_READ: Label = Label::mark("memory read");
static MEMORY_WRITE: Label = Label::mark("memory write");
static MEMORY_READ_MULTIPLE: Label = Label::mark("memory read multiple");
static SPLIT_COMPLETION: Label = Label::mark("split completion");
static MEMORY_READ_LINE: Label = Label::mark("memory read line");
static MEMORY_WRITE_INVALIDATE: Label = Label::mark("memory write and invalidate");

/// Each command, its C/BE# lines and its name; in their order.
const COMMANDS: [(Command, u8, &Label); 10] = [
    (Command::InterruptAcknowledge, 0b0000, &INTERRUPT_ACKNOWLEDGE),
    (Command::SpecialCycle, 0b0001, &SPECIAL_CYCLE),
    (Command::IoRead, 0b0010, &IO_READ),
    (Command::IoWrite, 0b0011, &IO_WRITE),
    (Command::MemoryRead, 0b0110, &MEMORY_READ),
    (Command::MemoryWrite, 0b0111, &MEMORY_WRITE),
    (Command::MemoryReadMultiple, 0b1100, &MEMORY_READ_MULTIPLE),
    (Command::SplitCompletion, 0b1100, &SPLIT_COMPLETION),
    (Command::MemoryReadLine, 0b1110, &MEMORY_READ_LINE),
    (Command::MemoryWriteInvalidate, 0b1111, &MEMORY_WRITE_INVALIDATE),
];

impl Command {
    /// C/BE#[3:0].
    pub fn lines(self) -> u8 {
        COMMANDS[self as usize].1
    }

    /// What the lane is said to carry.
    pub fn label(self) -> &'static Label {
        COMMANDS[self as usize].2
    }

    /// The command that a lane was said to carry.
    pub fn of_label(label: &'static Label) -> Option<Command> {
        COMMANDS.iter().find(|known| known.2 == label).map(|known| known.0)
    }

    /// Whether data moves from the target to the initiator.
    pub fn reads(self) -> bool {
        use Command::*;
        matches!(self, InterruptAcknowledge | IoRead | MemoryRead | MemoryReadMultiple | MemoryReadLine)
    }
}

/// What the I/O write before has carried, for those who draw the wires.
pub static WRITTEN: Label = Label::mark("written");

/// A card asserts its interrupt wire, for those who draw the wires.
pub static INTX_ASSERTED: Label = Label::mark("INTA# asserted");
/// The host's handler has it.
pub static INTX_NEGATED: Label = Label::mark("INTA# negated");

/// Bits of a size.
const SIZE_BITS: u32 = 24;

/// Address, size, and bytes of a data phase as one value, for [`Lane::carried`](hopscope_kernel::Lane::carried).
pub fn packed(address: u32, bytes: u32, width_bytes: u32) -> u64 {
    let size = u64::from(bytes.min((1 << SIZE_BITS) - 1));
    u64::from(width_bytes) << (32 + SIZE_BITS) | size << 32 | u64::from(address)
}

/// The same, the other way.
pub fn unpacked(value: u64) -> (u32, u32, u32) {
    (value as u32, (value >> 32) as u32 & ((1 << SIZE_BITS) - 1), (value >> (32 + SIZE_BITS)) as u32)
}

/// What an initiator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The command.
    pub command: Command,
    /// The address; ignored by special cycle and interrupt acknowledge.
    pub address: u32,
    /// How many bytes the initiator wants to move, at most.
    pub bytes: u32,
    /// What the data phases carry.
    pub carries: &'static Label,
}

/// How a target answers: DEVSEL# and the clocks to the first TRDY#, and where it stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// When the target has the first data, or takes it.
    pub ready: Ready,
    /// What IRDY# waits for until TRDY#: DEVSEL# timing and the target's first-data latency.
    pub wait: &'static Label,
    /// The target disconnects after this many bytes, as [`reach`] counts them; zero where it never does.
    pub boundary_bytes: u32,
}

/// When the first data phase can complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// After so many wait clocks.
    After(u64),
    /// Not now: the target asserts STOP# so many clocks after FRAME#, and the initiator comes again.
    Retry(u64),
}

/// Who answers on the bus.
pub trait PciTarget {
    /// The answer to `transaction`, whose FRAME# is asserted at `now`; `None` where the address is not decoded.
    fn answer(&self, transaction: &Transaction, now: Time) -> Option<Answer>;
    /// The data of an I/O write have arrived that is made for a request.
    fn io_write(&self, _address: u32, _value: u32, _errand: Errand) {}
}

/// PCI-X 1.0a, 2.2: allowable disconnect boundaries, bytes.
pub const DISCONNECT_BOUNDARY_BYTES: u32 = 128;
/// PCI-X 1.0a, 2.1: a burst ends at a multiple of this many bytes; conventional bridges end theirs there too.
pub const BURST_BYTES_MAX: u32 = 4_096;

/// Bytes from `address` on until a limit ends a burst. Chips read a power of two off the address, so that bursts end at
/// its multiples; any other number they count from the burst's beginning.
pub fn reach(address: u32, limit: u32) -> u32 {
    if limit.is_power_of_two() { limit - (address & (limit - 1)) } else { limit }
}

/// Bytes of a data phase of the narrowest bus: what bursts and buffers are multiples of.
pub const PHASE_BYTES: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_in_their_order() {
        for (index, (command, ..)) in COMMANDS.iter().enumerate() {
            assert_eq!(*command as usize, index);
            assert_eq!(Command::of_label(command.label()), Some(*command));
        }
    }
}
