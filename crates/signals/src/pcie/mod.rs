//! PCI Express on the wire: transaction layer packets, and what they add up to.
