//! What probes read off shipped machines, and what holds of it on any.

use std::collections::BTreeSet;

use hopscope_files::problem::Sources;
use hopscope_kernel::Time;
use hopscope_machine::run::Failure;
use hopscope_questions::probes::{self, PROBES, Probe, Trace};

use crate::shipped::{jobs, machine};

const ONE_DISK: &str = "piix4e-one-disk";
/// A few requests, and some dozens.
const SHORT: Time = Time::ms(40);
const LONG: Time = Time::ms(600);

fn probe(name: &str) -> &'static Probe {
    probes::find(name).unwrap_or_else(|| panic!("no probe {name}"))
}

fn try_on(system: &str, changes: &[&str], job: &str, span: Time, names: &[&str]) -> Result<Vec<f64>, String> {
    let probes: Vec<&Probe> = names.iter().map(|name| probe(name)).collect();
    probes::read(&machine(system, changes), &jobs(job), span, true, &probes).map_err(|failure| match failure {
        Failure::Input(problems) => problems.render(&Sources::default(), false),
        Failure::Defect(what) => panic!("{system}: {what}"),
    })
}

#[track_caller]
fn on(system: &str, job: &str, span: Time, names: &[&str]) -> Vec<f64> {
    try_on(system, &[], job, span, names).unwrap_or_else(|problems| panic!("{system}: {problems}"))
}

