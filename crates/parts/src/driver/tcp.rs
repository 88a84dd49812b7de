//! TCP on a server's processor, with the driver of the adapter below it: each segment costs so much, and its bytes.
//!
//! ```text
//!   message ─▶ segments: window, processor, descriptor ─▶ doorbell ─▶ (adapter) ─▶ wire
//!   interrupt ─▶ handler ─▶ what came: segments and acknowledgements, processor ─▶ message, acknowledgement
//! ```
//!
//! A handler does at once what a deferred call would do behind it: neither makes way for anything here.
//!
//! Not modelled: checksums by the adapter as work of the adapter, segmentation by the adapter, retransmission.

use std::cell::Cell;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Queue, Sim, Time};

use crate::cpu::{Layer, Processor};
use crate::network::client::Client;
use crate::network::descriptor_ring::{Descriptor, DescriptorRing, RING_FULL};
use crate::network::nic::{Adapter, Rings};
use crate::network::tcp::{Connection, WINDOW_BYTES_MAX, window_bytes_min};
use crate::protocols::pcie::Home;

static NO_INTERRUPT: Label = Label::reason("no interrupt");
static NOT_DUE: Label = Label::reason("no acknowledgement due");

/// Buffers of frames begin here; each lies in a page of its own.
const SENT_FROM: u64 = 0x4000_0000;
const RECEIVED_AT: u64 = 0x5000_0000;
const BUFFER_BYTES: u64 = 4_096;
/// As many of each kind, taken in turn.
const BUFFERS: u64 = 4_096;
const BATCH_MAX: u64 = 4_096;
/// Acknowledgements that are due, at most: one for two frames that have come.
const DUE_MAX: usize = 1 << 16;

/// The numbers of one way.
#[derive(Clone, Debug, PartialEq, Spec)]
struct Side {
    /// Processor time of a segment.
    #[time("segment")]
    segment: Time,
    /// Bytes per second that the processor copies or sums up; zero where it does neither.
    #[rate("rate", 1_000_000.., or_zero)]
    rate: u64,
    /// Processor time of an acknowledgement.
    #[time("acknowledgement")]
    acknowledgement: Time,
}

impl Side {
    fn time(&self, bytes: u32) -> Time {
        match (bytes, self.rate) {
            (0, _) => self.acknowledgement,
            (_, 0) => self.segment,
            (_, rate) => self.segment + Time::ps(u64::from(bytes) * 1_000_000_000_000 / rate),
        }
    }
}

/// What TCP and the driver cost.
#[derive(Clone, Debug, PartialEq, Spec)]
#[spec(with(frame_bytes: u32))]
pub struct Spec {
    /// Bytes that may be under way without an acknowledgement.
    #[bytes("tcp.window", window_bytes_min(frame_bytes)..=WINDOW_BYTES_MAX)]
    window_bytes: u32,
    /// What is sent.
    #[nested("tcp.send")]
    send: Side,
    /// What is received.
    #[nested("tcp.receive")]
    receive: Side,
    /// Processor time to free what has been sent.
    #[time("tcp.sent")]
    sent: Time,
    /// Segments for one doorbell, at most.
    #[count("tcp.batch", 1..=BATCH_MAX)]
    batch: u64,
    /// Processor time of a handler, besides what has come and its register read.
    #[time("interrupt")]
    interrupt: Time,
    /// Processor time of a register write.
    #[time("doorbell")]
    doorbell: Time,
}

/// The server's end of a connection.
pub struct Tcp {
    sim: Sim,
    spec: Spec,
    processor: Rc<Processor>,
    adapter: Rc<Adapter>,
    rings: Rings,
    /// Both ends.
    pub connection: Rc<Connection>,
    due: Queue<Errand>,
    /// Buffers used so far.
    buffer: Cell<u64>,
}

impl Tcp {
    /// Sets the adapter up, and opens the connection to the client at its wire.
    pub fn start(sim: &Sim, name: &str, spec: Spec, processor: &Rc<Processor>, client: &Rc<Client>) -> Rc<Tcp> {
        let adapter = client.adapter().clone();
        let rings = adapter.start(Home::CACHE, Home::MEMORY);
        let connection = client.connect(spec.window_bytes, &rings.arrivals);
        let (due, buffer) = (Queue::new(sim, DUE_MAX), Cell::new(0));
        let (sim, processor) = (sim.clone(), processor.clone());
        let tcp = Rc::new(Tcp { sim, spec, processor, adapter, rings, connection, due, buffer });
        let own = || tcp.clone();
        let (sending, acknowledging, receiving, freeing) = (own(), own(), own(), own());
        let sim = &tcp.sim;
        sim.process(&format!("{name}.send"), async move { sending.send().await });
        sim.process(&format!("{name}.acknowledge"), async move { acknowledging.acknowledge().await });
        sim.process(&format!("{name}.received"), async move { receiving.receive().await });
        sim.process(&format!("{name}.sent"), async move { freeing.free().await });
        tcp
    }

