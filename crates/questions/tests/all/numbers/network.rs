//! Network adapters, their driver, and an adapter that is programmed.

use super::bites::{Bite, check, rate, time};

pub const LISTS: &[&[Bite]] = &[ADAPTER, DRIVER, PROGRAMMABLE];

const SEND: &str = "--rw=write --bs=1500 --iodepth=256 --time_based --ramp_time=50us --runtime=200us";
const RECEIVE: &str = "--rw=read --bs=1500 --iodepth=256 --time_based --ramp_time=50us --runtime=200us";
const BOTH_WAYS: &str = "--bs=1500 --iodepth=128 --time_based --ramp_time=50us --runtime=200us --name=a --rw=write --name=b \
     --rw=read";
const SEND_SMALL: &str = "--rw=write --bs=60 --iodepth=256 --time_based --ramp_time=30us --runtime=60us";
const RECEIVE_SMALL: &str = "--rw=read --bs=60 --iodepth=256 --time_based --ramp_time=30us --runtime=60us";
const SEND_ONE: &str = "--rw=write --bs=60 --iodepth=1 --time_based --ramp_time=20us --runtime=100us";
const RECEIVE_ONE: &str = "--rw=read --bs=60 --iodepth=1 --time_based --ramp_time=20us --runtime=100us";
const SEGMENTED: &str = "--rw=write --bs=64k --iodepth=16 --time_based --ramp_time=100us --runtime=600us";
const SEGMENTED_TWO: &str = "--rw=write --bs=64k --iodepth=2 --time_based --ramp_time=100us --runtime=600us";
const NFP_READ: &str =
    "--filename=nfp --rw=randread --bs=64 --size=8k --iodepth=88 --time_based --ramp_time=20us --runtime=100us";
const NFP_READ_63: &str =
    "--filename=nfp --rw=randread --bs=63 --size=8k --iodepth=88 --time_based --ramp_time=20us --runtime=100us";
const NFP_READ_ONE: &str = "--filename=nfp --rw=randread --bs=64 --size=8k --iodepth=1 --time_based --runtime=100us";
const NFP_READ_2K: &str =
    "--filename=nfp --rw=randread --bs=2k --size=8k --iodepth=88 --time_based --ramp_time=20us --runtime=100us";
const NFP_WRITE: &str =
    "--filename=nfp --rw=randwrite --bs=64 --size=8k --iodepth=88 --time_based --ramp_time=20us --runtime=100us";
const NFP_WRITE_2K: &str =
    "--filename=nfp --rw=randwrite --bs=2k --size=8k --iodepth=88 --time_based --ramp_time=20us --runtime=100us";
const NFP_BOTH: &str =
    "--filename=nfp --rw=randrw --bs=1k --size=8k --iodepth=88 --time_based --ramp_time=20us --runtime=200us";
const NIC: &str = "nic-two-sockets";
const BENCH: &str = "pcie-bench-sandy-bridge";
const FAST: &str = "driver.tx.post=1 ns; driver.tx.complete=1 ns; driver.rx.post=1 ns; driver.rx.complete=1 ns";
const INTERRUPTS: &str = "driver.completions=interrupt; driver.interrupt=1 us";
const ONE_WALKER: &str = "root.iommu.entries=64 entries; root.iommu.walk=1 us; root.iommu.walkers=1 walkers";

