//! Windows that are named by what happens in them: a request, or something at a hop.
//!
//! The run is made once to find out when that is, and once more to be drawn; the same seed gives the same run. How long
//! it has to be is not known, so it is made anew for four times as long until it was long enough.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use hopscope_files::job_file::Job;
use hopscope_files::problem::{Problem, Problems};
use hopscope_kernel::{Observer, PassedOn, Record, Sim, Time, expand, whole};
use hopscope_parts::nearest::nearest;

use super::{Window, until};
use crate::blueprint::Blueprint;
use crate::run::{self, Failure};

/// The first run is so long.
const FIRST: Time = Time::ms(10);
/// After so many records nothing more is sought.
const RECORDS_MAX: u64 = 8_000_000;
/// Before and after what is sought, a window shows so much of its length: one over this.
const MARGIN: u64 = 10;

/// What a window is to show.
#[derive(Clone, Copy, Debug)]
pub enum Sought<'a> {
    /// The request with this number, counted from one in the order of issue.
    Request(u32),
    /// The first time from `from` on that something happens at a hop; for so long.
    Event {
        /// The hop, a dot, and words of a phase, a wait, a delay or a mark.
        name: &'a str,
        /// From when on.
        from: Time,
        /// The window's length.
        span: Time,
    },
}

/// Looks for something in records.
trait Search {
    /// Whether it finds in trains what it looks for: what wires carry they do not say.
    const IN_TRAINS: bool;
    /// Looks at one. The window, once it has been found.
    fn look(&mut self, sim: &Sim, records: &[Record]) -> Option<Window>;
    /// What there was instead, until a run of this length ended.
    fn missed(&self, end: Time) -> Problem;
}

/// A search that goes on during a run.
struct Run<S> {
    search: S,
    found: Option<Window>,
    records: u64,
}

struct Watcher<S>(Sim, Rc<RefCell<Run<S>>>);

impl<S: Search> Observer for Watcher<S> {
    fn records(&mut self, batch: &[Record]) {
        let run = &mut *self.1.borrow_mut();
        let mut next = whole(batch);
        while let (None, Some(records)) = (run.found, next.next()) {
            run.found = run.search.look(&self.0, records);
            run.records += 1;
        }
    }

    fn wants_phases(&self) -> bool {
        self.1.borrow().found.is_none()
    }

    fn wants_signals(&self) -> bool {
        true
    }
}

/// The window that shows what is sought in a run of `jobs` with this seed; it is sought until the jobs' time is over, or
/// for so `long` where they have none.
pub fn window(
    blueprint: &Blueprint,
    jobs: &[Job],
    sought: Sought,
    (seed, long): (u64, Time),
) -> Result<Window, Failure> {
    let end = jobs.iter().map(|job| job.runtime).max().flatten().unwrap_or(long).min(long);
    match sought {
        Sought::Request(number) => find(blueprint, jobs, (seed, end), || OfRequest { number, ..OfRequest::default() }),
        Sought::Event { name, from, span } => {
            let (hop, words) = blueprint.hop_of(name).map_err(|problem| Failure::Input(Problems::from(problem)))?;
            let new = || AtHop {
                lanes: hop.lanes.clone(),
                hop: hop.name.clone(),
                words: words.to_string(),
                from,
                span,
                clocks: Vec::new(),
                seen: BTreeMap::new(),
            };
            find(blueprint, jobs, (seed, end), new)
        }
    }
}

fn find<S: Search + 'static>(
    blueprint: &Blueprint,
    jobs: &[Job],
    (seed, end): (u64, Time),
    new: impl Fn() -> S,
) -> Result<Window, Failure> {
    let mut length = FIRST.min(end);
    loop {
        let (sim, run) = (Sim::new(), Rc::new(RefCell::new(Run { search: new(), found: None, records: 0 })));
        let watcher = Box::new(Watcher(sim.clone(), run.clone()));
        let options = run::Options { seed, cut: true, trains: S::IN_TRAINS, ..run::Options::default() };
        run::run_in(sim, blueprint, &until(jobs, length), options, Some(watcher))?;
        let run = run.borrow();
        match run.found {
            Some(window) => return Ok(window),
            None if length >= end || run.records >= RECORDS_MAX => {
                return Err(Failure::Input(Problems::from(run.search.missed(length))));
            }
            None => length = end.min(length * 4),
        }
    }
}

/// Looks for a request.
#[derive(Default)]
struct OfRequest {
    number: u32,
    /// For which request each process works, if for any; of several the first.
    works_for: HashMap<u16, Option<u32>>,
    issued_at: Option<Time>,
    issued: u64,
    ended: u64,
}

impl Search for OfRequest {
    const IN_TRAINS: bool = true;

