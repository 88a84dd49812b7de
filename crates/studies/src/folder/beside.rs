//! What stands beside the tables: null models, and the claims of `claims.csv`.

use std::collections::BTreeMap;

use hopscope_files::problem::{Problem, Problems, place};
use hopscope_machine::run::Failure;
use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::Place;

use super::cells::simulated;
use super::declared::{self, Words};
use super::formula::Formula;
use super::numbers::{Numbers, plain};
use super::rows::{Around, Row, Table, Values};
use super::templates;
use crate::report::{self, Alternative, Cell, CellBasis, CheckedClaim};
use crate::shelf::Claim;

/// A null model that was read.
pub(super) struct NullModel {
    id: String,
    rule: String,
    table: usize,
    /// The rows that it speaks of, with the published figures that its formulas use.
    rows: Vec<(usize, BTreeMap<String, f64>)>,
    values: Values,
}

/// A claim that was read, with what answers it.
pub(super) struct Answered {
    pub(super) claim: Claim,
    how: String,
    /// The cells that its formula uses: table and rows, whose mean is meant.
    pub(super) cells: BTreeMap<String, (usize, Vec<usize>)>,
    value: Formula,
    /// Where the formula stands.
    place: Place,
}

/// The table that is called so.
pub(super) fn table_named(tables: &[Table], name: &str, at: Place) -> Result<usize, Problem> {
    tables.iter().position(|table| table.declared.id == name).ok_or_else(|| {
        let known: Vec<&String> = tables.iter().map(|table| &table.declared.id).collect();
        Problem::at(at, format!("the study has no table `{name}`")).help(did_you_mean(name, &known))
    })
}

/// What a formula calls the runs that stand in no table.
pub(super) fn runs(tables: &[Table]) -> impl Iterator<Item = (String, usize)> {
    let runs = tables.iter().enumerate().filter(|(_, table)| table.declared.key.is_empty());
    runs.map(|(number, table)| (table.declared.id.clone(), number))
}

impl NullModel {
    pub(super) fn read(
        declared: &declared::NullModel,
        tables: &[Table],
        around: &Around,
    ) -> Result<NullModel, Problems> {
        let file = around.file;
        let at = place(file, declared.table.span());
        let number = table_named(tables, declared.table.get_ref(), at)?;
        let table = &tables[number];
        let spoken_of = declared.values.iter().map(|value| &value.rows).chain([&declared.rows]);
        spoken_of.into_iter().try_for_each(|rows| table.has_columns(rows, file))?;
        let asked = |row: &Row| row.basis == CellBasis::Seen && row.published.is_some() && row.has(&declared.rows);
        let mut rows = Vec::new();
        for index in (0..table.rows.len()).filter(|index| asked(&table.rows[*index])) {
            let mut cells = BTreeMap::new();
            for (name, found) in table.cells_like(index, &declared.cells, around)? {
                let published: Option<Vec<f64>> = found.iter().map(|row| table.rows[*row].published).collect();
                let Some(published) = published else {
                    let name = declared.cells.keys().find(|known| *known.get_ref() == name);
                    let title = "of what this formula uses, no figure is published";
                    return Err(Problem::at(place(file, name.map_or(0..0, |name| name.span())), title).into());
                };
                cells.insert(name, published.iter().sum::<f64>() / published.len() as f64);
            }
            rows.push((index, cells));
        }
        if rows.is_empty() {
            let problem = Problem::at(at, "the null model speaks of no row");
            return Err(problem.help("it speaks of rows that are published and not fitted").into());
        }
        let columns = table.numbers_of(&rows.iter().map(|(index, _)| *index).collect::<Vec<_>>());
        let names = declared.cells.keys().map(|name| name.get_ref().clone());
        let known: Vec<String> = names.chain(columns).chain(around.numbers.keys().cloned()).collect();
        let values = Values::read(declared.value.as_ref(), &declared.values, file, at, &known)?;
        if let Some((row, _)) = rows.iter().find(|(index, _)| values.of(&table.rows[*index]).is_none()) {
            let problem = Problem::at(table.rows[*row].place, "the null model has no formula for this row");
            return Err(problem.label(declared.id.clone()).into());
        }
        let null = NullModel { id: declared.id.clone(), rule: declared.rule.clone(), table: number, rows, values };
        null.rule(table, around.numbers, at)?;
        Ok(null)
    }

