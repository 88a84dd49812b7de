//! Runs that answer cells, in parallel.

use std::sync::atomic::{AtomicUsize, Ordering};

use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::job_file::{self, Job};
use hopscope_machine::nearest::did_you_mean;
use hopscope_machine::problem::{Problem, Problems, Sources};
use hopscope_machine::run::{self, Failure, Options};
use rayon::prelude::*;

use super::Setup;
use super::declared::Seeds;
use super::figures::Given;
use super::rows::{Row, Table, plain};
use crate::measure::{Effort, Mean, RUN_WIDER, over_seeds};
use crate::report::{self, Cell};

/// What a published table deserves: half a percent, eight seeds.
pub(super) const FULL: Effort = Effort { share: 0.005, seeds_max: 8, trains: true };
/// One run a cell, for what needs hundreds of whole studies.
pub(super) const COARSE: Effort = Effort { share: 0.01, seeds_max: 1, trains: true };

/// A job's words are in no file: what is wrong with them stands in the row, or in what `study.toml` makes of it.
fn in_row(Problems(found): Problems, row: &Row, words: &[String]) -> Problems {
    let here = |problem: Problem| {
        let title = format!("the job of this row: {}", problem.title);
        Problem::at(row.place, title).label(words.join(" ")).help(problem.help)
    };
    Problems(found.into_iter().map(here).collect())
}

impl Setup<'_> {
    /// The words of a row's job.
    fn words(&self, table: &Table, row: &Row) -> Result<Vec<String>, Problems> {
        let words: Result<Vec<String>, Problem> =
            table.declared.job.iter().map(|word| row.filled(word, self.file_number, &self.numbers)).collect();
        Ok(words?)
    }

    /// The machine and the jobs of a row, settled with each other.
    pub(super) fn asked(&self, table: &Table, row: &Row) -> Result<(Blueprint, Vec<Job>), Problems> {
        let words = self.words(table, row)?;
        let settle = || {
            let mut sources = Sources::default();
            let mut machine = self.machines.0[&row.machine].clone();
            let mut file = job_file::read_options(&mut sources, &words)?;
            file.settle(&mut machine, self.library, &mut sources)?;
            let devices = machine.devices();
            let targets = file.jobs.iter().flat_map(|job| &job.targets);
            if let Some(target) = targets.into_iter().find(|target| !devices.contains(target)) {
                let problem = Problem::nowhere(format!("`{}` has no device `{target}`", row.machine));
                return Err(problem.help(did_you_mean(target, &devices)).into());
            }
            Ok((machine, file.jobs))
        };
        settle().map_err(|problems| in_row(problems, row, &words))
    }

    /// Runs a row until its figure is known well enough.
    fn answer(&self, table: &Table, row: &Row, effort: Effort) -> Result<Mean, Failure> {
        let (machine, jobs) = self.asked(table, row)?;
        let mut values = Vec::new();
        let (seeds, until) = match table.declared.seeds {
            Some(Seeds(seeds)) => (seeds.min(effort.seeds_max), None),
            None => (effort.seeds_max, Some(RUN_WIDER * effort.share)),
        };
        for seed in 1..=seeds {
            let options = Options { seed, trains: effort.trains, until, cut: true, ..Options::default() };
            let given = match run::run(&machine, &jobs, options, None) {
                Ok(outcome) => Given::by(&outcome),
                Err(Failure::Input(problems)) => {
                    return Err(Failure::Input(in_row(problems, row, &self.words(table, row)?)));
                }
                Err(defect) => return Err(defect),
            };
            if given.is_nothing() {
                let words = self.words(table, row)?;
                let problem =
                    Problem::nowhere("no request ended in its time").help("a longer --runtime, or --time_based");
                return Err(Failure::Input(in_row(problem.into(), row, &words)));
            }
            let name = |name: &str| given.figure(name).or_else(|| row.number(name)).or_else(|| self.number(name));
            values.push(table.value.value(|wanted| name(wanted).unwrap_or(f64::NAN)));
            let mean = over_seeds(&values);
            if !mean.value.is_finite() {
                let problem = Problem::at(row.place, "the value of this row is no number");
                let help = "the formula of its table divides by zero, or uses a column that is empty here";
                return Err(Failure::Input(problem.label(table.declared.value.get_ref()).help(help).into()));
            }
            if until.is_some() && seed >= 2 && mean.half_width <= effort.share * mean.value.abs() {
                break;
            }
        }
        let Mean { value, half_width } = over_seeds(&values);
        Ok(Mean { value, half_width: if half_width.is_finite() { half_width } else { 0.0 } })
    }

    /// A number of the study.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).map(plain)
    }

    /// Simulates the rows that are asked for, table by table.
    pub(super) fn measure(
        &self,
        effort: Effort,
        asked: impl Fn(&Table, &Row) -> bool,
        progress: &(dyn Fn(usize, usize, &str) + Sync),
    ) -> Result<Vec<Vec<Cell>>, Failure> {
        let tables = &self.read.tables;
        let rows = tables.iter().enumerate().flat_map(|(number, table)| {
            table.rows.iter().filter(|row| asked(table, row)).map(move |row| (number, table, row)).collect::<Vec<_>>()
        });
        let rows: Vec<(usize, &Table, &Row)> = rows.collect();
        let (done, count) = (AtomicUsize::new(0), rows.len());
        let cells = rows.into_par_iter().with_max_len(1).map(|(number, table, row)| {
            let mean = self.answer(table, row, effort)?;
            let words: Vec<&str> = table.declared.key.iter().map(|column| row.words[column].as_str()).collect();
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, count, &words.join(", "));
            Ok((number, Cell::new(row.key.clone(), row.published, mean.value, row.basis, mean.half_width)))
        });
        // Of several failures the first row's is told, whichever ended first.
        let cells: Vec<Result<(usize, Cell), Failure>> = cells.collect();
        let mut of_tables: Vec<Vec<Cell>> = tables.iter().map(|_| Vec::new()).collect();
        for found in cells {
            let (number, cell) = found?;
            of_tables[number].push(cell);
        }
        Ok(of_tables)
    }

    /// The tables of a report.
    pub(super) fn tables(&self, cells: Vec<Vec<Cell>>) -> Vec<report::Table> {
        let declared = self.read.tables.iter().map(|table| &table.declared);
        let table = |(table, cells): (&super::declared::Table, Vec<Cell>)| report::Table {
            id: table.id.clone(),
            title: table.title.clone(),
            unit: table.unit.clone(),
            cells,
        };
        declared.zip(cells).map(table).collect()
    }
}
