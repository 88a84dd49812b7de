//! What the files of each kind of part may say: every number, as its part declares it.
//!
//! Nothing here is a list of keys: each kind of part is built from the shipped files of its kind, and what it asks
//! for is written down, with what is declared of it. What one file or row asks for and another does not may be left out.

use std::collections::{BTreeMap, BTreeSet};

use hopscope_kernel::Sim;
use hopscope_parts::catalog::{Built, Context, KINDS, Kind, Protocol, Socket};
use hopscope_parts::declared::Declared;
use hopscope_parts::parameters::{Entry, Note, Parameters, Quantity, SpecError, Value};

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
    /// In which kind of quantity.
    pub quantity: Quantity,
    /// What is declared of it.
    pub declared: Option<Declared>,
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
    let mut stand = Stand { parts: BTreeMap::new(), sim: Sim::new() };
    let mut problems = Problems::default();
    for name in library.parts() {
        let Some(text) = library.part(name) else { continue };
        let file = sources.add(text.name.clone(), text.text.clone());
        match part_file::read(sources, file) {
            Ok(part) => stand.parts.entry(part.model.clone()).or_default().push((name.to_string(), part)),
            Err(found) => problems.0.extend(found.0),
        }
    }
    let mut vocabularies = Vec::new();
    for kind in KINDS {
        let mut keys: BTreeMap<String, Key> = BTreeMap::new();
        let parts = stand.parts_of(kind);
        for (name, part) in parts {
            let mut parameters = Parameters::clone(&part.parameters);
            let asked = parameters.listen();
            match stand.build(kind, &mut parameters, &mut Vec::new(), None) {
                Some(Ok(_)) => {}
                Some(Err(error)) => problems.0.push(Problem::from(error)),
                None => {
                    problems.0.push(Problem::nowhere(format!("nothing takes a part of the model `{}`", kind.model)))
                }
            }
            for asked in asked.list() {
                note(&mut keys, name, &asked, &part.parameters);
            }
        }
        let files = parts.iter().map(|(name, _)| name.clone()).collect();
        vocabularies.push(Vocabulary { kind, files, keys });
    }
    stand.sim.tear_down();
    problems.unless_empty(vocabularies)
}

fn note(keys: &mut BTreeMap<String, Key>, file: &str, asked: &Note, parameters: &Parameters) {
    let Note { path, quantity, declared } = asked;
    let (row, column) = path.rsplit_once("].").map_or(("", &path[..]), |(row, column)| (row, column));
    let general = match row.rsplit_once('[') {
        Some((table, _)) => format!("{table}[].{column}"),
        None => column.to_string(),
    };
    let entry = keys.entry(general).or_insert_with(|| Key {
        quantity: *quantity,
        declared: None,
        by: BTreeSet::new(),
        examples: Vec::new(),
    });
    entry.declared = entry.declared.or(*declared);
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

/// Where a part can be built: with whatever it has to be plugged into.
struct Stand {
    /// Name and content of the part files, by model.
    parts: BTreeMap<String, Vec<(String, PartFile)>>,
    sim: Sim,
}

impl Stand {
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
            let plugs = kind.plugs.iter().map(|(_, protocol)| self.socket(*protocol, above, without));
            let plugs = plugs.collect::<Option<Vec<_>>>();
            above.pop();
            let name = format!("{} {}", kind.model, self.sim.lanes().len());
            Some((kind.build)(Context { sim: &self.sim, name: &name, seed: 0, plugs: plugs? }, parameters))
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
