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
        self.resumed(grant, self.sim.now(), width_bytes)
    }

    /// A burst of so many bytes from a multiple of them, all of which move: address, attribute, response, data and how it
    /// ends.
    pub fn whole_burst(
        &self,
        width_bytes: u32,
        waits: u64,
        (carries, bytes): (&'static Label, u32),
        ending: Ending,
    ) -> [super::Phase; 5] {
        let [address, attribute, response] = self.before_data(waits);
        let data = self.clocks(u64::from(bytes.div_ceil(width_bytes.min(self.spec.width_bytes))));
        let carries = self.of_width(carries, width_bytes);
        [(&ADDRESS, address), (&ATTRIBUTE, attribute), (&RESPONSE, response), (carries, data), self.ends(ending)]
    }

    /// Whether nobody can end a burst before its last data, so long after its beginning.
    pub fn is_sure(&self, until: Time) -> bool {
        until <= self.clocks(self.spec.latency_timer)
    }

    /// A transaction that has begun then, in the hands of whoever has the bus.
    pub fn resumed<'a>(&'a self, grant: Grant<'a>, begun: Time, width_bytes: u32) -> Tenure<'a> {
        let timer = begun + self.clocks(self.spec.latency_timer);
        Tenure { bus: self, grant, timer, width_bytes: width_bytes.min(self.spec.width_bytes) }
    }

    /// How long address, attribute and response take.
    fn before_data(&self, waits: u64) -> [Time; 3] {
        let one = self.clocks(1);
        let attribute = if self.mode.get() == Mode::PciX { one } else { Time::ZERO };
        [one, attribute, self.clocks(waits)]
    }

    /// When the data of a transaction begin that has begun then.
    fn data_begin(&self, begun: Time, waits: u64) -> Time {
        self.before_data(waits).iter().fold(begun, |at, span| at + *span)
    }

    /// What follows the last data.
    pub fn ends(&self, how: Ending) -> super::Phase {
        match how {
            Ending::Done => (&TURNAROUND, self.turnaround()),
            Ending::Disconnect => (&DISCONNECT, self.clocks(self.spec.disconnect)),
        }
    }

    /// From the last data until the bus is idle, where nobody stops the burst.
    fn turnaround(&self) -> Time {
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

    /// The same with the data that follow, of which `first` bytes are there, or come as pieces of so many; returns how many
    /// were moved.
    pub async fn open_with_data(
        &self,
        command: Command,
        wanted: (u32, u32),
        waits: u64,
        (carries, first, piece): (&'static Label, u32, u32),
    ) -> u32 {
        let [address, attribute, response] = self.opening(command, wanted, waits);
        let data = self.phases(wanted.0, first);
        if self.bus.sim.now() + address.1 + attribute.1 + response.1 + data <= self.timer {
            // Nobody gets the bus before the latency timer is over: one wait for all.
            let carries = self.bus.of_width(carries, self.width_bytes);
            self.grant.hold_plan([address, attribute, response, (carries, data)]).await;
            return first;
        }
        self.grant.hold_plan([address, attribute, response]).await;
        self.pieces(carries, wanted.0, first, piece).await
    }

    /// When the first of several pieces of so many bytes has moved, one behind the other from `address` on, if they are
    /// opened now, and how far they are apart. Nothing where others wait already.
    pub fn paces(&self, waits: u64, address: u32, bytes: u32) -> Option<(Time, Time)> {
        let pitch = self.phases(address, bytes);
        let begin = self.bus.data_begin(self.bus.sim.now(), waits);
        let whole = address.is_multiple_of(self.unit()) && bytes.is_multiple_of(self.unit());
        (whole && !self.bus.lane.is_asked_for()).then_some((begin + pitch, pitch))
    }

    /// The phases before the data, which begin now.
    fn opening(&self, command: Command, (address, bytes): (u32, u32), waits: u64) -> [super::Phase; 3] {
        self.bus.lane.carried(command.label(), packed(address, bytes, self.width_bytes));
        let [address, attribute, response] = self.bus.before_data(waits);
        [(&ADDRESS, address), (&ATTRIBUTE, attribute), (&RESPONSE, response)]
    }

    /// Time of the data phases for `bytes` from `address` on.
    fn phases(&self, address: u32, bytes: u32) -> Time {
        let width = self.width_bytes;
        self.bus.clocks(u64::from((address % width + bytes).div_ceil(width)))
    }

    /// A burst ends before others after a multiple of so many bytes.
    fn unit(&self) -> u32 {
        match self.bus.mode.get() {
            Mode::Pci => self.width_bytes,
            Mode::PciX => DISCONNECT_BOUNDARY_BYTES,
        }
    }

    /// How data that begin then, in pieces of so many bytes, make way for others.
    fn makes_way(&self, begin: Time, piece: u32) -> Yielding {
        let unit = self.unit();
        Yielding {
            unit: self.bus.clocks(u64::from(unit / self.width_bytes)),
            after: self.timer.saturating_sub(begin),
            to_priority: u8::MAX,
            piece: u64::from(piece / unit),
        }
    }

    /// A phase of so many clocks.
    pub async fn spend(&self, phase: &'static Label, clocks: u64) {
        self.grant.hold(phase, self.bus.clocks(clocks)).await;
    }

    /// Data phases for `bytes` from `address` on, fewer where the latency timer ends and another asks for the bus;
    /// returns how many bytes were moved.
    pub async fn data(&self, carries: &'static Label, address: u32, bytes: u32) -> u32 {
        self.pieces(carries, address, bytes, bytes).await
    }

    /// The same for pieces of so many bytes, one behind the other, as if each were moved by itself.
    async fn pieces(&self, carries: &'static Label, address: u32, bytes: u32, piece: u32) -> u32 {
        let bus = self.bus;
        let carries = bus.of_width(carries, self.width_bytes);
        let all = self.phases(address, bytes);
        if bus.sim.now() + all <= self.timer {
            self.grant.hold(carries, all).await;
            return bytes;
        }
        let unit = self.unit();
        let head = ((unit - address % unit) % unit).min(bytes);
        if head > 0 {
            self.grant.hold(carries, self.phases(address, head)).await;
        }
        let units = (bytes - head) / unit;
        let mut moved = head;
        if units > 0 {
            let rule = self.makes_way(bus.sim.now(), piece);
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

    /// The data of a burst that is under way since `begun`, with `waits` clocks before them, as [`Tenure::open_with_data`]
    /// goes on with it, when nobody wants to know of phases; returns how many bytes were moved.
    pub async fn go_on(&self, begun: Time, waits: u64, address: u32, bytes: u32) -> u32 {
        let (sim, bus) = (&self.bus.sim, self.bus);
        let begin = bus.data_begin(begun, waits);
        let end = begin + self.phases(address, bytes);
        let is_sure = end <= self.timer;
        sim.wait_until(if is_sure { end } else { begin }).await;
        if is_sure {
            return bytes;
        }
        let unit = self.unit();
        self.grant.go_on_yielding(begin, u64::from(bytes / unit), self.makes_way(begin, bytes)).await as u32 * unit
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
        let idle = self.bus.ends(Ending::Done);
        self.grant.leave([(how, self.bus.clocks(1)), idle])
    }

    /// After the last data; the bus is free once it has turned around, and whoever had it need not wait for that.
    /// Returns when it is idle.
    pub fn end(self, how: Ending) -> Time {
        let ends = self.bus.ends(how);
        self.grant.leave([ends])
    }
}
