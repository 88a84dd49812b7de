//! All of a cable, as changes of its wires, from what the simulated one says.

use std::collections::VecDeque;

use hopscope_kernel::{Label, Record, Time};
use hopscope_parts::protocols::ide::{
    ACCESSED, Access, BURST_END, BURST_START, INITIATION, INTRQ, MOVES, Moves, PAUSE, PIO, READY_AGAIN, Strobes,
    TERMINATION, WORDS_IN, WORDS_OUT, WRITTEN, unpacked_times,
};

use super::crc;
use crate::content;
use crate::waves::changes::{Changes, Level, Wire};

const HIGH: Level = Level::Driven(1);
const LOW: Level = Level::Driven(0);

struct Wires {
    cs: Wire,
    da: Wire,
    dd: Wire,
    /// STOP in Ultra DMA.
    diow: Wire,
    /// HDMARDY- or HSTROBE in Ultra DMA.
    dior: Wire,
    /// DDMARDY- or DSTROBE in Ultra DMA.
    iordy: Wire,
    dmarq: Wire,
    dmack: Wire,
    intrq: Wire,
}

/// A register access that has been said, and is drawn when it is known what it wrote.
struct Pending {
    access: Access,
    at: Time,
    span: Time,
}

/// A burst of DMA that is under way, or words of programmed I/O.
struct Moving {
    moves: Moves,
    /// Words that have crossed.
    done: u32,
    /// When the last strobe was, if there was one.
    last_strobe: Option<Time>,
    /// Whether the wires have been drawn as they are in a burst.
    begun: bool,
    /// tACK and tENV of the initiation to come.
    initiation: [Time; 3],
    /// tRP or tSS, tLI and tMLI of a termination, and when it begins.
    termination: Option<([Time; 3], Time)>,
}

/// Draws a cable.
pub struct Cable {
    wires: Wires,
    seed: u64,
    from: Time,
    accessed: Option<Access>,
    pending: Option<Pending>,
    moving: Option<Moving>,
    /// INTRQ asserted, and not yet negated.
    interrupts: VecDeque<Time>,
    words: u64,
    accesses: u64,
}

/// What CS[1:0]- carry: CS1- is the upper one.
fn selects(control: bool) -> Level {
    Level::Driven(if control { 0b01 } else { 0b10 })
}

const NOT_SELECTED: Level = Level::Driven(0b11);

impl Cable {
    /// A cable in the scope `name`. What was before `from` is not drawn.
    pub fn new(changes: &mut Changes, name: &str, (from, seed): (Time, u64)) -> Cable {
        let scope = [name];
        let mut wire = |name: &str, bits, at_rest| changes.declare(&scope, name, bits, at_rest);
        let wires = Wires {
            cs: wire("CS-", 2, NOT_SELECTED),
            da: wire("DA", 3, Level::Driven(0)),
            dd: wire("DD", 16, Level::Floating),
            diow: wire("DIOW-", 1, HIGH),
            dior: wire("DIOR-", 1, HIGH),
            iordy: wire("IORDY", 1, HIGH),
            dmarq: wire("DMARQ", 1, LOW),
            dmack: wire("DMACK-", 1, HIGH),
            intrq: wire("INTRQ", 1, LOW),
        };
        let (accessed, pending, moving, interrupts) = (None, None, None, VecDeque::new());
        Cable { wires, seed, from, accessed, pending, moving, interrupts, words: 0, accesses: 0 }
    }

    /// Register accesses and words that were drawn.
    pub fn drawn(&self) -> (u64, u64) {
        (self.accesses, self.words)
    }

    /// Nothing will be said any more of what was before; nothing where the cable is quiet.
    pub fn settled(&self) -> Option<Time> {
        self.pending.as_ref().map(|pending| pending.at)
    }

    /// The next record of its lane; of a train, its phases apart.
    pub fn record(&mut self, changes: &mut Changes, record: &Record) {
        match *record {
            Record::Carried { label, at, value, .. } => self.carried(changes, label, at, value),
            Record::Phase { label, at, span, .. } => self.phase(changes, label, at, span),
            _ => {}
        }
    }

    /// Draws what has been said and not been drawn, as far as it begins before `end`.
    pub fn finish(&mut self, changes: &mut Changes, end: Time) {
        if self.settled().is_some_and(|at| at < end) {
            self.access(changes, None);
        }
    }

    fn carried(&mut self, changes: &mut Changes, label: &'static Label, at: Time, value: u64) {
        let is = |known: &Label| label == known;
        if is(&WRITTEN) {
            return self.access(changes, Some(value as u8));
        }
        if is(&ACCESSED) {
            self.access(changes, None);
            self.accessed = Some(Access::unpacked(value));
        } else if is(&MOVES) {
            self.moving = Some(Moving::new(Moves::unpacked(value)));
        } else if is(&INTRQ) {
            changes.set(at.as_ps(), self.wires.intrq, HIGH);
            self.interrupts.push_back(at);
        } else if let Some(moving) = &mut self.moving {
            if is(&INITIATION) {
                moving.initiation = unpacked_times(value);
            } else if is(&TERMINATION) {
                moving.termination = Some((unpacked_times(value), at));
                if moving.moves.mode == Strobes::Multiword {
                    self.end_multiword(changes);
                }
            } else if is(&READY_AGAIN) {
                self.pause_by_receiver(changes, at.saturating_sub(Time::ps(value)));
            }
        }
    }

