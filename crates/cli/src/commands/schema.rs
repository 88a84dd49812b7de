//! `hopscope schema`: what may stand in a file, for editors.

use hopscope_files::problem::Problem;
use hopscope_files::schema::{SCHEMAS, Schema};
use hopscope_parts::nearest::did_you_mean;
use hopscope_studies::schema::STUDY;
use serde_json::json;

use crate::answer::{Answer, Refusal};
use crate::inputs::{Data, reading};
use crate::listing::list;

const EXAMPLES: &str = "\
Examples:
  hopscope schema
  hopscope schema system > system.schema.json
  hopscope schema part --data my-data > part.schema.json

Editors: Taplo and Even Better TOML take it from a first line #:schema system.schema.json";

/// Print the JSON Schema of a kind of file, by which an editor completes and checks it
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The kind of file; the list of them if there is none
    name: Option<String>,
    /// One JSON object, which a schema always is
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

impl Args {
    /// Lists or prints.
    pub fn run(self) -> Result<Answer, Refusal> {
        let Some(name) = &self.name else {
            let rows: Vec<_> = schemas().map(|schema| vec![json!(schema.name), json!(schema.files)]).collect();
            return Ok(list("schema", &["files"], &rows, self.json));
        };
        let schema = schemas().find(|schema| schema.name == name).ok_or_else(|| {
            let known: Vec<&str> = schemas().map(|schema| schema.name).collect();
            Problem::nowhere(format!("there is no schema `{name}`")).help(did_you_mean(name, &known))
        })?;
        let (made, _) = reading(|sources| (schema.make)(&self.data.library()?, sources))?;
        Ok(Answer::json(&made))
    }
}

/// Every schema. Another kind of file is one more.
fn schemas() -> impl Iterator<Item = &'static Schema> {
    SCHEMAS.iter().chain([&STUDY])
}
