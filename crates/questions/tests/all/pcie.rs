//! PCI Express in whole machines: latencies to the nanosecond, nothing is faster than its bytes allow, and the account of
//! an adapter and of an accelerator adds up.

use hopscope_kernel::Time;
use hopscope_machine::run::{Options, Outcome, run};
use hopscope_observe::account::{Account, Entry, Extent};
use hopscope_questions::explain::{Explained, explain};
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
const RECEIVE_SMALL: &str = "--rw=read --bs=60 --iodepth=256 --time_based --ramp_time=30us --runtime=60us";
const SEND_ONE: &str = "--rw=write --bs=60 --iodepth=1 --time_based --ramp_time=20us --runtime=100us";
const RECEIVE_ONE: &str = "--rw=read --bs=60 --iodepth=1 --time_based --ramp_time=20us --runtime=100us";
const SEGMENTED: &str = "--rw=write --bs=64k --iodepth=16 --time_based --ramp_time=100us --runtime=600us";

#[test]
fn only_where_reads_may_not_pass_writes_do_they_wait_for_them() {
    let both = format!("--name=a {TO_GPU} --name=b {FROM_GPU}");
    let left = |ordering: &str| {
        let given = [&QUICK[..], &[ordering]].concat();
        rate(GPU, &[&given[..], &["root.write=3 us"]].concat(), &both) / rate(GPU, &given, &both)
    };
    let (strict, relaxed) = (left("gpu.pcie.ordering=strict"), left("gpu.pcie.ordering=relaxed"));
    assert!((0.40..0.55).contains(&strict), "writes that take 3 us leave {strict} of the rate in order");
    // What was on its way when the window ended, 3 us of 200.
    assert!((0.985..=1.0).contains(&relaxed), "writes that take 3 us leave {relaxed} of the rate out of order");
}

#[test]
fn interrupts_cost_a_lone_packet_their_time_and_many_packets_nothing() {
    let left = |job: &str| {
        let given = ["driver.completions=interrupt", "driver.interrupt=1 us"];
        rate(NIC, &[&given[..], &["driver.interrupt=10 us"]].concat(), job) / rate(NIC, &given, job)
    };
    let (one, many) = (left(RECEIVE_ONE), left(RECEIVE_SMALL));
    assert!((0.40..0.60).contains(&one), "9 us more after some 10 leave {one}");
    assert!((many - 1.0).abs() < 0.002, "who is behind polls: {many}");
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
