//! `hopscope man`: the help as manual pages.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use hopscope_files::problem::Problem;

use crate::Cli;
use crate::answer::{Answer, Refusal};
use crate::written::{self, Inputs};

const EXAMPLES: &str = "\
Examples:
  hopscope man | man -l -
  hopscope man ~/.local/share/man/man1";

/// Print the manual page, or write one page a command into a folder
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The folder, which is made if it is not there
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Args {
    /// Prints the page, or writes all of them and lists their files.
    pub fn run(self) -> Result<Answer, Refusal> {
        let mut cli = Cli::command().disable_help_subcommand(true);
        cli.build();
        match &self.folder {
            None => Ok(Answer::text(page(&cli))),
            Some(folder) => Ok(Answer::text(write(&cli, folder)?)),
        }
    }
}

/// Writes a section of a page.
type Section = fn(&Man, &mut dyn io::Write) -> io::Result<()>;

fn write(cli: &Command, folder: &Path) -> Result<String, Problem> {
    let refused = |path: &Path, error: io::Error| {
        let problem = Problem::nowhere(format!("cannot write `{}`: {error}", path.display()));
        problem.help("name a folder that may be written to")
    };
    fs::create_dir_all(folder).map_err(|error| refused(folder, error))?;
    let mut written = String::new();
    for command in std::iter::once(cli).chain(cli.get_subcommands()) {
        let path = folder.join(Man::new(command.clone()).get_filename());
        written::file(&path, &page(command), &Inputs::default()).map_err(Problem::nowhere)?;
        written += &format!("{}\n", path.display());
    }
    Ok(written)
}

/// The page of one command; what stands after its help becomes sections of their own.
fn page(command: &Command) -> String {
    let man = Man::new(command.clone()).source(concat!("hopscope ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    let mut sections: Vec<Section> = vec![
        Man::render_title,
        Man::render_name_section,
        Man::render_synopsis_section,
        Man::render_description_section,
        Man::render_options_section,
    ];
    if command.has_subcommands() {
        sections.push(Man::render_subcommands_section);
    }
    for section in sections {
        // Nothing that is written to memory fails.
        let _ = section(&man, &mut page);
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    String::from_utf8_lossy(&page).into_owned() + &after.split("\n\n").map(section).collect::<String>()
}

/// `Title:` and what it says, at once or line by line.
fn section(paragraph: &str) -> String {
    let Some((title, text)) = paragraph.split_once(':') else { return String::new() };
    let mut roff = Roff::new();
    roff.control("SH", [title.to_uppercase().as_str()]);
    roff.control("nf", []);
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    roff.text([roman(lines.join("\n"))]);
    roff.control("fi", []);
    roff.to_roff()
}
