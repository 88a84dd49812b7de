//! What a command answers, and how the answer leaves the program.

use std::io::{self, ErrorKind, Write};

use anstyle::{Effects, Style};
use hopscope_files::harmless::{INSTEAD, harmless, is_harmless};
use hopscope_files::problem::{Problem, Problems, Sources};
use hopscope_machine::run::Failure;

/// Everything went well.
pub const SUCCESS: u8 = 0;
/// Everything was computed, and what was asked to hold does not.
pub const UNHELD: u8 = 1;
/// The input is wrong.
pub const BAD_INPUT: u8 = 2;
/// Hopscope itself is wrong.
pub const DEFECT: u8 = 70;
/// Somebody interrupted: the answer is a part of what was asked for. Shells say 128 and the number of the signal.
pub const INTERRUPTED: u8 = 130;

/// What is read first begins here. Two values that Unicode keeps for a program's own use, so no escape sequence stands
/// in an answer before it is printed.
pub const BOLD: char = '\u{fdd0}';
/// Ends it.
pub const PLAIN: char = '\u{fdd1}';

/// What a command has to say.
#[derive(Default)]
pub struct Answer {
    /// For the reader, or the program that reads.
    pub out: String,
    /// Besides: problems that did not keep the command from answering, as they go to the terminal.
    pub complaints: String,
    /// The exit code.
    pub code: u8,
}

impl Answer {
    /// A text, and success.
    pub fn text(out: String) -> Answer {
        Answer { out, ..Answer::default() }
    }

    /// The same, where what was asked for besides is refused: what was computed is not lost.
    pub fn but(self, refused: &Refusal) -> Answer {
        let (complaints, code) = refused.said();
        Answer { complaints: self.complaints + &complaints, code, ..self }
    }

    /// One JSON object, and success.
    pub fn json(value: &serde_json::Value) -> Answer {
        Answer::text(json_text(value))
    }
}

/// An object as a text that a terminal shows as it is.
pub fn json_text(value: &serde_json::Value) -> String {
    let mut out = String::new();
    // Such characters stand in strings only.
    for letter in format!("{value:#}\n").chars() {
        match letter {
            letter if is_harmless(letter) => out.push(letter),
            letter => letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out += &format!("\\u{unit:04x}")),
        }
    }
    out
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

    /// As it goes to the terminal, and the exit code.
    fn said(&self) -> (String, u8) {
        match self {
            Refusal::Input(problems, sources) => (problems.render(sources, true), BAD_INPUT),
            Refusal::Defect(what) => {
                let what = harmless(what);
                (format!("hopscope: this is a defect of hopscope, please report it: {what}\n"), DEFECT)
            }
        }
    }
}

/// Prints what a command says; gives the exit code.
pub fn print(said: Result<Answer, Refusal>) -> u8 {
    let (out, complaints, code) = match said {
        Ok(Answer { out, complaints, code }) => (out, complaints, code),
        Err(refused) => {
            let (complaints, code) = refused.said();
            (String::new(), complaints, code)
        }
    };
    // The streams take colours away where nobody sees them.
    let written = write(&mut anstream::stdout(), &styled(&out));
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

/// An answer for a terminal: what is bold becomes so, to the end of its line at most, and nothing of what is shown can
/// steer the terminal.
fn styled(out: &str) -> String {
    let bold = Style::new().effects(Effects::BOLD);
    let mut text = String::with_capacity(out.len());
    let mut is_bold = false;
    for letter in out.chars() {
        match letter {
            BOLD => {
                is_bold = true;
                text += &bold.render().to_string();
            }
            PLAIN | '\n' => {
                if is_bold {
                    text += &bold.render_reset().to_string();
                }
                is_bold = false;
                text.extend((letter == '\n').then_some('\n'));
            }
            letter => text.push(if is_harmless(letter) { letter } else { INSTEAD }),
        }
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::bold;

    #[test]
    fn what_steers_a_terminal_is_shown_and_not_obeyed() {
        let hostile = "a\u{1b}[2J\u{9b}31m\u{202e}b\r";
        assert_eq!(styled(hostile), "a\u{fffd}[2J\u{fffd}31m\u{fffd}b\u{fffd}");
        assert_eq!(styled(&format!("{}\nx", bold("first"))), "\u{1b}[1mfirst\u{1b}[0m\nx");
        // An input that begins what is bold does not reach beyond its line.
        assert_eq!(styled("\u{fdd0}x\ny"), "\u{1b}[1mx\u{1b}[0m\ny");
    }

    #[test]
    fn json_says_the_same_without_characters_that_steer_a_terminal() {
        let value = serde_json::json!({ "a\u{9b}": "\u{1b}\u{202e}é\n" });
        let text = json_text(&value);
        assert!(text.chars().all(is_harmless), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
