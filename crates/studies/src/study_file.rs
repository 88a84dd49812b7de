//! `study.toml`: which machines answer a study, and what of them was fitted.

use std::collections::BTreeMap;

use hopscope_files::{quantity, schema};
use hopscope_parts::parameters::Value;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use toml::Spanned;

use crate::folder::declared;
use crate::pictures;

/// What `study.toml` says.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StudyFile {
    /// The name of its folder.
    #[serde(skip)]
    pub(crate) id: String,
    /// What `forecast.csv` says, where there is one.
    #[serde(skip)]
    pub(crate) forecasts: Option<String>,
    /// Its name in reports.
    pub(crate) title: String,
    /// Who published it, and when.
    pub(crate) source: String,
    /// How accurate the publication says that its table is.
    pub(crate) accuracy: Option<Accuracy>,
    /// Since when the published figures are in view.
    #[serde(default)]
    pub(crate) published: Vec<Published>,
    /// When the forecasts in `forecast.csv` were committed.
    pub(crate) forecast: Option<Forecast>,
    /// Parts that were called otherwise when `forecast.csv` was written: what they are called now, and were then. A
    /// name is no number: a forecast is of the same machine by another name.
    #[serde(default)]
    pub(crate) renamed: BTreeMap<String, String>,
    /// Cells that only repeat others.
    #[serde(default)]
    pub(crate) repeat: Vec<Repeat>,
    /// The machines, by what the study calls them.
    pub(crate) systems: BTreeMap<String, String>,
    /// Numbers of the workload.
    #[serde(default)]
    pub(crate) numbers: BTreeMap<String, Number>,
    /// Numbers that parts of the machines have: jobs and formulas may use them by these names.
    #[serde(default)]
    pub(crate) given: BTreeMap<String, declared::Given>,
    /// Words of jobs, by a name that `@NAME` in a job stands for.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    pub(crate) jobs: BTreeMap<String, Vec<Spanned<String>>>,
    /// What a fit may move.
    #[serde(default)]
    pub(crate) fit: Vec<Fit>,
    /// Mechanisms that are switched off, one at a time, to see what they are worth.
    #[serde(default)]
    pub(crate) ablation: Vec<Ablation>,
    /// Its tables, each answered by runs that its rows name. The first is the one that the summary is about.
    #[serde(default)]
    pub(crate) table: Vec<declared::Table>,
    /// Runs that stand in no table: claims and other readings call them by their `id`.
    #[serde(default)]
    pub(crate) run: Vec<declared::Table>,
    /// Simple rules, to stand beside the model.
    #[serde(default)]
    pub(crate) null: Vec<declared::NullModel>,
    /// What answers the rows of `claims.csv`.
    #[serde(default)]
    pub(crate) claim: Vec<declared::Answer>,
    /// Tables read otherwise, and what else runs say.
    #[serde(default)]
    pub(crate) reading: Vec<declared::Reading>,
    /// What most of the time of each cell goes through.
    #[serde(default)]
    pub(crate) path: Vec<declared::Path>,
    /// What its page draws.
    #[serde(default)]
    pub(crate) chart: Vec<declared::Chart>,
    /// Cycles of a bus that its page draws.
    #[serde(default)]
    pub(crate) write_cycle: Vec<declared::WriteCycle>,
}

/// How accurate the publication says that its table is.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accuracy {
    /// A share, either way.
    #[schemars(schema_with = "any_quantity")]
    pub(crate) value: String,
    /// Where it says so.
    pub(crate) source: String,
}

impl Accuracy {
    /// The share, for charts; the `Err` says why it is none.
    pub(crate) fn read(&self) -> Result<pictures::Accuracy, String> {
        match quantity::parse(&self.value) {
            Ok(Value::Share(ppm)) => Ok(pictures::Accuracy { share: ppm as f64 / 1e6, from: self.source.clone() }),
            _ => Err(format!("an accuracy is a share, not {}", self.value)),
        }
    }
}

