//! PCI Express in whole machines: every number of the path bites as it should, nothing is faster than its bytes allow,
//! and the account of an adapter and of an accelerator adds up.

use hopscope_kernel::Time;
use hopscope_machine::explain::{Explained, explain};
use hopscope_machine::run::{Options, Outcome, run};
use hopscope_observe::account::{Account, Entry, Extent};
use proptest::prelude::*;

use crate::shipped::{WINDOW, jobs, machine};

const NIC: &str = "nic-two-sockets";
const GPU: &str = "gpu-server";

fn outcome(system: &str, changes: &[&str], options: &str) -> Outcome {
    run(&machine(system, changes), &jobs(options), WINDOW, None).expect("the job runs")
}

/// Bytes per second of all jobs, after a tenth of the run.
fn rate(system: &str, changes: &[&str], options: &str) -> f64 {
    let outcome = outcome(system, changes, options);
    let got = outcome.jobs.iter().filter_map(|job| job.got.as_ref());
    got.map(|got| got.bytes as f64 / outcome.measured.as_seconds_f64()).sum()
}

/// Mean latency of the first job, ns.
fn latency(system: &str, changes: &[&str], options: &str) -> f64 {
    let outcome = outcome(system, changes, options);
    outcome.jobs[0].got.as_ref().expect("transfers ended").latency_ns.mean()
}

const TO_GPU: &str = "--rw=write --bs=64k --iodepth=32 --time_based --size=64m --ramp_time=50us --runtime=200us";
const FROM_GPU: &str = "--rw=read --bs=64k --iodepth=32 --time_based --size=64m --ramp_time=50us --runtime=200us";
/// Small copies run at the rate of the link, so that a short run has many of them.
const QUICK: [&str; 4] =
    ["gpu.engine.setup=0 us", "driver.launch=100 ns", "driver.complete=100 ns", "driver.time_above=0 ns"];
const PAGE_TO_GPU: &str = "--rw=write --bs=4k --iodepth=1 --time_based --size=1m --ramp_time=50us --runtime=200us";
const PAGE_FROM_GPU: &str = "--rw=read --bs=4k --iodepth=1 --time_based --size=1m --ramp_time=50us --runtime=200us";
const SEND: &str = "--rw=write --bs=1500 --iodepth=256 --time_based --ramp_time=50us --runtime=200us";
const RECEIVE: &str = "--rw=read --bs=1500 --iodepth=256 --time_based --ramp_time=50us --runtime=200us";
const SEND_SMALL: &str = "--rw=write --bs=60 --iodepth=256 --time_based --ramp_time=30us --runtime=60us";
const RECEIVE_SMALL: &str = "--rw=read --bs=60 --iodepth=256 --time_based --ramp_time=30us --runtime=60us";
const SEND_ONE: &str = "--rw=write --bs=60 --iodepth=1 --time_based --ramp_time=20us --runtime=100us";
const RECEIVE_ONE: &str = "--rw=read --bs=60 --iodepth=1 --time_based --ramp_time=20us --runtime=100us";
const SEGMENTED: &str = "--rw=write --bs=64k --iodepth=16 --time_based --ramp_time=100us --runtime=600us";

/// Completions come one by one, and not as many at a time as a doorbell told of.
const ONE_BY_ONE: &str = "driver.tx.batch=1 descriptors";

/// A change, and what becomes of the throughput or of the latency.
struct Bite<'a> {
    system: &'a str,
    job: &'a str,
    /// Changes on both sides.
    given: &'a [&'a str],
    change: &'a [&'a str],
    /// The share of the throughput that is left, from and to.
    left: (f64, f64),
}

fn check(bites: &[Bite<'_>]) {
    let mut missed = Vec::new();
    for Bite { system, job, given, change, left } in bites {
        let given = if *system == GPU { &[&QUICK, *given].concat() } else { *given };
        let (plain, changed) = (rate(system, given, job), rate(system, &[given, *change].concat(), job));
        let share = changed / plain;
        if !(left.0..=left.1).contains(&share) {
            missed.push(format!("{change:?} after {given:?}: {share:.4} of {plain:.4e}, expected {left:?}: {job}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

fn gpu<'a>(job: &'a str, given: &'a [&'a str], change: &'a [&'a str], left: (f64, f64)) -> Bite<'a> {
    Bite { system: GPU, job, given, change, left }
}

fn nic<'a>(job: &'a str, given: &'a [&'a str], change: &'a [&'a str], left: (f64, f64)) -> Bite<'a> {
    Bite { system: NIC, job, given, change, left }
}

