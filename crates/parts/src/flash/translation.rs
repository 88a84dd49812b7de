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

use rand_pcg::Pcg64Mcg;

use super::die_map::{AT_HOME, BEFORE, DieMap, Dies, HOST, SINCE, Sizes, Step, Victim, below};
use super::spec::{OPEN, RESERVE, Spec};
use super::{UNIT_BYTES, Written};

/// Runs of addresses that are followed at once.
const RUNS: usize = 8;
/// A unit that is so close to the end of a run goes on with it: commands overtake each other. On small drives closer.
const RUN_REACH_MAX: u64 = 2_048;
const RUN_REACH_SHARE: u64 = 4_096;

/// A unit, and whether it goes on with a run of addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) unit: u64,
    pub(super) in_order: bool,
}

/// What of the addresses written so far counts for those to come.
#[derive(Clone)]
struct Since {
    /// From the lowest unit written in the run to one past the highest.
    span: (u64, u64),
    /// Units of the span that have been written.
    written_in_span: u64,
    /// Ends of the last runs of addresses, and which is replaced next.
    runs: [u64; RUNS],
    next_run: usize,
}

/// The state of all dies.
pub(super) struct Translation {
    dies: Dies,
    random: Pcg64Mcg,
    sizes: Sizes,
    /// Units of one block of each die.
    row_units: u64,
    since: Since,
    run_reach: u64,
    pub(super) written: Written,
}

/// What lies in which block, for another drive of the same blocks.
pub(super) struct Kept {
    dies: Vec<DieMap>,
    sizes: Sizes,
    since: Since,
}

impl Translation {
    pub(super) fn new(spec: &Spec, random: Pcg64Mcg) -> Translation {
        let mut random = random;
        let sizes = Sizes { block: spec.block_units(), stripe: spec.stripe_units(), page: spec.page_units() };
        Translation {
            dies: Dies::new(spec, sizes, &mut random),
            random,
            sizes,
            row_units: spec.block_units() * spec.lanes() as u64,
            since: Since { span: (u64::MAX, 0), written_in_span: 0, runs: [u64::MAX; RUNS], next_run: 0 },
            run_reach: (spec.capacity_bytes / u64::from(UNIT_BYTES) / RUN_REACH_SHARE).clamp(1, RUN_REACH_MAX),
            written: Written::default(),
        }
    }

    /// Bytes that can be written before blocks are collected, and then before collection falls behind: blocks that are free
    /// or open beside those that are kept for it, and what the collection under way has gained so far of the block that it
    /// will free.
    pub(super) fn spare_bytes(&self) -> u64 {
        let gained = |victim: &Victim| (victim.copied + victim.written.min(victim.gain)).min(self.sizes.block);
        let room = |map: &DieMap| map.room(self.sizes.block) + map.victim.as_ref().map_or(0, gained);
        let of = |map: &DieMap| room(map).saturating_sub(self.kept_free());
        self.dies.all().map(of).sum::<u64>() * u64::from(UNIT_BYTES)
    }

    /// What is still to be written while dies collect their first blocks, bytes. Those have the fewest valid units, such as
    /// the last one of what was written in order, which is partly filled: what comes behind them costs more.
    pub(super) fn first_gains_bytes(&self) -> u64 {
        let first = self.dies.all().filter(|map| map.is_untouched).filter_map(|map| map.victim.as_ref());
        first.map(|victim| victim.gain.saturating_sub(victim.written)).sum::<u64>() * u64::from(UNIT_BYTES)
    }

    /// What is still to be copied for what the host has written, bytes: it is made up for before the next stripes.
    pub(super) fn owed_bytes(&self) -> u64 {
        let owed =
            |victim: &Victim| (victim.written * victim.copies / victim.gain.max(1)).saturating_sub(victim.copied);
        self.dies.all().filter_map(|map| map.victim.as_ref()).map(owed).sum::<u64>() * u64::from(UNIT_BYTES)
    }

    /// A unit is accepted: whether it goes on with a run of addresses.
    pub(super) fn accept(&mut self, unit: u64) -> Entry {
        let near = |end: &u64| unit.abs_diff(*end) <= self.run_reach;
        let Since { runs, next_run, .. } = &mut self.since;
        match runs.iter().position(near) {
            Some(run) => {
                runs[run] = runs[run].max(unit + 1);
                Entry { unit, in_order: true }
            }
            None => {
                runs[*next_run] = unit + 1;
                *next_run = (*next_run + 1) % RUNS;
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
        let map = self.dies.get_mut(die);
        map.fill(self.sizes, HOST, [0, 0, stripe.len() as u32], in_order);
        if let Some(victim) = &mut map.victim {
            victim.written += self.sizes.stripe;
        }
    }

    /// Whether a block of a die is being collected, or will be before its next stripe.
    pub(super) fn is_collected(&self, die: usize) -> bool {
        let map = self.dies.get(die);
        map.victim.is_some() || map.room(self.sizes.block) <= self.kept_free()
    }

    /// Units of a die whose blocks are kept free, and open: once no more are, it collects.
    fn kept_free(&self) -> u64 {
        (RESERVE + OPEN) * self.sizes.block
    }

    /// What is to be known of them to go on with.
    pub(super) fn kept(&self) -> Kept {
        Kept { dies: self.dies.all().cloned().collect(), sizes: self.sizes, since: self.since.clone() }
    }

    /// Goes on as another drive was left; whether it can, for its blocks are the same.
    pub(super) fn recall(&mut self, kept: &Kept) -> bool {
        let blocks = |dies: &mut dyn Iterator<Item = &DieMap>| dies.map(|die| die.blocks.len()).collect::<Vec<_>>();
        let is_same = self.sizes == kept.sizes && blocks(&mut self.dies.all()) == blocks(&mut kept.dies.iter());
        if is_same {
            self.dies.become_those(&kept.dies);
            self.since = kept.since.clone();
        }
        is_same
    }

    /// What is owed before the next stripe, if anything. It counts as done.
    pub(super) fn collect(&mut self, die: usize) -> Option<Step> {
        if !self.is_collected(die) {
            return None;
        }
        let (map, sizes) = (self.dies.get_mut(die), self.sizes);
        if map.victim.is_none() {
            map.victim = Some(map.choose(sizes)?);
        }
        let full = map.open[HOST].used >= sizes.block && map.free.is_empty();
        let victim = map.victim.as_ref()?;
        if map.blocks[victim.block].all_valid() == 0 {
            let block = victim.block;
            map.erase(block);
            self.written.erased += 1;
            return Some(Step::Erase);
        }
        let due = u128::from(victim.copied) * u128::from(victim.gain)
            < u128::from(victim.written) * u128::from(victim.copies);
        let step = if due || full { map.copy(sizes) } else { None };
        if let Some(Step::Copy { units, .. }) = step {
            self.written.copied += units;
        }
        step
    }

    /// Makes the old copy of a unit invalid.
    fn replace(&mut self, die: usize, Entry { unit, in_order }: Entry) {
        let (first, end) = self.since.span;
        let within = (first..end).contains(&unit);
        let since = within && below(&mut self.random, end - first) < self.since.written_in_span;
        self.since.span = (first.min(unit), end.max(unit + 1));
        let map = self.dies.get_mut(die);
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
        self.since.written_in_span += u64::from(kind != SINCE);
    }
}
