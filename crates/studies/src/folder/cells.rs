//! Runs that answer cells, in parallel.

use std::sync::atomic::{AtomicUsize, Ordering};

use hopscope_files::job_file::{self, Job};
use hopscope_files::problem::{Problem, Problems, Sources};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{self, Failure, Options};
use hopscope_parts::nearest::did_you_mean;
use rayon::prelude::*;

use super::Setup;
use super::declared::{self, Seeds};
use super::figures::Given;
use super::rows::{Row, Table, plain};
use crate::measure::{Effort, Mean, over_seeds, until_known};
use crate::report::{self, Cell};

/// What a published table deserves: half a percent, eight seeds.
pub(super) const FULL: Effort = Effort { share: 0.005, seeds_max: 8, trains: true };
/// One run a cell, for what needs hundreds of whole studies.
pub(super) const COARSE: Effort = Effort { share: 0.01, seeds_max: 1, trains: true };

/// What a row asks for.
pub(super) struct Asked {
    machine: Blueprint,
    jobs: Vec<Job>,
    /// The words of the job.
    words: Vec<String>,
}

/// A job's words are in no file: what is wrong with them stands in the row, or in what `study.toml` makes of it.
fn in_row(Problems(found): Problems, row: &Row, words: &[String]) -> Problems {
    let here = |problem: Problem| {
        let title = format!("the job of this row: {}", problem.title);
        Problem::at(row.place, title).label(words.join(" ")).help(problem.help)
    };
    Problems(found.into_iter().map(here).collect())
}

impl Setup<'_> {
    /// What a row asks for: a machine and jobs, settled with each other.
    pub(super) fn asked(&self, table: &Table, row: &Row) -> Result<Asked, Problems> {
        let words: Result<Vec<String>, Problem> =
            table.declared.job.iter().map(|word| row.filled(word, self.file_number, &self.numbers)).collect();
        let words = words?;
        let settle = || {
            let mut sources = Sources::default();
            let mut machine = self.machines.0[&row.machine].clone();
            let mut file = job_file::read_options(&mut sources, &words)?;
            machine.settle(&mut file, self.library, &mut sources)?;
            let devices = machine.devices();
            let targets = file.jobs.iter().flat_map(|job| &job.targets);
            if let Some(target) = targets.into_iter().find(|target| !devices.contains(target)) {
                let problem = Problem::nowhere(format!("`{}` has no device `{target}`", row.machine));
                return Err(problem.help(did_you_mean(target, &devices)).into());
            }
            Ok((machine, file.jobs))
        };
        let (machine, jobs) = settle().map_err(|problems| in_row(problems, row, &words))?;
        Ok(Asked { machine, jobs, words })
    }

    /// Runs a row until its figure is known well enough, or as often as its table says.
    fn answer(&self, table: &Table, row: &Row, effort: Effort) -> Result<Mean, Failure> {
        let asked = self.asked(table, row)?;
        let mean = match table.declared.seeds {
            None => until_known(effort, |options| self.figure(table, row, &asked, options)),
            Some(Seeds(seeds)) => {
                let options = |seed| Options { seed, trains: effort.trains, cut: true, ..Options::default() };
                let runs = 1..=seeds.min(effort.seeds_max);
                let figures: Result<Vec<f64>, Failure> =
                    runs.map(|seed| self.figure(table, row, &asked, options(seed))).collect();
                Ok(over_seeds(&figures?))
            }
        };
        Ok(mean?.as_said())
    }

    /// The figure of one run.
    fn figure(&self, table: &Table, row: &Row, asked: &Asked, options: Options) -> Result<f64, Failure> {
        let wrong = |problems: Problems| Failure::Input(in_row(problems, row, &asked.words));
        let given = match run::run(&asked.machine, &asked.jobs, options, None) {
            Ok(outcome) => Given::by(&outcome),
            Err(Failure::Input(problems)) => return Err(wrong(problems)),
            Err(defect) => return Err(defect),
        };
        if given.is_nothing() {
            let problem = Problem::nowhere("no request ended in its time").help("a longer --runtime, or --time_based");
            return Err(wrong(problem.into()));
        }
        let name = |name: &str| given.figure(name).or_else(|| row.number(name)).or_else(|| self.number(name));
        let value = table.value.value(|wanted| name(wanted).unwrap_or(f64::NAN));
        if !value.is_finite() {
            let problem = Problem::at(row.place, "the value of this row is no number");
            let help = "the formula of its table divides by zero, or uses a column that is empty here";
            return Err(Failure::Input(problem.label(table.declared.value.get_ref()).help(help).into()));
        }
        Ok(value)
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
        let table = |(table, cells): (&declared::Table, Vec<Cell>)| report::Table {
            id: table.id.clone(),
            title: table.title.clone(),
            unit: table.unit.clone(),
            cells,
        };
        declared.zip(cells).map(table).collect()
    }
}
