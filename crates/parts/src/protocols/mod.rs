//! What parts know of each other: one file a protocol, its transactions, its phases, and the trait of whoever answers.

pub mod ide;
pub mod nvme;
pub mod pci;
pub mod pcie;
pub mod sata;
pub mod scsi;
pub mod smb;
pub mod storage;
