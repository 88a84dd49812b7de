//! The one list of what parts there are: the model a data file names, what it plugs into, and how it is built.

use std::rc::Rc;

use hopscope_kernel::Sim;

use crate::accelerator::gpu::{self, Gpu};
use crate::bridge::host::{self, HostBridge};
use crate::bridge::ide::{self, CHANNELS, IdeBridge};
use crate::bridge::pcie_switch;
use crate::bridge::root_complex::{self, RootComplex};
use crate::bus::ide_cable::{self, IdeCable};
use crate::bus::pci::{self, PciBus};
use crate::bus::pcie::{self, DownstreamPort, Link, Port, PortSpec};
use crate::cpu::{self, Processor};
use crate::disk::{self, Disk};
use crate::driver;
use crate::network::nic::{self, Adapter};
use crate::network::programmable;
use crate::parameters::{Parameters, SpecError};
use crate::protocols::storage::Storage;

/// What one part offers to another.
#[derive(Clone)]
pub enum Socket {
    /// A processor's bus.
    ProcessorBus(Rc<Processor>),
    /// Where software runs.
    Software(Rc<Processor>),
    /// A host bridge's side of a PCI bus.
    HostPci(Rc<HostBridge>),
    /// A connector of a PCI bus.
    PciSlot(Rc<PciBus>, Rc<HostBridge>),
    /// A channel of an IDE bridge, by number.
    IdeChannel(Rc<IdeBridge>, usize),
    /// A connector of an IDE cable, by drive number.
    IdeDrive(Rc<IdeCable>, usize),
    /// Registers of an IDE bridge, for a driver.
    IdeRegisters(Rc<IdeBridge>),
    /// A PCI Express port that leads away from the host.
    PciePort(Rc<DownstreamPort>),
    /// The far end of a PCI Express link.
    PcieDevice(Rc<Link>),
    /// Registers of a network adapter, for a driver.
    NicRegisters(Rc<Adapter>),
    /// Registers of a GPU, for a driver.
    GpuRegisters(Rc<Gpu>),
}

/// What goes into a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A processor's front side bus.
    ProcessorBus,
    /// Software on a processor; takes any number of parts.
    Software,
    /// A host bridge's PCI side.
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
    /// A network driver.
    NicRegisters,
    /// A GPU's driver.
    GpuRegisters,
}

impl Protocol {
    /// In words, for errors.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::ProcessorBus => "a processor bus",
            Protocol::Software => "software on a processor",
            Protocol::HostPci => "the PCI side of a host bridge",
            Protocol::Pci => "a PCI slot",
            Protocol::IdeChannel => "an IDE channel",
            Protocol::IdeDrive => "a drive connector of an IDE cable",
            Protocol::IdeRegisters => "the registers of an IDE bridge",
            Protocol::PciePort => "a PCI Express port",
            Protocol::PcieDevice => "the far end of a PCI Express link",
            Protocol::NicRegisters => "the registers of a network adapter",
            Protocol::GpuRegisters => "the registers of a GPU",
        }
    }

    /// Whether more than one part may use one socket.
    pub fn shared(self) -> bool {
        self == Protocol::Software
    }
}

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

/// What a part brings.
#[derive(Default)]
pub struct Built {
    /// Its sockets, by name, in the order of the kind's sockets.
    pub sockets: Vec<(String, Socket)>,
    /// Devices that a job can name.
    pub volumes: Vec<(String, Rc<dyn Storage>)>,
}

/// Names and protocols of sockets.
pub type SocketList = Vec<(String, Protocol)>;

