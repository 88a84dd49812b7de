//! Drivers: what an operating system does to a controller, as a list of steps.

pub mod ahci;
pub mod cifs;
pub mod gpu;
pub mod ide;
pub mod nic;
pub mod nvme;
pub mod raid;
pub mod scsi;
pub mod tcp;
