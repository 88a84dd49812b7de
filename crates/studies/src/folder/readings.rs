//! Other readings: cells of a table read or simulated otherwise, and which hop most of their time goes through.

use hopscope_files::job_file::Job;
use hopscope_files::problem::{Problem, Problems, place};
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Failure, Options, Outcome, run};
use hopscope_observe::account::Extent;
use hopscope_parts::parameters::Place;
use hopscope_questions::explain::run_and_account;

use super::beside::{runs, table_named};
use super::declared;
use super::formula::Formula;
use super::numbers::{Numbers, plain};
use super::rows::{Around, Row, Table};
use super::{Setup, cells, templates};
use crate::report::{self, Alternative, Cell};

/// What a formula calls the simulated figure of a cell.
pub(super) const SIMULATED: &str = "simulated";
/// So many runs of a cell account for where their time went, at most: each for as much less as there are more.
pub(super) const ACCOUNTS_MOST: u64 = 4;
/// What their accounts cover together.
const EXTENT: Extent = Extent { spans: 400_000, requests: 250, spans_max: 1_000_000 };

/// A reading that was read.
pub(super) struct Reading {
    declared: declared::Reading,
    table: Option<usize>,
    /// The rows that it speaks of.
    rows: Vec<usize>,
    value: Option<Formula>,
}

impl Reading {
    pub(super) fn read(declared: &declared::Reading, tables: &[Table], around: &Around) -> Result<Reading, Problems> {
        let file = around.file;
        let table = declared.table.as_ref();
        let table = table.map(|name| table_named(tables, name.get_ref(), place(file, name.span()))).transpose()?;
        let mut rows = Vec::new();
        if let Some(table) = table.map(|number| &tables[number]) {
            table.has_columns(&declared.rows, file)?;
            rows.extend((0..table.rows.len()).filter(|row| table.rows[*row].has(&declared.rows)));
        }
        if rows.is_empty() && (table.is_some() || declared.value.is_some() || !declared.set.is_empty()) {
            let at = declared.table.as_ref().unwrap_or(&declared.what).span();
            let title = format!("the reading `{}` speaks of no row", declared.id);
            return Err(Problem::at(place(file, at), title).help("values are written as in the CSV").into());
        }
        let known: Vec<String> = around.numbers.keys().cloned().chain([SIMULATED.to_string()]).collect();
        let value = declared.value.as_ref().map(|value| Formula::read(value, file, &known)).transpose()?;
        let names: Vec<String> = runs(tables).map(|(name, _)| name).collect();
        let known =
            |name: &str| (names.iter().any(|run| run == name) || around.numbers.contains_key(name)).then_some(1.0);
        templates::text(declared.what.get_ref(), place(file, declared.what.span()), &known)?;
        Ok(Reading { declared: declared.clone(), table, rows, value })
    }

    /// It, beside the tables of a report.
    pub(super) fn beside(
        &self,
        setup: &Setup,
        tables: &[report::Table],
        numbers: &Numbers,
        trains: bool,
    ) -> Result<Alternative, Failure> {
        let run = |name: &str| {
            let (_, number) = runs(&setup.read.tables).find(|(known, _)| known == name)?;
            tables[number].cells[0].simulated
        };
        let of = |name: &str| run(name).or_else(|| numbers.get(name).map(plain));
        let what = templates::text(self.declared.what.get_ref(), Place::default(), &of);
        let what = what.map_err(|problem| Failure::Input(problem.into()))?;
        let Some(number) = self.table else { return Ok(Alternative::of(&self.declared.id, what, Vec::new())) };
        let simulated: Vec<Cell> = if self.declared.set.is_empty() {
            self.rows.iter().map(|row| tables[number].cells[*row].clone()).collect()
        } else {
            let mut changed = setup.clone();
            changed.set_all(&self.declared.set)?;
            let effort = crate::measure::Effort { trains, ..cells::COARSE };
            let wanted = |table: usize, row: usize| table == number && self.rows.contains(&row);
            changed.measure(effort, &wanted, &|_, _, _| {})?.cells.swap_remove(number).into_iter().flatten().collect()
        };
        let Some(formula) = &self.value else { return Ok(Alternative::of(&self.declared.id, what, simulated)) };
        let read = |simulated: f64| {
            let of = |name: &str| if name == SIMULATED { Some(simulated) } else { numbers.get(name).map(plain) };
            formula.value(|name| of(name).unwrap_or(f64::NAN))
        };
        let cells = simulated.into_iter().map(|cell| {
            let simulated = read(cell.simulated.unwrap_or(f64::NAN));
            Cell::new(cell.key, cell.published, simulated, cell.basis, (read(cell.interval) - read(0.0)).abs())
        });
        Ok(Alternative::of(&self.declared.id, what, cells.collect()))
    }
}

/// What most of the time goes through, as it was read.
pub(super) struct Path {
    declared: declared::Path,
    table: usize,
}

/// Time along the critical path, by part and lane; the largest first, each lane once, where it is of a cell.
pub(super) type ByLane = Vec<(String, String, Time)>;

