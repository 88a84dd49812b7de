//! Reads the table `data_sheet` of a part file.

use std::ops::Range;

use hopscope_parts::parameters::{Basis, Place, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{DataSheet, Figure, Promise};
use crate::change::Change;
use crate::job_draft::Draft;
use crate::job_file::Job;
use crate::job_options::{DEPTH_MAX, modelled};
use crate::parameter_table::{QUANTITY_KEYS, TableReader};
use crate::problem::Problem;
use crate::quantity;

const BASIS: &str = "basis";
const SHEET_KEYS: &[&str] = &[BASIS, "on", "replace", "change", "rows"];
pub(super) const ROW_KEYS: &[&str] = &["rw", "bs", "iodepth", "promised", "change"];
const ROW: &str = "write { rw = \"read\", bs = \"128 KiB\", iodepth = 32, promised = \"7000 MB/s\" }";
const FIGURE: &str = "expected a rate (7000 MB/s), requests (22000 IOPS) or a latency (45 us)";
/// Promises of one drive, at most.
pub(super) const MOST_ROWS: usize = 100;

/// Reads the table; nothing where it cannot be one, which `reader` has noted.
pub(crate) fn read(reader: &mut TableReader, file: u32, value: &Spanned<DeValue<'_>>) -> Option<DataSheet> {
    let Some(table) = value.get_ref().as_table() else {
        let problem = Problem::at(reader.place(value.span()), "`data_sheet` is not a table");
        reader.problem(problem.help("write [data_sheet] and below it on = \"nvme-desktop\", rows = […]"));
        return None;
    };
    let at = reader.place(value.span());
    reader.refuse_unknown(table, SHEET_KEYS);
    let basis = table.get(BASIS).and_then(|basis| reader.table_basis(basis));
    let (on, place) = reader.required_text(table, "on", at, "nvme-desktop");
    let mut changes = changes(reader, table, "replace", Change::replacement);
    changes.extend(self::changes(reader, table, "change", Change::assignment));
    let rows = rows(reader, file, table, at, basis.as_ref());
    let changes = changes.into_iter().map(|(_, change)| change).collect();
    Some(DataSheet { on, rows, place, changes })
}

/// The changes of a list that may be there, as written and as read.
fn changes(
    reader: &mut TableReader,
    table: &DeTable<'_>,
    key: &str,
    read: fn(&str, Place) -> Result<Change, Problem>,
) -> Vec<(String, Change)> {
    let mut changes = Vec::new();
    for (text, at) in reader.texts(table, key) {
        match read(&text, at) {
            Ok(change) => changes.push((text, change)),
            Err(problem) => reader.problem(problem),
        }
    }
    changes
}

fn rows(reader: &mut TableReader, file: u32, table: &DeTable<'_>, at: Place, basis: Option<&Basis>) -> Vec<Promise> {
    let list = table.get("rows").map(|rows| (rows.get_ref().as_array(), reader.place(rows.span())));
    let list = match list {
        Some((Some(list), _)) if !list.is_empty() && list.len() <= MOST_ROWS => list,
        Some((_, at)) => {
            let problem = Problem::at(at, "`rows` is no list of promises");
            reader.problem(problem.label(format!("expected 1 to {MOST_ROWS} rows")).help(ROW));
            return Vec::new();
        }
        None => {
            reader.problem(Problem::at(at, "this data sheet promises nothing").label("`rows` is missing").help(ROW));
            return Vec::new();
        }
    };
    list.iter().filter_map(|row| promise(reader, file, row, basis)).collect()
}

fn promise(reader: &mut TableReader, file: u32, row: &Spanned<DeValue<'_>>, shared: Option<&Basis>) -> Option<Promise> {
    let place = reader.place(row.span());
    let Some(table) = row.get_ref().as_table() else {
        reader.problem(Problem::at(place, "a promise is not a table").label("expected a row").help(ROW));
        return None;
    };
    reader.refuse_unknown(table, ROW_KEYS);
    for key in &ROW_KEYS[..4] {
        if !table.contains_key(*key) {
            reader.problem(Problem::at(place, format!("`{key}` is missing")).help(ROW));
        }
    }
    let job = job(reader, file, table, place);
    let (changed, changes) = changes(reader, table, "change", Change::assignment).into_iter().unzip();
    let (figure, basis) = promised(reader, table.get("promised")?, shared)?;
    Some(Promise { job: job?, figure, basis, changed, changes, place })
}

/// What is asked of the drive: the options of a job, each written as quantities are here.
fn job(reader: &mut TableReader, file: u32, table: &DeTable<'_>, place: Place) -> Option<Job> {
    let mut draft = Draft::new(file);
    let mut set = |reader: &mut TableReader, key: &str, value: &str, span: Range<usize>| {
        let at = reader.place(span);
        let refused = modelled(key).and_then(|option| option.set(&mut draft, Some(value)).err());
        draft.job.places.insert(key.to_string(), at);
        if let Some((title, expected)) = refused {
            reader.problem(Problem::at(at, title).label(expected));
        }
    };
    let known = reader.problems.len();
    if let Some(value) = table.get("rw")
        && let Some((rw, _)) = reader.text("rw", value)
    {
        set(reader, "rw", &rw, value.span());
    }
    if let Some(value) = table.get("bs")
        && let Some((written, at)) = reader.text("bs", value)
    {
        match quantity::parse(&written) {
            Ok(Value::Bytes(bytes)) => set(reader, "bs", &bytes.to_string(), value.span()),
            found => {
                let expected = "expected an amount of data, such as 4 KiB".to_string();
                reader.problem(Problem::at(at, "`bs` is no size").label(found.err().unwrap_or(expected)));
            }
        }
    }
    if let Some(value) = table.get("iodepth") {
        let depth = value.get_ref().as_integer().and_then(|depth| depth.as_str().parse::<u64>().ok());
        match depth.filter(|depth| (1..=DEPTH_MAX).contains(depth)) {
            Some(depth) => set(reader, "iodepth", &depth.to_string(), value.span()),
            None => {
                let problem = Problem::at(reader.place(value.span()), "`iodepth` is the number of requests in flight");
                reader.problem(problem.label(format!("expected a number from 1 to {DEPTH_MAX}, without quotes")));
            }
        }
    }
    draft.job.name = "data sheet".to_string();
    draft.job.place = place;
    (reader.problems.len() == known).then(|| draft.closed())
}

/// The figure, as a text or as `{ value = …, source = … }`, and where it is from.
fn promised(reader: &mut TableReader, value: &Spanned<DeValue<'_>>, shared: Option<&Basis>) -> Option<(Figure, Basis)> {
    let at = reader.place(value.span());
    let (value, own) = match value.get_ref() {
        DeValue::Table(table) => {
            let known: Vec<&str> = QUANTITY_KEYS.iter().copied().filter(|key| *key != "range").collect();
            reader.refuse_unknown(table, &known);
            let Some(value) = table.get("value") else {
                reader.problem(Problem::at(at, "`promised` has no `value`").label(FIGURE));
                return None;
            };
            (value, reader.one_basis(table))
        }
        _ => (value, None),
    };
    let (written, at) = reader.text("promised", value)?;
    let figure = match figure(&written) {
        Ok(figure) => figure,
        Err(expected) => {
            reader.problem(Problem::at(at, "`promised` is no figure of a drive").label(expected));
            return None;
        }
    };
    let Some(basis) = own.or(shared.cloned()) else {
        let problem = Problem::at(at, "`promised` has no basis").label("who promises it?");
        reader.problem(problem.help(format!(
            "give the table a basis = {{ source = \"which document\" }}, or write {{ value = \"{written}\", source = \"…\" }}"
        )));
        return None;
    };
    Some((figure, basis))
}

/// `7000 MB/s`, `22000 IOPS`, `45 us`; what was expected otherwise.
fn figure(text: &str) -> Result<Figure, String> {
    // Data sheets count requests a second in a word that is no unit of a part's number.
    let (text, counts) = match text.trim().strip_suffix("IOPS") {
        Some(number) => (format!("{} requests", number.trim_end()), true),
        None => (text.to_string(), false),
    };
    let figure = match quantity::parse(&text)? {
        Value::Count(requests) if counts => Figure::Iops(requests as f64),
        Value::Rate(bytes) => Figure::BytesPerSecond(bytes as f64),
        Value::Time(time) => Figure::LatencyNs(time.as_ps() as f64 / 1e3),
        _ => return Err(FIGURE.to_string()),
    };
    if figure.amount() > 0.0 { Ok(figure) } else { Err("nobody promises nothing".to_string()) }
}