    /// A name in its formulas, for one of its rows.
    fn name(&self, table: &Table, at: usize, numbers: &Numbers, name: &str) -> Option<f64> {
        let (index, published) = &self.rows[at];
        let known = published.get(name).copied().or_else(|| table.rows[*index].number(name));
        known.or_else(|| numbers.get(name).map(plain))
    }

    /// The rule in words.
    fn rule(&self, table: &Table, numbers: &Numbers, at: Place) -> Result<String, Problem> {
        templates::text(&self.rule, at, &|name| self.name(table, 0, numbers, name))
    }

    /// It, and this model beside it.
    pub(super) fn beside(&self, read: &[Table], tables: &[report::Table], numbers: &Numbers) -> Alternative {
        let (table, cells) = (&read[self.table], &tables[self.table].cells);
        let counted = || (0..self.rows.len()).filter(|at| cells[self.rows[*at].0].repeats.is_none());
        let guessed = counted().filter_map(|at| {
            let row = &table.rows[self.rows[at].0];
            let formula = self.values.of(row)?;
            let guess = formula.value(|name| self.name(table, at, numbers, name).unwrap_or(f64::NAN));
            Some(Cell::new(row.key.clone(), row.published, guess, CellBasis::Seen, 0.0))
        });
        let ours: Vec<Cell> = counted().map(|at| cells[self.rows[at].0].clone()).collect();
        let rule = self.rule(table, numbers, Place::default()).unwrap_or_else(|_| self.rule.clone());
        Alternative::null_model(&self.id, &rule, guessed.collect(), &ours)
    }
}

impl Answered {
    pub(super) fn read(
        claim: Claim,
        declared: &declared::Answer,
        tables: &[Table],
        around: &Around,
    ) -> Result<Answered, Problems> {
        let mut cells: BTreeMap<String, (usize, Vec<usize>)> =
            runs(tables).map(|(name, number)| (name, (number, vec![0]))).collect();
        for (name, values) in &declared.cells {
            let at = place(around.file, name.span());
            let mut values = values.clone();
            let Some(Words::One(table)) = values.remove("table") else {
                return Err(Problem::at(at, "of which table is this cell?").help("write table = \"…\"").into());
            };
            let number = table_named(tables, &table, at)?;
            cells.insert(name.get_ref().clone(), (number, tables[number].rows_with(&values, at)?));
        }
        let known: Vec<String> = cells.keys().chain(around.numbers.keys()).cloned().collect();
        let value = Formula::read(&declared.value, around.file, &known)?;
        cells.retain(|name, _| value.names().contains(name));
        let place = place(around.file, declared.value.span());
        Ok(Answered { claim, how: declared.how.clone(), cells, value, place })
    }

    /// What is simulated of it.
    pub(super) fn value(&self, cells: &[Vec<Option<Cell>>], numbers: &Numbers) -> f64 {
        let name = |name: &str| match self.cells.get(name) {
            Some((table, rows)) => simulated(&cells[*table], rows),
            None => numbers.get(name).map(plain),
        };
        self.value.value(|wanted| name(wanted).unwrap_or(f64::NAN))
    }

    /// The same, beside what is claimed.
    pub(super) fn check(&self, cells: &[Vec<Option<Cell>>], numbers: &Numbers) -> Result<CheckedClaim, Failure> {
        let value = self.value(cells, numbers);
        if value.is_finite() {
            return Ok(self.claim.clone().check(value, &self.how));
        }
        let problem = Problem::at(self.place, format!("what answers the claim `{}` is no number", self.claim.id));
        Err(Failure::Input(problem.help("its formula divides by zero").into()))
    }
}
