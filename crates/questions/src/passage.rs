//! Passage: what came by in a window of a run, request by request and hop by hop.
//!
//! ```text
//!   request  ▕ cpu ▕ drive: seek ▕ pci, waits ▕ pci: data ▏    hops that worked for it, and that it waited for
//!   hop      ▕ address ▕ data ▕            ▕ address ▕ data     phases of its lanes, and for which request
//!   all      shares of the time in equal steps, whatever is listed one by one
//! ```
//!
//! The first [`Enough`] of what happened are listed one by one; sums over time are of all of it. It is seen in a run of
//! its own, which is the one that the account was taken in. It ends as long after the window as the window and the longest
//! latency before it are: what was under way is over by then.
//!
//! Not listed: delays that are owed to a part without a lane being held, and requests that had not ended.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::rc::Rc;

use hopscope_files::job_file::Job;
use hopscope_kernel::{Class, Observer, Record, Sim, Span, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Failure, Options};
use hopscope_observe::account::Names;
use hopscope_observe::lives::StageKind;
use hopscope_observe::lives::ways::{Said, Way, Ways};
use hopscope_signals::timeline::steps::Steps;

use crate::explain::{Explained, run_until, watched_since};

/// How much is listed one by one.
#[derive(Clone, Copy, Debug)]
pub struct Enough {
    /// Requests; where some that are over later began before the last of them, up to twice as many.
    pub requests: usize,
    /// Phases of all hops, likewise.
    pub phases: usize,
}

impl Enough {
    /// For a page.
    pub const FOR_A_PAGE: Enough = Enough { requests: 1_500, phases: 8_000 };
}

/// Phases of a hop are told apart as these.
pub const USES: [&str; 4] = ["payload", "at the pace of another", "protocol", "held, waiting"];

/// What a request's time went to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The hop.
    pub hop: String,
    /// Whether it was waited for.
    pub waits: bool,
    /// Until when: it begins where the one before ended, the first with the request.
    pub until: Time,
}

/// A request that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number.
    pub number: u32,
    /// Its direction.
    pub direction: &'static str,
    /// Its size, bytes.
    pub bytes: u32,
    /// When it was issued.
    pub issued: Time,
    /// When it ended.
    pub ended: Time,
    /// Which row it has among those in flight with it.
    pub row: usize,
    /// Where it was, from its issue to its end.
    pub legs: Vec<Leg>,
}

/// A lane was in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The hop, by its place among [`Passage::hops`].
    pub hop: usize,
    /// Which row it has among those of its hop that overlap.
    pub row: usize,
    /// Its name.
    pub name: &'static str,
    /// Which of [`USES`].
    pub used: usize,
    /// When it began.
    pub from: Time,
    /// When it was over.
    pub until: Time,
    /// The request that it was for, where it was for one.
    pub request: Option<u32>,
}

/// A hop over time.
#[derive(Clone, Debug)]
pub struct HopOverTime {
    /// Its name.
    pub hop: String,
    /// Lanes that it has.
    pub lanes: usize,
    /// How long its lanes were in each of [`USES`], in equal steps.
    pub uses: Steps,
}

/// What came by.
#[derive(Clone, Debug)]
pub struct Passage {
    /// From when on.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// Hops that were at work, in the order of their first lanes.
    pub hops: Vec<HopOverTime>,
    /// What requests were at: a kind for work at each of [`Passage::hops_of_requests`], then one for waits for each.
    pub requests_over_time: Steps,
    /// Hops that requests were at, those first that most of their time went to; whatever comes behind them is one, the
    /// last.
    pub hops_of_requests: Vec<String>,
    /// The first requests that ended, in the order of their issue.
    pub requests: Vec<Request>,
    /// Until when all of them are listed.
    pub requests_until: Time,
    /// The first phases, in order of time.
    pub phases: Vec<Phase>,
    /// Until when all of them are listed.
    pub phases_until: Time,
}

/// What is left of hops once there are enough of them.
pub const OTHERS: &str = "other hops";

