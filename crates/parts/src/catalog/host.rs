//! Processors, host bridges and root complexes.

use super::{Built, Kind, Protocol, Socket, ports};
use crate::bridge::host;
use crate::bridge::host::HostBridge;
use crate::bus::pcie::root_complex;
use crate::bus::pcie::root_complex::RootComplex;
use crate::cpu;
use crate::cpu::Processor;

/// `processor`
pub static PROCESSOR: Kind = Kind {
    model: "processor",
    what: "A processor, with the caches and the interrupts that drivers see of it",
    plugs: &[],
    sockets: |_| Ok(vec![("bus".into(), Protocol::ProcessorBus), ("software".into(), Protocol::Software)]),
    required: &[],
    software: false,
    build: |context, p| {
        let processor = Processor::new(context.sim, context.name, cpu::Spec::read(p)?);
        processor.meter();
        let bus = Socket::ProcessorBus(processor.clone());
        Ok(Built {
            sockets: vec![("bus".into(), bus), ("software".into(), Socket::Software(processor))],
            ..Built::default()
        })
    },
};

/// `host-bridge`
pub static HOST_BRIDGE: Kind = Kind {
    model: "host-bridge",
    what: "A host bridge: memory and processor beside a PCI bus",
    plugs: &[("at", Protocol::ProcessorBus)],
    sockets: |_| Ok(vec![("pci".into(), Protocol::HostPci)]),
    required: &["pci"],
    software: false,
    build: |context, p| {
        let spec = host::Spec::read(p)?;
        let [Socket::ProcessorBus(processor)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let bridge = HostBridge::new(context.sim, context.name, spec, processor);
        Ok(Built { sockets: vec![("pci".into(), Socket::HostPci(bridge))], ..Built::default() })
    },
};

/// `root-complex`
pub static ROOT_COMPLEX: Kind = Kind {
    model: "root-complex",
    what: "A root complex: memory and its ports to PCI Express",
    plugs: &[],
    sockets: |p| Ok(ports(root_complex::Spec::read(p)?.ports)),
    required: &[],
    software: false,
    build: |context, p| {
        let spec = root_complex::Spec::read(p)?;
        let count = spec.ports;
        let root = RootComplex::new(context.sim, context.name, spec);
        let port = |n| (format!("port{n}"), Socket::PciePort(root.port()));
        Ok(Built { sockets: (0..count).map(port).collect(), ..Built::default() })
    },
};
