//! The phases of lanes, one after the other: for tables and timelines.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{Label, Observer, Record, Sim, Time, expand};

/// A lane was in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// When it began.
    pub at: Time,
    /// How long it took.
    pub span: Time,
    /// The phase.
    pub phase: &'static Label,
    /// The process that was at it, by number.
    pub who: u16,
}

impl Interval {
    /// When it ended.
    pub fn end(&self) -> Time {
        self.at + self.span
    }
}

/// Collects all records of a run, up to a limit.
#[derive(Clone, Default)]
pub struct Phases(Rc<RefCell<Kept>>);

#[derive(Default)]
struct Kept {
    records: Vec<Record>,
    /// Whether something had no room: nothing that came later is kept then.
    full: bool,
}

/// Records kept, at most (64 MiB).
const RECORDS_MAX: usize = 2 << 20;

impl Observer for Phases {
    fn records(&mut self, batch: &[Record]) {
        let mut kept = self.0.borrow_mut();
        // A train's phases are of no use without all of them.
        kept.full |= kept.records.len() + batch.len() > RECORDS_MAX;
        if !kept.full {
            kept.records.extend(batch);
        }
    }
}

impl Phases {
    /// The phases of the lane named `lane`, in order of time; empty where there is no such lane.
    pub fn of(&self, sim: &Sim, lane: &str) -> Vec<Interval> {
        let number = sim.lanes().iter().position(|(name, _)| name == lane);
        let wanted = |lane: u16| number == Some(usize::from(lane));
        number.map_or_else(Vec::new, |number| self.where_wanted(sim, wanted).swap_remove(number))
    }

    /// The phases of every lane, by number, in order of time.
    pub fn by_lane(&self, sim: &Sim) -> Vec<Vec<Interval>> {
        self.where_wanted(sim, |_| true)
    }

    fn where_wanted(&self, sim: &Sim, wanted: impl Fn(u16) -> bool) -> Vec<Vec<Interval>> {
        let clocks: Vec<Option<Time>> = sim.lanes().into_iter().map(|(_, clock)| clock).collect();
        let mut lanes = vec![Vec::new(); clocks.len()];
        expand(
            &self.0.borrow().records,
            |lane| clocks[usize::from(lane)],
            |span| {
                if let Some(lane) = span.phase_of().filter(|lane| wanted(*lane)) {
                    let interval = Interval { at: span.at, span: span.span, phase: span.label, who: span.who };
                    lanes[usize::from(lane)].push(interval);
                }
            },
        );
        lanes.iter_mut().for_each(|lane| lane.sort_by_key(|interval| interval.at));
        lanes
    }
}
