//! What the result of a study rests on: every assumed and fitted number moved by a tenth, every mechanism switched off.

use hopscope_machine::quantity;
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::{Basis, Value};

use crate::Wish;
use crate::machines::{Machines, describe};
use crate::report::{Changed, Summary};
use crate::search::scaled;
use crate::study_file;

/// Ablations and sensitivity. The first row of each is the model as it is, at the same effort. `errors` runs the study
/// on changed machines and, where given, with so many requests in flight.
pub(crate) fn shake(
    study: &str,
    machines: &Machines,
    wish: &Wish,
    errors: impl Fn(&Machines, Option<u64>) -> Result<Summary, Failure>,
) -> Result<(Vec<Changed>, Vec<Changed>), Failure> {
    let after = |machines: &Machines, depth: Option<u64>, what: String| {
        let Summary { mean_abs_error, mean_abs_error_predicted, max_abs_error, .. } = errors(machines, depth)?;
        Ok(Changed { what, mean_abs_error, mean_abs_error_predicted, max_abs_error })
    };
    let movable: Vec<_> = machines
        .numbers()
        .into_iter()
        .filter(|(_, entry)| matches!(entry.basis, Basis::Fitted(_) | Basis::Assumed(_)))
        .collect();
    let switches = study_file::read(study).ablation;
    let total = 1 + switches.len() + 2 * movable.len();
    let mut done = 0;
    let mut progress = |what: &str| {
        done += 1;
        (wish.progress)(done, total, what);
    };
    let plain = after(machines, None, "as it is".into())?;
    progress("as it is");
    let (mut ablations, mut sensitivity) = (vec![plain.clone()], vec![plain]);
    for switch in switches {
        let mut changed = machines.clone();
        for (part, key, text) in &switch.set {
            let value = quantity::parse(text).unwrap_or_else(|_| Value::Text(text.clone()));
            changed.set(part, key, &value, text)?;
        }
        ablations.push(after(&changed, switch.depth, switch.what.clone())?);
        progress(&switch.what);
    }
    for ((part, key), entry) in movable {
        for factor in [0.9, 1.1] {
            let mut changed = machines.clone();
            let value = scaled(&entry.value, factor);
            changed.set(&part, &key, &value, &describe(&value))?;
            let what = format!("{part} {key}: {} instead of {}", describe(&value), entry.written);
            // A value that the part refuses (a skew longer than a track) is outside what can be built.
            match after(&changed, None, what.clone()) {
                Ok(row) => sensitivity.push(row),
                Err(Failure::Input(_)) => {}
                Err(defect) => return Err(defect),
            }
            progress(&what);
        }
    }
    Ok((ablations, sensitivity))
}
