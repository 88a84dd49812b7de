//! The adapter's cache: lines of an array's bytes, which of their sectors are there, and which have not been written.
//!
//! It only answers. Lines are found through chains of a fixed table and kept in the order of their last use; those
//! with sectors to write have an order of their own. A line that somebody works on is pinned and stays.

use super::layout::SECTOR_BYTES;

/// Sectors of a line, at most: a word of marks.
pub const LINE_SECTORS_MAX: u64 = 128;
const NONE: u32 = u32::MAX;
const LINES_AT_ONCE: usize = 0;
const TO_WRITE: usize = 1;

/// A line's marks, a bit a sector.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// Sectors that are there.
    pub valid: u128,
    /// Sectors that the drives do not have yet.
    pub dirty: u128,
    /// Sectors that are being read.
    pub filling: u128,
    /// Sectors that are on their way to the drives.
    pub going: u128,
    /// Somebody takes them there.
    pub destaging: bool,
    /// How many work on it.
    pub pins: u32,
}

#[derive(Clone, Copy)]
struct Line {
    number: u64,
    marks: Marks,
    /// In the chain of its bucket.
    next_in_bucket: u32,
    /// Neighbours by last use, and by last write.
    before: [u32; 2],
    after: [u32; 2],
    listed: [bool; 2],
}

/// The cache.
pub struct Cache {
    lines: Vec<Line>,
    buckets: Vec<u32>,
    free: Vec<u32>,
    /// The oldest and the youngest of each order.
    oldest: [u32; 2],
    youngest: [u32; 2],
    /// Lines with sectors that the drives do not have, or are just getting.
    unwritten: usize,
    /// Those sectors.
    unwritten_sectors: u64,
}

/// Marks of `count` sectors from `first` on.
pub fn mask(first: u64, count: u64) -> u128 {
    let all = if count >= LINE_SECTORS_MAX { u128::MAX } else { (1 << count) - 1 };
    all << first
}

impl Cache {
    /// An empty cache of so many lines.
    pub fn new(lines: usize) -> Cache {
        Cache {
            lines: Vec::with_capacity(lines),
            buckets: vec![NONE; lines.next_power_of_two()],
            free: (0..lines as u32).rev().collect(),
            oldest: [NONE; 2],
            youngest: [NONE; 2],
            unwritten: 0,
            unwritten_sectors: 0,
        }
    }

