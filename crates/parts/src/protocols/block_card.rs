//! A storage card that takes whole commands, as its driver sees it: a doorbell, and what has ended.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::bus::pci::slot::Slot;

/// A command of the host, as the driver writes it to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The driver's number for it.
    pub number: u32,
    /// To the device.
    pub writes: bool,
    /// First byte of the device.
    pub offset_bytes: u64,
    /// How many bytes.
    pub bytes: u32,
    /// Where they are in the host's memory.
    pub buffer: u32,
    /// Where its description is.
    pub described_at: u32,
}

/// What the driver has of a card.
pub trait BlockCard {
    /// The driver begins: the card looks for its drives and starts to work. Whether it has a device, which it has not
    /// without a drive; an error is what is wrong and what would be right.
    fn start(self: Rc<Self>) -> Result<bool, (String, String)>;
    /// The card's name, which is its device's.
    fn name(&self) -> &str;
    /// Where it sits.
    fn slot(&self) -> &Slot;
    /// Bytes of its device.
    fn size_bytes(&self) -> u64;
    /// Commands under way that it takes, at most.
    fn commands_max(&self) -> u64;
    /// What the next register write says: the doorbell of a command.
    fn prepare(&self, command: Command);
    /// What the next register write says: the interrupt has been seen.
    fn acknowledge(&self);
    /// A command that has ended and that the driver does not know of.
    fn take_finished(&self) -> Option<u32>;
}

/// The registers of such a card: what has been written to them and has not arrived, in order, and what has ended.
#[derive(Default)]
pub struct Registers {
    /// Nothing is the acknowledgement of an interrupt.
    written: RefCell<VecDeque<Option<Command>>>,
    finished: RefCell<VecDeque<u32>>,
}

impl Registers {
    /// The next register write says this.
    pub fn write(&self, what: Option<Command>) {
        self.written.borrow_mut().push_back(what);
    }

    /// A register write has arrived.
    pub fn arrived(&self) -> Option<Command> {
        self.written.borrow_mut().pop_front().flatten()
    }

    /// A command has ended.
    pub fn finish(&self, number: u32) {
        self.finished.borrow_mut().push_back(number);
    }

    /// The command that ended first of those that the driver does not know of.
    pub fn take_finished(&self) -> Option<u32> {
        self.finished.borrow_mut().pop_front()
    }
}
