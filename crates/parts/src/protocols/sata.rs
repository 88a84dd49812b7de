//! Serial ATA: frames, their phases on a cable, and what the two ends tell each other. Serial ATA 3.x; ATA8-ACS for
//! FPDMA QUEUED commands (native command queueing).

use hopscope_kernel::{Errand, Label};

/// The other end, or another process of this one, sends a frame.
pub static CABLE_BUSY: Label = Label::reason("cable busy");
/// X_RDY until R_RDY: the receiver agrees to a frame.
pub static READY: Label = Label::protocol("X_RDY and R_RDY");
/// SOF, CRC and EOF, and the header of a Data FIS.
pub static FRAMING: Label = Label::protocol("SOF, CRC, EOF and FIS header");
/// Registers, DMA Setup, DMA Activate, Set Device Bits.
pub static FIS: Label = Label::protocol("FIS without data");
/// Bytes of the user in a Data FIS.
pub static DATA: Label = Label::payload("data");
/// Two ALIGN primitives every 256 double words.
pub static ALIGN: Label = Label::protocol("ALIGN");
/// WTRM until R_OK, then SYNC: the receiver has checked the CRC.
pub static ACKNOWLEDGE: Label = Label::protocol("WTRM and R_OK");
/// The receiver's FIFO is full, or the sender's is empty.
pub static HOLD: Label = Label::reason("HOLD");

/// A Data FIS carries at most so many bytes (Serial ATA 3.x, 10.5.11).
pub const DATA_FIS_BYTES: u32 = 8_192;
/// Bytes of a double word.
pub const DWORD_BYTES: u32 = 4;
/// SOF, CRC, EOF.
pub const FRAME_DWORDS: u64 = 3;
/// Header of a Data FIS, double words.
pub const DATA_HEADER_DWORDS: u64 = 1;
/// Of so many double words that are sent between ALIGN primitives…
pub const ALIGN_EVERY_DWORDS: u64 = 254;
/// …so many are ALIGN primitives (Serial ATA 3.x, 9.4.7).
pub const ALIGN_DWORDS: u64 = 2;
/// Bytes of a logical sector.
pub const SECTOR_BYTES: u32 = 512;
/// Tags of native command queueing.
pub const TAGS_MAX: u64 = 32;
/// READ and WRITE FPDMA QUEUED move at most 65,536 sectors (ATA8-ACS).
pub const COMMAND_BYTES_MAX: u32 = 65_536 * SECTOR_BYTES;

/// READ or WRITE FPDMA QUEUED, as a Register FIS brings it to the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// From memory to the drive.
    pub writes: bool,
    /// First byte on the drive.
    pub offset_bytes: u64,
    /// How many bytes.
    pub bytes: u32,
    /// Which of the commands under way it is.
    pub tag: u8,
    /// For whom.
    pub errand: Errand,
}

/// What a drive sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToHost {
    /// Register FIS, device to host: the drive is ready for the next command.
    Registers,
    /// DMA Setup FIS: data of that tag follow. Where they go to the drive, the first Data FIS may be sent at once
    /// (auto-activate).
    DmaSetup(u8),
    /// DMA Activate FIS: the drive takes the next Data FIS.
    DmaActivate,
    /// A part of a Data FIS.
    Data(u32),
    /// Set Device Bits FIS: that tag is done.
    DeviceBits(u8),
}

impl ToHost {
    /// Length of the FIS, double words (Serial ATA 3.x, 10.5).
    pub fn dwords(self) -> u64 {
        match self {
            ToHost::Registers => 5,
            ToHost::DmaSetup(_) => 7,
            ToHost::DmaActivate | ToHost::Data(_) => 1,
            ToHost::DeviceBits(_) => 2,
        }
    }
}

/// What is in a host's FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// A FIS, or a part of one.
    pub fis: ToHost,
    /// For whom.
    pub errand: Errand,
}

/// Length of a Register FIS to the drive, double words.
pub const COMMAND_DWORDS: u64 = 5;
