//! The bus with drives that are nothing but a time to work.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hopscope_kernel::{Ended, Kind, Label, Observer, Queue, Record};

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
        let phases = records.iter().filter(|record| record.kind == Kind::Phase && record.lane == 0);
        self.0.borrow_mut().extend(phases.map(|r| (r.at, r.span, r.label.name, r.who)));
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
            let mut exchange = channel.begin(id, writes, 0, blocks).await;
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

#[test]
fn one_command_is_the_conversation_that_t10_describes() {
    let (seen, ended) = run(spec(40_000_000), END, &[(0, LIKE)], &[(0, false, 8, Time::ZERO)], Time::ZERO);
    let said: Vec<(&str, u64)> = seen.phases().iter().map(|phase| (phase.2, phase.1.as_ps() / 100_000)).collect();
    let expected = [
        ("arbitration", 24),
        ("selection", 16),
        ("message out", 10),
        ("command", 24),
        ("message in", 10),
        ("arbitration", 24),
        ("reselection", 16),
        ("message in", 10),
        ("data in", 1_024),
        ("status", 10),
        ("message in", 10),
    ];
    assert_eq!(said, expected);
    let fixed: u64 = said.iter().filter(|(name, _)| *name != "data in").map(|(_, tenths)| tenths).sum();
    assert_eq!(fixed, 154, "15.4 us besides the data");
    // The drive begins its work when it has the command, while it disconnects.
    let work = Time::us(100) - Time::us(1);
    assert_eq!(ended[0], Time::ns(15_400 + 102_400) + work);
}

#[test]
fn a_full_fifo_pauses_the_bus_until_the_adapter_has_moved_a_piece() {
    let end = HostEnd { fifo: Some((1_024, 512)), ..END };
    // 2 KiB in pieces of 512 B, 12.8 us each; the host takes 30 us for one.
    let (seen, ended) = run(spec(40_000_000), end.clone(), &[(0, LIKE)], &[(0, false, 4, Time::ZERO)], Time::us(30));
    assert_eq!(seen.in_phase("data in"), Time::ns(51_200));
    // The third piece waits for the first to leave, the fourth for the second.
    assert_eq!(seen.in_phase(FIFO_FULL.name), Time::ns(30_000 - 12_800) * 2);
    let last_data = Time::ns(8_400 + 99_000 + 5_000 + 51_200 + 2 * 17_200);
    let moved = Time::ns(8_400 + 99_000 + 5_000 + 12_800) + Time::us(30) * 4;
    assert!(moved > last_data + Time::us(2));
    assert_eq!(ended[0], moved, "the command ends for its host when the last piece has left");
    let (seen, _) = run(spec(40_000_000), end, &[(0, LIKE)], &[(0, false, 4, Time::ZERO)], Time::us(12));
    assert_eq!(seen.in_phase(FIFO_FULL.name), Time::ZERO, "a host faster than the bus never pauses it");
}

#[test]
fn an_empty_fifo_pauses_the_bus_of_a_write() {
    let end = HostEnd { fifo: Some((1_024, 512)), ..END };
    let (seen, ended) = run(spec(40_000_000), end, &[(0, LIKE)], &[(0, true, 4, Time::ZERO)], Time::us(30));
    assert_eq!(seen.in_phase("data out"), Time::ns(51_200));
    // Two pieces are asked for at once, each of the others when room is there: the host is never idle.
    assert_eq!(seen.in_phase(FIFO_EMPTY.name), Time::us(30) + Time::ns(30_000 - 12_800) * 3);
    assert_eq!(ended[0], Time::ns(8_400 + 99_000 + 5_000) + Time::us(120) + Time::ns(12_800 + 2_000));
}

#[test]
fn the_highest_id_wins_and_the_second_eight_come_last() {
    // All drives have their data while a long transfer has the bus; they come back in the order of their ids.
    let ids = [0, 3, 6, 8, 12, 15];
    let drives: Vec<_> = ids.iter().map(|&id| (id, Like { works: Time::us(300), ..LIKE })).collect();
    let mut drives_and_first = drives.clone();
    drives_and_first.push((1, Like { works: Time::us(1), ..LIKE }));
    let mut commands: Vec<_> = ids.iter().map(|&id| (id, false, 1, Time::us(id as u64))).collect();
    commands.push((1, false, 64, Time::us(200)));
    let (seen, ended) = run(spec(40_000_000), END, &drives_and_first, &commands, Time::ZERO);
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by_key(|&index| ended[index]);
    assert_eq!(order.iter().map(|&index| ids[index]).collect::<Vec<_>>(), [6, 3, 0, 15, 12, 8]);
    assert_eq!(seen.in_phase("status"), Time::us(7));
}

