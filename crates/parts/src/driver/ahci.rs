//! An AHCI driver: command tables in memory, two register writes a command, an interrupt handler that reads three.
//! AHCI 1.3.1, 5.5 and 10.7.
//!
//! ```text
//!   request ─▶ submission on the processor ─▶ PxSACT, PxCI ─▶ (adapter and drive work) ─▶ interrupt ─▶
//!                 handler: IS, PxIS read; PxIS written; PxSACT read ─▶ completions ─▶ IS written
//! ```
//!
//! A request that is longer than a command may be becomes several. Each port has a process that submits; one handler
//! takes what all ports have told of.
//!
//! Not modelled: commands that are not queued, errors, time-outs, merging of requests, schedulers, polling.

use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Lane, Sim, Time};

use crate::controller::ahci::{Access, Ahci, Slot, tags};
use crate::cpu::{Layer, Processor, Work};
use crate::parameters::{Parameters, SpecError};
use crate::protocols::pcie::{Home, PAGE_BYTES};
use crate::protocols::sata::{COMMAND_BYTES_MAX, SECTOR_BYTES, TAGS_MAX};
use crate::protocols::storage::{Keeps, Operation, Request, Storage};
use crate::requests::submission::{Part, Reuse, Submission};

static NO_TAG: Label = Label::reason("no tag free");
static DEVICE_AT_WORK: Label = Label::reason("device at work");
static DELIVERY: Label = Label::protocol("interrupt delivery");

/// AHCI 1.3.1, 4.2.3.3: a descriptor's region has at most 4 MiB; a table has 65,535 of them. Linux has 168.
const REGIONS_MAX: u32 = 4_088;
/// Memory of the buffers: so much for each tag of each port.
const BUFFERS_AT: u64 = 0x10_0000_0000;

/// The driver's behaviour.
#[derive(Clone, Debug, PartialEq, Spec)]
#[spec(holds = Spec::fits)]
pub struct Spec {
    /// Commands of a drive under way, at most.
    #[count("queue_depth", 1..=TAGS_MAX)]
    tags: u64,
    /// Most bytes a command moves.
    #[bytes("transfer_max", PAGE_BYTES.into()..=COMMAND_BYTES_MAX.into(), multiple_of = PAGE_BYTES.into())]
    transfer_max: u32,
    /// Bytes of memory that lie together: a region of the buffer.
    #[bytes("contiguous", PAGE_BYTES.into()..=4 << 20, power_of_two)]
    contiguous: u32,
    /// Where the buffers of requests are.
    #[choice("buffers", "memory" => Home { cached: false, remote: false }, "cache" => Home { cached: true, remote: false })]
    home: Home,
    /// Processor time of a command's submission.
    #[time("submission")]
    submission: Time,
    /// Processor time of a command's completion.
    #[time("completion")]
    completion: Time,
    /// From the arrival of the interrupt message to the handler.
    #[time("interrupt.delivery")]
    delivery: Time,
    /// Processor time of the handler, besides completions and register reads.
    #[time("interrupt.handler")]
    handler: Time,
    /// Processor time of a request above the driver.
    #[time("time_above")]
    time_above: Time,
}

impl Spec {
    fn fits(&self, p: &Parameters) -> Result<(), SpecError> {
        if self.transfer_max.div_ceil(self.contiguous) > REGIONS_MAX {
            let help = format!("expected {REGIONS_MAX} regions at most");
            return Err(p.error("transfer_max", "the command table is too short for it", help));
        }
        Ok(())
    }
}

/// The driver of one port.
struct PortDriver {
    sim: Sim,
    spec: Rc<Spec>,
    processor: Rc<Processor>,
    ahci: Rc<Ahci>,
    port: usize,
    size_bytes: u64,
    submission: Submission,
}

