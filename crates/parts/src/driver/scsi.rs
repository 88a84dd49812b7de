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

use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Sim, Time};

use crate::controller::scsi::adapter::{Adapter, ControlBlock};
use crate::cpu::{Layer, Processor};
use crate::protocols::scsi::{BLOCK_BYTES, BLOCKS_MAX, TAGS_MAX};
use crate::protocols::storage::{Operation, Request, Storage};
use crate::requests::submission::{Part, Reuse, Submission};

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

/// The driver of one adapter.
struct Driver {
    spec: Spec,
    processor: Rc<Processor>,
    adapter: Rc<Adapter>,
}

/// What it has of one drive.
struct Drive {
    sim: Sim,
    driver: Rc<Driver>,
    /// Its first command's number among those of all drives of the adapter.
    first: u32,
    channel: usize,
    target: usize,
    blocks: u64,
    submission: Submission,
}

/// Starts the driver on every drive of the adapter; returns them, by name.
pub fn install(
    sim: &Sim,
    name: &str,
    spec: Spec,
    processor: &Rc<Processor>,
    adapter: &Rc<Adapter>,
) -> Vec<(String, Rc<dyn Storage>)> {
    let driver = Rc::new(Driver { spec, processor: processor.clone(), adapter: adapter.clone() });
    let mut drives = Vec::new();
    let mut volumes: Vec<(String, Rc<dyn Storage>)> = Vec::new();
    let there = (0..adapter.channels()).flat_map(|channel| {
        let targets = adapter.channel(channel).targets();
        targets.into_iter().map(move |(target, drive, blocks)| (channel, target, drive, blocks))
    });
    for (channel, target, drive_name, blocks) in there {
        let commands = adapter.channel(channel).tags(target).min(driver.spec.queue_depth as usize);
        let process = format!("{name}.channel{channel}.id{target:02}");
        let lane = sim.lane(&process, None);
        let drive = Rc::new(Drive {
            sim: sim.clone(),
            driver: driver.clone(),
            first: volumes.len() as u32 * TAGS_MAX,
            channel,
            target,
            blocks,
            submission: Submission::new(sim, lane, commands, Reuse::Oldest),
        });
        volumes.push((drive_name, drive.clone()));
        drives.push(drive.clone());
        sim.process(&process, async move { drive.run().await });
    }
    sim.process(&format!("{name}.handler"), async move { driver.run_handler(&drives).await });
    volumes
}

impl Storage for Drive {
    fn submit(&self, request: Request) {
        self.submission.put(request);
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
        self.submission.run(self.driver.spec.transfer_max, async |part| self.issue(part).await).await;
    }

    async fn issue(&self, part: Part) {
        let Driver { spec, processor, adapter, .. } = &*self.driver;
        self.submission.room(&NO_COMMAND_FREE).await;
        let work = processor.dispatch().await;
        work.compute(Layer::Driver, spec.submission).await;
        let number = self.first + self.submission.number(&part);
        adapter.prepare(ControlBlock {
            number,
            channel: self.channel,
            target: self.target,
            writes: part.operation == Operation::Write,
            lba: part.offset_bytes / u64::from(BLOCK_BYTES),
            blocks: part.bytes / BLOCK_BYTES,
            buffer: BUFFERS_AT.wrapping_add(number.wrapping_mul(BUFFER_BYTES)),
            contiguous: spec.contiguous,
            errand: part.errand,
        });
        adapter.slot().register_write(&work, self.sim.pass_on(part.errand)).await;
    }
}

impl Driver {
    async fn run_handler(&self, drives: &[Rc<Drive>]) {
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
                let drive = &drives[(number / TAGS_MAX) as usize];
                drive.submission.ended(number - drive.first);
            }
        }
    }
}
