//! One direction of a link: a transmitter that sends one packet at a time, and what the physical and the data link
//! layer send in between. PCI Express Base Specification 4.0, 3.5.2, 4.2.2 and 4.2.7.
//!
//! ```text
//!   [SKP] [ACK, UpdateFC] [replay]  header data  header data  header data …
//!   └── what fell due since ──────┘ └── the packets of a message ──────────┘
//! ```
//!
//! What falls due while the direction is idle goes by at once and costs nobody anything; what falls due while packets
//! are on it, of however many messages, goes before the next message that is prepared.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;

use hopscope_kernel::{Label, Lane, Sim, Time};
use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

use super::credits::Credits;
use crate::protocols::pcie::{DATA, DLLP, Flow, HEADER, Packets, REPLAY, SKIP, WORD_BYTES};

/// Two phases of a packet.
pub type PacketPlan = [(&'static Label, Time); 2];

/// What goes before a message.
pub type DuePlan = [(&'static Label, Time); 3];

/// Ranges of due packets that are kept: those before went by on an idle line.
const RANGES_MAX: usize = 64;

/// When a receiver sends an acknowledgement and a credit update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledge {
    /// Once for all packets within this limit (3.5.2.1, 2.6.1.2).
    Within(Time),
    /// For each packet.
    Each,
}

/// How fast a direction is, once the link is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    /// A byte takes `ps` / `per_bytes` picoseconds.
    pub ps: u64,
    /// See `ps`.
    pub per_bytes: u64,
    /// Bytes of a packet besides header and data.
    pub framing_bytes: u32,
    /// Length of a data link layer packet, bytes; zero where flits carry them.
    pub dllp_bytes: u32,
    /// From one SKP ordered set to the next.
    pub skip_every: Time,
    /// How long one takes.
    pub skip: Time,
    /// When packets are acknowledged and their credits returned.
    pub acknowledge: Acknowledge,
    /// From one end of the link to the other.
    pub flight: Time,
    /// Bits after which one is wrong, on average; zero where none ever is.
    pub bits_per_error: u64,
}

impl Speed {
    /// Before a direction is trained nothing is sent.
    const UNTRAINED: Speed = Speed {
        ps: 1,
        per_bytes: 1,
        framing_bytes: 0,
        dllp_bytes: 0,
        skip_every: Time::MAX,
        skip: Time::ZERO,
        acknowledge: Acknowledge::Each,
        flight: Time::ZERO,
        bits_per_error: 0,
    };

    /// How long `bytes` take by the data, rounded down.
    pub fn time(&self, bytes: u64) -> Time {
        Time::ps(bytes * self.ps / self.per_bytes)
    }
}

/// Data link layer packets that the traffic of the other direction asks for.
#[derive(Default)]
struct Due {
    /// What has arrived until then is acknowledged by a packet that is due already.
    covered_until: Time,
    ranges: VecDeque<Range>,
}

/// Regular instants at which packets are due.
#[derive(Clone, Copy)]
struct Range {
    first: Time,
    pitch: Time,
    instants: u64,
    /// Packets at each.
    packets: u64,
}

impl Range {
    /// How many of the instants are over at `now`.
    fn over(&self, now: Time) -> u64 {
        if now < self.first { 0 } else { ((now - self.first) / self.pitch + 1).min(self.instants) }
    }
}

/// How long a packet takes, by the data.
#[derive(Clone, Copy)]
struct Known {
    /// Header and payload, bytes.
    sizes: (u32, u32),
    header: Time,
    length: Time,
}

impl Known {
    /// No packet has so large a header.
    const NOTHING: Known = Known { sizes: (u32::MAX, 0), header: Time::ZERO, length: Time::ZERO };
    /// Packets whose lengths are kept: one for each power of two of the payload, about.
    const KEPT: usize = 8;

    /// Where it is kept.
    fn place(sizes: (u32, u32)) -> usize {
        sizes.1.leading_zeros() as usize % Known::KEPT
    }
}

/// One direction of a link.
pub struct Direction {
    sim: Sim,
    lane: Lane,
    /// Once it is.
    trained: OnceCell<Trained>,
    /// Of the last packet of each place.
    known: [Cell<Known>; Known::KEPT],
    /// Parts of a picosecond that packets were sent too early so far, times `per_bytes`.
    fractions: Cell<u64>,
    /// When the next SKP ordered set is due; the first one is, so long after the beginning, where none has been sent.
    skip_at: Cell<Option<Time>>,
    /// When all messages that have been prepared will have been sent, one after the other.
    busy_until: Cell<Time>,
    due: RefCell<Due>,
    /// Bits that arrive before the next wrong one.
    sound_bits: Cell<u64>,
    random: RefCell<Pcg64Mcg>,
}

/// What the link has trained to.
struct Trained {
    speed: Speed,
    /// Of posted and of non-posted requests.
    credits: [Credits; 2],
}

impl Direction {
    /// An untrained direction, whose lane is `name`.
    pub fn new(sim: &Sim, name: &str, seed: u64) -> Direction {
        let random = crate::chance::of(name, seed);
        Direction {
            sim: sim.clone(),
            lane: sim.lane(name, None),
            trained: OnceCell::new(),
            known: std::array::from_fn(|_| Cell::new(Known::NOTHING)),
            fractions: Cell::new(0),
            skip_at: Cell::new(None),
            busy_until: Cell::new(Time::ZERO),
            due: RefCell::new(Due::default()),
            sound_bits: Cell::new(u64::MAX),
            random: RefCell::new(random),
        }
    }

    /// The link has trained; the receiver advertises these credits for posted and non-posted requests.
    pub fn trained(&self, speed: Speed, posted: Credits, non_posted: Credits) {
        self.lane.carries(&DATA, speed.per_bytes, Time::ps(speed.ps));
        let trained = Trained { speed, credits: [posted, non_posted] };
        assert!(self.trained.set(trained).is_ok(), "a link trains once");
        self.known.iter().for_each(|known| known.set(Known::NOTHING));
        self.draw_error();
    }

    fn draw_error(&self) {
        let mean = self.speed().bits_per_error;
        self.sound_bits.set(match mean {
            0 => u64::MAX,
            // An exponential draw: errors come independently of each other.
            _ => {
                let even = ((self.random.borrow_mut().next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                (-libm::log(even) * mean as f64) as u64
            }
        });
    }

    fn speed(&self) -> &Speed {
        self.trained.get().map_or(&Speed::UNTRAINED, |trained| &trained.speed)
    }

    /// The lane.
    pub fn lane(&self) -> &Lane {
        &self.lane
    }

    /// From one end of the link to the other.
    pub fn flight(&self) -> Time {
        self.lane.paced(self.speed().flight)
    }

    /// The credits that packets of a kind need, where they are not infinitely many. Completions need none here: a
    /// requester has room for what it asks.
    pub fn credits(&self, flow: Flow) -> Option<&Credits> {
        let [posted, non_posted] = &self.trained.get()?.credits;
        let credits = match flow {
            Flow::Posted => posted,
            Flow::NonPosted => non_posted,
            Flow::Completion => return None,
        };
        Some(credits).filter(|credits| !credits.infinite())
    }

    /// The phases of a packet.
    pub fn plan(&self, packets: &Packets, payload_bytes: u32) -> PacketPlan {
        let known = self.known(packets, payload_bytes);
        let (header, length) = (self.lane.paced(known.header), self.lane.paced(known.length));
        [(&HEADER, header), (packets.data, length - header)]
    }

    /// How long a packet takes.
    pub fn length(&self, packets: &Packets, payload_bytes: u32) -> Time {
        self.lane.paced(self.known(packets, payload_bytes).length)
    }

    /// What a packet takes, whatever the lane's pace. Mostly it is as long as the last one with about as much in it.
    #[inline]
    fn known(&self, packets: &Packets, payload_bytes: u32) -> Known {
        let sizes = (packets.header_bytes, payload_bytes);
        let known = self.known[Known::place(sizes)].get();
        if known.sizes == sizes { known } else { self.know(sizes) }
    }

    #[inline(never)]
    fn know(&self, sizes: (u32, u32)) -> Known {
        let speed = self.speed();
        let header = speed.framing_bytes + sizes.0;
        let length = speed.time(u64::from(header + sizes.1.next_multiple_of(WORD_BYTES)));
        let known = Known { sizes, header: speed.time(header.into()), length };
        self.known[Known::place(sizes)].set(known);
        known
    }

    /// What fell due before a message, if anything did, and is sent first.
    #[inline]
    pub fn due(&self, packets: &Packets) -> Option<DuePlan> {
        let (now, speed) = (self.sim.now(), self.speed());
        let mut skip = Time::ZERO;
        let skip_every = self.lane.paced(speed.skip_every);
        if now >= self.skip_at.get().unwrap_or(skip_every) {
            // What the packets were sent too early is made up for here.
            let whole = self.fractions.get() / speed.per_bytes;
            self.fractions.set(self.fractions.get() % speed.per_bytes);
            skip = self.lane.paced(speed.skip + Time::ps(whole));
            self.skip_at.set(Some(now + skip_every));
        }
        let dllps = match self.take_due(now) {
            0 => Time::ZERO,
            count => self.lane.paced(speed.time(count * u64::from(speed.dllp_bytes))),
        };
        let replay = self.replay(packets);
        (skip + dllps + replay > Time::ZERO).then_some([(&SKIP, skip), (&DLLP, dllps), (&REPLAY, replay)])
    }

    /// A message is sent, behind what fell due. `other` is the opposite direction, which will have to acknowledge it.
    #[inline]
    pub fn count(&self, packets: &Packets, other: &Direction) {
        let (speed, count) = (self.speed(), u64::from(packets.count()));
        // Each packet is rounded down by itself. The pace comes afterwards: fractions are those of the data.
        let by_data = |index| self.known(packets, packets.payload(index)).length.as_ps();
        let bytes = u64::from(speed.framing_bytes) * count + packets.bytes();
        let (length, lengths) = match count {
            1 => (Time::ps(by_data(0)), by_data(0)),
            _ if packets.equal() => (speed.time(bytes), by_data(0) * count),
            _ => (speed.time(bytes), (0..packets.count()).map(by_data).sum()),
        };
        let rounded = bytes * speed.ps - lengths * speed.per_bytes;
        self.fractions.set(self.fractions.get() + rounded);
        // Messages of several senders take turns on the wire: their packets are on it one after the other.
        let begin = self.sim.now().max(self.busy_until.get());
        self.busy_until.set(begin + self.lane.paced(length));
        // Completions have no credits to return.
        let each = if packets.flow == Flow::Completion { 1 } else { 2 };
        other.receive(self, length, count, each);
    }

    /// So many packets begin to arrive, whose sender began just now and needs so long by its data; each asks for so many
    /// packets of this direction.
    #[inline]
    fn receive(&self, sender: &Direction, length: Time, count: u64, packets: u64) {
        let from = self.sim.now() + sender.flight();
        let until = from + sender.lane.paced(length);
        let mut due = self.due.borrow_mut();
        let range = match self.speed().acknowledge {
            Acknowledge::Each => {
                let pitch = sender.lane.paced(Time::ps((length.as_ps() / count).max(1)));
                Range { first: from + pitch, pitch, instants: count, packets }
            }
            Acknowledge::Within(limit) => {
                let limit = self.lane.paced(limit);
                let from = from.max(due.covered_until);
                if until < from {
                    return;
                }
                let range = Range { first: from + limit, pitch: limit, instants: (until - from) / limit + 1, packets };
                due.covered_until = from + limit * range.instants;
                range
            }
        };
        if due.ranges.len() == RANGES_MAX {
            due.ranges.pop_front();
        }
        due.ranges.push_back(range);
    }

    /// How many data link layer packets fell due since the last message began and had to wait for its end.
    #[inline]
    fn take_due(&self, now: Time) -> u64 {
        let held_back = self.busy_until.get().min(now);
        let mut due = self.due.borrow_mut();
        let mut waited = 0;
        while let Some(range) = due.ranges.front().copied()
            && range.first <= now
        {
            let over = range.over(now);
            waited += range.over(held_back) * range.packets;
            due.ranges.pop_front();
            if over < range.instants {
                let first = range.first + range.pitch * over;
                due.ranges.push_front(Range { first, instants: range.instants - over, ..range });
                break;
            }
        }
        waited
    }

    /// 3.6.2: the receiver discards what follows a damaged packet until it comes again, a round trip later.
    #[inline]
    fn replay(&self, packets: &Packets) -> Time {
        let speed = self.speed();
        if speed.bits_per_error == 0 {
            return Time::ZERO;
        }
        let count = u64::from(packets.count());
        let mut bits = 8 * (u64::from(speed.framing_bytes) * count + packets.bytes());
        let mut replays = 0;
        while bits >= self.sound_bits.get() && replays < count {
            bits -= self.sound_bits.get();
            self.draw_error();
            replays += 1;
        }
        self.sound_bits.set(self.sound_bits.get().saturating_sub(bits));
        let packet = self.known(packets, packets.payload(0)).length;
        let again = packet + speed.flight * 2 + speed.time(speed.dllp_bytes.into());
        self.lane.paced(again * replays)
    }
}
