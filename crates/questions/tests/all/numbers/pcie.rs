//! PCI Express: links, ports, root complex, address translation, switch, and an accelerator.

use super::bites::{Bite, check, rate, time};

pub const LISTS: &[&[Bite]] = &[LINK_AND_PORT, LINK, ROOT_COMPLEX, ADDRESS_TRANSLATION, SWITCH, ACCELERATOR];

const TO_GPU: &str = "--rw=write --bs=64k --iodepth=32 --time_based --size=64m --ramp_time=50us --runtime=200us";
const FROM_GPU: &str = "--rw=read --bs=64k --iodepth=32 --time_based --size=64m --ramp_time=50us --runtime=200us";
const BOTH_WAYS: &str = "--iodepth=32 --bs=64k --time_based --size=64m --ramp_time=50us --runtime=200us --name=a --rw=write --name=b \
     --rw=read";
const FROM_GPU_LATER: &str =
    "--rw=read --bs=64k --iodepth=32 --time_based --size=64m --ramp_time=100us --runtime=800us";
const TO_GPU_LATER: &str = "--rw=write --bs=64k --iodepth=32 --time_based --size=64m --ramp_time=50us --runtime=800us";
const AGAIN: &str = "--rw=write --bs=64k --iodepth=32 --time_based --size=1m --ramp_time=300us --runtime=800us";
const PINNED: &str = "--rw=write --bs=64k --iodepth=32 --time_based --size=64m --ramp_time=600us --runtime=200us";
const PAGE_TO_GPU: &str = "--rw=write --bs=4k --iodepth=1 --time_based --size=1m --ramp_time=50us --runtime=200us";
const DRIVE: &str = "--rw=read --bs=128k --iodepth=16 --time_based --ramp_time=1ms --runtime=4ms";
const DRIVE_4K: &str = "--rw=randread --bs=4k --iodepth=1 --time_based --runtime=4ms";
const WRITES: &str = "--rw=write --bs=128k --iodepth=16 --time_based --ramp_time=2ms --runtime=4ms";
const SATA: &str = "--rw=read --bs=128k --iodepth=32 --time_based --ramp_time=20ms --runtime=30ms";
const GPU: &str = "gpu-server";
const CHIPSET: &str = "nvme-chipset";
const SATA_SSD: &str = "sata-ssd";
const QUICK: &str = "gpu.engine.setup=0 us; driver.launch=100 ns; driver.complete=100 ns; driver.time_above=0 ns";
const ON: &str = "root.iommu.entries=64 entries; root.iommu.walk=1 us; root.iommu.walkers=1 walkers";
const NARROW: &str = "dmi.rate=2.5 GT/s; dmi.width=1 lanes";

const LINK_AND_PORT: &[Bite] = &[
    rate(GPU, TO_GPU, &[QUICK], "link.width=8 lanes", (0.49, 0.52)),
    rate(GPU, FROM_GPU, &[QUICK], "link.width=8 lanes", (0.49, 0.53)),
    rate(GPU, TO_GPU, &[QUICK], "gpu.pcie.width=8 lanes", (0.49, 0.52)),
    rate(GPU, TO_GPU, &[QUICK], "root.width=4 lanes", (0.24, 0.26)),
    rate(GPU, TO_GPU, &[QUICK], "link.rate=16 GT/s", (0.49, 0.52)),
    rate(GPU, TO_GPU, &[QUICK], "root.rate=8 GT/s", (0.24, 0.26)),
    rate(GPU, FROM_GPU, &[QUICK], "gpu.pcie.rate=8 GT/s", (0.24, 0.28)),
    // 96 KiB under way, and 2 us more until they are answered.
    rate(GPU, TO_GPU, &[QUICK], "link.flight=1 us", (0.438, 0.578)),
    rate(GPU, FROM_GPU, &[QUICK], "link.bits_per_error=1000000 bits", (0.85, 0.97)),
    // 32 requests of 512 bytes, a round trip of about 0.65 us.
    rate(GPU, TO_GPU, &[QUICK], "gpu.pcie.tags=32 tags", (0.438, 0.578)),
    rate(GPU, TO_GPU, &[QUICK, "gpu.pcie.tags=32 tags"], "gpu.pcie.tags=16 tags", (0.45, 0.55)),
    rate(GPU, TO_GPU, &[QUICK, "gpu.pcie.tags=16 tags"], "gpu.pcie.read_request_max=1 KiB", (1.8, 2.1)),
    // 280 bytes for 256 of the user, 276, 152 for 128.
    rate(GPU, FROM_GPU, &[QUICK], "gpu.pcie.address=32 bits", (1.004, 1.018)),
    rate(GPU, FROM_GPU, &[QUICK], "gpu.pcie.payload_max=128 B", (0.91, 0.95)),
    rate(GPU, FROM_GPU, &[QUICK, "gpu.pcie.payload_max=512 B"], "gpu.engine.write_payload=512 B", (1.02, 1.06)),
    // Reads may not pass writes that take 3 us.
    rate(GPU, BOTH_WAYS, &[QUICK, "root.write=3 us"], "gpu.pcie.ordering=strict", (0.398, 0.542)),
];

