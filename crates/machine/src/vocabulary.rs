//! What the files of each kind of part may say: every number, as its part declares it.
//!
//! Nothing here is a list of keys: each kind of part is built from the shipped files of its kind, and what it asks
//! for is written down, with what is declared of it. What one file or row asks for and another does not may be left out.

use std::collections::{BTreeMap, BTreeSet};

use hopscope_kernel::Sim;
use hopscope_parts::catalog::{Built, Context, KINDS, Kind, Protocol, Socket};
use hopscope_parts::parameters::declared::Declared;
use hopscope_parts::parameters::{Entry, Note, Parameters, SpecError, Value};

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
    /// Files and rows that are asked for it.
    by: BTreeSet<String>,
}

impl Vocabulary {
    /// Whether every file of the kind, or every row of the table, needs this key.
    pub fn is_required(&self, path: &str) -> bool {
        let of_rows = path.rsplit_once("[].").map(|(rows, _)| format!("{rows}[]."));
        let all = of_rows.map_or(self.files.len(), |rows| {
            let columns = self.keys.iter().filter(|(path, _)| path.starts_with(&rows));
            columns.flat_map(|(_, key)| &key.by).collect::<BTreeSet<_>>().len()
        });
        self.keys.get(path).is_some_and(|key| key.by.len() == all)
    }
}

/// Builds a part of every file and writes down what it asks for.
pub fn vocabularies(library: &Library, sources: &mut Sources) -> Result<Vec<Vocabulary>, Problems> {
    let stand = Stand::new(part_file::all(library, sources)?);
    let mut problems = Problems::default();
    let mut vocabularies = Vec::new();
    for kind in KINDS {
        let mut keys: BTreeMap<String, Key> = BTreeMap::new();
        let parts = stand.parts_of(kind);
        for (name, part) in parts {
            let (notes, built) = stand.asked(kind, &part.parameters);
            problems.0.extend(built.err());
            for asked in notes {
                note(&mut keys, name, &asked, &part.parameters);
            }
        }
        let files = parts.iter().map(|(name, _)| name.clone()).collect();
        vocabularies.push(Vocabulary { kind, files, keys });
    }
    problems.unless_empty(vocabularies)
}

/// What one part asks its file for, each key once, as it is read; `others` are what it may be plugged into.
///
/// # Errors
///
/// There is no such kind of part, or it cannot be built.
pub fn asked(others: Vec<(String, PartFile)>, part: &PartFile) -> Result<Vec<Note>, Problem> {
    let kind = KINDS.iter().find(|kind| kind.model == part.model);
    let kind = kind.ok_or_else(|| Problem::nowhere(format!("there is no model `{}`", part.model)))?;
    let (mut notes, built) = Stand::new(others).asked(kind, &part.parameters);
    built?;
    let mut known = BTreeSet::new();
    notes.retain(|note| known.insert(note.path.clone()));
    Ok(notes)
}

fn note(keys: &mut BTreeMap<String, Key>, file: &str, asked: &Note, parameters: &Parameters) {
    let Note { path, declared } = asked;
    let (row, column) = path.rsplit_once("].").map_or(("", &path[..]), |(row, column)| (row, column));
    let general = match row.rsplit_once('[') {
        Some((table, _)) => format!("{table}[].{column}"),
        None => column.to_string(),
    };
    let entry =
        keys.entry(general).or_insert_with(|| Key { declared: *declared, by: BTreeSet::new(), examples: Vec::new() });
    entry.by.insert(format!("{file} {row}"));
    if let Some(found) = find(parameters, row, column)
        && entry.examples.len() < MOST_EXAMPLES
        && !entry.examples.contains(&found.written)
    {
        entry.examples.push(found.written.clone());
    }
}

/// The number in a column of a row, `zones.rows[0`, or of the part if there is no row.
fn find<'a>(parameters: &'a Parameters, row: &str, column: &str) -> Option<&'a Entry> {
    let Some((table, index)) = row.rsplit_once('[') else { return parameters.entries.get(column) };
    match &parameters.entries.get(table)?.value {
        Value::Rows(rows) => rows.get(index.parse::<usize>().ok()?)?.entries.get(column),
        _ => None,
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.sim.tear_down();
    }
}

/// Where a part can be built: with whatever it has to be plugged into.
struct Stand {
    /// Name and content of the part files, by model.
    parts: BTreeMap<String, Vec<(String, PartFile)>>,
    sim: Sim,
}

impl Stand {
    fn new(parts: Vec<(String, PartFile)>) -> Stand {
        let mut by_model: BTreeMap<String, Vec<(String, PartFile)>> = BTreeMap::new();
        for (name, part) in parts {
            by_model.entry(part.model.clone()).or_default().push((name, part));
        }
        Stand { parts: by_model, sim: Sim::new() }
    }

    /// What a part of these numbers asks for, and whether it could be built.
    fn asked(&self, kind: &'static Kind, parameters: &Parameters) -> (Vec<Note>, Result<(), Problem>) {
        let mut parameters = parameters.clone();
        let asked = parameters.listen();
        let built = match self.build(kind, &mut parameters, &mut Vec::new(), None) {
            Some(built) => built.map(drop).map_err(Problem::from),
            None => Err(Problem::nowhere(format!("nothing takes a part of the model `{}`", kind.model))),
        };
        (asked.list(), built)
    }

    fn parts_of(&self, kind: &Kind) -> &[(String, PartFile)] {
        self.parts.get(kind.model).map_or(&[], Vec::as_slice)
    }

    /// Builds a part; nothing where there is nothing to plug it into. `above` are the kinds that wait for it. A part
    /// may refuse what it would be plugged into first: then it is tried without one kind after the other, `without`.
    fn build(
        &self,
        kind: &'static Kind,
        parameters: &mut Parameters,
        above: &mut Vec<&'static str>,
        without: Option<&'static str>,
    ) -> Option<Result<Built, SpecError>> {
        let mut tried = |without| {
            above.push(kind.model);
            let plugs = kind
                .plugs()
                .iter()
                .map(|(key, protocol)| Some((key.to_string(), self.socket(*protocol, above, without)?)));
            let plugs = plugs.collect::<Option<Vec<_>>>();
            above.pop();
            let name = format!("{} {}", kind.model, self.sim.lanes().len());
            Some(kind.build(&Context { sim: &self.sim, name: &name, seed: 0 }, plugs?, parameters))
        };
        let first = tried(without);
        if without.is_some() || !matches!(first, Some(Err(_))) {
            return first;
        }
        let mut others = KINDS.iter().map(|other| tried(Some(other.model)));
        others.find(|built| matches!(built, Some(Ok(_)))).unwrap_or(first)
    }

    /// A socket of a protocol, with the part that has it.
    fn socket(
        &self,
        protocol: Protocol,
        above: &mut Vec<&'static str>,
        without: Option<&'static str>,
    ) -> Option<Socket> {
        let usable = |kind: &&&Kind| !above.contains(&kind.model) && without != Some(kind.model);
        for kind in KINDS.iter().filter(usable).collect::<Vec<_>>() {
            for (_, part) in self.parts_of(kind) {
                let Ok(sockets) = (kind.sockets)(&mut Parameters::clone(&part.parameters)) else { continue };
                let Some((name, _)) = sockets.into_iter().find(|(_, offered)| *offered == protocol) else { continue };
                if let Some(Ok(built)) = self.build(kind, &mut Parameters::clone(&part.parameters), above, without) {
                    return built.sockets.into_iter().find(|(offered, _)| *offered == name).map(|(_, socket)| socket);
                }
            }
        }
        None
    }
}
