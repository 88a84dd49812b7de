//! Doorbells: posted writes of a processor to registers of a device, which carry a number there.
//!
//! ```text
//!   processor ──▶ write buffer ══ down ══▶ register ──▶ device
//! ```
//!
//! The processor does not wait for them. As many are on their way at a time as the host keeps.
//!
//! Not modelled: write combining, and the ordering of writes to different registers.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::collections::vec_deque::IterMut;
use std::rc::Rc;

use hopscope_kernel::{Errand, Label, Queue, Sim};

use super::Attachment;

static NONE_RUNG: Label = Label::reason("no doorbell rung");

/// Rung, but not sent: one for each descriptor at most, and one that arms an interrupt.
const RUNG_MAX: usize = 1 << 17;

/// A doorbell on its way: how many it tells of, and how many others before it have told of.
struct Rung {
    number: u32,
    before: u64,
}

/// Registers of one kind.
pub struct Doorbells {
    sim: Sim,
    rung: Queue<Rung>,
    /// Numbers that have arrived.
    pub arrived: Queue<u32>,
    /// For whom, one for each that doorbells have told of and that is not taken up.
    errands: RefCell<VecDeque<Errand>>,
    /// So many were told of in all, and so many of them are taken up.
    told: Cell<u64>,
    taken_up: Cell<u64>,
}

impl Doorbells {
    /// Doorbells of `name`, which are carried by processes of their own.
    pub fn new(sim: &Sim, name: &str, device: impl Into<Attachment>) -> Rc<Doorbells> {
        let device = device.into();
        let doorbells = Rc::new(Doorbells {
            sim: sim.clone(),
            rung: Queue::new(sim, RUNG_MAX),
            arrived: Queue::new(sim, RUNG_MAX),
            errands: RefCell::default(),
            told: Cell::new(0),
            taken_up: Cell::new(0),
        });
        for carrier in 0..device.register_writes() {
            let (bells, device) = (doorbells.clone(), device.clone());
            sim.process(&format!("{name}{carrier}"), async move { bells.carry(&device).await });
        }
        doorbells
    }

    /// The processor tells of as many as there are errands.
    pub fn ring(&self, errands: impl IntoIterator<Item = Errand>) {
        let (mut all, before) = (self.errands.borrow_mut(), self.told.get());
        let waiting = all.len();
        all.extend(errands.into_iter().map(|errand| self.sim.pass_on(errand)));
        let number = (all.len() - waiting) as u32;
        self.told.set(before + u64::from(number));
        self.rung.put_now(Rung { number, before });
    }

    /// For whom the next one is that was told of.
    pub fn next(&self) -> Errand {
        self.taken_up.set(self.taken_up.get() + 1);
        self.errands.borrow_mut().pop_front().unwrap_or(Errand::NOBODY)
    }

    async fn carry(&self, device: &Attachment) {
        loop {
            let rung = self.rung.take(&NONE_RUNG).await;
            self.each_of(&rung, |all| self.sim.take_up_all(all.map(|errand| *errand)));
            device.doorbell().await;
            self.each_of(&rung, |all| all.for_each(|errand| *errand = self.sim.pass_on(*errand)));
            self.arrived.put_now(rung.number);
        }
    }

    /// Errands that a doorbell tells of, but for those that another one has come before it for.
    fn each_of(&self, rung: &Rung, each: impl FnOnce(IterMut<'_, Errand>)) {
        let (mut all, taken_up) = (self.errands.borrow_mut(), self.taken_up.get());
        let place = |told: u64| (told.max(taken_up) - taken_up) as usize;
        each(all.range_mut(place(rung.before)..place(rung.before + u64::from(rung.number))));
    }
}
