//! A bell: something may have changed, look again. However often it rings before somebody listens, that is once.

use crate::queue::Queue;
use crate::record::Label;
use crate::sim::Sim;

/// A bell.
#[derive(Clone)]
pub struct Bell(Queue<()>);

impl Bell {
    /// A bell that has not rung.
    pub fn new(sim: &Sim) -> Bell {
        Bell(Queue::new(sim, 1))
    }

    /// Rings. Who waits hears it; if nobody does, the next one who listens.
    #[inline]
    pub fn ring(&self) {
        // It rings already.
        let _ = self.0.try_put(());
    }

    /// Waits for `reason` until it rings; not at all where it has rung since somebody heard it last.
    pub async fn heard(&self, reason: &'static Label) {
        self.0.take(reason).await;
    }

    /// Whether it has rung since somebody heard it last; that is heard now.
    #[inline]
    pub fn try_hear(&self) -> bool {
        self.0.try_take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ended, Time};

    static QUIET: Label = Label::reason("nothing has changed");

    #[test]
    fn what_rang_twice_before_anybody_listened_is_heard_once() {
        let sim = Sim::new();
        let bell = Bell::new(&sim);
        bell.ring();
        bell.ring();
        let (s, b) = (sim.clone(), bell.clone());
        sim.process("listener", async move {
            b.heard(&QUIET).await;
            assert_eq!(s.now(), Time::ZERO);
            b.heard(&QUIET).await;
            assert_eq!(s.now(), Time::ns(5));
        });
        let (s, b) = (sim.clone(), bell.clone());
        sim.process("ringer", async move {
            s.wait(Time::ns(5)).await;
            b.ring();
        });
        assert_eq!(sim.run(Time::us(1)), Ended::Finished);
        assert!(!bell.try_hear());
    }
}
