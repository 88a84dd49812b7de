//! Tokens: places of which there are so many, and no more. Tags, credits, slots, locks.
//!
//! Who knows when he will give one back may say so ahead: it costs an event only where somebody waits for it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::Poll;

use crate::Time;
use crate::core::{Shared, Wait, Waiting};
use crate::events::Event;
use crate::in_order::insert_behind;
use crate::queue::{Queue, Waits};
use crate::record::Label;
use crate::sim::Sim;

/// So many tokens, each taken by somebody or there.
#[derive(Clone)]
pub struct Tokens {
    there: Queue<()>,
    /// The others that are known to come back.
    coming: Rc<RefCell<Coming>>,
}

/// Tokens that come back: when, in whose turn by rank, and by which task.
type Coming = VecDeque<(Time, u32, u32)>;

impl Tokens {
    /// All of them are there.
    pub fn full(sim: &Sim, count: usize) -> Tokens {
        let tokens = Tokens::none(sim, count);
        (0..count).for_each(|_| tokens.give());
        tokens
    }

    /// None of them is there yet.
    pub fn none(sim: &Sim, count: usize) -> Tokens {
        let (there, coming) = (Queue::unlisted(sim, count), Rc::<RefCell<Coming>>::default());
        let (queue, shared) = (there.as_waiting(), Rc::downgrade(&sim.shared));
        sim.shared.add_queue(Rc::new(Listed { there: queue, coming: coming.clone(), shared }));
        Tokens { there, coming }
    }

    /// Takes one, waiting for `reason` while there is none.
    pub async fn take(&self, reason: &'static Label) {
        self.collect();
        if !self.there.is_empty() && !self.there.sim().shared.stands_still() && self.there.try_take().is_some() {
            return;
        }
        let mut waits = TokenWaits { tokens: self, waits: Waits::for_one(&self.there), timer: None };
        poll_fn(|_| waits.poll(reason)).await;
    }

    /// Takes one if it is there and nobody waits for it; whether it did.
    #[inline]
    pub fn try_take(&self) -> bool {
        self.collect();
        self.there.try_take().is_some()
    }

    /// Gives one back.
    ///
    /// # Panics
    ///
    /// All of them are there: one was given that nobody had taken.
    #[inline]
    pub fn give(&self) {
        assert!(self.there.try_put(()).is_ok(), "a token was given that nobody had taken");
    }

    /// Gives one back at an instant, now or later.
    #[inline]
    pub fn give_at(&self, at: Time) {
        let shared = &*self.there.sim().shared;
        if at <= shared.now.get() {
            return self.give();
        }
        let task = shared.current.get();
        let rank = shared.core.borrow().rank(task);
        insert_behind(&mut self.coming.borrow_mut(), (at, rank, task), move |known| (known.0, known.1) <= (at, rank));
        // Who waits has to know until when.
        self.there.wake_taker();
    }

    /// What has come back by now is there.
    #[inline]
    fn collect(&self) {
        let mut coming = self.coming.borrow_mut();
        while let Some((at, _, by)) = coming.front().copied()
            && at <= self.there.sim().now()
        {
            coming.pop_front();
            assert!(self.there.try_put_by(by, ()).is_ok(), "a token was given that nobody had taken");
        }
    }

    /// How many are there.
    pub fn len(&self) -> usize {
        self.collect();
        self.there.len()
    }

    /// Whether all of them are taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Somebody waits for a token, at most until the next one comes back.
struct TokenWaits<'a> {
    tokens: &'a Tokens,
    waits: Waits<'a, ()>,
    /// When he looks again: in the turn of whoever gives that one back, as if that one woke him.
    timer: Option<Event>,
}

impl TokenWaits<'_> {
    fn poll(&mut self, reason: &'static Label) -> Poll<()> {
        let Tokens { there, coming } = self.tokens;
        let shared = &*there.sim().shared;
        loop {
            self.tokens.collect();
            if self.waits.poll_take(reason).is_ready() {
                return Poll::Ready(());
            }
            // Others are told once they are first.
            let Some((next, rank, _)) = coming.borrow().front().copied().filter(|_| self.waits.is_first()) else {
                return Poll::Pending;
            };
            self.timer.take_if(|timer| timer.at() <= shared.now.get());
            let task = shared.current.get();
            let event = Event::wake(next, rank, task);
            if self.timer.is_some_and(|timer| timer <= event) {
                return Poll::Pending;
            }
            self.cancel();
            match shared.begin_wait_in_turn(&mut shared.core.borrow_mut(), task, rank, next) {
                Wait::Over => {}
                Wait::Timer => {
                    self.timer = Some(event);
                    return Poll::Pending;
                }
                Wait::Still => return Poll::Pending,
            }
        }
    }

    fn cancel(&mut self) {
        let shared = &*self.tokens.there.sim().shared;
        if let Some(timer) = self.timer.take().filter(|timer| timer.at() > shared.now.get()) {
            shared.core.borrow_mut().events.cancel(timer);
        }
    }
}

