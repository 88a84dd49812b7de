//! Runs that answer cells, in parallel.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use hopscope_files::job_file::{self, Job};
use hopscope_files::problem::{Problem, Problems, Sources, place};
use hopscope_files::quantity;
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Failure, Options};
use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::Value;
use hopscope_questions::probes::{self, Probe};
use rayon::prelude::*;
use toml::Spanned;

use super::Setup;
use super::declared::{MOST_SEEDS, Seeds};
use super::figures::Given;
use super::formula::Formula;
use super::numbers::{Numbers, plain};
use super::readings::{ACCOUNTS_MOST, ByLane, ran, together};
use super::rows::{PROBE, Row, Table};
use crate::measure::{Effort, Mean, SEEDS_LEAST, over_seeds, until_known};
use crate::report::Cell;

/// What a published table deserves: half a percent, eight seeds.
pub(super) const FULL: Effort = Effort { share: 0.005, seeds_max: MOST_SEEDS, trains: true, accounts: true };
/// One run a cell, for what needs hundreds of whole studies.
pub(super) const COARSE: Effort = Effort { share: 0.01, seeds_max: 1, trains: true, accounts: false };
/// Hundreds of cells are run in a search, and a single run would be followed where chance leads.
pub(super) const FIT: Effort = Effort { share: 0.01, seeds_max: 2, trains: true, accounts: false };

/// The devices of each machine, as the study calls it.
pub(super) type Devices = BTreeMap<String, Vec<String>>;

/// What a row asks for.
pub(super) struct Asked {
    pub(super) machine: Blueprint,
    pub(super) jobs: Vec<Job>,
    /// The words of the job.
    words: Vec<String>,
    /// The job whose figures count.
    of: Option<String>,
    seeds: Option<u64>,
    /// Half-width over the mean that is to be reached.
    within: Option<f64>,
    read_off: Option<(&'static Probe, Time)>,
}

/// A job's words are in no file: what is wrong with them stands in the row, or in what `study.toml` makes of it.
fn in_row(Problems(found): Problems, row: &Row, words: &[String]) -> Problems {
    let here = |problem: Problem| {
        let title = format!("the job of this row: {}", problem.title);
        Problem::at(row.place, title).label(words.join(" ")).help(problem.help)
    };
    Problems(found.into_iter().map(here).collect())
}

/// Which cells are asked for: by table and row.
pub(super) type Wanted<'a> = &'a (dyn Fn(usize, usize) -> bool + Sync);

impl Setup<'_> {
    /// A share that a table has.
    fn share(&self, text: &Spanned<String>) -> Result<f64, Problem> {
        match quantity::parse(text.get_ref()) {
            Ok(Value::Share(ppm)) if ppm > 0 => Ok(ppm as f64 / 1e6),
            _ => {
                let problem = Problem::at(place(self.file_number, text.span()), format!("`{text}` is no share"));
                Err(problem.help("as in `0.5 %`"))
            }
        }
    }

