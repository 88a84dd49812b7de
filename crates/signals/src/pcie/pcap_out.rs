//! Writes packets as a pcap file: frames of NetTLP's adapter, with stamps in nanoseconds.

use std::io::{self, Write};

use super::nettlp::{self, Frame, Way};
use super::tlp::{Body, Tlp};

/// Little-endian, stamps in nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: u32 = 0x0004_0002;
const SNAPLEN: u32 = 65_535;
const ETHERNET: u32 = 1;

/// A file that is being written.
pub struct PcapFile<W: Write> {
    out: W,
    taken: u16,
}

impl<W: Write> PcapFile<W> {
    /// Begins a file.
    pub fn new(mut out: W) -> io::Result<PcapFile<W>> {
        for word in [MAGIC, VERSION, 0, 0, SNAPLEN, ETHERNET] {
            out.write_all(&word.to_le_bytes())?;
        }
        Ok(PcapFile { out, taken: 0 })
    }

    /// A packet that began at `at_ns`: what a device sends is taken off the link, what it gets is given to it.
    pub fn packet(&mut self, at_ns: u64, way: Way, tlp: &Tlp<'_>) -> io::Result<()> {
        let (sequence, clocks) = match way {
            Way::Given => (0, 0),
            Way::Taken => {
                // The adapter counts what it takes, and both zero says that it did not.
                self.taken = self.taken.checked_add(1).unwrap_or(1);
                (self.taken, at_ns as u32)
            }
        };
        let tag = match tlp.body {
            Body::Memory { requester, .. } | Body::Completion { requester, .. } => requester.tag,
            _ => 0,
        };
        let mut ends = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
        let mut hardware = [[2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]];
        if way == Way::Given {
            ends.reverse();
            hardware.reverse();
        }
        let port = nettlp::PORTS.start() + (tag & 0xf);
        let [source, destination] = ends;
        let frame = Frame { hardware, vlan: None, source, destination, ports: [port; 2], sequence, clocks };
        let unwritable = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
        let packet = tlp.encode().map_err(|error| unwritable(&error))?;
        let bytes = nettlp::write(&frame, &packet).map_err(|error| unwritable(&error))?;
        let (seconds, rest) = ((at_ns / 1_000_000_000) as u32, (at_ns % 1_000_000_000) as u32);
        for word in [seconds, rest, bytes.len() as u32, bytes.len() as u32] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.write_all(&bytes)
    }

    /// Ends the file.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}
