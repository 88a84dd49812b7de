//! What the result of a study rests on: every assumed and fitted number moved by a tenth, every mechanism switched off.

use hopscope_files::quantity;
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::{Basis, Entry, Value};

use crate::Wish;
use crate::fitting::{Bench, WORKLOAD, set_all};
use crate::machines::{Fitted, describe};
use crate::report::{Cell, Changed, Summary};
use crate::steps::scaled;
use crate::study_file::StudyFile;

/// An assumed number that moves the mean error by more than this counts as fitted.
const POINTS_MAX: f64 = 0.003;

/// A number that is moved.
enum Moved {
    /// Of parts: one that is fitted is moved wherever it stands.
    Fitted(Fitted),
    Assumed(String, String, Entry),
    /// The study's own.
    Workload(String, Value, String, bool),
}

impl Moved {
    fn name(&self) -> String {
        match self {
            Moved::Fitted(number) => number.name(),
            Moved::Assumed(part, key, _) => format!("{part} {key}"),
            Moved::Workload(name, ..) => format!("{WORKLOAD} {name}"),
        }
    }

    fn value(&self) -> (&Value, &str) {
        match self {
            Moved::Fitted(Fitted { entry, .. }) | Moved::Assumed(_, _, entry) => (&entry.value, &entry.written),
            Moved::Workload(_, value, written, _) => (value, written),
        }
    }

    fn is_fitted(&self) -> bool {
        matches!(self, Moved::Fitted(_) | Moved::Workload(_, _, _, true))
    }

    fn apply<B: Bench>(&self, study: &str, bench: &mut B, value: &Value) -> Result<(), Failure> {
        match self {
            Moved::Fitted(number) => bench.machines().set_fitted(study, number, value)?,
            Moved::Assumed(part, key, _) => bench.machines().set(part, key, value, &describe(value))?,
            Moved::Workload(name, ..) => bench.set(name, value),
        }
        Ok(())
    }
}

/// Every number that is moved. Choices have no tenth.
fn movable<B: Bench>(file: &StudyFile, bench: &mut B) -> Vec<Moved> {
    let fitted = bench.machines().fitted(&file.id).into_iter();
    let fitted = fitted.filter(|number| !matches!(number.entry.value, Value::Text(_))).map(Moved::Fitted);
    let numbers = bench.machines().numbers().into_iter();
    let assumed = numbers.filter(|(_, entry)| matches!(entry.basis, Basis::Assumed(_)));
    let assumed = assumed.map(|((part, key), entry)| Moved::Assumed(part, key, entry));
    let own = file.numbers.iter().filter(|(_, number)| number.source.is_none()).filter_map(|(name, number)| {
        let value = quantity::parse(&number.value).ok()?;
        let is_fitted = number.fitted.is_some();
        number.values.is_empty().then(|| Moved::Workload(name.clone(), value, number.value.clone(), is_fitted))
    });
    fitted.chain(assumed).chain(own).collect()
}

/// Ablations and sensitivity. The first row of each is the model as it is, at the same effort. `run` answers the main
/// table on a changed study.
pub(crate) fn shake<B: Bench>(
    file: &StudyFile,
    bench: &B,
    wish: &Wish,
    run: impl Fn(&B) -> Result<Vec<Cell>, Failure>,
) -> Result<(Vec<Changed>, Vec<Changed>), Failure> {
    let after = |bench: &B, what: String| {
        let [mean_abs_error, mean_abs_error_not_fitted, max_abs_error] = Summary::errors_of(&run(bench)?);
        Ok(Changed { what, mean_abs_error, mean_abs_error_not_fitted, max_abs_error, counts_as_fitted: false })
    };
    let movable = movable(file, &mut bench.clone());
    let switches = &file.ablation;
    let total = 1 + switches.len() + 2 * movable.len();
    let mut done = 0;
    let mut progress = |what: &str| {
        done += 1;
        (wish.progress)(done, total, what);
    };
    let plain = after(bench, "as it is".into())?;
    progress("as it is");
    let now = plain.mean_abs_error;
    let (mut ablations, mut sensitivity) = (vec![plain.clone()], vec![plain]);
    for switch in switches {
        if (wish.stop)() {
            return Ok((ablations, sensitivity));
        }
        let mut changed = bench.clone();
        set_all(&mut changed, &switch.set)?;
        ablations.push(after(&changed, switch.what.clone())?);
        progress(&switch.what);
    }
    for number in movable {
        for factor in [0.9, 1.1] {
            if (wish.stop)() {
                return Ok((ablations, sensitivity));
            }
            let mut changed = bench.clone();
            let (value, written) = number.value();
            let value = scaled(value, factor);
            number.apply(&file.id, &mut changed, &value)?;
            let what = format!("{}: {} instead of {written}", number.name(), describe(&value));
            // A value that the part refuses (a skew longer than a track) is outside what can be built.
            match after(&changed, what.clone()) {
                Ok(row) => {
                    let counts_as_fitted = !number.is_fitted() && (row.mean_abs_error - now).abs() > POINTS_MAX;
                    sensitivity.push(Changed { counts_as_fitted, ..row });
                }
                Err(Failure::Input(_)) => {}
                Err(defect) => return Err(defect),
            }
            progress(&what);
        }
    }
    Ok((ablations, sensitivity))
}
