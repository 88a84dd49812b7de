//! PCI and PCI-X: segments, cards, hosts, links and bridges.

use super::bites::{Bite, check, rate, time};

pub const LISTS: &[&[Bite]] = &[SEGMENT_AND_CARD, HOST_LINK_AND_BRIDGE, BRIDGE_BETWEEN_SEGMENTS, ADAPTER];

const READ: &str = "--filename=nic --rw=read --bs=4k --iodepth=32 --time_based --ramp_time=200us --runtime=2ms";
const READ_64: &str = "--filename=nic --rw=read --bs=64 --iodepth=1 --time_based --runtime=1ms";
const WRITE: &str = "--filename=nic --rw=write --bs=4k --iodepth=32 --time_based --ramp_time=200us --runtime=2ms";
const BOTH: &str = "--filename=nic.both --rw=read --bs=4k --iodepth=32 --time_based --ramp_time=200us --runtime=2ms";
const USER: &str = "--filename=nic.user --rw=read --bs=4k --iodepth=32 --time_based --ramp_time=200us --runtime=2ms";
const LONG: &str = "--filename=nic --rw=read --bs=64k --iodepth=4 --time_based --ramp_time=200us --runtime=2ms";
const MELODY: &str = "myrinet-melody";
const E7501: &str = "myrinet-x5dpe";
const TYAN: &str = "myrinet-tyan-133";
const TWO_PORTS: &str = "myrinet-x5dl8-two-ports";
const BELOW: &str = "myrinet-x5dl8-behind-bridge";
const CONVENTIONAL: &str = "pci.clock=66.666667 MHz; pci.mode=PCI";

const SEGMENT_AND_CARD: &[Bite] = &[
    rate(MELODY, WRITE, &[], "pci.clock=66.666667 MHz", (0.49, 0.51)),
    rate(MELODY, WRITE, &[], "nic.pci.clock=66.666667 MHz", (0.49, 0.51)),
    rate(MELODY, WRITE, &[], "pci.width=4 B", (0.5, 0.52)),
    rate(MELODY, WRITE, &[], "nic.pci.width=4 B", (0.5, 0.52)),
    rate(MELODY, READ, &[], "nic.pci.width=4 B", (0.52, 0.56)),
    // Ten clocks more in 529.
    rate(MELODY, WRITE, &[], "pci.turnaround=11 clocks", (0.975, 0.985)),
    rate(MELODY, WRITE, &[], "nic.pci.gap=16 clocks", (0.975, 0.985)),
    rate(E7501, WRITE, &["bridge.write.accept=1 KiB"], "pci.disconnect=200 clocks", (0.8915, 0.9264)),
    rate(E7501, WRITE, &[], "nic.pci.retry_idle=400 clocks", (0.469, 0.604)),
    rate(MELODY, WRITE, &[], "nic.pci.burst=512 B", (0.8, 0.84)),
    rate(MELODY, READ, &[], "nic.pci.read_request=512 B", (0.473, 0.608)),
    rate(MELODY, READ, &["nic.pci.read_request=512 B"], "nic.pci.splits=4 transactions", (1.539, 1.91)),
    rate(MELODY, BOTH, &[], "pci.latency_timer=0 clocks", (0.8895, 0.925)),
    // A delayed read goes on as far as the bridge has data; a split one ends where its 512 bytes do, and the next begins then.
    rate(
        MELODY,
        READ,
        &["nic.pci.clock=66.666667 MHz", "nic.pci.read_request=512 B"],
        "nic.pci.mode=PCI",
        (1.383, 1.627),
    ),
    rate(MELODY, READ, &[CONVENTIONAL, "nic.pci.read_request=512 B"], "pci.mode=PCI-X", (0.614, 0.724)),
    rate(MELODY, READ, &[CONVENTIONAL], "nic.pci.read=memory read", (0.15, 0.25)),
    rate(MELODY, WRITE, &[CONVENTIONAL], "bridge.boundary=128 B", (0.45, 0.55)),
    // 200 clocks after each retry of a read.
    rate(MELODY, READ, &[CONVENTIONAL], "nic.pci.retry_idle=200 clocks", (0.2, 0.3)),
];

