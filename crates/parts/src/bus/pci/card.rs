//! What a card says of itself on a PCI segment, and what the segment makes of all its cards.
//!
//! M66EN and PCIXCAP tell a segment what is in its slots: one conventional card makes a PCI-X segment conventional,
//! one slow card makes it slow. PCI 2.2, 7.2; PCI-X 1.0a, 6.2.
//!
//! Not modelled: pull-ups between 66 and 133 MHz PCI-X by the number of slots, hot plug.

use hopscope_declare::Spec;
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
/// What data phases move: 32 or 64 bits.
pub(super) const WIDTHS: [u64; 2] = [4, 8];

/// What a segment speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub enum Mode {
    /// Conventional PCI.
    #[word("PCI")]
    Pci,
    /// PCI-X 1.0.
    #[word("PCI-X")]
    PciX,
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
#[derive(Clone, Debug, PartialEq, Spec)]
#[spec(holds = CardSpec::fits)]
pub struct CardSpec {
    /// What the card speaks at best; a PCI-X card speaks conventional PCI too, up to 66 MHz.
    #[choice("mode")]
    pub mode: Mode,
    /// Its fastest clock.
    #[period("clock")]
    pub clock: Time,
    /// What a data phase moves.
    #[bytes("width", one_of = &WIDTHS)]
    pub width_bytes: u32,
    /// Clocks between the end of one of its transactions and its request for the next.
    #[clocks("gap", ..=CLOCKS_MAX)]
    pub gap: u64,
    /// Clocks after a retry or disconnect until the card asks again.
    #[clocks("retry_idle", ..=CLOCKS_MAX)]
    pub retry_idle: u64,
    /// A burst, at most.
    #[bytes("burst", 16..=BURST_BYTES_MAX.into(), multiple_of = PHASE_BYTES.into())]
    pub burst: u32,
    /// How the card reads memory on conventional PCI.
    #[choice("read",
        "memory read" => Command::MemoryRead,
        "memory read line" => Command::MemoryReadLine,
        "memory read multiple" => Command::MemoryReadMultiple,
    )]
    pub read: Command,
    /// PCI-X 1.0a, 7.2.3: maximum memory read byte count.
    #[bytes("read_request", 512..=BURST_BYTES_MAX.into(), power_of_two)]
    pub read_request: u32,
    /// PCI-X: split transactions under way, at most.
    #[count("splits", 1..=SPLITS_MAX)]
    pub splits: u64,
    /// Wait clocks of its registers.
    #[clocks("register", ..=CLOCKS_MAX)]
    pub register: u64,
}

impl CardSpec {
    fn fits(&self, p: &Parameters) -> Result<(), SpecError> {
        check_clock(p, "clock", self.clock, self.mode)
    }

    /// The clock and mode of a segment that so far has settled to `clock` and `mode`, with this card too.
    pub(crate) fn settle(&self, segment: &Segment, clock: Time, mode: Mode) -> Result<(Time, Mode), String> {
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
