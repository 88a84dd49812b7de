//! What each number of each kind of part does to a job: a window for every one of them that what it would be without
//! any effect lies outside of, and a comparison of the lists with the parts themselves.

mod ata_raid;
mod bites;
mod cifs;
mod complete;
mod ide;
mod network;
mod nvme;
mod pci;
mod pcie;
mod raid;
mod sata;
mod scsi;
mod scsi_disk;
mod system;
