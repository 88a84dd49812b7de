//! A workload: one thread that keeps so many requests in flight at one device.
//!
//! ```text
//!   addresses: direction, size, block ──▶ thread: processor time, submit ──▶ driver
//!              (order or distribution)            complete, think    ◀────── completions
//! ```
//!
//! The thread does the work of a request above the driver, completion and next submission together. What a job asks
//! for is what fio's manual says of the options of the same names (HOWTO.rst of fio 3).
//!
//! Not modelled: several threads a job; a centre that is given to a distribution; fio's hash, which puts several
//! ranks of a distribution on one block now and then (here each rank has a block of its own).

mod addresses;
mod distribution;
mod thread;

use hopscope_kernel::Time;

use crate::protocols::storage::Operation;
use addresses::Addresses;
pub use distribution::Zone;
pub use thread::{Running, THINK_TIME, start};

/// What a job asks of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Of a hundred requests, so many are reads.
    pub reads_percent: u32,
    /// The order of addresses.
    pub order: Order,
    /// Of a hundred requests in random order, so many go to a drawn block, of reads and of writes. The others go on
    /// where the one before in their direction ended.
    pub random_percent: [u32; 2],
    /// Sizes of reads and of writes.
    pub sizes: [Sizes; 2],
    /// Requests in flight.
    pub depth: usize,
    /// First byte.
    pub offset_bytes: u64,
    /// Bytes from there.
    pub size_bytes: u64,
    /// It does nothing for so long at first.
    pub start_delay: Time,
    /// It goes on behind so many requests, as if it had asked for them.
    pub behind: u64,
    /// So many came before those, of which only how far they got counts: what is drawn is drawn anew.
    pub after: u64,
    /// The job ends when it has moved its span once.
    pub once: bool,
    /// The processors that the thread may run on, by number; any of them where none is named.
    pub processors: Vec<usize>,
    /// The thread pauses now and then.
    pub think: Option<Think>,
    /// Decides what is drawn.
    pub seed: u64,
}

/// What a job asks for, one request after the other: its direction, its offset on the device, and its bytes.
pub struct Requests {
    addresses: Addresses,
    offset_bytes: u64,
}

impl Requests {
    /// Those of the job with this name.
    pub fn of(spec: &Spec, name: &str) -> Requests {
        Requests { addresses: Addresses::new(spec, name), offset_bytes: spec.offset_bytes }
    }
}

impl Iterator for Requests {
    type Item = (Operation, u64, u32);

    fn next(&mut self) -> Option<(Operation, u64, u32)> {
        let next = self.addresses.next()?;
        Some((next.operation, self.offset_bytes + next.offset, next.bytes))
    }
}

/// The order of a job's addresses.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// One after the other, reads and writes each for itself.
    Sequential,
    /// Drawn; none comes twice before all have come.
    RandomMap,
    /// Drawn, each by itself.
    Random,
    /// Drawn: the block of rank k comes with a probability in proportion to k to the power of minus this.
    Zipf(f64),
    /// Drawn: a share h of the blocks gets a share 1 - h of the requests, and so on within that share; this is h.
    Pareto(f64),
    /// Drawn: twelve even draws over all blocks, their mean, and an even shift by this percentage of the blocks.
    Normal(f64),
    /// Drawn: zones one after the other, each with its percentage of the requests, of reads and of writes.
    Zoned([Vec<Zone>; 2]),
}

/// Sizes of requests, bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Any multiple of the smallest up to the largest, evenly.
    Range {
        /// Smallest request.
        min: u32,
        /// Largest request.
        max: u32,
    },
    /// Each with its percentage; they add up to a hundred.
    Split(Vec<(u32, u32)>),
}

impl Sizes {
    /// The smallest; addresses are multiples of it.
    pub fn min(&self) -> u32 {
        match self {
            Sizes::Range { min, .. } => *min,
            Sizes::Split(sizes) => sizes.iter().map(|size| size.0).min().unwrap_or(1),
        }
    }

    /// On average.
    fn mean(&self) -> u64 {
        match self {
            Sizes::Range { min, max } => u64::from(*min).midpoint(u64::from(*max)),
            Sizes::Split(sizes) => {
                sizes.iter().map(|(bytes, percent)| u64::from(*bytes) * u64::from(*percent)).sum::<u64>() / 100
            }
        }
    }

    /// The largest.
    pub fn max(&self) -> u32 {
        match self {
            Sizes::Range { max, .. } => *max,
            Sizes::Split(sizes) => sizes.iter().map(|size| size.0).max().unwrap_or(1),
        }
    }
}

/// How a thread pauses: when so many requests have been counted it waits for those in flight, and then so long. It does
/// so after its last request, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Think {
    /// How long.
    pub time: Time,
    /// After how many requests.
    pub every: u64,
    /// Requests count when they are issued, not when they have ended.
    pub counts_issues: bool,
}
