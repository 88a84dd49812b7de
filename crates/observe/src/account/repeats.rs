//! Repeats: a train whose periods are all alike is looked at once and counted often.
//!
//! Where nothing else begins or ends, the periods of a train differ in nothing but their time: if its pitch is a whole
//! number of the clocks of its lanes, every one of them gives the same account. So all but a few are cut out of the
//! timelines, and one of those that stay stands for them too. What follows comes earlier by what was cut: timelines
//! are in *squeezed* time. A stretch of it is measured in real time, in which it counts as often as it was there.

use std::collections::HashMap;
use std::ops::Range;

use hopscope_kernel::{Record, Time, whole};

use super::ledger::burst;

/// Periods that stay before and after those that are cut: they meet what is different.
const KEPT: u64 = 2;

/// Records that belong together: one, or a train on all its lanes. There may be a million of them.
pub(super) struct Item {
    /// The records, by position; those of a train may have others in between.
    first: u32,
    last: u32,
    /// When it began and ended.
    pub(super) start: Time,
    pub(super) end: Time,
    /// What a train has besides.
    train: Option<Box<Train>>,
}

/// A train, and its period.
struct Train {
    also: Option<(u32, u32)>,
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
    /// Which one each item has that has one.
    of_item: HashMap<usize, usize>,
}

/// Records between those of one train, at most.
const BETWEEN: usize = 16;

/// Puts records together that belong together.
pub(super) fn items(records: &[Record], clocks: &[Option<Time>]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut train: Option<usize> = None;
    let mut at = 0;
    while let Some(record) = records.get(at) {
        let Some(head) = Head::of(record) else {
            items.push(Item::plain(at, record));
            at += 1;
            continue;
        };
        let item = Item::train(records, at, &head, clocks);
        at = item.last as usize + 1;
        let joined = train.is_some_and(|known| items[known].takes(&item));
        if !joined {
            train = Some(items.len());
            items.push(item);
        }
    }
    items
}

/// Where a record is.
fn position(at: usize) -> u32 {
    u32::try_from(at).expect("an account keeps fewer than 2^32 records")
}

impl Item {
    fn plain(at: usize, record: &Record) -> Item {
        let (start, end) = match *record {
            Record::Transfer { at, span, .. } => (at, at + span),
            _ => record.span().map(|span| (span.at, span.end())).expect("a ledger keeps what takes time"),
        };
        Item { first: position(at), last: position(at), start, end, train: None }
    }

    /// The train whose first record is at a position: what one process did with one pitch, recorded in a row.
    fn train(
        records: &[Record],
        first: usize,
        &Head { who, pitch, at: start, .. }: &Head,
        clocks: &[Option<Time>],
    ) -> Item {
        let (all_begun, last_begins) = (Time::ZERO, Time::MAX);
        let mut train = Train { also: None, who, pitch, whole: true, all_begun, last_begins, spans: 0 };
        let (mut begin, mut end, mut at) = (start, start, first);
        for records in whole(&records[first..]) {
            let Some(head) = Head::of(&records[0]).filter(|head| (head.who, head.pitch) == (who, pitch)) else { break };
            let count = u64::from(head.count);
            let last = head.at + pitch * (count - 1);
            let clock = head.lane.and_then(|lane| clocks[usize::from(lane)]);
            train.whole &= clock.is_none_or(|clock| pitch.as_ps().is_multiple_of(clock.as_ps()));
            let begins = clock.map_or(last, |clock| last.edge(clock));
            (begin, end) = (begin.min(head.at), end.max(begins + burst(&records[1..])));
            train.begins(head.at, last);
            train.spans += count * records.len() as u64;
            at += records.len();
        }
        Item { first: position(first), last: position(at - 1), start: begin, end, train: Some(Box::new(train)) }
    }

    /// Takes a train in that is of the same one, recorded a little later; whether it is.
    fn takes(&mut self, other: &Item) -> bool {
        let (Some(train), Some(more)) = (&mut self.train, &other.train) else { return false };
        let same = (train.who, train.pitch) == (more.who, more.pitch) && train.also.is_none();
        if !same || other.start >= self.end || (other.first - self.last) as usize > BETWEEN {
            return false;
        }
        train.also = Some((other.first, other.last));
        train.whole &= more.whole;
        train.spans += more.spans;
        train.begins(more.all_begun, more.last_begins);
        (self.start, self.end) = (self.start.min(other.start), self.end.max(other.end));
        true
    }

    pub(super) fn is_train(&self) -> bool {
        self.train.is_some()
    }

    /// The first of its records.
    pub(super) fn head(&self, records: &[Record]) -> Record {
        records[self.first as usize]
    }

    /// Where its records are.
    pub(super) fn stretches(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let stretch = |(first, last): (u32, u32)| first as usize..last as usize + 1;
        let also = self.train.as_ref().and_then(|train| train.also);
        std::iter::once(stretch((self.first, self.last))).chain(also.map(stretch))
    }

    /// Spans that it stands for, once its periods are cut.
    pub(super) fn effort(&self) -> u64 {
        let Some(train) = &self.train else { return 1 };
        match train.cut() {
            Some((_, periods)) => train.spans - train.spans * periods / ((self.end - self.start) / train.pitch).max(1),
            None => train.spans,
        }
    }
}

impl Train {
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
    pub(super) fn find(items: &[Item], edges: &[Time]) -> Repeats {
        let mut trains: Vec<(usize, &Item, &Train)> = Vec::new();
        for (number, item) in items.iter().enumerate() {
            trains.extend(item.train.as_ref().map(|train| (number, item, &**train)));
        }
        trains.sort_by_key(|(_, item, _)| item.start);
        let mut boundaries: Vec<Time> = edges.to_vec();
        if !trains.is_empty() {
            boundaries.extend(items.iter().flat_map(|item| [item.start, item.end]));
            boundaries.sort_unstable();
        }
        let (mut cuts, mut of_item) = (Vec::new(), HashMap::new());
        let (mut removed, mut latest) = (Time::ZERO, Time::ZERO);
        for (position, &(number, item, train)) in trains.iter().enumerate() {
            let alone =
                latest <= item.start && trains.get(position + 1).is_none_or(|(_, next, _)| next.start >= item.end);
            latest = latest.max(item.end);
            let Some((at, periods)) = train.cut().filter(|_| alone) else { continue };
            let pitch = train.pitch;
            let (from, until) = (at - pitch, at + pitch * periods);
            let next = boundaries.partition_point(|boundary| *boundary <= from);
            if boundaries.get(next).is_some_and(|boundary| *boundary < until) {
                continue;
            }
            of_item.insert(number, cuts.len());
            cuts.push(Cut { at, pitch, periods, stands_at: from - removed, before: removed });
            removed += pitch * periods;
        }
        Repeats { cuts, of_item }
    }

    /// The records of an item without the periods that are cut, in one or two pieces, each with what it comes earlier
    /// by in squeezed time.
    pub(super) fn pieces(&self, number: usize, item: &Item, records: &[Record]) -> Vec<(Vec<Record>, Time)> {
        let kept: Vec<Record> = item.stretches().flat_map(|stretch| &records[stretch]).copied().collect();
        let Some(cut) = self.of_item.get(&number).map(|cut| &self.cuts[*cut]) else {
            return vec![(kept, item.start - self.squeeze(item.start))];
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
        let next = self.cuts.partition_point(|cut| cut.stands_at <= squeezed);
        match next.checked_sub(1) {
            Some(last) => {
                let cut = &self.cuts[last];
                squeezed + cut.before + (squeezed - cut.stands_at).min(cut.pitch) * cut.periods
            }
            None => squeezed,
        }
    }
}
