//! Requests, each with the completions that answer it.
//!
//! A completion goes against its request and has its requester and tag. Reads may be answered in pieces; the byte count
//! of each says where it belongs, so that pieces may come in any order. Packets may be lost: what stays open, and what
//! answers nothing, is counted. A capture may show a request before the last completion of the one that had its tag
//! before: that one is still awaited. A completion that either of them lacks goes to the one that would then have been
//! answered after a time more like that of requests of which there was no doubt; this is a guess, for the capture does
//! not say.

use std::collections::HashMap;

use super::nettlp::Way;
use super::tlp::{Body, Kind, Requester, Tlp};

/// Requests that are followed at once; of more than that the newest are not.
const OPEN_MAX: usize = 1 << 20;
/// Requests of one tag that are awaited at once.
const SAME_TAG_MAX: usize = 4;
/// Data are kept of requests of so many bytes at most: command entries, lists of pages, completion entries.
const READ_KEPT_MAX: u32 = 4096;
const WRITE_KEPT_MAX: u32 = 64;
/// Data that are kept altogether.
const KEPT_MAX: usize = 64 << 20;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ended {
    /// Nobody answers it.
    Posted,
    /// All that was asked for came.
    Completed,
    /// A completion says that it failed: its status.
    Failed(u8),
    /// Some came, not all.
    InPart,
    /// Nothing came.
    Unanswered,
}

impl Ended {
    /// For tables and JSON; the names of states are those of 2.2.9.
    pub fn word(self) -> &'static str {
        match self {
            Ended::Posted => "posted",
            Ended::Completed => "completed",
            Ended::Failed(1) => "unsupported request",
            Ended::Failed(2) => "configuration retry",
            Ended::Failed(4) => "completer abort",
            Ended::Failed(_) => "failed",
            Ended::InPart => "in part",
            Ended::Unanswered => "unanswered",
        }
    }
}

/// A request, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Number of its frame in the capture.
    pub frame: u64,
    /// When it was captured, since the first packet.
    pub start_ns: i64,
    /// The adapter's clock; 0 where a program sent it.
    pub clocks: u32,
    /// Which way the request went.
    pub way: Way,
    /// What it is.
    pub kind: Kind,
    /// Who asks.
    pub requester: Requester,
    /// Of its first byte; of a configuration request the offset of the register, of a message 0.
    pub address: u64,
    /// Bytes that it asks for or carries.
    pub bytes: u32,
    /// Whether it may be ordered in a relaxed way.
    pub relaxed: bool,
    /// Whether its header has a 64-bit address.
    pub wide: bool,
    /// How it ended.
    pub ended: Ended,
    /// Since the first packet, when its first completion was captured.
    pub first_ns: Option<i64>,
    /// The same of its last one.
    pub end_ns: Option<i64>,
    /// Bytes of each completion's payload, in the order in which they were captured.
    pub pieces: Vec<u16>,
    /// What it carried or got, where all of it was captured and it is short; empty otherwise.
    pub data: Vec<u8>,
}

impl Transaction {
    /// From the request to its last completion.
    pub fn latency_ns(&self) -> Option<i64> {
        (self.ended == Ended::Completed).then(|| self.end_ns.map(|end| end - self.start_ns)).flatten()
    }
}

/// A request whose completions are awaited.
struct Open {
    transaction: Transaction,
    got: u32,
    kept: u32,
}

/// Packets that answer nothing, and requests that were not followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strays {
    /// Completions whose request was not captured, or had all already.
    pub completions: u64,
    /// Requests whose tag was used again before all of their completions were captured.
    pub tags_used_again: u64,
    /// Requests that were not followed, because too many were open.
    pub not_followed: u64,
    /// Whether some data could not be kept, so that less is recognised.
    pub data_left_out: bool,
}

/// Puts requests and completions together, packet by packet.
#[derive(Default)]
pub struct Pairs {
    open: HashMap<(Way, Requester), Vec<Open>>,
    kept: usize,
    /// Times until the first completion of requests of which there was no doubt: their sum, and how many.
    answered_ns: (u64, u64),
    /// What fits nowhere.
    pub strays: Strays,
}

/// What a packet tells, besides what is in it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Number of its frame.
    pub frame: u64,
    /// Since the first packet.
    pub at_ns: i64,
    /// Which way it went.
    pub way: Way,
    /// The adapter's clock.
    pub clocks: u32,
}

