//! Names of pins: which signals of a capture are a bus, and how many buses there are.
//!
//! Names are compared without case, without `pci`, and without what marks a signal as low when asserted or says which
//! way it goes: `FRAME#`, `frame_n`, `PCI_FRAMEn`, `i_frame_l` are one. What else stands before belongs to the bus: in one
//! scope `p_frame_n` and `s_frame_n` are two.

use std::collections::{BTreeMap, HashSet};

use crate::waves::read::{IdCode, Signal, within};

/// A pin or a group of pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pin {
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
pub(super) const NAMES: [(Pin, &[&str], bool); 11] = [
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

/// What may stand behind the name of a pin.
const BEHIND: [&str; 11] = ["", "_n", "n", "_l", "_b", "_i", "_in", "_pad", "_n_i", "_bus", "#"];

/// A signal as a pin: which, what of its name belongs to the bus, and what stands behind.
struct Named {
    pin: Pin,
    before: String,
    behind: &'static str,
}

/// What of the beginning of a name belongs to the bus.
fn of_bus(before: &str) -> Option<String> {
    let parts = before.strip_suffix('_').or((before.is_empty() || before == "pci").then_some(before))?;
    let telling = parts.split('_').filter(|part| !matches!(*part, "" | "pci" | "i" | "o" | "io"));
    Some(telling.collect::<Vec<_>>().join("_"))
}

fn named(name: &str) -> Option<Named> {
    let lower = name.to_ascii_lowercase();
    let as_known = |pin: Pin, known: &str, behind: &'static str| {
        let before = lower.strip_suffix(behind)?.strip_suffix(known)?;
        Some(Named { pin, before: of_bus(before)?, behind })
    };
    NAMES.iter().find_map(|(pin, names, _)| {
        names.iter().find_map(|known| BEHIND.iter().find_map(|behind| as_known(*pin, known, behind)))
    })
}

/// Whose GNT# a signal is: what stands behind the mark, a number, or what stands before. And what of the name belongs
/// to the bus, where that is told.
pub(super) fn granted(name: &str) -> Option<(Option<String>, String)> {
    let lower = name.to_ascii_lowercase();
    let (name, behind) = lower.split_once('#').map_or((&lower[..], ""), |(name, rest)| (name, rest));
    let (before, rest) = name.rsplit_once("gnt").or_else(|| name.rsplit_once("grant"))?;
    let before = of_bus(before)?;
    let behind = behind.trim_start_matches('_');
    if !behind.is_empty() {
        return Some((Some(before), behind.to_string()));
    }
    let rest = rest.trim_start_matches('_');
    let number = BEHIND.iter().find_map(|behind| {
        let number = rest.strip_suffix(behind)?;
        number.chars().all(|c| c.is_ascii_digit()).then_some(number)
    })?;
    if number.is_empty() && !before.is_empty() {
        Some((None, before))
    } else {
        Some((Some(before), number.to_string()))
    }
}

/// A bus as its names show it.
#[derive(Clone)]
pub(super) struct Found<'a> {
    /// Its scope, and what its names have in common.
    pub scope: &'a str,
    /// See `scope`.
    pub before: String,
    /// Its pins.
    pub pins: Vec<(Pin, &'a Signal)>,
}

impl Found<'_> {
    /// As a choice calls it.
    pub(super) fn path(&self) -> String {
        within(self.scope, &self.before)
    }

    fn kinds(&self) -> usize {
        let mut pins: Vec<Pin> = self.pins.iter().map(|(pin, _)| *pin).collect();
        pins.sort_unstable();
        pins.dedup();
        pins.len()
    }

    pub(super) fn has(&self, pin: Pin) -> bool {
        self.pins.iter().any(|(known, _)| *known == pin)
    }

    fn is_whole(&self) -> bool {
        NAMES.iter().all(|(pin, _, needed)| !needed || *pin == Pin::Clk || self.has(*pin))
    }

    fn code(&self, of: Pin) -> Option<IdCode> {
        self.pins.iter().find(|(pin, _)| *pin == of).map(|(_, signal)| signal.code)
    }
}

/// The buses of a capture, the likeliest first: each once, in the outermost scope that all of it is seen in. Where none is
/// whole, the one of which most is there.
pub(super) fn buses(signals: &[Signal]) -> Vec<Found<'_>> {
    let mut groups: BTreeMap<(&str, String), Vec<(Named, &Signal)>> = BTreeMap::new();
    for signal in signals {
        if let Some(named) = named(&signal.name) {
            groups.entry((&signal.scope, named.before.clone())).or_default().push((named, signal));
        }
    }
    let clocks: Vec<&Signal> = groups
        .values()
        .flatten()
        .filter(|(named, signal)| named.pin == Pin::Clk && signal.bits == 1)
        .map(|(_, signal)| *signal)
        .collect();
    let mut all: Vec<Found<'_>> =
        groups.into_iter().map(|((scope, before), named)| Found { scope, before, pins: alike(named) }).collect();
    for bus in all.iter_mut().filter(|bus| !bus.has(Pin::Clk)) {
        // A clock often lies outside, or goes by a name that is not of one bus alone: the nearest one.
        let near = |signal: &&&Signal| {
            let shared = signal.scope.split('.').zip(bus.scope.split('.')).take_while(|(one, other)| one == other);
            (shared.count(), std::cmp::Reverse((signal.scope.len(), signal.name.len())))
        };
        let clock = clocks.iter().max_by_key(near);
        bus.pins.extend(clock.map(|clock| (Pin::Clk, *clock)));
    }
    all.sort_by_key(|bus| (std::cmp::Reverse(bus.kinds()), bus.scope.len(), bus.before.len()));
    if !all.first().is_some_and(Found::is_whole) {
        all.truncate(1);
        return all;
    }
    let mut seen = HashSet::new();
    all.retain(|bus| bus.is_whole() && seen.insert((bus.code(Pin::Frame), bus.code(Pin::Irdy))));
    all
}

/// Of several signals for a pin those that are spelt as most of the bus is.
fn alike(named: Vec<(Named, &Signal)>) -> Vec<(Pin, &Signal)> {
    let mut spelt: BTreeMap<&str, usize> = BTreeMap::new();
    for (named, _) in &named {
        *spelt.entry(named.behind).or_default() += 1;
    }
    let likeliest = |pin: Pin| {
        let of_pin = named.iter().filter(|(named, _)| named.pin == pin);
        of_pin.map(|(named, _)| named.behind).max_by_key(|behind| (spelt[behind], behind.len()))
    };
    named.iter().filter(|(of, _)| likeliest(of.pin) == Some(of.behind)).map(|(of, signal)| (of.pin, *signal)).collect()
}
