//! The drive on a bus of its own, against figures worked out by hand.

use std::cell::RefCell;

use hopscope_kernel::{Ended, Errand, Observer, Record};

use super::spec::{Marks, Reach};
use super::*;
use crate::bus::scsi as bus;
use crate::controller::scsi::channel::Channel;
use crate::disk::geometry::Geometry;
use crate::disk::geometry::tests::small;
use crate::parameters::{Parameters, Value};

/// Every phase but data takes a microsecond.
fn bus_spec() -> bus::Spec {
    let us = || Value::Time(Time::us(1));
    let phases = ["arbitration", "selection", "reselection", "message_out", "message_in", "command", "status"];
    let mut values: Vec<(&str, Value)> = phases.iter().map(|phase| (*phase, us())).collect();
    values.push(("order", Value::Text("ids".into())));
    values.extend([("width", Value::Bytes(2)), ("rate", Value::Rate(40_000_000)), ("round_trip", us())]);
    bus::Spec::read(&mut Parameters::of(values)).expect("a right bus")
}

/// Before a drive has a command; from its coming back to its data; and from the data to the end of the command.
const BEGINS: Time = Time::us(4);
const RETURNS: Time = Time::us(3);
const ENDS: Time = Time::us(2);
/// A block at 40 MB/s.
const BLOCK: Time = Time::ns(12_800);

fn spec() -> Spec {
    let overheads = |us: [u64; 8]| {
        let names = ["read_hit", "read_miss", "write_hit", "write_miss"];
        let keys =
            names.iter().flat_map(|name| ["read", "write"].map(|before| format!("overhead.{name}_after_{before}")));
        let values: Vec<(String, Value)> = keys.zip(us).map(|(key, us)| (key, Value::Time(Time::us(us)))).collect();
        values
    };
    let mut values = vec![
        ("rotation".to_string(), Value::Period(Time::ms(10))),
        ("heads".into(), Value::Count(2)),
        ("sectors".into(), Value::Count(3_000)),
        ("head_switch".into(), Value::Time(Time::us(500))),
        ("write_settle".into(), Value::Time(Time::us(100))),
        ("read_settle".into(), Value::Time(Time::ZERO)),
        ("layout.heads".into(), Value::Text("forward".into())),
        ("layout.spare_group".into(), Value::Count(0)),
        ("seek.between".into(), Value::Text("straight line".into())),
        ("interface.rate".into(), Value::Rate(40_000_000)),
        ("interface.stays_connected".into(), Value::Text("false".into())),
        ("queue.depth".into(), Value::Count(8)),
        ("queue.scheduling".into(), Value::Text("fcfs".into())),
        ("buffer.segments".into(), Value::Count(3)),
        ("buffer.segment".into(), Value::Count(64)),
        ("buffer.burst".into(), Value::Count(64)),
        ("buffer.read_ahead".into(), Value::Count(0)),
        ("buffer.read_ahead_to".into(), Value::Text("sectors".into())),
        ("buffer.read_ahead_after".into(), Value::Text("every read".into())),
        ("buffer.read_ahead_after_hit".into(), Value::Text("true".into())),
        ("buffer.high_water".into(), Value::Share(0)),
        ("buffer.low_water".into(), Value::Share(0)),
        ("buffer.water_of".into(), Value::Text("request".into())),
        ("overhead.read_completion".into(), Value::Time(Time::ZERO)),
        ("overhead.write_completion".into(), Value::Time(Time::ZERO)),
        ("buffer.write_segments".into(), Value::Count(1)),
    ];
    values.extend(overheads([10, 20, 30, 40, 50, 60, 70, 80]));
    let count = |n| Value::Count(n);
    let zone = [
        ("first_cylinder", count(0)),
        ("cylinders", count(20)),
        ("sectors_per_track", count(100)),
        ("track_skew", count(10)),
        ("cylinder_skew", count(20)),
        ("offset", count(0)),
        ("front", count(0)),
        ("spares", count(0)),
    ];
    let points = [(1, 1_000), (5, 2_000), (19, 5_500)];
    let curve = points
        .map(|(distance, us)| Parameters::of([("distance", count(distance)), ("time", Value::Time(Time::us(us)))]));
    let none = Parameters::of([("zone", count(0)), ("first", count(0)), ("sectors", count(0))]);
    values.push(("slips.rows".into(), Value::Rows(vec![none])));
    values.push(("zones.rows".into(), Value::Rows(vec![Parameters::of(zone)])));
    values.push(("seek.rows".into(), Value::Rows(curve.to_vec())));
    Spec::read(&mut Parameters::of(values)).expect("a right drive")
}

