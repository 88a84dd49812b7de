//! Bursts, boundaries and buffers of any length on PCI: everything arrives, in as many data phases as it has double
//! words, with trains as without.

use hopscope_files::job_file;
use hopscope_files::problem::Sources;
use hopscope_kernel::{Sim, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Options, run_in};
use hopscope_observe::{Interval, Phases};
use hopscope_parts::protocols::pci::DATA;

use crate::shipped::{jobs, machine};

/// Data phases of a lane, and how many trains were booked.
fn bursts(blueprint: &Blueprint, options: &str, lane: &str, trains: bool) -> (Vec<Interval>, u64) {
    let jobs = jobs(options);
    let (sim, phases) = (Sim::new(), Phases::default());
    let options = Options { trains, ..Options::default() };
    let outcome = run_in(sim.clone(), blueprint, &jobs, options, Some(Box::new(phases.clone()))).expect("a run");
    let mut spans = phases.of(&sim, lane);
    spans.retain(|span| span.phase == &DATA);
    (spans, outcome.counts.trains)
}

const CLOCK: Time = Time::ps(30_000);
const KIB: u64 = 192;

/// Clocks of the data phases of 192 KiB between a disk and memory, burst by burst.
fn clocks(changes: &[&str], rw: &str) -> (Vec<u64>, u64) {
    let given = ["pci.clock=33.333333MHz", "pci.latency_timer=255 clocks"];
    let blueprint = machine("piix4e-one-disk", &[&given, changes].concat());
    let job = format!("--rw={rw} --bs=64k --size={KIB}k --iodepth=2");
    let (with, booked) = bursts(&blueprint, &job, "pci", true);
    let (without, _) = bursts(&blueprint, &job, "pci", false);
    assert_eq!(with, without, "{changes:?} {rw}");
    (with.iter().map(|burst| burst.span.as_ps() / CLOCK.as_ps()).collect(), booked)
}

#[test]
fn a_chip_set_with_bursts_of_24_data_phases_moves_everything_in_them() {
    let changes = ["ide.buffer=192 B", "host.memory.cache_line=96 B"];
    for rw in ["read", "write"] {
        let (clocks, booked) = clocks(&changes, rw);
        assert_eq!(clocks.iter().sum::<u64>() * 4, KIB << 10, "{rw}");
        let whole = clocks.iter().filter(|phases| **phases == 24).count();
        assert!(clocks.iter().all(|phases| *phases <= 24) && whole * 10 > clocks.len() * 9, "{rw}: {clocks:?}");
        assert!(booked > 0, "{rw}: no trains");
    }
}

#[test]
fn everything_arrives_whatever_the_buffer_and_wherever_memory_stops() {
    for buffer in ["64 B", "192 B", "40 B", "1000 B"] {
        for line in ["16 B", "32 B", "48 B", "96 B", "128 B", "4 KiB"] {
            for refill in ["when empty", "when a half is free"] {
                let set = |key: &str, value: &str| format!("{key}={value}");
                let changes =
                    [set("ide.buffer", buffer), set("host.memory.cache_line", line), set("ide.refill", refill)];
                let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
                for rw in ["read", "write"] {
                    let given = ["pci.clock=33.333333MHz", "pci.latency_timer=4000 clocks"];
                    let blueprint = machine("piix4e-one-disk", &[&given[..], &changes[..]].concat());
                    let job = format!("--rw={rw} --bs=24k --size=24k");
                    let (with, _) = bursts(&blueprint, &job, "pci", true);
                    assert_eq!(with, bursts(&blueprint, &job, "pci", false).0, "{changes:?} {rw}");
                    let moved: u64 = with.iter().map(|burst| burst.span.as_ps() / CLOCK.as_ps() * 4).sum();
                    assert_eq!(moved, 24 << 10, "{changes:?} {rw}");
                }
            }
        }
    }
}

#[test]
fn bridges_and_cards_take_lengths_that_are_no_powers_of_two() {
    let lengths = [
        "nic.pci.burst=96 B",
        "bridge.boundary=96 B",
        "bridge.write.gather=200 B",
        "bridge.read.piece=100 B",
        "bridge.read.prefetch_multiple=500 B",
        "nic.block=1000 B",
    ];
    for (mode, width) in [("PCI", "8 B"), ("PCI", "4 B"), ("PCI-X", "8 B")] {
        let (mode, width) = (format!("nic.pci.mode={mode}"), format!("nic.pci.width={width}"));
        let settled = ["nic.pci.clock=66.666667 MHz", &mode, &width];
        let blueprint = machine("myrinet-tyan-100", &[&lengths[..], &settled].concat());
        for rw in ["read", "write"] {
            let job = format!("--filename=nic --rw={rw} --bs=10000 --size=200000 --iodepth=4");
            let words: Vec<&str> = job.split_whitespace().collect();
            let jobs = job_file::read_options(&mut Sources::default(), &words).expect("right options").jobs;
            let outcome =
                run_in(Sim::new(), &blueprint, &jobs, Options::default(), None).expect("nobody waits for ever");
            assert_eq!(outcome.jobs[0].got.as_ref().map(|got| got.bytes), Some(200_000), "{mode} {width} {rw}");
        }
    }
}
