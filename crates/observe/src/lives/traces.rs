//! Traces: what processes were at lately, for whom, and what lanes were in. As much is kept as the lives of the requests
//! in flight may still ask for.

use std::cell::OnceCell;
use std::collections::{BTreeSet, VecDeque};

use hopscope_kernel::{Class, Kind, Label, Record, Span, Time};

use crate::account::What;

/// A process was at something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Act {
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) label: &'static Label,
    pub(super) lane: u16,
    pub(super) what: What,
    /// In which of the process's turns.
    pub(super) turn: u64,
    /// Whether an act that ended later, or is further behind in the order, began before the end of this one.
    covered: bool,
}

/// A stretch of acts that none other reaches into, up to the next one: what it was to whoever waited for it is found out
/// once.
pub(super) struct Chapter {
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) summary: OnceCell<Summary>,
}

/// What a process was at over a chapter, for all those for whom it was not.
pub(super) struct Summary {
    /// Lanes, what they were in, and how long.
    pub(super) sums: Vec<(u16, &'static Label, Time)>,
    /// Those for whom it was service.
    pub(super) served: BTreeSet<u32>,
}

impl Summary {
    pub(super) fn add(&mut self, lane: u16, label: &'static Label, time: Time) {
        match self.sums.iter_mut().find(|sum| sum.0 == lane && std::ptr::eq(sum.1, label)) {
            Some(sum) => sum.2 += time,
            None => self.sums.push((lane, label, time)),
        }
    }
}

/// A request that a process works for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) request: u32,
    /// When it was passed on, and by whom.
    pub(super) since: Time,
    pub(super) by: u16,
}

/// A process works for the same requests, from an instant until the next turn.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) at: Time,
    pub(super) members: Vec<Member>,
    /// Whether anything was done in it.
    begun: bool,
}

impl Turn {
    pub(super) fn member(&self, request: u32) -> Option<Member> {
        self.members.iter().find(|member| member.request == request).copied()
    }
}

/// What one process was at, and for whom.
#[derive(Default)]
pub(super) struct Process {
    /// In order of their ends.
    acts: VecDeque<Act>,
    /// In order, and with gaps where acts reach into each other.
    chapters: VecDeque<Chapter>,
    /// When the next chapter began, and how many acts it has.
    chapter: (Time, usize),
    turns: VecDeque<Turn>,
    /// The number of the first turn that is kept.
    first_turn: u64,
}

/// A lane was in a phase.
#[derive(Clone, Copy)]
pub(super) struct Interval {
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) phase: &'static Label,
    /// By which process, and in which of its turns.
    pub(super) who: u16,
    pub(super) turn: u64,
}

/// What was recorded lately.
#[derive(Default)]
pub(super) struct Traces {
    processes: Vec<Process>,
    /// Phases of each lane, in order of their ends.
    lanes: Vec<VecDeque<Interval>>,
}

impl Process {
    /// The last turn that began at or before `at`, with its number.
    fn last_turn(&self, at: Time) -> Option<u64> {
        let after = self.turns.partition_point(|turn| turn.at <= at);
        (after > 0).then(|| self.first_turn + after as u64 - 1)
    }

    pub(super) fn turn(&self, number: u64) -> Option<&Turn> {
        self.turns.get(number.checked_sub(self.first_turn)? as usize)
    }

    /// The last turn for a request that began at or before `at`, of those with a number below.
    pub(super) fn turn_for(&self, request: u32, at: Time, below: u64) -> Option<u64> {
        let last = self.last_turn(at)?.min(below.checked_sub(1)?);
        (self.first_turn..=last).rev().find(|number| self.works_for(*number, request))
    }

    /// The turn for a request that the process was in at `at`, or ended then.
    pub(super) fn turn_at(&self, request: u32, at: Time) -> Option<u64> {
        let last = self.last_turn(at)?;
        for number in (self.first_turn..=last).rev() {
            if self.works_for(number, request) {
                return Some(number);
            }
            if self.turn(number).is_none_or(|turn| turn.at < at) {
                return None;
            }
        }
        None
    }

