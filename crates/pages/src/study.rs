//! The page of reproduced studies: does the model deserve trust?

use hopscope_studies::pictures::{Accuracy, Chart, Panel};
use hopscope_studies::report::{
    Alternative, Cell as Published, CellBasis, Changed, CheckedClaim, Forecast, Ours, Parameter, Report,
    Table as Figures,
};
use hopscope_studies::reproduction::Reproduced;
use serde_json::{Value, json};

use crate::charts::bars::{self, Change, Changes, Effect};
use crate::charts::curves::{self, along, belongs, curve_of};
use crate::charts::{errors, lanes};
use crate::page::{Behind, Block, Chapter, Figure, Kind, Page, Section, Tile};
use crate::table::{Cell, Csv, Head, Table, Tone};
use crate::trust;
use crate::wording::{capital, digits, percent, plain, signed_percent, slug, tick};

/// Errors up to this share are good, up to twice as much fair: the accuracy that publications claim at best.
pub(crate) const GOOD: f64 = 0.05;
/// Of more changes than this, those that change less than so many points get no bar.
const ROWS_MAX: usize = 24;
const POINTS_MIN: f64 = 0.005;

/// The page of one study or of several.
pub fn page(studies: &[Reproduced], command: &str) -> Page {
    let title = match studies {
        [one] => one.report.title.clone(),
        several => format!("{} published studies, reproduced", several.len()),
    };
    let overview = (studies.len() > 1).then(|| trust::chapter(studies));
    let chapters = overview.into_iter().chain(studies.iter().map(chapter)).collect();
    Page { title, command: command.to_string(), chapters }
}

fn chapter(reproduced: &Reproduced) -> Chapter {
    let Reproduced { report, pictures, source } = reproduced;
    let mut sections = Vec::new();
    for chart in &pictures.charts {
        if let Some(table) = report.tables.iter().find(|table| table.id == chart.table) {
            sections.extend(charted(chart, table));
        }
    }
    for timeline in &pictures.timelines {
        sections.push(timeline_section(timeline));
    }
    let uncharted: Vec<&Figures> =
        report.tables.iter().filter(|table| !pictures.charts.iter().any(|chart| chart.table == table.id)).collect();
    if !uncharted.is_empty() {
        let section = Section::new("tables", "Other published tables");
        sections.push(uncharted.into_iter().fold(section, |section, table| section.block(Block::Table(long(table)))));
    }
    sections.push(Section::new("claims", "Claims").words(CLAIMS).block(Block::Table(claims(&report.claims))));
    if !report.alternatives.is_empty() {
        sections.push(
            Section::new("alternatives", "Other readings, and what a reader would guess")
                .words(ALTERNATIVES)
                .block(Block::Table(alternatives(report))),
        );
    }
    sections.extend(forecasts(report));
    if !report.ablations.is_empty() || !report.sensitivity.is_empty() {
        sections.push(robustness(report));
    }
    sections.push(parameters(&report.parameters));
    sections.push(reading(report));
    Chapter {
        id: slug(&report.study),
        title: report.title.clone(),
        source: source.clone(),
        answer: answer(report),
        tiles: tiles(report),
        sections,
        data: json!(report),
        csvs: pictures
            .charts
            .iter()
            .filter_map(|chart| report.tables.iter().find(|table| table.id == chart.table))
            .filter_map(|table| long(table).csv)
            .chain(report.alternatives.iter().filter(|a| !a.cells.is_empty()).filter_map(other_cells))
            .collect(),
    }
}

const CLAIMS: &str = "Sentences of the publication that have a number, each with the range within which it holds. What \
                      was put into the model cannot hold, and is called input.";
const ALTERNATIVES: &str = "The same cells read, modelled or guessed otherwise. A model that does not beat the simplest \
                            rule has explained nothing.";

/// An error in per cent, or that there is no cell.
fn share(error: Option<f64>) -> String {
    error.map_or("none".into(), percent)
}

