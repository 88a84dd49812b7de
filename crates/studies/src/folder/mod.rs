//! A study that its folder says alone: `study.toml`, a CSV for each table, and what the publication claims.
//!
//! `declared` is what `study.toml` says, `rows` a table with the run of each row, `formula` its arithmetic, `figures`
//! what a run gives it; `cells` runs, `beside` has null models and claims, `charts` what is drawn.

mod beside;
mod cells;
mod charts;
pub(crate) mod declared;
mod figures;
mod formula;
mod rows;

use std::collections::BTreeMap;
use std::sync::Arc;

use hopscope_files::library::{Library, TextOf};
use hopscope_files::problem::{Problem, Problems, Sources, place};
use hopscope_files::quantity;
use hopscope_machine::run::Failure;
use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::{Place, Value};
use serde_json::{Map, Value as Json};

use crate::fitting::{self, Bench, Found, WORKLOAD};
use crate::machines::{Machines, parameters};
use crate::measure::Effort;
use crate::pictures::{Chart, Pictures};
use crate::report::{CellBasis, Changed, Report, Summary, mean};
use crate::shelf::Claim;
use crate::study_file::{Ablation, Fit, Number, StudyFile};
use crate::{Wish, forecasts, robustness};

use beside::{Answered, NullModel, table_named};
use rows::{Around, Numbers, Table, unreadable};

/// The file that makes a folder a study.
pub const STUDY_FILE: &str = "study.toml";
const CLAIMS: &str = "claims.csv";
const FORECASTS: &str = "forecast.csv";
/// What a fit calls all fitted cells.
const ALL: &str = "all";

/// The study with everything that can be varied.
#[derive(Clone)]
pub(crate) struct Setup<'a> {
    library: &'a Library,
    file: Arc<StudyFile>,
    /// The number of `study.toml` among the texts.
    file_number: u32,
    machines: Machines,
    numbers: Numbers,
    read: Arc<Read>,
}

/// What does not vary.
struct Read {
    tables: Vec<Table>,
    nulls: Vec<NullModel>,
    claims: Vec<Answered>,
    charts: Vec<Chart>,
}

/// The texts of a folder, by file.
pub(crate) type Texts = BTreeMap<String, TextOf>;

/// What `study.toml` says, and its number among the texts.
pub(crate) fn study_file(id: &str, texts: &Texts, sources: &mut Sources) -> Result<(StudyFile, u32), Problems> {
    let Some(text) = texts.get(STUDY_FILE) else {
        return Err(Problem::nowhere(format!("the study `{id}` has no {STUDY_FILE}")).into());
    };
    let number = sources.add(text.name.clone(), text.text.clone());
    let forecasts = texts.get(FORECASTS).map(|text| &*text.text);
    let file = StudyFile::of(id, &text.text, forecasts).map_err(|error| {
        let at = place(number, error.span().unwrap_or(0..0));
        Problem::at(at, "this is no study").label(error.message())
    })?;
    Ok((file, number))
}

/// Collects what is wrong, and goes on.
fn keep<T>(problems: &mut Problems, found: Result<T, impl Into<Problems>>) -> Option<T> {
    found.map_err(|wrong| problems.0.extend(wrong.into().0)).ok()
}

