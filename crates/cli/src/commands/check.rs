//! `hopscope check`: is my file right?

use std::path::Path;

use hopscope_files::file_kind::FileKind;
use hopscope_files::library::Library;
use hopscope_files::problem::{MOST_SHOWN, Problem, Problems, Sources};
use hopscope_files::text_file;
use hopscope_questions::check;
use hopscope_studies::{STUDY_FILE, Study};
use serde_json::{Value, json};

use crate::answer::{Answer, BAD_INPUT, Refusal, SUCCESS, json_text};
use crate::inputs::Data;
use crate::panics::doing;

const EXAMPLES: &str = "\
Examples:
  hopscope check my-disk.toml
  hopscope check my-machine.toml my-jobs.fio
  hopscope check --data my-data my-data/systems/*.toml --json
  hopscope check --data my-data my-data/studies/*/study.toml";

/// Check part, system, job, upgrade and study files
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files: parts, systems, upgrades (.toml), jobs (.fio), and studies (STUDY/study.toml with what lies beside it)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

impl Args {
    /// Checks every file.
    pub fn run(self) -> Result<Answer, Refusal> {
        let library = self.data.library()?;
        let mut answer = Answer::default();
        let mut reports = Vec::new();
        for name in &self.files {
            doing(format!("checking {name}"));
            let mut sources = Sources::default();
            let found = check(&library, &mut sources, name);
            if self.json {
                reports.push(report(name, &found, &sources));
            }
            match found {
                Ok(_) if self.json => {}
                Ok(_) => answer.out += &format!("{name}: ok\n"),
                Err(problems) => {
                    answer.code = answer.code.max(BAD_INPUT);
                    if !self.json {
                        answer.complaints += &problems.render(&sources, true);
                    }
                }
            }
        }
        if self.json {
            answer.out = json_text(&json!({ "ok": answer.code == SUCCESS, "files": reports }));
        }
        Ok(answer)
    }
}

/// The kind of a file that is right.
fn check(library: &Library, sources: &mut Sources, name: &str) -> Result<&'static str, Problems> {
    let path = Path::new(name);
    if path.file_name().is_some_and(|file| file == STUDY_FILE) {
        let study = Study::at(path.parent().unwrap_or(Path::new("")))?;
        return study.open(library, sources).map(|_| "study");
    }
    let text = text_file::read(path)?;
    let file = sources.add(name, text);
    check::check(library, sources, file).map(FileKind::word)
}

fn report(name: &str, found: &Result<&'static str, Problems>, sources: &Sources) -> Value {
    let (kind, problems) = match found {
        Ok(kind) => (Some(*kind), Vec::new()),
        Err(found) => (None, found.0.iter().take(MOST_SHOWN).map(|problem| problem_json(problem, sources)).collect()),
    };
    let count = found.as_ref().err().map_or(0, |found| found.0.len());
    json!({ "file": name, "kind": kind, "ok": found.is_ok(), "problems_count": count, "problems": problems })
}

fn problem_json(problem: &Problem, sources: &Sources) -> Value {
    let (file, line, column) = match &problem.place {
        Some(place) => {
            let (file, line, column) = sources.place_of(place);
            (Some(file), Some(line), Some(column))
        }
        None => (None, None, None),
    };
    let (title, label, help) = (&problem.title, &problem.label, &problem.help);
    json!({ "title": title, "label": label, "help": help, "file": file, "line": line, "column": column })
}
