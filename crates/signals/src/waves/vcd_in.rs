//! Reads value change dumps, a change at a time. IEEE 1364-2005, 18.2.

use std::io::{self, BufRead};

use vcd::{Command, IdCode, ParseError, Parser, ReferenceIndex, TimescaleUnit, Value};

/// Scopes within each other, at most.
const DEPTH_MAX: usize = 256;
/// Signals of a file, at most.
const SIGNALS_MAX: usize = 4_000_000;
/// Bits of a signal that are looked at.
const BITS_MAX: u32 = 64;

/// A signal of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Its scopes, with dots between.
    pub scope: String,
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
        if self.scope.is_empty() { self.name.clone() + &index } else { format!("{}.{}{index}", self.scope, self.name) }
    }
}

/// What a signal carries: a one in `known` for each bit that is 0 or 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    /// The bits; zero where they are not known.
    pub value: u64,
    /// Which are known.
    pub known: u64,
}

/// What comes next in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Time goes on to this, in picoseconds.
    Time(u64),
    /// A signal changes.
    Change(IdCode, Bits),
}

/// Why a file cannot be read any further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong.
    pub what: String,
    /// Whether the file just ends.
    pub cut: bool,
}

/// A file that is being read.
pub struct VcdReader<R> {
    parser: Parser<R>,
    /// Femtoseconds of a unit of time.
    unit_fs: u64,
    now: Option<u64>,
}

fn unit_fs(count: u32, unit: TimescaleUnit) -> u64 {
    // All units from the second down are divisors of it.
    u64::from(count).saturating_mul(1_000_000_000_000_000 / unit.divisor())
}

impl<R: BufRead> VcdReader<R> {
    /// Reads what a file declares: its signals.
    pub fn new(reader: R) -> Result<(VcdReader<R>, Vec<Signal>), Broken> {
        let mut this = VcdReader { parser: Parser::new(reader), unit_fs: 1_000_000, now: None };
        let (mut signals, mut scopes): (Vec<Signal>, Vec<String>) = (Vec::new(), Vec::new());
        loop {
            match this.command()? {
                None => return Err(this.cut("the file ends before $enddefinitions")),
                Some(Command::Enddefinitions) => return Ok((this, signals)),
                Some(Command::Timescale(count, unit)) => this.unit_fs = unit_fs(count, unit).max(1),
                Some(Command::ScopeDef(_, name)) => {
                    scopes.push(name);
                    if scopes.len() > DEPTH_MAX {
                        return Err(this.broken(format!("more than {DEPTH_MAX} scopes within each other")));
                    }
                }
                Some(Command::Upscope) => drop(scopes.pop()),
                Some(Command::VarDef(_, bits, code, reference, index)) => {
                    if signals.len() >= SIGNALS_MAX {
                        return Err(this.broken(format!("more than {SIGNALS_MAX} signals")));
                    }
                    let (name, within) = indexed(&reference);
                    let index = match index {
                        Some(ReferenceIndex::BitSelect(bit)) => Some((bit, bit)),
                        Some(ReferenceIndex::Range(high, low)) => Some((high, low)),
                        None => within,
                    };
                    signals.push(Signal { scope: scopes.join("."), name: name.to_string(), bits, index, code });
                }
                Some(_) => {}
            }
        }
    }

    fn broken(&self, what: String) -> Broken {
        Broken { line: self.parser.line(), what, cut: false }
    }

    fn cut(&self, what: &str) -> Broken {
        Broken { line: self.parser.line(), what: what.to_string(), cut: true }
    }

    fn command(&mut self) -> Result<Option<Command>, Broken> {
        match self.parser.next() {
            None => Ok(None),
            Some(Ok(command)) => Ok(Some(command)),
            Some(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.cut("the file ends in a word"))
            }
            Some(Err(error)) => {
                let known = error.get_ref().and_then(|inner| inner.downcast_ref::<ParseError>());
                let what = known.map_or_else(|| error.to_string(), |known| known.kind().to_string());
                Err(Broken { line: known.map_or(self.parser.line(), ParseError::line), what, cut: false })
            }
        }
    }

    /// The line that has been come to, from 1.
    pub fn line(&self) -> u64 {
        self.parser.line()
    }

    fn time(&mut self, at: u64) -> Result<Next, Broken> {
        let at_ps = u128::from(at) * u128::from(self.unit_fs) / 1_000;
        let at_ps = u64::try_from(at_ps).map_err(|_| self.broken(format!("time {at} is beyond 213 days")))?;
        if self.now.is_some_and(|now| at_ps < now) {
            return Err(self.broken(format!("time goes back to {at}")));
        }
        self.now = Some(at_ps);
        Ok(Next::Time(at_ps))
    }
}

impl<R: BufRead> Iterator for VcdReader<R> {
    type Item = Result<Next, Broken>;

    fn next(&mut self) -> Option<Result<Next, Broken>> {
        loop {
            return Some(match self.command() {
                Err(broken) => Err(broken),
                Ok(None) => return None,
                Ok(Some(Command::Timestamp(at))) => self.time(at),
                Ok(Some(Command::ChangeScalar(code, value))) => Ok(Next::Change(code, bits([value].into_iter(), 1))),
                Ok(Some(Command::ChangeVector(code, vector))) => {
                    let skip = vector.len().saturating_sub(BITS_MAX as usize);
                    let length = (vector.len() - skip) as u32;
                    Ok(Next::Change(code, bits(vector.iter().skip(skip), length)))
                }
                Ok(Some(_)) => continue,
            });
        }
    }
}

/// A value with its highest bit first. Where that is 0 or 1, bits that are not written are 0.
fn bits(values: impl Iterator<Item = Value>, length: u32) -> Bits {
    let (mut value, mut known, mut extended) = (0u64, 0u64, None);
    for bit in values {
        let (is_one, is_known) = match bit {
            Value::V0 => (false, true),
            Value::V1 => (true, true),
            Value::X | Value::Z => (false, false),
        };
        extended.get_or_insert(is_known);
        value = value << 1 | u64::from(is_one);
        known = known << 1 | u64::from(is_known);
    }
    if extended == Some(true) && length < BITS_MAX {
        known |= u64::MAX << length;
    }
    Bits { value, known }
}

/// A name that has its index with it, apart.
fn indexed(reference: &str) -> (&str, Option<(i32, i32)>) {
    let apart = || {
        let (name, index) = reference.strip_suffix(']')?.rsplit_once('[')?;
        let (high, low) = index.split_once(':').unwrap_or((index, index));
        Some((name.trim_end(), (high.trim().parse().ok()?, low.trim().parse().ok()?)))
    };
    apart().map_or((reference, None), |(name, index)| (name, Some(index)))
}
