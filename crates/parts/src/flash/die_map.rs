//! The blocks of one die: what is valid in them, what is open, and what is being collected.

use std::cell::OnceCell;

use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

use super::spec::{Spec, State};
use super::sums::Sums;

/// Written before the run and where its address says, before the run and anywhere, since.
pub(super) const AT_HOME: usize = 0;
pub(super) const BEFORE: usize = 1;
pub(super) const SINCE: usize = 2;
pub(super) const KINDS: usize = 3;

/// What a die has to do before the next stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Read so many multi-plane pages, and program their valid units as one stripe.
    Copy { reads: u64, units: u64 },
    /// Erase a block.
    Erase,
}

/// Units of a block over all planes of a die, of a stripe and of a page.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Sizes {
    pub(super) block: u64,
    pub(super) stripe: u64,
    pub(super) page: u64,
}

/// A block of one die, over all its planes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) valid: [u32; KINDS],
    /// Its units were written in the order of their addresses.
    pub(super) in_order: bool,
    /// It is neither free nor open.
    pub(super) closed: bool,
}

impl Block {
    pub(super) fn all_valid(&self) -> u64 {
        self.valid.iter().map(|valid| u64::from(*valid)).sum()
    }
}

/// A block that is being filled.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) block: usize,
    pub(super) used: u64,
}

/// A block that is being collected.
#[derive(Clone)]
pub(super) struct Victim {
    pub(super) block: usize,
    /// Units that its copies take up, the last stripe whole.
    pub(super) copies: u64,
    /// Units that are gained.
    pub(super) gain: u64,
    pub(super) copied: u64,
    /// Units of the host since the collection began.
    pub(super) written: u64,
    pub(super) reads_left: u64,
}

/// The blocks of one die.
#[derive(Clone)]
pub(super) struct DieMap {
    pub(super) blocks: Vec<Block>,
    /// For each kind of unit: where a drawn one is.
    pub(super) sums: [Sums; KINDS],
    pub(super) free: Vec<usize>,
    /// What is written, and what is copied.
    pub(super) open: [Open; 2],
    pub(super) victim: Option<Victim>,
    /// The block that a run of addresses makes invalid, for each kind of unit.
    pub(super) falling: [Option<usize>; KINDS],
    /// No block has been collected yet, and none had before the run.
    pub(super) is_untouched: bool,
}

pub(super) const HOST: usize = 0;
pub(super) const COPIES: usize = 1;

/// All dies of a drive. Most of them are alike at first, and most runs touch few of them.
pub(super) struct Dies {
    /// Those that have been looked at; the others are as `first` is, but for how far their collections are.
    known: Vec<OnceCell<DieMap>>,
    first: DieMap,
    /// Copies that each has made before the run; nothing where none collects.
    copied: Option<Vec<u64>>,
    sizes: Sizes,
}

impl Dies {
    /// Before the run. A drive in equilibrium begins in the middle of its collections: no two dies erase at the same time.
    pub(super) fn new(spec: &Spec, sizes: Sizes, random: &mut Pcg64Mcg) -> Dies {
        let mut first = DieMap::new(spec);
        if spec.state == State::Steady {
            first.victim = first.choose(sizes);
        }
        let stripes = first.victim.as_ref().map(|victim| victim.copies / sizes.stripe);
        let copied = stripes.map(|stripes| (0..spec.lanes()).map(|_| below(random, stripes)).collect());
        Dies { known: (0..spec.lanes()).map(|_| OnceCell::new()).collect(), first, copied, sizes }
    }

    pub(super) fn get(&self, number: usize) -> &DieMap {
        match &self.copied {
            None => self.known[number].get().unwrap_or(&self.first),
            Some(copied) => self.known[number].get_or_init(|| self.first.staggered(copied[number], self.sizes)),
        }
    }

    pub(super) fn get_mut(&mut self, number: usize) -> &mut DieMap {
        if self.known[number].get().is_none() {
            let die = self.get(number).clone();
            // It may have become known just now.
            self.known[number].get_or_init(|| die);
        }
        self.known[number].get_mut().expect("it is there now")
    }

    /// The dies of another drive instead of its own, of which there are as many.
    pub(super) fn become_those(&mut self, dies: &[DieMap]) {
        self.known = dies.iter().map(|die| OnceCell::from(die.clone())).collect();
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &DieMap> {
        (0..self.known.len()).map(|number| self.get(number))
    }
}

impl DieMap {
    /// Before the run.
    pub(super) fn new(spec: &Spec) -> DieMap {
        let before = &before_the_run(spec);
        let empty = Block { valid: [0; KINDS], in_order: true, closed: false };
        let fresh = spec.state == State::Fresh;
        let kind = if fresh { AT_HOME } else { BEFORE };
        let mut blocks = vec![empty; spec.blocks() as usize];
        for (block, valid) in blocks.iter_mut().zip(before) {
            *block = Block { valid: [0; KINDS], in_order: fresh, closed: true };
            block.valid[kind] = *valid;
        }
        let mut sums = [(); KINDS].map(|()| Sums::new(blocks.len()));
        before.iter().enumerate().for_each(|(block, valid)| sums[kind].add(block, *valid));
        let open = [before.len(), before.len() + 1].map(|block| Open { block, used: 0 });
        let free = (before.len() + 2..blocks.len()).rev().collect();
        DieMap { blocks, sums, free, open, victim: None, falling: [None; KINDS], is_untouched: fresh }
    }

