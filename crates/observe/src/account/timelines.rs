//! Timelines: records put in order, a list a lane and a few lists a process.

use std::cell::Cell;

use hopscope_kernel::{Class, Kind, Label, Rate, Record, Sim, Span, Time, expand};

use super::ledger::{Extent, Ledger};
use super::repeats::{self, Item, Repeats};

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

/// What a process was at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// It occupied a lane, or was delayed.
    Work,
    /// It occupied a lane whose bytes move at the pace of another.
    Through,
    /// It waited for a lane.
    LaneWait,
    /// It waited at a queue, until that process ended the wait.
    QueueWait(u16),
}

impl What {
    /// A phase that its holder waits through says nothing of what it waits for, and neither does a wait that the process
    /// itself has ended, which does several things at once: its other acts do.
    pub(crate) fn of(span: &Span) -> Option<What> {
        Some(match (span.kind, span.label.class) {
            (Kind::Phase, Class::Reason | Class::Workload) => return None,
            (Kind::Phase, Class::Through) => What::Through,
            (Kind::Phase | Kind::Delay, _) => What::Work,
            (Kind::Wait, _) if span.by == span.who => return None,
            (Kind::Wait, _) if span.by != u16::MAX => What::QueueWait(span.by),
            (Kind::Wait, _) => What::LaneWait,
            _ => return None,
        })
    }
}

/// A process was at something.
#[derive(Clone, Copy)]
pub(super) struct Act {
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) label: &'static Label,
    pub(super) lane: u16,
    pub(super) what: What,
}

/// What a process was at on one lane, or in one kind of wait: one after the other, in order of time.
pub(super) struct Track {
    key: TrackKey,
    pub(super) acts: Vec<Act>,
    /// Where the last search ended: the next one is for an instant close by.
    near: Cell<usize>,
}

impl Track {
    /// The first act that ends at `at` or later.
    pub(super) fn first_ending(&self, at: Time) -> usize {
        let (acts, mut near) = (&self.acts, self.near.get());
        let mut steps = 0;
        while steps < SEARCH_STEPS && near > 0 && acts[near - 1].end >= at {
            (near, steps) = (near - 1, steps + 1);
        }
        while steps < SEARCH_STEPS && near < acts.len() && acts[near].end < at {
            (near, steps) = (near + 1, steps + 1);
        }
        if steps == SEARCH_STEPS {
            near = acts.partition_point(|act| act.end < at);
        }
        self.near.set(near);
        near
    }
}

/// After so many steps a search starts afresh, by halves.
const SEARCH_STEPS: usize = 16;

/// A request of a job.
pub(super) struct Transfer {
    pub(super) who: u16,
    pub(super) ended: Time,
}

pub(super) struct Timelines {
    pub(super) lanes: Vec<LaneLine>,
    pub(super) processes: Vec<Vec<Track>>,
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
        let mut items = repeats::items(records, &clocks);
        let (mut effort, mut requests) = (0, 0);
        let affordable = items.iter().take_while(|item| {
            let reached = extent.is_reached(effort as usize, requests);
            effort += item.effort();
            requests += usize::from(records[item.first].kind == Kind::Transfer);
            !reached
        });
        let within = affordable.count();
        let complete = complete && within == items.len();
        items.truncate(within);
        let until = known_until(&items, records, &clocks, from, complete).min(sim.now());
        let repeats = Repeats::find(&items, &[from, until]);
        let line = |(lane, rates): (&(String, _), _)| LaneLine { name: lane.0.clone(), rates, intervals: Vec::new() };
        let mut lines = Timelines {
            lanes: lanes.iter().zip(sim.rates()).map(line).collect(),
            processes: names.iter().map(|_| Vec::new()).collect(),
            names,
            transfers: Vec::new(),
            from,
            until,
            repeats,
        };
        for (number, item) in items.iter().enumerate() {
            if item.is_train() {
                for (piece, earlier) in lines.repeats.pieces(number, item, records) {
                    expand(&piece, |lane| clocks[usize::from(lane)], |span| lines.enter(span.at - earlier, span));
                }
            } else {
                let at = lines.repeats.squeeze(item.start);
                let span = lines.repeats.squeeze(item.end) - at;
                expand(&records[item.first..=item.last], |_| None, |whole| lines.enter(at, Span { span, ..whole }));
            }
        }
        lines.sort()?;
        Ok(lines)
    }

    /// Enters a span that begins at squeezed time `start`.
    fn enter(&mut self, start: Time, span: Span) {
        let (end, who) = (start + span.span, span.who);
        if span.kind == Kind::Transfer {
            self.transfers.push(Transfer { who, ended: end });
            return;
        }
        if span.kind == Kind::Phase {
            let interval = Interval { start, end, phase: span.label, who };
            self.lanes[usize::from(span.lane)].intervals.push(interval);
        }
        if let Some(what) = What::of(&span) {
            let act = Act { start, end, label: span.label, lane: span.lane, what };
            track(&mut self.processes[usize::from(who)], &span).push(act);
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
        for tracks in &mut self.processes {
            tracks.sort_by_key(|track| track.key);
            tracks.iter_mut().for_each(|track| track.acts.sort_by_key(|act| (act.end, act.start)));
        }
        Ok(())
    }

    /// Real time to squeezed time, for an edge of the window.
    pub(super) fn squeeze(&self, at: Time) -> Time {
        self.repeats.squeeze(at)
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
fn known_until(items: &[Item], records: &[Record], clocks: &[Option<Time>], from: Time, complete: bool) -> Time {
    let seen = items.iter().map(|item| item.end).max().unwrap_or(from).max(from);
    if complete {
        return seen;
    }
    let mut last = vec![Time::ZERO; clocks.len()];
    for (position, record) in items.iter().flat_map(Item::positions).map(|position| (position, &records[position])) {
        let Some(last) = last.get_mut(usize::from(record.lane)) else { continue };
        let end = match record.kind {
            Kind::Phase => record.at + record.span,
            Kind::TrainHead => {
                let begins = record.at + record.span * (u64::from(record.count) - 1);
                let phases = &records[position + 1..=position + usize::from(record.phases)];
                let length = phases.iter().fold(Time::ZERO, |sum, phase| sum + phase.span);
                clocks[usize::from(record.lane)].map_or(begins, |clock| begins.edge(clock)) + length
            }
            _ => continue,
        };
        *last = end.max(*last);
    }
    let half = from + Time::ps((seen - from).as_ps() / 2);
    last.into_iter().filter(|end| *end >= half).min().map_or(seen, |end| end.min(seen))
}

/// Lane, kind, and the name of a wait or delay, of which one process may have several at once.
type TrackKey = (u16, Kind, &'static str);

/// The track that a span belongs to.
fn track<'a>(tracks: &'a mut Vec<Track>, span: &Span) -> &'a mut Vec<Act> {
    let key = (span.lane, span.kind, if span.kind == Kind::Phase { "" } else { span.label.name });
    let same = |track: &Track| {
        (track.key.0, track.key.1) == (key.0, key.1) && std::ptr::eq(track.key.2.as_ptr(), key.2.as_ptr())
    };
    let known = tracks.iter().position(same).unwrap_or_else(|| {
        tracks.push(Track { key, acts: Vec::new(), near: Cell::new(0) });
        tracks.len() - 1
    });
    &mut tracks[known].acts
}
