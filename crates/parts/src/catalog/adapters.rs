//! Network adapters, accelerators and their drivers.

use std::rc::Rc;

use super::{Built, Kind, Protocol, Socket, plug_pci, untrained};
use crate::accelerator::gpu;
use crate::accelerator::gpu::Gpu;
use crate::attachment::Attachment;
use crate::bridge::pci_x::initiator::Initiator;
use crate::bus::pcie::Port;
use crate::bus::pcie::PortSpec;
use crate::bus::pcie::root_complex::RootComplex;
use crate::driver;
use crate::network::myrinet;
use crate::network::nic;
use crate::network::nic::Adapter;
use crate::network::programmable;
use crate::parameters::{Parameters, SpecError};
use crate::protocols::pcie::Home;

/// Nothing lies on a socket that is not there.
fn check_home(p: &Parameters, home: Home, root: Option<&Rc<RootComplex>>) -> Result<(), SpecError> {
    if home.remote && !root.is_some_and(|root| root.two_sockets()) {
        let help = "write \"local\", or give the root complex an `interconnect.latency`";
        return Err(p.error("memory", "this host has one socket", help));
    }
    Ok(())
}

/// `programmable-adapter`
pub static PROGRAMMABLE_ADAPTER: Kind = Kind {
    model: "programmable-adapter",
    what: "A programmable network adapter, by whose firmware hosts are measured",
    plugs: &[("at", Protocol::PcieDevice)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: false,
    build: |context, p| {
        let spec = programmable::Spec::read(p)?;
        let [Socket::PcieDevice(link)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        check_home(p, spec.home(), Some(&link.above().root))?;
        let plugged = programmable::plug(context.sim, context.name, spec, link);
        let volumes = plugged.map_err(|problem| untrained(p, "pcie.rate", problem))?;
        Ok(Built { volumes, ..Built::default() })
    },
};

/// `myrinet-adapter`
pub static MYRINET_ADAPTER: Kind = Kind {
    model: "myrinet-adapter",
    what: "A Myrinet adapter with a PCI-X interface",
    plugs: &[("at", Protocol::Pci)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: false,
    build: |context, p| {
        let spec = myrinet::Spec::read(p)?;
        let [Socket::PciSlot(slot)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let initiator = plug_pci(context.sim, context.name, spec.card.clone(), slot, p)?;
        let volumes = myrinet::install(context.sim, context.name, spec, &initiator);
        Ok(Built { volumes, ..Built::default() })
    },
};

/// `network-adapter`
pub static NETWORK_ADAPTER: Kind = Kind {
    model: "network-adapter",
    what: "A network adapter at PCI Express",
    plugs: &[("at", Protocol::PcieDevice)],
    sockets: |_| Ok(vec![("registers".into(), Protocol::NicRegisters)]),
    required: &["registers"],
    software: false,
    build: |context, p| {
        let (spec, port) = (nic::Spec::read(p)?, PortSpec::read(p)?);
        let [Socket::PcieDevice(link)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let port = Port::new(context.sim, &port, link).map_err(|problem| untrained(p, "pcie.rate", problem))?;
        let adapter = Adapter::new(context.sim, context.name, spec, (&port).into());
        Ok(Built { sockets: vec![("registers".into(), Socket::NicRegisters(adapter))], ..Built::default() })
    },
};

/// `network-adapter-pci`
pub static NETWORK_ADAPTER_PCI: Kind = Kind {
    model: "network-adapter-pci",
    what: "A network adapter at a PCI bus",
    plugs: &[("at", Protocol::Pci)],
    sockets: |_| Ok(vec![("registers".into(), Protocol::NicRegisters), ("wire".into(), Protocol::Ethernet)]),
    required: &[],
    software: false,
    build: |context, p| {
        let (spec, card) = (nic::Spec::read(p)?, Initiator::read_spec(p)?);
        let [Socket::PciSlot(slot)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let initiator = plug_pci(context.sim, context.name, card, slot, p)?;
        let attachment = Attachment::Pci(context.sim.clone(), initiator);
        let adapter = Adapter::new(context.sim, context.name, spec, attachment);
        let registers = ("registers".into(), Socket::NicRegisters(adapter.clone()));
        Ok(Built { sockets: vec![registers, ("wire".into(), Socket::Ethernet(adapter))], ..Built::default() })
    },
};

/// `network-driver`
pub static NETWORK_DRIVER: Kind = Kind {
    model: "network-driver",
    what: "A driver of network adapters that sends and receives packets",
    plugs: &[("runs_on", Protocol::Software), ("controls", Protocol::NicRegisters)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: true,
    build: |context, p| {
        let spec = driver::nic::Spec::read(p)?;
        let [Socket::Software(processor), Socket::NicRegisters(adapter)] = &context.plugs[..] else {
            unreachable!("plugs are checked")
        };
        check_home(p, spec.data(), adapter.attachment().root())?;
        if adapter.far_end().is_some() {
            let problem = "the server of the client at this adapter's wire controls it";
            return Err(p.error("controls", problem, "leave the driver out, or the client"));
        }
        let volumes = driver::nic::install(context.sim, context.name, spec, processor, adapter);
        Ok(Built { volumes, ..Built::default() })
    },
};

/// `gpu`
pub static GPU: Kind = Kind {
    model: "gpu",
    what: "A GPU: its memory and its copy engines",
    plugs: &[("at", Protocol::PcieDevice)],
    sockets: |_| Ok(vec![("registers".into(), Protocol::GpuRegisters)]),
    required: &["registers"],
    software: false,
    build: |context, p| {
        let (spec, port) = (gpu::Spec::read(p)?, PortSpec::read(p)?);
        let [Socket::PcieDevice(link)] = &context.plugs[..] else { unreachable!("plugs are checked") };
        let port = Port::new(context.sim, &port, link).map_err(|problem| untrained(p, "pcie.rate", problem))?;
        let gpu = Gpu::new(context.sim, context.name, spec, port);
        Ok(Built { sockets: vec![("registers".into(), Socket::GpuRegisters(gpu))], ..Built::default() })
    },
};

/// `gpu-driver`
pub static GPU_DRIVER: Kind = Kind {
    model: "gpu-driver",
    what: "A driver that copies to a GPU and back",
    plugs: &[("runs_on", Protocol::Software), ("controls", Protocol::GpuRegisters)],
    sockets: |_| Ok(Vec::new()),
    required: &[],
    software: true,
    build: |context, p| {
        let spec = driver::gpu::Spec::read(p)?;
        let [Socket::Software(processor), Socket::GpuRegisters(gpu)] = &context.plugs[..] else {
            unreachable!("plugs are checked")
        };
        check_home(p, spec.home(), Some(gpu.port().root()))?;
        let volumes = driver::gpu::install(context.sim, context.name, spec, processor, gpu);
        Ok(Built { volumes, ..Built::default() })
    },
};
