//! Hard disks on a SCSI bus.

use super::plugs::At;
use super::sockets::ScsiTarget;
use super::{Builder, Built, Kind, NO_SOCKETS};
use crate::disk::scsi::{ScsiDisk, Spec};

/// `scsi-disk`
pub static SCSI_DISK: Kind = Kind {
    model: "scsi-disk",
    what: "A SCSI disk, with the numbers that DiskSim has of one",
    sockets: NO_SOCKETS,
    required: &[],
    build: &Builder(|context, spec: Spec, At(ScsiTarget(bus, id)), p| {
        let disk = ScsiDisk::new(context.sim, context.name, spec, &bus, id, context.seed);
        disk.map_err(|problem| p.error("at", problem, "plug the drive into another id of the bus"))?;
        Ok(Built::default())
    }),
};
