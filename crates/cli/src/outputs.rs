//! Where an answer goes besides the terminal: a page, figures, tables.

use std::fs;
use std::path::{Path, PathBuf};

use hopscope_files::problem::Problem;
use hopscope_pages::Page;

use crate::answer::{Answer, BAD_INPUT, Refusal};
use crate::written::{self, Inputs};

/// Files that a command writes besides its answer. What is there already is replaced.
#[derive(clap::Args)]
pub struct Outputs {
    /// One page with figures and tables: one file, for any browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The figures alone, as SVG files in this folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// The tables, as CSV files in this folder
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
}

impl Outputs {
    /// Whether there is anything to write.
    pub fn wanted(&self) -> bool {
        self.html.is_some() || self.svg.is_some() || self.csv.is_some()
    }

    /// Refuses, before anything is computed, what will not be written over one of the inputs.
    pub fn spare(&self, inputs: &Inputs) -> Result<(), Refusal> {
        match self.html.as_deref().map(|path| inputs.refuses(path)) {
            Some(Err(why)) => Err(Problem::nowhere(why).into()),
            Some(Ok(())) | None => Ok(()),
        }
    }

    /// Writes what was asked for. The answer stands whatever becomes of the files; where one cannot be written, it
    /// says so and the exit code is that of wrong input.
    pub fn write(&self, answer: Answer, inputs: &Inputs, page: impl FnOnce() -> Page) -> Answer {
        if !self.wanted() {
            return answer;
        }
        let page = page();
        let mut complaints = Vec::new();
        if let Some(path) = &self.html {
            complaints.extend(written::file(path, &page.html(), inputs).err());
        }
        if let Some(folder) = &self.svg {
            complaints.extend(files(folder, page.svgs(), "svg", inputs).err());
        }
        if let Some(folder) = &self.csv {
            complaints.extend(files(folder, page.csvs(), "csv", inputs).err());
        }
        let code = if complaints.is_empty() { answer.code } else { BAD_INPUT };
        let complaints: String = complaints.iter().map(|complaint| format!("error: {complaint}\n")).collect();
        Answer { complaints: answer.complaints + &complaints, code, ..answer }
    }
}

/// Writes files with one ending into a folder, which need not be there yet.
fn files(folder: &Path, texts: Vec<(String, String)>, ending: &str, inputs: &Inputs) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make the folder `{}`: {error}", folder.display()))?;
    texts.iter().try_for_each(|(name, text)| written::file(&folder.join(format!("{name}.{ending}")), text, inputs))
}
