//! A PCI bus segment: one clock, one transaction at a time. PCI Local Bus Specification 2.1, PCI-X Addendum 1.0a.
//!
//! ```text
//!   FRAME#  ‾\______/‾‾‾‾     address 1, wait (DEVSEL#, first data), data, [disconnect 2], turnaround 1
//!   AD      --A--D-D-D---
//!
//!   PCI-X   --A-a-R-D-D-D     address 1, attribute 1, target response, data, turnaround
//! ```
//!
//! Arbitration is hidden: GNT# moves during a transaction, and the next one starts after its turnaround clock.
//! A segment runs at the clock and in the mode of the slowest card in its slots (`card`), unless its clock is fixed.
//! Chips that a host bridge answers at once ask by `transact`; bus masters on cards and in bridges hold their
//! transactions by a `tenure`.
//!
//! Not modelled: fast back-to-back, LOCK#, parity errors, configuration cycles, parking beyond "an idle bus is
//! granted at once", addresses of more than 32 bits (no dual address cycles).

pub mod card;
pub mod tenure;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::{Rc, Weak};

use hopscope_declare::Spec;
use hopscope_kernel::{Errand, Grant, Label, Lane, Sim, Time, Yielding};

use self::card::{CardSpec, Mode};
use crate::parameters::{Parameters, SpecError};
use crate::protocols::pci::{
    ADDRESS, ARBITRATION, Answer, Command, DATA, DATA_OF_32_BITS, DISCONNECT, MASTER_ABORT, PORT_DWORD, PORT_WORD,
    PciTarget, RETRY, Ready, SPECIAL, TURNAROUND, Transaction, WRITTEN, packed, reach,
};

/// A phase and how long it takes; no time where it is not there.
pub type Phase = (&'static Label, Time);

/// No phase.
const NOTHING: Phase = (&TURNAROUND, Time::ZERO);

/// The segment's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
#[spec(holds = Spec::fits)]
pub struct Spec {
    /// Its clock, the fastest where cards may ask for slower ones.
    #[period("clock")]
    pub clock: Time,
    /// What the segment speaks where all its cards do.
    #[choice("mode")]
    pub mode: Mode,
    /// Who sets the clock: it stays whatever is plugged in, or is that of the slowest card.
    #[choice("speed", "fixed" => true, "slowest card" => false)]
    pub fixed: bool,
    /// What a data phase moves at most.
    #[bytes("width", one_of = &card::WIDTHS)]
    pub width_bytes: u32,
    /// Idle clocks after a transaction.
    #[clocks("turnaround")]
    pub turnaround: u64,
    /// Clocks of a target's disconnect with STOP#.
    #[clocks("disconnect")]
    pub disconnect: u64,
    /// Clocks from FRAME# after which nobody has claimed a transaction.
    #[clocks("master_abort")]
    pub master_abort: u64,
    /// Clocks from FRAME# for which an initiator may keep the bus though others want it; one for all cards.
    #[clocks("latency_timer")]
    pub latency_timer: u64,
    /// Connectors.
    #[count("slots", 1..=32)]
    pub slots: u64,
}

impl Spec {
    fn fits(&self, p: &Parameters) -> Result<(), SpecError> {
        if self.fixed { Ok(()) } else { card::check_clock(p, "clock", self.clock, self.mode) }
    }
}

/// A segment.
pub struct PciBus {
    sim: Sim,
    spec: Spec,
    lane: Lane,
    /// What the cards have settled to.
    clock: Cell<Time>,
    mode: Cell<Mode>,
    /// Whoever answers; they know the bus, so that the bus must not own them.
    targets: RefCell<Vec<Weak<dyn PciTarget>>>,
}

/// How a transaction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    /// Address, wait, and data or what comes instead of it.
    pub to_data: [Phase; 3],
    /// Disconnect or turnaround.
    pub after: Phase,
    /// Bytes moved.
    pub bytes: u32,
    /// Whether the target asked to come again.
    pub retry: bool,
}

impl Course {
    /// All phases as one plan, for a train's bursts.
    pub fn whole(&self) -> [Phase; 4] {
        let [address, wait, data] = self.to_data;
        [address, wait, data, self.after]
    }

    /// From FRAME# to the last data.
    pub fn data_after(&self) -> Time {
        self.to_data.iter().fold(Time::ZERO, |sum, phase| sum + phase.1)
    }

    /// From the last data to the end.
    pub fn rest(&self) -> Time {
        self.after.1
    }
}

impl PciBus {
    /// A segment named `name`.
    pub fn new(sim: &Sim, name: &str, spec: Spec) -> Rc<PciBus> {
        let lane = sim.lane(name, Some(spec.clock));
        let (clock, mode) = (Cell::new(spec.clock), Cell::new(spec.mode));
        let bus = PciBus { sim: sim.clone(), spec, lane, clock, mode, targets: RefCell::new(Vec::new()) };
        bus.says_its_rates();
        Rc::new(bus)
    }

