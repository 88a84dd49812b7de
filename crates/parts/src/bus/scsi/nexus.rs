//! What an initiator keeps of a drive and of each of its tags: a nexus of initiator, target and tag (SCSI-2, 6.5).

use std::cell::{Cell, OnceCell};
use std::rc::{Rc, Weak};

use hopscope_kernel::{HandedOver, Label, Queue, Sim, Time};

use crate::protocols::scsi::{DATA_IN, DATA_OUT, TAGS_MAX, Target};

/// Pieces of data: the first of them is in the FIFO (a read), or is to come into it (a write), and of a read the others
/// come so far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pieces {
    /// Bytes of each.
    pub(crate) bytes: u32,
    pub(crate) count: u32,
    pub(crate) pitch: Time,
}

impl Pieces {
    /// One by itself.
    pub(crate) fn one(bytes: u32) -> Pieces {
        Pieces { bytes, count: 1, pitch: Time::ZERO }
    }
}

/// What comes to the process that carries a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToHost {
    /// Data of the command.
    Data(Pieces),
    /// Status and COMMAND COMPLETE will have passed by then.
    EndsAt(Time),
}

/// One command of one drive.
pub(crate) struct Nexus {
    pub(crate) to_host: Queue<ToHost>,
    /// The command is a write.
    pub(crate) writes: Cell<bool>,
    /// Bytes of a write that are in the FIFO.
    pub(crate) filled: Cell<u32>,
    /// Whoever carries the command takes several pieces of a read at once.
    pub(crate) takes_several: Cell<bool>,
    /// So many of several have come, and the others are told of one by one.
    pub(crate) one_by_one: Queue<u32>,
    /// The bus, which the drive has kept after the command, since then.
    pub(crate) kept: Cell<Option<(HandedOver, Time)>>,
}

impl Nexus {
    fn new(sim: &Sim) -> Nexus {
        Nexus {
            to_host: Queue::new(sim, usize::MAX),
            writes: Cell::new(false),
            filled: Cell::new(0),
            takes_several: Cell::new(false),
            one_by_one: Queue::new(sim, 1),
            kept: Cell::new(None),
        }
    }
}

/// What a drive, its bus and its adapter have settled.
struct Settled {
    /// Time of a transfer.
    period: Time,
    nexuses: Vec<Nexus>,
    /// Free tags.
    tags: Queue<u16>,
}

/// A drive, as its bus knows it.
pub(crate) struct Drive {
    pub(crate) name: String,
    id: usize,
    target: Weak<dyn Target>,
    settled: OnceCell<Settled>,
}

impl Drive {
    pub(crate) fn new(name: &str, id: usize, target: Weak<dyn Target>) -> Drive {
        Drive { name: name.to_string(), id, target, settled: OnceCell::new() }
    }

    /// DATA OUT or DATA IN.
    pub(crate) fn data(&self, writes: bool) -> &'static Label {
        let by_id = if writes { &DATA_OUT } else { &DATA_IN };
        &by_id[self.id]
    }

    /// The drive itself.
    pub(crate) fn target(&self) -> Rc<dyn Target> {
        self.target.upgrade().expect("a machine keeps its drives while it runs")
    }

    /// What can be said only when the drive is there: while it is built it does not know of itself.
    pub(crate) fn settle(&self, sim: &Sim, host_tags: u32, period: impl Fn(u64) -> Time) {
        self.settled.get_or_init(|| {
            let target = self.target();
            let count = target.queue_depth().min(host_tags).clamp(1, TAGS_MAX);
            let tags = Queue::new(sim, count as usize);
            for tag in 0..count {
                tags.put_now(tag as u16);
            }
            let nexuses = (0..count).map(|_| Nexus::new(sim)).collect();
            Settled { period: period(target.rate()), nexuses, tags }
        });
    }

    fn settled(&self) -> &Settled {
        self.settled.get().expect("a drive is settled before it is spoken to")
    }

    pub(crate) fn period(&self) -> Time {
        self.settled().period
    }

    pub(crate) fn tags(&self) -> &Queue<u16> {
        &self.settled().tags
    }

    /// Tags that there are.
    pub(crate) fn tag_count(&self) -> usize {
        self.settled().nexuses.len()
    }

    pub(crate) fn nexus(&self, tag: u16) -> &Nexus {
        &self.settled().nexuses[usize::from(tag)]
    }
}
