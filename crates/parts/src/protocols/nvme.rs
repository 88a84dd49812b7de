//! NVM Express: what a command says, and how long what lies in host memory is. NVM Express Base Specification 1.4.

use hopscope_kernel::Errand;

use super::pcie::{Home, PAGE_BYTES};
use super::storage::Operation;

/// A submission queue entry (4.2).
pub const COMMAND_BYTES: u32 = 64;
/// A completion queue entry (4.6).
pub const COMPLETION_BYTES: u32 = 16;
/// A PRP entry (4.3).
const PRP_BYTES: u32 = 8;
/// An SGL descriptor (4.4).
const DESCRIPTOR_BYTES: u32 = 16;

/// How a command says where its data are in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointers {
    /// A physical region page entry for each page: two in the command, a list of them where there are more (4.3).
    Prp,
    /// A scatter gather list, a descriptor for every so many bytes: one in the command, several in a segment (4.4).
    Sgl {
        /// Memory is contiguous for so long, bytes.
        contiguous: u32,
    },
}

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Read or write.
    pub operation: Operation,
    /// First byte on the drive.
    pub offset_bytes: u64,
    /// How many bytes.
    pub bytes: u32,
    /// Where in host memory, at the beginning of a page.
    pub buffer: u64,
    /// What kind of memory that is.
    pub home: Home,
    /// How the command says so.
    pub pointers: Pointers,
    /// Where the list of pointers is, at the beginning of a page.
    pub list: u64,
    /// The command identifier.
    pub identifier: u16,
    /// For whom.
    pub errand: Errand,
}

/// The doorbell of a submission queue's tail (3.1.24), by the queue's identifier: 0 are the admin queues.
pub fn tail_doorbell(queue: u16) -> u64 {
    0x1000 + 2 * u64::from(queue) * 4
}

/// The doorbell of a completion queue's head (3.1.25).
pub fn head_doorbell(queue: u16) -> u64 {
    tail_doorbell(queue) + 4
}

/// A completion queue entry (4.6): how far which submission queue has been read, of which command, with which phase tag.
pub fn completion_entry(queue: u16, head: u64, identifier: u16, phase: bool) -> [u64; 2] {
    [0, u64::from(phase) << 48 | u64::from(identifier) << 32 | u64::from(queue) << 16 | head]
}

impl Command {
    /// As an entry of a submission queue, of a namespace with blocks of so many bytes (4.2, 6.9, 6.15).
    pub fn entry(&self, block_bytes: u32) -> [u64; 8] {
        let opcode = match self.operation {
            Operation::Write => 1,
            Operation::Read => 2,
        };
        let pages = self.bytes.div_ceil(PAGE_BYTES);
        let (by_list, pointers) = match self.pointers {
            Pointers::Prp => {
                let second = match pages {
                    0 | 1 => 0,
                    2 => self.buffer + u64::from(PAGE_BYTES),
                    _ => self.list,
                };
                (0, [self.buffer, second])
            }
            // A data block, or the last segment of a list (4.4).
            Pointers::Sgl { .. } => match self.list_bytes() {
                0 => (1 << 14, [self.buffer, u64::from(self.bytes)]),
                bytes => (1 << 14, [self.list, 0x30 << 56 | u64::from(bytes)]),
            },
        };
        let (block, blocks) = (self.offset_bytes / u64::from(block_bytes), u64::from(self.bytes / block_bytes));
        let first = 1 << 32 | u64::from(self.identifier) << 16 | by_list | opcode;
        [first, 0, 0, pointers[0], pointers[1], block, blocks.saturating_sub(1), 0]
    }

    /// The list of pointers, word by word (4.3, 4.4).
    pub fn list_words(&self) -> Vec<u64> {
        let (buffer, page) = (self.buffer, u64::from(PAGE_BYTES));
        match self.pointers {
            Pointers::Prp => (1..u64::from(self.list_bytes() / PRP_BYTES) + 1).map(|n| buffer + n * page).collect(),
            Pointers::Sgl { contiguous } => (0..self.list_bytes() / DESCRIPTOR_BYTES)
                .flat_map(|n| {
                    let length = contiguous.min(self.bytes - n * contiguous);
                    [buffer + u64::from(n * contiguous), u64::from(length)]
                })
                .collect(),
        }
    }

    /// Bytes of the list of pointers; none where they are all in the command.
    pub fn list_bytes(&self) -> u32 {
        match self.pointers {
            // 4.3: the first entry is in the command, the second one too where it is the last one.
            Pointers::Prp => match self.bytes.div_ceil(PAGE_BYTES) {
                0..=2 => 0,
                pages => (pages - 1) * PRP_BYTES,
            },
            Pointers::Sgl { contiguous } => match self.bytes.div_ceil(contiguous) {
                0..=1 => 0,
                runs => runs * DESCRIPTOR_BYTES,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(bytes: u32, pointers: Pointers) -> u32 {
        let (operation, home) = (Operation::Read, Home::MEMORY);
        Command {
            operation,
            offset_bytes: 0,
            bytes,
            buffer: 0,
            home,
            pointers,
            list: 0,
            identifier: 0,
            errand: Errand::NOBODY,
        }
        .list_bytes()
    }

    #[test]
    fn a_list_is_needed_for_more_than_two_pages_or_one_descriptor() {
        assert_eq!(list(4_096, Pointers::Prp), 0);
        assert_eq!(list(8_192, Pointers::Prp), 0);
        assert_eq!(list(8_704, Pointers::Prp), 16);
        assert_eq!(list(131_072, Pointers::Prp), 31 * 8);
        assert_eq!(list(65_536, Pointers::Sgl { contiguous: 65_536 }), 0);
        assert_eq!(list(131_072, Pointers::Sgl { contiguous: 65_536 }), 32);
        assert_eq!(list(131_072, Pointers::Sgl { contiguous: 4_096 }), 512);
    }
}
