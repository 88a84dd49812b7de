//! PCI and PCI-X: segments, hosts and their links, bridges.

use std::rc::Rc;

use hopscope_declare::Spec;

use super::plugs::At;
use super::sockets::{HostPci, HostPort, Pci, PciSide};
use super::{Builder, Built, Context, Kind, Protocol, numbered, one};
use crate::bridge::pci_x;
use crate::bridge::pci_x::host::{self, Memory};
use crate::bridge::pci_x::initiator::Initiator;
use crate::bridge::pci_x::path::{LinkSpec, Path};
use crate::bridge::pci_x::port::{Beyond, Port};
use crate::bridge::pci_x::slot::Slot;
use crate::bus::pci::card::{CardSpec, Mode};
use crate::bus::pci::{self, PciBus};
use crate::parameters::{Parameters, SpecError};

/// Bridges one above the other, at most: each costs a bus and a half of processes.
const SEGMENTS_MAX: usize = 4;

/// `pci-bus`
pub static PCI_BUS: Kind = Kind {
    model: "pci-bus",
    what: "A conventional PCI bus, or one in PCI-X mode",
    sockets: |p| Ok(numbered("slot", pci::Spec::read(p)?.slots, |_| Protocol::Pci)),
    required: &[],
    build: &Builder(|context, spec: pci::Spec, At(HostPci(side)), p| {
        let slots = spec.slots;
        if let PciSide::Chipset(_) = side {
            // What answers and asks there are chips of conventional PCI.
            if spec.width_bytes != 4 {
                return Err(p.error("width", "this host bridge and its chips move 4 B a data phase", "write \"4 B\""));
            }
            if spec.mode != Mode::Pci {
                return Err(p.error("mode", "this host bridge does not speak PCI-X", "write \"PCI\""));
            }
        }
        let bus = PciBus::new(context.sim, context.name, spec);
        match &side {
            PciSide::Chipset(host) => host.attach(&bus),
            PciSide::Buffered(port) => port.attach(&bus),
        }
        let slot = || match &side {
            PciSide::Chipset(host) => Slot::of_chipset(context.sim, &bus, host),
            PciSide::Buffered(port) => Slot::of_bridge(context.sim, &bus, port),
        };
        Ok(Built::with(numbered("slot", slots, |_| Pci(slot()).into())))
    }),
};

/// `io-host`
pub static IO_HOST: Kind = Kind {
    model: "io-host",
    what: "A host chip that others hang at: memory, and ports for I/O bridges",
    sockets: |p| Ok(numbered("port", host::Spec::read(p)?.ports, |_| Protocol::HostPort)),
    required: &[],
    build: &Builder(|context, spec: host::Spec, (), _| {
        let ports = spec.ports;
        let path = Path::new(context.sim, &Memory::new(context.sim, context.name, spec));
        Ok(Built::with(numbered("port", ports, |_| HostPort(path.clone()).into())))
    }),
};

/// `host-link`
pub static HOST_LINK: Kind = Kind {
    model: "host-link",
    what: "A link between a host chip and an I/O bridge",
    sockets: |_| Ok(one("far", Protocol::HostPort)),
    required: &["far"],
    build: &Builder(|context, spec: LinkSpec, At(HostPort(path)), p| {
        let longer = path.with(context.name, spec);
        let longer = longer.map_err(|problem| p.error("rate", problem, "leave links out"))?;
        Ok(Built::with(one("far", HostPort(longer))))
    }),
};

/// The buses of a bridge.
#[derive(Clone, Spec)]
struct Buses {
    /// Buses behind the bridge.
    #[count("buses", 1..=8)]
    count: u64,
}

/// `pci-x-bridge`
pub static PCI_X_BRIDGE: Kind = Kind {
    model: "pci-x-bridge",
    what: "A bridge from a host link to PCI or PCI-X buses",
    sockets: |p| {
        pci_x::Spec::read(p)?;
        Ok(numbered("bus", Buses::read(p)?.count, |_| Protocol::HostPci))
    },
    required: &[],
    build: &Builder(|context, (spec, Buses { count }): (pci_x::Spec, Buses), At(HostPort(path)), _| {
        let spec = Rc::new(spec);
        let side = |n| {
            let (name, beyond) = (format!("{}.bus{n}", context.name), Beyond::Host(path.clone()));
            HostPci(PciSide::Buffered(Port::new(context.sim, &name, &spec, beyond))).into()
        };
        Ok(Built::with(numbered("bus", count, side)))
    }),
};

/// `pci-to-pci-bridge`
pub static PCI_TO_PCI_BRIDGE: Kind = Kind {
    model: "pci-to-pci-bridge",
    what: "A PCI-to-PCI bridge",
    sockets: |p| {
        pci_x::Spec::read(p)?;
        Card::read(p)?;
        Ok(one("bus", Protocol::HostPci))
    },
    required: &[],
    build: &Builder(|context, (spec, Card { card }): (pci_x::Spec, Card), At(Pci(slot)), p| {
        if slot.segments() >= SEGMENTS_MAX {
            let problem = format!("there are {SEGMENTS_MAX} segments above it");
            return Err(p.error("latency", problem, "put fewer bridges one above the other"));
        }
        let upper = plug(context, card, &slot, p)?;
        let name = format!("{}.bus", context.name);
        let port = Port::new(context.sim, &name, &Rc::new(spec), Beyond::Bus(upper));
        Ok(Built::with(one("bus", HostPci(PciSide::Buffered(port)))))
    }),
};

/// What a card says of its bus.
#[derive(Clone, Spec)]
pub struct Card {
    #[nested("pci")]
    pub card: CardSpec,
}

/// Plugs a card in; what is wrong with that is wrong with its clock.
pub fn plug(context: &Context, card: CardSpec, slot: &Slot, p: &Parameters) -> Result<Rc<Initiator>, SpecError> {
    let help = "choose another slot, or let the segment settle to its slowest card";
    let initiator = Initiator::new(context.sim, context.name, card, slot);
    initiator.map_err(|problem| p.error("pci.clock", problem, help))
}
