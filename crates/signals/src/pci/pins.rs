//! Finds a bus among the signals of a capture, and follows its pins. A bus may be one vector or a signal a bit.

use std::collections::{BTreeMap, HashMap};

use super::Clock;
use super::decode::Decoder;
use super::names::{NAMES, Pin, buses, granted};
use crate::waves::read::{Bits, Broken, Goes, IdCode, Next, Signal, within};

/// Whose a transaction is for which no grant was seen.
pub const NOBODY: &str = "nobody's grant";

/// Transactions by which it is known whether a bus speaks PCI-X.
const HEARD: u64 = 64;

const GRANTS_MAX: usize = 64;

/// Pins without which it is not known what goes on, and their names.
const CONTROLS: [(Pin, &str); 5] = [
    (Pin::Frame, "FRAME#"),
    (Pin::Irdy, "IRDY#"),
    (Pin::Trdy, "TRDY#"),
    (Pin::Devsel, "DEVSEL#"),
    (Pin::Stop, "STOP#"),
];

/// What is missing to decode a bus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Pins that were not found, as `--map` calls them.
    pub pins: Vec<&'static str>,
    /// Those that were found: how `--map` calls them, and their signals.
    pub found: Vec<(&'static str, String)>,
    /// Assignments of `--map` that name no signal or no pin.
    pub wrong: Vec<String>,
    /// Buses that there are, where another was asked for.
    pub buses: Vec<String>,
    /// Whether another was asked for.
    pub no_scope: bool,
}

/// Pins as they are, and the decoder that follows them.
pub struct Pins {
    goes: HashMap<IdCode, Vec<Goes<Pin>>>,
    levels: BTreeMap<Pin, Bits>,
    /// As they were before the present instant.
    settled: Clock,
    current: Clock,
    changed: bool,
    /// Those of [`CONTROLS`] that are neither 0 nor 1, a bit each, as they are and as they were.
    unknown: (u8, u8),
    /// In how many clocks each of [`CONTROLS`] was neither, since it was the one or the other first.
    unknown_clocks: [u64; CONTROLS.len()],
    heard: u8,
    clk: bool,
    edge_ps: Option<u64>,
    now_ps: u64,
    /// The initiators, by number among the grants.
    pub initiators: Vec<String>,
    /// The scope of the bus.
    pub scope: String,
    /// Other buses of the capture, as a choice calls them.
    pub others: Vec<String>,
    /// Pins that are not there and would have been looked at.
    pub without: Vec<&'static str>,
    /// What it makes of them.
    pub decoder: Decoder,
    /// What it would make of them if the bus spoke PCI-X, until it is known that it does not.
    otherwise: Option<Decoder>,
    /// Time between rising edges: the shortest and the sum, and how many there were.
    pub period_ps: (u64, u64, u64),
}