const HOST_LINK_AND_BRIDGE: &[Bite] = &[
    rate(MELODY, READ, &[], "host.memory.latency=1120 ns", (0.78, 0.83)),
    rate(MELODY, WRITE, &[], "host.memory.rate=500 MB/s", (0.48, 0.52)),
    rate(MELODY, WRITE, &[], "link.rate=500 MB/s", (0.42, 0.45)),
    rate(MELODY, READ, &[], "link.latency=550 ns", (0.78, 0.83)),
    rate(E7501, WRITE, &[], "link.write_overhead=64 B", (0.61, 0.65)),
    rate(E7501, WRITE, &[], "link.payload=32 B", (0.82, 0.85)),
    rate(E7501, READ, &[], "link.read_overhead=64 B", (0.506, 0.636)),
    rate(E7501, READ, &[], "link.request=128 B", (0.525, 0.652)),
    rate(E7501, BOTH, &[], "link.ways=apart", (1.082, 1.128)),
    rate(MELODY, READ, &[], "bridge.latency=598 ns", (0.78, 0.83)),
    rate(MELODY, WRITE, &[], "bridge.write.response=18 clocks", (0.975, 0.985)),
    rate(MELODY, READ, &[], "bridge.read.response=12 clocks", (0.975, 0.99)),
    rate(E7501, WRITE, &[], "bridge.write.buffer=128 B", (0.267, 0.416)),
    rate(E7501, WRITE, &["bridge.write.buffer=4 KiB"], "bridge.write.accept=4 KiB", (0.8973, 0.9304)),
    rate(
        E7501,
        WRITE,
        &["bridge.write.buffer=4 KiB", "bridge.write.under_way=1 transaction"],
        "bridge.write.gather=4 KiB",
        (0.969, 0.9793),
    ),
    rate(E7501, WRITE, &[], "bridge.write.under_way=1 transaction", (0.494, 0.626)),
    rate(TYAN, READ, &[], "bridge.read.ahead=2 transactions", (0.25, 0.4)),
    rate(TYAN, READ, &[], "bridge.read.piece=256 B", (1.0189, 1.0287)),
    rate(TYAN, READ, &[], "bridge.read.first=2 KiB", (0.716, 0.801)),
    rate(
        MELODY,
        READ,
        &["nic.pci.read_request=512 B", "nic.pci.splits=8 transactions"],
        "bridge.read.latched=1 transaction",
        (0.511, 0.64),
    ),
    rate(MELODY, READ, &[CONVENTIONAL], "bridge.read.prefetch_multiple=128 B", (0.283, 0.432)),
    rate(MELODY, READ, &[CONVENTIONAL, "nic.pci.read=memory read line"], "bridge.read.prefetch_line=4 KiB", (4.0, 5.5)),
    rate(MELODY, READ, &[CONVENTIONAL, "nic.pci.read=memory read"], "bridge.read.prefetch=4 KiB", (4.0, 5.5)),
];

