//! A TCP connection, as its two ends keep it: messages become segments, a window bounds what is not acknowledged, and
//! every second segment is acknowledged, or whatever goes back. RFC 9293; RFC 1122, 4.2.3.2.
//!
//! ```text
//!   message ─▶ segments (window) ─▶ frames ══ wire ══▶ frames ─▶ segments ─▶ message
//!      window opens ◀─ acknowledgement ◀── wire ═══ every second segment ◀┘
//! ```
//!
//! What it costs to send and to receive is said by who does it. Frames stay in order.
//!
//! Not modelled: loss, congestion control (one switch or none lies between), the timer of a delayed acknowledgement
//! (the next segment brings it, as a window of two segments is always open for one), connections that are opened and
//! closed, options.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use hopscope_kernel::{Bell, Errand, Label, Queue, Sim};

static NO_MESSAGE: Label = Label::workload("no message");
static WINDOW_CLOSED: Label = Label::reason("TCP window full of what is not acknowledged");

/// Ethernet (IEEE Std 802.3-2018, 3.1.1), IPv4 (RFC 791, 3.1) and TCP (RFC 9293, 3.1).
const HEADERS_BYTES: u32 = 14 + 20 + 20;
/// RFC 1122, 4.2.3.2: an acknowledgement for every second segment at least.
const ACKNOWLEDGED_TOGETHER: u32 = 2;
/// RFC 7323 allows more; so much is more than a wire of its time holds.
pub const WINDOW_BYTES_MAX: u64 = 1 << 20;

/// A window has room for two segments of `frame_bytes` with their headers.
pub fn window_bytes_min(frame_bytes: u32) -> u64 {
    2 * u64::from(frame_bytes.saturating_sub(HEADERS_BYTES))
}

/// What one end tells the other.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Its length.
    pub bytes: u32,
    /// What it is about.
    pub command: u32,
    /// For whom.
    pub errand: Errand,
}

/// On the wire.
struct Segment {
    bytes: u32,
    acknowledges: u32,
    /// What ends with it.
    message: Option<Message>,
}

/// What a segment means to who receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Bytes of a message, none in a mere acknowledgement.
    pub bytes: u32,
    /// It has to be acknowledged now.
    pub acknowledge: bool,
}

/// One end.
pub struct End {
    sim: Sim,
    /// Bytes of a segment, at most.
    pub segment_bytes: u32,
    /// What the other end takes before it acknowledges.
    window_bytes: u32,
    not_acknowledged: Cell<u32>,
    opened: Bell,
    /// Bytes and segments that have come and are not acknowledged.
    heard: Cell<(u32, u32)>,
    messages: Queue<Message>,
    sent: RefCell<VecDeque<Segment>>,
    /// What the other end has told.
    pub told: Queue<Message>,
}

/// Both ends.
pub struct Connection {
    /// That of the server.
    pub server: End,
    /// That of the client.
    pub client: End,
}

impl Connection {
    /// A connection with frames of `frame_bytes`, headers included, and the windows of what server and client receive.
    pub fn new(sim: &Sim, frame_bytes: u32, server_window: u32, client_window: u32) -> Connection {
        let end = |window_bytes| End {
            sim: sim.clone(),
            segment_bytes: frame_bytes - HEADERS_BYTES,
            window_bytes,
            not_acknowledged: Cell::new(0),
            opened: Bell::new(sim),
            heard: Cell::new((0, 0)),
            messages: Queue::new(sim, usize::MAX),
            sent: RefCell::default(),
            told: Queue::new(sim, usize::MAX),
        };
        Connection { server: end(client_window), client: end(server_window) }
    }
}

impl End {
    /// A message is to be sent behind all others.
    pub fn say(&self, message: Message) {
        let errand = self.sim.pass_on(message.errand);
        self.messages.put_now(Message { errand, ..message });
    }

    /// The next message that is to be sent.
    pub async fn next(&self) -> Message {
        self.messages.take(&NO_MESSAGE).await
    }

    /// Takes room for `bytes` in the window, if it is open so far.
    pub fn try_room(&self, bytes: u32) -> bool {
        let more = self.not_acknowledged.get() + bytes;
        let open = more <= self.window_bytes;
        if open {
            self.not_acknowledged.set(more);
        }
        open
    }

    /// The same, waiting.
    pub async fn room(&self, bytes: u32) {
        while !self.try_room(bytes) {
            self.opened.heard(&WINDOW_CLOSED).await;
        }
    }

    /// Sends `bytes`, for which there is room, with which `message` may end; returns the frame's length.
    pub fn send(&self, bytes: u32, message: Option<Message>) -> u32 {
        let (acknowledges, _) = self.heard.take();
        self.sent.borrow_mut().push_back(Segment { bytes, acknowledges, message });
        HEADERS_BYTES + bytes
    }

    /// A frame of `from` has come.
    pub fn hear(&self, from: &End) -> Heard {
        let Some(Segment { bytes, acknowledges, message }) = from.sent.borrow_mut().pop_front() else {
            return Heard { bytes: 0, acknowledge: false };
        };
        if acknowledges > 0 {
            let left = self.not_acknowledged.get().checked_sub(acknowledges);
            self.not_acknowledged.set(left.expect("no more is acknowledged than was sent"));
            self.opened.ring();
        }
        let (heard_bytes, segments) = self.heard.get();
        let segments = segments + u32::from(bytes > 0);
        self.heard.set((heard_bytes + bytes, segments));
        if let Some(message) = message {
            self.told.put_now(Message { errand: self.sim.pass_on(message.errand), ..message });
        }
        Heard { bytes, acknowledge: bytes > 0 && segments >= ACKNOWLEDGED_TOGETHER }
    }
}
