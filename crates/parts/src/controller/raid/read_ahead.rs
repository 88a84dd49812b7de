//! Filling the cache: what is to be read from the drives, in order, and processes that have it read.
//!
//! A context orders what it misses, and what reads that follow one another will ask for. Lines come one by one, from
//! several drives at once.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{Errand, Label, Queue, Sim};

use super::cache::mask;
use super::layout::SECTOR_BYTES;
use super::spec::{Order, ReadsAhead, Spec};
use super::{Client, Raid};

static NOTHING_TO_READ: Label = Label::reason("nothing to read from the drives");

/// Sectors of a line to be read.
struct Missing {
    number: u64,
    first: u64,
    count: u64,
    errand: Errand,
}

/// What is known of streams, and what is ordered.
pub(super) struct ReadAhead {
    when: ReadsAhead,
    /// Where the last streams ended, the oldest first. After any command where only the last one counts.
    ends: RefCell<Vec<u64>>,
    streams: usize,
    /// What contexts wait for.
    missed: Queue<Missing>,
    /// What nobody has asked for yet.
    ahead: Queue<Missing>,
}

impl ReadAhead {
    pub(super) fn new(sim: &Sim, spec: &Spec) -> ReadAhead {
        let streams = if spec.reads_ahead == ReadsAhead::InStreams { spec.streams } else { 1 };
        let ends = RefCell::new(Vec::with_capacity(streams + 1));
        let (missed, ahead) = (Queue::new(sim, usize::MAX), Queue::new(sim, usize::MAX));
        ReadAhead { when: spec.reads_ahead, ends, streams, missed, ahead }
    }

    /// A read has come: whether it goes on where one ended before.
    pub(super) fn goes_on(&self, at_bytes: u64, bytes: u64) -> bool {
        if self.when == ReadsAhead::Never {
            return false;
        }
        let mut ends = self.ends.borrow_mut();
        let known = ends.iter().position(|end| *end == at_bytes);
        if let Some(index) = known {
            ends.remove(index);
        } else if ends.len() == self.streams {
            ends.remove(0);
        }
        ends.push(at_bytes + bytes);
        known.is_some()
    }

    /// A write has come: the command before the next one was not a read.
    pub(super) fn interrupted(&self) {
        if self.when == ReadsAhead::AfterCommand {
            self.ends.borrow_mut().clear();
        }
    }

    /// Has sectors of a line read, for a request that is passed on.
    pub(super) fn miss(&self, number: u64, first: u64, count: u64, errand: Errand) {
        self.missed.put_now(Missing { number, first, count, errand });
    }
}

/// Starts as many processes as can be of use for either kind of order: two a drive, and where the firmware sorts what
/// waits for a drive, enough that all of it waits there.
pub(super) fn start(raid: &Rc<Raid>) {
    let two_a_drive = 2 * raid.spec.drives;
    let missed = if raid.spec.order == Order::Elevator { raid.spec.commands as usize } else { two_a_drive };
    for (kind, orders, count) in [("missed", &raid.ahead.missed, missed), ("ahead", &raid.ahead.ahead, two_a_drive)] {
        for index in 0..count {
            let (running, orders, client) = (raid.clone(), orders.clone(), Rc::new(Client::new(&raid.sim)));
            let name = format!("{}.{kind}{index:03}", raid.name);
            raid.sim.process(&name, async move { running.run_filler(&orders, &client).await });
        }
    }
}

impl Raid {
    async fn run_filler(&self, orders: &Queue<Missing>, client: &Rc<Client>) {
        loop {
            let Missing { number, first, count, errand } = orders.take(&NOTHING_TO_READ).await;
            client.take_up(errand);
            let at = number * self.spec.line_bytes + first * SECTOR_BYTES;
            self.read_array(client, at, count * SECTOR_BYTES).await;
            {
                let mut cache = self.cache.borrow_mut();
                if let Some(at) = cache.find(number) {
                    cache.filled(at, mask(first, count));
                }
            }
            self.changed();
        }
    }

    /// Orders the lines from `next` on that are not there, as far as the firmware looks ahead.
    pub(super) fn read_ahead(&self, next: u64) {
        let sectors = self.spec.line_bytes / SECTOR_BYTES;
        // Not beyond the device that was read.
        let lines = self.array().layout.device_bytes() / self.spec.line_bytes;
        let end = (next + self.spec.ahead_lines).min(next.div_ceil(lines) * lines);
        let mut cache = self.cache.borrow_mut();
        for number in next..end {
            if cache.find(number).is_some() {
                continue;
            }
            // Nothing is written to the drives for the sake of what nobody has asked for yet.
            let Some(at) = cache.take_in(number) else { return };
            cache.fill(at, mask(0, sectors));
            let order = Missing { number, first: 0, count: sectors, errand: Errand::NOBODY };
            self.ahead.ahead.put_now(order);
        }
    }
}