/// What came by in the window of an account; `tell_apart` hops of requests by name. Nothing where nothing did.
pub fn passage(
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    explained: &Explained,
    (tell_apart, enough): (&[String], Enough),
) -> Result<Option<Passage>, Failure> {
    let account = &explained.account;
    if account.is_idle() {
        return Ok(None);
    }
    let sim = Sim::new();
    let (names, apart) = (explained.names.clone(), tell_apart.to_vec());
    let book = Book { window: (account.from, account.until), enough, names, apart, sim: sim.clone(), begun: None };
    let passing = Passing(Rc::new(RefCell::new(book)));
    let (_, issued) = watched_since(explained.outcome.first_known(), jobs, account.from);
    let over = account.until + (account.until - issued);
    run_until(&sim, blueprint, jobs, options, over.min(explained.watched), Box::new(passing.clone()))?;
    Ok(passing.0.borrow_mut().finish())
}

/// Collects what comes by. A handle: clones see the same.
#[derive(Clone)]
struct Passing(Rc<RefCell<Book>>);

struct Book {
    window: (Time, Time),
    enough: Enough,
    names: Names,
    apart: Vec<String>,
    sim: Sim,
    begun: Option<(Ways, Seen)>,
}

/// What has come by so far.
struct Seen {
    window: (Time, Time),
    /// Which hop each lane belongs to.
    hop_of: Vec<usize>,
    hops: Vec<HopOverTime>,
    /// Who has no lane: the names of processes.
    processes: Vec<String>,
    apart: Vec<String>,
    requests_over_time: Steps,
    requests: Vec<Request>,
    requests_listed: Listed,
    phases: Vec<Phase>,
    phases_listed: Listed,
}

/// What is listed. Things are told of when they are over: of what began before the last one that was listed as of right,
/// a little more is.
struct Listed {
    most: usize,
    count: usize,
    last: Time,
    /// When the first one began that is not listed.
    beyond: Time,
}

impl Listed {
    fn new(most: usize) -> Listed {
        Listed { most, count: 0, last: Time::ZERO, beyond: Time::MAX }
    }

    fn takes(&mut self, from: Time, until: Time) -> bool {
        let of_right = self.count < self.most;
        if of_right {
            self.last = self.last.max(until);
        }
        let taken = of_right || (from < self.last && self.count < 2 * self.most);
        self.count += usize::from(taken);
        if !taken {
            self.beyond = self.beyond.min(from);
        }
        taken
    }
}

impl Observer for Passing {
    fn wants_phases(&self) -> bool {
        true
    }

    fn records(&mut self, batch: &[Record]) {
        let mut book = self.0.borrow_mut();
        let book = &mut *book;
        let (ways, seen) = book.begun.get_or_insert_with(|| {
            let seen = Seen::new(&book.sim, book.window, book.enough, (&book.names, &book.apart));
            (Ways::new(&book.sim).behind_waits(), seen)
        });
        let followed: Result<(), Infallible> = ways.follow(batch, |ways, said| {
            match said {
                Said::Ended(way) => seen.ended(&way),
                Said::Span(span) => span.phase_of().into_iter().for_each(|lane| seen.phase(ways, lane, &span)),
                Said::Issued(_) | Said::Happened(_) => {}
            }
            Ok(())
        });
        let Ok(()) = followed;
    }
}

impl Book {
    fn finish(&mut self) -> Option<Passage> {
        let (_, mut seen) = self.begun.take()?;
        let (from, until) = self.window;
        seen.requests.sort_by_key(|request| (request.issued, request.number));
        seen.phases.sort_by_key(|phase| (phase.from, phase.hop, phase.until));
        rows(&mut seen.requests, |_| 0, |request| (request.issued, request.ended), |request, row| request.row = row);
        rows(&mut seen.phases, |phase| phase.hop, |phase| (phase.from, phase.until), |phase, row| phase.row = row);
        let hops_of_requests = seen.apart.iter().cloned().chain([OTHERS.to_string()]).collect();
        Some(Passage {
            from,
            until,
            hops: seen.hops,
            requests_over_time: seen.requests_over_time,
            hops_of_requests,
            requests: seen.requests,
            requests_until: seen.requests_listed.beyond.min(until),
            phases: seen.phases,
            phases_until: seen.phases_listed.beyond.min(until),
        })
    }
}

/// Rows that are taken, by when they become free, and those that are free again.
#[derive(Default)]
struct Rows {
    taken: BTreeSet<(Time, usize)>,
    free: BTreeSet<usize>,
}

