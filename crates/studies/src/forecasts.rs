//! Forecasts: what was simulated and committed before the published figure was in view. Only here a cell is called
//! predicted.
//!
//! `studies/<id>/forecast.csv` has a row for each forecast cell: its table, its key (the columns of the study's tables,
//! empty where a table has no such column; claims have an `id`), the simulated figure, its unit, the half-width of its
//! interval, and the digest of all numbers of the machine. `study.toml` says when that file was committed, and since
//! when the published figures are in view.

use std::collections::BTreeMap;

use hopscope_files::problem::Problem;
use serde_json::{Map, Value};

use crate::machines::Machines;
use crate::report::{CellBasis, CheckedClaim, Forecast, Report, Table};
use crate::reproduction::Reproduced;
use crate::study_file::{self, StudyFile};

/// The table of claims, in `forecast.csv` and in `study.toml`.
const CLAIMS: &str = "claims";
/// The column that tells claims apart.
const ID: &str = "id";
/// Columns of `forecast.csv` that are no key.
const COLUMNS: [&str; 5] = ["table", "simulated", "unit", "interval", "machine"];

/// Which cell: its table, and its key by column.
pub(crate) type Which = (String, BTreeMap<String, String>);

/// A row of `forecast.csv`.
pub(crate) struct Line {
    simulated: String,
    interval: f64,
    machine: String,
}

/// Labels cells and claims: what only repeats others, and what is predicted. `machine_of` says which machine of the
/// study answers a cell, by table and key; cells that no single one answers have the numbers of all.
pub(crate) fn settle(
    file: &StudyFile,
    machines: &Machines,
    machine_of: impl Fn(&str, &Map<String, Value>) -> Option<String>,
    tables: &mut [Table],
    claims: &mut [CheckedClaim],
) {
    let lines = file.forecasts.as_ref().map_or(BTreeMap::new(), |text| {
        read(text).unwrap_or_else(|wrong| panic!("studies/{}/forecast.csv: {wrong}", file.id))
    });
    let digest = |machine: Option<&str>| machines.digest(file, machine);
    label(file, &lines, digest, machine_of, tables, claims);
}

