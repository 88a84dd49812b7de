//! PCI and PCI-X in whole machines: every number of host, link, bridge, segment and card bites as it should, and nothing
//! is faster than its bus.

use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::Figures;
use hopscope_machine::job_file::Job;
use hopscope_machine::library::Library;
use hopscope_machine::run::run;

use crate::shipped::{WINDOW, jobs, machine};

use crate::random_machines;

const MELODY: &str = "myrinet-melody";
const E7501: &str = "myrinet-x5dpe";
const TYAN: &str = "myrinet-tyan-133";
const TWO_PORTS: &str = "myrinet-x5dl8-two-ports";
const BELOW: &str = "myrinet-x5dl8-behind-bridge";

const READ: &str = "--filename=nic --rw=read --bs=4k --iodepth=32 --time_based --runtime=300us";
const WRITE: &str = "--filename=nic --rw=write --bs=4k --iodepth=32 --time_based --runtime=300us";
const BOTH: &str = "--filename=nic.both --rw=read --bs=4k --iodepth=32 --time_based --runtime=300us";
const USER: &str = "--filename=nic.user --rw=read --bs=4k --iodepth=32 --time_based --runtime=800us";
const LONG: &str = "--filename=nic --rw=read --bs=64k --iodepth=4 --time_based --runtime=500us";

/// Bytes per second of all jobs.
fn rate(blueprint: &Blueprint, jobs: &[Job]) -> f64 {
    let outcome = run(blueprint, jobs, WINDOW, None).expect("the job runs");
    let figures = outcome.jobs.iter().filter_map(Figures::of);
    figures.map(|figures| figures.bytes_per_second).sum()
}

/// A system, a job, changes before, the change, and what is left of the rate.
type Bite<'a> = (&'a str, &'a str, &'a [&'a str], &'a str, (f64, f64));

