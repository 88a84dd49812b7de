//! Submission queues and their completion queues, as host and controller see them. 1.4, 4.1.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use hopscope_kernel::{Bell, Errand, Lane, Queue, Sim, Time};

use super::Message;
use crate::protocols::nvme::{COMMAND_BYTES, COMPLETION_BYTES, Command};
use crate::protocols::pcie::{Home, PAGE_BYTES};

/// Entries of a queue, at most (CAP.MQES).
pub const ENTRIES_MAX: u64 = 65_536;
/// Entries that memory is kept for from the beginning.
const ENTRIES_AT_FIRST: u64 = 1_024;
/// Doorbell writes that have not left the processor's write buffers.
const DOORBELLS: usize = 4_096;

/// Where the queues of the first pair are in host memory: so far apart that they share no page.
const SUBMISSION_AT: u64 = 0x1_0000_0000;
const COMPLETION_AT: u64 = SUBMISSION_AT + ENTRIES_MAX * COMMAND_BYTES as u64;
/// What belongs to a pair of queues lies so far behind what belongs to the pair before it.
const PAIR_BYTES: u64 = 1 << 40;

/// A register write that says how far a queue has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doorbell {
    /// Commands that have been submitted so far: up to the tail before, and now.
    SubmissionTail(u64, u64),
    /// Completions that have been taken so far.
    CompletionHead(u64),
}

/// A completion queue entry.
struct Completed {
    identifier: u16,
    /// The host can see it from then on.
    visible: Time,
    errand: Errand,
}

/// A pair of queues.
pub struct QueuePair {
    sim: Sim,
    /// Among all pairs, from 0.
    number: usize,
    entries: u64,
    home: Home,
    /// Written by the host and not yet fetched.
    submitted: RefCell<VecDeque<Command>>,
    /// Commands ever submitted, told of by a doorbell write, announced to the controller by it, and fetched.
    tail: Cell<u64>,
    rung: Cell<u64>,
    announced: Cell<u64>,
    head: Cell<u64>,
    /// Posted and not yet taken.
    completed: RefCell<VecDeque<Completed>>,
    /// Completions ever posted, taken by the host, and said to be taken.
    posted: Cell<u64>,
    taken: Cell<u64>,
    acknowledged: Cell<u64>,
    doorbells: Queue<Doorbell>,
    /// Told when a completion has been posted, or when the host has said that it took some.
    changed: Bell,
    /// The host has been interrupted and has not written the completion queue's head since.
    pub(super) in_service: Cell<bool>,
    /// Messages of its interrupt vector.
    pub(super) interrupts: Queue<Message>,
    /// One fetch of its commands is under way at a time.
    pub(super) fetch: Lane,
}

impl QueuePair {
    /// Queues that the host sets up: which of all pairs they are, their length, and where they are.
    pub(super) fn new(sim: &Sim, fetch: Lane, number: usize, entries: u64, home: Home) -> Rc<QueuePair> {
        Rc::new(QueuePair {
            sim: sim.clone(),
            number,
            entries,
            home,
            submitted: RefCell::new(VecDeque::with_capacity(entries.min(ENTRIES_AT_FIRST) as usize)),
            tail: Cell::new(0),
            rung: Cell::new(0),
            announced: Cell::new(0),
            head: Cell::new(0),
            completed: RefCell::new(VecDeque::with_capacity(entries.min(ENTRIES_AT_FIRST) as usize)),
            posted: Cell::new(0),
            taken: Cell::new(0),
            acknowledged: Cell::new(0),
            doorbells: Queue::new(sim, DOORBELLS),
            changed: Bell::new(sim),
            in_service: Cell::new(false),
            interrupts: Queue::new(sim, 1),
            fetch,
        })
    }

    /// Their identifier: 0 are the admin queues (1.4, 1.6.8).
    pub(super) fn identifier(&self) -> u16 {
        self.number as u16 + 1
    }

    /// Where in host memory what belongs to them begins; they lie there themselves, and their buffers can.
    pub fn memory_at(&self) -> u64 {
        self.number as u64 * PAIR_BYTES
    }

    /// The host writes a command into the submission queue.
    pub fn submit(&self, command: Command) {
        assert!((self.submitted.borrow().len() as u64) < self.entries, "a submission queue never overflows");
        self.submitted.borrow_mut().push_back(command);
        self.tail.set(self.tail.get() + 1);
    }

    /// The host writes the submission queue's tail doorbell.
    pub fn ring(&self) {
        let (rung, tail) = (self.rung.replace(self.tail.get()), self.tail.get());
        self.pass_commands_on(rung, tail);
        self.doorbells.put_now(Doorbell::SubmissionTail(rung, tail));
    }

    /// Takes a completion that the host can see.
    pub fn take_completed(&self) -> Option<u16> {
        let mut completed = self.completed.borrow_mut();
        if completed.front()?.visible > self.sim.now() {
            return None;
        }
        self.taken.set(self.taken.get() + 1);
        completed.pop_front().map(|entry| entry.identifier)
    }

    /// Completions that the host can see.
    #[inline]
    pub fn visible(&self) -> u64 {
        let now = self.sim.now();
        self.completed.borrow().partition_point(|next| next.visible <= now) as u64
    }

