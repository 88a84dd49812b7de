//! The walk: a request's own life, from its completion back to its issue.
//!
//! It goes from process to process as the errand was passed on, backwards. Where the process that had it worked, that is
//! service; where it waited for a lane, whatever was on the lane kept it; where it waited for something that another
//! process did for the same request, that one's way is the request's (of parallel pieces the last one decides); where it
//! stood in line, whatever the process did that took it up; service again where it did another piece of the request.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use hopscope_kernel::{Class, Label, Time};

use super::traces::{Act, Chapter, Summary, Traces};
use crate::account::{Hop, What};

/// From the moment at which a request was passed on until it was taken up.
pub(super) static IN_LINE: Label = Label::reason("in line");
/// No process says what it was at: a part that spends time without a name.
pub(super) static UNSAID: Label = Label::reason("unsaid");

/// What a stretch of a life was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StageKind {
    /// A hop worked for this request.
    Service,
    /// A hop worked for this request and for others at once.
    Shared,
    /// The request waited for a hop.
    Wait,
}

/// Where a stretch of a life was spent, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) hop: Hop,
    pub(super) kind: StageKind,
    /// Of service the phase, of a wait its reason.
    pub(super) phase: &'static Label,
    /// What the hop that was waited for was doing.
    pub(super) behind: Option<&'static Label>,
}

/// Waits that lead to waits, at most.
const DEPTH_MAX: usize = 256;
/// Steps back that take no time, at most.
const STEPS_MAX: usize = 1_000;

/// Whoever is told of a life, the last of it first.
pub(super) trait Told {
    /// So long was spent at a place. Within a stretch places come in any order.
    fn place(&mut self, place: Place, time: Time);

    /// What the process that had the request was at, and where nothing else was the request's way. Whether it is asked for
    /// what was behind it, place by place.
    fn stretch(&mut self, stretch: Stretch) -> bool;
}

impl<F: FnMut(Place, Time)> Told for F {
    fn place(&mut self, place: Place, time: Time) {
        self(place, time);
    }

    fn stretch(&mut self, _: Stretch) -> bool {
        true
    }
}

/// What the process that had a request was at for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// When it began, or the request was issued.
    pub from: Time,
    /// When it ended.
    pub until: Time,
    /// Service, or a wait.
    pub kind: StageKind,
    /// Of service the phase, of a wait its reason.
    pub label: &'static Label,
    /// The lane that worked or was waited for, by number; none where it was a process that was waited for.
    pub lane: Option<u16>,
    /// The process that had the request, by number; in line, the one that took it up.
    pub who: u16,
}

/// Walks back through the traces; `told` is told of all of the life. Its places add up to it, and so do its stretches.
pub(super) struct Walk<'a, T: Told> {
    pub(super) traces: &'a Traces,
    pub(super) request: NonZeroU32,
    pub(super) issued: Time,
    pub(super) told: T,
}

