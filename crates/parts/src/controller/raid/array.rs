//! The array: which drive has what, the queue and the tags of each, and reads that do without a lost drive.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use hopscope_kernel::{Burst, Car, CarState, Errand, Label, Sim, Time, Tokens};

use super::channels::{Channels, Exchange};
use super::layout::{Layout, Level, SECTOR_BYTES};
use super::spec::Order;
use super::{Client, MEMORY_BUSY, MOVED, Raid, Spec};
use crate::bus::scsi::Pieces;
use crate::controller::block_card::Device;
use crate::protocols::pci::DATA;

static NO_COMMAND: Label = Label::reason("no command for the drive");
/// A firmware process waits for drives.
pub(super) static DRIVES_AT_WORK: Label = Label::reason("drives at work");
static LOST: Label = Label::protocol("lost commands noticed");

/// Rows that can be written at a time, each by one who has its number modulo this.
const ROW_LOCKS: usize = 64;
/// A command to a drive.
struct Job {
    writes: bool,
    sector: u64,
    sectors: u64,
    client: Rc<Client>,
    errand: Errand,
    /// Where in the host's memory its bytes are, if they are kept nowhere on the way.
    host: Option<u32>,
}

/// A drive of the array, or a spare.
struct Drive {
    name: String,
    /// Channel, and id or number there.
    at: (usize, usize),
    /// What waits, the oldest first, and that there is something.
    waiting: RefCell<VecDeque<Job>>,
    jobs: Tokens,
    /// The sector after the last command.
    reached: Cell<u64>,
    /// Commands that wait or are under way.
    under_way: Cell<u32>,
    failed: Cell<bool>,
}

/// The array.
pub(super) struct Array {
    pub(super) layout: Layout,
    drives: Vec<Drive>,
    /// Of each drive of the layout: who is in its place.
    places: RefCell<Vec<usize>>,
    /// The place that is being rebuilt, and the rows that are.
    pub(super) rebuilding: Cell<Option<(usize, u64)>>,
    /// Room to write a row of a parity array.
    pub(super) row_locks: Vec<Tokens>,
    /// Which copy was read last.
    copy: Cell<bool>,
    spares: usize,
    sectors_max: u64,
}

impl Drive {
    /// The command that is next.
    fn next(&self, order: Order) -> Option<Job> {
        let mut waiting = self.waiting.borrow_mut();
        let chosen = match order {
            Order::FirstCome => 0,
            Order::Elevator => {
                let reached = self.reached.get();
                let ahead = |job: &Job| (job.sector < reached, job.sector);
                waiting.iter().enumerate().min_by_key(|(_, job)| ahead(job)).map_or(0, |(index, _)| index)
            }
        };
        let job = waiting.remove(chosen)?;
        self.reached.set(job.sector + job.sectors);
        Some(job)
    }
}

impl Array {
    /// The drives of all channels, in turn from each, so that neighbours of a row are on different channels.
    pub(super) fn find(sim: &Sim, name: &str, spec: &Spec, channels: &Channels) -> Result<Array, (String, String)> {
        let all = channels.drives()?;
        let most = all.iter().map(Vec::len).max().unwrap_or(0);
        let (mut drives, mut smallest) = (Vec::new(), u64::MAX);
        for index in 0..most {
            for targets in &all {
                let Some(found) = targets.get(index) else { continue };
                smallest = smallest.min(found.sectors * SECTOR_BYTES);
                drives.push(Drive {
                    name: found.name.clone(),
                    at: (found.channel, found.target),
                    waiting: RefCell::default(),
                    reached: Cell::new(0),
                    jobs: Tokens::none(sim, usize::MAX),
                    under_way: Cell::new(0),
                    failed: Cell::new(false),
                });
            }
        }
        if drives.len() != spec.drives + spec.spares {
            let problem = format!("{name} has {} drives and {} spares", spec.drives, spec.spares);
            return Err((problem, format!("there are {} drives at its channels", drives.len())));
        }
        let layout = Layout::new(spec.level, spec.drives, spec.unit_bytes, smallest);
        let layout = layout.map_err(|(problem, help)| (problem, help.to_string()))?;
        let row_locks = (0..ROW_LOCKS).map(|_| Tokens::full(sim, 1)).collect();
        Ok(Array {
            layout,
            drives,
            places: RefCell::new((0..spec.drives).collect()),
            rebuilding: Cell::new(None),
            row_locks,
            copy: Cell::new(false),
            spares: spec.spares,
            sectors_max: channels.sectors_max(),
        })
    }