fn answer(report: &Report) -> Vec<String> {
    let s = &report.summary;
    let mut lines = vec![match s.predicted {
        0 => format!(
            "{} cells were published in the main table. None is a prediction: all figures were in view when the model was \
             made. {} of them were seen, neither given to the model nor used to choose a number: there the simulation is \
             off by {} on average; on the fitted ones by {}.",
            s.cells,
            s.seen,
            share(s.mean_abs_error_seen),
            share(s.mean_abs_error_fitted)
        ),
        predicted => format!(
            "{} cells were published in the main table. {predicted} of them were forecast before: there the simulation is \
             off by {} on average. {} more were seen, neither given to the model nor used to choose a number: off by {}; \
             the fitted ones by {}.",
            s.cells,
            share(s.mean_abs_error_predicted),
            s.seen,
            share(s.mean_abs_error_seen),
            share(s.mean_abs_error_fitted)
        ),
    }];
    if s.repeats > 0 {
        lines.push(format!(
            "{} more cells only repeat others, and are not counted; there it is off by {}.",
            s.repeats,
            share(s.mean_abs_error_repeats)
        ));
    }
    if s.awaited > 0 {
        lines.push(format!("{} more cells have no published figure yet.", s.awaited));
    }
    for null in &report.alternatives {
        if let Some(ours) = null.ours.filter(|ours| !ours.wins) {
            let (theirs, ours) = (percent(null.mean_abs_error), percent(ours.mean_abs_error));
            lines.push(format!("We lose against a {}: mean error {theirs}, ours {ours}.", null.what));
        }
    }
    let checked: Vec<&CheckedClaim> = report.claims.iter().filter(|c| c.can_hold()).collect();
    let holding = checked.iter().filter(|c| c.holds).count();
    if !checked.is_empty() {
        let missed: Vec<&str> = checked.iter().filter(|c| !c.holds).map(|c| c.id.as_str()).collect();
        let missed = if missed.is_empty() { String::new() } else { format!(" Missed: {}.", missed.join(", ")) };
        lines.push(format!("{holding} of {} claims hold.{missed}", checked.len()));
    }
    lines
}

pub(crate) fn tone(error: f64) -> Tone {
    match error.abs() {
        error if error <= GOOD => Tone::Good,
        error if error <= 2.0 * GOOD => Tone::Fair,
        _ => Tone::Poor,
    }
}

/// How far off, in words.
fn verdict(error: f64) -> &'static str {
    match error {
        error if error.abs() <= GOOD => "within 5 %",
        error if error > 2.0 * GOOD => "far too high",
        error if error > 0.0 => "too high",
        error if error < -2.0 * GOOD => "far too low",
        _ => "too low",
    }
}

fn tiles(report: &Report) -> Vec<Tile> {
    let s = &report.summary;
    let tile = |name: &str, figure: String, about: String, tone: Tone| Tile { name: name.into(), figure, about, tone };
    let checked = report.claims.iter().filter(|c| c.can_hold()).count();
    let holding = report.claims.iter().filter(|c| c.can_hold() && c.holds).count();
    let within = (s.within_5_percent.unwrap_or(0.0) * s.cells as f64).round();
    let toned = |error: Option<f64>| error.map_or(Tone::Plain, tone);
    let of = |name: &str, error: Option<f64>, about: String| tile(name, share(error), about, toned(error));
    let mut tiles = Vec::new();
    if s.predicted > 0 {
        tiles.push(of("Predicted cells", s.mean_abs_error_predicted, format!("mean error of {}", s.predicted)));
    }
    tiles.extend([
        of("Seen cells", s.mean_abs_error_seen, format!("mean error of {}; {} predicted", s.seen, s.predicted)),
        of("Fitted cells", s.mean_abs_error_fitted, format!("mean error, with {} fitted numbers", s.fitted_parameters)),
        tile("Within 5 %", format!("{within} of {}", s.cells), "cells".into(), Tone::Plain),
        of("Largest error", s.max_abs_error, "of any cell".into()),
    ]);
    if checked > 0 {
        let tone = if holding == checked { Tone::Good } else { Tone::Fair };
        tiles.push(tile("Claims that hold", format!("{holding} of {checked}"), "inputs not counted".into(), tone));
    }
    tiles
}

