//! What a card says of itself on a PCI segment, and what the segment makes of all its cards.
//!
//! M66EN and PCIXCAP tell a segment what is in its slots: one conventional card makes a PCI-X segment conventional,
//! one slow card makes it slow. PCI 2.2, 7.2; PCI-X 1.0a, 6.2.
//!
//! Not modelled: pull-ups between 66 and 133 MHz PCI-X by the number of slots, hot plug.

use hopscope_kernel::Time;

use super::Spec as Segment;
use crate::parameters::{Parameters, SpecError};
use crate::protocols::pci::{BURST_BYTES_MAX, Command, PHASE_BYTES};

/// The shortest clock period of conventional PCI: 66 2/3 MHz, with the rounding of a period to picoseconds.
const CONVENTIONAL_PERIOD_MIN: Time = Time::ps(15_000);
/// The shortest of PCI-X 1.0: 133 1/3 MHz.
const PCI_X_PERIOD_MIN: Time = Time::ps(7_500);
/// The longest that is of interest: 1 MHz.
const PERIOD_MAX: Time = Time::us(1);
/// Two clocks are one where they differ by less than a part in so many: 33 is 33.5 MHz.
const SAME_CLOCK: u64 = 50;
/// PCI-X 1.0a, 7.2.3: outstanding split transactions.
const SPLITS_MAX: u64 = 32;

/// What a segment speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Conventional PCI.
    Pci,
    /// PCI-X 1.0.
    PciX,
}

impl Mode {
    /// Pulls a choice.
    pub fn read(p: &mut Parameters, key: &str) -> Result<Mode, SpecError> {
        match p.text(key)?.as_str() {
            "PCI" => Ok(Mode::Pci),
            "PCI-X" => Ok(Mode::PciX),
            other => Err(p.error(key, format!("`{other}` is no mode of a segment"), "expected \"PCI\" or \"PCI-X\"")),
        }
    }
}

/// Whether a segment's clock is what its file says, or that of the slowest card.
pub(super) fn fixed(p: &mut Parameters) -> Result<bool, SpecError> {
    match p.text("speed")?.as_str() {
        "fixed" => Ok(true),
        "slowest card" => Ok(false),
        other => {
            let help = "expected \"fixed\" or \"slowest card\"";
            Err(p.error("speed", format!("`{other}` does not say who sets the clock"), help))
        }
    }
}

pub(super) fn check_width(p: &Parameters, key: &str, bytes: u32) -> Result<(), SpecError> {
    match bytes {
        4 | 8 => Ok(()),
        _ => Err(p.error(key, "a data phase moves 4 or 8 bytes", "write \"4 B\" or \"8 B\"")),
    }
}

pub(super) fn check_clock(p: &Parameters, key: &str, period: Time, mode: Mode) -> Result<(), SpecError> {
    let (shortest, name, fastest) = match mode {
        Mode::Pci => (CONVENTIONAL_PERIOD_MIN, "conventional PCI", "66.666667 MHz"),
        Mode::PciX => (PCI_X_PERIOD_MIN, "PCI-X 1.0", "133.333333 MHz"),
    };
    // A clock is rounded to picoseconds, and boards run a little beside their nominal clock.
    if period + Time::ps(period.as_ps() / SAME_CLOCK) < shortest || period > PERIOD_MAX {
        return Err(p.error(key, format!("{name} has no such clock"), format!("expected 1 MHz to {fastest}")));
    }
    Ok(())
}

/// The part of a card's data sheet that concerns its bus.
#[derive(Clone, Debug, PartialEq)]
pub struct CardSpec {
    /// What it speaks at best; a PCI-X card speaks conventional PCI too, up to 66 MHz.
    pub mode: Mode,
    /// Its shortest clock period.
    pub clock: Time,
    /// Bytes a data phase moves.
    pub width_bytes: u32,
    /// Clocks between the end of one of its transactions and its request for the next.
    pub gap: u64,
    /// Clocks after a retry or disconnect until it asks again.
    pub retry_idle: u64,
    /// Bytes of a burst, at most.
    pub burst: u32,
    /// How it reads memory on conventional PCI.
    pub read: Command,
    /// PCI-X: bytes of a read request, at most.
    pub read_request: u32,
    /// PCI-X: split transactions under way, at most.
    pub splits: u64,
    /// Wait clocks of its registers.
    pub register: u64,
}

