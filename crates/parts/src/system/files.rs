//! A device as one job has opened it: direct or through the cache, which reads ahead of a job that reads in order.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hopscope_kernel::{Errand, Time};

use super::PAGE_BYTES;
use super::cache::Run;
use super::device::{Device, Of, Piece};
use crate::cpu::{Layer, Processor};
use crate::protocols::storage::{Opened, Operation, Request, Storage};

/// What a job has opened.
pub struct File {
    device: Rc<Device>,
    how: Opened,
    /// Where the read before ended.
    next: Cell<u64>,
    /// The page up to which was read ahead.
    ahead: Cell<u64>,
    missing: RefCell<Vec<Run>>,
}

impl File {
    /// Opens a device.
    pub fn open(device: &Rc<Device>, how: Opened) -> File {
        let (next, ahead) = (Cell::new(u64::MAX), Cell::new(0));
        File { device: device.clone(), how, next, ahead, missing: RefCell::default() }
    }

    /// What is longer than a piece is split, and its pieces are under way together.
    fn submit_direct(&self, request: Request) {
        let most = self.device.spec.piece;
        if request.bytes <= most {
            return self.device.below.submit(request);
        }
        let Request { operation, offset_bytes, bytes, errand, .. } = request;
        let number = self.device.direct.open(request, bytes.div_ceil(most));
        let errand = self.device.sim.pass_on(errand);
        for done in (0..bytes).step_by(most as usize) {
            let (offset_bytes, bytes) = (offset_bytes + u64::from(done), (bytes - done).min(most));
            self.device.send(Piece { operation, offset_bytes, bytes, errand, of: Of::Request(number) });
        }
    }

    /// What of a read is missing comes at once, whatever its length; what follows is read ahead for nobody.
    fn read_buffered(&self, request: Request) {
        let (offset, bytes, errand) = (request.offset_bytes, u64::from(request.bytes), request.errand);
        let (first, end) = (offset / PAGE_BYTES, (offset + bytes).div_ceil(PAGE_BYTES));
        let number = self.device.keep(request);
        let mut missing = self.missing.borrow_mut();
        let waits = self.device.cache.borrow_mut().look(first, end, Some(number), &mut missing);
        missing.drain(..).for_each(|run| self.fetch(run, self.device.sim.pass_on(errand)));
        self.device.wait_for(number, waits);
        if self.next.replace(offset + bytes) != offset {
            self.ahead.set(0);
            return;
        }
        let piece = u64::from(self.device.spec.piece) / PAGE_BYTES;
        let last = self.device.below.size_bytes().div_ceil(PAGE_BYTES);
        let target = (end.div_ceil(piece) + self.device.spec.ahead).saturating_mul(piece).min(last);
        let from = end.max(self.ahead.replace(target));
        if from < target {
            self.device.cache.borrow_mut().look(from, target, None, &mut missing);
            missing.drain(..).for_each(|run| self.fetch(run, Errand::NOBODY));
        }
    }

    fn fetch(&self, run: Run, errand: Errand) {
        let (offset_bytes, bytes) = self.device.extent(run);
        self.device.send(Piece { operation: Operation::Read, offset_bytes, bytes, errand, of: Of::Pages(run) });
    }
}

impl Storage for File {
    fn submit(&self, request: Request) {
        match (self.how.buffered, request.operation) {
            (false, _) => self.submit_direct(request),
            (true, Operation::Read) => self.read_buffered(request),
            (true, Operation::Write) => self.device.write_buffered(request),
        }
    }

    fn size_bytes(&self) -> u64 {
        self.device.below.size_bytes()
    }

    fn block_bytes(&self) -> u32 {
        self.device.below.block_bytes()
    }

    fn processor(&self) -> Option<Rc<Processor>> {
        Some(self.device.processor.clone())
    }

    fn above(&self, operation: Operation, bytes: u32) -> (Layer, Time) {
        let spec = &self.device.spec;
        if self.how.buffered {
            return (Layer::FileSystem, spec.buffered);
        }
        let (layer, below) = self.device.below.above(operation, bytes);
        let small = operation == Operation::Read && bytes < spec.extra.small_read_below;
        let extra = match self.how.asynchronous {
            true => spec.extra.asynchronous,
            false if small => spec.extra.small_read,
            false => Time::ZERO,
        };
        (layer, spec.direct.of(bytes) + below + extra)
    }

    fn opened(&self, how: Opened) -> Option<Rc<dyn Storage>> {
        Some(Rc::new(File::open(&self.device, how)))
    }
}
