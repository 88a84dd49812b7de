//! Reads: one piece after the other by whoever asks, or several at once by the readers.
//!
//! A page that has been read from the array stays in the page register of its die until another one is read there, or
//! something is programmed: whoever asks for the same page meanwhile joins, and has its own bytes sent.

use std::cell::Cell;
use std::rc::Rc;

use hopscope_kernel::{Bell, Errand, Grant, Label, Queue, Sim};

use super::die::{ARRAY_READ, CHANNEL_BUSY, COMMAND, DATA_OUT, DECODE, DIE_BUSY, FOR_CHANNEL};
use super::spec::State;
use super::{Die, Flash, UNIT_BYTES};

static NO_PIECE: Label = Label::reason("nothing to read");
static READERS_BUSY: Label = Label::reason("as many reads of several pieces as the controller follows");
static PIECES: Label = Label::reason("pieces from several dies");

/// Pieces that are read at once on behalf of long reads, at most.
pub(super) const READERS_MAX: usize = 256;
/// Long reads that are followed at once.
const LONG_READS: usize = 256;
/// Pieces that wait for a reader.
const PIECES_MAX: usize = 4_096;

/// A part of a long read.
struct Piece {
    offset: u64,
    bytes: u32,
    of: Rc<Together>,
    errand: Errand,
}

/// Pieces that are read together.
pub(super) struct Together {
    pieces_left: Cell<u32>,
    done: Bell,
}

impl Together {
    pub(super) fn new(sim: &Sim) -> Rc<Together> {
        Rc::new(Together { pieces_left: Cell::new(0), done: Bell::new(sim) })
    }

    /// Whether none is under way.
    pub(super) fn is_there(&self) -> bool {
        self.pieces_left.get() == 0
    }

    /// Returns when none is under way, or when `still` no longer holds. Any number may wait.
    pub(super) async fn come(&self, reason: &'static Label, still: impl Fn() -> bool) {
        while !self.is_there() && still() {
            self.done.heard(reason).await;
            if self.is_there() || !still() {
                // Whoever else waits looks, too.
                self.done.ring();
            }
        }
    }

    fn one_more(&self) {
        self.pieces_left.set(self.pieces_left.get() + 1);
    }

    fn one_ended(&self) {
        self.pieces_left.set(self.pieces_left.get() - 1);
        if self.is_there() {
            self.done.ring();
        }
    }
}

/// Who reads the pieces of long reads.
pub(super) struct Readers {
    pieces: Queue<Piece>,
    long_reads: Vec<Rc<Together>>,
    free: Queue<usize>,
}

impl Readers {
    pub(super) fn new(sim: &Sim) -> Readers {
        let free = Queue::new(sim, LONG_READS);
        for number in 0..LONG_READS {
            free.put_now(number);
        }
        let long_reads = (0..LONG_READS).map(|_| Together::new(sim)).collect();
        Readers { pieces: Queue::new(sim, PIECES_MAX), long_reads, free }
    }
}

impl Flash {
    /// Bytes from `offset` on that one array read can fetch; `bytes` at most.
    pub fn piece(&self, offset: u64, bytes: u32) -> u32 {
        let units = match self.spec.state {
            State::Fresh => self.spec.page_units(),
            State::Steady => 1,
        };
        let page = units * u64::from(UNIT_BYTES);
        bytes.min((page - offset % page) as u32)
    }

    /// Reads a piece, as [`Flash::piece`] cuts it: array read, transfer, ECC decode. What is in the write buffer (the
    /// first unit of the piece decides) is there at once.
    pub async fn read_piece(&self, offset: u64, bytes: u32) {
        let die = self.die_at(offset);
        if let Some(channel) = self.read_array(die, offset).await {
            // One wait for the channel and for what follows.
            let (command, data) = self.transfer(&die.channel, bytes);
            let read = channel.leave([(&COMMAND, command), (&DATA_OUT, data)]);
            let decoded = read + die.decoder.paced(self.spec.decode);
            self.sim.wait_until(decoded).await;
            die.decoder.delayed(&DECODE, read, decoded);
        }
    }

