//! Follows a drive's commands through a capture, in the order in which things were known.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::entries::{self, Completion, PAGE_BYTES, Submission};
use super::{Command, Drive, completion_entry, doorbell};
use crate::pcie::nettlp::Way;
use crate::pcie::pairs::Transaction;
use crate::pcie::tlp::{Id, Kind};

/// Doorbells that are remembered until a fetch follows.
const DOORBELLS_MAX: usize = 4096;

/// Everything that a drive does. `fetches` are the indices of the reads that get commands, `registers` is where its
/// doorbells lie.
pub fn drive(
    transactions: &[Transaction],
    way: Way,
    id: Id,
    fetches: &BTreeSet<usize>,
    registers: Option<u64>,
) -> Drive {
    let mut walk = Walk::new(way, id, registers);
    // What a read got is known at its end.
    let mut order: Vec<(i64, usize)> =
        transactions.iter().enumerate().map(|(index, one)| (known_at(one), index)).collect();
    order.sort_unstable();
    for (_, index) in order {
        let transaction = &transactions[index];
        if transaction.requester.id == id && transaction.way == way {
            walk.own(transaction, fetches.contains(&index));
        } else {
            walk.others(transaction);
        }
    }
    walk.finish()
}

fn known_at(transaction: &Transaction) -> i64 {
    if transaction.data.is_empty() { transaction.start_ns } else { transaction.end_ns.unwrap_or(transaction.start_ns) }
}

/// A tail doorbell that no fetch has followed yet.
struct Rung {
    at_ns: i64,
    queue: u16,
}

struct Walk {
    drive: Drive,
    registers: Option<u64>,
    rung: Vec<Rung>,
    /// The command that a page belongs to, the latest one.
    pages: HashMap<u64, usize>,
    /// Commands without completion entry, by identifier.
    active: BTreeMap<u16, Vec<usize>>,
    /// Commands with completion entry and without interrupt.
    silent: Vec<usize>,
    /// The queue that lies in a page of submission entries.
    lies: HashMap<u64, u16>,
    /// Where each command's entry lies.
    from: Vec<u64>,
    /// Writes of a word before any completion entry of a command that was fetched, by address.
    words: BTreeMap<u64, u64>,
}

impl Walk {
    fn new(way: Way, id: Id, registers: Option<u64>) -> Walk {
        let drive = Drive {
            id,
            way,
            queues: BTreeMap::new(),
            commands: Vec::new(),
            registers: None,
            doorbells: BTreeMap::new(),
            fetches: BTreeMap::new(),
            lists: BTreeMap::new(),
            data_reads: BTreeMap::new(),
            data_writes: BTreeMap::new(),
            completions: 0,
            interrupts: BTreeMap::new(),
            unexplained: 0,
        };
        Walk {
            drive,
            registers,
            rung: Vec::new(),
            pages: HashMap::new(),
            active: BTreeMap::new(),
            silent: Vec::new(),
            lies: HashMap::new(),
            from: Vec::new(),
            words: BTreeMap::new(),
        }
    }

    /// What somebody else asks: of interest if it is a doorbell.
    fn others(&mut self, transaction: &Transaction) {
        let Some(found) = doorbell(transaction).filter(|found| Some(found.base) == self.registers) else { return };
        let count = &mut self.drive.doorbells.entry(transaction.address).or_insert((found.is_tail, found.queue, 0)).2;
        *count += 1;
        if found.is_tail && self.rung.len() < DOORBELLS_MAX {
            self.rung.push(Rung { at_ns: transaction.start_ns, queue: found.queue });
        }
    }

    fn own(&mut self, transaction: &Transaction, is_fetch: bool) {
        if is_fetch {
            return self.fetch(transaction);
        }
        if let Some(entry) = completion_entry(transaction)
            && self.ends(transaction, entry)
        {
            return;
        }
        let command = self.command_of(transaction);
        match (transaction.kind, command) {
            (Kind::MRd, Some(index)) if self.is_list(index, transaction) => self.list(index, transaction),
            (Kind::MRd, Some(index)) if self.drive.commands[index].entry.opcode != 2 => {
                *self.drive.data_reads.entry(transaction.bytes).or_default() += 1;
                self.data(index, transaction);
            }
            (Kind::MWr, Some(index)) => {
                *self.drive.data_writes.entry(transaction.bytes).or_default() += 1;
                self.data(index, transaction);
            }
            (Kind::MWr, None) if transaction.bytes == 4 && self.drive.completions > 0 => {
                *self.drive.interrupts.entry(transaction.address).or_default() += 1;
                for index in self.silent.drain(..) {
                    self.drive.commands[index].interrupt_ns = Some(transaction.start_ns);
                }
            }
            (Kind::MWr, None) if transaction.bytes == 4 => *self.words.entry(transaction.address).or_default() += 1,
            _ => self.drive.unexplained += 1,
        }
    }

