//! The data sheet of a PCI-to-IDE bridge.

use hopscope_kernel::Time;

use super::HALVES;
use crate::parameters::{Parameters, SpecError};
use crate::protocols::pci::PHASE_BYTES;

/// When the dead time of a channel switch is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchAt {
    /// At every burst that follows one of the other channel.
    Burst,
    /// At every command that follows one of the other channel.
    Command,
}

/// When the bridge asks memory for more, on the way to the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// When the whole buffer is empty.
    WhenEmpty,
    /// As soon as one of its halves is free.
    WhenHalfIsFree,
}

/// The bridge's data sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Bytes of half the buffer: what one PCI burst moves.
    pub half_bytes: u32,
    /// When more is asked for, on the way to the drive.
    pub refill: Refill,
    /// From an empty buffer to PHOLD#, on the way to the drive.
    pub rerequest_delay: u64,
    /// From the end of a transaction to PHOLD# again.
    pub hold_again: u64,
    /// From data in an idle buffer to the first strobe on the cable.
    pub first_strobe: u64,
    /// From a descriptor to the work on its region.
    pub descriptor_delay: Time,
    /// Dead time when the buffer turns from one channel to the other.
    pub channel_switch: Time,
    /// When that time is lost.
    pub channel_switch_at: SwitchAt,
    /// Wait clocks of a register inside the bridge.
    pub register_first_data: u64,
    /// A register access not satisfied by then is retried: clocks from FRAME#.
    pub retry_after: u64,
    /// Strobe period on the way to the drive, by Ultra DMA mode, clocks.
    pub word_clocks: Vec<u64>,
    /// Cycle of a word at the data port, by PIO mode, clocks: sample point and recovery time.
    pub pio_clocks: Vec<u64>,
    /// The same of multiword DMA.
    pub multiword_clocks: Vec<u64>,
    /// Clocks before the first cycle of a sector at the data port.
    pub pio_start_up: u64,
    /// Base of the bus master registers.
    pub bus_master_base: u32,
}

impl Spec {
    /// Pulls the numbers.
    pub fn read(p: &mut Parameters) -> Result<Spec, SpecError> {
        let buffer_bytes = p.bytes("buffer")?;
        let phases = HALVES as u64 * u64::from(PHASE_BYTES);
        if !buffer_bytes.is_multiple_of(phases) || !(2 * phases..=4_096).contains(&buffer_bytes) {
            let help = format!("expected {} B to 4 KiB, in multiples of {phases} B", 2 * phases);
            return Err(p.error("buffer", "a buffer has two halves, each of whole data phases", help));
        }
        let base = p.text("bus_master_base")?;
        let parsed = base.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let Some(bus_master_base) = parsed.filter(|b| b % 16 == 0) else {
            return Err(p.error("bus_master_base", format!("`{base}` is no register base"), "write \"0x10A0\""));
        };
        let switch_at = p.text("channel_switch_at")?;
        let channel_switch_at = match switch_at.as_str() {
            "burst" => SwitchAt::Burst,
            "command" => SwitchAt::Command,
            _ => {
                let problem = format!("`{switch_at}` is no time for a channel switch");
                return Err(p.error("channel_switch_at", problem, "expected \"burst\" or \"command\""));
            }
        };
        let when = p.text("refill")?;
        let refill = match when.as_str() {
            "when empty" => Refill::WhenEmpty,
            "when a half is free" => Refill::WhenHalfIsFree,
            _ => {
                let problem = format!("`{when}` is no time for a refill");
                return Err(p.error("refill", problem, "expected \"when empty\" or \"when a half is free\""));
            }
        };
        let mut rows = |key, column| -> Result<Vec<u64>, SpecError> {
            p.rows(key)?.into_iter().map(|mut row| row.clocks(column)).collect()
        };
        let word_clocks = rows("ultra_dma.rows", "word")?;
        let (pio_clocks, multiword_clocks) = (rows("pio.rows", "cycle")?, rows("multiword_dma.rows", "cycle")?);
        Ok(Spec {
            half_bytes: buffer_bytes as u32 / HALVES as u32,
            refill,
            rerequest_delay: p.clocks("rerequest_delay")?,
            hold_again: p.clocks("hold_again")?,
            first_strobe: p.clocks("first_strobe")?,
            descriptor_delay: p.time("descriptor_delay")?,
            channel_switch: p.time("channel_switch")?,
            channel_switch_at,
            register_first_data: p.clocks("register_first_data")?,
            retry_after: p.clocks("retry_after")?,
            word_clocks,
            pio_clocks,
            multiword_clocks,
            pio_start_up: p.clocks("pio.start_up")?,
            bus_master_base,
        })
    }
}