    /// What the array is for the host: by the card's name, or each drive by its own.
    pub(super) fn devices(&self, card: &str) -> Vec<Device> {
        let (bytes, devices) = (self.layout.device_bytes(), self.layout.devices());
        let alone = self.layout.level == Level::Jbod;
        let named = |index: usize| if alone { self.drives[index].name.clone() } else { card.to_string() };
        let device = |index| Device { name: named(index), first_byte: index as u64 * bytes, bytes };
        (0..devices).map(device).collect()
    }

    /// Whether the drive in a place of the layout can be read or written at a row.
    pub(super) fn is_there(&self, place: usize, row: u64) -> bool {
        match self.rebuilding.get() {
            Some((rebuilt, rows)) if rebuilt == place => row < rows,
            _ => !self.drives[self.places.borrow()[place]].failed.get(),
        }
    }

    /// Whether the drive in a place has nothing to do.
    pub(super) fn is_idle(&self, place: usize) -> bool {
        self.drives[self.places.borrow()[place]].under_way.get() == 0
    }

    /// The drive in a place fails.
    pub(super) fn fail(&self, place: usize) {
        self.drives[self.places.borrow()[place]].failed.set(true);
    }

    /// Puts a spare in a place; its rows are filled one by one. Whether there is one.
    pub(super) fn replace(&self, place: usize) -> bool {
        if self.spares == 0 {
            return false;
        }
        self.places.borrow_mut()[place] = self.layout.drives;
        self.rebuilding.set(Some((place, 0)));
        true
    }

    /// Sends a drive what to read or write; its end is told to the client. Returns how many commands that are.
    pub(super) fn send(&self, client: &Rc<Client>, place: usize, writes: bool, offset_bytes: u64, bytes: u64) -> u32 {
        self.send_for(client, place, writes, (offset_bytes, bytes), None)
    }

    /// The same; bytes that are kept nowhere go between the drive and an address of the host's memory.
    pub(super) fn send_for(
        &self,
        client: &Rc<Client>,
        place: usize,
        writes: bool,
        (offset_bytes, bytes): (u64, u64),
        host: Option<u32>,
    ) -> u32 {
        let drive = &self.drives[self.places.borrow()[place]];
        let (mut sector, mut left, mut sent, mut host) = (offset_bytes / SECTOR_BYTES, bytes / SECTOR_BYTES, 0, host);
        while left > 0 {
            let sectors = left.min(self.sectors_max);
            let errand = client.sim.pass_on(client.errand.get());
            let job = Job { writes, sector, sectors, client: client.clone(), errand, host };
            drive.under_way.set(drive.under_way.get() + 1);
            drive.waiting.borrow_mut().push_back(job);
            drive.jobs.give();
            (sector, left, sent) = (sector + sectors, left - sectors, sent + 1);
            host = host.map(|address| address + (sectors * SECTOR_BYTES) as u32);
        }
        sent
    }

    /// Waits for so many commands. Whether all of them have been carried out.
    pub(super) async fn settle(&self, client: &Client, sent: u32) -> bool {
        let mut well = true;
        for _ in 0..sent {
            well &= client.ended.take(&DRIVES_AT_WORK).await;
        }
        well
    }
}

/// Gives every drive its tags: processes that carry its commands.
pub(super) fn start(raid: &Rc<Raid>) {
    for (index, drive) in raid.array().drives.iter().enumerate() {
        let tags = raid.channels.tags(drive.at).min(raid.spec.drive_tags);
        for tag in 0..tags {
            let running = raid.clone();
            let name = format!("{}.drive{index}.tag{tag:03}", raid.name);
            raid.sim.process(&name, async move { running.run_tag(index).await });
        }
    }
}

impl Raid {
    async fn run_tag(&self, index: usize) {
        let drive = &self.array().drives[index];
        loop {
            drive.jobs.take(&NO_COMMAND).await;
            let Some(job) = drive.next(self.spec.order) else { continue };
            self.sim.take_up(job.errand);
            let well = self.carry_out(drive, &job).await;
            drive.under_way.set(drive.under_way.get() - 1);
            job.client.ended.put_now(well);
            if drive.under_way.get() == 0 {
                self.destage_if_idle();
            }
        }
    }