#[test]
fn every_number_of_link_and_port_bites() {
    check(&[
        gpu(TO_GPU, &[], &["link.width=8 lanes"], (0.49, 0.52)),
        gpu(FROM_GPU, &[], &["link.width=8 lanes"], (0.49, 0.53)),
        gpu(TO_GPU, &[], &["gpu.pcie.width=8 lanes"], (0.49, 0.52)),
        gpu(TO_GPU, &[], &["link.rate=16 GT/s"], (0.49, 0.52)),
        gpu(TO_GPU, &[], &["root.rate=8 GT/s"], (0.24, 0.26)),
        gpu(FROM_GPU, &[], &["gpu.pcie.rate=8 GT/s"], (0.24, 0.28)),
        // 96 KiB under way, and 2 us more until they are answered.
        gpu(TO_GPU, &[], &["link.flight=1 us"], (0.45, 0.75)),
        gpu(FROM_GPU, &[], &["link.bits_per_error=1000000 bits"], (0.85, 0.97)),
        // 32 requests of 512 bytes, a round trip of about 0.65 us.
        gpu(TO_GPU, &[], &["gpu.pcie.tags=32 tags"], (0.35, 0.60)),
        gpu(TO_GPU, &["gpu.pcie.tags=32 tags"], &["gpu.pcie.tags=16 tags"], (0.45, 0.55)),
        gpu(TO_GPU, &["gpu.pcie.tags=16 tags"], &["gpu.pcie.read_request_max=1 KiB"], (1.8, 2.1)),
        // 280 bytes for 256 of the user, 276, 152 for 128.
        gpu(FROM_GPU, &[], &["gpu.pcie.address=32 bits"], (1.004, 1.018)),
        gpu(FROM_GPU, &[], &["gpu.pcie.payload_max=128 B"], (0.91, 0.95)),
        gpu(FROM_GPU, &[], &["gpu.pcie.payload_max=512 B", "gpu.engine.write_payload=512 B"], (1.015, 1.05)),
    ]);
}

#[test]
fn every_number_of_the_root_complex_bites() {
    let both = format!("--name=a {TO_GPU} --name=b {FROM_GPU}");
    check(&[
        gpu(TO_GPU, &[], &["root.memory_rate=20 GB/s"], (0.34, 0.382)),
        gpu(FROM_GPU, &[], &["root.memory_rate=20 GB/s"], (0.34, 0.372)),
        gpu(TO_GPU, &["driver.memory=remote"], &["root.interconnect.rate=20 GB/s"], (0.34, 0.382)),
        gpu(FROM_GPU, &["driver.memory=remote"], &["root.interconnect.rate=20 GB/s"], (0.34, 0.372)),
        gpu(&both, &["gpu.pcie.ordering=strict"], &["root.write=3 us"], (0.35, 0.97)),
        gpu(&both, &["gpu.pcie.ordering=relaxed"], &["root.write=3 us"], (0.97, 1.03)),
        // 84 bytes for 64 instead of 148 for 128.
        gpu(TO_GPU, &[], &["root.combined=256 B"], (1.04, 1.075)),
        gpu(TO_GPU, &[], &["root.combined=64 B"], (0.87, 0.90)),
        // Pages are read in two whole requests each; a copy out breaks their run now and then.
        gpu(&both, &[], &["root.completion=256 B"], (1.005, 1.3)),
        gpu(FROM_GPU, &[], &["root.payload_max=128 B"], (0.91, 0.95)),
        // 8 packets of 256 bytes in 2 x 50 + 40 ns and what one takes.
        gpu(FROM_GPU, &[], &["root.credits.posted_headers=8 credits"], (0.20, 0.30)),
        gpu(FROM_GPU, &[], &["root.credits.posted_data=2 KiB"], (0.20, 0.30)),
        gpu(TO_GPU, &[], &["root.credits.non_posted_headers=4 credits"], (0.20, 0.30)),
        gpu(FROM_GPU, &[], &["root.credits.drain=2 us"], (0.45, 0.65)),
    ]);
}

