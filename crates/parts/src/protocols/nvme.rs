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

impl Command {
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
