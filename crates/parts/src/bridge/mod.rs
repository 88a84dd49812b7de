//! Bridges: what joins two buses.

pub mod ahci;
pub mod host;
pub mod ide;
pub mod iommu;
pub mod pci_x;
pub mod pcie_switch;
pub mod root_complex;
