//! JSON Schemas of part and system files, so that editors complete and check them.
//!
//! Nothing here is a list of keys: they are those that parts declare ([`vocabularies`]).
//!
//! A schema is for an editor: sums over a table, wires and ranges are checked by `hopscope check` alone.

use std::collections::BTreeMap;

use hopscope_parts::catalog::Kind;
use hopscope_parts::parameters::Quantity;
use hopscope_parts::parameters::declared::Declared;
use serde_json::{Map, Value as Json, json};

use crate::data_sheet;
use crate::library::Library;
use crate::parameter_table::{BASIS_WORDS, LONGEST_TEXT};
use crate::price;
use crate::problem::{Problems, Sources};
use crate::quantity;
use crate::system_file::{LARGEST_COUNT, PLUGS};
use crate::vocabulary::{Vocabulary, vocabularies};

/// The language that the schemas are written in.
pub const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Names of keys and parts.
const KEY: &str = "^[a-z0-9_-]{1,80}$";

/// A schema that can be had.
pub struct Schema {
    /// Its name.
    pub name: &'static str,
    /// Where the files are that it is for.
    pub files: &'static str,
    /// Makes it for what is in a library.
    pub make: fn(&Library, &mut Sources) -> Result<Json, Problems>,
}

/// The schemas of this crate's files.
pub static SCHEMAS: &[Schema] = &[
    Schema { name: "system", files: "data/systems/*.toml", make: system },
    Schema { name: "part", files: "data/parts/*/*.toml", make: part },
];

fn part(library: &Library, sources: &mut Sources) -> Result<Json, Problems> {
    let shapes = shapes(library, sources)?;
    let mut definitions = definitions();
    definitions.insert(data_sheet::KEY.into(), data_sheet::schema(library));
    definitions.insert(price::KEY.into(), price::schema());
    for shape in &shapes {
        let aside = [
            ("model", json!({ "const": shape.kind.model })),
            ("title", text("its name in reports")),
            (data_sheet::KEY, json!({ "$ref": format!("#/$defs/{}", data_sheet::KEY) })),
            (price::KEY, json!({ "$ref": format!("#/$defs/{}", price::KEY) })),
        ];
        let mut table = shape.table.schema(&aside, true);
        require(&mut table, &["model", "title"]);
        definitions.insert(shape.kind.model.into(), table);
    }
    let models: Vec<&str> = shapes.iter().map(|shape| shape.kind.model).collect();
    let mut root = one_of(&shapes, "model", |shape| vec![shape.kind.model]);
    extend(
        &mut root,
        json!({
            "$schema": DIALECT,
            "title": "A part of Hopscope",
            "description": "One device, one file. Every number has a unit and a basis.",
            "type": "object",
            "properties": { "model": { "enum": models, "description": "the kind of part" } },
            "required": ["model", "title"],
            "$defs": definitions,
        }),
    );
    Ok(root)
}

