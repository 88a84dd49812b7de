//! A table's CSV, row by row, with the machine that answers each and how.

use std::collections::{BTreeMap, BTreeSet};

use hopscope_files::problem::{Problem, Problems, Sources, place};
use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::Place;
use serde_json::{Map, Number, Value as Json};
use toml::Spanned;

use super::declared::{self, Words};
use super::figures;
use super::formula::Formula;
use super::numbers::Numbers;
use super::templates;
use crate::report::CellBasis;

/// A table is what a publication prints, not a trace.
const MOST_ROWS: usize = 10_000;
/// The column with the published figure, if nothing is said.
const PUBLISHED: &str = "published";
/// What a formula calls that which is read off a run.
pub(super) const PROBE: &str = "probe";

/// A published table and what answers it; or a run alone, which has one row.
pub(super) struct Table {
    pub(super) declared: declared::Table,
    pub(super) rows: Vec<Row>,
    /// Whether it is in the report's tables: neither a run alone, nor among other readings.
    pub(super) is_reported: bool,
    /// The column with the published figures.
    published: String,
    values: Values,
}

/// A published figure and what answers it.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) key: Map<String, Json>,
    /// What the row has, by column.
    pub(super) words: BTreeMap<String, String>,
    pub(super) published: Option<f64>,
    pub(super) basis: CellBasis,
    /// As the study calls it.
    pub(super) machine: String,
    /// The rows that it follows from, where no run answers it.
    pub(super) derived: Option<Derived>,
    /// Where it stands.
    pub(super) place: Place,
}

/// What a row follows from.
#[derive(Clone)]
pub(super) struct Derived {
    /// By the formula's names: rows of the same table, whose mean is meant.
    pub(super) cells: BTreeMap<String, Vec<usize>>,
    pub(super) value: Formula,
}

/// Formulas for rows: of each row the first that is for it.
pub(super) struct Values(Vec<(declared::Rows, Formula)>);

impl Values {
    /// Reads those that a table or a null model has; one is there at least.
    pub(super) fn read(
        one: Option<&Spanned<String>>,
        several: &[declared::Value],
        file: u32,
        top: Place,
        known: &[String],
    ) -> Result<Values, Problem> {
        let one = one.map(|value| (declared::Rows::new(), value));
        let all = several.iter().map(|part| (part.rows.clone(), &part.value)).chain(one);
        let read = |(rows, value): (declared::Rows, &Spanned<String>)| Ok((rows, Formula::read(value, file, known)?));
        let values: Vec<_> = all.map(read).collect::<Result<_, Problem>>()?;
        match values.is_empty() {
            true => Err(Problem::at(top, "nothing says the value of a row").help("write value = \"FORMULA\"")),
            false => Ok(Values(values)),
        }
    }

    /// The formula for a row.
    pub(super) fn of(&self, row: &Row) -> Option<&Formula> {
        self.0.iter().find(|(rows, _)| row.has(rows)).map(|(_, value)| value)
    }
}

