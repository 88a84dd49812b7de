//! A file server whose disks and network share a bus: what crosses what, how often, and what it costs whom.

use std::collections::BTreeMap;

use hopscope_kernel::{Sim, Time};
use hopscope_machine::run::{Outcome, run, run_in};
use hopscope_observe::{Interval, Phases};

use crate::shipped::{WINDOW, changed, jobs, machine};

const CIFS: &str = "win2000-cifs";
/// One MiB and all its answers, whatever that takes.
const READ_ALL: &str = "--filename=server.disk0 --rw=read --bs=64k --iodepth=8 --size=1m";
const WRITE_ALL: &str = "--filename=server.disk0 --rw=write --bs=64k --iodepth=8 --size=1m";
const MIB: u64 = 1 << 20;
const SEGMENT_BYTES: u64 = 1_460;
const HEADERS_BYTES: u64 = 54;

/// Bytes per second of all jobs.
fn rate(changes: &[&str], options: &str) -> f64 {
    let outcome = run(&machine(CIFS, changes), &jobs(options), WINDOW, None).expect("the job runs");
    let bytes: u64 = outcome.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.bytes).sum();
    bytes as f64 / outcome.measured.as_seconds_f64()
}

/// The same job on all four disks.
fn on_four(job: &str) -> String {
    let jobs = (0..4).map(|n| format!("--name=j{n} --filename=server.disk{n}"));
    format!("{job} {}", jobs.collect::<Vec<_>>().join(" "))
}

/// A run, with all phases of some lanes.
fn watched(
    changes: &[&str],
    options: &str,
    lanes: &[&'static str],
) -> (Outcome, BTreeMap<&'static str, Vec<Interval>>) {
    let (sim, phases) = (Sim::new(), Phases::default());
    let observer = Some(Box::new(phases.clone()) as _);
    let outcome = run_in(sim.clone(), &machine(CIFS, changes), &jobs(options), WINDOW, observer);
    let outcome = outcome.expect("the job runs");
    let of = |lane: &&'static str| {
        let found = phases.of(&sim, lane);
        assert!(!found.is_empty(), "{lane} was never used");
        (*lane, found)
    };
    (outcome, lanes.iter().map(of).collect())
}

fn time_in(intervals: &[Interval], phase: &str) -> Time {
    let of = intervals.iter().filter(|interval| interval.phase.name == phase);
    of.fold(Time::ZERO, |sum, interval| sum + interval.span)
}

/// Segments of the answers to reads of 1 MiB in commands of 60 and 4 KiB, and the bytes of their frames.
fn answers() -> (u64, u64) {
    // A session header of 4 bytes, a header of 32, 12 words and two counts of 1 and 2 bytes, a byte of padding.
    let answers = [61_440, 4_096].map(|bytes| bytes + 4 + 32 + 1 + 24 + 2 + 1);
    let segments: u64 = answers.iter().map(|bytes: &u64| bytes.div_ceil(SEGMENT_BYTES)).sum();
    let bytes: u64 = answers.iter().sum::<u64>() + segments * HEADERS_BYTES;
    (segments * MIB / 65_536, bytes * MIB / 65_536)
}

#[test]
fn a_byte_that_is_read_crosses_the_bus_twice_and_the_wire_once() {
    let (outcome, lanes) = watched(&[], READ_ALL, &["pci", "nic.wire-tx", "nic.wire-rx"]);
    assert_eq!(outcome.jobs[0].got.as_ref().map(|got| got.bytes), Some(MIB));
    let (_, sent) = answers();
    // 125 MB/s: 8 ns a byte. Acknowledgements of commands come on top.
    let wire = time_in(&lanes["nic.wire-tx"], "data").as_ps() / 1_000 / 8;
    assert!((sent..sent + sent / 100).contains(&wire), "{wire} bytes on the wire, {sent} in answers");
    // 4 bytes every 30 ns, once from the disk and once to the wire, and what comes from the wire.
    let received = time_in(&lanes["nic.wire-rx"], "data").as_ps() / 1_000 / 8;
    let bus = time_in(&lanes["pci"], "data").as_ps() / 1_000 * 4 / 30;
    let expected = MIB + wire + received;
    assert!(bus.abs_diff(expected) < expected / 200, "{bus} bytes on the bus, {expected} expected");
}

#[test]
fn a_byte_that_is_written_crosses_the_bus_twice_as_well() {
    let (outcome, lanes) = watched(&[], WRITE_ALL, &["pci", "nic.wire-tx", "nic.wire-rx"]);
    assert_eq!(outcome.jobs[0].got.as_ref().map(|got| got.bytes), Some(MIB));
    let [sent, received] = ["nic.wire-tx", "nic.wire-rx"].map(|wire| time_in(&lanes[wire], "data").as_ps() / 1_000 / 8);
    assert!(received > MIB + 720 * HEADERS_BYTES, "{received} bytes were received");
    let bus = time_in(&lanes["pci"], "data").as_ps() / 1_000 * 4 / 30;
    let expected = MIB + sent + received;
    assert!(bus.abs_diff(expected) < expected / 200, "{bus} bytes on the bus, {expected} expected");
}

/// An acknowledgement waits 10 ms for its interrupt, and everything else takes a few hundred microseconds.
#[test]
fn a_small_window_moves_itself_once_a_round_trip() {
    for segments in [2, 4, 8] {
        let window = format!("client.tcp.window={} B", segments * SEGMENT_BYTES);
        let changes = [&*window, "nic.rx.moderation.time=10 ms", "nic.rx.moderation.count=1000 packets"];
        let got = rate(&changes, "--filename=server.disk0 --rw=read --bs=64k --iodepth=2 --size=512k");
        let most = (segments * SEGMENT_BYTES) as f64 / 10e-3;
        assert!((0.9..1.0).contains(&(got / most)), "{segments} segments: {got} B/s of {most}");
    }
}

