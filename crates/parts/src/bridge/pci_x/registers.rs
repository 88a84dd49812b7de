//! The processor's way down to the registers of a card: links, the bridge, its bus, and the bridges below.
//!
//! Not modelled: prefetchable memory of cards, write combining, reads that wait for posted writes.

use std::rc::Rc;

use super::path::Path;
use super::port::{Across, Port};
use super::posted::THROUGH;
use crate::bus::pci::tenure::Ending;
use crate::protocols::pci::{Command, DELAYED, REGISTER_DATA};

/// A register has four bytes.
const REGISTER_BYTES: u32 = 4;
/// Where cards have their registers is not modelled: they are shown at zero.
const REGISTER: (u32, u32) = (0, REGISTER_BYTES);

/// From a host to a card.
#[derive(Clone)]
pub struct Way {
    path: Path,
    /// The nearest to the host first.
    ports: Vec<Rc<Port>>,
}

impl Way {
    /// The way to the cards on the bus of `port`.
    pub fn to(port: &Rc<Port>) -> Way {
        let mut ports = vec![port.clone()];
        loop {
            let first = ports[0].clone();
            match &first.across {
                Across::Host { path, .. } => return Way { path: path.clone(), ports },
                Across::Bus { upper, .. } => ports.insert(0, upper.port().clone()),
            }
        }
    }

    /// The links to memory, and the memory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Segments between the host and a card.
    pub fn segments(&self) -> usize {
        self.ports.len()
    }

    /// A write arrives at its register.
    pub async fn write(&self, waits: u64) {
        for (index, port) in self.ports.iter().enumerate() {
            self.down_to(index).await;
            Self::cycle(port, Command::MemoryWrite, waits).await;
        }
    }

    /// A read, there and back.
    pub async fn read(&self, waits: u64) {
        let last = self.ports.len() - 1;
        for (index, port) in self.ports.iter().enumerate() {
            self.down_to(index).await;
            if index == last {
                Self::cycle(port, Command::MemoryRead, waits).await;
            } else {
                // The bridge below takes note, and is asked again when it has the answer.
                let tenure = port.bus().own(REGISTER_BYTES).await;
                tenure.open(Command::MemoryRead, REGISTER, port.spec.read.response).await;
                let idle = tenure.noted(&DELAYED);
                port.sim.wait_until(idle).await;
            }
        }
        for (index, port) in self.ports.iter().enumerate().rev() {
            if index < last {
                Self::cycle(port, Command::MemoryRead, port.spec.read.response).await;
            }
            match index {
                0 => self.path.register_up(port.through()).await,
                _ => port.lane.delay(&THROUGH, port.latency()).await,
            }
        }
    }

    /// To a bridge on the way down, and through it.
    async fn down_to(&self, index: usize) {
        let port = &self.ports[index];
        match index {
            0 => self.path.register_down(port.through()).await,
            _ => port.lane.delay(&THROUGH, port.latency()).await,
        }
    }

    async fn cycle(port: &Port, command: Command, waits: u64) {
        let tenure = port.bus().own(REGISTER_BYTES).await;
        tenure.open_with_data(command, REGISTER, waits, (&REGISTER_DATA, REGISTER_BYTES, REGISTER_BYTES)).await;
        tenure.end(Ending::Done);
    }
}
