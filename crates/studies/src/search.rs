//! The search for fitted numbers: one value each for the whole study, within its plausible range.

use hopscope_kernel::Time;
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::{Entry, Value};

use crate::Wish;
use crate::machines::{Machines, describe};
use crate::report::Parameter;

/// Steps of the search: shares of the value, each used until nothing improves or so many rounds are over.
const STEPS: [f64; 3] = [0.16, 0.05, 0.02];
const ROUNDS: usize = 2;

/// One number that the search may move.
pub(crate) struct Knob {
    pub(crate) part: String,
    pub(crate) key: String,
    pub(crate) entry: Entry,
}

impl Knob {
    pub(crate) fn of(machines: &Machines, part: &str, key: &str) -> Knob {
        Knob { part: part.to_string(), key: key.to_string(), entry: machines.number(part, key) }
    }

    fn apply(&self, machines: &mut Machines, value: &Value) -> Result<(), Failure> {
        Ok(machines.set(&self.part, &self.key, value, &describe(value))?)
    }

    /// The value moved by a share, kept within its range; nothing where that moves nothing.
    fn moved(&self, value: &Value, share: f64) -> Option<Value> {
        let moved = scaled(value, 1.0 + share);
        let within = match &self.entry.range[..] {
            [low, high] => amount(&moved).clamp(amount(low), amount(high)),
            _ => amount(&moved),
        };
        let moved = with_amount(value, within);
        (moved != *value).then_some(moved)
    }
}

fn amount(value: &Value) -> f64 {
    match value {
        Value::Time(t) | Value::Period(t) => t.as_ps() as f64,
        Value::Bytes(n) | Value::Rate(n) | Value::Clocks(n) | Value::Count(n) | Value::Share(n) => *n as f64,
        Value::Text(_) | Value::Rows(_) => 0.0,
    }
}

fn with_amount(like: &Value, amount: f64) -> Value {
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
    let moved = with_amount(value, amount(value) * factor);
    if moved == *value && factor != 1.0 { with_amount(value, amount(value) + (factor - 1.0).signum()) } else { moved }
}

/// Moves one knob after the other while the error falls; returns the values found.
pub(crate) fn search(
    machines: &mut Machines,
    knobs: &[Knob],
    error: impl Fn(&Machines) -> Result<f64, Failure>,
    wish: &Wish,
) -> Result<Vec<Value>, Failure> {
    let mut values: Vec<Value> = knobs.iter().map(|knob| knob.entry.value.clone()).collect();
    let mut best = error(machines)?;
    let steps = STEPS.len() * ROUNDS * knobs.len();
    let mut done = 0;
    for step in STEPS {
        for _ in 0..ROUNDS {
            for (knob, value) in knobs.iter().zip(&mut values) {
                for share in [step, -step] {
                    while let Some(moved) = knob.moved(value, share) {
                        knob.apply(machines, &moved)?;
                        let tried = match error(machines) {
                            // A part refuses what cannot be built.
                            Err(Failure::Input(_)) => f64::INFINITY,
                            other => other?,
                        };
                        if tried >= best {
                            knob.apply(machines, value)?;
                            break;
                        }
                        (best, *value) = (tried, moved);
                    }
                }
                done += 1;
                (wish.progress)(
                    done,
                    steps,
                    &format!("{} = {}: mean error {:.2} %", knob.key, describe(value), 100.0 * best),
                );
            }
        }
    }
    Ok(values)
}

/// What the search found, for the report.
pub(crate) fn parameter(knob: &Knob, value: &Value, on: &str) -> Parameter {
    Parameter {
        name: format!("{} {}", knob.part, knob.key),
        value: describe(value),
        basis: "fitted".into(),
        from: format!("{on}; the data files have {}", knob.entry.written),
        range: knob.entry.range.iter().map(describe).collect::<Vec<_>>().join(" to "),
    }
}