/// The chart, the errors, and every cell.
fn charted(chart: &Chart, table: &Figures) -> Vec<Section> {
    let all: Vec<&Published> = table.cells.iter().collect();
    let id = |panel: &Panel| slug(&format!("{} {}", chart.id, panel.mark));
    let of = |panel: &Panel| -> Vec<&Published> { all.iter().copied().filter(|cell| belongs(panel, cell)).collect() };
    let behind = |panel: &Panel| format!("{}-cells", id(panel));
    let panels = chart.panels.iter().map(|panel| Figure {
        id: id(panel),
        drawing: curves::draw(chart, panel, &of(panel), &table.unit),
        caption: String::new(),
        kind: Kind::Marks,
        data: json!({ "table": table.id, "unit": table.unit, "cells": of(panel) }),
        behind: Behind::Elsewhere(behind(panel)),
        width_min: 300,
    });
    let panels: Vec<Figure> = panels.collect();
    let about = match &chart.accuracy {
        Some(Accuracy { share, from }) => format!(
            "{} Bars about the published points: {}, either way ({from}). Curves lie a little beside each other where \
             they would hide each other.",
            chart.about,
            percent(*share).replace(".0", ""),
        ),
        None if chart.limit => chart.about.clone(),
        None => format!("{} The publication does not say how accurate its figures are.", chart.about),
    };
    let cells: Vec<&Published> =
        all.iter().copied().filter(|cell| chart.panels.iter().any(|p| belongs(p, cell))).collect();
    let strip = Figure {
        id: format!("{}-errors", chart.id),
        drawing: errors::draw(chart, &cells, &table.unit),
        caption: "One sign a cell. Left of the line the simulation is too low, right of it too high.".into(),
        kind: Kind::Marks,
        data: json!({ "table": table.id, "cells": cells }),
        behind: Behind::Elsewhere(format!("{}-summary", chart.id)),
        width_min: 760,
    };
    let errors_title = format!("How far off, cell by cell: {}", table.title);
    let mut every = Section::new(&format!("{}-cells", chart.id), "Every cell").words(if chart.limit {
        format!("{}; {}. Each cell: the limit, simulated, and how far that stays below.", table.title, table.unit)
    } else {
        format!(
            "{}; {}. Each cell: published, simulated (with its 95 % interval over seeds), and the error in sign and \
             words.",
            table.title, table.unit
        )
    });
    for panel in &chart.panels {
        every.blocks.push(Block::Table(matrix(chart, panel, &of(panel), &behind(panel))));
    }
    let drawn =
        Section::new(&format!("{}-section", chart.id), &chart.title).words(about).block(Block::Figures(panels, 3));
    if chart.limit {
        return vec![drawn, every];
    }
    let errors = Section::new(&format!("{}-errors-section", chart.id), "Errors")
        .words(errors_title)
        .block(Block::Figures(vec![strip], 1))
        .block(Block::Table(summary(chart, &cells)));
    vec![drawn, errors, every]
}

/// The errors of predicted, seen and fitted cells, apart, by panel. Those that repeat others are left out.
fn summary(chart: &Chart, cells: &[&Published]) -> Table {
    let mut rows = Vec::new();
    let mut row = |what: &str, basis: CellBasis, cells: Vec<&&Published>| {
        let errors: Vec<f64> = cells.iter().filter_map(|cell| cell.error).collect();
        if errors.is_empty() {
            return;
        }
        let count = errors.len() as f64;
        let mean = errors.iter().map(|e| e.abs()).sum::<f64>() / count;
        let bias = errors.iter().sum::<f64>() / count;
        let worst = errors.iter().map(|e| e.abs()).fold(0.0, f64::max);
        let within = errors.iter().filter(|e| e.abs() <= GOOD).count();
        rows.push(vec![
            Cell::words(what),
            Cell::words(basis.word()),
            Cell::figure(errors.len().to_string(), errors.len()),
            Cell::figure(percent(mean), mean).tone(tone(mean)),
            Cell::figure(signed_percent(bias), bias),
            Cell::figure(percent(worst), worst).tone(tone(worst)),
            Cell::figure(format!("{within} of {}", errors.len()), within),
        ]);
    };
    let cells: Vec<&Published> = cells.iter().copied().filter(|cell| cell.repeats.is_none()).collect();
    for basis in [CellBasis::Predicted, CellBasis::Seen, CellBasis::Fitted] {
        row("all", basis, cells.iter().filter(|cell| cell.basis == basis).collect());
        for panel in &chart.panels {
            let of = cells.iter().filter(|cell| cell.basis == basis && belongs(panel, cell)).collect();
            row(&format!("{} {}", panel.mark, panel.title), basis, of);
        }
    }
    let columns = [
        ("cells of", "of"),
        ("basis", "basis"),
        ("cells", "cells"),
        ("mean error", "mean_abs_error"),
        ("mean, with sign", "mean_error"),
        ("largest", "max_abs_error"),
        ("within 5 %", "within_5_percent_count"),
    ];
    Table::new(&format!("{}-summary", chart.id), "Errors of predicted, seen and fitted cells, apart", &columns, rows)
}