/// Gives each of those that overlap a row of its own, the lowest that is free; by key, in order of their beginnings.
fn rows<T>(
    all: &mut [T],
    key: impl Fn(&T) -> usize,
    span: impl Fn(&T) -> (Time, Time),
    mut give: impl FnMut(&mut T, usize),
) {
    let mut taken: HashMap<usize, Rows> = HashMap::new();
    for one in all {
        let (from, until) = span(one);
        let Rows { taken, free } = taken.entry(key(one)).or_default();
        while let Some((_, row)) = taken.first().copied().filter(|(over, _)| *over <= from) {
            taken.pop_first();
            free.insert(row);
        }
        let row = free.pop_first().unwrap_or(taken.len());
        taken.insert((until, row));
        give(one, row);
    }
}

impl Seen {
    fn new(sim: &Sim, window: (Time, Time), enough: Enough, (names, apart): (&Names, &[String])) -> Seen {
        let mut hops: Vec<HopOverTime> = Vec::new();
        let origin_ps = window.0.as_ps();
        let hop_of = sim.lanes().into_iter().map(|(lane, _)| {
            let hop = names.of(&lane);
            let known = hops.iter().position(|known| known.hop == hop).unwrap_or_else(|| {
                let uses = Steps::new(USES.len(), origin_ps);
                hops.push(HopOverTime { hop: hop.to_string(), lanes: 0, uses });
                hops.len() - 1
            });
            hops[known].lanes += 1;
            known
        });
        let hop_of = hop_of.collect();
        Seen {
            window,
            hop_of,
            hops,
            processes: sim.processes(),
            apart: apart.to_vec(),
            requests_over_time: Steps::new(2 * (apart.len() + 1), origin_ps),
            requests: Vec::new(),
            requests_listed: Listed::new(enough.requests),
            phases: Vec::new(),
            phases_listed: Listed::new(enough.phases),
        }
    }

    /// The part of the window that a span covers, where there is any.
    fn within(&self, from: Time, until: Time) -> Option<(Time, Time)> {
        let (from, until) = (from.max(self.window.0), until.min(self.window.1));
        (from < until).then_some((from, until))
    }

    fn phase(&mut self, ways: &Ways, lane: u16, span: &Span) {
        let used = match span.label.class {
            Class::Payload => 0,
            Class::Through => 1,
            Class::Protocol => 2,
            Class::Reason | Class::Queued => 3,
            Class::Workload | Class::Mark => return,
        };
        let Some((from, until)) = self.within(span.at, span.at + span.span) else { return };
        let hop = self.hop_of[usize::from(lane)];
        self.hops[hop].uses.spent(used, from.as_ps(), until.as_ps());
        if !self.phases_listed.takes(from, until) {
            return;
        }
        let mut requests = ways.of(span.who).map(|issued| issued.request);
        let request = requests.next().filter(|_| requests.next().is_none());
        self.phases.push(Phase { hop, row: 0, name: span.label.name, used, from, until, request });
    }

    fn ended(&mut self, way: &Way) {
        let Some((from, until)) = self.within(way.issued.at, way.ended) else { return };
        let mut legs: Vec<Leg> = Vec::new();
        for stretch in &way.stretches {
            let hop = match stretch.lane {
                Some(lane) => &self.hops[self.hop_of[usize::from(lane)]].hop,
                None => &self.processes[usize::from(stretch.who)],
            };
            let waits = stretch.kind == StageKind::Wait;
            if let Some((from, until)) = self.within(stretch.from, stretch.until) {
                let of = self.apart.len() + 1;
                let kind = self.apart.iter().position(|known| known == hop).unwrap_or(of - 1);
                let kind = kind + if waits { of } else { 0 };
                self.requests_over_time.spent(kind, from.as_ps(), until.as_ps());
            }
            match legs.last_mut().filter(|leg| (&leg.hop, leg.waits) == (hop, waits)) {
                Some(leg) => leg.until = stretch.until,
                None => legs.push(Leg { hop: hop.clone(), waits, until: stretch.until }),
            }
        }
        if !self.requests_listed.takes(from, until) {
            return;
        }
        self.requests.push(Request {
            number: way.issued.request,
            direction: way.label.name,
            bytes: way.bytes,
            issued: way.issued.at,
            ended: way.ended,
            row: 0,
            legs,
        });
    }
}
