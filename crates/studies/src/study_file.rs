//! `study.toml`: which machines answer a study, and what of them was fitted.

use std::collections::BTreeMap;

use hopscope_machine::schema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::shelf;

/// What `study.toml` says.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct StudyFile {
    /// Its name in reports.
    pub(crate) title: String,
    /// How accurate the publication says that its table is.
    pub(crate) accuracy: Option<Accuracy>,
    /// The machines, by what the study calls them.
    pub(crate) systems: BTreeMap<String, String>,
    /// Numbers of the workload.
    #[serde(default)]
    pub(crate) numbers: BTreeMap<String, Number>,
    /// What a fit may move.
    pub(crate) fit: Vec<Fit>,
    /// Mechanisms that are switched off, one at a time, to see what they are worth.
    pub(crate) ablation: Vec<Ablation>,
}

/// How accurate the publication says that its table is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accuracy {
    /// A share, either way.
    #[schemars(schema_with = "any_quantity")]
    pub(crate) value: String,
    /// Where it says so.
    pub(crate) source: String,
}

/// A number of the study itself: fitted or assumed.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Number {
    /// A quantity with its unit.
    #[schemars(schema_with = "any_quantity")]
    pub(crate) value: String,
    /// To what.
    pub(crate) fitted: Option<String>,
    /// Why it is plausible.
    pub(crate) assumed: Option<String>,
    /// The plausible range: lowest and highest.
    #[serde(default)]
    #[schemars(schema_with = "range_of_quantities")]
    pub(crate) range: Vec<String>,
}

/// Numbers of a part that a fit may move.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fit {
    /// A part file.
    pub(crate) part: String,
    /// Its numbers, in the order in which they are moved.
    pub(crate) keys: Vec<String>,
}

/// A mechanism that can be switched off.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ablation {
    /// What is switched off.
    pub(crate) what: String,
    /// Part file, key and value.
    #[serde(default)]
    pub(crate) set: Vec<(String, String, String)>,
    /// Requests in flight.
    pub(crate) depth: Option<u64>,
}

fn any_quantity(_: &mut SchemaGenerator) -> Schema {
    Schema::try_from(schema::any_quantity()).unwrap_or_default()
}

fn range_of_quantities(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": any_quantity(generator), "minItems": 2, "maxItems": 2 })
}

/// What the file of a study says.
pub(crate) fn read(study: &str) -> StudyFile {
    toml::from_str(shelf::text(study, "study.toml"))
        .unwrap_or_else(|error| panic!("studies/{study}/study.toml: {error}"))
}