/// A panel's cells: a row for each place along the axis, three columns for each curve.
fn matrix(chart: &Chart, panel: &Panel, cells: &[&Published], id: &str) -> Table {
    let mut xs: Vec<f64> = cells.iter().filter_map(|cell| along(chart, cell)).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let of = |curve: usize| cells.iter().filter(move |cell| curve_of(chart, cell) == Some(curve));
    let group = |(curve, (_, name)): (usize, &(String, String))| {
        let mut bases: Vec<&str> = of(curve).map(|cell| cell.basis.word()).collect();
        bases.sort_unstable();
        bases.dedup();
        Head { text: format!("{} ({})", capital(name), bases.join(", ")), columns: 3, rows: 1, figure: false }
    };
    let along_head = Head { text: chart.along.unit.clone(), columns: 1, rows: 2, figure: true };
    let groups = std::iter::once(along_head).chain(chart.curves.iter().enumerate().map(group)).collect();
    let columns = if chart.limit { ["limit", "simulated", "below it"] } else { ["published", "simulated", "error"] };
    let columns = columns.map(|name| Head::of(name, true));
    let heads = chart.curves.iter().flat_map(|_| columns.clone()).collect();
    let rows = xs.iter().map(|x| {
        let mut row = vec![Cell::figure(tick(*x), x)];
        for curve in 0..chart.curves.len() {
            match of(curve).find(|cell| along(chart, cell) == Some(*x)) {
                Some(cell) if chart.limit => row.extend(below_limit(cell)),
                Some(cell) => row.extend(figures(cell)),
                None => row.extend([Cell::empty(), Cell::empty(), Cell::empty()]),
            }
        }
        row
    });
    Table {
        id: id.to_string(),
        caption: format!("{} {}", panel.mark, panel.title),
        head: vec![groups, heads],
        rows: rows.collect(),
        wide: true,
        csv: None,
    }
}

/// Published, simulated, error.
fn figures(cell: &Published) -> [Cell; 3] {
    let interval = if cell.interval > 0.0 { format!("±{}", digits(cell.interval)) } else { String::new() };
    let simulated = match cell.simulated {
        Some(simulated) => Cell::figure(digits(simulated), simulated).note(interval),
        None => Cell::words("not simulated"),
    };
    let error = match cell.error {
        // That the model agrees with what it was given is no merit.
        Some(error) if cell.basis == CellBasis::Input => {
            Cell::figure(signed_percent(error), error).note("was given").tone(Tone::Soft)
        }
        Some(error) => Cell::figure(signed_percent(error), error).note(verdict(error)).tone(tone(error)),
        None => Cell::empty(),
    };
    let published = match cell.published {
        Some(published) => Cell::figure(digits(published), published),
        None => Cell::words("not yet"),
    };
    [published, simulated, error]
}

/// The same beside a limit, which is not to be met.
fn below_limit(cell: &Published) -> [Cell; 3] {
    let [limit, simulated, _] = figures(cell);
    let below = cell.error.map_or(Cell::empty(), |error| Cell::figure(signed_percent(error), error).tone(Tone::Soft));
    [limit, simulated, below]
}

/// A row a cell.
fn long(table: &Figures) -> Table {
    let keys: Vec<String> = table.cells.first().map_or(Vec::new(), |cell| cell.key.keys().cloned().collect());
    let rows = table.cells.iter().map(|cell| {
        let mut row: Vec<Cell> = keys.iter().map(|key| key_cell(&cell.key[key])).collect();
        let [published, simulated, error] = figures(cell);
        row.extend([published, simulated, Cell::figure(interval_text(cell), cell.interval), error]);
        let basis = Cell::words(cell.basis.word());
        row.push(match &cell.repeats {
            Some(of) => basis.note(format!("repeats {of}")),
            None => basis,
        });
        row
    });
    let mut columns: Vec<(String, String)> = keys.iter().map(|key| (key.replace('_', " "), key.clone())).collect();
    for name in ["published", "simulated", "interval", "error", "basis"] {
        columns.push((name.to_string(), name.to_string()));
    }
    let columns: Vec<(&str, &str)> = columns.iter().map(|(shown, raw)| (shown.as_str(), raw.as_str())).collect();
    let mut shown = Table::new(&table.id, &format!("{}, {}", table.title, table.unit), &columns, rows.collect());
    // The interval is under the figure it belongs to; where no cell has one, its column says nothing to readers.
    let interval = keys.len() + 2;
    shown.head[0].remove(interval);
    for row in &mut shown.rows {
        row.remove(interval);
    }
    shown
}

