//! A storage card that takes whole commands, as its driver sees it: a doorbell, and what has ended.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use hopscope_kernel::{Errand, Sim};

use super::finished::Finished;
use crate::bridge::pci_x::slot::Slot;

/// A command of the host, as the driver writes it to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The driver's number for it.
    pub number: u32,
    /// To the device.
    pub writes: bool,
    /// First byte, of all devices of the card.
    pub offset_bytes: u64,
    /// How many bytes.
    pub bytes: u32,
    /// Where they are in the host's memory.
    pub buffer: u32,
    /// Where its description is.
    pub described_at: u32,
    /// For whom it is.
    pub errand: Errand,
}

/// A device of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Where it begins among the bytes of all devices of the card.
    pub first_byte: u64,
    /// How many it has.
    pub bytes: u64,
}

/// What the driver has of a card.
pub trait BlockCard {
    /// The driver begins: the card looks for its drives and starts to work. Whether it has a device, which it has not
    /// without a drive; an error is what is wrong and what would be right.
    fn start(self: Rc<Self>) -> Result<bool, (String, String)>;
    /// Where it sits.
    fn slot(&self) -> &Slot;
    /// Its devices: one by the card's name, or some by the names of their drives.
    fn devices(&self) -> Vec<Device>;
    /// Commands under way that it takes, at most.
    fn commands_max(&self) -> u64;
    /// What the next register write says: the doorbell of a command.
    fn prepare(&self, command: Command);
    /// What the next register write says: the interrupt has been seen.
    fn acknowledge(&self);
    /// What has ended and the driver does not know of.
    fn finished(&self) -> &Finished;
}

/// The registers of such a card: what has been written to them and has not arrived, in order, and what has ended.
pub struct Registers {
    sim: Sim,
    /// Nothing is the acknowledgement of an interrupt.
    written: RefCell<VecDeque<Option<Command>>>,
    finished: Finished,
}

impl Registers {
    /// Nothing written, nothing ended.
    pub fn new(sim: &Sim) -> Registers {
        Registers { sim: sim.clone(), written: RefCell::default(), finished: Finished::new(sim) }
    }

    /// The next register write says this.
    pub fn write(&self, what: Option<Command>) {
        self.written.borrow_mut().push_back(what);
    }

    /// A register write has arrived, which the current process takes up and passes on.
    pub fn arrived(&self, errand: Errand) -> Option<Command> {
        self.sim.take_up(errand);
        let command = self.written.borrow_mut().pop_front().flatten()?;
        Some(Command { errand: self.sim.pass_on(errand), ..command })
    }

    /// What has ended and the driver does not know of.
    pub fn finished(&self) -> &Finished {
        &self.finished
    }
}