fn system(library: &Library, sources: &mut Sources) -> Result<Json, Problems> {
    let shapes = shapes(library, sources)?;
    let mut definitions = definitions();
    for shape in &shapes {
        let uses = json!({ "enum": shape.files, "description": "the part file, as role/model" });
        let several = json!({
            "type": "integer", "minimum": 1, "maximum": LARGEST_COUNT,
            "description": "how many such parts there are; {} in a plug is the number of each, from 0",
        });
        let mut aside = vec![("use", uses), ("count", several)];
        for (plug, protocol) in shape.kind.plugs() {
            let what = format!("part.port, where the port is {}", protocol.name());
            aside.push((*plug, json!({ "type": "string", "pattern": r"^[a-z0-9_{}-]+\..+$", "description": what })));
        }
        let mut table = shape.table.schema(&aside, false);
        let plugs = shape.kind.plugs().iter().map(|(plug, _)| *plug);
        require(&mut table, &["use"].into_iter().chain(plugs).collect::<Vec<_>>());
        definitions.insert(shape.kind.model.into(), table);
    }
    definitions.insert(price::KEY.into(), price::schema());
    let names: Vec<&str> = library.parts().collect();
    let mut declaration = one_of(&shapes, "use", |shape| shape.files.iter().map(String::as_str).collect());
    extend(
        &mut declaration,
        json!({ "type": "object", "required": ["use"], "properties": { "use": { "enum": names } } }),
    );
    definitions.insert("part".into(), declaration);
    Ok(json!({
        "$schema": DIALECT,
        "title": "A machine of Hopscope",
        "description": format!("Parts, and what is plugged into what: {}.", PLUGS.join(", ")),
        "type": "object",
        "properties": {
            "title": text("its name in reports"),
            "study": text("the study that it belongs to"),
            "default_target": text("the part that a job without filename= addresses"),
            "price": { "$ref": format!("#/$defs/{}", price::KEY) },
            "part": {
                "description": "[part.NAME]",
                "type": "object",
                "minProperties": 1,
                "propertyNames": { "pattern": KEY },
                "additionalProperties": { "$ref": "#/$defs/part" },
            },
        },
        "required": ["title", "part"],
        "additionalProperties": false,
        "$defs": definitions,
    }))
}

/// Whatever can be written as a quantity: for files whose numbers are of any kind.
pub fn any_quantity() -> Json {
    let units = NUMBERS.iter().flat_map(|quantity| quantity::units(*quantity)).collect();
    json!({ "type": "string", "pattern": number_pattern(units), "examples": ["64 KiB", "10 us", "2 requests"] })
}

/// The definition that an object's `key` chooses.
///
/// Editors complete from `anyOf` and skip conditions, and a validator says more of a condition than of `anyOf`. So
/// both are there, and `true` takes the checking from the first.
fn one_of<'a>(shapes: &'a [Shape], key: &str, values: impl Fn(&'a Shape) -> Vec<&'a str>) -> Json {
    let reference = |shape: &Shape| json!({ "$ref": format!("#/$defs/{}", shape.kind.model) });
    let chosen = |shape: &'a Shape| {
        json!({
            "if": { "properties": { key: { "enum": values(shape) } }, "required": [key] },
            "then": reference(shape),
        })
    };
    let completed = std::iter::once(json!(true)).chain(shapes.iter().map(reference));
    json!({ "anyOf": completed.collect::<Vec<_>>(), "allOf": shapes.iter().map(chosen).collect::<Vec<_>>() })
}

const NUMBERS: [Quantity; 7] = [
    Quantity::Time,
    Quantity::Period,
    Quantity::Bytes,
    Quantity::Rate,
    Quantity::Clocks,
    Quantity::Count,
    Quantity::Share,
];

fn text(description: &str) -> Json {
    json!({ "type": "string", "minLength": 1, "maxLength": LONGEST_TEXT, "pattern": r"\S", "description": description })
}

/// What every schema refers to: the kinds of quantities, and why a number is what it is.
fn definitions() -> Map<String, Json> {
    let mut definitions = Map::new();
    for quantity in NUMBERS.into_iter().chain([Quantity::Text]) {
        let written = written(quantity);
        let mut whole = json!({ "value": written, "range": { "type": "array", "items": written } });
        extend(
            &mut whole["range"],
            if quantity == Quantity::Text {
                json!({ "minItems": 2, "description": "what it could be" })
            } else {
                json!({ "minItems": 2, "maxItems": 2, "description": "plausible: [lowest, highest]" })
            },
        );
        extend(&mut whole, bases());
        // A text may be written as it is, or with its basis: each word below is for one of the two.
        let mut definition = written;
        let types = if quantity == Quantity::Text {
            json!(["string", "boolean", "object"])
        } else {
            json!(["string", "object"])
        };
        extend(
            &mut definition,
            json!({
                "type": types, "properties": whole, "required": ["value"], "additionalProperties": false,
                "not": { "$ref": "#/$defs/two-bases" },
            }),
        );
        definitions.insert(definition_of(quantity), definition);
    }
    let each = |words: &[&str]| json!({ "required": words });
    let pairs =
        BASIS_WORDS.iter().enumerate().flat_map(|(n, a)| BASIS_WORDS[n + 1..].iter().map(move |b| each(&[a, b])));
    definitions.insert("two-bases".into(), json!({ "type": "object", "anyOf": pairs.collect::<Vec<_>>() }));
    definitions.insert(
        "own-basis".into(),
        json!({
            "description": "why is it this number? The table has no basis, so the number needs one",
            "type": "object",
            "anyOf": BASIS_WORDS.iter().map(|word| each(&[word])).collect::<Vec<_>>(),
        }),
    );
    definitions.insert(
        "basis".into(),
        json!({
            "description": "why the numbers of this table are what they are",
            "type": "object", "properties": bases(), "additionalProperties": false,
            "minProperties": 1, "maxProperties": 1,
        }),
    );
    definitions
}

