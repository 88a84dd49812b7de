//! The names of processes, one after the other in one text.

use std::fmt::{Display, Write};

/// Names by number.
#[derive(Default)]
pub(crate) struct Names {
    text: String,
    /// Where each one ends.
    ends: Vec<u32>,
}

impl Names {
    pub(crate) fn push(&mut self, name: impl Display) {
        write!(self.text, "{name}").expect("a text takes whatever is written");
        self.ends.push(u32::try_from(self.text.len()).expect("names are shorter than four gigabytes"));
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, number: usize) -> &str {
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[begin as usize..self.ends[number] as usize]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|number| self.get(number))
    }
}