impl Pins {
    /// Finds the bus. `maps` says where pins are that go by other names: `frame=top.u1.FRAMEn`.
    ///
    /// Of several buses it is the likeliest, or the one in `scope`.
    pub fn find(signals: &[Signal], maps: &[(String, String)], scope: Option<&str>) -> Result<Pins, Missing> {
        let mut buses = buses(signals);
        let all: Vec<String> = buses.iter().map(|bus| bus.path()).collect();
        let number = match scope {
            None => 0,
            Some(path) => {
                let found = all.iter().position(|of| of == path);
                found.ok_or_else(|| Missing { buses: all.clone(), no_scope: true, ..Missing::default() })?
            }
        };
        let (scope, before, mut chosen) = match buses.get_mut(number) {
            Some(bus) => (bus.scope, bus.before.clone(), std::mem::take(&mut bus.pins)),
            None => ("", String::new(), Vec::new()),
        };
        let mut wrong = Vec::new();
        for (name, path) in maps {
            let known = NAMES.iter().find(|(_, names, _)| names.contains(&name.to_ascii_lowercase().as_str()));
            let pin = known.map(|(pin, ..)| *pin);
            let found: Vec<&Signal> =
                signals.iter().filter(|signal| signal.path() == *path || signal.full_name() == *path).collect();
            match pin {
                Some(pin) if !found.is_empty() => {
                    chosen.retain(|(known, _)| *known != pin);
                    chosen.extend(found.into_iter().map(|signal| (pin, signal)));
                }
                _ => wrong.push(format!("{name}={path}")),
            }
        }
        let has = |pin: Pin| chosen.iter().any(|(known, _)| *known == pin);
        let pins = NAMES.iter().filter(|(pin, _, needed)| *needed && !has(*pin)).map(|(_, names, _)| names[0]);
        let pins: Vec<&'static str> = pins.collect();
        if !pins.is_empty() || !wrong.is_empty() {
            let name = |pin: Pin| NAMES.iter().find(|known| known.0 == pin).map_or("", |known| known.1[0]);
            let found = chosen.iter().map(|(pin, signal)| (name(*pin), signal.path())).collect();
            return Err(Missing { pins, found, wrong, buses: Vec::new(), no_scope: false });
        }
        let mut goes: HashMap<IdCode, Vec<Goes<Pin>>> = HashMap::new();
        for (pin, signal) in &chosen {
            let (to, bits) = (signal.lowest(), signal.bits);
            goes.entry(signal.code).or_default().push(Goes { pin: *pin, from: 0, to, bits });
        }
        let mut initiators = Vec::new();
        for signal in signals.iter().filter(|signal| *signal.scope == *scope) {
            let Some((bus, name)) = granted(&signal.name) else { continue };
            if bus.is_some_and(|bus| bus != before) {
                continue;
            }
            let low = signal.index.map_or(0, |(high, low)| high.min(low));
            for bit in 0..signal.bits.min(GRANTS_MAX as u32) {
                if initiators.len() == GRANTS_MAX {
                    break;
                }
                let one = signal.bits == 1 && signal.index.is_none();
                initiators.push(if one { name.clone() } else { format!("{name}{}", low + bit as i32) });
                let grant = Goes { pin: Pin::Grant(initiators.len() as u8 - 1), from: bit, to: 0, bits: 1 };
                goes.entry(signal.code).or_default().push(grant);
            }
        }
        let high = |(pin, signal): &(Pin, &Signal)| {
            *pin == Pin::Ad
                && signal.bits.max(signal.index.map_or(0, |(high, low)| high.max(low).max(0) as u32 + 1)) > 32
        };
        let wide = chosen.iter().any(high);
        let looked_at = |pin: Pin| wide || !matches!(pin, Pin::Req64 | Pin::Ack64);
        let without = NAMES.iter().filter(|(pin, _, needed)| !*needed && !has(*pin) && looked_at(*pin));
        let without = without.map(|(_, names, _)| names[0]);
        let mut without: Vec<&'static str> = without.collect();
        if initiators.is_empty() {
            without.push("gnt");
        }
        Ok(Pins {
            goes,
            levels: BTreeMap::new(),
            settled: Clock::default(),
            current: Clock::default(),
            changed: false,
            unknown: (0, 0),
            unknown_clocks: [0; CONTROLS.len()],
            heard: 0,
            clk: false,
            edge_ps: None,
            now_ps: 0,
            initiators,
            scope: within(scope, &before),
            others: all.into_iter().enumerate().filter(|(index, _)| *index != number).map(|(_, path)| path).collect(),
            without,
            decoder: Decoder::default(),
            otherwise: Some(Decoder::of_pci_x()),
            period_ps: (u64::MAX, 0, 0),
        })
    }

    /// The name of an initiator by its number; nothing where there is no such grant.
    pub fn initiator(&self, number: Option<usize>) -> Option<&str> {
        number.and_then(|number| self.initiators.get(number)).map(|name| &name[..])
    }

    /// The signals that it looks at.
    pub fn codes(&self) -> impl Iterator<Item = IdCode> {
        self.goes.keys().copied()
    }

    /// Pins that were neither 0 nor 1 after they had been, and in how many clocks: they are read as not asserted there.
    pub fn unknown_clocks(&self) -> impl Iterator<Item = (&'static str, u64)> {
        CONTROLS.iter().map(|(_, name)| *name).zip(self.unknown_clocks).filter(|(_, clocks)| *clocks > 0)
    }

    /// What comes next in the capture.
    #[inline]
    pub fn follow(&mut self, next: Next) {
        match next {
            Next::Time(at_ps) => self.time(at_ps),
            Next::Change(code, bits) => self.change(code, bits),
        }
    }

