//! What parts offer one another, and what goes in there.

use std::rc::Rc;

use crate::accelerator::gpu::Gpu;
use crate::bridge::host::HostBridge;
use crate::bridge::ide::IdeBridge;
use crate::bridge::pci_x::path::Path;
use crate::bridge::pci_x::port::Port;
use crate::bridge::pci_x::slot::Slot;
use crate::bus::ide_cable::IdeCable;
use crate::bus::pcie::{DownstreamPort, Link};
use crate::bus::sata::SataCable;
use crate::bus::scsi::ScsiBus as Scsi;
use crate::controller::ahci::Ahci;
use crate::controller::nvme::Controller;
use crate::controller::scsi::adapter::Adapter as ScsiAdapter;
use crate::controller::scsi::channel::Channel;
use crate::controller::{ata, block_card};
use crate::cpu::Processor;
use crate::network::client::Client;
use crate::network::nic::Adapter;

/// A socket of one protocol, typed.
pub trait Typed: Sized {
    /// What goes in there.
    const PROTOCOL: Protocol;

    /// Itself, where the socket is of its protocol.
    fn of(socket: Socket) -> Option<Self>;
}

/// Each protocol once: what a socket of it is, and its name in errors.
macro_rules! protocols {
    ($($(#[$what:meta])* $name:ident($($of:ty),*) = $words:literal;)*) => {
        /// What goes into a socket.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Protocol {
            $($(#[$what])* $name,)*
        }

        impl Protocol {
            /// In words, for errors.
            pub fn name(self) -> &'static str {
                match self {
                    $(Protocol::$name => $words,)*
                }
            }
        }

        /// What one part offers to another.
        #[derive(Clone)]
        pub enum Socket {
            $($(#[$what])* $name($name),)*
        }

        impl Socket {
            /// What goes in there.
            pub fn protocol(&self) -> Protocol {
                match self {
                    $(Socket::$name(_) => Protocol::$name,)*
                }
            }
        }

        $(
            $(#[$what])*
            #[derive(Clone)]
            pub struct $name($(pub $of),*);

            impl Typed for $name {
                const PROTOCOL: Protocol = Protocol::$name;

                fn of(socket: Socket) -> Option<$name> {
                    match socket {
                        Socket::$name(of) => Some(of),
                        _ => None,
                    }
                }
            }

            impl From<$name> for Socket {
                fn from(of: $name) -> Socket {
                    Socket::$name(of)
                }
            }
        )*
    };
}

protocols! {
    /// A processor's front side bus.
    ProcessorBus(Rc<Processor>) = "a processor bus";
    /// Where software runs; takes any number of parts.
    Software(Rc<Processor>) = "software on a processor";
    /// A port of a host with memory, or the far end of a link from there: for a link or a bridge.
    HostPort(Path) = "a port of a host";
    /// A bridge's PCI side.
    HostPci(PciSide) = "the PCI side of a bridge";
    /// A connector of a PCI bus, for a card or a chip.
    Pci(Slot) = "a PCI slot";
    /// A channel for an IDE cable.
    IdeChannel(Channels) = "an IDE channel";
    /// A connector of an IDE cable, by drive number.
    IdeDrive(Rc<IdeCable>, usize) = "a drive connector of an IDE cable";
    /// Registers of an IDE bridge, for a driver.
    IdeRegisters(Rc<IdeBridge>) = "the registers of an IDE bridge";
    /// A PCI Express port that leads away from the host, for a link.
    PciePort(Rc<DownstreamPort>) = "a PCI Express port";
    /// The far end of a PCI Express link, for a card, a chip or a switch.
    PcieDevice(Rc<Link>) = "the far end of a PCI Express link";
    /// Registers of an NVM Express drive, for a driver.
    NvmeRegisters(Rc<Controller>) = "the registers of an NVM Express drive";
    /// A port of an AHCI adapter, by number, for a Serial ATA cable.
    SataPort(Rc<Ahci>, usize) = "a port of an AHCI adapter";
    /// The far end of a Serial ATA cable, for a drive.
    SataDrive(Rc<SataCable>) = "the far end of a Serial ATA cable";
    /// Registers of an AHCI adapter, for a driver.
    AhciRegisters(Rc<Ahci>) = "the registers of an AHCI adapter";
    /// Registers of a network adapter, for a driver.
    NicRegisters(Rc<Adapter>) = "the registers of a network adapter";
    /// A network adapter's wire, for a machine at its other end.
    Ethernet(Rc<Adapter>) = "the wire of a network adapter";
    /// An outer machine that asks a file server for what is on this one.
    CifsClient(Rc<Client>) = "the server of a CIFS client";
    /// Registers of a GPU, for a driver.
    GpuRegisters(Rc<Gpu>) = "the registers of a GPU";
    /// A channel of a SCSI host adapter, for a bus.
    ScsiBus(Rc<Channel>) = "a channel of a SCSI host adapter";
    /// A drive's place on a SCSI bus, by id.
    ScsiTarget(Rc<Scsi>, usize) = "an id of a SCSI bus";
    /// Registers of a storage card that takes whole commands, for a driver.
    BlockCard(Rc<dyn block_card::BlockCard>) = "the registers of a storage card";
    /// Registers of a SCSI host adapter, for a driver.
    ScsiRegisters(Rc<ScsiAdapter>) = "the registers of a SCSI host adapter";
}

impl Protocol {
    /// Whether more than one part may use one socket.
    pub fn shared(self) -> bool {
        self == Protocol::Software
    }

    /// What is wrong with a plug of this protocol at `target`, which is something else.
    pub fn refuses(self, target: &str, what: &str) -> String {
        format!("`{target}` is {what}, but {} is needed", self.name())
    }
}

/// A bridge's side of a PCI bus.
#[derive(Clone)]
pub enum PciSide {
    /// Of a host bridge.
    Chipset(Rc<HostBridge>),
    /// Of a bridge with buffers.
    Buffered(Rc<Port>),
}

/// Whose channel an IDE cable is at.
#[derive(Clone)]
pub enum Channels {
    /// A channel of an IDE bridge, by number.
    Bridge(Rc<IdeBridge>, usize),
    /// A channel of a card with ATA channels.
    Card(Rc<ata::AtaChannel>),
}

/// Names and protocols of sockets.
pub type SocketList = Vec<(String, Protocol)>;
