//! Quantities as people write them: a number and its unit, read exactly, in integers.

use hopscope_kernel::Time;
use hopscope_parts::nearest::nearest;
use hopscope_parts::parameters::{Quantity, Value};

const PS_PER_S: u128 = 1_000_000_000_000;
// Far beyond any quantity, and such that digits times a unit stay below 2^128.
const MOST_DIGITS: u128 = 1_000_000_000_000_000_000_000;
const MOST_DECIMALS: u128 = 1_000_000_000_000;

// Far beyond any part, and such that many of them together stay below 213 days.
const MOST_CLOCKS: u64 = 1_000_000;
const MOST_TIME: Time = Time::ms(1_000_000);

const CENTS_PER_DOLLAR: u128 = 100;
// Beyond any machine, and such that all parts of one together stay exact in a float.
const MOST_CENTS: u64 = 100_000_000_000;

#[derive(Clone, Copy)]
enum Kind {
    /// Picoseconds in the unit.
    Time(u128),
    /// Picoseconds in one period of the unit.
    Frequency(u128),
    /// Bytes in the unit.
    Bytes(u128),
    /// Bytes per second in the unit.
    Rate(u128),
    Clocks,
    /// Parts per million in the unit.
    Share(u128),
    Count,
}

impl Kind {
    fn quantity(self) -> Quantity {
        match self {
            Kind::Time(_) => Quantity::Time,
            Kind::Frequency(_) => Quantity::Period,
            Kind::Bytes(_) => Quantity::Bytes,
            Kind::Rate(_) => Quantity::Rate,
            Kind::Clocks => Quantity::Clocks,
            Kind::Share(_) => Quantity::Share,
            Kind::Count => Quantity::Count,
        }
    }
}

const UNITS: &[(&str, Kind)] = &[
    ("ps", Kind::Time(1)),
    ("ns", Kind::Time(1_000)),
    ("us", Kind::Time(1_000_000)),
    ("µs", Kind::Time(1_000_000)),
    ("μs", Kind::Time(1_000_000)),
    ("ms", Kind::Time(1_000_000_000)),
    ("s", Kind::Time(PS_PER_S)),
    ("Hz", Kind::Frequency(PS_PER_S)),
    ("kHz", Kind::Frequency(1_000_000_000)),
    ("MHz", Kind::Frequency(1_000_000)),
    ("GHz", Kind::Frequency(1_000)),
    ("rpm", Kind::Frequency(60 * PS_PER_S)),
    ("B", Kind::Bytes(1)),
    ("kB", Kind::Bytes(1_000)),
    ("MB", Kind::Bytes(1_000_000)),
    ("GB", Kind::Bytes(1_000_000_000)),
    ("TB", Kind::Bytes(1_000_000_000_000)),
    ("KiB", Kind::Bytes(1 << 10)),
    ("MiB", Kind::Bytes(1 << 20)),
    ("GiB", Kind::Bytes(1 << 30)),
    ("TiB", Kind::Bytes(1 << 40)),
    ("B/s", Kind::Rate(1)),
    ("kB/s", Kind::Rate(1_000)),
    ("MB/s", Kind::Rate(1_000_000)),
    ("GB/s", Kind::Rate(1_000_000_000)),
    ("KiB/s", Kind::Rate(1 << 10)),
    ("MiB/s", Kind::Rate(1 << 20)),
    ("GiB/s", Kind::Rate(1 << 30)),
    // A transfer of a serial lane is one bit.
    ("GT/s", Kind::Rate(1_000_000_000 / 8)),
    ("clock", Kind::Clocks),
    ("clocks", Kind::Clocks),
    ("%", Kind::Share(10_000)),
];

