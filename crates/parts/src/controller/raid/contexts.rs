//! The firmware's contexts: a host command each, from its description to its status.

use std::rc::Rc;

use hopscope_kernel::{Errand, Label, Queue};

use super::{Client, Engine, MOVED, Raid};
use crate::controller::block_card::Command;
use crate::protocols::pci::{DATA, DESCRIPTOR_DATA};

static NOTHING_WRITTEN: Label = Label::reason("no register written");
static ENGINE_BUSY: Label = Label::reason("PCI engine of the adapter busy");
static SET_UP: Label = Label::protocol("set-up of a burst");
static THROUGH: Label = Label::through("data between memory and PCI");
static NO_COMMAND: Label = Label::reason("no command from the host");

/// Starts as many contexts as there can be commands.
pub(super) fn start(raid: &Rc<Raid>) {
    let listening = raid.clone();
    raid.sim.process(&format!("{}.doorbell", raid.name), async move { listening.run_doorbell().await });
    for context in 0..raid.spec.commands {
        let (running, client) = (raid.clone(), Rc::new(Client::new(&raid.sim)));
        let name = format!("{}.context{context:03}", raid.name);
        raid.sim.process(&name, async move { running.run_context(&client).await });
    }
}

impl Engine {
    /// What it moves at a time: where it begins, and how much.
    fn bursts(&self, bytes: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
        let burst = self.spec.burst;
        (0..bytes.div_ceil(burst)).map(move |index| (index * burst, burst.min(bytes - index * burst)))
    }
}

impl Raid {
    async fn run_doorbell(&self) {
        loop {
            let errand = self.initiator.slot().written().take(&NOTHING_WRITTEN).await;
            if let Some(command) = self.registers.arrived(errand) {
                self.commands.put_now(command);
            }
        }
    }

    async fn run_context(&self, client: &Rc<Client>) {
        let commands: &Queue<Command> = &self.commands;
        loop {
            let command = commands.take(&NO_COMMAND).await;
            let (errand, described_at) = (command.errand, command.described_at);
            client.take_up(errand);
            self.read_host(described_at, self.spec.description_bytes, &DESCRIPTOR_DATA, errand).await;
            self.compute(self.spec.command).await;
            if self.spec.keeps_nothing {
                self.pass(client, &command).await;
            } else if command.writes {
                self.write(client, &command).await;
            } else {
                self.read(client, &command).await;
            }
            self.to_host(described_at, self.spec.status_bytes, &DESCRIPTOR_DATA, errand).await;
            self.registers.finished().push(command.number, errand);
            self.initiator.interrupt(errand);
        }
    }

    /// To the host's memory, by the card's one engine where it has but one.
    pub(super) async fn to_host(&self, address: u32, bytes: u32, carries: &'static Label, errand: Errand) {
        let Some(engine) = &self.engine else {
            return self.initiator.write(address, bytes, carries, errand).await;
        };
        let grant = engine.lane.acquire(&ENGINE_BUSY).await;
        for (done, part) in engine.bursts(bytes) {
            grant.hold(&SET_UP, engine.lane.paced(engine.spec.setup)).await;
            let start = self.sim.now();
            self.initiator.write(address + done, part, carries, errand).await;
            grant.was_in(&THROUGH, start);
        }
    }

    /// The other way.
    pub(super) async fn read_host(&self, address: u32, bytes: u32, carries: &'static Label, errand: Errand) {
        let Some(engine) = &self.engine else {
            return self.initiator.read(address, bytes, carries, errand).await;
        };
        let grant = engine.lane.acquire(&ENGINE_BUSY).await;
        for (done, part) in engine.bursts(bytes) {
            grant.hold(&SET_UP, engine.lane.paced(engine.spec.setup)).await;
            let start = self.sim.now();
            self.initiator.read(address + done, part, carries, errand).await;
            grant.was_in(&THROUGH, start);
        }
    }

    /// Moves a command's bytes between the memory and the host, page by page.
    pub(super) async fn move_to_host(&self, command: &Command) {
        let mut done = 0;
        while done < command.bytes {
            let part = (command.bytes - done).min(self.spec.page_bytes);
            self.cross_memory(&MOVED, u64::from(part)).await;
            self.to_host(command.buffer + done, part, &DATA, command.errand).await;
            done += part;
        }
    }

    /// The other way.
    pub(super) async fn move_from_host(&self, command: &Command) {
        let mut done = 0;
        while done < command.bytes {
            let part = (command.bytes - done).min(self.spec.page_bytes);
            self.read_host(command.buffer + done, part, &DATA, command.errand).await;
            self.cross_memory(&MOVED, u64::from(part)).await;
            done += part;
        }
    }
}
