//! The barest initiator: a SCSI bus and whoever asks, and of a host one time a command. Data vanish at once.
//!
//! ```text
//!   requests of a drive ─▶ as many as it has tags ─▶ host, one command at a time ─▶ the bus
//! ```
//!
//! With it, one drive on its bus can be run by itself, as fast as a simulation can. The host's time is that of whoever
//! measured a drive: what its driver and its adapter took of each command is in such measurements, and is not the
//! drive's.
//!
//! Not modelled: anything else of a host. A request of more than 65,535 blocks goes as several commands, one after the other.

use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Lane, Sim, Time};

use super::channel::Channel;
use crate::bus::scsi::HostEnd;
use crate::cpu::{Layer, Processor};
use crate::protocols::scsi::{BLOCK_BYTES, BLOCKS_MAX};
use crate::protocols::storage::{Operation, Request, Storage};
use crate::requests::submission::Backlog;

static BEGUN_LATER: Label = Label::queued("behind other requests of the drive");
static HOST_BUSY: Label = Label::reason("the host has another command");
static HOST: Label = Label::protocol("driver and adapter of the host");

/// What an initiator is like.
#[derive(Clone, Spec)]
pub struct Spec {
    /// Its end of the bus.
    #[nested]
    pub end: HostEnd,
    /// What the host takes of each command, before it sends it.
    #[time("host.command")]
    pub command: Time,
}

/// The host, where it takes time.
struct Host {
    lane: Lane,
    command: Time,
}

/// A drive, as jobs see it.
struct Volume {
    sim: Sim,
    channel: Rc<Channel>,
    target: usize,
    blocks: u64,
    requests: Backlog,
    host: Option<Rc<Host>>,
}

/// Gives every drive of the channel processes that carry its commands; returns the drives, by their names.
pub fn install(sim: &Sim, name: &str, channel: &Rc<Channel>, command: Time) -> Vec<(String, Rc<dyn Storage>)> {
    let lane = || sim.lane(&format!("{name}.host"), None);
    let host = (command > Time::ZERO).then(|| Rc::new(Host { lane: lane(), command }));
    let mut volumes: Vec<(String, Rc<dyn Storage>)> = Vec::new();
    for (target, drive, blocks) in channel.targets() {
        let requests = Backlog::new(sim);
        let (channel, host) = (channel.clone(), host.clone());
        let volume = Rc::new(Volume { sim: sim.clone(), channel, target, blocks, requests, host });
        for tag in 0..volume.channel.tags(target) {
            let running = volume.clone();
            sim.process(&format!("{name}.id{target}.command{tag:03}"), async move { running.run().await });
        }
        volumes.push((drive, volume));
    }
    volumes
}

impl Volume {
    async fn run(&self) {
        let bus = self.channel.bus();
        let lane = bus.as_ref().map(|bus| bus.lane());
        self.requests.each(lane, &BEGUN_LATER, async |request| self.carry_out(request).await).await;
    }

    async fn carry_out(&self, request: Request) {
        let Request { operation, offset_bytes, bytes, errand, .. } = request;
        let (mut lba, mut left) = (offset_bytes / u64::from(BLOCK_BYTES), bytes / BLOCK_BYTES);
        while left > 0 {
            let blocks = left.min(BLOCKS_MAX);
            let writes = operation == Operation::Write;
            if let Some(Host { lane, command }) = self.host.as_deref() {
                lane.acquire(&HOST_BUSY).await.hold(&HOST, lane.paced(*command)).await;
            }
            let mut exchange = self.channel.begin(self.target, writes, lba, blocks, errand).await;
            while let Some(bytes) = exchange.next().await {
                exchange.moved(bytes);
            }
            (lba, left) = (lba + u64::from(blocks), left - blocks);
        }
        request.end(&self.sim);
    }
}

impl Storage for Volume {
    fn submit(&self, request: Request) {
        self.requests.put(request);
    }

    fn size_bytes(&self) -> u64 {
        self.blocks * u64::from(BLOCK_BYTES)
    }

    fn block_bytes(&self) -> u32 {
        BLOCK_BYTES
    }

    fn processor(&self) -> Option<Rc<Processor>> {
        None
    }

    fn above(&self, _: Operation, _: u32) -> (Layer, Time) {
        (Layer::FileSystem, Time::ZERO)
    }
}
