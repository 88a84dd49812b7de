//! `hopscope import`: can I use what another program knows of my drive?

use std::path::PathBuf;

use hopscope_files::harmless::harmless;
use hopscope_files::import::disksim;
use hopscope_files::part_file;
use hopscope_files::problem::{Problem, Sources};

use crate::answer::{Answer, Refusal};
use crate::inputs::reading;
use crate::written::{self, Inputs};

const EXAMPLES: &str = "\
Examples:
  hopscope import disksim barracuda.diskspecs -o my-disk.toml
  hopscope import disksim atlas10k.diskspecs atlas10k.model atlas10k.seek
  hopscope import disksim hp_c2490a.parv";

/// Turn data of other programs into part files
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    from: From,
}

/// Whose data.
#[derive(clap::Subcommand)]
enum From {
    /// A drive of DiskSim's: its .diskspecs or .parv, .model and .seek files
    Disksim(Disksim),
}

/// A drive of DiskSim's.
#[derive(clap::Args)]
struct Disksim {
    /// Its files; those that they refer to are found beside them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the part file there instead of showing it
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Args {
    /// Imports.
    pub fn run(self) -> Result<Answer, Refusal> {
        match self.from {
            From::Disksim(files) => files.run(),
        }
    }
}

impl Disksim {
    fn run(self) -> Result<Answer, Refusal> {
        let (import, _) = reading(|sources| Ok(disksim::import(sources, &self.files)?))?;
        let mut written = Sources::default();
        let file = written.add("the part file", import.part.clone());
        if let Err(problems) = part_file::read(&written, file) {
            return Err(Refusal::Defect(format!("an imported part cannot be read: {problems}")));
        }
        let complaints: String = import.notes.iter().map(|note| format!("note: {}\n", harmless(note))).collect();
        let out = match &self.output {
            None => import.part,
            Some(path) => {
                written::file(path, &import.part, &Inputs::of(&self.files)).map_err(Problem::nowhere)?;
                format!("{} is written\n", path.display())
            }
        };
        Ok(Answer { complaints, ..Answer::text(out) })
    }
}
