//! Bridges: what joins two buses.

pub mod host;
pub mod ide;