    fn look(&mut self, _: &Sim, records: &[Record]) -> Option<Window> {
        let number = |of: Option<PassedOn>| of.map(|of| of.request.get());
        match records[0] {
            Record::TakeUp { who, request, .. } => _ = self.works_for.insert(who, number(request)),
            Record::TakeUpToo { who, request, .. } => {
                let first = self.works_for.entry(who).or_default();
                *first = first.or(number(request));
            }
            Record::Issue { at, request, .. } => {
                self.issued += 1;
                if request.get() == self.number {
                    self.issued_at = Some(at);
                }
            }
            Record::Transfer { who, at, span, .. } => {
                self.ended += 1;
                let issued = self.issued_at.filter(|_| self.works_for.get(&who) == Some(&Some(self.number)))?;
                let end = at + span;
                let margin = Time::ps((end - issued).as_ps().div_ceil(MARGIN).max(1));
                let from = issued.saturating_sub(margin);
                return Some(Window { from, span: end + margin - from });
            }
            _ => {}
        }
        None
    }

    fn missed(&self, end: Time) -> Problem {
        let OfRequest { number, issued, ended, .. } = self;
        let title = match self.issued_at {
            Some(at) => format!("request {number} is issued at {at} and has not ended after {end}"),
            None => format!("there is no request {number} in the first {end}"),
        };
        Problem::nowhere(title).help(format!("{issued} are issued in that time, and {ended} end"))
    }
}

/// Looks for something at a hop.
struct AtHop {
    lanes: Vec<u16>,
    hop: String,
    words: String,
    from: Time,
    span: Time,
    clocks: Vec<Option<Time>>,
    /// What happens there, and when it did last.
    seen: BTreeMap<&'static str, Time>,
}

impl Search for AtHop {
    const IN_TRAINS: bool = false;

    fn look(&mut self, sim: &Sim, records: &[Record]) -> Option<Window> {
        if self.clocks.is_empty() {
            self.clocks = sim.lanes().into_iter().map(|lane| lane.1).collect();
        }
        let AtHop { lanes, words, from, span, clocks, seen, .. } = self;
        let mut found: Option<Time> = None;
        let mut happens = |lane: Option<u16>, name: &'static str, at: Time| {
            if lane.is_some_and(|lane| lanes.contains(&lane)) {
                let last = seen.entry(name).or_default();
                *last = at.max(*last);
                if at >= *from && fits(name, words) {
                    found = Some(found.map_or(at, |first| first.min(at)));
                }
            }
        };
        match records[0] {
            Record::Carried { lane, label, at, .. } => happens(Some(lane), label.name, at),
            _ => {
                let clock = |lane: u16| clocks[usize::from(lane)];
                expand(records, clock, |one| happens(one.lane(), one.label.name, one.at));
            }
        }
        let margin = Time::ps(span.as_ps() / MARGIN);
        found.map(|at| Window { from: at.saturating_sub(margin), span: *span })
    }

    fn missed(&self, end: Time) -> Problem {
        let (hop, words, from) = (&self.hop, &self.words, self.from);
        if let Some((label, last)) = self.seen.iter().find(|(label, _)| fits(label, words)) {
            let title = format!("`{label}` does not happen at {hop} between {from} and {end}");
            return Problem::nowhere(title).help(format!("it happens there last at {last}"));
        }
        let near = nearest(words, self.seen.keys());
        let others = self.seen.keys().filter(|label| near.as_deref() != Some(*label));
        let there: Vec<&str> = near.as_deref().into_iter().chain(others.copied()).collect();
        let help = match &there[..] {
            [] => "nothing happens there".to_string(),
            there => format!("there are: {}", there.join(", ")),
        };
        let title = if words.is_empty() {
            format!("`{hop}` is a hop, and not what happens there")
        } else {
            format!("there is no `{words}` at {hop} in the first {end}")
        };
        Problem::nowhere(title).help(help)
    }
}

/// Whether a label has all of these words, or their beginnings, in any order; `-` and `_` part words, too.
fn fits(label: &str, words: &str) -> bool {
    let split = |text: &str| -> Vec<String> {
        let words = text.split([' ', '-', '_']).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let (wanted, known) = (split(words), split(label));
    !wanted.is_empty() && wanted.iter().all(|word| known.iter().any(|one| one.starts_with(word.as_str())))
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn words_fit_a_label_in_any_order_by_their_beginnings() {
        for words in ["pause", "first strobe", "strobe-first", "FIRST_str"] {
            assert_eq!(fits("first strobe", words), words != "pause", "{words}");
        }
        assert!(!fits("first strobe", "") && !fits("first strobe", "trobe"));
    }
}
