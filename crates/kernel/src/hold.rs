//! Holds: time spent in the phases of a lane, by whoever has it; some make way for others.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::Time;
use crate::arbitration::Waiter;
use crate::core::Core;
use crate::lane::{Grant, Lane};
use crate::record::{Label, Record};

/// Time spent in phases. Dropping it ends them now.
pub struct Hold<'a, P: AsRef<[(&'static Label, Time)]>> {
    lane: &'a Lane,
    plan: P,
    start: Time,
    end: Time,
    armed: Option<u32>,
    under_way: bool,
}

impl<P: AsRef<[(&'static Label, Time)]> + Unpin> Future for Hold<'_, P> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let shared = &*this.lane.sim.shared;
        if !this.under_way {
            this.under_way = true;
            this.start = shared.now.get();
            this.end = this.plan.as_ref().iter().fold(this.start, |at, phase| at + phase.1);
            if shared.drawn.get() {
                this.planned();
            }
        }
        if shared.sleep(this.end, &mut this.armed).is_pending() {
            return Poll::Pending;
        }
        this.under_way = false;
        this.was_held(shared.now.get());
        Poll::Ready(())
    }
}

impl<'a, P: AsRef<[(&'static Label, Time)]>> Hold<'a, P> {
    #[inline(always)]
    pub(crate) fn new(lane: &'a Lane, plan: P) -> Hold<'a, P> {
        Hold { lane, plan, start: Time::ZERO, end: Time::ZERO, armed: None, under_way: false }
    }

    /// Says what begins, to those who draw it.
    #[cold]
    fn planned(&self) {
        let shared = &*self.lane.sim.shared;
        let (lane, mut core) = (self.lane.number(), shared.core.borrow_mut());
        let mut at = self.start;
        for &(label, span) in self.plan.as_ref().iter().filter(|phase| phase.1 > Time::ZERO) {
            core.record(Record::Planned { lane, label, at, span });
            at += span;
        }
    }

    /// Says what there was of it.
    #[inline(always)]
    fn was_held(&self, until: Time) {
        let shared = &*self.lane.sim.shared;
        let mut core = shared.core.borrow_mut();
        if core.observed() || core.lanes[self.lane.id as usize].metered {
            core.record_plan(self.lane.id, shared.current.get(), self.plan.as_ref(), self.start, until);
        }
    }

    /// It ends before its time.
    #[cold]
    fn break_off(&self) {
        let shared = &*self.lane.sim.shared;
        shared.cancel_sleep(self.end, self.armed);
        let now = shared.now.get();
        self.was_held(now);
        if now < self.end && shared.drawn.get() {
            shared.core.borrow_mut().record(Record::Left { lane: self.lane.number(), at: now });
        }
    }
}

impl<P: AsRef<[(&'static Label, Time)]>> Drop for Hold<'_, P> {
    #[inline]
    fn drop(&mut self) {
        if self.under_way {
            self.break_off();
        }
    }
}

impl Grant<'_> {
    /// Spends up to `count` units in a phase, fewer where `rule` makes way for others; returns how many.
    pub async fn hold_yielding(&self, phase: &'static Label, count: u64, rule: Yielding) -> u64 {
        let (sim, id) = (&self.lane.sim, self.lane.id as usize);
        let start = sim.now();
        {
            let core = &mut *sim.shared.core.borrow_mut();
            let task = sim.shared.current.get();
            let end = start + rule.unit * count;
            if end > start && core.lanes[id].waiters.is_empty() && sim.shared.may_skip(core, end) {
                // Nobody asks before that.
                sim.shared.advance(core, end, core.rank(task));
                core.record_plan(self.lane.id, task, &[(phase, end - start)], start, end);
                return count;
            }
            core.yields(id, Interruptible { start, units: count, rule, task }, start);
        }
        let hold = YieldingHold { grant: self, phase: Some(phase), start };
        hold.over(rule).await
    }

    /// The same of units that have begun at `start`, now or earlier, where nobody wants to know of phases.
    pub async fn go_on_yielding(&self, start: Time, count: u64, rule: Yielding) -> u64 {
        let sim = &self.lane.sim;
        let task = sim.shared.current.get();
        let id = self.lane.id as usize;
        sim.shared.core.borrow_mut().yields(id, Interruptible { start, units: count, rule, task }, sim.now());
        YieldingHold { grant: self, phase: None, start }.over(rule).await
    }
}

impl Core {
    /// A lane is held as long as nobody asks for it, or has asked by `now`.
    fn yields(&mut self, lane: usize, mut hold: Interruptible, now: Time) {
        let lane = &mut self.lanes[lane];
        if let Some(priority) = lane.waiters.front().map(Waiter::priority) {
            hold.ask(priority, now);
        }
        lane.interruptible = Some(hold);
    }
}

/// A hold that ends early when someone else asks.
pub(crate) struct Interruptible {
    start: Time,
    units: u64,
    rule: Yielding,
    task: u32,
}

impl Interruptible {
    /// Someone asks at `now`: the hold ends with the unit under way, not before its minimum.
    pub(crate) fn ask(&mut self, priority: u8, now: Time) -> Option<u32> {
        if priority > self.rule.to_priority {
            return None;
        }
        let under_way = (now - self.start) / self.rule.unit + 1;
        let owed = self.rule.after.as_ps().div_ceil(self.rule.unit.as_ps());
        let Yielding { piece, .. } = self.rule;
        // With the last unit of a piece the next one has begun, and makes way itself.
        let units = match under_way.max(owed) {
            _ if piece == 1 => self.units,
            units if units.is_multiple_of(piece) => units + 1,
            units => units,
        };
        let units = units.min(self.units);
        (std::mem::replace(&mut self.units, units) > units).then_some(self.task)
    }
}

/// When a long hold makes way for others.
#[derive(Clone, Copy, Debug)]
pub struct Yielding {
    /// The hold can end after whole units only.
    pub unit: Time,
    /// It lasts at least this long (a PCI latency timer).
    pub after: Time,
    /// It makes way for requests of this priority or better.
    pub to_priority: u8,
    /// Its units are pieces of so many, as if each were held for by itself: at least one unit of a piece that has begun.
    pub piece: u64,
}

/// Records what a yielding hold took, also where it is cancelled.
struct YieldingHold<'a> {
    grant: &'a Grant<'a>,
    phase: Option<&'static Label>,
    start: Time,
}

impl YieldingHold<'_> {
    /// Until all units are over, or as many as there are before somebody else has his; returns how many.
    async fn over(self, rule: Yielding) -> u64 {
        let sim = &self.grant.lane.sim;
        loop {
            let units = self.units();
            let end = self.start + rule.unit * units;
            if sim.now() >= end {
                return units;
            }
            let mut delay = sim.wait_until(end);
            std::future::poll_fn(|context| {
                if self.units() != units {
                    return Poll::Ready(());
                }
                Pin::new(&mut delay).poll(context)
            })
            .await;
        }
    }

    #[inline]
    fn units(&self) -> u64 {
        let core = self.grant.lane.sim.shared.core.borrow();
        core.lanes[self.grant.lane.id as usize].interruptible.as_ref().map_or(0, |hold| hold.units)
    }
}

impl Drop for YieldingHold<'_> {
    fn drop(&mut self) {
        if let Some(phase) = self.phase {
            self.grant.lane.was_in(phase, self.start);
        }
        let mut core = self.grant.lane.sim.shared.core.borrow_mut();
        core.lanes[self.grant.lane.id as usize].interruptible = None;
    }
}
