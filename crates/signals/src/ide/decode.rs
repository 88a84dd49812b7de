//! From edges of a cable's wires to register accesses and bursts.
//!
//! While DMACK- is negated, a strobe with a chip select is a register access. While it is asserted, which kind of DMA it
//! is shows at the first strobes: DIOW- stays low during an Ultra DMA burst (STOP negated) and is high or pulses in
//! multiword DMA; of an Ultra DMA burst to the drive IORDY is low (DDMARDY-) before DIOR- strobes.

use super::summary::Summary;
use super::{Access, Burst, Protocol, crc, over_time};
use crate::timeline::steps::Steps;

/// The wires at an instant. Strobes and acknowledges are as the wires are: true is high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// CS0- and CS1-, the former in bit 0.
    pub cs: u8,
    /// DA[2:0].
    pub da: u8,
    /// DD; nothing where nobody drives it, or not all of it.
    pub dd: Option<u16>,
    /// DD[7:0], as far as that alone is driven.
    pub dd_low: Option<u8>,
    /// DIOW-, STOP.
    pub diow: bool,
    /// DIOR-, HDMARDY-, HSTROBE.
    pub dior: bool,
    /// IORDY, DDMARDY-, DSTROBE.
    pub iordy: bool,
    /// DMARQ.
    pub dmarq: bool,
    /// DMACK-.
    pub dmack: bool,
    /// INTRQ.
    pub intrq: bool,
}

impl Default for Levels {
    /// A cable at rest.
    fn default() -> Levels {
        Levels {
            cs: 0b11,
            da: 0,
            dd: None,
            dd_low: None,
            diow: true,
            dior: true,
            iordy: true,
            dmarq: false,
            dmack: true,
            intrq: false,
        }
    }
}

/// Pauses that are listed of a burst.
const PAUSES_MAX: usize = 1_024;

/// A burst that has no end yet.
#[derive(Clone, Debug)]
struct Open {
    start_ps: u64,
    /// Known with the first strobe.
    kind: Option<(Protocol, bool)>,
    words: u64,
    strobes_ps: (u64, u64),
    /// The first two strobes; what comes next says whether there was a pause between.
    first: Option<(u64, u64)>,
    word_ps: Option<u64>,
    pauses: Vec<(u64, u64)>,
    /// All of them, and how long they were together.
    paused: (u64, u64),
    crc: u16,
    /// STOP is asserted: what the strobe does now is no word.
    stopped: bool,
    /// Whether the capture begins in it.
    begun_before: bool,
}

impl Open {
    fn new(start_ps: u64, begun_before: bool) -> Open {
        Open {
            start_ps,
            kind: None,
            words: 0,
            strobes_ps: (start_ps, start_ps),
            first: None,
            word_ps: None,
            pauses: Vec::new(),
            paused: (0, 0),
            crc: crc::SEED,
            stopped: false,
            begun_before,
        }
    }

    fn word(&mut self, at_ps: u64, value: u16) {
        self.crc = crc::with(self.crc, value);
        self.words += 1;
        if self.words == 1 {
            self.strobes_ps = (at_ps, at_ps);
            return;
        }
        let last = std::mem::replace(&mut self.strobes_ps.1, at_ps);
        let span = at_ps - last;
        let pace = self.word_ps.map_or(span, |pace| pace.min(span));
        self.word_ps = Some(pace);
        let late = |(from, to): (u64, u64)| (to - from) * LATE.1 > pace * LATE.0;
        match self.words {
            2 => self.first = Some((last, at_ps)),
            _ => {
                for pair in self.first.take().into_iter().chain([(last, at_ps)]).filter(|pair| late(*pair)) {
                    self.paused = (self.paused.0 + 1, self.paused.1 + pair.1 - pair.0);
                    if self.pauses.len() < PAUSES_MAX {
                        self.pauses.push(pair);
                    }
                }
            }
        }
    }

