//! Delays: nothing until an instant.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::Time;
use crate::sim::Sim;

impl Sim {
    /// Nothing for `span`. (A part that spends time says in which phase: [`Grant::hold`](crate::Grant::hold).)
    #[inline(always)]
    pub fn wait(&self, span: Time) -> Delay<'_> {
        self.wait_until(self.now() + span)
    }

    /// Nothing until `until`.
    #[inline(always)]
    pub fn wait_until(&self, until: Time) -> Delay<'_> {
        Delay { sim: self, until, armed: None }
    }
}

/// Waits until an instant. Dropping it cancels it.
pub struct Delay<'a> {
    sim: &'a Sim,
    until: Time,
    armed: Option<u32>,
}

impl Future for Delay<'_> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let Delay { sim, until, armed } = &mut *self;
        sim.shared.sleep(*until, armed)
    }
}

impl Drop for Delay<'_> {
    #[inline]
    fn drop(&mut self) {
        self.sim.shared.cancel_sleep(self.until, self.armed);
    }
}
