//! The bus in the hands of one bus master or bridge: phases of one transaction, in the mode of the segment.
//!
//! ```text
//!   PCI    address 1, wait clocks, data ▸▸▸ (ends with its data phase when the latency timer is over and another asks)
//!   PCI-X  address 1, attribute 1, target response, data ▸▸▸ (ends at a multiple of 128 bytes, likewise)
//! ```
//!
//! PCI 2.1, 3.4.4.1; PCI-X 1.0a, 2.2, 2.8 and 4.4.

use hopscope_kernel::{Grant, Label, Time, Yielding};

use super::PciBus;
use super::card::Mode;
use crate::protocols::pci::{
    ADDRESS, ARBITRATION, ATTRIBUTE, Command, DISCONNECT, DISCONNECT_BOUNDARY_BYTES, RESPONSE, RETRY, TURNAROUND,
    packed,
};

/// How a transaction ends after its last data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The initiator is done, or leaves.
    Done,
    /// The target stops it with STOP#.
    Disconnect,
}

/// A transaction under way.
pub struct Tenure<'a> {
    bus: &'a PciBus,
    grant: Grant<'a>,
    /// Until then the initiator may stay though others ask.
    timer: Time,
    width_bytes: u32,
}

impl PciBus {
    /// Gets the bus for an initiator of so many bytes a data phase.
    pub async fn own(&self, width_bytes: u32) -> Tenure<'_> {
        let grant = self.lane.acquire(&ARBITRATION).await;
        let timer = self.sim.now() + self.clocks(self.spec.latency_timer);
        Tenure { bus: self, grant, timer, width_bytes: width_bytes.min(self.spec.width_bytes) }
    }

    /// A conventional burst that its target stops with its last data, after so many bytes from a multiple of them: address,
    /// response, data and the stop. Nothing where others may end it before.
    pub fn stopped_burst(
        &self,
        width_bytes: u32,
        waits: u64,
        (carries, bytes): (&'static Label, u32),
    ) -> Option<[super::Phase; 4]> {
        let data = u64::from(bytes.div_ceil(width_bytes.min(self.spec.width_bytes)));
        let within = 1 + waits + data <= self.spec.latency_timer;
        let phases = [(&ADDRESS, 1), (&RESPONSE, waits), (carries, data), (&DISCONNECT, self.spec.disconnect)];
        within.then(|| phases.map(|(label, clocks)| (label, self.clocks(clocks))))
    }

    /// From the last data until the bus is idle, where nobody stops the burst.
    pub fn turnaround(&self) -> Time {
        self.clocks(self.spec.turnaround)
    }

    /// The multiple of bytes that a burst can end at.
    pub fn boundary_bytes(&self) -> u32 {
        match self.mode.get() {
            Mode::Pci => self.spec.width_bytes,
            Mode::PciX => DISCONNECT_BOUNDARY_BYTES,
        }
    }

    /// `bytes` from `address` on, cut so that a burst which does not reach `all` of them ends where it may.
    pub fn whole(&self, address: u32, bytes: u32, all: u32) -> u32 {
        if bytes >= all {
            return all;
        }
        let boundary = self.boundary_bytes();
        let end = u64::from(address) + u64::from(bytes);
        let cut = end - end % u64::from(boundary);
        cut.saturating_sub(u64::from(address)) as u32
    }
}