/// Where a completion ends, and what is left to come: what its boundary is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Address behind its last byte.
    pub address: u64,
    /// Whether more follow for the same request.
    pub more: bool,
}

/// What a packet did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// A tag that began to wait for completions: whose, and which way its request went.
    pub opened: Option<(Way, Requester)>,
    /// A tag that waits no longer.
    pub closed: Option<(Way, Requester)>,
    /// Requests that ended, in the order in which they began.
    pub ended: Vec<Transaction>,
    /// Where a completion ended.
    pub cut: Option<Cut>,
}

impl Pairs {
    /// Takes a packet.
    pub fn take(&mut self, seen: Seen, tlp: &Tlp) -> Outcome {
        match tlp.body {
            Body::Completion { .. } => self.completion(seen, tlp),
            _ => self.request(seen, tlp),
        }
    }

    /// What is still open at the end of a capture, in the order in which it began.
    pub fn finish(&mut self) -> Vec<Transaction> {
        let mut left: Vec<Transaction> = self.open.drain().flat_map(|(_, open)| open).map(Open::given_up).collect();
        left.sort_by_key(|transaction| transaction.frame);
        left
    }

    fn request(&mut self, seen: Seen, tlp: &Tlp) -> Outcome {
        let mut transaction = begun(seen, tlp);
        let posted = transaction.kind.is_posted();
        let short = transaction.bytes <= if posted { WRITE_KEPT_MAX } else { READ_KEPT_MAX };
        if posted {
            if short && tlp.missing_bytes() == 0 {
                let skipped = (transaction.address & 3) as usize;
                let data = tlp.payload.get(skipped..skipped + transaction.bytes as usize).unwrap_or_default();
                if self.keep(data.len()) {
                    transaction.data = data.to_vec();
                }
            }
            return Outcome { ended: vec![transaction], ..Outcome::default() };
        }
        let key = (seen.way, transaction.requester);
        let mut outcome = Outcome::default();
        let again = self.open.get_mut(&key);
        if let Some(before) = again {
            self.strays.tags_used_again += 1;
            if before.len() >= SAME_TAG_MAX {
                let oldest = before.remove(0);
                self.kept -= oldest.transaction.data.len();
                outcome.ended.push(oldest.given_up());
            }
        } else {
            outcome.opened = Some(key);
        }
        if outcome.opened.is_some() && self.open.len() >= OPEN_MAX {
            self.strays.not_followed += 1;
            outcome.opened = None;
            outcome.ended.push(transaction);
            return outcome;
        }
        if short && matches!(transaction.kind, Kind::MRd) && self.keep(transaction.bytes as usize) {
            transaction.data = vec![0; transaction.bytes as usize];
        }
        self.open.entry(key).or_default().push(Open { transaction, got: 0, kept: 0 });
        outcome
    }

    fn completion(&mut self, seen: Seen, tlp: &Tlp) -> Outcome {
        let Body::Completion { with_data, status, byte_count, requester, lower_address, .. } = tlp.body else {
            return Outcome::default();
        };
        let key = (seen.way.back(), requester);
        let Some(all_open) = self.open.get_mut(&key) else {
            self.strays.completions += 1;
            return Outcome::default();
        };
        let (sum, count) = self.answered_ns;
        let place = whose(all_open, byte_count.into(), seen.at_ns, sum.checked_div(count));
        let alone = all_open.len() == 1;
        let open = &mut all_open[place];
        let transaction = &mut open.transaction;
        if alone && transaction.first_ns.is_none() {
            let took = seen.at_ns.saturating_sub(transaction.start_ns).max(0) as u64;
            self.answered_ns = (sum.saturating_add(took), count + 1);
        }
        transaction.first_ns.get_or_insert(seen.at_ns);
        transaction.end_ns = Some(seen.at_ns);
        if !with_data || status != 0 {
            // 2.3.1: of a write there are no data, of a failed read neither.
            transaction.ended = if status == 0 { Ended::Completed } else { Ended::Failed(status) };
            return self.ends(key, place);
        }
        // 2.3.1.1: the byte count is what is left, with what this packet has.
        let skipped = u32::from(lower_address & 3);
        let bytes = (tlp.payload_bytes() as u32).saturating_sub(skipped).min(u32::from(byte_count));
        let offset = transaction.bytes.checked_sub(u32::from(byte_count));
        transaction.pieces.push(bytes as u16);
        open.got += bytes;
        if let (Some(offset), false) = (offset, transaction.data.is_empty()) {
            let captured = tlp.payload.get(skipped as usize..(skipped + bytes) as usize).unwrap_or_default();
            let into = transaction.data.get_mut(offset as usize..(offset + captured.len() as u32) as usize);
            if let Some(into) = into {
                into.copy_from_slice(captured);
                open.kept += captured.len() as u32;
            }
        }
        let behind = transaction.address.wrapping_add(u64::from(offset.unwrap_or(0) + bytes));
        let cut = Some(Cut { address: behind, more: bytes < u32::from(byte_count) });
        let all = transaction.bytes;
        // An atomic request asks for less than it carries; its answer is one packet.
        if open.got >= all || matches!(transaction.kind, Kind::FetchAdd | Kind::Swap | Kind::Cas) {
            transaction.ended = Ended::Completed;
            return Outcome { cut, ..self.ends(key, place) };
        }
        Outcome { cut, ..Outcome::default() }
    }

