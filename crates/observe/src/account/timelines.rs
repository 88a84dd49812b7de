//! Timelines: records put in order, a list a lane, and what each process was at.

use hopscope_kernel::{Class, Kind, Label, Rate, Record, Sim, Span, Time, expand, whole};

use super::acts::{Act, Acts};
use super::ledger::{Extent, Ledger, burst};
use super::repeats::{Item, Items, Repeats};

/// A lane was in a phase.
#[derive(Clone, Copy)]
pub(super) struct Interval {
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) phase: &'static Label,
    pub(super) who: u16,
}

/// A lane, as it is accounted for.
pub(super) struct LaneLine {
    pub(super) name: String,
    pub(super) rates: Vec<Rate>,
    /// In order of time, one after the other.
    pub(super) intervals: Vec<Interval>,
}

impl LaneLine {
    /// The part that the lane belongs to.
    pub(super) fn part(&self) -> &str {
        self.name.split('.').next().unwrap_or(&self.name)
    }
}

/// Where something was found, by number: a lane, or a process where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Hop {
    Lane(u16),
    Process(u16),
}

/// What a process was at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// It occupied that lane, or was delayed by its part.
    Work(u16),
    /// It occupied that lane, whose bytes move at the pace of another.
    Through(u16),
    /// It waited for that lane.
    LaneWait(u16),
    /// It waited at a queue, until that process ended the wait.
    QueueWait(u16),
}

impl What {
    /// How much it says, at most, while it is under way.
    pub(crate) const UNDER_WAY: u8 = 3;

    /// How much it says of what kept a process until an instant at which it had ended, or was under way: a wait that had
    /// ended most.
    pub(crate) fn says(self, has_ended: bool) -> u8 {
        match (self, has_ended) {
            (What::LaneWait(_) | What::QueueWait(_), true) => 5,
            (What::Work(_), true) => 4,
            (What::Work(_), false) => What::UNDER_WAY,
            // Rather than a wait of something else that the process does at a time.
            (What::Through(_), true) => 2,
            (What::LaneWait(_) | What::QueueWait(_), false) => 1,
            (What::Through(_), false) => 0,
        }
    }

    /// A phase that its holder waits through says nothing of what it waits for, and neither does a wait that the process
    /// itself has ended, which does several things at once: its other acts do.
    pub(crate) fn of(span: &Span) -> Option<What> {
        Some(match (span.kind, span.label.class) {
            (Kind::Phase(_), Class::Reason | Class::Workload) => return None,
            (Kind::Phase(lane), Class::Through) => What::Through(lane),
            (Kind::Phase(lane) | Kind::Delay(lane), _) => What::Work(lane),
            (Kind::QueueWait(by), _) if by == span.who => return None,
            (Kind::QueueWait(by), _) => What::QueueWait(by),
            (Kind::LaneWait(lane), _) => What::LaneWait(lane),
        })
    }
}

/// A request of a job.
pub(super) struct Transfer {
    pub(super) who: u16,
    pub(super) ended: Time,
}

pub(super) struct Timelines {
    pub(super) lanes: Vec<LaneLine>,
    /// What each process was at.
    pub(super) processes: Vec<Acts>,
    pub(super) names: Vec<String>,
    pub(super) transfers: Vec<Transfer>,
    /// The window, in real time; everything else here is in squeezed time.
    pub(super) from: Time,
    pub(super) until: Time,
    repeats: Repeats,
}

impl Timelines {
    /// Puts the records of a ledger in order. Fails where a lane is in two phases at once.
    pub(super) fn new(sim: &Sim, ledger: &Ledger, all_over: bool) -> Result<Timelines, String> {
        let complete = all_over && !ledger.is_full();
        ledger.read(|pages| Timelines::of(sim, &pages.records, (pages.from, pages.extent), complete))
    }

