//! What a bus sees of the bridge it hangs on: room for writes, reads that are latched, and what they wait for.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use hopscope_kernel::{Bell, Carriers, Errand, Label, Lane, Lead, Queue, Sim, Time};

use super::Spec;
use super::path::Path;
use super::posted::{NOTHING_POSTED, Posted, THROUGH};
use super::reads::{NOTHING_TO_FETCH, Piece};
use crate::bridge::pci_x::initiator::{Initiator, Reader};
use crate::bus::pci::PciBus;
use crate::protocols::pci::{BURST_BYTES_MAX, Command, reach};

/// What is on the other side of a bridge.
#[derive(Clone)]
pub enum Beyond {
    /// Links to memory, of a chip set.
    Host(Path),
    /// Another segment, of a bridge between two.
    Bus(Rc<Initiator>),
}

/// The same, with who carries pieces there.
pub(super) enum Across {
    /// Over links into memory and back.
    Host { path: Path, posted: Carriers, fetched: Carriers },
    /// Over the other segment, a process each.
    Bus { upper: Rc<Initiator>, posted: Queue<Posted>, pieces: Queue<Piece> },
}

/// A read that the bridge has latched.
pub(super) struct Latch {
    pub(super) address: Cell<u32>,
    pub(super) bytes: Cell<u32>,
    pub(super) carries: Cell<Option<&'static Label>>,
    pub(super) errand: Cell<Errand>,
    /// Bytes asked of memory, come from there, and gone to the initiator.
    pub(super) asked: Cell<u32>,
    pub(super) arrived: Cell<u32>,
    pub(super) gone: Cell<u32>,
    /// Something has arrived.
    pub(super) arrivals: Bell,
    /// A split transaction has begun, and whom its completion is for.
    pub(super) begun: Queue<(Errand, Rc<Reader>)>,
}

/// What the bridge holds of its bus, and what has come and gone.
pub(super) struct Buffers {
    /// Of the buffer of posted writes: all, and what is free.
    size: u32,
    pub(super) room: Cell<u32>,
    /// Pieces that are posted, or on their way.
    pub(super) sending: Cell<u64>,
    pub(super) latches: Vec<Latch>,
}

impl Buffers {
    /// Room is free again.
    pub(super) fn release(&self, bytes: u32) {
        self.room.set(self.room.get() + bytes);
        assert!(self.room.get() <= self.size, "a buffer is never emptier than empty");
    }
}

/// A bridge as one of its buses sees it.
pub struct Port {
    pub(super) sim: Sim,
    pub(super) spec: Rc<Spec>,
    /// Nobody occupies it, but its delays are the bridge's.
    pub(super) lane: Lane,
    pub(super) across: Across,
    bus: OnceCell<Rc<PciBus>>,
    pub(super) buffers: Rc<Buffers>,
    free: RefCell<Vec<usize>>,
    /// Most reads that were latched at a time.
    latched_most: Cell<usize>,
}

impl Port {
    /// One bus of the bridge `name`, with its processes.
    pub fn new(sim: &Sim, name: &str, spec: &Rc<Spec>, beyond: Beyond) -> Rc<Port> {
        let latch = |_| Latch {
            address: Cell::new(0),
            bytes: Cell::new(0),
            carries: Cell::new(None),
            errand: Cell::new(Errand::NOBODY),
            asked: Cell::new(0),
            arrived: Cell::new(0),
            gone: Cell::new(0),
            arrivals: Bell::new(sim),
            begun: Queue::new(sim, 1),
        };
        let latched = spec.read.latched as usize;
        let buffers = Rc::new(Buffers {
            size: spec.write.buffer,
            room: Cell::new(spec.write.buffer),
            sending: Cell::new(0),
            latches: (0..latched).map(latch).collect(),
        });
        let posters = || (0..spec.write.under_way).map(|number| format!("{name}.posted{number:03}"));
        let fetchers = || (0..spec.read.ahead).map(|number| format!("{name}.fetch{number:03}"));
        let across = match beyond {
            Beyond::Host(path) => {
                let (of_posted, of_fetched) = (buffers.clone(), buffers.clone());
                let posted = sim.carriers(posters(), &NOTHING_POSTED, move |load, count, told| {
                    of_posted.of_posted(load, count, told)
                });
                let fetched = sim
                    .carriers(fetchers(), &NOTHING_TO_FETCH, move |load, count, _| of_fetched.of_fetched(load, count));
                Across::Host { path, posted, fetched }
            }
            Beyond::Bus(upper) => {
                // A read may begin and end in the middle of a piece.
                let pieces = latched * (BURST_BYTES_MAX.div_ceil(spec.read.piece) as usize + 1);
                let posted = Queue::new(sim, spec.write.buffer as usize);
                Across::Bus { upper, posted, pieces: Queue::new(sim, pieces) }
            }
        };
        let port = Rc::new(Port {
            sim: sim.clone(),
            spec: spec.clone(),
            lane: sim.lane(name, None),
            across,
            bus: OnceCell::new(),
            buffers,
            free: RefCell::new((0..latched).rev().collect()),
            latched_most: Cell::new(0),
        });
        if let Across::Bus { .. } = port.across {
            for name in posters() {
                let port = port.clone();
                sim.process(&name, async move { port.send_posted().await });
            }
            for name in fetchers() {
                let port = port.clone();
                sim.process(&name, async move { port.fetch().await });
            }
        }
        for number in 0..latched {
            let port = port.clone();
            sim.process(&format!("{name}.completion{number:02}"), async move { port.complete(number).await });
        }
        port
    }

