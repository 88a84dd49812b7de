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
pub mod tcp;

use crate::parameters::{Parameters, SpecError};
use crate::protocols::pcie::Home;

/// Where buffers lie in the host.
pub fn home(p: &mut Parameters) -> Result<Home, SpecError> {
    Ok(Home { cached: cached(p)?, remote: remote(p)? })
}

/// Whether the driver's memory is that of the other socket.
fn remote(p: &mut Parameters) -> Result<bool, SpecError> {
    choice(p, "memory", ["remote", "local"])
}

/// Whether a device finds the driver's data in the last-level cache.
fn cached(p: &mut Parameters) -> Result<bool, SpecError> {
    choice(p, "data", ["cache", "memory"])
}

/// Whether the first of two words is written.
fn choice(p: &mut Parameters, key: &str, words: [&str; 2]) -> Result<bool, SpecError> {
    let written = p.text(key)?;
    match words.iter().position(|word| *word == written) {
        Some(position) => Ok(position == 0),
        None => {
            let help = format!("expected \"{}\" or \"{}\"", words[1], words[0]);
            Err(p.error(key, format!("`{written}` is no such choice"), help))
        }
    }
}
