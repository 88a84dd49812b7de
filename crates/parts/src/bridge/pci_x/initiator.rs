//! A bus master on a card: bursts to and from host memory, by the rules of the segment's mode. PCI 2.2, 3.3; PCI-X
//! 1.0a, 2.
//!
//! ```text
//!   write   [gap] address ▸ data ▸▸▸ (target has no room: stopped, or retried until it has) ▸ …
//!   read    PCI:    address ▸ retry ▸ idle ▸ address ▸ retry ▸ … ▸ address ▸ data ▸▸▸
//!           PCI-X:  address ▸ attribute ▸ split response   …   completion by the bridge ▸ data ▸▸▸
//! ```
//!
//! Not modelled: relaxed ordering, no snoop, dual address cycles, a write that becomes memory write and invalidate,
//! fast back-to-back.

mod stops;

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;

use hopscope_kernel::{Bell, Errand, Label, Lane, Sim, Time, Tokens};

use super::port::Port;
use super::posted::Ahead;
use super::slot::Slot;
use crate::bus::pci::PciBus;
use crate::bus::pci::card::{CardSpec, Mode};
use crate::bus::pci::tenure::{Ending, Tenure};
use crate::parameters::{Parameters, SpecError};
use crate::protocols::pci::{BURST_BYTES_MAX, Command, DELAYED, SPLIT_RESPONSE, WAIT_STATE, reach};
use stops::{Alike, Stops};

static GAP: Label = Label::protocol("idle between bursts of a card");
static RETRY_IDLE: Label = Label::protocol("idle before a retry");
static NO_SPLIT_FREE: Label = Label::reason("all split transactions outstanding");
static SPLIT_OUTSTANDING: Label = Label::reason("split transaction outstanding");

/// PCI 2.2, 3.5.1.2: the target's waits between data phases, clocks.
const WAIT_STATES_MAX: u64 = 8;

/// A read whose completions have not all come.
pub struct Reader {
    /// Bytes a data phase of its card moves.
    pub(crate) width_bytes: u32,
    left: Cell<u32>,
    done: Bell,
    splits: Tokens,
}

impl Reader {
    /// One of its requests has been completed.
    pub(crate) fn completed(&self, bytes: u32) {
        self.left.set(self.left.get().checked_sub(bytes).expect("no more is completed than was asked for"));
        self.splits.give();
        if self.left.get() == 0 {
            self.done.ring();
        }
    }
}

/// A bus master on a card; any number of its processes may call at once.
pub struct Initiator {
    sim: Sim,
    spec: CardSpec,
    slot: Slot,
    bus: Rc<PciBus>,
    port: Rc<Port>,
    /// Nobody occupies it, but its delays are the card's.
    lane: Lane,
    /// The card asks for the bus again then.
    not_before: Cell<Time>,
    /// Bursts of its that go by themselves.
    stops: Cell<Option<Stops>>,
    /// What the last of them had in common.
    known: Cell<Option<Alike>>,
    /// Split transactions that are free.
    splits: Tokens,
    readers: RefCell<Vec<Rc<Reader>>>,
}

impl Initiator {
    /// Pulls what a card says of its bus.
    pub fn read_spec(p: &mut Parameters) -> Result<CardSpec, SpecError> {
        p.within("pci", CardSpec::read)
    }

    /// Plugs a card into a slot, whose segment settles to it. An error concerns the card's `pci.clock`.
    pub fn new(sim: &Sim, name: &str, spec: CardSpec, slot: &Slot) -> Result<Rc<Initiator>, String> {
        let Some((port, _)) = slot.bridge() else {
            return Err("this slot's host bridge answers its own chips only; a card needs one with buffers".into());
        };
        slot.bus().plug(&spec)?;
        slot.occupy(sim, name, spec.register);
        let splits = Tokens::full(sim, spec.splits as usize);
        Ok(Rc::new(Initiator {
            sim: sim.clone(),
            slot: slot.clone(),
            bus: slot.bus().clone(),
            port: port.clone(),
            lane: sim.lane(&format!("{name}.pci"), None),
            not_before: Cell::new(Time::ZERO),
            stops: Cell::new(None),
            known: Cell::new(None),
            splits,
            readers: RefCell::new(Vec::new()),
            spec,
        }))
    }

    /// Its slot: registers and interrupts, for a driver.
    pub fn slot(&self) -> &Slot {
        &self.slot
    }

    /// The bridge above.
    pub(crate) fn port(&self) -> &Rc<Port> {
        &self.port
    }

    /// Asserts INTx, which tells of the end of a request; it arrives at the host's handler.
    pub fn interrupt(&self, errand: Errand) {
        self.slot.assert(self.sim.pass_on(errand));
    }

    /// Writes host memory for a request: bursts, disconnects, retries, until all is posted. Returns with the last data
    /// phase.
    pub async fn write(&self, address: u32, bytes: u32, carries: &'static Label, errand: Errand) {
        let mut done = 0;
        while done < bytes {
            let (at, left) = (address.wrapping_add(done), bytes - done);
            self.gap().await;
            // Where it is, and not by value: it is large.
            let stopped = pin!(self.stopped(at, left, carries, errand));
            let mut moved = stopped.await;
            if moved == 0 {
                let short = pin!(self.short(at, left, carries, errand));
                moved = short.await;
            }
            if moved == 0 {
                moved = self.write_burst(at, left, carries, errand).await;
            }
            done += moved;
        }
    }

