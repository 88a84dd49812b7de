//! Interrupts: when the host is told of completions. 1.4, 7.5 and 5.21.1.8.

use std::rc::Rc;

use hopscope_kernel::{Either, Label, Queue, race};

use super::{Controller, Message, QueuePair};

static NOTHING_POSTED: Label = Label::reason("no completion to tell of");
static AGGREGATION: Label = Label::protocol("interrupt coalescing");

impl Controller {
    /// The host wants interrupts of a pair of queues, which has a vector of its own; it finds their messages in this
    /// queue, and waits for them to arrive.
    pub fn enable_interrupts(self: &Rc<Self>, queues: &Rc<QueuePair>) -> Queue<Message> {
        let (running, pair) = (self.clone(), queues.clone());
        let process = match queues.identifier() {
            1 => format!("{}.interrupts", self.name),
            other => format!("{}.interrupts{other}", self.name),
        };
        self.sim.process(&process, async move { running.run_interrupts(&pair).await });
        queues.interrupts.clone()
    }

    /// 7.5: a host that has not written the head of the completion queue since the last interrupt is still at work; it is
    /// interrupted again where entries are left when it has.
    async fn run_interrupts(&self, queues: &QueuePair) {
        loop {
            queues.changed().heard(&NOTHING_POSTED).await;
            if queues.in_service.get() || queues.unacknowledged() == 0 {
                continue;
            }
            let first = queues.posted();
            queues.take_up_completions(first);
            self.aggregate(queues).await;
            queues.in_service.set(true);
            // What has come meanwhile waited for the others, not they for it.
            let completions = queues.posted();
            queues.pass_completions_on(first);
            queues.take_up_completions(completions);
            let (left, arrival) = self.port.send_interrupt().await;
            queues.pass_completions_on(completions);
            queues.interrupts.put_now(Message { left, arrival, completions });
        }
    }

    /// Waits for more completions, as many and as long as coalescing allows.
    async fn aggregate(&self, queues: &QueuePair) {
        let Self { sim, spec, coalescing, .. } = self;
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
