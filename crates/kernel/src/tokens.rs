//! Tokens: places of which there are so many, and no more. Tags, credits, slots, locks.

use crate::queue::Queue;
use crate::record::Label;
use crate::sim::Sim;

/// So many tokens, each taken by somebody or there.
#[derive(Clone)]
pub struct Tokens(Queue<()>);

impl Tokens {
    /// All of them are there.
    pub fn full(sim: &Sim, count: usize) -> Tokens {
        let tokens = Tokens::none(sim, count);
        (0..count).for_each(|_| tokens.give());
        tokens
    }

    /// None of them is there yet.
    pub fn none(sim: &Sim, count: usize) -> Tokens {
        Tokens(Queue::new(sim, count))
    }

    /// Takes one, waiting for `reason` while there is none.
    pub async fn take(&self, reason: &'static Label) {
        self.0.take(reason).await;
    }

    /// Takes one if it is there and nobody waits for it; whether it did.
    #[inline]
    pub fn try_take(&self) -> bool {
        self.0.try_take().is_some()
    }

    /// Gives one back.
    ///
    /// # Panics
    ///
    /// All of them are there: one was given that nobody had taken.
    #[inline]
    pub fn give(&self) {
        assert!(self.0.try_put(()).is_ok(), "a token was given that nobody had taken");
    }

    /// How many are there.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether all of them are taken.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ended, Time};

    static TAKEN: Label = Label::reason("all tokens taken");

    #[test]
    fn whoever_finds_none_waits_until_one_is_given() {
        let sim = Sim::new();
        let tokens = Tokens::full(&sim, 2);
        for name in ["first", "second", "third"] {
            let (sim, tokens) = (sim.clone(), tokens.clone());
            sim.clone().process(name, async move {
                tokens.take(&TAKEN).await;
                sim.wait(Time::ns(10)).await;
                tokens.give();
            });
        }
        assert_eq!(sim.run(Time::us(1)), Ended::Finished);
        assert_eq!((sim.now(), tokens.len()), (Time::ns(20), 2));
        assert!(tokens.try_take() && tokens.try_take() && !tokens.try_take() && tokens.is_empty());
    }

    #[test]
    #[should_panic(expected = "nobody had taken")]
    fn one_more_than_there_are_is_a_defect() {
        Tokens::full(&Sim::new(), 1).give();
    }
}
