//! What the controller does with a command: fetch it, carry it out, complete it.

use std::rc::Rc;

use hopscope_kernel::{Errand, Label, Lane};

use super::{Controller, Doorbell, Fetched, Piece, QueuePair};
use crate::protocols::nvme::{
    COMMAND_BYTES, COMPLETION_BYTES, Command, completion_entry, head_doorbell, tail_doorbell,
};
use crate::protocols::pcie::{DATA, DESCRIPTOR, Home, PAGE_BYTES};
use crate::protocols::storage::Operation;

static NO_DOORBELL: Label = Label::reason("no doorbell");
static FETCH_BUSY: Label = Label::reason("commands are being fetched");
static FETCH: Label = Label::reason("commands on their way");
static COMMANDS_FULL: Label = Label::reason("as many commands as the controller carries");
pub(super) static NO_COMMAND: Label = Label::reason("no command");
static ENGINE_BUSY: Label = Label::reason("controller busy");
static PROCESSING: Label = Label::protocol("command processing");
static LATENCY: Label = Label::protocol("controller latency");
static TRANSFERS_BUSY: Label = Label::reason("as many transfers as the controller carries");
pub(super) static NO_PIECE: Label = Label::reason("nothing to transfer");
static PIECES: Label = Label::reason("pieces of a long command");
static DMA_BUSY: Label = Label::reason("as many pages as the controller sends");

impl Controller {
    /// Takes doorbell writes, and fetches the commands that they announce.
    pub(super) async fn run_fetch(&self, queues: &Rc<QueuePair>) {
        loop {
            let doorbell = queues.doorbells().take(&NO_DOORBELL).await;
            match doorbell {
                Doorbell::SubmissionTail(from, tail) => queues.take_up_commands(from, tail),
                // Whom it told of, knows.
                Doorbell::CompletionHead(_) => self.sim.take_up(Errand::NOBODY),
            }
            let (register, value) = match doorbell {
                Doorbell::SubmissionTail(_, tail) => (tail_doorbell(queues.identifier()), queues.index(tail)),
                Doorbell::CompletionHead(head) => (head_doorbell(queues.identifier()), queues.index(head)),
            };
            self.port.doorbell_at(register, value as u32).await;
            match doorbell {
                Doorbell::CompletionHead(head) => {
                    queues.in_service.set(false);
                    queues.acknowledged_until(head);
                    continue;
                }
                Doorbell::SubmissionTail(from, tail) => queues.announce(from, tail),
            }
            if queues.next_fetch(self.spec.fetch_commands).1 == 0 {
                // Whoever fetches has seen these already.
                continue;
            }
            let grant = queues.fetch.acquire(&FETCH_BUSY).await;
            loop {
                let (address, count) = queues.next_fetch(self.spec.fetch_commands);
                if count == 0 {
                    break;
                }
                queues.take_up_next(count);
                let start = self.sim.now();
                self.port.holds(address, || queues.entries(count, self.block_bytes()));
                self.port.read(address, count * COMMAND_BYTES, &DESCRIPTOR, queues.home()).await;
                grant.was_in(&FETCH, start);
                for _ in 0..count {
                    let Some(command) = queues.fetched() else { break };
                    self.commands.give(Fetched { queues: queues.clone(), command }, &COMMANDS_FULL).await;
                }
            }
        }
    }

    /// Carries out one command after the other.
    pub(super) async fn run_commands(&self, number: usize, first: Fetched) {
        let mut fetched = first;
        loop {
            let Fetched { queues, command } = fetched;
            self.sim.take_up(command.errand);
            let (work, latency) = match command.operation {
                Operation::Read => (self.spec.read, self.spec.read_latency),
                Operation::Write => (self.spec.write, self.spec.write_latency),
            };
            let engine = self.engine();
            let grant = engine.acquire(&ENGINE_BUSY).await;
            // One wait for the engine and for what follows.
            let processed = grant.leave([(&PROCESSING, engine.paced(work))]);
            let ready = processed + self.latency.paced(latency);
            self.sim.wait_until(ready).await;
            self.latency.delayed(&LATENCY, processed, ready);
            if command.operation == Operation::Read {
                self.ahead.accept(command.offset_bytes, command.bytes);
            }
            self.fetch_list(&command, &queues).await;
            if self.piece(&command, 0) == command.bytes {
                let Command { operation, offset_bytes, bytes, buffer, home, .. } = command;
                self.carry(operation, offset_bytes, bytes, buffer, home).await;
            } else {
                self.carry_pieces(&command, number).await;
            }
            let (entry, phase) = queues.next_completion();
            let words = || completion_entry(queues.identifier(), queues.fetched_until(), command.identifier, phase);
            self.port.holds(entry, words);
            let visible = self.port.post(entry, COMPLETION_BYTES, &DESCRIPTOR, queues.home()).await;
            queues.complete(&command, visible);
            fetched = self.commands.next(number, &NO_COMMAND).await;
        }
    }

