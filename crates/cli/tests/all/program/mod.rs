//! Runs the built program.

use std::process::{Command, Output};

/// What the program answered.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Runs `hopscope` with these words.
pub fn hopscope<S: AsRef<str>>(words: &[S]) -> Ran {
    ran(command(words).output().unwrap())
}

/// The same, not yet run.
pub fn command<S: AsRef<str>>(words: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hopscope"));
    command.args(words.iter().map(AsRef::as_ref)).env_remove("CLICOLOR_FORCE").env_remove("NO_COLOR");
    command
}

/// Reads what it answered.
pub fn ran(output: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}
