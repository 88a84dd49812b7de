//! Traces: what processes were at lately, for whom, and what lanes were in. As much is kept as the lives of the requests
//! in flight may still ask for.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroU32;

use hopscope_kernel::{Class, Errand, Kind, Label, PassedOn, Span, Time};

use crate::account::{Hop, What};
use crate::search::first_from;

/// A process was at something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Act {
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) label: &'static Label,
    pub(super) what: What,
    /// In which of the process's turns.
    pub(super) turn: u64,
    /// The first beginning of it and of all that are behind it in the order: what begins later begins after that.
    begins: Time,
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
    /// Lanes or processes, what they were in, and how long.
    pub(super) sums: Vec<(Hop, &'static Label, Time)>,
    /// Those for whom it was service.
    pub(super) served: BTreeSet<NonZeroU32>,
}

impl Summary {
    pub(super) fn add(&mut self, hop: Hop, label: &'static Label, time: Time) {
        match self.sums.iter_mut().find(|sum| sum.0 == hop && sum.1 == label) {
            Some(sum) => sum.2 += time,
            None => self.sums.push((hop, label, time)),
        }
    }
}

/// A process works for the same requests, from an instant until the next turn.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) at: Time,
    pub(super) members: Vec<PassedOn>,
    /// Whether anything was done in it.
    begun: bool,
}

