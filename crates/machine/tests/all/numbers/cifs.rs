//! A network adapter on PCI, a file server with its TCP, and its client.

use super::bites::{Bite, check, rate, time};

pub const LISTS: &[&[Bite]] = &[ADAPTER, CLIENT, SERVER];

const CIFS: &str = "win2000-cifs";
const HITS: &str = "--filename=server.disk0 --rw=read --bs=64k --size=64k --iodepth=8 --time_based --ramp_time=10ms \
     --runtime=30ms";
const WRITES: &str = "--filename=server.disk0 --rw=write --bs=64k --size=64k --iodepth=4 --time_based --ramp_time=10ms \
     --runtime=60ms";
const ONE: &str = "--filename=server.disk0 --rw=read --bs=4k --size=64k --iodepth=1 --time_based --ramp_time=20ms \
     --runtime=20ms";
const WRITE_ONE: &str = "--filename=server.disk0 --rw=write --bs=64k --size=64k --iodepth=1 --time_based --ramp_time=10ms \
     --runtime=60ms";

const ADAPTER: &[Bite] = &[
    rate(CIFS, HITS, &[], "nic.wire.rate=12.5 MB/s", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "nic.wire.frame_max=600 B", (500.0, 501.0)),
    rate(CIFS, HITS, &["pci.speed=slowest card"], "nic.pci.clock=16 MHz", (500.0, 501.0)),
    rate(CIFS, HITS, &["pci.width=8 B", "pci.clock=16 MHz"], "nic.pci.width=4 B", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "nic.pci.burst=16 B", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "nic.pci.read=memory read multiple", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "nic.pci.gap=200 clocks", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "nic.pci.retry_idle=200 clocks", (500.0, 501.0)),
    time(CIFS, ONE, &[], "nic.pci.register=2000 clocks", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "nic.tx.ring=2 descriptors", (500.0, 501.0)),
    rate(CIFS, HITS, &["pci.clock=8 MHz"], "nic.tx.descriptor=128 B", (500.0, 501.0)),
    rate(
        CIFS,
        HITS,
        &["server.tcp.batch=16 segments", "client.tcp.window=64 KiB", "pci.clock=8 MHz"],
        "nic.tx.fetch=1 descriptors",
        (500.0, 501.0),
    ),
    rate(
        CIFS,
        HITS,
        &["nic.tx.fetch=1 descriptors", "nic.tx.packet=1 us", "pci.clock=8 MHz"],
        "nic.tx.fetches=4 requests",
        (500.0, 501.0),
    ),
    rate(CIFS, HITS, &[], "nic.tx.prefetch=1 descriptors", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "nic.tx.packet=100 us", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "nic.tx.contexts=2 packets", (500.0, 501.0)),
    rate(CIFS, HITS, &["nic.wire.rate=40 MB/s"], "nic.tx.buffer=1536 B", (500.0, 501.0)),
    rate(
        CIFS,
        HITS,
        &["pci.clock=8 MHz", "nic.tx.moderation.count=1 packets", "server.tcp.batch=1 segments"],
        "nic.tx.completion=128 B",
        (500.0, 501.0),
    ),
    rate(
        CIFS,
        HITS,
        &["nic.tx.ring=8 descriptors", "nic.tx.moderation.time=4 ms"],
        "nic.tx.moderation.count=4 packets",
        (500.0, 501.0),
    ),
    rate(CIFS, HITS, &["nic.tx.ring=8 descriptors"], "nic.tx.moderation.time=1 ms", (500.0, 501.0)),
    rate(CIFS, WRITES, &[], "nic.rx.ring=2 descriptors", (500.0, 501.0)),
    rate(CIFS, WRITES, &["pci.clock=8 MHz"], "nic.rx.descriptor=128 B", (500.0, 501.0)),
    rate(CIFS, WRITES, &["pci.clock=8 MHz"], "nic.rx.fetch=1 descriptors", (500.0, 501.0)),
    rate(
        CIFS,
        WRITES,
        &["nic.rx.fetch=1 descriptors", "nic.rx.packet=1 us", "pci.clock=8 MHz"],
        "nic.rx.fetches=4 requests",
        (500.0, 501.0),
    ),
    rate(CIFS, WRITES, &[], "nic.rx.prefetch=1 descriptors", (500.0, 501.0)),
    rate(CIFS, WRITES, &[], "nic.rx.packet=100 us", (500.0, 501.0)),
    rate(CIFS, WRITES, &["pci.clock=8 MHz"], "nic.rx.contexts=4 packets", (500.0, 501.0)),
    rate(CIFS, WRITES, &["pci.clock=8 MHz"], "nic.rx.completion=128 B", (500.0, 501.0)),
    rate(CIFS, WRITES, &["nic.rx.completion_wait=400 us"], "nic.rx.completions=8 packets", (500.0, 501.0)),
    time(CIFS, ONE, &["nic.rx.completions=8 packets"], "nic.rx.completion_wait=400 us", (500.0, 501.0)),
    time(CIFS, WRITE_ONE, &["nic.rx.moderation.time=1 ms"], "nic.rx.moderation.count=1 packets", (500.0, 501.0)),
    time(CIFS, ONE, &[], "nic.rx.moderation.time=1 ms", (500.0, 501.0)),
];

const CLIENT: &[Bite] = &[
    time(CIFS, ONE, &[], "client.command=400 us", (500.0, 501.0)),
    time(CIFS, ONE, &[], "client.answer=400 us", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "client.tcp.window=2920 B", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "client.tcp.segment=80 us", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "client.read.under_way=1 command", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "client.read.bytes=4 KiB", (500.0, 501.0)),
    rate(CIFS, WRITES, &[], "client.write.under_way=4 commands", (500.0, 501.0)),
    rate(CIFS, WRITES, &[], "client.write.bytes=4 KiB", (500.0, 501.0)),
];

const SERVER: &[Bite] = &[
    time(CIFS, ONE, &[], "server.command=400 us", (500.0, 501.0)),
    time(CIFS, ONE, &[], "server.answer=400 us", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "server.threads=1 command", (500.0, 501.0)),
    time(CIFS, ONE, &[], "server.interrupt=200 us", (500.0, 501.0)),
    time(CIFS, ONE, &[], "server.doorbell=50 us", (500.0, 501.0)),
    rate(CIFS, WRITES, &[], "server.tcp.window=2920 B", (500.0, 501.0)),
    rate(
        CIFS,
        HITS,
        &["server.doorbell=20 us", "client.tcp.window=64 KiB"],
        "server.tcp.batch=16 segments",
        (500.0, 501.0),
    ),
    rate(CIFS, HITS, &[], "server.tcp.sent=100 us", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "server.tcp.send.segment=80 us", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "server.tcp.send.rate=20 MB/s", (500.0, 501.0)),
    rate(CIFS, WRITES, &[], "server.tcp.send.acknowledgement=200 us", (500.0, 501.0)),
    rate(CIFS, WRITES, &[], "server.tcp.receive.segment=80 us", (500.0, 501.0)),
    rate(CIFS, WRITES, &[], "server.tcp.receive.rate=20 MB/s", (500.0, 501.0)),
    rate(CIFS, HITS, &[], "server.tcp.receive.acknowledgement=100 us", (500.0, 501.0)),
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