const LINK: &[Bite] = &[
    // 8 bytes of ten are data.
    rate(SATA_SSD, SATA, &[NARROW], "dmi.generation.rows[0].data=4 B", (0.48, 0.53)),
    rate(SATA_SSD, SATA, &[NARROW], "dmi.generation.rows[0].line=20 B", (0.48, 0.53)),
    rate(SATA_SSD, SATA, &[NARROW], "dmi.generation.rows[0].framing=40 B", (0.799, 0.862)),
    rate(GPU, BOTH_WAYS, &[QUICK], "link.generation.rows[4].dllp=32 B", (0.82, 0.877)),
    rate(
        SATA_SSD,
        SATA,
        &[NARROW, "dmi.generation.rows[0].skip=100 B"],
        "dmi.generation.rows[0].skip_every=2950 B",
        (1.0362, 1.0549),
    ),
    rate(SATA_SSD, SATA, &[NARROW], "dmi.generation.rows[0].skip=150 B", (0.8987, 0.9314)),
    rate(GPU, BOTH_WAYS, &[QUICK], "link.acknowledge.when=at the limit", (1.0489, 1.0743)),
    rate(
        GPU,
        BOTH_WAYS,
        &[QUICK, "link.acknowledge.when=at the limit"],
        "link.generation.rows[4].internal_delay=5 us",
        (1.0048, 1.0074),
    ),
    // An AckFactor of 100 is an acknowledgement for every 33 of them.
    rate(
        GPU,
        BOTH_WAYS,
        &[QUICK, "link.acknowledge.when=at the limit"],
        "link.acknowledge.rows[5].up_to_256_bytes=10000 %",
        (1.0048, 1.0074),
    ),
    rate(
        GPU,
        BOTH_WAYS,
        &[
            QUICK,
            "link.acknowledge.when=at the limit",
            "root.payload_max=512 B",
            "gpu.pcie.payload_max=512 B",
            "gpu.engine.write_payload=512 B",
        ],
        "link.acknowledge.rows[5].above=10000 %",
        (1.0023, 1.0037),
    ),
];