/// Starts the driver on every port that has a drive; returns them, by the names of the drives.
pub fn install(
    sim: &Sim,
    name: &str,
    spec: Spec,
    processor: &Rc<Processor>,
    ahci: &Rc<Ahci>,
) -> Vec<(String, Rc<dyn Storage>)> {
    let spec = Rc::new(spec);
    let mut drivers = Vec::new();
    let mut volumes: Vec<(String, Rc<dyn Storage>)> = Vec::new();
    for port in 0..ahci.ports() {
        let Some(drive) = ahci.cable(port).and_then(|cable| cable.drive().cloned()) else { continue };
        let tags = spec.tags.min(drive.tags).min(ahci.spec().slots) as usize;
        let lane = sim.lane(&format!("{name}.port{port}"), None);
        let driver = Rc::new(PortDriver {
            sim: sim.clone(),
            spec: spec.clone(),
            processor: processor.clone(),
            ahci: ahci.clone(),
            port,
            size_bytes: drive.size_bytes,
            submission: Submission::new(sim, lane, tags, Reuse::Oldest),
        });
        volumes.push((drive.name, driver.clone()));
        drivers.push(driver.clone());
        sim.process(&format!("{name}.port{port}"), async move { driver.run().await });
    }
    if let Some(first) = drivers.first() {
        let (lane, processor, ahci) = (first.submission.lane().clone(), processor.clone(), ahci.clone());
        let handler = Handler { sim: sim.clone(), lane, spec, processor, ahci, drivers };
        sim.process(&format!("{name}.handler"), async move { handler.run().await });
    }
    volumes
}

impl Storage for PortDriver {
    fn submit(&self, request: Request) {
        self.submission.put(request);
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn block_bytes(&self) -> u32 {
        SECTOR_BYTES
    }

    fn processor(&self) -> Option<Rc<Processor>> {
        Some(self.processor.clone())
    }

    fn above(&self, _: Operation, _: u32) -> (Layer, Time) {
        (Layer::FileSystem, self.spec.time_above)
    }

    fn keeps(&self) -> Option<Rc<dyn Keeps>> {
        self.ahci.cable(self.port)?.drive()?.keeps.clone()
    }
}

impl PortDriver {
    async fn run(&self) {
        self.submission.run(self.spec.transfer_max, async |part| self.issue(part).await).await;
    }

    async fn issue(&self, part: Part) {
        self.submission.room(&NO_TAG).await;
        let work = self.processor.dispatch().await;
        work.compute(Layer::Driver, self.spec.submission).await;
        let tag = self.submission.number(&part) as u8;
        let number = self.port as u64 * TAGS_MAX + u64::from(tag);
        self.ahci.prepare(
            self.port,
            tag,
            Slot {
                writes: part.operation == Operation::Write,
                offset_bytes: part.offset_bytes,
                bytes: part.bytes,
                buffer: BUFFERS_AT + number * u64::from(COMMAND_BYTES_MAX),
                regions: part.bytes.div_ceil(self.spec.contiguous),
                home: self.spec.home,
                errand: self.sim.pass_on(part.errand),
            },
        );
        self.ahci.write(Access::SerialActive(self.port, tag));
        self.ahci.write(Access::CommandIssue(self.port, tag));
    }
}

/// The interrupt handler of an adapter.
struct Handler {
    sim: Sim,
    lane: Lane,
    spec: Rc<Spec>,
    processor: Rc<Processor>,
    ahci: Rc<Ahci>,
    drivers: Vec<Rc<PortDriver>>,
}

impl Handler {
    async fn run(&self) {
        let ahci = &self.ahci;
        let mut seen = vec![0; ahci.ports()];
        loop {
            ahci.interrupts().heard(&DEVICE_AT_WORK).await;
            ahci.take_up_done(0..ahci.ports(), &mut seen);
            self.lane.delay(&DELIVERY, self.lane.paced(self.spec.delivery)).await;
            let work = self.processor.dispatch().await;
            work.compute(Layer::Interrupts, self.spec.handler).await;
            // AHCI 1.3.1, 10.7.2.1: IS says which ports have something to tell.
            self.read(&work).await;
            ahci.pass_on_done(&seen);
            for driver in self.drivers.iter().filter(|driver| ahci.tells(driver.port)) {
                seen.fill(0);
                ahci.take_up_done(driver.port..driver.port + 1, &mut seen);
                // PxIS, which is cleared, and PxSACT.
                self.read(&work).await;
                ahci.write(Access::PortInterruptStatus(driver.port));
                self.read(&work).await;
                ahci.pass_on_done(&seen);
                for tag in tags(ahci.take_done(driver.port)) {
                    self.sim.take_up(ahci.errand(driver.port, tag));
                    work.compute(Layer::Driver, self.spec.completion).await;
                    driver.submission.ended(u32::from(tag));
                }
            }
            ahci.write(Access::InterruptStatus);
        }
    }

    async fn read(&self, work: &Work<'_>) {
        let start = work.now();
        self.ahci.read().await;
        work.stalled_since(start);
    }
}
