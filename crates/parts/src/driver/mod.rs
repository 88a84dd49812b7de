//! Drivers: what an operating system does to a controller, as a list of steps.

pub mod ahci;
pub mod ide;
pub mod nvme;
