//! SCSI buses and what drives them.

use super::{Built, Kind, Protocol, Socket};
use crate::bus::scsi;
use crate::controller::scsi::adapter::{self, Adapter};
use crate::controller::scsi::channel::Channel;
use crate::controller::scsi::initiator;
use crate::driver;

/// `scsi-bus`
pub static SCSI_BUS: Kind = Kind {
    model: "scsi-bus",
    what: "A parallel SCSI bus",
    plugs: &[("at", Protocol::ScsiBus)],
    sockets: |p| Ok((0..scsi::Spec::read(p)?.ids()).map(|id| (format!("id{id}"), Protocol::ScsiTarget)).collect()),
    required: &[],
    software: false,
    build: |context, p| {
        let spec = scsi::Spec::read(p)?;
        let ids = spec.ids();
        let [Socket::ScsiBus(channel)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let bus = channel.plug(context.name, spec);
        let bus = bus.map_err(|problem| p.error("at", problem, "give the adapter an id of the bus, mostly 7"))?;
        let connector = |id| (format!("id{id}"), Socket::ScsiTarget(bus.clone(), id));
        Ok(Built { sockets: (0..ids).map(connector).collect(), ..Built::default() })
    },
};

/// `scsi-initiator`
pub static SCSI_INITIATOR: Kind = Kind {
    model: "scsi-initiator",
    what: "An initiator at a SCSI bus without a host: for disks by themselves",
    plugs: &[],
    sockets: |_| Ok(vec![("bus".into(), Protocol::ScsiBus)]),
    required: &["bus"],
    software: false,
    build: |context, p| {
        let initiator::Spec { end, command } = initiator::Spec::read(p)?;
        let channel = Channel::new(context.sim, end);
        let sockets = vec![("bus".into(), Socket::ScsiBus(channel.clone()))];
        let (sim, name) = (context.sim.clone(), context.name.to_string());
        let volumes_at_last = Box::new(move || initiator::install(&sim, &name, &channel, command));
        Ok(Built { sockets, volumes_at_last: Some(volumes_at_last), ..Built::default() })
    },
};

/// `scsi-adapter`
pub static SCSI_ADAPTER: Kind = Kind {
    model: "scsi-adapter",
    what: "A SCSI host adapter",
    plugs: &[("at", Protocol::Pci)],
    sockets: |p| {
        let channels = (0..adapter::Spec::read(p)?.channels).map(|n| (format!("channel{n}"), Protocol::ScsiBus));
        Ok(channels.chain([("registers".to_string(), Protocol::ScsiRegisters)]).collect())
    },
    required: &["registers"],
    software: false,
    build: |context, p| {
        let spec = adapter::Spec::read(p)?;
        let [Socket::PciSlot(slot)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let channels = spec.channels;
        let adapter = Adapter::new(context.sim, context.name, spec, slot);
        let adapter = adapter.map_err(|problem| p.error("pci.clock", problem, "choose another slot"))?;
        let channel = |n| (format!("channel{n}"), Socket::ScsiBus(adapter.channel(n).clone()));
        let mut sockets: Vec<_> = (0..channels).map(channel).collect();
        sockets.push(("registers".into(), Socket::ScsiRegisters(adapter.clone())));
        Ok(Built { sockets, ..Built::default() })
    },
};

/// `scsi-driver`
pub static SCSI_DRIVER: Kind = Kind {
    model: "scsi-driver",
    what: "A driver of SCSI host adapters",
    plugs: &[("runs_on", Protocol::Software), ("controls", Protocol::ScsiRegisters)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: true,
    build: |context, p| {
        let spec = driver::scsi::Spec::read(p)?;
        let [Socket::Software(processor), Socket::ScsiRegisters(adapter)] = &context.plugs[..] else {
            unreachable!("plugs are checked")
        };
        let volumes = driver::scsi::install(context.sim, context.name, spec, processor, adapter);
        Ok(Built { volumes, ..Built::default() })
    },
};
