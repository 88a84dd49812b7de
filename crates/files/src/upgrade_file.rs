//! Upgrades as data, `data/upgrades/<name>.toml`: what they are for, and what they change.

use hopscope_parts::parameters::{Basis, Place};

use crate::change::Change;
use crate::parameter_table::{TableReader, document};
use crate::problem::{Problem, Problems, Sources, place};

/// The key that tells an upgrade file from others.
pub(crate) const APPLIES_TO: &str = "applies_to";
/// Reads one change from a text, and the place where that is written.
type Reader = fn(&str, Place) -> Result<Change, Problem>;
const CHANGES: &[(&str, Reader)] =
    &[("replace", Change::replacement), ("add", Change::addition), ("change", Change::assignment)];
const ROOT_KEYS: &[&str] = &["title", "basis", APPLIES_TO, "replace", "add", "change"];

/// An upgrade as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct UpgradeFile {
    /// What it is.
    pub title: String,
    /// Why its numbers are what they are.
    pub basis: Basis,
    /// What must hold of a machine: all of it.
    pub conditions: Vec<Condition>,
    /// What it changes.
    pub changes: Vec<Change>,
}

/// Something that must hold of a machine: that it has a part, or how a number of it compares.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// As it is written.
    pub text: String,
    /// A part's name, or `[model]`.
    pub part: String,
    /// Which number of it, how it compares (`<`, `>` or `=`), and with what.
    pub key: Option<(String, char, String)>,
    /// Where it is written.
    pub place: Place,
}

/// Reads the upgrade file that `sources` keeps under the number `file`.
pub fn read(sources: &Sources, file: u32) -> Result<UpgradeFile, Problems> {
    let root = document(file, sources.text(file))?;
    let root = root.get_ref();
    let mut reader = TableReader::new(file);
    let start = place(file, 0..0);
    reader.refuse_unknown(root, ROOT_KEYS);
    let (title, _) = reader.required_text(root, "title", start, "PCI at 66 MHz");
    let basis = root.get("basis").and_then(|basis| reader.table_basis(basis));
    if basis.is_none() && !root.contains_key("basis") {
        let help = "write basis = { source = \"…\" }, or measured, fitted or assumed";
        reader.problem(Problem::at(start, "this upgrade does not say why it is possible").help(help));
    }
    let conditions = reader.texts(root, APPLIES_TO).into_iter().map(|(text, at)| condition(text, at)).collect();
    let mut changes = Vec::new();
    for (key, read) in CHANGES {
        for (text, at) in reader.texts(root, key) {
            match read(&text, at) {
                Ok(change) => changes.push(change),
                Err(problem) => reader.problem(problem),
            }
        }
    }
    if changes.is_empty() && reader.problems.is_empty() {
        let help = "write change = [\"[pci-bus].clock=66 MHz\"], replace = […] or add = […]";
        reader.problem(Problem::at(start, "this upgrade changes nothing").help(help));
    }
    let basis = basis.unwrap_or(Basis::Assumed(String::new()));
    reader.finish(UpgradeFile { title, basis, conditions, changes })
}

/// `[model]`, `part`, and with a key and one of `<`, `>` and `=`: `[pci-bus].clock < 50 MHz`.
fn condition(text: String, place: Place) -> Condition {
    let (path, compared) = match text.find(['<', '>', '=']) {
        Some(at) => {
            let sign = char::from(text.as_bytes()[at]);
            (text[..at].trim(), Some((sign, text[at + 1..].trim().to_string())))
        }
        None => (text.trim(), None),
    };
    let dot = path.find(']').map_or(path.find('.'), |end| path[end..].find('.').map(|dot| end + dot));
    let (part, key) = dot.map_or((path, ""), |dot| (&path[..dot], &path[dot + 1..]));
    let key = compared.map(|(sign, value)| (key.to_string(), sign, value));
    Condition { part: part.to_string(), key, text: text.clone(), place }
}