    /// In the middle of a collection, after so many copies.
    pub(super) fn staggered(&self, copied: u64, sizes: Sizes) -> DieMap {
        let mut map = self.clone();
        for _ in 0..copied {
            map.copy(sizes);
        }
        if let Some(victim) = &mut map.victim {
            victim.written = copied * victim.gain / victim.copies * sizes.stripe;
            map.open[HOST].used = victim.written;
        }
        map
    }

    /// Units that can be written without an erase.
    pub(super) fn room(&self, block_units: u64) -> u64 {
        let open: u64 = self.open.iter().map(|open| block_units - open.used).sum();
        self.free.len() as u64 * block_units + open
    }

    /// The closed block with the fewest valid units.
    pub(super) fn choose(&self, sizes: Sizes) -> Option<Victim> {
        let closed = self.blocks.iter().enumerate().filter(|(_, block)| block.closed);
        let (block, fewest) = closed.min_by_key(|(_, block)| block.all_valid())?;
        let valid = fewest.all_valid();
        let copies = valid.next_multiple_of(sizes.stripe);
        let gain = sizes.block.saturating_sub(copies).max(1);
        let reads_left = valid.min(sizes.block / sizes.page);
        Some(Victim { block, copies, gain, copied: 0, written: 0, reads_left })
    }

    pub(super) fn erase(&mut self, block: usize) {
        (self.victim, self.is_untouched) = (None, false);
        self.blocks[block] = Block { valid: [0; KINDS], in_order: true, closed: false };
        self.free.push(block);
        for falling in &mut self.falling {
            *falling = falling.filter(|other| *other != block);
        }
    }

    /// Closes an open block and opens the next one.
    fn open_next(&mut self, role: usize) {
        let full = self.open[role].block;
        // The reserve keeps a block for each role; without one the full block would take more than it holds.
        let next = self.free.pop();
        debug_assert!(next.is_some(), "a die keeps blocks in reserve");
        if let Some(block) = next {
            self.blocks[full].closed = true;
            self.open[role].block = block;
        }
        self.open[role].used = 0;
    }

    /// Copies a stripe of the block that is being collected.
    pub(super) fn copy(&mut self, sizes: Sizes) -> Option<Step> {
        let victim = self.victim.as_mut()?;
        let block = self.blocks[victim.block];
        let left = block.all_valid();
        let units = left.min(sizes.stripe);
        let reads = (victim.reads_left * units).div_ceil(left.max(1));
        victim.reads_left -= reads;
        victim.copied += sizes.stripe;
        // Of each kind its share, and the rest of whatever is left.
        let mut missing = units as u32;
        let mut moved = block.valid.map(|valid| (u64::from(valid) * units / left) as u32);
        moved.iter().for_each(|count| missing -= count);
        for (count, valid) in moved.iter_mut().zip(block.valid) {
            let more = missing.min(valid - *count);
            (*count, missing) = (*count + more, missing - more);
        }
        let from = victim.block;
        for (kind, count) in moved.into_iter().enumerate() {
            self.blocks[from].valid[kind] -= count;
            self.sums[kind].take(from, count);
        }
        let moved = [0, moved[AT_HOME] + moved[BEFORE], moved[SINCE]];
        self.fill(sizes, COPIES, moved, block.in_order);
        Some(Step::Copy { reads, units })
    }

    /// A stripe with so many valid units of each kind goes into an open block.
    pub(super) fn fill(&mut self, sizes: Sizes, role: usize, valid: [u32; KINDS], in_order: bool) {
        if self.open[role].used >= sizes.block {
            self.open_next(role);
        }
        let Open { block, used } = self.open[role];
        self.open[role].used = used + sizes.stripe;
        self.blocks[block].in_order &= in_order;
        for (kind, count) in valid.into_iter().enumerate() {
            self.blocks[block].valid[kind] += count;
            self.sums[kind].add(block, count);
        }
    }
}

/// Valid units of each closed block of one die, before the run.
fn before_the_run(spec: &Spec) -> Vec<u32> {
    let (block, units) = (spec.block_units(), spec.host_units());
    if spec.state == State::Fresh {
        let whole = std::iter::repeat_n(block as u32, (units / block) as usize);
        let rest = Some((units % block) as u32).filter(|rest| *rest > 0);
        return whole.chain(rest).collect();
    }
    let count = spec.data_blocks() as usize;
    let valid = |factor: f64| {
        let mut share = 1.0;
        let shares = (0..count).map(move |_| {
            share *= factor;
            (share * block as f64) as u64
        });
        shares.collect::<Vec<u64>>()
    };
    // The factor at which all blocks together hold what the host has written, by halves.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        if valid(middle).iter().sum::<u64>() < units { low = middle } else { high = middle }
    }
    let mut blocks = valid(low);
    let mut missing = units.saturating_sub(blocks.iter().sum());
    for valid in &mut blocks {
        let more = missing.min(block - *valid);
        (*valid, missing) = (*valid + more, missing - more);
    }
    blocks.into_iter().map(|valid| valid as u32).collect()
}

/// A number below `n`, evenly.
pub(super) fn below(random: &mut Pcg64Mcg, n: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64
}
