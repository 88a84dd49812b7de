//! What `study.toml` says of tables, runs, null models, claims, other readings and pictures.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use toml::Spanned;

/// A published table: a CSV with a row for each figure, and the run that answers a row. Or, as `[[run]]`, a run that
/// stands in no table: then without CSV, key and title.
///
/// In `machine`, `job`, `devices`, `of`, `seeds` and `probe`, `{name}` stands for what the row has in the column
/// `name`, or for a number of the study; formulas may stand there, too.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) id: String,
    /// What it shows; `{formula}` stands for what that gives of the study's numbers, rounded.
    #[serde(default)]
    pub(crate) title: String,
    /// Unit of its figures.
    #[serde(default)]
    pub(crate) unit: String,
    /// It stands among other readings, not among the tables.
    #[serde(default)]
    pub(crate) beside: bool,
    /// The CSV in the study's folder: `ID.csv` if nothing is said. A column `basis` may say of a figure that it is
    /// `fitted`, `input` or `seen`; without it, all are seen.
    pub(crate) file: Option<String>,
    /// Of the CSV, the rows that have these values.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Words>")]
    pub(crate) rows: Rows,
    /// The column with the published figure, which is empty where none is known yet; `published` if nothing is said.
    #[schemars(with = "Option<String>")]
    pub(crate) published: Option<Spanned<String>>,
    /// Columns that tell the figures apart.
    #[serde(default)]
    pub(crate) key: Vec<String>,
    /// Which of the study's machines answers a row; the only one if nothing is said.
    #[schemars(with = "Option<String>")]
    pub(crate) machine: Option<Spanned<String>>,
    /// The job that it does, as on a command line. `@NAME` stands for the words that `[jobs]` has of that name.
    #[schemars(with = "Vec<String>")]
    pub(crate) job: Vec<Spanned<String>>,
    /// Devices with a job each, of the machine's; `disk*` are all whose names begin so.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(crate) devices: Vec<Spanned<String>>,
    /// With one device, with two, and so on, until one more brings less than this share more: the answer is how many
    /// there are then.
    #[schemars(with = "Option<String>")]
    pub(crate) ladder: Option<Spanned<String>>,
    /// The job whose figures count, by its name; all of them if nothing is said.
    #[schemars(with = "Option<String>")]
    pub(crate) of: Option<Spanned<String>>,
    /// A column that may have several words with spaces between: a run for each, and their mean.
    #[schemars(with = "Option<String>")]
    pub(crate) each: Option<Spanned<String>>,
    /// So many runs with different seeds, each to its end, or the column that says how many. If nothing is said, each
    /// ends when its rate is known well enough, and there are as many as it takes to know the mean, eight at most.
    #[serde(default)]
    #[schemars(schema_with = "number_of_runs")]
    pub(crate) seeds: Option<Seeds>,
    /// How well the mean is to be known then: half a percent if nothing is said.
    #[schemars(with = "Option<String>")]
    pub(crate) within: Option<Spanned<String>>,
    /// What is read off a run of `span`; a formula calls it `probe`. `hopscope run --help` lists what there is.
    #[schemars(with = "Option<String>")]
    pub(crate) probe: Option<Spanned<String>>,
    /// How long a run is that something is read off.
    #[schemars(with = "Option<String>")]
    pub(crate) span: Option<Spanned<String>>,
    /// The figure of a run that stands beside the published one: a formula over the run's figures (their means, where
    /// there are several runs), the columns of the row and the study's numbers.
    #[schemars(with = "Option<String>")]
    pub(crate) value: Option<Spanned<String>>,
    /// The same where rows are answered by different formulas: the first whose `rows` a row is of.
    #[serde(default)]
    pub(crate) values: Vec<Value>,
    /// Rows that no run answers, but other rows.
    #[serde(default)]
    pub(crate) derived: Vec<Derived>,
}

/// A formula for some rows.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Value {
    /// Rows that have these values.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Words>")]
    pub(crate) rows: Rows,
    /// The formula.
    #[schemars(with = "String")]
    pub(crate) value: Spanned<String>,
}

/// Rows that are answered by others of their table.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Derived {
    /// Rows that have these values.
    #[schemars(with = "BTreeMap<String, Words>")]
    pub(crate) rows: Rows,
    /// Simulated figures that the formula uses: those of the cell whose key has these values and is else the same.
    #[schemars(with = "BTreeMap<String, BTreeMap<String, Words>>")]
    pub(crate) cells: Cells,
    /// The formula over them.
    #[schemars(with = "String")]
    pub(crate) value: Spanned<String>,
}

/// A value of a column, or several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a value in quotes, as in the CSV, or several in brackets")]
pub(crate) enum Words {
    /// This one.
    One(String),
    /// Any of these. Of a cell: the mean of those cells.
    Several(Vec<String>),
}

impl Words {
    /// Whether a value is among them.
    pub(crate) fn has(&self, value: &str) -> bool {
        self.all().iter().any(|word| word == value)
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[String] {
        match self {
            Words::One(word) => std::slice::from_ref(word),
            Words::Several(words) => words,
        }
    }
}

/// Rows by the values of their columns.
pub(crate) type Rows = BTreeMap<Spanned<String>, Words>;

/// Cells that a formula uses: by its name for each, the columns that tell it apart with their values.
pub(crate) type Cells = BTreeMap<Spanned<String>, BTreeMap<String, Words>>;

/// How many runs a row has.
#[derive(Clone, Deserialize)]
#[serde(try_from = "Said")]
pub(crate) enum Seeds {
    /// So many.
    Number(u64),
    /// As many as the row says, in a template.
    Template(String),
}

fn number_of_runs(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [
        { "type": "integer", "minimum": 1, "maximum": MOST_SEEDS },
        { "type": "string", "pattern": "[{].+[}]" },
    ] })
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a row has one run to eight, or the column in braces that says how many")]
enum Said {
    Number(u64),
    Text(String),
}