#[test]
fn a_segment_costs_the_processor_what_it_is_said_to_cost() {
    const FREE: [&str; 6] = [
        "server.interrupt=0 us",
        "server.doorbell=0 us",
        "server.tcp.send.acknowledgement=0 us",
        "server.tcp.receive.acknowledgement=0 us",
        "driver.interrupt.handler=0 us",
        "server.tcp.send.segment=5 us",
    ];
    let time = |more: &[&str]| {
        let (_, lanes) = watched(&[&FREE[..], more].concat(), READ_ALL, &["cpu"]);
        time_in(&lanes["cpu"], "network protocol")
    };
    let (before, segments) = (time(&[]), answers().0);
    let more = time(&["server.tcp.send.segment=9 us"]) - before;
    assert_eq!(more, Time::us(4 * segments), "{segments} segments");
    let more = time(&["server.tcp.send.rate=100 MB/s"]) - before;
    let bytes = answers().1 - segments * HEADERS_BYTES;
    assert!((more.as_ps() / 1_000).abs_diff(bytes * 10) <= segments, "{more:?} for {bytes} bytes at 10 ns");
}

#[test]
fn interrupts_of_a_frame_fall_with_moderation() {
    let interrupts = |changes: &[&str]| {
        let all = [&["server.interrupt=7777 ns"], changes].concat();
        let (_, lanes) = watched(&all, READ_ALL, &["cpu"]);
        lanes["cpu"].iter().filter(|interval| interval.span == Time::ns(7_777)).count() as u64
    };
    let each = ["nic.tx.moderation.count=1 packets", "nic.rx.moderation.count=1 packets"];
    let (alone, together) = (interrupts(&each), interrupts(&[]));
    let frames = answers().0;
    assert!(alone > frames / 2, "{alone} interrupts for {frames} frames");
    assert!(together < alone / 2, "{together} interrupts with moderation, {alone} without");
}

#[test]
fn writes_of_a_file_that_wait_for_the_disk_and_the_answer_get_less_than_half_of_what_reads_get() {
    let job = |rw| on_four(&format!("--bs=64k --iodepth=8 --rw={rw} --time_based --ramp_time=50ms --runtime=300ms"));
    let one = "--filename=server.disk0 --bs=64k --iodepth=8 --rw=write --time_based --ramp_time=50ms --runtime=300ms";
    let (reads, writes) = (rate(&[], &job("read")), rate(&[], one));
    println!("reads {:.1} MB/s, writes {:.1} MB/s", reads / 1e6, writes / 1e6);
    assert!((0.2..0.5).contains(&(writes / reads)), "writes {writes}, reads {reads}");
    let mixed = rate(&[], &job("randrw"));
    assert!(mixed > 1e6 && mixed < reads, "mixed {mixed}, reads {reads}");
    // Nothing decides but the waiting: with eight under way writes get far more.
    let eight = rate(&["client.write.under_way=8 commands"], &job("write"));
    assert!(eight > writes * 1.3, "eight under way {eight}, one {writes}");
}

#[test]
fn two_jobs_share_a_connection_fairly() {
    let options = "--bs=64k --iodepth=8 --rw=read --time_based --ramp_time=50ms --runtime=300ms \
                   --name=a --filename=server.disk0 --name=b --filename=server.disk1";
    let outcome = run(&machine(CIFS, &[]), &jobs(options), WINDOW, None).expect("the jobs run");
    let got: Vec<f64> = outcome.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.bytes as f64).collect();
    assert!((0.8..1.25).contains(&(got[0] / got[1])), "{got:?}");
    assert!((got[0] + got[1]) / outcome.measured.as_seconds_f64() < 66.7e6, "{got:?} cross a bus of 133 MB/s twice");
}

/// 1,460 bytes of 1,538 on the wire: 118.7 MB/s. What the drives keep is faster than that.
#[test]
fn a_wide_and_fast_bus_leaves_the_wire_as_the_limit() {
    let wide = [
        "pci.width=8 B",
        "pci.clock=66.666667 MHz",
        "hub.rate=2 GB/s",
        "nic.pci.read=memory read multiple",
        "client.tcp.window=256 KiB",
        "client.tcp.segment=1 us",
        "client.command=1 us",
        "client.answer=1 us",
        "client.read.under_way=16 commands",
        "server.tcp.send.segment=1 us",
        "server.command=1 us",
        "server.answer=1 us",
        "system.direct.fixed=1 us",
        "system.direct.kib=1 ns",
        "bridge.boundary=4 KiB",
        "bridge.write.buffer=2 KiB",
        "bridge.read.prefetch_multiple=2 KiB",
        "bridge.read.ahead=16 transactions",
        "bridge.read.latched=4 transactions",
    ];
    let job = on_four("--bs=64k --iodepth=4 --rw=read --size=64k --time_based --ramp_time=20ms --runtime=100ms");
    let got = rate(&wide, &job) / 1e6;
    assert!((114.0..118.7).contains(&got), "{got} MB/s");
}

#[test]
fn a_server_that_serves_what_is_not_there_is_refused_with_what_is() {
    let problem = changed(CIFS, &["server.serves=disk7"]).err().expect("there is no disk7");
    assert!(problem.contains("`disk7` is no device of this system"), "{problem}");
    assert!(problem.contains("devices: disk0, disk1, disk2, disk3"), "{problem}");
    let one = machine(CIFS, &[]).devices();
    assert_eq!(one.len(), 10, "{one:?}");
    let problem = changed(CIFS, &["client.tcp.window=2919 B"]).err().expect("less than two segments");
    assert!(problem.contains("expected 2920 B to 1 MiB: what the client receives"), "{problem}");
}
