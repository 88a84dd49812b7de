//! Serial ATA: cable, adapter, driver, and a solid-state drive.

use super::bites::{Bite, check, rate, time};

pub const LISTS: &[&[Bite]] = &[PATH, DRIVE];

const READS: &str = "--rw=randread --bs=4k --iodepth=32 --time_based --ramp_time=2ms --runtime=20ms";
const READ_ONE: &str = "--rw=randread --bs=4k --iodepth=1 --time_based --runtime=20ms";
const READ_64K: &str = "--rw=randread --bs=64k --iodepth=1 --time_based --runtime=20ms";
const IN_ORDER: &str = "--rw=read --bs=128k --iodepth=32 --time_based --ramp_time=20ms --runtime=30ms";
const ONE_BY_ONE: &str = "--rw=read --bs=64k --iodepth=1 --time_based --ramp_time=2ms --runtime=20ms";
const RUNS: &str = "--rw=read --bs=4k --time_based --runtime=20ms --name=a --size=1g --name=b --size=1g --offset=2g --name=c \
     --size=1g --offset=4g --name=d --size=1g --offset=6g --name=e --size=1g --offset=8g";
const WRITES: &str = "--rw=write --bs=128k --iodepth=32 --time_based --ramp_time=50ms --runtime=50ms";
const WRITE_ONE: &str = "--rw=randwrite --bs=64k --iodepth=1 --time_based --runtime=10ms";
const MIXED_64K: &str = "--rw=randrw --bs=64k --iodepth=8 --time_based --runtime=50ms";
const RANDOM_WRITES: &str = "--rw=randwrite --bs=4k --iodepth=32 --time_based --ramp_time=60ms --runtime=40ms";
const MOSTLY_READS: &str =
    "--rw=randrw --rwmixread=80 --bs=4k --iodepth=32 --time_based --ramp_time=60ms --runtime=40ms";
const WRITE_4K: &str = "--rw=randwrite --bs=4k --iodepth=1 --time_based --runtime=10ms";
const SSD: &str = "sata-ssd";
const STEADY: &str = "ssd.flash.state=steady; ssd.flash.buffer=1536 KiB";
const NARROW: &str = "ahci.pcie.rate=2.5 GT/s; ahci.pcie.width=1 lanes";

const PATH: &[Bite] = &[
    rate(SSD, READS, &[], "cable.round_trip=40 clocks", (0.868, 0.911)),
    rate(SSD, READS, &[], "cable.turnaround=470 ns", (0.78, 0.848)),
    rate(SSD, IN_ORDER, &[], "ahci.rate=3 GT/s", (0.48, 0.52)),
    rate(SSD, IN_ORDER, &[], "ssd.rate=1.5 GT/s", (0.24, 0.27)),
    // Four commands instead of 32.
    rate(SSD, READS, &[], "ahci.slots=4 slots", (0.362, 0.509)),
    rate(SSD, READS, &[], "ssd.queue_depth=4 commands", (0.362, 0.509)),
    rate(SSD, READS, &[], "driver.queue_depth=4 commands", (0.362, 0.509)),
    rate(SSD, READS, &[NARROW], "ahci.fifo=64 KiB", (0.9259, 0.9501)),
    rate(SSD, WRITES, &[], "ahci.burst=64 B", (0.192, 0.334)),
    time(SSD, READ_ONE, &[], "ahci.command=5 us", (1.0407, 1.0618)),
    time(SSD, READ_ONE, &[], "ahci.register=5 us", (1.123, 1.192)),
    rate(SSD, IN_ORDER, &["ahci.pcie.width=1 lanes"], "ahci.pcie.rate=2.5 GT/s", (0.49, 0.52)),
    rate(SSD, IN_ORDER, &["ahci.pcie.rate=2.5 GT/s"], "ahci.pcie.width=1 lanes", (0.3, 0.449)),
    // 280 bytes for 256 of the user instead of 304.
    rate(SSD, IN_ORDER, &[NARROW], "ahci.pcie.payload_max=256 B", (1.06, 1.11)),
    rate(SSD, IN_ORDER, &[NARROW], "ahci.pcie.address=32 bits", (1.02, 1.05)),
    time(SSD, WRITE_ONE, &[NARROW], "ahci.pcie.read_request_max=128 B", (1.125, 1.195)),
    time(SSD, WRITE_ONE, &["ahci.pcie.read_request_max=128 B"], "ahci.pcie.tags=1 tags", (1.8, 2.45)),
    rate(SSD, MIXED_64K, &["root.write=20 us"], "ahci.pcie.ordering=relaxed", (1.157, 1.246)),
    rate(SSD, ONE_BY_ONE, &[], "driver.transfer_max=4 KiB", (0.667, 0.765)),
    time(SSD, READ_ONE, &[], "driver.submission=12 us", (1.088, 1.136)),
    time(SSD, READ_ONE, &[], "driver.completion=12 us", (1.092, 1.143)),
    time(SSD, WRITE_4K, &[], "driver.buffers=cache", (0.9929, 0.9953)),
    rate(SSD, READ_ONE, &[], "driver.time_above=12 us", (0.8965, 0.9298)),
    time(SSD, READ_ONE, &[], "driver.interrupt.delivery=12 us", (1.094, 1.146)),
    time(SSD, READ_ONE, &[], "driver.interrupt.handler=12 us", (1.096, 1.148)),
    // Whole clocks of 20 us.
    rate(SSD, READ_ONE, &[], "cpu.clock=50 kHz", (0.817, 0.875)),
];

