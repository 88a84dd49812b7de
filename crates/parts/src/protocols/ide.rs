//! IDE, the AT Attachment: registers, transfer modes, phases on the cable, and the trait of a drive. ATA/ATAPI-4
//! (T13/1153D).

use hopscope_kernel::{Errand, Label};

/// A register access by programmed I/O.
pub static PIO: Label = Label::protocol("register access");
/// Ultra DMA burst initiation: DMARQ, DMACK#, STOP, first strobe.
pub static BURST_START: Label = Label::protocol("burst start");
/// Words from the drive, one a strobe edge.
pub static WORDS_IN: Label = Label::payload("data words");
/// Words to the drive, which the host strobes at a pace of its own.
pub static WORDS_OUT: Label = Label::payload("data words");
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
