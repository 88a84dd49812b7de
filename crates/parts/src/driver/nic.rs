//! A network driver: fills rings of descriptors, rings doorbells, and looks for completions by itself or when it is
//! interrupted.
//!
//! ```text
//!   request ─▶ descriptors, one by one ─▶ doorbell, one for several ─▶ (the adapter works)
//!   completions ─▶ seen by a poll, or after an interrupt ─▶ request ends with its last descriptor
//! ```
//!
//! What it costs the processor is data. Polling drivers keep a processor busy that does nothing; the model counts the
//! polls that find something.
//!
//! Not modelled: protocols above the packet, allocation of buffers, several queues and processors, time-outs.

use std::cell::Cell;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Queue, Sim, Time};

use crate::cpu::{Layer, Processor, Work};
use crate::network::descriptor_ring::{Descriptor, DescriptorRing, RING_FULL};
use crate::network::moderation::Completions;
use crate::network::nic::{Adapter, Arrival, Completed, Rings};
use crate::protocols::pcie::Home;
use crate::protocols::storage::{Operation, Request, Storage};
use crate::requests::Requests;

static NO_REQUEST: Label = Label::workload("no request");
static NO_COMPLETION: Label = Label::reason("no completion");
static NO_INTERRUPT: Label = Label::reason("no interrupt");

/// Packets have any length.
const BLOCK_BYTES: u32 = 1;
/// A job that does not say how much it moves moves so much.
const STREAM_BYTES: u64 = 1 << 35;
/// Buffers begin here.
const BUFFERS_AT: u64 = 0x1_0000_0000;

/// What the driver does for one direction.
#[derive(Clone, Debug, PartialEq, Spec)]
struct Side {
    /// Processor time to write a descriptor, whatever is above it included.
    #[time("post")]
    post: Time,
    /// Processor time to end a descriptor.
    #[time("complete")]
    complete: Time,
    /// Descriptors for one doorbell, at most.
    #[count("batch", 1..=4_096)]
    batch: u64,
}

/// The driver's behaviour.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// What is sent.
    #[nested("tx")]
    transmit: Side,
    /// What is received.
    #[nested("rx")]
    receive: Side,
    /// Largest packet that is handed to the adapter, which cuts it into frames: more than a frame where it segments.
    #[bytes("packet_max", 512..=65_536, multiple_of = 2)]
    packet_bytes_max: u32,
    /// Processor time to ring a doorbell.
    #[time("doorbell")]
    doorbell: Time,
    /// Processor time of a look for completions.
    #[time("poll")]
    poll: Time,
    /// From an interrupt's arrival to the first look, on the processor; without effect where completions are polled.
    #[time("interrupt")]
    interrupt: Time,
    /// How the driver hears of completions.
    #[choice("completions", "polled" => false, "interrupt" => true)]
    interrupted: bool,
    /// Completions of one look, at most.
    #[count("budget", 1..=4_096)]
    budget: u64,
    /// Bytes per second that the processor copies between application and buffers; zero where it copies nothing.
    #[rate("copy_rate", 1_000_000.., or_zero)]
    copy_rate: u64,
    /// Buffers, which are used in turn.
    #[count("buffers", 1..=1 << 20)]
    buffers: u64,
    /// Bytes of a buffer.
    #[bytes("buffer", 512..=1 << 20)]
    buffer_bytes: u64,
    /// Where packets lie.
    #[nested]
    data: Home,
    /// Where rings lie: the driver has just written, or will just read them.
    #[given(Home { cached: true, ..data })]
    rings: Home,
    /// Processor time of a request above the driver.
    #[time("time_above")]
    time_above: Time,
}

impl Spec {
    /// Where packets lie.
    pub fn data(&self) -> Home {
        self.data
    }

    fn copy_time(&self, bytes: u32) -> Time {
        match self.copy_rate {
            0 => Time::ZERO,
            rate => Time::ps(u64::from(bytes) * 1_000_000_000_000 / rate),
        }
    }
}

