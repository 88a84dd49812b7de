//! Buses, links and cables.

use super::{Built, Kind, Protocol, Socket, ports, untrained};
use crate::bridge::pcie_switch;
use crate::bus::ide_cable;
use crate::bus::ide_cable::IdeCable;
use crate::bus::pcie;
use crate::bus::pcie::Link;
use crate::bus::sata;

/// `ide-cable`
pub static IDE_CABLE: Kind = Kind {
    model: "ide-cable",
    what: "An IDE cable, with its timing modes",
    plugs: &[("at", Protocol::IdeChannel)],
    sockets: |_| Ok((0..2).map(|n| (format!("drive{n}"), Protocol::IdeDrive)).collect()),
    required: &[],
    software: false,
    build: |context, p| {
        let spec = ide_cable::Spec::read(p)?;
        let cable = IdeCable::new(context.sim, context.name, spec);
        match &context.plugs[..] {
            [Socket::IdeChannel(bridge, number)] => bridge.attach(*number, &cable),
            [Socket::AtaChannel(channel)] => channel.attach(&cable),
            _ => unreachable!("plugs are checked"),
        }
        let connector = |n| (format!("drive{n}"), Socket::IdeDrive(cable.clone(), n));
        Ok(Built { sockets: (0..2).map(connector).collect(), ..Built::default() })
    },
};

/// `pcie-link`
pub static PCIE_LINK: Kind = Kind {
    model: "pcie-link",
    what: "A PCI Express link: a slot, a cable, traces on a board",
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
};

/// `pcie-switch`
pub static PCIE_SWITCH: Kind = Kind {
    model: "pcie-switch",
    what: "A PCI Express switch, or a chip set that works as one",
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
};

/// `sata-cable`
pub static SATA_CABLE: Kind = Kind {
    model: "sata-cable",
    what: "A Serial ATA cable",
    plugs: &[("at", Protocol::SataPort)],
    sockets: |_| Ok(vec![("drive".into(), Protocol::SataDrive)]),
    required: &["drive"],
    software: false,
    build: |context, p| {
        let spec = sata::Spec::read(p)?;
        let [Socket::SataPort(adapter, port)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let cable = adapter.plug(context.sim, context.name, *port, spec);
        Ok(Built { sockets: vec![("drive".into(), Socket::SataDrive(cable))], ..Built::default() })
    },
};
