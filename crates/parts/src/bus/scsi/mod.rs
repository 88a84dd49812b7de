//! A parallel SCSI bus: one initiator, up to fifteen drives, one connection at a time. SCSI-2; SPI-2, SPI-3, SPI-4.
//!
//! ```text
//!   initiator:  ARBITRATION  SELECTION  MESSAGE OUT  COMMAND  MESSAGE IN ─▶ bus free (the drive works)
//!   drive:      ARBITRATION  RESELECTION  MESSAGE IN  DATA …  MESSAGE IN ─▶ bus free (disconnected), or
//!                                                     DATA …  STATUS  MESSAGE IN ─▶ bus free (complete)
//!                                                      └ pause where the adapter's FIFO is full or empty
//! ```
//!
//! Arbitration goes by id, or fairly: whoever has waited longest wins. Each drive moves data at the slowest of bus, adapter and drive, and not faster than the
//! adapter's REQ/ACK offset allows over the cable; the other phases are asynchronous. After the COMMAND phase a drive
//! disconnects, unless it says that it stays.
//!
//! Not modelled: negotiation (each drive has its rate from the start, whichever it is), packetized transfers of SPI-4,
//! quick arbitration of SPI-3, the fairness registers of its devices one by one, CRC of double transition transfers, several initiators, command
//! queueing messages other than a tag, parity errors, linked commands, single bytes of an asynchronous phase.

mod connection;
mod fifo;
mod nexus;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::rc::{Rc, Weak};

use hopscope_declare::Spec;
use hopscope_kernel::{Grant, Label, Lane, Sim, Time};

pub use connection::Connection;
pub(crate) use fifo::Fifo;
pub(crate) use nexus::{Drive, Nexus, Pieces, ToHost};

use crate::protocols::scsi::{
    ARBITRATION, BUS_BUSY, COMMAND, DATA_IN, DATA_OUT, IDS_MAX, MESSAGE_IN, MESSAGE_OUT, RESELECTION, SELECTION,
    STATUS, TAGS_MAX, Target, priority,
};

/// A phase and how long it takes.
pub(crate) type Phase = (&'static Label, Time);

/// Bytes a second that a bus, an adapter or a drive may have, at least.
pub const RATE_MIN: u64 = 100_000;
/// The same, at most.
pub const RATE_MAX: u64 = 1_000_000_000;

/// The bus's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Bytes of a transfer: 1 B or 2 B wide.
    #[bytes("width", 1..=2)]
    width_bytes: u32,
    /// Bytes a second that the bus carries, at most.
    #[rate("rate", RATE_MIN..=RATE_MAX)]
    rate: u64,
    /// From REQ to the ACK for it, over the whole cable.
    #[time("round_trip")]
    round_trip: Time,
    /// Who wins arbitration: the best id, or fairly whoever has waited longest.
    #[choice("order", "ids" => false, "fair" => true)]
    fair: bool,
    /// Time of ARBITRATION, with what is between it and the next phase.
    #[time("arbitration")]
    arbitration: Time,
    /// Time of SELECTION, with what is between it and the next phase.
    #[time("selection")]
    selection: Time,
    /// Time of RESELECTION, with what is between it and the next phase.
    #[time("reselection")]
    reselection: Time,
    /// Time of MESSAGE OUT, with what is between it and the next phase.
    #[time("message_out")]
    message_out: Time,
    /// Time of MESSAGE IN, with what is between it and the next phase.
    #[time("message_in")]
    message_in: Time,
    /// Time of COMMAND, with what is between it and the next phase.
    #[time("command")]
    command: Time,
    /// Time of STATUS, with what is between it and the next phase.
    #[time("status")]
    status: Time,
}

impl Spec {
    /// Ids: a data line each.
    pub fn ids(&self) -> usize {
        8 * self.width_bytes as usize
    }

    /// Arbitration to command.
    pub(crate) fn beginning(&self) -> [Phase; 4] {
        [
            (&ARBITRATION, self.arbitration),
            (&SELECTION, self.selection),
            (&MESSAGE_OUT, self.message_out),
            (&COMMAND, self.command),
        ]
    }

    /// A drive comes back.
    fn return_of_a_drive(&self) -> [Phase; 3] {
        [(&ARBITRATION, self.arbitration), (&RESELECTION, self.reselection), (&MESSAGE_IN, self.message_in)]
    }

    /// A drive leaves.
    pub(crate) fn disconnection(&self) -> [Phase; 1] {
        [(&MESSAGE_IN, self.message_in)]
    }

    /// The end of a command.
    pub(crate) fn ending(&self) -> [Phase; 2] {
        [(&STATUS, self.status), (&MESSAGE_IN, self.message_in)]
    }

    /// Time of a transfer at so many bytes per second, rounded up to a picosecond.
    fn period(&self, rate: u64) -> Time {
        Time::ps((u64::from(self.width_bytes) * 1_000_000_000_000).div_ceil(rate))
    }
}

/// The initiator's end of a bus.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct HostEnd {
    /// Id of the initiator.
    #[text("channel.id", parse = id)]
    pub id: usize,
    /// Bytes a second that a channel moves over its bus, at most.
    #[rate("channel.rate", RATE_MIN..=RATE_MAX)]
    pub rate: u64,
    /// Transfers that a channel lets a drive be ahead of its acknowledgements: the REQ/ACK offset.
    #[count("channel.offset", 1..=255)]
    pub offset: u64,
    /// Tags for each drive, at most: commands of it that are under way.
    #[count("channel.tags", 1..=TAGS_MAX.into())]
    pub tags: u32,
    /// Its FIFO and the pieces that data pass it in, bytes; none where data vanish, or appear, at once.
    #[given(None)]
    pub fifo: Option<(u32, u32)>,
}

