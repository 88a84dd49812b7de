//! Transmission: descriptors become frames, frames are read by DMA and sent in order, completions are reported.
//!
//! ```text
//!   descriptors ─▶ engine (segments) ─▶ context 0..N: DMA reads ─▶ buffer, wire ─▶ completion ══ DMA write
//! ```

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use hopscope_kernel::{Errand, Label, Lane, Sim, Tokens};

use super::descriptor_ring::{Descriptor, DescriptorRing};
use super::moderation::Completions;
use super::nic::{Adapter, Arrival, Completed, Contexts, Setup, Spec};
use super::wire::Wire;
use crate::attachment::Attachment;
use crate::protocols::pcie::{DATA, DESCRIPTOR, Home};

static NO_DESCRIPTOR: Label = Label::reason("no descriptor on the adapter");
static BUFFER_FULL: Label = Label::reason("packet buffer of the adapter full");
static CONTEXTS_BUSY: Label = Label::reason("as many packets are read as there are contexts");
static NO_FRAME: Label = Label::reason("no frame to read");
static NOT_READ: Label = Label::reason("no frame to send");
static WIRE_BEHIND: Label = Label::reason("frames before it are not sent");
static NOTHING_SENT: Label = Label::reason("nothing sent");
static PROCESSING: Label = Label::protocol("packet processing");

/// The packet buffer is given out in cells of this size.
pub(super) const CELL_BYTES: u32 = 256;

/// A frame that is to be sent.
#[derive(Clone, Copy)]
struct Frame {
    bytes: u32,
    header_bytes: u32,
    /// What is read for it: frames of a packet share read requests, which end at multiples of the largest.
    read_at: u64,
    read_bytes: u32,
    /// For whom.
    errand: Errand,
    /// The descriptor whose last frame it is.
    last_of: Option<Descriptor>,
}

/// The half of an adapter that sends.
pub(super) struct Transmitter {
    sim: Sim,
    spec: Spec,
    adapter: Rc<Adapter>,
    port: Attachment,
    ring: Rc<DescriptorRing>,
    completions: Rc<Completions>,
    engine: Lane,
    wire: Wire,
    contexts: Contexts<Frame>,
    /// Free cells of the packet buffer.
    cells: Tokens,
    /// Sent, but not reported.
    sent: RefCell<VecDeque<Descriptor>>,
    reports: Tokens,
    rings: Home,
    data: Home,
}

impl Transmitter {
    /// Starts its processes.
    pub(super) fn start(adapter: &Rc<Adapter>, Setup { name, ring, completions, engine, rings, data }: Setup<'_>) {
        let (sim, spec) = (adapter.sim(), adapter.spec().clone());
        let (contexts, entries) = (spec.transmit.contexts, spec.transmit.ring.entries as usize);
        let transmitter = Rc::new(Transmitter {
            sim: sim.clone(),
            adapter: adapter.clone(),
            port: adapter.attachment().clone(),
            ring,
            completions,
            engine,
            wire: Wire::new(sim, &format!("{}.wire-tx", adapter.name()), spec.wire.clone()),
            contexts: Contexts::new(sim, contexts),
            cells: Tokens::full(sim, (spec.transmit_buffer_bytes / u64::from(CELL_BYTES)) as usize),
            sent: RefCell::new(VecDeque::with_capacity(entries)),
            reports: Tokens::none(sim, entries),
            rings,
            data,
            spec,
        });
        let own = || transmitter.clone();
        let (segmenting, sending, reporting) = (own(), own(), own());
        sim.process(&format!("{name}.segment"), async move { segmenting.segment().await });
        for context in 0..contexts as usize {
            let reading = own();
            sim.process(&format!("{name}.dma{context}"), async move { reading.read(context).await });
        }
        sim.process(&format!("{name}.wire"), async move { sending.send().await });
        sim.process(&format!("{name}.completion"), async move { reporting.report().await });
    }