fn interval_text(cell: &Published) -> String {
    if cell.interval > 0.0 { format!("±{}", digits(cell.interval)) } else { String::new() }
}

fn key_cell(value: &Value) -> Cell {
    match value.as_f64() {
        Some(number) => Cell::figure(tick(number), number),
        None => Cell::words(plain(value)),
    }
}

fn other_cells(alternative: &Alternative) -> Option<Csv> {
    let table = Figures {
        id: format!("alternative-{}", slug(&alternative.id)),
        title: String::new(),
        unit: String::new(),
        cells: alternative.cells.clone(),
    };
    long(&table).csv
}

fn timeline_section(timeline: &hopscope_studies::pictures::Timeline) -> Section {
    let figure = Figure {
        id: timeline.id.clone(),
        drawing: lanes::draw(timeline),
        caption: timeline.about.clone(),
        kind: Kind::Timeline,
        data: lanes::data(timeline),
        behind: Behind::Table(lanes::table(timeline)),
        width_min: 860,
    };
    Section::new(&format!("{}-section", timeline.id), &timeline.title).block(Block::Figures(vec![figure], 1))
}

fn claims(claims: &[CheckedClaim]) -> Table {
    let rows = claims.iter().map(|claim| {
        let (verdict, tone) = match (claim.basis, claim.holds) {
            (CellBasis::Input, _) => ("input", Tone::Soft),
            (_, true) => ("holds", Tone::Good),
            _ if !claim.can_hold() => ("awaited", Tone::Soft),
            (_, false) => ("does not hold", Tone::Poor),
        };
        vec![
            Cell::words(claim.claim.clone()).note(claim.id.clone()),
            Cell::figure(claim.published.clone(), claim.published.clone()),
            Cell::figure(digits(claim.simulated), claim.simulated),
            Cell::words(claim.unit.clone()),
            Cell::words(claim.basis.word()),
            Cell::words(verdict).tone(tone),
        ]
    });
    let columns = [
        ("claim", "claim"),
        ("published", "published"),
        ("simulated", "simulated"),
        ("unit", "unit"),
        ("basis", "basis"),
        ("verdict", "verdict"),
    ];
    Table::new("claims-table", "Claims, each checked", &columns, rows.collect())
}

fn alternatives(report: &Report) -> Table {
    let s = &report.summary;
    let row = |id: &str, what: &str, cells: usize, [mean, most]: [f64; 2], ours: Option<Ours>| {
        let ours = ours.map_or(Cell::empty(), |ours| {
            let cell = Cell::figure(percent(ours.mean_abs_error), ours.mean_abs_error).tone(tone(ours.mean_abs_error));
            if ours.wins { cell } else { cell.note("worse than the rule") }
        });
        vec![
            Cell::words(what).note(id),
            Cell::figure(if cells == 0 { String::new() } else { cells.to_string() }, cells),
            Cell::figure(percent(mean), mean).tone(tone(mean)),
            Cell::figure(percent(most), most).tone(tone(most)),
            ours,
        ]
    };
    let errors = [s.mean_abs_error, s.max_abs_error].map(|error| error.unwrap_or(0.0));
    let own = row("this model", "this model on the main table", s.cells, errors, None);
    let others = report
        .alternatives
        .iter()
        .map(|a| row(&a.id, &a.what, a.cells.len(), [a.mean_abs_error, a.max_abs_error], a.ours));
    let columns = [
        ("reading", "reading"),
        ("cells", "cells"),
        ("mean error", "mean_abs_error"),
        ("largest", "max_abs_error"),
        ("this model there", "mean_abs_error_ours"),
    ];
    Table::new("alternatives-table", "Other readings", &columns, std::iter::once(own).chain(others).collect())
}