/// Since when the published figures of some tables are in view: in what the study was made from, or in this
/// repository, whichever came first. Tables of which no entry speaks have no published figures yet.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    /// The tables, `claims` among them; all of them where there is no list.
    #[serde(default)]
    pub(crate) tables: Vec<String>,
    /// When, as `2026-11-21 08:06 UTC`.
    #[schemars(regex(pattern = r"^\d{4}-\d\d-\d\d \d\d:\d\d UTC$"))]
    pub(crate) since: String,
    /// The commit that brought them here.
    #[allow(dead_code, reason = "for readers of the file, and a test that looks it up in the history")]
    #[schemars(regex(pattern = r"^[0-9a-f]{7,40}$"))]
    pub(crate) commit: String,
}

/// When a study's forecasts were committed. Written when the published figures come, by the commit that brings them.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forecast {
    /// When, as `2026-11-21 08:06 UTC`.
    #[schemars(regex(pattern = r"^\d{4}-\d\d-\d\d \d\d:\d\d UTC$"))]
    pub(crate) committed: String,
    /// The commit. `forecast.csv` is unchanged since.
    #[allow(dead_code, reason = "for readers of the file, and a test that looks it up in the history")]
    #[schemars(regex(pattern = r"^[0-9a-f]{7,40}$"))]
    pub(crate) commit: String,
}

/// Cells that only repeat others: they count once.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repeat {
    /// The table.
    pub(crate) table: String,
    /// The column that tells them apart.
    pub(crate) column: String,
    /// What the repeating cells have there.
    pub(crate) value: String,
    /// What the repeated cells have there.
    pub(crate) of: String,
    /// Why they are no figures of their own.
    #[allow(dead_code, reason = "for readers of the file")]
    pub(crate) because: String,
}

/// A number of the study itself: fitted or assumed, or one that the publication states.
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
    /// Where it is stated.
    pub(crate) source: Option<String>,
    /// What a search moves it by, at least: it is a multiple of this.
    #[serde(default)]
    #[schemars(schema_with = "any_quantity")]
    pub(crate) multiple_of: Option<String>,
    /// The plausible range: lowest and highest.
    #[serde(default)]
    #[schemars(schema_with = "range_of_quantities")]
    pub(crate) range: Vec<String>,
    /// The only values that it can have, instead of a range.
    #[serde(default)]
    #[schemars(schema_with = "list_of_quantities")]
    pub(crate) values: Vec<String>,
}

/// Fitted numbers, and the cells that they are fitted to.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fit {
    /// The cells in words. Entries with the same words that follow each other are fitted together: to the cells of the
    /// first.
    pub(crate) cells: String,
    /// The tables that they are in; any of them if nothing is said.
    #[serde(default)]
    pub(crate) tables: Vec<String>,
    /// Of those, the rows that have these values.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, declared::Words>")]
    pub(crate) rows: declared::Rows,
    /// What these rows are: `fitted` if nothing is said.
    pub(crate) basis: Option<String>,
    /// A claim instead of cells.
    pub(crate) claim: Option<String>,
    /// A part file, or `workload` for the study's own numbers.
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
    /// Part file, key and value; or `workload` and one of the study's own numbers.
    pub(crate) set: Vec<(String, String, String)>,
}

fn any_quantity(_: &mut SchemaGenerator) -> Schema {
    Schema::try_from(schema::any_quantity()).unwrap_or_default()
}

fn range_of_quantities(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": any_quantity(generator), "minItems": 2, "maxItems": 2 })
}

fn list_of_quantities(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": any_quantity(generator), "minItems": 2 })
}

impl StudyFile {
    /// What the text of `study.toml` says, with the name of its folder and the text of `forecast.csv`.
    pub(crate) fn of(id: &str, text: &str, forecasts: Option<&str>) -> Result<StudyFile, toml::de::Error> {
        let file: StudyFile = toml::from_str(text)?;
        Ok(StudyFile { id: id.to_string(), forecasts: forecasts.map(str::to_string), ..file })
    }
}