    /// Puts the bridge on its bus.
    pub fn attach(&self, bus: &Rc<PciBus>) {
        let _ = self.bus.set(bus.clone());
    }

    pub(crate) fn bus(&self) -> &Rc<PciBus> {
        self.bus.get().expect("wiring attached a bus before the run")
    }

    /// Through the bridge, one way.
    pub(super) fn latency(&self) -> Time {
        self.lane.paced(self.spec.latency)
    }

    /// The same, as what is owed on a way.
    pub(super) fn through(&self) -> Lead<'_> {
        (&self.lane, &THROUGH, self.latency())
    }

    /// Most reads that were latched at a time.
    pub fn latched_most(&self) -> usize {
        self.latched_most.get()
    }

    /// Clocks from the address to the first data of a write.
    pub(crate) fn write_response(&self) -> u64 {
        self.spec.write.response
    }

    /// Clocks from the address to the answer to a read.
    pub(crate) fn read_response(&self) -> u64 {
        self.spec.read.response
    }

    /// Conventional bursts are stopped after so many bytes.
    pub(crate) fn boundary(&self) -> u32 {
        self.spec.boundary
    }

    /// What has come by now is taken into account.
    fn settle(&self) {
        if let Across::Host { posted, .. } = &self.across {
            posted.settle();
        }
    }

    /// How much of a burst from `address` on, of which `bytes` are left, the buffer takes now; nothing where it has to
    /// wait. A burst begins only where there is room for a part worth it.
    pub(crate) fn accepts(&self, address: u32, bytes: u32, begins: bool) -> u32 {
        self.settle();
        let room = self.buffers.room.get();
        if begins && room < self.spec.write.accept.min(bytes) {
            return 0;
        }
        let gather = self.up_to(address, self.spec.write.gather, self.bus().boundary_bytes());
        self.bus().whole(address, bytes.min(gather).min(room), bytes)
    }

    /// Whether pieces of so many bytes, one behind the other, are all taken at once, if at most so many are in the buffer
    /// at a time, and so many on their way.
    pub(super) fn takes_all(&self, bytes: u32, in_buffer: u64, on_their_way: u64) -> bool {
        self.settle();
        let whole = self.spec.write.gather.is_multiple_of(bytes);
        let room = u64::from(self.buffers.room.get()) >= u64::from(bytes) * in_buffer;
        whole && room && self.buffers.sending.get() + on_their_way <= self.spec.write.under_way
    }

    /// Bytes from `address` until a limit ends a piece: there, or at the next multiple of `ends` where none ends there.
    pub(super) fn up_to(&self, address: u32, limit: u32, ends: u32) -> u32 {
        let reach = reach(address, limit);
        let beyond = (u64::from(address) + u64::from(reach)) % u64::from(ends);
        if limit.is_multiple_of(ends) || beyond == 0 { reach } else { reach + ends - beyond as u32 }
    }

    /// Keeps room for bytes that are about to come.
    pub(crate) fn reserve(&self, bytes: u32) {
        self.settle();
        let room = &self.buffers.room;
        room.set(room.get().checked_sub(bytes).expect("a buffer is never overfull"));
    }

    /// Room is free again.
    pub(crate) fn release(&self, bytes: u32) {
        self.buffers.release(bytes);
    }

    /// Latches a read, for which `prefetch` bytes are asked of memory at once; nothing where no latch is free.
    pub(crate) fn latch(
        &self,
        address: u32,
        bytes: u32,
        carries: &'static Label,
        (prefetch, errand): (u32, Errand),
    ) -> Option<usize> {
        let number = self.free.borrow_mut().pop()?;
        let latch = &self.buffers.latches[number];
        latch.address.set(address);
        latch.bytes.set(bytes);
        latch.carries.set(Some(carries));
        latch.errand.set(errand);
        for count in [&latch.asked, &latch.arrived, &latch.gone] {
            count.set(0);
        }
        self.latched_most.set(self.latched_most.get().max(self.buffers.latches.len() - self.free.borrow().len()));
        self.ask(number, prefetch.min(bytes));
        Some(number)
    }

    /// Begins the completion of a split transaction.
    pub(crate) fn split(&self, number: usize, reader: &Rc<Reader>) {
        let errand = self.sim.pass_on(self.buffers.latches[number].errand.get());
        self.buffers.latches[number].begun.put_now((errand, reader.clone()));
    }

    /// Bytes of a latched read have gone to its initiator, and as many more are asked for behind them.
    pub(crate) fn gone(&self, number: usize, bytes: u32) {
        let latch = &self.buffers.latches[number];
        latch.gone.set(latch.gone.get() + bytes);
        self.ask(number, (latch.asked.get() + bytes).min(latch.bytes.get()));
    }

    /// A latched read has ended.
    pub(crate) fn unlatch(&self, number: usize) {
        self.free.borrow_mut().push(number);
    }

    /// Bytes that are fetched for a delayed read.
    pub(crate) fn prefetch(&self, command: Command) -> u32 {
        let [single, line, multiple] = self.spec.read.prefetch;
        match command {
            Command::MemoryReadMultiple => multiple,
            Command::MemoryReadLine => line,
            _ => single,
        }
    }
}