#[test]
fn latencies_of_the_host_are_paid_once_for_each_crossing() {
    for (system, job, given, change, more_ns) in [
        // A command and a page; a semaphore at the end.
        (GPU, PAGE_TO_GPU, &[][..], "root.cache_read=1450 ns", 1_000.0),
        (GPU, PAGE_TO_GPU, &["driver.data=cache"], "root.cache_read=1450 ns", 2_000.0),
        (GPU, PAGE_TO_GPU, &[], "root.memory_read=1500 ns", 1_000.0),
        (GPU, PAGE_FROM_GPU, &[], "root.memory_read=1500 ns", 0.0),
        (GPU, PAGE_TO_GPU, &[], "root.write=1150 ns", 1_000.0),
        (GPU, PAGE_TO_GPU, &["driver.memory=remote"], "root.interconnect.latency=1200 ns", 3_000.0),
        (GPU, PAGE_TO_GPU, &[], "gpu.engine.setup=2500 ns", 1_000.0),
        (GPU, PAGE_TO_GPU, &[], "driver.launch=3500 ns", 1_000.0),
        (GPU, PAGE_TO_GPU, &[], "driver.complete=2 us", 1_000.0),
        // 4 KiB instead of a few bytes: 73 and 71 ns of the link.
        (GPU, PAGE_TO_GPU, &[], "gpu.command=4 KiB", 73.0),
        (GPU, PAGE_TO_GPU, &[], "gpu.semaphore=4 KiB", 71.0),
        // A doorbell; a command there and back, a page there and back, the semaphore.
        (GPU, PAGE_TO_GPU, &[], "link.flight=150 ns", 600.0),
        // A descriptor, a packet; the completion.
        (NIC, SEND_ONE, &[], "root.interconnect.latency=200 ns", 300.0),
        (NIC, SEND_ONE, &[], "root.cache_read=500 ns", 200.0),
        (NIC, SEND_ONE, &["driver.data=memory"], "root.memory_read=580 ns", 100.0),
        (NIC, SEND_ONE, &[], "root.write=250 ns", 100.0),
        (NIC, SEND_ONE, &[], "nic.tx.packet=105 ns", 100.0),
        (NIC, SEND_ONE, &[], "driver.tx.post=108 ns", 100.0),
        (NIC, SEND_ONE, &[], "driver.tx.complete=102 ns", 100.0),
        (NIC, SEND_ONE, &[], "driver.doorbell=150 ns", 100.0),
        (NIC, SEND_ONE, &[], "driver.poll=110 ns", 100.0),
        // The packet has arrived long before the buffer has been posted and fetched.
        (NIC, RECEIVE_ONE, &[], "driver.rx.post=102 ns", 100.0),
        (NIC, RECEIVE_ONE, &[], "driver.rx.complete=108 ns", 100.0),
        (NIC, RECEIVE_ONE, &["driver.completions=interrupt"], "driver.interrupt=1 us", 1_000.0),
        (NIC, RECEIVE_ONE, &["nic.rx.completions=2 packets"], "nic.rx.completion_wait=100 ns", 100.0),
    ] {
        let (plain, changed) = (latency(system, given, job), latency(system, &[given, &[change]].concat(), job));
        let more = changed - plain;
        assert!((more - more_ns).abs() <= 2.0 + 0.002 * plain, "{change} after {given:?}: {more:.1} ns more: {job}");
    }
}

#[test]
fn every_number_of_address_translation_bites() {
    let (to, from) = (TO_GPU.replace("200us", "800us"), FROM_GPU.replace("200us", "800us"));
    let again = to.replace("64m", "1m").replace("50us", "300us");
    let on = ["root.iommu.entries=64 entries", "root.iommu.walk=1 us", "root.iommu.walkers=1 walkers"];
    let four = ["root.iommu.walkers=4 walkers"];
    check(&[
        // A page of 4 KiB a walk of 1 us, one or four of them at a time.
        gpu(&to, &[], &on, (0.071, 0.080)),
        gpu(&from, &[], &on, (0.064, 0.080)),
        gpu(&to, &on, &four, (3.8, 4.1)),
        gpu(&to, &on, &["root.iommu.walk=2 us"], (0.47, 0.52)),
        gpu(&to, &[], &[&on[..], &["root.iommu.page=2 MiB"]].concat(), (0.95, 1.0)),
        // Fewer translations than pages under way: they push each other out.
        gpu(&to, &on, &["root.iommu.entries=8 entries"], (0.05, 0.9)),
        // 1 MiB over and over: all its pages are kept.
        gpu(&again, &on, &["root.iommu.entries=512 entries"], (12.0, 14.5)),
    ]);
}

