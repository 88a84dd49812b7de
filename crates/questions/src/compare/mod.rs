//! Which of these is better, and why? Machines and jobs, or results that were saved, side by side.
//!
//! - `column`: what is compared of each, and nothing else.
//! - `saved`: where that comes from: the JSON of `explain`, `run`, `compare` or fio, fresh or from a file.
//! - `given`: what the words of a command line are, and which machine does which job.
//! - `differences`: one against another, figure by figure and stage by stage, and whether intervals tell them apart.
//! - `words`: the verdict. `json`: all of it for programs.

mod column;
mod differences;
mod given;
pub mod json;
mod saved;
mod words;

use std::collections::BTreeMap;

pub use column::{Column, From, Layer, Limit, Phase, Price, Processor, Stage};
pub use differences::{Aligned, Change, Difference, StageChange, aligned};
pub use given::{Chosen, Given, Work, chosen, given, works};
pub use saved::{COLUMNS_MAX, read};

use hopscope_files::problem::Problem;
use hopscope_machine::run::{Failure, Options};

use crate::explain::Explained;
use crate::explanation::{Explanation, Listening};

/// What stands side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Every column.
    pub columns: Vec<Column>,
    /// Which of them are compared with each other: of several systems with several jobs a group a job.
    pub groups: Vec<Group>,
    /// How much worse than the first of its group a column may be.
    pub tolerance: Option<f64>,
}

/// A comparison with what was simulated for it.
pub struct Compared {
    /// What stands side by side.
    pub comparison: Comparison,
    /// What was simulated.
    pub works: Vec<Work>,
    /// How each of it went.
    pub explained: Vec<Explained>,
}

/// Columns that are compared with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The job that all of them do, where there are several groups.
    pub job: Option<String>,
    /// Which columns.
    pub columns: Vec<usize>,
}

/// Explains one machine with one job, for a column and for a page; a failure names what failed.
pub fn explained(work: &Work, options: Options, listening: Listening<'_>) -> Result<(Column, Explained), Failure> {
    let both = || {
        let explanation = Explanation::of(&work.setting, options, None, listening)?;
        let report = explanation.json(&work.setting.blueprint, (&work.system, &work.job));
        let name = work.name();
        let column =
            saved::of_report(name, report).map_err(|what| Failure::Defect(format!("the report of {name}: {what}")))?;
        Ok((column, explanation.explained))
    };
    both().map_err(|failure| work.blamed(failure))
}

/// All of it: explains what is to be simulated, one after the other, each as `explain` does it, and puts the columns
/// beside what was saved.
pub fn compare(
    chosen: Chosen,
    tolerance: Option<f64>,
    mut explain: impl FnMut(&Work, usize) -> Result<(Column, Explained), Failure>,
) -> Result<Compared, Failure> {
    let Chosen { works, jobs, saved } = chosen;
    let (mut columns, mut explained) = (Vec::new(), Vec::new());
    for (index, work) in works.iter().enumerate() {
        let (column, of) = explain(work, index)?;
        columns.push(column);
        explained.push(of);
    }
    let comparison =
        Comparison::new(columns, saved, jobs, tolerance).map_err(|problem| Failure::Input(problem.into()))?;
    Ok(Compared { comparison, works, explained })
}

impl Comparison {
    /// Whether so many columns can be compared: that is known before anything is simulated.
    pub fn enough(columns: usize) -> Result<(), Problem> {
        match columns {
            0 | 1 => {
                let title = "there is one thing, and nothing to compare it with";
                let help = "name two systems, two jobs, or two results that were saved with --json";
                Err(Problem::nowhere(title).help(help))
            }
            2..=COLUMNS_MAX => Ok(()),
            _ => {
                let title = format!("{columns} columns side by side");
                Err(Problem::nowhere(title).help(format!("at most {COLUMNS_MAX}")))
            }
        }
    }

    /// What was simulated, in the order of [`works`], and results that were saved. Where there are several systems and
    /// several jobs, and nothing else, each job is a group.
    pub fn new(
        simulated: Vec<Column>,
        saved: Vec<Column>,
        jobs: usize,
        tolerance: Option<f64>,
    ) -> Result<Comparison, Problem> {
        let systems = simulated.len().checked_div(jobs).unwrap_or(0);
        let apart = systems > 1 && jobs > 1 && saved.is_empty();
        let mut columns: Vec<Column> = simulated.into_iter().chain(saved).collect();
        Comparison::enough(columns.len())?;
        let size = if apart { systems } else { columns.len() };
        let indices: Vec<usize> = (0..columns.len()).collect();
        let groups: Vec<Group> = indices
            .chunks(size)
            .map(|of| Group { job: columns[of[0]].job.clone().filter(|_| apart), columns: of.to_vec() })
            .collect();
        for group in &groups {
            number(&mut columns, &group.columns);
            price_alike(&mut columns, &group.columns);
        }
        Ok(Comparison { columns, groups, tolerance })
    }

    /// The columns of a group.
    pub fn of<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a Column> + Clone {
        group.columns.iter().map(|index| &self.columns[*index])
    }
}

/// Where one computer has no price, those of the others do not count.
fn price_alike(columns: &mut [Column], group: &[usize]) {
    let without = group.iter().any(|index| columns[*index].price_usd.is_some_and(|price| price.computer.is_none()));
    for index in group.iter().filter(|_| without) {
        columns[*index].price_usd = columns[*index].price_usd.map(Price::without_computer);
    }
}

/// Names that are there several times get a number.
fn number(columns: &mut [Column], group: &[usize]) {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    group.iter().for_each(|index| counts.entry(columns[*index].name.clone()).or_default().0 += 1);
    for index in group {
        let name = &mut columns[*index].name;
        if let Some((all, seen)) = counts.get_mut(name).filter(|(all, _)| *all > 1) {
            *seen += 1;
            let _ = all;
            *name = format!("{name} ({seen})");
        }
    }
}
