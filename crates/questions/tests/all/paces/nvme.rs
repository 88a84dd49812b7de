//! The same of NVM Express drives whose numbers are not the shipped ones; trains at any pace; and what a pace changes.

use hopscope_files::job_file::Job;
use hopscope_kernel::{Kind, Pace, Span, Time};
use hopscope_machine::blueprint::Blueprint;

use super::{Recorded, difference, doubles_on, read_as, record};

const DESKTOP: &str = "nvme-desktop";
const SERVER: &str = "nvme-server";
const RANDOM: &str = "--rw=randread --bs=4k --iodepth=32";
const MIXED: &str = "--rw=randrw --bs=16k --iodepth=16";

pub fn changed(system: &str, changes: &[&str], options: &str) -> (Blueprint, Vec<Job>) {
    // A poll interval is a number of the polled driver only.
    let by = if changes.iter().any(|change| change.contains(".poll.")) { "linux-io-uring-polled" } else { "" };
    let options = format!("{options} --time_based --runtime=1ms");
    let (mut blueprint, jobs) = match by {
        "" => read_as(system, ("", ""), &options),
        by => read_as(system, ("linux-io-uring", by), &options),
    };
    for change in changes {
        assert!(blueprint.set(change).is_ok(), "{change}");
    }
    (blueprint, jobs)
}

#[test]
fn every_path_of_drive_driver_and_root_complex_doubles() {
    let crowded = [
        "root.credits.posted_headers=4credits",
        "root.credits.non_posted_headers=2credits",
        "root.credits.posted_data=1KiB",
    ];
    let lasting = ["drive.flash.buffer=1MiB", "drive.flash.state=steady", "drive.flash.program=100us"];
    let translated = ["root.iommu.entries=8entries", "root.iommu.walkers=1walkers"];
    let remote = ["driver.socket=remote", "root.interconnect.latency=80ns"];
    let cases: [(&[&str], &str); 14] = [
        (&["driver.poll.interval=3us"], RANDOM),
        (&["driver.poll.interval=100ns"], "--rw=randread --bs=4k"),
        (&["drive.interrupt.threshold=8entries", "drive.interrupt.time=20us"], RANDOM),
        (&["drive.interrupt.threshold=8entries", "drive.interrupt.time=20us"], "--rw=randwrite --bs=4k"),
        (&translated, MIXED),
        (&remote, MIXED),
        (&["driver.buffers=cache", "driver.transfer=sgl", "driver.contiguous=16KiB"], MIXED),
        (&crowded, MIXED),
        (&["link.bits_per_error=1000000bits"], MIXED),
        (&["link.acknowledge.when=each packet"], MIXED),
        (&["driver.transfer_max=16KiB", "driver.queue=5entries"], "--rw=read --bs=128k --iodepth=4"),
        (
            &["drive.controller.engines=4engines", "drive.controller.dma=4engines"],
            "--rw=randread --bs=4k --iodepth=256",
        ),
        (&lasting, "--rw=randwrite --bs=4k --iodepth=64"),
        (&lasting, "--rw=randrw --bs=12k --iodepth=32 --numjobs=4"),
    ];
    for (changes, options) in cases {
        let (blueprint, jobs) = changed(DESKTOP, changes, options);
        doubles_on(&format!("{changes:?} {options}"), &blueprint, &jobs);
    }
}

pub(super) fn pace(times: u32, over: u32) -> Pace {
    Pace::new(times, over).expect("a pace")
}

/// Every hop of a machine, or those whose names end so, at another pace.
pub(super) fn paced(blueprint: &Blueprint, ending: &str, pace: Pace) -> Blueprint {
    let mut changed = blueprint.clone();
    let mut found = 0;
    for hop in blueprint.hops().iter().filter(|hop| hop.name.ends_with(ending)) {
        changed.pace(&hop.name, pace).expect("a hop");
        found += 1;
    }
    assert!(found > 0, "there is no hop `{ending}`");
    changed
}

#[test]
fn trains_equal_single_packets_at_any_pace() {
    for (system, links) in [(DESKTOP, ["link.up", "link.down"]), (SERVER, ["uplink.up", "link*.up"])] {
        let mut trains = 0;
        for options in [MIXED, "--rw=write --bs=64k --iodepth=4"] {
            let (blueprint, jobs) = changed(system, &[], options);
            for pace in [pace(7, 5), pace(21, 20), pace(3, 1), pace(1, 3)] {
                for ending in ["", links[0], links[1]] {
                    let blueprint = paced(&blueprint, ending, pace);
                    let (with, without) = (record(&blueprint, &jobs, true), record(&blueprint, &jobs, false));
                    if let Some(difference) = difference(&with, without.spans().copied()) {
                        panic!("{system} {options} `{ending}` at {pace}: {difference}");
                    }
                    trains += with.trains;
                }
            }
        }
        // Behind a switch writes go as convoys.
        assert!(trains > 100, "{system}: {trains} trains");
    }
}

/// The lengths that a phase has on the lanes of a hop.
fn lengths(recorded: &Recorded, hop: &str, phase: &str) -> Vec<Time> {
    let lane = hop.trim_end_matches('*');
    let of = |span: &&Span| {
        let (Kind::Phase(of) | Kind::Delay(of)) = span.kind else { return false };
        span.label.name == phase && recorded.lanes[usize::from(of)].contains(lane)
    };
    let mut lengths: Vec<Time> = recorded.spans().filter(of).map(|span| span.span).collect();
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

#[test]
fn twice_the_pace_of_one_hop_halves_its_spans_and_no_others() {
    let hops = [
        ("plane*", "array read"),
        ("channel*", "data out"),
        ("decoder", "ECC decode"),
        ("drive.controller", "command processing"),
        ("drive.controller.latency", "controller latency"),
        ("driver", "interrupt delivery"),
        ("root", "read from the last-level cache"),
    ];
    let (blueprint, jobs) = changed(DESKTOP, &[], "--rw=randread --bs=4k");
    halves(&blueprint, &jobs, &hops);
}

/// Holds that at twice its pace each of these hops has this phase in half the time, and the others as before.
pub(super) fn halves(blueprint: &Blueprint, jobs: &[Job], hops: &[(&str, &str)]) {
    let before = record(blueprint, jobs, true);
    for &(hop, label) in hops {
        let after = record(&paced(blueprint, hop, pace(2, 1)), jobs, true);
        assert!(after.transfers >= before.transfers, "{hop}: {} {}", after.transfers, before.transfers);
        let (was, is) = (lengths(&before, hop, label), lengths(&after, hop, label));
        assert!(!was.is_empty(), "{hop} has `{label}`");
        assert_eq!(is, was.iter().map(|span| pace(2, 1).of(*span)).collect::<Vec<_>>(), "{hop}");
        for &(other, label) in hops.iter().filter(|other| other.0 != hop) {
            assert_eq!(lengths(&after, other, label), lengths(&before, other, label), "{hop} and {other}");
        }
    }
}
