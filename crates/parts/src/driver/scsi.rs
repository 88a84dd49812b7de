//! A driver of a SCSI host adapter: a control block in memory and a doorbell for each command, an interrupt handler that
//! reads one register and writes one.
//!
//! ```text
//!   request ─▶ submission on the processor ─▶ doorbell ─▶ (adapter and drive work) ─▶ INTx ─▶
//!                 handler: interrupt status read; interrupt cleared ─▶ completions of what memory says has ended
//! ```
//!
//! A request that is longer than a command may be becomes several. Each drive has a process that submits; one handler
//! takes what all drives have ended.
//!
//! Not modelled: commands without a tag, errors, time-outs, QUEUE FULL, merging of requests, schedulers, polling,
//! completions that are deferred.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Lane, Queue, Sim, Time};

use super::requests::Requests;
use crate::controller::scsi::adapter::{Adapter, ControlBlock};
use crate::cpu::{Layer, Processor};
use crate::protocols::scsi::{BLOCK_BYTES, BLOCKS_MAX, TAGS_MAX};
use crate::protocols::storage::{Operation, Request, Storage};

static NO_REQUEST: Label = Label::workload("no request");
static SUBMITTED_LATER: Label = Label::queued("behind other requests of the driver");
static NO_COMMAND_FREE: Label = Label::reason("no command of the drive free");
static ADAPTER_AT_WORK: Label = Label::reason("adapter at work");

/// Memory of the buffers: so much for each command of each drive.
const BUFFERS_AT: u32 = 0x1000_0000;
const BUFFER_BYTES: u32 = 0x1_0000;
const PAGE_BYTES: u64 = 4_096;

/// The driver's behaviour.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Commands of a drive under way, at most.
    #[count("queue_depth", 1..=TAGS_MAX.into())]
    queue_depth: u32,
    /// Most bytes a command moves.
    #[bytes("transfer_max", BLOCK_BYTES.into()..=(BLOCK_BYTES * BLOCKS_MAX).into(), multiple_of = BLOCK_BYTES.into())]
    transfer_max: u32,
    /// Bytes of memory that lie together: an entry of the scatter list.
    #[bytes("contiguous", PAGE_BYTES..=1 << 24, power_of_two)]
    contiguous: u32,
    /// Processor time of a command's submission.
    #[time("submission")]
    submission: Time,
    /// Processor time of a command's completion.
    #[time("completion")]
    completion: Time,
    /// Processor time of the handler, besides completions and register reads.
    #[time("interrupt.handler")]
    handler: Time,
    /// Processor time of a request above the driver.
    #[time("time_above")]
    time_above: Time,
}

/// A request that waits for its submission.
struct Waiting {
    request: Request,
    since: Time,
}

/// The driver of one adapter.
struct Driver {
    spec: Spec,
    processor: Rc<Processor>,
    adapter: Rc<Adapter>,
    drives: RefCell<Vec<Rc<Drive>>>,
}

/// What it has of one drive.
struct Drive {
    sim: Sim,
    lane: Lane,
    driver: Rc<Driver>,
    /// Of all drives of the adapter.
    index: u32,
    channel: usize,
    target: usize,
    blocks: u64,
    requests: Queue<Waiting>,
    /// Free commands, by number: those of drive n begin with n times [`TAGS_MAX`].
    commands: Queue<u32>,
    /// Of each command: the request that it belongs to.
    owners: RefCell<Vec<u32>>,
    under_way: Requests,
}

