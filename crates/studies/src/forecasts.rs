//! Forecasts: what was simulated and committed before the published figure was in view. Only here a cell is called
//! predicted.
//!
//! `studies/<id>/forecast.csv` has a row for each forecast cell: its table, its key (the columns of the study's tables,
//! empty where a table has no such column; claims have an `id`), the simulated figure, its unit, the half-width of its
//! interval, and the digest of all numbers of the machine. `study.toml` says when that file was committed, and since
//! when the published figures are in view.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::machines::Machines;
use crate::report::{CellBasis, CheckedClaim, Forecast, Report, Table};
use crate::shelf;
use crate::study_file::{self, StudyFile};

/// The table of claims, in `forecast.csv` and in `study.toml`.
const CLAIMS: &str = "claims";
/// The column that tells claims apart.
const ID: &str = "id";
/// Columns of `forecast.csv` that are no key.
const COLUMNS: [&str; 5] = ["table", "simulated", "unit", "interval", "machine"];

/// Which cell: its table, and its key by column.
type Which = (String, BTreeMap<String, String>);

/// A row of `forecast.csv`.
struct Line {
    simulated: String,
    interval: f64,
    machine: String,
}

/// Labels cells and claims: what only repeats others, and what is predicted. `machine_of` says which machine of the
/// study answers a cell, by table and key; cells that no single one answers have the numbers of all.
pub(crate) fn settle(
    study: &str,
    machines: &Machines,
    machine_of: impl Fn(&str, &Map<String, Value>) -> Option<String>,
    tables: &mut [Table],
    claims: &mut [CheckedClaim],
) {
    let file = study_file::read(study);
    let lines = shelf::text_if_there(study, "forecast.csv").map_or(BTreeMap::new(), |text| read(study, text));
    let label = |which: &Which, basis: &mut CellBasis, published: bool, simulated: Option<f64>, machine: &str| {
        let forecast = judge(lines.get(which)?, &file, &which.0, published, simulated?, machine);
        if *basis == CellBasis::Seen && forecast.stands && forecast.in_time {
            *basis = CellBasis::Predicted;
        }
        Some(forecast)
    };
    let mut digests: BTreeMap<Option<String>, String> = BTreeMap::new();
    for table in tables {
        for cell in &mut table.cells {
            cell.repeats = repeated(&file, &table.id, &cell.key);
            let machine = machine_of(&table.id, &cell.key);
            let digest = |name: &Option<String>| machines.digest(&file, name.as_deref());
            cell.machine = digests.entry(machine).or_insert_with_key(digest).clone();
            let which = (table.id.clone(), words(&cell.key));
            let published = cell.published.is_some();
            cell.forecast = label(&which, &mut cell.basis, published, cell.simulated, &cell.machine);
        }
    }
    let whole = machines.digest(&file, None);
    for claim in claims {
        claim.machine.clone_from(&whole);
        let which = (CLAIMS.to_string(), [(ID.to_string(), claim.id.clone())].into());
        let published = !claim.published.is_empty();
        claim.forecast = label(&which, &mut claim.basis, published, Some(claim.simulated), &whole);
    }
}

fn judge(line: &Line, file: &StudyFile, table: &str, published: bool, simulated: f64, machine: &str) -> Forecast {
    let since = file.published.iter().find(|p| p.tables.is_empty() || p.tables.iter().any(|known| known == table));
    let in_time = match (since, &file.forecast) {
        // Nobody has seen what is not there.
        _ if !published => true,
        // Dates are written so that their order is that of their texts.
        (Some(since), Some(forecast)) => forecast.committed < since.since,
        _ => false,
    };
    let figure: f64 = line.simulated.parse().unwrap_or(f64::NAN);
    Forecast {
        simulated: figure,
        interval: line.interval,
        machine: line.machine.clone(),
        same_machine: line.machine == machine,
        in_time,
        stands: (simulated - figure).abs() <= half_a_digit(&line.simulated) * (1.0 + 1e-9),
    }
}

