//! Hard disks on a SCSI bus.

use super::{Built, Kind, Protocol, Socket};
use crate::disk::scsi::{ScsiDisk, Spec};

/// `scsi-disk`
pub static SCSI_DISK: Kind = Kind {
    model: "scsi-disk",
    what: "A SCSI disk, with the numbers that DiskSim has of one",
    plugs: &[("at", Protocol::ScsiTarget)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: false,
    build: |context, p| {
        let spec = Spec::read(p)?;
        let [Socket::ScsiTarget(bus, id)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let disk = ScsiDisk::new(context.sim, context.name, spec, bus, *id, context.seed);
        disk.map_err(|problem| p.error("at", problem, "plug the drive into another id of the bus"))?;
        Ok(Built::default())
    },
};