fn label(
    file: &StudyFile,
    lines: &BTreeMap<Which, Line>,
    digest: impl Fn(Option<&str>) -> String,
    machine_of: impl Fn(&str, &Map<String, Value>) -> Option<String>,
    tables: &mut [Table],
    claims: &mut [CheckedClaim],
) {
    let settled = |which: &Which, basis: &mut CellBasis, published: bool, simulated: Option<f64>, machine: &str| {
        let forecast = judge(lines.get(which)?, file, &which.0, published, simulated?, machine);
        if *basis == CellBasis::Seen && forecast.stands && forecast.in_time {
            *basis = CellBasis::Predicted;
        }
        Some(forecast)
    };
    let mut digests: BTreeMap<Option<String>, String> = BTreeMap::new();
    for table in tables {
        for cell in &mut table.cells {
            cell.repeats = repeated(file, &table.id, &cell.key);
            let machine = machine_of(&table.id, &cell.key);
            cell.machine = digests.entry(machine).or_insert_with_key(|name| digest(name.as_deref())).clone();
            let which = (table.id.clone(), words(&cell.key));
            cell.forecast = settled(&which, &mut cell.basis, cell.published.is_some(), cell.simulated, &cell.machine);
        }
    }
    let whole = digest(None);
    for claim in claims {
        claim.machine.clone_from(&whole);
        let which = (CLAIMS.to_string(), [(ID.to_string(), claim.id.clone())].into());
        let published = !claim.published.is_empty();
        claim.forecast = settled(&which, &mut claim.basis, published, Some(claim.simulated), &whole);
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
pub(crate) fn repeated(file: &StudyFile, table: &str, key: &Map<String, Value>) -> Option<String> {
    let is =
        |known: &&study_file::Repeat| known.table == table && key.get(&known.column) == Some(&known.value[..].into());
    file.repeat.iter().find(is).map(|known| known.of.clone())
}

/// A key as it is written in CSV, where a column that is empty is none.
fn words(key: &Map<String, Value>) -> BTreeMap<String, String> {
    key.iter().map(|(column, value)| (column.clone(), word(value))).filter(|(_, word)| !word.is_empty()).collect()
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

/// What `forecast.csv` says; the `Err` says what is wrong with it.
pub(crate) fn read(text: &str) -> Result<BTreeMap<Which, Line>, String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let mut lines = BTreeMap::new();
    for row in reader.records() {
        let row = row.map_err(|error| error.to_string())?;
        let column = |name: &str| match header.iter().position(|known| known == name) {
            Some(at) => Ok(row[at].to_string()),
            None => Err(format!("no column {name}")),
        };
        let keys = header.iter().zip(&row).filter(|(name, value)| !COLUMNS.contains(name) && !value.is_empty());
        let which = (column("table")?, keys.map(|(name, value)| (name.to_string(), value.to_string())).collect());
        let interval = column("interval")?.parse().unwrap_or(0.0);
        let line = Line { simulated: column("simulated")?, interval, machine: column("machine")? };
        if lines.insert(which, line).is_some() {
            return Err(format!("a cell is forecast twice: {row:?}"));
        }
    }
    Ok(lines)
}

/// A `forecast.csv` of the one study that was run, with the number of its rows; why not, where there is nothing to
/// forecast.
pub fn of(studies: &[Reproduced]) -> Result<(String, usize), Problem> {
    let [Reproduced { report, .. }] = studies else {
        let help = "write `hopscope reproduce STUDY --forecast FILE`";
        return Err(Problem::nowhere("a forecast is of one study").help(help));
    };
    let (text, rows) = file(report);
    if rows == 0 {
        let title =
            format!("{} has nothing left to forecast: every figure that it does not use is published", report.study);
        let help = "a forecast is made before a figure is known; leave the figure empty in the study's CSV";
        return Err(Problem::nowhere(title).help(help));
    }
    Ok((text, rows))
}

/// What a report simulates: every cell and claim that is neither input nor fitted, and whose figure is not published
/// yet.
fn file(report: &Report) -> (String, usize) {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::{Cell, Summary};

    const SEEN: &str = "2026-11-21 12:00 UTC";

    /// A study whose table `rates` came into view at noon, with forecasts that were committed at some time; its table
    /// `later` has no figures yet.
    fn study(committed: Option<&str>) -> StudyFile {
        let forecast =
            committed.map_or(String::new(), |at| format!("[forecast]\ncommitted = \"{at}\"\ncommit = \"abcdef0\"\n"));
        let text = format!(
            "title = \"t\"\nsource = \"s\"\n[systems]\n[[published]]\ntables = [\"rates\"]\nsince = \"{SEEN}\"\n\
             commit = \"abcdef1\"\n{forecast}[[repeat]]\ntable = \"rates\"\ncolumn = \"disk\"\nvalue = \"b\"\nof = \"a\"\n\
             because = \"it is the same\"\n"
        );
        toml::from_str(&text).expect("a study")
    }

    fn cell(disk: &str, size: u64, published: Option<f64>, simulated: f64, basis: CellBasis) -> Cell {
        let key = json!({ "disk": disk, "size": size }).as_object().cloned().expect("a key");
        Cell::new(key, published, simulated, basis, 0.0)
    }

    fn lines(text: &str) -> BTreeMap<Which, Line> {
        read(text).expect("forecasts")
    }

    fn table(id: &str, cells: Vec<Cell>) -> Table {
        Table { id: id.into(), title: String::new(), unit: "MB/s".into(), cells }
    }

    const CSV: &str = "table,disk,size,simulated,unit,interval,machine\n\
                       rates,a,2,10.50,MB/s,0.02,same\nrates,a,4,20.00,MB/s,0,other\nlater,c,2,7.000,MB/s,0,same\n";

    /// Labels a table and its forecasts; `simulated` is what is simulated now of the cell that was forecast as 10.50.
    fn labelled(committed: Option<&str>, simulated: f64, basis: CellBasis) -> Vec<Table> {
        let mut tables = vec![
            table(
                "rates",
                vec![
                    cell("a", 2, Some(10.0), simulated, basis),
                    cell("a", 4, Some(20.0), 20.0, CellBasis::Seen),
                    cell("b", 2, Some(10.1), 10.5, CellBasis::Seen),
                ],
            ),
            table("later", vec![cell("c", 2, None, 7.0, CellBasis::Seen), cell("c", 4, None, 7.0, CellBasis::Seen)]),
        ];
        label(&study(committed), &lines(CSV), |_| "same".into(), |_, _| None, &mut tables, &mut []);
        tables
    }

    #[test]
    fn a_cell_is_predicted_where_a_forecast_was_first_and_stands() {
        use CellBasis::{Fitted, Predicted, Seen};
        let early = Some("2026-11-21 11:59 UTC");
        for (committed, simulated, basis, expected) in [
            (early, 10.5, Seen, Predicted),
            (early, 10.504, Seen, Predicted),
            (early, 10.496, Seen, Predicted),
            (early, 10.506, Seen, Seen),
            (early, 10.494, Seen, Seen),
            (Some(SEEN), 10.5, Seen, Seen),
            (Some("2026-11-22 08:00 UTC"), 10.5, Seen, Seen),
            (None, 10.5, Seen, Seen),
            (early, 10.5, Fitted, Fitted),
        ] {
            let tables = labelled(committed, simulated, basis);
            assert_eq!(tables[0].cells[0].basis, expected, "{committed:?} {simulated}");
            assert!(tables[0].cells[0].forecast.as_ref().is_some_and(|forecast| forecast.simulated == 10.5));
        }
    }

    #[test]
    fn other_numbers_with_the_same_result_are_said() {
        let tables = labelled(Some("2026-11-20 00:00 UTC"), 10.5, CellBasis::Seen);
        let same = |number: usize| tables[0].cells[number].forecast.as_ref().map(|forecast| forecast.same_machine);
        assert_eq!((same(0), same(1), same(2)), (Some(true), Some(false), None));
    }

    #[test]
    fn a_figure_that_is_not_published_is_awaited_and_can_be_forecast() {
        let tables = labelled(None, 10.5, CellBasis::Seen);
        let [forecast, other] = &tables[1].cells[..] else { panic!("two cells") };
        assert_eq!((forecast.basis, other.basis), (CellBasis::Predicted, CellBasis::Seen));
        assert_eq!((forecast.error, other.error), (None, None));
        let summary = Summary::of(&tables[1].cells, 0);
        assert_eq!((summary.cells, summary.awaited, summary.mean_abs_error), (0, 2, None));
    }

    #[test]
    fn a_column_that_is_empty_in_a_cell_is_none_of_its_forecast() {
        let key = json!({ "disk": "c", "size": 2, "depth": "" }).as_object().cloned().expect("a key");
        let forecast = Cell::new(key, None, 7.0, CellBasis::Seen, 0.0);
        let mut tables = vec![table("later", vec![forecast])];
        label(&study(None), &lines(CSV), |_| "same".into(), |_, _| None, &mut tables, &mut []);
        assert_eq!(tables[0].cells[0].basis, CellBasis::Predicted);
    }

    #[test]
    fn what_only_repeats_is_counted_once() {
        let tables = labelled(None, 10.5, CellBasis::Seen);
        assert_eq!(tables[0].cells[2].repeats.as_deref(), Some("a"));
        let summary = Summary::of(&tables[0].cells, 0);
        assert_eq!((summary.cells, summary.seen, summary.repeats), (2, 2, 1));
        assert!(summary.mean_abs_error.is_some_and(|mean| (mean - 0.025).abs() < 1e-9), "{summary:?}");
    }

    #[test]
    fn a_forecast_that_is_written_is_read_again() {
        let (tables, summary) = (labelled(None, 10.5, CellBasis::Seen), Summary::default());
        let (study, title) = ("t".to_string(), String::new());
        let (alternatives, claims, parameters) = (Vec::new(), Vec::new(), Vec::new());
        let (ablations, sensitivity) = (Vec::new(), Vec::new());
        let report = Report { study, title, tables, alternatives, claims, parameters, ablations, sensitivity, summary };
        let (text, rows) = file(&report);
        assert_eq!((rows, text.lines().next()), (2, Some("table,disk,size,simulated,unit,interval,machine")));
        let lines = lines(&text);
        let which = ("later".to_string(), words(&report.tables[1].cells[1].key));
        assert_eq!((lines[&which].simulated.as_str(), lines[&which].machine.as_str()), ("7.000", "same"));
    }

    #[test]
    fn figures_are_printed_with_four_digits() {
        let printed: Vec<String> = [0.0, 0.012345, 7.0, 98.765, 1_234.5, 123_456.7].map(printed).into();
        assert_eq!(printed, ["0.000", "0.01235", "7.000", "98.77", "1234", "123457"]);
    }
}
