//! The same of IDE and Myrinet: paths that shipped numbers do not take, trains at odd paces, and what a pace changes.

use std::collections::BTreeMap;

use hopscope_kernel::{Kind, Pace, Time};
use hopscope_machine::blueprint::Blueprint;

use super::{Recorded, difference, doubled, doubles, read, record};
use crate::trains::get_the_same_for_less;

const ONE_DISK: &str = "piix4e-one-disk";
const TWO_CHANNELS: &str = "piix4e-two-disks-two-channels";
const ON_BOTH: &str = " --name=a --filename=disk --name=b --filename=disk2";

fn pace(times: u32, over: u32) -> Pace {
    Pace::new(times, over).expect("a pace")
}

/// The hops whose names begin so, or one lane, at another pace.
fn paced(blueprint: &Blueprint, beginning: &str, pace: Pace) -> Blueprint {
    let mut changed = blueprint.clone();
    let hops = blueprint.hops();
    let mut hops = hops.iter().filter(|hop| hop.name.starts_with(beginning)).peekable();
    if hops.peek().is_none() {
        // One lane of a hop.
        changed.pace(beginning, pace).expect("a lane");
    }
    hops.for_each(|hop| changed.pace(&hop.name, pace).expect("a hop"));
    changed
}

fn changed(system: &str, change: &str, options: &str) {
    let (mut blueprint, jobs) = read(system, options);
    assert!(blueprint.set(change).is_ok(), "{change}");
    let slow = paced(&blueprint, "", pace(1, 2));
    let mut later = jobs.clone();
    later.iter_mut().for_each(|job| job.runtime = job.runtime.map(|time| time * 2));
    for trains in [true, false] {
        let (is, should) = (record(&slow, &later, trains), record(&blueprint, &jobs, trains));
        assert!(should.transfers >= 3, "{change} {options}");
        if let Some(difference) = difference(&is, should.spans().map(doubled)) {
            panic!("{system} {change} {options}, trains {trains}: {difference}");
        }
    }
}

#[test]
fn whatever_an_ide_bridge_and_its_disks_do_doubles() {
    let options = |job: &str, runtime: &str| format!("{job} --time_based --runtime={runtime}");
    for job in ["--rw=randwrite --bs=4k --iodepth=256", "--rw=read --bs=512k", "--rw=randread --bs=256k --iodepth=32"] {
        doubles(ONE_DISK, &options(job, "500ms"));
        doubles(TWO_CHANNELS, &format!("{}{ON_BOTH}", options(job, "300ms")));
    }
    let write = options("--rw=write --bs=64k", "60ms");
    changed(ONE_DISK, "ide.refill=when a half is free", &write);
    changed(TWO_CHANNELS, "ide.channel_switch_at=command", &format!("{write}{ON_BOTH}"));
    changed(TWO_CHANNELS, "ide.channel_switch_at=command", &options("--rw=read --bs=16k", "60ms"));
    changed(ONE_DISK, "disk.buffer.cached_writes=2 blocks", &options("--rw=randwrite --bs=4k --iodepth=16", "300ms"));
}

/// A machine with all hops at a pace, and with one at a time; in words which.
fn at_any_pace(blueprint: &Blueprint, mut each: impl FnMut(&Blueprint, &str)) {
    let names: Vec<String> = blueprint.hops().into_iter().map(|hop| hop.name).collect();
    for pace in [pace(7, 5), pace(21, 20), pace(3, 1), pace(1, 3)] {
        for hop in names.iter().map(String::as_str).chain([""]) {
            each(&paced(blueprint, hop, pace), &format!("`{hop}` at {pace}"));
        }
    }
}

/// Trains and single bursts record the same at any pace; returns how many trains were booked.
fn same_without_trains(system: &str, options: &str) -> u64 {
    let (blueprint, jobs) = read(system, options);
    let mut trains = 0;
    at_any_pace(&blueprint, |blueprint, words| {
        let phases = |trains: bool| {
            let mut recorded = record(blueprint, &jobs, trains);
            // Within a train nobody waits.
            recorded.retain(|span| matches!(span.kind, Kind::Phase(_) | Kind::Delay(_)));
            recorded
        };
        let (with, without) = (phases(true), phases(false));
        if let Some(difference) = difference(&with, without.spans().copied()) {
            panic!("{system} {options} {words}: {difference}");
        }
        assert!(with.ended().eq(without.ended()), "{system} {options} {words}: transfers");
        trains += with.trains;
    });
    trains
}