const BRIDGE_BETWEEN_SEGMENTS: &[Bite] = &[
    rate(BELOW, WRITE, &[], "below.write.buffer=4 KiB", (1.545, 1.923)),
    rate(BELOW, WRITE, &[], "below.write.accept=152 B", (0.9318, 0.9541)),
    rate(BELOW, WRITE, &["below.write.buffer=4 KiB"], "below.write.gather=4 KiB", (0.659, 0.758)),
    rate(BELOW, WRITE, &["below.write.buffer=4 KiB"], "below.write.under_way=4 transactions", (1.121, 1.189)),
    rate(BELOW, WRITE, &[], "below.write.response=20 clocks", (0.765, 0.837)),
    rate(BELOW, WRITE, &[], "below.boundary=128 B", (0.8868, 0.9231)),
    rate(BELOW, READ, &[], "below.read.prefetch_multiple=4 KiB", (1.248, 1.396)),
    rate(BELOW, READ, &["nic.pci.read=memory read"], "below.read.prefetch=512 B", (1.248, 1.396)),
    rate(BELOW, READ, &["nic.pci.read=memory read line"], "below.read.prefetch_line=512 B", (1.248, 1.396)),
    // Pieces of a latched read are fetched side by side where there is more than one.
    rate(BELOW, READ, &["below.read.prefetch_multiple=4 KiB"], "below.read.ahead=4 transactions", (1.8, 2.5)),
    rate(BELOW, READ, &[], "below.read.piece=32 B", (0.333, 0.481)),
    rate(BELOW, READ, &["below.read.prefetch_multiple=4 KiB"], "below.read.first=2 KiB", (0.9097, 0.9389)),
    time(BELOW, READ_64, &[], "below.read.response=12 clocks", (1.231, 1.367)),
    rate(BELOW, READ, &[], "below.latency=500 ns", (0.541, 0.665)),
    rate(BELOW, READ, &[], "below.pci.clock=33.333333 MHz", (0.765, 0.837)),
    rate(BELOW, WRITE, &[], "below.pci.gap=60 clocks", (0.112, 0.234)),
    rate(BELOW, WRITE, &[], "below.pci.width=4 B", (0.721, 0.805)),
    rate(BELOW, WRITE, &[], "below.pci.burst=64 B", (0.82, 0.877)),
    rate(BELOW, READ, &[], "below.pci.read=memory read", (0.651, 0.752)),
    rate(BELOW, READ, &[], "below.pci.retry_idle=100 clocks", (0.477, 0.611)),
    rate(
        BELOW,
        READ,
        &["below.read.prefetch_multiple=4 KiB", "below.read.piece=4 KiB"],
        "below.pci.mode=PCI-X",
        (0.774, 0.844),
    ),
    rate(
        BELOW,
        READ,
        &["below.read.prefetch_multiple=4 KiB", "below.read.piece=4 KiB", "below.pci.mode=PCI-X"],
        "below.pci.read_request=4 KiB",
        (1.201, 1.317),
    ),
    rate(
        BELOW,
        READ,
        &[
            "below.read.prefetch_multiple=4 KiB",
            "below.read.piece=512 B",
            "below.pci.mode=PCI-X",
            "below.read.ahead=4 transactions",
        ],
        "below.pci.splits=4 transactions",
        (1.262, 1.419),
    ),
];

const ADAPTER: &[Bite] = &[
    rate(MELODY, LONG, &[], "nic.block=512 B", (0.453, 0.591)),
    rate(MELODY, WRITE, &[], "nic.local_memory=500 MB/s", (0.47, 0.5)),
    rate(TWO_PORTS, USER, &[], "nic.firmware.send=9 us", (0.618, 0.726)),
    rate(TWO_PORTS, USER, &[], "nic.firmware.receive=9 us", (0.643, 0.746)),
    rate(TWO_PORTS, USER, &[], "nic.ports=1 port", (0.5, 0.6)),
    rate(TWO_PORTS, USER, &["nic.ports=1 port"], "nic.packet_overhead=1024 B", (0.78, 0.84)),
    rate(TWO_PORTS, USER, &[], "nic.buffers=1 packet", (0.305, 0.454)),
];

#[test]
fn every_number_of_segment_and_card_bites() {
    check(SEGMENT_AND_CARD);
}

#[test]
fn every_number_of_host_link_and_bridge_bites() {
    check(HOST_LINK_AND_BRIDGE);
}

#[test]
fn every_number_of_a_bridge_between_segments_bites() {
    check(BRIDGE_BETWEEN_SEGMENTS);
}

#[test]
fn every_number_of_a_myrinet_adapter_bites() {
    check(ADAPTER);
}
