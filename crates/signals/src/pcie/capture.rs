//! A whole capture: its packets, its requests with their completions, and what they add up to.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::net::Ipv4Addr;

use super::agents::Agents;
use super::nettlp::{self, Found, Frame, Way};
use super::nvme::{self, Drive};
use super::over_time::OverTime;
use super::pairs::{Pairs, Seen, Strays, Transaction};
use super::pcap::{Captured, Pcap, PcapError};
use super::tlp::{Kind, Tlp};

/// Transactions that are listed unless the caller says otherwise.
pub const LISTED: usize = 200_000;
/// Of frames that could not be read, so many are quoted.
const QUOTED: usize = 5;
/// Requests that are looked at for what another one became, at most.
const LOOKED_AT: usize = 4096;
/// Senders whose sequence numbers are followed.
const SENDERS_MAX: usize = 1024;

/// The packets of a capture, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packets {
    /// Frames in the file.
    pub frames: u64,
    /// Packets in them.
    pub packets: u64,
    /// Packets by way, kind, and bytes that they carry or ask for.
    pub kinds: BTreeMap<(Way, Kind, u32), u64>,
    /// Frames that hold something else, by what it is.
    pub others: BTreeMap<&'static str, u64>,
    /// Frames that could not be read.
    pub unreadable: u64,
    /// The first of these: number of the frame, and why.
    pub quoted: Vec<(u64, String)>,
    /// Packets whose data the capture has cut.
    pub cut: u64,
    /// Packets with poisoned data.
    pub poisoned: u64,
    /// Packets with prefixes.
    pub prefixed: u64,
    /// Packets with a digest.
    pub digests: u64,
    /// Sequence numbers of an adapter that are missing.
    pub missing: u64,
    /// Packets whose sequence number is less than one before.
    pub late: u64,
    /// When the first one was captured, in nanoseconds since 1970.
    pub first_ns: Option<u64>,
    /// From the first one to the latest, in nanoseconds.
    pub span_ns: i64,
}

/// Requests of one size that were given on one side, and what was taken meanwhile of the same addresses: how a request
/// leaves whatever is in between.
pub type Passages = BTreeMap<(Kind, u32), BTreeMap<Vec<u32>, u64>>;

/// Everything that was found.
#[derive(Debug)]
pub struct Capture {
    /// Packets, counted.
    pub packets: Packets,
    /// Requests, added up.
    pub agents: Agents,
    /// The same over time.
    pub over_time: OverTime,
    /// Requests one by one, in the order in which they were captured, up to the limit.
    pub transactions: Vec<Transaction>,
    /// Requests beyond it. They are added up; drives and passages are judged without them.
    pub not_listed: u64,
    /// What fits nowhere.
    pub strays: Strays,
    /// Drives.
    pub drives: Vec<Drive>,
    /// What requests became on their way.
    pub passages: Passages,
    /// Why the file was not read to its end.
    pub stopped: Option<PcapError>,
}

/// Reads a pcap file of packets, and lists so many transactions at most. What follows a cut or damaged place is not
/// read; `stopped` says where.
///
/// # Errors
/// Where it is no pcap file, or cannot be read at all.
pub fn analyze(input: impl Read, listed_max: usize) -> Result<Capture, PcapError> {
    let mut pcap = Pcap::open(input)?;
    let link = pcap.link();
    let mut reading = Reading::default();
    let stopped = loop {
        match pcap.next_frame() {
            Ok(Some(captured)) => reading.frame(captured, link, listed_max),
            Ok(None) => break None,
            Err(PcapError::Io(error)) => return Err(PcapError::Io(error)),
            Err(error) => break Some(error),
        }
    };
    Ok(reading.finish(stopped, listed_max))
}

#[derive(Default)]
struct Reading {
    packets: Packets,
    pairs: Pairs,
    agents: Agents,
    over_time: OverTime,
    transactions: Vec<Transaction>,
    not_listed: u64,
    sequences: HashMap<Ipv4Addr, u16>,
}