/// A driver with its adapter.
struct Driver {
    sim: Sim,
    spec: Spec,
    processor: Rc<Processor>,
    adapter: Rc<Adapter>,
    rings: Rings,
    requests: Requests,
    to_send: Queue<u32>,
    to_receive: Queue<u32>,
    /// Buffers used so far.
    buffer: Cell<u64>,
}

/// The adapter as an application sees it: what it writes is sent, what it reads is received.
struct Volume(Rc<Driver>);

/// Starts the driver; returns the volume, whose name is that of the adapter.
pub fn install(
    sim: &Sim,
    name: &str,
    spec: Spec,
    processor: &Rc<Processor>,
    adapter: &Rc<Adapter>,
) -> Vec<(String, Rc<dyn Storage>)> {
    let rings = adapter.start(spec.rings, spec.data);
    let queue = || Queue::new(sim, usize::MAX);
    let (to_send, to_receive) = (queue(), queue());
    let (sim, processor, adapter) = (sim.clone(), processor.clone(), adapter.clone());
    let (requests, buffer) = (Requests::new(&sim), Cell::new(0));
    let driver =
        Rc::new(Driver { sim: sim.clone(), spec, processor, adapter, rings, requests, to_send, to_receive, buffer });
    if driver.spec.interrupted {
        driver.rings.sent.arm();
        driver.rings.received.arm();
    }
    let own = || driver.clone();
    let (sending, filling, sent, received) = (own(), own(), own(), own());
    sim.process(&format!("{name}.send"), async move { sending.send().await });
    sim.process(&format!("{name}.fill"), async move { filling.fill().await });
    sim.process(&format!("{name}.sent"), async move { sent.complete(&sent.rings.sent, Operation::Write).await });
    sim.process(&format!("{name}.received"), async move {
        received.complete(&received.rings.received, Operation::Read).await;
    });
    vec![(driver.adapter.name().to_string(), Rc::new(Volume(driver)))]
}

impl Storage for Volume {
    fn submit(&self, request: Request) {
        let Driver { spec, rings, requests, to_send, to_receive, .. } = &*self.0;
        let (operation, bytes, errand) = (request.operation, request.bytes, request.errand);
        match operation {
            Operation::Write => {
                let number = requests.open(request, bytes.div_ceil(spec.packet_bytes_max));
                to_send.put_now(number);
            }
            Operation::Read => {
                let number = requests.open(request, bytes.div_ceil(self.0.frame_bytes_max()));
                to_receive.put_now(number);
                rings.arrivals.put_now(Arrival { request: number, bytes, errand });
            }
        }
    }

    fn size_bytes(&self) -> u64 {
        STREAM_BYTES
    }

    fn block_bytes(&self) -> u32 {
        BLOCK_BYTES
    }

    fn processor(&self) -> Option<Rc<Processor>> {
        Some(self.0.processor.clone())
    }

    fn above(&self, _: Operation, _: u32) -> (Layer, Time) {
        (Layer::Network, self.0.spec.time_above)
    }
}

impl Driver {
    fn frame_bytes_max(&self) -> u32 {
        self.adapter.spec().frame_bytes_max()
    }

    async fn send(&self) {
        let Spec { transmit, packet_bytes_max, .. } = &self.spec;
        self.fill_ring(&self.rings.transmit, &self.to_send, transmit, *packet_bytes_max, true).await;
    }

    async fn fill(&self) {
        let frame_bytes_max = self.frame_bytes_max();
        self.fill_ring(&self.rings.receive, &self.to_receive, &self.spec.receive, frame_bytes_max, false).await;
    }

