//! What is a host's own affair on PCI Express, and where in it buffers lie: from which size completions are joined, how
//! the end of a read comes, how long tags are held, the other socket; and both directions of an accelerator at once.

use hopscope_machine::run::{Options, Outcome, run};

use crate::shipped::{WINDOW, changed, jobs, machine};

const BENCH: &str = "pcie-bench-sandy-bridge";
const GPU: &str = "gpu-server";
const NIC: &str = "nic-two-sockets";

fn outcome(system: &str, changes: &[&str], options: &str) -> Outcome {
    ran(system, changes, options, WINDOW)
}

fn ran(system: &str, changes: &[&str], options: &str, how: Options) -> Outcome {
    run(&machine(system, changes), &jobs(options), how, None).expect("the job runs")
}

/// Bytes per second of each job.
fn rates(system: &str, changes: &[&str], options: &str) -> Vec<f64> {
    rates_of(&outcome(system, changes, options))
}

fn rates_of(outcome: &Outcome) -> Vec<f64> {
    let got = outcome.jobs.iter().filter_map(|job| job.got.as_ref());
    got.map(|got| got.bytes as f64 / outcome.measured.as_seconds_f64()).collect()
}

/// Mean latency of the first job, ns.
fn latency(system: &str, changes: &[&str], options: &str) -> f64 {
    outcome(system, changes, options).jobs[0].got.as_ref().expect("transfers ended").latency_ns.mean()
}

/// Transfers a second of an adapter with all its contexts busy.
fn transfers(changes: &[&str], rw: &str, bytes: u64) -> f64 {
    let job = format!(
        "--filename=nfp --rw={rw} --norandommap --bs={bytes} --size={} --iodepth=88 --time_based --ramp_time=40us \
         --runtime=200us",
        8_192 / bytes.next_multiple_of(64) * bytes
    );
    rates(BENCH, changes, &job)[0] / bytes as f64
}

#[test]
fn completions_are_joined_from_the_hosts_own_size_on_whatever_the_largest_request() {
    let measured = transfers(&[], "randread", 2_048);
    for request in ["nfp.pcie.read_request_max=1 KiB", "nfp.pcie.read_request_max=4 KiB"] {
        let longer = transfers(&[request], "randread", 2_048);
        assert!(longer > 0.99 * measured, "{request}: {longer} instead of {measured}");
    }
    for shorter in ["nfp.pcie.read_request_max=256 B", "root.combined_from=1 KiB"] {
        let apart = transfers(&[shorter], "randread", 2_048);
        assert!(apart < 0.94 * measured, "{shorter}: {apart} instead of {measured}");
    }
    // A host that joins from 256 bytes on does so for an adapter that asks for no more.
    let early = transfers(&["nfp.pcie.read_request_max=256 B", "root.combined_from=256 B"], "randread", 2_048);
    assert!(early > 0.97 * measured, "{early} instead of {measured}");
}

#[test]
fn small_reads_of_the_other_socket_are_as_many_as_tags_in_the_time_for_which_they_are_held() {
    // 32 tags at the rate of the local socket are held for 510 ns; 100 ns more, and 64 bytes over the interconnect.
    let (local, remote) = (transfers(&[], "randread", 64), transfers(&["nfp.memory=remote"], "randread", 64));
    let held = 32.0 / local;
    let expected = 32.0 / (held + 100e-9 + 64.0 / 28.8e9);
    assert!((remote / expected - 1.0).abs() < 0.01, "{remote} instead of {expected}, {local} locally");
    // The rate times the latency with one in flight, less what the adapter does before it takes a tag.
    let alone = "--filename=nfp --rw=randread --bs=64 --size=8k --iodepth=1 --time_based --runtime=100us";
    let in_flight = local * latency(BENCH, &[], alone) * 1e-9;
    assert!((31.0..37.0).contains(&in_flight), "{in_flight}");
    // With twice the tags, and for long reads, the other socket costs a bandwidth nothing.
    let more_tags = transfers(&["nfp.memory=remote", "nfp.pcie.tags=64 tags"], "randread", 64);
    assert!(more_tags > 0.99 * local, "{more_tags} instead of {local}");
    let (near, far) = (transfers(&[], "randread", 512), transfers(&["nfp.memory=remote"], "randread", 512));
    assert!(far > 0.99 * near, "{far} instead of {near}");
}

#[test]
fn what_the_end_of_a_read_costs_is_the_hosts() {
    for bytes in [63, 127, 1_023] {
        let apart = transfers(&[], "randread", bytes);
        let with_the_rest = transfers(&["root.tail=with the rest"], "randread", bytes);
        let whole = transfers(&["root.tail=with the rest"], "randread", bytes + 1);
        assert!(apart < 0.99 * with_the_rest, "{bytes}: {apart}, {with_the_rest} with the rest");
        assert!((with_the_rest / whole - 1.0).abs() < 0.005, "{bytes}: {with_the_rest} and {whole}");
    }
    // Whole words have no such end, and the first byte of a line is alone in its completion anyway.
    for bytes in [64, 65, 124] {
        let change = transfers(&["root.tail=with the rest"], "randread", bytes) / transfers(&[], "randread", bytes);
        assert!((change - 1.0).abs() < 1e-9, "{bytes}: {change}");
    }
}