    /// A command to a drive, whose bytes cross the memory on their way, or PCI where nothing is kept. Whether the drive
    /// lived long enough.
    async fn carry_out(&self, drive: &Drive, job: &Job) -> bool {
        if drive.failed.get() {
            return false;
        }
        self.compute(self.spec.drive_command).await;
        let sectors = (job.sector, job.sectors);
        let mut exchange = self.channels.begin(drive.at, job.writes, sectors, job.errand).await;
        if job.host.is_none() {
            exchange.takes_several();
        }
        let mut done = 0;
        while let Some(pieces) = exchange.next().await {
            let bytes = pieces.bytes;
            match job.host {
                None if pieces.count > 1 => self.cross_as_they_come(&exchange, pieces).await,
                None => self.cross_memory(&MOVED, u64::from(bytes)).await,
                Some(address) if job.writes => self.read_host(address + done, bytes, &DATA, job.errand).await,
                Some(address) => self.to_host(address + done, bytes, &DATA, job.errand).await,
            }
            done += bytes;
            exchange.moved(bytes);
        }
        if drive.failed.get() {
            self.pause(&LOST, self.spec.failure.map_or(Time::ZERO, |failure| failure.noticed)).await;
            return false;
        }
        true
    }

    /// Pieces cross the memory as they come: as a train, as long as nobody else wants it.
    async fn cross_as_they_come(&self, exchange: &Exchange<'_>, pieces: Pieces) {
        let Pieces { bytes, count, pitch } = pieces;
        let plan = [(&MOVED, self.crossing(u64::from(bytes)))];
        let car =
            Car { lane: &self.memory, priority: 0, reason: &MEMORY_BUSY, offset: Time::ZERO, lead: &[], plan: &plan };
        let at_once = if u64::from(bytes) <= self.spec.memory_burst { count } else { 0 };
        let [state, ..] = self.sim.train(at_once.into(), self.sim.now(), pitch, &[car]).await.cars;
        let CarState { done, next } = state.expect("a train says what has become of its only car");
        // One has come before any may cross.
        let come = (done as u32 + u32::from(!matches!(next, Burst::Ahead))).max(1);
        if come < count {
            exchange.one_by_one(come);
        }
        match next {
            Burst::Ahead if done == 0 => self.cross_memory(&MOVED, u64::from(bytes)).await,
            Burst::Ahead => {}
            Burst::Requested(memory) => memory.await.hold_plan(plan).await,
            Burst::UnderWay(crossing) => crossing.finish().await,
        }
    }

    /// Reads a range of the array into the memory, from the other drives where one is lost.
    pub(super) async fn read_array(&self, client: &Rc<Client>, at_bytes: u64, bytes: u64) {
        let array = self.array();
        // Once more for what is lost under way: then it is known which drive that is.
        for _ in 0..=array.drives.len() {
            let (mut at, end, mut sent, mut rebuilt) = (at_bytes, at_bytes + bytes, 0, 0);
            while at < end {
                let part = array.layout.left_in_unit(at).min(end - at);
                let place = array.layout.place(at);
                let row = array.layout.row(at);
                match self.source(place.drive, row) {
                    Some(drive) => sent += array.send(client, drive, false, place.offset_bytes, part),
                    None => {
                        rebuilt += part;
                        for other in (0..array.layout.drives).filter(|other| *other != place.drive) {
                            sent += array.send(client, other, false, place.offset_bytes, part);
                        }
                    }
                }
                at += part;
            }
            let well = array.settle(client, sent).await;
            if rebuilt > 0 {
                self.parity(rebuilt, array.layout.drives as u64).await;
            }
            if well {
                return;
            }
        }
    }

    /// Where to read what a drive of the layout has: there, or from its mirror.
    fn source(&self, place: usize, row: u64) -> Option<usize> {
        let array = self.array();
        let there = array.is_there(place, row);
        match array.layout.mirror(place) {
            Some(mirror) if array.is_there(mirror, row) => {
                let second = array.copy.replace(!array.copy.get());
                Some(if second || !there { mirror } else { place })
            }
            _ => there.then_some(place),
        }
    }
}
