//! `hopscope studies`: which published studies are there?

use hopscope_machine::nearest::did_you_mean;
use hopscope_machine::problem::Problem;
use hopscope_studies::{STUDIES, Study};
use serde_json::json;

use crate::answer::{Answer, Refusal};
use crate::tables::{bold, table};

const EXAMPLES: &str = "\
Examples:
  hopscope studies
  hopscope studies piix4e
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
}

impl Args {
    /// Lists or shows.
    pub fn run(self) -> Result<Answer, Refusal> {
        let Some(name) = &self.name else { return Ok(self.list()) };
        let study = named(std::slice::from_ref(name))?[0];
        let about = study.about();
        if self.json {
            let object = json!({ "name": study.id, "title": study.title(), "source": study.source(), "about": about });
            return Ok(Answer::json(&object));
        }
        Ok(Answer::text(format!("{}\n{}\n\n{about}", bold(&study.title()), study.source())))
    }

    fn list(&self) -> Answer {
        if self.json {
            let studies: Vec<_> =
                STUDIES.iter().map(|s| json!({ "name": s.id, "title": s.title(), "study": s.id })).collect();
            return Answer::json(&json!({ "studies": studies }));
        }
        let rows = STUDIES.iter().map(|s| vec![s.id.to_string(), s.title(), s.source()]);
        Answer::text(table(&["study", "title", "source"], 1, rows))
    }
}

/// The studies of these names; all of them where there is none.
pub fn named(names: &[String]) -> Result<Vec<&'static Study>, Refusal> {
    if names.is_empty() {
        return Ok(STUDIES.iter().collect());
    }
    let find = |name: &String| {
        STUDIES.iter().find(|study| study.id == name).ok_or_else(|| {
            let known: Vec<&str> = STUDIES.iter().map(|study| study.id).collect();
            let help = format!("{} (studies: {})", did_you_mean(name, &known), known.join(", "));
            Refusal::from(Problem::nowhere(format!("there is no study `{name}`")).help(help))
        })
    };
    names.iter().map(find).collect()
}
