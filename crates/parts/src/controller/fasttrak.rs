//! An IDE card as a load on its bus: one drive that reads on and on, whose data go to memory as they come.
//!
//! ```text
//!   doorbell ─▶ command ─▶ drive and cable: pieces at one pace ─▶ FIFO ─▶ PCI bursts ─▶ interrupt
//! ```
//!
//! Only the drive's pace and the card's transactions are modelled: what another card on the bus feels.
//!
//! Not modelled: seeks and rotation (its reads follow one another), the IDE cable and its registers, descriptors,
//! two channels, striping, writes other than at the same pace.

use std::rc::Rc;

use hopscope_kernel::{Errand, Label, Lane, Queue, Sim, Time};

use crate::bus::pci::initiator::Initiator;
use crate::bus::pci::slot::Slot;
use crate::parameters::{Parameters, SpecError};
use crate::protocols::block_card::{BlockCard, Command, Device, Registers};
use crate::protocols::finished::Finished;
use crate::protocols::pci::DATA;

static NOTHING_WRITTEN: Label = Label::reason("no register written");
static NO_COMMAND: Label = Label::reason("no command");
static NO_DATA: Label = Label::reason("no data in the FIFO");
static FIFO_FULL: Label = Label::reason("FIFO full");
static MEDIA: Label = Label::payload("data");

/// The card with its drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Bytes a second that the drive delivers.
    rate: u64,
    /// Bytes of the drive.
    capacity: u64,
    /// Bytes that cross the bus together, and how many of these the FIFO holds.
    piece: u64,
    pieces: u64,
}

impl Spec {
    /// Pulls the numbers.
    pub fn read(p: &mut Parameters) -> Result<Spec, SpecError> {
        let (piece, fifo) = (p.bytes("fifo.piece")?, p.bytes("fifo.size")?);
        if !(4..=65_536).contains(&piece) || piece % 4 != 0 {
            return Err(p.error(
                "fifo.piece",
                "no FIFO is emptied like that",
                "expected 4 B to 64 KiB, a multiple of 4 B",
            ));
        }
        if !(piece..=1 << 20).contains(&fifo) {
            return Err(p.error("fifo.size", "a piece does not fit", "expected a piece to 1 MiB"));
        }
        let rate = p.rate("drive.rate")?;
        if rate < 100_000 {
            return Err(p.error("drive.rate", "no drive is so slow", "expected 100 kB/s at least"));
        }
        let capacity = p.bytes("drive.capacity")?;
        if capacity < 1 << 20 {
            return Err(p.error("drive.capacity", "no drive is so small", "expected 1 MiB at least"));
        }
        Ok(Spec { rate, capacity, piece, pieces: fifo / piece })
    }
}

/// A piece in the FIFO: of which command, where in memory, how much, and whether it is the last one.
struct Piece {
    command: Command,
    done: u32,
    bytes: u32,
}

/// The card.
pub struct Fasttrak {
    sim: Sim,
    name: String,
    spec: Spec,
    initiator: Rc<Initiator>,
    registers: Registers,
    drive: Lane,
    commands: Queue<Command>,
    fifo: Queue<Piece>,
}

impl Fasttrak {
    /// A card in its slot, with its drive.
    pub fn new(sim: &Sim, name: &str, spec: Spec, initiator: Rc<Initiator>) -> Rc<Fasttrak> {
        let drive = sim.lane(&format!("{name}.drive"), None);
        drive.carries(&MEDIA, spec.rate, Time::ps(1_000_000_000_000));
        let card = Rc::new(Fasttrak {
            sim: sim.clone(),
            name: name.to_string(),
            initiator,
            registers: Registers::new(sim),
            drive,
            commands: Queue::new(sim, usize::MAX),
            fifo: Queue::new(sim, spec.pieces as usize),
            spec,
        });
        let (listening, reading, moving) = (card.clone(), card.clone(), card.clone());
        sim.process(&format!("{name}.doorbell"), async move { listening.run_doorbell().await });
        sim.process(&format!("{name}.media"), async move { reading.run_drive().await });
        sim.process(&format!("{name}.mover"), async move { moving.run_mover().await });
        card
    }

    async fn run_doorbell(&self) {
        loop {
            let errand = self.initiator.slot().written().take(&NOTHING_WRITTEN).await;
            if let Some(command) = self.registers.arrived(errand) {
                let _ = self.commands.try_put(command);
            }
        }
    }

    async fn run_drive(&self) {
        loop {
            let command = self.commands.take(&NO_COMMAND).await;
            self.sim.take_up(command.errand);
            let mut done = 0;
            while done < command.bytes {
                let bytes = u64::from(command.bytes - done).min(self.spec.piece);
                let span = Time::ps((bytes * 1_000_000_000_000).div_ceil(self.spec.rate));
                self.drive.spend(&MEDIA, self.drive.paced(span)).await;
                let errand = self.sim.pass_on(command.errand);
                self.fifo
                    .put(Piece { command: Command { errand, ..command }, done, bytes: bytes as u32 }, &FIFO_FULL)
                    .await;
                done += bytes as u32;
            }
        }
    }

    async fn run_mover(&self) {
        let mut before = Errand::NOBODY;
        loop {
            let Piece { command, done, bytes } = self.fifo.take(&NO_DATA).await;
            let errand = command.errand;
            self.sim.take_up_after(std::mem::replace(&mut before, errand), errand);
            let address = command.buffer + done;
            if command.writes {
                self.initiator.read(address, bytes, &DATA, errand).await;
            } else {
                self.initiator.write(address, bytes, &DATA, errand).await;
            }
            if done + bytes == command.bytes {
                self.registers.finished().push(command.number, errand);
                self.initiator.interrupt(errand);
            }
        }
    }
}

impl BlockCard for Fasttrak {
    fn start(self: Rc<Fasttrak>) -> Result<bool, (String, String)> {
        Ok(true)
    }

    fn slot(&self) -> &Slot {
        self.initiator.slot()
    }

    fn devices(&self) -> Vec<Device> {
        vec![Device { name: self.name.clone(), first_byte: 0, bytes: self.spec.capacity }]
    }

    fn commands_max(&self) -> u64 {
        1
    }

    fn prepare(&self, command: Command) {
        self.registers.write(Some(command));
    }

    fn acknowledge(&self) {
        self.registers.write(None);
    }

    fn finished(&self) -> &Finished {
        self.registers.finished()
    }
}