#[test]
fn every_number_of_an_accelerator_bites() {
    check(&[
        gpu(TO_GPU, &[], &["gpu.engine.reads=4 pages"], (0.2, 0.5)),
        gpu(TO_GPU, &["gpu.engine.reads=4 pages"], &["gpu.engine.reads=2 pages"], (0.45, 0.55)),
        gpu(FROM_GPU, &["link.flight=1 us"], &["gpu.engine.writes=1 pages"], (0.3, 1.0)),
        gpu(TO_GPU, &[], &["gpu.memory.rate=20 GB/s"], (0.34, 0.382)),
        gpu(FROM_GPU, &[], &["gpu.memory.rate=20 GB/s"], (0.33, 0.372)),
        // 1.2 us of a link for 64 KiB, or 2.4 us of an engine or of the processor.
        gpu(TO_GPU, &[], &["gpu.engine.setup=2400 ns"], (0.3, 0.52)),
        gpu(TO_GPU, &[], &["driver.launch=2400 ns"], (0.45, 0.52)),
        gpu(TO_GPU, &[], &["driver.time_above=2400 ns"], (0.37, 0.52)),
        gpu(TO_GPU, &[], &["driver.complete=2400 ns"], (0.4, 0.52)),
        // After 16 MiB the same pages come again; those of 64 MiB do not in so short a time.
        gpu(
            &TO_GPU.replace("50us", "600us"),
            &["root.iommu.entries=8192 entries", "root.iommu.walk=1 us", "root.iommu.walkers=8 walkers"],
            &["driver.pinned=16 MiB"],
            (1.2, 3.0),
        ),
    ]);
}

