//! Two things at once, in one process.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use crate::Sim;

/// Awaits both; ends when the later one ends.
pub fn join<A: Future, B: Future>(sim: &Sim, a: A, b: B) -> impl Future<Output = (A::Output, B::Output)> {
    join_handing(sim, a, b, || false)
}

/// The same of two of whom the second hands something to the first: when it says that it has, and waits for that, the first
/// has its turn before it goes on, at the same instant.
pub async fn join_handing<A: Future, B: Future>(
    sim: &Sim,
    a: A,
    b: B,
    has_handed: impl Fn() -> bool,
) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut left, mut right) = (None, None);
    poll_fn(|context| {
        loop {
            if left.is_none()
                && let Poll::Ready(v) = sim.one_of_several(right.is_some(), || a.as_mut().poll(context))
            {
                left = Some(v);
            }
            if right.is_none()
                && let Poll::Ready(v) = sim.one_of_several(true, || b.as_mut().poll(context))
            {
                right = Some(v);
            }
            if !has_handed() {
                break;
            }
        }
        if left.is_none() || right.is_none() {
            return Poll::Pending;
        }
        left.take().zip(right.take()).map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

/// Which of two came first.
#[derive(Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The first (it wins where both end at one instant).
    Left(A),
    /// The second.
    Right(B),
}

/// Awaits whichever ends first and drops the other, which cancels it.
pub async fn race<A: Future, B: Future>(sim: &Sim, a: A, b: B) -> Either<A::Output, B::Output> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    poll_fn(|context| {
        if let Poll::Ready(v) = sim.one_of_several(false, || a.as_mut().poll(context)) {
            return Poll::Ready(Either::Left(v));
        }
        sim.one_of_several(true, || b.as_mut().poll(context)).map(Either::Right)
    })
    .await
}