/// What can be counted, one and many.
const COUNT_NOUNS: &[(&str, &str)] = &[
    ("bit", "bits"),
    ("block", "blocks"),
    ("bus", "buses"),
    ("channel", "channels"),
    ("command", "commands"),
    ("copy", "copies"),
    ("core", "cores"),
    ("credit", "credits"),
    ("cylinder", "cylinders"),
    ("descriptor", "descriptors"),
    ("device", "devices"),
    ("die", "dies"),
    ("disk", "disks"),
    ("drive", "drives"),
    ("engine", "engines"),
    ("entry", "entries"),
    ("head", "heads"),
    ("interrupt", "interrupts"),
    ("lane", "lanes"),
    ("line", "lines"),
    ("message", "messages"),
    ("packet", "packets"),
    ("page", "pages"),
    ("plane", "planes"),
    ("port", "ports"),
    ("priority", "priorities"),
    ("processor", "processors"),
    ("queue", "queues"),
    ("register", "registers"),
    ("row", "rows"),
    ("request", "requests"),
    ("sector", "sectors"),
    ("segment", "segments"),
    ("slot", "slots"),
    ("stream", "streams"),
    ("surface", "surfaces"),
    ("tag", "tags"),
    ("track", "tracks"),
    ("transfer", "transfers"),
    ("transaction", "transactions"),
    ("try", "tries"),
    ("walker", "walkers"),
    ("word", "words"),
    ("zone", "zones"),
];

/// The units that a kind of quantity is written in; none for what is no number.
pub fn units(quantity: Quantity) -> Vec<&'static str> {
    if quantity == Quantity::Count {
        return COUNT_NOUNS.iter().flat_map(|(one, many)| [*many, *one]).collect();
    }
    UNITS.iter().filter(|(_, kind)| kind.quantity() == quantity).map(|(name, _)| *name).collect()
}

/// A decimal number, exactly: `digits` / `scale`.
#[derive(Clone, Copy)]
struct Decimal {
    digits: u128,
    scale: u128,
}

/// The word for `number` of what `unit` counts: "clock" or "clocks".
pub fn noun(unit: &str, number: u64) -> &str {
    let both = COUNT_NOUNS.iter().chain([&("clock", "clocks")]).find(|(one, many)| [one, many].contains(&&unit));
    both.map_or(unit, |(one, many)| if number == 1 { one } else { many })
}

/// Reads a quantity. What does not start with a digit is a text, and so is an address (`0x1f0`).
/// The error says what was expected.
pub fn parse(text: &str) -> Result<Value, String> {
    let text = text.trim();
    let after_sign = text.strip_prefix(['-', '−']).unwrap_or(text).trim_start();
    if !after_sign.starts_with(|c: char| c.is_ascii_digit()) || text.starts_with("0x") {
        return Ok(Value::Text(text.to_string()));
    }
    if after_sign.len() < text.len() {
        return Err("a quantity is never negative".to_string());
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '_' || c == '.')).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let number = decimal(number)?;
    if unit.is_empty() {
        return Err(format!("a unit is missing: write \"{text} ns\", \"{text} KiB\", \"{text} sectors\", …"));
    }
    match kind_of(unit)? {
        Kind::Time(ps) => at_most(MOST_TIME, "1000 s", Time::ps(rounded(number, ps)?)).map(Value::Time),
        Kind::Frequency(ps) => period(number, ps).map(Value::Period),
        Kind::Bytes(bytes) => whole(number, bytes, "bytes").map(Value::Bytes),
        Kind::Rate(bytes) => rounded(number, bytes).map(Value::Rate),
        Kind::Clocks => at_most(MOST_CLOCKS, "1000000 clocks", whole(number, 1, unit)?).map(Value::Clocks),
        Kind::Share(ppm) => rounded(number, ppm).map(Value::Share),
        Kind::Count => whole(number, 1, unit).map(Value::Count),
    }
}

/// Reads an amount of money, in cents.
pub fn dollars(text: &str) -> Result<u64, String> {
    let Some(number) = text.trim().strip_suffix("USD") else {
        return Err("expected dollars, such as 534 USD".to_string());
    };
    let cents = whole(decimal(number.trim_end())?, CENTS_PER_DOLLAR, "cents")?;
    at_most(MOST_CENTS, "1000000000 USD", cents)
}

