//! A text of any size, line by line, in constant memory.

use std::io::{ErrorKind, Read};
use std::ops::Range;

use memchr::memchr;

use crate::problem::{Problem, Sources, place};

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 18;
/// No line of a trace is longer.
const LONGEST_LINE: usize = 4_096;

/// What is wrong with a line of a trace, and the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceProblem(Box<Said>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    file: String,
    /// Counted from 1; 0 where it is not about a line.
    line: usize,
    text: String,
    span: Range<usize>,
    title: String,
    label: String,
    help: String,
}

impl TraceProblem {
    /// As a problem that points into its line, which `sources` keeps from now on.
    pub fn with_its_line(self, sources: &mut Sources) -> Problem {
        let Said { file, line, text, span, title, label, help } = *self.0;
        let problem = match line {
            0 => Problem::nowhere(format!("{file}: {title}")),
            line => Problem::at(place(sources.add_from_line(file, text, line), span), title),
        };
        problem.label(label).help(help)
    }

    /// Where: the line, and the column of its first wrong byte, both counted from 1. A line of 0 is none.
    pub fn line_and_column(&self) -> (usize, usize) {
        (self.0.line, self.0.span.start + 1)
    }

    /// What is wrong, as one sentence.
    pub fn title(&self) -> &str {
        &self.0.title
    }
}

/// What is wrong within a line: bytes of it, what was expected there, and what to do.
#[derive(Debug)]
pub struct Wrong {
    pub(super) span: Range<usize>,
    pub(super) title: String,
    pub(super) label: String,
    pub(super) help: String,
}

impl Wrong {
    /// These bytes of the line.
    pub fn at(span: Range<usize>, title: impl Into<String>) -> Wrong {
        Wrong { span, title: title.into(), label: String::new(), help: String::new() }
    }

    /// What was expected there.
    pub fn label(self, label: impl Into<String>) -> Wrong {
        Wrong { label: label.into(), ..self }
    }

    /// What to do.
    pub fn help(self, help: impl Into<String>) -> Wrong {
        Wrong { help: help.into(), ..self }
    }
}

/// Lines of a text.
pub struct Lines {
    input: Box<dyn Read>,
    name: String,
    buffer: Vec<u8>,
    /// What of the buffer is filled, and the present line in it.
    filled: usize,
    start: usize,
    end: usize,
    /// Where the next line begins.
    next: usize,
    number: usize,
    /// Bytes before the buffer.
    passed: u64,
    at_end: bool,
}

impl Lines {
    /// Those of a text that errors call by `name`.
    pub fn new(input: Box<dyn Read>, name: String) -> Lines {
        let buffer = vec![0; CHUNK];
        Lines { input, name, buffer, filled: 0, start: 0, end: 0, next: 0, number: 0, passed: 0, at_end: false }
    }

    /// Bytes that have been read as lines.
    pub fn position(&self) -> u64 {
        self.passed + self.next as u64
    }

