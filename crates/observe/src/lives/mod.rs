//! Lives: where the latency of a request went, from its issue to its completion, request by request.
//!
//! Processes say for which requests they work ([`Errand`](hopscope_kernel::Errand)); from their records the life of each
//! request is put together when it ends: service at a hop, and waits with the hop that was waited for and what that was
//! doing meanwhile. The stages of a request add up to its latency, to the picosecond. Only what requests in flight may
//! still need is kept.
//!
//! What lanes did is told apart, too: for requests within their lives, for requests before their issue or after their
//! completion, and for nobody (destaging, reading ahead). Work for several requests at once counts for each in part.

mod book;
mod shares;
mod traces;
mod walk;
pub mod ways;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use hopscope_kernel::{Observer, Record, Sim, Time};

use crate::account::{Entry, Names, Use};
use book::Book;
pub use shares::Shares;
use walk::UNSAID;
pub use walk::{StageKind, Stretch};

/// So many requests make a 99th percentile.
pub const FOR_P99: usize = 2_000;
/// Records, and spans of trains, between two looks at what can be forgotten.
const FORGET_EVERY: usize = 1 << 16;

/// How many lives are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Enough {
    /// Requests, at least, whatever they cost.
    pub at_least: usize,
    /// So many times what is in flight, at least.
    pub times_in_flight: usize,
    /// Requests, unless there are more records than follow.
    pub requests: usize,
    /// Spans that may be looked at for those.
    pub spans: u64,
    /// Spans that may be looked at for any number of them, once all that were in flight have been replaced.
    pub spans_most: u64,
    /// Spans that may be kept at once, of all that is under way. Where lives ask for more, no more of them are told.
    pub kept_most: usize,
}

impl Enough {
    /// Every request of the run.
    pub const ALL: Enough = Enough {
        at_least: usize::MAX,
        times_in_flight: 0,
        requests: usize::MAX,
        spans: u64::MAX,
        spans_most: u64::MAX,
        kept_most: usize::MAX,
    };
    /// Enough to speak for the others. What is kept is 3 GB at most.
    pub const FOR_AN_ACCOUNT: Enough = Enough {
        at_least: 100,
        times_in_flight: 10,
        requests: FOR_P99,
        spans: 1_500_000,
        spans_most: 3_000_000,
        kept_most: 64_000_000,
    };
}

/// A stretch of requests' lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The part.
    pub part: String,
    /// Its lane.
    pub lane: String,
    /// Service, or a wait for that hop.
    pub kind: StageKind,
    /// Of service the phase, of a wait its reason.
    pub phase: String,
    /// Of a wait, what the hop was doing meanwhile; empty elsewhere.
    pub behind: String,
    /// How long, over all requests of the class.
    pub time: Time,
}

/// A class of latencies and where it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Requests in the class.
    pub count: u64,
    /// Their latencies, added up.
    pub sum: Time,
    /// Where they went, the largest first. They add up to `sum`.
    pub stages: Vec<Stage>,
}

impl Split {
    /// The mean latency.
    pub fn mean(&self) -> Time {
        Time::ps(self.sum.as_ps() / self.count.max(1))
    }

    /// What the hops were doing that the latencies went into, whether for the request or for others: the largest first.
    /// They add up to `sum`.
    pub fn phases(&self) -> Vec<Entry> {
        let mut phases: Vec<Entry> = Vec::new();
        for stage in &self.stages {
            let phase = if stage.behind.is_empty() { &stage.phase } else { &stage.behind };
            match phases.iter_mut().find(|known| (&known.lane, &known.phase) == (&stage.lane, phase)) {
                Some(known) => known.time += stage.time,
                None => {
                    let class = if stage.kind == StageKind::Wait { Use::Waiting } else { Use::Protocol };
                    let (part, lane, phase) = (stage.part.clone(), stage.lane.clone(), phase.clone());
                    phases.push(Entry { class, cause: String::new(), part, lane, phase, time: stage.time });
                }
            }
        }
        phases.sort_by(|a, b| (b.time, &a.lane, &a.phase).cmp(&(a.time, &b.lane, &b.phase)));
        phases
    }

    /// With lanes that are alike as one.
    fn alike(&self, names: &Names) -> Split {
        let named = self.stages.iter().map(|stage| Stage {
            part: names.part_of(&stage.lane).to_string(),
            lane: names.of(&stage.lane).to_string(),
            ..stage.clone()
        });
        Split { stages: added_up(named), ..self.clone() }
    }
}

/// Stages that say the same, added up; the largest first.
fn added_up(stages: impl Iterator<Item = Stage>) -> Vec<Stage> {
    let mut sums: BTreeMap<(String, String, StageKind, String), Stage> = BTreeMap::new();
    for stage in stages {
        let key = (stage.lane.clone(), stage.phase.clone(), stage.kind, stage.behind.clone());
        match sums.get_mut(&key) {
            Some(known) => known.time += stage.time,
            None => _ = sums.insert(key, stage),
        }
    }
    let mut stages: Vec<Stage> = sums.into_values().collect();
    stages.sort_by_key(|stage| std::cmp::Reverse(stage.time));
    stages
}

impl Latency {
    /// With lanes that are alike as one.
    pub fn alike(&self, names: &Names) -> Latency {
        let p99 = self.p99.as_ref().map(|split| split.alike(names));
        Latency { mean: self.mean.alike(names), median: self.median.alike(names), p99, ..*self }
    }
}

/// Latencies of the requests that ended within the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latency {
    /// All of them.
    pub mean: Split,
    /// Those within half a percent of the median's rank.
    pub median: Split,
    /// Those within half a percent of the 99th percentile's rank; nothing where there are too few requests.
    pub p99: Option<Split>,
    /// When the first of them ended, or the window began; and when the last of them ended.
    pub from: Time,
    /// The end.
    pub until: Time,
    /// Most requests in flight at once.
    pub in_flight: usize,
}

