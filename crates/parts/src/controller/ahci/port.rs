//! A port's processes: issue, receive, fetch, transmit.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use hopscope_kernel::{Bell, Label, Queue, Sim};

use super::{Ahci, SataPort, Slot, Spec};
use crate::bus::sata::SataCable;
use crate::protocols::pcie::{DATA, DESCRIPTOR, Home, PAGE_BYTES};
use crate::protocols::sata::{Command, DATA_FIS_BYTES, DWORD_BYTES, Received, TAGS_MAX, ToHost};

static NO_COMMAND: Label = Label::reason("no command issued");
static COMMAND: Label = Label::protocol("from PxCI to the fetch");
static FETCH: Label = Label::protocol("fetch command header and table");
static NOT_READY: Label = Label::reason("drive not ready for the next command");
static NO_FIS: Label = Label::reason("nothing received");
static NO_WRITE: Label = Label::reason("nothing to fetch");
static FIFO_FULL: Label = Label::reason("transmit FIFO full");
static NOT_ACTIVATED: Label = Label::reason("drive takes no data");

/// AHCI 1.3.1, 4.2.2, 4.2.3 and 4.2.3.3: lengths of a command header, of the command FIS in its table, of a descriptor.
const HEADER_BYTES: u32 = 32;
const COMMAND_FIS_BYTES: u32 = 64;
const DESCRIPTOR_BYTES: u32 = 16;
/// Where a command's table has its descriptors.
const DESCRIPTORS_AT: u64 = 0x80;
/// Memory of a port: the command list, the area of received FISes, and a table for each tag.
const LISTS_AT: u64 = 0x1_0000_0000;
const PORT_BYTES: u64 = 0x0400_0000;
const FISES_AT: u64 = 0x1000;
const TABLES_AT: u64 = 0x1_0000;
const TABLE_BYTES: u64 = 0x1_0000;

impl SataPort {
    pub(super) fn new(sim: &Sim, name: &str, number: u64, spec: &Spec) -> SataPort {
        let (tags, places) = (TAGS_MAX as usize, (spec.fifo_bytes / spec.burst_bytes) as usize);
        SataPort {
            lane: sim.lane(&format!("{name}.port{number}"), None),
            cable: OnceCell::new(),
            slots: RefCell::new([None; TAGS_MAX as usize]),
            issued: Queue::new(sim, tags),
            ready: Bell::new(sim),
            received: Queue::new(sim, places),
            to_fetch: Queue::new(sim, tags),
            fetched: Queue::new(sim, places),
            activated: Queue::new(sim, 2),
            moving: Cell::new((0, 0)),
            to_send: Cell::new(0),
            done: Cell::new(0),
            told: Cell::new(false),
        }
    }

    fn slot(&self, tag: u8) -> Option<Slot> {
        self.slots.borrow()[usize::from(tag)]
    }
}

impl Ahci {
    /// Starts the processes of a port.
    pub(super) fn start(self: &Rc<Self>, port: usize) {
        let process = |what: &str| format!("{}.port{port}.{what}", self.name);
        let running = self.clone();
        self.sim.process(&process("issue"), async move { running.run_issue(port).await });
        let running = self.clone();
        self.sim.process(&process("receive"), async move { running.run_receive(port).await });
        let running = self.clone();
        self.sim.process(&process("fetch"), async move { running.run_fetch(port).await });
        let running = self.clone();
        self.sim.process(&process("transmit"), async move { running.run_transmit(port).await });
    }

    fn connected(&self, number: usize) -> Option<(&SataPort, &SataCable)> {
        let port = &self.ports[number];
        Some((port, port.cable.get()?))
    }

    async fn run_issue(&self, number: usize) {
        let Some((port, cable)) = self.connected(number) else { return };
        let memory = LISTS_AT + PORT_BYTES * number as u64;
        loop {
            let tag = port.issued.take(&NO_COMMAND).await;
            self.sim.take_up(self.errand(number, tag));
            port.lane.delay(&COMMAND, port.lane.paced(self.spec.command)).await;
            let Some(Slot { writes, offset_bytes, bytes, errand, .. }) = port.slot(tag) else { continue };
            let (start, at) = (self.sim.now(), u64::from(tag));
            self.port.read(memory + at * u64::from(HEADER_BYTES), HEADER_BYTES, &DESCRIPTOR, Home::CACHE).await;
            let table = memory + TABLES_AT + at * TABLE_BYTES;
            self.port.read(table, COMMAND_FIS_BYTES, &DESCRIPTOR, Home::CACHE).await;
            port.lane.was_in(&FETCH, start);
            cable.send_command(Command { writes, offset_bytes, bytes, tag, errand }).await;
            port.ready.heard(&NOT_READY).await;
        }
    }