fn decimal(text: &str) -> Result<Decimal, String> {
    let malformed = || "expected a number such as 33.3 or 1_000".to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let (mut digits, mut scale) = (0u128, 1u128);
    for (part, is_fraction) in [(whole, false), (fraction, true)] {
        if part.is_empty() || part.starts_with('_') || part.ends_with('_') {
            return Err(malformed());
        }
        for c in part.chars().filter(|&c| c != '_') {
            let digit = c.to_digit(10).ok_or_else(malformed)?;
            digits = digits
                .checked_mul(10)
                .and_then(|digits| digits.checked_add(digit.into()))
                .filter(|&digits| digits < MOST_DIGITS)
                .ok_or_else(too_large)?;
            scale = if is_fraction { scale * 10 } else { scale };
            if scale > MOST_DECIMALS {
                return Err("expected at most 12 digits after the point".to_string());
            }
        }
    }
    Ok(Decimal { digits, scale })
}

fn too_large() -> String {
    "the number is too large".to_string()
}

fn kind_of(unit: &str) -> Result<Kind, String> {
    if let Some((_, kind)) = UNITS.iter().find(|(name, _)| *name == unit) {
        return Ok(*kind);
    }
    if COUNT_NOUNS.iter().any(|(one, many)| unit == *one || unit == *many) {
        return Ok(Kind::Count);
    }
    let (amount, per) = unit.strip_suffix("/s").map_or((unit, ""), |amount| (amount, "/s"));
    if let Some(prefix @ ('k' | 'm' | 'g' | 't')) = amount.chars().next().map(|c| c.to_ascii_lowercase())
        && matches!(&amount[1..], "" | "b" | "B" | "ib" | "Ib" | "IB")
    {
        let binary = prefix.to_ascii_uppercase();
        let decimal = if prefix == 'k' { 'k' } else { binary };
        return Err(format!(
            "unknown unit `{unit}`: write {binary}iB{per} (powers of 1024) or {decimal}B{per} (powers of 1000)"
        ));
    }
    let nouns = COUNT_NOUNS.iter().flat_map(|(one, many)| [*one, *many]);
    Err(match nearest(unit, UNITS.iter().map(|(name, _)| *name).chain(nouns)) {
        Some(name) => format!("unknown unit `{unit}`: did you mean `{name}`?"),
        None => format!(
            "unknown unit `{unit}`: expected a time (ns, us, ms), a frequency (MHz, rpm), an amount (B, KiB, kB), \
             a rate (MB/s), clocks, % or what is counted (sectors, heads, …); a text starts with a letter"
        ),
    })
}

fn at_most<T: PartialOrd>(most: T, written: &str, value: T) -> Result<T, String> {
    if value <= most { Ok(value) } else { Err(format!("expected at most {written}")) }
}

fn whole(number: Decimal, unit: u128, what: &str) -> Result<u64, String> {
    let exact = number.digits.checked_mul(unit).ok_or_else(too_large)?;
    if exact % number.scale != 0 {
        return Err(format!("expected a whole number of {what}"));
    }
    u64::try_from(exact / number.scale).map_err(|_| too_large())
}

fn rounded(number: Decimal, unit: u128) -> Result<u64, String> {
    let exact = number.digits.checked_mul(unit).ok_or_else(too_large)?;
    match u64::try_from((exact + number.scale / 2) / number.scale) {
        Ok(0) if exact > 0 => Err("the number is smaller than the simulator resolves".to_string()),
        result => result.map_err(|_| too_large()),
    }
}

fn period(number: Decimal, unit: u128) -> Result<Time, String> {
    if number.digits == 0 {
        return Err("a frequency is never zero".to_string());
    }
    let exact = unit.checked_mul(number.scale).ok_or_else(too_large)?;
    match u64::try_from((exact + number.digits / 2) / number.digits) {
        Ok(0) => Err("expected a frequency below 2000 GHz".to_string()),
        Ok(ps) => Ok(Time::ps(ps)),
        Err(_) => Err("expected a higher frequency: its period is longer than 213 days".to_string()),
    }
}

