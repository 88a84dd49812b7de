//! What is written for a part, and no part asks for.

use std::collections::BTreeSet;

use super::{Parameters, Place, Value};

/// Something that no `Spec` has pulled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The key, or `table[row].column`.
    pub path: String,
    /// What it may be called instead: the keys, or the columns of that table, that are known.
    pub known: Vec<String>,
    /// Where it was written.
    pub place: Place,
}

impl Parameters {
    /// What no `Spec` has pulled: keys, and columns of tables of which rows were pulled.
    pub fn unknown(&self) -> Vec<Unknown> {
        let Some(asked) = &self.pulled.0 else { return Vec::new() };
        let pulled: BTreeSet<String> = asked.list().into_iter().map(|note| note.path).collect();
        let mut unknown = Vec::new();
        self.unknown_in("", &pulled, &mut unknown);
        unknown
    }

    fn unknown_in(&self, row: &str, pulled: &BTreeSet<String>, unknown: &mut Vec<Unknown>) {
        for (key, entry) in self.entries.iter() {
            let path = format!("{row}{key}");
            if !pulled.contains(&path) {
                unknown.push(Unknown { known: names_beside(&path, pulled), path, place: entry.place });
            } else if let Value::Rows(rows) = &entry.value {
                for (index, row) in rows.iter().enumerate() {
                    row.unknown_in(&format!("{path}[{index}]."), pulled, unknown);
                }
            }
        }
    }
}

/// The names that were pulled where a path is: keys of a part, or columns of a table, of whatever row.
fn names_beside(path: &str, pulled: &BTreeSet<String>) -> Vec<String> {
    let table = |path: &str| path.rfind("].").map(|end| path[..path[..end].rfind('[').unwrap_or(end)].to_string());
    let name = |path: &str| path.rfind("].").map_or(path, |end| &path[end + 2..]).to_string();
    let of = table(path);
    let names: BTreeSet<String> = pulled.iter().filter(|other| table(other) == of).map(|other| name(other)).collect();
    names.into_iter().collect()
}
