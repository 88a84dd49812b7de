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
//! There is a pair of queues for each processor, as far as the drive has them: a thread stays on its processor, and what
//! is done for its requests is done there. Where there are fewer pairs, that is done on the processor of the pair. What
//! is built upon the drive (a volume, a cache) uses the first pair.
//!
//! Not modelled: threads that are moved from one processor to another, locks of queues, merging of requests,
//! schedulers, hybrid polling, time-outs, what an idle processor does while it polls, copies of data.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Queue, Sim, Time};

use crate::controller::nvme::{Controller, Message, QueuePair};
use crate::cpu::{Layer, Processor, Work};
use crate::protocols::nvme::{Command, Pointers};
use crate::protocols::pcie::{Home, INTERRUPT, PAGE_BYTES};
use crate::protocols::storage::{Keeps, Operation, Request, Storage};
use crate::requests::submission::{Part, Reuse, Submission};

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

/// The driver of a drive.
struct Driver {
    spec: Spec,
    transfer_max: u32,
    controller: Rc<Controller>,
}

/// One pair of its queues.
struct Pair {
    sim: Sim,
    driver: Rc<Driver>,
    /// With the one that its interrupts go to.
    processor: Rc<Processor>,
    queues: Rc<QueuePair>,
    submission: Submission,
}

/// The drive, as all threads see it, or one that stays on its processor.
struct Volume {
    driver: Rc<Driver>,
    pairs: Rc<[Rc<Pair>]>,
    /// The pair that its requests go through.
    pair: usize,
    processor: Rc<Processor>,
    /// Threads that have opened the drive, of each processor.
    threads: Rc<RefCell<Vec<u32>>>,
}

/// Starts the driver of a drive; returns its device.
pub fn install(
    sim: &Sim,
    name: &str,
    spec: Spec,
    processor: &Rc<Processor>,
    controller: &Rc<Controller>,
) -> (String, Rc<dyn Storage>) {
    let driver = Rc::new(Driver {
        transfer_max: spec.transfer_max.min(controller.transfer_max()),
        controller: controller.clone(),
        spec,
    });
    let spec = &driver.spec;
    let mut pairs = Vec::new();
    let created = controller.create_queues(processor.count(), spec.entries, spec.queues);
    for (number, queues) in created.iter().enumerate() {
        let (name, processor) = match created[..] {
            [_] => (name.to_string(), processor.clone()),
            _ => (format!("{name}.queue{}", number + 1), processor.bound_to(&[number])),
        };
        let commands = spec.entries as usize - 1;
        let submission = Submission::new(sim, sim.lane(&name, None), commands, Reuse::Newest);
        let queues = queues.clone();
        let pair = Rc::new(Pair { sim: sim.clone(), driver: driver.clone(), processor, queues, submission });
        pairs.push(pair.clone());
        let running = pair.clone();
        sim.process(&format!("{name}.submission"), async move { running.run_submission().await });
        match spec.notice {
            Notice::Interrupt { delivery, handler } => {
                let interrupts = controller.enable_interrupts(&pair.queues);
                let running = async move { pair.run_handler(interrupts, delivery, handler).await };
                sim.process(&format!("{name}.handler"), running);
            }
            Notice::Poll { interval, look } => {
                sim.process(&format!("{name}.polling"), async move { pair.run_polling(interval, look).await });
            }
        }
    }
    let (processor, threads) = (processor.clone(), Rc::new(RefCell::new(vec![0; processor.count()])));
    (controller.name().to_string(), Rc::new(Volume { driver, pairs: pairs.into(), pair: 0, processor, threads }))
}

impl Storage for Volume {
    fn submit(&self, request: Request) {
        self.pairs[self.pair].submission.put(request);
    }

    fn size_bytes(&self) -> u64 {
        self.driver.controller.size_bytes()
    }

    fn block_bytes(&self) -> u32 {
        self.driver.controller.block_bytes()
    }

    fn processor(&self) -> Option<Rc<Processor>> {
        Some(self.processor.clone())
    }

    fn above(&self, _: Operation, _: u32) -> (Layer, Time) {
        (Layer::FileSystem, self.driver.spec.time_above)
    }

    fn keeps(&self) -> Option<Rc<dyn Keeps>> {
        Some(self.driver.controller.flash().clone())
    }

