//! What an NVM Express drive does, told from its packets alone.
//!
//! A drive is whoever fetches entries of 64 bytes that are commands, and writes entries of 16 bytes that complete them.
//! Where completion entries were captured, a command is only believed with its own. From the commands follow the rest:
//! doorbells, lists of pages, data and interrupts. What a capture does not have is left out, not guessed.

mod entries;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use super::nettlp::Way;
use super::pairs::Transaction;
use super::tlp::{Id, Kind};
pub use entries::Submission as Entry;
use entries::{COMPLETION_BYTES, Completion, Doorbell, PAGE_BYTES, SUBMISSION_BYTES, Submission};

/// The phases of a command: from the doorbell to the fetch, the fetch, the list of pages, from there to the first data,
/// the data, from there to the completion entry, from there to the interrupt; and all of it.
pub const PHASES: [&str; 8] = ["to fetch", "fetch", "list", "to data", "data", "to entry", "to interrupt", "all"];

/// A span of time in nanoseconds since the first packet: first, last.
pub type Span = [i64; 2];

/// A drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drive {
    /// Who it is.
    pub id: Id,
    /// Which way its requests went.
    pub way: Way,
    /// Its queues, by number; without one where no completion entry told it.
    pub queues: BTreeMap<Option<u16>, Queue>,
    /// Its commands, in the order in which they were fetched.
    pub commands: Vec<Command>,
    /// Where its registers begin, by its doorbells.
    pub registers: Option<u64>,
    /// Writes to doorbells, by address: tail or head, of which queue, how many.
    pub doorbells: BTreeMap<u64, (bool, u16, u64)>,
    /// Commands that one fetch got, and how often.
    pub fetches: BTreeMap<usize, u64>,
    /// Bytes of each read of a list of pages, and how often.
    pub lists: BTreeMap<u32, u64>,
    /// Bytes of each read of data, and how often.
    pub data_reads: BTreeMap<u32, u64>,
    /// Bytes of each write of data, and how often.
    pub data_writes: BTreeMap<u32, u64>,
    /// Completion entries.
    pub completions: u64,
    /// Interrupts, by address.
    pub interrupts: BTreeMap<u64, u64>,
    /// Its requests that belong to none of these.
    pub unexplained: u64,
}

/// A pair of queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Addresses of submission entries that were fetched: first, behind the last.
    pub submission: Option<[u64; 2]>,
    /// The same of completion entries.
    pub completion: Option<[u64; 2]>,
    /// Commands that were fetched from it.
    pub commands: u64,
    /// Phase tags that were seen.
    pub phases: BTreeSet<bool>,
}

/// A command, and when what happened to it. An end is that of the last completion, or of the last write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its queue, where that is known.
    pub queue: Option<u16>,
    /// Its entry.
    pub entry: Submission,
    /// Its doorbell was written.
    pub doorbell_ns: Option<i64>,
    /// It was fetched.
    pub fetch_ns: Span,
    /// Its list of pages was read.
    pub list_ns: Option<Span>,
    /// Its data moved.
    pub data_ns: Option<Span>,
    /// Bytes of data that moved.
    pub data_bytes: u64,
    /// Requests that moved them.
    pub data_requests: u64,
    /// Its completion entry was written.
    pub entry_ns: Option<i64>,
    /// Status, of its completion entry.
    pub status: Option<u16>,
    /// The interrupt followed.
    pub interrupt_ns: Option<i64>,
}

impl Command {
    /// What it is called.
    pub fn word(&self) -> &'static str {
        Submission::word(self.entry.opcode, self.queue)
    }

    /// Starting block and blocks, of a read or a write.
    pub fn blocks(&self) -> Option<(u64, u32)> {
        self.entry.is_transfer.then_some((self.entry.block, self.entry.blocks))
    }

    /// How long each of [`PHASES`] took, in nanoseconds, where both of its ends are known.
    pub fn phases(&self) -> [Option<i64>; PHASES.len()] {
        let [fetch, fetched] = self.fetch_ns;
        let of = |span: Option<Span>| span.map(|[first, last]| last - first);
        let before_entry = self.data_ns.or(self.list_ns).map_or(fetched, |[_, last]| last);
        let last = self.interrupt_ns.or(self.entry_ns);
        [
            self.doorbell_ns.map(|doorbell| fetch - doorbell),
            Some(fetched - fetch),
            of(self.list_ns),
            self.data_ns.map(|[first, _]| first - self.list_ns.map_or(fetched, |[_, listed]| listed)),
            of(self.data_ns),
            self.entry_ns.map(|entry| entry - before_entry),
            self.interrupt_ns.zip(self.entry_ns).map(|(interrupt, entry)| interrupt - entry),
            last.map(|last| last - self.doorbell_ns.unwrap_or(fetch)),
        ]
    }

    /// Bytes of a block: what moved, by the blocks that were asked for.
    pub fn block_bytes(&self) -> Option<u64> {
        let (_, blocks) = self.blocks()?;
        let bytes = self.data_bytes / u64::from(blocks);
        (self.data_bytes.is_multiple_of(u64::from(blocks)) && bytes.is_power_of_two() && bytes >= 512).then_some(bytes)
    }
}