const PAGE_IN: &str = "--rw=write --bs=4k --iodepth=1 --time_based --size=1m --ramp_time=50us --runtime=200us";
const COPY_IN: &str = "--rw=write --bs=256k --iodepth=8 --time_based --size=64m --ramp_time=100us --runtime=400us";
const COPY_OUT: &str = "--rw=read --bs=256k --iodepth=8 --time_based --size=64m --ramp_time=100us --runtime=400us";
const SEND_ONE: &str = "--rw=write --bs=60 --iodepth=1 --time_based --ramp_time=20us --runtime=100us";
const SEND: &str = "--rw=write --bs=1500 --iodepth=256 --time_based --ramp_time=50us --runtime=200us";
const RECEIVE: &str = "--rw=read --bs=1500 --iodepth=256 --time_based --ramp_time=50us --runtime=200us";
const READ_ONE: &str = "--filename=nfp --rw=randread --bs=64 --size=8k --iodepth=1 --time_based --runtime=100us";
const READ: &str = "--filename=nfp --rw=randread --bs=2k --size=8k --iodepth=88 --time_based --runtime=100us";
const WRITE: &str = "--filename=nfp --rw=randwrite --bs=2k --size=8k --iodepth=88 --time_based --runtime=100us";

#[test]
fn the_other_socket_costs_every_device_its_latency_and_its_rate() {
    for (system, memory, one, streams) in [
        (GPU, "driver.memory", PAGE_IN, [COPY_IN, COPY_OUT]),
        (NIC, "driver.memory", SEND_ONE, [SEND, RECEIVE]),
        (BENCH, "nfp.memory", READ_ONE, [READ, WRITE]),
    ] {
        let (local, remote) = (format!("{memory}=local"), format!("{memory}=remote"));
        let far = "root.interconnect.latency=500 ns";
        let more = latency(system, &[far, &remote], one) - latency(system, &[far, &local], one);
        assert!(more > 499.0, "{system}: {more} ns");
        for stream in streams {
            let narrow = "root.interconnect.rate=2 GB/s";
            let [got] = rates(system, &[narrow, &remote], stream)[..] else { panic!("one job") };
            let [not] = rates(system, &[narrow, &local], stream)[..] else { panic!("one job") };
            assert!(got < 2.02e9 && got > 1.5e9, "{system}: {got} B/s of 2 GB/s: {stream}");
            assert!(not > 2.0 * got, "{system}: {not} B/s here, {got} there: {stream}");
        }
    }
}

#[test]
fn each_way_between_the_sockets_carries_by_itself() {
    let both = format!("--name=a {COPY_IN} --name=b {COPY_OUT}");
    let got = rates(GPU, &["driver.memory=remote", "root.interconnect.rate=10 GB/s"], &both);
    assert!(got.iter().all(|rate| (9e9..=10.2e9).contains(rate)), "{got:?}");
}

#[test]
fn nothing_lies_on_a_socket_that_is_not_there() {
    for (system, memory) in [(GPU, "driver.memory"), (NIC, "driver.memory"), (BENCH, "nfp.memory")] {
        let remote = format!("{memory}=remote");
        let one_socket = ["nfp.memory=local", "driver.memory=local"].into_iter().find(|set| set.starts_with(memory));
        let changes = [one_socket.expect("one of them"), "root.interconnect.latency=0 ns"];
        assert!(changed(system, &changes).is_ok(), "{system}");
        let problem = changed(system, &[changes[0], changes[1], &remote]).err().expect("there is no such socket");
        assert!(problem.contains("one socket"), "{problem}");
    }
}

const MIB: &str = "--bs=1m --iodepth=4 --size=1g --time_based --ramp_time=500us --runtime=3ms";

/// Copies in and out alone, and both at once, GB/s: few and long, so those in flight end.
fn copies(system: &str, changes: &[&str]) -> [f64; 4] {
    let rates = |options: &str| rates_of(&ran(system, changes, options, Options::default()));
    let [to, from] = ["write", "read"].map(|rw| rates(&format!("--rw={rw} {MIB}"))[0] / 1e9);
    let both = rates(&format!("--name=in --rw=write {MIB} --name=out --rw=read {MIB}"));
    [to, from, both[0] / 1e9, both[1] / 1e9]
}

#[test]
fn both_directions_at_once_pay_for_each_others_acknowledgements_and_requests() {
    let [to, from, to_too, from_too] = copies(GPU, &[]);
    assert!((52.0..56.5).contains(&to) && (54.0..58.5).contains(&from), "{to} and {from} alone");
    let both = to_too + from_too;
    assert!((98.0..105.0).contains(&both), "{to_too} and {from_too} at once");
    // Acknowledgements at the limit of the standard are hardly any.
    let [.., to_late, from_late] = copies(GPU, &["link.acknowledge.when=at the limit"]);
    assert!(to_late + from_late > both + 4.0, "{to_late} and {from_late} instead of {both}");
}

#[test]
fn older_accelerators_write_packets_of_128_bytes_whatever_their_link_allows() {
    let [_, from, ..] = copies("gpu-server-gen4", &[]);
    // 128 bytes in 152 of a raw 31.5 GB/s, and not 256 in 280.
    assert!((26.0..26.7).contains(&from), "{from}");
    let [_, longer, ..] = copies("gpu-server-gen4", &["gpu.engine.write_payload=256 B"]);
    assert!(longer > 1.07 * from, "{longer} with packets of 256 bytes, {from} with those of 128");
    // At 8 GT/s, beside a host that answers in completions of 64 bytes: NVIDIA/nvbandwidth shows 12.4 GB/s in, 13.2
    // out, 11.5 and 11.3 at once.
    let [to, from, to_too, from_too] = copies("gpu-server-gen4", &["link.rate=8 GT/s", "root.combined=64 B"]);
    for (simulated, measured) in [(to, 12.4), (from, 13.2), (to_too + from_too, 22.8)] {
        assert!((simulated / measured - 1.0_f64).abs() < 0.05, "{simulated} instead of {measured}");
    }
}