    /// Follows a capture to its end, or to where it is broken.
    pub fn follow_all(&mut self, mut capture: impl Iterator<Item = Result<Next, Broken>>) -> Result<(), Broken> {
        let read = capture.try_for_each(|next| next.map(|next| self.follow(next)));
        self.finish();
        read
    }

    /// So many transactions are kept at most; all are added up.
    pub fn list(&mut self, most: usize) {
        self.decoder.listed_max = Some(most);
        if let Some(otherwise) = &mut self.otherwise {
            otherwise.listed_max = Some(most);
        }
    }

    /// What transactions add up to is kept over time, too.
    pub fn watch(&mut self) {
        self.decoder.watch();
        self.otherwise.iter_mut().for_each(Decoder::watch);
    }

    /// The capture has ended.
    pub fn finish(&mut self) {
        self.decide();
        self.decoder.finish();
    }

    /// Which protocol the bus speaks, as far as it has been heard.
    fn decide(&mut self) {
        let (begun, early) = self.decoder.begun;
        if let Some(otherwise) = self.otherwise.take().filter(|_| begun > 0 && early * 4 < begun) {
            self.decoder = otherwise;
        }
    }

    fn time(&mut self, at_ps: u64) {
        if std::mem::take(&mut self.changed) {
            self.current = self.sampled();
            self.unknown.0 = self.now_unknown();
        }
        if self.otherwise.is_some() && self.decoder.begun.0 >= HEARD {
            self.decide();
        }
        self.settled = self.current;
        self.unknown.1 = self.unknown.0;
        self.now_ps = at_ps;
    }

    #[inline]
    fn change(&mut self, code: IdCode, bits: Bits) {
        let Some(goes) = self.goes.get(&code) else { return };
        for of in goes {
            if of.pin == Pin::Clk {
                let high = bits.value & bits.known & 1 == 1;
                if high && !self.clk {
                    let now = self.now_ps;
                    if let Some(before) = self.edge_ps.replace(now) {
                        let span = now - before;
                        let (shortest, sum, count) = self.period_ps;
                        self.period_ps = (shortest.min(span), sum + span, count + 1);
                        if self.unknown.1 != 0 {
                            let counts = self.unknown_clocks.iter_mut().enumerate();
                            counts.for_each(|(place, count)| *count += u64::from(self.unknown.1 >> place & 1));
                        }
                        self.decoder.clock(before, now, &self.settled);
                        if let Some(otherwise) = &mut self.otherwise {
                            otherwise.clock(before, now, &self.settled);
                        }
                    }
                }
                self.clk = high;
                continue;
            }
            self.changed = true;
            self.levels.entry(of.pin).or_default().take_over(bits, of);
        }
    }

    /// Which of [`CONTROLS`] are neither 0 nor 1, of those that have been.
    fn now_unknown(&mut self) -> u8 {
        let known = |(pin, _): &(Pin, &str)| self.levels.get(pin).is_some_and(|bits| bits.known & 1 == 1);
        let known = CONTROLS.iter().enumerate().fold(0, |all, (place, pin)| all | u8::from(known(pin)) << place);
        self.heard |= known;
        self.heard & !known
    }

    fn sampled(&self) -> Clock {
        let level = |pin: Pin| self.levels.get(&pin).copied().unwrap_or_default();
        let asserted = |pin: Pin| level(pin).known & !level(pin).value & 1 == 1;
        let (ad, cbe, par) = (level(Pin::Ad), level(Pin::Cbe), level(Pin::Par));
        let driven = |bits: Bits, mask: u64| (bits.known & mask == mask).then_some(bits.value & mask);
        let grants = (0..self.initiators.len()).filter(|number| asserted(Pin::Grant(*number as u8)));
        Clock {
            frame: asserted(Pin::Frame),
            irdy: asserted(Pin::Irdy),
            trdy: asserted(Pin::Trdy),
            devsel: asserted(Pin::Devsel),
            stop: asserted(Pin::Stop),
            ad: driven(ad, u64::MAX).or_else(|| driven(ad, 0xffff_ffff)),
            cbe: driven(cbe, 0xff).or_else(|| driven(cbe, 0xf)).map(|cbe| cbe as u8),
            par: driven(par, 1).map(|par| par == 1),
            req64: asserted(Pin::Req64),
            ack64: asserted(Pin::Ack64),
            grants: grants.fold(0, |all, number| all | 1 << number),
        }
    }
}