    fn enter(&mut self, mut act: Act) {
        let later = self.acts.iter().rev().take_while(|other| other.end > act.end).count();
        let place = self.acts.len() - later;
        act.covered = self.acts.range(place..).any(|other| other.start < act.end);
        let mut reached = self.acts.range_mut(..place).rev().take_while(|other| other.end > act.start).peekable();
        if later > 0 || reached.peek().is_some() {
            reached.for_each(|other| other.covered = true);
            while let Some(reached) = self.chapters.back().filter(|chapter| chapter.end > act.start) {
                self.chapter.0 = reached.start;
                self.chapters.pop_back();
            }
            if act.start < self.chapter.0 {
                // It reaches back behind all that is kept.
                self.chapter = (self.acts.back().map_or(act.end, |last| last.end).max(act.end), 0);
            }
        } else if let Some(last) = self.acts.back().filter(|_| self.chapter.1 >= CHAPTER) {
            let (start, end) = (self.chapter.0, last.end);
            self.chapters.push_back(Chapter { start, end, summary: OnceCell::new() });
            self.chapter = (end, 0);
        }
        self.chapter.1 += 1;
        self.acts.insert(place, act);
    }

    /// Chapters within a stretch, the last one first.
    pub(super) fn chapters(&self, from: Time, until: Time) -> impl Iterator<Item = &Chapter> {
        let first = self.chapters.partition_point(|chapter| chapter.start < from);
        let behind = self.chapters.partition_point(|chapter| chapter.end <= until).max(first);
        self.chapters.range(first..behind).rev()
    }

    fn works_for(&self, number: u64, request: u32) -> bool {
        self.turn(number).is_some_and(|turn| turn.member(request).is_some())
    }

    /// What the process was at just before `at`, or ended then: what ended last; of those the wait, then the work.
    /// In that turn only, where one is given.
    pub(super) fn act_before(&self, at: Time, turn: Option<u64>) -> Option<Act> {
        let begun = turn.and_then(|turn| self.turn(turn)).map(|turn| turn.at);
        let of_turn = |act: &&Act| act.start < at && turn.is_none_or(|turn| act.turn == turn);
        let after = self.acts.partition_point(|act| act.end < at);
        // What ends at that instant or is still under way then.
        let mut goes_on = true;
        let reaching = |act: &&Act| std::mem::replace(&mut goes_on, act.covered);
        let under_way = self.acts.range(after..).take(LOOKED_AT).take_while(reaching).filter(of_turn);
        let rank = |act: &Act| match (act.what, act.end == at) {
            (What::LaneWait | What::QueueWait(_), true) => 5,
            (What::Work, true) => 4,
            (What::Work, false) => 3,
            (What::Through, true) => 2,
            (What::LaneWait | What::QueueWait(_), false) => 1,
            (What::Through, false) => 0,
        };
        if let Some(act) = under_way.max_by_key(|act| (rank(act), act.start)) {
            return Some(Act { end: at, ..*act });
        }
        let before = self.acts.range(..after).rev();
        let mut ended = before.take_while(|act| begun.is_none_or(|begun| act.end > begun)).filter(of_turn);
        let last = *ended.next()?;
        let same = ended.take_while(|act| act.end == last.end).copied().chain([last]);
        let rank = |act: &Act| match act.what {
            What::LaneWait | What::QueueWait(_) => 2,
            What::Work => 1,
            What::Through => 0,
        };
        same.max_by_key(|act| (rank(act), act.start))
    }
}

/// Acts that are under way at an instant, at most, of one process.
const LOOKED_AT: usize = 64;
/// Acts of a chapter, at least.
const CHAPTER: usize = 96;