const ROOT_COMPLEX: &[Bite] = &[
    rate(GPU, TO_GPU, &[QUICK], "root.memory_rate=20 GB/s", (0.34, 0.382)),
    rate(GPU, FROM_GPU, &[QUICK], "root.memory_rate=20 GB/s", (0.34, 0.372)),
    rate(GPU, TO_GPU, &[QUICK, "driver.memory=remote"], "root.interconnect.rate=20 GB/s", (0.34, 0.382)),
    rate(GPU, FROM_GPU, &[QUICK, "driver.memory=remote"], "root.interconnect.rate=20 GB/s", (0.34, 0.372)),
    time(GPU, PAGE_TO_GPU, &[], "driver.memory=remote", (1.0769, 1.1177)),
    time(GPU, PAGE_TO_GPU, &["driver.memory=remote"], "root.interconnect.latency=1200 ns", (1.324, 1.525)),
    time(GPU, PAGE_TO_GPU, &[], "driver.data=cache", (0.9889, 0.9927)),
    time(GPU, PAGE_TO_GPU, &[], "root.cache_read=1450 ns", (1.121, 1.188)),
    time(GPU, PAGE_TO_GPU, &[], "root.memory_read=1500 ns", (1.121, 1.188)),
    time(GPU, PAGE_TO_GPU, &[], "root.write=1150 ns", (1.121, 1.188)),
    rate(GPU, BOTH_WAYS, &[QUICK, "gpu.pcie.ordering=strict"], "root.write=3 us", (0.396, 0.54)),
    // 84 bytes for 64 instead of 148 for 128.
    rate(GPU, TO_GPU, &[QUICK], "root.combined=256 B", (1.04, 1.075)),
    rate(GPU, TO_GPU, &[QUICK], "root.combined=64 B", (0.87, 0.9)),
    // Requests of 256 bytes are not joined: 84 bytes for 64, or 148 for 128, or 276 for 256.
    rate(GPU, TO_GPU, &[QUICK, "gpu.pcie.read_request_max=256 B"], "root.completion=256 B", (1.18, 1.25)),
    rate(GPU, TO_GPU, &[QUICK, "gpu.pcie.read_request_max=256 B"], "root.combined_from=256 B", (1.11, 1.15)),
    rate(GPU, TO_GPU, &[QUICK], "root.combined_from=1 KiB", (0.87, 0.9)),
    rate(GPU, FROM_GPU, &[QUICK], "root.payload_max=128 B", (0.91, 0.95)),
    // 8 packets of 256 bytes in 2 x 50 + 40 ns and what one takes.
    rate(GPU, FROM_GPU, &[QUICK], "root.credits.posted_headers=8 credits", (0.2, 0.3)),
    rate(GPU, FROM_GPU, &[QUICK], "root.credits.posted_data=2 KiB", (0.2, 0.3)),
    rate(GPU, TO_GPU, &[QUICK], "root.credits.non_posted_headers=4 credits", (0.2, 0.3)),
    rate(GPU, FROM_GPU, &[QUICK], "root.credits.drain=2 us", (0.471, 0.606)),
];

const ADDRESS_TRANSLATION: &[Bite] = &[
    // A page of 4 KiB a walk of 1 us, one or four of them at a time.
    rate(
        GPU,
        TO_GPU_LATER,
        &[QUICK, "root.iommu.walk=1 us", "root.iommu.walkers=1 walkers"],
        "root.iommu.entries=64 entries",
        (0.071, 0.08),
    ),
    rate(
        GPU,
        FROM_GPU_LATER,
        &[QUICK, "root.iommu.walk=1 us", "root.iommu.walkers=1 walkers"],
        "root.iommu.entries=64 entries",
        (0.064, 0.08),
    ),
    rate(GPU, TO_GPU_LATER, &[QUICK, ON], "root.iommu.walkers=4 walkers", (3.8, 4.1)),
    rate(GPU, TO_GPU_LATER, &[QUICK, ON], "root.iommu.walk=2 us", (0.47, 0.52)),
    // 512 pages a walk: the link is what is left.
    rate(GPU, TO_GPU_LATER, &[QUICK, ON], "root.iommu.page=2 MiB", (11.5, 14.0)),
    // Fewer translations than pages under way: they push each other out.
    rate(GPU, TO_GPU_LATER, &[QUICK, ON], "root.iommu.entries=8 entries", (0.078, 0.184)),
    // 1 MiB over and over: all its pages are kept.
    rate(GPU, AGAIN, &[QUICK, ON], "root.iommu.entries=512 entries", (12.0, 14.5)),
];

