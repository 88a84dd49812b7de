//! `hopscope new`: I have a data sheet; how do I make a part of it?

use std::path::PathBuf;

use hopscope_files::new_part::{self, Begun, Wanted};
use hopscope_files::part_file;
use hopscope_files::problem::Problem;
use hopscope_parts::catalog::{KINDS, Kind};
use serde_json::json;

use crate::answer::{Answer, Refusal};
use crate::inputs::{Data, reading};
use crate::listing::list;
use crate::written::{self, Inputs};

const EXAMPLES: &str = "\
Examples:
  hopscope new
  hopscope new drive \"Example X1\" capacity=\"2 TB\" flash.channels=\"8 channels\" --source \"Example X1 data sheet\"
  hopscope new disk \"My disk\" rotation=\"7200 rpm\" -o my-data/parts/disk/my-disk.toml
  hopscope new gpu \"Example G1\" --like accelerator/nvidia-h100-pcie

Every number is there, with what it means and what it may be: those that are not given are as the nearest shipped
part of the kind has them, and marked as assumed. A file in DIR/parts/ROLE is a part for whatever is run with
--data DIR.";

/// Begin the file of a new part, with every number of its kind
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The kind of part (drive, disk, nic, gpu, or any other); the list of them if there is none
    kind: Option<String>,
    /// Its name in reports
    title: Option<String>,
    /// What is known of it
    #[arg(value_name = "KEY=VALUE")]
    given: Vec<String>,
    /// Begin with this part and not with the nearest one
    #[arg(long, value_name = "ROLE/NAME")]
    like: Option<String>,
    /// What says so: a data sheet, a manual
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// Write the part file there instead of showing it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

impl Args {
    /// Lists the kinds, or begins a part.
    pub fn run(self) -> Result<Answer, Refusal> {
        let Some(kind) = &self.kind else { return self.list() };
        let title = self.title.as_deref().ok_or_else(|| {
            Problem::nowhere("what is the new part called?").help(format!("hopscope new {kind} \"Its name\""))
        })?;
        let (begun, _) = reading(|sources| {
            let Args { given, .. } = &self;
            let (like, source) = (self.like.as_deref(), self.source.as_deref());
            new_part::begin(&self.data.library()?, sources, &Wanted { kind, title, like, given, source })
        })?;
        let Begun { text, like, given, assumed } = begun;
        if let Some(path) = &self.output {
            if path.exists() {
                let problem = Problem::nowhere(format!("`{}` is there already", path.display()));
                return Err(problem.help("name another file").into());
            }
            written::file(path, &text, &Inputs::default()).map_err(Problem::nowhere)?;
        }
        let path = self.output.as_ref().map(|path| path.display().to_string());
        Ok(match (self.json, path) {
            (true, path) => Answer::json(&json!({
                "title": title, "like": like, "given": given, "assumed": assumed, "file": path, "text": text,
            })),
            (false, None) => Answer::text(text),
            (false, Some(path)) => Answer::text(format!(
                "{path} is written: what was not given is as {like} has it.\n\
                 `hopscope parts {path}` shows all of it, `hopscope check {path}` says whether it can be.\n"
            )),
        })
    }

    fn list(&self) -> Result<Answer, Refusal> {
        let (parts, _) = reading(|sources| part_file::all(&self.data.library()?, sources))?;
        let count = |model: &str| parts.iter().filter(|(_, part)| part.model == model).count();
        let row = |kind: &&Kind| vec![json!(kind.model), json!(kind.what), json!(count(kind.model).to_string())];
        Ok(list("kind", &["what", "shipped"], &KINDS.iter().map(row).collect::<Vec<_>>(), self.json))
    }
}
