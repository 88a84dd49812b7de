//! A client: an outer machine at the other end of an adapter's wire, whose redirector asks a file server by SMB.
//!
//! ```text
//!   request of a job ─▶ commands, each of so much ─▶ some under way ─▶ TCP ─▶ wire ══▶ server
//!           ends with its last answer ◀─ processor ◀─ TCP ◀─ wire ═══════════════════┘
//! ```
//!
//! Reads are under way several at a time, writes as many as the redirector does not wait for. A machine of its own: it
//! has one processor, and times for what that does.
//!
//! Not modelled: its buses and memory, its cache (files are opened without buffering), locks and opens, several
//! connections.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Label, Lane, Queue, Sim, Time};

use super::nic::{Adapter, Arrival};
use super::tcp::{Connection, Message, WINDOW_BYTES_MAX, window_bytes_min};
use crate::protocols::smb;
use crate::protocols::storage::{Operation, Request};
use crate::requests::Requests;

static NO_REQUEST: Label = Label::workload("no request");
static NO_ANSWER: Label = Label::reason("no answer of the server");
static NO_FRAME: Label = Label::reason("no frame from the server");
static PROCESSOR_BUSY: Label = Label::reason("processor of the client busy");
static SEGMENT: Label = Label::protocol("segment");
static COMMAND: Label = Label::protocol("command of the redirector");
static ANSWER: Label = Label::protocol("answer to the redirector");

/// What commands move is a multiple of it: a page.
const PIECE_BYTES: u64 = 4_096;
/// What one message of SMB moves, at most.
const COMMAND_BYTES_MAX: u64 = 65_536;
const COMMANDS_MAX: u64 = 50;
/// Frames on their way to the client, at most: more than a window.
const FRAMES_MAX: usize = 4_096;

/// The client's behaviour.
#[derive(Clone, Debug, PartialEq, Spec)]
#[spec(with(frame_bytes: u32))]
pub struct Spec {
    /// What the client receives before it acknowledges, at most: two segments at least.
    #[bytes("tcp.window", window_bytes_min(frame_bytes)..=WINDOW_BYTES_MAX)]
    window_bytes: u32,
    /// Processor time of a segment, sent or received.
    #[time("tcp.segment", ..=Time::ms(100))]
    segment: Time,
    /// Processor time of a command.
    #[time("command", ..=Time::ms(100))]
    command: Time,
    /// Processor time of a command's answer.
    #[time("answer", ..=Time::ms(100))]
    answer: Time,
    /// Commands under way, of reads and of writes.
    #[count(["read.under_way", "write.under_way"], 1..=COMMANDS_MAX)]
    under_way: [u64; 2],
    /// What a command moves, of reads and of writes.
    #[bytes(["read.bytes", "write.bytes"], PIECE_BYTES..=COMMAND_BYTES_MAX, multiple_of = PIECE_BYTES)]
    bytes_max: [u32; 2],
}

/// What a server is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// The request of a job that it is a part of.
    request: u32,
    /// Which share.
    pub share: usize,
    /// Read or write.
    pub operation: Operation,
    /// First byte of the share.
    pub offset_bytes: u64,
    /// How many.
    pub bytes: u32,
    errand: Errand,
}

/// A command under way, by number.
struct Slot {
    command: Cell<Option<Command>>,
    answers: Queue<Errand>,
}

/// A client.
pub struct Client {
    sim: Sim,
    name: String,
    spec: Spec,
    adapter: Rc<Adapter>,
    processor: Lane,
    requests: Requests,
    /// Reads and writes that wait for a slot.
    asked: [Queue<Command>; 2],
    slots: Vec<Slot>,
    frames: Queue<Arrival>,
    /// The connection, and what goes there.
    connected: OnceCell<(Rc<Connection>, Queue<Arrival>)>,
}

impl Client {
    /// A client at the wire of an adapter.
    pub fn new(sim: &Sim, name: &str, spec: Spec, adapter: &Rc<Adapter>) -> Rc<Client> {
        let frames = Queue::new(sim, FRAMES_MAX);
        adapter.connect(frames.clone());
        let slot = |_| Slot { command: Cell::new(None), answers: Queue::new(sim, 1) };
        Rc::new(Client {
            sim: sim.clone(),
            name: name.to_string(),
            adapter: adapter.clone(),
            processor: sim.lane(&format!("{name}.processor"), None),
            requests: Requests::new(sim),
            asked: [Queue::new(sim, usize::MAX), Queue::new(sim, usize::MAX)],
            slots: (0..spec.under_way.iter().sum()).map(slot).collect(),
            frames,
            connected: OnceCell::new(),
            spec,
        })
    }

