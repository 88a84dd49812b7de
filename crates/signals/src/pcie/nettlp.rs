//! Packets in Ethernet frames, as NetTLP's adapter sends and takes them (Kuga and others, NSDI 2020).
//!
//! ```text
//! Ethernet [VLAN] | IPv4 | UDP, to port 0x3000 + tag | sequence number 2, clock 4 | packet as on the wire
//! ```
//! All numbers are big-endian. The adapter counts and stamps what it takes off PCI Express; of what a program gives it
//! to send both are 0. Checksums are not looked at: the adapter's own are not right.

use std::fmt;
use std::net::Ipv4Addr;

/// Ports of packets: the lower four bits are those of the tag.
pub const PORTS: std::ops::RangeInclusive<u16> = 0x3000..=0x3fff;

const ETHERNET_BYTES: usize = 14;
const UDP_BYTES: usize = 8;
const STAMP_BYTES: usize = 6;
const IPV4: u16 = 0x0800;
const VLAN: [u16; 2] = [0x8100, 0x88a8];
const UDP: u8 = 17;

/// What is around a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Hardware addresses: to, from.
    pub hardware: [[u8; 6]; 2],
    /// Tag of a virtual network, all 16 bits.
    pub vlan: Option<u16>,
    /// From.
    pub source: Ipv4Addr,
    /// To.
    pub destination: Ipv4Addr,
    /// UDP ports: from, to.
    pub ports: [u16; 2],
    /// The adapter counts what it sends.
    pub sequence: u16,
    /// Clocks of the adapter.
    pub clocks: u32,
}

/// Which way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// The adapter took it off PCI Express.
    Taken,
    /// A program gave it to the adapter, which sends it.
    Given,
}

impl Way {
    /// The other one: a completion goes against its request.
    pub fn back(self) -> Way {
        match self {
            Way::Taken => Way::Given,
            Way::Given => Way::Taken,
        }
    }

    /// For tables and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Way::Taken => "taken",
            Way::Given => "given",
        }
    }
}

impl Frame {
    /// Which way the packet went: only the adapter counts and stamps.
    pub fn way(&self) -> Way {
        if (self.sequence, self.clocks) == (0, 0) { Way::Given } else { Way::Taken }
    }
}

/// What is in a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// A packet: what is around it, its bytes as far as they were captured, and how many there were.
    Packet(Frame, &'a [u8], usize),
    /// Something else: the word of what.
    Other(&'static str),
}

/// What the frames of a capture begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Ethernet.
    Ethernet,
    /// IP, with nothing around it.
    Ip,
}

/// A frame is cut within its headers, or contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameError {
    /// Offset of the byte in the frame.
    pub offset: usize,
    /// What is wrong.
    pub what: &'static str,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {} of the frame: {}", self.offset, self.what)
    }
}

impl std::error::Error for FrameError {}

fn two(bytes: &[u8], at: usize) -> Result<u16, FrameError> {
    let cut = FrameError { offset: bytes.len(), what: "the headers are cut" };
    bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]])).ok_or(cut)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], FrameError> {
    let cut = FrameError { offset: bytes.len(), what: "the headers are cut" };
    bytes.get(at..at + N).and_then(|found| found.try_into().ok()).ok_or(cut)
}

/// Finds the packet in a captured frame.
///
/// # Errors
/// Where the frame is cut within its headers, or says that it is shorter than they are.
pub fn read(frame: &[u8], link: Link) -> Result<Found<'_>, FrameError> {
    let (mut at, mut hardware, mut vlan) = (0, [[0; 6]; 2], None);
    if link == Link::Ethernet {
        hardware = [array(frame, 0)?, array(frame, 6)?];
        at = ETHERNET_BYTES;
        let mut kind = two(frame, at - 2)?;
        // Two tags at most: IEEE 802.1ad.
        for _ in 0..2 {
            if VLAN.contains(&kind) {
                vlan = Some(two(frame, at)?);
                kind = two(frame, at + 2)?;
                at += 4;
            }
        }
        if kind != IPV4 {
            return Ok(Found::Other("no IPv4"));
        }
    }
    let [first] = array(frame, at)?;
    if first >> 4 != 4 {
        return Ok(Found::Other("no IPv4"));
    }
    let header = usize::from(first & 0xf) * 4;
    let [protocol] = array(frame, at + 9)?;
    if protocol != UDP {
        return Ok(Found::Other("no UDP"));
    }
    // A flag says that more follow, 13 bits that it is not the first.
    if two(frame, at + 6)? & 0x3fff != 0 {
        return Ok(Found::Other("a piece of an IP packet"));
    }
    if header < 20 {
        return Err(FrameError { offset: at, what: "an IPv4 header of less than 20 bytes" });
    }
    let (source, destination) = (array::<4>(frame, at + 12)?, array::<4>(frame, at + 16)?);
    at += header;
    let ports = [two(frame, at)?, two(frame, at + 2)?];
    if !PORTS.contains(&ports[1]) {
        return Ok(Found::Other("another port"));
    }
    let length = usize::from(two(frame, at + 4)?);
    let whole = length.checked_sub(UDP_BYTES + STAMP_BYTES);
    let whole = whole.ok_or(FrameError { offset: at + 4, what: "UDP data of less than 6 bytes" })?;
    at += UDP_BYTES;
    let frame_of = Frame {
        hardware,
        vlan,
        source: source.into(),
        destination: destination.into(),
        ports,
        sequence: two(frame, at)?,
        clocks: u32::from_be_bytes(array(frame, at + 2)?),
    };
    at += STAMP_BYTES;
    // What follows fills an Ethernet frame up to its least length.
    Ok(Found::Packet(frame_of, &frame[at..frame.len().min(at + whole)], whole))
}

