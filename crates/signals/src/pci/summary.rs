//! What transactions add up to.

use std::collections::BTreeMap;

use super::decode::Decoder;
use super::{CommandLines, EndedBy, Transaction};

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
    /// Clocks until the first data, and the most of one.
    pub waits: u64,
    /// See `waits`.
    pub wait_max: u64,
    /// How they ended.
    pub ended_by: BTreeMap<EndedBy, u64>,
    /// Bursts by their bytes.
    pub bursts: BTreeMap<u64, u64>,
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
    /// Clocks from FRAME# to the first data, of transactions with data, by how many.
    pub latencies: BTreeMap<u64, u64>,
    /// Bytes moved.
    pub bytes: u64,
    /// Phases with wrong parity.
    pub parity_errors: u64,
    /// Transactions.
    pub transactions: u64,
    /// Address, wait for the first data, data, waits between data, what follows the last data.
    busy_clocks: [u64; 5],
}

/// Unlike values that are counted each; what is beyond is counted as the largest of them that is below.
const VALUES_MAX: usize = 4_096;

/// One more of a value.
fn counted(counts: &mut BTreeMap<u64, u64>, value: u64) {
    let known = counts.len() < VALUES_MAX || counts.contains_key(&value);
    let as_value = if known { value } else { counts.range(..value).next_back().map_or(value, |(below, _)| *below) };
    *counts.entry(as_value).or_default() += 1;
}

impl Summary {
    /// Of what a decoder has seen.
    pub fn of(decoder: &Decoder, clock_ps: f64) -> Summary {
        let mut summary = Summary { clocks: decoder.clocks, clock_ps, ..decoder.added_up.clone() };
        let [address, waits, data, between, after] = summary.busy_clocks;
        let busy: u64 = summary.busy_clocks.iter().sum();
        summary.spent = [
            ("address", address),
            ("wait for the first data", waits),
            ("data", data),
            ("waits between data, retries", between),
            ("after the last data", after),
            ("idle", decoder.clocks.saturating_sub(busy)),
        ];
        summary
    }

    /// A transaction more, of so many clocks.
    pub(super) fn add(&mut self, one: &Transaction, clocks: u64) {
        let share = self.shares.entry((one.initiator, one.command)).or_default();
        share.transactions += 1;
        share.bytes += one.bytes;
        share.data_phases += one.data_phases;
        share.clocks += clocks;
        share.waits += one.wait_clocks;
        share.wait_max = share.wait_max.max(one.wait_clocks);
        *share.ended_by.entry(one.ended_by).or_default() += 1;
        if one.data_phases > 0 {
            counted(&mut share.bursts, one.bytes);
            counted(&mut self.latencies, one.command.own_clocks() + one.wait_clocks);
        }
        if self.transactions > 0 {
            counted(&mut self.idles, one.idle_before_clocks);
        }
        self.transactions += 1;
        self.bytes += one.bytes;
        self.parity_errors += one.parity_errors;
        let own = clocks.min(one.command.own_clocks());
        let end = one.after_clocks.min(clocks - own);
        let wait = one.wait_clocks.min(clocks - own - end);
        let moved = one.data_phases.min(clocks - own - end - wait);
        let spent = [own, wait, moved, clocks - own - end - wait - moved, end];
        self.busy_clocks.iter_mut().zip(spent).for_each(|(all, spent)| *all += spent);
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
