//! What parts cost, and the computer that they are plugged into: a table of their files. No model reads a price.

use hopscope_parts::parameters::Basis;
use serde_json::{Value as Json, json};
use toml::Spanned;
use toml::de::DeValue;

use crate::parameter_table::{QUANTITY_KEYS, TableReader};
use crate::problem::Problem;
use crate::quantity;
use crate::schema::{bases, number_pattern};

/// The key of a price, in files of parts and of systems.
pub const KEY: &str = "price";
const EXAMPLE: &str = "write price = { value = \"534 USD\", source = \"…\" }";

/// A price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// Cents of a United States dollar.
    pub cents: u64,
    /// Who says so.
    pub basis: Basis,
}

impl Price {
    /// In dollars.
    pub fn dollars(&self) -> f64 {
        self.cents as f64 / 100.0
    }
}

/// Reads a price; nothing where it cannot be one, which `reader` has noted.
pub(crate) fn read(reader: &mut TableReader, value: &Spanned<DeValue<'_>>) -> Option<Price> {
    let at = reader.place(value.span());
    let Some(table) = value.get_ref().as_table() else {
        reader.problem(Problem::at(at, "a price has its source beside it").help(EXAMPLE));
        return None;
    };
    let keys: Vec<&str> = QUANTITY_KEYS.iter().copied().filter(|key| *key != "range").collect();
    reader.refuse_unknown(table, &keys);
    let basis = reader.one_basis(table);
    if basis.is_none() {
        reader.problem(Problem::at(at, "a price without a basis").help(EXAMPLE));
    }
    let (written, place) = reader.required_text(table, "value", at, "534 USD");
    match quantity::dollars(&written) {
        Ok(cents) => Some(Price { cents, basis: basis? }),
        Err(expected) => {
            if !written.is_empty() {
                reader.problem(Problem::at(place, "`price` cannot be read").label(expected).help(EXAMPLE));
            }
            None
        }
    }
}

/// What a price looks like, for editors.
pub(crate) fn schema() -> Json {
    let mut properties = json!({
        "value": { "type": "string", "pattern": number_pattern(vec!["USD"]), "examples": ["534 USD"] },
    });
    if let (Json::Object(all), Json::Object(words)) = (&mut properties, bases()) {
        all.extend(words);
    }
    json!({
        "description": "what it costs; no model reads it",
        "type": "object",
        "properties": properties,
        "required": ["value"], "additionalProperties": false,
        "allOf": [{ "$ref": "#/$defs/own-basis" }],
        "not": { "$ref": "#/$defs/two-bases" },
    })
}