    /// Reads host memory for a request: delayed transactions (PCI) or split transactions (PCI-X). Returns when the data
    /// are there.
    pub async fn read(&self, address: u32, bytes: u32, carries: &'static Label, errand: Errand) {
        if bytes == 0 {
            return;
        }
        match self.bus.mode() {
            Mode::PciX => self.read_split(address, bytes, carries, errand).await,
            Mode::Pci => self.read_delayed(address, bytes, carries, errand).await,
        }
    }

    /// The bus, as soon as the card asks for it again.
    async fn own(&self) -> Tenure<'_> {
        self.gap().await;
        self.bus.own(self.spec.width_bytes).await
    }

    /// Until the card asks for the bus again.
    async fn gap(&self) {
        let of_stops = |stops: Stops| stops.not_before(self.sim.now(), self.sim.would_have_had_its_turn(stops.process));
        let not_before = self.stops.get().and_then(of_stops).unwrap_or(self.not_before.get());
        if self.sim.now() < not_before {
            self.lane.delay_until(&GAP, not_before).await;
        }
    }

    /// The card lets go of the bus.
    fn ended(&self, tenure: Tenure<'_>, how: Ending) {
        self.not_before.set(tenure.end(how) + self.idle_behind(how));
    }

    /// How long the card does not ask behind a burst that ends like that.
    fn idle_behind(&self, how: Ending) -> Time {
        let clocks = match how {
            Ending::Done => self.spec.gap,
            Ending::Disconnect => self.spec.gap.max(self.spec.retry_idle),
        };
        self.bus.clocks_at(&self.lane, clocks)
    }

    async fn retried(&self, tenure: Tenure<'_>) {
        self.idle_from(tenure.retried()).await;
    }

    /// Until the card asks again, when the bus is idle from `idle` on. One wait for both.
    async fn idle_from(&self, idle: Time) {
        let again = idle + self.bus.clocks_at(&self.lane, self.spec.retry_idle);
        self.sim.wait_until(again).await;
        self.lane.delayed(&RETRY_IDLE, idle, again);
    }

    /// Bytes from `address` on that one transaction may move.
    fn burst(&self, address: u32, bytes: u32, most: u32) -> u32 {
        bytes.min(reach(address, most)).min(reach(address, BURST_BYTES_MAX))
    }

    /// One burst of a write, from now on; returns the bytes moved, none where it was retried.
    async fn write_burst(&self, address: u32, bytes: u32, carries: &'static Label, errand: Errand) -> u32 {
        let wanted = self.burst(address, bytes, self.spec.burst);
        let all = match self.bus.mode() {
            Mode::PciX => wanted,
            Mode::Pci => self.burst(address, wanted, self.port.boundary()),
        };
        let tenure = self.bus.own(self.spec.width_bytes).await;
        let (command, waits) = (Command::MemoryWrite, self.port.write_response());
        let mut ahead = self.post_ahead(&tenure, (address, all), (carries, errand));
        let (mut piece, each) = match &ahead {
            Some(ahead) => (ahead.bytes, ahead.each),
            None => {
                let piece = self.port.accepts(address, all, true);
                (piece, piece)
            }
        };
        if piece == 0 {
            tenure.open(command, (address, wanted), waits).await;
            self.retried(tenure).await;
            return 0;
        }
        if ahead.is_none() {
            // Somebody else may want the rest of the room meanwhile.
            self.port.reserve(piece);
        }
        let mut moved = tenure.open_with_data(command, (address, wanted), waits, (carries, piece, each)).await;
        let mut done = 0;
        loop {
            match ahead.take() {
                Some(ahead) => ahead.end(moved),
                None => {
                    self.port.release(piece - moved);
                    self.port.post(address.wrapping_add(done), moved, carries, errand);
                }
            }
            done += moved;
            if moved < piece || done == all {
                break;
            }
            piece = self.port.accepts(address.wrapping_add(done), all - done, false);
            if piece == 0 {
                self.ended(tenure, Ending::Disconnect);
                return done;
            }
            self.port.reserve(piece);
            moved = tenure.data(carries, address.wrapping_add(done), piece).await;
        }
        let stopped = done == all && all < wanted;
        self.ended(tenure, if stopped { Ending::Disconnect } else { Ending::Done });
        done
    }

    /// Posts ahead the pieces of a burst of so many bytes that begins now, if there are several that are alike.
    fn post_ahead(
        &self,
        tenure: &Tenure<'_>,
        (address, bytes): (u32, u32),
        posted: (&'static Label, Errand),
    ) -> Option<Ahead<'_>> {
        let each = self.port.gathers();
        let count = bytes / each;
        if count < 2 {
            return None;
        }
        let paces = tenure.paces(self.port.write_response(), address, each)?;
        self.port.post_ahead((address, bytes), (each, count), posted, paces)
    }

    async fn read_split(&self, address: u32, bytes: u32, carries: &'static Label, errand: Errand) {
        let reader = self.readers.borrow_mut().pop().unwrap_or_else(|| {
            let (left, done) = (Cell::new(0), Bell::new(&self.sim));
            Rc::new(Reader { width_bytes: self.spec.width_bytes, left, done, splits: self.splits.clone() })
        });
        reader.left.set(bytes);
        let mut asked = 0;
        while asked < bytes {
            let at = address.wrapping_add(asked);
            // PCI-X 1.0a, 2.1: a sequence may cross 4 KiB, a burst may not; this card cuts its requests there.
            let part = self.burst(at, bytes - asked, self.spec.read_request);
            self.splits.take(&NO_SPLIT_FREE).await;
            self.request(at, part, carries, (&reader, errand)).await;
            asked += part;
        }
        reader.done.heard(&SPLIT_OUTSTANDING).await;
        self.readers.borrow_mut().push(reader);
    }

    /// One read request, until it has been answered with a split response.
    async fn request(
        &self,
        address: u32,
        bytes: u32,
        carries: &'static Label,
        (reader, errand): (&Rc<Reader>, Errand),
    ) {
        loop {
            let tenure = self.own().await;
            tenure.open(self.spec.read, (address, bytes), self.port.read_response()).await;
            let Some(latch) = self.port.latch(address, bytes, carries, (bytes, errand)) else {
                self.retried(tenure).await;
                continue;
            };
            self.port.split(latch, reader);
            let idle = tenure.noted(&SPLIT_RESPONSE);
            self.sim.wait_until(idle).await;
            self.not_before.set(idle + self.bus.clocks_at(&self.lane, self.spec.gap));
            return;
        }
    }

    async fn read_delayed(&self, address: u32, bytes: u32, carries: &'static Label, errand: Errand) {
        let mut done = 0;
        while done < bytes {
            let at = address.wrapping_add(done);
            let part = self.burst(at, bytes - done, BURST_BYTES_MAX);
            self.delayed(at, part, carries, errand).await;
            done += part;
        }
    }

    /// One delayed transaction: latched, asked for again until its data are there, continued where it was stopped.
    async fn delayed(&self, address: u32, bytes: u32, carries: &'static Label, errand: Errand) {
        let port = &self.port;
        let prefetch = port.prefetch(self.spec.read);
        let latch = loop {
            let tenure = self.own().await;
            tenure.open(self.spec.read, (address, bytes), port.read_response()).await;
            match port.latch(address, bytes, carries, (prefetch, errand)) {
                None => self.retried(tenure).await,
                Some(latch) => {
                    self.idle_from(tenure.noted(&DELAYED)).await;
                    break latch;
                }
            }
        };
        let mut done = 0;
        while done < bytes {
            self.gap().await;
            let at = address.wrapping_add(done);
            let (left, waits) = ((at, bytes - done), port.read_response());
            if let Some(count) = self.answers(latch, left) {
                // Where it is, and not by value: it is large.
                let answered = pin!(self.answered(latch, left, count, carries));
                let moved = answered.await;
                if moved > 0 {
                    done += moved;
                    continue;
                }
            }
            let tenure = self.bus.own(self.spec.width_bytes).await;
            let wanted = self.burst(at, bytes - done, self.spec.burst);
            let all = self.burst(at, wanted, port.boundary());
            let moved = if port.ready(latch).is_some_and(|there| there >= all) {
                // All is there: what else comes meanwhile changes nothing.
                let moved = tenure.open_with_data(self.spec.read, left, waits, (carries, all, all)).await;
                port.gone(latch, moved);
                moved
            } else {
                tenure.open(self.spec.read, left, waits).await;
                if port.ready(latch).is_none() {
                    self.retried(tenure).await;
                    continue;
                }
                self.flow(&tenure, latch, at, all, carries).await
            };
            done += moved;
            let stopped = done < bytes && moved < wanted;
            self.ended(tenure, if stopped { Ending::Disconnect } else { Ending::Done });
        }
        port.unlatch(latch);
    }

    /// Data phases of a delayed read, as the data come; returns the bytes moved.
    async fn flow(&self, tenure: &Tenure<'_>, latch: usize, address: u32, all: u32, carries: &'static Label) -> u32 {
        let mut done = 0;
        loop {
            // Whole data phases, but for the last one.
            let there = || {
                let at = address.wrapping_add(done);
                self.bus.whole(at, self.port.available(latch).min(all - done), all - done)
            };
            for _ in 0..WAIT_STATES_MAX {
                if done == 0 || there() > 0 {
                    break;
                }
                tenure.spend(&WAIT_STATE, 1).await;
            }
            let bytes = there();
            if bytes == 0 {
                return done;
            }
            let moved = tenure.data(carries, address.wrapping_add(done), bytes).await;
            self.port.gone(latch, moved);
            done += moved;
            if moved < bytes || done == all {
                return done;
            }
        }
    }
}
