//! Controllers that a processor speaks to through queues in memory.

pub mod ahci;
pub mod ata;
pub mod block_card;
pub mod fifo;
pub mod finished;
pub mod nvme;
pub mod raid;
pub mod scsi;
