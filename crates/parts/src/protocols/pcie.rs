//! PCI Express: transaction layer packets, their phases on a link, and where in the host data lies.
//! PCI Express Base Specification 4.0, chapters 2 to 4; 6.0 for flits.

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Lane};

/// Waiting for the transmitter, which sends one packet at a time.
pub static LINK_BUSY: Label = Label::reason("link busy");
/// Framing, sequence number, header and LCRC of a packet.
pub static HEADER: Label = Label::protocol("framing, header and LCRC");
/// Bytes of the user.
pub static DATA: Label = Label::payload("data");
/// Data of a packet that carries what a controller needs to know: a command, a descriptor, a completion entry.
pub static DESCRIPTOR: Label = Label::protocol("descriptors");
/// A register access of the processor: a doorbell.
pub static REGISTER: Label = Label::protocol("register access");
/// A message-signalled interrupt.
pub static INTERRUPT: Label = Label::protocol("interrupt message");
/// Data link layer packets: ACK and UpdateFC.
pub static DLLP: Label = Label::protocol("ACK and UpdateFC");
/// SKP ordered sets, which make up for the difference of two clocks.
pub static SKIP: Label = Label::protocol("SKP ordered set");
/// Packets sent again after one arrived damaged.
pub static REPLAY: Label = Label::protocol("replay");
/// The transmitter holds a packet for which the receiver has advertised no buffer.
pub static NO_CREDITS: Label = Label::reason("no flow control credits");
/// The receiver empties a buffer and says so.
pub static CREDITS_RETURN: Label = Label::protocol("credits on their way back");
/// From one end of a link to the other: serialiser, wires, deserialiser.
pub static FLIGHT: Label = Label::protocol("flight");
/// From one link to the next.
pub static SWITCH: Label = Label::protocol("flight and switch");
/// A device puts the data of a request where they belong, and frees its tag.
pub static TAKEN_IN: Label = Label::protocol("completions taken in");
/// As many reads are under way as the requester has tags.
pub static NO_TAG: Label = Label::reason("no tag free");

/// No packet crosses a multiple of this many bytes (2.2.7).
pub const PAGE_BYTES: u32 = 4_096;
/// Payloads are whole words (2.2.1).
pub const WORD_BYTES: u32 = 4;
/// Header of a request with a 32-bit address, and of a completion, bytes (2.2.1).
pub const HEADER_3DW: u32 = 12;
/// Header of a request with a 64-bit address, bytes.
pub const HEADER_4DW: u32 = 16;

/// The address of the first byte of the packet that follows. This and what follows are for those who draw packets: see
/// [`Lane::carried`](hopscope_kernel::Lane::carried).
pub static PACKET_AT: Label = Label::mark("packet at");
/// A packet begins: [`Packet::packed`].
pub static PACKET: Label = Label::mark("packet");
/// The address of the words that follow.
pub static CONTENT_AT: Label = Label::mark("content at");
/// Eight bytes that are there, the next ones behind them.
pub static CONTENT: Label = Label::mark("content");
/// Addresses from here on are registers of the device: nobody's memory reaches so far.
pub const REGISTERS_AT: u64 = 1 << 62;
/// Where interrupt messages go.
pub const INTERRUPTS_AT: u64 = 1 << 61;

/// A packet, for those who draw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// What it counts as.
    pub flow: Flow,
    /// Bytes that it carries.
    pub payload: u32,
    /// Bytes that a request asks for, or that are left for the request of a completion, its own included.
    pub bytes: u32,
    /// By which a completion is known.
    pub tag: u16,
    /// Whether it may pass others (2.4.1).
    pub relaxed: bool,
}

/// Bits of a size: up to a page.
const SIZE_BITS: u32 = 13;

impl Packet {
    /// As one value.
    pub fn packed(self) -> u64 {
        let size = |bytes: u32| u64::from(bytes.min(PAGE_BYTES));
        let flow = match self.flow {
            Flow::Posted => 0,
            Flow::NonPosted => 1,
            Flow::Completion => 2,
        };
        let sizes = size(self.bytes) << SIZE_BITS | size(self.payload);
        (u64::from(self.relaxed) << 16 | u64::from(self.tag)) << (2 * SIZE_BITS + 2) | sizes << 2 | flow
    }

