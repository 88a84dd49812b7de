//! What requesters wait for and move over time.

use super::nettlp::Way;
use super::pairs::Transaction;
use super::tlp::{Id, Kind};
use crate::timeline::steps::Steps;

/// Requesters that are followed each by itself.
pub const REQUESTERS_MAX: usize = 16;

/// What a request does until it is over.
pub const WAITED_FOR: [&str; 2] = ["waits for the first completion", "waits for the other completions"];

/// Bytes that were asked for and came, when the last of them came; bytes of writes, when they were captured.
pub const MOVED: [&str; 2] = ["bytes read", "bytes written"];

/// A requester, one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    /// Which way its requests went.
    pub way: Way,
    /// Who it is.
    pub id: Id,
    /// Time by [`WAITED_FOR`], of all its requests together.
    pub waited: Steps,
    /// Bytes by [`MOVED`].
    pub moved: Steps,
}

/// The first requesters, each over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverTime {
    /// In the order in which their first requests ended.
    pub requesters: Vec<Requester>,
}

/// Picoseconds since the first packet.
pub fn ps(ns: i64) -> u64 {
    (ns.max(0) as u64).saturating_mul(1_000)
}

impl OverTime {
    /// A request more.
    pub(super) fn add(&mut self, one: &Transaction) {
        let (way, id) = (one.way, one.requester.id);
        let known = self.requesters.iter().position(|of| (of.way, of.id) == (way, id));
        let place = known.unwrap_or(self.requesters.len());
        if place == REQUESTERS_MAX {
            return;
        }
        if known.is_none() {
            let (waited, moved) = (Steps::new(WAITED_FOR.len(), 0), Steps::new(MOVED.len(), 0));
            self.requesters.push(Requester { way, id, waited, moved });
        }
        let of = &mut self.requesters[place];
        if let Some((first_ns, end_ns)) = one.first_ns.zip(one.end_ns) {
            of.waited.spent(0, ps(one.start_ns), ps(first_ns));
            of.waited.spent(1, ps(first_ns), ps(end_ns));
            of.moved.counted(0, ps(end_ns), one.pieces.iter().map(|bytes| u64::from(*bytes)).sum());
        } else if one.kind == Kind::MWr {
            of.moved.counted(1, ps(one.start_ns), one.bytes.into());
        }
    }
}
