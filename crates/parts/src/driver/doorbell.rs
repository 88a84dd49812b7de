//! Doorbells: posted writes of a processor to registers of a device, which carry a number there.
//!
//! ```text
//!   processor ──▶ write buffer ══ down ══▶ register ──▶ device
//! ```
//!
//! The processor does not wait for them. As many are on their way at a time as its write buffer holds.
//!
//! Not modelled: write combining, and the ordering of writes to different registers.

use std::rc::Rc;

use hopscope_kernel::{Label, Queue, Sim};

use crate::bus::pcie::Port;

/// Doorbells on their way at a time: what a root complex keeps of one processor.
const UNDER_WAY: usize = 4;
static NONE_RUNG: Label = Label::reason("no doorbell rung");

/// Rung, but not sent: one for each descriptor at most, and one that arms an interrupt.
const RUNG_MAX: usize = 1 << 17;

/// Registers of one kind.
pub struct Doorbells {
    rung: Queue<u32>,
    /// Numbers that have arrived.
    pub arrived: Queue<u32>,
}

impl Doorbells {
    /// Doorbells of `name`, which are carried by processes of their own.
    pub fn new(sim: &Sim, name: &str, port: &Rc<Port>) -> Rc<Doorbells> {
        let doorbells = Rc::new(Doorbells { rung: Queue::new(sim, RUNG_MAX), arrived: Queue::new(sim, RUNG_MAX) });
        for carrier in 0..UNDER_WAY {
            let (bells, port) = (doorbells.clone(), port.clone());
            sim.process(&format!("{name}{carrier}"), async move {
                loop {
                    let number = bells.rung.take(&NONE_RUNG).await;
                    port.doorbell().await;
                    let _ = bells.arrived.try_put(number);
                }
            });
        }
        doorbells
    }

    /// The processor has written `number`.
    pub fn ring(&self, number: u32) {
        let _ = self.rung.try_put(number);
    }
}
