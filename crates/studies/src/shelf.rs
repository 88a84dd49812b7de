//! The studies' folders, embedded: tables as CSV, and `study.toml`.

use std::path::Path;

use hopscope_files::library::TextOf;
use include_dir::{Dir, File, include_dir};
use serde::Deserialize;

use crate::folder::Texts;
use crate::report::{CellBasis, CheckedClaim};

static SHELF: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../studies");

/// A file of a study; the program ships with it.
pub fn text(study: &str, file: &str) -> &'static str {
    let path = format!("{study}/{file}");
    SHELF.get_file(&path).and_then(|f| f.contents_utf8()).unwrap_or_else(|| panic!("{path} ships with the program"))
}

/// The names of all folders.
pub(crate) fn folders() -> impl Iterator<Item = &'static str> {
    SHELF.dirs().filter_map(|folder| name(folder.path()))
}

/// The texts of a folder, by file.
pub(crate) fn texts(study: &str) -> Texts {
    let files = SHELF.get_dir(study).into_iter().flat_map(Dir::files);
    let text = |file: &'static File<'static>| {
        let text = file.contents_utf8()?.into();
        Some((name(file.path())?.to_string(), TextOf { name: format!("studies/{}", file.path().display()), text }))
    };
    files.filter_map(text).collect()
}

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// A file of a study, if there is one.
pub fn text_if_there(study: &str, file: &str) -> Option<&'static str> {
    SHELF.get_file(format!("{study}/{file}")).and_then(|file| file.contents_utf8())
}

/// The rows of a table, by column name.
pub fn rows<T: for<'de> Deserialize<'de>>(study: &str, file: &str) -> Vec<T> {
    let mut reader = csv::Reader::from_reader(text(study, file).as_bytes());
    let rows: Result<Vec<T>, _> = reader.deserialize().collect();
    rows.unwrap_or_else(|error| panic!("{study}/{file}: {error}"))
}

/// A claim of a study: what it says, and between which values it holds.
#[derive(Clone, Debug, Deserialize)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// What is claimed.
    pub claim: String,
    /// The published value, as printed; empty where it is not known yet.
    pub value: String,
    /// Its unit.
    pub unit: String,
    /// Of what.
    pub about: String,
    /// Lowest value that still agrees; none for an input.
    pub low: Option<f64>,
    /// Highest value that still agrees.
    pub high: Option<f64>,
    /// Whether the value can be predicted at best, or is put in.
    pub basis_at_best: String,
}

/// The claim of a study.
pub(crate) fn claim(study: &str, id: &str) -> Claim {
    let claims: Vec<Claim> = rows(study, "claims.csv");
    claims.into_iter().find(|claim| claim.id == id).unwrap_or_else(|| panic!("studies/{study}/claims.csv: no {id}"))
}

impl Claim {
    /// Compares it with what was simulated, `how` in words. What was put in does not count as holding.
    pub(crate) fn check(self, simulated: f64, how: &str) -> CheckedClaim {
        let basis = match self.basis_at_best.as_str() {
            "input" => CellBasis::Input,
            "fitted" => CellBasis::Fitted,
            _ => CellBasis::Seen,
        };
        let holds = basis != CellBasis::Input
            && self.low.is_some_and(|low| low <= simulated)
            && self.high.is_some_and(|high| simulated <= high);
        let claim = format!("{} ({how})", self.claim);
        let (published, unit, forecast, machine) = (self.value, self.unit, None, String::new());
        CheckedClaim { id: self.id, claim, published, simulated, unit, holds, basis, forecast, machine }
    }

    /// The middle of the range that agrees.
    pub(crate) fn middle(&self) -> f64 {
        self.low.zip(self.high).map_or(f64::NAN, |(low, high)| f64::midpoint(low, high))
    }

    /// The published value, where it is a number.
    pub(crate) fn number(&self) -> f64 {
        self.value.parse().unwrap_or_else(|_| panic!("claim {}: {} is no number", self.id, self.value))
    }
}