    /// The adapter at the server's end of the wire.
    pub fn adapter(&self) -> &Rc<Adapter> {
        &self.adapter
    }

    /// Opens the connection to a server, which receives so much before it acknowledges; `arrivals` is its wire.
    pub fn connect(self: &Rc<Client>, server_window: u32, arrivals: &Queue<Arrival>) -> Rc<Connection> {
        let frame_bytes = self.adapter.spec().frame_bytes_max();
        let connection = Rc::new(Connection::new(&self.sim, frame_bytes, server_window, self.spec.window_bytes));
        if self.connected.set((connection.clone(), arrivals.clone())).is_ok() {
            let name = &self.name;
            let (talking, listening) = (self.clone(), self.clone());
            self.sim.process(&format!("{name}.talk"), async move { talking.talk().await });
            self.sim.process(&format!("{name}.listen"), async move { listening.listen().await });
            for slot in 0..self.slots.len() {
                let client = self.clone();
                self.sim.process(&format!("{name}.command{slot:02}"), async move { client.carry(slot).await });
            }
        }
        connection
    }

    /// A job asks for something of a share.
    pub fn submit(&self, share: usize, request: Request) {
        let Request { operation, offset_bytes, bytes, errand, .. } = request;
        let of = operation as usize;
        let most = self.spec.bytes_max[of];
        let number = self.requests.open(request, bytes.div_ceil(most));
        let mut done = 0;
        while done < bytes {
            let (part, offset_bytes) = (most.min(bytes - done), offset_bytes + u64::from(done));
            let command = Command { request: number, share, operation, offset_bytes, bytes: part, errand };
            self.asked[of].put_now(command);
            done += part;
        }
    }

    /// What a message asks for.
    pub fn command(&self, number: u32) -> Option<Command> {
        self.slots.get(number as usize)?.command.get()
    }

    /// The processor works for so long.
    async fn work(&self, phase: &'static Label, span: Time) {
        if span > Time::ZERO {
            self.processor.acquire(&PROCESSOR_BUSY).await.hold(phase, self.processor.paced(span)).await;
        }
    }

    /// One command after the other.
    async fn carry(&self, number: usize) {
        let Some((connection, _)) = self.connected.get() else { return };
        let (slot, reads) = (&self.slots[number], self.spec.under_way[Operation::Read as usize] as usize);
        let of = if number < reads { Operation::Read } else { Operation::Write };
        loop {
            let command = self.asked[of as usize].take(&NO_REQUEST).await;
            self.sim.take_up(command.errand);
            self.work(&COMMAND, self.spec.command).await;
            slot.command.set(Some(command));
            let bytes = smb::request_bytes(of, command.bytes);
            connection.client.say(Message { bytes, command: number as u32, errand: command.errand });
            let errand = slot.answers.take(&NO_ANSWER).await;
            self.sim.take_up(errand);
            self.work(&ANSWER, self.spec.answer).await;
            self.requests.part_ended(command.request);
        }
    }

    async fn talk(&self) {
        let Some((connection, wire)) = self.connected.get() else { return };
        let end = &connection.client;
        loop {
            let message = end.next().await;
            self.sim.take_up(message.errand);
            let mut left = message.bytes;
            while left > 0 {
                let part = left.min(end.segment_bytes);
                left -= part;
                end.room(part).await;
                self.work(&SEGMENT, self.spec.segment).await;
                let errand = self.sim.pass_on(message.errand);
                let bytes = end.send(part, (left == 0).then_some(message));
                wire.put_now(Arrival { request: 0, bytes, errand });
            }
        }
    }

    async fn listen(&self) {
        let Some((connection, wire)) = self.connected.get() else { return };
        let end = &connection.client;
        loop {
            let frame = self.frames.take(&NO_FRAME).await;
            self.sim.take_up(frame.errand);
            self.work(&SEGMENT, self.spec.segment).await;
            if end.hear(&connection.server).acknowledge {
                let (bytes, errand) = (end.send(0, None), self.sim.pass_on(frame.errand));
                wire.put_now(Arrival { request: 0, bytes, errand });
            }
            while let Some(answer) = end.told.try_take() {
                self.slots[answer.command as usize].answers.put_now(self.sim.pass_on(answer.errand));
            }
        }
    }
}
