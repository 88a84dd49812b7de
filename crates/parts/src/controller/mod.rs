//! Controllers that a processor speaks to through queues in memory.

pub mod ata;
pub mod fifo;
pub mod nvme;
pub mod raid;
pub mod scsi;