/// What was forecast, beside what is simulated now; nothing where nothing was.
fn forecasts(report: &Report) -> Option<Section> {
    let row = |what: String, unit: &str, forecast: &Forecast, now: Option<f64>, published: Cell| {
        let verdict = match forecast {
            Forecast { in_time: false, .. } => Cell::words("came too late").tone(Tone::Poor),
            Forecast { stands: false, .. } => Cell::words("no longer stands").tone(Tone::Poor),
            Forecast { .. } => Cell::words("stands").tone(Tone::Good),
        };
        let numbers = if forecast.same_machine { "the same" } else { "others now" };
        vec![
            Cell::words(what),
            Cell::figure(digits(forecast.simulated), forecast.simulated),
            now.map_or(Cell::empty(), |now| Cell::figure(digits(now), now)),
            published,
            Cell::words(unit),
            Cell::words(numbers).note(forecast.machine.clone()),
            verdict,
        ]
    };
    let cells = report.tables.iter().flat_map(|table| table.cells.iter().map(move |cell| (table, cell)));
    let cells = cells.filter_map(|(table, cell)| {
        let what: Vec<String> = cell.key.values().map(plain).collect();
        let published = cell.published.map_or(Cell::words("not yet"), |known| Cell::figure(digits(known), known));
        let what = format!("{}: {}", table.id, what.join(", "));
        Some(row(what, &table.unit, cell.forecast.as_ref()?, cell.simulated, published))
    });
    let claims = report.claims.iter().filter_map(|claim| {
        let published = Cell::words(if claim.published.is_empty() { "not yet" } else { claim.published.as_str() });
        Some(row(claim.id.clone(), &claim.unit, claim.forecast.as_ref()?, Some(claim.simulated), published))
    });
    let rows: Vec<Vec<Cell>> = cells.chain(claims).collect();
    if rows.is_empty() {
        return None;
    }
    let columns = [
        ("cell", "cell"),
        ("forecast", "forecast"),
        ("simulated now", "simulated"),
        ("published", "published"),
        ("unit", "unit"),
        ("the machine's numbers", "machine"),
        ("verdict", "verdict"),
    ];
    let about = "What was simulated and committed before the published figure was in view. A forecast stands where the same \
                 figure is simulated now, as far as it was printed; only then the cell is called predicted.";
    let table = Table::new("forecasts-table", "Forecasts", &columns, rows);
    Some(Section::new("forecasts", "Forecasts").words(about).block(Block::Table(table)))
}

/// Mechanisms switched off and numbers moved, against the model as it is.
fn robustness(report: &Report) -> Section {
    let about = "At a coarser effort than the study itself, so the first row of each table is the model as it is, at the \
                 same effort. A mechanism that can be switched off without harm explains nothing; a number that moves \
                 the errors much is one that the result rests on.";
    let mut section = Section::new("robustness", "What happens when it is changed").words(about);
    let lists = [
        ("ablations", "Mechanisms switched off", &report.ablations),
        ("sensitivity", "Assumed and fitted numbers moved by a tenth", &report.sensitivity),
    ];
    for (id, title, list) in lists {
        if let [now, changed @ ..] = &list[..]
            && !changed.is_empty()
        {
            section.blocks.push(Block::Figures(vec![changes(id, title, now, changed, list)], 1));
        }
    }
    section
}

