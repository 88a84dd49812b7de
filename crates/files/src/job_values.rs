//! Values of fio's options, with fio's units.

use std::collections::BTreeSet;

use hopscope_kernel::Time;

use crate::job_file::Rw;

/// Smallest and largest request; this is fio's default.
pub(crate) const DEFAULT_BLOCK: (u64, u64) = (4_096, 4_096);

const MOST_TARGETS: usize = 256;
const MOST_PROCESSORS: usize = 1_024;

/// What is wrong with a value: the title, and what was expected.
pub(crate) type Refusal = (String, String);

pub(crate) fn refusal(option: &str, problem: &str, expected: &str) -> Refusal {
    (format!("`{option}` {problem}"), expected.to_string())
}

pub(crate) fn flag(option: &str, value: Option<&str>) -> Result<bool, Refusal> {
    match value {
        None | Some("1") => Ok(true),
        Some("0") => Ok(false),
        Some(_) => Err(refusal(option, "is on or off", "expected 1 or 0")),
    }
}

const DIRECTIONS: &str = "expected read, write, rw, randread, randwrite or randrw";

pub(crate) fn direction(option: &str, value: &str) -> Result<Rw, Refusal> {
    match value {
        "read" => Ok(Rw::Read),
        "write" => Ok(Rw::Write),
        "randread" => Ok(Rw::RandRead),
        "randwrite" => Ok(Rw::RandWrite),
        "rw" | "readwrite" => Ok(Rw::ReadWrite),
        "randrw" => Ok(Rw::RandReadWrite),
        _ if value.contains(':') || value.contains("trim") => {
            let title = format!("`{option}={value}` changes the result and is not modelled");
            Err((title, DIRECTIONS.to_string()))
        }
        _ => Err(refusal(option, &format!("is not `{value}`"), DIRECTIONS)),
    }
}

/// Sizes for reads and for writes: `4k`, `4k,8k` (reads, writes), and a range in the place of each.
pub(crate) fn blocks(option: &str, value: &str) -> Result<[(u64, u64); 2], Refusal> {
    // What is left out before or after a comma keeps fio's default; one size alone is for both.
    let one = |text: &str| match text.split_once(['-', ':']) {
        _ if text.is_empty() => Ok(DEFAULT_BLOCK),
        Some((low, high)) => {
            let (low, high) = (bytes(option, low)?, bytes(option, high)?);
            at_least_one(option, low.min(high)).map(|low_end| (low_end, low.max(high)))
        }
        None => bytes(option, text).and_then(|bytes| at_least_one(option, bytes)).map(|bytes| (bytes, bytes)),
    };
    let sizes = value.split(',').map(|text| one(text.trim())).collect::<Result<Vec<_>, _>>()?;
    match sizes[..] {
        [both] => Ok([both, both]),
        [reads, writes] | [reads, writes, _] => Ok([reads, writes]),
        _ => Err(refusal(option, "has too many sizes", "expected one size, or reads,writes")),
    }
}

pub(crate) fn size(option: &str, value: &str) -> Result<(Option<u64>, Option<u64>), Refusal> {
    let Some(percent) = value.strip_suffix('%') else {
        return bytes(option, value).and_then(|bytes| at_least_one(option, bytes)).map(|bytes| (Some(bytes), None));
    };
    match plain(option, percent.trim_end())? {
        percent @ 1..=100 => Ok((None, Some(percent))),
        _ => Err(refusal(option, "is no share of a target", "expected 1% to 100%")),
    }
}

/// Names between colons; `\:` is a colon in a name.
pub(crate) fn targets(option: &str, value: &str) -> Result<Vec<String>, Refusal> {
    let mut names = vec![String::new()];
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek(), names.last_mut()) {
            ('\\', Some(':'), Some(name)) => name.extend(chars.next()),
            (':', ..) => names.push(String::new()),
            (c, _, Some(name)) => name.push(c),
            (_, _, None) => {}
        }
    }
    match names.len() {
        _ if names.iter().any(String::is_empty) => Err(refusal(option, "has an empty name", "expected part:part")),
        0..=MOST_TARGETS => Ok(names),
        _ => Err(refusal(option, "has too many names", &format!("expected at most {MOST_TARGETS}"))),
    }
}

/// Numbers of processors, and ranges of them, with commas between (HOWTO.rst, "cpus_allowed"): in order, each once.
pub(crate) fn processors(option: &str, value: &str) -> Result<Vec<usize>, Refusal> {
    let refused = |problem: &str| {
        let expected = format!("expected numbers and ranges below {MOST_PROCESSORS}, such as 0,2 or 0-3");
        refusal(option, problem, &expected)
    };
    let mut numbers = BTreeSet::new();
    for part in value.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<usize>(), last.trim().parse::<usize>()) {
            (Ok(first), Ok(last)) if first <= last && last < MOST_PROCESSORS => numbers.extend(first..=last),
            _ => return Err(refused(&format!("has `{part}` where a processor is due"))),
        }
    }
    Ok(numbers.into_iter().collect())
}

