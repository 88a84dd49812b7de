//! A cable and a PCI bus in one capture: cause and effect between them, measured.
//!
//! To the drive, what memory sends on PCI is strobed on the cable: from the last data phase to the next strobe, and from
//! the last strobe before a pause to the next request of more. From the drive it is the other way: from a strobe to the
//! burst that carries it on.

use std::collections::BTreeMap;

use super::Burst;
use crate::pci::Transaction;

/// What is measured between two buses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Delay {
    /// From the last strobe before a pause to FRAME# of the next transaction.
    LastStrobeToFrame,
    /// The cable had paused; from the last data of a transaction to its next strobe.
    DataToStrobe,
    /// From the end of a PCI transaction to the next one within a burst of the cable.
    TransactionToFrame,
    /// A pause of the cable, beyond the pace of its words.
    Pause,
}

impl Delay {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Delay::DataToStrobe => "last data on PCI to the strobe that ends a pause",
            Delay::LastStrobeToFrame => "last strobe before a pause to FRAME#",
            Delay::TransactionToFrame => "end of a transaction to the next FRAME#",
            Delay::Pause => "pause of the cable beyond its pace",
        }
    }
}

/// How often, and how long: least, middle, longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// How often.
    pub count: u64,
    /// Picoseconds.
    pub least_ps: u64,
    /// Picoseconds.
    pub median_ps: u64,
    /// Picoseconds.
    pub longest_ps: u64,
}

/// Those delays over all bursts of a cable. `transactions` are in order of time, on a bus of this clock; those that
/// move data are looked at.
pub fn delays(bursts: &[Burst], transactions: &[Transaction], clock_ps: u64) -> Vec<(Delay, Measured)> {
    let data_end = |of: &Transaction| of.end_ps.saturating_sub(of.after_clocks * clock_ps);
    let data: Vec<&Transaction> = transactions.iter().filter(|of| of.bytes > 0).collect();
    let mut all: BTreeMap<Delay, Vec<u64>> = BTreeMap::new();
    let mut says = |delay: Delay, span: u64| all.entry(delay).or_default().push(span);
    for burst in bursts.iter().filter(|burst| burst.protocol != super::Protocol::Programmed) {
        let from = data.partition_point(|of| of.end_ps <= burst.start_ps);
        let within = data[from..].iter().take_while(|of| of.start_ps < burst.end_ps);
        let within: Vec<&Transaction> = within.copied().filter(|of| of.command.reads() != burst.reads).collect();
        for pair in within.windows(2) {
            says(Delay::TransactionToFrame, pair[1].start_ps.saturating_sub(pair[0].end_ps));
        }
        let pace = burst.word_ps.unwrap_or(0);
        for (last, next) in &burst.pauses {
            says(Delay::Pause, next - last - pace);
            let asked = within.partition_point(|of| of.start_ps < *last);
            if let Some(of) = within.get(asked).filter(|of| of.start_ps < *next) {
                says(Delay::LastStrobeToFrame, of.start_ps - last);
            }
            let ended = within.partition_point(|of| data_end(of) <= *next);
            let ended = ended.checked_sub(1).and_then(|index| within.get(index)).map(|of| data_end(of));
            if let Some(end) = ended.filter(|end| end > last) {
                says(Delay::DataToStrobe, next - end);
            }
        }
    }
    all.into_iter().filter_map(|(delay, spans)| Some((delay, measured(spans)?))).collect()
}

fn measured(mut spans: Vec<u64>) -> Option<Measured> {
    spans.sort_unstable();
    let (least_ps, longest_ps) = (*spans.first()?, *spans.last()?);
    Some(Measured { count: spans.len() as u64, least_ps, median_ps: spans[spans.len() / 2], longest_ps })
}
