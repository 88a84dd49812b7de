//! Repeats: a train whose periods are all alike is looked at once and counted often.
//!
//! Where nothing else begins or ends, the periods of a train differ in nothing but their time: if its pitch is a whole
//! number of the clocks of its lanes, every one of them gives the same account. So all but a few are cut out of the
//! timelines, and one of those that stay stands for them too. What follows comes earlier by what was cut: timelines
//! are in *squeezed* time. A stretch of it is measured in real time, in which it counts as often as it was there.

use hopscope_kernel::{Kind, Record, Time};

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
        if record.kind != Kind::TrainHead {
            items.push(Item::plain(at, record));
            at += 1;
            continue;
        }
        let item = Item::train(records, at, clocks);
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
        let (start, end) = (record.at, record.at + record.span);
        let (first, last, also, who, pitch, whole, spans) = (at, at, None, record.who, Time::ZERO, false, 1);
        Item { first, last, also, start, end, who, pitch, whole, all_begun: start, last_begins: start, spans }
    }

    /// The train whose first record is at a position: what one process did with one pitch, recorded in a row.
    fn train(records: &[Record], first: usize, clocks: &[Option<Time>]) -> Item {
        let Record { who, span: pitch, at: start, .. } = records[first];
        let mut item = Item { pitch, whole: true, spans: 0, ..Item::plain(first, &records[first]) };
        (item.start, item.end, item.all_begun, item.last_begins) = (start, start, Time::ZERO, Time::MAX);
        let mut at = first;
        let same = |head: &&Record| head.kind == Kind::TrainHead && (head.who, head.span) == (who, pitch);
        while let Some(head) = records.get(at).filter(same) {
            let count = u64::from(head.count);
            let last = head.at + pitch * (count - 1);
            let clock = clocks.get(usize::from(head.lane)).copied().flatten();
            item.whole &= clock.is_none_or(|clock| pitch.as_ps().is_multiple_of(clock.as_ps()));
            let phases = &records[at + 1..=at + usize::from(head.phases)];
            let begins = clock.map_or(last, |clock| last.edge(clock));
            item.end = phases.iter().fold(begins, |end, phase| end + phase.span).max(item.end);
            item.begins(head.at, last);
            item.spans += count * (u64::from(head.phases) + 1);
            at += 1 + usize::from(head.phases);
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

    /// Positions of its records.
    pub(super) fn positions(&self) -> impl Iterator<Item = usize> + use<> {
        let also = self.also.map_or(0..0, |(first, last)| first..last + 1);
        (self.first..=self.last).chain(also)
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
        let kept: Vec<Record> = item.positions().map(|position| records[position]).collect();
        let Some(cut) = self.of_item[number].map(|cut| &self.cuts[cut]) else {
            return vec![(kept, item.start - self.squeeze(item.start))];
        };
        let (mut earlier, mut later) = (Vec::new(), Vec::new());
        let mut at = 0;
        while let Some(head) = kept.get(at) {
            let phases = &kept[at + 1..=at + usize::from(head.phases)];
            let before = (cut.at - head.at).as_ps().div_ceil(cut.pitch.as_ps());
            let after = u64::from(head.count) - before - cut.periods;
            earlier.push(Record { count: before as u16, ..*head });
            earlier.extend_from_slice(phases);
            later.push(Record { at: head.at + cut.pitch * (before + cut.periods), count: after as u16, ..*head });
            later.extend_from_slice(phases);
            at += 1 + phases.len();
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
