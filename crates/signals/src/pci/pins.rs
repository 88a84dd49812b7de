//! Finds a bus among the signals of a capture, and follows its pins.
//!
//! Names are compared without case, prefix `pci` and what marks a signal as low when asserted: `FRAME#`, `frame_n`,
//! `PCI_FRAMEn`, `frame_l` are one. A bus may be one vector or a signal a bit.

use std::collections::{BTreeMap, HashMap};

use super::Clock;
use super::decode::Decoder;
use crate::waves::read::{Bits, Broken, Next, Signal};
use vcd::IdCode;

/// A pin or a group of pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pin {
    Clk,
    Frame,
    Irdy,
    Trdy,
    Devsel,
    Stop,
    Ad,
    Cbe,
    Par,
    Req64,
    Ack64,
    /// GNT# of an initiator, by number.
    Grant(u8),
}

/// Pins, the names they go by, and whether nothing can be decoded without.
const NAMES: [(Pin, &[&str], bool); 11] = [
    (Pin::Clk, &["clk", "clock", "pclk"], true),
    (Pin::Frame, &["frame"], true),
    (Pin::Irdy, &["irdy"], true),
    (Pin::Trdy, &["trdy"], true),
    (Pin::Devsel, &["devsel"], true),
    (Pin::Stop, &["stop"], true),
    (Pin::Ad, &["ad"], true),
    (Pin::Cbe, &["cbe", "c/be", "c_be", "cxbe"], true),
    (Pin::Par, &["par"], false),
    (Pin::Req64, &["req64"], false),
    (Pin::Ack64, &["ack64"], false),
];

/// Transactions by which it is known whether a bus speaks PCI-X.
const HEARD: u64 = 64;

const GRANTS_MAX: usize = 64;

/// A name as it is compared, and what stands behind the mark of a signal that is low.
fn plain(name: &str) -> (String, String) {
    let lower = name.to_ascii_lowercase();
    let name = lower.strip_prefix("pci").map_or(&lower[..], |rest| rest.trim_start_matches('_'));
    let (name, behind) = name.split_once('#').map_or((name, ""), |(name, rest)| (name, rest));
    (name.to_string(), behind.trim_start_matches('_').to_string())
}

fn is(name: &str, known: &str) -> bool {
    let rest = name.strip_prefix(known);
    rest.is_some_and(|rest| matches!(rest, "" | "_n" | "n" | "_l" | "_b" | "_i" | "_in" | "_pad" | "_n_i" | "_bus"))
}

fn pin_of(name: &str) -> Option<Pin> {
    let (plain, _) = plain(name);
    let named = |(_, names, _): &&(Pin, &[&str], bool)| names.iter().any(|known| is(&plain, known));
    NAMES.iter().find(named).map(|(pin, ..)| *pin)
}

/// What of an initiator's name a grant has: its number, or what is behind.
fn granted(name: &str) -> Option<String> {
    let (plain, behind) = plain(name);
    let rest = plain.strip_prefix("gnt").or_else(|| plain.strip_prefix("grant"))?;
    if !behind.is_empty() {
        return Some(behind);
    }
    let rest = rest.trim_start_matches('_');
    let number = rest.trim_end_matches("_n").trim_end_matches('n').trim_end_matches('_');
    number.chars().all(|c| c.is_ascii_digit()).then(|| number.to_string())
}

/// Where the bits of a signal go.
#[derive(Clone, Copy)]
struct Goes {
    pin: Pin,
    shift: u32,
    bits: u32,
}

/// What is missing to decode a bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Pins that were not found, as `--map` calls them.
    pub pins: Vec<&'static str>,
    /// Those that were found: how `--map` calls them, and their signals.
    pub found: Vec<(&'static str, String)>,
    /// Assignments of `--map` that name no signal or no pin.
    pub wrong: Vec<String>,
}

