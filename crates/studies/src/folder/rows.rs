//! A table's CSV, row by row, with the machine and the job that answer each.

use std::collections::BTreeMap;

use hopscope_files::problem::{Problem, Problems, Sources, place};
use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::{Place, Value};
use serde_json::{Map, Number, Value as Json};
use toml::Spanned;

use super::declared;
use super::figures;
use super::formula::Formula;
use crate::report::CellBasis;

/// A table is what a publication prints, not a trace.
const MOST_ROWS: usize = 10_000;

/// A published table and what answers it.
pub(super) struct Table {
    pub(super) declared: declared::Table,
    pub(super) rows: Vec<Row>,
    pub(super) value: Formula,
}

/// A published figure and the run that answers it.
pub(super) struct Row {
    pub(super) key: Map<String, Json>,
    /// What the row has, by column.
    pub(super) words: BTreeMap<String, String>,
    pub(super) published: Option<f64>,
    pub(super) basis: CellBasis,
    /// As the study calls it.
    pub(super) machine: String,
    /// Where it stands.
    pub(super) place: Place,
}

/// The study's own numbers, as formulas and jobs have them.
pub(super) type Numbers = BTreeMap<String, Value>;

/// A number of the study in a formula: bytes, shares of one, microseconds, bytes a second.
pub(super) fn plain(value: &Value) -> f64 {
    match value {
        Value::Bytes(n) | Value::Count(n) | Value::Rate(n) | Value::Clocks(n) => *n as f64,
        Value::Share(ppm) => *ppm as f64 / 1e6,
        Value::Time(t) | Value::Period(t) => t.as_seconds_f64() * 1e6,
        Value::Text(_) | Value::Rows(_) => f64::NAN,
    }
}

/// The same in a job: bytes, percent, microseconds.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::Bytes(n) | Value::Count(n) | Value::Rate(n) | Value::Clocks(n) => Some(n.to_string()),
        Value::Share(ppm) => Some(((ppm + 5_000) / 10_000).to_string()),
        Value::Time(t) | Value::Period(t) => Some(format!("{}us", t.as_ps() / 1_000_000)),
        Value::Text(_) | Value::Rows(_) => None,
    }
}

/// What a row has in a column, as JSON: a number where it is one.
fn json(word: &str) -> Json {
    let whole = word.parse::<i64>().ok().filter(|n| n.to_string() == word).map(Json::from);
    let number = || word.parse().ok().filter(|n: &f64| n.is_finite()).and_then(Number::from_f64).map(Json::Number);
    whole.or_else(number).unwrap_or_else(|| word.into())
}

impl Row {
    /// What it has in a column that is a number.
    pub(super) fn number(&self, column: &str) -> Option<f64> {
        self.words.get(column)?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Whether it has these values.
    pub(super) fn has<'a>(&self, values: impl IntoIterator<Item = (&'a String, &'a String)>) -> bool {
        values.into_iter().all(|(column, value)| self.words.get(column) == Some(value))
    }

    /// A template with what the row has, or the study's numbers, for what stands in braces.
    pub(super) fn filled(&self, template: &Spanned<String>, file: u32, numbers: &Numbers) -> Result<String, Problem> {
        let mut filled = String::new();
        let mut rest = template.get_ref().as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let at = place(file, template.span());
            let Some((name, after)) = after.split_once('}') else {
                return Err(Problem::at(at, "a brace is not closed").help("write {COLUMN}"));
            };
            let known = self.words.get(name).cloned().or_else(|| numbers.get(name).and_then(written));
            let Some(known) = known else {
                let names: Vec<&String> = self.words.keys().chain(numbers.keys()).collect();
                let problem = Problem::at(at, format!("there is neither a column nor a number `{name}`"));
                return Err(problem.help(did_you_mean(name, &names)));
            };
            filled.push_str(before);
            filled.push_str(&known);
            rest = after;
        }
        Ok(filled + rest)
    }
}

/// What is wrong with a row of the CSV `file`, where it begins.
pub(super) fn unreadable(file: u32, error: &csv::Error, title: &str) -> Problem {
    let start = error.position().map_or(0, |position| position.byte() as usize);
    Problem::at(place(file, start..start), title).label(error.to_string())
}

/// What is around a table: where things stand and what the study has.
pub(super) struct Around<'a> {
    /// The number of `study.toml` among the texts.
    pub(super) file: u32,
    pub(super) numbers: &'a Numbers,
    /// The machines, as the study calls them.
    pub(super) machines: &'a [&'a String],
}