    fn of(sim: &Sim, records: &[Record], (from, extent): (Time, Extent), complete: bool) -> Result<Timelines, String> {
        let (lanes, names) = (sim.lanes(), sim.processes());
        let clocks: Vec<Option<Time>> = lanes.iter().map(|lane| lane.1).collect();
        let items = Items::of(records, &clocks);
        let (mut effort, mut requests) = (0, 0);
        let affordable = items.iter().take_while(|item| {
            let reached = extent.is_reached(effort as usize, requests);
            effort += item.effort();
            requests += usize::from(matches!(item.head(records), Record::Transfer { .. }));
            !reached
        });
        let within = affordable.count();
        let complete = complete && items.iter().nth(within).is_none();
        let items = || items.iter().take(within);
        let until = known_until(items(), records, &clocks, from, complete).min(sim.now());
        let repeats = Repeats::find(items(), records, &[from, until]);
        let line = |(lane, rates): (&(String, _), _)| LaneLine { name: lane.0.clone(), rates, intervals: Vec::new() };
        let mut lines = Timelines {
            lanes: lanes.iter().zip(sim.rates()).map(line).collect(),
            processes: Vec::new(),
            names,
            transfers: Vec::new(),
            from,
            until,
            repeats,
        };
        let mut acts: Vec<Vec<Act>> = lines.names.iter().map(|_| Vec::new()).collect();
        for (number, item) in items().enumerate() {
            if item.is_train() {
                for (piece, earlier) in lines.repeats.pieces(number, item, records) {
                    let enter = |span: Span| lines.enter(span.at - earlier, span, &mut acts);
                    expand(&piece, |lane| clocks[usize::from(lane)], enter);
                }
            } else {
                let (start, end) = item.times(records);
                let (at, end) = (lines.repeats.squeeze(start), lines.repeats.squeeze(end));
                let mut enter = |whole| lines.enter(at, Span { span: end - at, ..whole }, &mut acts);
                match item.head(records) {
                    Record::Transfer { who, .. } => lines.transfers.push(Transfer { who, ended: end }),
                    one => one.span().into_iter().for_each(&mut enter),
                }
            }
        }
        lines.sort()?;
        lines.processes = acts.into_iter().map(Acts::of).collect();
        Ok(lines)
    }

    /// Enters a span that begins at squeezed time `start`.
    fn enter(&mut self, start: Time, span: Span, acts: &mut [Vec<Act>]) {
        let (end, who) = (start + span.span, span.who);
        if let Some(lane) = span.phase_of() {
            let interval = Interval { start, end, phase: span.label, who };
            self.lanes[usize::from(lane)].intervals.push(interval);
        }
        if let Some(what) = What::of(&span) {
            acts[usize::from(who)].push(Act { start, end, label: span.label, what });
        }
    }

    fn sort(&mut self) -> Result<(), String> {
        for line in &mut self.lanes {
            line.intervals.sort_by_key(|interval| interval.start);
            if let Some(two) = line.intervals.windows(2).find(|two| two[1].start < two[0].end) {
                let (one, other, at) = (two[0].phase.name, two[1].phase.name, self.repeats.real(two[1].start));
                return Err(format!("{} is in `{one}` and in `{other}` at {at}", line.name));
            }
        }
        Ok(())
    }

    /// Real time to squeezed time, for an edge of the window.
    pub(super) fn squeeze(&self, at: Time) -> Time {
        self.repeats.squeeze(at)
    }

    /// What a lane was in within a stretch of time.
    pub(super) fn on_lane(&self, lane: u16, from: Time, until: Time) -> impl Iterator<Item = &Interval> {
        let intervals = &self.lanes[usize::from(lane)].intervals;
        let first = intervals.partition_point(|interval| interval.end <= from);
        intervals[first..].iter().take_while(move |interval| interval.start < until)
    }

    /// Squeezed time to real time.
    pub(super) fn real(&self, at: Time) -> Time {
        self.repeats.real(at)
    }

    /// How much real time a stretch of squeezed time stands for.
    pub(super) fn measure(&self, start: Time, end: Time) -> Time {
        self.repeats.real(end) - self.repeats.real(start)
    }
}

/// A lane says what it was in when that has ended. So what is known ends where the first lane that is still in use
/// falls silent; a lane that fell silent in the first half is not in use any more.
fn known_until<'a>(
    items: impl Iterator<Item = Item<'a>>,
    records: &[Record],
    clocks: &[Option<Time>],
    from: Time,
    complete: bool,
) -> Time {
    let (mut seen, mut last) = (from, vec![Time::ZERO; clocks.len()]);
    for item in items {
        seen = seen.max(item.times(records).1);
        if complete {
            continue;
        }
        for records in item.stretches().flat_map(|stretch| whole(&records[stretch])) {
            let (lane, end) = match records[0] {
                Record::Phase { lane, at, span, .. } => (lane, at + span),
                Record::Train { lane, at, pitch, count, .. } => {
                    let begins = at + pitch * (u64::from(count) - 1);
                    let begins = clocks[usize::from(lane)].map_or(begins, |clock| begins.edge(clock));
                    (lane, begins + burst(&records[1..]))
                }
                _ => continue,
            };
            let last = &mut last[usize::from(lane)];
            *last = end.max(*last);
        }
    }
    if complete {
        return seen;
    }
    let half = from + Time::ps((seen - from).as_ps() / 2);
    last.into_iter().filter(|end| *end >= half).min().map_or(seen, |end| end.min(seen))
}
