//! IDE bridges, disks and their drivers.

use super::plugs::{At, Controls, RunsOn};
use super::sockets::{Channels, IdeChannel, IdeDrive, IdeRegisters, Pci};
use super::{Builder, Built, Kind, NO_SOCKETS, Protocol, Socket, one};
use crate::bridge::ide::IdeBridge;
use crate::bridge::ide::{self, CHANNELS};
use crate::disk::{self, Disk};
use crate::driver;

/// `ide-bridge`
pub static IDE_BRIDGE: Kind = Kind {
    model: "ide-bridge",
    what: "A bus master IDE controller at a PCI bus, with one or two channels",
    sockets: |_| {
        let channels = CHANNELS.iter().flat_map(|name| one(name, Protocol::IdeChannel));
        Ok(channels.chain(one("registers", Protocol::IdeRegisters)).collect())
    },
    required: &["registers"],
    build: &Builder(|context, spec: ide::Spec, At(Pci(slot)), p| {
        let Some(host) = slot.chipset() else {
            let problem = "this bridge asks for PCI by PHOLD#, which is a wire of a host bridge with a south bridge";
            return Err(p.error("hold_again", problem, "plug it into the segment of a `host-bridge`"));
        };
        let bridge = IdeBridge::new(context.sim, context.name, spec, slot.bus(), host);
        if !bridge.bursts_fit_the_bus() {
            let problem = "the latency timer of the bus cuts this bridge's bursts short, which is not modelled";
            return Err(p.error("buffer", problem, "set `latency_timer` of the bus to more clocks"));
        }
        let channel = |(n, name): (usize, &&str)| -> Vec<(String, Socket)> {
            one(name, IdeChannel(Channels::Bridge(bridge.clone(), n)))
        };
        let channels = CHANNELS.iter().enumerate().flat_map(channel);
        Ok(Built::with(channels.chain(one("registers", IdeRegisters(bridge.clone()))).collect()))
    }),
};

/// `hard-disk`
pub static HARD_DISK: Kind = Kind {
    model: "hard-disk",
    what: "A hard disk behind an IDE cable",
    sockets: NO_SOCKETS,
    required: &[],
    build: &Builder(|context, spec: disk::Spec, At(IdeDrive(cable, position)), p| {
        if let Err(problem) = cable.carries(spec.transfer_mode) {
            return Err(p.error("transfer_mode", problem, "set the drive to a mode that its cable carries"));
        }
        Disk::new(context.sim, context.name, spec, &cable, position, context.seed);
        Ok(Built::default())
    }),
};

/// `ide-driver`
pub static IDE_DRIVER: Kind = Kind {
    model: "ide-driver",
    what: "A driver of bus master IDE",
    sockets: NO_SOCKETS,
    required: &[],
    build: &Builder(|context, spec: driver::ide::Spec, (RunsOn(processor), Controls(IdeRegisters(bridge))), p| {
        let (needed, there) = (driver::ide::memory_needed(&spec), bridge.host().memory_bytes());
        if there < needed {
            let problem = format!("the driver's buffers need {needed} bytes of memory, the host has {there}");
            return Err(p.error("transfer_max", problem, "give the host bridge more memory"));
        }
        Ok(Built::of(driver::ide::install(context.sim, context.name, spec, &processor, &bridge)))
    }),
};
