//! Memories: what parts remember for longer than a request takes, such as what a cache holds.
//!
//! A run that is to begin where another one was begins with them, and does not fill caches again. They are words that
//! only the part itself understands.

use std::rc::Rc;

use crate::sim::Sim;

/// A part that remembers something.
pub trait Remembers {
    /// What it remembers, in words of its own.
    fn remembered(&self) -> Vec<u64>;

    /// Remembers what it was told before the first run; whether it can. With other numbers than those of the part that
    /// said it, it may not.
    fn recall(&self, words: &[u64]) -> bool;
}

/// A part that remembers something, by its name.
pub(crate) type Rememberer = (String, Rc<dyn Remembers>);

/// What the parts of a simulation remember.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memories(Vec<(String, Vec<u64>)>);

impl Memories {
    /// Whether no part remembers anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Sim {
    /// The part of this name remembers something.
    pub fn remembers(&self, name: &str, part: Rc<dyn Remembers>) {
        self.shared.remembering.borrow_mut().push((name.to_string(), part));
    }

    /// What the parts remember, between two calls of [`Sim::run`].
    pub fn memories(&self) -> Memories {
        let remembering = self.shared.remembering.borrow();
        Memories(remembering.iter().map(|(name, part)| (name.clone(), part.remembered())).collect())
    }

    /// Has the parts remember what those of another simulation did, before the first run; whether they are the same parts,
    /// by their names, and all of them can.
    pub fn recall(&self, memories: &Memories) -> bool {
        let remembering = self.shared.remembering.borrow();
        remembering.len() == memories.0.len()
            && remembering.iter().zip(&memories.0).all(|((name, part), (of, words))| name == of && part.recall(words))
    }
}
