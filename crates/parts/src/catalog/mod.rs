//! The one list of what parts there are: the model a data file names, what it plugs into, and how it is built.

mod adapters;
mod buses;
mod cifs;
mod host;
mod ide;
mod pci;
mod plugs;
mod raid;
mod scsi;
mod scsi_disk;
mod sockets;
mod solid_state;
mod system;
mod volume;

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use hopscope_kernel::Sim;

use self::plugs::Plugs;
use crate::parameters::declarations::{Declaration, Declarations};
use crate::parameters::{Parameters, Spec, SpecError};
use crate::protocols::storage::Storage;

pub use plugs::Wires;
pub use sockets::{Protocol, Socket, SocketList};

/// What a part needs to be built, besides its numbers and its plugs.
pub struct Context<'a> {
    /// The simulation.
    pub sim: &'a Sim,
    /// The part's name in the system.
    pub name: &'a str,
    /// Decides all draws.
    pub seed: u64,
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

impl Built {
    /// A part with these sockets.
    fn with(sockets: Vec<(String, Socket)>) -> Built {
        Built { sockets, ..Built::default() }
    }

    /// A driver of these devices.
    fn of(volumes: Volumes) -> Built {
        Built { volumes, ..Built::default() }
    }
}

/// A kind of part.
pub struct Kind {
    /// As `model = "…"` in a part file.
    pub model: &'static str,
    /// What it is, in words.
    pub what: &'static str,
    /// Names and protocols of its sockets.
    pub sockets: fn(&mut Parameters) -> Result<SocketList, SpecError>,
    /// Sockets that must be used.
    pub required: &'static [&'static str],
    /// Builds the part. What the parameters say has been checked by a build before the first run.
    build: &'static dyn Build,
}

impl Kind {
    /// Keys of the wiring, and what they must lead to.
    pub fn plugs(&self) -> &'static [(&'static str, Protocol)] {
        self.build.plugs()
    }

    /// Software is built when all hardware is there.
    pub fn is_software(&self) -> bool {
        self.plugs().iter().any(|(_, protocol)| *protocol == Protocol::Software)
    }

    /// Builds a part of its `numbers`, plugged into `wires`, in the order of the plugs.
    ///
    /// # Errors
    ///
    /// A plug leads to something else, or a number is missing or wrong.
    pub fn build(
        &self,
        context: &Context<'_>,
        numbers: &Numbers,
        wires: Wires,
        p: &mut Parameters,
    ) -> Result<Built, SpecError> {
        self.build.build(context, numbers, wires, p)
    }

    /// Reads the numbers of a part.
    ///
    /// # Errors
    ///
    /// A number is missing or wrong.
    pub fn read(&self, p: &mut Parameters) -> Result<Numbers, SpecError> {
        self.build.read(p)
    }

    /// What files of the kind may say, in the order in which it is read.
    pub fn declarations(&self) -> Vec<Declaration> {
        self.build.declarations()
    }
}

/// The numbers of a part as its kind reads them: most machines that are built differ from another in those of few parts.
#[derive(Clone)]
pub struct Numbers(Arc<dyn Any + Send + Sync>);

/// Builds a part of the numbers of its file and of its plugs; which ones, their types say.
struct Builder<S, P>(fn(&Context<'_>, S, P, &mut Parameters) -> Result<Built, SpecError>);

/// The same for parts of any kind.
trait Build: Sync {
    fn plugs(&self) -> &'static [(&'static str, Protocol)];
    fn declarations(&self) -> Vec<Declaration>;
    fn read(&self, p: &mut Parameters) -> Result<Numbers, SpecError>;
    fn build(
        &self,
        context: &Context<'_>,
        numbers: &Numbers,
        wires: Wires,
        p: &mut Parameters,
    ) -> Result<Built, SpecError>;
}

impl<S: Spec + Clone + Send + Sync + 'static, P: Plugs> Build for Builder<S, P> {
    fn plugs(&self) -> &'static [(&'static str, Protocol)] {
        P::KEYS
    }

    fn declarations(&self) -> Vec<Declaration> {
        Declarations::of::<S>()
    }

    fn read(&self, p: &mut Parameters) -> Result<Numbers, SpecError> {
        Ok(Numbers(Arc::new(S::read(p)?)))
    }

    fn build(
        &self,
        context: &Context<'_>,
        numbers: &Numbers,
        wires: Wires,
        p: &mut Parameters,
    ) -> Result<Built, SpecError> {
        let spec = numbers.0.downcast_ref::<S>().expect("the same kind has read them");
        let plugs = P::take(&mut wires.into_iter(), p)?;
        (self.0)(context, spec.clone(), plugs, p)
    }
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

/// A part that nothing is plugged into.
const NO_SOCKETS: fn(&mut Parameters) -> Result<SocketList, SpecError> = |_| Ok(Vec::new());

/// So many sockets, or protocols of them, that are alike but for their number.
fn numbered<T>(name: &str, count: u64, of: impl Fn(usize) -> T) -> Vec<(String, T)> {
    (0..count as usize).map(|n| (format!("{name}{n}"), of(n))).collect()
}

/// One socket, or its protocol.
fn one<T>(name: &str, of: impl Into<T>) -> Vec<(String, T)> {
    vec![(name.to_string(), of.into())]
}

/// A device whose link does not come up.
fn untrained(p: &Parameters, key: &str, problem: String) -> SpecError {
    p.error(key, problem, "rates are 2.5, 5, 8, 16, 32 or 64 GT/s; links have 1, 2, 4, 8 or 16 lanes")
}

/// The kind that `model` names.
pub fn kind(model: &str) -> Option<&'static Kind> {
    KINDS.iter().copied().find(|kind| kind.model == model)
}
