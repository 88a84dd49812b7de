//! What a recording is that somebody has, by how it begins and not by its name.

use crate::pcie::pcap::is_pcap;
use crate::waves::capture;

/// Bytes that tell what a file is.
pub const TELLING_BYTES: u64 = capture::TELLING_BYTES;

/// A kind of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A waveform, in a file of this kind.
    Waveform(capture::Kind),
    /// A pcap file of packets.
    Packets,
}

impl Kind {
    /// What a file is that begins so; what it is instead, where it is not read.
    pub fn of(first: &[u8]) -> Result<Kind, &'static str> {
        if is_pcap(first) {
            return Ok(Kind::Packets);
        }
        if first.is_empty() {
            return Err("the file is empty");
        }
        // What it begins with is a blank line, too, as a value change dump may have it.
        if first.starts_with(PCAPNG) {
            return Err("it is a pcapng file, which is not read: `editcap -F nsecpcap` makes a pcap file of it");
        }
        let waveform = capture::Kind::of(first).map(Kind::Waveform);
        waveform.ok_or("it begins neither as a waveform does nor as a pcap file")
    }
}

const PCAPNG: &[u8] = &[0x0a, 0x0d, 0x0d, 0x0a];
