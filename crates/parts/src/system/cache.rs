//! The pages of a device that a cache has: which are there, which are coming, which have to be written. It only answers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::PAGE_BYTES;

/// Pages that are looked at to make room for one: the hand of a clock goes so far at a time.
const LOOKED_AT_MAX: usize = 64;

/// A page of the device.
#[derive(Clone, Copy, Default)]
struct Page {
    /// The piece with which it comes, until it is there.
    coming: Option<u32>,
    /// It has been written to since it was last sent to the device.
    dirty: bool,
    /// It is on its way to the device.
    leaving: bool,
    /// It was used since the hand passed.
    used: bool,
}

/// Pages that go to the device, or come from there, together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first page.
    pub first: u64,
    /// How many.
    pub pages: u64,
    /// Which piece it is, if it comes.
    pub piece: u32,
}

/// The pages.
pub struct Cache {
    pages: BTreeMap<u64, Page>,
    /// In the order in which the hand passes them.
    hand: VecDeque<u64>,
    most: usize,
    /// Pages of a piece: pieces begin at multiples of it.
    piece: u64,
    dirty: BTreeSet<u64>,
    leaving: u64,
    /// Where what is to be written is looked for next.
    next: u64,
    /// Who waits for a piece, by its number.
    waiting: Vec<Vec<u32>>,
    free: Vec<u32>,
}