fn check(bites: &[Bite<'_>]) {
    let mut missed = Vec::new();
    for &(system, job, given, change, left) in bites {
        let (plain, changed) = (machine(system, given), machine(system, &[given, &[change]].concat()));
        let (plain, changed) = (rate(&plain, &jobs(job)), rate(&changed, &jobs(job)));
        let share = changed / plain;
        if !(left.0..=left.1).contains(&share) {
            missed.push(format!(
                "{system} {change} after {given:?}: {share:.4} of {plain:.4e}, expected {left:?}: {job}"
            ));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_number_of_segment_and_card_bites() {
    let pci = &["pci.clock=66.666667 MHz", "pci.mode=PCI"][..];
    check(&[
        (MELODY, WRITE, &[], "pci.clock=66.666667 MHz", (0.49, 0.51)),
        (MELODY, WRITE, &[], "nic.pci.clock=66.666667 MHz", (0.49, 0.51)),
        (MELODY, WRITE, &[], "pci.width=4 B", (0.50, 0.52)),
        (MELODY, WRITE, &[], "nic.pci.width=4 B", (0.50, 0.52)),
        (MELODY, READ, &[], "nic.pci.width=4 B", (0.52, 0.55)),
        // Ten clocks more in 529.
        (MELODY, WRITE, &[], "pci.turnaround=11 clocks", (0.975, 0.985)),
        (MELODY, WRITE, &[], "nic.pci.gap=16 clocks", (0.975, 0.985)),
        (E7501, WRITE, &["bridge.write.accept=1 KiB"], "pci.disconnect=200 clocks", (0.60, 0.95)),
        (E7501, WRITE, &[], "nic.pci.retry_idle=400 clocks", (0.40, 0.95)),
        (MELODY, WRITE, &[], "nic.pci.burst=512 B", (0.80, 0.84)),
        (MELODY, READ, &[], "nic.pci.read_request=512 B", (0.50, 0.65)),
        (MELODY, READ, &["nic.pci.read_request=512 B"], "nic.pci.splits=4 transactions", (1.3, 1.8)),
        (MELODY, BOTH, &[], "pci.latency_timer=0 clocks", (0.60, 0.85)),
        // Conventional PCI: half the clock, delayed transactions of eight cache lines.
        (MELODY, WRITE, &["nic.pci.clock=66.666667 MHz"], "nic.pci.mode=PCI", (0.99, 1.02)),
        (MELODY, READ, &["nic.pci.clock=66.666667 MHz"], "nic.pci.mode=PCI", (0.4, 1.01)),
        (MELODY, READ, pci, "nic.pci.read=memory read", (0.15, 0.25)),
        (MELODY, WRITE, pci, "bridge.boundary=128 B", (0.45, 0.55)),
        // 200 clocks after each retry of a read.
        (MELODY, READ, pci, "nic.pci.retry_idle=200 clocks", (0.20, 0.30)),
    ]);
}

#[test]
fn every_number_of_host_link_and_bridge_bites() {
    let pci = &["pci.clock=66.666667 MHz", "pci.mode=PCI"][..];
    check(&[
        (MELODY, READ, &[], "host.memory.latency=1120 ns", (0.78, 0.83)),
        (MELODY, WRITE, &[], "host.memory.rate=500 MB/s", (0.48, 0.52)),
        (MELODY, WRITE, &[], "link.rate=500 MB/s", (0.42, 0.45)),
        (MELODY, READ, &[], "link.latency=550 ns", (0.78, 0.83)),
        (E7501, WRITE, &[], "link.write_overhead=64 B", (0.61, 0.65)),
        (E7501, WRITE, &[], "link.payload=32 B", (0.82, 0.85)),
        (E7501, READ, &[], "link.read_overhead=64 B", (0.55, 0.70)),
        (E7501, READ, &[], "link.request=128 B", (0.50, 0.70)),
        (E7501, BOTH, &[], "link.ways=apart", (1.05, 1.4)),
        (MELODY, READ, &[], "bridge.latency=598 ns", (0.78, 0.83)),
        (MELODY, WRITE, &[], "bridge.write.response=18 clocks", (0.975, 0.985)),
        (MELODY, READ, &[], "bridge.read.response=12 clocks", (0.975, 0.990)),
        (E7501, WRITE, &[], "bridge.write.buffer=128 B", (0.20, 0.90)),
        (E7501, WRITE, &["bridge.write.buffer=4 KiB"], "bridge.write.accept=4 KiB", (0.4, 0.99)),
        (
            E7501,
            WRITE,
            &["bridge.write.buffer=4 KiB", "bridge.write.under_way=1 transaction"],
            "bridge.write.gather=4 KiB",
            (0.90, 0.98),
        ),
        (E7501, WRITE, &[], "bridge.write.under_way=1 transaction", (0.3, 0.8)),
        (TYAN, READ, &[], "bridge.read.ahead=2 transactions", (0.25, 0.40)),
        (TYAN, READ, &[], "bridge.read.piece=256 B", (1.01, 1.15)),
        (TYAN, READ, &[], "bridge.read.first=2 KiB", (0.70, 0.95)),
        (
            MELODY,
            READ,
            &["nic.pci.read_request=512 B", "nic.pci.splits=8 transactions"],
            "bridge.read.latched=1 transaction",
            (0.40, 0.85),
        ),
        (MELODY, READ, pci, "bridge.read.prefetch_multiple=128 B", (0.3, 0.95)),
        (
            MELODY,
            READ,
            &[pci, &["nic.pci.read=memory read line"]].concat(),
            "bridge.read.prefetch_line=4 KiB",
            (4.0, 5.5),
        ),
        (MELODY, READ, &[pci, &["nic.pci.read=memory read"]].concat(), "bridge.read.prefetch=4 KiB", (4.0, 5.5)),
        // A bridge between two segments.
        (BELOW, WRITE, &[], "below.write.buffer=4 KiB", (1.02, 2.0)),
        (BELOW, READ, &[], "below.read.prefetch_multiple=4 KiB", (1.0, 2.0)),
        (BELOW, READ, &[], "below.read.ahead=4 transactions", (1.0, 4.0)),
        (BELOW, READ, &[], "below.latency=500 ns", (0.3, 0.95)),
        (BELOW, READ, &[], "below.pci.clock=33.333333 MHz", (0.4, 0.95)),
        (BELOW, WRITE, &[], "below.pci.gap=60 clocks", (0.2, 0.9)),
    ]);
}

#[test]
fn every_number_of_the_adapter_bites() {
    check(&[
        (MELODY, LONG, &[], "nic.block=512 B", (0.50, 0.65)),
        (MELODY, WRITE, &[], "nic.local_memory=500 MB/s", (0.47, 0.50)),
        (TWO_PORTS, USER, &[], "nic.firmware.send=9 us", (0.60, 0.75)),
        (TWO_PORTS, USER, &[], "nic.firmware.receive=9 us", (0.60, 0.75)),
        (TWO_PORTS, USER, &[], "nic.ports=1 port", (0.50, 0.60)),
        (TWO_PORTS, USER, &["nic.ports=1 port"], "nic.packet_overhead=1024 B", (0.78, 0.84)),
        (TWO_PORTS, USER, &[], "nic.buffers=1 packet", (0.20, 0.50)),
    ]);
}

#[test]
fn nothing_is_faster_than_its_bus_on_random_segments() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut moved = 0;
    for seed in 500..600 {
        let drawn = random_machines::pci_x(&library, seed, "150us");
        let number = |path: &str| {
            let found = drawn.blueprint.numbers().into_iter().find(|(name, _)| name == path);
            found.map(|(_, entry)| entry.value.clone())
        };
        use hopscope_parts::parameters::Value;
        let segment = if number("pci2.clock").is_some() { "pci2" } else { "pci" };
        let clock = |path: &str| match number(path) {
            Some(Value::Period(clock)) => clock,
            other => panic!("{path}: {other:?}"),
        };
        let width = |path: &str| match number(path) {
            Some(Value::Bytes(bytes)) => bytes,
            other => panic!("{path}: {other:?}"),
        };
        let clock = clock(&format!("{segment}.clock")).max(clock("nic.pci.clock"));
        let width = width(&format!("{segment}.width")).min(width("nic.pci.width"));
        let ceiling = width as f64 / clock.as_seconds_f64();
        let outcome = run(&drawn.blueprint, &drawn.jobs, WINDOW, None).expect("the jobs run");
        let bytes: u64 = outcome.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.bytes).sum();
        let got = bytes as f64 / outcome.simulated.as_seconds_f64();
        moved += usize::from(got > 0.0);
        assert!(got < ceiling, "seed {seed}: {got} of {ceiling}: {}", drawn.words);
    }
    assert!(moved > 80, "{moved} of 100 machines moved something");
}

#[test]
fn a_card_that_a_fixed_segment_overclocks_is_refused_where_its_clock_is_written() {
    let mut melody = machine(MELODY, &["nic.pci.clock=66.666667 MHz"]);
    let problems = melody.set("pci.speed=fixed").expect_err("a 66 MHz card does not run at 133");
    let text = format!("{problems:?}");
    assert!(text.contains("a 67 MHz card clocked at 133 MHz"), "{text}");
    // The same card slows a segment down that settles.
    assert!(rate(&machine(MELODY, &["nic.pci.clock=66.666667 MHz"]), &jobs(WRITE)) < 540e6);
}

#[test]
fn a_segment_of_32_bits_stays_one() {
    let mut disk = machine("piix4e-one-disk", &[]);
    for change in ["pci.width=8 B", "pci.mode=PCI-X"] {
        assert!(disk.clone().set(change).is_err(), "{change}");
    }
    assert!(disk.set("pci.speed=slowest card").is_ok(), "no card says how fast it is");
}
