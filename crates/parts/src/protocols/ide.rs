//! IDE, the AT Attachment: registers, transfer modes, phases on the cable, and the trait of a drive. ATA/ATAPI-4
//! (T13/1153D).

use hopscope_kernel::{Errand, Label, Time};

/// A register access by programmed I/O.
pub static PIO: Label = Label::protocol("register access");
/// Ultra DMA burst initiation: DMARQ, DMACK#, STOP, first strobe.
pub static BURST_START: Label = Label::protocol("burst start");
/// Words from drive 0 or 1, one a strobe edge. Each drive is set to a mode, and so to a pace, of its own.
pub static WORDS_IN: [Label; 2] = [Label::payload("data words"), Label::payload("data words")];
/// Words to drive 0 or 1, which the host strobes at a pace of its own.
pub static WORDS_OUT: [Label; 2] = [Label::payload("data words"), Label::payload("data words")];
/// Pause: the receiver negates DMARDY# or the sender stops its strobe.
pub static PAUSE: Label = Label::reason("pause");
/// Burst termination and CRC.
pub static BURST_END: Label = Label::protocol("burst end and CRC");
/// The drive has no data to send, or no room to take any.
pub static DRIVE_NOT_READY: Label = Label::reason("drive not ready");

/// Command block registers, by offset from the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// +2
    SectorCount,
    /// +3: LBA 7:0
    LbaLow,
    /// +4: LBA 15:8
    LbaMid,
    /// +5: LBA 23:16
    LbaHigh,
    /// +6: LBA mode, drive, LBA 27:24
    DriveHead,
    /// +7: command when written, status when read
    Command,
}

impl Register {
    /// The register at an offset of the command block; `None` for those this model has no use for.
    pub fn at(offset: u32) -> Option<Register> {
        Some(match offset {
            2 => Register::SectorCount,
            3 => Register::LbaLow,
            4 => Register::LbaMid,
            5 => Register::LbaHigh,
            6 => Register::DriveHead,
            7 => Register::Command,
            _ => return None,
        })
    }

    /// An access to it by an engine that has no ports.
    pub fn access(self, writes: bool) -> Access {
        let da = match self {
            Register::SectorCount => 2,
            Register::LbaLow => 3,
            Register::LbaMid => 4,
            Register::LbaHigh => 5,
            Register::DriveHead => 6,
            Register::Command => 7,
        };
        Access { control: false, da, writes, port: 0 }
    }
}

/// READ DMA.
pub const READ_DMA: u8 = 0xC8;
/// WRITE DMA.
pub const WRITE_DMA: u8 = 0xCA;
/// READ MULTIPLE: by programmed I/O, a block of sectors an interrupt. ATA/ATAPI-4, 8.26.
pub const READ_MULTIPLE: u8 = 0xC4;
/// WRITE MULTIPLE: ATA/ATAPI-4, 8.49.
pub const WRITE_MULTIPLE: u8 = 0xC5;
/// Bytes of a sector.
pub const SECTOR_BYTES: u32 = 512;

/// How a drive's data cross the cable: SET FEATURES, set transfer mode. ATA/ATAPI-4, 8.37.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferMode {
    /// Programmed I/O: the processor moves every word.
    Pio(usize),
    /// Multiword DMA: the bridge strobes every word by DIOR- or DIOW-.
    MultiwordDma(usize),
    /// Ultra DMA: whoever sends strobes, on both edges.
    UltraDma(usize),
}

impl TransferMode {
    /// Whether the processor moves the words.
    pub fn is_programmed(self) -> bool {
        matches!(self, TransferMode::Pio(_))
    }
}

/// A drive, as its cable sees it.
pub trait IdeDrive {
    /// A register of the selected drive is written for a request; the command register starts a command.
    fn write(&self, register: Register, value: u8, errand: Errand);
    /// So many bytes of the drive's offer have crossed the cable.
    fn moved(&self, bytes: u32);
    /// The mode that the drive was set to.
    fn transfer_mode(&self) -> TransferMode;
    /// SET MULTIPLE MODE: so many sectors are a block of READ MULTIPLE and WRITE MULTIPLE. ATA/ATAPI-4, 8.38.
    fn set_multiple(&self, sectors: u64);
    /// Capacity in sectors.
    fn sectors(&self) -> u64;
}

