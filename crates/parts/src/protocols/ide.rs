//! IDE, the AT Attachment: registers, Ultra DMA phases, and the trait of a drive. ATA/ATAPI-4 (T13/1153D).

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
/// Bytes of a sector.
pub const SECTOR_BYTES: u32 = 512;

/// A drive, as its cable sees it.
pub trait IdeDrive {
    /// A register of the selected drive is written for a request; the command register starts a command.
    fn write(&self, register: Register, value: u8, errand: Errand);
    /// So many bytes of the drive's offer have crossed the cable.
    fn moved(&self, bytes: u32);
    /// Ultra DMA mode the drive was set to.
    fn ultra_dma_mode(&self) -> usize;
    /// Capacity in sectors.
    fn sectors(&self) -> u64;
}
