//! The study's numbers, as formulas and jobs have them: its own, and those that parts of its machines have.

use std::collections::BTreeMap;

use hopscope_files::problem::{Problem, Problems, place};
use hopscope_parts::parameters::Value;

use super::declared::Given;
use crate::machines::Machines;

/// By name.
pub(super) type Numbers = BTreeMap<String, Value>;

/// In a formula: bytes, shares of one, microseconds, bytes a second, dollars.
pub(super) fn plain(value: &Value) -> f64 {
    match value {
        Value::Bytes(n) | Value::Count(n) | Value::Rate(n) | Value::Clocks(n) => *n as f64,
        Value::Share(ppm) => *ppm as f64 / 1e6,
        Value::Time(t) | Value::Period(t) => t.as_seconds_f64() * 1e6,
        Value::Text(text) => text.parse().unwrap_or(f64::NAN),
        Value::Rows(_) => f64::NAN,
    }
}

/// In a job: bytes, whole percent, microseconds.
pub(super) fn amount_in_job(value: &Value) -> Option<f64> {
    match value {
        Value::Share(ppm) => Some(((ppm + 5_000) / 10_000) as f64),
        Value::Text(_) | Value::Rows(_) => None,
        other => Some(plain(other)),
    }
}

/// The same as a job writes it.
pub(super) fn written(value: &Value) -> Option<String> {
    match value {
        Value::Time(t) | Value::Period(t) => Some(format!("{}us", t.as_ps() / 1_000_000)),
        other => amount_in_job(other).map(|amount| amount.to_string()),
    }
}

/// With the numbers that parts have, but for those that were set otherwise.
pub(super) fn with_given(
    own: &Numbers,
    given: &BTreeMap<String, Given>,
    machines: &Machines,
    file: u32,
) -> Result<Numbers, Problems> {
    let mut all = own.clone();
    for (name, Given { part, key }) in given.iter().filter(|(name, _)| !own.contains_key(*name)) {
        let at = || place(file, part.span());
        let Some(value) = machines.given(part.get_ref(), key) else {
            let title = format!("no machine of the study has a part `{part}` with a number `{key}`");
            let help = format!("`hopscope parts {part}` lists its numbers; `price` is one where the file has it");
            return Err(Problem::at(at(), title).help(help).into());
        };
        all.insert(name.clone(), value);
    }
    Ok(all)
}
