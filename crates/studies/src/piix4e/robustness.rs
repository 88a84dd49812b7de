//! What the result rests on: every assumed and fitted number moved by a tenth, every mechanism switched off.

use hopscope_machine::quantity;
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::Basis;

use super::cells;
use super::{ID, Setup};
use crate::Wish;
use crate::machines::describe;
use crate::measure::Effort;
use crate::report::{Changed, Summary};
use crate::search::scaled;
use crate::study_file;

/// Coarser than the study itself: dozens of whole studies are run here.
const EFFORT: Effort = Effort { share: 0.02, seeds_max: 2, trains: true };

fn after(setup: &Setup, what: String) -> Result<Changed, Failure> {
    let measured = cells::measure(setup, cells::all(), EFFORT, &|_, _, _| {})?;
    let summary = Summary::of(&cells::cells(&measured, setup.megabyte), 0);
    let Summary { mean_abs_error, mean_abs_error_predicted, max_abs_error, .. } = summary;
    Ok(Changed { what, mean_abs_error, mean_abs_error_predicted, max_abs_error })
}

/// Ablations and sensitivity. The first row of each is the model as it is, at the same effort.
pub(super) fn shake(setup: &Setup, wish: &Wish) -> Result<(Vec<Changed>, Vec<Changed>), Failure> {
    let movable: Vec<_> = setup
        .machines
        .numbers()
        .into_iter()
        .filter(|(_, entry)| matches!(entry.basis, Basis::Fitted(_) | Basis::Assumed(_)))
        .collect();
    let switches = study_file::read(ID).ablation;
    let total = 1 + switches.len() + 2 * movable.len();
    let mut done = 0;
    let mut progress = |what: &str| {
        done += 1;
        (wish.progress)(done, total, what);
    };
    let plain = after(setup, "as it is".into())?;
    progress("as it is");
    let (mut ablations, mut sensitivity) = (vec![plain.clone()], vec![plain]);
    for switch in switches {
        let mut changed = setup.clone();
        for (part, key, text) in &switch.set {
            let value = quantity::parse(text).unwrap_or_else(|e| panic!("studies/{ID}/study.toml: {text}: {e}"));
            changed.machines.set(part, key, &value, text)?;
        }
        changed.depth = switch.depth.unwrap_or(setup.depth);
        ablations.push(after(&changed, switch.what.clone())?);
        progress(&switch.what);
    }
    for ((part, key), entry) in movable {
        for factor in [0.9, 1.1] {
            let mut changed = setup.clone();
            let value = scaled(&entry.value, factor);
            changed.machines.set(&part, &key, &value, &describe(&value))?;
            let what = format!("{part} {key}: {} instead of {}", describe(&value), entry.written);
            // A value that the part refuses (a skew longer than a track) is outside what can be built.
            match after(&changed, what.clone()) {
                Ok(row) => sensitivity.push(row),
                Err(Failure::Input(_)) => {}
                Err(defect) => return Err(defect),
            }
            progress(&what);
        }
    }
    Ok((ablations, sensitivity))
}