const DRIVE: &[Bite] = &[
    time(SSD, READ_ONE, &[], "ssd.firmware.decode=12 us", (1.096, 1.149)),
    rate(SSD, READS, &[], "ssd.firmware.read=20 us", (0.458, 0.595)),
    rate(SSD, WRITES, &[], "ssd.firmware.write=400 us", (0.565, 0.684)),
    rate(SSD, ONE_BY_ONE, &[], "ssd.read_ahead.segment=4 KiB", (0.455, 0.593)),
    rate(SSD, ONE_BY_ONE, &[], "ssd.read_ahead.ahead=0 segments", (0.455, 0.593)),
    rate(SSD, RUNS, &[], "ssd.read_ahead.segments=8 segments", (0.9573, 0.9714)),
    rate(SSD, RANDOM_WRITES, &[], "ssd.flash.state=steady", (0.248, 0.396)),
    rate(SSD, RANDOM_WRITES, &[STEADY], "ssd.flash.over_provisioning=30 %", (2.0, 2.95)),
    rate(SSD, RANDOM_WRITES, &[STEADY], "ssd.flash.erase=60 ms", (0.808, 0.868)),
    rate(SSD, RANDOM_WRITES, &[STEADY], "ssd.flash.pages_per_block=96 pages", (0.814, 0.872)),
    rate(SSD, MOSTLY_READS, &[STEADY], "ssd.flash.suspend.latency=2 ms", (0.637, 0.741)),
    rate(SSD, MOSTLY_READS, &[STEADY], "ssd.flash.suspend.progress=5 ms", (0.623, 0.73)),
    rate(SSD, WRITES, &[], "ssd.flash.channels=2 channels", (0.291, 0.44)),
    rate(SSD, WRITES, &[], "ssd.flash.dies=1 die", (0.703, 0.792)),
    rate(SSD, WRITES, &[], "ssd.flash.planes=1 plane", (0.766, 0.838)),
    rate(SSD, READS, &["ssd.flash.channels=2 channels"], "ssd.flash.independent_planes=2 planes", (1.371, 1.607)),
    time(SSD, READ_64K, &[], "ssd.flash.page=4 KiB", (0.822, 0.878)),
    rate(SSD, WRITES, &[], "ssd.flash.pages_per_program=1 page", (0.437, 0.577)),
    time(SSD, READ_ONE, &[], "ssd.flash.read=90 us", (1.248, 1.395)),
    rate(SSD, WRITES, &[], "ssd.flash.program=8 ms", (0.311, 0.46)),
    time(SSD, READ_ONE, &[], "ssd.flash.channel_rate=100 MB/s", (1.287, 1.461)),
    time(SSD, READ_ONE, &[], "ssd.flash.command=10 us", (1.081, 1.125)),
    time(SSD, READ_ONE, &[], "ssd.flash.decode=20 us", (1.1, 1.156)),
    rate(SSD, RANDOM_WRITES, &["ssd.flash.state=steady"], "ssd.flash.buffer=1536 KiB", (0.9095, 0.9388)),
];

#[test]
fn every_number_of_the_path_bites() {
    check(PATH);
}

#[test]
fn every_number_of_the_drive_bites() {
    check(DRIVE);
}