/// Whether it is the second of two words; else it is the first.
pub(crate) fn either(option: &str, value: &str, words: [&str; 2]) -> Result<bool, Refusal> {
    let [first, second] = words;
    match words.iter().position(|word| *word == value) {
        Some(index) => Ok(index == 1),
        None => Err(refusal(option, &format!("is not `{value}`"), &format!("expected {first} or {second}"))),
    }
}

/// How many: one at least.
pub(crate) fn count(option: &str, value: &str) -> Result<u64, Refusal> {
    at_least_one(option, plain(option, value)?)
}

pub(crate) fn at_least_one(option: &str, number: u64) -> Result<u64, Refusal> {
    if number == 0 { Err(refusal(option, "is never 0", "expected at least 1")) } else { Ok(number) }
}

pub(crate) fn plain(option: &str, value: &str) -> Result<u64, Refusal> {
    match number(value) {
        Some((number, "")) => Ok(number),
        _ => Err(no_number(option, value, "is not a number", "expected a whole number, not negative, without a unit")),
    }
}

/// Bytes. fio's `kb_base` is 1024 unless set: `k`, `kB` are powers of two, and `KiB` are powers of ten
/// (HOWTO.rst, "Parameter types", int). Of `Ki` its manual says 1000 and its code makes 1024.
pub(crate) fn bytes(option: &str, value: &str) -> Result<u64, Refusal> {
    let expected = "expected bytes, such as 4096, 64k, 1m or 10g";
    let (number, unit) = number(value).ok_or_else(|| no_number(option, value, "is not an amount of data", expected))?;
    let unit = unit.to_ascii_lowercase();
    let (prefix, base) = match unit.as_bytes() {
        [] | [b'b'] => (0, 1),
        [prefix] | [prefix, b'b'] => (*prefix, 1024),
        [prefix, b'i', b'b'] => (*prefix, 1000),
        [prefix, b'i'] if b"kmgtp".contains(prefix) => {
            let letter = char::from(*prefix);
            let problem = format!("has the unit `{unit}`, which is 1000 in fio's manual and 1024 in its code");
            let expected = format!("expected {letter} (powers of 1024) or {letter}ib (powers of 1000, as fio has it)");
            return Err(refusal(option, &problem, &expected));
        }
        _ => (b'?', 1),
    };
    let power = match prefix {
        0 => 0,
        b'k' => 1,
        b'm' => 2,
        b'g' => 3,
        b't' => 4,
        b'p' => 5,
        _ => return Err(refusal(option, "has an unknown unit", expected)),
    };
    number.checked_mul(u64::pow(base, power)).ok_or_else(|| refusal(option, "is too large", expected))
}

pub(crate) fn percent(option: &str, value: &str) -> Result<u32, Refusal> {
    match value.strip_suffix('%').unwrap_or(value).parse::<u32>() {
        Ok(percent @ 0..=100) => Ok(percent),
        _ => Err(refusal(option, &format!("has `{value}` where a percentage is due"), "expected 0 to 100")),
    }
}

/// Seconds, unless a unit says otherwise.
pub(crate) fn time(option: &str, value: &str) -> Result<Time, Refusal> {
    time_in(option, value, 1_000_000, "expected seconds, or a time such as 500ms, 10s or 2m")
}

/// Microseconds, unless a unit says otherwise.
pub(crate) fn time_in_us(option: &str, value: &str) -> Result<Time, Refusal> {
    let expected = "expected microseconds, or a time such as 50us, 2ms or 1s";
    let time = time_in(option, value, 1, expected)?;
    // fio counts its microseconds in 32 bits, and takes what is longer for something else.
    if time.as_ps() / 1_000_000 > u64::from(u32::MAX) {
        return Err(refusal(option, "is longer than fio keeps, 4294 s", expected));
    }
    Ok(time)
}

fn time_in(option: &str, value: &str, plain_us: u64, expected: &str) -> Result<Time, Refusal> {
    let (number, unit) = number(value).ok_or_else(|| no_number(option, value, "is not a time", expected))?;
    let us = match unit.to_ascii_lowercase().as_str() {
        "us" | "usec" => 1,
        "ms" | "msec" => 1_000,
        "" => plain_us,
        "s" | "sec" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000_u64,
        _ => return Err(refusal(option, "has an unknown unit", expected)),
    };
    let ps = number.checked_mul(us).and_then(|us| us.checked_mul(1_000_000));
    ps.map(Time::ps).ok_or_else(|| refusal(option, "is longer than 213 days", expected))
}

/// Why a text has no number: digits that are there are too many.
fn no_number(option: &str, value: &str, otherwise: &str, expected: &str) -> Refusal {
    let (digits, ..) = digits_of(value);
    refusal(option, if digits.is_empty() { otherwise } else { "is too large" }, expected)
}

/// A whole number, decimal or `0x…`, and what follows it.
pub(crate) fn number(text: &str) -> Option<(u64, &str)> {
    let (digits, radix, rest) = digits_of(text);
    Some((u64::from_str_radix(digits, radix).ok()?, rest.trim_start()))
}

/// The digits that a text begins with, their radix, and what follows.
fn digits_of(text: &str) -> (&str, u32, &str) {
    let (digits, radix) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let (digits, rest) = digits.split_at(digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len()));
    (digits, radix, rest)
}
