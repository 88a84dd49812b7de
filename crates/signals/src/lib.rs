//! Buses as an analyzer sees them: one codec a protocol, between what happens on a bus and its pins or packets.
//!
//! The same codec draws what was simulated and reads what was recorded of a real bus, so that one proves the other.
//!
//! - `pci`: conventional PCI, clock by clock.
//! - `content`: what lies in memory.
//! - `ide`: a cable of the AT Attachment, edge by edge.
//! - `pcie`: transaction layer packets.
//! - `timeline`: files of timelines.
//! - `waves`: files of waveforms. `waveform`: one of them followed to its end, whatever buses are in it.
//! - `recording`: what a file is, by how it begins.

pub mod content;
pub mod ide;
pub mod pci;
pub mod pcie;
pub mod recording;
pub mod timeline;
pub mod waveform;
pub mod waves;

#[cfg(test)]
#[path = "../../questions/tests/all/skipped.rs"]
mod skipped;