/// A register is accessed in the phase that follows: [`Access::packed`]. This and what follows are for those who draw
/// the wires: see [`Lane::carried`](hopscope_kernel::Lane::carried).
pub static ACCESSED: Label = Label::mark("register accessed");
/// What the access before has written.
pub static WRITTEN: Label = Label::mark("register written");
/// Words follow: [`Moves::packed`].
pub static MOVES: Label = Label::mark("words follow");
/// Initiation of an Ultra DMA burst: [`packed_times`] of tACK and tENV.
pub static INITIATION: Label = Label::mark("burst initiation");
/// The receiver is ready again, so long ago.
pub static READY_AGAIN: Label = Label::mark("DMARDY# again");
/// Termination: [`packed_times`] of tRP or tSS, tLI and tMLI; all zero where nothing but DMACK# ends.
pub static TERMINATION: Label = Label::mark("burst termination");
/// The drive asserts INTRQ.
pub static INTRQ: Label = Label::mark("INTRQ");

/// A register as the cable addresses it. ATA/ATAPI-4, 7.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// CS1#: the control block; CS0# is the command block.
    pub control: bool,
    /// DA[2:0].
    pub da: u8,
    /// DIOW#; DIOR# otherwise.
    pub writes: bool,
    /// The address that the processor uses, where there is one.
    pub port: u16,
}

impl Access {
    /// As one value.
    pub fn packed(self) -> u64 {
        u64::from(self.port) << 8 | u64::from(self.writes) << 4 | u64::from(self.control) << 3 | u64::from(self.da & 7)
    }

    /// The same, the other way.
    pub fn unpacked(value: u64) -> Access {
        let bit = |bit: u32| value >> bit & 1 == 1;
        Access { control: bit(3), da: value as u8 & 7, writes: bit(4), port: (value >> 8) as u16 }
    }
}

/// Words that follow, as wires show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moves {
    /// Who strobes them, and how.
    pub mode: Strobes,
    /// Whether they come from the drive.
    pub reads: bool,
    /// Where the first one is or goes to in memory; of programmed I/O the port.
    pub address: u32,
    /// From one to the next; below 4 us.
    pub word: Time,
}

/// How words are strobed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strobes {
    /// Accesses of the data register, two of them for four bytes where `wide`.
    Programmed {
        /// Whether the processor moves four bytes at a time.
        wide: bool,
    },
    /// Multiword DMA.
    Multiword,
    /// Ultra DMA.
    Ultra,
}

const WORD_BITS: u32 = 22;

impl Moves {
    /// As one value.
    pub fn packed(self) -> u64 {
        let mode = match self.mode {
            Strobes::Programmed { wide } => u64::from(wide),
            Strobes::Multiword => 2,
            Strobes::Ultra => 3,
        };
        let word = self.word.as_ps().min((1 << WORD_BITS) - 1);
        (word << 3 | u64::from(self.reads) << 2 | mode) << 32 | u64::from(self.address)
    }

    /// The same, the other way.
    pub fn unpacked(value: u64) -> Moves {
        let rest = value >> 32;
        let mode = match rest & 3 {
            2 => Strobes::Multiword,
            3 => Strobes::Ultra,
            wide => Strobes::Programmed { wide: wide == 1 },
        };
        let word = Time::ps(rest >> 3 & ((1 << WORD_BITS) - 1));
        Moves { mode, reads: rest >> 2 & 1 == 1, address: value as u32, word }
    }
}

/// Three times below 2 us as one value.
pub fn packed_times(times: [Time; 3]) -> u64 {
    times.iter().fold(0, |all, time| all << TIME_BITS | time.as_ps().min((1 << TIME_BITS) - 1))
}

const TIME_BITS: u32 = 21;

/// The same, the other way.
pub fn unpacked_times(value: u64) -> [Time; 3] {
    [2, 1, 0].map(|index| Time::ps(value >> (TIME_BITS * index) & ((1 << TIME_BITS) - 1)))
}