/// When, for how long, what.
type Phase = (Time, Time, &'static str);

/// What the arm did.
#[derive(Default, Clone)]
struct Seen(Rc<RefCell<Vec<Phase>>>);

impl Observer for Seen {
    fn records(&mut self, records: &[Record]) {
        // The bus, the firmware, the arm.
        let phases = records.iter().filter_map(Record::span).filter(|span| span.phase_of() == Some(2));
        self.0.borrow_mut().extend(phases.map(|span| (span.at, span.span, span.label.name)));
    }
    fn wants_phases(&self) -> bool {
        true
    }
}

impl Seen {
    fn spans(&self, name: &str) -> Vec<Time> {
        self.0.borrow().iter().filter(|phase| phase.2 == name).map(|phase| phase.1).collect()
    }
}

/// A command, and the time after the end of the one before at which it is sent.
type Asked = (bool, u64, u32, Time);

fn run_with(spec: &Spec, asked: &[Asked], together: bool) -> (Vec<(Time, Time)>, Seen, Geometry) {
    let sim = Sim::new();
    let end = bus::HostEnd { id: 7, rate: 1_000_000_000, offset: 255, tags: 256, fifo: None };
    let channel = Channel::new(&sim, end);
    let bus = channel.plug("bus", bus_spec()).expect("a bus");
    let disk = ScsiDisk::new(&sim, "disk", spec.clone(), &bus, 0, 1).expect("a free id");
    let seen = Seen::default();
    sim.observe(Box::new(seen.clone()));
    let times = Rc::new(RefCell::new(vec![(Time::ZERO, Time::ZERO); asked.len()]));
    let send = |asked: Vec<(usize, Asked)>| {
        let (sim, channel, times) = (sim.clone(), channel.clone(), times.clone());
        async move {
            for (index, (writes, lba, blocks, gap)) in asked {
                sim.wait(gap).await;
                let since = sim.now();
                let mut exchange = channel.begin(0, writes, lba, blocks, Errand::NOBODY).await;
                while let Some(bytes) = exchange.next().await {
                    exchange.moved(bytes);
                }
                times.borrow_mut()[index] = (since, sim.now());
            }
        }
    };
    let all: Vec<(usize, Asked)> = asked.iter().copied().enumerate().collect();
    if together {
        for one in all {
            sim.process(&format!("host{:02}", one.0), send(vec![one]));
        }
    } else {
        sim.process("host", send(all));
    }
    assert!(matches!(sim.run(Time::ms(10_000)), Ended::Deadlock(_)), "the drive waits for ever, not the host");
    let times = times.borrow().clone();
    let geometry = disk.geometry.clone();
    sim.tear_down();
    (times, seen, geometry)
}

fn run(spec: &Spec, asked: &[Asked]) -> (Vec<(Time, Time)>, Seen, Geometry) {
    run_with(spec, asked, false)
}

#[test]
fn a_read_takes_overhead_seek_rotation_media_and_bus_to_the_picosecond() {
    for (lba, cylinders) in [(0, 0), (50, 0), (200, 1), (612, 3), (1_100, 5), (2_999, 14)] {
        let (times, seen, geometry) = run(&spec(), &[(false, lba, 1, Time::us(123))]);
        let arrives = times[0].0 + BEGINS + Time::us(30);
        let seek = if cylinders == 0 { Time::ZERO } else { geometry.seek_time(cylinders) };
        // The curve is 1 ms, 2 ms and 5.5 ms at 1, 5 and 19 cylinders, and straight in between.
        let by_hand = [(0, 0), (1, 1_000), (3, 1_500), (5, 2_000), (14, 4_250)];
        let (_, us) = by_hand.into_iter().find(|(distance, _)| *distance == cylinders).unwrap();
        assert_eq!(seek, Time::us(us));
        let pass = geometry.next_pass(geometry.place(lba), arrives + seek);
        let come = geometry.passed(geometry.place(lba), pass, 1);
        assert_eq!(times[0].1, come + RETURNS + BLOCK + ENDS, "block {lba}");
        assert_eq!(seen.spans("seek and settle").first().copied().unwrap_or_default(), seek);
        assert_eq!(seen.spans("rotation").first().copied().unwrap_or_default(), pass - arrives - seek);
        assert_eq!(seen.spans("read media"), [Time::us(100)], "a track has 100 sectors and turns in 10 ms");
    }
}

#[test]
fn a_sector_is_there_when_it_comes_and_not_a_picosecond_later() {
    let (times, _, geometry) = run(&spec(), &[(false, 40, 1, Time::ZERO)]);
    let arrives = times[0].0 + BEGINS + Time::us(30);
    let pass = geometry.next_pass(geometry.place(40), arrives);
    let gap = pass - arrives;
    let (exact, _, _) = run(&spec(), &[(false, 40, 1, gap)]);
    assert_eq!(exact[0].1 - exact[0].0, BEGINS + Time::us(30 + 100) + RETURNS + BLOCK + ENDS, "no rotation at all");
    let (late, _, _) = run(&spec(), &[(false, 40, 1, gap + Time::ps(1))]);
    assert_eq!(late[0].1 - exact[0].1, Time::ms(10), "a revolution later");
}

#[test]
fn the_next_track_begins_a_skew_later_and_the_next_cylinder_another() {
    for (lba, skew) in [(90, 10), (190, 20)] {
        let (_, seen, _) = run(&spec(), &[(false, lba, 20, Time::ZERO)]);
        assert_eq!(seen.spans("to the next track"), [Time::us(100 * skew)], "from block {lba}");
        let media = seen.spans("read media").into_iter().fold(Time::ZERO, |sum, span| sum + span);
        assert_eq!(media, Time::ms(2), "20 sectors, whatever is between them");
    }
}

#[test]
fn a_hit_costs_its_overhead_and_the_bus() {
    let spec = Spec { read_ahead_sectors: 40, ..spec() };
    let asked = [(false, 0, 8, Time::ZERO), (false, 8, 8, Time::ms(20)), (false, 0, 4, Time::ms(20))];
    let (times, _, _) = run(&spec, &asked);
    for (index, blocks) in [(1, 8), (2, 4)] {
        let took = times[index].1 - times[index].0;
        assert_eq!(took, BEGINS + Time::us(10) + Time::us(1) + RETURNS - Time::us(1) + BLOCK * blocks + ENDS);
    }
    // Without the phases of leaving and coming back.
    let stays = Spec { stays_connected: true, ..spec };
    let (times, _, _) = run(&stays, &asked);
    assert_eq!(times[1].1 - times[1].0, BEGINS + Time::us(10) + BLOCK * 8 + ENDS);
}

#[test]
fn a_stream_is_joined_where_it_is() {
    let spec = Spec { read_ahead_sectors: 60, ..spec() };
    // The second read comes while the head reads on: it waits for the media, not for another revolution.
    let (times, _, _) = run(&spec, &[(false, 0, 8, Time::ZERO), (false, 8, 40, Time::us(200))]);
    let took = times[1].1 - times[1].0;
    assert!(took < Time::us(4_500), "{took}");
    let (times, _, _) =
        run(&Spec { read_ahead_sectors: 0, ..spec }, &[(false, 0, 8, Time::ZERO), (false, 8, 40, Time::us(200))]);
    assert!(times[1].1 - times[1].0 > Time::ms(10), "without read-ahead the sector has gone by");
}

#[test]
fn read_ahead_goes_on_after_a_hit_if_the_drive_does_that() {
    let ahead = Spec { read_ahead_sectors: 16, ..spec() };
    let asked = [(false, 0, 8, Time::ZERO), (false, 8, 8, Time::ms(20)), (false, 24, 8, Time::ms(20))];
    let hit = |spec: &Spec| {
        let (times, _, _) = run(spec, &asked);
        times[2].1 - times[2].0 < Time::us(200)
    };
    assert!(hit(&ahead));
    assert!(!hit(&Spec { read_ahead_after_hit: false, ..ahead }));
}

#[test]
fn a_write_is_reported_when_it_is_in_a_segment_and_on_the_media_where_none_has_room() {
    let asked = [(true, 0, 8, Time::ZERO), (true, 1_000, 8, Time::us(10))];
    let (times, _, _) = run(&spec(), &asked);
    let bus = BEGINS + RETURNS + BLOCK * 8 + ENDS;
    assert_eq!(times[0].1 - times[0].0, bus + Time::us(50), "write hit after a read");
    assert!(times[1].1 - times[1].0 > Time::ms(1), "the only segment for writes is full");
    let (times, _, _) = run(&Spec { write_segments: 2, ..spec() }, &asked);
    assert_eq!(times[1].1 - times[1].0, bus + Time::us(60), "write hit after a write");
    let (times, _, geometry) = run(&Spec { write_segments: 0, ..spec() }, &asked[..1]);
    let arrives = times[0].0 + BEGINS + Time::us(70);
    let there = geometry.place(0);
    // The data are fetched first: the arm is there already.
    let fetched = arrives + RETURNS + BLOCK * 8;
    let written = geometry.passed(there, geometry.next_pass(there, fetched), 8);
    assert_eq!(times[0].1, written + RETURNS + ENDS);
}

#[test]
fn writes_that_follow_each_other_share_a_segment_and_a_revolution() {
    let asked: Vec<Asked> = (0..8).map(|n| (true, 8 * n, 8, Time::us(5))).collect();
    let (times, seen, _) = run(&spec(), &asked);
    assert!(times.iter().all(|(since, end)| *end - *since < Time::us(300)), "{times:?}");
    let written = seen.spans("write media").into_iter().fold(Time::ZERO, |sum, span| sum + span);
    assert_eq!(written, Time::us(6_400), "64 sectors");
    let lost = seen.spans("rotation").into_iter().skip(1).fold(Time::ZERO, |sum, span| sum + span);
    assert_eq!(lost, Time::ZERO, "after the first one each sector comes as the one before ends");
}

#[test]
fn a_long_run_of_writes_goes_to_the_media_without_a_lost_revolution() {
    let asked: Vec<Asked> = (0..16).map(|n| (true, 32 * n, 32, Time::ZERO)).collect();
    for write_segments in [1, 0] {
        let spec = Spec { write_segments, ..spec() };
        let (times, seen, _) = run_with(&spec, &asked, true);
        let end = times.iter().map(|(_, end)| *end).max().unwrap();
        let rotation = seen.spans("rotation").into_iter().fold(Time::ZERO, |sum, span| sum + span);
        // 512 sectors are 51.2 ms of media and five changes of track, of 1 or 2 ms.
        assert!(end < Time::ms(75) && rotation < Time::ms(20), "{write_segments} segments: {end}, {rotation}");
    }
}

#[test]
fn what_was_written_is_read_from_the_buffer() {
    let (times, _, _) = run(&spec(), &[(true, 500, 8, Time::ZERO), (false, 500, 8, Time::us(5))]);
    assert_eq!(times[1].1 - times[1].0, BEGINS + Time::us(20) + RETURNS + BLOCK * 8 + ENDS, "read hit after a write");
}

#[test]
fn a_long_read_comes_in_bursts_that_end_with_the_media() {
    let short = Spec { burst_sectors: 16, ..spec() };
    let (times, seen, _) = run(&short, &[(false, 0, 96, Time::ZERO)]);
    let media_end = seen.0.borrow().last().map(|(at, span, _)| *at + *span).unwrap();
    assert_eq!(times[0].1, media_end + RETURNS + BLOCK + ENDS, "the last block crosses when it has come");
    // A bus slower than the media is what decides.
    let slow = Spec { rate: 1_000_000, ..spec() };
    let (times, seen, _) = run(&slow, &[(false, 0, 32, Time::ZERO)]);
    let first_come = seen.0.borrow().iter().find(|phase| phase.2 == "read media").unwrap().0 + Time::us(100);
    assert_eq!(times[0].1, first_come + RETURNS + Time::us(512) * 32 + ENDS);
}

#[test]
fn a_command_ends_when_the_drive_has_completed_it() {
    let asked = [(false, 0, 8, Time::ZERO), (false, 0, 4, Time::ms(20)), (true, 40, 4, Time::ms(20))];
    let (times, _, _) = run(&spec(), &asked);
    let slow = Spec { read_completion: Time::us(81), write_completion: Time::us(55), ..spec() };
    let (later, _, _) = run(&slow, &asked);
    let took = |times: &[(Time, Time)], index: usize| times[index].1 - times[index].0;
    assert_eq!(took(&later, 1) - took(&times, 1), Time::us(81), "a read");
    assert_eq!(took(&later, 2) - took(&times, 2), Time::us(55), "a write");
}

#[test]
fn a_read_crosses_the_bus_from_its_high_water_mark_on() {
    let slow = |high_ppm, of_request| {
        let marks = Marks { high_ppm, low_ppm: 0, of_request };
        let spec = Spec { rate: 1_000_000, marks, ..spec() };
        let (times, seen, _) = run(&spec, &[(false, 0, 32, Time::ZERO)]);
        let begins = seen.0.borrow().iter().find(|phase| phase.2 == "read media").unwrap().0;
        times[0].1 - begins - RETURNS - Time::us(512) * 32 - ENDS
    };
    assert_eq!(slow(0, true), Time::us(100), "from the first sector on, while the others come");
    assert_eq!(slow(500_000, true), Time::us(1_600), "from half of the request on");
    assert_eq!(slow(250_000, false), Time::us(1_600), "from a quarter of a segment on");
    assert_eq!(slow(1_000_000, true), Time::us(3_200), "when all of it is there");
}

#[test]
fn a_write_asks_for_more_at_its_low_water_mark() {
    let took = |low_ppm| {
        let marks = Marks { high_ppm: 0, low_ppm, of_request: false };
        let spec = Spec { marks, burst_sectors: 16, write_segments: 0, ..spec() };
        let (times, seen, _) = run(&spec, &[(true, 0, 256, Time::ZERO)]);
        let lost = seen.spans("rotation").iter().skip(1).filter(|span| **span > Time::ms(1)).count();
        (times[0].1, lost)
    };
    let ((half, none), (empty, some)) = (took(500_000), took(0));
    assert_eq!(none, 0, "a segment of 64 sectors is filled again while the other half is written");
    assert!(
        some >= 3 && empty > half + Time::ms(20),
        "when it is empty the sector has gone by: {some}, {empty} {half}"
    );
}

/// Whether each read is a hit.
fn hits(spec: &Spec, asked: &[Asked]) -> Vec<bool> {
    let (times, _, _) = run(spec, asked);
    times.iter().map(|(since, end)| *end - *since < Time::us(200)).collect()
}

#[test]
fn a_drive_reads_on_only_after_reads_in_order_where_it_does_that() {
    let asked = [(false, 0, 8, Time::ZERO), (false, 8, 8, Time::ms(20)), (false, 16, 8, Time::ms(20))];
    let always = Spec { read_ahead_sectors: 40, ..spec() };
    assert_eq!(hits(&always, &asked), [false, true, true]);
    assert_eq!(hits(&Spec { read_ahead_in_order: true, ..always }, &asked), [false, false, true]);
}

#[test]
fn a_drive_reads_on_to_the_end_of_a_track_or_a_cylinder_where_it_does_that() {
    let asked = [(false, 88, 4, Time::ZERO), (false, 96, 4, Time::ms(30)), (false, 100, 4, Time::ms(30))];
    let over = [(false, 188, 4, Time::ZERO), (false, 196, 4, Time::ms(30)), (false, 200, 4, Time::ms(30))];
    let ahead = Spec { read_ahead_sectors: 64, read_ahead_after_hit: false, ..spec() };
    let to = |reach, asked| hits(&Spec { reach, ..ahead.clone() }, asked);
    assert_eq!(to(Reach::Sectors, &asked), [false, true, true]);
    assert_eq!(to(Reach::Track, &asked), [false, true, false]);
    assert_eq!(to(Reach::Cylinder, &asked), [false, true, true]);
    assert_eq!(to(Reach::Cylinder, &over), [false, true, false]);
    // A track ahead of reads that went on from one track to the next, and no other.
    assert_eq!(to(Reach::TrackAhead, &asked), [false, true, false]);
    let run = [(false, 88, 4, Time::ZERO), (false, 92, 16, Time::ms(30)), (false, 200, 4, Time::ms(30))];
    let far = |reach| hits(&Spec { reach, segment_sectors: 256, read_ahead_sectors: 256, ..ahead.clone() }, &run);
    assert_eq!((far(Reach::Track)[2], far(Reach::TrackAhead)[2]), (false, true));
}

#[test]
fn the_shortest_way_first_is_done_sooner_than_in_order_of_arrival() {
    let asked: Vec<Asked> =
        [2_500, 100, 2_400, 300, 2_600, 150, 2_450, 20].map(|lba| (false, lba, 4, Time::ZERO)).to_vec();
    let done = |policy: schedule::Policy| {
        let (times, _, _) = run_with(&Spec { policy, ..spec() }, &asked, true);
        times.iter().map(|(_, end)| *end).max().unwrap()
    };
    let (fcfs, elevator, sptf) =
        (done(schedule::Policy::Fcfs), done(schedule::Policy::Elevator), done(schedule::Policy::Sptf));
    assert!(sptf < elevator && elevator < fcfs, "{sptf} {elevator} {fcfs}");
}

#[test]
fn a_stream_comes_as_its_sectors_pass() {
    let geometry = small();
    let mut stream = stream::Stream::new(&geometry, 90, Time::ms(1), 230);
    let ends: Vec<Time> = {
        let mut at = stream;
        let mut ends = Vec::new();
        for lba in 90..230 {
            while lba >= at.first + at.run() {
                at = at.next_run(&geometry);
            }
            ends.push(at.passed(&geometry, lba - at.first + 1));
        }
        ends
    };
    for (index, end) in ends.iter().enumerate() {
        let lba = 90 + index as u64;
        assert_eq!(stream.come_by(&geometry, *end - Time::ps(1)), lba, "not a picosecond before");
        assert_eq!(stream.come_by(&geometry, *end), lba + 1);
    }
    assert_eq!(stream.come_by(&geometry, Time::ms(900)), 230, "it stops");
}