    /// The same, the other way.
    pub fn unpacked(value: u64) -> Packet {
        let size = |value: u64| value as u32 & ((1 << SIZE_BITS) - 1);
        let flow = match value & 3 {
            0 => Flow::Posted,
            1 => Flow::NonPosted,
            _ => Flow::Completion,
        };
        let (payload, bytes, rest) = (size(value >> 2), size(value >> (SIZE_BITS + 2)), value >> (2 * SIZE_BITS + 2));
        Packet { flow, payload, bytes, tag: rest as u16, relaxed: rest >> 16 != 0 }
    }
}

/// What a packet counts as in flow control (2.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Writes and messages.
    Posted,
    /// Reads.
    NonPosted,
    /// Answers to reads.
    Completion,
}

/// A run of packets that carry neighbouring bytes: cut at multiples of the largest payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    /// What they count as.
    pub flow: Flow,
    /// Header of each, bytes.
    pub header_bytes: u32,
    /// What the data phases carry.
    pub data: &'static Label,
    first_bytes: u32,
    whole_bytes: u32,
    wholes: u32,
    last_bytes: u32,
    /// Bytes of a last packet that has only those of an incomplete word.
    apart_bytes: u32,
    /// Where the bytes are, and how many are asked for or carried.
    address: u64,
    bytes: u32,
    tag: u16,
    relaxed: bool,
}

impl Packets {
    /// `bytes` from `address` on, in packets of `payload_max` bytes at most, each within a multiple of that.
    pub fn cut(
        flow: Flow,
        header_bytes: u32,
        data: &'static Label,
        address: u64,
        bytes: u32,
        payload_max: u32,
    ) -> Packets {
        let to_boundary = payload_max - (address % u64::from(payload_max)) as u32;
        let first_bytes = if to_boundary < payload_max { to_boundary.min(bytes) } else { 0 };
        let rest = bytes - first_bytes;
        let (wholes, last_bytes) = (rest / payload_max, rest % payload_max);
        Packets {
            flow,
            header_bytes,
            data,
            first_bytes,
            whole_bytes: payload_max,
            wholes,
            last_bytes,
            apart_bytes: 0,
            address,
            bytes,
            tag: 0,
            relaxed: false,
        }
    }

    /// The same, but what there is of an incomplete word at the end has a packet of its own.
    pub fn cut_apart(
        flow: Flow,
        header_bytes: u32,
        data: &'static Label,
        address: u64,
        bytes: u32,
        payload_max: u32,
    ) -> Packets {
        let apart_bytes = incomplete(address, bytes);
        let before = Packets::cut(flow, header_bytes, data, address, bytes - apart_bytes, payload_max);
        Packets { apart_bytes, bytes, ..before }
    }

    /// One packet without data: a read request.
    pub fn request(header_bytes: u32, address: u64, bytes: u32) -> Packets {
        Packets {
            flow: Flow::NonPosted,
            header_bytes,
            data: &DATA,
            first_bytes: 0,
            whole_bytes: 0,
            wholes: 1,
            last_bytes: 0,
            apart_bytes: 0,
            address,
            bytes,
            tag: 0,
            relaxed: false,
        }
    }

    /// The same with a tag.
    pub fn tagged(self, tag: u16) -> Packets {
        Packets { tag, ..self }
    }

    /// The same; whether they may pass others.
    pub fn relaxed(self, relaxed: bool) -> Packets {
        Packets { relaxed, ..self }
    }

    /// Packet `index` begins on a link, for those who draw it.
    #[inline]
    pub fn begins(&self, lane: &Lane, index: u32) {
        if lane.is_drawn() {
            let before: u32 = (0..index).map(|index| self.payload(index)).sum();
            let Packets { flow, tag, relaxed, .. } = *self;
            lane.carried(&PACKET_AT, self.address + u64::from(before));
            let payload = if flow == Flow::NonPosted { 0 } else { self.payload(index) };
            lane.carried(&PACKET, Packet { flow, payload, bytes: self.bytes - before, tag, relaxed }.packed());
        }
    }

    /// How many.
    pub fn count(&self) -> u32 {
        self.wholes + u32::from(self.first_bytes > 0) + u32::from(self.last_bytes > 0) + u32::from(self.apart_bytes > 0)
    }

    /// Whether all have the same length.
    pub fn equal(&self) -> bool {
        self.first_bytes == 0 && self.last_bytes == 0 && self.apart_bytes == 0
    }

