//! Interrupts: when the host is told of completions. 1.4, 7.5 and 5.21.1.8.

use std::rc::Rc;

use hopscope_kernel::{Either, Label, Queue, race};

use super::{Controller, Message};

static NOTHING_POSTED: Label = Label::reason("no completion to tell of");
static AGGREGATION: Label = Label::protocol("interrupt coalescing");

impl Controller {
    /// The host wants interrupts; it finds their messages in this queue, and waits for them to arrive.
    pub fn enable_interrupts(self: &Rc<Self>) -> Queue<Message> {
        let running = self.clone();
        self.sim.process(&format!("{}.interrupts", self.name), async move { running.run_interrupts().await });
        self.interrupts.clone()
    }

    /// 7.5: a host that has not written the head of the completion queue since the last interrupt is still at work; it is
    /// interrupted again where entries are left when it has.
    async fn run_interrupts(&self) {
        loop {
            self.queues.changed().heard(&NOTHING_POSTED).await;
            if self.in_service.get() || self.queues.unacknowledged() == 0 {
                continue;
            }
            let first = self.queues.posted();
            self.queues.take_up_completions(first);
            self.aggregate().await;
            self.in_service.set(true);
            // What has come meanwhile waited for the others, not they for it.
            let completions = self.queues.posted();
            self.queues.pass_completions_on(first);
            self.queues.take_up_completions(completions);
            let (left, arrival) = self.port.send_interrupt().await;
            self.queues.pass_completions_on(completions);
            self.interrupts.put_now(Message { left, arrival, completions });
        }
    }

    /// Waits for more completions, as many and as long as coalescing allows.
    async fn aggregate(&self) {
        let Self { sim, spec, queues, coalescing, .. } = self;
        let end = sim.now() + coalescing.paced(spec.aggregation_time);
        // 5.21.1.8: a threshold of one, or no time, disables coalescing.
        while queues.unacknowledged() < u64::from(spec.threshold) && sim.now() < end {
            let start = sim.now();
            match race(sim, queues.changed().heard(&NOTHING_POSTED), sim.wait_until(end)).await {
                Either::Left(()) => {}
                Either::Right(()) => coalescing.delayed(&AGGREGATION, start, end),
            }
        }
    }
}