impl<'a> Setup<'a> {
    /// Reads it and checks everything that can be wrong before a run.
    pub(crate) fn read(
        id: &str,
        texts: &Texts,
        library: &'a Library,
        sources: &mut Sources,
    ) -> Result<Setup<'a>, Problems> {
        let (file, file_number) = study_file(id, texts, sources)?;
        let top = place(file_number, 0..0);
        let nowhere = |title: String| Problem::at(top, title);
        if file.table.is_empty() {
            let help = "[[table]] says of a table its columns and the run that answers a row";
            return Err(nowhere("the study has no table".into()).help(help).into());
        }
        let machines = Machines::read(&file, library, sources)?;
        let mut problems = Problems::default();
        let numbers = file.numbers.iter().map(|(name, number)| Ok((name.clone(), value_of(name, number)?)));
        let numbers: Result<Numbers, String> = numbers.collect();
        let numbers = numbers.map_err(nowhere)?;
        let names: Vec<&String> = machines.0.keys().collect();
        let around = Around { file: file_number, numbers: &numbers, machines: &names };
        let mut tables: Vec<Table> = Vec::new();
        for declared in &file.table {
            if tables.iter().any(|known| known.declared.id == declared.id) {
                problems.0.push(nowhere(format!("two tables are called `{}`", declared.id)));
                continue;
            }
            let name = declared.file.clone().unwrap_or_else(|| format!("{}.csv", declared.id));
            let Some(text) = texts.get(&name) else {
                let problem = nowhere(format!("table `{}`: the study's folder has no {name}", declared.id));
                problems.0.push(problem.help(did_you_mean(&name, &texts.keys().collect::<Vec<_>>())));
                continue;
            };
            let csv = sources.add(text.name.clone(), text.text.clone());
            tables.extend(keep(&mut problems, Table::read(declared.clone(), csv, sources, &around)));
        }
        problems.unless_empty(())?;
        let mut problems = Problems::default();
        let nulls = file.null.iter();
        let nulls = nulls.filter_map(|null| keep(&mut problems, NullModel::read(null, file_number, &tables, &numbers)));
        let nulls: Vec<NullModel> = nulls.collect();
        let claims = keep(&mut problems, read_claims(&file, file_number, texts, sources, &tables, &numbers));
        let accuracy = file.accuracy.as_ref().map(|stated| stated.read().map_err(nowhere));
        let accuracy = accuracy.and_then(|stated| keep(&mut problems, stated));
        let charts = file
            .chart
            .iter()
            .filter_map(|chart| keep(&mut problems, charts::read(chart, file_number, &tables, accuracy.clone())));
        let charts = charts.collect();
        for fit in &file.fit {
            keep(&mut problems, check_fit(fit, &file, &machines, &tables, top));
        }
        for ablation in &file.ablation {
            keep(&mut problems, check_ablation(ablation, &machines, top));
        }
        if let Some(Err(wrong)) = file.forecasts.as_ref().map(|text| forecasts::read(text)) {
            problems.0.push(nowhere(format!("{FORECASTS}: {wrong}")));
        }
        let read = Arc::new(Read { tables, nulls, claims: claims.unwrap_or_default(), charts });
        let setup = Setup { library, file: Arc::new(file), file_number, machines, numbers, read };
        for (table, row) in setup.read.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row))) {
            // What is wrong with every row is said of the first.
            if let Err(Problems(found)) = setup.asked(table, row) {
                let new = |problem: &Problem| problems.0.iter().all(|known| known.title != problem.title);
                let found: Vec<Problem> = found.into_iter().filter(new).collect();
                problems.0.extend(found);
            }
        }
        problems.unless_empty(setup)
    }

    /// Runs the whole study.
    pub(crate) fn reproduce(&self, wish: &Wish) -> Result<Report, Failure> {
        let effort = Effort { trains: wish.trains, ..cells::FULL };
        let mut tables = self.tables(self.measure(effort, |_, _| true, wish.progress)?);
        let parameters = parameters(&self.file, &self.machines);
        let fitted = parameters.iter().filter(|parameter| parameter.basis == "fitted").count();
        let mut claims = self.read.claims.iter().map(|claim| claim.check(self, &tables)).collect::<Vec<_>>();
        let machine_of = |table: &str, key: &Map<String, Json>| self.machine_of(table, key);
        forecasts::settle(&self.file, &self.machines, machine_of, &mut tables, &mut claims);
        let alternatives = self.read.nulls.iter().map(|null| null.beside(self, &tables)).collect();
        let summary = Summary::of(&tables[0].cells, fitted);
        let (ablations, sensitivity) = if wish.sensitivity { self.shake(wish)? } else { Default::default() };
        let (study, title) = (self.file.id.clone(), self.file.title.clone());
        Ok(Report { study, title, tables, alternatives, claims, parameters, ablations, sensitivity, summary })
    }

    fn shake(&self, wish: &Wish) -> Result<(Vec<Changed>, Vec<Changed>), Failure> {
        let first = &self.read.tables[0].declared.id;
        robustness::shake(&self.file, self, wish, |setup, _| {
            let cells = setup.measure(cells::COARSE, |table, _| table.declared.id == *first, &|_, _, _| {})?;
            Ok(cells.into_iter().next().unwrap_or_default())
        })
    }

    fn machine_of(&self, table: &str, key: &Map<String, Json>) -> Option<String> {
        let table = self.read.tables.iter().find(|known| known.declared.id == table)?;
        table.rows.iter().find(|row| row.key == *key).map(|row| row.machine.clone())
    }

    /// What its page draws.
    pub(crate) fn pictures(&self) -> Pictures {
        Pictures { charts: self.read.charts.clone(), timelines: Vec::new() }
    }

    /// Fits its parameters again.
    pub(crate) fn fit(&self, wish: &Wish) -> Result<Vec<Found>, Failure> {
        fitting::fit(&self.file, self.clone(), wish)
    }
}