impl<T: Told> Walk<'_, T> {
    /// From `at` on, when process `who` had the request.
    pub(super) fn back(&mut self, who: u16, at: Time) {
        let (mut who, mut at) = (who, at);
        let mut turn = self.traces.process(who).turn_for(self.request, at, u64::MAX);
        let mut steps = 0;
        while at > self.issued {
            let before = at;
            let Some((number, member, began)) = turn.and_then(|number| {
                let turn = self.traces.process(who).turn(number)?;
                Some((number, turn.member(self.request)?, turn.at))
            }) else {
                return self.unsaid(who, self.issued, at);
            };
            if at <= began {
                self.in_line(who, member.since.max(self.issued), at);
                at = at.min(member.since);
                // Whoever passes it on to itself had it in an earlier turn.
                let below = if member.by == who { number } else { u64::MAX };
                who = member.by;
                turn = self.traces.process(who).turn_for(self.request, at, below);
            } else {
                let act = self.traces.process(who).act_before(at, Some(number)).filter(|act| act.end > began);
                let end = act.map_or(began, |act| act.end);
                if end < at {
                    self.unsaid(who, end.max(self.issued), at);
                    at = end;
                }
                if let Some(act) = act {
                    match self.child(&act) {
                        Some((child, of)) => (who, turn) = (child, Some(of)),
                        None => {
                            self.act(&act, number, who);
                            at = act.start;
                        }
                    }
                }
            }
            steps = if at < before { 0 } else { steps + 1 };
            if steps > STEPS_MAX {
                return self.unsaid(who, self.issued, at);
            }
        }
    }

    /// Who ended a wait at a queue, where that one worked for the same request.
    fn child(&self, act: &Act) -> Option<(u16, u64)> {
        let What::QueueWait(by) = act.what else { return None };
        self.traces.process(by).turn_at(self.request, act.end).map(|turn| (by, turn))
    }

    /// What the process that had the request was at.
    fn act(&mut self, act: &Act, turn: u64, who: u16) {
        let (from, until) = (act.start.max(self.issued), act.end);
        let (lane, works) = match act.what {
            What::Work(lane) | What::Through(lane) => (Some(lane), true),
            What::LaneWait(lane) => (Some(lane), false),
            What::QueueWait(_) => (None, false),
        };
        let works = works.then(|| self.works(who, turn));
        let kind = works.map_or(StageKind::Wait, |works| works.unwrap_or(StageKind::Service));
        if from >= until || !self.told.stretch(Stretch { from, until, kind, label: act.label, lane, who }) {
            return;
        }
        match act.what {
            What::Work(lane) | What::Through(lane) => {
                let place = Place { hop: Hop::Lane(lane), kind, phase: act.label, behind: None };
                self.say(place, until.saturating_sub(from));
            }
            What::LaneWait(lane) => self.at_lane(lane, act.label, from, until),
            What::QueueWait(by) => self.behind(by, act.label, from, until),
        }
    }

    /// Whether a process worked for the request in that turn, and for others at once.
    fn works(&self, who: u16, turn: u64) -> Option<StageKind> {
        let turn = self.traces.process(who).turn(turn).filter(|turn| turn.member(self.request).is_some())?;
        Some(if turn.members.len() > 1 { StageKind::Shared } else { StageKind::Service })
    }

    /// The request stood in line until `who` took it up.
    fn in_line(&mut self, who: u16, from: Time, until: Time) {
        let stretch = Stretch { from, until, kind: StageKind::Wait, label: &IN_LINE, lane: None, who };
        if from < until && self.told.stretch(stretch) {
            self.behind(who, &IN_LINE, from, until);
        }
    }

    /// A wait for a lane, and where it was free, why it could not be had.
    fn at_lane(&mut self, lane: u16, reason: &'static Label, from: Time, until: Time) {
        let (traces, request) = (self.traces, Some(self.request));
        Back { traces, request, each: &mut |behind| self.waited(behind, reason) }.at_lane(lane, reason, from, until);
    }

    /// A wait for what `who` was at.
    fn behind(&mut self, who: u16, reason: &'static Label, from: Time, until: Time) {
        let (traces, request) = (self.traces, Some(self.request));
        Back { traces, request, each: &mut |behind| self.waited(behind, reason) }.at(who, from, until, 0);
    }

    /// What was behind a wait: service where it was for this request, be it another piece of it.
    fn waited(&mut self, behind: Behind, reason: &'static Label) {
        let wait = |hop, label| Place { hop, kind: StageKind::Wait, phase: reason, behind: Some(label) };
        match behind {
            Behind::Was(hop, label, time, by) => {
                let place = match by.and_then(|(who, turn)| self.works(who, turn)) {
                    Some(kind) => Place { hop, kind, phase: label, behind: None },
                    None => wait(hop, label),
                };
                self.say(place, time);
            }
            Behind::Chapter(summary) => {
                summary.sums.iter().for_each(|(hop, label, time)| self.say(wait(*hop, label), *time));
            }
        }
    }

    fn unsaid(&mut self, who: u16, from: Time, until: Time) {
        let kind = StageKind::Wait;
        if from < until {
            self.told.stretch(Stretch { from, until, kind, label: &UNSAID, lane: None, who });
        }
        let hop = Hop::Process(who);
        self.say(Place { hop, kind, phase: &UNSAID, behind: None }, until.saturating_sub(from));
    }

    fn say(&mut self, place: Place, time: Time) {
        if time > Time::ZERO {
            self.told.place(place, time);
        }
    }
}

/// What was going on while somebody waited for it.
enum Behind<'a> {
    /// A lane was in a phase for so long, or a process that is on none at something; by which process, and in which of its
    /// turns.
    Was(Hop, &'static Label, Time, Option<(u16, u64)>),
    /// A chapter of a process that did nothing for the request.
    Chapter(&'a Summary),
}

/// Looks up what was behind a wait of a request, backwards; `each` is told what it finds.
struct Back<'a> {
    traces: &'a Traces,
    /// Nobody's where chapters are summed up.
    request: Option<NonZeroU32>,
    each: &'a mut dyn FnMut(Behind),
}

