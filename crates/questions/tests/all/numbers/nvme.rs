//! NVM Express drives, their flash and their driver.

use super::bites::{Bite, check, rate, time};

pub const LISTS: &[&[Bite]] = &[DRIVE, FLASH, DRIVER];

const READ_ONE: &str = "--rw=randread --bs=4k --iodepth=1 --time_based --runtime=4ms";
const READS: &str = "--rw=randread --bs=4k --iodepth=64 --time_based --ramp_time=1ms --runtime=4ms";
const DEEP: &str = "--rw=randread --bs=4k --iodepth=512 --time_based --ramp_time=1ms --runtime=4ms";
const READ_128K: &str = "--rw=randread --bs=128k --iodepth=1 --time_based --runtime=4ms";
const IN_ORDER: &str = "--rw=read --bs=128k --iodepth=16 --time_based --ramp_time=1ms --runtime=4ms";
const IN_ORDER_1M: &str = "--rw=read --bs=1m --iodepth=4 --time_based --ramp_time=5ms --runtime=40ms";
const IN_ORDER_4K: &str = "--rw=read --bs=4k --iodepth=1 --time_based --runtime=4ms";
const RUNS: &str = "--rw=read --bs=4k --time_based --runtime=4ms --name=a --size=1g --name=b --size=1g --offset=2g --name=c \
     --size=1g --offset=4g --name=d --size=1g --offset=6g";
const WRITE_ONE: &str = "--rw=randwrite --bs=4k --iodepth=1 --time_based --runtime=4ms";
const WRITE_128K: &str = "--rw=write --bs=128k --iodepth=1 --time_based --runtime=2ms";
const WRITES: &str = "--rw=write --bs=128k --iodepth=16 --time_based --ramp_time=10ms --runtime=10ms";
const RANDOM_WRITES: &str = "--rw=randwrite --bs=4k --iodepth=32 --time_based --ramp_time=4ms --runtime=8ms";
const SERVER_WRITES: &str =
    "--rw=randwrite --bs=4k --iodepth=32 --time_based --ramp_time=30ms --runtime=30ms --filename=drive0";
const SERVER_IN_ORDER: &str =
    "--rw=write --bs=128k --iodepth=16 --time_based --ramp_time=20ms --runtime=10ms --filename=drive0";
const SERVER_READS: &str = "--rw=read --bs=128k --iodepth=16 --time_based --runtime=4ms --filename=drive0";
const SERVER_ONE: &str = "--rw=randread --bs=4k --iodepth=1 --time_based --runtime=4ms --filename=drive0";
const SERVER_DEEP: &str =
    "--rw=randread --bs=4k --iodepth=512 --time_based --ramp_time=1ms --runtime=4ms --filename=drive0";
const BURSTS: &str =
    "--rw=write --bs=128k --iodepth=16 --time_based --thinktime=50ms --thinktime_blocks=300 --runtime=250ms";
const DESKTOP: &str = "nvme-desktop";
const SERVER: &str = "nvme-server";
const FULL: &str = "drive.flash.single_bit.dynamic=0 B; drive.flash.single_bit.fixed=48 MB";
const STEADY: &str = "drive.flash.state=steady; drive.flash.buffer=1 MiB";
const SERVER_STEADY: &str = "drive0.flash.state=steady; drive0.flash.buffer=1 MiB";
const STEADY_WRITES: &str = "--rw=randwrite --bs=4k --iodepth=32 --time_based --ramp_time=20ms --runtime=40ms";
const READS_AMONG_WRITES: &str = "--time_based --ramp_time=20ms --runtime=30ms --bs=4k --name=r --rw=randread --iodepth=4 --name=w \
     --rw=randwrite --iodepth=32";
const READ_12K: &str = "--rw=randread --bs=12k --iodepth=1 --time_based --runtime=4ms";

