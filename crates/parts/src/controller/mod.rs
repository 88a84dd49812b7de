//! Controllers that a processor speaks to through queues in memory.

pub mod nvme;
pub mod scsi;