    /// Writes descriptors for what is asked, in pieces of `most` bytes, as long as there is something.
    async fn fill_ring(&self, ring: &DescriptorRing, asked: &Queue<u32>, side: &Side, most: u32, copies: bool) {
        loop {
            let mut request = asked.take(&NO_REQUEST).await;
            self.sim.take_up(self.requests.errand(request));
            let mut work = self.processor.dispatch().await;
            loop {
                let (mut left, errand) = (self.requests.bytes(request), self.requests.errand(request));
                while left > 0 {
                    let bytes = left.min(most);
                    left -= bytes;
                    if !ring.room.try_take() {
                        self.ring(&work, ring, errand).await;
                        drop(work);
                        ring.room.take(&RING_FULL).await;
                        work = self.processor.dispatch().await;
                    }
                    work.compute(Layer::Driver, side.post).await;
                    if copies {
                        work.compute(Layer::Copying, self.spec.copy_time(bytes)).await;
                    }
                    let (address, errand) = (self.next_buffer(), self.sim.pass_on(errand));
                    ring.post(Descriptor { request, address, bytes, errand, report: false });
                    if u64::from(ring.silent()) >= side.batch {
                        self.ring(&work, ring, errand).await;
                    }
                }
                match asked.try_take() {
                    Some(next) => {
                        request = next;
                        self.sim.take_up(self.requests.errand(request));
                    }
                    None => break,
                }
            }
            self.ring(&work, ring, Errand::NOBODY).await;
        }
    }

    /// Tells the adapter of what is silent, and goes on for `errand`.
    async fn ring(&self, work: &Work<'_>, ring: &DescriptorRing, errand: Errand) {
        if ring.silent() > 0 {
            ring.take_up_silent(errand);
            work.compute(Layer::Driver, self.spec.doorbell).await;
            ring.ring();
            self.sim.take_up(self.sim.pass_on(errand));
        }
    }

    fn next_buffer(&self) -> u64 {
        let number = self.buffer.get();
        self.buffer.set((number + 1) % self.spec.buffers);
        BUFFERS_AT + number * self.spec.buffer_bytes
    }

    /// Ends what has been completed.
    async fn complete(&self, completions: &Completions, operation: Operation) {
        let (side, ring) = match operation {
            Operation::Write => (&self.spec.transmit, &self.rings.transmit),
            Operation::Read => (&self.spec.receive, &self.rings.receive),
        };
        let mut seen: Option<Completed> = None;
        loop {
            let next = match (seen.take(), self.spec.interrupted) {
                (Some(completed), _) => Some(completed),
                (None, false) => Some(completions.wait(&NO_COMPLETION).await),
                (None, true) => {
                    completions.interrupted(&NO_INTERRUPT).await;
                    None
                }
            };
            let mut interrupted = next.is_none();
            seen = next;
            // As long as there is something, in looks of the budget: others get the processor in between.
            loop {
                let looked_at = completions.take_up(seen.map(|completed| completed.errand), self.spec.budget as usize);
                if let Some(completed) = seen {
                    self.adapter.attachment().until_visible(completed.visible).await;
                }
                let work = self.processor.dispatch().await;
                if std::mem::take(&mut interrupted) {
                    work.compute(Layer::Interrupts, self.spec.interrupt).await;
                    self.adapter.attachment().cause(&work).await;
                }
                work.compute(Layer::Driver, self.spec.poll).await;
                completions.pass_on(looked_at);
                seen = seen.map(|first| Completed { errand: self.sim.pass_on(first.errand), ..first });
                let mut handled = 0;
                while handled < self.spec.budget {
                    let Some(completed) = seen.take().or_else(|| completions.next()) else { break };
                    self.sim.take_up(completed.errand);
                    if completed.visible > self.sim.now() {
                        seen = Some(completed);
                        break;
                    }
                    work.compute(Layer::Driver, side.complete).await;
                    if operation == Operation::Read {
                        work.compute(Layer::Copying, self.spec.copy_time(completed.bytes)).await;
                    }
                    ring.room.give();
                    self.requests.part_ended(completed.request);
                    handled += 1;
                }
                if handled < self.spec.budget && seen.is_none() {
                    if self.spec.interrupted {
                        self.sim.take_up(Errand::NOBODY);
                        work.compute(Layer::Driver, self.spec.doorbell).await;
                        completions.arm();
                    }
                    break;
                }
            }
        }
    }
}
