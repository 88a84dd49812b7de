//! A text as words, with the line that each is on. Memory holds one word.

use std::io::BufRead;

use super::read::{Broken, Place};

/// Characters of a word, at most.
const WORD_MAX: usize = 1 << 20;

/// A text that is being read.
pub struct Words<R> {
    text: R,
    line: u64,
    word: Vec<u8>,
}

impl<R: BufRead> Words<R> {
    /// At the beginning of a text.
    pub fn new(text: R) -> Words<R> {
        Words { text, line: 1, word: Vec::new() }
    }

    /// What is wrong at the line that has been come to.
    pub fn broken(&self, what: impl Into<String>) -> Broken {
        Broken { at: Place::Line(self.line), what: what.into() }
    }

    /// The word that has been read last.
    pub fn word(&self) -> &[u8] {
        &self.word
    }

    /// Reads the next word; whether there is one.
    pub fn next(&mut self) -> Result<bool, Broken> {
        self.word.clear();
        loop {
            let ready = match self.text.fill_buf() {
                Ok(ready) => ready,
                Err(error) => return Err(self.broken(format!("cannot be read: {error}"))),
            };
            if ready.is_empty() {
                // What ends with the file may be the beginning of what should be there.
                let is_cut = !self.word.is_empty() && self.word != b"$end";
                return if is_cut { Err(self.broken("the file ends in a word")) } else { Ok(!self.word.is_empty()) };
            }
            let mut used = 0;
            if self.word.is_empty() {
                for byte in ready.iter().take_while(|byte| byte.is_ascii_whitespace()) {
                    used += 1;
                    self.line += u64::from(*byte == b'\n');
                }
            }
            let rest = &ready[used..];
            let length = rest.iter().position(u8::is_ascii_whitespace);
            self.word.extend_from_slice(&rest[..length.unwrap_or(rest.len())]);
            used += length.unwrap_or(rest.len());
            self.text.consume(used);
            if self.word.len() > WORD_MAX {
                return Err(self.broken(format!("a word of more than {WORD_MAX} characters")));
            }
            // What follows a word is left: its line is that of the word.
            if length.is_some() && !self.word.is_empty() {
                return Ok(true);
            }
        }
    }
}
