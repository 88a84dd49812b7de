//! A device below the system: its pieces, and the processes that carry them, copy, and write behind.
//!
//! ```text
//!   pieces ──▶ carriers ──▶ volume or driver ──▶ request ended, or pages there ──▶ copied ──▶ request ended
//! ```

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{Bell, Errand, Label, Lane, Numbered, Queue, Sim, Time};

use super::cache::{Cache, Run};
use super::{COPIED, PAGE_BYTES, Spec, for_each_kib};
use crate::cpu::{Layer, Processor};
use crate::protocols::storage::{Operation, Request, Storage};
use crate::requests::Requests;

static NO_PIECE: Label = Label::workload("no request");
static NO_WRITE: Label = Label::workload("no buffered write");
static NOTHING_READ: Label = Label::reason("no page has come");
static NOTHING_DIRTY: Label = Label::reason("little to be written behind");
static TOO_MUCH_DIRTY: Label = Label::reason("as much unwritten as the cache takes");
static DEVICE_AT_WORK: Label = Label::reason("device at work");
static MEMORY_BUSY: Label = Label::reason("memory busy with another copy");

/// Pieces of a device under way: more than drives of the time have tags.
const CARRIERS: usize = 64;

/// What goes to the device at a time.
pub struct Piece {
    /// Which way.
    pub operation: Operation,
    /// First byte.
    pub offset_bytes: u64,
    /// How many.
    pub bytes: u32,
    /// For whom.
    pub errand: Errand,
    /// What it is of.
    pub of: Of,
}

/// What a piece is of.
pub enum Of {
    /// A direct request, by number.
    Request(u32),
    /// Pages of the cache.
    Pages(Run),
}

/// A buffered read that waits for pages.
struct Read {
    request: Request,
    pieces_left: u32,
}

/// A device, and its pages.
pub struct Device {
    pub(super) sim: Sim,
    pub(super) spec: Rc<Spec>,
    pub(super) processor: Rc<Processor>,
    pub(super) below: Rc<dyn Storage>,
    memory: Lane,
    pub(super) direct: Requests,
    pub(super) pieces: Queue<Piece>,
    pub(super) cache: RefCell<Cache>,
    reads: RefCell<Vec<Option<Read>>>,
    free: RefCell<Vec<u32>>,
    /// Reads whose pages are there.
    ready: Queue<(u32, Errand)>,
    writes: Queue<Request>,
    /// Something has left the cache, and something has to.
    left: Bell,
    dirtied: Queue<()>,
}

impl Device {
    /// The processes of a device below.
    pub fn start(
        sim: &Sim,
        name: &str,
        spec: Rc<Spec>,
        processor: &Rc<Processor>,
        memory: &Lane,
        below: Rc<dyn Storage>,
    ) -> Rc<Device> {
        let cache = RefCell::new(Cache::new(spec.cache_bytes, spec.piece));
        let writers = spec.behind_pieces as usize;
        let device = Rc::new(Device {
            sim: sim.clone(),
            spec,
            processor: processor.clone(),
            below,
            memory: memory.clone(),
            direct: Requests::new(sim),
            pieces: Queue::new(sim, usize::MAX),
            cache,
            reads: RefCell::default(),
            free: RefCell::default(),
            ready: Queue::new(sim, usize::MAX),
            writes: Queue::new(sim, usize::MAX),
            left: Bell::new(sim),
            dirtied: Queue::new(sim, writers),
        });
        sim.processes_on_call(
            &device,
            Numbered { name: &format!("{name}.piece"), digits: 1 },
            CARRIERS,
            &NO_PIECE,
            |device, _| device.pieces.clone(),
            |device, _, piece| async move { device.carry(piece).await },
        );
        for number in 0..writers {
            let own = device.clone();
            sim.process(&format!("{name}.behind{number}"), async move { own.write_behind().await });
        }
        let (reading, writing, holding) = (device.clone(), device.clone(), device.clone());
        sim.process(&format!("{name}.read"), async move { reading.copy_reads().await });
        sim.process(&format!("{name}.write"), async move { writing.write().await });
        sim.level(&format!("unwritten pages of {name}"), move || holding.cache.borrow().unwritten());
        device
    }

    /// A piece is to go to the device.
    pub fn send(&self, piece: Piece) {
        self.pieces.put_now(piece);
    }

    /// A buffered write.
    pub fn write_buffered(&self, request: Request) {
        self.writes.put_now(request);
    }

    /// Keeps a buffered read; returns its number.
    pub fn keep(&self, request: Request) -> u32 {
        let (mut reads, read) = (self.reads.borrow_mut(), Some(Read { request, pieces_left: 0 }));
        match self.free.borrow_mut().pop() {
            Some(number) => {
                reads[number as usize] = read;
                number
            }
            None => {
                reads.push(read);
                (reads.len() - 1) as u32
            }
        }
    }

    /// It waits for so many pieces.
    pub fn wait_for(&self, number: u32, pieces: u32) {
        if let Some(read) = &mut self.reads.borrow_mut()[number as usize] {
            read.pieces_left = pieces;
        }
        if pieces == 0 {
            self.is_ready(number);
        }
    }

