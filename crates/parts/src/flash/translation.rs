//! The translation layer: how many units are valid in each block, and what garbage collection owes.
//!
//! No map is kept: a block is a few numbers, its valid units of each kind: those that are where their address says (on a
//! fresh drive), others that were written before the run, and those that were written since. What a write makes invalid
//! is drawn:
//!
//! - Was the unit written since the run began? Of the span between the lowest and the highest address written, so many
//!   units were; a write within it meets one of them with that probability. A write beyond it does not.
//! - In which block was it? On a fresh drive what was written before the run lies where its address says, unless it was
//!   copied. Else any valid unit of that kind is as likely as any other. That is exact for writes that come evenly over
//!   a span. What is written in order meets what was written in order before: block after block.
//!
//! A stripe makes units invalid on the die it is written to, so that what is valid on a die never changes.
//!
//! Collection is greedy: each die takes its block with the fewest valid units. The copies are paced: while a block of
//! `B` units with `v` valid ones is collected, each `B − v` units of the host go with `v` copies, so that the block is
//! free when the space it gains has been used.
//!
//! A drive in equilibrium begins with what even random writes and greedy collection lead to where blocks are large:
//! what is valid falls from block to block by one factor, since each unit of a block lives on with one probability.

use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;

use super::spec::{OPEN, RESERVE, Spec, State};
use super::sums::Sums;
use super::{UNIT_BYTES, Written};

/// Runs of addresses that are followed at once.
const RUNS: usize = 8;
/// A unit that is so close to the end of a run goes on with it: commands overtake each other. On small drives closer.
const RUN_REACH_MAX: u64 = 2_048;
const RUN_REACH_SHARE: u64 = 4_096;

/// Written before the run and where its address says, before the run and anywhere, since.
const AT_HOME: usize = 0;
const BEFORE: usize = 1;
const SINCE: usize = 2;
const KINDS: usize = 3;

/// A unit, and whether it goes on with a run of addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) unit: u64,
    pub(super) in_order: bool,
}

/// What a die has to do before the next stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Read so many multi-plane pages, and program their valid units as one stripe.
    Copy { reads: u64, units: u64 },
    /// Erase a block.
    Erase,
}

/// A block of one die, over all its planes.
#[derive(Clone, Copy, Debug)]
struct Block {
    valid: [u32; KINDS],
    /// Its units were written in the order of their addresses.
    in_order: bool,
    /// It is neither free nor open.
    closed: bool,
}

impl Block {
    fn all_valid(&self) -> u64 {
        self.valid.iter().map(|valid| u64::from(*valid)).sum()
    }
}

/// A block that is being filled.
#[derive(Clone, Copy)]
struct Open {
    block: usize,
    used: u64,
}

/// A block that is being collected.
struct Victim {
    block: usize,
    /// Units that its copies take up, the last stripe whole.
    copies: u64,
    /// Units that are gained.
    gain: u64,
    copied: u64,
    /// Units of the host since the collection began.
    written: u64,
    reads_left: u64,
}

/// The blocks of one die.
struct DieMap {
    blocks: Vec<Block>,
    /// For each kind of unit: where a drawn one is.
    sums: [Sums; KINDS],
    free: Vec<usize>,
    /// What is written, and what is copied.
    open: [Open; 2],
    victim: Option<Victim>,
    /// The block that a run of addresses makes invalid, for each kind of unit.
    falling: [Option<usize>; KINDS],
}

const HOST: usize = 0;
const COPIES: usize = 1;

/// The state of all dies.
pub(super) struct Translation {
    dies: Vec<DieMap>,
    random: Pcg64Mcg,
    block_units: u64,
    /// Units of one block of each die.
    row_units: u64,
    stripe_units: u64,
    page_units: u64,
    /// From the lowest unit written in the run to one past the highest.
    span: (u64, u64),
    /// Units of the span that have been written.
    written_in_span: u64,
    /// Ends of the last runs of addresses, and which is replaced next.
    runs: [u64; RUNS],
    next_run: usize,
    run_reach: u64,
    pub(super) written: Written,
}

