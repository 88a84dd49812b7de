//! The search for fitted numbers: one value each for the whole study, within its plausible range.
//!
//! `study.toml` says which numbers are fitted to which cells; all that bear the label are there, and no others. A search
//! has a bound, and whoever stops it gets what it has found so far.

use std::collections::HashMap;

use hopscope_files::problem::Problems;
use hopscope_files::quantity;
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::{Basis, Entry, Place, Value};
use serde::Serialize;

use crate::Wish;
use crate::machines::{self, Machines, describe};
use crate::report::Parameter;
use crate::steps::{FEW, amount, few, scaled, with_amount};
use crate::study_file::{Fit, StudyFile};

/// The study's own numbers, where `study.toml` names a part.
pub(crate) const WORKLOAD: &str = "workload";
/// Steps of the search: shares of the value.
const STEPS: [f64; 3] = [0.16, 0.05, 0.02];
/// Rounds with one step, at most; a round that finds nothing better is the last with its step.
const ROUNDS: usize = 3;
/// Trials, at most, for each number of a search.
const TRIALS_MAX: usize = 24;

/// A study as the search sees it: what it can change, and how far off the cells are then.
pub(crate) trait Bench: Clone {
    /// Its machines.
    fn machines(&mut self) -> &mut Machines;
    /// Changes one of the study's own numbers.
    fn set(&mut self, number: &str, value: &Value);
    /// The mean error of the cells that a search looks at.
    fn error(&self, fit: &Fit) -> Result<f64, Failure>;
}

/// Sets numbers of parts, and of the study itself.
pub(crate) fn set_all<B: Bench>(bench: &mut B, numbers: &[(String, String, String)]) -> Result<(), Problems> {
    for (part, key, text) in numbers {
        let value = quantity::parse(text).unwrap_or_else(|_| Value::Text(text.clone()));
        match part.as_str() {
            WORKLOAD => bench.set(key, &value),
            part => bench.machines().set(part, key, &value, text)?,
        }
    }
    Ok(())
}

/// What one search found.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The cells that it fitted to, by the study's word for them.
    pub cells: String,
    /// Their mean error before.
    pub mean_abs_error_before: f64,
    /// And with the values found.
    pub mean_abs_error: f64,
    /// Values that were tried.
    pub trials: usize,
    /// How it ended.
    pub ended: Ended,
    /// The values found.
    pub parameters: Vec<Parameter>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// No step found anything better.
    Settled,
    /// It had tried as much as it may.
    Bound,
    /// Somebody stopped it.
    Stopped,
}

impl Ended {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Ended::Settled => "until nothing was better",
            Ended::Bound => "as many as it may",
            Ended::Stopped => "stopped before its end",
        }
    }
}

/// A number that is moved.
#[derive(Clone)]
enum Which {
    Machine(machines::Fitted),
    Workload(String),
}

/// A number that is moved, and where it may go.
#[derive(Clone)]
struct Knob {
    which: Which,
    entry: Entry,
    /// The values that it can have, where they are few.
    values: Option<Vec<Value>>,
}

/// Numbers and the cells that they are fitted to.
struct Stage {
    /// The first that names these cells.
    fit: Fit,
    knobs: Vec<Knob>,
}

/// Fits everything again. Nothing is written: the data files are the user's to change.
pub(crate) fn fit<B: Bench>(file: &StudyFile, mut bench: B, wish: &Wish) -> Result<Vec<Found>, Failure> {
    let mut found = Vec::new();
    for stage in stages(file, bench.machines()) {
        found.push(search(&file.id, &mut bench, stage, wish)?);
        if (wish.stop)() {
            break;
        }
    }
    Ok(found)
}