    /// Plugs a card in, which may slow the segment down.
    pub fn plug(&self, card: &CardSpec) -> Result<(), String> {
        let (clock, mode) = card.settle(&self.spec, self.clock.get(), self.mode.get())?;
        self.clock.set(clock);
        self.mode.set(mode);
        self.lane.set_clock(clock);
        self.says_its_rates();
        Ok(())
    }

    fn says_its_rates(&self) {
        let phases = [(&DATA, self.spec.width_bytes), (&DATA_OF_32_BITS, 4), (&PORT_DWORD, 4), (&PORT_WORD, 2)];
        for (phase, bytes) in phases {
            self.lane.carries(phase, u64::from(bytes), self.clock.get());
        }
    }

    /// What data phases of an initiator of that width are.
    fn of_width(&self, carries: &'static Label, width_bytes: u32) -> &'static Label {
        if *carries == DATA && width_bytes < self.spec.width_bytes { &DATA_OF_32_BITS } else { carries }
    }

    /// What the segment speaks, as its cards have settled.
    pub fn mode(&self) -> Mode {
        self.mode.get()
    }

    /// The clock that its cards have settled to.
    pub fn clock(&self) -> Time {
        self.clock.get()
    }

    /// Puts a target on the bus.
    pub fn attach(&self, target: Weak<dyn PciTarget>) {
        self.targets.borrow_mut().push(target);
    }

    /// The lane.
    pub fn lane(&self) -> &Lane {
        &self.lane
    }

    /// Bytes that a data phase moves.
    pub fn width_bytes(&self) -> u32 {
        self.spec.width_bytes
    }

    /// A number of clocks.
    #[inline]
    pub fn clocks(&self, count: u64) -> Time {
        self.clocks_at(&self.lane, count)
    }

    /// The same for a delay that is owed to `whose` part: clocks of the bus, at the pace of that one.
    #[inline]
    pub fn clocks_at(&self, whose: &Lane, count: u64) -> Time {
        whose.paced(self.clock.get()) * count
    }

    /// How `transaction` goes when its FRAME# is asserted at `now`.
    pub fn course(&self, transaction: &Transaction, now: Time) -> Course {
        self.course_of(transaction, self.answer(transaction, now))
    }

    fn answer(&self, transaction: &Transaction, now: Time) -> Option<Answer> {
        self.targets.borrow().iter().find_map(|target| target.upgrade()?.answer(transaction, now))
    }

    /// The same of one that begins now, and whether those like it, one behind the other, all go like it.
    pub fn course_of_each(&self, transaction: &Transaction) -> (Course, bool) {
        let answer = self.answer(transaction, self.sim.now());
        (self.course_of(transaction, answer), are_alike(transaction, answer))
    }

    /// How it goes when it is answered so.
    pub fn course_of(&self, transaction: &Transaction, answer: Option<Answer>) -> Course {
        let address = (&ADDRESS, self.clocks(1));
        let turnaround = (&TURNAROUND, self.clocks(self.spec.turnaround));
        let claimed = match (transaction.command, answer) {
            // PCI 2.1, 3.7.2: a special cycle is claimed by nobody and ends like a master abort.
            (Command::SpecialCycle, _) => Err(&SPECIAL),
            (_, None) => Err(&MASTER_ABORT),
            (_, Some(answer)) => Ok(answer),
        };
        let Answer { ready, wait, boundary_bytes } = match claimed {
            Ok(answer) => answer,
            Err(label) => {
                let waiting = (label, self.clocks(self.spec.master_abort));
                return Course { to_data: [address, waiting, NOTHING], after: turnaround, bytes: 0, retry: false };
            }
        };
        let waits = match ready {
            Ready::After(clocks) => clocks,
            Ready::Retry(after) => {
                let (waiting, stop) = ((wait, self.clocks(after.saturating_sub(2))), (&RETRY, self.clocks(1)));
                return Course { to_data: [address, waiting, stop], after: NOTHING, bytes: 0, retry: true };
            }
        };
        let to_boundary = match boundary_bytes {
            0 => u32::MAX,
            boundary => reach(transaction.address, boundary),
        };
        let bytes = transaction.bytes.min(to_boundary);
        let data = (transaction.carries, self.clocks(u64::from(bytes.div_ceil(self.spec.width_bytes))));
        let to_data = [address, (wait, self.clocks(waits)), data];
        let stopped = bytes < transaction.bytes;
        let after = if stopped { (&DISCONNECT, self.clocks(self.spec.disconnect)) } else { turnaround };
        Course { to_data, after, bytes, retry: false }
    }

    /// Whether transactions like this one, one behind the other, all go like it: none of them is stopped, or each is
    /// where the others are.
    pub fn alike(&self, transaction: &Transaction) -> bool {
        are_alike(transaction, self.answer(transaction, self.sim.now()))
    }

    /// Whether `transaction` ends before its initiator's latency timer runs out.
    pub fn within_latency_timer(&self, transaction: &Transaction) -> bool {
        self.course(transaction, self.sim.now()).data_after() <= self.clocks(self.spec.latency_timer)
    }

    /// Gets the bus and moves data until the initiator or the target ends it. Returns with the last data phase;
    /// the bus is released when the rest has ended too.
    pub async fn transact(&self, transaction: &Transaction) -> Ongoing<'_> {
        let grant = self.lane.acquire(&ARBITRATION).await;
        self.transact_granted(grant, transaction).await
    }

