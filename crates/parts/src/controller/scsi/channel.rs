//! A channel of a host adapter: its SCSI bus, and the engine that carries commands over it.
//!
//! ```text
//!   begin ─▶ tag ─▶ arbitration … command ─▶ Exchange:  next ─▶ a piece is in the FIFO, or to come into it
//!                                                       moved ─▶ the bus goes on
//!                                                       next ─▶ None: status has arrived, the tag is free
//! ```
//!
//! Whoever begins a command carries its data itself: the process of an adapter's context, or of a RAID controller's
//! firmware. The channel has no process of its own.
//!
//! Not modelled: QUEUE FULL (nobody sends more commands than the drive takes), errors, resets, sense data.

use std::cell::OnceCell;
use std::rc::Rc;

use hopscope_kernel::{Errand, Sim};

use crate::bus::scsi::{self, Drive, HostEnd, Nexus, Pieces, ScsiBus, ToHost};
use crate::controller::fifo::Fifo;
use crate::parameters::declarations::Declarations;
use crate::parameters::{Parameters, SpecError};
use crate::protocols::scsi::{Command, DRIVE_AT_WORK, ENDING, NO_TAG};

/// Pulls the numbers of a channel with a FIFO.
pub fn read(p: &mut Parameters) -> Result<HostEnd, SpecError> {
    let (end, fifo) = (HostEnd::read(p)?, Fifo::read(p)?);
    Ok(HostEnd { fifo: Some((fifo.bytes, fifo.piece)), ..end })
}

/// Says what they are.
pub fn declare(d: &mut Declarations) {
    HostEnd::declare(d);
    Fifo::declare(d);
}

/// A channel.
pub struct Channel {
    sim: Sim,
    end: HostEnd,
    bus: OnceCell<Rc<ScsiBus>>,
}

impl Channel {
    /// A channel without a bus yet.
    pub fn new(sim: &Sim, end: HostEnd) -> Rc<Channel> {
        Rc::new(Channel { sim: sim.clone(), end, bus: OnceCell::new() })
    }

    /// Puts a bus at the channel. An error where the bus does not have the channel's id.
    pub fn plug(&self, name: &str, spec: scsi::Spec) -> Result<Rc<ScsiBus>, String> {
        let bus = ScsiBus::new(&self.sim, name, spec, self.end.clone())?;
        let _ = self.bus.set(bus.clone());
        Ok(bus)
    }

    /// The bus, if there is one.
    pub fn bus(&self) -> Option<&Rc<ScsiBus>> {
        self.bus.get()
    }

    /// The drives: id, name, and blocks of 512 bytes. To be asked when the machine is complete.
    pub fn targets(&self) -> Vec<(usize, String, u64)> {
        let drives = self.bus.get().into_iter().flat_map(|bus| bus.drives());
        drives.map(|(id, drive)| (id, drive.name.clone(), drive.target().blocks())).collect()
    }

    /// Commands of a drive that can be under way.
    pub fn tags(&self, target: usize) -> usize {
        self.there().drive(target).tag_count()
    }

    /// Sends a command to a drive for a request: waits for a free tag, then for the bus; arbitration to command phase.
    /// Returns when the drive has the command.
    pub async fn begin(&self, target: usize, writes: bool, lba: u64, blocks: u32, errand: Errand) -> Exchange<'_> {
        let bus = &**self.there();
        let drive = bus.drive(target);
        let tag = drive.tags().take(&NO_TAG).await;
        let nexus = drive.nexus(tag);
        nexus.writes.set(writes);
        nexus.takes_several.set(false);
        let grant = bus.win(self.end.id).await;
        grant.hold_plan(bus.paced(bus.spec().beginning())).await;
        let errand = self.sim.pass_on(errand);
        let (target, command) = (drive.target(), Command { writes, lba, blocks, tag, errand });
        if target.stays_connected(&command) {
            nexus.kept.set(Some((grant.hand_over(), self.sim.now())));
        } else {
            grant.leave(bus.paced(bus.spec().disconnection()));
        }
        target.command(command);
        Exchange { bus, drive, nexus, tag }
    }

    fn there(&self) -> &Rc<ScsiBus> {
        self.bus.get().expect("a channel without a bus has no drives")
    }
}

/// A command under way. Whoever has it asks for what comes next until nothing does.
pub struct Exchange<'a> {
    bus: &'a ScsiBus,
    drive: &'a Drive,
    nexus: &'a Nexus,
    tag: u16,
}

impl Exchange<'_> {
    /// The next bytes: that are in the channel's FIFO (a read), or that the drive wants (a write). None: status has
    /// arrived, and the tag is free. (Where data vanish at once, none are told of.)
    pub async fn next(&mut self) -> Option<u32> {
        self.next_pieces().await.map(|pieces| pieces.bytes)
    }

    /// Whoever carries the command takes several pieces of a read at once, by [`Exchange::next_pieces`].
    pub(crate) fn takes_several(&self) {
        self.nexus.takes_several.set(true);
    }

    /// The same as [`Exchange::next`], or several pieces that come one behind the other, each of which has to leave the FIFO
    /// before the next one has come. Where one does not, those to come are to be told of [one by one](Self::one_by_one).
    pub(crate) async fn next_pieces(&mut self) -> Option<Pieces> {
        match self.nexus.to_host.take(&DRIVE_AT_WORK).await {
            ToHost::Data(pieces) => Some(pieces),
            ToHost::EndsAt(until) => {
                if until > self.bus.sim().now() {
                    self.bus.lane().delay_until(&ENDING, until).await;
                }
                self.drive.tags().put_now(self.tag);
                None
            }
        }
    }

    /// So many of several pieces have come; those that are still to come of this command are told of one by one.
    pub(crate) fn one_by_one(&self, come: u32) {
        self.nexus.takes_several.set(false);
        self.nexus.one_by_one.put_now(come);
    }

    /// Those bytes have left the FIFO (a read), or are in it (a write): the bus goes on.
    pub fn moved(&self, bytes: u32) {
        if let Some(fifo) = self.bus.fifo() {
            if self.nexus.writes.get() {
                self.nexus.filled.set(self.nexus.filled.get() + bytes);
            } else {
                fifo.release(bytes);
            }
            fifo.tell();
        }
    }
}
