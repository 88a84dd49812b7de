//! The numbers of an NVM Express drive.

use hopscope_kernel::Time;

use crate::bus::pcie::PortSpec;
use crate::flash::{self, read_ahead};
use crate::parameters::{Parameters, SpecError};
use crate::protocols::nvme::COMMAND_BYTES;
use crate::protocols::pcie::PAGE_BYTES;

/// The drive's data sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Its end of the link.
    pub port: PortSpec,
    /// Its flash.
    pub flash: flash::Spec,
    /// What it reads ahead.
    pub read_ahead: read_ahead::Spec,
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// Most bytes that a command moves (MDTS).
    pub transfer_max: u32,
    /// Commands that one read of the submission queue fetches, at most.
    pub fetch_commands: u32,
    /// Commands that are carried at once.
    pub commands: usize,
    /// Engines that commands take turns at.
    pub engines: usize,
    /// How long a read has its engine.
    pub read: Time,
    /// The same for a write.
    pub write: Time,
    /// What a read takes besides: nobody waits for it but its command.
    pub read_latency: Time,
    /// The same for a write.
    pub write_latency: Time,
    /// Pieces of long commands that are carried at once.
    pub transfers: usize,
    /// Pages that are on their way to the host at once.
    pub dma: usize,
    /// Completions that an interrupt waits for…
    pub threshold: u32,
    /// …but not longer than this.
    pub aggregation_time: Time,
}

impl Spec {
    /// Pulls the numbers.
    pub fn read(p: &mut Parameters) -> Result<Spec, SpecError> {
        let block_bytes = p.bytes("block")?;
        if !block_bytes.is_power_of_two() || !(512..=u64::from(PAGE_BYTES)).contains(&block_bytes) {
            return Err(p.error("block", "no logical block is that long", "expected 512 B to 4 KiB, a power of two"));
        }
        let transfer_max = p.bytes("transfer_max")?;
        // 5.21: MDTS is a power of two of pages.
        if !transfer_max.is_power_of_two() || !(u64::from(PAGE_BYTES)..=2 << 20).contains(&transfer_max) {
            let help = "expected 4 KiB to 2 MiB, a power of two";
            return Err(p.error("transfer_max", "no command of this model moves that much", help));
        }
        let counts = [
            ("fetch.commands", u64::from(PAGE_BYTES / COMMAND_BYTES)),
            ("controller.commands", 4_096),
            ("controller.engines", 64),
            ("controller.transfers", 4_096),
            ("controller.dma", 256),
            // 5.21.1.8: eight bits.
            ("interrupt.threshold", 256),
        ];
        let mut read = [0; 6];
        for (value, (key, most)) in read.iter_mut().zip(counts) {
            *value = p.count(key)?;
            if !(1..=most).contains(value) {
                return Err(p.error(key, format!("{value} is out of range"), format!("expected 1 to {most}")));
            }
        }
        let [fetch_commands, commands, engines, transfers, dma, threshold] = read;
        Ok(Spec {
            port: PortSpec::read(p)?,
            flash: flash::Spec::read(p)?,
            read_ahead: read_ahead::Spec::read(p)?,
            block_bytes: block_bytes as u32,
            transfer_max: transfer_max as u32,
            fetch_commands: fetch_commands as u32,
            commands: commands as usize,
            engines: engines as usize,
            read: p.time("controller.read")?,
            write: p.time("controller.write")?,
            read_latency: p.time("controller.read_latency")?,
            write_latency: p.time("controller.write_latency")?,
            transfers: transfers as usize,
            dma: dma as usize,
            threshold: threshold as u32,
            aggregation_time: p.time("interrupt.time")?,
        })
    }
}