impl Traces {
    /// Nothing yet, of so many processes and lanes.
    pub(super) fn new(processes: usize, lanes: usize) -> Traces {
        Traces {
            processes: std::iter::repeat_with(Process::default).take(processes).collect(),
            lanes: std::iter::repeat_with(VecDeque::default).take(lanes).collect(),
        }
    }

    pub(super) fn process(&self, number: u16) -> &Process {
        &self.processes[usize::from(number)]
    }

    /// For whom a process works now.
    pub(super) fn members(&self, who: u16) -> &[Member] {
        self.process(who).turns.back().map_or(&[], |turn| &turn.members)
    }

    /// A process takes up a request, besides those before where it does so `too`.
    pub(super) fn take_up(&mut self, record: &Record, too: bool) {
        let process = &mut self.processes[usize::from(record.who)];
        let (request, since) = (record.request(), record.at - record.span);
        let member = (request != 0).then_some(Member { request, since, by: record.count });
        let known = member.is_some_and(|m| process.turns.back().is_some_and(|turn| turn.member(m.request).is_some()));
        match process.turns.back_mut().filter(|_| too) {
            // It works for it already.
            Some(_) if known => {}
            Some(turn) if !turn.begun && turn.at == record.at => turn.members.extend(member),
            Some(turn) => {
                // Those before come from this process itself.
                let kept = |m: &Member| Member { since: record.at, by: record.who, ..*m };
                let members = turn.members.iter().map(kept).chain(member).collect();
                process.turns.push_back(Turn { at: record.at, members, begun: false });
            }
            None => {
                let members = member.into_iter().collect();
                process.turns.push_back(Turn { at: record.at, members, begun: false });
            }
        }
    }

    /// A span of a lane or a process.
    pub(super) fn enter(&mut self, span: &Span) {
        let (start, end) = (span.at, span.at + span.span);
        let process = &mut self.processes[usize::from(span.who)];
        let turn = (process.first_turn + process.turns.len() as u64).checked_sub(1).unwrap_or(u64::MAX);
        if span.kind == Kind::Phase {
            let line = &mut self.lanes[usize::from(span.lane)];
            let after = line.iter().rev().take_while(|interval| interval.end > end).count();
            line.insert(line.len() - after, Interval { start, end, phase: span.label, who: span.who, turn });
        }
        // What a request waited for in line is said of the request, not of whoever takes it up.
        let waited_in_line = span.kind == Kind::Wait && span.label.class == Class::Queued;
        let Some(what) = What::of(span).filter(|_| !waited_in_line) else { return };
        if let Some(turn) = process.turns.back_mut() {
            turn.begun = true;
        }
        process.enter(Act { start, end, label: span.label, lane: span.lane, what, turn, covered: false });
    }

    /// The phases of a lane within a stretch, in order.
    pub(super) fn phases(&self, lane: u16, from: Time, until: Time) -> impl Iterator<Item = Interval> + '_ {
        let line = &self.lanes[usize::from(lane)];
        let first = line.partition_point(|interval| interval.end <= from);
        let within = line.range(first..).take_while(move |interval| interval.start < until);
        within.map(move |i| Interval { start: i.start.max(from), end: i.end.min(until), ..*i })
    }

    /// Nothing before `at` is asked for any more.
    pub(super) fn forget(&mut self, at: Time) {
        for line in &mut self.lanes {
            while line.front().is_some_and(|interval| interval.end < at) {
                line.pop_front();
            }
        }
        for process in &mut self.processes {
            while process.acts.front().is_some_and(|act| act.end < at) {
                process.acts.pop_front();
            }
            while process.chapters.front().is_some_and(|chapter| chapter.start < at) {
                process.chapters.pop_front();
            }
            // A turn lasts until the next one.
            while process.turns.get(1).is_some_and(|next| next.at < at) {
                process.turns.pop_front();
                process.first_turn += 1;
            }
        }
    }
}