    /// When the host can see the next completion.
    pub fn next_visible(&self) -> Option<Time> {
        self.completed.borrow().front().map(|next| next.visible)
    }

    /// The host writes the completion queue's head doorbell.
    pub fn acknowledge(&self) {
        self.doorbells.put_now(Doorbell::CompletionHead(self.taken.get()));
    }

    /// Told when a completion has been posted, for a host that polls.
    pub fn changed(&self) -> &Bell {
        &self.changed
    }

    pub(super) fn doorbells(&self) -> &Queue<Doorbell> {
        &self.doorbells
    }

    /// Commands by their numbers among all, as far as they have not been fetched.
    fn commands(&self, from: u64, until: u64) -> Range<usize> {
        let place = |number: u64| number.saturating_sub(self.head.get()) as usize;
        place(from)..place(until)
    }

    fn pass_commands_on(&self, from: u64, until: u64) {
        let mut submitted = self.submitted.borrow_mut();
        for command in submitted.range_mut(self.commands(from, until)) {
            command.errand = self.sim.pass_on(command.errand);
        }
    }

    /// The current process carries a tail doorbell, for the commands that it tells of.
    pub(super) fn take_up_commands(&self, from: u64, until: u64) {
        let submitted = self.submitted.borrow();
        self.sim.take_up_all(submitted.range(self.commands(from, until)).map(|command| command.errand));
    }

    /// It arrives.
    pub(super) fn announce(&self, from: u64, tail: u64) {
        self.pass_commands_on(from, tail);
        self.announced.set(self.announced.get().max(tail));
    }

    /// The current process works for the first completions that the host has not taken.
    pub fn take_up_completions(&self, count: usize) {
        self.sim.take_up_all(self.completed.borrow().iter().take(count).map(|entry| entry.errand));
    }

    /// It has done so, and passes them on.
    pub fn pass_completions_on(&self, count: usize) {
        for entry in self.completed.borrow_mut().iter_mut().take(count) {
            entry.errand = self.sim.pass_on(entry.errand);
        }
    }

    /// Completions that the host has not taken, whether it can see them or not.
    pub fn posted(&self) -> usize {
        self.completed.borrow().len()
    }

    /// A head doorbell arrives.
    pub(super) fn acknowledged_until(&self, head: u64) {
        self.acknowledged.set(self.acknowledged.get().max(head));
        self.changed.ring();
    }

    /// What one read fetches: where, how many commands, `most` at most.
    pub(super) fn next_fetch(&self, most: u32) -> (u64, u32) {
        let head = self.head.get();
        let index = head % self.entries;
        let address = self.memory_at() + SUBMISSION_AT + index * u64::from(COMMAND_BYTES);
        let in_page = (u64::from(PAGE_BYTES) - address % u64::from(PAGE_BYTES)) / u64::from(COMMAND_BYTES);
        let count = (self.announced.get() - head).min(u64::from(most)).min(self.entries - index).min(in_page);
        (address, count as u32)
    }

    /// The current process fetches so many commands, for those that they belong to.
    pub(super) fn take_up_next(&self, count: u32) {
        let head = self.head.get();
        self.take_up_commands(head, head + u64::from(count));
    }

    /// A command has been fetched.
    pub(super) fn fetched(&self) -> Option<Command> {
        self.head.set(self.head.get() + 1);
        let command = self.submitted.borrow_mut().pop_front()?;
        Some(Command { errand: self.sim.pass_on(command.errand), ..command })
    }

    /// Where the next completion queue entry goes, and its phase tag: inverted with every pass (4.6).
    pub(super) fn next_completion(&self) -> (u64, bool) {
        let (pass, index) = (self.posted.get() / self.entries, self.posted.get() % self.entries);
        self.posted.set(self.posted.get() + 1);
        (self.memory_at() + COMPLETION_AT + index * u64::from(COMPLETION_BYTES), pass.is_multiple_of(2))
    }

    /// The place in its queue of what has this number among all.
    pub(super) fn index(&self, number: u64) -> u64 {
        number % self.entries
    }

    /// How far the submission queue has been read.
    pub(super) fn fetched_until(&self) -> u64 {
        self.index(self.head.get())
    }

    /// The next entries of the submission queue, as so many words each.
    pub(super) fn entries(&self, count: u32, block_bytes: u32) -> Vec<u64> {
        let submitted = self.submitted.borrow();
        submitted.iter().take(count as usize).flat_map(|command| command.entry(block_bytes)).collect()
    }

    /// A completion queue entry is on its way, and visible from then on. The host is told of it unless it is still at
    /// work: it will look itself.
    #[inline]
    pub(super) fn complete(&self, command: &Command, visible: Time) {
        let (identifier, errand) = (command.identifier, self.sim.pass_on(command.errand));
        self.completed.borrow_mut().push_back(Completed { identifier, visible, errand });
        if !self.in_service.get() {
            self.changed.ring();
        }
    }

    /// Completions that the host has not said to have taken.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.taken.get() + self.completed.borrow().len() as u64 - self.acknowledged.get()
    }

    pub(super) fn home(&self) -> Home {
        self.home
    }
}
