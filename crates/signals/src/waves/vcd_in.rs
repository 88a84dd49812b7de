//! Reads value change dumps, a change at a time. IEEE 1364-2005, 18.2.
//!
//! Simulators write more than the standard has: keywords, kinds of scopes and of variables, and levels of their own.
//! What says nothing of a wire is passed over.

use std::io::BufRead;

use super::read::{Broken, IdCode, Next, SIGNALS_MAX, Scopes, Signal, bits, indexed};
use super::words::Words;

/// Characters of what a keyword says, at most; of a comment so many are looked at.
const SAID_MAX: usize = 1 << 20;

/// A file that is being read.
pub struct VcdReader<R> {
    words: Words<R>,
    /// Femtoseconds of a unit of time.
    unit_fs: u64,
    /// Whether the file says it.
    has_unit: bool,
    now: Option<u64>,
}

/// A nanosecond: what is taken where a file does not say what its unit of time is.
const ASSUMED_FS: u64 = 1_000_000;

impl<R: BufRead> VcdReader<R> {
    /// Reads what a file declares: its signals.
    pub fn new(text: R) -> Result<(VcdReader<R>, Vec<Signal>), Broken> {
        let mut this = VcdReader { words: Words::new(text), unit_fs: ASSUMED_FS, has_unit: false, now: None };
        let (mut signals, mut scopes) = (Vec::new(), Scopes::default());
        loop {
            if !this.words.next()? {
                return Err(this.words.broken("the file ends before $enddefinitions"));
            }
            let keyword = String::from_utf8_lossy(this.words.word()).into_owned();
            if !keyword.starts_with('$') {
                return Err(this.words.broken(format!("expected a keyword such as $var, not `{}`", short(&keyword))));
            }
            if keyword == "$end" {
                continue;
            }
            let said = this.said(&keyword)?;
            match &keyword[..] {
                "$enddefinitions" => return Ok((this, signals)),
                "$timescale" => (this.unit_fs, this.has_unit) = (this.timescale(&said)?, true),
                "$scope" => {
                    // The kind, and a name.
                    let name = said.split_once(' ').map_or(&said[..], |(_, name)| name);
                    scopes.enter(name).map_err(|what| this.words.broken(what))?;
                }
                "$upscope" => scopes.leave(),
                "$var" => {
                    if signals.len() >= SIGNALS_MAX {
                        return Err(this.words.broken(format!("more than {SIGNALS_MAX} signals")));
                    }
                    signals.push(this.declared(&said, &scopes)?);
                }
                "$dumpports" | "$dumpportson" => return Err(this.words.broken(EXTENDED)),
                _ => {}
            }
        }
    }

    /// Whether the file says what its unit of time is; otherwise a nanosecond is taken.
    pub fn has_unit(&self) -> bool {
        self.has_unit
    }

    /// What stands between a keyword and its $end, with one blank between words.
    fn said(&mut self, keyword: &str) -> Result<String, Broken> {
        let mut said = Vec::new();
        loop {
            if !self.words.next()? {
                return Err(self.words.broken(format!("the file ends within {}", short(keyword))));
            }
            let word = self.words.word();
            if word == b"$end" {
                return Ok(String::from_utf8_lossy(&said).into_owned());
            }
            if said.len() < SAID_MAX {
                said.extend_from_slice(if said.is_empty() { b"" } else { b" " });
                said.extend_from_slice(word);
            }
        }
    }

    fn timescale(&self, said: &str) -> Result<u64, Broken> {
        let digits = said.len() - said.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (count, unit) = said.split_at(digits);
        let unit_fs: Option<u64> = match unit.trim() {
            "s" => Some(1_000_000_000_000_000),
            "ms" => Some(1_000_000_000_000),
            "us" => Some(1_000_000_000),
            "ns" => Some(1_000_000),
            "ps" => Some(1_000),
            "fs" => Some(1),
            _ => None,
        };
        let scale = count.parse::<u64>().ok().zip(unit_fs).and_then(|(count, unit)| count.checked_mul(unit));
        let wrong =
            || self.words.broken(format!("expected a time such as 1 ns behind $timescale, not `{}`", short(said)));
        scale.filter(|scale| *scale > 0).ok_or_else(wrong)
    }

