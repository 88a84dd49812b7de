//! SCSI buses and what drives them.

use super::plugs::{At, Controls, RunsOn};
use super::sockets::{Pci, ScsiBus, ScsiRegisters, ScsiTarget};
use super::{Builder, Built, Kind, NO_SOCKETS, Protocol, numbered, one};
use crate::bus::scsi;
use crate::controller::scsi::adapter::{self, Adapter};
use crate::controller::scsi::channel::Channel;
use crate::controller::scsi::initiator;
use crate::driver;

/// `scsi-bus`
pub static SCSI_BUS: Kind = Kind {
    model: "scsi-bus",
    what: "A parallel SCSI bus",
    sockets: |p| Ok(numbered("id", scsi::Spec::read(p)?.ids() as u64, |_| Protocol::ScsiTarget)),
    required: &[],
    build: &Builder(|context, spec: scsi::Spec, At(ScsiBus(channel)), p| {
        let ids = spec.ids() as u64;
        let bus = channel.plug(context.name, spec);
        let bus = bus.map_err(|problem| p.error("at", problem, "give the adapter an id of the bus, mostly 7"))?;
        Ok(Built::with(numbered("id", ids, |id| ScsiTarget(bus.clone(), id).into())))
    }),
};

/// `scsi-initiator`
pub static SCSI_INITIATOR: Kind = Kind {
    model: "scsi-initiator",
    what: "An initiator at a SCSI bus without a host: for disks by themselves",
    sockets: |_| Ok(one("bus", Protocol::ScsiBus)),
    required: &["bus"],
    build: &Builder(|context, spec: initiator::Spec, (), _| {
        let channel = Channel::new(context.sim, spec.end);
        let sockets = one("bus", ScsiBus(channel.clone()));
        let (sim, name, command) = (context.sim.clone(), context.name.to_string(), spec.command);
        let volumes_at_last = Box::new(move || initiator::install(&sim, &name, &channel, command));
        Ok(Built { volumes_at_last: Some(volumes_at_last), ..Built::with(sockets) })
    }),
};

/// `scsi-adapter`
pub static SCSI_ADAPTER: Kind = Kind {
    model: "scsi-adapter",
    what: "A SCSI host adapter",
    sockets: |p| {
        let channels = numbered("channel", adapter::Spec::read(p)?.channels as u64, |_| Protocol::ScsiBus);
        Ok([channels, one("registers", Protocol::ScsiRegisters)].concat())
    },
    required: &["registers"],
    build: &Builder(|context, spec: adapter::Spec, At(Pci(slot)), p| {
        let count = spec.channels as u64;
        let adapter = Adapter::new(context.sim, context.name, spec, &slot);
        let adapter = adapter.map_err(|problem| p.error("pci.clock", problem, "choose another slot"))?;
        let channels = numbered("channel", count, |n| ScsiBus(adapter.channel(n).clone()).into());
        Ok(Built::with([channels, one("registers", ScsiRegisters(adapter.clone()))].concat()))
    }),
};

/// `scsi-driver`
pub static SCSI_DRIVER: Kind = Kind {
    model: "scsi-driver",
    what: "A driver of SCSI host adapters",
    sockets: NO_SOCKETS,
    required: &[],
    build: &Builder(|context, spec: driver::scsi::Spec, (RunsOn(processor), Controls(ScsiRegisters(adapter))), _| {
        Ok(Built::of(driver::scsi::install(context.sim, context.name, spec, &processor, &adapter)))
    }),
};