    /// The words of a job, with what `[jobs]` has for each `@NAME`.
    pub(super) fn words(&self, job: &[Spanned<String>], row: &Row, numbers: &Numbers) -> Result<Vec<String>, Problem> {
        let mut words = Vec::new();
        for word in job {
            let filled = row.filled(word, self.file_number, numbers)?;
            let Some(name) = filled.strip_prefix('@') else {
                words.push(filled);
                continue;
            };
            let Some(named) = self.file.jobs.get(name) else {
                let known: Vec<&String> = self.file.jobs.keys().collect();
                let problem = Problem::at(place(self.file_number, word.span()), format!("[jobs] has no `{name}`"));
                return Err(problem.help(did_you_mean(name, &known)));
            };
            let named = named.iter().map(|word| row.filled(word, self.file_number, numbers));
            words.extend(named.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(words)
    }

    /// A machine and jobs, settled with each other.
    pub(super) fn settled(
        &self,
        row: &Row,
        words: &[String],
        devices: &[String],
    ) -> Result<(Blueprint, Vec<Job>), Problems> {
        let settle = || {
            let mut sources = Sources::default();
            let mut machine = self.machines.0[&row.machine].clone();
            let mut file = job_file::read_options(&mut sources, words)?;
            machine.settle(&mut file, self.library, &mut sources)?;
            let targets = file.jobs.iter().flat_map(|job| &job.targets);
            if let Some(target) = targets.into_iter().find(|target| !devices.contains(target)) {
                let problem = Problem::nowhere(format!("`{}` has no device `{target}`", row.machine));
                return Err(problem.help(did_you_mean(target, devices)).into());
            }
            Ok((machine, file.jobs))
        };
        settle().map_err(|problems| in_row(problems, row, words))
    }

    /// The devices that a table names for a row.
    fn devices_of(&self, table: &Table, row: &Row, now: &Now) -> Result<Vec<String>, Problems> {
        let mut all = Vec::new();
        for template in &table.declared.devices {
            let name = row.filled(template, self.file_number, now.numbers)?;
            match name.strip_suffix('*') {
                Some(begin) => {
                    let known = &now.devices[&row.machine];
                    let before = all.len();
                    all.extend(known.iter().filter(|device| device.starts_with(begin)).cloned());
                    if all.len() == before {
                        let title = format!("`{}` has no device that begins with `{begin}`", row.machine);
                        let problem = Problem::at(place(self.file_number, template.span()), title);
                        return Err(problem.help(format!("its devices: {}", known.join(", "))).into());
                    }
                }
                None => all.extend(name.split_whitespace().map(str::to_string)),
            }
        }
        Ok(all)
    }

    /// What a row asks for, on these devices.
    fn asked_on(&self, table: &Table, row: &Row, devices: &[String], now: &Now) -> Result<Asked, Problems> {
        let Now { numbers, .. } = *now;
        let fill = |template: &Spanned<String>| row.filled(template, self.file_number, numbers);
        let mut words = self.words(&table.declared.job, row, numbers)?;
        words.extend(devices.iter().flat_map(|device| [format!("--name={device}"), format!("--filename={device}")]));
        let (machine, jobs) = self.settled(row, &words, &now.devices[&row.machine])?;
        let top = place(self.file_number, 0..0);
        let seeds = match &table.declared.seeds {
            None => None,
            Some(Seeds::Number(seeds)) => Some(*seeds),
            Some(Seeds::Template(template)) => {
                let written = fill(&Spanned::new(0..0, template.clone()))?;
                let seeds = written.parse().ok().filter(|seeds| (1..=MOST_SEEDS).contains(seeds));
                let wrong = || Problem::at(row.place, format!("`{written}` is no number of runs, one to {MOST_SEEDS}"));
                Some(seeds.ok_or_else(wrong)?)
            }
        };
        if let Some(ladder) = &table.declared.ladder {
            self.share(ladder)?;
        }
        let within = table.declared.within.as_ref().map(|share| self.share(share)).transpose()?;
        let read_off = match (&table.declared.probe, &table.declared.span) {
            (None, None) => None,
            (Some(template), Some(span)) => {
                let name = fill(template)?;
                let known = probes::names();
                let probe = probes::find(&name).ok_or_else(|| {
                    let problem =
                        Problem::at(place(self.file_number, template.span()), format!("no probe is called `{name}`"));
                    problem.help(did_you_mean(&name, &known))
                })?;
                Some((probe, self.time(span)?))
            }
            _ => {
                let problem = Problem::at(top, format!("table `{}` has one of `probe` and `span`", table.declared.id));
                return Err(problem.help("what is read off a run needs both").into());
            }
        };
        let of = table.declared.of.as_ref().map(fill).transpose()?;
        if let Some(name) = of.as_ref().filter(|name| jobs.iter().all(|job| job.name != **name)) {
            let problem = Problem::at(row.place, format!("no job of this row is called `{name}`"));
            return Err(problem.label(words.join(" ")).into());
        }
        Ok(Asked { machine, jobs, words, of, seeds, within, read_off })
    }

    /// What a row asks for; of a row with several words in a column, what the first asks for.
    pub(super) fn asked(&self, table: &Table, row: &Row, now: &Now) -> Result<Asked, Problems> {
        let devices = self.devices_of(table, row, now)?;
        self.asked_on(table, &each(table, row)[0], &devices, now)
    }

    /// Runs a row until its figure is known well enough, or as often as its table says.
    fn answer(&self, table: &Table, row: &Row, effort: Effort, now: &Now) -> Result<Answer, Failure> {
        let rows = each(table, row);
        let answers: Result<Vec<Answer>, Failure> =
            rows.iter().map(|row| self.answer_one(table, row, effort, now)).collect();
        let (answers, count) = (answers?, rows.len() as f64);
        let mean = |of: fn(&Mean) -> f64| answers.iter().map(|(mean, _)| of(mean)).sum::<f64>() / count;
        let mean = Mean { value: mean(|mean| mean.value), half_width: mean(|mean| mean.half_width) };
        Ok((mean, together(answers.into_iter().filter_map(|(_, went)| went))))
    }

    fn answer_one(&self, table: &Table, row: &Row, effort: Effort, now: &Now) -> Result<Answer, Failure> {
        let devices = self.devices_of(table, row, now)?;
        let Some(ladder) = &table.declared.ladder else {
            let asked = self.asked_on(table, row, &devices, now)?;
            return self.mean(table, row, &asked, effort, now.numbers);
        };
        let (share, mut before) = (self.share(ladder).map_err(Problems::from)?, 0.0);
        for count in 1..=devices.len() {
            let asked = self.asked_on(table, row, &devices[..count], now)?;
            let now = self.mean(table, row, &asked, effort, now.numbers)?.0.value;
            if now < before * (1.0 + share) {
                return Ok((Mean { value: (count - 1) as f64, half_width: 0.0 }, None));
            }
            before = now;
        }
        Ok((Mean { value: devices.len() as f64, half_width: 0.0 }, None))
    }

    /// The formula of the mean figures of some runs; the interval is that of the formula of each run. Where the time went
    /// is said of the first ones together.
    fn mean(
        &self,
        table: &Table,
        row: &Row,
        asked: &Asked,
        effort: Effort,
        numbers: &Numbers,
    ) -> Result<Answer, Failure> {
        let formula = table.value(row);
        let is_asked = effort.accounts && self.read.paths.iter().any(|path| path.is_of(table));
        let accounts = is_asked.then(|| asked.seeds.unwrap_or(SEEDS_LEAST).min(ACCOUNTS_MOST));
        let runs: RefCell<Vec<(Vec<f64>, ByLane)>> = RefCell::default();
        let figure = |options: Options| {
            let run = self.figures(row, asked, formula, options, accounts.filter(|runs| options.seed <= *runs))?;
            let value = value(table, row, formula, &run.0, numbers)?;
            runs.borrow_mut().push(run);
            Ok(value)
        };
        let each = match asked.seeds {
            None => until_known(Effort { share: asked.within.unwrap_or(effort.share), ..effort }, figure)?,
            Some(seeds) => {
                let options = |seed| Options { seed, trains: effort.trains, cut: true, ..Options::default() };
                let values = (1..=seeds.min(effort.seeds_max)).map(|seed| figure(options(seed)));
                over_seeds(&values.collect::<Result<Vec<f64>, Failure>>()?)
            }
        };
        let runs = runs.into_inner();
        let mean_of = |number: usize| runs.iter().map(|(figures, _)| figures[number]).sum::<f64>() / runs.len() as f64;
        let means: Vec<f64> = (0..formula.names().len()).map(mean_of).collect();
        let mean = Mean { value: value(table, row, formula, &means, numbers)?, ..each };
        Ok((mean.as_said(), together(runs.into_iter().map(|(_, went)| went))))
    }

    /// The figures of one run that a formula names; no number where it names something else. Besides, where its time went,
    /// if it is one of so many that account for that.
    fn figures(
        &self,
        row: &Row,
        Asked { machine, jobs, words, of, .. }: &Asked,
        formula: &Formula,
        options: Options,
        accounts: Option<u64>,
    ) -> Result<(Vec<f64>, ByLane), Failure> {
        let wrong = |problems: Problems| Failure::Input(in_row(problems, row, words));
        let (given, went) = match ran(machine, jobs, options, accounts) {
            Ok((outcome, went)) => (Given::by(&outcome, of.as_deref()), went),
            Err(Failure::Input(problems)) => return Err(wrong(problems)),
            Err(defect) => return Err(defect),
        };
        if given.is_nothing() {
            let problem = Problem::nowhere("no request ended in its time").help("a longer --runtime, or --time_based");
            return Err(wrong(problem.into()));
        }
        Ok((formula.names().iter().map(|name| given.figure(name).unwrap_or(f64::NAN)).collect(), went))
    }

    /// What is read off a run, for each of several rows that ask for the same run.
    fn read_off(
        &self,
        table: &Table,
        rows: &[(&Row, Asked)],
        trains: bool,
        numbers: &Numbers,
    ) -> Result<Vec<Mean>, Failure> {
        let Some((_, Asked { machine, jobs, read_off: Some((_, span)), .. })) = rows.first() else {
            return Ok(Vec::new());
        };
        let asked: Vec<&Probe> = rows.iter().filter_map(|(_, asked)| Some(asked.read_off?.0)).collect();
        let found = probes::read(machine, jobs, *span, trains, &asked).map_err(|failure| match failure {
            Failure::Input(problems) => Failure::Input(in_row(problems, rows[0].0, &rows[0].1.words)),
            defect => defect,
        })?;
        let mean = |((row, _), found): (&(&Row, Asked), f64)| {
            let formula = table.value(row);
            let figures: Vec<f64> =
                formula.names().iter().map(|name| if name == PROBE { found } else { f64::NAN }).collect();
            Ok(Mean { value: value(table, row, formula, &figures, numbers)?, half_width: 0.0 })
        };
        rows.iter().zip(found).map(mean).collect()
    }

    /// Simulates the cells that are asked for, table by table and row by row.
    pub(super) fn measure(
        &self,
        effort: Effort,
        wanted: Wanted,
        progress: &(dyn Fn(usize, usize, &str) + Sync),
    ) -> Result<Measured, Failure> {
        let tables = &self.read.tables;
        let numbers = self.all_numbers()?;
        let now = Now { numbers: &numbers, devices: &self.read.devices };
        let all = tables.iter().enumerate().flat_map(|(number, table)| {
            (0..table.rows.len()).map(move |row| (number, row)).filter(|(number, row)| wanted(*number, *row))
        });
        let runs: Vec<(usize, usize)> =
            all.clone().filter(|(number, row)| tables[*number].rows[*row].derived.is_none()).collect();
        let tasks = self.tasks(&runs, &now)?;
        let (done, count) = (AtomicUsize::new(0), runs.len());
        let means = tasks.into_par_iter().with_max_len(1).map(|(number, rows)| {
            let table = &tables[number];
            let means = match rows {
                Task::Run(row) => vec![(row, self.answer(table, &table.rows[row], effort, &now)?)],
                Task::ReadOff(rows) => {
                    let (indices, rows): (Vec<usize>, Vec<(&Row, Asked)>) =
                        rows.into_iter().map(|(row, asked)| (row, (&table.rows[row], asked))).unzip();
                    let means = self.read_off(table, &rows, effort.trains, &numbers)?;
                    indices.into_iter().zip(means.into_iter().map(|mean| (mean, None))).collect()
                }
            };
            let row = &table.rows[means[0].0];
            let words: Vec<&str> = table.declared.key.iter().map(|column| row.words[column].as_str()).collect();
            let what = if words.is_empty() { table.declared.id.clone() } else { words.join(", ") };
            progress(done.fetch_add(means.len(), Ordering::Relaxed) + means.len(), count, &what);
            Ok((number, means))
        });
        // Of several failures the first row's is told, whichever ended first.
        let means: Vec<Result<Answered, Failure>> = means.collect();
        let mut cells: Vec<Vec<Option<Cell>>> = tables.iter().map(|table| vec![None; table.rows.len()]).collect();
        let mut went: Vec<Vec<Option<ByLane>>> = tables.iter().map(|table| vec![None; table.rows.len()]).collect();
        for found in means {
            let (number, means) = found?;
            for (index, (mean, by_lane)) in means {
                let row = &tables[number].rows[index];
                let cell = Cell::new(row.key.clone(), row.published, mean.value, row.basis, mean.half_width);
                cells[number][index] = Some(cell);
                went[number][index] = by_lane;
            }
        }
        for (number, index) in all {
            let row = &tables[number].rows[index];
            let Some(derived) = &row.derived else { continue };
            let of = |name: &str| match derived.cells.get(name) {
                Some(rows) => simulated(&cells[number], rows),
                None => numbers.get(name).map(plain),
            };
            let value = derived.value.value(|name| of(name).unwrap_or(f64::NAN));
            cells[number][index] = Some(Cell::new(row.key.clone(), row.published, value, row.basis, 0.0));
        }
        Ok(Measured { cells, went })
    }

    /// What can be run by itself: rows, or rows that are read off one run, by table. Those come first, as they take
    /// longest.
    fn tasks(&self, runs: &[(usize, usize)], now: &Now) -> Result<Vec<(usize, Task)>, Failure> {
        let (mut tasks, mut read_off) = (Vec::new(), Vec::<(usize, Vec<(usize, Asked)>)>::new());
        for (number, index) in runs {
            let table = &self.read.tables[*number];
            if table.declared.probe.is_none() {
                tasks.push((*number, Task::Run(*index)));
                continue;
            }
            let row = &table.rows[*index];
            let asked = self.asked(table, row, now)?;
            let alike = |(known, rows): &&mut (usize, Vec<(usize, Asked)>)| {
                *known == *number && rows[0].1.words == asked.words && table.rows[rows[0].0].machine == row.machine
            };
            match read_off.iter_mut().find(alike) {
                Some((_, rows)) => rows.push((*index, asked)),
                None => read_off.push((*number, vec![(*index, asked)])),
            }
        }
        Ok(read_off.into_iter().map(|(number, rows)| (number, Task::ReadOff(rows))).chain(tasks).collect())
    }
}

/// What is now the runs.
pub(super) struct Now<'a> {
    pub(super) numbers: &'a Numbers,
    pub(super) devices: &'a Devices,
}

/// What runs gave of a row, and where the time of the first went, if somebody asks.
type Answer = (Mean, Option<ByLane>);

/// Of a table, rows with that.
type Answered = (usize, Vec<(usize, Answer)>);

/// What was simulated, table by table and row by row.
pub(super) struct Measured {
    pub(super) cells: Vec<Vec<Option<Cell>>>,
    /// Where the time of a row's first run went.
    pub(super) went: Vec<Vec<Option<ByLane>>>,
}

/// What can be run by itself.
enum Task {
    Run(usize),
    ReadOff(Vec<(usize, Asked)>),
}

/// The mean of what is simulated of some rows; nothing where one of them was not asked for.
pub(super) fn simulated(cells: &[Option<Cell>], rows: &[usize]) -> Option<f64> {
    let each: Option<Vec<f64>> = rows.iter().map(|row| cells[*row].as_ref()?.simulated).collect();
    Some(each?.iter().sum::<f64>() / rows.len() as f64)
}

/// A row for each word of the column that may have several.
fn each(table: &Table, row: &Row) -> Vec<Row> {
    let Some(column) = table.declared.each.as_ref().map(Spanned::get_ref) else { return vec![row.clone()] };
    let one = |word: &str| {
        let mut one = row.clone();
        one.words.insert(column.clone(), word.to_string());
        one
    };
    row.words[column].split(' ').map(one).collect()
}

/// What a formula gives of figures, which are in the order of its names.
fn value(table: &Table, row: &Row, formula: &Formula, figures: &[f64], numbers: &Numbers) -> Result<f64, Failure> {
    let figure = |name: &str| {
        let at = formula.names().iter().position(|known| known == name)?;
        figures.get(at).copied().filter(|figure| !figure.is_nan())
    };
    let name = |name: &str| figure(name).or_else(|| row.number(name)).or_else(|| numbers.get(name).map(plain));
    let value = formula.value(|wanted| name(wanted).unwrap_or(f64::NAN));
    if value.is_finite() {
        return Ok(value);
    }
    let problem = Problem::at(row.place, "the value of this row is no number");
    let help = "the formula of its table divides by zero, or uses a column that is empty here";
    Err(Failure::Input(problem.label(format!("table `{}`", table.declared.id)).help(help).into()))
}