    fn bucket(&self, number: u64) -> usize {
        (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize & (self.buckets.len() - 1)
    }

    /// Where a line is kept.
    pub fn find(&self, number: u64) -> Option<u32> {
        let mut at = self.buckets[self.bucket(number)];
        while at != NONE && self.lines[at as usize].number != number {
            at = self.lines[at as usize].next_in_bucket;
        }
        (at != NONE).then_some(at)
    }

    /// Whether all of these sectors of the line at `at` are there.
    pub fn has(&self, at: u32, sectors: u128) -> bool {
        self.marks(at).valid & sectors == sectors
    }

    /// A line's marks.
    pub fn marks(&self, at: u32) -> Marks {
        self.lines[at as usize].marks
    }

    /// The number of the line that is kept at `at`.
    pub fn number(&self, at: u32) -> u64 {
        self.lines[at as usize].number
    }

    /// The line, there already or taken in; the line used longest ago goes that holds nothing unwritten and that
    /// nobody works on. Nothing where there is none.
    pub fn take_in(&mut self, number: u64) -> Option<u32> {
        if let Some(at) = self.find(number) {
            self.used(at);
            return Some(at);
        }
        if self.free.is_empty() {
            let mut at = self.oldest[LINES_AT_ONCE];
            while at != NONE && !self.is_idle(at) {
                at = self.lines[at as usize].after[LINES_AT_ONCE];
            }
            if at == NONE {
                return None;
            }
            self.drop_line(at);
        }
        let at = self.free.pop()?;
        let bucket = self.bucket(number);
        let line = Line {
            number,
            marks: Marks::default(),
            next_in_bucket: self.buckets[bucket],
            before: [NONE; 2],
            after: [NONE; 2],
            listed: [false; 2],
        };
        if at as usize == self.lines.len() {
            self.lines.push(line)
        } else {
            self.lines[at as usize] = line
        }
        self.buckets[bucket] = at;
        self.append(LINES_AT_ONCE, at);
        Some(at)
    }

    fn is_idle(&self, at: u32) -> bool {
        let marks = &self.lines[at as usize].marks;
        marks.pins == 0 && marks.dirty == 0 && marks.filling == 0 && !marks.destaging
    }

    fn drop_line(&mut self, at: u32) {
        self.remove(LINES_AT_ONCE, at);
        let (number, next) = (self.lines[at as usize].number, self.lines[at as usize].next_in_bucket);
        let bucket = self.bucket(number);
        if self.buckets[bucket] == at {
            self.buckets[bucket] = next;
        } else {
            let mut previous = self.buckets[bucket];
            while self.lines[previous as usize].next_in_bucket != at {
                previous = self.lines[previous as usize].next_in_bucket;
            }
            self.lines[previous as usize].next_in_bucket = next;
        }
        self.free.push(at);
    }

    /// A line has been used.
    pub fn used(&mut self, at: u32) {
        self.remove(LINES_AT_ONCE, at);
        self.append(LINES_AT_ONCE, at);
    }

    /// Keeps a line, or lets it go again.
    pub fn pin(&mut self, at: u32, keep: bool) {
        let pins = &mut self.lines[at as usize].marks.pins;
        *pins = if keep { *pins + 1 } else { *pins - 1 };
    }

    /// Sectors are being read.
    pub fn fill(&mut self, at: u32, sectors: u128) {
        self.lines[at as usize].marks.filling |= sectors;
    }

    /// Sectors have been read; what was written meanwhile stays.
    pub fn filled(&mut self, at: u32, sectors: u128) {
        let marks = &mut self.lines[at as usize].marks;
        marks.filling &= !sectors;
        marks.valid |= sectors;
    }

    /// Sectors have come from the host, and the drives do or do not have them.
    pub fn written(&mut self, at: u32, sectors: u128, dirty: bool) {
        let marks = &mut self.lines[at as usize].marks;
        marks.valid |= sectors;
        if dirty {
            let clean = marks.dirty == 0 && !marks.destaging;
            self.unwritten_sectors += u64::from((sectors & !marks.dirty).count_ones());
            marks.dirty |= sectors;
            self.unwritten += usize::from(clean);
            self.remove(TO_WRITE, at);
            self.append(TO_WRITE, at);
        }
    }

    /// The dirty sectors of a line begin their way to the drives.
    pub fn destage(&mut self, at: u32) {
        self.remove(TO_WRITE, at);
        let marks = &mut self.lines[at as usize].marks;
        (marks.going, marks.dirty, marks.destaging) = (marks.dirty, 0, true);
    }

    /// They are there.
    pub fn destaged(&mut self, at: u32) {
        let marks = &mut self.lines[at as usize].marks;
        self.unwritten_sectors -= u64::from(marks.going.count_ones());
        (marks.going, marks.destaging) = (0, false);
        self.unwritten -= usize::from(marks.dirty == 0);
    }

    /// Lines with sectors that the drives do not have.
    pub fn unwritten(&self) -> usize {
        self.unwritten
    }

    /// Bytes that the drives do not have.
    pub fn unwritten_bytes(&self) -> u64 {
        self.unwritten_sectors * SECTOR_BYTES
    }

    /// Lines that have held something: a line that has to go makes room for another.
    pub fn taken(&self) -> usize {
        self.lines.len()
    }

    /// The line to write that was written longest ago and that nobody is writing.
    pub fn oldest_dirty(&self) -> Option<u32> {
        self.dirty().find(|&at| !self.lines[at as usize].marks.destaging)
    }

    /// Lines to write, the one written longest ago first.
    pub fn dirty(&self) -> impl Iterator<Item = u32> + '_ {
        self.in_order(TO_WRITE)
    }

    /// Whether a line is there that can be written to the drives now.
    pub fn can_destage(&self, number: u64) -> Option<u32> {
        let at = self.find(number)?;
        let marks = self.marks(at);
        (marks.dirty != 0 && !marks.destaging).then_some(at)
    }

