//! Fields of a line, and what stands in them.

use std::ops::Range;

use hopscope_kernel::Time;

use super::lines::Wrong;

/// Fields of a line, at most; what is beyond them is one more.
pub(super) const FIELDS_MAX: usize = 12;

/// A line, cut into fields.
pub(super) struct Fields<'a> {
    pub(super) line: &'a [u8],
    spans: [(u32, u32); FIELDS_MAX],
    count: usize,
}

impl<'a> Fields<'a> {
    /// Fields between blanks.
    pub(super) fn by_blanks(line: &'a [u8]) -> Fields<'a> {
        let mut fields = Fields { line, spans: [(0, 0); FIELDS_MAX], count: 0 };
        let mut rest = line;
        loop {
            let blanks = rest.iter().position(|byte| *byte > b' ').unwrap_or(rest.len());
            rest = &rest[blanks..];
            if rest.is_empty() {
                return fields;
            }
            let start = line.len() - rest.len();
            let length = rest.iter().position(|byte| *byte <= b' ').unwrap_or(rest.len());
            fields.add(start, start + length);
            rest = &rest[length..];
        }
    }

    /// Fields between commas, without the blanks around them.
    pub(super) fn by_commas(line: &'a [u8]) -> Fields<'a> {
        let mut fields = Fields { line, spans: [(0, 0); FIELDS_MAX], count: 0 };
        let mut start = 0;
        for at in 0..=line.len() {
            if at == line.len() || line[at] == b',' {
                let (mut from, mut until) = (start, at);
                while from < until && line[from].is_ascii_whitespace() {
                    from += 1;
                }
                while from < until && line[until - 1].is_ascii_whitespace() {
                    until -= 1;
                }
                fields.add(from, until);
                start = at + 1;
            }
        }
        fields
    }

    fn add(&mut self, start: usize, end: usize) {
        if self.count < FIELDS_MAX {
            self.spans[self.count] = (start as u32, end as u32);
        }
        self.count += 1;
    }

    /// How many there are, even where not all are kept.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Where one stands; the end of the line for one that is not there.
    pub(super) fn span(&self, index: usize) -> Range<usize> {
        match self.spans.get(index) {
            Some((start, end)) if index < self.count => *start as usize..*end as usize,
            _ => self.line.len()..self.line.len(),
        }
    }

    /// What stands in one; nothing for one that is not there.
    pub(super) fn bytes(&self, index: usize) -> &'a [u8] {
        &self.line[self.span(index)]
    }

    /// The same as a text, for messages.
    pub(super) fn text(&self, index: usize) -> String {
        String::from_utf8_lossy(self.bytes(index)).chars().take(40).collect()
    }

    /// Something wrong with one.
    pub(super) fn wrong(&self, index: usize, title: impl Into<String>) -> Wrong {
        Wrong::at(self.span(index), title)
    }

    /// Refuses a line with other than so many fields.
    pub(super) fn expect(&self, counts: Range<usize>, names: &str) -> Result<(), Wrong> {
        if counts.contains(&self.count) {
            return Ok(());
        }
        let (first, title) = match self.count < counts.start {
            true => (self.count, format!("this line is cut: {} columns instead of {}", self.count, counts.start)),
            false => (counts.end - 1, format!("this line has {} columns instead of {}", self.count, counts.start)),
        };
        Err(Wrong::at(self.span(first), title).label(format!("expected {names}")))
    }

    /// A whole number.
    pub(super) fn number(&self, index: usize, what: &str) -> Result<u64, Wrong> {
        let bytes = self.bytes(index);
        let mut number: u64 = 0;
        for byte in bytes {
            let digit = byte.wrapping_sub(b'0');
            number = match number.checked_mul(10).and_then(|tens| tens.checked_add(digit.into())) {
                Some(number) if digit < 10 => number,
                _ => return Err(self.no_number(index, what)),
            };
        }
        if bytes.is_empty() { Err(self.no_number(index, what)) } else { Ok(number) }
    }

    /// A decimal number of a unit, as a time: exact to the picosecond.
    pub(super) fn time(&self, index: usize, unit: Time, what: &str) -> Result<Time, Wrong> {
        let ps = decimal(self.bytes(index), unit).and_then(|ps| u64::try_from(ps).ok());
        ps.map(Time::ps).ok_or_else(|| self.no_number(index, what))
    }

    /// The same on a clock that began at any time: picoseconds.
    pub(super) fn clock(&self, index: usize, unit: Time, what: &str) -> Result<u128, Wrong> {
        decimal(self.bytes(index), unit).ok_or_else(|| self.no_number(index, what))
    }

    fn no_number(&self, index: usize, what: &str) -> Wrong {
        let text = self.text(index);
        let title = match text.parse::<f64>() {
            Ok(number) if number < 0.0 => format!("{what} is negative"),
            Ok(number) if number.is_finite() => format!("`{text}` is no {what} that can be"),
            _ => format!("`{text}` is no number"),
        };
        self.wrong(index, title).label(format!("expected {what}")).help("are columns missing or swapped?")
    }
}

/// Numbers of so many characters are less than 2^64 whatever they are.
const SHORT: usize = 19;

/// The same for a number that is not long: most of a trace's time is spent here.
fn short_decimal(bytes: &[u8], unit: u64) -> Option<u128> {
    let (mut digits, mut power, mut point, mut seen) = (0u64, 1u64, false, false);
    for byte in bytes {
        match byte.wrapping_sub(b'0') {
            digit @ 0..=9 => {
                digits = 10 * digits + u64::from(digit);
                power *= if point { 10 } else { 1 };
                seen = true;
            }
            _ if *byte == b'.' && !point => point = true,
            _ => return None,
        }
    }
    if !seen {
        return None;
    }
    let exact = unit.is_multiple_of(power);
    Some(if exact {
        u128::from(digits) * u128::from(unit / power)
    } else {
        u128::from(digits) * u128::from(unit) / u128::from(power)
    })
}

/// Picoseconds of so many units; nothing where that is no plain decimal number or too large. What is finer than a picosecond is cut.
fn decimal(bytes: &[u8], unit: Time) -> Option<u128> {
    let unit = u128::from(unit.as_ps());
    if bytes.len() <= SHORT {
        return short_decimal(bytes, unit as u64);
    }
    let (mut digits, mut decimals, mut seen): (u128, u32, Option<()>) = (0, 0, None);
    let mut point = false;
    for byte in bytes {
        match byte {
            b'.' if !point => point = true,
            // Finer than any picosecond.
            b'0'..=b'9' if point && decimals >= 15 => {}
            b'0'..=b'9' => {
                digits = digits.checked_mul(10)?.checked_add(u128::from(byte - b'0'))?;
                decimals += u32::from(point);
                seen = Some(());
            }
            _ => return None,
        }
    }
    seen?;
    Some(digits.checked_mul(unit)? / 10u128.pow(decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_cut_at_blanks_or_commas() {
        let blanks = Fields::by_blanks(b"  R Hit\t 12  ");
        assert_eq!(
            (blanks.count(), blanks.bytes(1), blanks.span(2), blanks.bytes(3)),
            (3, &b"Hit"[..], 9..11, &b""[..])
        );
        let commas = Fields::by_commas(b"0, 12 ,,w");
        assert_eq!(
            (commas.count(), commas.bytes(1), commas.bytes(2), commas.bytes(3)),
            (4, &b"12"[..], &b""[..], &b"w"[..])
        );
        assert_eq!(Fields::by_commas(b"1,2,3,4,5,6,7,8,9,10,11,12,13,14").count(), 14);
    }

    #[test]
    fn decimals_are_exact() {
        let us = |text: &str| decimal(text.as_bytes(), Time::us(1)).map(|ps| Time::ps(ps as u64));
        assert_eq!(us("13670.00000"), Some(Time::us(13_670)));
        assert_eq!((us("0.000001"), us(".5"), us("5.")), (Some(Time::ps(1)), Some(Time::ns(500)), Some(Time::us(5))));
        assert_eq!(decimal(b"12345678.987654321012345678", Time::ms(1)), Some(12_345_678_987_654_321));
        for wrong in ["", ".", "-1", "1e3", "1.2.3", "nan", &"9".repeat(40), "R"] {
            assert_eq!(us(wrong), None, "{wrong}");
        }
    }
}
