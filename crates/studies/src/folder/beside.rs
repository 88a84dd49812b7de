//! What stands beside the tables: null models, and the claims of `claims.csv`.

use std::collections::BTreeMap;

use hopscope_files::problem::{Problem, Problems, place};
use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::Place;

use super::Setup;
use super::declared;
use super::formula::Formula;
use super::rows::{Numbers, Row, Table};
use crate::report::{self, Alternative, Cell, CellBasis, CheckedClaim};
use crate::shelf::Claim;

/// A null model that was read.
pub(super) struct NullModel {
    id: String,
    rule: String,
    table: usize,
    /// The rows that it speaks of, with the published figures that its formula uses.
    rows: Vec<(usize, BTreeMap<String, f64>)>,
    value: Formula,
}

/// A claim that was read, with what answers it.
pub(super) struct Answered {
    claim: Claim,
    how: String,
    /// The cells that its formula uses: table and row.
    cells: BTreeMap<String, (usize, usize)>,
    value: Formula,
}

/// The table that is called so.
pub(super) fn table_named(tables: &[Table], name: &str, at: Place) -> Result<usize, Problem> {
    tables.iter().position(|table| table.declared.id == name).ok_or_else(|| {
        let known: Vec<&String> = tables.iter().map(|table| &table.declared.id).collect();
        Problem::at(at, format!("the study has no table `{name}`")).help(did_you_mean(name, &known))
    })
}

fn words(values: &BTreeMap<String, String>) -> String {
    values.iter().map(|(column, value)| format!("{column} = {value}")).collect::<Vec<_>>().join(", ")
}

/// The row of a table that has these values, and no other has.
fn only<'a>(table: &'a Table, values: &BTreeMap<String, String>, at: Place) -> Result<(usize, &'a Row), Problem> {
    let mut found = table.rows.iter().enumerate().filter(|(_, row)| row.has(values));
    match (found.next(), found.next()) {
        (Some(row), None) => Ok(row),
        (None, _) => {
            let title = format!("table `{}` has no row with {}", table.declared.id, words(values));
            Err(Problem::at(at, title).help("values are written as in the CSV"))
        }
        (Some(_), Some(_)) => {
            let title = format!("table `{}` has several rows with {}", table.declared.id, words(values));
            Err(Problem::at(at, title).help("name more columns"))
        }
    }
}

impl NullModel {
    pub(super) fn read(
        declared: &declared::NullModel,
        file: u32,
        tables: &[Table],
        numbers: &Numbers,
    ) -> Result<NullModel, Problems> {
        let number = table_named(tables, declared.table.get_ref(), place(file, declared.table.span()))?;
        let table = &tables[number];
        if let Some(column) = declared.rows.keys().find(|column| !table.rows[0].words.contains_key(column.get_ref())) {
            let problem = Problem::at(place(file, column.span()), format!("there is no column `{column}`"));
            let known: Vec<&String> = table.rows[0].words.keys().collect();
            return Err(problem.help(did_you_mean(column.get_ref(), &known)).into());
        }
        let asked = |row: &Row| {
            let values = declared.rows.iter().map(|(column, value)| (column.get_ref(), value));
            row.basis == CellBasis::Seen && row.published.is_some() && row.has(values)
        };
        let mut rows = Vec::new();
        for (index, row) in table.rows.iter().enumerate().filter(|(_, row)| asked(row)) {
            let mut cells = BTreeMap::new();
            for (name, values) in &declared.cells {
                let at = place(file, name.span());
                let key = table.declared.key.iter().map(|column| (column.clone(), row.words[column].clone()));
                let alike = key.chain(values.clone()).collect();
                let (_, other) = only(table, &alike, at)?;
                let Some(published) = other.published else {
                    let title = format!("of {} no figure is published", words(&alike));
                    return Err(Problem::at(at, title).into());
                };
                cells.insert(name.get_ref().clone(), published);
            }
            rows.push((index, cells));
        }
        if rows.is_empty() {
            let problem = Problem::at(place(file, declared.table.span()), "the null model speaks of no row");
            return Err(problem.help("it speaks of rows that are published and not fitted").into());
        }
        let names = declared.cells.keys().map(|name| name.get_ref().clone());
        let columns = table.rows[0].words.keys().filter(|column| **column != table.declared.published);
        let columns = columns.filter(|column| rows_have(table, &rows, column)).cloned();
        let known: Vec<String> = names.chain(columns).chain(numbers.keys().cloned()).collect();
        let value = Formula::read(&declared.value, file, &known)?;
        Ok(NullModel { id: declared.id.clone(), rule: declared.rule.clone(), table: number, rows, value })
    }

    /// It, and this model beside it.
    pub(super) fn beside(&self, setup: &Setup, tables: &[report::Table]) -> Alternative {
        let (rows, cells) = (&setup.read.tables[self.table].rows, &tables[self.table].cells);
        let counted = || self.rows.iter().filter(|(index, _)| cells[*index].repeats.is_none());
        let guessed = counted().map(|(index, published)| {
            let row = &rows[*index];
            let name =
                |name: &str| published.get(name).copied().or_else(|| row.number(name)).or_else(|| setup.number(name));
            let guess = self.value.value(|wanted| name(wanted).unwrap_or(f64::NAN));
            Cell::new(row.key.clone(), row.published, guess, CellBasis::Seen, 0.0)
        });
        let ours: Vec<Cell> = counted().map(|(index, _)| cells[*index].clone()).collect();
        Alternative::null_model(&self.id, &self.rule, guessed.collect(), &ours)
    }
}

/// Whether a column is a number in each of these rows.
fn rows_have(table: &Table, rows: &[(usize, BTreeMap<String, f64>)], column: &str) -> bool {
    rows.iter().all(|(index, _)| table.rows[*index].number(column).is_some())
}

impl Answered {
    pub(super) fn read(
        claim: Claim,
        declared: &declared::Answer,
        file: u32,
        tables: &[Table],
        numbers: &Numbers,
    ) -> Result<Answered, Problems> {
        let mut cells = BTreeMap::new();
        for (name, values) in &declared.cells {
            let at = place(file, name.span());
            let mut values = values.clone();
            let Some(table) = values.remove("table") else {
                return Err(Problem::at(at, "of which table is this cell?").help("write table = \"…\"").into());
            };
            let number = table_named(tables, &table, at)?;
            cells.insert(name.get_ref().clone(), (number, only(&tables[number], &values, at)?.0));
        }
        let known: Vec<String> = cells.keys().chain(numbers.keys()).cloned().collect();
        let value = Formula::read(&declared.value, file, &known)?;
        Ok(Answered { claim, how: declared.how.clone(), cells, value })
    }

    /// What is simulated of it.
    pub(super) fn check(&self, setup: &Setup, tables: &[report::Table]) -> CheckedClaim {
        let cell = |name: &str| {
            let (table, row) = self.cells.get(name)?;
            tables[*table].cells[*row].simulated
        };
        let name = |name: &str| cell(name).or_else(|| setup.number(name)).unwrap_or(f64::NAN);
        self.claim.clone().check(self.value.value(name), &self.how)
    }
}
