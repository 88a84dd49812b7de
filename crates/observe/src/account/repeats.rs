//! Repeats: a train whose periods are all alike is looked at once and counted often.
//!
//! Where nothing else begins or ends, the periods of a train differ in nothing but their time: if its pitch is a whole
//! number of the clocks of its lanes, every one of them gives the same account. So all but a few are cut out of the
//! timelines, and one of those that stay stands for them too. What follows comes earlier by what was cut: timelines
//! are in *squeezed* time. A stretch of it is measured in real time, in which it counts as often as it was there.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

use hopscope_kernel::{Record, Time, whole};

use super::ledger::burst;
use crate::search::first_from;

/// Periods that stay before and after those that are cut: they meet what is different.
const KEPT: u64 = 2;

/// Records that belong together.
#[derive(Clone, Copy)]
pub(super) enum Item<'a> {
    /// One by itself, by its position.
    Plain(usize),
    /// A train on all its lanes.
    Train(&'a Train),
}

/// A list of records, put together as they belong together. There may be a million of them, mostly by themselves: only
/// trains are kept.
pub(super) struct Items<'a> {
    records: &'a [Record],
    /// In order of their first records.
    trains: Vec<Train>,
}

/// A train, and its period.
pub(super) struct Train {
    /// The records, by position, which may have others in between.
    first: usize,
    last: usize,
    also: Option<(usize, usize)>,
    /// When it began and ended.
    start: Time,
    end: Time,
    who: u16,
    pitch: Time,
    /// Whether the period is a whole number of clocks on each of the lanes.
    whole: bool,
    /// When all its lanes have begun, and when the first of them begins its last period.
    all_begun: Time,
    last_begins: Time,
    /// Spans that it stands for.
    spans: u64,
}

/// What the records of a train, and of what comes before its requests, have in common.
struct Head {
    /// The lane, where all is of one.
    lane: Option<u16>,
    who: u16,
    at: Time,
    pitch: Time,
    count: u16,
}

impl Head {
    fn of(record: &Record) -> Option<Head> {
        match *record {
            Record::Train { lane, who, at, pitch, count, .. } => Some(Head { lane: Some(lane), who, at, pitch, count }),
            Record::Leads { who, at, pitch, count, .. } => Some(Head { lane: None, who, at, pitch, count }),
            _ => None,
        }
    }
}

/// Periods that were cut out of a train.
struct Cut {
    /// The first instant that is cut, and how much is.
    at: Time,
    pitch: Time,
    periods: u64,
    /// Squeezed time at which the period begins that stands for those.
    stands_at: Time,
    /// What was cut before.
    before: Time,
}

/// What was cut out of a list of records.
pub(super) struct Repeats {
    /// In order of time.
    cuts: Vec<Cut>,
    /// Where the last look at a squeezed time ended.
    near: Cell<usize>,
    /// Which one each item has that has one.
    of_item: HashMap<usize, usize>,
}

/// Records between those of one train, at most.
const BETWEEN: usize = 16;

impl<'a> Items<'a> {
    /// Puts records together that belong together.
    pub(super) fn of(records: &'a [Record], clocks: &[Option<Time>]) -> Items<'a> {
        let mut trains = Vec::<Train>::new();
        let mut at = 0;
        while let Some(record) = records.get(at) {
            let Some(head) = Head::of(record) else {
                at += 1;
                continue;
            };
            let train = Train::of(records, at, &head, clocks);
            at = train.last + 1;
            if !trains.last_mut().is_some_and(|known| known.takes(&train)) {
                trains.push(train);
            }
        }
        Items { records, trains }
    }

    /// All of them, in the order of their first records.
    pub(super) fn iter(&self) -> impl Iterator<Item = Item<'_>> + Clone {
        let (mut at, mut trains) = (0, &self.trains[..]);
        // What the last train has besides comes before the next one.
        let mut also = None;
        std::iter::from_fn(move || {
            if let Some((first, last)) = also
                && first == at
            {
                (at, also) = (last + 1, None);
            }
            if let [train, others @ ..] = trains
                && train.first == at
            {
                (at, also, trains) = (train.last + 1, train.also, others);
                return Some(Item::Train(train));
            }
            let plain = (at < self.records.len()).then_some(Item::Plain(at));
            at += 1;
            plain
        })
    }
}