pub(crate) fn bases() -> Json {
    let words = BASIS_WORDS.iter().map(|word| {
        let why = match *word {
            "source" => "a document says so: which, and where in it",
            "measured" => "an observation that is a cause, not a result",
            "fitted" => "chosen so that a study's results fit: which study, and to what",
            _ => "nothing better is known: why it is plausible",
        };
        (word.to_string(), text(why))
    });
    Json::Object(words.collect())
}

fn definition_of(quantity: Quantity) -> String {
    quantity
        .name()
        .trim_start_matches("a number of ")
        .trim_start_matches("an ")
        .trim_start_matches("a ")
        .replace(' ', "-")
}

/// A quantity alone, without its basis.
fn written(quantity: Quantity) -> Json {
    if quantity == Quantity::Text {
        let description = "a text: what starts with a digit is a number, unless it starts with 0x";
        return json!({
            "description": description, "type": ["string", "boolean"], "maxLength": LONGEST_TEXT,
            "pattern": r"^\s*(?:0x|[^\s0-9−-]|[−-]\s*[^\s0-9])",
        });
    }
    let units = quantity::units(quantity);
    let description = format!("{}, in {}", quantity.name(), units.join(", "));
    json!({ "description": description, "type": "string", "pattern": number_pattern(units) })
}

pub(crate) fn number_pattern(units: Vec<&str>) -> String {
    let digits = "[0-9](?:[0-9_]*[0-9])?";
    format!(r"^\s*{digits}(?:\.{digits})?\s*(?:{})\s*$", units.join("|"))
}

/// What is declared of a number: what it means, what it may be.
fn said(declared: &Declared) -> Json {
    // What follows from other numbers of a file is not the same in the next one.
    let description = if declared.depends { declared.meaning.to_string() } else { declared.said() };
    match declared.words.is_empty() {
        true => json!({ "description": description }),
        false => json!({ "description": description, "examples": declared.words }),
    }
}

/// Adds the members of one object to another.
fn extend(object: &mut Json, more: Json) {
    if let (Json::Object(object), Json::Object(more)) = (object, more) {
        object.extend(more);
    }
}

fn require(table: &mut Json, keys: &[&str]) {
    if let Json::Array(required) = &mut table["required"] {
        required.extend(keys.iter().map(|key| json!(key)));
    }
}

/// What the files of one kind of part look like.
struct Shape {
    kind: &'static Kind,
    /// Its part files.
    files: Vec<String>,
    table: Table,
}

fn shapes(library: &Library, sources: &mut Sources) -> Result<Vec<Shape>, Problems> {
    let shape = |vocabulary: Vocabulary| {
        let mut table = Table::default();
        for (path, key) in &vocabulary.keys {
            let number = (key.declared, key.examples.clone());
            table.insert(path, key.is_required, number);
        }
        Shape { kind: vocabulary.kind, files: vocabulary.files, table }
    };
    Ok(vocabularies(library, sources)?.into_iter().map(shape).collect())
}

