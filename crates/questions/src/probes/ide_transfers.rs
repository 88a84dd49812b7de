//! Commands on the lane `cable`, with what the lane `pci` has of them: descriptors, and accesses to registers.

use hopscope_kernel::Time;
use hopscope_parts::protocols::ide::{PIO, WORDS_IN, WORDS_OUT};
use hopscope_parts::protocols::pci::{DESCRIPTOR_DATA, REGISTER_DATA};

use super::pci_transactions::{in_clocks, seen};
use super::{Figure, Probe, Trace};

/// Commands that do not count: the first ones, which fill the queue.
const FIRST: usize = 2;

pub(super) const PROBES: [Probe; 4] = [
    Probe::traced("command_data_time", "ms", "from the first to the last word of a command on `cable`", data_time),
    Probe::traced("command_descriptors", "", "descriptors fetched on `pci` for a command of `cable`", descriptors),
    Probe::traced("register_tries", "", "most transactions of a register access on `pci`, retries included", tries),
    Probe::traced("retry_clocks", "clocks", "how long the first retried transaction takes on `pci`", retry_clocks),
];

/// When the data of each command begin and end that counts, and when those of the next one begin.
fn commands(trace: &Trace) -> Result<(Vec<(Time, Time)>, Time), String> {
    let mut commands: Vec<(Time, Time)> = Vec::new();
    let mut open = false;
    for phase in trace.used("cable")? {
        // Register accesses stand between two commands.
        if *phase.phase == PIO {
            open = true;
        } else if WORDS_IN.contains(phase.phase) || WORDS_OUT.contains(phase.phase) {
            match commands.last_mut() {
                Some(last) if !open => last.1 = phase.end(),
                _ if open => commands.push((phase.at, phase.end())),
                _ => {}
            }
            open = false;
        }
    }
    let count = commands.len();
    // The last one may be cut short by the end of the run.
    commands.pop();
    match commands.pop() {
        Some((next, _)) if commands.len() > FIRST => Ok((commands.split_off(FIRST), next)),
        _ => Err(format!("the lane `cable` has data of {count} commands, and {} are the fewest", FIRST + 3)),
    }
}

/// The mean, in whole picoseconds.
fn data_time(trace: &Trace) -> Figure {
    let (commands, _) = commands(trace)?;
    let data: u64 = commands.iter().map(|(start, end)| (*end - *start).as_ps()).sum();
    Ok(Time::ps(data / commands.len() as u64).as_seconds_f64() * 1e3)
}

fn descriptors(trace: &Trace) -> Figure {
    let (commands, next) = commands(trace)?;
    let (first, all) = (commands[0].0, seen(trace)?);
    let within = all.iter().filter(|t| t.carries == Some(&DESCRIPTOR_DATA) && t.start >= first && t.start < next);
    Ok(within.count() as f64 / commands.len() as f64)
}

/// Retries in a row, and the one that succeeds.
fn tries(trace: &Trace) -> Figure {
    let (mut most, mut row) = (0u64, 0);
    for t in seen(trace)?.iter().filter(|t| t.retried || t.carries == Some(&REGISTER_DATA)) {
        row += 1;
        most = most.max(row);
        if !t.retried {
            row = 0;
        }
    }
    if most == 0 { Err("the lane `pci` has no register access".to_string()) } else { Ok(most as f64) }
}

fn retry_clocks(trace: &Trace) -> Figure {
    let all = seen(trace)?;
    let retried = all.iter().find(|t| t.retried).ok_or("nothing was retried on the lane `pci`")?;
    in_clocks(trace, retried.end - retried.start)
}
