//! Models of I/O parts. Each is built from a `Spec` (numbers from data), its lanes, queues and processes, and
//! the interface it offers to others through a protocol.

pub mod accelerator;
pub mod bridge;
pub mod bus;
pub mod catalog;
pub mod controller;
pub mod cpu;
pub mod declared;
pub mod disk;
pub mod driver;
pub mod flash;
pub mod nearest;
pub mod network;
pub mod parameters;
pub mod protocols;
pub mod system;
pub mod volume;
pub mod workload;