/// What a row has in a column, as JSON. Where every row has a number there, it is one.
fn json(word: &str, is_number: bool) -> Json {
    if !is_number {
        return word.into();
    }
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
    pub(super) fn has(&self, rows: &declared::Rows) -> bool {
        rows.iter().all(|(column, words)| self.words.get(column.get_ref()).is_some_and(|word| words.has(word)))
    }

    /// A template with what the row has, or the study's numbers, for what stands in braces.
    pub(super) fn filled(&self, template: &Spanned<String>, file: u32, numbers: &Numbers) -> Result<String, Problem> {
        templates::word(template, file, &self.words, numbers)
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

/// Values of columns in words.
fn words(values: &BTreeMap<String, Words>) -> String {
    let value = |(column, words): (&String, &Words)| format!("{column} = {}", words.all().join(" or "));
    values.iter().map(value).collect::<Vec<_>>().join(", ")
}

impl Table {
    /// Reads the CSV that `sources` keeps under the number `csv`.
    pub(super) fn read(
        declared: declared::Table,
        csv: u32,
        sources: &Sources,
        around: &Around,
    ) -> Result<Table, Problems> {
        let top = place(csv, 0..0);
        let text = sources.text(csv);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let unreadable = |error: csv::Error| unreadable(csv, &error, "this is no row of the table");
        let header: Vec<String> = reader.headers().map_err(unreadable)?.iter().map(str::to_string).collect();
        let default = (!declared.beside).then(|| PUBLISHED.to_string());
        let published = declared.published.as_ref().map(Spanned::get_ref).or(default.as_ref());
        let each = declared.each.as_ref().map(Spanned::get_ref);
        let filtered = declared.rows.keys().map(Spanned::get_ref);
        for column in declared.key.iter().chain(published).chain(each).chain(filtered) {
            if !header.contains(column) {
                let problem = Problem::at(top, format!("there is no column `{column}`"));
                let of = format!("table `{}` of study.toml asks for it", declared.id);
                return Err(problem.label(of).help(did_you_mean(column, &header)).into());
            }
        }
        let published = published.cloned().unwrap_or_else(|| PUBLISHED.to_string());
        let (mut rows, mut problems): (Vec<Row>, Problems) = (Vec::new(), Problems::default());
        let mut cells: BTreeSet<Vec<String>> = BTreeSet::new();
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            let start = record.position().map_or(0, |position| position.byte() as usize);
            let end = text[start..].find('\n').map_or(text.len(), |end| start + end);
            let at = place(csv, start..end);
            let words = header.iter().cloned().zip(record.iter().map(|word| word.trim().to_string())).collect();
            match Row::read(words, at, declared.machine.as_ref(), &published, around) {
                Ok(row) if !row.has(&declared.rows) => {}
                Ok(row) if !cells.insert(declared.key.iter().map(|column| row.words[column].clone()).collect()) => {
                    let problem = Problem::at(row.place, "this cell is there twice");
                    problems.0.push(problem.help("name in `key` every column that tells figures apart"));
                }
                Ok(row) => rows.push(row),
                Err(problem) if problems.0.contains(&problem) => {}
                Err(problem) => problems.0.push(problem),
            }
            if rows.len() > MOST_ROWS {
                return Err(Problem::at(at, format!("a table has {MOST_ROWS} rows at most")).into());
            }
        }
        if rows.is_empty() && problems.0.is_empty() {
            problems.0.push(Problem::at(top, "the table has no rows"));
        }
        for column in &declared.key {
            let is_number = rows.iter().all(|row| row.number(column).is_some());
            for row in &mut rows {
                row.key.insert(column.clone(), json(&row.words[column], is_number));
            }
        }
        let is_reported = !declared.beside;
        Table::complete(declared, rows, published, is_reported, around, problems)
    }

    /// A run that stands in no table.
    pub(super) fn alone(declared: declared::Table, around: &Around) -> Result<Table, Problems> {
        let at = place(around.file, declared.job.first().map_or(0..0, Spanned::span));
        let row = Row::alone(declared.machine.as_ref(), at, around)?;
        Table::complete(declared, vec![row], PUBLISHED.into(), false, around, Problems::default())
    }

    /// Reads its formulas.
    fn complete(
        declared: declared::Table,
        rows: Vec<Row>,
        published: String,
        is_reported: bool,
        around: &Around,
        mut problems: Problems,
    ) -> Result<Table, Problems> {
        // What is published answers nothing.
        let columns: Vec<String> = rows.first().map_or(Vec::new(), |row| row.words.keys().cloned().collect());
        let columns = columns.into_iter().filter(|column| *column != published);
        let columns = columns.filter(|column| rows.iter().any(|row| row.number(column).is_some()));
        let names: Vec<&str> = if declared.probe.is_some() { vec![PROBE] } else { figures::names().collect() };
        let names = names.into_iter().map(String::from);
        let known: Vec<String> = columns.chain(around.numbers.keys().cloned()).chain(names).collect();
        let top = place(around.file, 0..0);
        let values = Values::read(declared.value.as_ref(), &declared.values, around.file, top, &known);
        let values = match values {
            Ok(values) if problems.0.is_empty() => values,
            Ok(_) => return Err(problems),
            Err(problem) => {
                problems.0.push(problem);
                return Err(problems);
            }
        };
        let mut table = Table { declared, rows, is_reported, published, values };
        for derived in table.declared.derived.clone() {
            for index in (0..table.rows.len()).filter(|index| table.rows[*index].has(&derived.rows)).collect::<Vec<_>>()
            {
                let cells = table.cells_like(index, &derived.cells, around)?;
                let known: Vec<String> = cells.keys().chain(around.numbers.keys()).cloned().collect();
                let value = Formula::read(&derived.value, around.file, &known)?;
                table.rows[index].derived = Some(Derived { cells, value });
            }
        }
        let follows =
            |row: &Row| row.derived.iter().flat_map(|from| from.cells.values().flatten()).copied().collect::<Vec<_>>();
        let chained = table.rows.iter().find(|row| follows(row).iter().any(|from| table.rows[*from].derived.is_some()));
        if let Some(row) = chained {
            let problem = Problem::at(row.place, "this row follows from one that itself follows from others");
            return Err(problem.help("`cells` of [[table.derived]] names rows that runs answer").into());
        }
        for part in &table.declared.values {
            table.has_columns(&part.rows, around.file)?;
            if !table.rows.iter().any(|row| row.has(&part.rows)) {
                let at = place(around.file, part.value.span());
                return Err(Problem::at(at, "no row has this formula").help("values are written as in the CSV").into());
            }
        }
        let without = table.rows.iter().find(|row| row.derived.is_none() && table.values.of(row).is_none());
        if let Some(row) = without {
            let problem = Problem::at(row.place, "nothing says the value of this row");
            return Err(problem.help("no `rows` of its table's [[table.values]] has it").into());
        }
        Ok(table)
    }

    /// The formula for a row.
    pub(super) fn value(&self, row: &Row) -> &Formula {
        self.values.of(row).unwrap_or_else(|| unreachable!("a row without a formula is refused"))
    }

    /// Columns that are numbers in each of these rows, but for what is published.
    pub(super) fn numbers_of(&self, rows: &[usize]) -> Vec<String> {
        let columns = self.rows[0].words.keys().filter(|column| **column != self.published);
        columns.filter(|column| rows.iter().all(|row| self.rows[*row].number(column).is_some())).cloned().collect()
    }

    /// Complains of columns that are not there.
    pub(super) fn has_columns(&self, rows: &declared::Rows, file: u32) -> Result<(), Problem> {
        let known: Vec<&String> = self.rows[0].words.keys().collect();
        match rows.keys().find(|column| !known.contains(&column.get_ref())) {
            None => Ok(()),
            Some(column) => {
                let problem = Problem::at(place(file, column.span()), format!("there is no column `{column}`"));
                Err(problem.help(did_you_mean(column.get_ref(), &known)))
            }
        }
    }

    /// Rows that have these values: one, or where several values are said of a column all that there are.
    pub(super) fn rows_with(&self, values: &BTreeMap<String, Words>, at: Place) -> Result<Vec<usize>, Problem> {
        let has =
            |row: &Row| values.iter().all(|(column, words)| row.words.get(column).is_some_and(|word| words.has(word)));
        let found: Vec<usize> = (0..self.rows.len()).filter(|index| has(&self.rows[*index])).collect();
        for (column, words) in values {
            let is_there = |word: &&String| found.iter().any(|row| self.rows[*row].words.get(column) == Some(*word));
            if let Some(word) = words.all().iter().find(|word| !found.is_empty() && !is_there(word)) {
                let title = format!("table `{}` has no such row with {column} = {word}", self.declared.id);
                return Err(Problem::at(at, title).help("values are written as in the CSV"));
            }
        }
        let several = values.values().any(|words| matches!(words, Words::Several(_)));
        match found.len() {
            0 => {
                let title = format!("table `{}` has no row with {}", self.declared.id, words(values));
                Err(Problem::at(at, title).help("values are written as in the CSV"))
            }
            2.. if !several => {
                let title = format!("table `{}` has several rows with {}", self.declared.id, words(values));
                Err(Problem::at(at, title).help("name more columns"))
            }
            _ => Ok(found),
        }
    }

    /// For each name the rows whose key has these values and is else that of a row.
    pub(super) fn cells_like(
        &self,
        row: usize,
        cells: &declared::Cells,
        around: &Around,
    ) -> Result<BTreeMap<String, Vec<usize>>, Problem> {
        let row = &self.rows[row];
        let like = |(name, values): (&Spanned<String>, &BTreeMap<String, Words>)| {
            let at = place(around.file, name.span());
            let key = self.declared.key.iter().map(|column| (column.clone(), Words::One(row.words[column].clone())));
            let mut alike: BTreeMap<String, Words> = key.collect();
            for (column, words) in values {
                let fill =
                    |word: &String| row.filled(&Spanned::new(name.span(), word.clone()), around.file, around.numbers);
                let words = match words {
                    Words::One(word) => Words::One(fill(word)?),
                    Words::Several(words) => Words::Several(words.iter().map(fill).collect::<Result<_, _>>()?),
                };
                alike.insert(column.clone(), words);
            }
            Ok((name.get_ref().clone(), self.rows_with(&alike, at)?))
        };
        cells.iter().map(like).collect()
    }
}

impl Row {
    /// Of a run that stands in no table: it has no columns.
    pub(super) fn alone(machine: Option<&Spanned<String>>, at: Place, around: &Around) -> Result<Row, Problem> {
        Row::read(BTreeMap::new(), at, machine, PUBLISHED, around)
    }

    fn read(
        words: BTreeMap<String, String>,
        place: Place,
        machine: Option<&Spanned<String>>,
        published: &str,
        around: &Around,
    ) -> Result<Row, Problem> {
        let published = match words.get(published).map_or("", String::as_str) {
            "" => None,
            figure => match figure.parse::<f64>() {
                Ok(figure) if figure.is_finite() && figure != 0.0 => Some(figure),
                _ => {
                    let problem = Problem::at(place, format!("`{figure}` is no published figure"));
                    return Err(problem.help("a number that is not zero; nothing where none is known yet"));
                }
            },
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
        let (key, derived) = (Map::new(), None);
        let mut row = Row { key, words, published, basis, machine: String::new(), derived, place };
        row.machine = match (machine, around.machines) {
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