    /// The present line.
    pub fn line(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Goes on to the next line that says something; false at the end. Lines that are empty or begin with `#` do not.
    pub fn advance(&mut self) -> Result<bool, TraceProblem> {
        while self.next_line()? {
            let first = self.line().iter().find(|byte| !byte.is_ascii_whitespace());
            if first.is_some_and(|byte| *byte != b'#') {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn next_line(&mut self) -> Result<bool, TraceProblem> {
        let mut searched = self.next;
        loop {
            if let Some(found) = memchr(b'\n', &self.buffer[searched..self.filled]) {
                self.take(searched + found, searched + found + 1);
                break;
            }
            searched = self.filled;
            if self.filled - self.next > LONGEST_LINE {
                break self.take(self.next + LONGEST_LINE, self.filled);
            }
            if self.at_end {
                if self.next == self.filled {
                    return Ok(false);
                }
                break self.take(self.filled, self.filled);
            }
            searched -= self.fill()?;
        }
        if self.end - self.start >= LONGEST_LINE {
            let title = format!("this line is longer than {LONGEST_LINE} bytes");
            return Err(self.problem(Wrong::at(0..0, title).help("is this a trace in text?")));
        }
        Ok(true)
    }

    /// The line ends here, and the next one begins there.
    fn take(&mut self, end: usize, next: usize) {
        (self.start, self.end, self.next) = (self.next, end, next);
        if self.end > self.start && self.buffer[self.end - 1] == b'\r' {
            self.end -= 1;
        }
        self.number += 1;
    }

    /// Reads on; returns by how much what has been read before has moved.
    fn fill(&mut self) -> Result<usize, TraceProblem> {
        let moved = self.next;
        self.buffer.copy_within(self.next..self.filled, 0);
        (self.filled, self.next, self.start, self.end) = (self.filled - moved, 0, 0, 0);
        self.passed += moved as u64;
        loop {
            match self.input.read(&mut self.buffer[self.filled..]) {
                Ok(0) => self.at_end = true,
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.nowhere(format!("cannot be read: {error}"), "")),
            }
            self.pass_byte_order_mark();
            return Ok(moved);
        }
    }

    /// Some editors begin a text with one.
    fn pass_byte_order_mark(&mut self) {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        let at_beginning = self.passed == 0 && self.next == 0 && self.number == 0;
        if at_beginning && self.buffer[..self.filled].starts_with(MARK) {
            self.next = MARK.len();
        }
    }

    /// What has been read and not yet taken as lines, from the beginning of the present line on: a sample.
    pub fn sample(&mut self) -> Result<&[u8], TraceProblem> {
        while !self.at_end && self.filled < CHUNK {
            self.fill()?;
        }
        let last = self.buffer[..self.filled].iter().rposition(|byte| *byte == b'\n');
        Ok(&self.buffer[self.next..if self.at_end { self.filled } else { last.map_or(self.filled, |at| at + 1) }])
    }

    /// A problem of the present line.
    pub fn problem(&self, wrong: Wrong) -> TraceProblem {
        self.problem_at(self.number, &self.buffer[self.start..self.end], wrong)
    }

    /// A problem of a line that is given.
    pub fn problem_at(&self, line: usize, text: &[u8], wrong: Wrong) -> TraceProblem {
        let Wrong { span, title, label, help } = wrong;
        // A byte a character, so that columns stay where they are.
        let text = text.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { '?' }).collect();
        TraceProblem(Box::new(Said { file: self.name.clone(), line, text, span, title, label, help }))
    }

    /// A problem of the whole file.
    pub fn nowhere(&self, title: impl Into<String>, help: &str) -> TraceProblem {
        let wrong = Wrong::at(0..0, title).help(help);
        self.problem_at(0, b"", wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Drops(Vec<u8>, usize);

    impl Read for Drops {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0.drain(..count);
            Ok(count)
        }
    }

    fn lines(text: &str, at_a_time: usize) -> Vec<(usize, String)> {
        let mut lines = Lines::new(Box::new(Drops(text.into(), at_a_time)), "trace".into());
        let mut all = Vec::new();
        while lines.advance().unwrap() {
            all.push((lines.number, String::from_utf8_lossy(lines.line()).into_owned()));
        }
        assert_eq!(lines.position(), text.len() as u64);
        all
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        let text = "one\r\n\n# a comment\n  two 2\nlast";
        let expected = [(1, "one".to_string()), (4, "  two 2".to_string()), (5, "last".to_string())];
        for at_a_time in [1, 2, 7, 1_000] {
            assert_eq!(lines(text, at_a_time), expected, "{at_a_time}");
        }
        assert_eq!(lines("", 5), []);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        for at_a_time in [1, 2, 1_000] {
            assert_eq!(lines("\u{feff}one\ntwo", at_a_time), [(1, "one".to_string()), (2, "two".to_string())]);
        }
        let mut lines = Lines::new(Box::new(Drops("\u{feff}a b\n".as_bytes().to_vec(), 2)), "trace".into());
        assert_eq!(lines.sample().unwrap(), b"a b\n");
    }

    #[test]
    fn a_text_longer_than_the_buffer_is_read_whole() {
        let text: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
        let all = lines(&text, 60_000);
        assert_eq!((all.len(), all[99_999].1.as_str()), (100_000, "line 99999"));
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut lines = Lines::new(Box::new(std::io::repeat(b'x')), "trace".into());
        let problem = lines.advance().unwrap_err();
        assert!(problem.title().contains("longer than 4096 bytes") && problem.line_and_column() == (1, 1));
    }

    #[test]
    fn a_sample_leaves_the_lines_where_they_are() {
        let mut lines = Lines::new(Box::new(Drops(b"a b\nc d\n".to_vec(), 3)), "trace".into());
        assert_eq!(lines.sample().unwrap(), b"a b\nc d\n");
        assert!(lines.advance().unwrap());
        assert_eq!((lines.line(), lines.number), (&b"a b"[..], 1));
    }
}
