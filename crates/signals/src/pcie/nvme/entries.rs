//! Entries of queues and lists, as NVM Express 1.4 has them. All numbers in them are little-endian.

/// 4.2: bytes of a submission queue entry.
pub const SUBMISSION_BYTES: usize = 64;
/// 4.6: bytes of a completion queue entry.
pub const COMPLETION_BYTES: usize = 16;
/// Bytes of a memory page: what hosts of x86 set (3.1.5, CC.MPS of 0).
pub const PAGE_BYTES: u64 = 4096;

fn number(bytes: &[u8], at: usize, count: usize) -> u64 {
    bytes[at..at + count].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// A command as it is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Opcode.
    pub opcode: u8,
    /// Command identifier.
    pub id: u16,
    /// Namespace.
    pub namespace: u32,
    /// PRP entries 1 and 2: addresses.
    pub pages: [u64; 2],
    /// Starting logical block of a read or write.
    pub block: u64,
    /// Logical blocks of a read or write.
    pub blocks: u32,
    /// Whether every field is as a read or a write has it.
    pub is_transfer: bool,
    /// Whether reserved bits are 0, and it asks for something.
    pub is_possible: bool,
}

impl Submission {
    /// Of 64 bytes.
    pub fn read(bytes: &[u8; SUBMISSION_BYTES]) -> Submission {
        let (opcode, flags) = (bytes[0], bytes[1]);
        let namespace = number(bytes, 4, 4) as u32;
        let pages = [number(bytes, 24, 8), number(bytes, 32, 8)];
        // 4.2, figure 104: bits 13:10 of the first double word, and the next two but one.
        let reserved = flags & 0x3c == 0 && number(bytes, 8, 8) == 0;
        let counted = number(bytes, 48, 2) as u32 + 1;
        let is_transfer = reserved
            && matches!(opcode, 1 | 2)
            && flags >> 6 != 3
            && (1..=0xffff).contains(&namespace)
            && pages[0] != 0
            && pages[0].is_multiple_of(4)
            // 6.9, figure 371: bits 25:24 of the twelfth double word.
            && number(bytes, 48, 4) >> 24 & 3 == 0;
        Submission {
            opcode,
            id: number(bytes, 2, 2) as u16,
            namespace,
            pages,
            block: number(bytes, 40, 8),
            blocks: counted,
            is_transfer,
            is_possible: reserved && (namespace != 0 || pages[0] != 0 || number(bytes, 40, 4) != 0),
        }
    }

    /// Of what was fetched at once; nothing where it is not whole entries.
    pub fn all(data: &[u8]) -> Vec<Submission> {
        let (entries, rest) = data.as_chunks::<SUBMISSION_BYTES>();
        if rest.is_empty() { entries.iter().map(Submission::read).collect() } else { Vec::new() }
    }

    /// The command's name, in a queue of that number (0 is the admin queue).
    pub fn word(opcode: u8, queue: Option<u16>) -> &'static str {
        match (queue == Some(0), opcode) {
            (false, 0) => "flush",
            (false, 1) => "write",
            (false, 2) => "read",
            (false, 4) => "write uncorrectable",
            (false, 5) => "compare",
            (false, 8) => "write zeroes",
            (false, 9) => "dataset management",
            (true, 0) => "delete submission queue",
            (true, 1) => "create submission queue",
            (true, 2) => "get log page",
            (true, 4) => "delete completion queue",
            (true, 5) => "create completion queue",
            (true, 6) => "identify",
            (true, 8) => "abort",
            (true, 9) => "set features",
            (true, 10) => "get features",
            (true, 12) => "asynchronous event request",
            _ => "another command",
        }
    }
}

/// A completion entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// How far the submission queue is read.
    pub head: u16,
    /// Submission queue.
    pub queue: u16,
    /// Command identifier.
    pub id: u16,
    /// Phase tag.
    pub phase: bool,
    /// Status field, 15 bits; 0 is success.
    pub status: u16,
}

impl Completion {
    /// Of 16 bytes, where they may be one.
    pub fn read(bytes: &[u8]) -> Option<Completion> {
        // 4.6: the second double word is reserved. Nobody has so many queues.
        let possible = bytes.len() == COMPLETION_BYTES && number(bytes, 4, 4) == 0 && number(bytes, 10, 2) < 4096;
        possible.then(|| Completion {
            head: number(bytes, 8, 2) as u16,
            queue: number(bytes, 10, 2) as u16,
            id: number(bytes, 12, 2) as u16,
            phase: bytes[14] & 1 != 0,
            status: (number(bytes, 14, 2) >> 1) as u16,
        })
    }
}

/// The addresses of a PRP list, where the data may be one: pages, and zeros behind them.
pub fn list(data: &[u8]) -> Option<Vec<u64>> {
    let (entries, rest) = data.as_chunks::<8>();
    let pages: Vec<u64> = entries.iter().map(|entry| u64::from_le_bytes(*entry)).collect();
    let used = pages.iter().take_while(|&&page| page != 0).count();
    let possible = rest.is_empty()
        && used > 0
        && pages[used..].iter().all(|&page| page == 0)
        && pages[..used].iter().all(|page| page.is_multiple_of(PAGE_BYTES));
    possible.then(|| pages[..used].to_vec())
}

/// A write of four bytes to a doorbell (3.1.24, 3.1.25: 0x1000 on, with a stride of 4 bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doorbell {
    /// Queue.
    pub queue: u16,
    /// Whether it is a submission queue's tail, not a completion queue's head.
    pub is_tail: bool,
    /// Where the registers begin.
    pub base: u64,
}

impl Doorbell {
    /// Of its address and value, where it may be one. Registers of a drive take 16 KiB or more, aligned so.
    pub fn read(address: u64, data: &[u8]) -> Option<Doorbell> {
        let offset = address & 0x3fff;
        let possible =
            data.len() == 4 && data[2..] == [0, 0] && (0x1000..0x2000).contains(&offset) && address.is_multiple_of(4);
        let index = (offset.saturating_sub(0x1000) / 4) as u16;
        possible.then_some(Doorbell { queue: index / 2, is_tail: index.is_multiple_of(2), base: address & !0x3fff })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doorbells_lie_behind_4_kib_and_alternate() {
        let ring = |address| Doorbell::read(address, &[5, 0, 0, 0]);
        assert_eq!(ring(0xf000_1008), Some(Doorbell { queue: 1, is_tail: true, base: 0xf000_0000 }));
        assert_eq!(ring(0xf000_100c), Some(Doorbell { queue: 1, is_tail: false, base: 0xf000_0000 }));
        assert_eq!((ring(0xf000_0014), Doorbell::read(0xf000_1000, &[0, 0, 1, 0])), (None, None));
    }

    #[test]
    fn a_list_is_pages_and_nothing_else() {
        let bytes = |pages: &[u64]| pages.iter().flat_map(|page| page.to_le_bytes()).collect::<Vec<u8>>();
        assert_eq!(list(&bytes(&[0x1000, 0x5000, 0])), Some(vec![0x1000, 0x5000]));
        assert_eq!([list(&bytes(&[0x1008])), list(&bytes(&[0])), list(&[0; 9]), list(&[])], [None, None, None, None]);
    }

    #[test]
    fn a_completion_entry_has_a_reserved_word() {
        let mut bytes = [0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 1, 0, 0x34, 0x12, 0x05, 0];
        let entry = Completion { head: 7, queue: 1, id: 0x1234, phase: true, status: 2 };
        assert_eq!(Completion::read(&bytes), Some(entry));
        bytes[5] = 1;
        assert_eq!(Completion::read(&bytes), None);
    }
}
