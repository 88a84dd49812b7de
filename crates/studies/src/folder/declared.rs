//! What `study.toml` says of tables, null models, claims and charts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

/// A published table: a CSV with a row for each figure, and the run that answers a row.
///
/// In `machine` and `job`, `{name}` stands for what the row has in the column `name`, or for a number of the study.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) id: String,
    /// What it shows.
    pub(crate) title: String,
    /// Unit of its figures.
    pub(crate) unit: String,
    /// The CSV in the study's folder: `ID.csv` if nothing is said. A column `basis` may say of a figure that it is
    /// `fitted`, `input` or `seen`; without it, all are seen.
    pub(crate) file: Option<String>,
    /// The column with the published figure, which is empty where none is known yet.
    #[serde(default = "published")]
    pub(crate) published: String,
    /// Columns that tell the figures apart.
    pub(crate) key: Vec<String>,
    /// Which of the study's machines answers a row; the only one if nothing is said.
    #[schemars(with = "Option<String>")]
    pub(crate) machine: Option<Spanned<String>>,
    /// The job that it does, as on a command line.
    #[schemars(with = "Vec<String>")]
    pub(crate) job: Vec<Spanned<String>>,
    /// So many runs with different seeds, each to its end. If nothing is said, each ends when its rate is known well
    /// enough, and there are as many as it takes to know the mean to half a percent, eight at most.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = 8))]
    pub(crate) seeds: Option<Seeds>,
    /// The figure of a run that stands beside the published one: a formula over the run's figures, the columns of the
    /// row and the study's numbers.
    #[schemars(with = "String")]
    pub(crate) value: Spanned<String>,
}

/// How many runs a row has.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "u64")]
pub(crate) struct Seeds(pub(crate) u64);

impl TryFrom<u64> for Seeds {
    type Error = &'static str;

    fn try_from(seeds: u64) -> Result<Seeds, &'static str> {
        if (1..=8).contains(&seeds) { Ok(Seeds(seeds)) } else { Err("a row has one run to eight") }
    }
}

fn published() -> String {
    "published".into()
}

/// Cells that a formula uses: by its name for each, the columns that tell it apart with their values.
type Cells = BTreeMap<Spanned<String>, BTreeMap<String, String>>;

/// A simple rule that says published figures from others: what a model has to be better than.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NullModel {
    /// Its name.
    pub(crate) id: String,
    /// The rule in words.
    pub(crate) rule: String,
    /// The table that it speaks of.
    #[schemars(with = "String")]
    pub(crate) table: Spanned<String>,
    /// Of that, the rows that have these values; fitted ones are left out.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub(crate) rows: BTreeMap<Spanned<String>, String>,
    /// Published figures that the formula uses: those of the cell whose key has these values and is else the same.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, String>>")]
    pub(crate) cells: Cells,
    /// What it says: a formula over those cells, the columns of the row and the study's numbers.
    #[schemars(with = "String")]
    pub(crate) value: Spanned<String>,
}

/// What answers a claim of `claims.csv`.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    /// The claim.
    #[schemars(with = "String")]
    pub(crate) id: Spanned<String>,
    /// How it is answered, in words.
    pub(crate) how: String,
    /// Simulated figures that the formula uses: `table`, and the values of the key that tell the cell apart.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, String>>")]
    pub(crate) cells: Cells,
    /// The answer: a formula over those cells and the study's numbers.
    #[schemars(with = "String")]
    pub(crate) value: Spanned<String>,
}

/// Curves on the study's page: simulated, with what is published as points.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chart {
    /// Its name.
    pub(crate) id: String,
    /// What it shows.
    pub(crate) title: String,
    /// What a reader has to know besides.
    #[serde(default)]
    pub(crate) about: String,
    /// The table.
    #[schemars(with = "String")]
    pub(crate) table: Spanned<String>,
    /// The column along the horizontal axis: numbers above zero, which lie as their logarithms do.
    #[schemars(with = "String")]
    pub(crate) along: Spanned<String>,
    /// That column for readers, with its unit.
    pub(crate) along_title: String,
    /// Its unit alone.
    #[serde(default)]
    pub(crate) along_unit: String,
    /// What the other axis shows; the table says its unit.
    pub(crate) shows: String,
    /// The column that tells the curves of a drawing apart.
    #[schemars(with = "String")]
    pub(crate) curves: Spanned<String>,
    /// The column of which each value has a drawing of its own; one drawing if nothing is said.
    #[schemars(with = "Option<String>")]
    pub(crate) panels: Option<Spanned<String>>,
}
