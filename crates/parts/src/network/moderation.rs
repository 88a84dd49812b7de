//! Completions in host memory, and the interrupts that tell of them: after so many, or so long after the first.
//!
//! ```text
//!   completion ══ DMA write ══▶ completion queue ─▶ driver
//!        └─ count, time ══ MSI-X ══▶ interrupt ─┘      (none while the driver looks by itself)
//! ```
//!
//! Not modelled: moderation that adapts itself, and interrupts of several queues on one vector.

use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Bell, Either, Errand, Label, Lane, Queue, Sim, Time, race};

use crate::attachment::Attachment;
use crate::attachment::doorbell::Doorbells;
use crate::network::nic::Completed;

static NOT_ARMED: Label = Label::reason("the driver looks by itself");
static NOTHING_COMPLETED: Label = Label::reason("nothing completed");
static MODERATION: Label = Label::protocol("interrupt moderation");

/// When an adapter interrupts.
#[derive(Clone, Debug, PartialEq, Spec)]
pub(super) struct Spec {
    /// Completions that an interrupt waits for, unless the time for that is over.
    #[count("count", 1..)]
    count: u64,
    /// An interrupt comes so long after the first completion, at the latest.
    #[time("time", ..=Time::ms(100))]
    time: Time,
}

/// Completions of one direction.
pub struct Completions {
    sim: Sim,
    spec: Spec,
    port: Attachment,
    entries: Queue<Completed>,
    news: Bell,
    /// The timer's delays are owed to it.
    timer: Lane,
    arming: Rc<Doorbells>,
    interrupts: Bell,
}

impl Completions {
    /// A completion queue that never overflows with `capacity` descriptors in a ring.
    pub(super) fn new(sim: &Sim, name: &str, spec: &Spec, port: &Attachment, capacity: u64) -> Rc<Completions> {
        let completions = Rc::new(Completions {
            sim: sim.clone(),
            spec: spec.clone(),
            port: port.clone(),
            entries: Queue::new(sim, capacity as usize),
            news: Bell::new(sim),
            timer: sim.lane(&format!("{name}.moderation"), None),
            arming: Doorbells::new(sim, &format!("{name}.arm"), port.clone()),
            interrupts: Bell::new(sim),
        });
        let running = completions.clone();
        sim.process(&format!("{name}.interrupt"), async move { running.interrupt().await });
        completions
    }

    /// The adapter has written a completion.
    pub(super) fn put(&self, completed: Completed) {
        self.entries.put_now(completed);
        self.news.ring();
    }

    /// The oldest completion, which is visible from its time on.
    pub fn next(&self) -> Option<Completed> {
        self.entries.try_take()
    }

    /// The same, waiting for `reason` where there is none.
    pub async fn wait(&self, reason: &'static Label) -> Completed {
        self.entries.take(reason).await
    }

    /// Waits for an interrupt.
    pub async fn interrupted(&self, reason: &'static Label) {
        self.interrupts.heard(reason).await;
    }

    /// The driver allows the next interrupt.
    pub fn arm(&self) {
        self.arming.ring([Errand::NOBODY]);
    }

    /// The current process works for `seen` and for those of the first completions, `most` of them; returns how many.
    pub fn take_up(&self, seen: Option<Errand>, most: usize) -> usize {
        self.entries.look_at(most, |first| {
            let count = first.len();
            self.sim.take_up_all(seen.into_iter().chain(first.map(|completed| completed.errand)));
            count
        })
    }

    /// It has done so, and passes the first `count` on.
    pub fn pass_on(&self, count: usize) {
        self.entries.look_at(count, |first| {
            first.for_each(|completed| completed.errand = self.sim.pass_on(completed.errand));
        });
    }

    async fn interrupt(&self) {
        let sim = &self.sim;
        loop {
            self.arming.arrived.take(&NOT_ARMED).await;
            self.arming.next();
            while self.entries.is_empty() {
                self.news.heard(&NOTHING_COMPLETED).await;
            }
            let mut told = self.take_up(None, usize::MAX);
            let due = sim.now() + self.timer.paced(self.spec.time);
            while (self.entries.len() as u64) < self.spec.count && sim.now() < due {
                let elapsed = self.timer.delay_until(&MODERATION, due);
                if let Either::Left(()) = race(sim, elapsed, self.news.heard(&MODERATION)).await {
                    break;
                }
                self.pass_on(told);
                told = self.take_up(None, usize::MAX);
            }
            self.port.interrupt().await;
            self.pass_on(told);
            self.interrupts.ring();
        }
    }
}
