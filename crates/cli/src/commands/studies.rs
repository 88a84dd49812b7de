//! `hopscope studies`: which published studies are there?

use hopscope_files::problem::Problems;
use hopscope_studies::{Head, Study};
use serde_json::json;

use crate::answer::{Answer, Refusal};
use crate::inputs::{Data, reading};
use crate::tables::{bold, table};

const EXAMPLES: &str = "\
Examples:
  hopscope studies
  hopscope studies piix4e
  hopscope studies --data my-data
  hopscope studies --json";

/// List the published studies there are, or show what one is about
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A study; all of them if there is none
    name: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

impl Args {
    /// Lists or shows.
    pub fn run(self) -> Result<Answer, Refusal> {
        let (studies, _) = reading(|sources| {
            let library = self.data.library()?;
            let names: Vec<String> = self.name.iter().cloned().collect();
            Study::named(&library, &names)?
                .into_iter()
                .map(|study| {
                    let head = study.head(sources)?;
                    Ok((study, head))
                })
                .collect::<Result<Vec<(Study, Head)>, Problems>>()
        })?;
        match (&self.name, &studies[..]) {
            (Some(_), [(study, head)]) => Ok(self.one(study, head)),
            (_, all) => Ok(self.list(all)),
        }
    }

    fn one(&self, study: &Study, head: &Head) -> Answer {
        let Head { title, source, about } = head;
        if self.json {
            return Answer::json(&json!({ "name": study.id(), "title": title, "source": source, "about": about }));
        }
        Answer::text(format!("{}\n{source}\n\n{about}", bold(title)))
    }

    fn list(&self, all: &[(Study, Head)]) -> Answer {
        if self.json {
            let one =
                |(study, head): &(Study, Head)| json!({ "name": study.id(), "title": head.title, "study": study.id() });
            return Answer::json(&json!({ "studies": all.iter().map(one).collect::<Vec<_>>() }));
        }
        let row = |(study, head): &(Study, Head)| vec![study.id().to_string(), head.title.clone(), head.source.clone()];
        Answer::text(table(&["study", "title", "source"], 1, all.iter().map(row)))
    }
}