/// A number for people: four digits that say something.
pub fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        value if value >= 1_000.0 => 0,
        value if value >= 100.0 => 1,
        value if value >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refusal(text: &str) -> String {
        parse(text).expect_err(text)
    }

    #[test]
    fn every_kind_of_quantity_is_read_exactly() {
        for (text, value) in [
            ("29.85 ns", Value::Time(Time::ps(29_850))),
            ("1.5 us", Value::Time(Time::ps(1_500_000))),
            ("1.5 µs", Value::Time(Time::ps(1_500_000))),
            ("2 ms", Value::Time(Time::ms(2))),
            ("10 s", Value::Time(Time::ms(10_000))),
            ("33.5 MHz", Value::Period(Time::ps(29_851))),
            ("100 kHz", Value::Period(Time::us(10))),
            ("5400 rpm", Value::Period(Time::ps(11_111_111_111))),
            ("8.33 GHz", Value::Period(Time::ps(120))),
            ("2 Hz", Value::Period(Time::ms(500))),
            ("64 KiB", Value::Bytes(65_536)),
            ("1.5KiB", Value::Bytes(1_536)),
            ("512 B", Value::Bytes(512)),
            ("10.2 GB", Value::Bytes(10_200_000_000)),
            ("2 GiB", Value::Bytes(2 << 30)),
            ("33.3 MB/s", Value::Rate(33_300_000)),
            ("1 GiB/s", Value::Rate(1 << 30)),
            ("13 clocks", Value::Clocks(13)),
            ("12.5 %", Value::Share(125_000)),
            ("8 heads", Value::Count(8)),
            ("19_746_720 sectors", Value::Count(19_746_720)),
            ("1 try", Value::Count(1)),
            ("bus/pci", Value::Text("bus/pci".into())),
            ("0x1f0", Value::Text("0x1f0".into())),
        ] {
            assert_eq!(parse(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn money_is_read_to_the_cent() {
        assert_eq!((dollars("534 USD"), dollars("3_750USD"), dollars("0.29 USD")), (Ok(53_400), Ok(375_000), Ok(29)));
        for (text, expected) in [
            ("534", "expected dollars"),
            ("534 EUR", "expected dollars"),
            ("0.295 USD", "a whole number of cents"),
            ("x USD", "expected a number"),
            ("-5 USD", "expected a number"),
            ("1000000001 USD", "at most"),
        ] {
            assert!(dollars(text).expect_err(text).contains(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_what_was_expected() {
        assert!(refusal("4 KB").contains("write KiB (powers of 1024) or kB (powers of 1000)"));
        assert!(refusal("4 mb/s").contains("MiB/s"));
        assert!(refusal("42").starts_with("a unit is missing: write \"42 ns\""));
        assert!(refusal("5 Mhz").contains("did you mean `MHz`?"));
        assert!(refusal("5 sectrs").contains("did you mean `sectors`?"));
        assert!(refusal("5 parsecs-and-a-bit").contains("expected a time (ns"));
        assert!(refusal("-5 ns").contains("never negative"));
        assert!(refusal("0 Hz").contains("never zero"));
        assert!(refusal("1.5 B").contains("a whole number of bytes"));
        assert!(refusal("1.5 heads").contains("a whole number of heads"));
        assert!(refusal("0.1 ps").contains("smaller than the simulator resolves"));
        assert!(refusal("1001 s").contains("at most 1000 s"));
        assert!(refusal("1000001 clocks").contains("at most 1000000 clocks"));
        assert!(refusal("99999999999999 s").contains("too large"));
        assert!(refusal("1__.2.3 s").contains("expected a number"));
        assert!(refusal(&format!("{} s", "9".repeat(100_000))).contains("too large"));
    }

    proptest! {
        #[test]
        fn any_number_of_nanoseconds_is_exact_to_the_picosecond(ns in 0u64..10_000_000_000, ps in 0u64..1_000) {
            prop_assert_eq!(parse(&format!("{ns}.{ps:03} ns")), Ok(Value::Time(Time::ps(ns * 1_000 + ps))));
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>(), number in "[-0-9._]{0,40}", unit in "[ a-zA-Z%/µ]{0,6}") {
            let _ = parse(&text);
            let _ = parse(&format!("{number}{unit}"));
        }
    }
}