    /// Adds what the cache holds to `words`: how many lines, each with its number and the sectors that are there and that
    /// the drives do not have, by last use; then the numbers of those to write, by last write. Nobody works on any of them
    /// any more: what is on its way is not there.
    pub fn remembered(&self, words: &mut Vec<u64>) {
        let halves = |marks: u128| [marks as u64, (marks >> 64) as u64];
        words.push(self.in_order(LINES_AT_ONCE).count() as u64);
        for at in self.in_order(LINES_AT_ONCE) {
            let Line { number, marks, .. } = self.lines[at as usize];
            words.push(number);
            words.extend(halves(marks.valid).into_iter().chain(halves(marks.dirty | marks.going)));
        }
        let on_the_way = self.lines.iter().filter(|line| line.marks.destaging).map(|line| line.number);
        let waiting = self.dirty().filter(|&at| !self.marks(at).destaging).map(|at| self.number(at));
        words.extend(on_the_way.chain(waiting));
    }

    /// Takes in what [`Cache::remembered`] said; whether that is something. Of more lines than there are those used last.
    pub fn recall(&mut self, words: &[u64]) -> bool {
        let Some((count, words)) = words.split_first() else { return false };
        let Some((lines, to_write)) = words.split_at_checked(*count as usize * 5) else { return false };
        let marks = |halves: &[u64]| u128::from(halves[0]) | u128::from(halves[1]) << 64;
        let lines: Vec<&[u64]> = lines.chunks_exact(5).collect();
        for line in &lines[lines.len().saturating_sub(self.free.len())..] {
            if let Some(at) = self.take_in(line[0]) {
                self.filled(at, marks(&line[1..3]));
                self.lines[at as usize].marks.dirty = marks(&line[3..5]);
            }
        }
        for number in to_write {
            if let Some(at) = self.find(*number) {
                let dirty = std::mem::take(&mut self.lines[at as usize].marks.dirty);
                self.written(at, dirty, true);
            }
        }
        true
    }

    fn in_order(&self, order: usize) -> impl Iterator<Item = u32> + '_ {
        let of = |at: u32| (at != NONE).then_some(at);
        std::iter::successors(of(self.oldest[order]), move |&at| of(self.lines[at as usize].after[order]))
    }

    fn append(&mut self, order: usize, at: u32) {
        let last = self.youngest[order];
        if last == NONE {
            self.oldest[order] = at
        } else {
            self.lines[last as usize].after[order] = at
        }
        let line = &mut self.lines[at as usize];
        (line.before[order], line.after[order], line.listed[order]) = (last, NONE, true);
        self.youngest[order] = at;
    }

    fn remove(&mut self, order: usize, at: u32) {
        let line = &mut self.lines[at as usize];
        if !std::mem::take(&mut line.listed[order]) {
            return;
        }
        let (before, after) = (line.before[order], line.after[order]);
        if before == NONE {
            self.oldest[order] = after
        } else {
            self.lines[before as usize].after[order] = after
        }
        if after == NONE { self.youngest[order] = before } else { self.lines[after as usize].before[order] = before }
    }
}

/// Runs of set marks: first sector and how many. Marks of `bridges` between two runs join them.
pub fn runs(marks: u128, bridges: u128) -> impl Iterator<Item = (u64, u64)> {
    let mut left = marks;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let first = left.trailing_zeros();
        let joined = u64::from(((marks | bridges) >> first).trailing_ones());
        // Up to the last mark that is reached without a hole.
        let reached = (left >> first) & mask(0, joined);
        let count = 128 - reached.leading_zeros();
        left &= !mask(u64::from(first), u64::from(count));
        Some((u64::from(first), u64::from(count)))
    })
}

