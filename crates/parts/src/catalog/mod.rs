//! The one list of what parts there are: the model a data file names, what it plugs into, and how it is built.

mod adapters;
mod buses;
mod cifs;
mod host;
mod ide;
mod pci;
mod raid;
mod scsi;
mod scsi_disk;
mod sockets;
mod solid_state;
mod system;
mod volume;

use std::rc::Rc;

use hopscope_kernel::Sim;

use crate::parameters::{Parameters, SpecError};
use crate::protocols::storage::Storage;

pub use pci::plug as plug_pci;
pub use sockets::{Protocol, Socket, SocketList};

/// What a part needs to be built.
pub struct Context<'a> {
    /// The simulation.
    pub sim: &'a Sim,
    /// The part's name in the system.
    pub name: &'a str,
    /// Decides all draws.
    pub seed: u64,
    /// What it is plugged into, in the order of the kind's plugs.
    pub plugs: Vec<Socket>,
}

/// Devices that a job can name.
pub type Volumes = Vec<(String, Rc<dyn Storage>)>;

/// Software between the devices and the jobs, from the devices up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Above {
    /// Makes one device of several.
    Volume,
    /// The operating system: every request of a job passes it.
    System,
    /// Another machine asks for what a device of this one has.
    Server,
}

/// What a part makes of the devices below it, by the names that they have. Errors are those of the part's wiring.
pub type Over = Box<dyn FnOnce(Volumes) -> Result<Volumes, SpecError>>;

/// What a part brings.
#[derive(Default)]
pub struct Built {
    /// Its sockets, by name, in the order of the kind's sockets.
    pub sockets: Vec<(String, Socket)>,
    /// Devices that a job can name.
    pub volumes: Volumes,
    /// Such devices that are known only when every part has been built; asked then.
    pub volumes_at_last: Option<Box<dyn FnOnce() -> Volumes>>,
    /// What it makes of the devices of the machine, once all are known: lowest first, else in the order of the file.
    pub over: Option<(Above, Over)>,
}

/// A kind of part.
pub struct Kind {
    /// As `model = "…"` in a part file.
    pub model: &'static str,
    /// What it is, in words.
    pub what: &'static str,
    /// Keys of the wiring, and what they must lead to.
    pub plugs: &'static [(&'static str, Protocol)],
    /// Names and protocols of its sockets.
    pub sockets: fn(&mut Parameters) -> Result<SocketList, SpecError>,
    /// Sockets that must be used.
    pub required: &'static [&'static str],
    /// Software is built when all hardware is there.
    pub software: bool,
    /// Builds the part. What the parameters say has been checked by a build before the first run.
    pub build: fn(Context<'_>, &mut Parameters) -> Result<Built, SpecError>,
}

/// Every kind of part.
pub static KINDS: &[&Kind] = &[
    &host::PROCESSOR,
    &host::HOST_BRIDGE,
    &host::ROOT_COMPLEX,
    &pci::PCI_BUS,
    &pci::IO_HOST,
    &pci::HOST_LINK,
    &pci::PCI_X_BRIDGE,
    &pci::PCI_TO_PCI_BRIDGE,
    &buses::IDE_CABLE,
    &buses::PCIE_LINK,
    &buses::PCIE_SWITCH,
    &buses::SATA_CABLE,
    &ide::IDE_BRIDGE,
    &ide::HARD_DISK,
    &ide::IDE_DRIVER,
    &solid_state::NVME_DRIVE,
    &solid_state::NVME_DRIVER,
    &solid_state::AHCI_ADAPTER,
    &solid_state::SATA_SSD,
    &solid_state::AHCI_DRIVER,
    &adapters::PROGRAMMABLE_ADAPTER,
    &adapters::MYRINET_ADAPTER,
    &adapters::NETWORK_ADAPTER,
    &adapters::NETWORK_ADAPTER_PCI,
    &adapters::NETWORK_DRIVER,
    &adapters::GPU,
    &adapters::GPU_DRIVER,
    &scsi::SCSI_BUS,
    &scsi_disk::SCSI_DISK,
    &scsi::SCSI_INITIATOR,
    &raid::RAID_CONTROLLER,
    &raid::ATA_RAID_CONTROLLER,
    &raid::BLOCK_CARD_DRIVER,
    &scsi::SCSI_ADAPTER,
    &scsi::SCSI_DRIVER,
    &volume::STRIPED_VOLUME,
    &cifs::CIFS_CLIENT,
    &cifs::CIFS_SERVER,
    &system::IO_STACK,
];

/// The ports of a root complex or of a switch.
fn ports(count: u64) -> SocketList {
    (0..count).map(|n| (format!("port{n}"), Protocol::PciePort)).collect()
}

/// A device whose link does not come up.
fn untrained(p: &Parameters, key: &str, problem: String) -> SpecError {
    p.error(key, problem, "rates are 2.5, 5, 8, 16, 32 or 64 GT/s; links have 1, 2, 4, 8 or 16 lanes")
}

/// The kind that `model` names.
pub fn kind(model: &str) -> Option<&'static Kind> {
    KINDS.iter().copied().find(|kind| kind.model == model)
}