/// The searches of a study, one after the other.
fn stages(file: &StudyFile, machines: &Machines) -> Vec<Stage> {
    let (study, fitted) = (&file.id, machines.fitted(&file.id));
    let mut stages: Vec<Stage> = Vec::new();
    for fit in &file.fit {
        let knobs = fit.keys.iter().map(|key| match fit.part.as_str() {
            WORKLOAD => workload(file, key),
            part => {
                let known = fitted.iter().find(|known| known.part == part && known.keys.contains(key));
                let known = known.unwrap_or_else(|| panic!("studies/{study}/study.toml: {part} {key} is not fitted"));
                let (entry, values) = (known.entry.clone(), few(&known.entry));
                Knob { which: Which::Machine(known.clone()), entry, values }
            }
        });
        match stages.last_mut() {
            Some(last) if last.fit.cells == fit.cells => last.knobs.extend(knobs),
            _ => stages.push(Stage { fit: fit.clone(), knobs: knobs.collect() }),
        }
    }
    stages
}

/// One of the study's own numbers.
fn workload(file: &StudyFile, name: &str) -> Knob {
    let study = &file.id;
    let known = file.numbers.get(name).filter(|number| number.fitted.is_some());
    let number = known.unwrap_or_else(|| panic!("studies/{study}/study.toml: {WORKLOAD} {name} is not fitted"));
    let read = |text: &String| quantity::parse(text).unwrap_or_else(|e| panic!("studies/{study}: {name}: {e}"));
    let entry = Entry {
        value: read(&number.value),
        basis: Basis::Fitted(number.fitted.clone().unwrap_or_default()),
        written: number.value.clone(),
        range: number.range.iter().map(read).collect(),
        place: Place::default(),
    };
    let values = if number.values.is_empty() { few(&entry) } else { Some(number.values.iter().map(read).collect()) };
    Knob { which: Which::Workload(name.to_string()), entry, values }
}

impl Knob {
    fn name(&self) -> String {
        match &self.which {
            Which::Machine(number) => number.name(),
            Which::Workload(name) => format!("{WORKLOAD} {name}"),
        }
    }

    fn apply<B: Bench>(&self, study: &str, bench: &mut B, value: &Value) -> Result<(), Failure> {
        match &self.which {
            Which::Machine(number) => bench.machines().set_fitted(study, number, value)?,
            Which::Workload(name) => bench.set(name, value),
        }
        Ok(())
    }

    /// Where a value may go next, by a share up or down; nothing where that moves nothing.
    fn moved(&self, value: &Value, share: f64) -> Option<Value> {
        if let Some(values) = &self.values {
            let at = values.iter().position(|known| known == value)?;
            return if share > 0.0 { values.get(at + 1).cloned() } else { values.get(at.checked_sub(1)?).cloned() };
        }
        let moved = scaled(value, 1.0 + share);
        let within = match &self.entry.range[..] {
            [low, high] => amount(&moved).clamp(amount(low).min(amount(high)), amount(low).max(amount(high))),
            _ => amount(&moved),
        };
        let moved = with_amount(value, within as f64);
        (moved != *value).then_some(moved)
    }

    fn found(&self, value: &Value) -> Parameter {
        Parameter {
            name: self.name(),
            value: describe(value),
            basis: "fitted".into(),
            from: format!("the data have {}", self.entry.written),
            range: match &self.values {
                Some(values) if self.entry.range.is_empty() || values.len() <= FEW => {
                    values.iter().map(describe).collect::<Vec<_>>().join(" or ")
                }
                _ => self.entry.range.iter().map(describe).collect::<Vec<_>>().join(" to "),
            },
        }
    }
}

/// The state of a search.
struct Search<'a, B> {
    study: &'a str,
    bench: &'a mut B,
    stage: &'a Stage,
    values: Vec<Value>,
    best: f64,
    /// What was tried, and how far off it was.
    tried: HashMap<String, f64>,
    bound: usize,
    wish: &'a Wish<'a>,
}

