//! Network adapters and their wires.

pub mod client;
pub mod descriptor_ring;
pub mod moderation;
pub mod myrinet;
pub mod nic;
pub mod programmable;
mod receive;
pub mod tcp;
mod transmit;
mod wire;
