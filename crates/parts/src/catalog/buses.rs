//! Buses, links and cables.

use super::plugs::At;
use super::sockets::{Channels, IdeChannel, IdeDrive, PcieDevice, PciePort, SataDrive, SataPort};
use super::{Builder, Built, Kind, Protocol, numbered, one, untrained};
use crate::bridge::pcie_switch;
use crate::bus::ide_cable::{self, IdeCable};
use crate::bus::pcie::{self, Link};
use crate::bus::sata;

/// Drives of an IDE cable.
const IDE_DRIVES: u64 = 2;

/// `ide-cable`
pub static IDE_CABLE: Kind = Kind {
    model: "ide-cable",
    what: "An IDE cable, with its timing modes",
    sockets: |_| Ok(numbered("drive", IDE_DRIVES, |_| Protocol::IdeDrive)),
    required: &[],
    build: &Builder(|context, spec: ide_cable::Spec, At(IdeChannel(channel)), _| {
        let cable = IdeCable::new(context.sim, context.name, spec);
        match channel {
            Channels::Bridge(bridge, number) => bridge.attach(number, &cable),
            Channels::Card(channel) => channel.attach(&cable),
        }
        Ok(Built::with(numbered("drive", IDE_DRIVES, |n| IdeDrive(cable.clone(), n).into())))
    }),
};

/// `pcie-link`
pub static PCIE_LINK: Kind = Kind {
    model: "pcie-link",
    what: "A PCI Express link: a slot, a cable, traces on a board",
    sockets: |_| Ok(one("device", Protocol::PcieDevice)),
    required: &["device"],
    build: &Builder(|context, spec: pcie::Spec, At(PciePort(above)), _| {
        let link = Link::new(context.sim, context.name, spec, &above, context.seed);
        Ok(Built::with(one("device", PcieDevice(link))))
    }),
};

/// `pcie-switch`
pub static PCIE_SWITCH: Kind = Kind {
    model: "pcie-switch",
    what: "A PCI Express switch, or a chip set that works as one",
    sockets: |p| Ok(numbered("port", pcie_switch::Spec::read(p)?.ports, |_| Protocol::PciePort)),
    required: &[],
    build: &Builder(|_, spec: pcie_switch::Spec, At(PcieDevice(link)), p| {
        let port = pcie_switch::plug(&spec, &link).map_err(|problem| untrained(p, "rate", problem))?;
        Ok(Built::with(numbered("port", spec.ports, |_| PciePort(port.clone()).into())))
    }),
};

/// `sata-cable`
pub static SATA_CABLE: Kind = Kind {
    model: "sata-cable",
    what: "A Serial ATA cable",
    sockets: |_| Ok(one("drive", Protocol::SataDrive)),
    required: &["drive"],
    build: &Builder(|context, spec: sata::Spec, At(SataPort(adapter, port)), _| {
        let cable = adapter.plug(context.sim, context.name, port, spec);
        Ok(Built::with(one("drive", SataDrive(cable))))
    }),
};