impl<B: Bench> Search<'_, B> {
    /// Why it has to end now.
    fn ended(&self) -> Option<Ended> {
        match () {
            () if (self.wish.stop)() => Some(Ended::Stopped),
            () if self.tried.len() >= self.bound => Some(Ended::Bound),
            () => None,
        }
    }

    /// The mean error with the values as they are.
    fn error(&mut self) -> Result<f64, Failure> {
        let values: Vec<String> = self.values.iter().map(|value| format!("{value:?}")).collect();
        let values = values.join(" ");
        if let Some(known) = self.tried.get(&values) {
            return Ok(*known);
        }
        let error = match self.bench.error(&self.stage.fit) {
            // A part refuses what cannot be built.
            Err(Failure::Input(_)) => f64::INFINITY,
            other => other?,
        };
        self.tried.insert(values, error);
        Ok(error)
    }

    /// Takes a value if it is better.
    fn try_value(&mut self, number: usize, value: Value) -> Result<bool, Failure> {
        let knob = &self.stage.knobs[number];
        let before = std::mem::replace(&mut self.values[number], value);
        knob.apply(self.study, self.bench, &self.values[number])?;
        let error = self.error()?;
        let better = error < self.best;
        if better {
            self.best = error;
        } else {
            self.values[number] = before;
            knob.apply(self.study, self.bench, &self.values[number])?;
        }
        let now = format!("{} = {}: {:.3} %", knob.name(), describe(&self.values[number]), 100.0 * self.best);
        (self.wish.progress)(self.tried.len(), self.bound, &now);
        Ok(better)
    }

    /// Moves one number while that helps; says whether it has moved.
    fn improve(&mut self, number: usize, step: f64) -> Result<bool, Failure> {
        let knob = &self.stage.knobs[number];
        let mut better = false;
        if let Some(values) = knob.values.as_ref().filter(|values| values.len() <= FEW) {
            for value in values.iter().filter(|value| **value != self.values[number]).cloned().collect::<Vec<_>>() {
                if self.ended().is_none() {
                    better |= self.try_value(number, value)?;
                }
            }
            return Ok(better);
        }
        for share in [step, -step] {
            while self.ended().is_none()
                && let Some(moved) = knob.moved(&self.values[number], share)
            {
                if !self.try_value(number, moved)? {
                    break;
                }
                better = true;
            }
        }
        Ok(better)
    }
}

