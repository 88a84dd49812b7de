//! Network adapters and their wires.

pub mod descriptor_ring;
pub mod moderation;
pub mod myrinet;
pub mod nic;
pub mod programmable;
mod receive;
mod transmit;
mod wire;