fn id(written: &str) -> Result<usize, String> {
    let id = written.strip_prefix("id").and_then(|number| number.parse().ok()).filter(|id: &usize| *id < IDS_MAX);
    id.ok_or_else(|| "\"id0\" to \"id15\", mostly \"id7\"".to_string())
}

/// A bus.
pub struct ScsiBus {
    sim: Sim,
    lane: Lane,
    spec: Spec,
    host: HostEnd,
    fifo: Option<Fifo>,
    /// By id.
    drives: [OnceCell<Drive>; IDS_MAX],
}

impl ScsiBus {
    /// A bus named `name` at an initiator; its id has to be one of the bus.
    pub(crate) fn new(sim: &Sim, name: &str, spec: Spec, host: HostEnd) -> Result<Rc<ScsiBus>, String> {
        if host.id >= spec.ids() {
            return Err(format!("the adapter has id {}, this bus has ids 0 to {}", host.id, spec.ids() - 1));
        }
        let lane = sim.lane(name, None);
        let fifo = host.fifo.map(|(bytes, piece)| Fifo::new(sim, bytes, piece));
        let bus =
            ScsiBus { sim: sim.clone(), lane, spec, host, fifo, drives: std::array::from_fn(|_| OnceCell::new()) };
        // What it can carry, whatever its drives agree to; no data phase is with the adapter.
        bus.agree(bus.host.id, u64::MAX);
        Ok(Rc::new(bus))
    }

    /// Plugs a drive in. An error where the id is the adapter's, is taken, or is none of this bus.
    pub fn attach(&self, id: usize, name: &str, target: Weak<dyn Target>) -> Result<(), String> {
        if id == self.host.id {
            return Err(format!("id {id} is the adapter's own"));
        }
        if id >= self.spec.ids() {
            return Err(format!("this bus has ids 0 to {}", self.spec.ids() - 1));
        }
        match self.drives[id].set(Drive::new(name, id, target)) {
            Ok(()) => Ok(()),
            Err(_) => Err(format!("id {id} is taken")),
        }
    }

    /// A drive comes back to its initiator: arbitration, reselection, IDENTIFY and queue tag. Returns with the bus won;
    /// these phases pass with what follows.
    pub async fn reselect(&self, id: usize, tag: u16) -> Connection<'_> {
        let drive = self.drive(id);
        let nexus = drive.nexus(tag);
        if let Some((grant, since)) = nexus.kept.take() {
            return Connection::kept(self, drive, nexus, self.lane.take_up(grant), since);
        }
        let grant = self.win(id).await;
        Connection::won(self, drive, nexus, grant)
    }

    /// How long so many bytes of the drive at an id take on the bus.
    pub fn data_time(&self, id: usize, bytes: u32) -> Time {
        self.span(self.drive(id).period(), bytes)
    }

    /// Waits for the bus, as id `id`. The phase of arbitration is still to come.
    pub(crate) async fn win(&self, id: usize) -> Grant<'_> {
        let priority = if self.spec.fair { 0 } else { priority(id) };
        self.lane.acquire_with(priority, &BUS_BUSY).await
    }

    /// The lane.
    pub fn lane(&self) -> &Lane {
        &self.lane
    }

    pub(crate) fn sim(&self) -> &Sim {
        &self.sim
    }

    pub(crate) fn spec(&self) -> &Spec {
        &self.spec
    }

    pub(crate) fn fifo(&self) -> Option<&Fifo> {
        self.fifo.as_ref()
    }

    /// The drives that there are, by id.
    pub(crate) fn drives(&self) -> impl Iterator<Item = (usize, &Drive)> {
        self.drives.iter().enumerate().filter_map(|(id, drive)| Some((id, drive.get()?)))
    }

    /// The drive at an id, settled with the bus and the adapter.
    pub(crate) fn drive(&self, id: usize) -> &Drive {
        let drive = self.drives[id].get().expect("only drives that are there are spoken to, and speak");
        drive.settle(&self.sim, self.host.tags, |rate| self.agree(id, rate));
        drive
    }

    /// What the data phases of an id of so many bytes per second are: their period.
    fn agree(&self, id: usize, rate: u64) -> Time {
        let period = self.period_of(rate);
        for label in [&DATA_IN[id], &DATA_OUT[id]] {
            self.lane.carries(label, u64::from(self.spec.width_bytes), self.lane.paced(period));
        }
        period
    }

    /// Time of a transfer with a drive of so many bytes per second.
    fn period_of(&self, drive_rate: u64) -> Time {
        let by_rate = self.spec.period(self.spec.rate.min(self.host.rate).min(drive_rate));
        // SPI-2, 10.6: REQ may be ahead of ACK by the offset, and each ACK takes a round trip.
        let by_offset = Time::ps(self.spec.round_trip.as_ps().div_ceil(self.host.offset));
        by_rate.max(by_offset)
    }

    /// Time of so many bytes in transfers of that period, at the bus's pace.
    fn span(&self, period: Time, bytes: u32) -> Time {
        self.lane.paced(period * u64::from(bytes.div_ceil(self.spec.width_bytes)))
    }

    /// Phases at the bus's pace.
    pub(crate) fn paced<const N: usize>(&self, phases: [Phase; N]) -> [Phase; N] {
        phases.map(|(label, span)| (label, self.lane.paced(span)))
    }
}
