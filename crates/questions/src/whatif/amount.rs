//! Quantities a little larger and smaller, in the unit in which they are written.

use hopscope_files::quantity;
use hopscope_parts::parameters::Value;

/// Digits that say something.
const DIGITS: i32 = 6;
/// A little: a tenth either way.
const LITTLE: f64 = 0.1;

/// How much it is, where more is more: a frequency counts as such, not as its period.
pub(super) fn amount(value: &Value) -> f64 {
    match value {
        Value::Time(time) => time.as_ps() as f64,
        Value::Period(period) => 1.0 / period.as_ps() as f64,
        Value::Bytes(n) | Value::Rate(n) | Value::Clocks(n) | Value::Count(n) | Value::Share(n) => *n as f64,
        Value::Text(_) | Value::Rows(_) => 0.0,
    }
}

/// The quantity `written`, times a factor; what is counted becomes another whole number if it can. Nothing where
/// that is no quantity.
pub(crate) fn times(written: &str, factor: f64) -> Option<String> {
    let written = written.trim();
    let end = written.find(|c: char| !(c.is_ascii_digit() || c == '_' || c == '.')).unwrap_or(written.len());
    let number: f64 = written[..end].replace('_', "").parse().ok()?;
    let unit = written[end..].trim_start();
    let text = match quantity::parse(written).ok()? {
        Value::Text(_) | Value::Rows(_) => return None,
        Value::Clocks(n) | Value::Count(n) => {
            let moved = whole(n, factor);
            format!("{moved} {}", quantity::noun(unit, moved))
        }
        Value::Bytes(n) => {
            let (bytes, unit_bytes) = (whole(n, factor), n as f64 / number);
            let in_unit = format!("{} {unit}", decimal(bytes as f64 / unit_bytes));
            let exact = quantity::parse(&in_unit) == Ok(Value::Bytes(bytes));
            if exact { in_unit } else { format!("{bytes} B") }
        }
        Value::Time(_) | Value::Period(_) | Value::Rate(_) | Value::Share(_) => {
            format!("{} {unit}", decimal(number * factor))
        }
    };
    quantity::parse(&text).ok()?;
    Some(text)
}

fn whole(n: u64, factor: f64) -> u64 {
    let moved = (n as f64 * factor).round() as u64;
    match moved == n {
        true if factor < 1.0 => n.saturating_sub(1),
        true if factor > 1.0 => n.saturating_add(1),
        _ => moved,
    }
}

fn decimal(number: f64) -> String {
    let decimals = if number > 0.0 { (DIGITS - 1 - number.log10().floor() as i32).clamp(0, 12) as usize } else { 0 };
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// Sizes that are powers of two are halved and doubled: hardware has no others.
pub(super) fn doubles(value: &Value) -> bool {
    matches!(value, Value::Bytes(n) if n.is_power_of_two())
}

/// A little less, and a little more.
pub(super) fn factors(doubles: bool) -> [f64; 2] {
    if doubles { [0.5, 2.0] } else { [1.0 - LITTLE, 1.0 + LITTLE] }
}

/// A factor as changes name it: `x1.1`.
pub(super) fn so_many_times(factor: f64) -> String {
    format!("x{}", decimal(factor))
}

/// Further and further: each step takes away a tenth of the number, or of its reciprocal where `more` of it helps.
/// So a part of the time that the number alone decides falls by the same amount with each.
pub(super) fn further(doubles: bool, more: bool) -> Vec<f64> {
    let left = (0..10).rev().map(|tenths| f64::from(tenths) / 10.0);
    match (doubles, more) {
        (true, true) => (1..=4).map(|power| 2f64.powi(power)).collect(),
        (true, false) => (1..=4).map(|power| 0.5f64.powi(power)).collect(),
        (false, false) => left.collect(),
        (false, true) => left.filter(|left| *left > 0.0).map(f64::recip).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_keeps_its_unit_and_a_count_stays_whole() {
        for (written, factor, expected) in [
            ("33.5 MHz", 2.0, "67 MHz"),
            ("750 ns", 0.9, "675 ns"),
            ("0.4 us", 1.1, "0.44 us"),
            ("13 clocks", 1.1, "14 clocks"),
            ("1 clock", 0.9, "0 clocks"),
            ("1 clock", 1.1, "2 clocks"),
            ("20_000_000 sectors", 0.5, "10000000 sectors"),
            ("64 KiB", 2.0, "128 KiB"),
            ("1 KiB", 0.9, "922 B"),
            ("49 %", 1.1, "53.9 %"),
            ("5400 rpm", 1.1, "5940 rpm"),
        ] {
            assert_eq!(times(written, factor).as_deref(), Some(expected), "{written} x {factor}");
        }
        assert_eq!(times("ultra-dma-2", 2.0), None);
        assert_eq!(times("1000 s", 2.0), None);
        assert_eq!(times("33 MHz", 0.0), None);
    }
}
