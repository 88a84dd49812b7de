//! SCSI buses and what drives them.

use super::{Built, Kind, Protocol, Socket};
use crate::bus::scsi;
use crate::controller::scsi::channel::Channel;
use crate::controller::scsi::initiator;

/// `scsi-bus`
pub static SCSI_BUS: Kind = Kind {
    model: "scsi-bus",
    plugs: &[("at", Protocol::ScsiBus)],
    sockets: |p| Ok((0..scsi::Spec::read(p)?.ids()).map(|id| (format!("id{id}"), Protocol::ScsiTarget)).collect()),
    required: &[],
    software: false,
    build: |context, p| {
        let spec = scsi::Spec::read(p)?;
        let ids = spec.ids();
        let [Socket::ScsiBus(channel)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let bus = channel.plug(context.name, spec);
        let bus = bus.map_err(|problem| p.error("width", problem, "give the adapter an id of the bus, mostly 7"))?;
        let connector = |id| (format!("id{id}"), Socket::ScsiTarget(bus.clone(), id));
        Ok(Built { sockets: (0..ids).map(connector).collect(), ..Built::default() })
    },
};

/// `scsi-initiator`
pub static SCSI_INITIATOR: Kind = Kind {
    model: "scsi-initiator",
    plugs: &[],
    sockets: |_| Ok(vec![("bus".into(), Protocol::ScsiBus)]),
    required: &["bus"],
    software: false,
    build: |context, p| {
        let channel = Channel::new(context.sim, initiator::read(p)?);
        let sockets = vec![("bus".into(), Socket::ScsiBus(channel.clone()))];
        let (sim, name) = (context.sim.clone(), context.name.to_string());
        let volumes_at_last = Box::new(move || initiator::install(&sim, &name, &channel));
        Ok(Built { sockets, volumes_at_last: Some(volumes_at_last), ..Built::default() })
    },
};
