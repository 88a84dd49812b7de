//! Captured frames, one after the other, from a pcap file of any length.

use std::fmt;
use std::io::{self, Read};

use pcap_parser::nom;
use pcap_parser::{Linktype, PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header};

use super::nettlp::Link;

const FILE_HEADER_BYTES: usize = 24;
const FRAME_HEADER_BYTES: usize = 16;
/// No link that this reads has longer frames; a longer one says that the file is damaged.
const FRAME_BYTES_MAX: usize = 1 << 18;

/// Whether a file that begins so is a pcap file, of either byte order, with stamps in microseconds or nanoseconds.
pub fn is_pcap(first: &[u8]) -> bool {
    let magic = |bytes: [u8; 4]| matches!(u32::from_be_bytes(bytes), 0xa1b2_c3d4 | 0xa1b2_3c4d);
    first.first_chunk().is_some_and(|&bytes| {
        let mut turned = bytes;
        turned.reverse();
        magic(bytes) || magic(turned)
    })
}

/// Why a file has no more frames, although it has not ended.
#[derive(Debug)]
pub enum PcapError {
    /// It is not a pcap file, or one of a link that is not read.
    Not(String),
    /// It ends within a frame (counted from 1), or within its own header (0), which begins at this byte.
    Cut {
        /// Of the frame.
        frame: u64,
        /// Of its first byte.
        offset: u64,
    },
    /// A frame (counted from 1) that cannot be, and its first byte.
    Damaged {
        /// Of the frame.
        frame: u64,
        /// Of its first byte.
        offset: u64,
        /// Bytes that it claims to have.
        bytes: u64,
    },
    /// It cannot be read.
    Io(io::Error),
}

impl fmt::Display for PcapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PcapError::Not(what) => f.write_str(what),
            PcapError::Cut { frame: 0, .. } => f.write_str("the file is cut within its header"),
            PcapError::Cut { frame, offset } => {
                write!(f, "the file is cut within frame {frame}, which begins at byte {offset}")
            }
            PcapError::Damaged { frame, offset, bytes } => {
                write!(f, "frame {frame} at byte {offset} claims to have {bytes} bytes: the file is damaged there")
            }
            PcapError::Io(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

impl std::error::Error for PcapError {}

/// A captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Nanoseconds since 1970.
    pub stamp_ns: u64,
    /// As much of it as was kept.
    pub bytes: &'a [u8],
    /// Bytes that it had.
    pub whole: u32,
}

/// A pcap file that is being read. It holds one frame.
pub struct Pcap<R> {
    input: R,
    header: PcapHeader,
    link: Link,
    buffer: Vec<u8>,
    frame: u64,
    offset: u64,
}

impl<R: Read> Pcap<R> {
    /// Reads the file's header.
    ///
    /// # Errors
    /// Where it is no pcap file, or one of frames that are neither Ethernet nor IP.
    pub fn open(mut input: R) -> Result<Pcap<R>, PcapError> {
        let mut buffer = Vec::with_capacity(1 << 12);
        fill(&mut input, &mut buffer, FILE_HEADER_BYTES)?;
        if buffer.len() < FILE_HEADER_BYTES && (buffer.is_empty() || !is_pcap(&buffer)) {
            return Err(PcapError::Not("it is not a pcap file".to_string()));
        }
        if buffer.len() < FILE_HEADER_BYTES {
            return Err(PcapError::Cut { frame: 0, offset: 0 });
        }
        let not = || PcapError::Not("it is not a pcap file".to_string());
        let (_, header) = parse_pcap_header(&buffer).map_err(|_| not())?;
        let link = match header.network {
            Linktype::ETHERNET => Link::Ethernet,
            Linktype::RAW | Linktype::IPV4 => Link::Ip,
            Linktype(number) => {
                let what = format!("its frames are of link type {number}; expected 1 (Ethernet) or 101 (IP)");
                return Err(PcapError::Not(what));
            }
        };
        Ok(Pcap { input, header, link, buffer, frame: 0, offset: FILE_HEADER_BYTES as u64 })
    }

    /// What its frames begin with.
    pub fn link(&self) -> Link {
        self.link
    }

