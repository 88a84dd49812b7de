//! How much a quantity is, and what is a little more and less of it.

use hopscope_parts::parameters::Value;

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

/// Sizes that are powers of two are halved and doubled: hardware has no others.
pub(super) fn doubles(value: &Value) -> bool {
    matches!(value, Value::Bytes(n) if n.is_power_of_two())
}

/// A little less, and a little more.
pub(super) fn factors(doubles: bool) -> [f64; 2] {
    if doubles { [0.5, 2.0] } else { [1.0 - LITTLE, 1.0 + LITTLE] }
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
