//! Bursts and split transactions of PCI-X on the lane `pci`.

use hopscope_kernel::Time;
use hopscope_observe::Interval;
use hopscope_parts::protocols::pci::{ADDRESS, DATA, SPLIT_RESPONSE};

use super::pci_transactions::PCI;
use super::{Figure, Probe, Trace};

pub(super) const PROBES: [Probe; 2] = [
    Probe::traced("burst_data_max", "ns", "on `pci`, the longest time of data between two addresses", longest),
    Probe::traced(
        "split_read_start",
        "clocks",
        "on `pci`, from a split response to the next data, the mean",
        split_read,
    ),
];

fn longest(trace: &Trace) -> Figure {
    let phases = trace.used(PCI)?;
    let data = |burst: &[Interval]| {
        let data = burst.iter().filter(|phase| *phase.phase == DATA);
        data.fold(Time::ZERO, |sum, phase| sum + phase.span)
    };
    // The part before the first address is empty.
    let longest = phases.split(|phase| *phase.phase == ADDRESS).map(data).max();
    let longest = longest.filter(|longest| *longest > Time::ZERO);
    longest.map(Time::as_ns_f64).ok_or_else(|| "the lane `pci` moved no data".to_string())
}

fn split_read(trace: &Trace) -> Figure {
    let (phases, clock) = (trace.used(PCI)?, trace.clocked(PCI)?);
    let answered = phases.iter().filter(|phase| *phase.phase == SPLIT_RESPONSE);
    let starts = answered.filter_map(|answer| {
        let first = phases.iter().find(|phase| *phase.phase == DATA && phase.at >= answer.end())?;
        Some((first.at - answer.end()).as_seconds_f64() / clock.as_seconds_f64())
    });
    let starts: Vec<f64> = starts.collect();
    if starts.is_empty() {
        return Err("the lane `pci` has no split response with data after it".to_string());
    }
    Ok(starts.iter().sum::<f64>() / starts.len() as f64)
}
