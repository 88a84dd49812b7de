//! SCSI host adapters: the channel that they all have, and the barest of them.

pub mod channel;
pub mod initiator;