    async fn segment(&self) {
        let mut context = 0;
        loop {
            let descriptor = self.ring.next(&NO_DESCRIPTOR).await;
            self.sim.take_up(descriptor.errand);
            let end = descriptor.address + u64::from(descriptor.bytes);
            let request_max = u64::from(self.port.read_request_max());
            let (mut done, mut read_at) = (0, descriptor.address);
            while done < descriptor.bytes {
                let header_bytes = if done == 0 { 0 } else { self.spec.segment_header_bytes };
                let bytes = (descriptor.bytes - done).min(self.spec.frame_bytes_max() - header_bytes);
                done += bytes;
                let read_end = (descriptor.address + u64::from(done)).next_multiple_of(request_max).min(end);
                self.engine.spend(&PROCESSING, self.engine.paced(self.spec.transmit.frame_time)).await;
                for _ in 0..bytes.div_ceil(CELL_BYTES) {
                    self.cells.take(&BUFFER_FULL).await;
                }
                let last_of = (done == descriptor.bytes).then_some(descriptor);
                let read_bytes = read_end.saturating_sub(read_at) as u32;
                let errand = self.sim.pass_on(descriptor.errand);
                let frame = Frame { bytes, header_bytes, read_at, read_bytes, errand, last_of };
                read_at = read_end;
                self.contexts.into[context].put(frame, &CONTEXTS_BUSY).await;
                context = (context + 1) % self.contexts.into.len();
            }
        }
    }

    async fn read(&self, context: usize) {
        loop {
            let frame = self.contexts.into[context].take(&NO_FRAME).await;
            self.sim.take_up(frame.errand);
            self.port.read(frame.read_at, frame.read_bytes, (&DATA, frame.errand), self.data).await;
            let read = Frame { errand: self.sim.pass_on(frame.errand), ..frame };
            self.contexts.out[context].put(read, &WIRE_BEHIND).await;
        }
    }

    async fn send(&self) {
        let mut context = 0;
        loop {
            let frame = self.contexts.out[context].take(&NOT_READ).await;
            self.sim.take_up(frame.errand);
            context = (context + 1) % self.contexts.out.len();
            self.wire.carry(frame.header_bytes, frame.bytes).await;
            (0..frame.bytes.div_ceil(CELL_BYTES)).for_each(|_| self.cells.give());
            if let Some(descriptor) = frame.last_of {
                let errand = self.sim.pass_on(frame.errand);
                if let Some(far_end) = self.adapter.far_end() {
                    let Descriptor { request, bytes, .. } = descriptor;
                    far_end.put_now(Arrival { request, bytes, errand });
                }
                self.sent.borrow_mut().push_back(Descriptor { errand, ..descriptor });
                if descriptor.report {
                    self.reports.give();
                }
            }
        }
    }

    /// One completion tells of its descriptor and of all before it.
    async fn report(&self) {
        let (bytes, mut entry) = (u64::from(self.spec.transmit.completion_bytes), 0);
        loop {
            self.reports.take(&NOTHING_SENT).await;
            let errand = self.take_up_reported();
            let address = Adapter::completions_at(1) + entry * bytes;
            entry = (entry + 1) % self.spec.transmit.ring.entries;
            let visible = self.port.write(address, bytes as u32, (&DESCRIPTOR, errand), self.rings).await;
            loop {
                let Some(descriptor) = self.sent.borrow_mut().pop_front() else { break };
                let Descriptor { request, bytes, errand, report, .. } = descriptor;
                let errand = self.sim.pass_on(errand);
                self.completions.put(Completed { request, bytes, visible, errand });
                if report {
                    break;
                }
            }
        }
    }
    /// Works for all of whom the next completion tells; returns the last of them.
    fn take_up_reported(&self) -> Errand {
        let sent = self.sent.borrow();
        let last = sent.iter().position(|descriptor| descriptor.report);
        let reported = sent.range(..last.map_or(0, |last| last + 1));
        let mut errands = reported.map(|descriptor| descriptor.errand);
        self.sim.take_up_all(errands.clone());
        errands.next_back().unwrap_or(Errand::NOBODY)
    }
}
