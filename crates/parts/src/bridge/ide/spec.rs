//! The data sheet of a PCI-to-IDE bridge.

use hopscope_declare::Spec;
use hopscope_kernel::Time;

use super::HALVES;
use crate::protocols::pci::PHASE_BYTES;

/// A data phase for each half of the buffer.
const PHASES: u64 = HALVES as u64 * PHASE_BYTES as u64;

/// When the dead time of a channel switch is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub enum SwitchAt {
    /// At every burst that follows one of the other channel.
    Burst,
    /// At every command that follows one of the other channel.
    Command,
}

/// When the bridge asks memory for more, on the way to the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub enum Refill {
    /// When the whole buffer is empty.
    WhenEmpty,
    /// As soon as one of its halves is free.
    #[word("when a half is free")]
    WhenHalfIsFree,
}

/// The bridge's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// The buffer between PCI and the cables, in two halves: one PCI burst moves half of it.
    #[bytes("buffer", 2 * PHASES..=4_096, multiple_of = PHASES)]
    pub buffer_bytes: u32,
    /// Half of it.
    #[given(buffer_bytes / HALVES as u32)]
    pub half_bytes: u32,
    /// When more is asked for, on the way to the drive.
    #[choice("refill")]
    pub refill: Refill,
    /// From an empty buffer to PHOLD#, on the way to the drive.
    #[clocks("rerequest_delay")]
    pub rerequest_delay: u64,
    /// From the end of a transaction to PHOLD# again.
    #[clocks("hold_again")]
    pub hold_again: u64,
    /// From data in an idle buffer to the first strobe on the cable.
    #[clocks("first_strobe")]
    pub first_strobe: u64,
    /// From a descriptor to the work on its region.
    #[time("descriptor_delay")]
    pub descriptor_delay: Time,
    /// Dead time when the buffer turns from one channel to the other.
    #[time("channel_switch")]
    pub channel_switch: Time,
    /// When the dead time of a channel switch is lost.
    #[choice("channel_switch_at")]
    pub channel_switch_at: SwitchAt,
    /// Wait clocks of a register inside the bridge.
    #[clocks("register_first_data")]
    pub register_first_data: u64,
    /// A register access not satisfied by then is retried: clocks from FRAME#, more than a drive's register takes.
    #[clocks("retry_after", 2..)]
    pub retry_after: u64,
    /// Ultra DMA modes on the way to the drive, from 0.
    #[rows("ultra_dma.rows")]
    pub ultra_dma: Vec<Strobe>,
    /// PIO modes, from 0.
    #[rows("pio.rows")]
    pub pio: Vec<Cycle>,
    /// Multiword DMA modes, from 0.
    #[rows("multiword_dma.rows")]
    pub multiword_dma: Vec<Cycle>,
    /// Clocks before the first cycle of a sector at the data port.
    #[clocks("pio.start_up")]
    pub pio_start_up: u64,
    /// Base of the bus master registers.
    #[text("bus_master_base", parse = base)]
    pub bus_master_base: u32,
}

/// How the bridge strobes in an Ultra DMA mode.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Strobe {
    /// From one strobe to the next.
    #[clocks("word")]
    pub word: u64,
}

/// How the bridge moves words at the data port in a mode.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Cycle {
    /// A word: sample point and recovery time.
    #[clocks("cycle")]
    pub cycle: u64,
}

fn base(written: &str) -> Result<u32, String> {
    let base = written.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
    base.filter(|base| base % 16 == 0).ok_or_else(|| "a multiple of 16, such as \"0x10A0\"".to_string())
}
