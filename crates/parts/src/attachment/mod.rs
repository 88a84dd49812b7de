//! How a network adapter reaches its host: a port of PCI Express, or a bus master on PCI.
//!
//! ```text
//!   rings, engines ─▶ attachment ─┬─▶ PCI Express port ══ packets ══▶ root complex
//!                                 └─▶ PCI initiator ══ bursts ══▶ bridge      (INTx, one wire)
//! ```
//!
//! Not modelled: completions on PCI that lie in a bridge when their interrupt comes; the handler's register read is
//! behind them.

pub mod doorbell;

use std::rc::Rc;

use hopscope_kernel::{Errand, Label, Sim, Time};

use crate::bridge::pci_x::initiator::Initiator;
use crate::bus::pcie::Port;
use crate::bus::pcie::root_complex::RootComplex;
use crate::cpu::Work;
use crate::protocols::pci;
use crate::protocols::pcie::{DATA, Home, PAGE_BYTES};

/// Posted writes on their way to one card on PCI: what a host bridge of its time keeps.
const WRITES_ON_PCI: usize = 4;

/// What an adapter is plugged into.
#[derive(Clone)]
pub enum Attachment {
    /// A link of PCI Express.
    Express(Rc<Port>),
    /// A slot of PCI.
    Pci(Sim, Rc<Initiator>),
}

impl From<&Rc<Port>> for Attachment {
    fn from(port: &Rc<Port>) -> Attachment {
        Attachment::Express(port.clone())
    }
}

/// What bursts carry, in words of PCI.
fn on_pci(carries: &'static Label) -> &'static Label {
    if *carries == DATA { &pci::DATA } else { &pci::DESCRIPTOR_DATA }
}

/// PCI has 32 bits of address here; what lies higher comes round.
fn low(address: u64) -> u32 {
    (address & u64::from(u32::MAX)) as u32
}

impl Attachment {
    /// The root complex, where there is one.
    pub fn root(&self) -> Option<&Rc<RootComplex>> {
        match self {
            Attachment::Express(port) => Some(port.root()),
            Attachment::Pci(..) => None,
        }
    }

    /// Reads of neighbouring frames are cut at multiples of so much.
    pub(crate) fn read_request_max(&self) -> u32 {
        match self {
            Attachment::Express(port) => port.read_request_max(),
            Attachment::Pci(..) => pci::PHASE_BYTES,
        }
    }

    /// Reads host memory for a request. Ends when the data are there.
    pub(crate) async fn read(&self, address: u64, bytes: u32, (data, errand): (&'static Label, Errand), home: Home) {
        match self {
            Attachment::Express(port) => {
                let (mut address, mut left) = (address, bytes);
                while left > 0 {
                    let part = left.min(PAGE_BYTES - (address % u64::from(PAGE_BYTES)) as u32);
                    port.read(address, part, data, home).await;
                    (address, left) = (address + u64::from(part), left - part);
                }
            }
            Attachment::Pci(_, initiator) => initiator.read(low(address), bytes, on_pci(data), errand).await,
        }
    }

    /// Writes host memory for a request. Returns when a processor will see it.
    pub(crate) async fn write(
        &self,
        address: u64,
        bytes: u32,
        (data, errand): (&'static Label, Errand),
        home: Home,
    ) -> Time {
        match self {
            Attachment::Express(port) => port.write(address, bytes, data, home).await,
            Attachment::Pci(sim, initiator) => {
                initiator.write(low(address), bytes, on_pci(data), errand).await;
                sim.now()
            }
        }
    }

    /// Posted writes of the processor to registers of the device that are on their way at a time.
    pub(crate) fn register_writes(&self) -> usize {
        match self {
            Attachment::Express(port) => port.root().register_writes(),
            Attachment::Pci(..) => WRITES_ON_PCI,
        }
    }

    /// A posted write of the processor to a register, carried by a process of the device. Ends when it has arrived.
    pub async fn doorbell(&self) {
        match self {
            Attachment::Express(port) => port.doorbell().await,
            Attachment::Pci(_, initiator) => initiator.slot().doorbell().await,
        }
    }

    /// An interrupt. Ends when it has arrived.
    pub(crate) async fn interrupt(&self) {
        match self {
            Attachment::Express(port) => port.interrupt().await,
            Attachment::Pci(_, initiator) => initiator.slot().signal().await,
        }
    }

    /// The processor, interrupted, asks what for: INTx does not say, a message does.
    pub async fn cause(&self, work: &Work<'_>) {
        if let Attachment::Pci(_, initiator) = self {
            initiator.slot().register_read(work).await;
        }
    }

    /// Waits until a completion is visible to the processor.
    pub async fn until_visible(&self, visible: Time) {
        if let Attachment::Express(port) = self {
            port.root().until_visible(visible).await;
        }
    }
}
