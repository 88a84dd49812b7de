//! What the files of each kind of part may say: every number, as its part declares it.
//!
//! Nothing here is a list of keys, and no part is built: what is declared is asked of the kind. What one file or row is
//! asked for and another is not, as a choice or a number decides, may be left out.

use std::collections::{BTreeMap, BTreeSet};

use hopscope_parts::catalog::{self, KINDS, Kind};
use hopscope_parts::parameters::declared::Declared;
use hopscope_parts::parameters::{Note, Parameters, Value};

use crate::library::Library;
use crate::part_file::{self, PartFile};
use crate::problem::{Problem, Problems, Sources};

/// Examples of one key, at most.
const MOST_EXAMPLES: usize = 3;

/// What files of one kind may say.
pub struct Vocabulary {
    /// The kind of part.
    pub kind: &'static Kind,
    /// Its part files.
    pub files: Vec<String>,
    /// Its keys, by path: `key`, or `table[].column`.
    pub keys: BTreeMap<String, Key>,
}

/// A key that a kind of part asks for.
pub struct Key {
    /// What is declared of it.
    pub declared: Declared,
    /// What shipped files say.
    pub examples: Vec<String>,
    /// Whether every file of the kind, or every row of the table, needs it.
    pub is_required: bool,
}

/// What each kind declares, with what the files of a library say.
pub fn vocabularies(library: &Library, sources: &mut Sources) -> Result<Vec<Vocabulary>, Problems> {
    let parts = part_file::all(library, sources)?;
    let of_kind = |kind: &&'static Kind| {
        let parts = parts.iter().filter(|(_, part)| part.model == kind.model);
        let parameters: Vec<&Parameters> = parts.clone().map(|(_, part)| &part.parameters).collect();
        let declarations = kind.declarations().into_iter().map(|of| {
            let examples = examples(&parameters, &of.path);
            (of.path, Key { declared: of.declared, examples, is_required: of.always })
        });
        let keys = declarations.collect();
        Vocabulary { kind, files: parts.map(|(name, _)| name.clone()).collect(), keys }
    };
    Ok(KINDS.iter().map(of_kind).collect())
}

/// What one part asks its file for, each key once, as it is read.
///
/// # Errors
///
/// There is no such kind of part, or a number is missing or wrong.
pub fn asked(part: &PartFile) -> Result<Vec<Note>, Problem> {
    let kind = catalog::kind(&part.model);
    let kind = kind.ok_or_else(|| Problem::nowhere(format!("there is no model `{}`", part.model)))?;
    let mut parameters = part.parameters.clone();
    let asked = parameters.listen();
    kind.read(&mut parameters)?;
    let (mut notes, mut known) = (asked.list(), BTreeSet::new());
    notes.retain(|note| known.insert(note.path.clone()));
    Ok(notes)
}

/// What parts say of a key, `key` or `table[].column`: each text once.
fn examples(parts: &[&Parameters], path: &str) -> Vec<String> {
    let mut examples: Vec<String> = Vec::new();
    for parameters in parts {
        for written in written(parameters, path) {
            if examples.len() < MOST_EXAMPLES && !examples.contains(written) {
                examples.push(written.clone());
            }
        }
    }
    examples
}

/// What one part says of a key, in each row of a table.
fn written<'a>(parameters: &'a Parameters, path: &str) -> Vec<&'a String> {
    let Some((table, column)) = path.split_once("[].") else {
        return parameters.entries.get(path).map(|entry| &entry.written).into_iter().collect();
    };
    match parameters.entries.get(table).map(|entry| &entry.value) {
        Some(Value::Rows(rows)) => rows.iter().flat_map(|row| written(row, column)).collect(),
        _ => Vec::new(),
    }
}