    /// The cable was in a phase.
    pub fn phase(&mut self, changes: &mut Changes, label: &'static Label, at: Time, span: Time) {
        let is = |known: &Label| label == known;
        if is(&PIO) {
            if let Some(access) = self.accessed.take() {
                self.pending = Some(Pending { access, at, span });
                if !access.writes {
                    self.access(changes, None);
                }
            }
        } else if is(&BURST_START) {
            self.initiate(changes, at, at + span);
        } else if WORDS_IN.contains(label) || WORDS_OUT.contains(label) {
            self.strobe_words(changes, at, span);
        } else if is(&BURST_END) {
            self.terminate(changes, at + span);
        } else {
            debug_assert!(is(&PAUSE), "a phase of a cable that nobody draws: {}", label.name);
        }
    }

    /// Draws the access that was said last: the strobe for half of its cycle. ATA/ATAPI-4, 10.2.1.
    fn access(&mut self, changes: &mut Changes, written: Option<u8>) {
        let Some(Pending { access, at, span }) = self.pending.take() else { return };
        if at < self.from {
            return;
        }
        let port = u32::from(access.port);
        // What a register holds that is read is nobody's: the pattern, at its address.
        let pattern = (content::word(self.seed, port) >> (8 * (port & 3))) as u8;
        let value = u64::from(written.unwrap_or(pattern));
        let strobe = if access.writes { self.wires.diow } else { self.wires.dior };
        self.cycle(changes, (access.control, access.da), strobe, (at, span), value);
        self.accesses += 1;
        if (access.control, access.da, access.writes) == (false, 7, false) {
            // Reading the status negates INTRQ: ATA/ATAPI-4, 7.15.
            if let Some(asserted) = self.interrupts.pop_front() {
                changes.set((at + span).max(asserted + Time::ps(1)).as_ps(), self.wires.intrq, LOW);
                self.interrupts.clear();
            }
        }
    }

    /// A cycle of DIOR- or DIOW- with a register selected.
    fn cycle(
        &self,
        changes: &mut Changes,
        (control, da): (bool, u8),
        strobe: Wire,
        (at, span): (Time, Time),
        value: u64,
    ) {
        let (begin, end) = (at.as_ps(), (at + span).as_ps());
        let quarter = (end - begin) / 4;
        changes.set(begin, self.wires.cs, selects(control));
        changes.set(begin, self.wires.da, Level::Driven(u64::from(da)));
        changes.set(begin + quarter, strobe, LOW);
        changes.set(begin + quarter, self.wires.dd, Level::Driven(value));
        changes.set(end - quarter, strobe, HIGH);
        changes.set(end - quarter / 2, self.wires.dd, Level::Floating);
        changes.set(end, self.wires.cs, NOT_SELECTED);
        changes.set(end, self.wires.da, Level::Driven(0));
    }

    /// Burst initiation. ATA/ATAPI-4, 9.13.1 and 9.14.1.
    fn initiate(&mut self, changes: &mut Changes, at: Time, first_strobe: Time) {
        let Some(moving) = self.moving.as_mut().filter(|_| at >= self.from) else { return };
        let [acknowledge, envelope, _] = moving.initiation;
        moving.begun = true;
        let acknowledged = at + acknowledge;
        let ready = (acknowledged + envelope).min(first_strobe);
        self.in_burst(changes, [at, acknowledged, ready]);
    }

    /// DMARQ, DMACK- and, in Ultra DMA, STOP and DMARDY# at these times.
    fn in_burst(&self, changes: &mut Changes, [requested, acknowledged, ready]: [Time; 3]) {
        let Some(Moving { moves, .. }) = &self.moving else { return };
        changes.set(requested.as_ps(), self.wires.dmarq, HIGH);
        changes.set(acknowledged.as_ps(), self.wires.dmack, LOW);
        if moves.mode == Strobes::Ultra {
            changes.set(ready.as_ps(), self.wires.diow, LOW);
            changes.set(ready.as_ps(), if moves.reads { self.wires.dior } else { self.wires.iordy }, LOW);
        }
    }

    /// The receiver negated DMARDY# with the last strobe, and asserts it again at `ready`. ATA/ATAPI-4, 9.13.3.
    fn pause_by_receiver(&mut self, changes: &mut Changes, ready: Time) {
        let Some(moving) = &self.moving else { return };
        let Some(last) = moving.last_strobe.filter(|last| moving.moves.mode == Strobes::Ultra && *last < ready) else {
            return;
        };
        if last >= self.from {
            let receiver = if moving.moves.reads { self.wires.dior } else { self.wires.iordy };
            changes.set(last.as_ps(), receiver, HIGH);
            changes.set(ready.as_ps(), receiver, LOW);
        }
    }