    /// Payload of packet `index`.
    pub fn payload(&self, index: u32) -> u32 {
        let led = u32::from(self.first_bytes > 0);
        match index {
            0 if led == 1 => self.first_bytes,
            _ if index - led < self.wholes => self.whole_bytes,
            _ if index - led == self.wholes && self.last_bytes > 0 => self.last_bytes,
            _ => self.apart_bytes,
        }
    }

    /// Header and payload of all of them, bytes.
    pub fn bytes(&self) -> u64 {
        let words = |bytes: u32| u64::from(bytes.next_multiple_of(WORD_BYTES));
        let payload =
            words(self.first_bytes) + words(self.whole_bytes) * u64::from(self.wholes) + words(self.last_bytes);
        let payload = payload + words(self.apart_bytes);
        payload + u64::from(self.header_bytes) * u64::from(self.count())
    }
}

/// Bytes of an incomplete word at the end of `bytes` from `address` on.
pub fn incomplete(address: u64, bytes: u32) -> u32 {
    bytes.min(((address + u64::from(bytes)) % u64::from(WORD_BYTES)) as u32)
}

/// Where in the host what a device reads or writes lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub struct Home {
    /// Whether a device finds the driver's data in the last-level cache, or in memory.
    #[choice("data", "memory" => false, "cache" => true)]
    pub cached: bool,
    /// Whether the driver's memory is that of the socket where the device is, or of the other one.
    #[choice("memory", "local" => false, "remote" => true)]
    pub remote: bool,
}

impl Home {
    /// In the cache of the socket that the device is plugged into.
    pub const CACHE: Home = Home { cached: true, remote: false };
    /// In the memory of the socket that the device is plugged into.
    pub const MEMORY: Home = Home { cached: false, remote: false };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(address: u64, bytes: u32, payload_max: u32) -> Vec<u32> {
        let packets = Packets::cut(Flow::Posted, HEADER_4DW, &DATA, address, bytes, payload_max);
        let lengths: Vec<u32> = (0..packets.count()).map(|index| packets.payload(index)).collect();
        assert_eq!(lengths.iter().sum::<u32>(), bytes);
        let whole_words = lengths.iter().map(|length| u64::from(length.next_multiple_of(WORD_BYTES) + HEADER_4DW));
        assert_eq!(packets.bytes(), whole_words.sum::<u64>());
        lengths
    }

    #[test]
    fn packets_are_cut_at_multiples_of_the_largest_payload() {
        assert_eq!(lengths(0, 1_024, 256), [256; 4]);
        assert_eq!(lengths(64, 512, 256), [192, 256, 64]);
        assert_eq!(lengths(64, 100, 256), [100]);
        assert_eq!(lengths(192, 65, 256), [64, 1]);
        assert_eq!(lengths(0, 1, 256), [1]);
    }

    #[test]
    fn a_packet_is_one_value_and_back() {
        for (flow, payload, bytes, tag, relaxed) in [
            (Flow::Posted, 4_096, 4_096, 0, true),
            (Flow::NonPosted, 0, 4_096, 16_383, false),
            (Flow::NonPosted, 0, 4_096, u16::MAX, true),
            (Flow::Completion, 3, 129, 7, false),
        ] {
            let packet = Packet { flow, payload, bytes, tag, relaxed };
            assert_eq!(Packet::unpacked(packet.packed()), packet);
        }
    }

    #[test]
    fn an_incomplete_word_goes_apart_where_it_is_asked_to() {
        let lengths = |address, bytes| -> Vec<u32> {
            let packets = Packets::cut_apart(Flow::Completion, HEADER_3DW, &DATA, address, bytes, 64);
            (0..packets.count()).map(|index| packets.payload(index)).collect()
        };
        assert_eq!(lengths(0, 63), [60, 3]);
        assert_eq!(lengths(0, 127), [64, 60, 3]);
        // There it is alone, anyway.
        assert_eq!(lengths(0, 65), [64, 1]);
        assert_eq!(lengths(0, 64), [64]);
        assert_eq!(lengths(32, 31), [28, 3]);
        assert_eq!(lengths(0, 2), [2]);
        // 20 bytes of header and framing more, and none of data: 60 and 4 are 64.
        let apart = Packets::cut_apart(Flow::Completion, HEADER_3DW, &DATA, 0, 63, 64).bytes();
        assert_eq!(apart, Packets::cut(Flow::Completion, HEADER_3DW, &DATA, 0, 63, 64).bytes() + 12);
    }
}