impl Reading {
    fn frame(&mut self, captured: Captured, link: nettlp::Link, listed_max: usize) {
        self.packets.frames += 1;
        let (frame, bytes) = match nettlp::read(captured.bytes, link) {
            Ok(Found::Packet(frame, bytes, _)) => (frame, bytes),
            Ok(Found::Other(what)) => {
                *self.packets.others.entry(what).or_default() += 1;
                return;
            }
            Err(error) => return self.unreadable(captured.number, error.to_string()),
        };
        let tlp = match Tlp::decode(bytes) {
            Ok(tlp) => tlp,
            Err(error) => return self.unreadable(captured.number, error.to_string()),
        };
        let first = *self.packets.first_ns.get_or_insert(captured.stamp_ns);
        let at_ns = captured.stamp_ns as i64 - first as i64;
        self.packets.span_ns = self.packets.span_ns.max(at_ns);
        self.count(&frame, &tlp);
        let seen = Seen { frame: captured.number, at_ns, way: frame.way(), clocks: frame.clocks };
        let outcome = self.pairs.take(seen, &tlp);
        for transaction in outcome.ended {
            self.ended(transaction, listed_max);
        }
        if let Some((way, requester)) = outcome.opened {
            self.agents.opened(way, requester.id);
        }
        if let Some((way, requester)) = outcome.closed {
            self.agents.closed(way, requester.id);
        }
        if let Some(cut) = outcome.cut {
            self.agents.cut(seen.way, cut, tlp.payload_bytes() as u64);
        }
    }

    fn unreadable(&mut self, frame: u64, why: String) {
        self.packets.unreadable += 1;
        if self.packets.quoted.len() < QUOTED {
            self.packets.quoted.push((frame, why));
        }
    }

    fn count(&mut self, frame: &Frame, tlp: &Tlp) {
        let packets = &mut self.packets;
        packets.packets += 1;
        packets.cut += u64::from(tlp.missing_bytes() > 0);
        packets.poisoned += u64::from(tlp.poisoned);
        packets.prefixed += u64::from(!tlp.prefixes.is_empty());
        packets.digests += u64::from(tlp.digest.is_some());
        let key = (frame.way(), tlp.body.kind(), u32::from(tlp.length) * 4);
        *packets.kinds.entry(key).or_default() += 1;
        if frame.way() == Way::Given {
            return;
        }
        if self.sequences.len() >= SENDERS_MAX && !self.sequences.contains_key(&frame.source) {
            return;
        }
        let last = self.sequences.entry(frame.source).or_insert(frame.sequence.wrapping_sub(1));
        match frame.sequence.wrapping_sub(last.wrapping_add(1)) {
            // It was missing until now.
            0x8000.. => {
                packets.late += 1;
                packets.missing = packets.missing.saturating_sub(1);
            }
            skipped => {
                packets.missing += u64::from(skipped);
                *last = frame.sequence;
            }
        }
    }

    fn ended(&mut self, transaction: Transaction, listed_max: usize) {
        self.agents.ended(&transaction);
        self.over_time.add(&transaction);
        if self.transactions.len() < listed_max {
            self.transactions.push(transaction);
        } else {
            self.not_listed += 1;
        }
    }

    fn finish(mut self, stopped: Option<PcapError>, listed_max: usize) -> Capture {
        for transaction in self.pairs.finish() {
            self.ended(transaction, listed_max);
        }
        self.transactions.sort_by_key(|transaction| transaction.frame);
        Capture {
            drives: nvme::drives(&self.transactions),
            passages: passages(&self.transactions),
            packets: self.packets,
            agents: self.agents,
            over_time: self.over_time,
            transactions: self.transactions,
            not_listed: self.not_listed,
            strays: self.pairs.strays,
            stopped,
        }
    }
}

/// What became of requests that were given: those that were taken while they waited, of addresses inside theirs.
fn passages(transactions: &[Transaction]) -> Passages {
    let mut found = Passages::new();
    for (index, given) in transactions.iter().enumerate() {
        let Some(end) = given.end_ns.filter(|_| given.way == Way::Given && given.kind == Kind::MRd) else { continue };
        let inside = |taken: &&Transaction| {
            taken.way == Way::Taken
                && taken.kind == given.kind
                && taken.address >= given.address
                && taken.address - given.address + u64::from(taken.bytes) <= u64::from(given.bytes)
        };
        let meanwhile = transactions[index + 1..].iter().take(LOOKED_AT).take_while(|taken| taken.start_ns <= end);
        let became: Vec<u32> = meanwhile.filter(inside).map(|taken| taken.bytes).collect();
        if !became.is_empty() {
            *found.entry((given.kind, given.bytes)).or_default().entry(became).or_default() += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests;