/// The drives of a capture. `transactions` are in the order in which they began.
pub fn drives(transactions: &[Transaction]) -> Vec<Drive> {
    let mut by: BTreeMap<(Way, Id), Candidate> = BTreeMap::new();
    for (index, transaction) in transactions.iter().enumerate() {
        let of = || (transaction.way, transaction.requester.id);
        if is_fetch(transaction) {
            by.entry(of()).or_default().fetches.push(index);
        } else if let Some(entry) = completion_entry(transaction) {
            let ends = by.entry(of()).or_default().ends.entry(entry.id).or_insert(i64::MIN);
            *ends = transaction.start_ns.max(*ends);
        }
    }
    let believed = by.into_iter().filter_map(|((way, id), candidate)| {
        let mut believed = candidate.believed(transactions);
        if believed.is_empty() {
            return None;
        }
        // A command has one queue: what is fetched from elsewhere, once, among many, is data that look like one.
        believed.sort_unstable();
        let fetches: BTreeSet<usize> = believed.into_iter().collect();
        let registers = registers(transactions, id, &fetches);
        Some(walk::drive(transactions, way, id, &fetches, registers))
    });
    believed.collect()
}

/// Requests of one requester that may be a drive's.
#[derive(Default)]
struct Candidate {
    fetches: Vec<usize>,
    /// When the last completion entry was written for each command identifier.
    ends: BTreeMap<u16, i64>,
}

impl Candidate {
    fn believed(&self, transactions: &[Transaction]) -> Vec<usize> {
        let is_believed = |&&index: &&usize| {
            let transaction = &transactions[index];
            let fetched = transaction.end_ns.unwrap_or(transaction.start_ns);
            Submission::all(&transaction.data).iter().all(|entry| match self.ends.is_empty() {
                true => entry.is_transfer,
                false => entry.is_possible && self.ends.get(&entry.id).is_some_and(|&end| end >= fetched),
            })
        };
        let (mut believed, others): (Vec<usize>, Vec<usize>) =
            self.fetches.iter().partition(|index| is_believed(index));
        // What lies in a queue, or just behind it, is a command whose entry the capture does not have any more.
        let ends = |index: usize| transactions[index].address.saturating_add(transactions[index].data.len() as u64);
        let mut pages: BTreeSet<u64> = believed.iter().map(|index| transactions[*index].address / PAGE_BYTES).collect();
        let mut behind: BTreeSet<u64> = believed.iter().map(|index| ends(*index)).collect();
        for index in others {
            let transaction = &transactions[index];
            let there = pages.contains(&(transaction.address / PAGE_BYTES)) || behind.contains(&transaction.address);
            if there && Submission::all(&transaction.data).iter().all(|entry| entry.is_transfer) {
                pages.insert(transaction.address / PAGE_BYTES);
                behind.insert(ends(index));
                believed.push(index);
            }
        }
        believed
    }
}

fn is_fetch(transaction: &Transaction) -> bool {
    let entry = SUBMISSION_BYTES as u64;
    transaction.kind == Kind::MRd
        && !transaction.data.is_empty()
        && transaction.data.len().is_multiple_of(SUBMISSION_BYTES)
        && transaction.address.is_multiple_of(entry)
        && Submission::all(&transaction.data).iter().all(|entry| entry.is_possible)
}

fn completion_entry(transaction: &Transaction) -> Option<Completion> {
    let aligned = transaction.kind == Kind::MWr && transaction.address.is_multiple_of(COMPLETION_BYTES as u64);
    aligned.then(|| Completion::read(&transaction.data)).flatten()
}

fn doorbell(transaction: &Transaction) -> Option<Doorbell> {
    (transaction.kind == Kind::MWr).then(|| Doorbell::read(transaction.address, &transaction.data)).flatten()
}

/// Where a drive's registers begin: a fetch follows a write to its tail doorbell. Where none was seen before any, where
/// most writes of others look like doorbells.
fn registers(transactions: &[Transaction], drive: Id, fetches: &BTreeSet<usize>) -> Option<u64> {
    let (mut before, mut all): (BTreeMap<u64, u64>, BTreeMap<u64, u64>) = (BTreeMap::new(), BTreeMap::new());
    let mut rung = None;
    for (index, transaction) in transactions.iter().enumerate() {
        if let (true, Some(base)) = (fetches.contains(&index), rung) {
            *before.entry(base).or_default() += 1;
        } else if transaction.requester.id != drive
            && let Some(found) = doorbell(transaction)
        {
            *all.entry(found.base).or_default() += 1;
            rung = if found.is_tail { Some(found.base) } else { rung };
        }
    }
    let most = |bases: BTreeMap<u64, u64>| {
        bases.into_iter().max_by_key(|(base, count)| (*count, std::cmp::Reverse(*base))).map(|(base, _)| base)
    };
    most(before).or_else(|| most(all))
}