    /// One of its pieces has come, which the current process has carried for another request, or for nobody, unless it
    /// is `its_own`.
    fn piece_came(&self, number: u32, its_own: bool) {
        let come = self.reads.borrow_mut()[number as usize].as_mut().map(|read| {
            read.pieces_left -= 1;
            (read.pieces_left, read.request.errand)
        });
        if let Some((0, errand)) = come {
            if !its_own {
                self.sim.take_up(errand);
            }
            self.is_ready(number);
        }
    }

    fn is_ready(&self, number: u32) {
        let errand = self.reads.borrow()[number as usize].as_ref().map_or(Errand::NOBODY, |read| read.request.errand);
        self.ready.put_now((number, self.sim.pass_on(errand)));
    }

    async fn carry(&self, first: Piece) {
        let (mut piece, done, mut readers) = (first, Queue::new(&self.sim, 1), Vec::new());
        loop {
            self.sim.take_up(piece.errand);
            if matches!(piece.of, Of::Pages(_)) {
                self.page(piece.operation, piece.bytes).await;
            }
            let (operation, offset_bytes, bytes) = (piece.operation, piece.offset_bytes, piece.bytes);
            let (issued, errand, done_too) = (self.sim.now(), self.sim.pass_on(piece.errand), done.clone());
            self.below.submit(Request { operation, offset_bytes, bytes, issued, errand, done: done_too });
            let ended = done.take(&DEVICE_AT_WORK).await;
            self.sim.take_up(ended.errand);
            match piece.of {
                Of::Request(number) => self.direct.part_ended(number),
                Of::Pages(run) => {
                    self.cache.borrow_mut().came(run, &mut readers);
                    let first_asked = piece.errand.is_somebodys();
                    for (place, reader) in readers.drain(..).enumerate() {
                        self.piece_came(reader, first_asked && place == 0);
                    }
                }
            }
            piece = self.pieces.take(&NO_PIECE).await;
        }
    }

    /// What the cache asks of the device costs a thread of the system.
    async fn page(&self, operation: Operation, bytes: u32) {
        let (layer, below) = self.below.above(operation, bytes);
        self.processor.run_thread(layer, self.spec.paging.of(bytes) + below).await;
    }

    async fn copy(&self, span: Time) {
        let memory = self.memory.acquire(&MEMORY_BUSY).await;
        self.processor.run_beside(Layer::Copying, span, Some((&self.memory, &COPIED))).await;
        drop(memory);
    }

    async fn copy_reads(&self) {
        loop {
            let (number, errand) = self.ready.take(&NOTHING_READ).await;
            self.sim.take_up(errand);
            let Some(Read { request, .. }) = self.reads.borrow_mut()[number as usize].take() else { continue };
            self.free.borrow_mut().push(number);
            let (bytes, extra) = (request.bytes, &self.spec.extra);
            let again = if bytes >= extra.long_read_from { extra.long_read } else { Time::ZERO };
            self.copy(for_each_kib(self.spec.copy_read + again, bytes)).await;
            request.end(&self.sim);
        }
    }

    async fn write(&self) {
        loop {
            let request = self.writes.take(&NO_WRITE).await;
            self.sim.take_up(request.errand);
            let (mut at, end) = (request.offset_bytes, request.offset_bytes + u64::from(request.bytes));
            let piece = u64::from(self.spec.piece);
            while at < end {
                let part_end = ((at / piece + 1) * piece).min(end);
                let (first, last) = (at / PAGE_BYTES, part_end.div_ceil(PAGE_BYTES));
                while self.cache.borrow().unwritten() + (last - first) * PAGE_BYTES > self.spec.behind_limit {
                    self.left.heard(&TOO_MUCH_DIRTY).await;
                }
                self.copy(for_each_kib(self.spec.copy_write, (part_end - at) as u32)).await;
                self.cache.borrow_mut().written(first, last);
                if self.cache.borrow().dirty() >= self.spec.behind_from {
                    // As many are told as there are writers.
                    let _ = self.dirtied.try_put(());
                }
                at = part_end;
            }
            request.end(&self.sim);
        }
    }

    async fn write_behind(&self) {
        let done = Queue::new(&self.sim, 1);
        loop {
            let enough = self.cache.borrow().dirty() >= self.spec.behind_from;
            let run = if enough { self.cache.borrow_mut().leave() } else { None };
            let Some(run) = run else {
                self.dirtied.take(&NOTHING_DIRTY).await;
                continue;
            };
            self.sim.take_up(Errand::NOBODY);
            let (offset_bytes, bytes) = self.extent(run);
            self.page(Operation::Write, bytes).await;
            let (issued, errand, done_too) = (self.sim.now(), Errand::NOBODY, done.clone());
            let operation = Operation::Write;
            self.below.submit(Request { operation, offset_bytes, bytes, issued, errand, done: done_too });
            done.take(&DEVICE_AT_WORK).await;
            self.cache.borrow_mut().left(run);
            self.left.ring();
        }
    }

    /// First byte and length of a run of pages; the last page of a device may be shorter.
    pub fn extent(&self, run: Run) -> (u64, u32) {
        let first = run.first * PAGE_BYTES;
        let end = (first + run.pages * PAGE_BYTES).min(self.below.size_bytes());
        (first, (end - first) as u32)
    }
}