/// One block of the drive's buffer over and over, on each of some disks.
fn block(rw: &str, depth: u64, disks: &[&str]) -> String {
    let job = |disk: &&str| format!("--name={disk} --filename={disk} --rw={rw} --bs=64k --size=64k --iodepth={depth}");
    disks.iter().map(job).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn gives(system: &str, job: &str, span: Time, expected: &[(&str, f64)]) {
    let names: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    for ((name, expected), is) in expected.iter().zip(on(system, job, span, &names)) {
        assert_eq!(is, *expected, "{name} on {system}");
    }
}

const NINE: [&str; 9] = [
    "write_cycle_address",
    "write_cycle_wait",
    "write_cycle_data",
    "write_cycle_disconnect",
    "write_cycle_gap",
    "write_cycle_second_address",
    "write_cycle_second_wait",
    "write_cycle_second_data",
    "write_cycle_idle",
];

#[test]
fn names_are_words_of_a_formula_and_each_is_there_once() {
    let names: BTreeSet<&str> = PROBES.iter().map(|probe| probe.name).collect();
    assert_eq!(names.len(), PROBES.len());
    for Probe { name, what, .. } in PROBES {
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        assert!(what.contains('`'), "{name} says no lane: {what}");
        assert!(probes::find(name).is_some_and(|found| found.what == *what), "{name}");
    }
    assert!(probes::find("write_cycles").is_none());
}

#[test]
fn a_read_of_a_disk_keeps_the_bus_for_ten_clocks_in_thirty_two() {
    gives(
        ONE_DISK,
        &block("read", 1, &["disk"]),
        SHORT,
        &[
            ("read_cycle_address_min", 1.0),
            ("read_cycle_address_max", 1.0),
            ("read_cycle_wait_min", 1.0),
            ("read_cycle_wait_max", 1.0),
            ("read_cycle_data_min", 8.0),
            ("read_cycle_data_max", 8.0),
            ("read_cycle_idle_min", 22.0),
            ("read_cycle_idle_max", 23.0),
            ("command_data_time", 2.0066198379999998),
            ("command_descriptors", 16.0),
            ("register_tries", 3.0),
            ("retry_clocks", 9.0),
        ],
    );
}

#[test]
fn a_write_of_a_disk_is_a_cycle_of_ninety_eight_clocks() {
    let clocks = [1.0, 13.0, 8.0, 2.0, 12.0, 1.0, 13.0, 8.0, 40.0];
    let phases: Vec<(&str, f64)> = NINE.into_iter().zip(clocks).collect();
    let rest = [
        ("write_cycle", 98.0),
        ("write_cycle_rate", 21.877365062805133),
        ("write_cycle_pause", 29.851),
        ("write_cycle_rest", 895.53),
        ("write_cycle_ask", 298.51),
        ("write_cycle_bubble", 985.083),
        ("write_cycle_time", 2925.398),
        ("write_cycle_rest_and_ask", 1194.04),
        ("command_data_time", 3.025966019),
    ];
    gives(ONE_DISK, &block("write", 1, &["disk"]), SHORT, &[&phases[..], &rest[..]].concat());
}

#[test]
fn the_phases_of_a_write_cycle_are_all_of_it_whatever_memory_and_bridge_take() {
    let all: Vec<&str> = NINE.into_iter().chain(["write_cycle", "write_cycle_rest", "write_cycle_ask"]).collect();
    let both = ["write_cycle_rest_and_ask"];
    let names = [&all[..], &both[..]].concat();
    for change in [vec![], vec!["host.memory.read_first_data=17clocks"], vec!["pci.clock=25MHz"]] {
        let read = try_on(ONE_DISK, &change, &block("write", 1, &["disk"]), SHORT, &names).expect("write cycles");
        assert_eq!(read[..9].iter().sum::<f64>(), read[9], "{change:?}: {read:?}");
        assert!((read[10] + read[11] - read[12]).abs() < 1e-9, "{change:?}: {read:?}");
        // Memory's first data come in each of the two bursts.
        let waits = if change == ["host.memory.read_first_data=17clocks"] { 17.0 } else { 13.0 };
        assert_eq!((read[1], read[6]), (waits, waits), "{change:?}");
    }
}

#[test]
fn a_picture_finds_the_cycle_that_probes_measure() {
    let trace = Trace::of(&machine(ONE_DISK, &[]), &jobs(&block("write", 1, &["disk"])), SHORT, true);
    let Ok(trace) = trace else { panic!("a run") };
    let (first, next) = probes::dma_write_cycle(&trace.lane("pci")).expect("a write cycle");
    let clock = trace.clock("pci").expect("PCI has a clock");
    assert_eq!((next - first).as_ps(), 98 * clock.as_ps());
    assert!(probes::dma_write_cycle(&trace.lane("cable")).is_none() && trace.clock("cable").is_none());
    assert!(trace.lane("no such lane").is_empty());
}

#[test]
fn the_account_of_a_cable_says_what_its_bursts_and_commands_cost() {
    let write = block("write", 2, &["disk"]);
    gives(
        ONE_DISK,
        &write,
        LONG,
        &[
            ("cable_lost_in_bursts", 33.273174556679415),
            ("cable_pauses_until_memory", 64.67466208026964),
            ("cable_lost_between_bursts", 3.1319408220874028),
        ],
    );
    let both = on(ONE_DISK, &write, LONG, &["cable_lost", "cable_lost_in_bursts", "cable_lost_between_bursts"]);
    assert!((both[0] - both[1] - both[2]).abs() < 1e-9, "{both:?}");
    gives(
        ONE_DISK,
        &block("read", 1, &["disk"]),
        LONG,
        &[
            ("cable_lost", 10.555716814457968),
            ("cable_lost_to_commands", 81.17203125714542),
            ("cable_register_time", 116.41490399999999),
            ("cable_not_ready_time", 68.43915841025641),
        ],
    );
    let two = block("read", 1, &["disk", "disk2"]);
    gives("piix4e-two-disks-same-channel", &two, LONG, &[("second_drive_waits", 48.47370005182025)]);
    let two = block("read", 2, &["disk", "disk2"]);
    gives("piix4e-two-disks-two-channels", &two, LONG, &[("cable_lost_to_buffer", 95.15598057977054)]);
}

#[test]
fn never_are_more_reads_under_way_than_there_are_tags() {
    let job = "--filename=nfp --rw=randread --norandommap --bs=64 --size=8k --iodepth=32";
    for tags in [4u32, 32, 64] {
        let change = format!("nfp.pcie.tags={tags} tags");
        let read = try_on("pcie-bench-ivy-bridge", &[&change], job, Time::us(40), &["reads_under_way"]);
        let most = read.unwrap_or_else(|problems| panic!("{tags}: {problems}"))[0];
        assert!(most <= f64::from(tags), "{most} of {tags}");
        assert!(tags > 32 || most == f64::from(tags), "{most} of {tags}: the contexts keep all of them in use");
    }
}

#[test]
fn bursts_of_pci_x_move_eight_bytes_a_clock_and_split_reads_take_their_time() {
    let chain = |rw: &str| format!("--filename=nic --rw={rw} --bs=4k --size=128k --iodepth=32");
    for (system, ns) in [("myrinet-tyan-133", 3_840.0), ("myrinet-tyan-100", 5_120.0)] {
        gives(system, &chain("write"), Time::us(60), &[("burst_data_max", ns)]);
    }
    gives("myrinet-melody", &chain("read"), Time::us(60), &[("split_read_start", 66.00000000000001)]);
}

#[test]
fn trains_and_single_bursts_give_the_same_figures() {
    let (machine, jobs) = (machine(ONE_DISK, &[]), jobs(&block("write", 1, &["disk"])));
    let names = ["write_cycle", "write_cycle_bubble", "command_data_time", "cable_lost_in_bursts"];
    let probes: Vec<&Probe> = names.iter().map(|name| probe(name)).collect();
    let [with, without] = [true, false].map(|trains| probes::read(&machine, &jobs, SHORT, trains, &probes));
    assert_eq!(with.expect("a run"), without.expect("a run"));
}

#[test]
fn what_a_run_lacks_is_an_error_that_says_so() {
    let random = "--rw=randread --bs=4k --iodepth=4";
    let lacks = |system: &str, job: &str, span: Time, name: &str, said: &[&str]| {
        let problems = try_on(system, &[], job, span, &[name]).expect_err(name);
        for words in said.iter().chain([&name, &probe(name).what]) {
            assert!(problems.contains(words), "{words} is not in {problems}");
        }
    };
    let ms = Time::ms(1);
    lacks("nvme-desktop", random, ms, "command_data_time", &["the machine has no lane `cable`"]);
    lacks("nvme-desktop", random, ms, "cable_lost", &["a lane `cable`, or the machine has none"]);
    lacks("nvme-desktop", random, ms, "write_cycle", &["the machine has no lane `pci`"]);
    lacks(ONE_DISK, random, SHORT, "reads_under_way", &["the machine has no lane `link.up`"]);
    lacks(ONE_DISK, random, SHORT, "split_read_start", &["no split response"]);
    lacks(ONE_DISK, &block("read", 1, &["disk"]), SHORT, "write_cycle", &["no two data bursts"]);
    lacks(ONE_DISK, &block("write", 1, &["disk"]), Time::ms(4), "command_data_time", &["5 are the fewest"]);
    // All that is lacking is said at once.
    let problems = try_on("nvme-desktop", &[], random, ms, &["write_cycle", "retry_clocks"]).expect_err("no PCI");
    assert!(problems.contains("`write_cycle`") && problems.contains("`retry_clocks`"), "{problems}");
}