impl Turn {
    pub(super) fn member(&self, request: NonZeroU32) -> Option<PassedOn> {
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
    /// The place where an act was looked for last: a life is told backwards, and the next one is mostly close by.
    looked_at: Cell<usize>,
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

/// The request that was made last: requests are numbered as they are made, and taken up then. Whoever works for an older
/// one that is not open works for one that has ended.
#[derive(Default)]
pub(super) struct Newest(u32);

impl Newest {
    /// Whether a request was made later; then it is the newest.
    pub(super) fn is_before(&mut self, request: NonZeroU32) -> bool {
        let newer = (request.get() + Errand::REQUESTS_MAX - self.0) % Errand::REQUESTS_MAX;
        let is_later = (1..Errand::REQUESTS_MAX / 2).contains(&newer);
        if is_later {
            self.0 = request.get();
        }
        is_later
    }
}

/// What a lane was in.
#[derive(Default)]
struct Line {
    /// In order of their ends.
    phases: VecDeque<Interval>,
    /// As of a process.
    looked_at: Cell<usize>,
}

/// What was recorded lately.
#[derive(Default)]
pub(super) struct Traces {
    processes: Vec<Process>,
    lanes: Vec<Line>,
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
    pub(super) fn turn_for(&self, request: NonZeroU32, at: Time, below: u64) -> Option<u64> {
        let last = self.last_turn(at)?.min(below.checked_sub(1)?);
        (self.first_turn..=last).rev().find(|number| self.works_for(*number, request))
    }

    /// The turn for a request that the process was in at `at`, or ended then.
    pub(super) fn turn_at(&self, request: NonZeroU32, at: Time) -> Option<u64> {
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
        let place = place_of(&self.acts, |other| other.end <= act.end);
        act.begins = self.acts.get(place).map_or(act.start, |next| next.begins.min(act.start));
        let before = self.acts.range_mut(..place).rev();
        before.take_while(|other| other.begins > act.start).for_each(|other| other.begins = act.start);
        let reaches = place.checked_sub(1).is_some_and(|before| self.acts[before].end > act.start);
        if place < self.acts.len() || reaches {
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
        put(&mut self.acts, place, act);
    }

    /// Chapters within a stretch, the last one first.
    pub(super) fn chapters(&self, from: Time, until: Time) -> impl Iterator<Item = &Chapter> {
        let first = self.chapters.partition_point(|chapter| chapter.start < from);
        let behind = self.chapters.partition_point(|chapter| chapter.end <= until).max(first);
        self.chapters.range(first..behind).rev()
    }

    fn works_for(&self, number: u64, request: NonZeroU32) -> bool {
        self.turn(number).is_some_and(|turn| turn.member(request).is_some())
    }

    /// The place of the first act that ends at `at` or later, looked for from some place on.
    pub(super) fn first_ending(&self, at: Time, near: usize) -> usize {
        first_from(near, self.acts.len(), |place| self.acts[place].end < at)
    }

    /// What the process was at just before `at`, or ended then: what ended last; of those the wait, then the work.
    /// In that turn only, where one is given.
    pub(super) fn act_before(&self, at: Time, turn: Option<u64>) -> Option<Act> {
        let after = self.first_ending(at, self.looked_at.get());
        self.looked_at.set(after);
        self.act_from(after, at, turn)
    }

    /// The same, `after` being the place of the first act that ends at `at` or later.
    pub(super) fn act_from(&self, after: usize, at: Time, turn: Option<u64>) -> Option<Act> {
        let begun = turn.and_then(|turn| self.turn(turn)).map(|turn| turn.at);
        let of_turn = |act: &&Act| act.start < at && turn.is_none_or(|turn| act.turn == turn);
        let mut last: Option<(u8, &Act)> = None;
        for act in self.acts.range(after..).take(LOOKED_AT) {
            if act.begins >= at {
                break;
            }
            if !of_turn(&act) {
                continue;
            }
            // It ends at that instant, or is still under way then.
            let rank = act.what.says(act.end == at);
            if last.is_none_or(|(most, last)| (rank, act.start) >= (most, last.start)) {
                last = Some((rank, act));
            }
            // What ends later says less.
            if act.end > at && last.is_some_and(|(most, _)| most > What::UNDER_WAY) {
                break;
            }
        }
        if let Some((_, act)) = last {
            return Some(Act { end: at, ..*act });
        }
        let before = self.acts.range(..after).rev();
        let mut ended = before.take_while(|act| begun.is_none_or(|begun| act.end > begun)).filter(of_turn);
        let last = *ended.next()?;
        let same = ended.take_while(|act| act.end == last.end).copied().chain([last]);
        let rank = |act: &Act| match act.what {
            What::LaneWait(_) | What::QueueWait(_) => 2,
            What::Work(_) => 1,
            What::Through(_) => 0,
        };
        same.max_by_key(|act| (rank(act), act.start))
    }
}

/// The place behind all of which something is true: mostly at the end.
fn place_of<T>(line: &VecDeque<T>, is_before: impl Fn(&T) -> bool) -> usize {
    first_from(line.len(), line.len(), |place| is_before(&line[place]))
}

fn put<T>(line: &mut VecDeque<T>, place: usize, what: T) {
    if place == line.len() { line.push_back(what) } else { line.insert(place, what) }
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
            lanes: std::iter::repeat_with(Line::default).take(lanes).collect(),
        }
    }

    pub(super) fn process(&self, number: u16) -> &Process {
        &self.processes[usize::from(number)]
    }

    /// For whom a process works now.
    pub(super) fn members(&self, who: u16) -> &[PassedOn] {
        self.process(who).turns.back().map_or(&[], |turn| &turn.members)
    }

    /// Process `who` takes up a request, or works for nobody; besides those before where it does so `too`.
    pub(super) fn take_up(&mut self, who: u16, at: Time, member: Option<PassedOn>, too: bool) {
        let process = &mut self.processes[usize::from(who)];
        let known = member.is_some_and(|m| process.turns.back().is_some_and(|turn| turn.member(m.request).is_some()));
        match process.turns.back_mut().filter(|_| too) {
            // It works for it already.
            Some(_) if known => {}
            Some(turn) if !turn.begun && turn.at == at => turn.members.extend(member),
            Some(turn) => {
                // Those before come from this process itself.
                let kept = |m: &PassedOn| PassedOn { since: at, by: who, ..*m };
                let members = turn.members.iter().map(kept).chain(member).collect();
                process.turns.push_back(Turn { at, members, begun: false });
            }
            None => {
                let members = member.into_iter().collect();
                process.turns.push_back(Turn { at, members, begun: false });
            }
        }
    }

    /// A span of a lane or a process; whether anybody will ask for it.
    pub(super) fn enter(&mut self, span: &Span, is_kept: bool) {
        let (start, end) = (span.at, span.at + span.span);
        let process = &mut self.processes[usize::from(span.who)];
        let turn = (process.first_turn + process.turns.len() as u64).checked_sub(1).unwrap_or(u64::MAX);
        if let Some(lane) = span.phase_of().filter(|_| is_kept) {
            let phases = &mut self.lanes[usize::from(lane)].phases;
            let place = place_of(phases, |interval| interval.end <= end);
            put(phases, place, Interval { start, end, phase: span.label, who: span.who, turn });
        }
        // What a request waited for in line is said of the request, not of whoever takes it up.
        let waits = matches!(span.kind, Kind::LaneWait(_) | Kind::QueueWait(_));
        let waited_in_line = waits && span.label.class == Class::Queued;
        let Some(what) = What::of(span).filter(|_| !waited_in_line) else { return };
        if let Some(turn) = process.turns.back_mut() {
            turn.begun = true;
        }
        if is_kept {
            process.enter(Act { start, end, label: span.label, what, turn, begins: start });
        }
    }

    /// The phases of a lane within a stretch, in order.
    pub(super) fn phases(&self, lane: u16, from: Time, until: Time) -> impl Iterator<Item = Interval> + '_ {
        let Line { phases, looked_at } = &self.lanes[usize::from(lane)];
        let first = first_from(looked_at.get(), phases.len(), |place| phases[place].end <= from);
        looked_at.set(first);
        let within = phases.range(first..).take_while(move |interval| interval.start < until);
        within.map(move |i| Interval { start: i.start.max(from), end: i.end.min(until), ..*i })
    }