/// A table's keys.
#[derive(Default)]
struct Table(BTreeMap<String, Key>);

#[derive(Default)]
struct Key {
    required: bool,
    holds: Holds,
}

#[derive(Default)]
enum Holds {
    Number(Declared, Vec<String>),
    Rows(Table),
    Table(Table),
    #[default]
    Nothing,
}

impl Table {
    fn schema(&self, aside: &[(&str, Json)], whole: bool) -> Json {
        let mut properties = Map::new();
        for (key, schema) in aside {
            properties.insert(key.to_string(), schema.clone());
        }
        let mut schema = self.members(properties, whole);
        extend(&mut schema, self.needs_basis());
        schema
    }

    /// The keys of a table; all that are required if it is `whole`.
    fn members(&self, mut properties: Map<String, Json>, whole: bool) -> Json {
        for (name, key) in &self.0 {
            let members = |table: &Table, whole| table.members(Map::new(), whole);
            let schema = match &key.holds {
                Holds::Number(declared, examples) => {
                    let reference = format!("#/$defs/{}", definition_of(declared.quantity));
                    let mut schema = json!({ "$ref": reference, "examples": examples });
                    extend(&mut schema, said(declared));
                    schema
                }
                Holds::Table(table) => members(table, whole),
                Holds::Rows(columns) => {
                    let rows = json!({ "type": "array", "minItems": 1, "items": members(columns, true) });
                    let mut with_basis = json!({ "value": rows });
                    extend(&mut with_basis, bases());
                    let mut schema = rows;
                    let object = json!({
                        "type": ["array", "object"], "properties": with_basis, "required": ["value"],
                        "additionalProperties": false,
                    });
                    extend(&mut schema, object);
                    schema
                }
                Holds::Nothing => continue,
            };
            properties.insert(name.clone(), schema);
        }
        properties.insert("basis".into(), json!({ "$ref": "#/$defs/basis" }));
        let required = self.0.iter().filter(|(_, key)| whole && key.required).map(|(name, _)| name);
        json!({
            "type": "object", "properties": properties, "required": required.collect::<Vec<_>>(),
            "additionalProperties": false,
        })
    }

    /// Where neither the table nor one around it has a basis, each number has its own.
    fn needs_basis(&self) -> Json {
        let members = self.0.iter().filter_map(|(name, key)| {
            let member = match &key.holds {
                Holds::Number(declared, _) if declared.quantity == Quantity::Text => return None,
                Holds::Nothing => return None,
                Holds::Number(..) => json!({ "$ref": "#/$defs/own-basis" }),
                Holds::Table(table) => table.needs_basis(),
                Holds::Rows(columns) => json!({ "items": columns.needs_basis() }),
            };
            Some((name.clone(), member))
        });
        let members: Map<String, Json> = members.collect();
        json!({ "if": { "not": { "required": ["basis"] } }, "then": { "properties": members } })
    }

    /// Puts a number at a path such as `seek.rows[].time`.
    fn insert(&mut self, path: &str, required: bool, number: (Declared, Vec<String>)) {
        let Some((head, rest)) = path.split_once('.') else {
            let holds = match number {
                (declared, _) if declared.quantity == Quantity::Rows => Holds::Rows(Table::default()),
                (declared, examples) => Holds::Number(declared, examples),
            };
            self.0.insert(path.to_string(), Key { required, holds });
            return;
        };
        let (name, is_rows) = head.strip_suffix("[]").map_or((head, false), |name| (name, true));
        let key = self.0.entry(name.to_string()).or_default();
        if let Holds::Nothing = key.holds {
            key.holds = if is_rows { Holds::Rows(Table::default()) } else { Holds::Table(Table::default()) };
        }
        match &mut key.holds {
            Holds::Rows(table) => table.insert(rest, required, number),
            Holds::Table(table) => {
                key.required |= required;
                table.insert(rest, required, number);
            }
            Holds::Number(..) | Holds::Nothing => {}
        }
    }
}
