//! What flash is built from: the numbers of its dies, its channels and its buffer.

use hopscope_declare::Spec;
use hopscope_kernel::Time;

use super::{UNIT_BYTES, single_bit};
use crate::parameters::{Parameters, SpecError};

/// Blocks that each die keeps erased, for what is written and for what is copied.
pub(super) const RESERVE: u64 = 3;
/// Blocks that are open: one for what is written, one for what is copied.
pub(super) const OPEN: u64 = 2;
/// Dies, or groups of their planes, at most: records name 65,535 lanes.
const LANES_MAX: u64 = 4_096;
/// Blocks of all dies, at most: each takes some 20 bytes.
const BLOCKS_MAX: u64 = 1 << 20;
/// What the buffer holds, at most.
const BUFFER_MAX: u64 = 4 << 30;

/// How the drive was written before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Spec)]
pub enum State {
    /// Once, from the first unit to the last; what is over-provisioned is erased.
    Fresh,
    /// At random, for so long that garbage collection is in equilibrium.
    Steady,
}

/// The numbers of the flash in a drive.
#[derive(Clone, Debug, PartialEq, Spec)]
#[spec(holds = Spec::fits)]
pub struct Spec {
    /// What the host may address, bytes.
    #[bytes("capacity", 1 << 20..=1 << 50, multiple_of = UNIT_BYTES.into())]
    pub capacity_bytes: u64,
    /// Flash beyond the capacity that garbage collection may use, as a share of the capacity.
    #[share("flash.over_provisioning", 10_000..=10_000_000)]
    pub over_provisioning: u64,
    /// How the drive was written before the run.
    #[choice("flash.state")]
    pub state: State,
    /// Channels.
    #[count("flash.channels", 1..=64)]
    pub channels: u64,
    /// Dies a channel.
    #[count("flash.dies", 1..=256)]
    pub dies: u64,
    /// Planes a die.
    #[count("flash.planes", 1..=16)]
    pub planes: u64,
    /// Groups of planes of a die that read at times of their own; 1 where a die reads one thing at a time.
    #[count("flash.independent_planes", 1..=planes)]
    pub independent_planes: u64,
    /// Bytes of a page of one plane.
    #[bytes("flash.page", 4_096..=65_536, multiple_of = UNIT_BYTES.into())]
    pub page_bytes: u32,
    /// Pages of each plane that one program writes: 3 where the three pages of a word line are programmed at once.
    #[count("flash.pages_per_program", 1..=16)]
    pub pages_per_program: u64,
    /// Pages of a block of one plane.
    #[count("flash.pages_per_block", 1..=65_536, multiple_of = pages_per_program)]
    pub pages_per_block: u64,
    /// tR: a page from the array to the page register.
    #[time("flash.read", Time::ps(1)..)]
    pub read: Time,
    /// tPROG: one program.
    #[time("flash.program", Time::ps(1)..)]
    pub program: Time,
    /// tBERS: one erase.
    #[time("flash.erase", Time::ps(1)..)]
    pub erase: Time,
    /// A program or erase stops so long after somebody asks for the die.
    #[time("flash.suspend.latency", Time::ps(1)..)]
    pub suspend_latency: Time,
    /// A program or erase that was stopped goes on for at least so long before it stops again.
    #[time("flash.suspend.progress")]
    pub suspend_progress: Time,
    /// Bytes per second of a channel.
    #[rate("flash.channel_rate", 1_000_000..=1_000_000_000_000)]
    pub channel_rate: u64,
    /// Command, address and status cycles of one page on the channel.
    #[time("flash.command")]
    pub command: Time,
    /// ECC decode of what was read.
    #[time("flash.decode")]
    pub decode: Time,
    /// Bytes that the write buffer holds: one program of a die at least.
    #[bytes("flash.buffer", ..=BUFFER_MAX)]
    pub buffer_bytes: u64,
    /// Cells that take one bit before they take more.
    #[nested("flash.single_bit")]
    pub single_bit: single_bit::Spec,
}

impl Spec {
    fn fits(&self, p: &Parameters) -> Result<(), SpecError> {
        let wrong = |key: &str, problem: &str, help: String| Err(p.error(key, problem, help));
        if !self.planes.is_multiple_of(self.independent_planes) {
            return wrong("flash.independent_planes", "the groups differ", format!("a divisor of {}", self.planes));
        }
        if self.channels * self.dies * self.independent_planes > LANES_MAX {
            return wrong("flash.dies", "too many dies", format!("at most {LANES_MAX} that read independently"));
        }
        if self.spare_of_block() < 2 * self.stripe_units() {
            let help = "raise it, or make blocks of more pages".into();
            return wrong("flash.over_provisioning", "a collected block would gain less than two programs", help);
        }
        if self.blocks().saturating_mul(self.lanes() as u64) > BLOCKS_MAX {
            let help = "expected larger blocks".into();
            return wrong("flash.pages_per_block", "more than a million blocks", help);
        }
        let stripe = self.stripe_units() * u64::from(UNIT_BYTES);
        if self.buffer_bytes < stripe {
            let help = format!("from {stripe} bytes, one program of a die, to 4 GiB");
            return wrong("flash.buffer", "the buffer hands over whole programs", help);
        }
        Ok(())
    }

    /// What a block has gained on average when it is collected, units: less would never end.
    fn spare_of_block(&self) -> u64 {
        let share = u128::from(self.over_provisioning);
        (u128::from(self.block_units()) * share / (1_000_000 + share)) as u64
    }