/// A kind of part.
pub struct Kind {
    /// As `model = "…"` in a part file.
    pub model: &'static str,
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
pub static KINDS: &[Kind] = &[
    Kind {
        model: "processor",
        plugs: &[],
        sockets: |_| Ok(vec![("bus".into(), Protocol::ProcessorBus), ("software".into(), Protocol::Software)]),
        required: &[],
        software: false,
        build: |context, p| {
            let processor = Processor::new(context.sim, context.name, cpu::Spec::read(p)?);
            let bus = Socket::ProcessorBus(processor.clone());
            Ok(Built {
                sockets: vec![("bus".into(), bus), ("software".into(), Socket::Software(processor))],
                ..Built::default()
            })
        },
    },
    Kind {
        model: "host-bridge",
        plugs: &[("at", Protocol::ProcessorBus)],
        sockets: |_| Ok(vec![("pci".into(), Protocol::HostPci)]),
        required: &["pci"],
        software: false,
        build: |context, p| {
            let spec = host::Spec::read(p)?;
            let [Socket::ProcessorBus(processor)] = &context.plugs[..] else { unreachable!("plugs are checked") };
            let bridge = HostBridge::new(context.sim, context.name, spec, processor);
            Ok(Built { sockets: vec![("pci".into(), Socket::HostPci(bridge))], ..Built::default() })
        },
    },
    Kind {
        model: "pci-bus",
        plugs: &[("at", Protocol::HostPci)],
        sockets: |p| Ok((0..pci::Spec::read(p)?.slots).map(|slot| (format!("slot{slot}"), Protocol::Pci)).collect()),
        required: &[],
        software: false,
        build: |context, p| {
            let spec = pci::Spec::read(p)?;
            let slots = spec.slots;
            let [Socket::HostPci(host)] = &context.plugs[..] else { unreachable!("plugs are checked") };
            let bus = PciBus::new(context.sim, context.name, spec);
            host.attach(&bus);
            let slot = |n| (format!("slot{n}"), Socket::PciSlot(bus.clone(), host.clone()));
            Ok(Built { sockets: (0..slots).map(slot).collect(), ..Built::default() })
        },
    },
    Kind {
        model: "ide-bridge",
        plugs: &[("at", Protocol::Pci)],
        sockets: |_| {
            let channels = CHANNELS.iter().map(|name| (name.to_string(), Protocol::IdeChannel));
            Ok(channels.chain([("registers".to_string(), Protocol::IdeRegisters)]).collect())
        },
        required: &["registers"],
        software: false,
        build: |context, p| {
            let spec = ide::Spec::read(p)?;
            let [Socket::PciSlot(bus, host)] = &context.plugs[..] else { unreachable!("plugs are checked") };
            let bridge = IdeBridge::new(context.sim, context.name, spec, bus, host);
            if !bridge.bursts_fit_the_bus() {
                let problem = "the latency timer of the bus cuts this bridge's bursts short, which is not modelled";
                return Err(p.error("buffer", problem, "set `latency_timer` of the bus to more clocks"));
            }
            let channel = |(n, name): (usize, &&str)| (name.to_string(), Socket::IdeChannel(bridge.clone(), n));
            let mut sockets: Vec<_> = CHANNELS.iter().enumerate().map(channel).collect();
            sockets.push(("registers".into(), Socket::IdeRegisters(bridge.clone())));
            Ok(Built { sockets, ..Built::default() })
        },
    },
    Kind {
        model: "ide-cable",
        plugs: &[("at", Protocol::IdeChannel)],
        sockets: |_| Ok((0..2).map(|n| (format!("drive{n}"), Protocol::IdeDrive)).collect()),
        required: &[],
        software: false,
        build: |context, p| {
            let spec = ide_cable::Spec::read(p)?;
            let [Socket::IdeChannel(bridge, number)] = &context.plugs[..] else { unreachable!("plugs are checked") };
            let cable = IdeCable::new(context.sim, context.name, spec);
            bridge.attach(*number, &cable);
            let connector = |n| (format!("drive{n}"), Socket::IdeDrive(cable.clone(), n));
            Ok(Built { sockets: (0..2).map(connector).collect(), ..Built::default() })
        },
    },
    Kind {
        model: "hard-disk",
        plugs: &[("at", Protocol::IdeDrive)],
        sockets: |_| Ok(Vec::new()),
        required: &[],
        software: false,
        build: |context, p| {
            let spec = disk::Spec::read(p)?;
            let [Socket::IdeDrive(cable, position)] = &context.plugs[..] else { unreachable!("plugs are checked") };
            if spec.ultra_dma_mode >= cable.modes() {
                let problem = format!("the cable carries Ultra DMA modes 0 to {}", cable.modes() - 1);
                return Err(p.error("transfer_mode", problem, "set the drive to a mode that its cable carries"));
            }
            Disk::new(context.sim, context.name, spec, cable, *position, context.seed);
            Ok(Built::default())
        },
    },
    Kind {
        model: "ide-driver",
        plugs: &[("runs_on", Protocol::Software), ("controls", Protocol::IdeRegisters)],
        sockets: |_| Ok(Vec::new()),
        required: &[],
        software: true,
        build: |context, p| {
            let spec = driver::ide::Spec::read(p)?;
            let [Socket::Software(processor), Socket::IdeRegisters(bridge)] = &context.plugs[..] else {
                unreachable!("plugs are checked")
            };
            let (needed, there) = (driver::ide::memory_needed(&spec), bridge.host().memory_bytes());
            if there < needed {
                let problem = format!("the driver's buffers need {needed} bytes of memory, the host has {there}");
                return Err(p.error("transfer_max", problem, "give the host bridge more memory"));
            }
            let volumes = driver::ide::install(context.sim, context.name, spec, processor, bridge);
            Ok(Built { volumes, ..Built::default() })
        },
    },
    Kind {
        model: "root-complex",
        plugs: &[],
        sockets: |p| Ok(ports(root_complex::Spec::read(p)?.ports)),
        required: &[],
        software: false,
        build: |context, p| {
            let spec = root_complex::Spec::read(p)?;
            let count = spec.ports;
            let root = RootComplex::new(context.sim, context.name, spec);
            let port = |n| (format!("port{n}"), Socket::PciePort(root.port()));
            Ok(Built { sockets: (0..count).map(port).collect(), ..Built::default() })
        },
    },
    Kind {
        model: "pcie-link",
        plugs: &[("at", Protocol::PciePort)],
        sockets: |_| Ok(vec![("device".into(), Protocol::PcieDevice)]),
        required: &["device"],
        software: false,
        build: |context, p| {
            let spec = pcie::Spec::read(p)?;
            let [Socket::PciePort(above)] = &context.plugs[..] else { unreachable!("plugs are checked") };
            let link = Link::new(context.sim, context.name, spec, above, context.seed);
            Ok(Built { sockets: vec![("device".into(), Socket::PcieDevice(link))], ..Built::default() })
        },
    },
    Kind {
        model: "pcie-switch",
        plugs: &[("at", Protocol::PcieDevice)],
        sockets: |p| Ok(ports(pcie_switch::Spec::read(p)?.ports)),
        required: &[],
        software: false,
        build: |context, p| {
            let spec = pcie_switch::Spec::read(p)?;
            let [Socket::PcieDevice(link)] = &context.plugs[..] else { unreachable!("plugs are checked") };
            let port = pcie_switch::plug(&spec, link).map_err(|problem| untrained(p, "rate", problem))?;
            let socket = |n| (format!("port{n}"), Socket::PciePort(port.clone()));
            Ok(Built { sockets: (0..spec.ports).map(socket).collect(), ..Built::default() })
        },
    },
    Kind {
        model: "programmable-adapter",
        plugs: &[("at", Protocol::PcieDevice)],
        sockets: |_| Ok(Vec::new()),
        required: &[],
        software: false,
        build: |context, p| {
            let spec = programmable::Spec::read(p)?;
            let [Socket::PcieDevice(link)] = &context.plugs[..] else { unreachable!("plugs are checked") };
            let plugged = programmable::plug(context.sim, context.name, spec, link);
            let volumes = plugged.map_err(|problem| untrained(p, "pcie.rate", problem))?;
            Ok(Built { volumes, ..Built::default() })
        },
    },
    Kind {
        model: "network-adapter",
        plugs: &[("at", Protocol::PcieDevice)],
        sockets: |_| Ok(vec![("registers".into(), Protocol::NicRegisters)]),
        required: &["registers"],
        software: false,
        build: |context, p| {
            let (spec, port) = (nic::Spec::read(p)?, PortSpec::read(p)?);
            let [Socket::PcieDevice(link)] = &context.plugs[..] else { unreachable!("plugs are checked") };
            let port = Port::new(context.sim, &port, link).map_err(|problem| untrained(p, "pcie.rate", problem))?;
            let adapter = Adapter::new(context.sim, context.name, spec, port);
            Ok(Built { sockets: vec![("registers".into(), Socket::NicRegisters(adapter))], ..Built::default() })
        },
    },
    Kind {
        model: "network-driver",
        plugs: &[("runs_on", Protocol::Software), ("controls", Protocol::NicRegisters)],
        sockets: |_| Ok(Vec::new()),
        required: &[],
        software: true,
        build: |context, p| {
            let spec = driver::nic::Spec::read(p)?;
            let [Socket::Software(processor), Socket::NicRegisters(adapter)] = &context.plugs[..] else {
                unreachable!("plugs are checked")
            };
            let volumes = driver::nic::install(context.sim, context.name, spec, processor, adapter);
            Ok(Built { volumes, ..Built::default() })
        },
    },
    Kind {
        model: "gpu",
        plugs: &[("at", Protocol::PcieDevice)],
        sockets: |_| Ok(vec![("registers".into(), Protocol::GpuRegisters)]),
        required: &["registers"],
        software: false,
        build: |context, p| {
            let (spec, port) = (gpu::Spec::read(p)?, PortSpec::read(p)?);
            let [Socket::PcieDevice(link)] = &context.plugs[..] else { unreachable!("plugs are checked") };
            let port = Port::new(context.sim, &port, link).map_err(|problem| untrained(p, "pcie.rate", problem))?;
            let gpu = Gpu::new(context.sim, context.name, spec, port);
            Ok(Built { sockets: vec![("registers".into(), Socket::GpuRegisters(gpu))], ..Built::default() })
        },
    },
    Kind {
        model: "gpu-driver",
        plugs: &[("runs_on", Protocol::Software), ("controls", Protocol::GpuRegisters)],
        sockets: |_| Ok(Vec::new()),
        required: &[],
        software: true,
        build: |context, p| {
            let spec = driver::gpu::Spec::read(p)?;
            let [Socket::Software(processor), Socket::GpuRegisters(gpu)] = &context.plugs[..] else {
                unreachable!("plugs are checked")
            };
            let volumes = driver::gpu::install(context.sim, context.name, spec, processor, gpu);
            Ok(Built { volumes, ..Built::default() })
        },
    },
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
    KINDS.iter().find(|kind| kind.model == model)
}
