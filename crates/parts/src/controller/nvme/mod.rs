//! An NVM Express drive: its controller between a PCI Express port and flash.
//! NVM Express Base Specification 1.4.
//!
//! ```text
//!   doorbell ─▶ fetch ──▶ engines ──▶ list of pointers ─▶ flash ─▶ data ─▶ completion ─▶ interrupt
//!               several    NAME.controller   NAME.transfer…        (PCI Express port)     coalesced
//!               commands   (caps IOPS)       (a piece each)
//!               a read
//! ```
//!
//! A doorbell write says that commands are in a submission queue; whoever fetches reads as many as are there, up to
//! what one read may fetch. Each queue is fetched by itself. A command costs its engine a while, and some latency
//! besides. A command that flash answers in one piece is carried through by itself; the pieces of longer ones are
//! carried at once, as many as there are transfers. What follows a run of reads is read ahead. A page of data on its way
//! to the host has an engine for itself. A completion queue entry follows the data, and an interrupt the entry, unless
//! the host is still at the one before (7.5).
//!
//! Not modelled: the admin queue, arbitration between queues besides the link's, metadata, errors, power states, a host
//! memory buffer, a controller memory buffer, fused commands; the list of pointers is fetched before flash is asked; a
//! completion queue never fills, since it has as many entries as there are commands.

mod commands;
mod idle;
mod interrupts;
mod queues;
mod spec;

use std::cell::Cell;
use std::rc::Rc;

use hopscope_kernel::{Bell, Errand, Lane, Numbered, Sim, Time, Tokens};

use crate::bus::pcie::{Link, Port};
use crate::flash::Flash;
use crate::flash::read_ahead::ReadAhead;
use crate::protocols::nvme::Command;
use crate::protocols::pcie::Home;
use crate::protocols::storage::Operation;
use commands::{NO_COMMAND, NO_PIECE};
use idle::Workers;
pub use queues::{Doorbell, QueuePair};
pub use spec::Spec;

/// An interrupt message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// When it leaves the last link.
    pub left: Time,
    /// When it arrives.
    pub arrival: Time,
    /// Completions that it tells of.
    pub completions: usize,
}

/// A command, and the pair of queues that it is of.
struct Fetched {
    queues: Rc<QueuePair>,
    command: Command,
}

/// A part of a command, for whoever carries it.
struct Piece {
    operation: Operation,
    /// First byte on the drive.
    offset: u64,
    bytes: u32,
    /// Of the command: its buffer begins here, what it is part of, and for whom.
    buffer: u64,
    command: usize,
    errand: Errand,
}

/// A command of several pieces.
struct Several {
    pieces_left: Cell<u32>,
    done: Bell,
    home: Cell<Home>,
}

/// A drive.
pub struct Controller {
    sim: Sim,
    name: String,
    spec: Spec,
    port: Rc<Port>,
    flash: Rc<Flash>,
    ahead: Rc<ReadAhead>,
    engines: Vec<Lane>,
    /// Nobody occupies it, but every command owes it the latency of the controller.
    latency: Lane,
    /// The same, for interrupts that are held back.
    coalescing: Lane,
    next_engine: Cell<usize>,
    /// The host has set its queues up.
    queues_created: Cell<bool>,
    /// Fetched commands.
    commands: Workers<Fetched>,
    pieces: Workers<Piece>,
    /// Of each process that carries commands.
    several: Vec<Several>,
    /// Pages that may be on their way to the host at once.
    dma: Tokens,
}

impl Controller {
    /// A drive named `name` at a link, which trains. The error says what does not fit.
    pub fn new(sim: &Sim, name: &str, spec: Spec, link: &Link, seed: u64) -> Result<Rc<Controller>, String> {
        let port = Port::new(sim, &spec.port, link)?;
        let flash = Flash::new(sim, name, spec.flash.clone(), seed);
        let engine = |number| match spec.engines {
            1 => sim.lane(&format!("{name}.controller"), None),
            _ => sim.lane(&format!("{name}.controller{number}"), None),
        };
        let dma = Tokens::full(sim, spec.dma);
        let home = Cell::new(Home::MEMORY);
        let several = |_| Several { pieces_left: Cell::new(0), done: Bell::new(sim), home: home.clone() };
        let controller = Rc::new(Controller {
            sim: sim.clone(),
            name: name.to_string(),
            port,
            ahead: ReadAhead::new(sim, name, spec.read_ahead.clone(), &flash),
            flash,
            engines: (0..spec.engines).map(engine).collect(),
            latency: sim.lane(&format!("{name}.controller.latency"), None),
            coalescing: sim.lane(&format!("{name}.interrupts"), None),
            next_engine: Cell::new(0),
            queues_created: Cell::new(false),
            commands: Workers::new(sim, spec.commands, spec.fetch_commands as usize),
            pieces: Workers::new(sim, spec.transfers, spec.transfers),
            several: (0..spec.commands).map(several).collect(),
            dma,
            spec,
        });
        sim.processes_on_call(
            &controller,
            Numbered { name: &format!("{name}.command"), digits: 1 },
            controller.spec.commands,
            &NO_COMMAND,
            |drive, number| drive.commands.idle(number).clone(),
            |drive, number, first| async move { drive.run_commands(number, first).await },
        );
        sim.processes_on_call(
            &controller,
            Numbered { name: &format!("{name}.transfer"), digits: 1 },
            controller.spec.transfers,
            &NO_PIECE,
            |drive, number| drive.pieces.idle(number).clone(),
            |drive, number, first| async move { drive.run_pieces(number, first).await },
        );
        Ok(controller)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Capacity, bytes.
    pub fn size_bytes(&self) -> u64 {
        self.flash.size_bytes()
    }

    /// What keeps its bytes.
    pub fn flash(&self) -> &Rc<Flash> {
        &self.flash
    }

    /// Most bytes that a command moves.
    pub fn transfer_max(&self) -> u32 {
        self.spec.transfer_max
    }

    /// Bytes of a logical block.
    pub fn block_bytes(&self) -> u32 {
        self.spec.block_bytes
    }

    /// The host sets its pairs of queues up: how many, how long they are, and where; at most as many as the drive gives.
    ///
    /// # Panics
    ///
    /// It has done so before: one driver has a drive.
    pub fn create_queues(self: &Rc<Self>, pairs: usize, entries: u64, home: Home) -> Vec<Rc<QueuePair>> {
        assert!(!self.queues_created.replace(true), "a drive's queues are set up once");
        let create = |number| {
            let fetch = match number {
                0 => format!("{}.fetch", self.name),
                _ => format!("{}.queue{}.fetch", self.name, number + 1),
            };
            let queues = QueuePair::new(&self.sim, self.sim.lane(&fetch, None), number, entries, home);
            for fetcher in 0..self.port.root().register_writes() {
                let (running, queues) = (self.clone(), queues.clone());
                self.sim.process(&format!("{fetch}{fetcher}"), async move { running.run_fetch(&queues).await });
            }
            queues
        };
        (0..pairs.min(self.spec.queue_pairs)).map(create).collect()
    }

    /// Its port.
    pub fn port(&self) -> &Port {
        &self.port
    }
}
