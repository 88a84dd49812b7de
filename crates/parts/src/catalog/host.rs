//! Processors, host bridges and root complexes.

use super::plugs::At;
use super::sockets::{HostPci, PciSide, PciePort, ProcessorBus, Software};
use super::{Builder, Built, Kind, Protocol, numbered, one};
use crate::bridge::host::{self, HostBridge};
use crate::bus::pcie::root_complex::{self, RootComplex};
use crate::cpu::{self, Processor};

/// `processor`
pub static PROCESSOR: Kind = Kind {
    model: "processor",
    what: "A processor, with the caches and the interrupts that drivers see of it",
    sockets: |_| Ok([one("bus", Protocol::ProcessorBus), one("software", Protocol::Software)].concat()),
    required: &[],
    build: &Builder(|context, spec: cpu::Spec, (), _| {
        let processor = Processor::new(context.sim, context.name, spec);
        processor.meter();
        Ok(Built::with([one("bus", ProcessorBus(processor.clone())), one("software", Software(processor))].concat()))
    }),
};

/// `host-bridge`
pub static HOST_BRIDGE: Kind = Kind {
    model: "host-bridge",
    what: "A host bridge: memory and processor beside a PCI bus",
    sockets: |_| Ok(one("pci", Protocol::HostPci)),
    required: &["pci"],
    build: &Builder(|context, spec: host::Spec, At(ProcessorBus(processor)), _| {
        let bridge = HostBridge::new(context.sim, context.name, spec, &processor);
        Ok(Built::with(one("pci", HostPci(PciSide::Chipset(bridge)))))
    }),
};

/// `root-complex`
pub static ROOT_COMPLEX: Kind = Kind {
    model: "root-complex",
    what: "A root complex: memory and its ports to PCI Express",
    sockets: |p| Ok(numbered("port", root_complex::Spec::read(p)?.ports, |_| Protocol::PciePort)),
    required: &[],
    build: &Builder(|context, spec: root_complex::Spec, (), _| {
        let count = spec.ports;
        let root = RootComplex::new(context.sim, context.name, spec);
        Ok(Built::with(numbered("port", count, |_| PciePort(root.port()).into())))
    }),
};