#[test]
fn the_initiator_wins_against_every_drive() {
    let drives = [(0, LIKE), (6, Like { works: Time::us(110), ..LIKE })];
    // Drive 0 has the bus for 819 us from 112 us on; drive 6 and the next command wait for it.
    let commands = [(0, false, 64, Time::ZERO), (6, false, 1, Time::us(10)), (0, false, 1, Time::us(300))];
    let (seen, _) = run(spec(40_000_000), END, &drives, &commands, Time::ZERO);
    let phases = seen.phases();
    let long = phases.iter().position(|phase| phase.1 > Time::us(800)).expect("the long transfer");
    let next: Vec<&str> = phases[long + 1..long + 5].iter().map(|phase| phase.2).collect();
    assert_eq!(next, ["status", "message in", "arbitration", "selection"]);
}

#[test]
fn drives_that_work_at_the_same_time_share_the_bus() {
    let one = run(spec(40_000_000), END, &[(0, LIKE)], &[(0, false, 16, Time::ZERO)], Time::ZERO).1[0];
    let drives = [(0, LIKE), (1, LIKE)];
    let commands = [(0, false, 16, Time::ZERO), (1, false, 16, Time::ZERO)];
    let (seen, ended) = run(spec(40_000_000), END, &drives, &commands, Time::ZERO);
    assert!(ended[0].max(ended[1]) < one + Time::us(230), "the second works while the first does: {ended:?} {one}");
    // Both commands are sent before either drive comes back.
    let phases = seen.phases();
    let second = phases.iter().rposition(|phase| phase.2 == "selection").expect("two selections");
    let back = phases.iter().position(|phase| phase.2 == "reselection").expect("two reselections");
    assert!(second < back);
}

#[test]
fn a_drive_that_leaves_in_the_middle_lets_another_one_have_the_bus() {
    let drives = [(0, Like { halves: true, ..LIKE }), (1, LIKE)];
    let commands = [(0, false, 16, Time::ZERO), (1, false, 16, Time::us(95))];
    let (seen, ended) = run(spec(40_000_000), END, &drives, &commands, Time::ZERO);
    assert!(ended[1] < ended[0]);
    let said: Vec<&str> = seen.phases().iter().map(|phase| phase.2).collect();
    assert_eq!(said.iter().filter(|name| **name == "reselection").count(), 3);
    assert_eq!(seen.in_phase("data in"), Time::ns(204_800) * 2);
}

#[test]
fn a_drive_that_stays_connected_saves_a_disconnection_and_a_return_and_blocks_the_bus() {
    let stays = Like { stays: true, ..LIKE };
    let commands = [(0, false, 8, Time::ZERO), (1, false, 8, Time::us(20))];
    for (like, writes) in [(stays, false), (stays, true)] {
        let fifo = Some((4_096, 4_096));
        let commands = commands.map(|(id, _, blocks, at)| (id, writes, blocks, at));
        let (seen, ended) =
            run(spec(40_000_000), HostEnd { fifo, ..END }, &[(0, like), (1, LIKE)], &commands, Time::ZERO);
        assert_eq!(ended[0], Time::ns(7_400 + 100_000 + 102_400 + 2_000));
        let said: Vec<&str> = seen.phases().iter().take(8).map(|phase| phase.2).collect();
        let data = if writes { "data out" } else { "data in" };
        let conversation = [
            "arbitration",
            "selection",
            "message out",
            "command",
            "no REQ from the drive",
            data,
            "status",
            "message in",
        ];
        assert_eq!(said, conversation);
        let other = seen.phases().iter().filter(|phase| phase.2 == "arbitration").nth(1).expect("a second").0;
        assert_eq!(other, ended[0], "nobody else had the bus before");
    }
}

