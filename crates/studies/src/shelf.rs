//! The studies' folders, embedded: tables as CSV, and `study.toml`.

use std::path::Path;

use hopscope_files::library::TextOf;
use include_dir::{Dir, File, include_dir};
use serde::Deserialize;

use crate::folder::Texts;
use crate::report::{CellBasis, CheckedClaim};

static SHELF: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../studies");

#[cfg(test)]
pub(crate) fn text(study: &str, file: &str) -> &'static str {
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

#[cfg(test)]
pub(crate) fn study_file(study: &str) -> crate::study_file::StudyFile {
    let text_of = |file: &str| SHELF.get_file(format!("{study}/{file}")).and_then(File::contents_utf8);
    let file = crate::study_file::StudyFile::of(study, text(study, "study.toml"), text_of("forecast.csv"));
    file.unwrap_or_else(|error| panic!("studies/{study}/study.toml: {error}"))
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
    /// Lowest value that still agrees; none for an input.
    pub low: Option<f64>,
    /// Highest value that still agrees.
    pub high: Option<f64>,
    /// Whether the value can be predicted at best, or is put in.
    pub basis_at_best: String,
}

impl Claim {
    /// Whether its words and its range can be; the `Err` says what cannot.
    pub(crate) fn is_sound(&self) -> Result<(), String> {
        if !["input", "fitted", "seen", "predicted"].contains(&self.basis_at_best.as_str()) {
            return Err(format!("`{}` is no basis: input, fitted, seen or predicted", self.basis_at_best));
        }
        match (self.low, self.high) {
            (Some(low), Some(high)) if low > high => Err(format!("its range goes from {low} to {high}")),
            _ => Ok(()),
        }
    }

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
}
