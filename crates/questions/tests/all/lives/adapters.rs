//! Lives on network adapters, GPUs and Serial ATA, in ways that the shipped systems do not have: whatever the data sheet
//! says that a request needs is in its life, once, at any depth.

use hopscope_kernel::Time;
use hopscope_observe::lives::Stage;

use super::{Lived, of, table};
use crate::paces::adapters::{INTERRUPTS, changed};
use crate::random_machines::Drawn;

fn lived(system: &str, changes: &[&str], options: &str) -> Lived {
    let (blueprint, jobs) = changed(system, changes, options);
    let words = format!("{system} {changes:?} {options}");
    let lived = of(&Drawn { blueprint, jobs, words: words.clone() }, &words);
    let is_lane = |stage: &&Stage| lived.shares.iter().any(|(lane, _)| *lane == stage.lane);
    let of_no_lane = lived.latency.mean.stages.iter().filter(|stage| !is_lane(stage));
    let time = of_no_lane.fold(Time::ZERO, |sum, stage| sum + stage.time);
    assert!(time * 1_000 <= lived.latency.mean.sum, "{words}: waits for no hop\n{}", table(&lived.latency));
    lived
}

impl Lived {
    fn contains(&self, phase: &str, ns: f64) {
        let is = self.service_ns(phase);
        assert!((is - ns).abs() < 2e-3 * ns, "{phase}: {is} instead of {ns}\n{}", table(&self.latency));
    }

    fn contains_some(&self, phase: &str, ns: f64) {
        let is = self.service_ns(phase);
        assert!(is >= ns, "{phase}: {is}, not even {ns}\n{}", table(&self.latency));
    }
}

#[test]
fn a_packet_that_is_announced_by_an_interrupt_contains_what_it_waited_for_that() {
    let alone = lived("nic-two-sockets", &INTERRUPTS, "--rw=read --bs=1400 --runtime=500us");
    alone.contains("interrupt moderation", 3_000.0);
    alone.contains("completions are gathered", 700.0);
    alone.contains_some("interrupts", 1_000.0);
    let sent = lived("nic-two-sockets", &INTERRUPTS, "--rw=write --bs=1400 --runtime=500us");
    sent.contains("interrupt moderation", 16_000.0);
    sent.contains_some("interrupts", 1_000.0);
    for depth in [4, 32, 256] {
        for rw in ["read", "write", "rw"] {
            let options = format!("--rw={rw} --bs=1400 --iodepth={depth} --runtime=300us");
            let lived = lived("nic-two-sockets", &INTERRUPTS, &options);
            // What is received may be there before its buffer is.
            if rw == "write" {
                lived.contains_some("data", 112.0);
                lived.contains_some("packet processing", 4.9);
            }
        }
    }
}

#[test]
fn a_copy_contains_its_launch_its_setup_and_its_data_at_any_depth() {
    for (depth, jobs) in [(1, 1), (4, 1), (32, 1), (4, 3)] {
        let options = format!("--rw=write --bs=256k --iodepth={depth} --numjobs={jobs} --runtime=500us");
        let lived = lived("gpu-server", &["driver.memory=remote"], &options);
        lived.contains("engine begins a copy", 1_500.0);
        // Of the 4 us that its bytes need: pages are under way together, and flights of some cover data of others.
        lived.contains_some("data", 1_000.0);
    }
}

#[test]
fn a_read_of_a_drive_behind_serial_ata_contains_what_it_needs_once_at_any_depth() {
    for changes in [&[][..], &["driver.queue_depth=4 tags"], &["ahci.fifo=1 KiB"]] {
        for depth in [1, 4, 32, 256] {
            let options = format!("--rw=randread --bs=4k --iodepth={depth} --runtime=5ms");
            let lived = lived("sata-ssd", changes, &options);
            lived.contains("decode", 500.0);
            lived.contains("command processing", 3_000.0);
            // 1,024 double words of 40 bits at 6 Gb/s, on the cable; the links behind it carry some of them later.
            lived.contains_some("data", 6_826.0);
            lived.contains_some("array read", 50_000.0);
            lived.contains_some("from PxCI to the fetch", 199.9);
        }
    }
}

#[test]
fn a_long_command_in_pieces_contains_its_data_on_the_cable() {
    let cut = ["driver.transfer_max=16KiB", "driver.queue_depth=4 tags", "ssd.flash.buffer=1MiB"];
    for options in [
        "--rw=write --bs=256k --iodepth=4 --runtime=20ms",
        "--rw=read --bs=256k --iodepth=4 --runtime=20ms",
        "--rw=randwrite --bs=4k --iodepth=256 --runtime=20ms",
    ] {
        lived("sata-ssd", &cut, options).contains_some("data", 6_826.0);
    }
}