#[test]
fn every_number_of_an_adapter_bites() {
    let fast = ["driver.tx.post=1 ns", "driver.tx.complete=1 ns", "driver.rx.post=1 ns", "driver.rx.complete=1 ns"];
    let slow_fetch = [&fast[..], &["nic.tx.fetches=1 requests", "nic.rx.fetches=1 requests"]].concat();
    let shallow = [&fast[..], &["nic.tx.contexts=16 packets"]].concat();
    let interrupts = ["driver.completions=interrupt", "driver.interrupt=1 us"];
    check(&[
        nic(SEND, &[], &["nic.wire.rate=3.125 GB/s"], (0.25, 0.26)),
        nic(RECEIVE, &[], &["nic.wire.rate=3.125 GB/s"], (0.249, 0.251)),
        // 24 bytes of preamble, FCS and gap a frame: 1524 instead of 2 x 774 bytes.
        nic(RECEIVE, &[], &["nic.wire.frame_max=750 B"], (0.98, 0.99)),
        // What the processor does for each packet.
        nic(SEND_SMALL, &[], &["driver.tx.post=50 ns"], (0.2, 0.3)),
        nic(SEND_SMALL, &[], &["driver.tx.complete=44 ns"], (0.2, 0.3)),
        nic(RECEIVE_SMALL, &[], &["driver.rx.post=44 ns"], (0.2, 0.3)),
        nic(RECEIVE_SMALL, &[], &["driver.rx.complete=50 ns"], (0.2, 0.3)),
        nic(SEND_SMALL, &[], &["driver.doorbell=450 ns"], (0.4, 0.6)),
        nic(SEND_SMALL, &[], &["driver.tx.batch=1 descriptors"], (0.1, 0.3)),
        nic(RECEIVE_SMALL, &[], &["driver.rx.batch=1 descriptors"], (0.1, 0.3)),
        nic(SEND_SMALL, &[], &["driver.time_above=50 ns"], (0.08, 0.12)),
        nic(SEND, &[], &["driver.copy_rate=6.25 GB/s"], (0.4, 0.55)),
        nic(RECEIVE, &[], &["driver.copy_rate=6.25 GB/s"], (0.4, 0.55)),
        // What the adapter does.
        nic(SEND_SMALL, &fast, &["nic.tx.packet=50 ns"], (0.1, 0.26)),
        nic(RECEIVE_SMALL, &fast, &["nic.rx.packet=50 ns"], (0.1, 0.25)),
        nic(SEND_SMALL, &slow_fetch, &["nic.tx.fetch=4 descriptors"], (0.2, 0.6)),
        nic(RECEIVE_SMALL, &slow_fetch, &["nic.rx.fetch=4 descriptors"], (0.1, 0.3)),
        nic(SEND_SMALL, &fast, &["nic.tx.fetches=1 requests", "nic.tx.fetch=4 descriptors"], (0.02, 0.2)),
        nic(SEND_SMALL, &fast, &["nic.tx.prefetch=4 descriptors"], (0.02, 0.2)),
        nic(RECEIVE_SMALL, &fast, &["nic.rx.prefetch=4 descriptors"], (0.02, 0.2)),
        nic(SEND_SMALL, &fast, &["nic.tx.contexts=8 packets"], (0.05, 0.3)),
        nic(SEND_SMALL, &fast, &["nic.tx.buffer=2 KiB"], (0.05, 0.3)),
        nic(SEND_SMALL, &shallow, &["nic.tx.contexts=8 packets"], (0.45, 0.56)),
        nic(RECEIVE_SMALL, &fast, &["root.credits.posted_headers=1 credits"], (0.02, 0.3)),
        nic(RECEIVE_SMALL, &fast, &["nic.rx.contexts=1 packets", "link.width=1 lanes"], (0.02, 0.2)),
        nic(SEND_SMALL, &fast, &["nic.tx.ring=32 descriptors"], (0.1, 0.7)),
        nic(RECEIVE_SMALL, &fast, &["nic.rx.ring=32 descriptors"], (0.1, 0.7)),
        nic(RECEIVE_SMALL, &fast, &["nic.rx.completion=128 B", "link.width=4 lanes"], (0.1, 0.5)),
        nic(SEND_SMALL, &[&fast[..], &["link.width=4 lanes"]].concat(), &["nic.tx.descriptor=128 B"], (0.5, 0.9)),
        nic(
            RECEIVE_SMALL,
            &[&fast[..], &["link.width=4 lanes", "nic.rx.completion_wait=1 us"]].concat(),
            &["nic.rx.completions=8 packets"],
            (1.05, 2.0),
        ),
        // Interrupts.
        nic(SEND_ONE, &[], &interrupts, (0.05, 0.5)),
        nic(SEND_ONE, &interrupts, &["nic.tx.moderation.time=0 us"], (2.0, 10.0)),
        nic(SEND_ONE, &interrupts, &["nic.tx.moderation.count=1 packets"], (2.0, 10.0)),
        nic(RECEIVE_ONE, &interrupts, &["nic.rx.moderation.time=0 us"], (2.0, 10.0)),
        nic(RECEIVE_ONE, &interrupts, &["nic.rx.moderation.count=1 packets"], (2.0, 10.0)),
        // Under load the driver polls anyway.
        nic(RECEIVE_SMALL, &interrupts, &["driver.interrupt=10 us"], (0.99, 1.01)),
        nic(RECEIVE_SMALL, &[], &["driver.budget=1 packets"], (0.1, 0.3)),
        // Segmentation: one descriptor for 44 frames, whose headers are copied.
        nic(SEGMENTED, &[ONE_BY_ONE, "driver.packet_max=64 KiB"], &["nic.tx.segment_header=254 B"], (0.85, 0.89)),
        nic(
            &SEGMENTED.replace("=16", "=2"),
            &[ONE_BY_ONE, "driver.tx.post=500 ns"],
            &["driver.packet_max=64 KiB"],
            (2.5, 4.6),
        ),
    ]);
}

fn explained(system: &str, changes: &[&str], options: &str, trains: bool) -> Explained {
    let extent = Extent { spans: 20_000, requests: 8, spans_max: 200_000 };
    let run =
        explain(&machine(system, changes), &jobs(options), Options { trains, ..Options::default() }, extent, None);
    run.unwrap_or_else(|failure| panic!("{system} {changes:?} {options}: {failure:?}"))
}

