//! Repeats: a train whose periods are all alike is looked at once and counted often.
//!
//! Where nothing else begins or ends, the periods of a train differ in nothing but their time: if its pitch is a whole
//! number of the clocks of its lanes, every one of them gives the same account. So all but a few are cut out of the
//! timelines, and one of those that stay stands for them too. What follows comes earlier by what was cut: timelines
//! are in *squeezed* time. A stretch of it is measured in real time, in which it counts as often as it was there.

use std::ops::Range;

use hopscope_kernel::{Record, Time, whole};

use super::ledger::burst;

/// Periods that stay before and after those that are cut: they meet what is different.
const KEPT: u64 = 2;

/// Records that belong together: one, or a train on all its lanes.
pub(super) struct Item {
    /// The records, by position; those of a train may have others in between.
    pub(super) first: usize,
    pub(super) last: usize,
    also: Option<(usize, usize)>,
    /// When it began and ended.
    pub(super) start: Time,
    pub(super) end: Time,
    /// Whose train, and its period; zero for anything else.
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
    of_item: Vec<Option<usize>>,
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
        at = item.last + 1;
        match train.map(|known| &mut items[known]).filter(|known| known.is_joined_by(&item)) {
            Some(known) => known.join(&item),
            None => {
                train = Some(items.len());
                items.push(item);
            }
        }
    }
    items
}

impl Item {
    fn plain(at: usize, record: &Record) -> Item {
        let (who, start, end) = match *record {
            Record::Transfer { who, at, span, .. } => (who, at, at + span),
            _ => record.span().map(|span| (span.who, span.at, span.end())).expect("a ledger keeps what takes time"),
        };
        let (first, last, also, pitch, whole, spans) = (at, at, None, Time::ZERO, false, 1);
        Item { first, last, also, start, end, who, pitch, whole, all_begun: start, last_begins: start, spans }
    }

    /// The train whose first record is at a position: what one process did with one pitch, recorded in a row.
    fn train(
        records: &[Record],
        first: usize,
        &Head { who, pitch, at: start, .. }: &Head,
        clocks: &[Option<Time>],
    ) -> Item {
        let mut item = Item {
            first,
            last: first,
            also: None,
            start,
            end: start,
            who,
            pitch,
            whole: true,
            all_begun: Time::ZERO,
            last_begins: Time::MAX,
            spans: 0,
        };
        let mut at = first;
        for records in whole(&records[first..]) {
            let Some(head) = Head::of(&records[0]).filter(|head| (head.who, head.pitch) == (who, pitch)) else { break };
            let count = u64::from(head.count);
            let last = head.at + pitch * (count - 1);
            let clock = head.lane.and_then(|lane| clocks[usize::from(lane)]);
            item.whole &= clock.is_none_or(|clock| pitch.as_ps().is_multiple_of(clock.as_ps()));
            let begins = clock.map_or(last, |clock| last.edge(clock));
            item.end = (begins + burst(&records[1..])).max(item.end);
            item.begins(head.at, last);
            item.spans += count * records.len() as u64;
            at += records.len();
        }
        item.last = at - 1;
        item
    }

    /// One of the lanes begins its first period, and its last.
    fn begins(&mut self, first: Time, last: Time) {
        self.start = self.start.min(first);
        (self.all_begun, self.last_begins) = (self.all_begun.max(first), self.last_begins.min(last));
    }

    fn is_joined_by(&self, other: &Item) -> bool {
        let same = (self.who, self.pitch) == (other.who, other.pitch) && self.also.is_none();
        same && other.start < self.end && other.first - self.last <= BETWEEN
    }

    fn join(&mut self, other: &Item) {
        self.also = Some((other.first, other.last));
        self.whole &= other.whole;
        self.spans += other.spans;
        self.begins(other.all_begun, other.last_begins);
        (self.start, self.end) = (self.start.min(other.start), self.end.max(other.end));
    }

    pub(super) fn is_train(&self) -> bool {
        self.pitch > Time::ZERO
    }

    /// Where its records are.
    pub(super) fn stretches(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let also = self.also.map(|(first, last)| first..last + 1);
        std::iter::once(self.first..self.last + 1).chain(also)
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

    /// Spans that it stands for, once its periods are cut.
    pub(super) fn effort(&self) -> u64 {
        match self.cut() {
            Some((_, periods)) => self.spans - self.spans * periods / ((self.end - self.start) / self.pitch).max(1),
            None => self.spans,
        }
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
        let mut boundaries: Vec<Time> = edges.to_vec();
        boundaries.extend(items.iter().flat_map(|item| [item.start, item.end]));
        boundaries.sort_unstable();
        let mut trains: Vec<usize> = (0..items.len()).filter(|&i| items[i].is_train()).collect();
        trains.sort_by_key(|&i| items[i].start);
        let (mut cuts, mut of_item) = (Vec::new(), vec![None; items.len()]);
        let (mut removed, mut latest) = (Time::ZERO, Time::ZERO);
        for (position, &number) in trains.iter().enumerate() {
            let item = &items[number];
            let alone =
                latest <= item.start && trains.get(position + 1).is_none_or(|&next| items[next].start >= item.end);
            latest = latest.max(item.end);
            let Some((at, periods)) = item.cut().filter(|_| alone) else { continue };
            let pitch = item.pitch;
            let (from, until) = (at - pitch, at + pitch * periods);
            let next = boundaries.partition_point(|boundary| *boundary <= from);
            if boundaries.get(next).is_some_and(|boundary| *boundary < until) {
                continue;
            }
            of_item[number] = Some(cuts.len());
            cuts.push(Cut { at, pitch, periods, stands_at: from - removed, before: removed });
            removed += pitch * periods;
        }
        Repeats { cuts, of_item }
    }

    /// The records of an item without the periods that are cut, in one or two pieces, each with what it comes earlier
    /// by in squeezed time.
    pub(super) fn pieces(&self, number: usize, item: &Item, records: &[Record]) -> Vec<(Vec<Record>, Time)> {
        let kept: Vec<Record> = item.stretches().flat_map(|stretch| &records[stretch]).copied().collect();
        let Some(cut) = self.of_item[number].map(|cut| &self.cuts[cut]) else {
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
