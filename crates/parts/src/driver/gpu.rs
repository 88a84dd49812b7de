//! A GPU's driver, as far as copies go: what a launch costs the processor, and how it hears of the end.
//!
//! ```text
//!   request ─▶ launch (command, doorbell) ─▶ (the engine works) ─▶ semaphore seen ─▶ request ends
//! ```
//!
//! Buffers are pinned: host memory of a fixed size, which copies go through from its beginning to its end.
//!
//! Not modelled: pageable buffers and their staging, streams that wait for each other, interrupts.

use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Queue, Sim, Time};

use crate::accelerator::gpu::{Copy, Engine, Gpu, Way};
use crate::cpu::{Layer, Processor};
use crate::protocols::pcie::Home;
use crate::protocols::storage::{Operation, Request, Storage};
use crate::requests::Requests;

static NO_REQUEST: Label = Label::workload("no request");
static NO_SEMAPHORE: Label = Label::reason("no copy has ended");

const BLOCK_BYTES: u32 = 512;
/// Pinned buffers begin here, one a direction.
const BUFFERS_AT: [u64; 2] = [0x10_0000_0000, 0x20_0000_0000];

/// The driver's behaviour.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Processor time from the call to the doorbell.
    #[time("launch")]
    launch: Time,
    /// Processor time to see that a copy has ended.
    #[time("complete")]
    complete: Time,
    /// Bytes of the pinned buffer of each direction: those of the largest request at least.
    #[bytes("pinned", 1 << 24..=1 << 35)]
    pinned_bytes: u64,
    /// Where its buffers lie.
    #[nested]
    home: Home,
    /// Processor time of a request above the driver.
    #[time("time_above")]
    time_above: Time,
}

impl Spec {
    /// Where its buffers lie.
    pub fn home(&self) -> Home {
        self.home
    }
}

struct Driver {
    sim: Sim,
    spec: Spec,
    processor: Rc<Processor>,
    gpu: Rc<Gpu>,
    requests: Requests,
    from_host: Queue<u32>,
    to_host: Queue<u32>,
}

/// The GPU's memory as an application sees it: what it writes is copied there, what it reads is copied back.
struct Volume(Rc<Driver>);

/// Starts the driver; returns the volume, whose name is that of the GPU.
pub fn install(
    sim: &Sim,
    name: &str,
    spec: Spec,
    processor: &Rc<Processor>,
    gpu: &Rc<Gpu>,
) -> Vec<(String, Rc<dyn Storage>)> {
    let queue = || Queue::new(sim, usize::MAX);
    let (processor, gpu, from_host, to_host) = (processor.clone(), gpu.clone(), queue(), queue());
    let driver =
        Rc::new(Driver { sim: sim.clone(), spec, processor, gpu, requests: Requests::new(sim), from_host, to_host });
    for (way, process) in [(Way::FromHost, "h2d"), (Way::ToHost, "d2h")] {
        let engine = driver.gpu.engine(way, driver.spec.home);
        let (launching, completing, launched) = (driver.clone(), driver.clone(), engine.clone());
        sim.process(&format!("{name}.{process}-launch"), async move { launching.launch(way, &launched).await });
        sim.process(&format!("{name}.{process}-end"), async move { completing.complete(&engine).await });
    }
    vec![(driver.gpu.name().to_string(), Rc::new(Volume(driver)))]
}

impl Storage for Volume {
    fn submit(&self, request: Request) {
        let operation = request.operation;
        let number = self.0.requests.open(request, 1);
        let queue = if operation == Operation::Write { &self.0.from_host } else { &self.0.to_host };
        queue.put_now(number);
    }

    fn size_bytes(&self) -> u64 {
        self.0.gpu.spec().size_bytes
    }

    fn block_bytes(&self) -> u32 {
        BLOCK_BYTES
    }

    fn processor(&self) -> Option<Rc<Processor>> {
        Some(self.0.processor.clone())
    }

    fn above(&self, _: Operation, _: u32) -> (Layer, Time) {
        (Layer::FileSystem, self.0.spec.time_above)
    }
}

impl Driver {
    async fn launch(&self, way: Way, engine: &Engine) {
        let queue = if way == Way::FromHost { &self.from_host } else { &self.to_host };
        loop {
            let request = queue.take(&NO_REQUEST).await;
            let errand = self.requests.errand(request);
            self.sim.take_up(errand);
            let work = self.processor.dispatch().await;
            work.compute(Layer::Driver, self.spec.launch).await;
            let bytes = self.requests.bytes(request);
            // Where a copy would reach over the end of the buffer, it ends there.
            let offset = self.requests.offset_bytes(request) % self.spec.pinned_bytes;
            let address = BUFFERS_AT[way as usize] + offset.min(self.spec.pinned_bytes - u64::from(bytes));
            engine.submit(Copy { request, address, bytes, errand });
        }
    }

    async fn complete(&self, engine: &Engine) {
        loop {
            let copied = engine.copied.take(&NO_SEMAPHORE).await;
            self.sim.take_up(copied.errand);
            self.gpu.port().root().until_visible(copied.visible).await;
            let work = self.processor.dispatch().await;
            work.compute(Layer::Driver, self.spec.complete).await;
            self.requests.part_ended(copied.request);
        }
    }
}
