//! `hopscope fit`: what would those numbers of a study be that it lets move, if they were fitted again?

use hopscope_studies::Wish;
use serde_json::json;

use crate::answer::{Answer, Refusal};
use crate::inputs::{Data, reading};
use crate::panics::doing;
use crate::progress::Steps;
use crate::tables::table;

const EXAMPLES: &str = "\
Examples:
  hopscope fit piix4e
  hopscope fit piix4e --data my-data --json";

/// Fit those parameters of a study again that it lets move, and show what they would be
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The study
    study: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

impl Args {
    /// Fits.
    pub fn run(self) -> Result<Answer, Refusal> {
        let study = super::studies::named(std::slice::from_ref(&self.study))?[0];
        doing(format!("fitting {}", study.id));
        let (library, sources) = reading(|_| self.data.library())?;
        let steps = Steps::new();
        let progress = |done: usize, of: usize, what: &str| steps.at(done, of, what);
        let wish = Wish { library: &library, trains: true, sensitivity: false, progress: &progress };
        let found = (study.fit)(&wish).map_err(|failure| Refusal::of_run(failure, sources))?;
        if self.json {
            return Ok(Answer::json(&json!({ "study": study.id, "parameters": found })));
        }
        let rows = found.into_iter().map(|p| vec![p.name.replace(' ', "\n"), p.value, p.range, p.from]);
        Ok(Answer::text(table(&["number", "value", "plausible", "from"], 2, rows)))
    }
}
