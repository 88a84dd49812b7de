//! The list of register accesses of an IDE driver, as its file has it.

use hopscope_declare::Spec;
use hopscope_kernel::Time;

use crate::protocols::pci::Command;

/// Which register a step names, relative to what the channel decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Fixed,
    CommandBlock,
    BusMaster,
}

/// What a step writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Constant(u32),
    DescriptorTable,
    SelectDrive,
    SectorCount,
    DriveAndLbaTop,
    LbaLow,
    LbaMid,
    LbaHigh,
    Command,
    Start,
}

const WRITTEN: [(&str, Written); 9] = [
    ("descriptor-table", Written::DescriptorTable),
    ("select-drive", Written::SelectDrive),
    ("sector-count", Written::SectorCount),
    ("drive-and-lba-27-24", Written::DriveAndLbaTop),
    ("lba-7-0", Written::LbaLow),
    ("lba-15-8", Written::LbaMid),
    ("lba-23-16", Written::LbaHigh),
    ("command", Written::Command),
    ("start", Written::Start),
];

/// One register access.
#[derive(Clone, Debug, PartialEq, Spec)]
pub(super) struct Step {
    /// Processor time before the access.
    #[time("gap")]
    pub(super) gap: Time,
    /// The bus cycle of the access.
    #[choice("cycle")]
    pub(super) cycle: Cycle,
}

/// A bus cycle.
#[derive(Clone, Debug, PartialEq, Spec)]
pub(super) enum Cycle {
    #[word("interrupt-acknowledge")]
    InterruptAcknowledge,
    #[word("io-read")]
    IoRead {
        /// What is read.
        #[nested]
        register: Register,
    },
    #[word("io-write")]
    IoWrite {
        /// What is written to.
        #[nested]
        register: Register,
        /// What is written: a number such as "0x20", or what depends on the request.
        #[text("value", parse = Written::parse)]
        written: Written,
    },
}

impl Cycle {
    /// The command, which bytes it is for, and what it writes.
    pub(super) fn parts(&self) -> (Command, Place, u32, Written) {
        match self {
            Cycle::InterruptAcknowledge => {
                (Command::InterruptAcknowledge, Place { base: Base::Fixed, offset: 0 }, 1, Written::Constant(0))
            }
            Cycle::IoRead { register } => (Command::IoRead, register.place, register.bytes, Written::Constant(0)),
            Cycle::IoWrite { register, written } => (Command::IoWrite, register.place, register.bytes, *written),
        }
    }
}

/// A register of the bridge, of a channel or of the board.
#[derive(Clone, Debug, PartialEq, Spec)]
pub(super) struct Register {
    /// Its address, which may be relative to what the channel decides: "command-block + 0x7".
    #[text("register", parse = Place::parse)]
    place: Place,
    /// Bytes of the access.
    #[bytes("bytes")]
    bytes: u32,
    /// What the access is for: to the reader of the file.
    #[text("what")]
    what: String,
}

/// Where a register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) base: Base,
    pub(super) offset: u32,
}

impl Place {
    fn parse(register: &str) -> Result<Place, String> {
        let (base, offset) = register.split_once('+').unwrap_or(("", register));
        let digits = offset.trim().strip_prefix("0x").unwrap_or("");
        let parsed = u32::from_str_radix(digits, 16).ok().filter(|offset| *offset <= 0xFFFF);
        let base = match base.trim() {
            "" => Some(Base::Fixed),
            "command-block" => Some(Base::CommandBlock),
            "bus-master" => Some(Base::BusMaster),
            _ => None,
        };
        let place = base.zip(parsed).map(|(base, offset)| Place { base, offset });
        place.ok_or_else(|| "\"0xA0\", \"command-block + 0x7\" or \"bus-master + 0x2\"".to_string())
    }
}

impl Written {
    fn parse(value: &str) -> Result<Written, String> {
        let constant = value.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let named = WRITTEN.iter().find(|(name, _)| *name == value).map(|(_, written)| *written);
        constant.map(Written::Constant).or(named).ok_or_else(|| {
            let names: Vec<&str> = WRITTEN.iter().map(|w| w.0).collect();
            format!("\"0x20\" or one of {}", names.join(", "))
        })
    }
}