    fn ended(self, end_ps: u64, sent: Option<u16>, cut: bool) -> Option<Burst> {
        let (protocol, reads) = self.kind?;
        let cut = cut || self.begun_before;
        Some(Burst {
            start_ps: self.start_ps,
            end_ps,
            protocol,
            reads,
            words: self.words,
            strobes_ps: self.strobes_ps,
            word_ps: self.word_ps,
            pauses: self.pauses,
            paused: self.paused,
            crc: (protocol == Protocol::Ultra && !cut).then_some((self.crc, sent)),
            cut,
        })
    }
}

/// Follows a cable.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    /// The wires until now; nothing before the capture begins.
    before: Option<Levels>,
    requested_ps: Option<u64>,
    /// The register access under way: when, CS1-, DA, DIOW-.
    access: Option<(u64, bool, u8, bool)>,
    open: Option<Open>,
    /// What there was, by its end, the first ones.
    pub accesses: Vec<Access>,
    /// What there was, by its end, the first ones.
    pub bursts: Vec<Burst>,
    /// How many of each are listed at most; all where nothing is said.
    pub listed_max: Option<usize>,
    /// What all of it adds up to, whether listed or not.
    pub(super) added_up: Summary,
    /// The same over time; nothing where nobody asked for it.
    pub over_time: Option<Steps>,
    over_time_wanted: bool,
    /// When INTRQ was asserted.
    interrupted_ps: Option<u64>,
    /// When INTRQ was asserted, and negated, the first times.
    pub interrupts: Vec<(u64, Option<u64>)>,
    /// Accesses of the data register without any other between, and when the last one ended.
    port: Option<(Open, u64)>,
    last_ps: u64,
}

/// A strobe that comes later than this many times the pace ends a run of words: a pause.
const LATE: (u64, u64) = (4, 3);

impl Decoder {
    /// What it adds up to is kept over time, too.
    pub fn watch(&mut self) {
        self.over_time_wanted = true;
    }

    /// The wires are so from `at_ps` on.
    pub fn follow(&mut self, at_ps: u64, now: Levels) {
        self.last_ps = at_ps;
        let Some(before) = self.before.replace(now) else {
            self.over_time = self.over_time_wanted.then(|| over_time::steps(at_ps));
            self.open = (!now.dmack).then(|| Open::new(at_ps, true));
            return;
        };
        if now.intrq && !before.intrq {
            self.interrupted_ps = Some(at_ps);
            self.added_up.interrupt();
            if self.lists(self.interrupts.len()) {
                self.interrupts.push((at_ps, None));
            }
        } else if before.intrq
            && !now.intrq
            && let Some(since) = self.interrupted_ps.take()
        {
            self.added_up.negated(at_ps - since);
            if let Some((_, end)) = self.interrupts.last_mut().filter(|(start, _)| *start == since) {
                *end = Some(at_ps);
            }
        }
        if now.dmarq != before.dmarq {
            self.requested_ps = now.dmarq.then_some(at_ps);
        }
        if before.dmack && !now.dmack {
            self.end_port();
            self.open = Some(Open::new(self.requested_ps.unwrap_or(at_ps), false));
        }
        if self.open.is_some() {
            self.strobe(at_ps, before, now);
            if now.dmack && !before.dmack {
                // A request that is still there is for the next burst.
                self.requested_ps = now.dmarq.then_some(at_ps);
                let burst = self.open.take().and_then(|open| open.ended(at_ps, before.dd, false));
                self.burst(burst);
            }
        } else if now.dmack {
            self.register(at_ps, before, now);
        }
    }

    /// Whether there is room for one more in a list of so many.
    fn lists(&self, count: usize) -> bool {
        self.listed_max.is_none_or(|most| count < most)
    }

    /// A burst has ended, if it was one.
    fn burst(&mut self, burst: Option<Burst>) {
        let Some(burst) = burst else { return };
        self.added_up.burst(&burst);
        if let Some(steps) = &mut self.over_time {
            over_time::burst(steps, &burst);
        }
        if self.lists(self.bursts.len()) {
            self.bursts.push(burst);
        }
    }