    /// A whole transaction, whose data of a write have `moved` with the last data phase; when the bus is idle if the target
    /// asked to come again, nothing where it is over. What nobody can end the bus ends by itself.
    pub async fn cycle(&self, transaction: &Transaction, moved: impl FnOnce()) -> Option<Time> {
        let grant = self.lane.acquire(&ARBITRATION).await;
        let begun = self.sim.now();
        let course = self.course(transaction, begun);
        let reads = transaction.command.reads();
        let in_time = course.data_after() <= self.clocks(self.spec.latency_timer);
        if !course.retry && !(in_time && (reads || !self.lane.is_drawn())) {
            let ongoing = pin!(self.go(grant, transaction, course)).await;
            if !reads {
                moved();
            }
            ongoing.end().await;
            return None;
        }
        self.begins(transaction);
        let end = grant.leave(course.whole());
        if course.retry {
            return Some(end);
        }
        if !reads {
            self.sim.wait_until(begun + course.data_after()).await;
            moved();
        }
        if self.sim.now() < end {
            self.sim.wait_until(end).await;
        }
        None
    }

    /// The same for an initiator that has the bus already.
    pub async fn transact_granted<'a>(&'a self, grant: Grant<'a>, transaction: &Transaction) -> Ongoing<'a> {
        let course = self.course(transaction, self.sim.now());
        self.go(grant, transaction, course).await
    }

    /// Says what begins, to those who draw it.
    fn begins(&self, transaction: &Transaction) {
        let Transaction { command, address, bytes, .. } = *transaction;
        self.lane.carried(command.label(), packed(address, bytes, self.spec.width_bytes));
    }

    async fn go<'a>(&'a self, grant: Grant<'a>, transaction: &Transaction, mut course: Course) -> Ongoing<'a> {
        self.begins(transaction);
        let [address, wait, (carries, data)] = course.to_data;
        let timer = self.clocks(self.spec.latency_timer);
        if course.retry || address.1 + wait.1 + data <= timer {
            grant.hold_plan(course.to_data).await;
            return Ongoing { grant, course };
        }
        // PCI 2.1, 3.4.4.1: past the latency timer, an initiator without GNT# finishes its data phase and leaves.
        grant.hold_plan([address, wait]).await;
        let after = timer.saturating_sub(address.1 + wait.1);
        let rule = Yielding { unit: self.clocks(1), after, to_priority: u8::MAX, piece: u64::MAX };
        let phases = grant.hold_yielding(carries, data / self.clocks(1), rule).await;
        course.bytes = course.bytes.min(phases as u32 * self.spec.width_bytes);
        Ongoing { grant, course }
    }

    /// The data of an I/O write arrive at their target, for a request that is passed on.
    pub fn deliver(&self, address: u32, value: u32, errand: Errand) {
        self.lane.carried(&WRITTEN, u64::from(value));
        let errand = self.sim.pass_on(errand);
        for target in self.targets.borrow().iter().filter_map(Weak::upgrade) {
            target.io_write(address, value, errand);
        }
    }
}

/// Whether transactions like this one, which is answered so, all go like it.
fn are_alike(transaction: &Transaction, answer: Option<Answer>) -> bool {
    let Some(Answer { boundary_bytes: boundary, .. }) = answer else { return true };
    let (address, bytes) = (transaction.address, transaction.bytes);
    !boundary.is_power_of_two()
        || bytes.is_multiple_of(boundary)
        || (boundary.is_multiple_of(bytes) && address.is_multiple_of(bytes))
}

/// A transaction after its last data phase.
pub struct Ongoing<'a> {
    grant: Grant<'a>,
    course: Course,
}

impl Ongoing<'_> {
    /// Bytes moved.
    pub fn bytes(&self) -> u32 {
        self.course.bytes
    }

    /// Whether the target asked to come again.
    pub fn retry(&self) -> bool {
        self.course.retry
    }

    /// The phases after the data; then the bus is free.
    pub async fn end(self) {
        let (phase, span) = self.course.after;
        if span > Time::ZERO {
            self.grant.hold(phase, span).await;
        }
    }
}