/// Pins as they are, and the decoder that follows them.
pub struct Pins {
    goes: HashMap<IdCode, Vec<Goes>>,
    levels: BTreeMap<Pin, Bits>,
    /// As they were before the present instant.
    settled: Clock,
    current: Clock,
    changed: bool,
    clk: bool,
    edge_ps: Option<u64>,
    now_ps: u64,
    /// The initiators, by number among the grants.
    pub initiators: Vec<String>,
    /// The scope of the bus.
    pub scope: String,
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
    pub fn find(signals: &[Signal], maps: &[(String, String)]) -> Result<Pins, Missing> {
        let mut by_scope: BTreeMap<&str, Vec<(Pin, &Signal)>> = BTreeMap::new();
        for signal in signals {
            if let Some(pin) = pin_of(&signal.name) {
                by_scope.entry(&signal.scope).or_default().push((pin, signal));
            }
        }
        let kinds = |of: &[(Pin, &Signal)]| {
            let mut pins: Vec<Pin> = of.iter().map(|(pin, _)| *pin).collect();
            pins.sort_unstable();
            pins.dedup();
            pins.len()
        };
        let best = by_scope.iter().max_by_key(|(scope, of)| (kinds(of), std::cmp::Reverse(scope.len())));
        let scope = best.map_or(String::new(), |(scope, _)| scope.to_string());
        let mut chosen: Vec<(Pin, &Signal)> = best.map_or(Vec::new(), |(_, of)| of.clone());
        // A clock often lies outside.
        if !chosen.iter().any(|(pin, _)| *pin == Pin::Clk) {
            chosen.extend(by_scope.values().flatten().find(|(pin, _)| *pin == Pin::Clk).copied());
        }
        let mut wrong = Vec::new();
        for (name, path) in maps {
            let known = NAMES.iter().find(|(_, names, _)| names.contains(&name.to_ascii_lowercase().as_str()));
            let pin = known.map(|(pin, ..)| *pin);
            let found: Vec<&Signal> =
                signals.iter().filter(|signal| signal.path() == *path || full_name(signal) == *path).collect();
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
            return Err(Missing { pins, found, wrong });
        }
        let mut goes: HashMap<IdCode, Vec<Goes>> = HashMap::new();
        for (pin, signal) in &chosen {
            let low = signal.index.map_or(0, |(high, low)| high.min(low)).max(0) as u32;
            goes.entry(signal.code).or_default().push(Goes { pin: *pin, shift: low, bits: signal.bits });
        }
        let mut initiators = Vec::new();
        for signal in signals.iter().filter(|signal| *signal.scope == *scope) {
            let Some(name) = granted(&signal.name) else { continue };
            let low = signal.index.map_or(0, |(high, low)| high.min(low));
            for bit in 0..signal.bits.min(GRANTS_MAX as u32) {
                if initiators.len() == GRANTS_MAX {
                    break;
                }
                let one = signal.bits == 1 && signal.index.is_none();
                initiators.push(if one { name.clone() } else { format!("{name}{}", low + bit as i32) });
                let grant = Goes { pin: Pin::Grant(initiators.len() as u8 - 1), shift: bit, bits: signal.bits };
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
            clk: false,
            edge_ps: None,
            now_ps: 0,
            initiators,
            scope,
            without,
            decoder: Decoder::default(),
            otherwise: Some(Decoder::of_pci_x()),
            period_ps: (u64::MAX, 0, 0),
        })
    }

    /// The signals that it looks at.
    pub fn codes(&self) -> impl Iterator<Item = IdCode> {
        self.goes.keys().copied()
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
        }
        if self.otherwise.is_some() && self.decoder.begun.0 >= HEARD {
            self.decide();
        }
        self.settled = self.current;
        self.now_ps = at_ps;
    }

    #[inline]
    fn change(&mut self, code: IdCode, bits: Bits) {
        let Some(goes) = self.goes.get(&code) else { return };
        for &Goes { pin, shift, bits: width } in goes {
            if pin == Pin::Clk {
                let high = bits.value & bits.known & 1 == 1;
                if high && !self.clk {
                    let now = self.now_ps;
                    if let Some(before) = self.edge_ps.replace(now) {
                        let span = now - before;
                        let (shortest, sum, count) = self.period_ps;
                        self.period_ps = (shortest.min(span), sum + span, count + 1);
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
            if let Pin::Grant(_) = pin {
                let bit = Bits { value: bits.value >> shift & 1, known: bits.known >> shift & 1 };
                self.levels.insert(pin, bit);
                continue;
            }
            let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
            let level = self.levels.entry(pin).or_default();
            let shift = shift.min(63);
            level.value = level.value & !(mask << shift) | (bits.value & mask) << shift;
            level.known = level.known & !(mask << shift) | (bits.known & mask) << shift;
        }
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

fn full_name(signal: &Signal) -> String {
    if signal.scope.is_empty() { signal.name.clone() } else { format!("{}.{}", signal.scope, signal.name) }
}
