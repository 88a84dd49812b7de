//! Buses and cables.

pub mod ide_cable;
pub mod pci;
pub mod pcie;
pub mod sata;
pub mod scsi;