    fn post(&self, ring: &DescriptorRing, from: u64, bytes: u32, errand: Errand) {
        let number = self.buffer.replace((self.buffer.get() + 1) % BUFFERS);
        let address = from + number * BUFFER_BYTES;
        ring.post(Descriptor { request: 0, address, bytes, errand: self.sim.pass_on(errand), report: false });
    }

    async fn send(&self) {
        let (end, ring) = (&self.connection.server, &self.rings.transmit);
        loop {
            let message = end.next().await;
            self.sim.take_up(message.errand);
            let mut left = message.bytes;
            while left > 0 {
                end.room(left.min(end.segment_bytes)).await;
                ring.room.take(&RING_FULL).await;
                let work = self.processor.dispatch().await;
                for number in 1..=self.spec.batch {
                    let part = left.min(end.segment_bytes);
                    left -= part;
                    work.compute(Layer::Network, self.spec.send.time(part)).await;
                    let bytes = end.send(part, (left == 0).then_some(message));
                    self.post(ring, SENT_FROM, bytes, message.errand);
                    let next = left.min(end.segment_bytes);
                    if next == 0 || number == self.spec.batch || ring.room.is_empty() || !end.try_room(next) {
                        break;
                    }
                    let _ = ring.room.try_take();
                }
                work.compute(Layer::Driver, self.spec.doorbell).await;
                ring.ring();
            }
        }
    }

    async fn acknowledge(&self) {
        let ring = &self.rings.transmit;
        loop {
            let errand = self.due.take(&NOT_DUE).await;
            self.sim.take_up(errand);
            ring.room.take(&RING_FULL).await;
            let work = self.processor.dispatch().await;
            work.compute(Layer::Network, self.spec.send.acknowledgement).await;
            let bytes = self.connection.server.send(0, None);
            self.post(ring, SENT_FROM, bytes, errand);
            work.compute(Layer::Driver, self.spec.doorbell).await;
            ring.ring();
        }
    }

    async fn receive(&self) {
        let (ring, received, end) = (&self.rings.receive, &self.rings.received, &self.connection.server);
        let attachment = self.adapter.attachment();
        let frame_bytes = self.adapter.spec().frame_bytes_max();
        while ring.room.try_take() {
            self.post(ring, RECEIVED_AT, frame_bytes, Errand::NOBODY);
        }
        ring.ring();
        received.arm();
        loop {
            received.interrupted(&NO_INTERRUPT).await;
            let count = received.take_up(None, usize::MAX);
            let work = self.processor.dispatch().await;
            work.compute(Layer::Interrupts, self.spec.interrupt).await;
            attachment.cause(&work).await;
            received.pass_on(count);
            while let Some(frame) = received.next() {
                self.sim.take_up(frame.errand);
                attachment.until_visible(frame.visible).await;
                let heard = end.hear(&self.connection.client);
                work.compute(Layer::Network, self.spec.receive.time(heard.bytes)).await;
                if heard.acknowledge {
                    self.due.put_now(self.sim.pass_on(frame.errand));
                }
                self.post(ring, RECEIVED_AT, frame_bytes, Errand::NOBODY);
            }
            self.sim.take_up(Errand::NOBODY);
            work.compute(Layer::Driver, self.spec.doorbell).await;
            ring.ring();
            received.arm();
        }
    }

    /// What has been sent makes room.
    async fn free(&self) {
        let (ring, sent) = (&self.rings.transmit, &self.rings.sent);
        sent.arm();
        loop {
            sent.interrupted(&NO_INTERRUPT).await;
            let count = sent.take_up(None, usize::MAX);
            let work = self.processor.dispatch().await;
            work.compute(Layer::Interrupts, self.spec.interrupt).await;
            self.adapter.attachment().cause(&work).await;
            sent.pass_on(count);
            while let Some(frame) = sent.next() {
                self.sim.take_up(frame.errand);
                self.adapter.attachment().until_visible(frame.visible).await;
                work.compute(Layer::Driver, self.spec.sent).await;
                ring.room.give();
            }
            self.sim.take_up(Errand::NOBODY);
            work.compute(Layer::Driver, self.spec.doorbell).await;
            sent.arm();
        }
    }
}