impl Table {
    /// Reads the CSV that `sources` keeps under the number `csv`.
    pub(super) fn read(
        declared: declared::Table,
        csv: u32,
        sources: &Sources,
        around: &Around,
    ) -> Result<Table, Problems> {
        let text = sources.text(csv);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let unreadable = |error: csv::Error| unreadable(csv, &error, "this is no row of the table");
        let header: Vec<String> = reader.headers().map_err(unreadable)?.iter().map(str::to_string).collect();
        for column in declared.key.iter().chain([&declared.published]) {
            if !header.contains(column) {
                let problem = Problem::at(place(csv, 0..0), format!("there is no column `{column}`"));
                let of = format!("table `{}` of study.toml asks for it", declared.id);
                return Err(problem.label(of).help(did_you_mean(column, &header)).into());
            }
        }
        let (mut rows, mut problems): (Vec<Row>, Problems) = (Vec::new(), Problems::default());
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            let start = record.position().map_or(0, |position| position.byte() as usize);
            let end = text[start..].find('\n').map_or(text.len(), |end| start + end);
            let words = header.iter().cloned().zip(record.iter().map(|word| word.trim().to_string())).collect();
            match Row::read(words, place(csv, start..end), &declared, around) {
                Ok(row) if rows.iter().any(|known| known.key == row.key) => {
                    let problem = Problem::at(row.place, "this cell is there twice");
                    problems.0.push(problem.help("name in `key` every column that tells figures apart"));
                }
                Ok(row) => rows.push(row),
                Err(problem) if problems.0.contains(&problem) => {}
                Err(problem) => problems.0.push(problem),
            }
            if rows.len() > MOST_ROWS {
                let problem = Problem::at(place(csv, start..end), format!("a table has {MOST_ROWS} rows at most"));
                return Err(problem.into());
            }
        }
        if rows.is_empty() && problems.0.is_empty() {
            problems.0.push(Problem::at(place(csv, 0..0), "the table has no rows"));
        }
        // What is published answers nothing.
        let columns = header.iter().filter(|column| **column != declared.published);
        let columns = columns.filter(|column| rows.iter().any(|row| row.number(column).is_some()));
        let known: Vec<String> =
            columns.cloned().chain(around.numbers.keys().cloned()).chain(figures::names().map(String::from)).collect();
        match Formula::read(&declared.value, around.file, &known) {
            Ok(value) if problems.0.is_empty() => Ok(Table { declared, rows, value }),
            Ok(_) => Err(problems),
            Err(problem) => {
                problems.0.push(problem);
                Err(problems)
            }
        }
    }
}

impl Row {
    fn read(
        words: BTreeMap<String, String>,
        place: Place,
        declared: &declared::Table,
        around: &Around,
    ) -> Result<Row, Problem> {
        let key = declared.key.iter().map(|column| (column.clone(), json(&words[column]))).collect();
        let figure = &words[&declared.published];
        let published = match figure.parse::<f64>() {
            _ if figure.is_empty() => None,
            Ok(figure) if figure.is_finite() && figure != 0.0 => Some(figure),
            _ => {
                let problem = Problem::at(place, format!("`{figure}` is no published figure"));
                return Err(problem.help("a number that is not zero; nothing where none is known yet"));
            }
        };
        let basis = match words.get("basis").map_or("seen", String::as_str) {
            "seen" | "" => CellBasis::Seen,
            "fitted" => CellBasis::Fitted,
            "input" => CellBasis::Input,
            other => {
                let problem = Problem::at(place, format!("`{other}` is no basis of a cell"));
                return Err(problem.help("seen, fitted or input; predicted is what a forecast makes of a cell"));
            }
        };
        let mut row = Row { key, words, published, basis, machine: String::new(), place };
        row.machine = match (&declared.machine, around.machines) {
            (Some(template), _) => row.filled(template, around.file, around.numbers)?,
            (None, [only]) => (*only).clone(),
            (None, _) => {
                let problem = Problem::at(place, "which machine answers this row?");
                return Err(problem.help("the study has several [systems]: write machine = \"{COLUMN}\" in its table"));
            }
        };
        if !around.machines.contains(&&row.machine) {
            let problem = Problem::at(place, format!("the study has no machine `{}`", row.machine));
            let help = format!("{} ([systems] of study.toml names them)", did_you_mean(&row.machine, around.machines));
            return Err(problem.help(help.trim()));
        }
        Ok(row)
    }
}
