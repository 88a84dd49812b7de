//! Paces of drives, of their buses and of RAID cards: what the law of doubled times asks where caches fill, arrays have
//! parity and drives fail; trains at odd paces; and that a pace changes what it should, and nothing else.

use std::collections::BTreeMap;

use hopscope_files::job_file::Job;
use hopscope_files::library::Library;
use hopscope_kernel::{Kind, Pace, Span, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Options, run};

use crate::paces::{Recorded, doubles_on, record};
use crate::random_machines;
use crate::trains::get_the_same_for_less;

const MEGARAID: &str = "raid-megaraid-64-66";
const MYLEX: &str = "raid-acceleraid-pci-x-100";
const FULL: [&str; 3] = ["raid.write_back.limit=2 MiB", "raid.write_back.kept=0 B", "raid.write_back.together=1 MiB"];

fn machine(system: &str, changes: &[&str], options: &str) -> (Blueprint, Vec<Job>) {
    let library = Library::new(None).expect("the shipped files can be read");
    let words: Vec<&str> = options.split(' ').collect();
    let drawn = random_machines::of(&library, system, &words);
    let mut blueprint = drawn.blueprint;
    crate::raid::put(&mut blueprint, changes);
    (blueprint, drawn.jobs)
}

fn doubles(system: &str, changes: &[&str], options: &str) {
    let (blueprint, jobs) = machine(system, changes, options);
    doubles_on(&format!("{system} {changes:?} {options}"), &blueprint, &jobs);
}

#[test]
fn whatever_an_array_does_doubles() {
    let writes = "--rw=randwrite --bs=24k --size=256m --iodepth=16 --norandommap --runtime=150ms --time_based";
    let mixed = "--rw=randrw --bs=16k --size=64m --iodepth=8 --norandommap --runtime=200ms --time_based";
    let deep = "--rw=randread --bs=4k --iodepth=256 --runtime=100ms --time_based";
    let stream = "--rw=read --bs=8k --size=512m --iodepth=4 --runtime=100ms --time_based";
    for system in [MEGARAID, MYLEX] {
        doubles(system, &FULL, writes);
        doubles(system, &["raid.cache.writes=write-through"], mixed);
        doubles(system, &["raid.cache.writes=write-through", "raid.array.level=RAID 10"], mixed);
        doubles(system, &["raid.cache.writes=write-through", "raid.array.level=RAID 5"], mixed);
        doubles(system, &[], deep);
        doubles(system, &[], stream);
    }
    let rebuilt = [
        "raid.cache.writes=write-through",
        "raid.array.level=RAID 5",
        "raid.array.drives=3 drives",
        "raid.array.spares=1 drive",
        "raid.failure.drive=drive0",
        "raid.failure.at=30 ms",
        "raid.failure.noticed=7 ms",
        "raid.rebuild.pause=3 ms",
    ];
    doubles(MEGARAID, &rebuilt, mixed);
}

#[test]
fn whatever_a_drive_does_doubles() {
    for job in [
        "--rw=randread --bs=4k --iodepth=256 --runtime=300ms --time_based",
        "--rw=write --bs=64k --iodepth=4 --runtime=300ms --time_based",
        "--rw=randwrite --bs=256k --iodepth=32 --runtime=400ms --time_based",
        "--rw=read --bs=1m --iodepth=2 --runtime=800ms --time_based",
    ] {
        for (system, disk) in [("atlas-15k", "disk"), ("barracuda-4lp", "disk"), ("scsi-ultra160", "disk*")] {
            doubles(system, &[], job);
            if disk == "disk" {
                for policy in ["elevator", "sptf", "fcfs"] {
                    doubles(system, &[&format!("disk.queue.scheduling={policy}")], job);
                }
            }
        }
    }
    let several = "--rw=randrw --bs=8k --iodepth=8 --runtime=200ms --time_based";
    let on_all = (0..4).map(|n| format!(" --name=j{n} --filename=disk{n}")).collect::<String>();
    doubles("scsi-ultra160", &[], &format!("{several}{on_all}"));
}

fn paced(blueprint: &Blueprint, hops: &[&str], pace: (u32, u32)) -> Blueprint {
    let mut changed = blueprint.clone();
    for hop in hops {
        changed.pace(hop, Pace::new(pace.0, pace.1).expect("a pace")).expect("a hop");
    }
    changed
}

