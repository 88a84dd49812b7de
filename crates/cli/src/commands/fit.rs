//! `hopscope fit`: what would those numbers of a study be that it lets move, if they were fitted again?

use std::sync::atomic::Ordering;

use hopscope_studies::fitting::Found;
use hopscope_studies::report::Parameter;
use hopscope_studies::{Study, Wish};
use serde_json::json;

use crate::answer::{Answer, INTERRUPTED, Refusal, SUCCESS};
use crate::inputs::{Data, reading, reading_more};
use crate::interrupts;
use crate::panics::doing;
use crate::progress::Steps;
use crate::tables::{bold, table};

const EXAMPLES: &str = "\
Examples:
  hopscope fit piix4e
  hopscope fit piix4e --data my-data --json";

/// Fit a study's numbers again and show them; Ctrl-C shows what is found so far
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
        doing(format!("fitting {}", self.study));
        let ((library, study), sources) = reading(|_| {
            let library = self.data.library()?;
            let study = Study::named(&library, std::slice::from_ref(&self.study))?.remove(0);
            Ok((library, study))
        })?;
        let (opened, sources) = reading_more(sources, |sources| study.open(&library, sources))?;
        let steps = Steps::new();
        let progress = |done: usize, of: usize, what: &str| steps.at(done, of, what);
        let noticed = interrupts::noticed();
        let stop = || noticed.load(Ordering::Relaxed);
        let wish = Wish { library: &library, trains: true, sensitivity: false, stop: &stop, progress: &progress };
        let found = opened.fit(&wish).map_err(|failure| Refusal::of_run(failure, sources))?;
        let code = if stop() { INTERRUPTED } else { SUCCESS };
        let answer = if self.json {
            Answer::json(&json!({ "study": study.id(), "searches": found }))
        } else {
            Answer::text(found.iter().map(one).collect::<Vec<_>>().join("\n"))
        };
        Ok(Answer { code, ..answer })
    }
}

/// What one search found.
fn one(found: &Found) -> String {
    let heading = format!(
        "By {}: mean error {:.3} %, {:.3} before; {} trials, {}",
        found.cells,
        100.0 * found.mean_abs_error,
        100.0 * found.mean_abs_error_before,
        found.trials,
        found.ended.words()
    );
    let row = |p: &Parameter| vec![p.name.replacen(' ', "\n", 1), p.value.clone(), p.range.clone(), p.from.clone()];
    bold(&heading) + "\n" + &table(&["number", "value", "plausible", "from"], 2, found.parameters.iter().map(row))
}
