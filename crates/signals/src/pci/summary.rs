//! What transactions add up to.

use std::collections::BTreeMap;

use super::decode::Decoder;
use super::latency_timer::LatencyTimers;
use super::{CommandLines, EndedBy, SPENT_ON, Transaction};

/// Transactions of one initiator with one command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many.
    pub transactions: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Data phases.
    pub data_phases: u64,
    /// Clocks from FRAME# to the end of the last clock.
    pub clocks: u64,
    /// The same by [`SPENT_ON`].
    pub spent: [u64; 5],
    /// Clocks until the first data, of all.
    pub waits: u64,
    /// The most of one.
    pub wait_max: u64,
    /// How they ended.
    pub ended_by: BTreeMap<EndedBy, u64>,
    /// Bursts by their bytes.
    pub bursts: BTreeMap<u64, u64>,
    /// Transactions with data by the clocks from FRAME# to the first data.
    pub latencies: BTreeMap<u64, u64>,
}

/// A capture in short.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Clocks, and how long one is on average, picoseconds.
    pub clocks: u64,
    /// See `clocks`.
    pub clock_ps: f64,
    /// Where the clocks went, in order: address, wait for the first data, data, waits between data, what follows the
    /// last data, idle. They sum to `clocks`.
    pub spent: [(&'static str, u64); 6],
    /// By initiator and command.
    pub shares: BTreeMap<(Option<usize>, CommandLines), Share>,
    /// Idle clocks between transactions, by how many.
    pub idles: BTreeMap<u64, u64>,
    /// Latency timers, as far as they show.
    pub timers: LatencyTimers,
    /// Bytes moved.
    pub bytes: u64,
    /// Phases with wrong parity.
    pub parity_errors: u64,
    /// Transactions.
    pub transactions: u64,
    busy_clocks: [u64; 5],
}

/// Unlike values that are counted each; what is beyond is counted as the next one of them that is below, or as the
/// least.
const VALUES_MAX: usize = 4_096;

/// One more of a value.
fn counted(counts: &mut BTreeMap<u64, u64>, value: u64) {
    let known = counts.len() < VALUES_MAX || counts.contains_key(&value);
    let near = || counts.range(..value).next_back().or_else(|| counts.first_key_value());
    let as_value = if known { value } else { near().map_or(value, |(known, _)| *known) };
    *counts.entry(as_value).or_default() += 1;
}

/// Counted values, each by itself where there are few, else by powers of two: from, to, and how many.
pub fn bins(counts: &BTreeMap<u64, u64>, few: usize) -> BTreeMap<(u64, u64), u64> {
    let mut bins = BTreeMap::new();
    for (value, count) in counts {
        let low = if counts.len() <= few || *value == 0 { *value } else { 1 << value.ilog2() };
        let high = if counts.len() <= few || low == 0 { low } else { low + (low - 1) };
        *bins.entry((low, high)).or_default() += count;
    }
    bins
}

/// Of values that were counted the least that a share of them does not exceed; nothing of nothing.
pub fn quantile(counts: &BTreeMap<u64, u64>, share: f64) -> Option<u64> {
    let wanted = (share * counts.values().sum::<u64>() as f64).ceil().max(1.0) as u64;
    let mut until = 0;
    counts.iter().find_map(|(value, count)| {
        until += count;
        (until >= wanted).then_some(*value)
    })
}

impl Share {
    /// How those ended that their initiators did not end, and how many so, in words.
    pub fn ended_by_others(&self) -> String {
        let by_others = self.ended_by.iter().filter(|(how, _)| **how != EndedBy::Initiator);
        by_others.map(|(how, count)| format!("{count} {}", how.word())).collect::<Vec<_>>().join(", ")
    }
}

impl Summary {
    /// Of what a decoder has seen.
    pub fn of(decoder: &Decoder, clock_ps: f64) -> Summary {
        let mut summary = Summary { clocks: decoder.clocks, clock_ps, ..decoder.added_up.clone() };
        let busy: u64 = summary.busy_clocks.iter().sum();
        let idle = ("idle", decoder.clocks.saturating_sub(busy));
        let busy_clocks = summary.busy_clocks;
        summary.spent = std::array::from_fn(|at| SPENT_ON.get(at).map_or(idle, |what| (*what, busy_clocks[at])));
        summary
    }

    /// A transaction more.
    pub(super) fn add(&mut self, one: &Transaction) {
        let share = self.shares.entry((one.initiator, one.command)).or_default();
        share.transactions += 1;
        share.bytes += one.bytes;
        share.data_phases += one.data_phases;
        share.clocks += one.clocks;
        share.spent.iter_mut().zip(one.spent()).for_each(|(all, spent)| *all += spent);
        share.waits += one.wait_clocks;
        share.wait_max = share.wait_max.max(one.wait_clocks);
        *share.ended_by.entry(one.ended_by).or_default() += 1;
        if one.data_phases > 0 {
            counted(&mut share.bursts, one.bytes);
            counted(&mut share.latencies, one.command.own_clocks() + one.wait_clocks);
        }
        if self.transactions > 0 {
            counted(&mut self.idles, one.idle_before_clocks);
        }
        self.timers.add(one);
        self.transactions += 1;
        self.bytes += one.bytes;
        self.parity_errors += one.parity_errors;
        self.busy_clocks.iter_mut().zip(one.spent()).for_each(|(all, spent)| *all += spent);
    }

    /// Bursts by their bytes, whoever's.
    pub fn bursts(&self) -> BTreeMap<u64, u64> {
        together(self.shares.values().map(|share| &share.bursts))
    }

    /// Clocks from FRAME# to the first data, whoever's.
    pub fn latencies(&self) -> BTreeMap<u64, u64> {
        together(self.shares.values().map(|share| &share.latencies))
    }

    /// Bytes a second.
    pub fn bytes_per_second(&self) -> f64 {
        let seconds = self.clocks as f64 * self.clock_ps / 1e12;
        if seconds > 0.0 { self.bytes as f64 / seconds } else { 0.0 }
    }

    /// Share of the clocks with a transaction.
    pub fn busy(&self) -> f64 {
        1.0 - self.share(5)
    }

    /// Share of the clocks with data.
    pub fn efficiency(&self) -> f64 {
        self.share(2)
    }

    fn share(&self, index: usize) -> f64 {
        if self.clocks == 0 { 0.0 } else { self.spent[index].1 as f64 / self.clocks as f64 }
    }
}

fn together<'a>(counts: impl Iterator<Item = &'a BTreeMap<u64, u64>>) -> BTreeMap<u64, u64> {
    let mut all = BTreeMap::new();
    for (value, count) in counts.flatten() {
        *all.entry(*value).or_default() += count;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlike_values_are_bounded_whichever_way_they_go() {
        let many = 2 * VALUES_MAX as u64;
        for value_of in [|number: u64, _| number, |number: u64, many: u64| many - number] {
            let mut counts = BTreeMap::new();
            (0..many).for_each(|number| counted(&mut counts, value_of(number, many)));
            assert_eq!((counts.len(), counts.values().sum::<u64>()), (VALUES_MAX, many));
        }
    }

    #[test]
    fn a_quantile_is_a_value_that_was_seen() {
        let counts = BTreeMap::from([(2, 50), (3, 49), (90, 1)]);
        assert_eq!([0.0, 0.5, 0.51, 0.99, 1.0].map(|share| quantile(&counts, share)), [2, 2, 3, 3, 90].map(Some));
        assert_eq!(quantile(&BTreeMap::new(), 0.5), None);
    }
}
