//! Tables: for readers, and as CSV for programs.

use hopscope_files::harmless::harmless;
use serde::Serialize;

/// A table for programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Csv {
    /// Its name; the file is called so.
    pub name: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// As many values a row.
    pub rows: Vec<Vec<String>>,
}

impl Csv {
    /// As text that neither a terminal nor a spreadsheet obeys.
    pub fn text(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in std::iter::once(&self.header).chain(&self.rows) {
            let cells = row.iter().map(|cell| disarmed(cell));
            writer.write_record(cells).expect("rows are as long as the header, and memory takes what is written");
        }
        let bytes = writer.into_inner().expect("memory takes what is written");
        String::from_utf8(bytes).expect("text goes in, so text comes out")
    }
}

/// A cell that no spreadsheet takes for a formula: text that begins like one has a quotation mark before it, as
/// spreadsheets write it themselves. Figures may begin with a sign.
fn disarmed(cell: &str) -> String {
    let text = harmless(cell);
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t']) && text.parse::<f64>().is_err();
    if is_formula { format!("'{text}") } else { text }
}

/// How something looks, besides what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// Like everything else.
    Plain,
    /// As it should be.
    Good,
    /// Not quite.
    Fair,
    /// Not as it should be.
    Poor,
    /// Of less weight.
    Soft,
}

/// One cell.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// What is read.
    pub text: String,
    /// A smaller line under it; may be empty.
    pub note: String,
    /// How it looks.
    pub tone: Tone,
    /// Whether it is a figure: figures stand right.
    pub figure: bool,
    /// What a program reads.
    #[serde(skip)]
    raw: String,
}

impl Cell {
    /// Words.
    pub fn words(text: impl Into<String>) -> Cell {
        let text = text.into();
        Cell { raw: text.clone(), text, note: String::new(), tone: Tone::Plain, figure: false }
    }

    /// A figure: how it is read, and its value.
    pub fn figure(text: impl Into<String>, value: impl ToString) -> Cell {
        Cell { text: text.into(), note: String::new(), tone: Tone::Plain, figure: true, raw: value.to_string() }
    }

    /// Nothing.
    pub fn empty() -> Cell {
        Cell::words("")
    }

    /// With a smaller line under it.
    pub fn note(self, note: impl Into<String>) -> Cell {
        Cell { note: note.into(), ..self }
    }

    /// In this tone.
    pub fn tone(self, tone: Tone) -> Cell {
        Cell { tone, ..self }
    }
}

/// The head of one column, or of several.
#[derive(Clone, Debug, Serialize)]
pub struct Head {
    /// What is read.
    pub text: String,
    /// Columns that it spans.
    pub columns: usize,
    /// Rows that it spans.
    pub rows: usize,
    /// Whether figures stand under it.
    pub figure: bool,
}

impl Head {
    /// Of one column.
    pub fn of(text: &str, figure: bool) -> Head {
        Head { text: text.to_string(), columns: 1, rows: 1, figure }
    }
}

/// A table for readers. The first cell of a row is its heading.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Its name, unique in the chapter.
    pub id: String,
    /// What it shows.
    pub caption: String,
    /// Rows of heads.
    pub head: Vec<Vec<Head>>,
    /// Rows.
    pub rows: Vec<Vec<Cell>>,
    /// Whether it takes the whole width.
    pub wide: bool,
    /// The same for programs; nothing where another table says so.
    #[serde(skip)]
    pub csv: Option<Csv>,
}

impl Table {
    /// A table with one head a column: for readers, and for programs.
    pub fn new(id: &str, caption: &str, columns: &[(&str, &str)], rows: Vec<Vec<Cell>>) -> Table {
        let is_figure = |column: usize| rows.iter().any(|row| row[column].figure);
        let head = columns.iter().enumerate().map(|(column, (name, _))| Head::of(name, is_figure(column))).collect();
        let csv = Csv {
            name: id.to_string(),
            header: columns.iter().map(|(_, name)| name.to_string()).collect(),
            rows: rows.iter().map(|row| row.iter().map(|cell| cell.raw.clone()).collect()).collect(),
        };
        Table { id: id.to_string(), caption: caption.to_string(), head: vec![head], rows, wide: false, csv: Some(csv) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_begins_like_a_formula_is_text_and_a_figure_keeps_its_sign() {
        let cells = ["=cmd|' /C calc'!A0", "+1+1", "-0.5", "-2+3", "@SUM(A1)", "\t=1", "a\u{1b}[2Jb\u{202e}"];
        let rows = vec![cells.iter().map(|cell| cell.to_string()).collect()];
        let header = (0..cells.len()).map(|column| column.to_string()).collect();
        let text = Csv { name: "t".into(), header, rows }.text();
        let row = csv::Reader::from_reader(text.as_bytes()).records().next().unwrap().unwrap();
        let read: Vec<&str> = row.iter().collect();
        let shown = ["'=cmd|' /C calc'!A0", "'+1+1", "-0.5", "'-2+3", "'@SUM(A1)", "'\t=1", "a\u{fffd}[2Jb\u{fffd}"];
        assert_eq!(read, shown);
    }

    #[test]
    fn what_is_written_as_csv_is_read_back() {
        let hostile = ["a,b", "say \"so\"", "two\nlines", "", " = 1+1", "é"];
        let rows = hostile.iter().map(|text| vec![Cell::words(*text), Cell::figure("1.5 MB/s", 1.5e6)]).collect();
        let csv = Table::new("t", "", &[("what", "what"), ("rate", "rate_bytes_per_s")], rows).csv.unwrap();
        let text = csv.text();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap(), vec!["what", "rate_bytes_per_s"]);
        let read: Vec<Vec<String>> =
            reader.records().map(|row| row.unwrap().iter().map(String::from).collect()).collect();
        assert_eq!(read, csv.rows);
        assert_eq!(read[1], ["say \"so\"", "1500000"]);
    }
}