    async fn run_receive(&self, number: usize) {
        let Some((port, _)) = self.connected(number) else { return };
        let memory = LISTS_AT + PORT_BYTES * number as u64;
        loop {
            let Received { fis, errand } = port.received.take(&NO_FIS).await;
            self.sim.take_up(errand);
            // AHCI 1.3.1, 4.2.1: the FIS goes to its place in memory; DMA Activate and Data do not.
            if !matches!(fis, ToHost::Data(_) | ToHost::DmaActivate) {
                let bytes = fis.dwords() as u32 * DWORD_BYTES;
                self.port.write(memory + FISES_AT, bytes, &DESCRIPTOR, Home::CACHE).await;
            }
            match fis {
                ToHost::Registers => port.ready.ring(),
                ToHost::DmaSetup(tag) => self.begin_data(number, tag).await,
                ToHost::DmaActivate => port.activated.put_now(self.sim.pass_on(errand)),
                ToHost::Data(bytes) => {
                    let (tag, moved) = port.moving.get();
                    let Some(Slot { buffer, home, .. }) = port.slot(tag) else { continue };
                    self.port.write(buffer + u64::from(moved), bytes, &DATA, home).await;
                    port.moving.set((tag, moved + bytes));
                }
                ToHost::DeviceBits(tag) => {
                    port.done.set(port.done.get() | 1 << tag);
                    port.told.set(true);
                    self.pass_on(number, tag);
                    self.news.ring();
                }
            }
        }
    }

    /// Data of a tag are about to move: its descriptors are needed.
    async fn begin_data(&self, number: usize, tag: u8) {
        let port = &self.ports[number];
        let Some(Slot { writes, bytes, regions, .. }) = port.slot(tag) else { return };
        let table = LISTS_AT + PORT_BYTES * number as u64 + TABLES_AT + u64::from(tag) * TABLE_BYTES;
        let (mut at, mut left) = (table + DESCRIPTORS_AT, regions * DESCRIPTOR_BYTES);
        while left > 0 {
            let part = left.min(PAGE_BYTES - (at % u64::from(PAGE_BYTES)) as u32);
            self.port.read(at, part, &DESCRIPTOR, Home::CACHE).await;
            (at, left) = (at + u64::from(part), left - part);
        }
        port.moving.set((tag, 0));
        if writes {
            port.to_send.set(bytes);
            self.pass_on(number, tag);
            port.to_fetch.put_now(tag);
            port.activated.put_now(self.errand(number, tag));
        }
    }

    async fn run_fetch(&self, number: usize) {
        let port = &self.ports[number];
        loop {
            let tag = port.to_fetch.take(&NO_WRITE).await;
            self.sim.take_up(self.errand(number, tag));
            let Some(Slot { bytes, buffer, home, .. }) = port.slot(tag) else { continue };
            let mut done = 0;
            while done < bytes {
                // No burst reaches into the next Data FIS.
                let part = (bytes - done).min(self.spec.burst_bytes).min(DATA_FIS_BYTES - done % DATA_FIS_BYTES);
                self.port.read(buffer + u64::from(done), part, &DATA, home).await;
                port.fetched.put(part, &FIFO_FULL).await;
                done += part;
            }
        }
    }

    async fn run_transmit(&self, number: usize) {
        let Some((port, cable)) = self.connected(number) else { return };
        loop {
            let errand = port.activated.take(&NOT_ACTIVATED).await;
            self.sim.take_up(errand);
            let bytes = port.to_send.get().min(DATA_FIS_BYTES);
            port.to_send.set(port.to_send.get() - bytes);
            if bytes > 0 {
                cable.send_to_drive(bytes, &port.fetched).await;
            }
        }
    }
}
