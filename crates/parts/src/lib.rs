//! Models of I/O parts. Each is built from a `Spec` (numbers from data), its lanes, queues and processes, and
//! the interface it offers to others through a protocol.

pub mod accelerator;
pub mod attachment;
pub mod bridge;
pub mod bus;
pub mod catalog;
mod chance;
pub mod controller;
pub mod cpu;
pub mod disk;
pub mod driver;
pub mod flash;
pub mod nearest;
pub mod network;
pub mod parameters;
pub mod protocols;
pub mod requests;
pub mod system;
pub mod volume;
pub mod workload;