fn sum<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Time {
    entries.into_iter().fold(Time::ZERO, |sum, entry| sum + entry.time)
}

/// Every kind of traffic of the two machines.
fn cases() -> Vec<(&'static str, Vec<&'static str>, String)> {
    let interrupts = vec!["driver.completions=interrupt", "driver.interrupt=1 us", "nic.rx.completions=4 packets"];
    let waiting = [&interrupts[..], &["nic.rx.completion_wait=500 ns", "nic.rx.ring=16 descriptors"]].concat();
    let translated = vec!["root.iommu.entries=8 entries", "root.iommu.walkers=2 walkers"];
    let errors = vec!["link.bits_per_error=1000000 bits", "gpu.pcie.ordering=strict", "gpu.pcie.tags=16 tags"];
    let credits = vec!["root.credits.posted_headers=4 credits", "root.credits.non_posted_headers=3 credits"];
    let both = |a: &str, b: &str| format!("--name=a {a} --name=b {b}");
    let mixed = "--rw=read --bssplit=60-9000 --iodepth=24 --time_based --ramp_time=10us --runtime=60us";
    let odd = mixed.replace("--bssplit=60-9000", "--bs=777").replace("read", "write");
    vec![
        (NIC, vec![], SEND.into()),
        (NIC, vec![], RECEIVE_SMALL.into()),
        (NIC, vec![], SEND_ONE.into()),
        (NIC, vec!["driver.packet_max=64 KiB"], SEGMENTED.replace("600us", "50us")),
        (NIC, interrupts.clone(), both(RECEIVE_ONE, SEND_ONE)),
        (NIC, interrupts, both(RECEIVE, SEND).replace("200us", "40us").replace("256", "32")),
        (NIC, waiting, odd.replace("write", "read")),
        (NIC, [&translated[..], &["driver.memory=local"]].concat(), odd),
        (GPU, vec![], both(TO_GPU, FROM_GPU).replace("200us", "40us")),
        (GPU, vec![], PAGE_TO_GPU.into()),
        (GPU, errors, both(TO_GPU, FROM_GPU).replace("200us", "40us")),
        (GPU, [translated, credits].concat(), both(TO_GPU, FROM_GPU).replace("200us", "40us")),
    ]
}

#[test]
fn the_account_of_adapters_and_accelerators_adds_up_and_leaves_nothing_unattributed() {
    let mut with_latency = 0;
    for (system, changes, options) in cases() {
        let Explained { account, latency, .. } = explained(system, &changes, &options, true);
        assert_eq!(account.unattributed(), [], "{system} {changes:?} {options}");
        for lane in &account.lanes {
            assert_eq!(sum(&lane.entries), account.span(), "{system} {changes:?} {options}: {}", lane.lane);
        }
        if let Some(latency) = &latency {
            assert_eq!(sum(&latency.mean.phases()), latency.mean.sum, "{system} {changes:?} {options}");
            with_latency += 1;
        }
    }
    assert!(with_latency >= 7, "requests ended in {with_latency} windows only");
}

#[test]
fn trains_change_nothing_for_adapters_and_accelerators() {
    let account = |explained: &Explained| -> (Vec<Vec<Entry>>, Time) {
        let Account { lanes, .. } = &explained.account;
        (lanes.iter().map(|lane| lane.entries.clone()).collect(), explained.account.span())
    };
    for (system, changes, options) in cases() {
        let (whole, single) =
            (explained(system, &changes, &options, true), explained(system, &changes, &options, false));
        let counts = |run: &Explained| -> Vec<(u64, u64, u64)> {
            let got = run.outcome.jobs.iter().filter_map(|job| job.got.as_ref());
            got.map(|got| (got.bytes, got.count, got.last_end.as_ps())).collect()
        };
        assert_eq!(counts(&whole), counts(&single), "{system} {changes:?} {options}");
        // What the end of the window cuts short is known a little later or earlier.
        if whole.account.until == single.account.until {
            assert_eq!(account(&whole), account(&single), "{system} {changes:?} {options}");
        }
    }
}

