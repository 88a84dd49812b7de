//! What a list of transactions adds up to.

use std::collections::BTreeMap;

use super::decode::Decoder;
use super::{CommandLines, EndedBy};

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
    /// Bytes moved.
    pub bytes: u64,
    /// Phases with wrong parity.
    pub parity_errors: u64,
}

impl Summary {
    /// Of what a decoder has seen.
    pub fn of(decoder: &Decoder, clock_ps: f64) -> Summary {
        let mut summary = Summary { clocks: decoder.clocks, clock_ps, ..Summary::default() };
        let (mut address, mut waits, mut data, mut between, mut after) = (0, 0, 0, 0, 0);
        for (index, one) in decoder.transactions.iter().enumerate() {
            let length = ((one.end_ps - one.start_ps) as f64 / clock_ps).round() as u64;
            let share = summary.shares.entry((one.initiator, one.command)).or_default();
            share.transactions += 1;
            share.bytes += one.bytes;
            share.data_phases += one.data_phases;
            share.clocks += length;
            share.waits += one.wait_clocks;
            share.wait_max = share.wait_max.max(one.wait_clocks);
            *share.ended_by.entry(one.ended_by).or_default() += 1;
            if one.data_phases > 0 {
                *share.bursts.entry(one.bytes).or_default() += 1;
            }
            if index > 0 {
                *summary.idles.entry(one.idle_before_clocks).or_default() += 1;
            }
            summary.bytes += one.bytes;
            summary.parity_errors += one.parity_errors;
            let own = length.min(one.command.own_clocks());
            let end = one.after_clocks.min(length - own);
            let wait = one.wait_clocks.min(length - own - end);
            let moved = one.data_phases.min(length - own - end - wait);
            address += own;
            after += end;
            waits += wait;
            data += moved;
            between += length - own - end - wait - moved;
        }
        let busy = address + waits + data + between + after;
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
