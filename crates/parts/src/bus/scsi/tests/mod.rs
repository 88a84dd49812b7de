//! The bus with drives that are nothing but a time to work.

mod phases;
mod sharing;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hopscope_kernel::{Ended, Errand, Label, Observer, Queue, Record};

use super::*;
use crate::controller::scsi::channel::Channel;
use crate::controller::scsi::initiator;
use crate::protocols::scsi::{BLOCK_BYTES, Command, FIFO_EMPTY, FIFO_FULL};
use crate::protocols::storage::{Operation, Request};

static NO_COMMAND: Label = Label::reason("no command");
static MEDIA: Label = Label::protocol("media");

/// What a test's drive is like.
#[derive(Clone, Copy)]
struct Like {
    rate: u64,
    depth: u32,
    works: Time,
    /// Keeps the bus after a command.
    stays: bool,
    /// Moves data in two halves, with as long a work between them, off the bus.
    halves: bool,
}

const LIKE: Like = Like { rate: 1_000_000_000, depth: 4, works: Time::us(100), stays: false, halves: false };

struct TestDrive {
    lane: Lane,
    like: Like,
    bus: Rc<ScsiBus>,
    id: usize,
    commands: Queue<Command>,
    under_way: Cell<u32>,
}

impl Target for TestDrive {
    fn command(&self, command: Command) {
        self.under_way.set(self.under_way.get() + 1);
        assert!(self.commands.try_put(command).is_ok(), "no more commands than tags");
    }
    fn blocks(&self) -> u64 {
        1 << 20
    }
    fn queue_depth(&self) -> u32 {
        self.like.depth
    }
    fn rate(&self) -> u64 {
        self.like.rate
    }
    fn stays_connected(&self, _: &Command) -> bool {
        self.like.stays && self.under_way.get() == 0
    }
}

fn drive(bus: &Rc<ScsiBus>, id: usize, like: Like) -> Rc<TestDrive> {
    let sim = bus.sim.clone();
    let name = format!("drive{id}");
    let lane = sim.lane(&name, None);
    let commands = Queue::new(&sim, 256);
    let drive = Rc::new(TestDrive { lane, like, bus: bus.clone(), id, commands, under_way: Cell::new(0) });
    let target: Rc<dyn Target> = drive.clone();
    bus.attach(id, &name, Rc::downgrade(&target)).expect("a free id");
    let running = drive.clone();
    sim.process(&name, async move {
        loop {
            let command = running.commands.take(&NO_COMMAND).await;
            running.lane.spend(&MEDIA, running.like.works).await;
            let (mut left, tag) = (command.blocks * BLOCK_BYTES, command.tag);
            let mut connection = running.bus.reselect(running.id, tag).await;
            if running.like.halves {
                connection.data(left / 2).await;
                connection.disconnect().await;
                left -= left / 2;
                running.lane.spend(&MEDIA, running.like.works).await;
                connection = running.bus.reselect(running.id, tag).await;
            }
            connection.data(left).await;
            running.under_way.set(running.under_way.get() - 1);
            connection.complete().await;
        }
    });
    drive
}

fn spec(rate: u64) -> Spec {
    let us = |tenths: u64| Time::ns(100 * tenths);
    Spec {
        width_bytes: 2,
        rate,
        round_trip: Time::ns(30),
        fair: false,
        arbitration: us(24),
        selection: us(16),
        reselection: us(16),
        message_out: us(10),
        message_in: us(10),
        command: us(24),
        status: us(10),
    }
}

const END: HostEnd = HostEnd { id: 7, rate: 1_000_000_000, offset: 127, tags: 256, fifo: None };

/// When, for how long, what, and whose.
type Passed = (Time, Time, &'static str, u16);

/// What was seen on the bus: its phases.
#[derive(Default, Clone)]
struct Seen(Rc<RefCell<Vec<Passed>>>);

impl Observer for Seen {
    fn records(&mut self, records: &[Record]) {
        let phases = records.iter().filter_map(Record::span).filter(|span| span.phase_of() == Some(0));
        self.0.borrow_mut().extend(phases.map(|span| (span.at, span.span, span.label.name, span.who)));
    }
    fn wants_phases(&self) -> bool {
        true
    }
}

impl Seen {
    fn phases(&self) -> Vec<Passed> {
        let mut all = self.0.borrow().clone();
        all.sort_by_key(|phase| phase.0);
        for pair in all.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0, "one phase at a time: {pair:?}");
        }
        all
    }

    fn in_phase(&self, name: &str) -> Time {
        self.phases().iter().filter(|phase| phase.2 == name).fold(Time::ZERO, |sum, phase| sum + phase.1)
    }
}

/// A bench: bus, drives by id, and commands `(id, writes, blocks, begins at)`, each a process of its own whose host
/// takes so long for a piece. Returns what was seen, and when each command ended.
fn run(
    spec: Spec,
    end: HostEnd,
    drives: &[(usize, Like)],
    commands: &[(usize, bool, u32, Time)],
    host: Time,
) -> (Seen, Vec<Time>) {
    let sim = Sim::new();
    let channel = Channel::new(&sim, end);
    let bus = channel.plug("bus", spec).expect("an id of the bus");
    let _drives: Vec<_> = drives.iter().map(|&(id, like)| drive(&bus, id, like)).collect();
    let seen = Seen::default();
    sim.observe(Box::new(seen.clone()));
    let ended = Rc::new(RefCell::new(vec![Time::ZERO; commands.len()]));
    let left = Rc::new(Cell::new(commands.len()));
    for (index, &(id, writes, blocks, at)) in commands.iter().enumerate() {
        let (s, channel, ended, left) = (sim.clone(), channel.clone(), ended.clone(), left.clone());
        sim.process(&format!("command{index:03}"), async move {
            s.wait_until(at).await;
            let mut exchange = channel.begin(id, writes, 0, blocks, Errand::NOBODY).await;
            while let Some(bytes) = exchange.next().await {
                s.wait(host).await;
                exchange.moved(bytes);
            }
            ended.borrow_mut()[index] = s.now();
            left.set(left.get() - 1);
            if left.get() == 0 {
                // What has been left to itself is recorded already.
                s.stop();
            }
        });
    }
    assert_eq!(sim.run(Time::ms(10_000)), Ended::Stopped);
    sim.tear_down();
    let ended = ended.borrow().clone();
    (seen, ended)
}