const DRIVE: &[Bite] = &[
    rate(DESKTOP, IN_ORDER, &[], "drive.transfer_max=4 KiB", (0.512, 0.641)),
    rate(DESKTOP, IN_ORDER, &[], "drive.pcie.rate=8 GT/s", (0.43, 0.571)),
    rate(DESKTOP, IN_ORDER, &[], "drive.pcie.width=2 lanes", (0.43, 0.571)),
    rate(DESKTOP, IN_ORDER, &[], "drive.pcie.payload_max=128 B", (0.9, 0.93)),
    rate(DESKTOP, IN_ORDER, &[], "drive.pcie.address=32 bits", (1.005, 1.018)),
    time(DESKTOP, WRITE_128K, &[], "drive.pcie.read_request_max=128 B", (1.124, 1.193)),
    rate(DESKTOP, WRITES, &[], "drive.pcie.tags=1 tags", (0.143, 0.274)),
    rate(DESKTOP, RANDOM_WRITES, &["root.write=20 us"], "drive.pcie.ordering=relaxed", (1.222, 1.352)),
    rate(DESKTOP, READS, &["root.write=20 us"], "drive.pcie.ordering=relaxed", (3.4, 6.35)),
    rate(DESKTOP, READS, &["link.flight=1 us"], "drive.fetch.commands=1 commands", (0.433, 0.573)),
    rate(DESKTOP, READS, &["driver.time_above=100 ns"], "drive.controller.commands=8 commands", (0.141, 0.272)),
    rate(DESKTOP, READS, &["drive.controller.read=2 us"], "drive.controller.engines=4 engines", (1.9, 2.05)),
    time(DESKTOP, READ_ONE, &[], "drive.controller.read=11 us", (1.185, 1.291)),
    time(DESKTOP, WRITE_ONE, &[], "drive.controller.write=11 us", (1.469, 1.782)),
    time(DESKTOP, READ_ONE, &[], "drive.controller.read_latency=11 us", (1.185, 1.291)),
    time(DESKTOP, WRITE_ONE, &[], "drive.controller.write_latency=23 us", (1.536, 1.906)),
    // The pages of a command one after the other, an array read of 32 us each.
    rate(DESKTOP, IN_ORDER_1M, &[], "drive.controller.transfers=1 transfers", (0.023, 0.083)),
    rate(SERVER, SERVER_READS, &[], "drive0.controller.dma=1 engines", (0.559, 0.68)),
    rate(DESKTOP, IN_ORDER_4K, &[], "drive.read_ahead.ahead=0 segments", (0.248, 0.396)),
    rate(DESKTOP, IN_ORDER_4K, &[], "drive.read_ahead.segment=4 KiB", (0.419, 0.561)),
    rate(DESKTOP, RUNS, &[], "drive.read_ahead.segments=2 segments", (0.372, 0.518)),
    time(DESKTOP, READ_ONE, &["drive.interrupt.threshold=8 entries"], "drive.interrupt.time=100 us", (2.6, 4.3)),
    time(DESKTOP, READ_ONE, &["drive.interrupt.time=100 us"], "drive.interrupt.threshold=8 entries", (2.6, 4.3)),
];