/// Moves one number after the other while the error falls.
fn search<B: Bench>(study: &str, bench: &mut B, stage: Stage, wish: &Wish) -> Result<Found, Failure> {
    let values = stage.knobs.iter().map(|knob| knob.entry.value.clone()).collect();
    let bound = TRIALS_MAX * stage.knobs.len();
    let mut search = Search { study, bench, stage: &stage, values, best: 0.0, tried: HashMap::new(), bound, wish };
    search.best = search.bench.error(&stage.fit)?;
    let before = search.best;
    for step in STEPS {
        for _ in 0..ROUNDS {
            let mut better = false;
            for number in 0..stage.knobs.len() {
                better |= search.improve(number, step)?;
            }
            if !better {
                break;
            }
        }
    }
    let ended = search.ended().unwrap_or(Ended::Settled);
    let parameters = stage.knobs.iter().zip(&search.values).map(|(knob, value)| knob.found(value)).collect();
    let (mean_abs_error, trials) = (search.best, search.tried.len());
    Ok(Found { cells: stage.fit.cells, mean_abs_error_before: before, mean_abs_error, trials, ended, parameters })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hopscope_files::library::Library;
    use hopscope_files::problem::Sources;

    use super::*;
    use crate::{Study, shelf};

    #[test]
    fn a_fit_moves_exactly_the_fitted_numbers() {
        let library = Library::new(None).expect("the shipped files can be read");
        for study in Study::shipped() {
            let file = shelf::study_file(study.id());
            let machines = Machines::read(&file, &library, &mut Sources::default()).expect("machines");
            let own = file.numbers.iter().filter(|(_, number)| number.fitted.is_some());
            let labelled: BTreeSet<String> = own
                .map(|(name, _)| format!("{WORKLOAD} {name}"))
                .chain(machines.fitted(study.id()).iter().map(machines::Fitted::name))
                .collect();
            let stages = stages(&file, &machines);
            let moved: Vec<String> = stages.iter().flat_map(|stage| stage.knobs.iter().map(Knob::name)).collect();
            let once: BTreeSet<String> = moved.iter().cloned().collect();
            assert_eq!(once.len(), moved.len(), "{}: a number is moved twice", study.id());
            let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
            assert!(
                once == labelled,
                "{}: labelled and not moved {:#?}, moved and not labelled {:#?}",
                study.id,
                only(&labelled, &once),
                only(&once, &labelled)
            );
            for knob in stages.iter().flat_map(|stage| &stage.knobs) {
                let somewhere = knob.moved(&knob.entry.value, 0.05).or(knob.moved(&knob.entry.value, -0.05));
                assert!(somewhere.is_some(), "{}: {} cannot go anywhere", study.id(), knob.name());
            }
        }
    }

    /// How far three numbers are from where they should be.
    #[derive(Clone)]
    struct Bowl(Vec<(String, f64)>, Machines);

    impl Bench for Bowl {
        fn machines(&mut self) -> &mut Machines {
            &mut self.1
        }

        fn set(&mut self, number: &str, value: &Value) {
            let known = self.0.iter_mut().find(|(name, _)| name == number).expect("a number of the bowl");
            known.1 = amount(value) as f64;
        }

        fn error(&self, _: &Fit) -> Result<f64, Failure> {
            let wanted = [("span", 8e6), ("depth", 5.0), ("unit", 1_000_000.0)];
            Ok(self.0.iter().zip(wanted).map(|((_, is), (_, should))| (is / should - 1.0).abs()).sum())
        }
    }

    fn bowl() -> (Bowl, Stage) {
        let entry = |value: &str, range: [&str; 2]| {
            let read = |text: &str| quantity::parse(text).expect("a quantity");
            let (basis, place) = (Basis::Fitted("a bowl: its bottom".into()), Place::default());
            Entry { value: read(value), basis, written: value.into(), range: range.map(read).into(), place }
        };
        let knob = |name: &str, entry: Entry, values| Knob { which: Which::Workload(name.into()), entry, values };
        let units = [1_000_000, 1_048_576].map(Value::Bytes).to_vec();
        let [span, depth, unit] = [
            entry("5 MB", ["1 MB", "20 MB"]),
            entry("2 requests", ["1 requests", "9 requests"]),
            entry("1 MiB", ["1 MB", "1 MiB"]),
        ];
        let knobs = vec![
            knob("span", span.clone(), few(&span)),
            knob("depth", depth.clone(), few(&depth)),
            knob("unit", unit, Some(units)),
        ];
        let fit = toml::from_str("cells = \"all\"\npart = \"workload\"\nkeys = []").expect("a fit");
        let numbers = knobs.iter().map(|knob| (knob.name().replace("workload ", ""), amount(&knob.entry.value) as f64));
        (Bowl(numbers.collect(), Machines(Default::default())), Stage { fit, knobs })
    }

    fn searched(stop: &(dyn Fn() -> bool + Sync)) -> Found {
        let library = Library::new(None).expect("the shipped files can be read");
        let wish = Wish { library: &library, trains: true, sensitivity: false, stop, progress: &|_, _, _| {} };
        let (mut bowl, stage) = bowl();
        search("bowl", &mut bowl, stage, &wish).expect("a search")
    }

    #[test]
    fn a_search_finds_continuous_and_discrete_numbers() {
        let found = searched(&|| false);
        assert_eq!(found.ended, Ended::Settled);
        assert!(found.mean_abs_error < 0.02 && found.mean_abs_error_before > 0.9, "{found:?}");
        let values: Vec<&str> = found.parameters.iter().map(|p| p.value.as_str()).collect();
        assert_eq!(values[1..], ["5", "1000000 B"]);
    }

    #[test]
    fn a_search_that_is_stopped_says_what_it_has_found() {
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let found = searched(&|| asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 4);
        assert_eq!(found.ended, Ended::Stopped);
        assert!(found.trials < 6 && found.mean_abs_error < found.mean_abs_error_before, "{found:?}");
    }
}