/// Runs jobs, and says where their time went if somebody asks: of so many runs, each of which accounts for its part.
pub(super) fn ran(
    machine: &Blueprint,
    jobs: &[Job],
    options: Options,
    accounts: Option<u64>,
) -> Result<(Outcome, ByLane), Failure> {
    let Some(runs) = accounts else { return Ok((run(machine, jobs, options, None)?, ByLane::new())) };
    let Extent { spans, requests, spans_max } = EXTENT;
    let part = |of: usize| of.div_ceil(runs as usize);
    let extent = Extent { spans: part(spans), requests: part(requests), spans_max: part(spans_max) };
    let (outcome, account) = run_and_account(machine, jobs, options, extent)?;
    let path = account.path.into_iter().map(|entry| (entry.part, entry.lane, entry.time));
    Ok((outcome, path.collect()))
}

/// What several runs went through together; nothing where none of them accounts for it.
pub(super) fn together(went: impl Iterator<Item = ByLane>) -> Option<ByLane> {
    let mut lanes = ByLane::new();
    for entry in went.flatten() {
        match lanes.iter_mut().find(|(_, lane, _)| *lane == entry.1) {
            Some((_, _, time)) => *time += entry.2,
            None => lanes.push(entry),
        }
    }
    lanes.sort_by(|a, b| (b.2, &a.1).cmp(&(a.2, &b.1)));
    Some(lanes).filter(|lanes| !lanes.is_empty())
}

impl Path {
    pub(super) fn read(declared: &declared::Path, tables: &[Table], around: &Around) -> Result<Path, Problems> {
        let table = table_named(tables, declared.table.get_ref(), place(around.file, declared.table.span()))?;
        if !tables[table].rows[0].words.contains_key(declared.called.get_ref()) {
            let title = format!("there is no column `{}`", declared.called);
            return Err(Problem::at(place(around.file, declared.called.span()), title).into());
        }
        let declared::Table { id, probe, ladder, .. } = &tables[table].declared;
        if probe.is_some() || ladder.is_some() {
            let title = format!("the cells of `{id}` are not figures of one run, whose time went somewhere");
            let help = "a table without `probe` and `ladder`";
            return Err(Problem::at(place(around.file, declared.table.span()), title).help(help).into());
        }
        Ok(Path { declared: declared.clone(), table })
    }

    /// Whether it speaks of a table.
    pub(super) fn is_of(&self, table: &Table) -> bool {
        self.declared.table.get_ref() == &table.declared.id
    }

    /// What requests go through: the hop that has most of their time, its share, and that of the part that is said
    /// besides.
    fn said_of(&self, lanes: &ByLane) -> (String, f64, f64) {
        let whole = lanes.iter().fold(Time::ZERO, |sum, lane| sum + lane.2).as_ps().max(1) as f64;
        let share = |of: &dyn Fn(&str) -> bool| {
            lanes.iter().filter(|lane| of(&lane.0)).map(|lane| lane.2.as_ps()).sum::<u64>() as f64 / whole
        };
        let (begin, called) = &self.declared.together;
        let together = share(&|part| part.starts_with(begin));
        let other = lanes.iter().find(|lane| !lane.0.starts_with(begin));
        let (hop, most) = match other {
            Some((_, lane, time)) if time.as_ps() as f64 / whole > together => {
                (lane.clone(), time.as_ps() as f64 / whole)
            }
            _ => (called.clone(), together),
        };
        (hop, most, share(&|part| part == self.declared.share.0))
    }

    /// For each machine its cells again, with what limits them: by where the time of each went, table by table.
    pub(super) fn beside(
        &self,
        setup: &Setup,
        tables: &[report::Table],
        went: &[Vec<Option<ByLane>>],
    ) -> Vec<Alternative> {
        let rows = &setup.read.tables[self.table].rows;
        let paths: Vec<(&Row, (String, f64, f64))> = rows
            .iter()
            .zip(&went[self.table])
            .filter_map(|(row, went)| Some((row, self.said_of(went.as_ref()?))))
            .collect();
        let mut machines: Vec<&String> = Vec::new();
        for row in rows {
            if !machines.contains(&&row.machine) {
                machines.push(&row.machine);
            }
        }
        let of_machine = |(number, machine): (usize, &String)| {
            let said = paths.iter().filter(|(row, _)| row.machine == *machine);
            let said = said.map(|(row, (hop, most, share))| {
                let (called, besides) = (&row.words[self.declared.called.get_ref()], &self.declared.share.1);
                format!("{called}: {hop} {:.0} %, {besides} {:.0} %", 100.0 * most, 100.0 * share)
            });
            let said: Vec<String> = said.collect();
            let what = format!("{}, {machine}: {}", self.declared.what, said.join("; "));
            let ours = rows.iter().zip(&tables[self.table].cells).filter(|(row, _)| row.machine == *machine);
            let ours = ours.map(|(_, cell)| cell.clone()).collect();
            Alternative::of(&format!("{}-{number}", self.declared.id), what, ours)
        };
        machines.into_iter().enumerate().map(of_machine).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_went_through_is_added_up_lane_by_lane() {
        let lane = |name: &str, time| ("disk".to_string(), name.to_string(), Time::ms(time));
        let runs = [vec![lane("arm", 3), lane("bus", 2)], Vec::new(), vec![lane("bus", 4), lane("cable", 1)]];
        let all = together(runs.into_iter()).expect("two runs were accounted for");
        assert_eq!(all, [lane("bus", 6), lane("arm", 3), lane("cable", 1)]);
        assert!(together([Vec::new(), Vec::new()].into_iter()).is_none());
    }
}
