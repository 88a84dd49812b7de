//! Requests on their way into a device: they wait, are cut into commands, and end with the last of those.
//!
//! ```text
//!   request ─▶ waits ─▶ cut ─▶ a number for each command ─▶ (controller and device work) ─▶ ended ─▶ completion
//! ```
//!
//! How a command is prepared, and what an interrupt handler does, is each driver's own.

use std::cell::RefCell;
use std::collections::VecDeque;

use hopscope_kernel::{Errand, Label, Lane, Queue, Sim, Time, Tokens};

use super::Requests;
use crate::protocols::storage::{Operation, Request};

static NO_REQUEST: Label = Label::workload("no request");
/// Behind the others that a driver takes one after the other.
pub static SUBMITTED_LATER: Label = Label::queued("behind other requests of the driver");

/// A request that waits for its turn.
struct Waiting {
    request: Request,
    since: Time,
}

/// Requests that wait for their turn: any number of them.
pub struct Backlog {
    sim: Sim,
    requests: Queue<Waiting>,
}

impl Backlog {
    /// Nobody waits.
    pub fn new(sim: &Sim) -> Backlog {
        Backlog { sim: sim.clone(), requests: Queue::new(sim, usize::MAX) }
    }

    /// A request comes.
    pub fn put(&self, request: Request) {
        self.requests.put_now(Waiting { request, since: self.sim.now() });
    }

    /// Carries one request after the other. One that was there before the one before it had its turn has waited on
    /// `lane`, if there is one, for the reason `later`.
    pub async fn each(&self, lane: Option<&Lane>, later: &'static Label, mut carry: impl AsyncFnMut(Request)) {
        loop {
            let mut next = self.requests.take(&NO_REQUEST).await;
            self.sim.take_up(next.request.errand);
            loop {
                carry(next.request).await;
                match self.requests.try_take() {
                    Some(waiting) => next = waiting,
                    None => break,
                }
                self.sim.take_up(next.request.errand);
                if let Some(lane) = lane {
                    lane.awaited(later, next.since);
                }
            }
        }
    }
}

/// Which of the free numbers a command gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// The one that has been free for the longest time.
    Oldest,
    /// The one that has become free last.
    Newest,
}

/// A command: a part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Read or write.
    pub operation: Operation,
    /// First byte on the device.
    pub offset_bytes: u64,
    /// How many bytes.
    pub bytes: u32,
    /// For whom.
    pub errand: Errand,
    /// It is the last one of its request.
    pub is_last: bool,
    request: u32,
}

/// The commands of a device: so many numbers, each free or that of a part of a request.
pub struct Submission {
    lane: Lane,
    backlog: Backlog,
    under_way: Requests,
    reuse: Reuse,
    /// As many as there are free numbers.
    room: Tokens,
    free: RefCell<VecDeque<u32>>,
    /// Of each number: the request that it belongs to.
    owners: RefCell<Vec<u32>>,
}

impl Submission {
    /// So many commands at a time; waiting is accounted on `lane`.
    pub fn new(sim: &Sim, lane: Lane, commands: usize, reuse: Reuse) -> Submission {
        let numbers = 0..commands as u32;
        let free = match reuse {
            Reuse::Oldest => numbers.collect(),
            Reuse::Newest => numbers.rev().collect(),
        };
        Submission {
            lane,
            backlog: Backlog::new(sim),
            under_way: Requests::new(sim),
            reuse,
            room: Tokens::full(sim, commands),
            free: RefCell::new(free),
            owners: RefCell::new(vec![0; commands]),
        }
    }

    /// Where its waiting is accounted.
    pub fn lane(&self) -> &Lane {
        &self.lane
    }

    /// A request comes.
    pub fn put(&self, request: Request) {
        self.backlog.put(request);
    }

    /// Cuts one request after the other into commands of `bytes_max` at most, and issues them one after the other.
    pub async fn run(&self, bytes_max: u32, mut issue: impl AsyncFnMut(Part)) {
        let cut = async |request: Request| {
            let Request { operation, bytes, offset_bytes, errand, .. } = request;
            let request = self.under_way.open(request, bytes.div_ceil(bytes_max));
            let mut done = 0;
            while done < bytes {
                let (offset_bytes, part) = (offset_bytes + u64::from(done), (bytes - done).min(bytes_max));
                done += part;
                issue(Part { operation, offset_bytes, bytes: part, errand, is_last: done == bytes, request }).await;
            }
        };
        self.backlog.each(Some(&self.lane), &SUBMITTED_LATER, cut).await;
    }

    /// Reserves a number for a command, waiting for `reason` while none is free.
    pub async fn room(&self, reason: &'static Label) {
        self.room.take(reason).await;
    }

    /// Reserves a number if one is free; whether it did.
    pub fn try_room(&self) -> bool {
        self.room.try_take()
    }

    /// The number of a command, which has been reserved.
    pub fn number(&self, part: &Part) -> u32 {
        let number = match self.reuse {
            Reuse::Oldest => self.free.borrow_mut().pop_front(),
            Reuse::Newest => self.free.borrow_mut().pop_back(),
        };
        let number = number.expect("a number has been reserved");
        self.owners.borrow_mut()[number as usize] = part.request;
        number
    }

    /// A command has ended: its number is free, and its request ends if this was the last one.
    pub fn ended(&self, number: u32) {
        let owner = self.owners.borrow()[number as usize];
        self.free.borrow_mut().push_back(number);
        self.room.give();
        self.under_way.part_ended(owner);
    }
}