/// Which lines a range of the array touches, with the sectors of each: line, first sector, how many.
pub fn pieces(at_bytes: u64, bytes: u64, line_bytes: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    let end = at_bytes + bytes;
    let mut at = at_bytes;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let (number, within) = (at / line_bytes, at % line_bytes);
        let part = (line_bytes - within).min(end - at);
        at += part;
        Some((number, within / SECTOR_BYTES, part / SECTOR_BYTES))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_at_holes_that_nothing_bridges() {
        let of = |marks, bridges| runs(marks, bridges).collect::<Vec<_>>();
        assert_eq!(of(0, u128::MAX), []);
        assert_eq!(of(0b1011_0000, 0), [(4, 2), (7, 1)]);
        assert_eq!(of(0b1011_0000, 0b1111_0000), [(4, 4)]);
        assert_eq!(of(0b1, u128::MAX), [(0, 1)]);
        assert_eq!(of(u128::MAX, 0), [(0, 128)]);
        assert_eq!(of(1 << 127 | 1, 0), [(0, 1), (127, 1)]);
        assert_eq!(of(1 << 127 | 1, u128::MAX), [(0, 128)]);
        assert_eq!(of(1 << 127 | 1 << 126, 0), [(126, 2)]);
    }

    #[test]
    fn the_line_used_longest_ago_goes_first_unless_it_is_needed() {
        let mut cache = Cache::new(3);
        let lines: Vec<u32> = (0..3).filter_map(|n| cache.take_in(10 + n)).collect();
        cache.written(lines[0], mask(0, 8), true);
        cache.pin(lines[1], true);
        cache.filled(lines[2], mask(0, 8));
        assert!(cache.take_in(13).is_some() && cache.find(12).is_none(), "only the third could go");
        cache.pin(lines[1], false);
        assert!(cache.take_in(14).is_some() && cache.find(11).is_none() && cache.find(10).is_some());
        cache.used(lines[0]);
        assert_eq!(cache.unwritten(), 1);
        cache.destage(lines[0]);
        assert_eq!(cache.marks(lines[0]).going, mask(0, 8));
        cache.written(lines[0], mask(4, 8), true);
        cache.destaged(lines[0]);
        assert_eq!((cache.unwritten(), cache.marks(lines[0]).dirty), (1, mask(4, 8)), "written again meanwhile");
        assert_eq!(cache.unwritten_bytes(), 8 * SECTOR_BYTES);
        cache.destage(lines[0]);
        cache.destaged(lines[0]);
        assert_eq!((cache.unwritten(), cache.unwritten_bytes()), (0, 0));
    }

    #[test]
    fn what_is_remembered_is_there_again_and_what_is_on_its_way_is_to_be_done() {
        let mut cache = Cache::new(4);
        let lines: Vec<u32> = (0..4).filter_map(|n| cache.take_in(10 + n)).collect();
        cache.filled(lines[0], mask(0, 100));
        for (line, first) in [(1, 0), (2, 8), (3, 16)] {
            cache.written(lines[line], mask(first, 8), true);
        }
        cache.fill(lines[1], mask(64, 8));
        cache.destage(lines[2]);
        cache.written(lines[2], mask(120, 4), true);
        cache.used(lines[0]);
        let mut words = Vec::new();
        cache.remembered(&mut words);
        let mut again = Cache::new(4);
        assert!(again.recall(&words));
        let mut same = Vec::new();
        again.remembered(&mut same);
        assert_eq!(same, words);
        assert_eq!((again.unwritten(), again.unwritten_bytes()), (3, 28 * SECTOR_BYTES));
        let at = |number| again.find(number).expect("it was there");
        assert!(again.has(at(10), mask(0, 100)) && again.has(at(12), mask(8, 8)) && !again.has(at(11), mask(64, 8)));
        // What was on its way goes first.
        assert_eq!(again.dirty().map(|at| again.number(at)).collect::<Vec<_>>(), [12, 11, 13]);
        // The oldest goes from a smaller one.
        let mut smaller = Cache::new(2);
        assert!(smaller.recall(&words) && smaller.find(11).is_none() && smaller.find(12).is_none());
        assert_eq!((smaller.unwritten(), smaller.find(10).is_some()), (1, true));
        assert!(!smaller.recall(&[]) && !smaller.recall(&[2, 1]));
    }

    #[test]
    fn lines_are_found_whatever_came_and_went() {
        let mut cache = Cache::new(7);
        let mut kept: Vec<u64> = Vec::new();
        for step in 0..2_000u64 {
            let number = (step * step * 31 + step / 3) % 23;
            assert!(cache.take_in(number).is_some());
            kept.retain(|other| *other != number);
            kept.push(number);
            if kept.len() > 7 {
                kept.remove(0);
            }
            for other in 0..23 {
                assert_eq!(cache.find(other).is_some(), kept.contains(&other), "step {step}, line {other}");
            }
        }
    }

    #[test]
    fn a_range_is_cut_at_lines() {
        let cut: Vec<_> = pieces(65_536 - 1_024, 2_048 + 65_536, 65_536).collect();
        assert_eq!(cut, [(0, 126, 2), (1, 0, 128), (2, 0, 2)]);
    }
}
