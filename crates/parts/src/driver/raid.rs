//! A driver of a storage card that takes whole commands: a description in memory, a doorbell, an interrupt.
//!
//! ```text
//!   request ─▶ submission on the processor ─▶ doorbell ─▶ (card and drives work) ─▶ interrupt
//!           ─▶ handler: interrupt status read ─▶ completions ─▶ acknowledgement written
//! ```
//!
//! A request that is longer than a command may be becomes several. One process submits, one handles interrupts; it
//! looks again until no command has ended.
//!
//! Not modelled: errors, time-outs, merging of requests, schedulers, polling, completions that are deferred.

use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Sim, Time};

use crate::bridge::pci_x::slot::Slot;
use crate::controller::block_card::{BlockCard, Command, Device};
use crate::cpu::{Layer, Processor};
use crate::protocols::storage::{Operation, Request, Storage};
use crate::requests::submission::{Part, Reuse, Submission};

static NO_COMMAND_FREE: Label = Label::reason("no command free");
static CARD_AT_WORK: Label = Label::reason("card at work");

const COMMANDS_MAX: u64 = 256;
const BLOCK_BYTES: u32 = 512;
/// Memory of the buffers, and of the descriptions: so much for each command.
const BUFFERS_AT: u32 = 0x1000_0000;
const BUFFER_BYTES: u32 = 1 << 20;
const DESCRIPTIONS_AT: u32 = 0x0800_0000;
const DESCRIPTION_BYTES: u32 = 4_096;

/// The driver's behaviour.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Commands under way, at most.
    #[count("queue_depth", 1..=COMMANDS_MAX)]
    commands: u64,
    /// Most bytes a command moves.
    #[bytes("transfer_max", 4_096..=BUFFER_BYTES.into(), multiple_of = BLOCK_BYTES.into())]
    transfer_max: u32,
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

/// The driver of one card.
struct Driver {
    sim: Sim,
    spec: Spec,
    processor: Rc<Processor>,
    card: Rc<dyn BlockCard>,
    slot: Slot,
    submission: Submission,
}

/// A device of the card, as jobs see it.
struct Volume {
    driver: Rc<Driver>,
    device: Device,
}

/// Starts the driver; returns the card's devices by their names.
pub fn install(
    sim: &Sim,
    name: &str,
    spec: Spec,
    processor: &Rc<Processor>,
    card: Rc<dyn BlockCard>,
) -> Vec<(String, Rc<dyn Storage>)> {
    let commands = spec.commands.min(card.commands_max()) as usize;
    let driver = Rc::new(Driver {
        sim: sim.clone(),
        processor: processor.clone(),
        slot: card.slot().clone(),
        submission: Submission::new(sim, sim.lane(name, None), commands, Reuse::Oldest),
        card,
        spec,
    });
    let (submitting, handling) = (driver.clone(), driver.clone());
    sim.process(&format!("{name}.submission"), async move { submitting.run().await });
    sim.process(&format!("{name}.handler"), async move { handling.run_handler().await });
    let devices = driver.card.devices().into_iter();
    let volume = |device: Device| (device.name.clone(), Rc::new(Volume { driver: driver.clone(), device }) as _);
    devices.map(volume).collect()
}

impl Storage for Volume {
    fn submit(&self, request: Request) {
        let offset_bytes = self.device.first_byte + request.offset_bytes;
        self.driver.submission.put(Request { offset_bytes, ..request });
    }

    fn size_bytes(&self) -> u64 {
        self.device.bytes
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

impl Driver {
    async fn run(&self) {
        self.submission.run(self.spec.transfer_max, async |part| self.issue(part).await).await;
    }

    async fn issue(&self, part: Part) {
        self.submission.room(&NO_COMMAND_FREE).await;
        let work = self.processor.dispatch().await;
        work.compute(Layer::Driver, self.spec.submission).await;
        let number = self.submission.number(&part);
        self.card.prepare(Command {
            number,
            writes: part.operation == Operation::Write,
            offset_bytes: part.offset_bytes,
            bytes: part.bytes,
            buffer: BUFFERS_AT + number * BUFFER_BYTES,
            described_at: DESCRIPTIONS_AT + number * DESCRIPTION_BYTES,
            errand: part.errand,
        });
        self.slot.register_write(&work, self.sim.pass_on(part.errand)).await;
    }

    async fn run_handler(&self) {
        loop {
            self.slot.interrupts().heard(&CARD_AT_WORK).await;
            self.slot.take_up_told();
            self.card.finished().take_up();
            let work = self.processor.dispatch().await;
            work.compute(Layer::Interrupts, self.spec.handler).await;
            self.slot.register_read(&work).await;
            while let Some(number) = self.card.finished().take() {
                work.compute(Layer::Driver, self.spec.completion).await;
                self.submission.ended(number);
            }
            self.card.acknowledge();
            self.slot.register_write(&work, Errand::NOBODY).await;
        }
    }
}