impl Translation {
    pub(super) fn new(spec: &Spec, random: Pcg64Mcg) -> Translation {
        let before = before_the_run(spec);
        let dies = (0..spec.lanes()).map(|_| DieMap::new(&before, spec)).collect();
        let mut translation = Translation {
            dies,
            random,
            block_units: spec.block_units(),
            row_units: spec.block_units() * spec.lanes() as u64,
            stripe_units: spec.stripe_units(),
            page_units: spec.page_units(),
            span: (u64::MAX, 0),
            written_in_span: 0,
            runs: [u64::MAX; RUNS],
            next_run: 0,
            run_reach: (spec.capacity_bytes / u64::from(UNIT_BYTES) / RUN_REACH_SHARE).clamp(1, RUN_REACH_MAX),
            written: Written::default(),
        };
        if spec.state == State::Steady {
            (0..spec.lanes()).for_each(|die| translation.stagger(die));
        }
        translation
    }

    /// A drive in equilibrium begins in the middle of its collections: no two dies erase at the same time.
    fn stagger(&mut self, die: usize) {
        let map = &mut self.dies[die];
        map.victim = map.choose(self.block_units, self.stripe_units, self.page_units);
        let Some(Victim { copies, gain, .. }) = map.victim else { return };
        let copied = below(&mut self.random, copies / self.stripe_units);
        let written = copied * gain / copies * self.stripe_units;
        for _ in 0..copied {
            self.copy(die);
        }
        let map = &mut self.dies[die];
        if let Some(victim) = &mut map.victim {
            victim.written = written;
            map.open[HOST].used = written;
        }
        self.written = Written::default();
    }

    /// Bytes that can be written before collection falls behind: blocks that are free or open, and what the collection
    /// under way has gained so far of the block that it will free.
    pub(super) fn spare_bytes(&self) -> u64 {
        let gained = |victim: &Victim| (victim.copied + victim.written.min(victim.gain)).min(self.block_units);
        let of = |map: &DieMap| map.room(self.block_units) + map.victim.as_ref().map_or(0, gained);
        self.dies.iter().map(of).sum::<u64>() * u64::from(UNIT_BYTES)
    }

    /// What is still to be copied for what the host has written, bytes: it is made up for before the next stripes.
    pub(super) fn owed_bytes(&self) -> u64 {
        let owed =
            |victim: &Victim| (victim.written * victim.copies / victim.gain.max(1)).saturating_sub(victim.copied);
        self.dies.iter().filter_map(|map| map.victim.as_ref()).map(owed).sum::<u64>() * u64::from(UNIT_BYTES)
    }

    /// A unit is accepted: whether it goes on with a run of addresses.
    pub(super) fn accept(&mut self, unit: u64) -> Entry {
        let near = |end: &u64| unit.abs_diff(*end) <= self.run_reach;
        match self.runs.iter().position(near) {
            Some(run) => {
                self.runs[run] = self.runs[run].max(unit + 1);
                Entry { unit, in_order: true }
            }
            None => {
                self.runs[self.next_run] = unit + 1;
                self.next_run = (self.next_run + 1) % RUNS;
                Entry { unit, in_order: false }
            }
        }
    }

    /// A stripe is written to a die: what it replaces is no longer valid. The stripe takes up its whole size.
    pub(super) fn write(&mut self, die: usize, stripe: &[Entry]) {
        let mut in_order = true;
        for entry in stripe {
            in_order &= entry.in_order;
            self.replace(die, *entry);
        }
        self.written.by_host += stripe.len() as u64;
        self.fill(die, HOST, [0, 0, stripe.len() as u32], in_order);
        if let Some(victim) = &mut self.dies[die].victim {
            victim.written += self.stripe_units;
        }
    }

    /// What is owed before the next stripe, if anything. It counts as done.
    pub(super) fn collect(&mut self, die: usize) -> Option<Step> {
        let map = &mut self.dies[die];
        if map.victim.is_none() {
            if map.room(self.block_units) > (RESERVE + OPEN) * self.block_units {
                return None;
            }
            map.victim = Some(map.choose(self.block_units, self.stripe_units, self.page_units)?);
        }
        let full = map.open[HOST].used >= self.block_units && map.free.is_empty();
        let victim = map.victim.as_ref()?;
        if map.blocks[victim.block].all_valid() == 0 {
            let block = victim.block;
            map.erase(block);
            self.written.erased += 1;
            return Some(Step::Erase);
        }
        let due = u128::from(victim.copied) * u128::from(victim.gain)
            < u128::from(victim.written) * u128::from(victim.copies);
        if due || full { self.copy(die) } else { None }
    }

