//! Transaction layer packets, as PCI Express Base Specification 4.0, chapter 2, has them.

mod wire;

use std::fmt;

/// Bytes of a double word, in which packets are counted.
pub const DOUBLE_WORD_BYTES: usize = 4;
/// Most double words of a payload (2.2.2: a length of 0 means 1024).
pub const LENGTH_MAX: u16 = 1024;

/// Bus, device and function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub u16);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x}:{:02x}.{}", self.0 >> 8, self.0 >> 3 & 0x1f, self.0 & 7)
    }
}

/// Prefixes before a header, at most: four from end to end (2.2.10.2), and as many local ones.
pub const PREFIXES_MAX: usize = 8;

/// One packet. Its payload and its prefixes are borrowed from where they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tlp<'a> {
    /// Prefixes, a double word each (2.2.10).
    pub prefixes: &'a [u8],
    /// Traffic class, 0 to 7.
    pub traffic_class: u8,
    /// Attributes.
    pub attributes: Attributes,
    /// Lightweight notification (LN).
    pub lightweight_notification: bool,
    /// Whether processing hints are there (TH).
    pub hints: bool,
    /// Poisoned data (EP).
    pub poisoned: bool,
    /// Address type (AT), 0 to 3.
    pub address_type: u8,
    /// Double words that are carried or asked for, 1 to 1024; 0 where there are none.
    pub length: u16,
    /// What it is.
    pub body: Body,
    /// Its data. Shorter than `length` says where a capture has cut it; see [`Tlp::missing_bytes`].
    pub payload: &'a [u8],
    /// End-to-end check (TD): `Some` where the header has the bit; `None` inside where a capture has cut it.
    pub digest: Option<Option<u32>>,
}

impl<'a> Tlp<'a> {
    /// One of `length` double words with nothing set that need not be.
    pub fn plain(body: Body, length: u16, payload: &'a [u8]) -> Tlp<'a> {
        Tlp {
            prefixes: &[],
            traffic_class: 0,
            attributes: Attributes::default(),
            lightweight_notification: false,
            hints: false,
            poisoned: false,
            address_type: 0,
            length,
            body,
            payload,
            digest: None,
        }
    }
}

/// 2.2.6.3: how a packet may be ordered and cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attributes {
    /// Attr[2].
    pub id_based_ordering: bool,
    /// Attr[1].
    pub relaxed_ordering: bool,
    /// Attr[0].
    pub no_snoop: bool,
}

/// What a memory request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// MRd.
    Read,
    /// MRdLk.
    ReadLocked,
    /// MWr.
    Write,
    /// FetchAdd.
    FetchAdd,
    /// Swap.
    Swap,
    /// CAS.
    CompareSwap,
}

/// Who asks, and by which tag the answer is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requester {
    /// Requester ID.
    pub id: Id,
    /// Tag of ten bits (2.2.6.2); the upper two are 0 of whoever has eight.
    pub tag: u16,
}

/// Byte enables of the first and the last double word, four bits each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enables {
    /// First double word.
    pub first: u8,
    /// Last double word; 0 where there is only one.
    pub last: u8,
}

impl Enables {
    /// 2.3.1.1, table 2-38: bytes from the first enabled one to the last, of so many double words. A read of no byte
    /// is answered as one of a byte.
    pub fn bytes(self, length: u16) -> u32 {
        let first_gap = self.first.trailing_zeros().min(3);
        let last = if length == 1 { self.first } else { self.last };
        match (length, last & 0xf) {
            (1, 0) => 1,
            (_, last) => {
                let last_gap = if last == 0 { 0 } else { last.leading_zeros() - 4 };
                (u32::from(length) * 4).saturating_sub(first_gap + last_gap)
            }
        }
    }

    /// Bytes before the first enabled one, 0 to 3.
    pub fn offset(self) -> u32 {
        if self.first & 0xf == 0 { 0 } else { self.first.trailing_zeros() }
    }
}

/// What a packet is, with the fields that only its kind has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// 2.2.7: memory.
    Memory {
        /// What it does.
        access: Access,
        /// Who asks.
        requester: Requester,
        /// Which bytes.
        enables: Enables,
        /// Of the first double word, in bytes: a multiple of 4.
        address: u64,
        /// Bits 1:0 beside the address: the processing hint where `hints` is set.
        hint: u8,
        /// Whether the header has four double words.
        wide: bool,
    },
    /// 2.2.7: I/O space.
    Io {
        /// IOWr, not IORd.
        write: bool,
        /// Who asks.
        requester: Requester,
        /// Which bytes.
        enables: Enables,
        /// In bytes, a multiple of 4.
        address: u32,
    },
    /// 2.2.7: configuration space.
    Configuration {
        /// CfgWr, not CfgRd.
        write: bool,
        /// Type 1: to be passed on by a bridge.
        type1: bool,
        /// Who asks.
        requester: Requester,
        /// Which bytes.
        enables: Enables,
        /// Whose registers.
        target: Id,
        /// Offset of the register in bytes, a multiple of 4 below 4096.
        register: u16,
    },
    /// 2.2.8: Msg or MsgD.
    Message {
        /// MsgD.
        with_data: bool,
        /// r[2:0].
        routing: u8,
        /// Who sends.
        requester: Requester,
        /// Message code.
        code: u8,
        /// Bytes 8 to 15.
        rest: [u8; 8],
    },
    /// 2.2.9: Cpl, CplD, CplLk or CplDLk.
    Completion {
        /// CplD or CplDLk.
        with_data: bool,
        /// CplLk or CplDLk.
        locked: bool,
        /// Who answers.
        completer: Id,
        /// Completion status, three bits.
        status: u8,
        /// Byte count modified (BCM).
        modified: bool,
        /// Bytes left for the request, these included: 1 to 4096.
        byte_count: u16,
        /// Who asked.
        requester: Requester,
        /// Bits 6:0 of the address of the first byte.
        lower_address: u8,
    },
}

