//! A machine: which parts it has, and what is plugged into what.

use std::collections::BTreeSet;

use hopscope_parts::parameters::{Parameters, Place, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::parameter_table::{TableReader, document, is_key};
use crate::price::{self, Price};
use crate::problem::{Problem, Problems, Sources, place};

/// The keys of a part that name another part's port.
pub const PLUGS: &[&str] = &["at", "runs_on", "controls"];

const USE: &str = "use";
const COUNT: &str = "count";
const PART: &str = "part";
const ROOT_KEYS: &[&str] = &["title", "study", "default_target", price::KEY, PART];
/// Parts of one declaration, at most.
pub(crate) const LARGEST_COUNT: usize = 256;
const MOST_NUMBERS: usize = 20_000;

/// A machine as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemFile {
    /// Its name in reports.
    pub title: String,
    /// The study that it belongs to.
    pub study: Option<String>,
    /// The part that a job without `filename=` addresses.
    pub default_target: Option<(String, Place)>,
    /// What the computer costs into which parts with prices of their own are plugged.
    pub price: Option<Price>,
    /// Its parts, in the order of the file, counts expanded.
    pub parts: Vec<PartDeclaration>,
}

/// One `[part.NAME]`.
#[derive(Clone, Debug, PartialEq)]
pub struct PartDeclaration {
    /// The part's name in this system.
    pub name: String,
    /// The part file, as `role/model`.
    pub uses: (String, Place),
    /// What it is plugged into.
    pub plugs: Vec<Plug>,
    /// Numbers that replace those of the part file.
    pub overrides: Parameters,
    /// Where its name is written.
    pub place: Place,
}

/// One plug of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plug {
    /// Which plug: one of [`PLUGS`].
    pub key: String,
    /// The port it is in, such as `pci.slot7`.
    pub target: String,
    /// Where that is written.
    pub place: Place,
}

/// Reads the system file that `sources` keeps under the number `file`.
pub fn read(sources: &Sources, file: u32) -> Result<SystemFile, Problems> {
    let root = document(file, sources.text(file))?;
    let root = root.get_ref();
    let mut reader = TableReader::new(file);
    let start = place(file, 0..0);
    reader.refuse_unknown(root, ROOT_KEYS);
    let (title, _) = reader.required_text(root, "title", start, "A machine");
    let study = reader.optional_text(root, "study").map(|(study, _)| study);
    let default_target = reader.optional_text(root, "default_target");
    let price = root.get(price::KEY).and_then(|value| price::read(&mut reader, value));
    let parts = parts(&mut reader, root, start);
    reader.finish(SystemFile { title, study, default_target, price, parts })
}

fn parts(reader: &mut TableReader, root: &DeTable<'_>, start: Place) -> Vec<PartDeclaration> {
    const HELP: &str = "a part is a table: [part.disk] and below it use = \"disk/…\"";
    let mut tables = Vec::new();
    match root.get(PART).map(|value| (value.get_ref(), value.span())) {
        Some((DeValue::Table(parts), _)) if !parts.is_empty() => tables.extend(parts.iter()),
        Some((DeValue::Table(_), _)) | None => {
            reader.problem(Problem::at(start, "this system has no parts").help(HELP));
        }
        Some((_, span)) => reader.problem(Problem::at(reader.place(span), "`part` is not a table").help(HELP)),
    }
    tables.sort_by_key(|(name, _)| name.span().start);

    let mut parts: Vec<PartDeclaration> = Vec::new();
    let (mut names, mut numbers) = (BTreeSet::new(), 0);
    for (name, value) in tables {
        let at = reader.place(name.span());
        let DeValue::Table(table) = value.get_ref() else {
            reader.problem(Problem::at(at, format!("`part.{}` is not a table", name.get_ref())).help(HELP));
            continue;
        };
        if !is_key(name.get_ref()) {
            let problem = Problem::at(at, format!("`{}` is no name for a part", name.get_ref()));
            reader.problem(problem.label("expected small letters, digits, `_` and `-`"));
            continue;
        }
        let (part, count) = part(reader, name.get_ref(), table, at);
        numbers += size(&part.overrides) * count.unwrap_or(1);
        if numbers > MOST_NUMBERS {
            reader.problem(Problem::at(at, format!("the parts up to here have more than {MOST_NUMBERS} numbers")));
            break;
        }
        for part in expanded(part, count) {
            if !names.insert(part.name.clone()) {
                reader.problem(Problem::at(at, format!("two parts are named `{}`", part.name)).label("the second one"));
            }
            parts.push(part);
        }
    }
    parts
}

fn part(reader: &mut TableReader, name: &str, table: &DeTable<'_>, at: Place) -> (PartDeclaration, Option<usize>) {
    let aside: Vec<&str> = PLUGS.iter().copied().chain([USE, COUNT]).collect();
    let count = table.get(COUNT).and_then(|count| self::count(reader, count));
    let uses = reader.required_text(table, USE, at, "disk/quantum-fireball-el10.2a");
    let mut plugs = Vec::new();
    for key in PLUGS {
        if let Some((target, place)) = reader.optional_text(table, key) {
            if target.contains("{}") && !table.contains_key(COUNT) {
                let problem = Problem::at(place, "`{}` stands for the number of one of several parts");
                reader.problem(problem.label("there is only one").help("give the part a count, or write the number"));
            }
            plugs.push(Plug { key: key.to_string(), target, place });
        }
    }
    let overrides = reader.parameters(table, &aside, at, None);
    (PartDeclaration { name: name.to_string(), uses, plugs, overrides, place: at }, count)
}

fn count(reader: &mut TableReader, value: &Spanned<DeValue<'_>>) -> Option<usize> {
    let count = value.get_ref().as_integer().and_then(|count| count.as_str().parse().ok());
    let count = count.filter(|count| (1..=LARGEST_COUNT).contains(count));
    if count.is_none() {
        let problem = Problem::at(reader.place(value.span()), "`count` is the number of such parts");
        reader.problem(problem.label(format!("expected a number from 1 to {LARGEST_COUNT}, without quotes")));
    }
    count
}

/// `disk` with a count of 2 is `disk0` and `disk1`; `{}` in their plugs is 0 and 1.
fn expanded(part: PartDeclaration, count: Option<usize>) -> Vec<PartDeclaration> {
    let Some(count) = count else { return vec![part] };
    let numbered = |number: usize| {
        let mut part = part.clone();
        part.name = format!("{}{number}", part.name);
        for plug in &mut part.plugs {
            plug.target = plug.target.replace("{}", &number.to_string());
        }
        part
    };
    (0..count).map(numbered).collect()
}

fn size(parameters: &Parameters) -> usize {
    let of = |value: &Value| match value {
        Value::Rows(rows) => rows.iter().map(size).sum(),
        _ => 1,
    };
    1 + parameters.entries.values().map(|entry| of(&entry.value)).sum::<usize>()
}
