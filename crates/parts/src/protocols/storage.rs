//! Block storage, as an application sees it: requests go in, completions come out.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use hopscope_kernel::{Errand, Label, Queue, Sim, Time};

use crate::cpu::{Layer, Processor};

/// A read has ended.
pub static READ: Label = Label::mark("read");
/// A write has ended.
pub static WRITE: Label = Label::mark("write");

/// What an application asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// From the device to memory.
    Read,
    /// From memory to the device.
    Write,
}

/// How a job opens a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its requests pass a cache of the operating system.
    pub buffered: bool,
    /// It has several requests under way at a time.
    pub asynchronous: bool,
}

/// One request.
pub struct Request {
    /// Read or write.
    pub operation: Operation,
    /// First byte on the device.
    pub offset_bytes: u64,
    /// How many bytes.
    pub bytes: u32,
    /// When the application issued it.
    pub issued: Time,
    /// For whom records are made that are made for it.
    pub errand: Errand,
    /// Where the completion goes.
    pub done: Queue<Completion>,
}

impl Request {
    /// It has ended: the current process tells the application.
    pub fn end(self, sim: &Sim) {
        let Request { operation, bytes, issued, errand, done, .. } = self;
        done.put_now(Completion { operation, bytes, issued, errand: sim.pass_on(errand) });
    }
}

/// A request has ended.
pub struct Completion {
    /// Read or write.
    pub operation: Operation,
    /// How many bytes.
    pub bytes: u32,
    /// When the application issued it.
    pub issued: Time,
    /// For whom it was made.
    pub errand: Errand,
}

/// A device behind its driver.
pub trait Storage {
    /// Hands a request over; its completion arrives in the request's own queue.
    fn submit(&self, request: Request);
    /// Capacity, bytes.
    fn size_bytes(&self) -> u64;
    /// Requests are multiples of this many bytes.
    fn block_bytes(&self) -> u32;
    /// The processor that the application's side of the path runs on; none where there is no host.
    fn processor(&self) -> Option<Rc<Processor>>;
    /// Processor time that a request needs above the driver, if there is a processor, and the layer that it is of.
    fn above(&self, operation: Operation, bytes: u32) -> (Layer, Time);
    /// The device as a job sees it that opens it so; nothing where there is one way only.
    fn opened(&self, _: Opened) -> Option<Rc<dyn Storage>> {
        None
    }
    /// What keeps its bytes, each where its address says, where that notes what is written without time.
    fn keeps(&self) -> Option<Rc<dyn Keeps>> {
        None
    }
    /// The device as one more thread sees it, which may run on these processors, or on any where none is named; nothing
    /// where all threads see it alike.
    fn seat(&self, _processors: &[usize]) -> Option<Rc<dyn Storage>> {
        None
    }
}

/// What keeps what is written, and notes it without time before its first run.
pub trait Keeps {
    /// Begins to note writes; nothing where one may not be carried out as the one before it.
    fn note(&self) -> Option<Box<dyn Notes + '_>>;
    /// Begins as another one was left, before its first run; whether it can.
    fn begin_as(&self, left: &Left) -> bool;
}

/// Writes that take no time.
pub trait Notes {
    /// One write more; what is used up, in words, where it would no longer be carried out as those before it were.
    fn write(&mut self, offset: u64, bytes: u32) -> Option<&'static str>;
    /// What they have left behind.
    fn left(&self) -> Left;
}

/// What was left behind: only those that keep understand it.
pub type Left = Arc<dyn Any + Send + Sync>;
