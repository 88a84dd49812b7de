//! Network adapters and their wires.

pub mod programmable;