    fn declared(&self, said: &str, scopes: &Scopes) -> Result<Signal, Broken> {
        // The kind, bits, what changes call it, and a name that may have its index behind.
        let parts = || {
            let (_, rest) = said.split_once(' ')?;
            let (bits, rest) = rest.split_once(' ')?;
            let (code, reference) = rest.split_once(' ')?;
            Some((bits.parse().ok()?, code, reference))
        };
        let expected = || self.words.broken(format!("expected `wire 1 ! name` behind $var, not `{}`", short(said)));
        let (bits, code, reference) = parts().ok_or_else(expected)?;
        let (name, index) = indexed(reference);
        Ok(Signal {
            scope: scopes.path().clone(),
            name: name.to_string(),
            bits,
            index,
            code: self.code(code.as_bytes())?,
        })
    }

    fn code(&self, written: &[u8]) -> Result<IdCode, Broken> {
        let code = std::str::from_utf8(written).ok().and_then(|code| code.parse().ok());
        let wrong = || self.words.broken(format!("`{}` names no signal", short(&String::from_utf8_lossy(written))));
        code.ok_or_else(wrong)
    }

    fn time(&mut self, written: Result<u64, String>) -> Result<Next, Broken> {
        let wrong = |what: String| Err(self.words.broken(what));
        let at = match written {
            Ok(at) => at,
            Err(other) => return wrong(format!("expected a time behind #, not `{}`", short(&other))),
        };
        let at_ps = u128::from(at) * u128::from(self.unit_fs) / 1_000;
        let Ok(at_ps) = u64::try_from(at_ps) else { return wrong(format!("time {at} is beyond 213 days")) };
        if self.now.is_some_and(|now| at_ps < now) {
            return wrong(format!("time goes back to {at}"));
        }
        self.now = Some(at_ps);
        Ok(Next::Time(at_ps))
    }

    /// The code that the next word is.
    fn next_code(&mut self) -> Result<IdCode, Broken> {
        if !self.words.next()? {
            return Err(self.words.broken("the file ends behind a value"));
        }
        self.code(self.words.word())
    }

    /// What the present word says, and words that belong to it; nothing where it says nothing of a wire.
    fn change(&mut self) -> Result<Option<Next>, Broken> {
        let word = self.words.word();
        let (first, rest) = (word[0], &word[1..]);
        match first {
            b'#' => {
                let at = number(rest).ok_or_else(|| String::from_utf8_lossy(rest).into_owned());
                self.time(at).map(Some)
            }
            b'b' | b'B' => {
                let wrong = rest.iter().find(|bit| !is_level(**bit)).copied();
                if let Some(wrong) = wrong {
                    return Err(self
                        .words
                        .broken(format!("expected a value of 0, 1, x and z, not `{}`", char::from(wrong))));
                }
                let bits = bits(rest);
                Ok(Some(Next::Change(self.next_code()?, bits)))
            }
            // A number with a fraction, or text: no wires.
            b'r' | b'R' | b's' | b'S' => self.next_code().map(|_| None),
            b'p' => Err(self.words.broken(EXTENDED)),
            b'$' => {
                let keyword = String::from_utf8_lossy(word).into_owned();
                // Values follow these as they follow a time.
                if !matches!(&keyword[..], "$dumpvars" | "$dumpall" | "$dumpon" | "$dumpoff" | "$end") {
                    self.said(&keyword)?;
                }
                Ok(None)
            }
            level if is_level(level) => {
                let bits = bits(&[level]);
                let code = if rest.is_empty() { self.next_code()? } else { self.code(rest)? };
                Ok(Some(Next::Change(code, bits)))
            }
            other => Err(self.words.broken(format!("expected a time or a value, not `{}`", char::from(other)))),
        }
    }
}

const EXTENDED: &str =
    "this is an extended value change dump ($dumpports), which is not read: $dumpvars writes one that is";

/// A level of the standard, or one that VHDL adds.
fn is_level(written: u8) -> bool {
    matches!(written.to_ascii_lowercase(), b'0' | b'1' | b'x' | b'z' | b'u' | b'w' | b'l' | b'h' | b'-')
}

fn number(written: &[u8]) -> Option<u64> {
    std::str::from_utf8(written).ok()?.parse().ok()
}

/// What of a text stands in a message.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

impl<R: BufRead> Iterator for VcdReader<R> {
    type Item = Result<Next, Broken>;

    fn next(&mut self) -> Option<Result<Next, Broken>> {
        loop {
            match self.words.next() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(broken) => return Some(Err(broken)),
            }
            if let Some(next) = self.change().transpose() {
                return Some(next);
            }
        }
    }
}