impl Back<'_> {
    /// What the lane was in; where it was free, `free`.
    fn at_lane(&mut self, lane: u16, free: &'static Label, from: Time, until: Time) {
        let (hop, mut at) = (Hop::Lane(lane), from);
        for interval in self.traces.phases(lane, from, until) {
            if interval.start > at {
                (self.each)(Behind::Was(hop, free, interval.start - at, None));
            }
            let by = is_busy(interval.phase).then_some((interval.who, interval.turn));
            let time = interval.end.saturating_sub(interval.start.max(at));
            (self.each)(Behind::Was(hop, interval.phase, time, by));
            at = at.max(interval.end);
        }
        if until > at {
            (self.each)(Behind::Was(hop, free, until - at, None));
        }
    }

    /// What `who` was at, chapter by chapter.
    fn at(&mut self, who: u16, from: Time, until: Time, depth: usize) {
        let mut at = until;
        for chapter in self.traces.process(who).chapters(from, until) {
            self.act_by_act(who, chapter.end, at, depth);
            let summary = self.summary(who, chapter, depth);
            if self.request.is_some_and(|request| summary.served.contains(&request)) {
                self.act_by_act(who, chapter.start, chapter.end, depth);
            } else {
                (self.each)(Behind::Chapter(summary));
            }
            at = chapter.start;
        }
        self.act_by_act(who, from, at, depth);
    }

    fn act_by_act(&mut self, who: u16, from: Time, until: Time, depth: usize) {
        let (process, mut at, mut place) = (self.traces.process(who), until, usize::MAX);
        while at > from {
            place = process.first_ending(at, place);
            let Some(act) = process.act_from(place, at, None).filter(|act| act.end > from) else { break };
            self.unsaid(who, at - act.end);
            let (start, end) = (act.start.max(from), act.end);
            match act.what {
                What::Work(lane) | What::Through(lane) => {
                    (self.each)(Behind::Was(Hop::Lane(lane), act.label, end - start, Some((who, act.turn))));
                }
                What::LaneWait(lane) => self.at_lane(lane, act.label, start, end),
                What::QueueWait(by) if depth < DEPTH_MAX => self.at(by, start, end, depth + 1),
                What::QueueWait(_) => (self.each)(Behind::Was(Hop::Process(who), act.label, end - start, None)),
            }
            at = start;
        }
        self.unsaid(who, at - from);
    }

    /// What a chapter was to those for whom it was not.
    fn summary<'c>(&self, who: u16, chapter: &'c Chapter, depth: usize) -> &'c Summary {
        if let Some(known) = chapter.summary.get() {
            return known;
        }
        let mut summary = Summary { sums: Vec::new(), served: BTreeSet::new() };
        let mut each = |behind: Behind| match behind {
            Behind::Was(hop, label, time, by) => {
                summary.add(hop, label, time);
                let turn = by.and_then(|(who, turn)| self.traces.process(who).turn(turn));
                summary.served.extend(turn.into_iter().flat_map(|turn| &turn.members).map(|member| member.request));
            }
            Behind::Chapter(part) => {
                part.sums.iter().for_each(|(hop, label, time)| summary.add(*hop, label, *time));
                summary.served.extend(&part.served);
            }
        };
        Back { traces: self.traces, request: None, each: &mut each }.act_by_act(who, chapter.start, chapter.end, depth);
        chapter.summary.get_or_init(|| summary)
    }

    fn unsaid(&mut self, who: u16, time: Time) {
        if time > Time::ZERO {
            (self.each)(Behind::Was(Hop::Process(who), &UNSAID, time, None));
        }
    }
}

