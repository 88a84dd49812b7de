//! An NVM Express driver: it writes commands into a queue and hears of completions, by interrupt or by looking.
//!
//! ```text
//!   request ─▶ submission ─▶ queue, doorbell ─▶ (the drive works) ─▶ interrupt ─▶ handler ─▶ completion
//!              on the processor                                  └─▶ next poll ─┘
//! ```
//!
//! A request that is longer than a command may be becomes several, which one doorbell announces. A handler takes all
//! completions that it finds, and says so to the drive when it has taken them.
//!
//! Not modelled: several queues a drive, merging of requests, schedulers, hybrid polling, time-outs, what an idle
//! processor does while it polls, copies of data.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Lane, Queue, Sim, Time, Tokens};

use super::requests::Requests;
use crate::controller::nvme::{Controller, Message};
use crate::cpu::{Layer, Processor, Work};
use crate::protocols::nvme::{Command, Pointers};
use crate::protocols::pcie::{Home, INTERRUPT, PAGE_BYTES};
use crate::protocols::storage::{Operation, Request, Storage};

static NO_REQUEST: Label = Label::workload("no request");
static SUBMITTED_LATER: Label = Label::queued("behind other requests of the driver");
static QUEUE_FULL: Label = Label::reason("submission queue full");
static DRIVE_AT_WORK: Label = Label::reason("drive at work");
static DELIVERY: Label = Label::protocol("interrupt delivery");
static NEXT_POLL: Label = Label::protocol("until the next poll");

/// Memory of the commands' lists, and of their buffers.
const LISTS_AT: u64 = 0x2_0000_0000;
const LIST_BYTES: u64 = 4 * PAGE_BYTES as u64;
const BUFFERS_AT: u64 = 0x10_0000_0000;

/// How the driver hears of completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
enum Notice {
    /// The drive interrupts the processor, which runs a handler.
    Interrupt {
        /// From the arrival of the interrupt message to the handler.
        #[time("interrupt.delivery")]
        delivery: Time,
        /// Processor time of the handler, besides completions.
        #[time("interrupt.handler")]
        handler: Time,
    },
    /// The thread looks at the completion queue.
    Poll {
        /// From one look at the completion queue to the next.
        #[time("poll.interval", Time::ps(1)..)]
        interval: Time,
        /// Processor time of a look that finds something, besides completions.
        #[time("poll.look")]
        look: Time,
    },
}

/// The driver's behaviour.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Entries of its queues: a queue holds one command less (3.1.1).
    #[count("queue", 2..=u16::MAX.into())]
    entries: u64,
    /// Most bytes a command moves, where the drive moves as many.
    #[bytes("transfer_max", PAGE_BYTES.into()..=2 << 20, multiple_of = PAGE_BYTES.into())]
    transfer_max: u32,
    /// Bytes of memory that lie together: a descriptor of a scatter-gather list.
    #[bytes("contiguous", PAGE_BYTES.into()..=1 << 30, power_of_two)]
    contiguous: u32,
    /// How a command says where its data are: pages, or a scatter-gather list.
    #[choice("transfer", "prp" => Pointers::Prp, "sgl" => Pointers::Sgl { contiguous })]
    pointers: Pointers,
    /// On which socket the driver's memory is: the drive's, or the other one. Queues are in its last-level cache.
    #[choice("socket", "local" => Home { cached: true, remote: false }, "remote" => Home { cached: true, remote: true })]
    queues: Home,
    /// Where the buffers of requests are: in memory, or in the last-level cache.
    #[choice("buffers", "memory" => Home { cached: false, ..queues }, "cache" => queues)]
    data: Home,
    /// Processor time of a command's submission.
    #[time("submission")]
    submission: Time,
    /// Processor time of a command's completion.
    #[time("completion")]
    completion: Time,
    /// How the driver hears of completions.
    #[choice("notice")]
    notice: Notice,
    /// Processor time of a request above the driver.
    #[time("time_above")]
    time_above: Time,
}

/// A request that waits for its submission.
struct Waiting {
    request: Request,
    since: Time,
}

/// The driver of a drive.
struct Driver {
    sim: Sim,
    spec: Spec,
    transfer_max: u32,
    lane: Lane,
    processor: Rc<Processor>,
    controller: Rc<Controller>,
    requests: Queue<Waiting>,
    under_way: Requests,
    /// Of each command identifier: the request that it belongs to.
    owners: RefCell<Vec<u32>>,
    free_identifiers: RefCell<Vec<u16>>,
    /// As many as there are free identifiers.
    room: Tokens,
}

/// Starts the driver of a drive; returns its device.
pub fn install(
    sim: &Sim,
    name: &str,
    spec: Spec,
    processor: &Rc<Processor>,
    controller: &Rc<Controller>,
) -> (String, Rc<dyn Storage>) {
    let commands = spec.entries as usize - 1;
    let room = Tokens::full(sim, commands);
    controller.queues().create(spec.entries, spec.queues);
    let driver = Rc::new(Driver {
        sim: sim.clone(),
        transfer_max: spec.transfer_max.min(controller.transfer_max()),
        lane: sim.lane(name, None),
        processor: processor.clone(),
        controller: controller.clone(),
        requests: Queue::new(sim, usize::MAX),
        under_way: Requests::new(sim),
        owners: RefCell::new(vec![0; commands]),
        free_identifiers: RefCell::new((0..commands as u16).rev().collect()),
        room,
        spec,
    });
    let running = driver.clone();
    sim.process(&format!("{name}.submission"), async move { running.run_submission().await });
    let running = driver.clone();
    match driver.spec.notice {
        Notice::Interrupt { delivery, handler } => {
            let interrupts = controller.enable_interrupts();
            let running = async move { running.run_handler(interrupts, delivery, handler).await };
            sim.process(&format!("{name}.handler"), running);
        }
        Notice::Poll { interval, look } => {
            sim.process(&format!("{name}.polling"), async move { running.run_polling(interval, look).await });
        }
    }
    (controller.name().to_string(), driver)
}

