//! A ring of descriptors in host memory: the driver fills it, a doorbell says how far, the adapter fetches several at a
//! time.
//!
//! ```text
//!   driver ─▶ ring (host memory) ══ DMA read of up to N descriptors ══▶ descriptors on the adapter ─▶ its engine
//!        └─ doorbell ════════════▶ tail ┘
//! ```
//!
//! Not modelled: descriptors that the processor writes through the doorbell, and rings in the adapter's own memory.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Queue, Sim, Tokens};

use crate::attachment::Attachment;
use crate::attachment::doorbell::Doorbells;
use crate::protocols::pcie::{DESCRIPTOR, Home, PAGE_BYTES};

static NO_DESCRIPTORS: Label = Label::reason("no descriptors in the ring");
static CACHE_FULL: Label = Label::reason("descriptors on the adapter are not used up");
/// A driver waits for room.
pub static RING_FULL: Label = Label::reason("descriptor ring full");

/// A ring of descriptors, as the adapter's data sheet gives it.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Descriptors in the ring.
    #[count("ring", 1..=32_768)]
    pub entries: u64,
    /// Bytes of a descriptor.
    #[bytes("descriptor", 8..=128, power_of_two)]
    descriptor_bytes: u64,
    /// Descriptors of one read, at most.
    #[count("fetch", 1..=u64::from(PAGE_BYTES) / descriptor_bytes)]
    fetch: u64,
    /// Reads of descriptors under way.
    #[count("fetches", 1..=64)]
    fetches: u64,
    /// Descriptors on the adapter.
    #[count("prefetch", 1..=4_096)]
    prefetch: u64,
}

/// What the adapter is told of one buffer.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// The request that it belongs to.
    pub request: u32,
    /// The buffer.
    pub address: u64,
    /// Its length.
    pub bytes: u32,
    /// For whom.
    pub errand: Errand,
    /// Its completion is reported, and those of all before it.
    pub report: bool,
}

/// A ring.
pub struct DescriptorRing {
    sim: Sim,
    spec: Spec,
    address: u64,
    home: Home,
    port: Attachment,
    doorbells: Rc<Doorbells>,
    /// Free entries; a driver takes one for each descriptor, and puts it back when that has been completed.
    pub room: Tokens,
    posted: RefCell<VecDeque<Descriptor>>,
    /// Posted, but not in a doorbell yet.
    silent: Cell<u32>,
    /// The next entry to be fetched.
    head: Cell<u64>,
    /// Descriptors that fetches have begun with, and that have come.
    begun: Cell<u64>,
    come: Cell<u64>,
    free: Tokens,
    fetched: Queue<Descriptor>,
}

impl DescriptorRing {
    /// A ring at `address` of host memory, and the processes that fetch from it.
    pub(super) fn new(
        sim: &Sim,
        name: &str,
        spec: &Spec,
        port: &Attachment,
        (address, home): (u64, Home),
    ) -> Rc<DescriptorRing> {
        let ring = Rc::new(DescriptorRing {
            sim: sim.clone(),
            address,
            home,
            port: port.clone(),
            doorbells: Doorbells::new(sim, &format!("{name}.doorbell"), port.clone()),
            room: Tokens::full(sim, spec.entries as usize),
            posted: RefCell::new(VecDeque::with_capacity(spec.entries as usize)),
            silent: Cell::new(0),
            head: Cell::new(0),
            begun: Cell::new(0),
            come: Cell::new(0),
            free: Tokens::full(sim, spec.prefetch as usize),
            fetched: Queue::new(sim, spec.prefetch as usize),
            spec: spec.clone(),
        });
        for fetcher in 0..spec.fetches {
            let ring = ring.clone();
            sim.process(&format!("{name}.fetch{fetcher}"), async move { ring.fetch().await });
        }
        ring
    }

    /// The driver writes a descriptor, for which it has taken [`DescriptorRing::room`].
    pub fn post(&self, descriptor: Descriptor) {
        self.posted.borrow_mut().push_back(descriptor);
        self.silent.set(self.silent.get() + 1);
    }

    /// Descriptors that the adapter has not been told of.
    pub fn silent(&self) -> u32 {
        self.silent.get()
    }

    /// The driver works for all whose descriptors the adapter has not been told of, and for `errand`.
    pub fn take_up_silent(&self, errand: Errand) {
        let posted = self.posted.borrow();
        let silent = posted.range(posted.len() - self.silent.get() as usize..).map(|descriptor| descriptor.errand);
        self.sim.take_up_all(silent.chain([self.sim.pass_on(errand)]));
    }

    /// The driver tells the adapter; the last descriptor will be reported.
    pub fn ring(&self) {
        let mut posted = self.posted.borrow_mut();
        if let Some(last) = posted.back_mut() {
            last.report = true;
        }
        let silent = posted.len() - self.silent.take() as usize..;
        self.doorbells.ring(posted.range(silent).map(|descriptor| descriptor.errand));
    }

    /// The next descriptor on the adapter, waiting for `reason`.
    pub async fn next(&self, reason: &'static Label) -> Descriptor {
        let descriptor = self.fetched.take(reason).await;
        self.free.give();
        descriptor
    }

    async fn fetch(&self) {
        let (sim, arrived) = (&self.sim, &self.doorbells.arrived);
        let mut errands = Vec::with_capacity(self.spec.fetch as usize);
        loop {
            let mut tail = arrived.take(&NO_DESCRIPTORS).await;
            while let Some(more) = arrived.try_take() {
                tail += more;
            }
            let first = self.doorbells.next();
            sim.take_up(first);
            self.free.take(&CACHE_FULL).await;
            errands.push(sim.pass_on(first));
            let Spec { entries, descriptor_bytes, fetch, .. } = self.spec;
            let head = self.head.get();
            let address = self.address + head * descriptor_bytes;
            let to_page = (u64::from(PAGE_BYTES) - address % u64::from(PAGE_BYTES)) / descriptor_bytes;
            let most = u64::from(tail).min(fetch).min(entries - head).min(to_page) as u32;
            let mut count = 1;
            while count < most && self.free.try_take() {
                errands.push(self.doorbells.next());
                count += 1;
            }
            sim.take_up_all(errands.drain(..));
            let begun = self.begun.replace(self.begun.get() + u64::from(count));
            self.head.set((head + u64::from(count)) % entries);
            if count < tail {
                arrived.put_now(tail - count);
            }
            let bytes = count * descriptor_bytes as u32;
            self.port.read(address, bytes, (&DESCRIPTOR, first), self.home).await;
            for _ in 0..count {
                let next = self.posted.borrow_mut().pop_front();
                if let Some(descriptor) = next {
                    let number = self.come.replace(self.come.get() + 1);
                    if !(begun..begun + u64::from(count)).contains(&number) {
                        // Another fetch that began before has not ended yet.
                        sim.take_up_too(descriptor.errand);
                    }
                    self.fetched.put_now(Descriptor { errand: sim.pass_on(descriptor.errand), ..descriptor });
                }
            }
        }
    }
}