    /// Spans that are kept, those of lanes twice.
    pub(super) fn kept(&self) -> usize {
        let acts: usize = self.processes.iter().map(|process| process.acts.len()).sum();
        acts + self.lanes.iter().map(|line| line.phases.len()).sum::<usize>()
    }

    /// No life is asked for any more, only whom processes work for.
    pub(super) fn let_go(&mut self) {
        self.lanes.iter_mut().for_each(|line| *line = Line::default());
        for process in &mut self.processes {
            let turns = std::mem::take(&mut process.turns);
            *process = Process { turns, first_turn: process.first_turn, ..Process::default() };
        }
    }

    /// Nothing before `at` is asked for any more.
    pub(super) fn forget(&mut self, at: Time) {
        for line in &mut self.lanes {
            while line.phases.front().is_some_and(|interval| interval.end < at) {
                line.phases.pop_front();
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

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::super::draw;
    use super::*;

    static WORK: Label = Label::protocol("address");

    /// What an act says just before `at`: the rule, without any order of acts.
    fn says(act: &Act, at: Time) -> (bool, Time, u8, Time) {
        let [through, wait, work] = match act.end.cmp(&at) {
            // What ended earlier, by its end.
            Ordering::Less => [0, 2, 1],
            Ordering::Equal => [2, 5, 4],
            Ordering::Greater => [0, 1, 3],
        };
        let rank = match act.what {
            What::Through(_) => through,
            What::LaneWait(_) | What::QueueWait(_) => wait,
            What::Work(_) => work,
        };
        (act.end >= at, act.end.min(at), rank, act.start)
    }

    #[test]
    fn an_act_before_an_instant_is_found_from_anywhere_as_by_looking_at_all() {
        let mut state = 7;
        let mut draw = |below| draw(&mut state, below);
        let (mut far, mut under_way_behind_an_end) = (0, 0);
        for system in 0..60 {
            let mut process = Process::default();
            let mut now = 100;
            for _ in 0..150 {
                now += draw(6);
                let length = 1 + draw(if system % 3 == 0 { 90 } else { 6 });
                let what = [What::Work(0), What::Through(1), What::LaneWait(2), What::QueueWait(3)][draw(4) as usize];
                let (start, end) = (Time::ps(now.saturating_sub(length)), Time::ps(now));
                process.enter(Act { start, end, label: &WORK, what, turn: 0, begins: start });
            }
            let mut near = usize::MAX;
            for at in (0..now + 9).rev().map(Time::ps) {
                let place = process.first_ending(at, near);
                assert_eq!(place, process.acts.partition_point(|act| act.end < at), "system {system}, {at}");
                if draw(if system % 2 == 0 { 3 } else { 90 }) == 0 {
                    near = place;
                }
                far += u32::from(near != usize::MAX && near > place + 16);
                let begun = || process.acts.iter().filter(|act| act.start < at);
                let expected = begun().map(|act| says(act, at)).max();
                let ends = begun().any(|act| act.end == at && !matches!(act.what, What::Through(_)));
                under_way_behind_an_end += u32::from(ends && begun().any(|act| act.end > at));
                let found = process.act_from(place, at, None).map(|found| {
                    let same =
                        |act: &&Act| act.start == found.start && act.what == found.what && act.end.min(at) == found.end;
                    begun().filter(same).map(|act| says(act, at)).max().expect("it was entered")
                });
                assert_eq!(found, expected, "system {system}, {at}");
                let said = |act: Option<Act>| act.map(|act| (act.start, act.end, act.what));
                let (found, again) = (process.act_from(place, at, None), process.act_before(at, None));
                assert_eq!(said(again), said(found), "system {system}, {at}: from where the last one was");
            }
        }
        assert!(far > 100 && under_way_behind_an_end > 1_000, "{far}, {under_way_behind_an_end}");
    }
}