#[test]
fn data_move_at_the_slowest_of_bus_adapter_drive_and_offset() {
    let data = |bus: u64, adapter: u64, drive: u64, offset: u64| {
        let end = HostEnd { rate: adapter, offset, ..END };
        let like = Like { rate: drive, ..LIKE };
        run(spec(bus), end, &[(0, like)], &[(0, false, 8, Time::ZERO)], Time::ZERO).0.in_phase("data in")
    };
    for rate in [40_000_000, 80_000_000, 160_000_000, 320_000_000] {
        let expected = Time::ps(4_096 * 1_000_000_000_000 / rate);
        assert_eq!(data(rate, 1_000_000_000, 1_000_000_000, 127), expected);
        assert_eq!(data(1_000_000_000, rate, 1_000_000_000, 127), expected);
        assert_eq!(data(1_000_000_000, 1_000_000_000, rate, 127), expected);
    }
    // One transfer a round trip of 30 ns, two in 30 ns, and as many as there is time for.
    assert_eq!(data(320_000_000, 320_000_000, 320_000_000, 1), Time::ns(2_048 * 30));
    assert_eq!(data(320_000_000, 320_000_000, 320_000_000, 2), Time::ns(2_048 * 15));
    assert_eq!(data(320_000_000, 320_000_000, 320_000_000, 5), Time::ps(2_048 * 6_250));
    let narrow = Spec { width_bytes: 1, ..spec(20_000_000) };
    let (seen, _) = run(narrow, END, &[(0, LIKE)], &[(0, false, 8, Time::ZERO)], Time::ZERO);
    assert_eq!(seen.in_phase("data in"), Time::ns(204_800));
}

#[test]
fn every_phase_takes_its_time_and_a_tag_is_waited_for() {
    let slower = Time::us(10);
    let plain = run(spec(40_000_000), END, &[(0, LIKE)], &[(0, false, 8, Time::ZERO)], Time::ZERO).1[0];
    type Of = fn(&mut Spec) -> &mut Time;
    let cases: [(&str, Of, u64); 7] = [
        ("arbitration", |spec| &mut spec.arbitration, 2),
        ("selection", |spec| &mut spec.selection, 1),
        ("reselection", |spec| &mut spec.reselection, 1),
        ("message out", |spec| &mut spec.message_out, 1),
        // The drive works while the bus is still at its first message: two of three are waited for.
        ("message in", |spec| &mut spec.message_in, 2),
        ("command", |spec| &mut spec.command, 1),
        ("status", |spec| &mut spec.status, 1),
    ];
    for (name, of, times) in cases {
        let mut changed = spec(40_000_000);
        *of(&mut changed) += slower;
        let ended = run(changed, END, &[(0, LIKE)], &[(0, false, 8, Time::ZERO)], Time::ZERO).1[0];
        assert_eq!(ended, plain + slower * times, "{name}");
    }
    let both = [(0, false, 8, Time::ZERO), (0, false, 8, Time::ZERO)];
    let selections = |tags, depth| {
        let like = Like { depth, ..LIKE };
        let (seen, _) = run(spec(40_000_000), HostEnd { tags, ..END }, &[(0, like)], &both, Time::ZERO);
        let phases = seen.phases();
        let first_back = phases.iter().position(|phase| phase.2 == "reselection").expect("a return");
        phases[..first_back].iter().filter(|phase| phase.2 == "selection").count()
    };
    assert_eq!([selections(1, 4), selections(4, 1), selections(2, 2)], [1, 1, 2]);
}

#[test]
fn a_drive_has_an_id_of_the_bus_that_nobody_else_has() {
    let sim = Sim::new();
    let attach = |end: HostEnd, spec: Spec, ids: &[usize]| {
        let bus = Channel::new(&sim, end).plug("bus", spec)?;
        let none: Weak<TestDrive> = Weak::new();
        ids.iter().try_for_each(|&id| bus.attach(id, "drive", none.clone()))
    };
    let narrow = Spec { width_bytes: 1, ..spec(20_000_000) };
    let refused = |end: &HostEnd, spec: &Spec, ids: &[usize]| attach(end.clone(), spec.clone(), ids).unwrap_err();
    assert_eq!(refused(&END, &narrow, &[0, 8]), "this bus has ids 0 to 7");
    assert_eq!(refused(&END, &narrow, &[0, 7]), "id 7 is the adapter's own");
    assert_eq!(refused(&END, &spec(1 << 20), &[3, 15, 3]), "id 3 is taken");
    let beyond = HostEnd { id: 9, ..END };
    assert_eq!(refused(&beyond, &narrow, &[]), "the adapter has id 9, this bus has ids 0 to 7");
    assert_eq!(attach(END, narrow, &[0, 6]), Ok(()));
}