/// What a link carries of the user, bytes per second, counted by hand.
fn ceiling(gigatransfers: f64, lanes: f64, payload: f64, overhead: f64) -> f64 {
    let encoding = if gigatransfers < 8.0 { 0.8 } else { 128.0 / 130.0 };
    gigatransfers * 1e9 / 8.0 * lanes * encoding * payload / (payload + overhead)
}

/// Bytes that were moved from the beginning of a run to its end, per second: nothing was under way before.
fn moved(system: &str, changes: &[String], options: &str) -> f64 {
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    let outcome = outcome(system, &changes, options);
    let bytes: u64 = outcome.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.bytes).sum();
    bytes as f64 / outcome.simulated.as_seconds_f64()
}

fn power_of_two(least: u32, most: u32) -> impl Strategy<Value = u64> {
    (least..=most).prop_map(|exponent| 1 << exponent)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_copy_is_faster_than_its_bytes_or_its_tags_allow(
        payload in power_of_two(7, 9),
        request in power_of_two(7, 12),
        completion in power_of_two(7, 9),
        tags in 1..300u64,
        rate in prop::sample::select(vec![2.5, 5.0, 8.0, 16.0, 32.0]),
        lanes in prop::sample::select(vec![1u64, 2, 4, 8, 16]),
        memory in prop::sample::select(vec![5.0, 40.0, 400.0]),
        block_kib in power_of_two(2, 8),
        writes in any::<bool>(),
    ) {
        let mut changes: Vec<String> = QUICK.iter().map(ToString::to_string).collect();
        changes.extend([
            format!("gpu.pcie.payload_max={payload} B"),
            format!("gpu.pcie.read_request_max={request} B"),
            format!("root.combined={completion} B"),
            format!("gpu.pcie.tags={tags} tags"),
            format!("link.rate={rate} GT/s"),
            format!("link.width={lanes} lanes"),
            format!("root.memory_rate={memory} GB/s"),
        ]);
        let rw = if writes { "write" } else { "read" };
        let options = format!("--rw={rw} --bs={block_kib}k --iodepth=16 --time_based --size=16m --runtime=100us");
        let got = moved(GPU, &changes, &options);
        let of_link = if writes {
            // A completion carries no more than a payload, and has a header of 12 bytes and 8 of framing.
            ceiling(rate, lanes as f64, payload.min(completion) as f64, 20.0)
        } else {
            ceiling(rate, lanes as f64, payload as f64, 24.0)
        };
        // Tags bound what is read: requests under way in the shortest time that one takes.
        let of_tags = if writes { tags as f64 * request as f64 / 600e-9 } else { f64::MAX };
        let least = of_link.min(memory * 1e9).min(of_tags);
        prop_assert!(got <= least, "{} {}: {} of {}", changes.join(" "), options, got, least);
    }

    #[test]
    fn no_packet_is_faster_than_its_wire_its_link_or_its_processor_allows(
        bytes in 60..1_514u64,
        wire in prop::sample::select(vec![1.25, 12.5, 50.0]),
        lanes in prop::sample::select(vec![1u64, 4, 16]),
        interconnect in prop::sample::select(vec![2.0, 40.0]),
        depth in 1..300u64,
        writes in any::<bool>(),
    ) {
        let changes = [
            format!("nic.wire.rate={wire} GB/s"),
            format!("link.width={lanes} lanes"),
            format!("root.interconnect.rate={interconnect} GB/s"),
        ];
        let rw = if writes { "write" } else { "read" };
        let options = format!("--rw={rw} --bs={bytes} --iodepth={depth} --time_based --runtime=40us");
        let (got, packet) = (moved(NIC, &changes, &options), bytes as f64);
        let of_wire = wire * 1e9 * packet / (packet + 24.0);
        // A packet and its descriptor, or its completion, go one way.
        let of_link = if writes {
            ceiling(8.0, lanes as f64, packet, 64.0 + 20.0 * (2.0 + packet / 256.0).floor())
        } else {
            ceiling(8.0, lanes as f64, packet, 64.0 + 24.0 * (2.0 + packet / 256.0).floor())
        };
        let of_processor = packet / 10e-9;
        let least = of_wire.min(of_link).min(of_processor).min(interconnect * 1e9);
        prop_assert!(got <= least, "{} {}: {} of {}", changes.join(" "), options, got, least);
    }
}