const SWITCH: &[Bite] = &[
    // Eight lanes of 16 GT/s above, four to the drive, which does not fill them.
    rate(CHIPSET, DRIVE, &[], "chipset.rate=5 GT/s", (0.269, 0.418)),
    rate(CHIPSET, DRIVE, &["chipset.port_width=4 lanes"], "chipset.width=2 lanes", (0.55, 0.672)),
    rate(CHIPSET, DRIVE, &[], "chipset.port_width=2 lanes", (0.55, 0.672)),
    rate(CHIPSET, DRIVE, &[], "chipset.payload_max=128 B", (0.9414, 0.9607)),
    // A command, its data, its completion.
    time(CHIPSET, DRIVE_4K, &[], "chipset.latency=2 us", (1.187, 1.294)),
    rate(CHIPSET, DRIVE, &[], "chipset.credits.posted_headers=4 credits", (0.468, 0.604)),
    rate(
        CHIPSET,
        DRIVE,
        &["chipset.credits.posted_headers=64 credits"],
        "chipset.credits.posted_data=1 KiB",
        (0.468, 0.604),
    ),
    rate(CHIPSET, WRITES, &[], "chipset.credits.non_posted_headers=1 credits", (0.147, 0.28)),
];

const ACCELERATOR: &[Bite] = &[
    rate(GPU, TO_GPU, &[QUICK], "gpu.engine.reads=4 pages", (0.38, 0.526)),
    rate(GPU, TO_GPU, &[QUICK, "gpu.engine.reads=4 pages"], "gpu.engine.reads=2 pages", (0.45, 0.55)),
    // Its page has to be taken before the next begins.
    rate(GPU, FROM_GPU, &[QUICK], "gpu.engine.writes=1 pages", (0.6, 0.712)),
    rate(GPU, TO_GPU, &[QUICK], "gpu.memory.rate=20 GB/s", (0.34, 0.382)),
    rate(GPU, FROM_GPU, &[QUICK], "gpu.memory.rate=20 GB/s", (0.33, 0.372)),
    // 1.2 us of a link for 64 KiB, or 2.4 us of an engine or of the processor.
    rate(GPU, TO_GPU, &[QUICK], "gpu.engine.setup=2400 ns", (0.349, 0.496)),
    rate(GPU, TO_GPU, &[QUICK], "driver.launch=2400 ns", (0.45, 0.52)),
    rate(GPU, TO_GPU, &[QUICK], "driver.time_above=2400 ns", (0.336, 0.485)),
    rate(GPU, TO_GPU, &[QUICK], "driver.complete=2400 ns", (0.432, 0.572)),
    // 4 KiB instead of a few bytes: 73 and 71 ns of the link.
    time(GPU, PAGE_TO_GPU, &[], "gpu.command=4 KiB", (1.0088, 1.0134)),
    time(GPU, PAGE_TO_GPU, &[], "gpu.semaphore=4 KiB", (1.0088, 1.0134)),
    // After 16 MiB the same pages come again; those of 64 MiB do not in so short a time.
    rate(
        GPU,
        PINNED,
        &[QUICK, "root.iommu.entries=8192 entries", "root.iommu.walk=1 us", "root.iommu.walkers=8 walkers"],
        "driver.pinned=16 MiB",
        (1.463, 1.771),
    ),
];

#[test]
fn every_number_of_link_and_port_bites() {
    check(LINK_AND_PORT);
}

#[test]
fn every_number_of_what_a_link_adds_bites() {
    check(LINK);
}

#[test]
fn every_number_of_the_root_complex_bites() {
    check(ROOT_COMPLEX);
}

#[test]
fn every_number_of_address_translation_bites() {
    check(ADDRESS_TRANSLATION);
}

#[test]
fn every_number_of_a_switch_bites() {
    check(SWITCH);
}

#[test]
fn every_number_of_an_accelerator_bites() {
    check(ACCELERATOR);
}