    fn fetch(&mut self, transaction: &Transaction) {
        let fetched = Submission::all(&transaction.data);
        *self.drive.fetches.entry(fetched.len()).or_default() += 1;
        let page = transaction.address / PAGE_BYTES;
        let queue = self.lies.get(&page).copied();
        let span = [transaction.start_ns, transaction.end_ns.unwrap_or(transaction.start_ns)];
        let before = |rung: &Rung| rung.at_ns <= span[0] && queue.is_none_or(|queue| queue == rung.queue);
        let doorbells: Vec<i64> = self.rung.iter().filter(|rung| before(rung)).map(|rung| rung.at_ns).collect();
        self.rung.retain(|rung| !before(rung));
        for (place, entry) in fetched.into_iter().enumerate() {
            let index = self.drive.commands.len();
            self.drive.commands.push(Command {
                queue,
                entry,
                doorbell_ns: doorbells.get(place).or(doorbells.last()).copied(),
                fetch_ns: span,
                list_ns: None,
                data_ns: None,
                data_bytes: 0,
                data_requests: 0,
                entry_ns: None,
                status: None,
                interrupt_ns: None,
            });
            self.from.push(transaction.address.saturating_add((place * entries::SUBMISSION_BYTES) as u64));
            self.active.entry(entry.id).or_default().push(index);
            for page in entry.pages.into_iter().filter(|&page| page != 0) {
                self.pages.insert(page / PAGE_BYTES, index);
            }
        }
    }

    /// Whether a completion entry is one of a command that was fetched.
    fn ends(&mut self, transaction: &Transaction, entry: Completion) -> bool {
        let Some(waiting) = self.active.get_mut(&entry.id) else { return false };
        let here = |&index: &usize| self.drive.commands[index].queue.is_none_or(|queue| queue == entry.queue);
        let Some(place) = waiting.iter().position(here) else { return false };
        let index = waiting.remove(place);
        let command = &mut self.drive.commands[index];
        (command.entry_ns, command.status) = (Some(transaction.start_ns), Some(entry.status));
        if command.queue.is_none() {
            command.queue = Some(entry.queue);
            self.lies.insert(self.from[index] / PAGE_BYTES, entry.queue);
        }
        let queue = self.drive.queues.entry(Some(entry.queue)).or_default();
        widen(&mut queue.completion, transaction.address, entries::COMPLETION_BYTES as u64);
        queue.phases.insert(entry.phase);
        self.drive.completions += 1;
        self.silent.push(index);
        true
    }

    /// Names the queues of all commands that lie beside one whose queue is known.
    fn finish(mut self) -> Drive {
        for (command, first) in self.drive.commands.iter_mut().zip(&self.from) {
            command.queue = command.queue.or_else(|| self.lies.get(&(first / PAGE_BYTES)).copied());
            let queue = self.drive.queues.entry(command.queue).or_default();
            queue.commands += 1;
            widen(&mut queue.submission, *first, entries::SUBMISSION_BYTES as u64);
        }
        for (address, count) in std::mem::take(&mut self.words) {
            match self.drive.interrupts.get_mut(&address) {
                Some(interrupts) => *interrupts += count,
                None => self.drive.unexplained += count,
            }
        }
        self.drive.registers = self.registers.filter(|_| !self.drive.doorbells.is_empty());
        self.drive
    }

    /// The command that a transfer belongs to: by its page, or because there is only one.
    fn command_of(&self, transaction: &Transaction) -> Option<usize> {
        let is_active = |index: &usize| self.drive.commands[*index].entry_ns.is_none();
        let by_page = self.pages.get(&(transaction.address / PAGE_BYTES)).copied().filter(is_active);
        by_page.or_else(|| {
            let mut left = self.active.values().flatten();
            // Data are no shorter than a block; what is may be an interrupt.
            let alone = left.next().filter(|_| left.next().is_none() && transaction.bytes >= 64).copied();
            alone.filter(|&index| self.drive.commands[index].entry.is_transfer)
        })
    }

    /// Whether a read is of a command's list of pages, and not of its data.
    fn is_list(&self, index: usize, transaction: &Transaction) -> bool {
        let entry = &self.drive.commands[index].entry;
        let there = entry.pages[1] / PAGE_BYTES == transaction.address / PAGE_BYTES && entry.pages[1] != 0;
        if !there || !transaction.bytes.is_multiple_of(8) {
            return entry.opcode == 2 && transaction.bytes.is_multiple_of(8);
        }
        let listed = transaction.data.is_empty() || entries::list(&transaction.data).is_some();
        // 4.3: two pages need no list. A block has 512 bytes at least; a read command's data are not read.
        listed && (u64::from(entry.blocks) * 512 > 2 * PAGE_BYTES || entry.opcode == 2 || !transaction.data.is_empty())
    }

    fn list(&mut self, index: usize, transaction: &Transaction) {
        *self.drive.lists.entry(transaction.bytes).or_default() += 1;
        let end = transaction.end_ns.unwrap_or(transaction.start_ns);
        lengthen(&mut self.drive.commands[index].list_ns, [transaction.start_ns, end]);
        for page in entries::list(&transaction.data).unwrap_or_default() {
            self.pages.insert(page / PAGE_BYTES, index);
        }
    }

    fn data(&mut self, index: usize, transaction: &Transaction) {
        let command = &mut self.drive.commands[index];
        command.data_bytes += u64::from(transaction.bytes);
        command.data_requests += 1;
        let end = transaction.end_ns.unwrap_or(transaction.start_ns);
        lengthen(&mut command.data_ns, [transaction.start_ns, end]);
    }
}

/// A range of addresses that has these, too.
fn widen(range: &mut Option<[u64; 2]>, first: u64, bytes: u64) {
    let behind = first.saturating_add(bytes);
    let [low, high] = range.unwrap_or([first, behind]);
    *range = Some([low.min(first), high.max(behind)]);
}

fn lengthen(span: &mut Option<[i64; 2]>, with: [i64; 2]) {
    let [first, last] = span.unwrap_or(with);
    *span = Some([first.min(with[0]), last.max(with[1])]);
}