impl Storage for Driver {
    fn submit(&self, request: Request) {
        if self.requests.try_put(Waiting { request, since: self.sim.now() }).is_err() {
            unreachable!("the queue takes any number of requests");
        }
    }

    fn size_bytes(&self) -> u64 {
        self.controller.size_bytes()
    }

    fn block_bytes(&self) -> u32 {
        self.controller.block_bytes()
    }

    fn processor(&self) -> Option<Rc<Processor>> {
        Some(self.processor.clone())
    }

    fn above(&self, _: Operation, _: u32) -> (Layer, Time) {
        (Layer::FileSystem, self.spec.time_above)
    }
}

impl Driver {
    async fn run_submission(&self) {
        loop {
            let mut next = self.requests.take(&NO_REQUEST).await;
            self.sim.take_up(next.request.errand);
            loop {
                self.submit_all(next.request).await;
                match self.requests.try_take() {
                    Some(waiting) => next = waiting,
                    None => break,
                }
                self.sim.take_up(next.request.errand);
                self.lane.awaited(&SUBMITTED_LATER, next.since);
            }
        }
    }

    /// Submits the commands of a request; the doorbell says so when the last one is in the queue, or when it is full.
    async fn submit_all(&self, request: Request) {
        let Request { operation, bytes, offset_bytes: offset, errand, .. } = request;
        let owner = self.under_way.open(request, bytes.div_ceil(self.transfer_max));
        let mut done = 0;
        let mut work = None;
        while done < bytes {
            if !self.room.try_take() {
                self.controller.queues().ring();
                work = None;
                self.room.take(&QUEUE_FULL).await;
            }
            let holding: Work<'_> = match work.take() {
                Some(work) => work,
                None => self.processor.dispatch().await,
            };
            holding.compute(Layer::Driver, self.spec.submission).await;
            work = Some(holding);
            let part = (bytes - done).min(self.transfer_max);
            let identifier = self.free_identifiers.borrow_mut().pop().unwrap_or(0);
            self.owners.borrow_mut()[usize::from(identifier)] = owner;
            self.controller.queues().submit(Command {
                operation,
                offset_bytes: offset + u64::from(done),
                bytes: part,
                buffer: BUFFERS_AT + u64::from(identifier) * u64::from(self.transfer_max),
                home: self.spec.data,
                pointers: self.spec.pointers,
                list: LISTS_AT + u64::from(identifier) * LIST_BYTES,
                identifier,
                errand,
            });
            done += part;
        }
        self.controller.queues().ring();
    }

    async fn run_handler(&self, interrupts: Queue<Message>, delivery: Time, handler: Time) {
        loop {
            let Message { left, arrival, completions } = interrupts.take(&DRIVE_AT_WORK).await;
            self.controller.queues().take_up_completions(completions);
            let (sent, link) = (self.sim.now(), self.controller.port().up());
            // One wait for the message and for what follows.
            let delivered = arrival + self.lane.paced(delivery);
            self.sim.wait_until(delivered).await;
            link.last().lane().delayed(&INTERRUPT, sent, left);
            link.flew(left.max(sent), arrival);
            self.lane.delayed(&DELIVERY, arrival, delivered);
            let work = self.processor.dispatch().await;
            self.complete_all(&work, handler, completions).await;
        }
    }

    async fn run_polling(&self, interval: Time, look: Time) {
        let queues = self.controller.queues();
        loop {
            let Some(visible) = queues.next_visible() else {
                queues.changed().heard(&DRIVE_AT_WORK).await;
                continue;
            };
            let posted = queues.posted();
            queues.take_up_completions(posted);
            self.controller.port().root().until_visible(visible).await;
            self.lane.delay_until(&NEXT_POLL, self.sim.now().edge(self.lane.paced(interval))).await;
            let work = self.processor.dispatch().await;
            self.complete_all(&work, look, posted).await;
        }
    }

    /// Looks, which takes a while, ends every command whose completion is there, until none is, and says so to the drive.
    /// The first completions have been worked for already.
    async fn complete_all(&self, work: &Work<'_>, look: Time, first: usize) {
        let queues = self.controller.queues();
        queues.pass_completions_on(first);
        let mut before = look;
        loop {
            let count = queues.visible();
            queues.take_up_completions(count as usize);
            let completions = (Layer::Driver, self.spec.completion * count);
            work.compute_both((Layer::Interrupts, before), completions).await;
            for _ in 0..count {
                if let Some(identifier) = queues.take_completed() {
                    self.end(identifier);
                }
            }
            if count == 0 {
                break;
            }
            before = Time::ZERO;
        }
        queues.acknowledge();
    }

    fn end(&self, identifier: u16) {
        let owner = self.owners.borrow()[usize::from(identifier)];
        self.free_identifiers.borrow_mut().push(identifier);
        self.room.give();
        self.under_way.part_ended(owner);
    }
}