/// Whether a lane that is in this phase is at work.
pub(super) fn is_busy(phase: &Label) -> bool {
    matches!(phase.class, Class::Payload | Class::Through | Class::Protocol)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hopscope_kernel::{Kind, PassedOn, Span};

    use super::super::draw;
    use super::*;

    static WORK: [Label; 3] = [Label::payload("data"), Label::protocol("address"), Label::protocol("firmware")];
    static EMPTY: Label = Label::reason("nothing to do");
    static BUSY: Label = Label::reason("busy");
    const ACTS: u64 = 2_000;

    /// A process takes up a request that it made itself.
    struct Taken {
        who: u16,
        request: NonZeroU32,
        at: Time,
    }

    fn take_up(who: u16, request: u32, at: Time) -> Taken {
        Taken { who, request: NonZeroU32::new(request).expect("requests are counted from one"), at }
    }

    /// Two processes: the first works and waits for lanes and for the second one, for a request after the other; of its
    /// acts some overlap, where `reach` allows.
    fn traces(seed: u64, reach: u64) -> (Traces, Time) {
        let mut state = seed;
        let mut traces = Traces::new(2, 4);
        let mut spans: Vec<(Time, Result<Span, Taken>)> = Vec::new();
        let (mut at, mut other) = (Time::ZERO, Time::ZERO);
        for number in 0..ACTS {
            if draw(&mut state, 20) == 0 {
                spans.push((at, Err(take_up(0, 1 + draw(&mut state, 6) as u32, at))));
            }
            let length = Time::ps(1 + draw(&mut state, 50));
            let start = at.saturating_sub(Time::ps(draw(&mut state, reach + 1)));
            let (kind, label) = match draw(&mut state, 6) {
                0 => (Kind::LaneWait(3), &BUSY),
                1 => (Kind::QueueWait(1), &EMPTY),
                drawn => (Kind::Delay(drawn as u16 % 3), &WORK[drawn as usize % 3]),
            };
            let end = start + length;
            spans.push((end, Ok(Span { at: start, kind, who: 0, span: length, label })));
            at = at.max(end) + Time::ps(draw(&mut state, 3));
            while other < at {
                let length = Time::ps(1 + draw(&mut state, 30));
                let span = Span { at: other, kind: Kind::Phase(3), who: 1, span: length, label: &WORK[0] };
                spans.push((other, Err(take_up(1, 1 + number as u32 % 6, other))));
                spans.push((other + length, Ok(span)));
                other = other + length + Time::ps(draw(&mut state, 2));
            }
        }
        spans.sort_by_key(|(end, _)| *end);
        for (_, entered) in spans {
            match entered {
                Ok(span) => traces.enter(&span, true),
                Err(Taken { who, request, at }) => {
                    traces.take_up(who, at, Some(PassedOn { request, since: at, by: who }), false);
                }
            }
        }
        (traces, at)
    }

    /// What was behind, by lane and label; chapters are of nobody that is asked for.
    fn behind(
        traces: &Traces,
        request: NonZeroU32,
        (from, until): (Time, Time),
        whole: bool,
    ) -> BTreeMap<(String, String), u64> {
        let mut sums: BTreeMap<(String, String), u64> = BTreeMap::new();
        let mut add = |hop: Hop, label: &'static Label, time: Time, by: Option<(u16, u64)>| {
            let member = |(who, turn)| traces.process(who).turn(turn)?.member(request);
            let served = by.and_then(member).map_or("", |_| " for it");
            *sums.entry((format!("{hop:?}"), format!("{}{served}", label.name))).or_default() += time.as_ps();
        };
        let mut each = |behind: Behind| match behind {
            Behind::Was(hop, label, time, by) => add(hop, label, time, by),
            Behind::Chapter(summary) => {
                summary.sums.iter().for_each(|(hop, label, time)| add(*hop, label, *time, None))
            }
        };
        let mut back = Back { traces, request: Some(request), each: &mut each };
        match whole {
            true => back.at(0, from, until, 0),
            false => back.act_by_act(0, from, until, DEPTH_MAX - 1),
        }
        sums
    }

    #[test]
    fn chapters_say_what_their_acts_say() {
        let mut chapters = 0;
        for (seed, reach) in (0..40).zip([0, 0, 4, 40].into_iter().cycle()) {
            let (traces, end) = traces(seed, reach);
            chapters += traces.process(0).chapters(Time::ZERO, end).count();
            for request in (1..=7).filter_map(NonZeroU32::new) {
                let stretch = (Time::ps(97 * seed), end.saturating_sub(Time::ps(61 * seed)));
                let (by_chapters, by_acts) =
                    (behind(&traces, request, stretch, true), behind(&traces, request, stretch, false));
                assert_eq!(by_chapters, by_acts, "seed {seed}, request {request}");
                let sum: u64 = by_chapters.values().sum();
                assert_eq!(sum, (stretch.1 - stretch.0).as_ps(), "seed {seed}, request {request}");
            }
        }
        assert!(chapters > 100, "{chapters} chapters");
    }
}
