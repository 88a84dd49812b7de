//! A study's folder: `study.toml`, a CSV for each table, and what the publication claims.
//!
//! `declared` is what `study.toml` says, `rows` a table with what answers each row, `formula` its arithmetic,
//! `templates` jobs and texts with formulas in them, `numbers` the study's numbers, `figures` what a run gives; `cells`
//! runs, `beside` has null models and claims, `readings` other readings, `pictures` what is drawn, `check` what is
//! wrong.

mod beside;
mod cells;
mod check;
pub(crate) mod declared;
mod figures;
mod formula;
mod numbers;
mod pictures;
mod readings;
mod rows;
mod templates;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hopscope_files::library::{Library, TextOf};
use hopscope_files::problem::{Problem, Problems, Sources, place};
use hopscope_files::quantity;
use hopscope_kernel::Time;
use hopscope_machine::run::Failure;
use hopscope_parts::parameters::Value;
use serde_json::{Map, Value as Json};
use toml::Spanned;

use crate::fitting::{self, Bench, Found};
use crate::machines::{Machines, parameters};
use crate::measure::Effort;
use crate::pictures::{Chart, Pictures};
use crate::report::{self, Alternative, Cell, CellBasis, Changed, Report, Summary, mean};
use crate::study_file::{Fit, StudyFile};
use crate::{Wish, forecasts, robustness};

use beside::{Answered, NullModel};
use cells::{Devices, Measured};
use numbers::Numbers;
use pictures::WriteCycle;
use readings::{Path, Reading};
use rows::Table;

/// The file that makes a folder a study.
pub const STUDY_FILE: &str = "study.toml";
const FORECASTS: &str = "forecast.csv";

/// The study with everything that can be varied.
#[derive(Clone)]
pub(crate) struct Setup<'a> {
    library: &'a Library,
    file: Arc<StudyFile>,
    /// The number of `study.toml` among the texts.
    file_number: u32,
    machines: Machines,
    /// Its own numbers.
    numbers: Numbers,
    read: Arc<Read>,
}

/// What does not vary.
#[derive(Default)]
struct Read {
    /// The devices of each machine.
    devices: Devices,
    /// Tables, then runs that stand in none.
    tables: Vec<Table>,
    nulls: Vec<NullModel>,
    claims: Vec<Answered>,
    readings: Vec<Reading>,
    paths: Vec<Path>,
    charts: Vec<Chart>,
    cycles: Vec<WriteCycle>,
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

impl<'a> Setup<'a> {
    /// Its numbers and those that parts have, as they are now.
    fn all_numbers(&self) -> Result<Numbers, Problems> {
        numbers::with_given(&self.numbers, &self.file.given, &self.machines, self.file_number)
    }

    /// A time that `study.toml` has.
    fn time(&self, text: &Spanned<String>) -> Result<Time, Problem> {
        match quantity::parse(text.get_ref()) {
            Ok(Value::Time(time)) if time > Time::ZERO => Ok(time),
            _ => {
                let problem = Problem::at(place(self.file_number, text.span()), format!("`{text}` is no time"));
                Err(problem.help("as in `40 ms`"))
            }
        }
    }

    /// Runs the whole study.
    pub(crate) fn reproduce(&self, wish: &Wish) -> Result<Report, Failure> {
        let (effort, numbers) = (Effort { trains: wish.trains, ..cells::FULL }, self.all_numbers()?);
        let Measured { cells: measured, went } = self.measure(effort, &|_, _| true, wish.progress)?;
        let claims = self.read.claims.iter().map(|claim| claim.check(&measured, &numbers));
        let mut claims = claims.collect::<Result<Vec<_>, Failure>>()?;
        let mut tables = self.tables(measured, &numbers)?;
        let parameters = parameters(&self.file, &self.machines);
        let fitted = parameters.iter().filter(|parameter| parameter.basis == "fitted").count();
        let machine_of = |table: &str, key: &Map<String, Json>| self.machine_of(table, key);
        forecasts::settle(&self.file, &self.machines, machine_of, &mut tables, &mut claims);
        let nulls = self.read.nulls.iter().map(|null| null.beside(&self.read.tables, &tables, &numbers));
        let besides = self.read.tables.iter().zip(&tables).filter(|(read, _)| read.declared.beside);
        let besides = besides.map(|(_, table)| Alternative::of(&table.id, table.title.clone(), table.cells.clone()));
        let mut alternatives: Vec<Alternative> = nulls.chain(besides).collect();
        for reading in &self.read.readings {
            alternatives.push(reading.beside(self, &tables, &numbers, wish.trains)?);
        }
        for path in &self.read.paths {
            alternatives.extend(path.beside(self, &tables, &went));
        }
        let reported = self.read.tables.iter().map(|table| table.is_reported);
        let tables: Vec<report::Table> =
            tables.into_iter().zip(reported).filter(|(_, is)| *is).map(|(t, _)| t).collect();
        let summary = Summary::of(&tables[0].cells, fitted);
        let (ablations, sensitivity) = if wish.sensitivity { self.shake(wish)? } else { Default::default() };
        let (study, title) = (self.file.id.clone(), self.file.title.clone());
        Ok(Report { study, title, tables, alternatives, claims, parameters, ablations, sensitivity, summary })
    }

    /// Cells of some rows of a table.
    pub(crate) fn some_cells(&self, table: &str, rows: &[(&str, &str)]) -> Result<Vec<Cell>, Failure> {
        let wanted = |number: usize, row: usize| {
            let table_of = &self.read.tables[number];
            let words = &table_of.rows[row].words;
            table_of.declared.id == table
                && rows.iter().all(|(column, value)| words.get(*column).is_some_and(|w| w == value))
        };
        Ok(self.measure(cells::FIT, &wanted, &|_, _, _| {})?.cells.into_iter().flatten().flatten().collect())
    }

