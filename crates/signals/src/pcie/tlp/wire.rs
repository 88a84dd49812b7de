//! Packets to bytes and back.

use super::{
    Access, Attributes, Body, DOUBLE_WORD_BYTES, Enables, Id, LENGTH_MAX, PREFIXES_MAX, Requester, Tlp, TlpError,
};

/// Fmt (2.2.1.1): bit 0 is the longer header, bit 1 data; a prefix has bit 2 alone.
const LONG: u8 = 0b001;
const DATA: u8 = 0b010;
const PREFIX: u8 = 0b100;

fn wrong<T>(offset: usize, what: impl Into<String>) -> Result<T, TlpError> {
    Err(TlpError { offset, what: what.into() })
}

fn two(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn four(bytes: &[u8], at: usize) -> u32 {
    u32::from(two(bytes, at)) << 16 | u32::from(two(bytes, at + 2))
}

impl<'a> Tlp<'a> {
    /// Reads a packet from its first bytes. What follows its end is left alone; a payload that is cut is what there is.
    ///
    /// # Errors
    /// Where the header is cut, or is none that the specification has.
    pub fn decode(bytes: &'a [u8]) -> Result<Tlp<'a>, TlpError> {
        let before = prefixes(bytes);
        if before.len() > PREFIXES_MAX * DOUBLE_WORD_BYTES {
            return wrong(PREFIXES_MAX * DOUBLE_WORD_BYTES, format!("more than {PREFIXES_MAX} prefixes"));
        }
        let cut = || wrong(bytes.len(), "the header is cut");
        let (prefixes, bytes) = bytes.split_at(before.len());
        if bytes.len() < 4 {
            return cut();
        }
        let (format, kind) = (bytes[0] >> 5, bytes[0] & 0x1f);
        let header_bytes = if format & LONG != 0 { 16 } else { 12 };
        if bytes.len() < header_bytes {
            return cut();
        }
        let body = body(format, kind, bytes).map_err(|error| TlpError { offset: prefixes.len(), ..error })?;
        let length = match u16::from(bytes[2] & 3) << 8 | u16::from(bytes[3]) {
            _ if !body.has_length() => 0,
            0 => LENGTH_MAX,
            length => length,
        };
        let mut tlp = Tlp {
            prefixes,
            traffic_class: bytes[1] >> 4 & 7,
            attributes: Attributes {
                id_based_ordering: bytes[1] & 4 != 0,
                relaxed_ordering: bytes[2] & 0x20 != 0,
                no_snoop: bytes[2] & 0x10 != 0,
            },
            lightweight_notification: bytes[1] & 2 != 0,
            hints: bytes[1] & 1 != 0,
            poisoned: bytes[2] & 0x40 != 0,
            address_type: bytes[2] >> 2 & 3,
            length,
            body,
            payload: &[],
            digest: None,
        };
        let end = header_bytes + tlp.payload_bytes();
        tlp.payload = &bytes[header_bytes..end.min(bytes.len())];
        if bytes[2] & 0x80 != 0 {
            tlp.digest = Some((bytes.len() >= end + 4).then(|| four(bytes, end)));
        }
        Ok(tlp)
    }

    /// Its bytes.
    ///
    /// # Errors
    /// Where a field does not fit its place, or data or digest are not all there.
    pub fn encode(&self) -> Result<Vec<u8>, TlpError> {
        self.check()?;
        let (format, kind) = format_and_type(&self.body);
        let bit = |set: bool, place: u8| u8::from(set) << place;
        let (tag, length) = (self.body.tag(), if self.length == LENGTH_MAX { 0 } else { self.length });
        let mut out = Vec::with_capacity(self.whole_bytes());
        out.extend_from_slice(self.prefixes);
        out.push(format << 5 | kind);
        out.push(
            // 2.2.6.2: T9 and T8 are bits 7 and 3.
            bit(tag & 0x200 != 0, 7)
                | self.traffic_class << 4
                | bit(tag & 0x100 != 0, 3)
                | bit(self.attributes.id_based_ordering, 2)
                | bit(self.lightweight_notification, 1)
                | bit(self.hints, 0),
        );
        out.push(
            bit(self.digest.is_some(), 7)
                | bit(self.poisoned, 6)
                | bit(self.attributes.relaxed_ordering, 5)
                | bit(self.attributes.no_snoop, 4)
                | self.address_type << 2
                | (length >> 8) as u8,
        );
        out.push(length as u8);
        self.body.write(&mut out);
        out.extend_from_slice(self.payload);
        out.extend(self.digest.flatten().into_iter().flat_map(u32::to_be_bytes));
        Ok(out)
    }

    /// What cannot be written.
    fn check(&self) -> Result<(), TlpError> {
        let fit = self.prefixes.len() <= PREFIXES_MAX * DOUBLE_WORD_BYTES;
        if !fit || prefixes(self.prefixes).len() != self.prefixes.len() {
            return wrong(0, "what stands before the header are no prefixes");
        }
        let least = u16::from(self.body.has_length());
        let most = if least == 0 { 0 } else { LENGTH_MAX };
        if !(least..=most).contains(&self.length) {
            return wrong(2, format!("a length of {} double words; expected {least} to {most}", self.length));
        }
        if self.traffic_class > 7 || self.address_type > 3 || self.body.tag() > 0x3ff {
            return wrong(1, "traffic class, address type or tag has too many bits");
        }
        if self.payload.len() != self.payload_bytes() || self.digest == Some(None) {
            return wrong(self.body.header_bytes(), "data or digest are not all there");
        }
        let fits = match self.body {
            Body::Memory { enables, address, hint, wide, .. } => {
                enables.fit() && address % 4 == 0 && hint < 4 && (wide || address >> 32 == 0)
            }
            Body::Io { enables, address, .. } => enables.fit() && address % 4 == 0,
            Body::Configuration { enables, register, .. } => enables.fit() && register % 4 == 0 && register < 4096,
            Body::Message { routing, .. } => routing < 8,
            Body::Completion { status, byte_count, lower_address, .. } => {
                status < 8 && (1..=4096).contains(&byte_count) && lower_address < 128
            }
        };
        if fits { Ok(()) } else { wrong(4, "a field does not fit its place") }
    }
}

/// The prefixes that a packet begins with: whole double words whose Fmt is that of one.
fn prefixes(bytes: &[u8]) -> &[u8] {
    let count = bytes.chunks_exact(DOUBLE_WORD_BYTES).take_while(|word| word[0] >> 5 == PREFIX).count();
    &bytes[..count * DOUBLE_WORD_BYTES]
}

impl Enables {
    fn fit(self) -> bool {
        self.first < 16 && self.last < 16
    }

    fn read(byte: u8) -> Enables {
        Enables { first: byte & 0xf, last: byte >> 4 }
    }

    fn byte(self) -> u8 {
        self.last << 4 | self.first
    }
}

/// Everything behind the first four bytes, of which there are as many as Fmt says.
fn body(format: u8, kind: u8, bytes: &[u8]) -> Result<Body, TlpError> {
    let unknown = || wrong(0, format!("no packet has Fmt {format:03b} and Type {kind:05b}"));
    if format & PREFIX != 0 {
        return unknown();
    }
    let (long, data) = (format & LONG != 0, format & DATA != 0);
    let upper = u16::from(bytes[1] & 0x80) << 2 | u16::from(bytes[1] & 8) << 5;
    let requester = Requester { id: Id(two(bytes, 4)), tag: upper | u16::from(bytes[6]) };
    let enables = Enables::read(bytes[7]);
    let memory = |access| {
        let low = four(bytes, if long { 12 } else { 8 });
        let high = if long { four(bytes, 8) } else { 0 };
        let address = u64::from(high) << 32 | u64::from(low & !3);
        Ok(Body::Memory { access, requester, enables, address, hint: (low & 3) as u8, wide: long })
    };
    // Table 2-3.
    match (kind, data, long) {
        (0b0_0000, false, _) => memory(Access::Read),
        (0b0_0000, true, _) => memory(Access::Write),
        (0b0_0001, false, _) => memory(Access::ReadLocked),
        (0b0_1100, true, _) => memory(Access::FetchAdd),
        (0b0_1101, true, _) => memory(Access::Swap),
        (0b0_1110, true, _) => memory(Access::CompareSwap),
        (0b0_0010, write, false) => Ok(Body::Io { write, requester, enables, address: four(bytes, 8) & !3 }),
        (0b0_0100 | 0b0_0101, write, false) => Ok(Body::Configuration {
            write,
            type1: kind & 1 != 0,
            requester,
            enables,
            target: Id(two(bytes, 8)),
            register: two(bytes, 10) & 0xffc,
        }),
        (0b1_0000..=0b1_0111, with_data, true) => {
            let mut rest = [0; 8];
            rest.copy_from_slice(&bytes[8..16]);
            Ok(Body::Message { with_data, routing: kind & 7, requester, code: bytes[7], rest })
        }
        (0b0_1010 | 0b0_1011, with_data, false) => Ok(Body::Completion {
            with_data,
            locked: kind & 1 != 0,
            completer: Id(two(bytes, 4)),
            status: bytes[6] >> 5,
            modified: bytes[6] & 0x10 != 0,
            byte_count: match two(bytes, 6) & 0xfff {
                0 => 4096,
                count => count,
            },
            requester: Requester { id: Id(two(bytes, 8)), tag: upper | u16::from(bytes[10]) },
            lower_address: bytes[11] & 0x7f,
        }),
        _ => unknown(),
    }
}

fn format_and_type(body: &Body) -> (u8, u8) {
    let data = |data: bool| if data { DATA } else { 0 };
    match *body {
        Body::Memory { access, wide, .. } => {
            let (format, kind) = match access {
                Access::Read => (0, 0b0_0000),
                Access::ReadLocked => (0, 0b0_0001),
                Access::Write => (DATA, 0b0_0000),
                Access::FetchAdd => (DATA, 0b0_1100),
                Access::Swap => (DATA, 0b0_1101),
                Access::CompareSwap => (DATA, 0b0_1110),
            };
            (format | if wide { LONG } else { 0 }, kind)
        }
        Body::Io { write, .. } => (data(write), 0b0_0010),
        Body::Configuration { write, type1, .. } => (data(write), 0b0_0100 | u8::from(type1)),
        Body::Message { with_data, routing, .. } => (data(with_data) | LONG, 0b1_0000 | routing),
        Body::Completion { with_data, locked, .. } => (data(with_data), 0b0_1010 | u8::from(locked)),
    }
}

impl Body {
    fn tag(&self) -> u16 {
        self.requester().tag
    }

    /// Who asks; of a completion who asked.
    pub fn requester(&self) -> Requester {
        match *self {
            Body::Memory { requester, .. }
            | Body::Io { requester, .. }
            | Body::Configuration { requester, .. }
            | Body::Message { requester, .. }
            | Body::Completion { requester, .. } => requester,
        }
    }

    /// Appends the header from its fifth byte on.
    fn write(&self, out: &mut Vec<u8>) {
        let mut request = |requester: Requester, last: u8| {
            out.extend(requester.id.0.to_be_bytes());
            out.extend([requester.tag as u8, last]);
        };
        match *self {
            Body::Memory { requester, enables, address, hint, wide, .. } => {
                request(requester, enables.byte());
                let low = address | u64::from(hint);
                out.extend_from_slice(&low.to_be_bytes()[if wide { 0 } else { 4 }..]);
            }
            Body::Io { requester, enables, address, .. } => {
                request(requester, enables.byte());
                out.extend(address.to_be_bytes());
            }
            Body::Configuration { requester, enables, target, register, .. } => {
                request(requester, enables.byte());
                out.extend(target.0.to_be_bytes());
                out.extend(register.to_be_bytes());
            }
            Body::Message { requester, code, rest, .. } => {
                request(requester, code);
                out.extend(rest);
            }
            Body::Completion { completer, status, modified, byte_count, requester, lower_address, .. } => {
                out.extend(completer.0.to_be_bytes());
                let low = u16::from(status) << 13 | u16::from(modified) << 12 | byte_count & 0xfff;
                out.extend(low.to_be_bytes());
                out.extend(requester.id.0.to_be_bytes());
                out.extend([requester.tag as u8, lower_address]);
            }
        }
    }
}
