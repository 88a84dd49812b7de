//! A network adapter on PCI, a file server with its TCP, and its client.

use super::bites::{Bite, check, rate, time};

pub const LISTS: &[&[Bite]] = &[ADAPTER, CLIENT, SERVER];

const CIFS: &str = "win2000-cifs";
const HITS: &str = "--filename=server.disk0 --rw=read --bs=16k --size=64k --iodepth=8 --time_based --ramp_time=5ms \
     --runtime=30ms";
const WRITES: &str =
    "--filename=server.disk0 --rw=write --bs=16k --iodepth=4 --time_based --ramp_time=5ms --runtime=30ms";
const ONE: &str = "--filename=server.disk0 --rw=read --bs=4k --size=64k --iodepth=1 --time_based --ramp_time=10ms \
     --runtime=10ms";
const WRITE_ONE: &str =
    "--filename=server.disk0 --rw=write --bs=16k --iodepth=1 --time_based --ramp_time=5ms --runtime=30ms";
/// Memory is far away, and a read of it takes one trip.
const FAR: &str = "hub.latency=20 us; nic.pci.read=memory read multiple; bridge.read.prefetch_multiple=4 KiB; \
     bridge.read.ahead=64 transactions; bridge.read.latched=8 transactions; bridge.write.buffer=16 KiB; \
     bridge.write.under_way=64 transactions";

const ADAPTER: &[Bite] = &[
    rate(CIFS, HITS, &[], "nic.wire.rate=12.5 MB/s", (0.1909, 0.5090)),
    rate(CIFS, HITS, &[], "nic.wire.frame_max=600 B", (0.3442, 0.5628)),
    rate(CIFS, HITS, &["pci.speed=slowest card"], "nic.pci.clock=16 MHz", (0.3897, 0.6479)),
    rate(CIFS, HITS, &["pci.width=8 B", "pci.clock=16 MHz"], "nic.pci.width=4 B", (0.6400, 0.7600)),
    rate(CIFS, HITS, &[], "nic.pci.burst=16 B", (0.5814, 0.7210)),
    rate(CIFS, HITS, &[], "nic.pci.read=memory read line", (0.6, 0.8)),
    rate(CIFS, HITS, &[], "nic.pci.gap=200 clocks", (0.4419, 0.6279)),
    rate(CIFS, HITS, &[], "nic.pci.retry_idle=200 clocks", (0.3442, 0.5628)),
    time(CIFS, ONE, &[], "nic.pci.register=2000 clocks", (1.9, 2.65)),
    rate(CIFS, HITS, &[], "nic.tx.ring=2 descriptors", (0.0953, 0.2541)),
    time(CIFS, HITS, &["pci.clock=4 MHz"], "nic.tx.descriptor=128 B", (1.015, 1.045)),
    rate(
        CIFS,
        HITS,
        &[FAR, "hub.latency=50 us", "nic.tx.contexts=8 packets", "client.tcp.window=64 KiB"],
        "nic.tx.fetch=1 descriptors",
        (0.45, 0.68),
    ),
    rate(
        CIFS,
        HITS,
        &[FAR, "nic.tx.contexts=8 packets", "nic.tx.fetch=1 descriptors", "client.tcp.window=64 KiB"],
        "nic.tx.fetches=4 requests",
        (1.0992, 1.1719),
    ),
    rate(
        CIFS,
        HITS,
        &[FAR, "nic.tx.contexts=8 packets", "client.tcp.window=64 KiB"],
        "nic.tx.prefetch=1 descriptors",
        (0.8130, 0.8921),
    ),
    rate(CIFS, HITS, &[], "nic.tx.packet=100 us", (0.2250, 0.6000)),
    rate(CIFS, HITS, &[FAR, "client.tcp.window=64 KiB"], "nic.tx.contexts=8 packets", (1.2, 3.0)),
    rate(CIFS, HITS, &["nic.wire.rate=40 MB/s"], "nic.tx.buffer=1536 B", (0.6521, 0.7681)),
    rate(
        CIFS,
        HITS,
        &["nic.tx.ring=8 descriptors", "nic.tx.moderation.time=4 ms"],
        "nic.tx.moderation.count=4 packets",
        (7.9068, 18.2465),
    ),
    rate(CIFS, HITS, &["nic.tx.ring=8 descriptors"], "nic.tx.moderation.time=1 ms", (0.2810, 0.7492)),
    rate(CIFS, WRITES, &[], "nic.rx.ring=2 descriptors", (0.4386, 0.6761)),
    time(CIFS, WRITES, &["pci.clock=4 MHz"], "nic.rx.descriptor=128 B", (1.02, 1.06)),
    rate(CIFS, WRITES, &[], "nic.rx.packet=100 us", (0.4025, 0.6553)),
    time(CIFS, WRITES, &["pci.clock=4 MHz"], "nic.rx.completion=128 B", (1.013, 1.04)),
    rate(CIFS, WRITES, &["nic.rx.completion_wait=400 us"], "nic.rx.completions=8 packets", (0.5783, 0.7189)),
    time(CIFS, ONE, &["nic.rx.completions=8 packets"], "nic.rx.completion_wait=400 us", (1.7, 2.3)),
    time(CIFS, WRITE_ONE, &["nic.rx.moderation.time=1 ms"], "nic.rx.moderation.count=1 packets", (0.2710, 0.7228)),
    time(CIFS, ONE, &[], "nic.rx.moderation.time=1 ms", (1.55, 2.05)),
];

