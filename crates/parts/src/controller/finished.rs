//! Commands that have ended and that a driver does not know of yet, as a card tells of them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use hopscope_kernel::{Errand, Sim};

/// Such commands, in the order in which they ended, each with the request that it was for.
pub struct Finished {
    sim: Sim,
    commands: RefCell<VecDeque<(u32, Errand)>>,
    /// So many of them the driver has taken up together.
    together: Cell<usize>,
}

impl Finished {
    /// None yet.
    pub fn new(sim: &Sim) -> Finished {
        Finished { sim: sim.clone(), commands: RefCell::default(), together: Cell::new(0) }
    }

    /// A command has ended.
    pub fn push(&self, number: u32, errand: Errand) {
        self.commands.borrow_mut().push_back((number, self.sim.pass_on(errand)));
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.commands.borrow().is_empty()
    }

    /// The requests that ended.
    pub fn each(&self, mut tell: impl FnMut(Errand)) {
        self.commands.borrow().iter().for_each(|(_, errand)| tell(*errand));
    }

    /// The current process, which an interrupt has called, works for all of them, too.
    pub fn take_up(&self) {
        self.each(|errand| self.sim.take_up_too(errand));
        self.together.set(self.commands.borrow().len());
    }

    /// The command that ended first. The current process works for that one alone from now on: what it had to do for
    /// all of them together is done.
    pub fn take(&self) -> Option<u32> {
        let mut commands = self.commands.borrow_mut();
        for (_, errand) in commands.iter_mut().take(self.together.take()) {
            *errand = self.sim.pass_on(*errand);
        }
        let (number, errand) = commands.pop_front()?;
        self.sim.take_up(errand);
        Some(number)
    }
}
