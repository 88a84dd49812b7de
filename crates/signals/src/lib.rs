//! Buses as an analyzer sees them: one codec a protocol, between what happens on a bus and its pins or packets.
//!
//! The same codec draws what was simulated and reads what was recorded of a real bus, so that one proves the other.
//!
//! - `pcie`: transaction layer packets.

pub mod pcie;

#[cfg(test)]
#[path = "../../machine/tests/all/skipped.rs"]
mod skipped;
