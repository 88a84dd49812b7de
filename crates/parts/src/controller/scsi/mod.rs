//! SCSI host adapters: the channel that they all have, one on PCI, and the barest of them.

pub mod adapter;
pub mod channel;
pub mod initiator;