    fn strobe_words(&mut self, changes: &mut Changes, at: Time, span: Time) {
        let Some(moves) = self.moving.as_ref().map(|moving| moving.moves) else { return };
        let word = moves.word.max(Time::ps(4));
        let count = (span.as_ps() + word.as_ps() / 2) / word.as_ps();
        for start in (0..count).map(|index| at + word * index) {
            let Some(moving) = &mut self.moving else { return };
            let index = moving.done;
            moving.done += 1;
            if start < self.from {
                continue;
            }
            moving.last_strobe = Some(start);
            if !std::mem::replace(&mut moving.begun, true) && !matches!(moves.mode, Strobes::Programmed { .. }) {
                // Multiword DMA, or a burst that began before the window.
                let begin = if index == 0 { start } else { self.from };
                self.in_burst(changes, [begin; 3]);
                if moves.mode == Strobes::Ultra {
                    let strobe = if moves.reads { self.wires.iordy } else { self.wires.dior };
                    changes.set(begin.as_ps(), strobe, Level::Driven(u64::from(index % 2 == 0)));
                }
            }
            self.words += 1;
            self.word(changes, moves, (start, word), index);
        }
    }

    fn word(&self, changes: &mut Changes, moves: Moves, (start, word): (Time, Time), index: u32) {
        let (wires, value) = (&self.wires, u64::from(word_of(moves, self.seed, index)));
        let at = start.as_ps();
        let dd = Level::Driven(value);
        match moves.mode {
            Strobes::Programmed { .. } => {
                let strobe = if moves.reads { wires.dior } else { wires.diow };
                self.cycle(changes, (false, 0), strobe, (start, word), value);
            }
            Strobes::Multiword => {
                let strobe = if moves.reads { wires.dior } else { wires.diow };
                let quarter = word.as_ps() / 4;
                changes.set(at + quarter, strobe, LOW);
                changes.set(at + quarter, wires.dd, dd);
                changes.set(at + 3 * quarter, strobe, HIGH);
                changes.set(at + 4 * quarter - quarter / 2, wires.dd, Level::Floating);
            }
            Strobes::Ultra => {
                // The sender drives for half a word before and after its strobe, which is high before the first.
                let half = word.as_ps() / 2;
                changes.set(at.saturating_sub(half), wires.dd, dd);
                changes.set(at + half, wires.dd, Level::Floating);
                let strobe = if moves.reads { wires.iordy } else { wires.dior };
                changes.set(at, strobe, Level::Driven(u64::from(index % 2)));
            }
        }
    }

    /// Burst termination by the host. ATA/ATAPI-4, 9.13.4.2 and 9.14.4.1.
    fn terminate(&mut self, changes: &mut Changes, end: Time) {
        let Some(moving) = self.moving.take() else { return };
        let Some(([stopped, interlock, interlock_min], begin)) = moving.termination.filter(|(_, at)| *at >= self.from)
        else {
            return;
        };
        let words = (0..moving.done).map(|index| word_of(moving.moves, self.seed, index));
        let crc = words.fold(crc::SEED, crc::with);
        let wires = &self.wires;
        let stop = begin + stopped;
        let released = stop + interlock;
        let acknowledged = (released + interlock_min).min(end);
        let (strobe, ready) = if moving.moves.reads { (wires.iordy, wires.dior) } else { (wires.dior, wires.iordy) };
        // A receiver that ends the burst is not ready first.
        let not_ready = if moving.moves.reads { begin } else { released };
        changes.set(not_ready.as_ps(), ready, HIGH);
        changes.set(stop.as_ps(), wires.diow, HIGH);
        changes.set(released.as_ps(), wires.dmarq, LOW);
        changes.set(released.as_ps(), strobe, HIGH);
        changes.set(released.as_ps(), wires.dd, Level::Driven(u64::from(crc)));
        changes.set(acknowledged.as_ps(), wires.dmack, HIGH);
        changes.set(end.as_ps(), wires.dd, Level::Floating);
    }

    fn end_multiword(&mut self, changes: &mut Changes) {
        let Some(moving) = self.moving.take() else { return };
        let Some(last) = moving.last_strobe.filter(|_| moving.begun) else { return };
        let end = (last + moving.moves.word).as_ps();
        changes.set(end, self.wires.dmarq, LOW);
        changes.set(end, self.wires.dmack, HIGH);
    }
}

impl Moving {
    fn new(moves: Moves) -> Moving {
        Moving { moves, done: 0, last_strobe: None, begun: false, initiation: [Time::ZERO; 3], termination: None }
    }
}

/// A word of a burst, as memory has it; of programmed I/O as the port has it.
fn word_of(moves: Moves, seed: u64, index: u32) -> u16 {
    let offset = match moves.mode {
        Strobes::Programmed { wide } => 2 * (index & u32::from(wide)),
        _ => index.wrapping_mul(2),
    };
    let address = moves.address.wrapping_add(offset);
    (content::word(seed, address) >> (8 * (address & 2))) as u16
}