    /// The thread stays on the processor that has the fewest threads so far, of those that it may run on.
    fn seat(&self, processors: &[usize]) -> Option<Rc<dyn Storage>> {
        if self.processor.count() == 1 {
            return None;
        }
        let mut threads = self.threads.borrow_mut();
        let all: Vec<usize> = (0..threads.len()).collect();
        let allowed = if processors.is_empty() { &all } else { processors };
        let number = *allowed.iter().min_by_key(|number| threads[**number])?;
        threads[number] += 1;
        let (driver, pairs, threads) = (self.driver.clone(), self.pairs.clone(), self.threads.clone());
        let (pair, processor) = (number % pairs.len(), self.processor.bound_to(&[number]));
        Some(Rc::new(Volume { driver, pairs, pair, processor, threads }))
    }
}

impl Pair {
    /// Submits the commands of one request after the other. The doorbell says so when the last one of a request is in the
    /// queue, or when it is full; the processor is kept from one to the next.
    async fn run_submission(&self) {
        let mut kept: Option<Work<'_>> = None;
        let issue = async |part: Part| {
            if !self.submission.try_room() {
                self.queues.ring();
                kept = None;
                self.submission.room(&QUEUE_FULL).await;
            }
            let work = match kept.take() {
                Some(work) => work,
                None => self.processor.dispatch().await,
            };
            work.compute(Layer::Driver, self.driver.spec.submission).await;
            self.queues.submit(self.command(&part));
            if part.is_last {
                self.queues.ring();
            } else {
                kept = Some(work);
            }
        };
        self.submission.run(self.driver.transfer_max, issue).await;
    }

    fn command(&self, part: &Part) -> Command {
        let identifier = self.submission.number(part);
        let Driver { spec, transfer_max, .. } = &*self.driver;
        let (place, memory_at) = (u64::from(identifier), self.queues.memory_at());
        Command {
            operation: part.operation,
            offset_bytes: part.offset_bytes,
            bytes: part.bytes,
            buffer: memory_at + BUFFERS_AT + place * u64::from(*transfer_max),
            home: spec.data,
            pointers: spec.pointers,
            list: memory_at + LISTS_AT + place * LIST_BYTES,
            identifier: identifier as u16,
            errand: part.errand,
        }
    }

    async fn run_handler(&self, interrupts: Queue<Message>, delivery: Time, handler: Time) {
        loop {
            let Message { left, arrival, completions } = interrupts.take(&DRIVE_AT_WORK).await;
            self.queues.take_up_completions(completions);
            let (sent, link) = (self.sim.now(), self.driver.controller.port().up());
            // One wait for the message and for what follows.
            let lane = self.submission.lane();
            let delivered = arrival + lane.paced(delivery);
            self.sim.wait_until(delivered).await;
            link.last().lane().delayed(&INTERRUPT, sent, left);
            link.flew(left.max(sent), arrival);
            lane.delayed(&DELIVERY, arrival, delivered);
            let work = self.processor.dispatch().await;
            self.complete_all(&work, handler, completions).await;
        }
    }

    async fn run_polling(&self, interval: Time, look: Time) {
        let (queues, lane) = (&self.queues, self.submission.lane());
        loop {
            let Some(visible) = queues.next_visible() else {
                queues.changed().heard(&DRIVE_AT_WORK).await;
                continue;
            };
            let posted = queues.posted();
            queues.take_up_completions(posted);
            self.driver.controller.port().root().until_visible(visible).await;
            lane.delay_until(&NEXT_POLL, self.sim.now().edge(lane.paced(interval))).await;
            let work = self.processor.dispatch().await;
            self.complete_all(&work, look, posted).await;
        }
    }

    /// Looks, which takes a while, ends every command whose completion is there, until none is, and says so to the drive.
    /// The first completions have been worked for already.
    async fn complete_all(&self, work: &Work<'_>, look: Time, first: usize) {
        let queues = &self.queues;
        queues.pass_completions_on(first);
        let mut before = look;
        loop {
            let count = queues.visible();
            queues.take_up_completions(count as usize);
            let completions = (Layer::Driver, self.driver.spec.completion * count);
            work.compute_both((Layer::Interrupts, before), completions).await;
            for _ in 0..count {
                if let Some(identifier) = queues.take_completed() {
                    self.submission.ended(u32::from(identifier));
                }
            }
            if count == 0 {
                break;
            }
            before = Time::ZERO;
        }
        queues.acknowledge();
    }
}