    /// Tables of a report, of everything that was simulated.
    fn tables(&self, measured: Vec<Vec<Option<Cell>>>, numbers: &Numbers) -> Result<Vec<report::Table>, Failure> {
        let of = |name: &str| numbers.get(name).map(numbers::plain);
        let table = |(table, cells): (&Table, Vec<Option<Cell>>)| {
            let title = templates::text(&table.declared.title, place(self.file_number, 0..0), &of)?;
            let cells = cells.into_iter().flatten().collect();
            Ok(report::Table { id: table.declared.id.clone(), title, unit: table.declared.unit.clone(), cells })
        };
        let tables: Result<_, Problem> = self.read.tables.iter().zip(measured).map(table).collect();
        tables.map_err(|problem| Failure::Input(problem.into()))
    }

    /// Changes the first table is looked at after; cells that only repeat others say nothing more.
    fn shake(&self, wish: &Wish) -> Result<(Vec<Changed>, Vec<Changed>), Failure> {
        let table = &self.read.tables[0];
        let repeats: Vec<bool> = table
            .rows
            .iter()
            .map(|row| forecasts::repeated(&self.file, &table.declared.id, &row.key).is_some())
            .collect();
        robustness::shake(&self.file, self, wish, |setup| {
            let measured = setup.measure(cells::COARSE, &|number, row| number == 0 && !repeats[row], &|_, _, _| {})?;
            Ok(measured.cells.into_iter().next().unwrap_or_default().into_iter().flatten().collect())
        })
    }

    fn machine_of(&self, table: &str, key: &Map<String, Json>) -> Option<String> {
        let table = self.read.tables.iter().find(|known| known.declared.id == table)?;
        table.rows.iter().find(|row| row.key == *key).map(|row| row.machine.clone())
    }

    /// What its page draws.
    pub(crate) fn pictures(&self, wish: &Wish) -> Result<Pictures, Failure> {
        let numbers = self.all_numbers()?;
        let cycles = self.read.cycles.iter().map(|cycle| cycle.timeline(self, &numbers, wish.trains));
        Ok(Pictures { charts: self.read.charts.clone(), timelines: cycles.collect::<Result<_, _>>()? })
    }

    /// Fits its parameters again.
    pub(crate) fn fit(&self, wish: &Wish) -> Result<Vec<Found>, Failure> {
        fitting::fit(&self.file, self.clone(), wish)
    }

    /// The rows that a search looks at: fitted ones, if it does not say otherwise.
    fn rows_of(&self, fit: &Fit) -> BTreeSet<(usize, usize)> {
        let basis = fit.basis.as_deref().unwrap_or(CellBasis::Fitted.word());
        let tables = self.read.tables.iter().enumerate();
        let tables = tables.filter(|(_, table)| fit.tables.is_empty() || fit.tables.contains(&table.declared.id));
        let rows = tables.flat_map(|(number, table)| (0..table.rows.len()).map(move |row| (number, row)));
        let looked_at = |(number, row): &(usize, usize)| {
            let row = &self.read.tables[*number].rows[*row];
            row.basis.word() == basis && row.published.is_some() && row.derived.is_none() && row.has(&fit.rows)
        };
        rows.filter(looked_at).collect()
    }

    /// The claim that a search looks at.
    fn claim(&self, id: &str) -> Option<&Answered> {
        self.read.claims.iter().find(|known| known.claim.id == id)
    }
}

impl Bench for Setup<'_> {
    fn machines(&mut self) -> &mut Machines {
        &mut self.machines
    }

    fn set(&mut self, number: &str, value: &Value) {
        let step = self.file.numbers.get(number).and_then(|known| known.multiple_of.as_deref());
        let value = match (value, step.map(quantity::parse)) {
            (Value::Bytes(n), Some(Ok(Value::Bytes(step)))) if step > 0 => Value::Bytes(n / step * step),
            (value, _) => value.clone(),
        };
        self.numbers.insert(number.to_string(), value);
    }

    /// How far its cells are off, or its claim from what was published: of a range, from the middle.
    fn error(&self, fit: &Fit) -> Result<f64, Failure> {
        if let Some(claim) = fit.claim.as_deref().and_then(|id| self.claim(id)) {
            let rows = claim.cells.values().flat_map(|(table, rows)| rows.iter().map(move |row| (*table, *row)));
            let mut rows: BTreeSet<(usize, usize)> = rows.collect();
            for (table, row) in rows.clone() {
                let derived = self.read.tables[table].rows[row].derived.iter();
                rows.extend(derived.flat_map(|from| from.cells.values().flatten()).map(|from| (table, *from)));
            }
            let wanted = |table: usize, row: usize| rows.contains(&(table, row));
            let cells = self.measure(cells::FIT, &wanted, &|_, _, _| {})?.cells;
            let published = claim.claim.value.parse().unwrap_or_else(|_| claim.claim.middle());
            return Ok((claim.value(&cells, &self.all_numbers()?) / published - 1.0).abs());
        }
        let rows = self.rows_of(fit);
        let measured = self.measure(cells::FIT, &|table, row| rows.contains(&(table, row)), &|_, _, _| {})?;
        let errors = measured.cells.iter().flatten().flatten().filter_map(|cell| cell.error).map(f64::abs);
        Ok(mean(&errors.collect::<Vec<_>>()).unwrap_or(0.0))
    }
}
