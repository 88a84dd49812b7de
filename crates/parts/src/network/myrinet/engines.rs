//! The DMA engines: one block of chained descriptors after the other, each way.

use std::rc::Rc;

use hopscope_kernel::{Errand, Label, Lane, Queue, Sim, join};

use super::{Adapter, BLOCKS_MAX, Block};
use crate::bridge::pci_x::initiator::Initiator;
use crate::protocols::pci::DATA;

static NO_BLOCK: Label = Label::workload("no block asked for");
static BEHIND_OTHERS: Label = Label::queued("behind other blocks");
static ENGINE_BUSY: Label = Label::reason("DMA engine busy");
static DMA: Label = Label::reason("DMA under way");

/// The engine of one direction.
pub(super) struct Engine {
    lane: Lane,
    initiator: Rc<Initiator>,
    /// Blocks of the raw test.
    pub(super) blocks: Queue<Block>,
}

impl Engine {
    pub(super) fn new(sim: &Sim, name: &str, initiator: &Rc<Initiator>) -> Engine {
        Engine { lane: sim.lane(name, None), initiator: initiator.clone(), blocks: Queue::new(sim, BLOCKS_MAX) }
    }
}

impl Adapter {
    /// Runs the chain of one engine.
    pub(super) async fn chain(&self, reads: bool) {
        let engine = if reads { &self.reads } else { &self.writes };
        let mut before = Errand::NOBODY;
        loop {
            let block = engine.blocks.take(&NO_BLOCK).await;
            self.sim.take_up_after(std::mem::replace(&mut before, block.errand), block.errand);
            engine.lane.awaited(&BEHIND_OTHERS, block.queued);
            self.dma(engine, reads, &block).await;
            block.ended(&self.sim);
        }
    }

    /// Host to local memory.
    pub(super) async fn fetch(&self, block: &Block) {
        self.dma(&self.reads, true, block).await;
    }

    /// Local to host memory.
    pub(super) async fn store(&self, block: &Block) {
        self.dma(&self.writes, false, block).await;
    }

    async fn dma(&self, engine: &Engine, reads: bool, block: &Block) {
        let Block { address, bytes, errand, .. } = *block;
        let grant = engine.lane.acquire(&ENGINE_BUSY).await;
        let start = self.sim.now();
        // Local memory is filled or emptied while the burst crosses the bus.
        if reads {
            join(&self.sim, engine.initiator.read(address, bytes, &DATA, errand), self.local(bytes)).await;
        } else {
            join(&self.sim, engine.initiator.write(address, bytes, &DATA, errand), self.local(bytes)).await;
        }
        grant.was_in(&DMA, start);
    }
}
