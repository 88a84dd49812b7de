//! Bridges: what joins two buses.

pub mod host;
pub mod ide;
pub mod pci_x;
pub mod pcie_switch;
