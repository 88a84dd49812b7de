//! A meter: how long lanes were in each of their phases, whether anybody observes them or not.
//!
//! A span counts when it ends, as a request does. Which window is looked at may be said afterwards: the sums are kept of
//! the instants at which a window may begin or end, which are ends of transfers.
//!
//! ```text
//!   metered lanes ── a span ends ──▶ sums by phase ── every so many transfers ──▶ kept, of that instant
//! ```

use crate::Time;
use crate::core::Core;
use crate::lane::Lane;
use crate::record::Label;
use crate::sim::Sim;

/// Phases that a meter tells apart, at most.
const PHASES_MAX: usize = 16;
/// Instants that it keeps, at most: more than a rate has batches, so that none of their ends is missing.
const KEPT_MAX: usize = 256;

/// Picoseconds by phase.
type Sums = [u64; PHASES_MAX];

/// Sums of an instant.
#[derive(Clone, Copy)]
struct Kept {
    at: Time,
    sums: Sums,
}

/// What metered lanes did, all of them together.
pub(crate) struct Meter {
    /// Whether any lane is metered.
    metering: bool,
    phases: Vec<&'static Label>,
    sums: Sums,
    from: Time,
    /// The sums at `from`; nothing where no span has ended since.
    at_from: Option<Sums>,
    /// After every so many transfers.
    every: u64,
    since: u64,
    kept: Vec<Kept>,
    /// At the last transfer.
    last: Kept,
}

impl Meter {
    pub(crate) fn new() -> Meter {
        let last = Kept { at: Time::ZERO, sums: [0; PHASES_MAX] };
        let (phases, kept) = (Vec::with_capacity(PHASES_MAX), Vec::with_capacity(KEPT_MAX));
        let (metering, sums, from) = (false, last.sums, Time::ZERO);
        Meter { metering, phases, sums, from, at_from: None, every: 1, since: 0, kept, last }
    }

    fn spent(&mut self, label: &'static Label, span: Time, end: Time) {
        let known = self.phases.iter().position(|known| *known == label);
        let phase = known.unwrap_or_else(|| {
            assert!(self.phases.len() < PHASES_MAX, "a meter tells {PHASES_MAX} phases apart");
            self.phases.push(label);
            self.phases.len() - 1
        });
        if end > self.from {
            self.at_from.get_or_insert(self.sums);
        } else if let Some(before) = &mut self.at_from {
            before[phase] += span.as_ps();
        }
        self.sums[phase] += span.as_ps();
        // What ends at the instant of a transfer counts up to there, whatever comes first.
        let kept = self.kept.iter_mut().rev().take_while(|kept| kept.at == end);
        kept.for_each(|kept| kept.sums[phase] += span.as_ps());
        if self.last.at == end {
            self.last.sums[phase] += span.as_ps();
        }
    }

    pub(crate) fn transferred(&mut self, now: Time) {
        if !self.metering || now <= self.from {
            return;
        }
        self.last = Kept { at: now, sums: self.sums };
        self.since += 1;
        if self.since < self.every {
            return;
        }
        self.since = 0;
        self.kept.push(self.last);
        if self.kept.len() == KEPT_MAX {
            for i in 0..KEPT_MAX / 2 {
                self.kept[i] = self.kept[2 * i + 1];
            }
            self.kept.truncate(KEPT_MAX / 2);
            self.every *= 2;
        }
    }

    fn at(&self, instant: Time, now: Time) -> Option<Sums> {
        let kept = self.kept.iter().rev().chain([&self.last]).find(|kept| kept.at == instant);
        match kept {
            _ if instant == now => Some(self.sums),
            _ if instant == self.from => Some(self.at_from.unwrap_or(self.sums)),
            kept => kept.map(|kept| kept.sums),
        }
    }
}

impl Core {
    /// A metered lane has gone through the phases of `plan` from `start` on, as far as they have come by `end`.
    pub(crate) fn meter_plan(&mut self, plan: &[(&'static Label, Time)], start: Time, end: Time) {
        let mut at = start;
        for &(label, span) in plan {
            let span = span.min(end.saturating_sub(at));
            at += span;
            if span > Time::ZERO {
                self.meter.spent(label, span, at);
            }
        }
    }
}

impl Lane {
    /// Has what this lane does counted by [`Sim::metered`].
    pub fn meter(&self) {
        let mut core = self.sim.shared.core.borrow_mut();
        core.lanes[self.id as usize].metered = true;
        core.meter.metering = true;
    }
}

impl Sim {
    /// A window that is looked at begins at `from`, or with the end of a later transfer, by multiples of `every`.
    pub fn meter_from(&self, from: Time, every: u64) {
        let meter = &mut self.shared.core.borrow_mut().meter;
        (meter.from, meter.every, meter.since) = (from, every.max(1), 0);
        meter.at_from = None;
        meter.kept.clear();
    }

    /// How long metered lanes were in each phase, of what ended after `from` and by `until`. Nothing where the sums at
    /// one of these instants are not known.
    pub fn metered(&self, from: Time, until: Time) -> Option<Vec<(&'static Label, Time)>> {
        let (meter, now) = (&self.shared.core.borrow().meter, self.now());
        let (before, after) = (meter.at(from, now)?, meter.at(until, now)?);
        let spent = before.iter().zip(&after).map(|(before, after)| Time::ps(after - before));
        Some(meter.phases.iter().copied().zip(spent).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static BUSY: Label = Label::reason("lane busy");
    static ONE: Label = Label::protocol("one");
    static OTHER: Label = Label::protocol("other");
    static DONE: Label = Label::mark("done");

    /// Two lanes that work for a transfer each 10 ns: 3 ns of one, 4 ns of the other.
    fn ran(until: Time, from: Time, every: u64) -> Sim {
        let sim = Sim::new();
        for name in ["left", "right"] {
            let lane = sim.lane(name, None);
            lane.meter();
            let own = sim.clone();
            sim.process(name, async move {
                loop {
                    let (start, grant) = (own.now(), lane.acquire(&BUSY).await);
                    grant.hold_plan([(&ONE, Time::ns(3)), (&OTHER, Time::ns(4))]).await;
                    drop(grant);
                    own.wait(Time::ns(3)).await;
                    own.transferred(&DONE, start, 512);
                }
            });
        }
        sim.meter_from(from, every);
        sim.run(until);
        sim
    }

    #[test]
    fn a_meter_counts_what_ends_in_a_window_whoever_looks() {
        let sim = ran(Time::us(10), Time::ZERO, 1);
        let spent = sim.metered(Time::ZERO, sim.now()).expect("the whole run");
        assert_eq!(spent, [(&ONE, Time::ns(2 * 3_000)), (&OTHER, Time::ns(2 * 4_000))]);
        // Of two thousand transfers every eighth is kept.
        assert_eq!(sim.metered(Time::ns(90), sim.now()), None, "windows begin with batches");
        let spent = sim.metered(Time::ns(1_280), sim.now()).expect("an end of a batch");
        assert_eq!(spent, [(&ONE, Time::ns(2 * 872 * 3)), (&OTHER, Time::ns(2 * 872 * 4))]);
        sim.tear_down();
    }

    #[test]
    fn a_window_begins_where_it_was_said_to() {
        let sim = ran(Time::us(1), Time::ns(304), 1);
        let spent = sim.metered(Time::ns(304), sim.now()).expect("from where it was said");
        // The 3 ns that ended at 303 are over.
        assert_eq!(spent, [(&ONE, Time::ns(2 * 69 * 3)), (&OTHER, Time::ns(2 * 70 * 4))]);
        sim.tear_down();
    }
}