/// A number below `below`, from a fixed sequence.
fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

#[test]
fn random_systems_never_beat_the_bus_and_every_byte_crosses_it_once() {
    for seed in 0..300 {
        let s = &mut (seed * 0x9E37_79B9 + 1);
        let rate = [10_000_000, 40_000_000, 80_000_000, 160_000_000, 320_000_000][draw(s, 5) as usize];
        let fifo = [None, Some((512, 256)), Some((512, 512)), Some((1_024, 128)), Some((65_536, 4_096))];
        let end = HostEnd {
            id: [7, 0, 15][draw(s, 3) as usize],
            rate: [40_000_000, 160_000_000, 1_000_000_000][draw(s, 3) as usize],
            offset: [1, 8, 127][draw(s, 3) as usize],
            tags: [1, 2, 64][draw(s, 3) as usize],
            fifo: fifo[draw(s, 5) as usize],
        };
        let ids: Vec<usize> = (0..IDS_MAX).filter(|&id| id != end.id).take(1 + draw(s, 6) as usize).collect();
        let like = |s: &mut u64| Like {
            rate: [20_000_000, 80_000_000, 1_000_000_000][draw(s, 3) as usize],
            depth: 1 + draw(s, 8) as u32,
            works: Time::us(draw(s, 200)),
            stays: draw(s, 3) == 0,
            halves: draw(s, 3) == 0,
        };
        let drives: Vec<_> = ids.iter().map(|&id| (id, like(s))).collect();
        let commands: Vec<_> = (0..1 + draw(s, 24))
            .map(|_| {
                let id = ids[draw(s, ids.len() as u64) as usize];
                (id, draw(s, 2) == 0, 1 + draw(s, 40) as u32, Time::us(draw(s, 900)))
            })
            .collect();
        let host = Time::ns(draw(s, 40_000));
        let (seen, ended) = run(spec(rate), end, &drives, &commands, host);
        let bytes: u64 = commands.iter().map(|command| u64::from(command.2 * BLOCK_BYTES)).sum();
        let fastest = Time::ps(bytes / 2 * 2_000_000_000_000_u64.div_ceil(rate));
        let data = seen.in_phase("data in") + seen.in_phase("data out");
        assert!(data >= fastest, "seed {seed}: {data} for {bytes} bytes");
        assert_eq!(seen.in_phase("status"), Time::us(commands.len() as u64), "seed {seed}");
        assert!(ended.iter().all(|end| *end > Time::ZERO), "seed {seed}");
    }
}

/// Events of the kernel that a read of 8 blocks costs, with so many at a time, the drive's own one among them.
fn events_a_request(in_flight: usize) -> f64 {
    const REQUESTS: usize = 2_000;
    let sim = Sim::new();
    let channel = Channel::new(&sim, END);
    let bus = channel.plug("bus", spec(40_000_000)).expect("an id of the bus");
    let _drive = drive(&bus, 0, Like { depth: 32, ..LIKE });
    let volumes = initiator::install(&sim, "initiator", &channel);
    let (storage, s) = (volumes[0].1.clone(), sim.clone());
    sim.process("job", async move {
        let done = Queue::new(&s, in_flight);
        for request in 0..REQUESTS {
            if request >= in_flight {
                done.take(&NO_COMMAND).await;
            }
            let (issued, done, operation) = (s.now(), done.clone(), Operation::Read);
            storage.submit(Request { operation, offset_bytes: 0, bytes: 4_096, issued, done });
        }
        for _ in 0..in_flight {
            done.take(&NO_COMMAND).await;
        }
        s.stop();
    });
    assert_eq!(sim.run(Time::ms(100_000)), Ended::Stopped);
    let events = sim.counts().events;
    sim.tear_down();
    events as f64 / REQUESTS as f64
}

#[test]
fn a_command_costs_few_events() {
    // Bus won, command sent; the drive's work; bus won, data sent; status there.
    for in_flight in [1, 4, 16] {
        let events = events_a_request(in_flight);
        assert!(events <= 6.01, "{in_flight} in flight: {events} events a request");
    }
}
