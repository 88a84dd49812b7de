//! The same of network adapters, GPUs and Serial ATA, in every way that their data can make them work; trains at any pace;
//! and what a pace changes.

use hopscope_files::job_file::Job;
use hopscope_machine::blueprint::Blueprint;

use super::nvme::{halves, pace, paced};
use super::{difference, doubles_on, read_as, record};

const NIC: &str = "nic-two-sockets";
const GPU: &str = "gpu-server";
const SATA: &str = "sata-ssd";
const BENCH: &str = "pcie-bench-sandy-bridge";

pub fn changed(system: &str, changes: &[&str], options: &str) -> (Blueprint, Vec<Job>) {
    let (mut blueprint, jobs) = read_as(system, ("", ""), &format!("{options} --time_based"));
    for change in changes {
        assert!(blueprint.set(change).is_ok(), "{change}");
    }
    (blueprint, jobs)
}

/// Interrupts, moderated by time and by count, and completions that are gathered.
pub const INTERRUPTS: [&str; 7] = [
    "driver.completions=interrupt",
    "driver.interrupt=1 us",
    "nic.tx.moderation.count=8 packets",
    "nic.rx.moderation.time=3 us",
    "nic.rx.completions=8 packets",
    "nic.rx.completion_wait=700 ns",
    "driver.copy_rate=4 GB/s",
];

#[test]
fn every_way_of_network_adapters_doubles() {
    let small = ["nic.tx.ring=16 descriptors", "nic.rx.ring=16 descriptors", "nic.rx.prefetch=4 descriptors"];
    let segmented = ["driver.packet_max=64 KiB", "driver.buffer=64 KiB", "driver.data=memory"];
    for changes in [&[][..], &INTERRUPTS, &small, &segmented] {
        for options in [
            "--rw=rw --bs=1400 --iodepth=256 --runtime=100us",
            "--rw=rw --bs=64k --iodepth=4 --numjobs=3 --runtime=200us",
            "--rw=read --bs=256 --runtime=100us",
        ] {
            let (blueprint, jobs) = changed(NIC, changes, options);
            doubles_on(&format!("{changes:?} {options}"), &blueprint, &jobs);
        }
    }
}

#[test]
fn every_way_of_gpus_and_programmable_adapters_doubles() {
    for changes in [&[][..], &["driver.memory=remote", "driver.data=cache"], &["gpu.engine.reads=2 pages"]] {
        for options in ["--rw=rw --bs=1m --iodepth=4 --numjobs=2 --runtime=500us", "--rw=rw --bs=4k --runtime=500us"] {
            let (blueprint, jobs) = changed(GPU, changes, options);
            doubles_on(&format!("{changes:?} {options}"), &blueprint, &jobs);
        }
    }
    for device in ["nfp", "nfp.mixed", "nfp.write-then-read", "nfp.command"] {
        for options in ["--rw=rw --bs=64 --iodepth=256", "--rw=rw --bs=2k --iodepth=32 --numjobs=2", "--rw=rw --bs=8k"]
        {
            let options = format!("{options} --filename={device} --runtime=50us");
            let (blueprint, jobs) = changed(BENCH, &[], &options);
            doubles_on(&options, &blueprint, &jobs);
        }
    }
}

#[test]
fn every_way_of_serial_ata_doubles() {
    let slow = ["ssd.flash.buffer=1MiB", "ssd.flash.state=steady", "ssd.rate=3 GT/s"];
    let cut = ["driver.transfer_max=16KiB", "driver.queue_depth=4 tags", "ahci.fifo=1 KiB", "ahci.burst=512 B"];
    for changes in [&[][..], &slow, &cut] {
        for options in [
            "--rw=randrw --bs=4k --iodepth=256 --numjobs=2 --runtime=5ms",
            "--rw=write --bs=512k --iodepth=4 --runtime=30ms",
            "--rw=read --bs=64k --iodepth=8 --numjobs=2 --runtime=5ms",
        ] {
            let (blueprint, jobs) = changed(SATA, changes, options);
            doubles_on(&format!("{changes:?} {options}"), &blueprint, &jobs);
        }
    }
}

#[test]
fn trains_through_adapters_equal_single_packets_at_any_pace() {
    for (system, changes, options) in [
        (NIC, &INTERRUPTS[..], "--rw=rw --bs=9k --iodepth=32 --runtime=60us"),
        (GPU, &[], "--rw=rw --bs=64k --iodepth=4 --runtime=200us"),
        (SATA, &[], "--rw=randrw --bs=16k --iodepth=32 --runtime=2ms"),
        (BENCH, &[], "--rw=rw --bs=2k --iodepth=32 --runtime=20us"),
    ] {
        let ((blueprint, jobs), mut trains) = (changed(system, changes, options), 0);
        for pace in [pace(7, 5), pace(21, 20), pace(3, 1)] {
            for ending in ["", ".up", ".down", "root"] {
                let blueprint = paced(&blueprint, ending, pace);
                let (with, without) = (record(&blueprint, &jobs, true), record(&blueprint, &jobs, false));
                assert!(with.transfers >= 3, "{system} {options}: {} requests", with.transfers);
                if let Some(difference) = difference(&with, without.spans().copied()) {
                    panic!("{system} {options} `{ending}` at {pace}: {difference}");
                }
                trains += with.trains;
            }
        }
        assert!(trains > 100, "{system} {options}: {trains} trains");
    }
}

#[test]
fn twice_the_pace_of_a_hop_of_an_adapter_halves_its_spans_and_no_others() {
    let nic = [
        ("wire-rx", "data"),
        ("rx.engine", "packet processing"),
        ("rx.moderation", "interrupt moderation"),
        ("rx.gathering", "completions are gathered"),
    ];
    let interrupts = [&INTERRUPTS[..], &["driver.time_above=20 us"]].concat();
    let (blueprint, jobs) = changed(NIC, &interrupts, "--rw=read --bs=1400 --runtime=400us");
    halves(&blueprint, &jobs, &nic);
    let sata = [
        ("cable", "data"),
        ("cable", "WTRM and R_OK"),
        ("ssd.controller", "command processing"),
        ("ahci.port*", "from PxCI to the fetch"),
        ("ahci.registers", "register access"),
        ("driver.port0", "interrupt delivery"),
    ];
    let (blueprint, jobs) = changed(SATA, &[], "--rw=randread --bs=4k --runtime=3ms");
    halves(&blueprint, &jobs, &sata);
    let (blueprint, jobs) = changed(GPU, &[], "--rw=read --bs=4k --runtime=200us");
    halves(&blueprint, &jobs, &[("gpu.d2h", "engine begins a copy"), ("gpu.memory", "memory of the GPU")]);
    let bench = [("contexts", "descriptor queued and completion signalled"), ("builder", "read request built")];
    let (blueprint, jobs) = changed(BENCH, &[], "--rw=read --bs=64 --runtime=20us");
    halves(&blueprint, &jobs, &bench);
}