/// What a cell only repeats.
fn repeated(file: &StudyFile, table: &str, key: &Map<String, Value>) -> Option<String> {
    let is =
        |known: &&study_file::Repeat| known.table == table && key.get(&known.column) == Some(&known.value[..].into());
    file.repeat.iter().find(is).map(|known| known.of.clone())
}

/// A key as it is written in CSV.
fn words(key: &Map<String, Value>) -> BTreeMap<String, String> {
    key.iter().map(|(column, value)| (column.clone(), word(value))).collect()
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// Half a step of the last digit that is written.
fn half_a_digit(written: &str) -> f64 {
    let decimals = written.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    0.5 * 10f64.powi(-(decimals as i32))
}

/// Four digits that say something, as reports have them; more before the point.
fn printed(value: f64) -> String {
    let whole = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let decimals = (3 - whole).clamp(0, 9) as usize;
    format!("{value:.decimals$}")
}

fn read(study: &str, text: &str) -> BTreeMap<Which, Line> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let wrong = |what: String| -> ! { panic!("studies/{study}/forecast.csv: {what}") };
    let header = reader.headers().unwrap_or_else(|error| wrong(error.to_string())).clone();
    let mut lines = BTreeMap::new();
    for row in reader.records() {
        let row = row.unwrap_or_else(|error| wrong(error.to_string()));
        let column = |name: &str| match header.iter().position(|known| known == name) {
            Some(at) => row[at].to_string(),
            None => wrong(format!("no column {name}")),
        };
        let keys = header.iter().zip(&row).filter(|(name, value)| !COLUMNS.contains(name) && !value.is_empty());
        let which = (column("table"), keys.map(|(name, value)| (name.to_string(), value.to_string())).collect());
        let interval = column("interval").parse().unwrap_or(0.0);
        let line = Line { simulated: column("simulated"), interval, machine: column("machine") };
        if lines.insert(which, line).is_some() {
            wrong(format!("a cell is forecast twice: {row:?}"));
        }
    }
    lines
}

/// A `forecast.csv` of what a report simulates: every cell and claim that is neither input nor fitted, and whose figure
/// is not published yet. Returns it with the number of its rows.
pub fn file(report: &Report) -> (String, usize) {
    let free = |basis: CellBasis| matches!(basis, CellBasis::Seen | CellBasis::Predicted);
    let mut rows: Vec<(Which, [String; 4])> = Vec::new();
    for table in &report.tables {
        for cell in table.cells.iter().filter(|cell| free(cell.basis) && cell.published.is_none()) {
            let Some(simulated) = cell.simulated else { continue };
            let figures = [printed(simulated), table.unit.clone(), printed(cell.interval), cell.machine.clone()];
            rows.push(((table.id.clone(), words(&cell.key)), figures));
        }
    }
    for claim in report.claims.iter().filter(|claim| free(claim.basis) && claim.published.is_empty()) {
        let key = [(ID.to_string(), claim.id.clone())].into();
        let figures = [printed(claim.simulated), claim.unit.clone(), printed(0.0), claim.machine.clone()];
        rows.push(((CLAIMS.to_string(), key), figures));
    }
    let mut columns: Vec<&str> = Vec::new();
    for column in rows.iter().flat_map(|((_, key), _)| key.keys()) {
        if !columns.contains(&column.as_str()) {
            columns.push(column);
        }
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header =
        ["table"].into_iter().chain(columns.iter().copied()).chain(["simulated", "unit", "interval", "machine"]);
    writer.write_record(header).expect("memory takes everything");
    for ((table, key), figures) in &rows {
        let keys = columns.iter().map(|column| key.get(*column).map_or("", String::as_str));
        let row = [table.as_str()].into_iter().chain(keys).chain(figures.iter().map(String::as_str));
        writer.write_record(row).expect("memory takes everything");
    }
    let bytes = writer.into_inner().expect("memory takes everything");
    (String::from_utf8(bytes).expect("CSV of texts is text"), rows.len())
}
