//! Figures and tables as people read them, as wide as the terminal.

use std::collections::BTreeMap;

use crate::answer::{BOLD, PLAIN};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use hopscope_files::quantity::digits;
use hopscope_parts::parameters::Entry;
use hopscope_parts::parameters::declared::Declared;
use serde_json::{Value, json};

/// Where nobody looks, and where the terminal does not say.
const WIDTH: usize = 80;
/// Lines longer than this are hard to read.
const WIDTH_MAX: usize = 160;

/// Columns of the terminal.
pub fn width() -> usize {
    let columns = console::Term::stdout().size_checked().map_or(WIDTH, |(_, columns)| usize::from(columns));
    columns.clamp(WIDTH / 2, WIDTH_MAX)
}

/// A text that is too long, shortened in the middle: what tells names apart is at their ends.
pub fn shortened(text: &str, room: usize) -> String {
    let length = text.chars().count();
    if length <= room || room < 3 {
        return text.to_string();
    }
    let (before, after) = ((room - 1) / 2, room / 2);
    let (first, last) = (text.chars().take(before), text.chars().skip(length - after));
    first.chain(std::iter::once('…')).chain(last).collect()
}

/// The line that is read first.
pub fn bold(text: &str) -> String {
    format!("{BOLD}{text}{PLAIN}")
}

/// A table without lines, whose first columns, `kept` in number, are not broken.
pub fn table(header: &[&str], kept: usize, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(width() as u16);
    table.set_header(header).add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding(if index == 0 { (0, 1) } else { (1, 1) }).set_cell_alignment(CellAlignment::Left);
        if index < kept {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A table of many short columns, one blank between them, whose cells are never broken.
pub fn close_table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = std::iter::once(header.iter().map(|h| h.to_string()).collect()).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: String = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$} ")).collect();
        format!("{}\n", cells.trim_end())
    };
    rows.iter().map(line).collect()
}

/// What numbers mean, by path.
pub type Meanings = BTreeMap<String, Declared>;

/// Numbers by path, with their values, what they are where that is known, and why they are what they are.
pub fn numbers(numbers: &[(String, &Entry)], meanings: &Meanings) -> String {
    let why = |path: &str, entry: &Entry| {
        let basis = format!("{}: {}", entry.basis.word(), entry.basis.text());
        meanings.get(path).map_or(basis.clone(), |declared| format!("{}\n{basis}", declared.said()))
    };
    let rows = numbers.iter().map(|(path, entry)| vec![path.clone(), entry.written.clone(), why(path, entry)]);
    table(&["number", "value", if meanings.is_empty() { "why" } else { "what, and why" }], 2, rows)
}

/// The same, as JSON.
pub fn numbers_json(numbers: &[(String, &Entry)], meanings: &Meanings) -> Value {
    let one = |(path, entry): &(String, &Entry)| {
        let row = json!({
            "name": path, "value": entry.written, "basis": entry.basis.word(), "from": entry.basis.text(),
        });
        with_meaning(row, meanings.get(path))
    };
    numbers.iter().map(one).collect()
}

/// Choices that are no numbers, as JSON.
pub fn choices_json(choices: &[(String, &Entry)], meanings: &Meanings) -> Value {
    let one = |(path, entry): &(String, &Entry)| {
        with_meaning(json!({ "name": path, "value": entry.written }), meanings.get(path))
    };
    choices.iter().map(one).collect()
}

fn with_meaning(mut row: Value, declared: Option<&Declared>) -> Value {
    if let Some(declared) = declared {
        row["meaning"] = json!(declared.meaning);
        row["may_be"] = Some(declared.limits()).filter(|limits| !limits.is_empty()).into();
    }
    row
}

/// Choices that are no numbers; nothing where there are none.
pub fn choices(choices: &[(String, &Entry)], meanings: &Meanings) -> String {
    if choices.is_empty() {
        return String::new();
    }
    let what = |path: &str| meanings.get(path).map(Declared::said);
    let rows = choices
        .iter()
        .map(|(path, entry)| [path.clone(), entry.written.clone()].into_iter().chain(what(path)).collect::<Vec<_>>());
    let columns = ["choice", "value", "what"];
    format!("\n{}", table(&columns[..if meanings.is_empty() { 2 } else { 3 }], 2, rows))
}

/// Words in lines of the terminal's width, all but the first indented.
pub fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    let (kept, words) = text.split_at(text.len() - text.trim_start().len());
    // A figure keeps its per cent sign.
    let words = words.replace(" %", "\u{a0}%");
    for word in words.split([' ', '\n']).filter(|word| !word.is_empty()) {
        let line = lines.last_mut().expect("there is a line");
        if !line.is_empty() && indent.len() + line.chars().count() + 1 + word.chars().count() > width() {
            lines.push(word.to_string());
        } else {
            *line += if line.is_empty() { "" } else { " " };
            *line += word;
        }
    }
    let lines = lines.iter().map(|line| format!("{indent}{line}\n").replace('\u{a0}', " "));
    kept.to_string() + &lines.collect::<String>()
}

/// Nanoseconds with the unit that suits them.
pub fn span(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{} s", digits(ns / 1e9)),
        ns if ns >= 1e6 => format!("{} ms", digits(ns / 1e6)),
        ns if ns >= 1e3 => format!("{} us", digits(ns / 1e3)),
        ns => format!("{} ns", digits(ns)),
    }
}

/// Bytes per second, in powers of 1000 and of 1024.
pub fn rate(bytes_per_second: f64) -> String {
    format!("{} MB/s ({} MiB/s)", digits(bytes_per_second / 1e6), digits(bytes_per_second / 1_048_576.0))
}

/// Bytes with the unit that suits them, in powers of 1024 where they are whole.
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match UNITS.iter().find(|(shift, _)| bytes >= 1 << shift) {
        Some((shift, unit)) if bytes.is_multiple_of(1 << shift) => format!("{} {unit}", bytes >> shift),
        Some((shift, unit)) => format!("{} {unit}", digits(bytes as f64 / (1u64 << shift) as f64)),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits_and_the_unit_that_suits_them() {
        assert_eq!(span(7_684_123.0), "7.684 ms");
        assert_eq!(span(940.0), "940.0 ns");
        assert_eq!(rate(33_333_333.0), "33.33 MB/s (31.79 MiB/s)");
        assert_eq!((size(65_536), size(512), size(1_536)), ("64 KiB".into(), "512 B".into(), "1.500 KiB".into()));
        assert_eq!(digits(12_345.6), "12346");
    }

    #[test]
    fn a_long_name_loses_its_middle() {
        assert_eq!(shortened("drive.channel0.die3", 40), "drive.channel0.die3");
        assert_eq!(shortened("drive.channel0.die3", 11), "drive….die3");
    }

    #[test]
    fn a_table_fits_eighty_columns() {
        let table = table(&["name", "title"], 1, [vec!["a".repeat(30), "word ".repeat(40)]]);
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        assert!(table.lines().count() > 3);
    }
}
