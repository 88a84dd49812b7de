//! Finds cables among the signals of a capture, and follows their pins.
//!
//! Names are compared without case and without what marks a signal as low when asserted. A cable's signals lie in one
//! scope; a prefix that all of them share (`ide_`, `ata_`, `primary_`) is part of the scope.

use std::collections::{BTreeMap, HashMap};

use super::decode::{Decoder, Levels};
use crate::waves::read::{Bits, Goes, IdCode, Next, Signal, within};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pin {
    /// CS0-, CS1-: both, the former in bit 0.
    Cs,
    Da,
    Dd,
    Diow,
    Dior,
    Iordy,
    Dmarq,
    Dmack,
    Intrq,
}

/// A pin, the names it goes by, and the bit that a signal of such a name begins at.
type Named = (Pin, &'static [(&'static str, u32)]);

const NAMES: [Named; 9] = [
    (Pin::Cs, &[("cs", 0), ("cs0", 0), ("cs1", 1), ("cs1fx", 0), ("cs3fx", 1)]),
    (Pin::Da, &[("da", 0), ("da0", 0), ("da1", 1), ("da2", 2)]),
    (Pin::Dd, &[("dd", 0)]),
    (Pin::Diow, &[("diow", 0), ("iow", 0)]),
    (Pin::Dior, &[("dior", 0), ("ior", 0)]),
    (Pin::Iordy, &[("iordy", 0), ("iochrdy", 0)]),
    (Pin::Dmarq, &[("dmarq", 0), ("dmareq", 0)]),
    (Pin::Dmack, &[("dmack", 0)]),
    (Pin::Intrq, &[("intrq", 0), ("irq", 0)]),
];

/// Without one of these a scope is no cable: others have chip selects and data, too.
const TELLING: [Pin; 3] = [Pin::Diow, Pin::Dior, Pin::Dd];

fn plain(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let marks = |name: &str| -> Option<usize> {
        ["_pad", "_n_i", "_n_o", "_in", "_out", "_n", "_l", "_b", "#", "-", "n"]
            .iter()
            .find_map(|mark| name.strip_suffix(mark).map(str::len))
    };
    let known = |name: &str| NAMES.iter().any(|(_, names)| names.iter().any(|(known, _)| name.ends_with(known)));
    let mut name = &lower[..];
    while !known(name) {
        match marks(name) {
            Some(shorter) => name = &name[..shorter],
            None => break,
        }
    }
    name.to_string()
}

/// The pin, the bit that the signal begins at, and what stands before its name.
fn pin_of(name: &str) -> Option<(Pin, u32, String)> {
    let plain = plain(name);
    let named = |(pin, names): &Named| {
        let (known, bit) = names.iter().find(|(known, _)| {
            plain.strip_suffix(known).is_some_and(|before| before.is_empty() || before.ends_with('_'))
        })?;
        Some((*pin, *bit, plain[..plain.len() - known.len()].to_string()))
    };
    NAMES.iter().find_map(named)
}

/// A signal that is a pin, and the bit that it begins at.
type Found<'a> = (Pin, u32, &'a Signal);

/// The pins of a cable as they are, and the decoder that follows them.
pub struct Pins {
    goes: HashMap<IdCode, Vec<Goes<Pin>>>,
    levels: BTreeMap<Pin, Bits>,
    changed: bool,
    now_ps: u64,
    /// The scope, and a prefix of all names.
    pub scope: String,
    /// Pins that are not there and would have been looked at.
    pub without: Vec<&'static str>,
    /// What it makes of them.
    pub decoder: Decoder,
}

impl Pins {
    /// Every cable of a capture, in order of their scopes.
    pub fn find_all(signals: &[Signal]) -> Vec<Pins> {
        let mut cables: BTreeMap<(&str, String), Vec<Found<'_>>> = BTreeMap::new();
        for signal in signals {
            if let Some((pin, bit, before)) = pin_of(&signal.name) {
                cables.entry((&signal.scope, before)).or_default().push((pin, bit, signal));
            }
        }
        let has = |of: &[Found<'_>], pin: Pin| of.iter().any(|(known, ..)| *known == pin);
        cables.retain(|_, of| {
            TELLING.iter().all(|pin| has(of, *pin)) && (has(of, Pin::Dmack) || (has(of, Pin::Cs) && has(of, Pin::Da)))
        });
        let cable = |((scope, before), of): ((&str, String), Vec<Found<'_>>)| {
            let mut goes: HashMap<IdCode, Vec<Goes<Pin>>> = HashMap::new();
            for (pin, bit, signal) in &of {
                let (to, bits) = (bit + signal.lowest(), signal.bits);
                goes.entry(signal.code).or_default().push(Goes { pin: *pin, from: 0, to, bits });
            }
            let missing = NAMES.iter().filter(|(pin, ..)| !has(&of, *pin)).map(|(_, names)| names[0].0);
            Pins {
                goes,
                levels: BTreeMap::new(),
                changed: false,
                now_ps: 0,
                scope: within(scope, before.trim_end_matches('_')),
                without: missing.collect(),
                decoder: Decoder::default(),
            }
        };
        cables.into_iter().map(cable).collect()
    }

    /// The signals that it looks at.
    pub fn codes(&self) -> impl Iterator<Item = IdCode> {
        self.goes.keys().copied()
    }

    /// What comes next in the capture.
    #[inline]
    pub fn follow(&mut self, next: Next) {
        match next {
            Next::Time(at_ps) => {
                self.settle();
                self.now_ps = at_ps;
            }
            Next::Change(code, bits) => self.change(code, bits),
        }
    }

    /// The capture has ended.
    pub fn finish(&mut self) {
        self.settle();
        self.decoder.finish();
    }

    /// What has changed at an instant holds from then on. Before DMACK- is known, nobody knows whether a burst is under
    /// way.
    fn settle(&mut self) {
        let is_known = self.levels.get(&Pin::Dmack).is_none_or(|level| level.known & 1 == 1);
        if std::mem::take(&mut self.changed) && is_known {
            let levels = self.levels();
            self.decoder.follow(self.now_ps, levels);
        }
    }

    #[inline]
    fn change(&mut self, code: IdCode, bits: Bits) {
        let Some(goes) = self.goes.get(&code) else { return };
        for of in goes {
            self.levels.entry(of.pin).or_default().take_over(bits, of);
            self.changed = true;
        }
    }

    fn levels(&self) -> Levels {
        let rest = Levels::default();
        let level = |pin: Pin| self.levels.get(&pin).copied().unwrap_or_default();
        let is = |pin: Pin, rest: bool| if level(pin).known & 1 == 1 { level(pin).value & 1 == 1 } else { rest };
        let (cs, da, dd) = (level(Pin::Cs), level(Pin::Da), level(Pin::Dd));
        Levels {
            cs: (cs.value | !cs.known) as u8 & 0b11,
            da: da.value as u8 & 7,
            dd: (dd.known & 0xffff == 0xffff).then_some(dd.value as u16),
            dd_low: (dd.known & 0xff == 0xff).then_some(dd.value as u8),
            diow: is(Pin::Diow, rest.diow),
            dior: is(Pin::Dior, rest.dior),
            iordy: is(Pin::Iordy, rest.iordy),
            dmarq: is(Pin::Dmarq, rest.dmarq),
            dmack: is(Pin::Dmack, rest.dmack),
            intrq: is(Pin::Intrq, rest.intrq),
        }
    }
}
