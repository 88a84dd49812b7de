//! A part file to begin with: every number of a kind of part, with what it means and what it may be, as the nearest
//! shipped part has it, and marked as assumed. What a data sheet says is put in its place.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use hopscope_parts::catalog::{KINDS, Kind};
use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::declared::Declared;
use hopscope_parts::parameters::{Basis, Entry, Note, Parameters, Value};

use crate::library::Library;
use crate::part_file::{self, PartFile};
use crate::problem::{Problem, Problems, Sources};
use crate::quantity;
use crate::vocabulary;

/// What people call kinds of parts.
const ALSO_CALLED: &[(&str, &str)] = &[
    ("drive", "nvme-drive"),
    ("nvme", "nvme-drive"),
    ("ssd", "sata-ssd"),
    ("disk", "hard-disk"),
    ("nic", "network-adapter"),
    ("cpu", "processor"),
];

/// What is known of the new part.
pub struct Wanted<'a> {
    /// A model, or what people call it.
    pub kind: &'a str,
    /// Its name in reports.
    pub title: &'a str,
    /// The shipped part to begin with; the one nearest to what is given if there is none.
    pub like: Option<&'a str>,
    /// Numbers and choices as `key=value`.
    pub given: &'a [String],
    /// What says so.
    pub source: Option<&'a str>,
}

/// A file to begin with.
pub struct Begun {
    /// Its text.
    pub text: String,
    /// The part that all other numbers are from.
    pub like: String,
    /// Numbers and choices that were given.
    pub given: usize,
    /// Those that are the other part's.
    pub assumed: usize,
}

/// Writes a part file to begin with.
///
/// # Errors
///
/// There is no such kind or part, or what is given is no number of it, or cannot be.
pub fn begin(library: &Library, sources: &mut Sources, wanted: &Wanted<'_>) -> Result<Begun, Problems> {
    let kind = kind_of(wanted.kind)?;
    let given = given(wanted.given)?;
    let parts = part_file::all(library, sources)?;
    let (like, mut part) = nearest(kind, &parts, wanted.like, &given)?;
    let known: Vec<String> = part.parameters.entries.keys().cloned().collect();
    let basis = match wanted.source {
        Some(source) => Basis::Source(source.to_string()),
        None => Basis::Assumed("given when this file was begun".to_string()),
    };
    let entries = Arc::make_mut(&mut part.parameters.entries);
    for (key, (written, value)) in &given {
        // A choice may ask for numbers that the other part has not.
        if let Some(entry) = entries.get(key).filter(|entry| entry.value.quantity() != value.quantity()) {
            let title = format!("`{key}` is {}, `{written}` is {}", entry.value.kind(), value.kind());
            return Err(Problem::nowhere(title).help(format!("{like} has \"{}\"", entry.written)).into());
        }
        let (value, basis, written, range) = (value.clone(), basis.clone(), written.clone(), Vec::new());
        entries.insert(key.clone(), Entry { value, basis, written, range, place: part.parameters.place });
    }
    let notes = vocabulary::asked(&part).map_err(|problem| without_place(problem, &part))?;
    for key in given.keys() {
        if !notes.iter().any(|note| note.path == *key) {
            let title = format!("there is no number `{key}` in the {} {like}", kind.model);
            return Err(Problem::nowhere(title).help(did_you_mean(key, &known)).into());
        }
    }
    let text = text(wanted.title, kind, &like, (&part.parameters, &notes), &given);
    let numbers = notes.iter().filter(|note| !note.path.contains('[') && !is_table(&part.parameters, note)).count();
    Ok(Begun { text, like, given: given.len(), assumed: numbers - given.len() })
}

fn kind_of(word: &str) -> Result<&'static Kind, Problem> {
    let called = ALSO_CALLED.iter().find(|(name, _)| *name == word).map_or(word, |(_, model)| model);
    KINDS.iter().copied().find(|kind| kind.model == called).ok_or_else(|| {
        let names = KINDS.iter().map(|kind| kind.model).chain(ALSO_CALLED.iter().map(|(name, _)| *name));
        let help = format!("{} (`hopscope new` lists them)", did_you_mean(word, &names.collect::<Vec<_>>()));
        Problem::nowhere(format!("there is no kind of part `{word}`")).help(help)
    })
}

/// What is given, by key: as it was written, and what it is.
fn given(words: &[String]) -> Result<BTreeMap<String, (String, Value)>, Problem> {
    let mut given = BTreeMap::new();
    for word in words {
        let wrong = |title: String| Err(Problem::nowhere(title));
        let Some((key, written)) = word.split_once('=') else {
            let problem = Problem::nowhere(format!("`{word}` gives no number"));
            return Err(problem.help("write KEY=VALUE, as in capacity=\"2 TB\""));
        };
        let value = match quantity::parse(written) {
            Ok(value) => value,
            Err(expected) => return wrong(format!("`{word}`: {expected}")),
        };
        if given.insert(key.to_string(), (written.to_string(), value)).is_some() {
            return wrong(format!("`{key}` is given twice"));
        }
    }
    Ok(given)
}

