//! Acts: what a process was at, act by act, and what of it kept the process until an instant.
//!
//! A process is mostly at one thing after the other, and at a few at a time. Those are tracks, and each is asked. One that
//! has hundreds of requests under way waits for hundreds of things at a time: what is on none of the first tracks is a
//! crowd, of which it is found out once, instant by instant, which act says most.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use hopscope_kernel::{Label, Time};

use super::timelines::What;
use crate::search::first_from;

/// So many tracks are asked one by one.
const TRACKS: usize = 4;

/// A process was at something.
#[derive(Clone, Copy)]
pub(super) struct Act {
    pub(super) start: Time,
    pub(super) end: Time,
    pub(super) label: &'static Label,
    pub(super) what: What,
}

/// Of acts that begin and end alike the least comes first: lane by lane, and what is of none last.
type Order = (bool, u16, bool, &'static str);

/// How much an act says of what kept its process: of those that say as much, the one that began last, and then the first.
type Says = (u8, Time, Reverse<Order>);

impl Act {
    fn order(&self) -> Order {
        match self.what {
            What::Work(lane) | What::Through(lane) => (false, lane, false, self.label.name),
            What::LaneWait(lane) => (false, lane, true, self.label.name),
            What::QueueWait(_) => (true, 0, true, self.label.name),
        }
    }

    /// Of what kept its process until `at`, at which it had ended or was under way.
    fn says(&self, at: Time) -> Says {
        (self.what.says(self.end == at), self.start, Reverse(self.order()))
    }
}

/// Where an act is: the track, behind the last of which is the crowd, and which of it.
pub(super) type Place = (usize, usize);

/// What a process was at.
pub(super) struct Acts {
    tracks: Vec<Track>,
    crowd: Crowd,
}

impl Acts {
    pub(super) fn of(mut acts: Vec<Act>) -> Acts {
        acts.sort_by(|a, b| (a.start, a.end, a.order()).cmp(&(b.start, b.end, b.order())));
        let mut tracks: Vec<Track> = Vec::new();
        while !acts.is_empty() && tracks.len() < TRACKS {
            let mut free = Time::ZERO;
            let meanwhile = acts.extract_if(.., |act| {
                let is_behind = act.start >= free;
                free = if is_behind { act.end } else { free };
                !is_behind
            });
            let meanwhile = meanwhile.collect();
            acts.shrink_to_fit();
            tracks.push(Track { acts: std::mem::replace(&mut acts, meanwhile), near: Cell::new(0) });
        }
        Acts { tracks, crowd: Crowd::of(acts) }
    }

    pub(super) fn at(&self, (track, position): Place) -> &Act {
        &self.tracks.get(track).map_or(&self.crowd.acts, |track| &track.acts)[position]
    }

    /// Which act says most of what kept the process just before `at`, of those that were under way or ended then, without
    /// those that are not to be asked.
    pub(super) fn before(&self, at: Time, is_left_out: impl Fn(Place) -> bool) -> Option<Place> {
        let mut best: Option<(Says, Place)> = None;
        for (number, track) in self.tracks.iter().enumerate() {
            let position = track.first_ending(at);
            let Some(act) = track.acts.get(position).filter(|act| act.start < at) else { continue };
            let (says, place) = (act.says(at), (number, position));
            if !is_left_out(place) && best.is_none_or(|(known, _)| known < says) {
                best = Some((says, place));
            }
        }
        let crowd = self.tracks.len();
        let is_more = |position: &usize| best.is_none_or(|(known, _)| known < self.crowd.acts[*position].says(at));
        let of_crowd = self.crowd.before(at).filter(is_more).and_then(|position| {
            let is_left_out = |position| is_left_out((crowd, position));
            if is_left_out(position) { self.crowd.one_by_one(at, is_left_out).filter(is_more) } else { Some(position) }
        });
        of_crowd.map(|position| (crowd, position)).or(best.map(|(_, place)| place))
    }

    /// When the last act had ended that did before `at`.
    pub(super) fn last_end(&self, at: Time) -> Option<Time> {
        let before = |track: &Track| track.first_ending(at).checked_sub(1).map(|last| track.acts[last].end);
        self.tracks.iter().filter_map(before).chain(self.crowd.last_end(at)).max()
    }
}

/// Some of what a process was at: one after the other. What it was at meanwhile is on other tracks.
struct Track {
    acts: Vec<Act>,
    /// Where the last search ended: the next one is for an instant close by.
    near: Cell<usize>,
}

impl Track {
    /// The first act that ends at `at` or later.
    fn first_ending(&self, at: Time) -> usize {
        let first = first_from(self.near.get(), self.acts.len(), |place| self.acts[place].end < at);
        self.near.set(first);
        first
    }
}

/// Acts of any number at a time.
struct Crowd {
    /// As they begin.
    acts: Vec<Act>,
    /// Instants at which one of them begins or ends.
    changes: Vec<Change>,
    near: Cell<usize>,
}

/// What says most of a crowd about an instant.
struct Change {
    at: Time,
    /// Just before it, of what ended then, too; and from then on until something changes again.
    before: Option<usize>,
    behind: Option<usize>,
}

impl Crowd {
    fn of(acts: Vec<Act>) -> Crowd {
        let mut ending: Vec<usize> = (0..acts.len()).filter(|act| acts[*act].start < acts[*act].end).collect();
        let beginning = ending.clone();
        ending.sort_by_key(|act| (acts[*act].end, *act));
        let mut times: Vec<Time> = ending.iter().flat_map(|act| [acts[*act].start, acts[*act].end]).collect();
        times.sort_unstable();
        times.dedup();
        let (mut beginning, mut ending) = (beginning.into_iter().peekable(), ending.into_iter().peekable());
        // Of what says as much, the first.
        let key = |act: usize, at| (acts[act].says(at), Reverse(act));
        let mut under_way = BTreeSet::new();
        let change = |at| {
            let mut ended = None;
            while let Some(act) = ending.next_if(|act| acts[*act].end == at) {
                under_way.remove(&key(act, acts[act].start));
                ended = ended.max(Some(key(act, at)));
            }
            let most = |of: Option<(Says, Reverse<usize>)>| of.map(|(_, Reverse(act))| act);
            let before = most(ended.max(under_way.last().copied()));
            while let Some(act) = beginning.next_if(|act| acts[*act].start == at) {
                under_way.insert(key(act, at));
            }
            Change { at, before, behind: most(under_way.last().copied()) }
        };
        let changes = times.into_iter().map(change).collect();
        Crowd { acts, changes, near: Cell::new(0) }
    }

    /// Which act says most, of those that were under way just before `at`.
    fn before(&self, at: Time) -> Option<usize> {
        let first = first_from(self.near.get(), self.changes.len(), |place| self.changes[place].at < at);
        self.near.set(first);
        match self.changes.get(first) {
            Some(change) if change.at == at => change.before,
            _ => self.changes[..first].last()?.behind,
        }
    }

    /// The same without those that are not to be asked.
    fn one_by_one(&self, at: Time, is_left_out: impl Fn(usize) -> bool) -> Option<usize> {
        let begun = self.acts.iter().enumerate().take_while(|(_, act)| act.start < at);
        let under_way = begun.filter(|(position, act)| act.end >= at && !is_left_out(*position));
        under_way.max_by_key(|(position, act)| (act.says(at), Reverse(*position))).map(|(position, _)| position)
    }

    fn last_end(&self, at: Time) -> Option<Time> {
        // Of what begins and ends at once, too.
        self.acts.iter().take_while(|act| act.start < at).map(|act| act.end).filter(|end| *end < at).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lives::draw;

    static NAMES: [Label; 3] = [Label::reason("a"), Label::reason("b"), Label::reason("c")];

    /// So many acts, none of which lasts as long as that.
    fn drawn(state: &mut u64, count: u64, lasts: u64) -> Vec<Act> {
        let act = |_| {
            let start = Time::ps(draw(state, 100));
            let lane = draw(state, 2) as u16;
            let what = match draw(state, 4) {
                0 => What::Work(lane),
                1 => What::Through(lane),
                2 => What::LaneWait(lane),
                _ => What::QueueWait(lane),
            };
            let end = start + Time::ps(draw(state, lasts));
            Act { start, end, label: &NAMES[draw(state, 3) as usize], what }
        };
        (0..count).map(act).collect()
    }

    /// How much an act says, by hand, and in which order it comes.
    fn what(act: &Act, at: Time) -> (u8, Time, Reverse<Order>) {
        (act.what.says(act.end == at), act.start, Reverse(act.order()))
    }

    /// However many there are at a time, whatever is left out: what says most is what a look at all of them finds.
    #[test]
    fn of_any_crowd_that_is_found_which_says_most() {
        let mut state = 1;
        for count in [0, 1, 5, 40, 150] {
            for lasts in [1, 4, 60] {
                let all = drawn(&mut state, count, lasts);
                let acts = Acts::of(all.clone());
                let places = (0..=acts.tracks.len()).flat_map(|track| {
                    let of = acts.tracks.get(track).map_or(&acts.crowd.acts, |track| &track.acts);
                    (0..of.len()).map(move |position| (track, position))
                });
                let places: Vec<Place> = places.collect();
                assert_eq!(places.len(), all.len());
                assert!(count < 150 || lasts < 60 || acts.crowd.acts.len() > 50);
                for at in (0..=170).map(Time::ps) {
                    let one_in = 1 + draw(&mut state, 4) as usize;
                    let is_left_out = |place: Place| (place.0 + place.1) % 4 >= one_in;
                    let there = |place: &&Place| acts.at(**place).start < at && acts.at(**place).end >= at;
                    let asked = places.iter().filter(there).filter(|place| !is_left_out(**place));
                    let most = asked.map(|place| what(acts.at(*place), at)).max();
                    let found = acts.before(at, is_left_out).inspect(|place| assert!(!is_left_out(*place)));
                    assert_eq!(found.map(|place| what(acts.at(place), at)), most, "{count} {lasts} {at}");
                    let last = all.iter().map(|act| act.end).filter(|end| *end < at).max();
                    assert_eq!(acts.last_end(at), last, "{count} {lasts} {at}");
                }
            }
        }
    }
}