#[test]
fn trains_of_an_ide_bridge_are_single_bursts_at_any_pace() {
    for job in ["--rw=read --bs=64k --size=64k", "--rw=write --bs=64k", "--rw=randrw --bs=16k --iodepth=4"] {
        let one = same_without_trains(ONE_DISK, &format!("{job} --time_based --runtime=40ms"));
        let two = same_without_trains(TWO_CHANNELS, &format!("{job} --time_based --runtime=40ms{ON_BOTH}"));
        assert!(one > 1_000 && two > 1_000, "{job}: {one} and {two} trains");
    }
}

/// Where somebody looks on, nothing is booked ahead there: what jobs get is what can be compared.
#[test]
fn what_is_booked_ahead_on_the_bus_of_a_myrinet_adapter_is_the_same_by_hand_at_any_pace() {
    for system in ["myrinet-x5dl8-two-ports", "myrinet-x5dl8-behind-bridge", "myrinet-g5"] {
        let (blueprint, jobs) = read(system, "--rw=rw --bs=16k --iodepth=4 --time_based --runtime=500us");
        at_any_pace(&blueprint, |blueprint, words| {
            get_the_same_for_less(blueprint, &jobs, 7, &format!("{system} {words}"));
        });
    }
}

/// The lengths that each phase and each delay has, by lane.
fn lengths(recorded: &Recorded) -> BTreeMap<(&str, &'static str), Vec<Time>> {
    let mut lengths: BTreeMap<(&str, &'static str), Vec<Time>> = BTreeMap::new();
    for span in recorded.spans() {
        let (Kind::Phase(lane) | Kind::Delay(lane)) = span.kind else { continue };
        let lane = recorded.lanes[usize::from(lane)].as_str();
        lengths.entry((lane, span.label.name)).or_default().push(span.span);
    }
    lengths.values_mut().for_each(|lengths| {
        lengths.sort_unstable();
        lengths.dedup();
    });
    lengths
}

/// At twice the pace of its lane every phase is half as long, and those of other lanes stay as they are.
fn halved(system: &str, options: &str, phases: &[(&str, &str)]) {
    let (blueprint, jobs) = read(system, options);
    let before = record(&blueprint, &jobs, true);
    let was = lengths(&before);
    for (hop, _) in phases {
        let after = record(&paced(&blueprint, hop, pace(2, 1)), &jobs, true);
        let is = lengths(&after);
        for (lane, phase) in phases {
            let was = was
                .get(&(*lane, *phase))
                .unwrap_or_else(|| panic!("{system}: {lane} is in `{phase}`: {:?}", was.keys()));
            let by = if lane == hop { pace(2, 1) } else { Pace::ONE };
            let wanted: Vec<Time> = was.iter().map(|span| by.of(*span)).collect();
            let is = is.get(&(*lane, *phase)).map_or(&[][..], |lengths| &lengths[..]);
            // A number of clocks is that number of paced clocks.
            let alike = |(a, b): (&Time, &Time)| a.as_ps().abs_diff(b.as_ps()) <= b.as_ps() / 1_000;
            let same = is.len() == wanted.len() && is.iter().zip(&wanted).all(alike);
            assert!(same, "{system}: `{phase}` of {lane} at twice {hop}: {is:?} instead of {wanted:?}");
        }
    }
}

#[test]
fn twice_the_pace_of_one_lane_halves_what_it_does_and_nothing_else() {
    let phases = [
        ("cpu", "driver"),
        ("host", "PHOLD# to PHLDA#"),
        ("pci", "address"),
        ("pci", "data"),
        ("ide.buffer", "descriptor delay"),
        ("cable", "burst start"),
    ];
    halved(ONE_DISK, "--rw=read --bs=64k --size=64k --time_based --runtime=60ms", &phases);
    let phases = [
        ("host.memory", "memory latency"),
        ("link.up", "flight"),
        ("bridge.bus0", "through the bridge"),
        ("pci", "address"),
        ("nic.firmware", "packet to send"),
        ("nic.local-memory", "local memory"),
        ("nic.port0.out", "packet"),
    ];
    halved("myrinet-x5dl8-two-ports", "--rw=read --bs=16k --iodepth=4 --time_based --runtime=1ms", &phases);
}

#[test]
fn twice_the_pace_of_the_arm_is_a_disk_that_turns_twice_as_fast() {
    let (blueprint, jobs) = read(ONE_DISK, "--rw=randread --bs=4k --time_based --runtime=4s");
    let (is, was) = (record(&paced(&blueprint, "disk.arm", pace(2, 1)), &jobs, true), record(&blueprint, &jobs, true));
    assert!(is.transfers * 10 > was.transfers * 19, "{} reads instead of {}", is.transfers, was.transfers);
}
