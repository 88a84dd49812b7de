//! Network adapters, accelerators and their drivers.

use std::rc::Rc;

use super::pci::{self, Card};
use super::plugs::{At, Controls, RunsOn};
use super::sockets::{Ethernet, GpuRegisters, NicRegisters, Pci, PcieDevice};
use super::{Builder, Built, Kind, NO_SOCKETS, Protocol, one, untrained};
use crate::accelerator::gpu::{self, Gpu};
use crate::attachment::Attachment;
use crate::bus::pcie::root_complex::RootComplex;
use crate::bus::pcie::{Port, PortSpec};
use crate::driver;
use crate::network::myrinet;
use crate::network::nic::{self, Adapter};
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
    sockets: NO_SOCKETS,
    required: &[],
    build: &Builder(|context, spec: programmable::Spec, At(PcieDevice(link)), p| {
        check_home(p, spec.home(), Some(&link.above().root))?;
        let plugged = programmable::plug(context.sim, context.name, spec, &link);
        Ok(Built::of(plugged.map_err(|problem| untrained(p, "pcie.rate", problem))?))
    }),
};

/// `myrinet-adapter`
pub static MYRINET_ADAPTER: Kind = Kind {
    model: "myrinet-adapter",
    what: "A Myrinet adapter with a PCI-X interface",
    sockets: NO_SOCKETS,
    required: &[],
    build: &Builder(|context, spec: myrinet::Spec, At(Pci(slot)), p| {
        let initiator = pci::plug(context, spec.card.clone(), &slot, p)?;
        Ok(Built::of(myrinet::install(context.sim, context.name, spec, &initiator)))
    }),
};

/// `network-adapter`
pub static NETWORK_ADAPTER: Kind = Kind {
    model: "network-adapter",
    what: "A network adapter at PCI Express",
    sockets: |_| Ok(one("registers", Protocol::NicRegisters)),
    required: &["registers"],
    build: &Builder(|context, (spec, port): (nic::Spec, PortSpec), At(PcieDevice(link)), p| {
        let port = Port::new(context.sim, &port, &link).map_err(|problem| untrained(p, "pcie.rate", problem))?;
        let adapter = Adapter::new(context.sim, context.name, spec, (&port).into());
        Ok(Built::with(one("registers", NicRegisters(adapter))))
    }),
};

/// `network-adapter-pci`
pub static NETWORK_ADAPTER_PCI: Kind = Kind {
    model: "network-adapter-pci",
    what: "A network adapter at a PCI bus",
    sockets: |_| Ok([one("registers", Protocol::NicRegisters), one("wire", Protocol::Ethernet)].concat()),
    required: &[],
    build: &Builder(|context, (spec, Card { card }): (nic::Spec, Card), At(Pci(slot)), p| {
        let initiator = pci::plug(context, card, &slot, p)?;
        let attachment = Attachment::Pci(context.sim.clone(), initiator);
        let adapter = Adapter::new(context.sim, context.name, spec, attachment);
        Ok(Built::with([one("registers", NicRegisters(adapter.clone())), one("wire", Ethernet(adapter))].concat()))
    }),
};

/// `network-driver`
pub static NETWORK_DRIVER: Kind = Kind {
    model: "network-driver",
    what: "A driver of network adapters that sends and receives packets",
    sockets: NO_SOCKETS,
    required: &[],
    build: &Builder(|context, spec: driver::nic::Spec, (RunsOn(processor), Controls(NicRegisters(adapter))), p| {
        check_home(p, spec.data(), adapter.attachment().root())?;
        if adapter.far_end().is_some() {
            let problem = "the server of the client at this adapter's wire controls it";
            return Err(p.error("controls", problem, "leave the driver out, or the client"));
        }
        Ok(Built::of(driver::nic::install(context.sim, context.name, spec, &processor, &adapter)))
    }),
};

/// `gpu`
pub static GPU: Kind = Kind {
    model: "gpu",
    what: "A GPU: its memory and its copy engines",
    sockets: |_| Ok(one("registers", Protocol::GpuRegisters)),
    required: &["registers"],
    build: &Builder(|context, (spec, port): (gpu::Spec, PortSpec), At(PcieDevice(link)), p| {
        let port = Port::new(context.sim, &port, &link).map_err(|problem| untrained(p, "pcie.rate", problem))?;
        let gpu = Gpu::new(context.sim, context.name, spec, port);
        Ok(Built::with(one("registers", GpuRegisters(gpu))))
    }),
};

/// `gpu-driver`
pub static GPU_DRIVER: Kind = Kind {
    model: "gpu-driver",
    what: "A driver that copies to a GPU and back",
    sockets: NO_SOCKETS,
    required: &[],
    build: &Builder(|context, spec: driver::gpu::Spec, (RunsOn(processor), Controls(GpuRegisters(gpu))), p| {
        check_home(p, spec.home(), Some(gpu.port().root()))?;
        Ok(Built::of(driver::gpu::install(context.sim, context.name, spec, &processor, &gpu)))
    }),
};
