//! IDE bridges, disks and their drivers.

use super::{Built, Kind, Protocol, Socket};
use crate::bridge::ide;
use crate::bridge::ide::CHANNELS;
use crate::bridge::ide::IdeBridge;
use crate::disk;
use crate::disk::Disk;
use crate::driver;

/// `ide-bridge`
pub static IDE_BRIDGE: Kind = Kind {
    model: "ide-bridge",
    what: "A bus master IDE controller at a PCI bus, with one or two channels",
    plugs: &[("at", Protocol::Pci)],
    sockets: |_| {
        let channels = CHANNELS.iter().map(|name| (name.to_string(), Protocol::IdeChannel));
        Ok(channels.chain([("registers".to_string(), Protocol::IdeRegisters)]).collect())
    },
    required: &["registers"],
    software: false,
    build: |context, p| {
        let spec = ide::Spec::read(p)?;
        let [Socket::PciSlot(slot)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let Some(host) = slot.chipset() else {
            let problem = "this bridge asks for PCI by PHOLD#, which is a wire of a host bridge with a south bridge";
            return Err(p.error("hold_again", problem, "plug it into the segment of a `host-bridge`"));
        };
        let bridge = IdeBridge::new(context.sim, context.name, spec, slot.bus(), host);
        if !bridge.bursts_fit_the_bus() {
            let problem = "the latency timer of the bus cuts this bridge's bursts short, which is not modelled";
            return Err(p.error("buffer", problem, "set `latency_timer` of the bus to more clocks"));
        }
        let channel = |(n, name): (usize, &&str)| (name.to_string(), Socket::IdeChannel(bridge.clone(), n));
        let mut sockets: Vec<_> = CHANNELS.iter().enumerate().map(channel).collect();
        sockets.push(("registers".into(), Socket::IdeRegisters(bridge.clone())));
        Ok(Built { sockets, ..Built::default() })
    },
};

/// `hard-disk`
pub static HARD_DISK: Kind = Kind {
    model: "hard-disk",
    what: "A hard disk behind an IDE cable",
    plugs: &[("at", Protocol::IdeDrive)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: false,
    build: |context, p| {
        let spec = disk::Spec::read(p)?;
        let [Socket::IdeDrive(cable, position)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        if let Err(problem) = cable.carries(spec.transfer_mode) {
            return Err(p.error("transfer_mode", problem, "set the drive to a mode that its cable carries"));
        }
        Disk::new(context.sim, context.name, spec, cable, *position, context.seed);
        Ok(Built::default())
    },
};

/// `ide-driver`
pub static IDE_DRIVER: Kind = Kind {
    model: "ide-driver",
    what: "A driver of bus master IDE",
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
};