/// Changes that differ in their value only are two directions of one.
fn changes(id: &str, title: &str, now: &Changed, changed: &[Changed], all: &[Changed]) -> Figure {
    let mut rows: Vec<Change> = Vec::new();
    for change in changed {
        let (name, value) = change.what.split_once(": ").unwrap_or((&change.what, ""));
        let tip = format!(
            "{value}{}mean error {} instead of {}",
            if value.is_empty() { "" } else { "; " },
            percent(change.mean_abs_error),
            percent(now.mean_abs_error)
        );
        let effect = Effect { amount: 100.0 * (change.mean_abs_error - now.mean_abs_error), half_width: 0.0, tip };
        match rows.iter_mut().find(|row| row.name == name && !value.is_empty()) {
            Some(row) => {
                row.about += &format!("; {value}");
                row.effects.push(effect);
            }
            None => rows.push(Change {
                name: name.to_string(),
                about: value.to_string(),
                effects: vec![effect],
                figure: String::new(),
            }),
        }
    }
    for row in &mut rows {
        row.figure = format!("{:+.2} points", largest(row)).replace('-', "\u{2212}");
    }
    let most = |row: &Change| largest(row).abs();
    rows.sort_by(|a, b| most(b).total_cmp(&most(a)));
    let count = rows.len();
    if count > ROWS_MAX {
        rows.retain(|row| most(row) >= POINTS_MIN);
    }
    let left_away = count - rows.len();
    let caption = if left_away == 0 {
        String::new()
    } else {
        format!("{left_away} more change it by less than {POINTS_MIN} points; the table has them.")
    };
    let first = rows.first().map_or(String::new(), |row| format!("The largest is {}: {}.", row.name, row.figure));
    let drawing = bars::draw(&Changes {
        title: title.to_string(),
        description: format!("Change of the mean error of all cells, in percentage points. {first}"),
        changes: rows,
        unit: "change of the mean error of all cells, percentage points".into(),
        tick: signed_points,
        more_is_better: false,
        meaning: ["the errors become smaller".into(), "the errors become larger".into()],
    });
    let row = |change: &Changed| {
        let figure = |share: f64| Cell::figure(format!("{:.2} %", 100.0 * share), share);
        vec![
            Cell::words(change.what.clone()).note(if change.counts_as_fitted { "counts as fitted" } else { "" }),
            figure(change.mean_abs_error),
            figure(change.mean_abs_error_not_fitted),
            figure(change.max_abs_error),
        ]
    };
    let columns = [
        ("change", "change"),
        ("mean error", "mean_abs_error"),
        ("of cells not fitted", "mean_abs_error_not_fitted"),
        ("largest", "max_abs_error"),
    ];
    Figure {
        id: id.to_string(),
        drawing,
        caption,
        kind: Kind::Marks,
        data: json!(all),
        behind: Behind::Table(Table::new(&format!("{id}-table"), title, &columns, all.iter().map(row).collect())),
        width_min: 760,
    }
}

/// The effect that is furthest from nothing.
fn largest(change: &Change) -> f64 {
    let amounts = change.effects.iter().map(|effect| effect.amount);
    amounts.fold(0.0, |most: f64, amount| if amount.abs() > most.abs() { amount } else { most })
}

fn signed_points(points: f64) -> String {
    let rounded = (points * 100.0).round() / 100.0;
    if rounded > 0.0 { format!("+{}", tick(rounded)) } else { tick(rounded) }
}

/// Everything that was chosen or assumed.
fn parameters(parameters: &[Parameter]) -> Section {
    let mut section = Section::new("rests-on", "What the result rests on");
    let bases = [
        ("fitted", "Fitted numbers: chosen so that results fit, each with one value for the whole study"),
        ("assumed", "Assumed numbers: nothing better is known"),
    ];
    for (basis, caption) in bases {
        let of: Vec<&Parameter> = parameters.iter().filter(|parameter| parameter.basis == basis).collect();
        if !of.is_empty() {
            section.blocks.push(Block::Table(parameter_table(basis, &format!("{caption} ({})", of.len()), &of)));
        }
    }
    section
}

/// Numbers with what they rest on.
pub(crate) fn parameter_table(basis: &str, caption: &str, parameters: &[&Parameter]) -> Table {
    let rows = parameters.iter().map(|parameter| {
        let range = if parameter.range.is_empty() { String::new() } else { format!("plausible: {}", parameter.range) };
        vec![
            Cell::words(parameter.name.clone()),
            Cell::figure(parameter.value.clone(), parameter.value.clone()).note(range),
            Cell::words(parameter.from.clone()),
        ]
    });
    let why = if basis == "fitted" { "to what" } else { "why" };
    let columns = [("number", "name"), ("value", "value"), (why, "from")];
    Table::new(&format!("{basis}-numbers"), caption, &columns, rows.collect())
}

/// What the words mean.
fn reading(report: &Report) -> Section {
    let words = [
        "Fitted: at least one number of the model was chosen by this cell. Seen: none was, and the model was not given it; \
         but it was in view when numbers and mechanisms were chosen. Predicted: a forecast was committed before the \
         figure was in view, and still stands. Input: the model was given it; it proves nothing. Cells of different \
         labels are never added up into one claim.",
        "An error is simulated over published, less 1: + is too high. Within 5 % is good here because publications of \
         measurements seldom claim more.",
    ];
    let interval = if report.tables.iter().flat_map(|t| &t.cells).any(|c| c.interval > 0.0) {
        " ± is the 95 % interval of the mean over seeds, in the cell's unit."
    } else {
        ""
    };
    Section::new("reading", "How to read this").words(words[0]).words(format!("{}{interval}", words[1]))
}