    /// Copies a stripe of the block that is being collected.
    fn copy(&mut self, die: usize) -> Option<Step> {
        let map = &mut self.dies[die];
        let victim = map.victim.as_mut()?;
        let block = map.blocks[victim.block];
        let left = block.all_valid();
        let units = left.min(self.stripe_units);
        let reads = (victim.reads_left * units).div_ceil(left.max(1));
        victim.reads_left -= reads;
        victim.copied += self.stripe_units;
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
            map.blocks[from].valid[kind] -= count;
            map.sums[kind].take(from, count);
        }
        let moved = [0, moved[AT_HOME] + moved[BEFORE], moved[SINCE]];
        self.written.copied += units;
        self.fill(die, COPIES, moved, block.in_order);
        Some(Step::Copy { reads, units })
    }

    /// Makes the old copy of a unit invalid.
    fn replace(&mut self, die: usize, Entry { unit, in_order }: Entry) {
        let (first, end) = self.span;
        let within = (first..end).contains(&unit);
        let since = within && below(&mut self.random, end - first) < self.written_in_span;
        self.span = (first.min(unit), end.max(unit + 1));
        let map = &mut self.dies[die];
        let home = (unit / self.row_units) as usize;
        let at_home = map.blocks.get(home).is_some_and(|block| block.valid[AT_HOME] > 0);
        let order = match (since, at_home) {
            (true, _) => [SINCE, BEFORE, AT_HOME],
            (false, true) => [AT_HOME, BEFORE, SINCE],
            (false, false) => [BEFORE, SINCE, AT_HOME],
        };
        let Some(kind) = order.into_iter().find(|kind| map.sums[*kind].all() > 0) else { return };
        let falling = map.falling[kind].filter(|block| in_order && map.blocks[*block].valid[kind] > 0);
        let known = if kind == AT_HOME && at_home { Some(home) } else { falling };
        let block = known.unwrap_or_else(|| {
            let drawn = below(&mut self.random, map.sums[kind].all());
            map.sums[kind].block_of(drawn)
        });
        map.falling[kind] = (in_order && map.blocks[block].in_order).then_some(block);
        map.blocks[block].valid[kind] -= 1;
        map.sums[kind].take(block, 1);
        self.written_in_span += u64::from(kind != SINCE);
    }

    /// A stripe with so many valid units of each kind goes into an open block.
    fn fill(&mut self, die: usize, role: usize, valid: [u32; KINDS], in_order: bool) {
        let map = &mut self.dies[die];
        if map.open[role].used >= self.block_units {
            map.open_next(role);
        }
        let Open { block, used } = map.open[role];
        map.open[role].used = used + self.stripe_units;
        map.blocks[block].in_order &= in_order;
        for (kind, count) in valid.into_iter().enumerate() {
            map.blocks[block].valid[kind] += count;
            map.sums[kind].add(block, count);
        }
    }
}

impl DieMap {
    fn new(before: &[u32], spec: &Spec) -> DieMap {
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
        DieMap { blocks, sums, free, open, victim: None, falling: [None; KINDS] }
    }

    /// Units that can be written without an erase.
    fn room(&self, block_units: u64) -> u64 {
        let open: u64 = self.open.iter().map(|open| block_units - open.used).sum();
        self.free.len() as u64 * block_units + open
    }

    /// The closed block with the fewest valid units.
    fn choose(&self, block_units: u64, stripe_units: u64, page_units: u64) -> Option<Victim> {
        let closed = self.blocks.iter().enumerate().filter(|(_, block)| block.closed);
        let (block, fewest) = closed.min_by_key(|(_, block)| block.all_valid())?;
        let valid = fewest.all_valid();
        let copies = valid.next_multiple_of(stripe_units);
        let gain = block_units.saturating_sub(copies).max(1);
        let reads_left = valid.min(block_units / page_units);
        Some(Victim { block, copies, gain, copied: 0, written: 0, reads_left })
    }

    fn erase(&mut self, block: usize) {
        self.victim = None;
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
fn below(random: &mut Pcg64Mcg, n: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64
}
