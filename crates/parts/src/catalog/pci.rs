//! PCI and PCI-X: segments, hosts and their links, bridges.

use std::rc::Rc;

use hopscope_declare::Spec;

use super::{Built, Kind, Protocol, Socket};
use crate::bridge::pci_x;
use crate::bridge::pci_x::host::{self, Memory};
use crate::bridge::pci_x::initiator::Initiator;
use crate::bridge::pci_x::path::{LinkSpec, Path};
use crate::bridge::pci_x::port::{Beyond, Port};
use crate::bridge::pci_x::slot::Slot;
use crate::bus::pci;
use crate::bus::pci::PciBus;
use crate::bus::pci::card::Mode;
use crate::parameters::{Parameters, SpecError};

/// Bridges one above the other, at most: each costs a bus and a half of processes.
const SEGMENTS_MAX: usize = 4;

/// `pci-bus`
pub static PCI_BUS: Kind = Kind {
    model: "pci-bus",
    what: "A conventional PCI bus, or one in PCI-X mode",
    plugs: &[("at", Protocol::HostPci)],
    sockets: |p| Ok((0..pci::Spec::read(p)?.slots).map(|slot| (format!("slot{slot}"), Protocol::Pci)).collect()),
    required: &[],
    software: false,
    build: |context, p| {
        let spec = pci::Spec::read(p)?;
        let slots = spec.slots;
        if matches!(context.plugs[..], [Socket::HostPci(_)]) {
            // What answers and asks there are chips of conventional PCI.
            if spec.width_bytes != 4 {
                return Err(p.error("width", "this host bridge and its chips move 4 B a data phase", "write \"4 B\""));
            }
            if spec.mode != Mode::Pci {
                return Err(p.error("mode", "this host bridge does not speak PCI-X", "write \"PCI\""));
            }
        }
        let bus = PciBus::new(context.sim, context.name, spec);
        let slot: Box<dyn Fn() -> Slot> = match &context.plugs[..] {
            [Socket::HostPci(host)] => {
                host.attach(&bus);
                Box::new(|| Slot::of_chipset(context.sim, &bus, host))
            }
            [Socket::BridgePci(port)] => {
                port.attach(&bus);
                Box::new(|| Slot::of_bridge(context.sim, &bus, port))
            }
            _ => unreachable!("plugs are checked"),
        };
        let socket = |n| (format!("slot{n}"), Socket::PciSlot(slot()));
        Ok(Built { sockets: (0..slots).map(socket).collect(), ..Built::default() })
    },
};

/// `io-host`
pub static IO_HOST: Kind = Kind {
    model: "io-host",
    what: "A host chip that others hang at: memory, and ports for I/O bridges",
    plugs: &[],
    sockets: |p| Ok((0..host::Spec::read(p)?.ports).map(|n| (format!("port{n}"), Protocol::HostPort)).collect()),
    required: &[],
    software: false,
    build: |context, p| {
        let spec = host::Spec::read(p)?;
        let ports = spec.ports;
        let path = Path::new(context.sim, &Memory::new(context.sim, context.name, spec));
        let socket = |n| (format!("port{n}"), Socket::HostPort(path.clone()));
        Ok(Built { sockets: (0..ports).map(socket).collect(), ..Built::default() })
    },
};

/// `host-link`
pub static HOST_LINK: Kind = Kind {
    model: "host-link",
    what: "A link between a host chip and an I/O bridge",
    plugs: &[("at", Protocol::HostPort)],
    sockets: |_| Ok(vec![("far".into(), Protocol::HostPort)]),
    required: &["far"],
    software: false,
    build: |context, p| {
        let spec = LinkSpec::read(p)?;
        let [Socket::HostPort(path)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let longer = path.with(context.name, spec);
        let longer = longer.map_err(|problem| p.error("rate", problem, "leave links out"))?;
        Ok(Built { sockets: vec![("far".into(), Socket::HostPort(longer))], ..Built::default() })
    },
};

/// The buses of a bridge.
#[derive(Spec)]
struct Buses {
    /// Buses behind the bridge.
    #[count("buses", 1..=8)]
    count: u64,
}

/// `pci-x-bridge`
pub static PCI_X_BRIDGE: Kind = Kind {
    model: "pci-x-bridge",
    what: "A bridge from a host link to PCI or PCI-X buses",
    plugs: &[("at", Protocol::HostPort)],
    sockets: |p| {
        pci_x::Spec::read(p)?;
        Ok((0..Buses::read(p)?.count).map(|n| (format!("bus{n}"), Protocol::HostPci)).collect())
    },
    required: &[],
    software: false,
    build: |context, p| {
        let (spec, Buses { count: buses }) = (Rc::new(pci_x::Spec::read(p)?), Buses::read(p)?);
        let [Socket::HostPort(path)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let socket = |n| {
            let (name, beyond) = (format!("{}.bus{n}", context.name), Beyond::Host(path.clone()));
            (format!("bus{n}"), Socket::BridgePci(Port::new(context.sim, &name, &spec, beyond)))
        };
        Ok(Built { sockets: (0..buses).map(socket).collect(), ..Built::default() })
    },
};

/// `pci-to-pci-bridge`
pub static PCI_TO_PCI_BRIDGE: Kind = Kind {
    model: "pci-to-pci-bridge",
    what: "A PCI-to-PCI bridge",
    plugs: &[("at", Protocol::Pci)],
    sockets: |p| {
        pci_x::Spec::read(p)?;
        Initiator::read_spec(p)?;
        Ok(vec![("bus".into(), Protocol::HostPci)])
    },
    required: &[],
    software: false,
    build: |context, p| {
        let (spec, card) = (Rc::new(pci_x::Spec::read(p)?), Initiator::read_spec(p)?);
        let [Socket::PciSlot(slot)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        if slot.segments() >= SEGMENTS_MAX {
            let problem = format!("there are {SEGMENTS_MAX} segments above it");
            return Err(p.error("latency", problem, "put fewer bridges one above the other"));
        }
        let upper = plug(context.sim, context.name, card, slot, p)?;
        let name = format!("{}.bus", context.name);
        let port = Port::new(context.sim, &name, &spec, Beyond::Bus(upper));
        Ok(Built { sockets: vec![("bus".into(), Socket::BridgePci(port))], ..Built::default() })
    },
};

/// Plugs a card in; what is wrong with that is wrong with its clock.
pub fn plug(
    sim: &hopscope_kernel::Sim,
    name: &str,
    card: pci::card::CardSpec,
    slot: &Slot,
    p: &Parameters,
) -> Result<Rc<Initiator>, SpecError> {
    let help = "choose another slot, or let the segment settle to its slowest card";
    Initiator::new(sim, name, card, slot).map_err(|problem| p.error("pci.clock", problem, help))
}
