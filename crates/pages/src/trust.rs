//! How far the model can be trusted, and where not: every table of every study, with its errors by basis, next to the
//! simplest rule that somebody would guess.

use hopscope_studies::report::{Report, Summary, Table as Figures};
use hopscope_studies::reproduction::Reproduced;
use serde_json::{Value, json};

use crate::page::{Block, Chapter, Section, Tile};
use crate::study::tone;
use crate::table::{Cell, Table, Tone};
use crate::wording::percent;

/// The chapter before those of the studies.
pub fn chapter(studies: &[Reproduced]) -> Chapter {
    let reports: &[&Report] = &studies.iter().map(|studied| &studied.report).collect::<Vec<_>>();
    let rows = studies.iter().flat_map(|Reproduced { report, pictures, .. }| {
        // What is published of some is a limit, and what is below it no error.
        let is_limit = |table: &Figures| pictures.charts.iter().any(|chart| chart.limit && chart.table == table.id);
        let tables = report.tables.iter().enumerate().filter(|(_, table)| !is_limit(table));
        tables.map(|(number, table)| row(report, table, number == 0)).collect::<Vec<_>>()
    });
    let columns = [
        ("study", "study"),
        ("table", "table"),
        ("cells", "cells"),
        ("predicted", "mean_abs_error_predicted"),
        ("seen", "mean_abs_error_seen"),
        ("fitted", "mean_abs_error_fitted"),
        ("worst", "max_abs_error"),
        ("simplest rule", "simplest_rule_mean_abs_error"),
        ("ours there", "ours_on_its_cells_mean_abs_error"),
    ];
    let caption = "Mean errors by what was known beforehand; next to the first table of a study, the simplest rule";
    let table = Table::new("trust-matrix", caption, &columns, rows.collect());
    let words = "Predicted: a forecast was committed before the published figure was in view. Seen: neither given to the \
                 model nor used to choose a number, yet in view. Fitted: used to choose one. These are never added up. \
                 What was put into the model is in none of them. The simplest rule is the best that a sceptic would think \
                 of, and ours the error on the same cells.";
    Chapter {
        id: "trust".into(),
        title: "How far it can be trusted".into(),
        source: "every table of every study".into(),
        answer: answer(reports),
        tiles: tiles(reports),
        sections: vec![Section::new("matrix", "Study by table").words(words).block(Block::Table(table))],
        data: data(reports),
        csvs: Vec::new(),
    }
}

/// Where it cannot be trusted, first.
fn answer(reports: &[&Report]) -> Vec<String> {
    let mut lines = Vec::new();
    let seen = |of: &Summary| of.mean_abs_error_predicted.or(of.mean_abs_error_seen);
    let mut by_error: Vec<(&Report, f64)> =
        reports.iter().filter_map(|report| Some((*report, seen(&report.summary)?))).collect();
    by_error.sort_by(|a, b| b.1.total_cmp(&a.1));
    if let ([(worst, most), ..], Some((best, least))) = (&by_error[..], by_error.last()) {
        lines.push(format!(
            "On figures that it was not fitted to, the model is off by {} on average in {}, and by {} in {}.",
            percent(*least),
            best.study,
            percent(*most),
            worst.study
        ));
    }
    let lost = reports.iter().flat_map(|report| {
        let lost = report.alternatives.iter().filter(|null| null.ours.is_some_and(|ours| !ours.wins));
        lost.map(move |null| format!("{} ({})", report.study, null.what))
    });
    let lost: Vec<String> = lost.collect();
    if !lost.is_empty() {
        lines.push(format!("A simple rule does better in {}.", lost.join("; ")));
    }
    lines
}

fn tiles(reports: &[&Report]) -> Vec<Tile> {
    let claims = || reports.iter().flat_map(|report| &report.claims).filter(|claim| claim.can_hold());
    let holding = claims().filter(|claim| claim.holds).count();
    let cells: usize = reports.iter().map(|report| report.summary.cells).sum();
    let rules = || reports.iter().flat_map(|report| &report.alternatives).filter_map(|null| null.ours);
    let won = rules().filter(|ours| ours.wins).count();
    let tile = |name: &str, figure: String, about: &str, all: bool| Tile {
        name: name.into(),
        figure,
        about: about.into(),
        tone: if all { Tone::Good } else { Tone::Fair },
    };
    vec![
        Tile { tone: Tone::Plain, ..tile("Published cells", cells.to_string(), "in the main tables", true) },
        tile(
            "Claims that hold",
            format!("{holding} of {}", claims().count()),
            "inputs not counted",
            holding == claims().count(),
        ),
        tile(
            "Simple rules beaten",
            format!("{won} of {}", rules().count()),
            "the best that a sceptic would think of",
            won == rules().count(),
        ),
    ]
}

fn row(report: &Report, table: &Figures, is_main: bool) -> Vec<Cell> {
    let summary = Summary::of(&table.cells, 0);
    let error = |error: Option<f64>| match error {
        Some(error) => Cell::figure(percent(error), error).tone(tone(error)),
        None => Cell::empty(),
    };
    let mut row = vec![Cell::words(report.study.clone()), Cell::words(table.title.clone())];
    row.push(Cell::figure(summary.cells.to_string(), summary.cells));
    row.extend([
        error(summary.mean_abs_error_predicted),
        error(summary.mean_abs_error_seen),
        error(summary.mean_abs_error_fitted),
        error(summary.max_abs_error),
    ]);
    let rules = report.alternatives.iter().filter_map(|null| Some((null, null.ours?)));
    let best = rules.min_by(|a, b| a.0.mean_abs_error.total_cmp(&b.0.mean_abs_error)).filter(|_| is_main);
    match best {
        Some((null, ours)) => row.extend([
            Cell::figure(percent(null.mean_abs_error), null.mean_abs_error),
            Cell::figure(percent(ours.mean_abs_error), ours.mean_abs_error).tone(match ours.wins {
                true => Tone::Good,
                false => Tone::Poor,
            }),
        ]),
        None => row.extend([Cell::empty(), Cell::empty()]),
    }
    row
}

fn data(reports: &[&Report]) -> Value {
    let study = |report: &&Report| {
        let table = |table: &Figures| json!({ "table": table.id, "summary": Summary::of(&table.cells, 0) });
        json!({ "study": report.study, "tables": report.tables.iter().map(table).collect::<Vec<_>>() })
    };
    reports.iter().map(study).collect()
}
