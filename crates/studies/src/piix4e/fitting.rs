//! Chooses the fitted numbers: one value each for the whole study, within its plausible range.
//!
//! All but two are fitted on the 36 one-disk cells. The dead time of a channel switch and the processor time above
//! the driver are fitted on the single-block reads of two disks on two channels.

use hopscope_kernel::Time;
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::{Entry, Value};

use super::cells::{self, Row};
use super::{Setup, describe, study_file};
use crate::Wish;
use crate::measure::Effort;
use crate::report::{Alternative, Cell, Parameter};

const BRIDGE: &str = "bridge/intel-piix4e";
const DRIVER: &str = "driver/windows-2000-ide";
/// Steps of the search: shares of the value, each used until nothing improves or so many rounds are over.
const STEPS: [f64; 3] = [0.16, 0.05, 0.02];
const ROUNDS: usize = 2;
/// Penalties tried for the paper's guess.
const PENALTIES: [Time; 3] = [Time::us(60), Time::us(120), Time::us(180)];

fn quick(trains: bool) -> Effort {
    Effort { share: 0.01, seeds_max: 4, trains }
}

/// One number that the search may move.
struct Knob {
    part: String,
    key: String,
    entry: Entry,
}

impl Knob {
    fn of(setup: &Setup, part: &str, key: &str) -> Knob {
        Knob { part: part.to_string(), key: key.to_string(), entry: setup.number(part, key) }
    }

    fn apply(&self, setup: &mut Setup, value: &Value) -> Result<(), Failure> {
        Ok(setup.set(&self.part, &self.key, value, &describe(value))?)
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
pub(super) fn scaled(value: &Value, factor: f64) -> Value {
    let moved = with_amount(value, amount(value) * factor);
    if moved == *value && factor != 1.0 { with_amount(value, amount(value) + (factor - 1.0).signum()) } else { moved }
}

fn mean_error(setup: &Setup, rows: &[Row], effort: Effort) -> Result<f64, Failure> {
    let measured = cells::measure(setup, rows.to_vec(), effort, &|_, _, _| {})?;
    let cells = cells::cells(&measured, setup.megabyte);
    Ok(cells.iter().filter_map(|c| c.error).map(f64::abs).sum::<f64>() / cells.len() as f64)
}

/// Moves one knob after the other while the mean error over `rows` falls; returns the values found.
fn search(setup: &mut Setup, knobs: &[Knob], rows: &[Row], wish: &Wish) -> Result<Vec<Value>, Failure> {
    let effort = quick(wish.trains);
    let mut values: Vec<Value> = knobs.iter().map(|knob| knob.entry.value.clone()).collect();
    let mut best = mean_error(setup, rows, effort)?;
    let steps = STEPS.len() * ROUNDS * knobs.len();
    let mut done = 0;
    for step in STEPS {
        for _ in 0..ROUNDS {
            for (knob, value) in knobs.iter().zip(&mut values) {
                for share in [step, -step] {
                    while let Some(moved) = knob.moved(value, share) {
                        knob.apply(setup, &moved)?;
                        let error = match mean_error(setup, rows, effort) {
                            // A part refuses what cannot be built.
                            Err(Failure::Input(_)) => f64::INFINITY,
                            other => other?,
                        };
                        if error >= best {
                            knob.apply(setup, value)?;
                            break;
                        }
                        (best, *value) = (error, moved);
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

/// Fits everything again; returns the values found. Nothing is written: the data files are the user's to change.
pub fn fit(wish: &Wish) -> Result<Vec<Parameter>, Failure> {
    let mut setup = Setup::read(wish.library)?;
    let rows = cells::all();
    let one_disk: Vec<Row> = rows.iter().filter(|row| row.one_disk()).cloned().collect();
    let file = study_file();
    let mut knobs: Vec<Knob> = Vec::new();
    for fit in &file.fit {
        knobs.extend(fit.keys.iter().map(|key| Knob::of(&setup, &fit.part, key)));
    }
    let mut found = Vec::new();
    let values = search(&mut setup, &knobs, &one_disk, wish)?;
    found.extend(knobs.iter().zip(values).map(|(knob, value)| parameter(knob, &value, "the 36 one-disk cells")));
    let switch_rows: Vec<Row> = rows.into_iter().filter(Row::shows_channel_switch).collect();
    let knobs = [Knob::of(&setup, DRIVER, "time_above"), Knob::of(&setup, BRIDGE, "channel_switch")];
    let values = search(&mut setup, &knobs, &switch_rows, wish)?;
    let on = "single-block reads of two disks on two channels";
    found.extend(knobs.iter().zip(values).map(|(knob, value)| parameter(knob, &value, on)));
    Ok(found)
}

fn parameter(knob: &Knob, value: &Value, on: &str) -> Parameter {
    Parameter {
        name: format!("{} {}", knob.part, knob.key),
        value: describe(value),
        basis: "fitted".into(),
        from: format!("{on}; the data files have {}", knob.entry.written),
        range: knob.entry.range.iter().map(describe).collect::<Vec<_>>().join(" to "),
    }
}

/// The paper guesses that switching channels costs something between requests. Fitted to the same cells as the
/// penalty per burst, that guess stands beside it.
pub(super) fn penalty_per_request(setup: &Setup, cells: &[Cell], wish: &Wish) -> Result<Vec<Alternative>, Failure> {
    let rows: Vec<Row> = cells::all().into_iter().filter(Row::shows_channel_switch).collect();
    let with = |penalty: Time| -> Result<Vec<Cell>, Failure> {
        let mut other = setup.clone();
        other.set(BRIDGE, "channel_switch", &Value::Time(penalty), &penalty.to_string())?;
        other.set(BRIDGE, "channel_switch_at", &Value::Text("command".into()), "command")?;
        let effort = Effort { share: 0.008, seeds_max: 1, trains: wish.trains };
        let measured = cells::measure(&other, rows.clone(), effort, &|_, _, _| {})?;
        Ok(cells::cells(&measured, other.megabyte))
    };
    let mut theirs: Option<Alternative> = None;
    for penalty in PENALTIES {
        let what = format!("{penalty} whenever requests change channels (the paper's guess), the best of three tried");
        let tried = cells::alternative("penalty-per-request", what, with(penalty)?);
        if theirs.as_ref().is_none_or(|best| tried.mean_abs_error < best.mean_abs_error) {
            theirs = Some(tried);
        }
    }
    let per_burst: Vec<Cell> = cells
        .iter()
        .filter(|c| rows.iter().any(|row| c.key["request_kib"] == row.request_kib))
        .filter(|c| {
            c.key["pattern"] == "single-block" && c.key["op"] == "read" && c.key["placement"] == super::PLACEMENTS[2]
        })
        .cloned()
        .collect();
    let switch = setup.number(BRIDGE, "channel_switch").written;
    let ours = cells::alternative(
        "penalty-per-burst",
        format!("{switch} whenever the buffer changes channels (this model)"),
        per_burst,
    );
    Ok([ours].into_iter().chain(theirs).collect())
}