impl Tenure<'_> {
    /// Address phase to target response, with `waits` clocks before the first data. The address phase says `command`,
    /// address and how many bytes are wanted.
    pub async fn open(&self, command: Command, wanted: (u32, u32), waits: u64) {
        let [address, attribute, response] = self.opening(command, wanted, waits);
        self.grant.hold_plan([address, attribute, response]).await;
    }

    /// The same with the data that follow, of which `first` bytes are sure to move; returns how many were moved.
    pub async fn open_with_data(
        &self,
        command: Command,
        wanted: (u32, u32),
        waits: u64,
        (carries, first): (&'static Label, u32),
    ) -> u32 {
        let [address, attribute, response] = self.opening(command, wanted, waits);
        let data = self.phases(wanted.0, first);
        if self.bus.sim.now() + address.1 + attribute.1 + response.1 + data <= self.timer {
            // Nobody gets the bus before the latency timer is over: one wait for all.
            self.grant.hold_plan([address, attribute, response, (carries, data)]).await;
            return first;
        }
        self.grant.hold_plan([address, attribute, response]).await;
        self.data(carries, wanted.0, first).await
    }

    /// When the first of `count` pieces of so many bytes has moved, one behind the other from `address` on, if they are
    /// opened now, and how far they are apart. Nothing where pieces by themselves would make way for others at another
    /// instant, or others wait already.
    pub fn paces(&self, waits: u64, address: u32, (bytes, count): (u32, u32)) -> Option<(Time, Time)> {
        let pitch = self.phases(address, bytes);
        let begin = self.before_data(waits).iter().fold(self.bus.sim.now(), |at, span| at + *span);
        // Who begins a piece as the latency timer ends moves one data phase of it.
        let timer = self.timer.saturating_sub(begin).as_ps();
        let ends_between =
            timer.is_multiple_of(pitch.as_ps()) && (1..u64::from(count)).contains(&(timer / pitch.as_ps()));
        let whole = address.is_multiple_of(self.width_bytes) && bytes.is_multiple_of(self.bus.boundary_bytes());
        (whole && !ends_between && !self.bus.lane.is_asked_for()).then_some((begin + pitch, pitch))
    }

    /// The phases before the data, which begin now.
    fn opening(&self, command: Command, (address, bytes): (u32, u32), waits: u64) -> [super::Phase; 3] {
        self.bus.lane.carried(command.label(), packed(address, bytes, self.width_bytes));
        let [address, attribute, response] = self.before_data(waits);
        [(&ADDRESS, address), (&ATTRIBUTE, attribute), (&RESPONSE, response)]
    }

    /// How long address, attribute and response take.
    fn before_data(&self, waits: u64) -> [Time; 3] {
        let one = self.bus.clocks(1);
        let attribute = if self.bus.mode.get() == Mode::PciX { one } else { Time::ZERO };
        [one, attribute, self.bus.clocks(waits)]
    }

    /// Time of the data phases for `bytes` from `address` on.
    fn phases(&self, address: u32, bytes: u32) -> Time {
        let width = self.width_bytes;
        self.bus.clocks(u64::from((address % width + bytes).div_ceil(width)))
    }

    /// A phase of so many clocks.
    pub async fn spend(&self, phase: &'static Label, clocks: u64) {
        self.grant.hold(phase, self.bus.clocks(clocks)).await;
    }

    /// Data phases for `bytes` from `address` on, fewer where the latency timer ends and another asks for the bus;
    /// returns how many bytes were moved.
    pub async fn data(&self, carries: &'static Label, address: u32, bytes: u32) -> u32 {
        let (bus, width) = (self.bus, self.width_bytes);
        let all = self.phases(address, bytes);
        if bus.sim.now() + all <= self.timer {
            self.grant.hold(carries, all).await;
            return bytes;
        }
        let unit = match bus.mode.get() {
            Mode::Pci => width,
            Mode::PciX => DISCONNECT_BOUNDARY_BYTES,
        };
        let head = ((unit - address % unit) % unit).min(bytes);
        if head > 0 {
            self.grant.hold(carries, self.phases(address, head)).await;
        }
        let units = (bytes - head) / unit;
        let mut moved = head;
        if units > 0 {
            let after = self.timer.saturating_sub(bus.sim.now());
            let rule = Yielding { unit: bus.clocks(u64::from(unit / width)), after, to_priority: u8::MAX };
            let done = self.grant.hold_yielding(carries, u64::from(units), rule).await;
            moved += done as u32 * unit;
            if done < u64::from(units) {
                return moved;
            }
        }
        if moved < bytes {
            self.grant.hold(carries, self.phases(address.wrapping_add(moved), bytes - moved)).await;
        }
        bytes
    }

    /// The target asks to come again: STOP# instead of data. Returns when the bus is idle.
    pub fn retried(self) -> Time {
        self.stopped(&RETRY)
    }

    /// The target has taken note of a read, and will come with the data or have them when asked again. Returns when the
    /// bus is idle.
    pub fn noted(self, how: &'static Label) -> Time {
        self.stopped(how)
    }

    /// Nobody need wait for what ends a transaction without data.
    fn stopped(self, how: &'static Label) -> Time {
        let turnaround = self.turnaround();
        self.grant.leave([(how, self.bus.clocks(1)), turnaround])
    }

    /// After the last data; the bus is free once it has turned around, and whoever had it need not wait for that.
    /// Returns when it is idle.
    pub fn end(self, how: Ending) -> Time {
        let turnaround = self.turnaround();
        match how {
            Ending::Done => self.grant.leave([turnaround]),
            Ending::Disconnect => self.grant.leave([(&DISCONNECT, self.bus.clocks(self.bus.spec.disconnect))]),
        }
    }

    fn turnaround(&self) -> super::Phase {
        (&TURNAROUND, self.bus.turnaround())
    }
}