impl Bench for Setup<'_> {
    fn machines(&mut self) -> &mut Machines {
        &mut self.machines
    }

    fn set(&mut self, number: &str, value: &Value) {
        self.numbers.insert(number.to_string(), value.clone());
    }

    /// The fitted cells of a table, or of all.
    fn error(&self, cells: &str) -> Result<f64, Failure> {
        let asked = |table: &Table, row: &rows::Row| {
            row.basis == CellBasis::Fitted && (cells == ALL || table.declared.id == cells)
        };
        let measured = self.measure(cells::COARSE, asked, &|_, _, _| {})?;
        let errors: Vec<f64> = measured.iter().flatten().filter_map(|cell| cell.error).map(f64::abs).collect();
        Ok(mean(&errors).unwrap_or(0.0))
    }
}

/// A number of the study; it and its range can be read.
fn value_of(name: &str, number: &Number) -> Result<Value, String> {
    let parse = |text: &String| quantity::parse(text).map_err(|why| format!("number `{name}`: {why}"));
    number.range.iter().chain(&number.values).try_for_each(|text| parse(text).map(|_| ()))?;
    parse(&number.value)
}

/// Every claim of `claims.csv`, each with what answers it.
fn read_claims(
    file: &StudyFile,
    file_number: u32,
    texts: &Texts,
    sources: &mut Sources,
    tables: &[Table],
    numbers: &Numbers,
) -> Result<Vec<Answered>, Problems> {
    let (mut claims, mut problems): (Vec<Answered>, Problems) = (Vec::new(), Problems::default());
    let mut known = Vec::new();
    if let Some(text) = texts.get(CLAIMS) {
        let csv = sources.add(text.name.clone(), text.text.clone());
        for claim in csv::Reader::from_reader(text.text.as_bytes()).deserialize() {
            let claim: Claim = claim.map_err(|error| unreadable(csv, &error, "this is no claim"))?;
            known.push(claim.id.clone());
            match file.claim.iter().find(|answer| *answer.id.get_ref() == claim.id) {
                Some(answer) => {
                    claims.extend(keep(&mut problems, Answered::read(claim, answer, file_number, tables, numbers)));
                }
                None => {
                    let problem = Problem::at(place(csv, 0..0), format!("nothing answers the claim `{}`", claim.id));
                    problems.0.push(problem.help("[[claim]] of study.toml says what does"));
                }
            }
        }
    }
    for answer in file.claim.iter().filter(|answer| !known.contains(answer.id.get_ref())) {
        let title = format!("{CLAIMS} has no claim `{}`", answer.id.get_ref());
        let problem = Problem::at(place(file_number, answer.id.span()), title);
        problems.0.push(problem.help(did_you_mean(answer.id.get_ref(), &known)));
    }
    problems.unless_empty(claims)
}

/// An ablation sets numbers of parts that the study's machines have.
fn check_ablation(ablation: &Ablation, machines: &Machines, top: Place) -> Result<(), Problems> {
    let what = &ablation.what;
    if ablation.depth.is_some() {
        let problem = Problem::at(top, format!("ablation `{what}`: this study has no depth of its own"));
        return Err(problem.help("its jobs have one: a row of the table has it in a column").into());
    }
    let files: Vec<&String> =
        machines.0.values().flat_map(|machine| machine.parts()).map(|known| &known.uses).collect();
    for (part, ..) in &ablation.set {
        if !files.contains(&part) {
            let problem = Problem::at(top, format!("ablation `{what}`: no machine of the study has a part `{part}`"));
            return Err(problem.help(did_you_mean(part, &files)).into());
        }
    }
    ablation.apply(&mut machines.clone())
}

/// A fit moves numbers that are fitted, by cells that are.
fn check_fit(fit: &Fit, file: &StudyFile, machines: &Machines, tables: &[Table], top: Place) -> Result<(), Problems> {
    let tables: Vec<&Table> = match fit.cells.as_str() {
        ALL => tables.iter().collect(),
        name => vec![&tables[table_named(tables, name, top)?]],
    };
    if !tables.iter().flat_map(|table| &table.rows).any(|row| row.basis == CellBasis::Fitted) {
        let problem = Problem::at(top, format!("a fit looks at cells `{}`, and none of them is fitted", fit.cells));
        return Err(problem.help("a column `basis` of the table says `fitted` of those").into());
    }
    let fitted = machines.fitted(&file.id);
    for key in &fit.keys {
        let known = match fit.part.as_str() {
            WORKLOAD => file.numbers.get(key).is_some_and(|number| number.fitted.is_some()),
            part => fitted.iter().any(|known| known.part == part && known.keys.contains(key)),
        };
        if !known {
            let problem =
                Problem::at(top, format!("a fit moves `{key}` of {}, which this study has not fitted", fit.part));
            let help = format!("its basis is fitted = \"{}: …\", in a part of the study's machines", file.id);
            return Err(problem.help(help).into());
        }
    }
    Ok(())
}
