//! What repeats: the shortest run of transactions that comes again and again, clock by clock.

use std::collections::HashMap;

use super::{CommandLines, EndedBy, Transaction};

/// Transactions of a period, at most.
const PERIOD_MAX: usize = 64;
/// A period comes so often one after the other, at least.
const TIMES_MIN: usize = 3;

/// A transaction but for its time and address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Whose GNT# it was.
    pub initiator: Option<usize>,
    /// The command.
    pub command: CommandLines,
    /// Clocks without a transaction before it.
    pub idle_before: u64,
    /// Clocks of the address, and of the attributes on PCI-X.
    pub address: u64,
    /// Clocks until the first data.
    pub wait: u64,
    /// Data phases, and their bytes.
    pub data: u64,
    /// See `data`.
    pub bytes: u64,
    /// Clocks with neither data nor the first wait.
    pub between: u64,
    /// Clocks after the last data.
    pub after: u64,
    /// How it ended.
    pub ended_by: EndedBy,
}

impl Step {
    /// Clocks from the end of the transaction before until its own end.
    pub fn clocks(&self) -> u64 {
        self.idle_before + self.address + self.wait + self.data + self.between + self.after
    }
}

/// A period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Its transactions, from the one after the longest idle time on.
    pub steps: Vec<Step>,
    /// How often it was there.
    pub times: usize,
    /// Of all transactions, those in it.
    pub transactions: usize,
}

impl Pattern {
    /// Clocks of a period.
    pub fn clocks(&self) -> u64 {
        self.steps.iter().map(Step::clocks).sum()
    }

    /// Bytes of a period.
    pub fn bytes(&self) -> u64 {
        self.steps.iter().map(|step| step.bytes).sum()
    }
}

fn step(one: &Transaction) -> Step {
    let [address, wait, data, between, after] = one.spent();
    Step {
        initiator: one.initiator,
        command: one.command,
        idle_before: one.idle_before_clocks,
        address,
        wait,
        data,
        bytes: one.bytes,
        between,
        after,
        ended_by: one.ended_by,
    }
}

/// The period that most transactions are in; of those with as many the shortest. Nothing where nothing repeats.
pub fn pattern(transactions: &[Transaction]) -> Option<Pattern> {
    let steps: Vec<Step> = transactions.iter().map(step).collect();
    let mut numbers: HashMap<Step, u32> = HashMap::new();
    let kinds: Vec<u32> = steps
        .iter()
        .map(|step| {
            let next = numbers.len() as u32;
            *numbers.entry(*step).or_insert(next)
        })
        .collect();
    let mut best: Option<(usize, usize, usize)> = None;
    for period in 1..=PERIOD_MAX.min(kinds.len() / TIMES_MIN) {
        // Runs in which each transaction is as the one a period before.
        let (mut in_runs, mut longest, mut at) = (0, (0, 0), 0);
        while at + period < kinds.len() {
            let same = kinds[at..].iter().zip(&kinds[at + period..]).take_while(|(one, other)| one == other).count();
            let run = same + period;
            if same > 0 && run >= period * TIMES_MIN {
                in_runs += run;
                if run > longest.1 {
                    longest = (at, run);
                }
                at += run;
            } else {
                at += same.max(1);
            }
        }
        if in_runs > best.map_or(0, |known| known.0 + known.0 / 20) {
            best = Some((in_runs, period, longest.0));
        }
    }
    let (transactions, mut period, from) = best?;
    // What repeats within the period is the period.
    if let Some(shorter) = (1..period).find(|shorter| {
        period.is_multiple_of(*shorter) && (from..from + period - shorter).all(|at| kinds[at] == kinds[at + shorter])
    }) {
        period = shorter;
    }
    // From the middle of the longest run on; the first one of a capture has no time before it.
    let from = from + period;
    let mut steps = steps[from..from + period].to_vec();
    let first = (0..period).rev().max_by_key(|index| steps[*index].idle_before)?;
    steps.rotate_left(first);
    Some(Pattern { steps, times: transactions / period, transactions })
}