const ADAPTER: &[Bite] = &[
    rate(NIC, SEND, &[], "nic.wire.rate=3.125 GB/s", (0.249, 0.261)),
    rate(NIC, RECEIVE, &[], "nic.wire.rate=3.125 GB/s", (0.249, 0.251)),
    // 24 bytes of preamble, FCS and gap a frame: 1524 instead of 2 x 774 bytes.
    rate(NIC, RECEIVE, &[], "nic.wire.frame_max=750 B", (0.98, 0.99)),
    rate(NIC, SEND, &[], "nic.pcie.rate=2.5 GT/s", (0.198, 0.341)),
    rate(NIC, SEND, &[], "nic.pcie.width=4 lanes", (0.198, 0.341)),
    rate(NIC, RECEIVE, &["link.width=4 lanes"], "nic.pcie.payload_max=128 B", (0.9109, 0.9397)),
    rate(NIC, SEND, &["link.width=4 lanes"], "nic.pcie.read_request_max=128 B", (0.776, 0.845)),
    rate(NIC, SEND, &[], "nic.pcie.tags=4 tags", (0.18, 0.32)),
    // 20 bytes of header instead of 24 for 256.
    rate(NIC, RECEIVE, &["link.width=4 lanes"], "nic.pcie.address=32 bits", (1.01, 1.02)),
    rate(NIC, BOTH_WAYS, &["root.write=3 us"], "nic.pcie.ordering=strict", (0.8829, 0.9204)),
    rate(NIC, SEND_SMALL, &[FAST], "nic.tx.packet=50 ns", (0.194, 0.336)),
    rate(NIC, RECEIVE_SMALL, &[FAST], "nic.rx.packet=50 ns", (0.175, 0.314)),
    rate(NIC, SEND_SMALL, &[FAST, "nic.tx.fetches=1 requests"], "nic.tx.fetch=4 descriptors", (0.25, 0.398)),
    rate(NIC, RECEIVE_SMALL, &[FAST, "nic.rx.fetches=1 requests"], "nic.rx.fetch=4 descriptors", (0.09, 0.202)),
    rate(NIC, SEND_SMALL, &[FAST, "nic.tx.fetch=4 descriptors"], "nic.tx.fetches=1 requests", (0.089, 0.2)),
    rate(NIC, RECEIVE_SMALL, &[FAST, "nic.rx.fetch=4 descriptors"], "nic.rx.fetches=1 requests", (0.082, 0.189)),
    rate(NIC, SEND_SMALL, &[FAST], "nic.tx.prefetch=4 descriptors", (0.053, 0.143)),
    rate(NIC, RECEIVE_SMALL, &[FAST], "nic.rx.prefetch=4 descriptors", (0.045, 0.129)),
    rate(NIC, SEND_SMALL, &[FAST, "nic.tx.contexts=16 packets"], "nic.tx.contexts=8 packets", (0.45, 0.56)),
    rate(NIC, RECEIVE_SMALL, &[FAST], "nic.rx.contexts=1 packets", (0.907, 0.9371)),
    rate(NIC, SEND_SMALL, &[FAST], "nic.tx.buffer=2 KiB", (0.111, 0.233)),
    rate(NIC, RECEIVE_SMALL, &[FAST], "root.credits.posted_headers=1 credits", (0.021, 0.077)),
    rate(NIC, SEND_SMALL, &[FAST], "nic.tx.ring=32 descriptors", (0.14, 0.27)),
    rate(NIC, RECEIVE_SMALL, &[FAST], "nic.rx.ring=32 descriptors", (0.271, 0.42)),
    // On the narrowest link: 128 bytes take 64 ns more than 64 do, and as much again for the driver's look at a full line.
    time(NIC, SEND_ONE, &["link.width=1 lanes"], "nic.tx.descriptor=128 B", (1.036, 1.0547)),
    time(NIC, SEND_ONE, &["link.width=1 lanes"], "nic.tx.completion=128 B", (1.0269, 1.0407)),
    time(NIC, RECEIVE_ONE, &["link.width=1 lanes"], "nic.rx.descriptor=128 B", (1.084, 1.13)),
    time(NIC, RECEIVE_ONE, &["link.width=1 lanes"], "nic.rx.completion=128 B", (1.0403, 1.0612)),
    rate(NIC, RECEIVE_SMALL, &[FAST, "link.width=4 lanes"], "nic.rx.completion=128 B", (0.698, 0.788)),
    rate(NIC, SEND_SMALL, &[FAST, "link.width=4 lanes"], "nic.tx.descriptor=128 B", (0.623, 0.73)),
    rate(
        NIC,
        RECEIVE_SMALL,
        &[FAST, "link.width=4 lanes", "nic.rx.completion=16 B"],
        "nic.rx.descriptor=128 B",
        (0.632, 0.738),
    ),
    rate(
        NIC,
        RECEIVE_SMALL,
        &[FAST, "link.width=4 lanes", "nic.rx.completion_wait=1 us"],
        "nic.rx.completions=8 packets",
        (1.194, 1.306),
    ),
    time(NIC, RECEIVE_ONE, &["nic.rx.completions=2 packets"], "nic.rx.completion_wait=1 us", (1.716, 2.25)),
    rate(NIC, SEND_ONE, &[INTERRUPTS], "nic.tx.moderation.time=0 us", (4.95, 11.05)),
    rate(NIC, SEND_ONE, &[INTERRUPTS], "nic.tx.moderation.count=1 packets", (4.95, 11.05)),
    rate(NIC, RECEIVE_ONE, &[INTERRUPTS], "nic.rx.moderation.time=0 us", (3.5, 6.6)),
    rate(NIC, RECEIVE_ONE, &[INTERRUPTS], "nic.rx.moderation.count=1 packets", (3.5, 6.6)),
    // Segmentation: one descriptor for 44 frames, whose headers are copied.
    rate(
        NIC,
        SEGMENTED,
        &["driver.tx.batch=1 descriptors", "driver.packet_max=64 KiB"],
        "nic.tx.segment_header=254 B",
        (0.85, 0.89),
    ),
];