/// Where somebody looks on, nothing is booked ahead there: what jobs get is what can be compared.
#[test]
fn what_is_booked_ahead_on_the_buses_of_cards_is_the_same_by_hand_at_any_pace() {
    let job = "--rw=randrw --bs=64k --size=64m --iodepth=8 --norandommap --runtime=100ms --time_based";
    for system in ["scsi-ultra160", "raid-megaraid-32-33", MYLEX] {
        let (blueprint, jobs) = machine(system, &[], job);
        let hops = blueprint.hops();
        let all: Vec<&str> = hops.iter().map(|hop| hop.name.as_str()).collect();
        let alone = all.iter().map(std::slice::from_ref);
        for pace in [(7, 5), (21, 20), (3, 1)] {
            for hops in alone.clone().filter(|_| pace == (7, 5)).chain([&all[..]]) {
                let words = format!("{system} at {pace:?} of {hops:?}");
                get_the_same_for_less(&paced(&blueprint, hops, pace), &jobs, 7, &words);
            }
        }
    }
}

/// How long lanes of a name were in each phase, and how often.
fn phases(recorded: &Recorded, lane: &str) -> BTreeMap<&'static str, (Time, u64)> {
    let mut sums = BTreeMap::new();
    let of_lane = |span: &&Span| {
        let (Kind::Phase(of) | Kind::Delay(of)) = span.kind else { return false };
        recorded.lanes[usize::from(of)] == lane
    };
    for span in recorded.spans().filter(of_lane) {
        let sum: &mut (Time, u64) = sums.entry(span.label.name).or_default();
        *sum = (sum.0 + span.span, sum.1 + 1);
    }
    sums
}

#[test]
fn a_lane_at_twice_its_pace_halves_its_own_spans() {
    let reads = "--rw=randread --bs=64k --size=8m";
    for (system, lane, labels) in [
        ("barracuda-4lp", "disk.firmware", &["command overhead"][..]),
        ("barracuda-4lp", "scsi", &["arbitration", "selection", "message out", "command", "data in", "status"]),
        ("scsi-ultra160", "adapter.sequencer0", &["command set-up", "data set-up", "completion"]),
        (MEGARAID, "raid.processor", &["firmware"]),
        (MEGARAID, "raid.memory", &["data"]),
    ] {
        let (blueprint, jobs) = machine(system, &[], reads);
        let (was, is) = (record(&blueprint, &jobs, true), record(&paced(&blueprint, &[lane], (2, 1)), &jobs, true));
        let (was, is) = (phases(&was, lane), phases(&is, lane));
        for label in labels {
            let mean = |phases: &BTreeMap<&str, (Time, u64)>| {
                let (sum, count) = phases.get(label).unwrap_or_else(|| panic!("{lane} has no `{label}`: {phases:?}"));
                sum.as_ps() as f64 / *count as f64
            };
            let ratio = mean(&was) / mean(&is);
            assert!((ratio - 2.0).abs() < 0.02, "{system}: `{label}` of {lane} is {ratio} times as fast");
        }
    }
}

#[test]
fn a_disk_at_twice_its_pace_turns_and_seeks_twice_as_fast() {
    let rate = |pace: u32, job: &str| {
        let (blueprint, jobs) = machine("barracuda-4lp", &[], job);
        let outcome = run(&paced(&blueprint, &["disk.arm"], (pace, 1)), &jobs, Options::default(), None);
        outcome.expect("it runs").rate.bytes_per_second
    };
    for (job, least) in [
        // From the media, and nothing else to speak of.
        ("--rw=read --bs=256k --iodepth=4 --runtime=2 --time_based", 1.9),
        ("--rw=randread --bs=512 --runtime=4 --time_based", 1.8),
    ] {
        let gain = rate(2, job) / rate(1, job);
        assert!(gain > least && gain < 2.02, "{job}: {gain} times as much");
    }
}

#[test]
fn random_machines_with_drives_double() {
    let library = Library::new(None).expect("the shipped files can be read");
    for seed in 0..12 {
        let drawn = random_machines::scsi::machine(&library, seed, "500ms");
        doubles_on(&format!("seed {seed} {}", drawn.words), &drawn.blueprint, &drawn.jobs);
    }
}