impl Item<'_> {
    pub(super) fn is_train(self) -> bool {
        matches!(self, Item::Train(_))
    }

    /// The first of its records.
    #[inline]
    pub(super) fn head(self, records: &[Record]) -> Record {
        match self {
            Item::Plain(at) => records[at],
            Item::Train(train) => records[train.first],
        }
    }

    /// When it began and ended.
    #[inline]
    pub(super) fn times(self, records: &[Record]) -> (Time, Time) {
        match self {
            Item::Train(train) => (train.start, train.end),
            Item::Plain(at) => match &records[at] {
                &Record::Transfer { at, span, .. } => (at, at + span),
                one => one.span().map(|span| (span.at, span.end())).expect("a ledger keeps what takes time"),
            },
        }
    }

    /// Where its records are.
    pub(super) fn stretches(self) -> impl Iterator<Item = Range<usize>> {
        let (first, last, also) = match self {
            Item::Plain(at) => (at, at, None),
            Item::Train(train) => (train.first, train.last, train.also),
        };
        std::iter::once((first, last)).chain(also).map(|(first, last)| first..last + 1)
    }

    /// Spans that it stands for, once its periods are cut.
    pub(super) fn effort(self) -> u64 {
        let Item::Train(train) = self else { return 1 };
        match train.cut() {
            Some((_, periods)) => {
                train.spans - train.spans * periods / ((train.end - train.start) / train.pitch).max(1)
            }
            None => train.spans,
        }
    }
}

impl Train {
    /// The train whose first record is at a position: what one process did with one pitch, recorded in a row.
    fn of(
        records: &[Record],
        first: usize,
        &Head { who, pitch, at: start, .. }: &Head,
        clocks: &[Option<Time>],
    ) -> Train {
        let (all_begun, last_begins) = (Time::ZERO, Time::MAX);
        let (last, end) = (first, start);
        let mut train =
            Train { first, last, also: None, start, end, who, pitch, whole: true, all_begun, last_begins, spans: 0 };
        let mut at = first;
        for records in whole(&records[first..]) {
            let Some(head) = Head::of(&records[0]).filter(|head| (head.who, head.pitch) == (who, pitch)) else { break };
            let count = u64::from(head.count);
            let last = head.at + pitch * (count - 1);
            let clock = head.lane.and_then(|lane| clocks[usize::from(lane)]);
            train.whole &= clock.is_none_or(|clock| pitch.as_ps().is_multiple_of(clock.as_ps()));
            let begins = clock.map_or(last, |clock| last.edge(clock));
            (train.start, train.end) = (train.start.min(head.at), train.end.max(begins + burst(&records[1..])));
            train.begins(head.at, last);
            train.spans += count * records.len() as u64;
            at += records.len();
        }
        train.last = at - 1;
        train
    }

    /// Takes a train in that is of the same one, recorded a little later; whether it is.
    fn takes(&mut self, other: &Train) -> bool {
        let same = (self.who, self.pitch) == (other.who, other.pitch) && self.also.is_none();
        if !same || other.start >= self.end || other.first - self.last > BETWEEN {
            return false;
        }
        self.also = Some((other.first, other.last));
        self.whole &= other.whole;
        self.spans += other.spans;
        self.begins(other.all_begun, other.last_begins);
        (self.start, self.end) = (self.start.min(other.start), self.end.max(other.end));
        true
    }

    /// One of the lanes begins its first period, and its last.
    fn begins(&mut self, first: Time, last: Time) {
        (self.all_begun, self.last_begins) = (self.all_begun.max(first), self.last_begins.min(last));
    }

    /// Whether its periods could be cut: how many, and the first instant.
    fn cut(&self) -> Option<(Time, u64)> {
        if !self.whole {
            return None;
        }
        let at = self.all_begun + self.pitch * KEPT;
        let periods = self.last_begins.saturating_sub(at + self.pitch * KEPT) / self.pitch;
        (periods > KEPT).then_some((at, periods))
    }
}

/// So many bursts of a train, from an instant on.
fn bursts(head: Record, from: Time, number: u16) -> Record {
    let mut part = head;
    if let Record::Train { at, count, .. } | Record::Leads { at, count, .. } = &mut part {
        (*at, *count) = (from, number);
    }
    part
}

