//! Chooses the fitted numbers: one value each for the whole study, within its plausible range.
//!
//! All but two are fitted on the 36 one-disk cells. The dead time of a channel switch and the processor time above
//! the driver are fitted on the single-block reads of two disks on two channels.

use hopscope_kernel::Time;
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::Value;

use super::cells::{self, Row};
use super::{ID, Setup};
use crate::Wish;
use crate::machines::Machines;
use crate::measure::Effort;
use crate::report::{Alternative, Cell, Parameter};
use crate::search::{Knob, parameter, search};
use crate::study_file;

const BRIDGE: &str = "bridge/intel-piix4e";
const DRIVER: &str = "driver/windows-2000-ide";
/// Penalties tried for the paper's guess.
const PENALTIES: [Time; 3] = [Time::us(60), Time::us(120), Time::us(180)];

fn quick(trains: bool) -> Effort {
    Effort { share: 0.01, seeds_max: 4, trains }
}

fn mean_error(setup: &Setup, rows: &[Row], effort: Effort) -> Result<f64, Failure> {
    let measured = cells::measure(setup, rows.to_vec(), effort, &|_, _, _| {})?;
    let cells = cells::cells(&measured, setup.megabyte);
    Ok(cells.iter().filter_map(|c| c.error).map(f64::abs).sum::<f64>() / cells.len() as f64)
}

fn choose(setup: &mut Setup, knobs: &[Knob], rows: &[Row], wish: &Wish) -> Result<Vec<Value>, Failure> {
    let fixed = setup.clone();
    let error = |machines: &Machines| {
        mean_error(&Setup { machines: machines.clone(), ..fixed.clone() }, rows, quick(wish.trains))
    };
    search(&mut setup.machines, knobs, error, wish)
}

/// Fits everything again; returns the values found. Nothing is written: the data files are the user's to change.
pub fn fit(wish: &Wish) -> Result<Vec<Parameter>, Failure> {
    let mut setup = Setup::read(wish.library)?;
    let rows = cells::all();
    let one_disk: Vec<Row> = rows.iter().filter(|row| row.one_disk()).cloned().collect();
    let file = study_file::read(ID);
    let mut knobs: Vec<Knob> = Vec::new();
    for fit in &file.fit {
        knobs.extend(fit.keys.iter().map(|key| Knob::of(&setup.machines, &fit.part, key)));
    }
    let mut found = Vec::new();
    let values = choose(&mut setup, &knobs, &one_disk, wish)?;
    found.extend(knobs.iter().zip(values).map(|(knob, value)| parameter(knob, &value, "the 36 one-disk cells")));
    let switch_rows: Vec<Row> = rows.into_iter().filter(Row::shows_channel_switch).collect();
    let knobs = [Knob::of(&setup.machines, DRIVER, "time_above"), Knob::of(&setup.machines, BRIDGE, "channel_switch")];
    let values = choose(&mut setup, &knobs, &switch_rows, wish)?;
    let on = "single-block reads of two disks on two channels";
    found.extend(knobs.iter().zip(values).map(|(knob, value)| parameter(knob, &value, on)));
    Ok(found)
}

/// The paper guesses that switching channels costs something between requests. Fitted to the same cells as the
/// penalty per burst, that guess stands beside it.
pub(super) fn penalty_per_request(setup: &Setup, cells: &[Cell], wish: &Wish) -> Result<Vec<Alternative>, Failure> {
    let rows: Vec<Row> = cells::all().into_iter().filter(Row::shows_channel_switch).collect();
    let with = |penalty: Time| -> Result<Vec<Cell>, Failure> {
        let mut other = setup.clone();
        other.machines.set(BRIDGE, "channel_switch", &Value::Time(penalty), &penalty.to_string())?;
        other.machines.set(BRIDGE, "channel_switch_at", &Value::Text("command".into()), "command")?;
        let effort = Effort { share: 0.008, seeds_max: 1, trains: wish.trains };
        let measured = cells::measure(&other, rows.clone(), effort, &|_, _, _| {})?;
        Ok(cells::cells(&measured, other.megabyte))
    };
    let mut theirs: Option<Alternative> = None;
    for penalty in PENALTIES {
        let what = format!("{penalty} whenever requests change channels (the paper's guess), the best of three tried");
        let tried = Alternative::of("penalty-per-request", what, with(penalty)?);
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
    let switch = setup.machines.number(BRIDGE, "channel_switch").written;
    let ours = Alternative::of(
        "penalty-per-burst",
        format!("{switch} whenever the buffer changes channels (this model)"),
        per_burst,
    );
    Ok([ours].into_iter().chain(theirs).collect())
}
