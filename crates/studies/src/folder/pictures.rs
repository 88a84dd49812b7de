//! What the study's page draws: curves of its tables, and cycles of a bus.

use std::collections::BTreeSet;

use hopscope_files::job_file::Job;
use hopscope_files::problem::{Problem, Problems, place};
use hopscope_kernel::{Class, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::Failure;
use hopscope_observe::Interval;
use hopscope_questions::probes::{self, Trace};
use toml::Spanned;

use super::Setup;
use super::beside::table_named;
use super::declared;
use super::numbers::Numbers;
use super::rows::{Around, Row, Table};
use crate::pictures::{Accuracy, Axis, Chart, NamedSpan, Panel, Timeline, TimelineLane};

/// The values of a column, each once, in the order of the rows.
fn values(rows: &[&Row], column: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for word in rows.iter().filter_map(|row| row.words.get(column)) {
        if !values.contains(word) {
            values.push(word.clone());
        }
    }
    values
}

fn letter(number: usize) -> String {
    char::from_u32(u32::from(b'a') + number as u32).map_or(String::new(), |letter| format!("({letter})"))
}

/// The chart that is declared so.
pub(super) fn chart(
    declared: &declared::Chart,
    file: u32,
    tables: &[Table],
    accuracy: Option<Accuracy>,
) -> Result<Chart, Problems> {
    let number = table_named(tables, declared.table.get_ref(), place(file, declared.table.span()))?;
    let table = &tables[number];
    let key = |column: &Spanned<String>| match table.declared.key.contains(column.get_ref()) {
        true => Ok(column.get_ref().clone()),
        false => {
            let title = format!("`{column}` is no key of table `{}`", table.declared.id);
            Err(Problem::at(place(file, column.span()), title)
                .help(format!("its keys: {}", table.declared.key.join(", "))))
        }
    };
    let (along, curves_by) = (key(&declared.along)?, key(&declared.curves)?);
    let mut panels: Vec<Panel> = Vec::new();
    for (number, panel) in declared.panel.iter().enumerate() {
        let keys = panel.rows.iter().map(|(column, value)| Ok((key(column)?, value.clone())));
        let keys = keys.collect::<Result<Vec<_>, Problem>>()?;
        panels.push(Panel { mark: letter(number), title: panel.title.clone(), keys });
    }
    let belongs =
        |row: &Row, panel: &Panel| panel.keys.iter().all(|(column, value)| row.words.get(column) == Some(value));
    let whole = [Panel { mark: String::new(), title: declared.title.clone(), keys: Vec::new() }];
    let mut drawn: Vec<&Row> = Vec::new();
    for (number, panel) in if panels.is_empty() { &whole[..] } else { &panels[..] }.iter().enumerate() {
        let rows: Vec<&Row> = table.rows.iter().filter(|row| belongs(row, panel)).collect();
        if rows.is_empty() {
            let at = declared.panel.get(number).and_then(|panel| panel.rows.keys().next()).map_or(0..0, Spanned::span);
            let title = format!("no row of table `{}` has the keys of the panel `{}`", table.declared.id, panel.title);
            return Err(Problem::at(place(file, at), title).help("values are written as in the CSV").into());
        }
        if let Some(row) = rows.iter().find(|row| row.number(&along).is_none_or(|number| number <= 0.0)) {
            let title = format!("a chart lies along `{along}`, and here that is no number above zero");
            return Err(Problem::at(row.place, title).help("panels choose the rows that are drawn").into());
        }
        let mut points = BTreeSet::new();
        if let Some(row) = rows.iter().find(|row| !points.insert((&row.words[&curves_by], &row.words[&along]))) {
            let title = format!("a curve of the chart `{}` has two figures here", declared.id);
            return Err(Problem::at(row.place, title).help("panels choose the rows that are drawn").into());
        }
        drawn.extend(rows);
    }
    if panels.is_empty() {
        panels = whole.into();
    }
    let called = |value: String| (value.clone(), declared.called.get(&value).cloned().unwrap_or(value));
    Ok(Chart {
        id: declared.id.clone(),
        title: declared.title.clone(),
        about: declared.about.clone(),
        table: table.declared.id.clone(),
        along: Axis { key: along, title: declared.along_title.clone(), unit: declared.along_unit.clone() },
        shows: declared.shows.clone(),
        curves: values(&drawn, &curves_by).into_iter().map(called).collect(),
        curves_by,
        panels,
        accuracy,
        limit: declared.limit,
    })
}

/// A cycle that was read: the run that it is drawn from.
pub(super) struct WriteCycle {
    declared: declared::WriteCycle,
    row: Row,
    span: Time,
}

impl WriteCycle {
    pub(super) fn read(
        declared: &declared::WriteCycle,
        setup: &Setup,
        around: &Around,
    ) -> Result<WriteCycle, Problems> {
        let span = setup.time(&declared.span)?;
        let at = place(around.file, declared.machine.span());
        let row = Row::alone(Some(&declared.machine), at, around)?;
        let cycle = WriteCycle { declared: declared.clone(), row, span };
        cycle.asked(setup, around.numbers)?;
        Ok(cycle)
    }

    fn asked(&self, setup: &Setup, numbers: &Numbers) -> Result<(Blueprint, Vec<Job>), Problems> {
        let words = setup.words(&self.declared.job, &self.row, numbers)?;
        setup.settled(&self.row, &words, &setup.read.devices[&self.row.machine])
    }

    /// Both lanes of one cycle of a write, and of some cycles before and after.
    pub(super) fn timeline(&self, setup: &Setup, numbers: &Numbers, trains: bool) -> Result<Timeline, Failure> {
        let declared = &self.declared;
        let (machine, jobs) = self.asked(setup, numbers)?;
        let trace = Trace::of(&machine, &jobs, self.span, trains)?;
        let (bus, cable) = (trace.lane(&declared.bus.0), trace.lane(&declared.cable.0));
        let nothing = || {
            let at = place(setup.file_number, declared.machine.span());
            Failure::Input(Problem::at(at, "the run has no cycle of a write that could be drawn").into())
        };
        let (start, next) = probes::dma_write_cycle(&bus).ok_or_else(nothing)?;
        let clock = trace.clock(&declared.bus.0).ok_or_else(nothing)?;
        let cycle = next - start;
        let (from, until) = (start.saturating_sub(cycle * declared.around), next + cycle * declared.around);
        let clocks = cycle.as_ps() as f64 / clock.as_ps() as f64;
        let whole = NamedSpan { name: format!("one cycle: {clocks:.0} clocks"), lost: false, from: start, until: next };
        let words: Vec<&Interval> = cable.iter().filter(|i| moves_bytes(i) && i.at > start).take(3).collect();
        let gap = |name: &str, a: &Interval, b: &Interval| NamedSpan {
            name: name.into(),
            lost: true,
            from: a.end(),
            until: b.at,
        };
        let gaps = match words[..] {
            [first, second, after] => vec![gap("pause", first, second), gap("bubble", second, after)],
            _ => Vec::new(),
        };
        let lane = |(_, name, kind): &(String, String, String), phases: Vec<Interval>, spans: Vec<NamedSpan>| {
            let phases = phases.into_iter().filter(|i| i.at < until && i.end() > from).collect();
            TimelineLane { name: name.clone(), kind: kind.clone(), phases, spans }
        };
        Ok(Timeline {
            id: declared.id.clone(),
            title: declared.title.clone(),
            about: declared.about.clone(),
            from,
            until,
            focus: (start, next + Time::ps(cycle.as_ps() * 3 / 10)),
            clock: (clock, format!("{} clocks", declared.bus.1)),
            lanes: vec![lane(&declared.bus, bus, vec![whole]), lane(&declared.cable, cable, gaps)],
        })
    }
}

fn moves_bytes(phase: &Interval) -> bool {
    matches!(phase.phase.class, Class::Payload | Class::Through)
}