    fn ends(&mut self, key: (Way, Requester), place: usize) -> Outcome {
        let Some(all_open) = self.open.get_mut(&key) else { return Outcome::default() };
        let mut open = all_open.remove(place);
        let closed = all_open.is_empty().then_some(key);
        if closed.is_some() {
            self.open.remove(&key);
        }
        if open.kept as usize != open.transaction.data.len() {
            self.kept -= open.transaction.data.len();
            open.transaction.data = Vec::new();
        }
        Outcome { ended: vec![open.transaction], closed, ..Outcome::default() }
    }

    /// Whether so many more bytes are kept.
    fn keep(&mut self, bytes: usize) -> bool {
        let fits = self.kept + bytes <= KEPT_MAX;
        self.strays.data_left_out |= !fits;
        self.kept += if fits { bytes } else { 0 };
        fits
    }
}

impl Open {
    fn given_up(mut self) -> Transaction {
        self.transaction.ended = if self.got > 0 { Ended::InPart } else { Ended::Unanswered };
        self.transaction.data = Vec::new();
        self.transaction
    }
}

/// Which of the requests of one tag a completion answers, of which so many bytes are left with it; requests are
/// answered after `usual_ns`. A tag is used again when all of its completions have come (2.2.6.2), so that it is the
/// oldest one unless completions were lost.
fn whose(open: &[Open], left: u32, at_ns: i64, usual_ns: Option<u64>) -> usize {
    let lacks = |one: &&(usize, &Open)| one.1.transaction.bytes.saturating_sub(one.1.got) == left;
    let unlike = |one: &(usize, &Open)| {
        let took = at_ns.saturating_sub(one.1.transaction.start_ns).max(1) as u64;
        let usual = usual_ns.unwrap_or(took).max(1);
        (u128::from(took.max(usual)) << 32) / u128::from(took.min(usual))
    };
    let numbered: Vec<(usize, &Open)> = open.iter().enumerate().collect();
    let alike = numbered.iter().filter(lacks).min_by_key(|one| (unlike(one), one.0));
    alike.map_or(open.len() - 1, |one| one.0)
}

/// A request as its packet has it.
fn begun(seen: Seen, tlp: &Tlp) -> Transaction {
    let (address, bytes, wide) = match tlp.body {
        Body::Memory { address, enables, wide, .. } => {
            (address + u64::from(enables.offset()), enables.bytes(tlp.length), wide)
        }
        Body::Io { address, enables, .. } => (u64::from(address + enables.offset()), enables.bytes(tlp.length), false),
        Body::Configuration { register, enables, .. } => {
            (u64::from(register) + u64::from(enables.offset()), enables.bytes(tlp.length), false)
        }
        Body::Message { .. } | Body::Completion { .. } => (0, tlp.payload_bytes() as u32, true),
    };
    let kind = tlp.body.kind();
    Transaction {
        frame: seen.frame,
        start_ns: seen.at_ns,
        clocks: seen.clocks,
        way: seen.way,
        kind,
        requester: tlp.body.requester(),
        address,
        bytes,
        relaxed: tlp.attributes.relaxed_ordering,
        wide,
        ended: if kind.is_posted() { Ended::Posted } else { Ended::Unanswered },
        first_ns: None,
        end_ns: None,
        pieces: Vec::new(),
        data: Vec::new(),
    }
}

#[cfg(test)]
pub mod conversation;
#[cfg(test)]
mod tests;
