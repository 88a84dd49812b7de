//! What a command answers, and how the answer leaves the program.

use std::io::{self, ErrorKind, Write};

use hopscope_machine::problem::{Problem, Problems, Sources};
use hopscope_machine::run::Failure;

/// Everything went well.
pub const SUCCESS: u8 = 0;
/// The input is wrong.
pub const BAD_INPUT: u8 = 2;
/// Hopscope itself is wrong.
pub const DEFECT: u8 = 70;
/// Somebody interrupted: the answer is a part of what was asked for. Shells say 128 and the number of the signal.
pub const INTERRUPTED: u8 = 130;

/// What a command has to say.
#[derive(Default)]
pub struct Answer {
    /// For the reader, or the program that reads.
    pub out: String,
    /// Besides: problems that did not keep the command from answering.
    pub complaints: String,
    /// The exit code.
    pub code: u8,
}

impl Answer {
    /// A text, and success.
    pub fn text(out: String) -> Answer {
        Answer { out, ..Answer::default() }
    }

    /// One JSON object, and success.
    pub fn json(value: &serde_json::Value) -> Answer {
        Answer::text(format!("{value:#}\n"))
    }
}

/// Why a command has no answer.
pub enum Refusal {
    /// What it was given is wrong, and the texts that show where.
    Input(Problems, Sources),
    /// Hopscope itself is wrong: what was going on.
    Defect(String),
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Refusal {
        Refusal::Input(problem.into(), Sources::default())
    }
}

impl From<Problems> for Refusal {
    fn from(problems: Problems) -> Refusal {
        Refusal::Input(problems, Sources::default())
    }
}

impl Refusal {
    /// A run's failure, with the texts that it may point into.
    pub fn of_run(failure: Failure, sources: Sources) -> Refusal {
        match failure {
            Failure::Input(problems) => Refusal::Input(problems, sources),
            Failure::Defect(what) => Refusal::Defect(what),
        }
    }
}

/// Prints what a command says; gives the exit code.
pub fn print(said: Result<Answer, Refusal>) -> u8 {
    let (out, complaints, code) = match said {
        Ok(Answer { out, complaints, code }) => (out, complaints, code),
        Err(Refusal::Input(problems, sources)) => (String::new(), problems.render(&sources, true), BAD_INPUT),
        Err(Refusal::Defect(what)) => {
            (String::new(), format!("hopscope: this is a defect of hopscope, please report it: {what}\n"), DEFECT)
        }
    };
    // The streams take colours away where nobody sees them.
    let written = write(&mut anstream::stdout(), &out);
    let _ = write(&mut anstream::stderr(), &complaints);
    match written {
        Ok(()) => code,
        // Whoever reads, as in `hopscope parts | head -1`, has read enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: cannot write the answer: {error}");
            code.max(BAD_INPUT)
        }
    }
}

fn write(stream: &mut impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

/// Prints help, the version, or what is wrong with the command line; gives the exit code.
pub fn usage(error: &clap::Error) -> u8 {
    // Whoever reads has perhaps read enough.
    let _ = error.print();
    if error.use_stderr() { BAD_INPUT } else { SUCCESS }
}