impl Repeats {
    /// What can be cut: trains with nothing else in their time that begins or ends. Nothing is cut around the
    /// `edges` of what will be asked for.
    pub(super) fn find<'a>(
        items: impl Iterator<Item = Item<'a>> + Clone,
        records: &[Record],
        edges: &[Time],
    ) -> Repeats {
        let mut boundaries: Vec<Time> = edges.to_vec();
        let mut trains: Vec<(usize, &Train)> = Vec::new();
        if items.clone().any(|item| item.is_train()) {
            for (number, item) in items.enumerate() {
                if let Item::Train(train) = item {
                    trains.push((number, train));
                }
                boundaries.extend(<[Time; 2]>::from(item.times(records)));
            }
        }
        trains.sort_by_key(|(_, train)| train.start);
        boundaries.sort_unstable();
        let (mut cuts, mut of_item) = (Vec::new(), HashMap::new());
        let (mut removed, mut latest) = (Time::ZERO, Time::ZERO);
        for (position, &(number, train)) in trains.iter().enumerate() {
            let (before, cut) = (latest, train.cut());
            latest = latest.max(train.end);
            let Some((at, periods)) = cut else { continue };
            let pitch = train.pitch;
            let (from, until) = (at - pitch, at + pitch * periods);
            // Whatever else begins or ends in that time is a boundary; a train may have begun before it, and end behind it.
            let mut later = trains[position + 1..].iter().map(|(_, next)| next).take_while(|next| next.start <= from);
            if before > from || later.any(|next| next.end > from) {
                continue;
            }
            let next = boundaries.partition_point(|boundary| *boundary <= from);
            if boundaries.get(next).is_some_and(|boundary| *boundary < until) {
                continue;
            }
            of_item.insert(number, cuts.len());
            cuts.push(Cut { at, pitch, periods, stands_at: from - removed, before: removed });
            removed += pitch * periods;
        }
        Repeats { cuts, near: Cell::new(0), of_item }
    }

    /// The records of an item without the periods that are cut, in one or two pieces, each with what it comes earlier
    /// by in squeezed time.
    pub(super) fn pieces(&self, number: usize, item: Item<'_>, records: &[Record]) -> Vec<(Vec<Record>, Time)> {
        let kept: Vec<Record> = item.stretches().flat_map(|stretch| &records[stretch]).copied().collect();
        let Some(cut) = self.of_item.get(&number).map(|cut| &self.cuts[*cut]) else {
            let (start, _) = item.times(records);
            return vec![(kept, start - self.squeeze(start))];
        };
        let (mut earlier, mut later) = (Vec::new(), Vec::new());
        for record in kept {
            let Some(head) = Head::of(&record) else {
                earlier.push(record);
                later.push(record);
                continue;
            };
            let before = (cut.at - head.at).as_ps().div_ceil(cut.pitch.as_ps());
            let after = u64::from(head.count) - before - cut.periods;
            earlier.push(bursts(record, head.at, before as u16));
            later.push(bursts(record, head.at + cut.pitch * (before + cut.periods), after as u16));
        }
        vec![(earlier, cut.before), (later, cut.before + cut.pitch * cut.periods)]
    }

    /// Real time to squeezed time, for an instant that is not cut.
    pub(super) fn squeeze(&self, at: Time) -> Time {
        let next = self.cuts.partition_point(|cut| cut.at < at);
        match next.checked_sub(1) {
            Some(last) => at - self.cuts[last].before - self.cuts[last].pitch * self.cuts[last].periods,
            None => at,
        }
    }

    /// Squeezed time to real time: within a period that stands for others, as if it were all of them.
    pub(super) fn real(&self, squeezed: Time) -> Time {
        let next = first_from(self.near.get(), self.cuts.len(), |place| self.cuts[place].stands_at <= squeezed);
        self.near.set(next);
        match next.checked_sub(1) {
            Some(last) => {
                let cut = &self.cuts[last];
                squeezed + cut.before + (squeezed - cut.stands_at).min(cut.pitch) * cut.periods
            }
            None => squeezed,
        }
    }
}

#[cfg(test)]
mod tests {
    use hopscope_kernel::Label;

    use super::*;

    static DATA: Label = Label::payload("data");

    /// A train of so many bursts of 4 ns.
    fn train(lane: u16, at: u64, pitch: u64, count: u16) -> [Record; 2] {
        let (at, pitch) = (Time::ns(at), Time::ns(pitch));
        [
            Record::Train { lane, who: lane, label: &DATA, at, pitch, count, phases: 1 },
            Record::TrainPhase { label: &DATA, after: Time::ZERO, span: Time::ns(4) },
        ]
    }

    /// Periods that are cut out of a train of 250 from 100 ns to 2,600 ns, with another one beside it.
    fn cut(beside: [Record; 2]) -> u64 {
        let records = [train(0, 100, 10, 250), beside].concat();
        let items = Items::of(&records, &[None, None]);
        Repeats::find(items.iter(), &records, &[]).cuts.iter().map(|cut| cut.periods).sum()
    }

    #[test]
    fn trains_that_meet_at_an_end_are_cut_in_between() {
        let alone = cut(train(1, 3_000, 10, 1));
        assert!(alone > 240, "{alone} periods");
        for (at, what) in [(95, "the beginning"), (2_595, "the end")] {
            assert_eq!(cut(train(1, at, 7, 1)), alone, "another one over {what}");
        }
        assert_eq!(cut(train(1, 1_000, 7, 1)), 0, "another one within");
        assert_eq!(cut(train(1, 90, 2_600, 2)), 0, "another one over all of it");
    }
}