    /// Dies, or groups of planes that read independently.
    pub(super) fn lanes(&self) -> usize {
        (self.channels * self.dies * self.independent_planes) as usize
    }

    /// Pages of a multi-plane page.
    pub(super) fn planes_at_once(&self) -> u64 {
        self.planes / self.independent_planes
    }

    /// Units of a multi-plane page: what one array read can fetch.
    pub(super) fn page_units(&self) -> u64 {
        u64::from(self.page_bytes / UNIT_BYTES) * self.planes_at_once()
    }

    /// Units of a stripe: what one program writes.
    pub(super) fn stripe_units(&self) -> u64 {
        self.page_units() * self.pages_per_program
    }

    /// Units of a multi-plane block: what one erase frees.
    pub(super) fn block_units(&self) -> u64 {
        self.page_units() * self.pages_per_block
    }

    /// Units of the host on one die.
    pub(super) fn host_units(&self) -> u64 {
        (self.capacity_bytes / u64::from(UNIT_BYTES)).div_ceil(self.lanes() as u64)
    }

    /// Blocks of one die that hold data, the over-provisioned ones among them.
    pub(super) fn data_blocks(&self) -> u64 {
        let units = u128::from(self.host_units()) * u128::from(1_000_000 + self.over_provisioning) / 1_000_000;
        units.div_ceil(u128::from(self.block_units())).max(2) as u64
    }

    /// All blocks of one die.
    pub(super) fn blocks(&self) -> u64 {
        self.data_blocks() + RESERVE + OPEN
    }

    /// Stripes that the buffer holds.
    pub(super) fn buffer_stripes(&self) -> usize {
        (self.buffer_bytes / (self.stripe_units() * u64::from(UNIT_BYTES))) as usize
    }

    /// Time that so many bytes take on a channel, rounded down to a picosecond; at most 16 MiB.
    pub(super) fn transfer(&self, bytes: u64) -> Time {
        Time::ps(bytes * 1_000_000_000_000 / self.channel_rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Value;

    fn parameters() -> Parameters {
        let time = |ns| Value::Time(Time::ns(ns));
        let values = [
            ("capacity", Value::Bytes(1 << 30)),
            ("flash.over_provisioning", Value::Share(70_000)),
            ("flash.state", Value::Text("fresh".into())),
            ("flash.channels", Value::Count(4)),
            ("flash.dies", Value::Count(2)),
            ("flash.planes", Value::Count(4)),
            ("flash.independent_planes", Value::Count(2)),
            ("flash.page", Value::Bytes(16_384)),
            ("flash.pages_per_block", Value::Count(384)),
            ("flash.pages_per_program", Value::Count(3)),
            ("flash.read", time(50_000)),
            ("flash.program", time(1_500_000)),
            ("flash.erase", time(5_000_000)),
            ("flash.suspend.latency", time(20_000)),
            ("flash.suspend.progress", time(200_000)),
            ("flash.channel_rate", Value::Rate(1_200_000_000)),
            ("flash.command", time(300)),
            ("flash.decode", time(4_000)),
            ("flash.buffer", Value::Bytes(8 << 20)),
            ("flash.single_bit.fixed", Value::Bytes(0)),
            ("flash.single_bit.dynamic", Value::Bytes(0)),
        ];
        Parameters::of(values)
    }

    #[test]
    fn sizes_follow_from_the_numbers() {
        let spec = Spec::read(&mut parameters()).expect("a drive");
        // Two groups of two planes on each of eight dies.
        assert_eq!((spec.lanes(), spec.page_units(), spec.stripe_units(), spec.block_units()), (16, 8, 24, 3_072));
        // 16,384 units of the host a group, and 7 % more, are six blocks; three in reserve, two open.
        assert_eq!((spec.host_units(), spec.data_blocks(), spec.blocks()), (16_384, 6, 11));
        assert_eq!((spec.buffer_stripes(), spec.transfer(12_000)), (85, Time::us(10)));
    }

    #[test]
    fn a_number_that_no_flash_can_have_is_an_error_at_its_key() {
        let wrong = [
            ("capacity", Value::Bytes((1 << 30) + 1)),
            ("flash.over_provisioning", Value::Share(0)),
            ("flash.state", Value::Text("worn".into())),
            ("flash.channels", Value::Count(0)),
            ("flash.dies", Value::Count(257)),
            ("flash.planes", Value::Count(0)),
            ("flash.independent_planes", Value::Count(3)),
            ("flash.page", Value::Bytes(6_000)),
            ("flash.pages_per_block", Value::Count(385)),
            ("flash.pages_per_program", Value::Count(0)),
            ("flash.read", Value::Time(Time::ZERO)),
            ("flash.program", Value::Time(Time::ZERO)),
            ("flash.erase", Value::Time(Time::ZERO)),
            ("flash.suspend.latency", Value::Time(Time::ZERO)),
            ("flash.channel_rate", Value::Rate(0)),
            ("flash.buffer", Value::Bytes(90_000)),
        ];
        for (key, value) in wrong {
            let mut p = parameters();
            std::sync::Arc::make_mut(&mut p.entries).get_mut(key).expect("a key").value = value;
            assert_eq!(Spec::read(&mut p).map_err(|error| error.key), Err(key.to_string()));
        }
        // Seven percent of a block must be more than two programs.
        let mut p = parameters();
        std::sync::Arc::make_mut(&mut p.entries).get_mut("flash.pages_per_block").expect("a key").value =
            Value::Count(30);
        assert_eq!(Spec::read(&mut p).map_err(|error| error.key), Err("flash.over_provisioning".to_string()));
    }
}