impl TryFrom<Said> for Seeds {
    type Error = &'static str;

    fn try_from(said: Said) -> Result<Seeds, &'static str> {
        match said {
            Said::Number(seeds) if (1..=MOST_SEEDS).contains(&seeds) => Ok(Seeds::Number(seeds)),
            Said::Number(_) => Err("a row has one run to eight"),
            Said::Text(text) => Ok(Seeds::Template(text)),
        }
    }
}

/// Runs of a row, at most.
pub(crate) const MOST_SEEDS: u64 = 8;

/// A number that a part of the study's machines has.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    /// The part file.
    #[schemars(with = "String")]
    pub(crate) part: Spanned<String>,
    /// Its number, or `price`: dollars.
    pub(crate) key: String,
}

/// A simple rule that says published figures from others: what a model has to be better than.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NullModel {
    /// Its name.
    pub(crate) id: String,
    /// The rule in words; `{formula}` stands for what that gives of the first row, rounded.
    pub(crate) rule: String,
    /// The table that it speaks of.
    #[schemars(with = "String")]
    pub(crate) table: Spanned<String>,
    /// Of that, the rows that have these values; fitted ones are left out.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Words>")]
    pub(crate) rows: Rows,
    /// Published figures that the formula uses: those of the cell whose key has these values and is else the same.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, BTreeMap<String, Words>>")]
    pub(crate) cells: Cells,
    /// What it says: a formula over those cells, the columns of the row and the study's numbers.
    #[schemars(with = "Option<String>")]
    pub(crate) value: Option<Spanned<String>>,
    /// The same where rows have different formulas: the first whose `rows` a row is of.
    #[serde(default)]
    pub(crate) values: Vec<Value>,
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
    #[schemars(with = "BTreeMap<String, BTreeMap<String, Words>>")]
    pub(crate) cells: Cells,
    /// The answer: a formula over those cells, runs by their names and the study's numbers.
    #[schemars(with = "String")]
    pub(crate) value: Spanned<String>,
}

/// Cells of a table read otherwise; or, without a table, something that runs say.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reading {
    /// Its name.
    pub(crate) id: String,
    /// What is different; `{formula}` stands for what that gives of runs and the study's numbers, rounded, and
    /// `{formula:.1}` for the same with a decimal.
    #[schemars(with = "String")]
    pub(crate) what: Spanned<String>,
    /// The table.
    #[schemars(with = "Option<String>")]
    pub(crate) table: Option<Spanned<String>>,
    /// Of that, the rows that have these values.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Words>")]
    pub(crate) rows: Rows,
    /// With these numbers, simulated again: part file, key and value.
    #[serde(default)]
    pub(crate) set: Vec<(String, String, String)>,
    /// What stands beside the published figure: a formula over `simulated` and the study's numbers.
    #[schemars(with = "Option<String>")]
    pub(crate) value: Option<Spanned<String>>,
}

/// Which hop most of the time of each cell goes through, from the end of its ramp on: a reading for each machine of a
/// table.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Path {
    /// The readings are called so, with a number.
    pub(crate) id: String,
    /// What they say; the machine and its rows follow.
    pub(crate) what: String,
    /// The table.
    #[schemars(with = "String")]
    pub(crate) table: Spanned<String>,
    /// The column that a row is called by.
    #[schemars(with = "String")]
    pub(crate) called: Spanned<String>,
    /// Parts whose names begin so are one hop, and what that is called.
    pub(crate) together: (String, String),
    /// A part whose share is said besides, and what it is called.
    pub(crate) share: (String, String),
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
    /// What readers call its values; those that are not here are called as the column has them.
    #[serde(default)]
    pub(crate) called: BTreeMap<String, String>,
    /// The drawings: one if nothing is said.
    #[serde(default)]
    pub(crate) panel: Vec<Panel>,
    /// What is published is a limit: what is missing below it is no error.
    #[serde(default)]
    pub(crate) limit: bool,
}

/// One drawing of a chart.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Panel {
    /// What it shows.
    pub(crate) title: String,
    /// Keys and values that all its cells have.
    #[schemars(with = "BTreeMap<String, String>")]
    pub(crate) rows: BTreeMap<Spanned<String>, String>,
}

/// A drawing of a write by DMA over a bus and a cable: one cycle of it, and some around.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteCycle {
    /// Its name.
    pub(crate) id: String,
    /// What it shows.
    pub(crate) title: String,
    /// What a reader has to know besides.
    pub(crate) about: String,
    /// Which of the study's machines.
    #[schemars(with = "String")]
    pub(crate) machine: Spanned<String>,
    /// The job that it does, as that of a table.
    #[schemars(with = "Vec<String>")]
    pub(crate) job: Vec<Spanned<String>>,
    /// How long the run is that it is drawn from.
    #[schemars(with = "String")]
    pub(crate) span: Spanned<String>,
    /// Cycles shown on either side.
    pub(crate) around: u64,
    /// The lane of the bus, its name for readers, and what it is.
    pub(crate) bus: (String, String, String),
    /// The same of the cable.
    pub(crate) cable: (String, String, String),
}
