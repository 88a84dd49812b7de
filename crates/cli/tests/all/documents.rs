//! Every example in the documents runs and answers what the document shows.
//!
//! An example is a fenced block ```` ```console ````: lines that begin with `$ ` are commands, the others are what
//! they print. A line `...` stands for any number of lines. A document's blocks run one after the other in one
//! scratch folder with copies of `data/` and `docs/`. Blocks that begin with `cargo` or `git` are for the reader only.

#![cfg(unix)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

/// One command of a document, with what it is said to print.
struct Example {
    line: usize,
    command: String,
    expected: Vec<String>,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md, what is in `docs/`, and the sources of the studies.
fn documents() -> Vec<PathBuf> {
    let is_document = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let entries = |folder: &str| fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let studies = entries("studies").flat_map(|study| fs::read_dir(study).unwrap()).map(|entry| entry.unwrap().path());
    let mut documents: Vec<PathBuf> = entries("docs").chain(studies).filter(is_document).collect();
    documents.push(root().join("README.md"));
    documents.sort();
    documents
}

fn examples(text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (false, _) => {}
            (true, line) => match line.strip_prefix("$ ") {
                Some(command) => {
                    examples.push(Example { line: index + 1, command: command.to_string(), expected: Vec::new() });
                }
                None => {
                    let example = examples.last_mut().expect("a console block begins with a command");
                    example.expected.push(line.trim_end().to_string());
                }
            },
        }
    }
    examples.retain(|example| !["cargo ", "git "].iter().any(|start| example.command.starts_with(start)));
    examples
}

/// Whether `printed` is `expected`, where `...` stands for any number of lines.
fn matches(expected: &[String], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "..." => (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..])),
        Some((first, rest)) => printed.split_first().is_some_and(|(line, more)| line == first && matches(rest, more)),
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// What a command prints, in a shell that finds the built program.
fn run(command: &str, folder: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_hopscope"));
    let mut path = program.parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{command} 2>&1")]).current_dir(folder).env("PATH", path);
    shell.env("NO_COLOR", "1").env_remove("CLICOLOR_FORCE");
    String::from_utf8(shell.output().unwrap().stdout).unwrap()
}

/// What the examples of a document print that it does not show.
fn wrong_examples(document: &Path, examples: Vec<Example>) -> Vec<String> {
    let scratch = tempfile::TempDir::new().unwrap();
    for shipped in ["data", "docs"] {
        copy_folder(&root().join(shipped), &scratch.path().join(shipped));
    }
    let (name, mut wrong) = (document.strip_prefix(root()).unwrap().display(), Vec::new());
    for Example { line, command, expected } in examples {
        let printed = run(&command, scratch.path());
        let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
        if !matches(&expected, &lines) {
            wrong.push(format!("{name}:{line}: `{command}` prints\n{printed}"));
        }
    }
    wrong
}

#[test]
fn every_example_prints_what_its_document_shows() {
    let examples_of = |document: PathBuf| (examples(&fs::read_to_string(&document).unwrap()), document);
    let mut documents: Vec<_> = documents().into_iter().map(examples_of).collect();
    // The longest is begun first.
    documents.sort_by_key(|(examples, _)| examples.len());
    let run_in_all: usize = documents.iter().map(|(examples, _)| examples.len()).sum();
    let (documents, wrong) = (Mutex::new(documents), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((examples, document)) = { documents.lock().unwrap().pop() } {
                    let found = wrong_examples(&document, examples);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(run_in_all >= 5, "the documents have {run_in_all} examples");
}

#[test]
fn every_link_to_a_file_leads_somewhere() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for target in targets.filter(|target| !target.is_empty() && !target.contains("://")) {
            let path = document.parent().unwrap().join(target);
            assert!(path.exists(), "{}: {target} is not there", document.display());
        }
    }
}

#[test]
fn an_ellipsis_stands_for_any_number_of_lines() {
    let says = |expected: &str, printed: &str| {
        let expected: Vec<String> = expected.lines().map(String::from).collect();
        matches(&expected, &printed.lines().collect::<Vec<_>>())
    };
    assert!(says("a\n...\nd", "a\nb\nc\nd") && says("a\n...\nb", "a\nb") && says("...", "a"));
    assert!(!says("a\n...\nd", "a\nb\nc") && !says("a", "a\nb") && !says("a\nb", "a"));
}
