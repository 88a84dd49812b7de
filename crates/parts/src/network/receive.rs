//! Reception: frames arrive, take a posted buffer each, and are written by DMA; completions follow, several at a time.
//!
//! ```text
//!   wire ─▶ frames (bounded) ─▶ engine + buffer ─▶ context 0..N: DMA writes ─▶ completions ══ DMA write
//! ```

use std::rc::Rc;

use hopscope_kernel::{Either, Label, Lane, Queue, Sim, race};

use super::descriptor_ring::{Descriptor, DescriptorRing};
use super::moderation::Completions;
use super::nic::{Adapter, Arrival, Completed, Contexts, Setup, Spec};
use super::wire::Wire;
use crate::attachment::Attachment;
use crate::protocols::pcie::{DATA, DESCRIPTOR, Home};

static NO_REQUEST: Label = Label::workload("no request");
static BUFFER_FULL: Label = Label::reason("packet buffer of the adapter full");
static NO_FRAME: Label = Label::reason("no frame arrived");
static NO_BUFFER: Label = Label::reason("no receive buffer on the adapter");
static CONTEXTS_BUSY: Label = Label::reason("as many packets are written as there are contexts");
static NOT_WRITTEN: Label = Label::reason("no frame to write");
static COMPLETIONS_BEHIND: Label = Label::reason("frames before it are not completed");
static NOTHING_WRITTEN: Label = Label::reason("nothing written");
static PROCESSING: Label = Label::protocol("packet processing");
static GATHER: Label = Label::protocol("completions are gathered");

/// The half of an adapter that receives.
pub(super) struct Receiver {
    sim: Sim,
    spec: Spec,
    port: Attachment,
    ring: Rc<DescriptorRing>,
    completions: Rc<Completions>,
    arrivals: Queue<Arrival>,
    wire: Wire,
    frames: Queue<Arrival>,
    engine: Lane,
    /// What completions wait for is owed to it.
    gathering: Lane,
    contexts: Contexts<Descriptor>,
    rings: Home,
    data: Home,
}

impl Receiver {
    /// Starts its processes.
    pub(super) fn start(
        adapter: &Adapter,
        Setup { name, ring, completions, engine, rings, data }: Setup<'_>,
        arrivals: &Queue<Arrival>,
    ) {
        let (sim, spec) = (adapter.sim(), adapter.spec().clone());
        let contexts = spec.receive.contexts;
        let receiver = Rc::new(Receiver {
            sim: sim.clone(),
            port: adapter.attachment().clone(),
            ring,
            completions,
            arrivals: arrivals.clone(),
            wire: Wire::new(sim, &format!("{}.wire-rx", adapter.name()), spec.wire.clone()),
            frames: Queue::new(sim, spec.buffer as usize),
            engine,
            gathering: sim.lane(&format!("{name}.gathering"), None),
            contexts: Contexts::new(sim, contexts),
            rings,
            data,
            spec,
        });
        let own = || receiver.clone();
        let (arriving, placing, completing) = (own(), own(), own());
        sim.process(&format!("{name}.wire"), async move { arriving.arrive().await });
        sim.process(&format!("{name}.place"), async move { placing.place().await });
        for context in 0..contexts as usize {
            let writing = own();
            sim.process(&format!("{name}.dma{context}"), async move { writing.write(context).await });
        }
        sim.process(&format!("{name}.completion"), async move { completing.complete().await });
    }

    async fn arrive(&self) {
        loop {
            let Arrival { request, bytes, errand } = self.arrivals.take(&NO_REQUEST).await;
            self.sim.take_up(errand);
            let mut left = bytes;
            while left > 0 {
                let bytes = left.min(self.spec.frame_bytes_max());
                self.wire.carry(0, bytes).await;
                let errand = self.sim.pass_on(errand);
                self.frames.put(Arrival { request, bytes, errand }, &BUFFER_FULL).await;
                left -= bytes;
            }
        }
    }

    async fn place(&self) {
        let mut context = 0;
        loop {
            let Arrival { request, bytes, errand } = self.frames.take(&NO_FRAME).await;
            self.sim.take_up(errand);
            self.engine.spend(&PROCESSING, self.engine.paced(self.spec.receive.frame_time)).await;
            let buffer = self.ring.next(&NO_BUFFER).await;
            // Any buffer will do: the frame says whose it is.
            let frame = Descriptor { request, bytes, errand: self.sim.pass_on(errand), ..buffer };
            self.contexts.into[context].put(frame, &CONTEXTS_BUSY).await;
            context = (context + 1) % self.contexts.into.len();
        }
    }

    async fn write(&self, context: usize) {
        loop {
            let frame = self.contexts.into[context].take(&NOT_WRITTEN).await;
            self.sim.take_up(frame.errand);
            self.port.write(frame.address, frame.bytes, (&DATA, frame.errand), self.data).await;
            let written = Descriptor { errand: self.sim.pass_on(frame.errand), ..frame };
            self.contexts.out[context].put(written, &COMPLETIONS_BEHIND).await;
        }
    }

    /// Completions of neighbouring frames are written together.
    async fn complete(&self) {
        let bytes = u64::from(self.spec.receive.completion_bytes);
        let (entries, out) = (self.spec.receive.ring.entries, &self.contexts.out);
        let mut together = Vec::with_capacity(self.spec.completions as usize);
        let (mut context, mut entry) = (0, 0);
        loop {
            let most = self.spec.completions.min(entries - entry) as usize;
            together.push(out[context].take(&NOTHING_WRITTEN).await);
            self.take_up_all(&mut together);
            context = (context + 1) % out.len();
            let due = self.sim.now() + self.gathering.paced(self.spec.completion_wait);
            while together.len() < most {
                if let Some(frame) = out[context].try_take() {
                    together.push(frame);
                    self.take_up_all(&mut together);
                } else if self.sim.now() < due {
                    let elapsed = self.gathering.delay_until(&GATHER, due);
                    match race(&self.sim, elapsed, out[context].take(&GATHER)).await {
                        Either::Left(()) => break,
                        Either::Right(frame) => together.push(frame),
                    }
                    self.take_up_all(&mut together);
                } else {
                    break;
                }
                context = (context + 1) % out.len();
            }
            let address = Adapter::completions_at(2) + entry * bytes;
            let length = bytes as u32 * together.len() as u32;
            entry = (entry + together.len() as u64) % entries;
            let carries = (&DESCRIPTOR, together[0].errand);
            let visible = self.port.write(address, length, carries, self.rings).await;
            for frame in together.drain(..) {
                let errand = self.sim.pass_on(frame.errand);
                self.completions.put(Completed { request: frame.request, bytes: frame.bytes, visible, errand });
            }
        }
    }
    /// Works for all whose completions are written together, and passes them on to itself.
    fn take_up_all(&self, together: &mut [Descriptor]) {
        self.sim.take_up_all(together.iter().map(|frame| frame.errand));
        together.iter_mut().for_each(|frame| frame.errand = self.sim.pass_on(frame.errand));
    }
}