const CLIENT: &[Bite] = &[
    time(CIFS, ONE, &[], "client.command=400 us", (1.65, 2.15)),
    time(CIFS, ONE, &[], "client.answer=400 us", (1.55, 2.0)),
    rate(CIFS, HITS, &[], "client.tcp.window=2920 B", (0.1804, 0.4812)),
    rate(CIFS, HITS, &[], "client.tcp.segment=80 us", (0.2585, 0.6893)),
    rate(CIFS, HITS, &[], "client.read.under_way=1 command", (0.1951, 0.5203)),
    rate(CIFS, HITS, &[], "client.read.bytes=4 KiB", (0.2652, 0.7073)),
    rate(CIFS, WRITES, &[], "client.write.under_way=4 commands", (1.2811, 1.4217)),
    rate(CIFS, WRITES, &[], "client.write.bytes=4 KiB", (0.2538, 0.6767)),
];

const SERVER: &[Bite] = &[
    time(CIFS, ONE, &[], "server.command=400 us", (1.85, 2.55)),
    time(CIFS, ONE, &[], "server.answer=400 us", (1.7, 2.3)),
    rate(CIFS, HITS, &[], "server.threads=1 command", (0.5918, 0.8268)),
    time(CIFS, ONE, &[], "server.interrupt=200 us", (1.8, 2.5)),
    rate(CIFS, HITS, &[], "server.doorbell=50 us", (0.4467, 0.6808)),
    rate(CIFS, WRITES, &[], "server.tcp.window=2920 B", (0.3595, 0.6305)),
    rate(
        CIFS,
        HITS,
        &["server.doorbell=100 us", "client.tcp.window=64 KiB"],
        "server.tcp.batch=16 segments",
        (2.7043, 3.5565),
    ),
    rate(CIFS, HITS, &[], "server.tcp.sent=100 us", (0.1841, 0.4911)),
    rate(CIFS, HITS, &[], "server.tcp.send.segment=80 us", (0.2339, 0.6237)),
    rate(CIFS, HITS, &[], "server.tcp.send.rate=20 MB/s", (0.2512, 0.6699)),
    rate(CIFS, WRITES, &[], "server.tcp.send.acknowledgement=200 us", (0.4811, 0.6541)),
    rate(CIFS, WRITES, &[], "server.tcp.receive.segment=80 us", (0.4267, 0.6693)),
    rate(CIFS, WRITES, &[], "server.tcp.receive.rate=20 MB/s", (0.4156, 0.6629)),
    rate(CIFS, HITS, &[], "server.tcp.receive.acknowledgement=100 us", (0.3923, 0.6494)),
];

#[test]
fn every_number_of_an_adapter_on_pci_bites() {
    check(ADAPTER);
}

#[test]
fn every_number_of_a_client_bites() {
    check(CLIENT);
}

#[test]
fn every_number_of_a_file_server_bites() {
    check(SERVER);
}