/// Starts the driver on every drive of the adapter; returns them, by name.
pub fn install(
    sim: &Sim,
    name: &str,
    spec: Spec,
    processor: &Rc<Processor>,
    adapter: &Rc<Adapter>,
) -> Vec<(String, Rc<dyn Storage>)> {
    let drives = RefCell::new(Vec::new());
    let driver = Rc::new(Driver { spec, processor: processor.clone(), adapter: adapter.clone(), drives });
    let mut volumes: Vec<(String, Rc<dyn Storage>)> = Vec::new();
    let there = (0..adapter.channels()).flat_map(|channel| {
        let targets = adapter.channel(channel).targets();
        targets.into_iter().map(move |(target, drive, blocks)| (channel, target, drive, blocks))
    });
    for (channel, target, drive_name, blocks) in there {
        let index = volumes.len() as u32;
        let count = driver.spec.queue_depth.min(adapter.channel(channel).tags(target) as u32);
        let commands = Queue::new(sim, count as usize);
        for number in 0..count {
            commands.put_now(index * TAGS_MAX + number);
        }
        let process = format!("{name}.channel{channel}.id{target:02}");
        let drive = Rc::new(Drive {
            sim: sim.clone(),
            lane: sim.lane(&process, None),
            driver: driver.clone(),
            index,
            channel,
            target,
            blocks,
            requests: Queue::new(sim, usize::MAX),
            commands,
            owners: RefCell::new(vec![0; count as usize]),
            under_way: Requests::new(sim),
        });
        volumes.push((drive_name, drive.clone()));
        driver.drives.borrow_mut().push(drive.clone());
        sim.process(&process, async move { drive.run().await });
    }
    sim.process(&format!("{name}.handler"), async move { driver.run_handler().await });
    volumes
}

impl Storage for Drive {
    fn submit(&self, request: Request) {
        if self.requests.try_put(Waiting { request, since: self.sim.now() }).is_err() {
            unreachable!("the queue takes any number of requests");
        }
    }

    fn size_bytes(&self) -> u64 {
        self.blocks * u64::from(BLOCK_BYTES)
    }

    fn block_bytes(&self) -> u32 {
        BLOCK_BYTES
    }

    fn processor(&self) -> Option<Rc<Processor>> {
        Some(self.driver.processor.clone())
    }

    fn above(&self, _: Operation, _: u32) -> (Layer, Time) {
        (Layer::FileSystem, self.driver.spec.time_above)
    }
}

impl Drive {
    async fn run(&self) {
        loop {
            let mut next = self.requests.take(&NO_REQUEST).await;
            loop {
                self.submit_all(next.request).await;
                match self.requests.try_take() {
                    Some(waiting) => next = waiting,
                    None => break,
                }
                self.lane.awaited(&SUBMITTED_LATER, next.since);
            }
        }
    }

    /// Submits the commands of a request.
    async fn submit_all(&self, request: Request) {
        let errand = request.errand;
        self.sim.take_up(errand);
        let (operation, bytes, offset) = (request.operation, request.bytes, request.offset_bytes);
        let spec = &self.driver.spec;
        let owner = self.under_way.open(request, bytes.div_ceil(spec.transfer_max));
        let mut done = 0;
        while done < bytes {
            let number = self.commands.take(&NO_COMMAND_FREE).await;
            let work = self.driver.processor.dispatch().await;
            work.compute(Layer::Driver, spec.submission).await;
            let part = (bytes - done).min(spec.transfer_max);
            self.owners.borrow_mut()[(number % TAGS_MAX) as usize] = owner;
            self.driver.adapter.prepare(ControlBlock {
                number,
                channel: self.channel,
                target: self.target,
                writes: operation == Operation::Write,
                lba: (offset + u64::from(done)) / u64::from(BLOCK_BYTES),
                blocks: part / BLOCK_BYTES,
                buffer: BUFFERS_AT.wrapping_add(number.wrapping_mul(BUFFER_BYTES)),
                contiguous: spec.contiguous,
                errand,
            });
            self.driver.adapter.slot().register_write(&work, self.sim.pass_on(errand)).await;
            done += part;
        }
    }

    fn end(&self, number: u32) {
        let owner = self.owners.borrow()[(number % TAGS_MAX) as usize];
        self.commands.put_now(number);
        self.under_way.part_ended(owner);
    }
}

impl Driver {
    async fn run_handler(&self) {
        let slot = self.adapter.slot();
        loop {
            slot.interrupts().heard(&ADAPTER_AT_WORK).await;
            slot.take_up_told();
            self.adapter.ended().take_up();
            let work = self.processor.dispatch().await;
            work.compute(Layer::Interrupts, self.spec.handler).await;
            slot.register_read(&work).await;
            self.adapter.prepare_clear();
            slot.register_write(&work, Errand::NOBODY).await;
            while let Some(number) = self.adapter.ended().take() {
                work.compute(Layer::Driver, self.spec.completion).await;
                let drive = self.drives.borrow()[(number / TAGS_MAX) as usize].clone();
                debug_assert_eq!(drive.index, number / TAGS_MAX);
                drive.end(number);
            }
        }
    }
}