    /// Commands take turns at the engines.
    fn engine(&self) -> &Lane {
        let next = self.next_engine.get();
        self.next_engine.set(if next + 1 == self.engines.len() { 0 } else { next + 1 });
        &self.engines[next]
    }

    async fn fetch_list(&self, command: &Command, queues: &QueuePair) {
        let (mut address, mut left) = (command.list, command.list_bytes());
        if left > 0 {
            self.port.holds(address, || command.list_words());
        }
        while left > 0 {
            let part = left.min(PAGE_BYTES);
            self.port.read(address, part, &DESCRIPTOR, queues.home()).await;
            (address, left) = (address + u64::from(part), left - part);
        }
    }

    /// Bytes of a command from `done` on that are carried as one: what one array read gives, or a page to be written.
    fn piece(&self, command: &Command, done: u32) -> u32 {
        let left = command.bytes - done;
        match command.operation {
            Operation::Read => self.ahead.piece(command.offset_bytes + u64::from(done), left),
            Operation::Write => left.min(PAGE_BYTES),
        }
    }

    /// Has the pieces of a command carried at once.
    async fn carry_pieces(&self, command: &Command, number: usize) {
        let several = &self.several[number];
        // One more than there are, until all are under way.
        several.pieces_left.set(1);
        several.home.set(command.home);
        let mut done = 0;
        while done < command.bytes {
            let bytes = self.piece(command, done);
            several.pieces_left.set(several.pieces_left.get() + 1);
            let (offset, buffer) = (command.offset_bytes + u64::from(done), command.buffer + u64::from(done));
            let errand = self.sim.pass_on(command.errand);
            let piece = Piece { operation: command.operation, offset, bytes, buffer, command: number, errand };
            self.pieces.give(piece, &TRANSFERS_BUSY).await;
            done += bytes;
        }
        self.piece_ended(number);
        several.done.heard(&PIECES).await;
    }

    fn piece_ended(&self, number: usize) {
        let several = &self.several[number];
        several.pieces_left.set(several.pieces_left.get() - 1);
        if several.pieces_left.get() == 0 {
            several.done.ring();
        }
    }

    /// Carries one piece after the other.
    pub(super) async fn run_pieces(&self, number: usize, first: Piece) {
        let mut piece = first;
        loop {
            let Piece { operation, offset, bytes, buffer, command, errand } = piece;
            self.sim.take_up(errand);
            self.carry(operation, offset, bytes, buffer, self.several[command].home.get()).await;
            self.piece_ended(command);
            piece = self.pieces.next(number, &NO_PIECE).await;
        }
    }

    /// Moves the data of a piece between flash and host memory.
    async fn carry(&self, operation: Operation, offset: u64, bytes: u32, buffer: u64, home: Home) {
        match operation {
            Operation::Read => {
                self.ahead.read_piece(offset, bytes).await;
                self.to_host(buffer, bytes, home).await;
            }
            Operation::Write => {
                self.ahead.written(offset, bytes);
                self.port.read(buffer, bytes, &DATA, home).await;
                self.flash.write(offset, bytes).await;
            }
        }
    }

    /// Sends data page by page: the pages of others go in between.
    async fn to_host(&self, buffer: u64, bytes: u32, home: Home) {
        let mut done = 0;
        while done < bytes {
            let address = buffer + u64::from(done);
            let part = (bytes - done).min(PAGE_BYTES - (address % u64::from(PAGE_BYTES)) as u32);
            self.dma.take(&DMA_BUSY).await;
            self.port.post(address, part, &DATA, home).await;
            self.dma.give();
            done += part;
        }
    }
}
