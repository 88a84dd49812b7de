//! The loss account: where the time of every lane went, and why, over a window of a run.
//!
//! Everything is in integer picoseconds and sums exactly: the entries of a lane add up to the window. (Where the latency
//! of a request went is in `lives`.)

mod acts;
mod alike;
mod blame;
mod fold;
mod idle;
mod ledger;
mod repeats;
mod timelines;

use hopscope_kernel::Time;

pub use alike::Names;
pub use fold::Unaccountable;
pub use ledger::{Extent, Ledger};
pub(crate) use timelines::{Hop, What};

/// What a lane was at, in one class at any instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Use {
    /// It moved bytes of the user.
    Payload,
    /// It moved bytes of the user, slower than it can: part of its width or rate was not used.
    WidthUnused,
    /// Its own protocol.
    Protocol,
    /// Something that it needed was not there yet.
    Waiting,
    /// No request inside the system still had to pass it: the workload (depth, think time) is the author.
    Nothing,
}

impl Use {
    /// In words, as in JSON and tables.
    pub fn word(self) -> &'static str {
        match self {
            Use::Payload => "payload",
            Use::WidthUnused => "width not used",
            Use::Protocol => "protocol",
            Use::Waiting => "waiting",
            Use::Nothing => "nothing to do",
        }
    }
}

/// Time that went into one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What the lane was at.
    pub class: Use,
    /// Why it waited: the reason of the wait that crossed from one hop to another ("PCI arbitration", "buffer busy
    /// with the other channel"); empty where it did not wait.
    pub cause: String,
    /// The part at which the cause was found: the lane's own for payload and protocol.
    pub part: String,
    /// The lane of that part.
    pub lane: String,
    /// What that lane was doing meanwhile.
    pub phase: String,
    /// For how long.
    pub time: Time,
}

/// What a lane can carry.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// Bytes per second, if it did nothing but move bytes of the user.
    pub bytes_per_second: f64,
    /// How that follows: "4 bytes every 29.851 ns"; or, where it is a rate that is given as such, "60.00 GB/s".
    pub how: String,
}

/// Where the time of one lane went.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneAccount {
    /// The lane's name: `part` or `part.lane`.
    pub lane: String,
    /// Its part.
    pub part: String,
    /// What it can carry, where it carries bytes at a rate of its own.
    pub capacity: Option<Capacity>,
    /// Everything it did, the largest first within each class; the times add up to the window.
    pub entries: Vec<Entry>,
    /// Time spent in payload and protocol in each slice of the window ([`Account::slice`]): utilisation over time.
    pub busy: Vec<Time>,
}

/// Where the time of every lane went.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Begin of the window.
    pub from: Time,
    /// Its end.
    pub until: Time,
    /// Every lane that was used (of an idle machine every lane), in the order in which the machine is built: from the processor to the device.
    pub lanes: Vec<LaneAccount>,
    /// The critical path, walked back from the last completion in the window to its beginning: what had to end
    /// before anything else could go on. The times add up to that stretch.
    pub path: Vec<Entry>,
    /// Requests that ended within the window.
    pub requests: u64,
}

impl Account {
    /// Length of the window.
    pub fn span(&self) -> Time {
        self.until - self.from
    }

    /// When one of so many slices of the window begins, and when it ends: whole picoseconds, so that two slices may differ
    /// by one.
    pub fn slice(&self, index: usize, of: usize) -> (Time, Time) {
        let edge = |index| self.from + slice_edge(self.span(), index as u64, of as u64);
        (edge(index), edge(index + 1))
    }

    /// Share of each slice that a lane spent in payload and protocol; it is never above one.
    pub fn busy_over_time(&self, lane: &LaneAccount) -> Vec<f64> {
        let share = |(index, busy): (usize, &Time)| {
            let (begin, end) = self.slice(index, lane.busy.len());
            busy.as_ps() as f64 / (end - begin).as_ps().max(1) as f64
        };
        lane.busy.iter().enumerate().map(share).collect()
    }
}

/// So far into a span does a slice of it begin.
fn slice_edge(span: Time, index: u64, of: u64) -> Time {
    Time::ps((u128::from(span.as_ps()) * u128::from(index) / u128::from(of.max(1))) as u64)
}

impl LaneAccount {
    /// Time in a class.
    pub fn time_in(&self, class: Use) -> Time {
        self.entries.iter().filter(|entry| entry.class == class).fold(Time::ZERO, |sum, entry| sum + entry.time)
    }

    /// Share of the window spent in payload and protocol.
    pub fn busy_share(&self) -> f64 {
        let all = self.entries.iter().fold(Time::ZERO, |sum, entry| sum + entry.time);
        let busy = self.time_in(Use::Payload) + self.time_in(Use::WidthUnused) + self.time_in(Use::Protocol);
        busy.as_ps() as f64 / all.as_ps().max(1) as f64
    }

    /// Bytes per second that arrived: the capacity less every loss.
    pub fn delivered(&self) -> Option<f64> {
        let all = self.entries.iter().fold(Time::ZERO, |sum, entry| sum + entry.time);
        let share = self.time_in(Use::Payload).as_ps() as f64 / all.as_ps().max(1) as f64;
        self.capacity.as_ref().map(|capacity| capacity.bytes_per_second * share)
    }
}
