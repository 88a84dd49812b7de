//! What parts offer one another, and what goes in there.

use std::rc::Rc;

use crate::accelerator::gpu::Gpu;
use crate::bridge::host::HostBridge;
use crate::bridge::ide::IdeBridge;
use crate::bridge::pci_x::path::Path;
use crate::bridge::pci_x::port::Port;
use crate::bridge::pci_x::slot::Slot;
use crate::bus::ide_cable::IdeCable;
use crate::bus::pcie::DownstreamPort;
use crate::bus::pcie::Link;
use crate::bus::sata::SataCable;
use crate::bus::scsi::ScsiBus;
use crate::controller::ahci::Ahci;
use crate::controller::ata::AtaChannel;
use crate::controller::block_card::BlockCard;
use crate::controller::nvme::Controller;
use crate::controller::scsi::adapter::Adapter as ScsiAdapter;
use crate::controller::scsi::channel::Channel;
use crate::cpu::Processor;
use crate::network::client::Client;
use crate::network::nic::Adapter;

/// What one part offers to another.
#[derive(Clone)]
pub enum Socket {
    /// A processor's bus.
    ProcessorBus(Rc<Processor>),
    /// Where software runs.
    Software(Rc<Processor>),
    /// A host bridge's side of a PCI bus.
    HostPci(Rc<HostBridge>),
    /// A port of a host with memory, or the far end of a link from there.
    HostPort(Path),
    /// A PCI side of a bridge with buffers.
    BridgePci(Rc<Port>),
    /// A connector of a PCI bus.
    PciSlot(Slot),
    /// A channel of an IDE bridge, by number.
    IdeChannel(Rc<IdeBridge>, usize),
    /// A channel of a card with ATA channels.
    AtaChannel(Rc<AtaChannel>),
    /// A connector of an IDE cable, by drive number.
    IdeDrive(Rc<IdeCable>, usize),
    /// Registers of an IDE bridge, for a driver.
    IdeRegisters(Rc<IdeBridge>),
    /// A PCI Express port that leads away from the host.
    PciePort(Rc<DownstreamPort>),
    /// The far end of a PCI Express link.
    PcieDevice(Rc<Link>),
    /// Registers of an NVM Express drive, for a driver.
    NvmeRegisters(Rc<Controller>),
    /// A port of an AHCI adapter, by number.
    SataPort(Rc<Ahci>, usize),
    /// The far end of a Serial ATA cable.
    SataDrive(Rc<SataCable>),
    /// Registers of an AHCI adapter, for a driver.
    AhciRegisters(Rc<Ahci>),
    /// Registers of a network adapter, for a driver.
    NicRegisters(Rc<Adapter>),
    /// A network adapter's wire.
    Ethernet(Rc<Adapter>),
    /// An outer machine that asks for what is on this one.
    CifsClient(Rc<Client>),
    /// Registers of a GPU, for a driver.
    GpuRegisters(Rc<Gpu>),
    /// A channel of a SCSI host adapter.
    ScsiBus(Rc<Channel>),
    /// A drive's place on a SCSI bus, by id.
    ScsiTarget(Rc<ScsiBus>, usize),
    /// Registers of a storage card that takes whole commands.
    BlockCard(Rc<dyn BlockCard>),
    /// Registers of a SCSI host adapter, for a driver.
    ScsiRegisters(Rc<ScsiAdapter>),
}

/// What goes into a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A processor's front side bus.
    ProcessorBus,
    /// Software on a processor; takes any number of parts.
    Software,
    /// A port of a host with memory, for a link or a bridge.
    HostPort,
    /// A bridge's PCI side.
    HostPci,
    /// A PCI card or chip.
    Pci,
    /// An IDE cable.
    IdeChannel,
    /// An IDE drive.
    IdeDrive,
    /// An IDE driver.
    IdeRegisters,
    /// A PCI Express link.
    PciePort,
    /// A PCI Express card, chip or switch.
    PcieDevice,
    /// An NVM Express driver.
    NvmeRegisters,
    /// A Serial ATA cable.
    SataPort,
    /// A Serial ATA drive.
    SataDrive,
    /// An AHCI driver.
    AhciRegisters,
    /// A network driver.
    NicRegisters,
    /// A machine at the other end of a wire.
    Ethernet,
    /// A file server.
    CifsClient,
    /// A GPU's driver.
    GpuRegisters,
    /// A SCSI bus.
    ScsiBus,
    /// A SCSI drive.
    ScsiTarget,
    /// A driver of a storage card that takes whole commands.
    BlockCard,
    /// A SCSI driver.
    ScsiRegisters,
}

impl Protocol {
    /// In words, for errors.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::ProcessorBus => "a processor bus",
            Protocol::Software => "software on a processor",
            Protocol::HostPort => "a port of a host",
            Protocol::HostPci => "the PCI side of a bridge",
            Protocol::Pci => "a PCI slot",
            Protocol::IdeChannel => "an IDE channel",
            Protocol::IdeDrive => "a drive connector of an IDE cable",
            Protocol::IdeRegisters => "the registers of an IDE bridge",
            Protocol::PciePort => "a PCI Express port",
            Protocol::PcieDevice => "the far end of a PCI Express link",
            Protocol::NvmeRegisters => "the registers of an NVM Express drive",
            Protocol::SataPort => "a port of an AHCI adapter",
            Protocol::SataDrive => "the far end of a Serial ATA cable",
            Protocol::AhciRegisters => "the registers of an AHCI adapter",
            Protocol::NicRegisters => "the registers of a network adapter",
            Protocol::Ethernet => "the wire of a network adapter",
            Protocol::CifsClient => "the server of a CIFS client",
            Protocol::GpuRegisters => "the registers of a GPU",
            Protocol::ScsiBus => "a channel of a SCSI host adapter",
            Protocol::ScsiTarget => "an id of a SCSI bus",
            Protocol::BlockCard => "the registers of a storage card",
            Protocol::ScsiRegisters => "the registers of a SCSI host adapter",
        }
    }

    /// Whether more than one part may use one socket.
    pub fn shared(self) -> bool {
        self == Protocol::Software
    }
}

/// Names and protocols of sockets.
pub type SocketList = Vec<(String, Protocol)>;