/// The part that is asked for, or that comes nearest to what is given: the product of how many times each number is off.
fn nearest(
    kind: &Kind,
    parts: &[(String, PartFile)],
    like: Option<&str>,
    given: &BTreeMap<String, (String, Value)>,
) -> Result<(String, PartFile), Problem> {
    let mut of_kind = parts.iter().filter(|(_, part)| part.model == kind.model);
    let names: Vec<&str> = of_kind.clone().map(|(name, _)| name.as_str()).collect();
    let off = |part: &PartFile| -> f64 {
        let of = |(key, (_, value)): (&String, &(String, Value))| match part.parameters.entries.get(key) {
            None => 1e6,
            Some(entry) => times_off(&entry.value, value),
        };
        given.iter().map(of).product()
    };
    let found = match like {
        Some(like) => of_kind.find(|(name, _)| name == like),
        None => of_kind.min_by(|(_, one), (_, other)| off(one).total_cmp(&off(other))),
    };
    found.cloned().ok_or_else(|| {
        let (title, help) = match like {
            Some(like) => (format!("there is no {} `{like}`", kind.model), did_you_mean(like, &names)),
            None => (format!("no part of the kind `{}` is there to begin with", kind.model), String::new()),
        };
        Problem::nowhere(title).help(help)
    })
}

fn times_off(one: &Value, other: &Value) -> f64 {
    match (one.amount(), other.amount()) {
        (Some(one), Some(other)) => {
            let (one, other) = (one.max(1) as f64, other.max(1) as f64);
            one.max(other) / one.min(other)
        }
        _ if one == other => 1.0,
        _ => 1e3,
    }
}

/// The text that is there once the file is written is not there yet: what is wrong is said without a line of it.
fn without_place(mut problem: Problem, part: &PartFile) -> Problem {
    problem.place = problem.place.filter(|place| place.file != part.parameters.place.file);
    problem
}

fn is_table(parameters: &Parameters, note: &Note) -> bool {
    parameters.entries.get(&note.path).is_some_and(|entry| matches!(entry.value, Value::Rows(_)))
}

fn text(
    title: &str,
    kind: &Kind,
    like: &str,
    (parameters, notes): (&Parameters, &[Note]),
    given: &BTreeMap<String, (String, Value)>,
) -> String {
    let mut out = String::new();
    let mut line = |text: &str| _ = writeln!(out, "{text}");
    line(&format!("# {}.", kind.what));
    line("#");
    line(&format!("# What is not said to be from elsewhere is as {like} has it. Put what a data sheet says in its"));
    line("# place, with where it is from: { value = \"…\", source = \"…\" }, or measured, fitted, assumed.");
    line(&format!("model = {}", quoted(kind.model)));
    line(&format!("title = {}", quoted(title)));
    line(&format!("basis = {{ assumed = {} }}", quoted(&format!("as {like} has it"))));
    let keys: Vec<&Note> = notes.iter().filter(|note| !note.path.contains('[')).collect();
    let table_of = |note: &Note| note.path.rsplit_once('.').map(|(table, _)| table.to_string());
    let mut tables: Vec<Option<String>> = vec![None];
    for note in &keys {
        if !tables.contains(&table_of(note)) {
            tables.push(table_of(note));
        }
    }
    for table in tables {
        if let Some(table) = &table {
            line(&format!("\n[{table}]"));
        }
        for note in keys.iter().filter(|note| table_of(note) == table) {
            let Some(entry) = parameters.entries.get(&note.path) else { continue };
            let key = note.path.rsplit_once('.').map_or(&note.path[..], |(_, key)| key);
            line("");
            comment(&mut line, &format!("{}.", note.declared.said()));
            match &entry.value {
                Value::Rows(rows) => {
                    columns(&mut line, notes, &note.path);
                    line(&format!("{key} = ["));
                    rows.iter().for_each(|of| line(&format!("    {{ {} }},", row(of, notes))));
                    line("]");
                }
                _ if given.contains_key(&note.path) => line(&format!(
                    "{key} = {{ value = {}, {} = {} }}",
                    quoted(&entry.written),
                    entry.basis.word(),
                    quoted(entry.basis.text())
                )),
                _ => line(&format!("{key} = {}", quoted(&entry.written))),
            }
        }
    }
    out
}

/// A comment in lines of 100 columns.
fn comment(line: &mut impl FnMut(&str), text: &str) {
    let mut row = String::from("#");
    // A figure keeps its per cent sign.
    for word in text.replace(" %", "\u{a0}%").split(' ') {
        if row.len() > 1 && row.len() + 1 + word.len() > 100 {
            line(&row);
            row = String::from("#");
        }
        row += " ";
        row += &word.replace('\u{a0}', " ");
    }
    line(&row);
}

/// What the columns of a table mean, each once.
fn columns(line: &mut impl FnMut(&str), notes: &[Note], table: &str) {
    let of = |note: &Note| -> Option<(String, Declared)> {
        let rest = note.path.strip_prefix(table)?.strip_prefix('[')?;
        Some((rest.split_once("].")?.1.to_string(), note.declared))
    };
    let mut said: Vec<String> = Vec::new();
    for (column, declared) in notes.iter().filter_map(of) {
        if !said.contains(&column) {
            // Limits may follow from others of the same row.
            let what = if declared.depends { declared.meaning.to_string() } else { declared.said() };
            comment(line, &format!("- {column}: {what}"));
            said.push(column);
        }
    }
}

fn row(parameters: &Parameters, notes: &[Note]) -> String {
    let order = |column: &str| notes.iter().position(|note| note.path.ends_with(&format!("].{column}")));
    let mut entries: Vec<(&String, &Entry)> = parameters.entries.iter().collect();
    entries.sort_by_key(|(column, _)| order(column));
    let cells = entries.into_iter().map(|(column, entry)| format!("{column} = {}", quoted(&entry.written)));
    cells.collect::<Vec<_>>().join(", ")
}

/// As TOML writes it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}
