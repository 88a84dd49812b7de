//! A network adapter: rings of descriptors in host memory, DMA engines, and a wire in each direction.
//!
//! ```text
//!   transmit  ring ▶ descriptors ▶ engine ▶ DMA reads ══▶ frames ▶ wire ─▶ completion ══ DMA write ══▶ host
//!   receive   wire ▶ frames ▶ engine (takes a posted buffer) ▶ DMA writes ══▶ completion ══ DMA write ══▶ host
//! ```
//!
//! What is received was asked for: a request to read N bytes is a packet of N bytes that the far end sends as soon as
//! it is asked for, and that arrives at the rate of the wire.
//!
//! Where a far end has been connected, it takes what is sent.
//!
//! Not modelled: several queues, frames that are gathered from several buffers, steering and hashing, headers and data in different buffers, checksums, descriptors
//! and small packets that are written by the processor, loss (the wire stops where it has nowhere to put a frame).

use std::cell::OnceCell;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Lane, Queue, Sim, Time};

use super::descriptor_ring::{self, DescriptorRing};
use super::moderation::{self, Completions};
use super::receive::Receiver;
use super::transmit::{CELL_BYTES, Transmitter};
use super::wire;
use crate::attachment::Attachment;
use crate::protocols::pcie::Home;

/// Rings and completion queues of a direction begin at multiples of this.
const RINGS_AT: u64 = 0x1000_0000;
/// Requests that the jobs of a run have in flight, at most.
const REQUESTS_MAX: usize = 4_096;

/// One direction's part of the data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub(super) struct Side {
    /// The ring.
    #[nested]
    pub(super) ring: descriptor_ring::Spec,
    /// The engine takes so long for a frame.
    #[time("packet", ..=Time::ms(1))]
    pub(super) frame_time: Time,
    /// Frames that are moved by DMA at a time.
    #[count("contexts", 1..=256)]
    pub(super) contexts: u64,
    /// A completion that is written.
    #[bytes("completion", 4..=128)]
    pub(super) completion_bytes: u32,
    /// When it interrupts.
    #[nested("moderation")]
    moderation: moderation::Spec,
}

/// The data sheet of an adapter.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    #[nested]
    pub(super) wire: wire::Spec,
    #[nested("tx")]
    pub(super) transmit: Side,
    /// Headers that segmentation copies into every frame but the first.
    #[bytes("tx.segment_header", ..=256)]
    pub(super) segment_header_bytes: u32,
    /// Packets that are read and not sent, bytes: a frame at least.
    #[bytes("tx.buffer", wire.frame_bytes_max.next_multiple_of(CELL_BYTES).into()..=16 << 20)]
    pub(super) transmit_buffer_bytes: u64,
    #[nested("rx")]
    pub(super) receive: Side,
    /// Frames that the adapter keeps before they are written to memory.
    #[count("rx.buffer", 1..=4_096)]
    pub(super) buffer: u64,
    /// Completions that are written together, at most.
    #[count("rx.completions", 1..=4_096)]
    pub(super) completions: u64,
    /// How long the first of such completions waits for others.
    #[time("rx.completion_wait", ..=Time::ms(10))]
    pub(super) completion_wait: Time,
}

impl Spec {
    /// The largest frame, without its FCS.
    pub fn frame_bytes_max(&self) -> u32 {
        self.wire.frame_bytes_max
    }
}

/// A completion in host memory.
#[derive(Clone, Copy, Debug)]
pub struct Completed {
    /// The request that the descriptor belongs to.
    pub request: u32,
    /// Bytes of its buffer that were used.
    pub bytes: u32,
    /// From then on a processor sees it.
    pub visible: Time,
    /// For whom.
    pub errand: Errand,
}

/// A packet that the far end will send.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The request that asks for it.
    pub request: u32,
    /// How long it is.
    pub bytes: u32,
    /// For whom.
    pub errand: Errand,
}

/// An adapter.
pub struct Adapter {
    sim: Sim,
    name: String,
    spec: Spec,
    attachment: Attachment,
    /// What is sent arrives there.
    far_end: OnceCell<Queue<Arrival>>,
}

/// What a driver works with: one direction each.
pub struct Rings {
    /// Descriptors of what is to be sent.
    pub transmit: Rc<DescriptorRing>,
    /// What has been sent.
    pub sent: Rc<Completions>,
    /// Descriptors of buffers.
    pub receive: Rc<DescriptorRing>,
    /// What has been received.
    pub received: Rc<Completions>,
    /// What the far end sends.
    pub arrivals: Queue<Arrival>,
}

impl Adapter {
    /// An adapter named `name`, plugged in.
    pub fn new(sim: &Sim, name: &str, spec: Spec, attachment: Attachment) -> Rc<Adapter> {
        Rc::new(Adapter { sim: sim.clone(), name: name.to_string(), spec, attachment, far_end: OnceCell::new() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its data sheet.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// What it is plugged into.
    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// Somebody at the other end of the wire takes what is sent.
    pub fn connect(&self, far_end: Queue<Arrival>) {
        let _ = self.far_end.set(far_end);
    }

    /// Who takes what is sent, if anybody does.
    pub fn far_end(&self) -> Option<&Queue<Arrival>> {
        self.far_end.get()
    }

    /// A driver sets the adapter up: rings lie in `rings`, packets in `data`.
    pub fn start(self: &Rc<Adapter>, rings: Home, data: Home) -> Rings {
        let Adapter { sim, name, spec, attachment, .. } = &**self;
        let (tx, rx) = (format!("{name}.tx"), format!("{name}.rx"));
        let setup = |side: &Side, name, n| {
            let engine = sim.lane(&format!("{name}.engine"), None);
            let ring = DescriptorRing::new(sim, name, &side.ring, attachment, (RINGS_AT * n, rings));
            let completions = Completions::new(sim, name, &side.moderation, attachment, side.ring.entries);
            Setup { name, ring, completions, engine, rings, data }
        };
        let (transmit, receive) = (setup(&spec.transmit, &tx, 1), setup(&spec.receive, &rx, 2));
        let rings = Rings {
            transmit: transmit.ring.clone(),
            sent: transmit.completions.clone(),
            receive: receive.ring.clone(),
            received: receive.completions.clone(),
            arrivals: Queue::new(sim, REQUESTS_MAX),
        };
        Transmitter::start(self, transmit);
        Receiver::start(self, receive, &rings.arrivals);
        rings
    }

    pub(super) fn sim(&self) -> &Sim {
        &self.sim
    }

    /// Completions of a direction are written from here on: entry by entry, over and over.
    pub(super) fn completions_at(direction: u64) -> u64 {
        RINGS_AT * direction + RINGS_AT / 2
    }
}

/// What a direction is made of.
pub(super) struct Setup<'a> {
    /// Its processes and lanes begin with it.
    pub(super) name: &'a str,
    pub(super) ring: Rc<DescriptorRing>,
    pub(super) completions: Rc<Completions>,
    pub(super) engine: Lane,
    pub(super) rings: Home,
    pub(super) data: Home,
}

/// Contexts that are used in turn, so that what goes through them stays in order.
pub(super) struct Contexts<T> {
    /// Into each.
    pub(super) into: Vec<Queue<T>>,
    /// Out of each.
    pub(super) out: Vec<Queue<T>>,
}

impl<T: 'static> Contexts<T> {
    pub(super) fn new(sim: &Sim, count: u64) -> Contexts<T> {
        let queues = || (0..count).map(|_| Queue::new(sim, 1)).collect();
        Contexts { into: queues(), out: queues() }
    }
}
