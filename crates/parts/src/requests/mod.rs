//! Requests that a driver has under way, by number: a device carries the number, and the request ends with the last of
//! its parts.

pub mod submission;

use std::cell::RefCell;

use hopscope_kernel::{Errand, Sim};

use crate::protocols::storage::Request;

struct Open {
    request: Request,
    /// Parts that have not ended.
    left: u32,
}

/// Requests under way.
pub struct Requests {
    sim: Sim,
    open: RefCell<Vec<Option<Open>>>,
    free: RefCell<Vec<u32>>,
}

impl Requests {
    /// None under way.
    pub fn new(sim: &Sim) -> Requests {
        Requests { sim: sim.clone(), open: RefCell::default(), free: RefCell::default() }
    }

    /// For whom a request is made.
    pub fn errand(&self, number: u32) -> Errand {
        self.open.borrow()[number as usize].as_ref().map_or(Errand::NOBODY, |open| open.request.errand)
    }

    /// Keeps a request of so many parts; returns its number.
    pub fn open(&self, request: Request, parts: u32) -> u32 {
        let entry = Some(Open { request, left: parts });
        let mut open = self.open.borrow_mut();
        match self.free.borrow_mut().pop() {
            Some(number) => {
                open[number as usize] = entry;
                number
            }
            None => {
                open.push(entry);
                (open.len() - 1) as u32
            }
        }
    }

    /// Bytes of a request.
    pub fn bytes(&self, number: u32) -> u32 {
        self.open.borrow()[number as usize].as_ref().map_or(0, |open| open.request.bytes)
    }

    /// First byte of a request on the device.
    pub fn offset_bytes(&self, number: u32) -> u64 {
        self.open.borrow()[number as usize].as_ref().map_or(0, |open| open.request.offset_bytes)
    }

    /// One more part has ended; the application hears of it when it was the last one.
    pub fn part_ended(&self, number: u32) {
        let ended = {
            let mut all = self.open.borrow_mut();
            let entry = &mut all[number as usize];
            let Some(open) = entry else { return };
            open.left -= 1;
            if open.left > 0 {
                return;
            }
            entry.take()
        };
        self.free.borrow_mut().push(number);
        if let Some(Open { request, .. }) = ended {
            request.end(&self.sim);
        }
    }
}
