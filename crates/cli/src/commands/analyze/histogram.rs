//! How often each of many values was there, as lines of a terminal.

use std::collections::BTreeMap;

use hopscope_signals::pci::summary::bins;

use super::pci::percent;

/// Values that have a line each, and the characters of the longest bar.
const VALUES: usize = 8;
const BAR: usize = 36;

/// The two commonest of many values.
pub fn commonest(counts: &BTreeMap<u64, u64>) -> String {
    let mut sorted: Vec<(u64, u64)> = counts.iter().map(|(value, count)| (*value, *count)).collect();
    sorted.sort_by_key(|(value, count)| (std::cmp::Reverse(*count), *value));
    match sorted[..] {
        [(first, _), (second, _), ..] if sorted.len() > VALUES => format!(", most often {first} and {second}"),
        _ => String::new(),
    }
}

/// A line a value, or a power of two where there are many.
pub fn histogram(counts: &BTreeMap<u64, u64>) -> Vec<String> {
    let rows = bins(counts, VALUES);
    let all: u64 = rows.values().sum();
    let most = rows.values().copied().max().unwrap_or(1).max(1);
    let line = |((low, high), count): (&(u64, u64), &u64)| {
        let value = if low == high { low.to_string() } else { format!("{low} to {high}") };
        let bar = "█".repeat((count * BAR as u64).div_ceil(most) as usize);
        format!("  {value:<18}{count:>10}  {:>7}  {bar}", percent(*count, all))
    };
    if rows.is_empty() { vec!["  none".to_string()] } else { rows.iter().map(line).collect() }
}