const FLASH: &[Bite] = &[
    rate(DESKTOP, RANDOM_WRITES, &[], "drive.flash.state=steady", (0.136, 0.265)),
    rate(SERVER, SERVER_WRITES, &[SERVER_STEADY], "drive0.flash.over_provisioning=30 %", (1.396, 1.651)),
    rate(DESKTOP, DEEP, &[], "drive.flash.channels=2 channels", (0.422, 0.564)),
    rate(SERVER, SERVER_DEEP, &[], "drive0.flash.dies=1 die", (0.622, 0.729)),
    rate(DESKTOP, DEEP, &[], "drive.flash.independent_planes=1 plane", (0.422, 0.563)),
    rate(DESKTOP, WRITES, &["drive.flash.independent_planes=1 plane"], "drive.flash.planes=1 plane", (0.241, 0.389)),
    rate(DESKTOP, READ_128K, &[], "drive.flash.page=4 KiB", (1.126, 1.196)),
    rate(
        SERVER,
        SERVER_IN_ORDER,
        &["drive0.flash.buffer=4 MiB"],
        "drive0.flash.pages_per_program=1 page",
        (0.8852, 0.922),
    ),
    time(DESKTOP, READ_ONE, &[], "drive.flash.read=64 us", (1.57, 1.968)),
    rate(SERVER, SERVER_IN_ORDER, &["drive0.flash.buffer=4 MiB"], "drive0.flash.program=3500 us", (0.513, 0.642)),
    time(DESKTOP, READ_ONE, &[], "drive.flash.channel_rate=120 MB/s", (1.548, 1.927)),
    time(DESKTOP, READ_ONE, &[], "drive.flash.command=20 us", (1.36, 1.587)),
    time(DESKTOP, READ_ONE, &[], "drive.flash.decode=15 us", (1.248, 1.395)),
    rate(DESKTOP, RANDOM_WRITES, &[], "drive.flash.buffer=64 KiB", (0.006, 0.035)),
    // 192 KiB a die in 1.53 ms of three bits a cell, or 64 in 0.19 of one: 0.37 of the rate.
    rate(DESKTOP, WRITES, &["drive.flash.single_bit.dynamic=0 B"], "drive.flash.single_bit.fixed=48 MB", (0.33, 0.41)),
    rate(DESKTOP, WRITES, &["drive.flash.single_bit.fixed=48 MB"], "drive.flash.single_bit.dynamic=0 B", (0.33, 0.41)),
    rate(DESKTOP, WRITES, &[], "drive.flash.single_bit.program=760 us", (0.171, 0.309)),
    time(DESKTOP, BURSTS, &[FULL], "drive.flash.single_bit.idle=1 ms", (0.5, 0.631)),
    rate(DESKTOP, STEADY_WRITES, &[STEADY], "drive.flash.erase=100 ms", (0.9023, 0.9338)),
    rate(DESKTOP, STEADY_WRITES, &[STEADY], "drive.flash.pages_per_block=96 pages", (0.9023, 0.9338)),
    // Reads that wait for a program.
    time(
        DESKTOP,
        READS_AMONG_WRITES,
        &[FULL, "drive.flash.buffer=1 MiB"],
        "drive.flash.suspend.latency=500 us",
        (1.85, 2.65),
    ),
    time(
        DESKTOP,
        READS_AMONG_WRITES,
        &[FULL, "drive.flash.buffer=1 MiB"],
        "drive.flash.suspend.progress=2 ms",
        (2.75, 4.6),
    ),
];

const DRIVER: &[Bite] = &[
    rate(DESKTOP, READS, &[], "driver.queue=9 entries", (0.133, 0.261)),
    rate(DESKTOP, IN_ORDER, &[], "driver.transfer_max=4 KiB", (0.512, 0.641)),
    time(DESKTOP, READ_ONE, &[], "driver.submission=10 us", (1.182, 1.286)),
    time(DESKTOP, READ_ONE, &[], "driver.completion=10 us", (1.182, 1.286)),
    rate(DESKTOP, READS, &[], "driver.time_above=10 us", (0.058, 0.151)),
    time(DESKTOP, READ_ONE, &[], "driver.interrupt.delivery=10 us", (1.163, 1.255)),
    time(DESKTOP, READ_ONE, &[], "driver.interrupt.handler=10 us", (1.177, 1.279)),
    time(SERVER, SERVER_ONE, &["root.interconnect.latency=2 us"], "driver0.socket=remote", (1.0601, 1.0917)),
    // Whole clocks of 1 us.
    rate(DESKTOP, READS, &[], "cpu.clock=1 MHz", (0.589, 0.704)),
    // Two entries of 8 bytes that the drive has to read: some 350 ns of 46 us. A page from the cache comes 70 ns sooner.
    time(DESKTOP, READ_12K, &["driver.contiguous=16 KiB"], "driver.transfer=sgl", (0.9902, 0.9936)),
    time(DESKTOP, READ_12K, &["driver.transfer=sgl"], "driver.contiguous=16 KiB", (0.9902, 0.9936)),
    time(DESKTOP, WRITE_ONE, &[], "driver.buffers=cache", (0.99, 0.997)),
];

#[test]
fn every_number_of_a_drive_bites() {
    check(DRIVE);
}

#[test]
fn every_number_of_its_flash_bites() {
    check(FLASH);
}

#[test]
fn every_number_of_its_driver_bites() {
    check(DRIVER);
}
