//! The values that a number can take when it is moved.

use hopscope_kernel::Time;
use hopscope_parts::parameters::{Entry, Value};

/// Of so few values, each is tried.
pub(crate) const FEW: usize = 4;
/// A whole number with a range no wider than this is moved one by one.
const NARROW: u64 = 16;

/// Shares are kept in millionths.
const PERCENT: u64 = 10_000;

/// The values that a number can have, in order, where they are few: choices, small whole numbers, whole percents, powers
/// of two.
pub(crate) fn few(entry: &Entry) -> Option<Vec<Value>> {
    if let Value::Text(_) = entry.value {
        return Some(entry.range.clone());
    }
    let [low, high] = &entry.range[..] else { return None };
    let (value, low, high) = (amount(&entry.value), amount(low), amount(high));
    let whole = matches!(entry.value, Value::Clocks(_) | Value::Count(_));
    let percents = matches!(entry.value, Value::Share(_)) && [value, low, high].iter().all(|n| n % PERCENT == 0);
    let list: Vec<u64> = if whole && high - low <= NARROW {
        (low..=high).collect()
    } else if percents {
        (low..=high).step_by(PERCENT as usize).collect()
    } else if [value, low, high].iter().all(|n| *n == 0 || n.is_power_of_two())
        && matches!(entry.value, Value::Bytes(_) | Value::Count(_))
    {
        let least = if low == 0 { (high >> FEW).max(1) } else { low };
        let doubled = std::iter::successors(Some(least), |n| Some(2 * n)).take_while(|n| *n <= high);
        (low == 0).then_some(0).into_iter().chain(doubled).collect()
    } else {
        return None;
    };
    Some(list.into_iter().map(|n| with_amount(&entry.value, n as f64)).collect())
}

pub(crate) fn amount(value: &Value) -> u64 {
    match value {
        Value::Time(t) | Value::Period(t) => t.as_ps(),
        Value::Bytes(n) | Value::Rate(n) | Value::Clocks(n) | Value::Count(n) | Value::Share(n) => *n,
        Value::Text(_) | Value::Rows(_) => 0,
    }
}

pub(crate) fn with_amount(like: &Value, amount: f64) -> Value {
    let n = amount.max(0.0).round() as u64;
    match like {
        Value::Time(_) => Value::Time(Time::ps(n)),
        Value::Period(_) => Value::Period(Time::ps(n.max(1))),
        Value::Bytes(_) => Value::Bytes(n),
        Value::Rate(_) => Value::Rate(n),
        Value::Clocks(_) => Value::Clocks(n),
        Value::Count(_) => Value::Count(n),
        Value::Share(_) => Value::Share(n),
        other => other.clone(),
    }
}

/// A value times a factor; small counts move by one at least.
pub(crate) fn scaled(value: &Value, factor: f64) -> Value {
    let moved = with_amount(value, amount(value) as f64 * factor);
    if moved == *value && factor != 1.0 {
        with_amount(value, amount(value) as f64 + (factor - 1.0).signum())
    } else {
        moved
    }
}

#[cfg(test)]
mod tests {
    use hopscope_files::quantity;
    use hopscope_parts::parameters::{Basis, Place};

    use super::*;

    #[test]
    fn few_values_are_choices_small_numbers_and_powers_of_two() {
        let entry = |value: &str, range: &[&str]| Entry {
            value: quantity::parse(value).unwrap_or(Value::Text(value.into())),
            basis: Basis::Fitted("a study: its cells".into()),
            written: value.into(),
            range: range.iter().map(|t| quantity::parse(t).unwrap_or(Value::Text(t.to_string()))).collect(),
            place: Place::default(),
        };
        let count = |value: &str, range: &[&str]| few(&entry(value, range)).map(|values| values.len());
        assert_eq!(count("each packet", &["at the limit", "each packet"]), Some(2));
        assert_eq!(count("3 clocks", &["0 clocks", "6 clocks"]), Some(7));
        assert_eq!(count("128 B", &["64 B", "256 B"]), Some(3));
        assert_eq!(count("0 B", &["0 B", "1 MiB"]), Some(6));
        assert_eq!(count("300 us", &["60 us", "400 us"]), None);
    }
}