impl CardSpec {
    /// Pulls the numbers, all of which begin with `pci`.
    pub fn read(p: &mut Parameters) -> Result<CardSpec, SpecError> {
        let read = match p.text("pci.read")?.as_str() {
            "memory read" => Command::MemoryRead,
            "memory read line" => Command::MemoryReadLine,
            "memory read multiple" => Command::MemoryReadMultiple,
            other => {
                let problem = format!("`{other}` does not read memory");
                let help = "expected \"memory read\", \"memory read line\" or \"memory read multiple\"";
                return Err(p.error("pci.read", problem, help));
            }
        };
        let read_request = p.bytes("pci.read_request")?;
        if !read_request.is_power_of_two() || !(512..=u64::from(BURST_BYTES_MAX)).contains(&read_request) {
            let problem = "a maximum memory read byte count is not like that";
            return Err(p.error("pci.read_request", problem, "expected 512 B to 4 KiB, a power of two"));
        }
        let burst = p.bytes("pci.burst")?;
        if !burst.is_multiple_of(PHASE_BYTES.into()) || !(16..=u64::from(BURST_BYTES_MAX)).contains(&burst) {
            let help = format!("expected 16 B to 4 KiB, in data phases of {PHASE_BYTES} bytes");
            return Err(p.error("pci.burst", "a burst is not like that", help));
        }
        let spec = CardSpec {
            mode: Mode::read(p, "pci.mode")?,
            clock: p.period("pci.clock")?,
            width_bytes: p.bytes("pci.width")? as u32,
            gap: p.clocks("pci.gap")?,
            retry_idle: p.clocks("pci.retry_idle")?,
            burst: burst as u32,
            read,
            // PCI-X 1.0a, 7.2.3: maximum memory read byte count.
            read_request: read_request as u32,
            splits: p.count("pci.splits")?,
            register: p.clocks("pci.register")?,
        };
        check_width(p, "pci.width", spec.width_bytes)?;
        check_clock(p, "pci.clock", spec.clock, spec.mode)?;
        if !(1..=SPLITS_MAX).contains(&spec.splits) {
            let help = "expected 1 to 32 transactions";
            return Err(p.error("pci.splits", "no function has as many split transactions under way", help));
        }
        let waits = [("pci.gap", spec.gap), ("pci.retry_idle", spec.retry_idle), ("pci.register", spec.register)];
        for (key, clocks) in waits {
            if clocks > CLOCKS_MAX {
                return Err(p.error(key, "no card waits that long", format!("expected {CLOCKS_MAX} clocks at most")));
            }
        }
        Ok(spec)
    }

    /// The clock and mode of a segment that so far has settled to `clock` and `mode`, with this card too.
    pub(super) fn settle(&self, segment: &Segment, clock: Time, mode: Mode) -> Result<(Time, Mode), String> {
        let settled = if self.mode == Mode::Pci { Mode::Pci } else { mode };
        // A PCI-X card works as a conventional one too, at the 66 MHz of that.
        let shortest = if settled == Mode::Pci { self.clock.max(CONVENTIONAL_PERIOD_MIN) } else { self.clock };
        let slower = |a: Time, b: Time| a > b + Time::ps(b.as_ps() / SAME_CLOCK);
        if !segment.fixed {
            return Ok((if slower(shortest, clock) { shortest } else { clock }, settled));
        }
        let mhz = |period: Time| (1e6 / period.as_ps() as f64).round();
        if slower(shortest, clock) {
            return Err(format!("a {} MHz card clocked at {} MHz", mhz(shortest), mhz(clock)));
        }
        if settled != mode {
            return Err("a conventional PCI card on a segment that is set to PCI-X".to_string());
        }
        Ok((clock, mode))
    }
}

/// Clocks of one delay of a card or bridge, at most: PCI 2.2, 5.4.4.2.1 discards a delayed transaction after as many.
pub const CLOCKS_MAX: u64 = 1 << 15;
