//! What every reader of waveforms says, whatever the file.

use std::fmt;
use std::sync::Arc;

pub use vcd::IdCode;

/// Signals of a file, at most.
pub(super) const SIGNALS_MAX: usize = 4_000_000;
/// Scopes within each other, at most.
pub(super) const DEPTH_MAX: usize = 256;
/// Bits of a signal that are looked at: the lowest.
pub(super) const BITS_MAX: usize = 64;

/// A signal of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Its scopes, with dots between.
    pub scope: Arc<str>,
    /// Its name without the index.
    pub name: String,
    /// Bits.
    pub bits: u32,
    /// Its only bit or its range, the highest first, where the file says so.
    pub index: Option<(i32, i32)>,
    /// As changes call it.
    pub code: IdCode,
}

impl Signal {
    /// Scope and name.
    pub fn path(&self) -> String {
        let index = match self.index {
            Some((high, low)) if high == low => format!("[{high}]"),
            Some((high, low)) => format!("[{high}:{low}]"),
            None => String::new(),
        };
        self.full_name() + &index
    }

    /// Scope and name, without the index.
    pub(crate) fn full_name(&self) -> String {
        within(&self.scope, &self.name)
    }

    /// The lowest bit that its index names; 0 where it has none.
    pub(crate) fn lowest(&self) -> u32 {
        self.index.map_or(0, |(high, low)| high.min(low)).max(0) as u32
    }
}

/// A name in a scope, with a dot between where both are there.
pub(crate) fn within(scope: &str, name: &str) -> String {
    let dot = if scope.is_empty() || name.is_empty() { "" } else { "." };
    format!("{scope}{dot}{name}")
}

/// What a signal carries: a one in `known` for each bit that is 0 or 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    /// The bits; zero where they are not known.
    pub value: u64,
    /// Which are known.
    pub known: u64,
}

/// Where bits of a signal go: so many from one on, to a pin from one of its bits on.
#[derive(Clone, Copy)]
pub(crate) struct Goes<P> {
    pub pin: P,
    pub from: u32,
    pub to: u32,
    pub bits: u32,
}

impl Bits {
    /// Those bits of a signal go here.
    #[inline]
    pub(crate) fn take_over<P>(&mut self, signal: Bits, goes: &Goes<P>) {
        let mask = if goes.bits >= 64 { u64::MAX } else { (1 << goes.bits) - 1 };
        let to = goes.to.min(63);
        let put = |kept: u64, new: u64| kept & !(mask << to) | (new >> goes.from & mask) << to;
        (self.value, self.known) = (put(self.value, signal.value), put(self.known, signal.known));
    }
}

/// What comes next in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Time goes on to this, in picoseconds.
    Time(u64),
    /// A signal changes.
    Change(IdCode, Bits),
}

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The line of a text, from 1.
    Line(u64),
    /// The byte of a file that is no text, from 0.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(to, "line {line}"),
            Place::Byte(byte) => write!(to, "byte {byte}"),
        }
    }
}

/// Why a file cannot be read any further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Where.
    pub at: Place,
    /// What is wrong.
    pub what: String,
}

/// A value, a character a bit with the highest first. Where that is 0 or 1, bits that are not written are 0; where it
/// is not, they are not known. IEEE 1364-2005, 18.2.2. VHDL's weak 0 and weak 1, an L and an H, are what a pulled wire
/// carries. IEEE 1164.
pub(super) fn bits(written: &[u8]) -> Bits {
    let (mut value, mut known) = (0u64, 0u64);
    let lowest = &written[written.len().saturating_sub(BITS_MAX)..];
    for bit in lowest {
        let (is_one, is_known) = match bit {
            b'0' | b'l' | b'L' => (false, true),
            b'1' | b'h' | b'H' => (true, true),
            _ => (false, false),
        };
        value = value << 1 | u64::from(is_one);
        known = known << 1 | u64::from(is_known);
    }
    if lowest.len() < BITS_MAX && matches!(lowest.first(), Some(b'0' | b'1')) {
        known |= u64::MAX << lowest.len();
    }
    Bits { value, known }
}

/// A name that has its index with it, apart.
pub(super) fn indexed(reference: &str) -> (&str, Option<(i32, i32)>) {
    let apart = || {
        let (name, index) = reference.strip_suffix(']')?.rsplit_once('[')?;
        let (high, low) = index.split_once(':').unwrap_or((index, index));
        Some((name.trim_end(), (high.trim().parse().ok()?, low.trim().parse().ok()?)))
    };
    apart().map_or((reference, None), |(name, index)| (name, Some(index)))
}

/// The scopes that a declaration is in.
#[derive(Default)]
pub(super) struct Scopes {
    /// Of each the path, from the outermost on.
    paths: Vec<Arc<str>>,
    outermost: Arc<str>,
}

/// A path of scopes is no longer.
const PATH_MAX: usize = 1 << 16;

impl Scopes {
    /// A scope within the present one, or why not.
    pub(super) fn enter(&mut self, name: &str) -> Result<(), String> {
        if self.paths.len() >= DEPTH_MAX {
            return Err(format!("more than {DEPTH_MAX} scopes within each other"));
        }
        let path = within(self.path(), name);
        if path.len() > PATH_MAX {
            return Err(format!("names of scopes within each other have more than {PATH_MAX} characters"));
        }
        self.paths.push(path.into());
        Ok(())
    }

    /// Leaves the present one.
    pub(super) fn leave(&mut self) {
        self.paths.pop();
    }

    /// The path of the present one.
    pub(super) fn path(&self) -> &Arc<str> {
        self.paths.last().unwrap_or(&self.outermost)
    }
}
