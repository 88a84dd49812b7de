//! Solid-state drives, their adapters and drivers.

use super::{Built, Kind, Protocol, Socket, untrained};
use crate::controller::ahci;
use crate::controller::ahci::Ahci;
use crate::controller::nvme;
use crate::controller::nvme::Controller;
use crate::disk::sata_ssd;
use crate::disk::sata_ssd::SataSsd;
use crate::driver;

/// `nvme-drive`
pub static NVME_DRIVE: Kind = Kind {
    model: "nvme-drive",
    what: "An NVM Express drive",
    plugs: &[("at", Protocol::PcieDevice)],
    sockets: |_| Ok(vec![("registers".into(), Protocol::NvmeRegisters)]),
    required: &["registers"],
    software: false,
    build: |context, p| {
        let spec = nvme::Spec::read(p)?;
        let [Socket::PcieDevice(link)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let drive = Controller::new(context.sim, context.name, spec, link, context.seed);
        let drive = drive.map_err(|problem| untrained(p, "pcie.rate", problem))?;
        Ok(Built { sockets: vec![("registers".into(), Socket::NvmeRegisters(drive))], ..Built::default() })
    },
};

/// `nvme-driver`
pub static NVME_DRIVER: Kind = Kind {
    model: "nvme-driver",
    what: "A driver of NVM Express drives",
    plugs: &[("runs_on", Protocol::Software), ("controls", Protocol::NvmeRegisters)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: true,
    build: |context, p| {
        let spec = driver::nvme::Spec::read(p)?;
        let [Socket::Software(processor), Socket::NvmeRegisters(drive)] = &context.plugs[..] else {
            unreachable!("plugs are checked")
        };
        let volume = driver::nvme::install(context.sim, context.name, spec, processor, drive);
        Ok(Built { volumes: vec![volume], ..Built::default() })
    },
};

/// `ahci-adapter`
pub static AHCI_ADAPTER: Kind = Kind {
    model: "ahci-adapter",
    what: "An AHCI adapter: Serial ATA behind PCI Express",
    plugs: &[("at", Protocol::PcieDevice)],
    sockets: |p| {
        let ports = (0..ahci::Spec::read(p)?.ports).map(|n| (format!("port{n}"), Protocol::SataPort));
        Ok(ports.chain([("registers".to_string(), Protocol::AhciRegisters)]).collect())
    },
    required: &["registers"],
    software: false,
    build: |context, p| {
        let spec = ahci::Spec::read(p)?;
        let [Socket::PcieDevice(link)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let adapter = Ahci::new(context.sim, context.name, spec, link);
        let adapter = adapter.map_err(|problem| untrained(p, "pcie.rate", problem))?;
        let port = |n| (format!("port{n}"), Socket::SataPort(adapter.clone(), n));
        let mut sockets: Vec<_> = (0..adapter.ports()).map(port).collect();
        sockets.push(("registers".into(), Socket::AhciRegisters(adapter.clone())));
        Ok(Built { sockets, ..Built::default() })
    },
};

/// `sata-ssd`
pub static SATA_SSD: Kind = Kind {
    model: "sata-ssd",
    what: "A solid-state drive behind a Serial ATA cable",
    plugs: &[("at", Protocol::SataDrive)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: false,
    build: |context, p| {
        let spec = sata_ssd::Spec::read(p)?;
        let [Socket::SataDrive(cable)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        SataSsd::new(context.sim, context.name, spec, cable, context.seed);
        Ok(Built::default())
    },
};

/// `ahci-driver`
pub static AHCI_DRIVER: Kind = Kind {
    model: "ahci-driver",
    what: "A driver of AHCI adapters",
    plugs: &[("runs_on", Protocol::Software), ("controls", Protocol::AhciRegisters)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: true,
    build: |context, p| {
        let spec = driver::ahci::Spec::read(p)?;
        let [Socket::Software(processor), Socket::AhciRegisters(adapter)] = &context.plugs[..] else {
            unreachable!("plugs are checked")
        };
        let volumes = driver::ahci::install(context.sim, context.name, spec, processor, adapter);
        Ok(Built { volumes, ..Built::default() })
    },
};