/// Kinds of packets, by the names that the specification gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    MRd,
    MRdLk,
    MWr,
    FetchAdd,
    Swap,
    Cas,
    IORd,
    IOWr,
    CfgRd0,
    CfgWr0,
    CfgRd1,
    CfgWr1,
    Msg,
    MsgD,
    Cpl,
    CplD,
    CplLk,
    CplDLk,
}

impl Kind {
    /// As the specification writes it (table 2-3).
    pub fn word(self) -> &'static str {
        match self {
            Kind::MRd => "MRd",
            Kind::MRdLk => "MRdLk",
            Kind::MWr => "MWr",
            Kind::FetchAdd => "FetchAdd",
            Kind::Swap => "Swap",
            Kind::Cas => "CAS",
            Kind::IORd => "IORd",
            Kind::IOWr => "IOWr",
            Kind::CfgRd0 => "CfgRd0",
            Kind::CfgWr0 => "CfgWr0",
            Kind::CfgRd1 => "CfgRd1",
            Kind::CfgWr1 => "CfgWr1",
            Kind::Msg => "Msg",
            Kind::MsgD => "MsgD",
            Kind::Cpl => "Cpl",
            Kind::CplD => "CplD",
            Kind::CplLk => "CplLk",
            Kind::CplDLk => "CplDLk",
        }
    }

    /// Whether nobody answers it (table 2-3: posted requests).
    pub fn is_posted(self) -> bool {
        matches!(self, Kind::MWr | Kind::Msg | Kind::MsgD)
    }
}

impl Body {
    /// What it is called.
    pub fn kind(&self) -> Kind {
        match *self {
            Body::Memory { access, .. } => match access {
                Access::Read => Kind::MRd,
                Access::ReadLocked => Kind::MRdLk,
                Access::Write => Kind::MWr,
                Access::FetchAdd => Kind::FetchAdd,
                Access::Swap => Kind::Swap,
                Access::CompareSwap => Kind::Cas,
            },
            Body::Io { write: false, .. } => Kind::IORd,
            Body::Io { write: true, .. } => Kind::IOWr,
            Body::Configuration { write: false, type1: false, .. } => Kind::CfgRd0,
            Body::Configuration { write: true, type1: false, .. } => Kind::CfgWr0,
            Body::Configuration { write: false, type1: true, .. } => Kind::CfgRd1,
            Body::Configuration { write: true, type1: true, .. } => Kind::CfgWr1,
            Body::Message { with_data: false, .. } => Kind::Msg,
            Body::Message { with_data: true, .. } => Kind::MsgD,
            Body::Completion { with_data: false, locked: false, .. } => Kind::Cpl,
            Body::Completion { with_data: true, locked: false, .. } => Kind::CplD,
            Body::Completion { with_data: false, locked: true, .. } => Kind::CplLk,
            Body::Completion { with_data: true, locked: true, .. } => Kind::CplDLk,
        }
    }

    /// Whether data follow the header.
    pub fn has_data(&self) -> bool {
        !matches!(
            self.kind(),
            Kind::MRd | Kind::MRdLk | Kind::IORd | Kind::CfgRd0 | Kind::CfgRd1 | Kind::Msg | Kind::Cpl | Kind::CplLk
        )
    }

    /// Whether the length field says anything (2.2.8, 2.2.9: it is reserved without data).
    pub fn has_length(&self) -> bool {
        !matches!(self.kind(), Kind::Msg | Kind::Cpl | Kind::CplLk)
    }

    /// Bytes of the header.
    pub fn header_bytes(&self) -> usize {
        match self {
            Body::Memory { wide: true, .. } | Body::Message { .. } => 16,
            _ => 12,
        }
    }
}

impl Tlp<'_> {
    /// Bytes of the payload as the header says.
    pub fn payload_bytes(&self) -> usize {
        if self.body.has_data() { usize::from(self.length) * DOUBLE_WORD_BYTES } else { 0 }
    }

    /// Bytes of the packet as the header says: prefixes, header, payload, digest.
    pub fn whole_bytes(&self) -> usize {
        self.prefixes.len()
            + self.body.header_bytes()
            + self.payload_bytes()
            + if self.digest.is_some() { 4 } else { 0 }
    }

    /// Bytes of the payload that a capture has cut away.
    pub fn missing_bytes(&self) -> usize {
        self.payload_bytes() - self.payload.len()
    }
}

/// Why bytes are no packet, or a packet has no bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlpError {
    /// Offset of the byte that is wrong or lacking.
    pub offset: usize,
    /// What is wrong, as one sentence without its end.
    pub what: String,
}

impl fmt::Display for TlpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {} of the packet: {}", self.offset, self.what)
    }
}

impl std::error::Error for TlpError {}

#[cfg(test)]
mod tests;
