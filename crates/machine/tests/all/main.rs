//! Tests of the crate as others use it, in one program: linking is most of what they cost.

mod account;
mod convergence;
mod drivers;
mod flash;
mod lives;
mod machines;
mod measured;
mod mixes;
mod nvme;
mod paces;
mod paces_of_drives;
mod pci_x;
mod pcie;
mod raid;
mod random_machines;
mod readers;
mod replay;
mod sata;
mod schemas;
mod scsi;
mod scsi_disk;
mod targets;
mod trains;
mod whatif;
mod withstand;
