//! A solid-state drive behind a Serial ATA cable: native command queueing in front of flash.
//!
//! ```text
//!   Register FIS ─▶ decode ─▶ ready again ─▶ a process a tag: controller ─▶ flash ─▶ one command's data at a time
//!                                                                         ─▶ Set Device Bits FIS
//! ```
//!
//! Commands are carried out as they come to the flash, in any order. Data of one command cross the cable without data of
//! another in between: DMA Setup, then Data FISes of 8 KiB; where they go to the drive it asks for each after the first.
//! A read's data are sent when all of them are there. Reads that follow one another are read ahead.
//!
//! Not modelled: commands that are not queued, priorities, errors, power states, trim, the drive's own memory as a cache
//! of what was read (only what was read ahead is kept), non-zero buffer offsets, completions of several tags in one FIS.

use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Lane, Queue, Sim, Time, Tokens};

use crate::bus::sata::{self, SataCable};
use crate::flash::read_ahead::{self, ReadAhead};
use crate::flash::{self, Flash};
use crate::protocols::sata::{Command, TAGS_MAX, ToHost};
use crate::protocols::storage::Keeps;

static NO_COMMAND: Label = Label::reason("no command");
static CONTROLLER_BUSY: Label = Label::reason("controller busy");
static DECODE: Label = Label::protocol("decode");
static PROCESSING: Label = Label::protocol("command processing");
static OTHER_DATA: Label = Label::reason("data of another command");
static FROM_HOST: Label = Label::reason("data from the host");

/// The drive's data sheet.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Bytes per second of encoded bits, at most.
    #[rate("rate", one_of = &sata::RATES)]
    pub rate: u64,
    /// Commands that the drive takes.
    #[count("queue_depth", 1..=TAGS_MAX)]
    pub tags: u64,
    /// From a command's arrival until the drive is ready for the next one.
    #[time("firmware.decode")]
    decode: Time,
    /// The controller's time for a read.
    #[time("firmware.read")]
    read: Time,
    /// The controller's time for a write.
    #[time("firmware.write")]
    write: Time,
    #[nested("read_ahead")]
    read_ahead: read_ahead::Spec,
    #[nested]
    flash: flash::Spec,
}

/// A drive.
pub struct SataSsd {
    sim: Sim,
    spec: Spec,
    cable: Rc<SataCable>,
    flash: Rc<Flash>,
    ahead: Rc<ReadAhead>,
    controller: Lane,
    /// Decoded commands.
    commands: Queue<Command>,
    /// The right to move data, which one command has.
    data: Tokens,
}

impl SataSsd {
    /// A drive at the end of a cable. `seed` decides the draws of its flash.
    pub fn new(sim: &Sim, name: &str, spec: Spec, cable: &Rc<SataCable>, seed: u64) -> Rc<SataSsd> {
        let flash = Flash::new(sim, name, spec.flash.clone(), seed);
        let keeps: Rc<dyn Keeps> = flash.clone();
        let size_bytes = flash.size_bytes();
        let drive = sata::Drive { name: name.to_string(), size_bytes, tags: spec.tags, keeps: Some(keeps) };
        cable.attach(drive, spec.rate);
        let data = Tokens::full(sim, 1);
        let tags = spec.tags as usize;
        let ssd = Rc::new(SataSsd {
            sim: sim.clone(),
            cable: cable.clone(),
            ahead: ReadAhead::new(sim, name, spec.read_ahead.clone(), &flash),
            flash,
            controller: sim.lane(&format!("{name}.controller"), None),
            commands: Queue::new(sim, tags),
            data,
            spec,
        });
        let running = ssd.clone();
        sim.process(&format!("{name}.commands"), async move { running.run_commands().await });
        for tag in 0..tags {
            let running = ssd.clone();
            sim.process(&format!("{name}.tag{tag}"), async move { running.run_tag().await });
        }
        ssd
    }

    /// Takes commands from the cable.
    async fn run_commands(&self) {
        loop {
            let command = self.cable.commands().take(&NO_COMMAND).await;
            self.sim.take_up(command.errand);
            let grant = self.controller.acquire(&CONTROLLER_BUSY).await;
            grant.hold(&DECODE, self.controller.paced(self.spec.decode)).await;
            drop(grant);
            let errand = self.sim.pass_on(command.errand);
            self.commands.put(Command { errand, ..command }, &NO_COMMAND).await;
            self.cable.send_to_host(ToHost::Registers, command.errand).await;
        }
    }

    /// Carries out one command after the other.
    async fn run_tag(&self) {
        loop {
            let command = self.commands.take(&NO_COMMAND).await;
            self.sim.take_up(command.errand);
            let grant = self.controller.acquire(&CONTROLLER_BUSY).await;
            let work = if command.writes { self.spec.write } else { self.spec.read };
            grant.hold(&PROCESSING, self.controller.paced(work)).await;
            drop(grant);
            if command.writes {
                self.take_data(command).await;
            } else {
                self.ahead.read(command.offset_bytes, command.bytes, command.errand).await;
                self.data.take(&OTHER_DATA).await;
                self.cable.send_to_host(ToHost::DmaSetup(command.tag), command.errand).await;
                self.cable.send_to_host(ToHost::Data(command.bytes), command.errand).await;
                self.data.give();
            }
            self.cable.send_to_host(ToHost::DeviceBits(command.tag), command.errand).await;
        }
    }

    /// Takes the data of a write into the write buffer.
    async fn take_data(&self, Command { offset_bytes, bytes, tag, errand, .. }: Command) {
        self.ahead.written(offset_bytes, bytes);
        self.data.take(&OTHER_DATA).await;
        self.cable.send_to_host(ToHost::DmaSetup(tag), errand).await;
        let mut done = 0;
        loop {
            let part = self.cable.to_drive().take(&FROM_HOST).await;
            self.flash.write(offset_bytes + u64::from(done), part).await;
            done += part;
            if done >= bytes {
                break;
            }
            self.cable.send_to_host(ToHost::DmaActivate, errand).await;
        }
        self.data.give();
    }
}