    /// The next frame; nothing at the file's end.
    ///
    /// # Errors
    /// Where the file is cut or damaged. Nothing is to be read behind that.
    pub fn next_frame(&mut self) -> Result<Option<Captured<'_>>, PcapError> {
        self.buffer.clear();
        fill(&mut self.input, &mut self.buffer, FRAME_HEADER_BYTES)?;
        if self.buffer.is_empty() {
            return Ok(None);
        }
        self.frame += 1;
        let (frame, offset) = (self.frame, self.offset);
        let cut = PcapError::Cut { frame, offset };
        let Some(length) = self.buffer.get(8..12).and_then(|bytes| bytes.try_into().ok()) else { return Err(cut) };
        let big = self.header.is_bigendian();
        let length = if big { u32::from_be_bytes(length) } else { u32::from_le_bytes(length) } as usize;
        if length > FRAME_BYTES_MAX {
            return Err(PcapError::Damaged { frame, offset, bytes: length as u64 });
        }
        fill(&mut self.input, &mut self.buffer, FRAME_HEADER_BYTES + length)?;
        let parse = if big { parse_pcap_frame_be } else { parse_pcap_frame };
        let block = match parse(&self.buffer) {
            Ok((_, block)) => block,
            Err(nom::Err::Incomplete(_)) => return Err(cut),
            Err(_) => return Err(PcapError::Damaged { frame, offset, bytes: length as u64 }),
        };
        self.offset += (FRAME_HEADER_BYTES + length) as u64;
        let fraction = u64::from(block.ts_usec) * if self.header.is_nanosecond_precision() { 1 } else { 1_000 };
        let stamp_ns = u64::from(block.ts_sec) * 1_000_000_000 + fraction;
        Ok(Some(Captured { number: frame, stamp_ns, bytes: block.data, whole: block.origlen }))
    }
}

/// Reads on until there are so many bytes, or no more.
fn fill(input: &mut impl Read, buffer: &mut Vec<u8>, bytes: usize) -> Result<(), PcapError> {
    let wanted = bytes.saturating_sub(buffer.len()) as u64;
    input.by_ref().take(wanted).read_to_end(buffer).map(drop).map_err(PcapError::Io)
}

/// The header of a file of Ethernet frames with stamps in nanoseconds.
#[cfg(test)]
pub fn header_for_tests(big: bool) -> Vec<u8> {
    let words = |four: [u32; 6]| four.map(|word| if big { word.to_be_bytes() } else { word.to_le_bytes() }).concat();
    let version = if big { 0x0002_0004 } else { 0x0004_0002 };
    words([0xa1b2_3c4d, version, 0, 0, 128, 1])
}

/// A frame with its header.
#[cfg(test)]
pub fn frame_for_tests(big: bool, stamp_ns: u64, bytes: &[u8]) -> Vec<u8> {
    let (seconds, rest) = ((stamp_ns / 1_000_000_000) as u32, (stamp_ns % 1_000_000_000) as u32);
    let words = [seconds, rest, bytes.len() as u32, bytes.len() as u32];
    let mut out = words.map(|word| if big { word.to_be_bytes() } else { word.to_le_bytes() }).concat();
    out.extend(bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8]) -> (Vec<(u64, Vec<u8>)>, Option<String>) {
        let mut found = Vec::new();
        let mut pcap = match Pcap::open(bytes) {
            Ok(pcap) => pcap,
            Err(error) => return (found, Some(error.to_string())),
        };
        loop {
            match pcap.next_frame() {
                Ok(Some(frame)) => found.push((frame.stamp_ns, frame.bytes.to_vec())),
                Ok(None) => return (found, None),
                Err(error) => return (found, Some(error.to_string())),
            }
        }
    }

    #[test]
    fn both_byte_orders_are_read_and_a_cut_says_where() {
        for big in [false, true] {
            let mut file = header_for_tests(big);
            file.extend(frame_for_tests(big, 5_000_000_007, &[1, 2, 3]));
            file.extend(frame_for_tests(big, 5_000_000_009, &[]));
            let whole = vec![(5_000_000_007, vec![1, 2, 3]), (5_000_000_009, vec![])];
            assert!(is_pcap(&file));
            assert_eq!(all(&file), (whole.clone(), None));
            file.extend([0; 9]);
            let cut = "the file is cut within frame 3, which begins at byte 59".to_string();
            assert_eq!(all(&file), (whole, Some(cut)));
            assert_eq!(all(&file[..42]).1.unwrap(), "the file is cut within frame 1, which begins at byte 24");
        }
    }

    #[test]
    fn microseconds_are_microseconds() {
        let mut file = header_for_tests(false);
        file[..4].copy_from_slice(&0xa1b2_c3d4_u32.to_le_bytes());
        file.extend(frame_for_tests(false, 1_000_000_007, &[]));
        assert_eq!(all(&file).0, [(1_000_007_000, vec![])]);
    }

    #[test]
    fn what_is_no_pcap_file_and_what_cannot_be_a_frame_are_said() {
        assert_eq!(all(b"").1.unwrap(), "it is not a pcap file");
        assert_eq!(all(&[b'$'; 100]).1.unwrap(), "it is not a pcap file");
        assert_eq!(all(&header_for_tests(true)[..20]).1.unwrap(), "the file is cut within its header");
        let mut file = header_for_tests(false);
        file.extend([0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 127, 0, 0, 0, 0]);
        assert!(all(&file).1.unwrap().contains("claims to have 2147483647 bytes"), "{:?}", all(&file));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(big in any::<bool>(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = all(&bytes);
            let _ = all(&[header_for_tests(big), bytes].concat());
        }
    }
}
