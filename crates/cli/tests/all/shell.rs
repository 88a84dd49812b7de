//! What a shell and `man` are told about the program.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::program::hopscope;
use crate::skipped::skipped;

fn text(words: &[&str]) -> String {
    let ran = hopscope(words);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    ran.out
}

/// The names of all commands, as the help lists them.
fn commands() -> Vec<String> {
    let help = text(&["--help"]);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(String::from).collect()
}

#[test]
fn a_completion_script_has_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = text(&["completions", shell]);
        for name in commands() {
            assert!(script.contains(&name), "{shell} does not complete `{name}`");
        }
    }
    let unknown = hopscope(&["completions", "bahs"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("bash"), "{unknown:?}");
}

#[cfg(unix)]
#[test]
fn bash_reads_its_script() {
    let Ok(mut bash) = Command::new("bash").arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn() else {
        return skipped("no bash; install it");
    };
    bash.stdin.take().unwrap().write_all(text(&["completions", "bash"]).as_bytes()).unwrap();
    let read = bash.wait_with_output().unwrap();
    assert!(read.status.success() && read.stderr.is_empty(), "{read:?}");
}

#[test]
fn every_command_has_a_page_with_name_synopsis_and_examples() {
    let scratch = tempfile::TempDir::new().unwrap();
    let folder = scratch.path().join("man1");
    let written = text(&["man", folder.to_str().unwrap()]);
    let mut pages = vec!["hopscope".to_string()];
    pages.extend(commands().iter().map(|name| format!("hopscope-{name}")));
    assert_eq!(written.lines().count(), pages.len(), "{written}");
    for page in &pages {
        let roff = fs::read_to_string(folder.join(format!("{page}.1"))).unwrap();
        for section in [".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH EXAMPLES"] {
            assert!(roff.lines().any(|line| line == section), "{page} has no {section}:\n{roff}");
        }
        let command = page.replacen('-', " ", 1);
        let (_, examples) = roff.split_once(".SH EXAMPLES").unwrap();
        assert!(examples.replace('\\', "").matches(&command).count() >= 2, "{page}:\n{examples}");
    }
    let main = text(&["man"]);
    assert_eq!(main, fs::read_to_string(folder.join("hopscope.1")).unwrap());
    assert!(main.contains(".SH \"EXIT CODES\""), "{main}");
    for name in commands() {
        assert!(main.replace('\\', "").contains(&format!("hopscope-{name}(1)")), "{main}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    let scratch = tempfile::TempDir::new().unwrap();
    let file = scratch.path().join("file");
    fs::write(&file, "").unwrap();
    let ran = hopscope(&["man", file.to_str().unwrap()]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    assert!(ran.err.contains("cannot write"), "{ran:?}");
}