impl Cache {
    /// An empty one.
    pub fn new(bytes: u64, piece_bytes: u32) -> Cache {
        Cache {
            pages: BTreeMap::new(),
            hand: VecDeque::new(),
            most: (bytes / PAGE_BYTES) as usize,
            piece: u64::from(piece_bytes) / PAGE_BYTES,
            dirty: BTreeSet::new(),
            leaving: 0,
            next: 0,
            waiting: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Looks for pages up to `end`. What is not there is to come from now on, in the runs that are added to `missing`;
    /// returns for how many pieces `reader` waits, of these and of others.
    pub fn look(&mut self, first: u64, end: u64, reader: Option<u32>, missing: &mut Vec<Run>) -> u32 {
        let mut waits = 0;
        let before = missing.len();
        for number in first..end {
            let piece = match self.pages.get_mut(&number) {
                Some(page) => {
                    page.used = true;
                    page.coming
                }
                None => Some(self.miss(number, before, missing)),
            };
            if let (Some(piece), Some(reader)) = (piece, reader) {
                let waiting = &mut self.waiting[piece as usize];
                if waiting.last() != Some(&reader) {
                    waiting.push(reader);
                    waits += 1;
                }
            }
        }
        waits
    }

    /// A page is to come: with the run before it where that ends there and the piece goes on.
    fn miss(&mut self, number: u64, before: usize, missing: &mut Vec<Run>) -> u32 {
        let goes_on = missing[before..].last_mut().filter(|run| run.first + run.pages == number);
        let piece = match goes_on.filter(|_| !number.is_multiple_of(self.piece)) {
            Some(run) => {
                run.pages += 1;
                run.piece
            }
            None => {
                let piece = self.free.pop().unwrap_or_else(|| {
                    self.waiting.push(Vec::new());
                    (self.waiting.len() - 1) as u32
                });
                missing.push(Run { first: number, pages: 1, piece });
                piece
            }
        };
        self.keep(number).coming = Some(piece);
        piece
    }

    /// A run has come; whoever waited for it is added to `readers`.
    pub fn came(&mut self, run: Run, readers: &mut Vec<u32>) {
        for number in run.first..run.first + run.pages {
            if let Some(page) = self.pages.get_mut(&number) {
                page.coming = None;
            }
        }
        readers.append(&mut self.waiting[run.piece as usize]);
        self.free.push(run.piece);
    }

    /// Bytes that are not on the device yet.
    pub fn unwritten(&self) -> u64 {
        (self.dirty.len() as u64 + self.leaving) * PAGE_BYTES
    }

    /// Bytes that nobody writes yet.
    pub fn dirty(&self) -> u64 {
        self.dirty.len() as u64 * PAGE_BYTES
    }

    /// Pages up to `end` have been written to.
    pub fn written(&mut self, first: u64, end: u64) {
        for number in first..end {
            let page = self.keep(number);
            (page.dirty, page.used) = (true, true);
            self.dirty.insert(number);
        }
    }

    /// What is to go to the device next, in the order of addresses and round again.
    pub fn leave(&mut self) -> Option<Run> {
        let next = self.dirty.range(self.next..).chain(&self.dirty).copied();
        let first = next.into_iter().find(|number| self.pages.get(number).is_some_and(|page| !page.leaving))?;
        let end = (first / self.piece + 1) * self.piece;
        let mut pages = 0;
        for number in first..end {
            let Some(page) = self.pages.get_mut(&number).filter(|page| page.dirty && !page.leaving) else { break };
            (page.dirty, page.leaving) = (false, true);
            self.dirty.remove(&number);
            pages += 1;
        }
        self.next = first + pages;
        self.leaving += pages;
        Some(Run { first, pages, piece: 0 })
    }

    /// It has gone there.
    pub fn left(&mut self, run: Run) {
        for number in run.first..run.first + run.pages {
            if let Some(page) = self.pages.get_mut(&number) {
                page.leaving = false;
            }
        }
        self.leaving -= run.pages;
    }

    /// The page, which is in the cache from now on.
    fn keep(&mut self, number: u64) -> &mut Page {
        if !self.pages.contains_key(&number) {
            self.make_room();
            self.hand.push_back(number);
        }
        self.pages.entry(number).or_default()
    }

    fn make_room(&mut self) {
        for _ in 0..LOOKED_AT_MAX {
            if self.pages.len() < self.most {
                return;
            }
            let Some(number) = self.hand.pop_front() else { return };
            let page = self.pages.get_mut(&number).copied().unwrap_or_default();
            if page.coming.is_none() && !page.dirty && !page.leaving && !page.used {
                self.pages.remove(&number);
            } else {
                self.pages.entry(number).and_modify(|page| page.used = false);
                self.hand.push_back(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: u32 = 16 * PAGE_BYTES as u32;

    fn missing(cache: &mut Cache, first: u64, end: u64, reader: u32) -> (Vec<(u64, u64)>, u32, Vec<Run>) {
        let mut runs = Vec::new();
        let waits = cache.look(first, end, Some(reader), &mut runs);
        (runs.iter().map(|run| (run.first, run.pages)).collect(), waits, runs)
    }

    #[test]
    fn what_is_missing_comes_in_pieces_and_once() {
        let mut cache = Cache::new(1 << 20, PIECE);
        let (runs, waits, pieces) = missing(&mut cache, 10, 40, 1);
        assert_eq!((&runs[..], waits), (&[(10, 6), (16, 16), (32, 8)][..], 3));
        // Pages 30 and 31 come with the second piece, 32 to 39 with the third, 40 to 44 with one of their own.
        let (runs, waits, _) = missing(&mut cache, 30, 45, 2);
        assert_eq!((&runs[..], waits), (&[(40, 5)][..], 3));
        let mut readers = Vec::new();
        cache.came(pieces[1], &mut readers);
        assert_eq!(readers, [1, 2]);
        assert_eq!(missing(&mut cache, 16, 32, 3).1, 0, "they are there");
    }

    #[test]
    fn pages_leave_in_order_and_count_until_they_are_there() {
        let mut cache = Cache::new(1 << 20, PIECE);
        for first in [40, 3, 2, 15, 16] {
            cache.written(first, first + 1);
        }
        assert_eq!(cache.unwritten(), 5 * PAGE_BYTES);
        let runs: Vec<Run> = std::iter::from_fn(|| cache.leave()).collect();
        let told: Vec<(u64, u64)> = runs.iter().map(|run| (run.first, run.pages)).collect();
        assert_eq!(told, [(2, 2), (15, 1), (16, 1), (40, 1)]);
        assert_eq!((cache.dirty(), cache.unwritten()), (0, 5 * PAGE_BYTES));
        // Written to again on its way, it has to leave again, and not before it is there.
        cache.written(2, 3);
        assert_eq!(cache.leave(), None);
        runs.into_iter().for_each(|run| cache.left(run));
        assert_eq!(cache.leave().map(|run| (run.first, run.pages)), Some((2, 1)));
    }

    #[test]
    fn a_full_cache_forgets_what_nobody_used_and_never_what_is_unwritten() {
        let mut cache = Cache::new(256 * PAGE_BYTES, PIECE);
        cache.written(0, 100);
        for piece in 0..64 {
            let (_, _, runs) = missing(&mut cache, 1_000 + 16 * piece, 1_016 + 16 * piece, 1);
            runs.into_iter().for_each(|run| cache.came(run, &mut Vec::new()));
        }
        assert!(cache.pages.len() <= 256 + 16, "{} pages", cache.pages.len());
        assert_eq!(missing(&mut cache, 0, 100, 2).1, 0, "unwritten pages stay");
        assert!(missing(&mut cache, 1_000, 1_016, 2).1 > 0, "the first ones are forgotten");
    }
}