    /// From the array to the page register, and until the channel is granted; nothing for what is in the write buffer.
    async fn read_array<'a>(&self, die: &'a Die, offset: u64) -> Option<Grant<'a>> {
        self.used();
        if self.buffer.holds(offset / u64::from(UNIT_BYTES)) {
            return None;
        }
        let grant = die.lane.acquire(&DIE_BUSY).await;
        let page = self.page(offset);
        if die.page.replace(page) != page {
            grant.hold(&ARRAY_READ, die.lane.paced(self.spec.read)).await;
        }
        let asked = self.sim.now();
        let channel = die.channel.acquire(&CHANNEL_BUSY).await;
        grant.was_in(&FOR_CHANNEL, asked);
        Some(channel)
    }

    #[inline]
    fn die_at(&self, offset: u64) -> &Die {
        &self.dies[self.die_of(offset / u64::from(UNIT_BYTES))]
    }

    /// Reads for somebody; returns when all of it is there. A read of several pieces has them read at once.
    pub async fn read(&self, offset: u64, bytes: u32, errand: Errand) {
        let first = self.piece(offset, bytes);
        if first == bytes {
            return self.read_piece(offset, bytes).await;
        }
        let number = self.readers.free.take(&READERS_BUSY).await;
        let together = &self.readers.long_reads[number];
        // One more than there are, until all are under way.
        together.one_more();
        let (mut offset, mut left) = (offset, bytes);
        while left > 0 {
            let bytes = self.piece(offset, left);
            together.one_more();
            let piece = Piece { offset, bytes, of: together.clone(), errand: self.sim.pass_on(errand) };
            self.readers.pieces.put(piece, &READERS_BUSY).await;
            (offset, left) = (offset + u64::from(bytes), left - bytes);
        }
        together.one_ended();
        together.come(&PIECES, || true).await;
        self.readers.free.put_now(number);
    }

    /// Has something read for nobody, and goes on: each of `parts`, of equal size, says when it is there. Not where too
    /// much waits.
    pub(super) fn begin_read(&self, offset: u64, bytes: u32, parts: &[Rc<Together>]) -> bool {
        if self.readers.pieces.len() + (bytes / UNIT_BYTES) as usize > PIECES_MAX / 2 {
            return false;
        }
        let (mut offset, each) = (offset, bytes / parts.len() as u32);
        for part in parts {
            part.one_more();
            let mut left = each;
            while left > 0 {
                let bytes = self.piece(offset, left);
                part.one_more();
                let piece = Piece { offset, bytes, of: part.clone(), errand: self.sim.pass_on(Errand::NOBODY) };
                let put = self.readers.pieces.try_put(piece);
                assert!(put.is_ok(), "nobody waits for room among the pieces while half of it is free");
                (offset, left) = (offset + u64::from(bytes), left - bytes);
            }
            part.one_ended();
        }
        true
    }

    pub(super) async fn run_reader(&self) {
        loop {
            let Piece { offset, bytes, of, errand } = self.readers.pieces.take(&NO_PIECE).await;
            self.sim.take_up(errand);
            self.read_piece(offset, bytes).await;
            of.one_ended();
        }
    }

    /// The page that a byte is read from: its number among all, from one on.
    fn page(&self, offset: u64) -> u64 {
        let units = match self.spec.state {
            State::Fresh => self.spec.page_units(),
            State::Steady => 1,
        };
        offset / u64::from(UNIT_BYTES) / units + 1
    }

    /// A unit is written: nobody may join the page that it was in.
    pub(super) fn no_longer_in_register(&self, unit: u64) {
        let (die, page) = (&self.dies[self.die_of(unit)], self.page(unit * u64::from(UNIT_BYTES)));
        if die.page.get() == page {
            die.page.set(0);
        }
    }

    /// The die that a unit is read from.
    fn die_of(&self, unit: u64) -> usize {
        let dies = self.dies.len() as u64;
        match self.spec.state {
            // Page after page goes to the next die.
            State::Fresh => (unit / self.spec.page_units() % dies) as usize,
            // Written at random: anywhere, but always in the same place.
            State::Steady => {
                let mixed = (unit ^ unit >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                ((u128::from(mixed) * u128::from(dies)) >> 64) as usize
            }
        }
    }
}
