//! What each requester does: how many requests of which kind and size, how they are answered, how many at once.

use std::collections::{BTreeMap, BTreeSet};

use super::latencies::Latencies;
use super::nettlp::Way;
use super::pairs::{Cut, Ended, Transaction};
use super::tlp::{Id, Kind};

/// Rows of the table, requesters, address ranges and ways to come apart that are told apart; no capture that anybody
/// reads has more.
const ROWS_MAX: usize = 4096;
const AGENTS_MAX: usize = 1024;
const EXTENTS_MAX: usize = 4096;
const SPLITS_MAX: usize = 64;

/// Least, mean and most of what was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Least.
    pub min: i64,
    /// Most.
    pub max: i64,
    sum: i128,
}

impl Default for Spread {
    fn default() -> Spread {
        Spread { count: 0, min: i64::MAX, max: i64::MIN, sum: 0 }
    }
}

impl Spread {
    /// Adds one.
    pub fn add(&mut self, value: i64) {
        self.count += 1;
        self.sum += i128::from(value);
        (self.min, self.max) = (self.min.min(value), self.max.max(value));
    }

    /// Their mean; nothing of nothing.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

/// Requests of one requester, one way, of one kind and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    /// Which way the requests went.
    pub way: Way,
    /// Who asks.
    pub requester: Id,
    /// What.
    pub kind: Kind,
    /// Bytes of each.
    pub bytes: u32,
}

/// What became of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// How many.
    pub count: u64,
    /// How many ended in which way.
    pub ended: BTreeMap<Ended, u64>,
    /// Bytes of the completions of one request, and of how many requests that is so.
    pub splits: BTreeMap<Vec<u16>, u64>,
    /// From the request to its first completion, in nanoseconds, of those that were completed.
    pub first_ns: Spread,
    /// From the request to its last completion.
    pub latency_ns: Spread,
    /// The same, how many of them how long.
    pub latencies: Latencies,
}

/// What one requester does, one way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agent {
    /// Its memory reads.
    pub reads: Traffic,
    /// Its memory writes.
    pub writes: Traffic,
    /// Tags that waited for completions at once, at most.
    pub in_flight_max: u64,
    /// How often as many waited as at most, and another could not follow before one ended.
    pub at_most_times: u64,
    /// Different tags of what is completed.
    pub tags: BTreeSet<u16>,
    in_flight: u64,
}

/// Memory requests of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// How many.
    pub count: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// Bytes of each, least to most.
    pub size: Spread,
    /// Of these so many with relaxed ordering.
    pub relaxed: u64,
    /// Of these so many with a 64-bit address.
    pub wide: u64,
    /// Address ranges, those that touch joined: first byte, byte behind the last.
    pub extents: BTreeMap<u64, u64>,
    /// Whether there are more ranges than are told apart.
    pub more_extents: bool,
}

impl Traffic {
    fn add(&mut self, transaction: &Transaction) {
        self.count += 1;
        self.bytes += u64::from(transaction.bytes);
        self.size.add(i64::from(transaction.bytes));
        self.relaxed += u64::from(transaction.relaxed);
        self.wide += u64::from(transaction.wide);
        let (mut start, mut end) = (transaction.address, transaction.address.saturating_add(transaction.bytes.into()));
        // Whatever touches it is joined.
        while let Some((&before, &until)) = self.extents.range(..=end).next_back().filter(|(_, until)| **until >= start)
        {
            self.extents.remove(&before);
            (start, end) = (start.min(before), end.max(until));
        }
        if self.extents.len() < EXTENTS_MAX {
            self.extents.insert(start, end);
        } else {
            self.more_extents = true;
        }
    }
}

/// Where the completions of split reads end: what a completer's boundary and payload are judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Completions with data.
    pub completions: u64,
    /// Those after which more followed for the same request.
    pub cuts: u64,
    /// The largest power of two, at most 4096, at whose multiples all of these ended.
    pub multiple: u64,
    /// Bytes of the largest completion.
    pub payload_max: u64,
}

impl Default for Boundary {
    fn default() -> Boundary {
        Boundary { completions: 0, cuts: 0, multiple: 4096, payload_max: 0 }
    }
}

/// Everything that is added up, request by request. It stays small, whatever the capture.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    /// By kind and size.
    pub rows: BTreeMap<RowKey, Row>,
    /// By requester.
    pub agents: BTreeMap<(Way, Id), Agent>,
    /// By the way that completions went.
    pub boundaries: BTreeMap<Way, Boundary>,
    /// Requests that found no more room in `rows` or `agents`.
    pub left_out: u64,
}

impl Agents {
    /// A tag began to wait for completions.
    pub fn opened(&mut self, way: Way, id: Id) {
        if self.agents.len() >= AGENTS_MAX && !self.agents.contains_key(&(way, id)) {
            return;
        }
        let agent = self.agents.entry((way, id)).or_default();
        agent.in_flight += 1;
        if agent.in_flight > agent.in_flight_max {
            (agent.in_flight_max, agent.at_most_times) = (agent.in_flight, 0);
        }
        agent.at_most_times += u64::from(agent.in_flight == agent.in_flight_max);
    }

    /// One waits no longer.
    pub fn closed(&mut self, way: Way, id: Id) {
        if let Some(agent) = self.agents.get_mut(&(way, id)) {
            agent.in_flight = agent.in_flight.saturating_sub(1);
        }
    }

    /// A completion ended there, with so many bytes.
    pub fn cut(&mut self, way: Way, cut: Cut, bytes: u64) {
        let boundary = self.boundaries.entry(way).or_default();
        boundary.completions += 1;
        boundary.payload_max = boundary.payload_max.max(bytes);
        if cut.more {
            boundary.cuts += 1;
            boundary.multiple = boundary.multiple.min(1 << cut.address.trailing_zeros().min(12));
        }
    }

    /// A request ended.
    pub fn ended(&mut self, transaction: &Transaction) {
        let (way, id) = (transaction.way, transaction.requester.id);
        let key = RowKey { way, requester: id, kind: transaction.kind, bytes: transaction.bytes };
        if self.rows.len() >= ROWS_MAX && !self.rows.contains_key(&key) {
            self.left_out += 1;
        } else {
            self.rows.entry(key).or_default().add(transaction);
        }
        if self.agents.len() >= AGENTS_MAX && !self.agents.contains_key(&(way, id)) {
            return;
        }
        let agent = self.agents.entry((way, id)).or_default();
        if transaction.ended != Ended::Posted {
            agent.tags.insert(transaction.requester.tag);
        }
        match transaction.kind {
            Kind::MRd | Kind::MRdLk => agent.reads.add(transaction),
            Kind::MWr => agent.writes.add(transaction),
            _ => {}
        }
    }
}

impl Row {
    fn add(&mut self, transaction: &Transaction) {
        self.count += 1;
        *self.ended.entry(transaction.ended).or_default() += 1;
        if let Some(latency) = transaction.latency_ns() {
            self.latency_ns.add(latency);
            self.latencies.add(latency);
            self.first_ns.add(transaction.first_ns.unwrap_or(transaction.start_ns) - transaction.start_ns);
            if self.splits.len() < SPLITS_MAX || self.splits.contains_key(&transaction.pieces) {
                *self.splits.entry(transaction.pieces.clone()).or_default() += 1;
            }
        }
    }
}
