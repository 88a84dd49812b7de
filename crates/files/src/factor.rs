//! Quantities so many times as large, in the unit in which they are written.

use hopscope_parts::parameters::Value;

use crate::quantity;

/// Digits that say something.
const DIGITS: i32 = 6;

/// The factor in `x2` and `x0.5`; nothing where something else is written.
pub fn factor(value: &str) -> Option<f64> {
    let digits = value.strip_prefix('x')?;
    let plain = digits.starts_with(|c: char| c.is_ascii_digit());
    digits.parse().ok().filter(|factor: &f64| plain && factor.is_finite())
}

/// A factor as changes name it: `x1.1`.
pub fn so_many_times(factor: f64) -> String {
    format!("x{}", decimal(factor))
}

/// The quantity `written`, times a factor; what is counted becomes another whole number if it can. Nothing where
/// that is no quantity.
pub fn times(written: &str, factor: f64) -> Option<String> {
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
