//! Solid-state drives, their adapters and drivers.

use super::plugs::{At, Controls, RunsOn};
use super::sockets::{AhciRegisters, NvmeRegisters, PcieDevice, SataDrive, SataPort};
use super::{Builder, Built, Kind, NO_SOCKETS, Protocol, numbered, one, untrained};
use crate::controller::ahci::{self, Ahci};
use crate::controller::nvme::{self, Controller};
use crate::disk::sata_ssd::{self, SataSsd};
use crate::driver;

/// `nvme-drive`
pub static NVME_DRIVE: Kind = Kind {
    model: "nvme-drive",
    what: "An NVM Express drive",
    sockets: |_| Ok(one("registers", Protocol::NvmeRegisters)),
    required: &["registers"],
    build: &Builder(|context, spec: nvme::Spec, At(PcieDevice(link)), p| {
        let drive = Controller::new(context.sim, context.name, spec, &link, context.seed);
        let drive = drive.map_err(|problem| untrained(p, "pcie.rate", problem))?;
        Ok(Built::with(one("registers", NvmeRegisters(drive))))
    }),
};

/// `nvme-driver`
pub static NVME_DRIVER: Kind = Kind {
    model: "nvme-driver",
    what: "A driver of NVM Express drives",
    sockets: NO_SOCKETS,
    required: &[],
    build: &Builder(|context, spec: driver::nvme::Spec, (RunsOn(processor), Controls(NvmeRegisters(drive))), _| {
        Ok(Built::of(vec![driver::nvme::install(context.sim, context.name, spec, &processor, &drive)]))
    }),
};

/// `ahci-adapter`
pub static AHCI_ADAPTER: Kind = Kind {
    model: "ahci-adapter",
    what: "An AHCI adapter: Serial ATA behind PCI Express",
    sockets: |p| {
        let ports = numbered("port", ahci::Spec::read(p)?.ports, |_| Protocol::SataPort);
        Ok([ports, one("registers", Protocol::AhciRegisters)].concat())
    },
    required: &["registers"],
    build: &Builder(|context, spec: ahci::Spec, At(PcieDevice(link)), p| {
        let adapter = Ahci::new(context.sim, context.name, spec, &link);
        let adapter = adapter.map_err(|problem| untrained(p, "pcie.rate", problem))?;
        let ports = numbered("port", adapter.ports() as u64, |n| SataPort(adapter.clone(), n).into());
        Ok(Built::with([ports, one("registers", AhciRegisters(adapter.clone()))].concat()))
    }),
};

/// `sata-ssd`
pub static SATA_SSD: Kind = Kind {
    model: "sata-ssd",
    what: "A solid-state drive behind a Serial ATA cable",
    sockets: NO_SOCKETS,
    required: &[],
    build: &Builder(|context, spec: sata_ssd::Spec, At(SataDrive(cable)), _| {
        SataSsd::new(context.sim, context.name, spec, &cable, context.seed);
        Ok(Built::default())
    }),
};

/// `ahci-driver`
pub static AHCI_DRIVER: Kind = Kind {
    model: "ahci-driver",
    what: "A driver of AHCI adapters",
    sockets: NO_SOCKETS,
    required: &[],
    build: &Builder(|context, spec: driver::ahci::Spec, (RunsOn(processor), Controls(AhciRegisters(adapter))), _| {
        Ok(Built::of(driver::ahci::install(context.sim, context.name, spec, &processor, &adapter)))
    }),
};
