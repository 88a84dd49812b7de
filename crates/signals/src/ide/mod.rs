//! A cable of the AT Attachment, edge by edge. ATA/ATAPI-4 (T13/1153D), clause 9 and 10.
//!
//! ```text
//!   DMARQ            __/‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾\________
//!   DMACK-           ‾‾‾‾‾\________________________________/‾‾‾
//!   DIOW- (STOP)     ‾‾‾‾‾‾‾‾\___________________/‾‾‾‾‾‾‾‾‾‾‾‾‾
//!   DIOR- (HDMARDY-) ‾‾‾‾‾‾‾‾\______________/‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾     from the drive
//!   IORDY (DSTROBE)  ‾‾‾‾‾‾‾‾‾‾‾‾\___/‾‾‾\___/‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾‾
//!   DD               -----------| 0 | 1 | 2 | 3 |----| CRC |---
//! ```
//!
//! - `cable`: from what a simulated cable says to changes of its wires. `crc`: what ends an Ultra DMA burst.
//! - `decode`: from edges to register accesses and bursts. `pins`: finds cables among the signals of a capture.
//! - `summary`: what they add up to. `together`: a cable and a PCI bus in one capture, cause and effect between them.
//! - `over_time`: the same in steps of time. `json`: all of it for programs; `timeline`: for Perfetto.
//!
//! Not drawn: DASP-, PDIAG-, IOCS16-, CSEL; how wide a strobe of a register access or of multiword DMA is (half of its
//! cycle); IORDY as the wait of an access.

pub mod cable;
pub mod crc;
pub mod decode;
pub mod json;
pub mod over_time;
pub mod pins;
pub mod summary;
#[cfg(test)]
mod tests;
pub mod timeline;
pub mod together;

/// A register by its name, of the command block or of the control block. ATA/ATAPI-4, 7.2.
pub fn register(control: bool, da: u8, writes: bool) -> &'static str {
    match (control, da, writes) {
        (false, 0, _) => "data",
        (false, 1, true) => "features",
        (false, 1, false) => "error",
        (false, 2, _) => "sector count",
        (false, 3, _) => "sector number",
        (false, 4, _) => "cylinder low",
        (false, 5, _) => "cylinder high",
        (false, 6, _) => "device/head",
        (false, 7, true) => "command",
        (false, 7, false) => "status",
        (true, 6, true) => "device control",
        (true, 6, false) => "alternate status",
        (true, ..) => "other of the control block",
        (false, ..) => "none",
    }
}

/// Which way words go.
pub fn direction(reads: bool) -> &'static str {
    if reads { "from the drive" } else { "to the drive" }
}

/// How data crossed a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Accesses of the data register.
    Programmed,
    /// Multiword DMA.
    Multiword,
    /// Ultra DMA.
    Ultra,
}

impl Protocol {
    /// In the words of the field.
    pub fn word(self) -> &'static str {
        match self {
            Protocol::Programmed => "programmed I/O",
            Protocol::Multiword => "multiword DMA",
            Protocol::Ultra => "Ultra DMA",
        }
    }
}

/// A register access, as the wires show it. Times are picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// When DIOR- or DIOW- was asserted.
    pub start_ps: u64,
    /// When it was negated.
    pub end_ps: u64,
    /// CS1-: the control block.
    pub control: bool,
    /// DA[2:0].
    pub da: u8,
    /// DIOW-.
    pub writes: bool,
    /// DD[7:0] when it was negated; nothing where it was not driven.
    pub value: Option<u8>,
}

/// Words without anything else between: a burst of DMA, or accesses of the data register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Burst {
    /// DMARQ, or the first strobe of a word.
    pub start_ps: u64,
    /// DMACK- negated, or the end of the last word's strobe.
    pub end_ps: u64,
    /// How.
    pub protocol: Protocol,
    /// Whether from the drive.
    pub reads: bool,
    /// Words.
    pub words: u64,
    /// The first strobe and the last one; both are `start_ps` where there was none.
    pub strobes_ps: (u64, u64),
    /// The least time between two strobes; none with fewer than two.
    pub word_ps: Option<u64>,
    /// From a strobe to the next one, where that is longer than the pace allows.
    /// The first ones are listed.
    pub pauses: Vec<(u64, u64)>,
    /// All of them: how many, and how long together.
    pub paused: (u64, u64),
    /// The CRC of the words as the wires had them, and what the host sent; Ultra DMA alone.
    pub crc: Option<(u16, Option<u16>)>,
    /// Whether the capture ends in it.
    pub cut: bool,
}
