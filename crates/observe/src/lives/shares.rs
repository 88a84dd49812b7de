//! Whom lanes worked for: requests within their lives, requests before or after, nobody.

use std::collections::HashMap;
use std::num::NonZeroU32;

use foldhash::fast::FixedState;
use hopscope_kernel::{PassedOn, Span, Time};

use super::walk::is_busy;

/// Whom a lane worked for. The three add up to the time in which it worked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// For requests, between their issue and their completion.
    pub in_life: Time,
    /// For requests, before their issue or after their completion.
    pub outside: Time,
    /// For nobody: housekeeping.
    pub housekeeping: Time,
}

/// A request's life, as far as it is known.
#[derive(Clone, Copy, Default)]
struct Known {
    issued: Option<Time>,
    ended: Option<Time>,
}

/// Adds up whom lanes work for.
#[derive(Default)]
pub(super) struct Sharing {
    lanes: Vec<Shares>,
    lives: HashMap<NonZeroU32, Known, FixedState>,
}

impl Sharing {
    pub(super) fn new(lanes: usize) -> Sharing {
        Sharing { lanes: vec![Shares::default(); lanes], lives: HashMap::default() }
    }

    pub(super) fn shares(&self) -> Vec<Shares> {
        self.lanes.clone()
    }

    pub(super) fn issued(&mut self, request: NonZeroU32, at: Time) {
        self.lives.insert(request, Known { issued: Some(at), ended: None });
    }

    pub(super) fn ended(&mut self, request: NonZeroU32, at: Time) {
        self.lives.entry(request).or_default().ended = Some(at);
    }

    /// Nobody works any more for what ended before `at`; if somebody does, it is outside all the same.
    pub(super) fn forget(&mut self, at: Time) {
        self.lives.retain(|_, known| known.ended.is_none_or(|ended| ended >= at));
    }

    /// A span of a process that works for these requests; each has an equal part of it.
    pub(super) fn enter(&mut self, span: &Span, members: &[PassedOn]) {
        let Some(lane) = span.phase_of().filter(|_| is_busy(span.label)) else { return };
        let shares = &mut self.lanes[usize::from(lane)];
        let (length, count) = (span.span.as_ps(), members.len() as u64);
        if count == 0 {
            shares.housekeeping += span.span;
        }
        for (number, member) in (0..).zip(members) {
            let known = self.lives.get(&member.request).copied().unwrap_or_default();
            // Not yet issued is before; not yet ended is within.
            let (start, end) = (span.at, span.at + span.span);
            let from = known.issued.unwrap_or(end).clamp(start, end);
            let until = known.ended.unwrap_or(end).clamp(from, end);
            let part = |time: u64| time * (number + 1) / count - time * number / count;
            let (within, all) = (part((until - from).as_ps()), part(length));
            // Rounded apart, they may differ by a picosecond.
            let within = within.min(all);
            shares.in_life += Time::ps(within);
            shares.outside += Time::ps(all - within);
        }
    }
}
