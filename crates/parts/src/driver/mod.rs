//! Drivers: what an operating system does to a controller, as a list of steps.

pub mod ahci;
pub mod cifs;
pub mod doorbell;
pub mod gpu;
pub mod ide;
pub mod nic;
pub mod nvme;
pub mod raid;
pub mod requests;
pub mod scsi;
pub mod submission;
pub mod tcp;

use hopscope_declare::Spec;

use crate::parameters::{Parameters, SpecError};
use crate::protocols::pcie::Home;

/// Where a driver's file says that its data are.
#[derive(Clone, Debug, PartialEq, Spec)]
struct Data {
    /// Whether a device finds the driver's data in the last-level cache, or in memory.
    #[choice("data", "memory" => false, "cache" => true)]
    cached: bool,
    /// Whether the driver's memory is that of the socket where the device is, or of the other one.
    #[choice("memory", "local" => false, "remote" => true)]
    remote: bool,
}

/// Where buffers lie in the host.
pub fn home(p: &mut Parameters) -> Result<Home, SpecError> {
    let Data { cached, remote } = Data::read(p)?;
    Ok(Home { cached, remote })
}