    /// The capture has ended.
    pub fn finish(&mut self) {
        self.end_port();
        let burst = self.open.take().and_then(|open| open.ended(self.last_ps, None, true));
        self.burst(burst);
    }

    fn register(&mut self, at_ps: u64, before: Levels, now: Levels) {
        for (was, is, writes) in [(before.dior, now.dior, false), (before.diow, now.diow, true)] {
            if was && !is && now.cs != 0b11 && self.access.is_none() {
                self.access = Some((at_ps, now.cs & 2 == 0, now.da, writes));
            } else if !was
                && is
                && let Some((start_ps, control, da, access_writes)) = self.access
                && access_writes == writes
            {
                self.access = None;
                if !control && da == 0 {
                    self.port_word(start_ps, at_ps, !writes);
                } else {
                    self.end_port();
                    let value = before.dd_low;
                    let access = Access { start_ps, end_ps: at_ps, control, da, writes, value };
                    self.added_up.access(&access);
                    if let Some(steps) = &mut self.over_time {
                        over_time::access(steps, &access);
                    }
                    if self.lists(self.accesses.len()) {
                        self.accesses.push(access);
                    }
                }
            }
        }
    }

    fn port_word(&mut self, start_ps: u64, end_ps: u64, reads: bool) {
        let kind = Some((Protocol::Programmed, reads));
        if self.port.as_ref().is_some_and(|(port, _)| port.kind != kind) {
            self.end_port();
        }
        let (port, until_ps) = self.port.get_or_insert_with(|| (Open { kind, ..Open::new(start_ps, false) }, end_ps));
        port.word(start_ps, 0);
        *until_ps = end_ps;
    }

    fn end_port(&mut self) {
        let burst = self.port.take().and_then(|(port, until_ps)| port.ended(until_ps, None, false));
        self.burst(burst);
    }

    fn strobe(&mut self, at_ps: u64, before: Levels, now: Levels) {
        let Some(open) = &mut self.open else { return };
        if open.kind.is_none() {
            let kind = if open.begun_before { kind_within(before, now) } else { kind_at_start(before, now) };
            open.kind = kind;
            // HDMARDY- is no strobe.
            if kind.is_none() || (kind == Some((Protocol::Ultra, true)) && !open.begun_before) {
                return;
            }
        }
        let strobed = match open.kind {
            Some((Protocol::Ultra, reads)) => {
                // STOP: what the strobe does after is no word.
                open.stopped |= now.diow;
                let (was, is) = if reads { (before.iordy, now.iordy) } else { (before.dior, now.dior) };
                was != is && !open.stopped
            }
            Some((_, true)) => !before.dior && now.dior,
            Some((_, false)) => !before.diow && now.diow,
            None => false,
        };
        if strobed {
            open.word(at_ps, before.dd.unwrap_or(0));
        }
    }
}

/// What kind of burst first strobes show.
fn kind_at_start(before: Levels, now: Levels) -> Option<(Protocol, bool)> {
    let fell = |was: bool, is: bool| was && !is;
    if fell(before.dior, now.dior) && !now.diow {
        // HDMARDY-, or the first HSTROBE of a drive that has said DDMARDY-.
        return Some((Protocol::Ultra, before.iordy && now.iordy));
    }
    if fell(before.diow, now.diow) && !now.dior && !before.dior {
        return Some((Protocol::Ultra, true));
    }
    let rose = |was: bool, is: bool| !was && is;
    if rose(before.dior, now.dior) && before.diow && now.diow {
        return Some((Protocol::Multiword, true));
    }
    (rose(before.diow, now.diow) && before.dior && now.dior).then_some((Protocol::Multiword, false))
}

/// The same of a burst that began before the capture.
fn kind_within(before: Levels, now: Levels) -> Option<(Protocol, bool)> {
    if before.diow || now.diow {
        return kind_at_start(before, now);
    }
    match (before.iordy != now.iordy, before.dior != now.dior) {
        (true, false) => Some((Protocol::Ultra, true)),
        (false, true) => Some((Protocol::Ultra, false)),
        _ => None,
    }
}