impl Drop for TokenWaits<'_> {
    fn drop(&mut self) {
        self.cancel();
        self.waits.leave();
        if !self.tokens.coming.borrow().is_empty() {
            self.tokens.there.wake_taker();
        }
    }
}

/// Tokens as a queue that can be asked, whether those that have come back have been collected or not.
struct Listed {
    there: Rc<dyn Waiting>,
    coming: Rc<RefCell<Coming>>,
    shared: Weak<Shared>,
}

impl Waiting for Listed {
    fn empty(&self) {
        self.there.empty();
        self.coming.borrow_mut().clear();
    }

    fn items(&self) -> usize {
        let now = self.shared.upgrade().map_or(Time::ZERO, |shared| shared.now.get());
        self.there.items() + self.coming.borrow().iter().take_while(|coming| coming.0 <= now).count()
    }

    fn is_of_places(&self) -> bool {
        self.there.is_of_places()
    }

    fn taker(&self) -> Option<u32> {
        self.there.taker()
    }

    fn waiting(&self) -> Vec<(u32, &'static Label)> {
        self.there.waiting()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Either, Ended, race};

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

    /// When each of several gets each of its tokens, which it gives back by itself or ahead of time; one of them now and then
    /// does not wait to the end.
    fn got((tokens, unit): (usize, Time), seed: u64, ahead: bool) -> (Vec<(u64, u64)>, u64) {
        let (sim, got) = (Sim::new(), Rc::<RefCell<Vec<(u64, u64)>>>::default());
        let all = Tokens::full(&sim, tokens);
        for user in 0..5_u64 {
            let (sim, tokens, got) = (sim.clone(), all.clone(), got.clone());
            let mut state = seed * 31 + user;
            let mut drawn = move |most: Time| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                unit * ((state >> 33) % (most / unit))
            };
            sim.clone().process(&format!("user{user}"), async move {
                for _ in 0..40 {
                    let (before, patience, span) = (drawn(Time::us(900)), drawn(Time::us(300)), drawn(Time::us(400)));
                    sim.wait(before).await;
                    if user == 4 {
                        match race(&sim, tokens.take(&TAKEN), sim.wait(patience)).await {
                            Either::Left(()) => {}
                            Either::Right(()) => continue,
                        }
                    } else {
                        tokens.take(&TAKEN).await;
                    }
                    got.borrow_mut().push((user, sim.now().as_ps()));
                    let (back, on) = (sim.now() + span, sim.now() + span * 2);
                    if ahead {
                        tokens.give_at(back);
                    } else {
                        sim.wait_until(back).await;
                        tokens.give();
                    }
                    sim.wait_until(on).await;
                }
            });
        }
        assert_eq!(sim.run(Time::ms(1_000)), Ended::Finished);
        assert_eq!(all.len(), tokens);
        let got = got.take();
        (got, sim.counts().events)
    }

    #[test]
    fn what_is_given_back_ahead_of_time_comes_back_when_it_was_said_to() {
        // No two of them do anything at the same instant.
        let unit = Time::ps(1);
        for seed in 0..200 {
            for tokens in [1, 2, 4] {
                let (by_themselves, events) = got((tokens, unit), seed, false);
                let (ahead, fewer) = got((tokens, unit), seed, true);
                assert_eq!(ahead, by_themselves, "{tokens} tokens, seed {seed}");
                assert!(fewer < events, "{fewer} events, and by themselves {events}");
            }
        }
    }

    #[test]
    fn nobody_is_forgotten_who_comes_when_another_one_is_given_back() {
        for seed in 0..200 {
            for tokens in [1, 2, 4] {
                assert!(got((tokens, Time::us(100)), seed, true).0.len() > 160);
            }
        }
    }

    #[test]
    #[should_panic(expected = "nobody had taken")]
    fn one_more_than_there_are_is_a_defect() {
        Tokens::full(&Sim::new(), 1).give();
    }
}