const DRIVER: &[Bite] = &[
    rate(NIC, SEND_SMALL, &[], "driver.tx.post=50 ns", (0.165, 0.301)),
    rate(NIC, SEND_SMALL, &[], "driver.tx.complete=44 ns", (0.164, 0.301)),
    rate(NIC, RECEIVE_SMALL, &[], "driver.rx.post=44 ns", (0.163, 0.3)),
    rate(NIC, RECEIVE_SMALL, &[], "driver.rx.complete=50 ns", (0.162, 0.298)),
    rate(NIC, SEND_SMALL, &[], "driver.doorbell=450 ns", (0.425, 0.566)),
    rate(NIC, SEND_SMALL, &[], "driver.tx.batch=1 descriptors", (0.142, 0.274)),
    rate(NIC, RECEIVE_SMALL, &[], "driver.rx.batch=1 descriptors", (0.141, 0.272)),
    rate(NIC, SEND_SMALL, &[], "driver.time_above=50 ns", (0.062, 0.157)),
    rate(NIC, SEND, &[], "driver.copy_rate=6.25 GB/s", (0.414, 0.556)),
    rate(NIC, RECEIVE, &[], "driver.copy_rate=6.25 GB/s", (0.418, 0.56)),
    time(NIC, SEND_ONE, &[], "driver.poll=110 ns", (1.048, 1.073)),
    time(NIC, SEND_ONE, &[], "driver.memory=local", (0.784, 0.851)),
    time(NIC, SEND_ONE, &[], "driver.data=memory", (1.039, 1.0591)),
    rate(NIC, SEND_ONE, &["driver.interrupt=1 us"], "driver.completions=interrupt", (0.05, 0.137)),
    time(NIC, RECEIVE_ONE, &["driver.completions=interrupt"], "driver.interrupt=1 us", (1.089, 1.137)),
    rate(NIC, RECEIVE_SMALL, &[], "driver.budget=1 packets", (0.118, 0.242)),
    rate(
        NIC,
        SEGMENTED_TWO,
        &["driver.tx.batch=1 descriptors", "driver.tx.post=500 ns"],
        "driver.packet_max=64 KiB",
        (3.35, 6.15),
    ),
    // Buffers in turn: 16 pages are known to the translation, 4,096 are not; two buffers a page, or one.
    rate(NIC, RECEIVE, &[ONE_WALKER], "driver.buffers=16 packets", (3.3, 6.1)),
    rate(NIC, RECEIVE, &[ONE_WALKER, "driver.buffers=64 packets"], "driver.buffer=4 KiB", (0.076, 0.18)),
];

const PROGRAMMABLE: &[Bite] = &[
    rate(BENCH, NFP_READ, &[], "nfp.contexts=8 transfers", (0.168, 0.305)),
    time(BENCH, NFP_READ_ONE, &[], "nfp.dispatch=138.4 ns", (1.144, 1.225)),
    // Tags are held for 100 ns more.
    rate(BENCH, NFP_READ, &[], "nfp.memory=remote", (0.797, 0.861)),
    time(BENCH, NFP_READ_ONE, &[], "nfp.data=memory", (1.099, 1.154)),
    rate(BENCH, NFP_WRITE_2K, &[], "nfp.pcie.rate=2.5 GT/s", (0.194, 0.337)),
    rate(BENCH, NFP_WRITE_2K, &[], "nfp.pcie.width=2 lanes", (0.189, 0.33)),
    rate(
        BENCH,
        NFP_WRITE_2K,
        &["link.width=2 lanes", "nfp.write.payload_max=256 B"],
        "nfp.pcie.payload_max=128 B",
        (0.92, 0.945),
    ),
    rate(BENCH, NFP_WRITE_2K, &["link.width=2 lanes"], "nfp.write.payload_max=256 B", (1.06, 1.09)),
    rate(BENCH, NFP_READ_2K, &[], "nfp.pcie.read_request_max=256 B", (0.856, 0.903)),
    rate(BENCH, NFP_READ, &[], "nfp.pcie.tags=16 tags", (0.49, 0.51)),
    // 152 bytes for 128 instead of 148.
    rate(BENCH, NFP_WRITE_2K, &["link.width=2 lanes"], "nfp.pcie.address=64 bits", (0.955, 0.98)),
    rate(BENCH, NFP_BOTH, &["root.write=5 us"], "nfp.pcie.ordering=relaxed", (1.677, 2.174)),
    rate(BENCH, NFP_WRITE, &[], "nfp.write.step=35.08 ns", (0.222, 0.368)),
    rate(BENCH, NFP_WRITE_2K, &[], "nfp.write.line=35.5 ns", (0.175, 0.314)),
    rate(BENCH, NFP_WRITE_2K, &[], "nfp.write.buffer=1 packets", (0.9783, 0.9855)),
    time(BENCH, NFP_READ_ONE, &[], "nfp.read.intake=189 ns", (1.139, 1.217)),
    rate(BENCH, NFP_READ, &[], "nfp.read.request=40 ns", (0.333, 0.481)),
    rate(BENCH, NFP_READ, &[], "nfp.read.access=39.88 ns", (0.145, 0.277)),
    // The end of an incomplete word is a completion of its own.
    rate(BENCH, NFP_READ_63, &[], "root.tail=with the rest", (1.379, 1.62)),
];

#[test]
fn every_number_of_an_adapter_bites() {
    check(ADAPTER);
}

#[test]
fn every_number_of_its_driver_bites() {
    check(DRIVER);
}

#[test]
fn every_number_of_a_programmable_adapter_bites() {
    check(PROGRAMMABLE);
}