/// Collects lives. A handle: clones see the same requests.
#[derive(Clone)]
pub struct Lives(Rc<RefCell<Book>>);

impl Lives {
    /// Keeps the lives of requests that end after `from` in a run in `sim`, until there are enough.
    pub fn new(sim: &Sim, from: Time, enough: Enough) -> Lives {
        Lives::since(sim, (Time::ZERO, from), enough)
    }

    /// The same of requests that are issued after `since`: nothing before that is asked for. It has to be so long before
    /// `from` that whatever ends after that was issued after it, or that is left out.
    pub fn since(sim: &Sim, (since, from): (Time, Time), enough: Enough) -> Lives {
        Lives(Rc::new(RefCell::new(Book::new(sim, (since, from), enough))))
    }

    /// The same where whatever ends after `from` was issued after `traced`: what was done before only says whom lanes worked
    /// for.
    #[must_use]
    pub fn traced_since(self, traced: Time) -> Lives {
        self.0.borrow_mut().traced = traced;
        self
    }

    /// Whether there are as many as asked for.
    pub fn are_enough(&self) -> bool {
        self.0.borrow().are_enough()
    }

    /// Whether lives were so long that no more of them were told.
    pub fn are_too_long(&self) -> bool {
        self.0.borrow().are_too_long
    }

    /// Requests that have ended.
    pub fn count(&self) -> usize {
        self.0.borrow().ended.len()
    }

    /// What became of the latencies; nothing where no request has ended.
    pub fn latency(&self) -> Option<Latency> {
        self.0.borrow_mut().latency()
    }

    /// Of each lane, by number, whether it worked, or a delay was owed to it.
    pub fn at_work(&self) -> Vec<bool> {
        self.0.borrow().sharing.at_work()
    }

    /// Whom each lane worked for, by number, over all that was observed.
    pub fn shares(&self) -> Vec<Shares> {
        self.0.borrow().sharing.shares()
    }

    /// Time of lives for which no process says what it was at: a defect of a part. Who, and how long.
    pub fn unsaid(&self) -> Vec<(String, Time)> {
        let latency = self.latency();
        let stages = latency.iter().flat_map(|latency| &latency.mean.stages);
        let unsaid = stages.filter(|stage| [&stage.phase, &stage.behind].contains(&&UNSAID.name.to_string()));
        unsaid.map(|stage| (stage.lane.clone(), stage.time)).collect()
    }
}

impl Observer for Lives {
    fn wants_phases(&self) -> bool {
        !self.0.borrow().are_enough()
    }

    fn wants_phases_from(&self) -> Time {
        self.0.borrow().since
    }

    fn records(&mut self, batch: &[Record]) {
        self.0.borrow_mut().records(batch);
    }
}

/// Draws for tests: the same numbers every time.
#[cfg(test)]
pub(crate) fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

#[cfg(test)]
mod tests {
    use hopscope_kernel::{Label, Queue};

    use super::*;

    static WORK: Label = Label::protocol("work");
    static READ: Label = Label::mark("read");
    static EMPTY: Label = Label::reason("nothing to do");

    #[test]
    fn lives_that_are_too_long_to_be_kept_are_not_told() {
        // Looked at whenever so many spans have come, of which some come behind.
        let spans = FORGET_EVERY as u64 * 5 / 2;
        let lived = |kept_most: usize| {
            let sim = Sim::new();
            let lives = Lives::new(&sim, Time::ZERO, Enough { kept_most, ..Enough::ALL });
            sim.observe(Box::new(lives.clone()));
            let (lane, s) = (sim.lane("arm", None), sim.clone());
            sim.process("thread", async move {
                for count in [10, spans, 10] {
                    let errand = s.new_errand();
                    s.issued(errand);
                    let since = s.now();
                    for _ in 0..count {
                        lane.spend(&WORK, Time::ns(3)).await;
                    }
                    s.transferred(&READ, since, 512);
                }
            });
            sim.run(Time::ms(10));
            let worked = lives.shares()[0].in_life;
            (lives.are_too_long(), lives.count(), lives.0.borrow().traces_kept() > 0, worked)
        };
        let all = Time::ns(3) * (spans + 20);
        assert_eq!(lived(usize::MAX), (false, 3, true, all));
        // The first one was over before; nobody looks any more where there is enough.
        let (too_long, count, kept, worked) = lived(FORGET_EVERY);
        assert_eq!((too_long, count, kept), (true, 1, false));
        assert!(worked > Time::ZERO && worked < all, "{worked}");
    }

    #[test]
    fn whoever_works_for_what_has_ended_opens_nothing() {
        let sim = Sim::new();
        let lives = Lives::new(&sim, Time::ZERO, Enough::ALL);
        sim.observe(Box::new(lives.clone()));
        let (lane, after) = (sim.lane("arm", None), Queue::new(&sim, 64));
        let (s, l, queue) = (sim.clone(), lane.clone(), after.clone());
        sim.process("thread", async move {
            for _ in 0..50 {
                let errand = s.new_errand();
                s.issued(errand);
                let since = s.now();
                l.delay(&WORK, Time::ns(3)).await;
                s.transferred(&READ, since, 512);
                assert!(queue.try_put(s.pass_on(errand)).is_ok());
            }
        });
        let s = sim.clone();
        sim.process("writes behind", async move {
            loop {
                let errand = after.take(&EMPTY).await;
                s.take_up(errand);
                lane.delay(&WORK, Time::ns(2)).await;
            }
        });
        sim.run(Time::us(1));
        sim.tear_down();
        assert_eq!((lives.count(), lives.0.borrow().open.len()), (50, 0));
    }
}