/// An Ethernet frame around a packet: the way back of [`read`]. The UDP checksum is 0, which says that there is none.
///
/// # Errors
/// Where the packet is longer than one IP packet.
pub fn write(frame: &Frame, packet: &[u8]) -> Result<Vec<u8>, FrameError> {
    let udp = UDP_BYTES + STAMP_BYTES + packet.len();
    let too_long = FrameError { offset: 0, what: "the packet is longer than one IP packet" };
    let (ip_length, udp_length) = match (u16::try_from(udp + 20), u16::try_from(udp)) {
        (Ok(ip), Ok(udp)) => (ip, udp),
        _ => return Err(too_long),
    };
    let mut out: Vec<u8> = frame.hardware.concat();
    if let Some(vlan) = frame.vlan {
        out.extend([VLAN[0], vlan].map(u16::to_be_bytes).concat());
    }
    out.extend(IPV4.to_be_bytes());
    let mut ip = [0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, UDP, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    ip[2..4].copy_from_slice(&ip_length.to_be_bytes());
    ip[12..16].copy_from_slice(&frame.source.octets());
    ip[16..20].copy_from_slice(&frame.destination.octets());
    let sum: u32 = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    // RFC 791: the ones' complement of the ones' complement sum. Ten words carry once, and once again at most.
    let folded = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!((folded & 0xffff) + (folded >> 16)) as u16).to_be_bytes());
    out.extend(ip);
    out.extend([frame.ports[0], frame.ports[1], udp_length, 0].map(u16::to_be_bytes).concat());
    out.extend(frame.sequence.to_be_bytes());
    out.extend(frame.clocks.to_be_bytes());
    out.extend(packet);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(sequence: u16, clocks: u32, vlan: Option<u16>) -> Frame {
        let (source, destination) = (Ipv4Addr::new(192, 168, 10, 1), Ipv4Addr::new(192, 168, 10, 3));
        Frame { hardware: [[255; 6], [2; 6]], vlan, source, destination, ports: [0x3007; 2], sequence, clocks }
    }

    #[test]
    fn only_what_the_adapter_takes_is_counted_and_stamped() {
        assert_eq!([frame(3, 9, None).way(), frame(0, 0, None).way()], [Way::Taken, Way::Given]);
        assert_eq!(Way::Given.back(), Way::Taken);
    }

    #[test]
    fn what_fills_a_frame_up_is_no_part_of_its_packet() {
        let mut bytes = write(&frame(1, 2, Some(100)), &[7; 12]).unwrap();
        bytes.extend([0; 20]);
        assert_eq!(read(&bytes, Link::Ethernet), Ok(Found::Packet(frame(1, 2, Some(100)), &[7; 12], 12)));
        let cut = &bytes[..bytes.len() - 25];
        assert_eq!(read(cut, Link::Ethernet), Ok(Found::Packet(frame(1, 2, Some(100)), &[7; 7], 12)));
        let without = Frame { hardware: [[0; 6]; 2], vlan: None, ..frame(1, 2, None) };
        assert_eq!(read(&bytes[18..], Link::Ip), Ok(Found::Packet(without, &[7; 12], 12)));
    }

    #[test]
    fn the_header_has_the_checksum_of_rfc_791() {
        let bytes = write(&frame(0, 0, None), &[]).unwrap();
        let sum: u32 = bytes[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }

    #[test]
    fn what_is_something_else_is_said() {
        let bytes = write(&Frame { ports: [53, 53], ..frame(0, 0, None) }, &[0; 12]).unwrap();
        assert_eq!(read(&bytes, Link::Ethernet), Ok(Found::Other("another port")));
        assert_eq!(read(&[0; 14], Link::Ethernet), Ok(Found::Other("no IPv4")));
        let error = read(&bytes[..30], Link::Ethernet).unwrap_err();
        assert_eq!(error.to_string(), "byte 30 of the frame: the headers are cut");
        assert!(write(&frame(0, 0, None), &[0; 65_536]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            bytes in prop::collection::vec(any::<u8>(), 0..1500),
            (vlan, sequence, clocks) in (any::<Option<u16>>(), any::<u16>(), any::<u32>()),
        ) {
            let frame = frame(sequence, clocks, vlan);
            let written = write(&frame, &bytes).unwrap();
            prop_assert_eq!(read(&written, Link::Ethernet), Ok(Found::Packet(frame, &bytes[..], bytes.len())));
        }

        #[test]
        fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..80), at in 0usize..80) {
            let _ = (read(&bytes, Link::Ethernet), read(&bytes, Link::Ip));
            let whole = write(&frame(1, 2, None), &[1; 20]).unwrap();
            bytes.splice(0..0, whole[..at.min(whole.len())].iter().copied());
            let _ = read(&bytes, Link::Ethernet);
        }
    }
}
