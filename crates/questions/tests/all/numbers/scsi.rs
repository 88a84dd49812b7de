//! Parallel SCSI: bus, adapter, initiator and driver.

use super::bites::{Bite, check, rate, time};

pub const LISTS: &[&[Bite]] = &[BUS, ADAPTER_AND_DRIVER];

const SINGLE: &str = "--rw=read --bs=2k --iodepth=1 --time_based --ramp_time=5ms --runtime=60ms";
const LONG: &str = "--rw=read --bs=128k --iodepth=1 --time_based --ramp_time=5ms --runtime=100ms";
const RANDOM: &str = "--rw=randread --bs=2k --iodepth=8 --time_based --runtime=500ms";
const HITS: &str = "--rw=read --bs=64k --size=64k --iodepth=1 --time_based --ramp_time=20ms --runtime=100ms";
const WRITE_4K: &str = "--rw=write --bs=4k --iodepth=1 --time_based --ramp_time=100ms --runtime=100ms";
const FOUR_DRIVES: &str = "--rw=read --bs=64k --iodepth=4 --time_based --ramp_time=20ms --runtime=100ms --name=j0 --filename=disk0 \
     --name=j1 --filename=disk1 --name=j2 --filename=disk2 --name=j3 --filename=disk3";
const FOUR_HITS: &str = "--rw=read --bs=2k --size=64k --iodepth=4 --time_based --ramp_time=10ms --runtime=60ms --name=j0 \
     --filename=disk0 --name=j1 --filename=disk1 --name=j2 --filename=disk2 --name=j3 --filename=disk3";
const FOUR: &str = "scsi-ultra160";
const ALONE: &str = "barracuda-4lp";

const BUS: &[Bite] = &[
    time(FOUR, SINGLE, &[], "scsi.arbitration=24 us", (1.186, 1.294)),
    time(FOUR, SINGLE, &[], "scsi.selection=20 us", (1.159, 1.249)),
    time(FOUR, SINGLE, &[], "scsi.message_out=20 us", (1.164, 1.257)),
    time(FOUR, SINGLE, &[], "scsi.command=24 us", (1.186, 1.294)),
    time(FOUR, SINGLE, &[], "scsi.status=20 us", (1.158, 1.248)),
    time(FOUR, SINGLE, &[], "scsi.message_in=20 us", (1.158, 1.248)),
    time(FOUR, RANDOM, &[], "scsi.reselection=3 ms", (1.011, 1.0166)),
    time(FOUR, HITS, &["bridge.boundary=4 KiB"], "scsi.rate=40 MB/s", (1.75, 2.35)),
    time(FOUR, SINGLE, &[], "scsi.round_trip=100 us", (6.1, 15.25)),
    // The drive with the lowest id waits for all others.
    time(FOUR, FOUR_HITS, &[], "scsi.order=ids", (2.99, 3.99)),
    // One byte a round trip of 2 us instead of two.
    time(
        FOUR,
        SINGLE,
        &["scsi.rate=10 MB/s", "scsi.round_trip=2 us", "adapter.channel.offset=1 transfer"],
        "scsi.width=1 B",
        (1.7, 2.3),
    ),
];

const ADAPTER_AND_DRIVER: &[Bite] = &[
    time(FOUR, HITS, &["bridge.boundary=4 KiB"], "adapter.channel.rate=40 MB/s", (1.75, 2.35)),
    // 32,768 transfers of 2 bytes, one a round trip of 2 us.
    time(
        FOUR,
        HITS,
        &["scsi.rate=10 MB/s", "scsi.round_trip=2 us"],
        "adapter.channel.offset=1 transfer",
        (4.85, 10.85),
    ),
    rate(FOUR, RANDOM, &[], "adapter.channel.tags=1 tag", (0.578, 0.694)),
    rate(FOUR, RANDOM, &[], "adapter.contexts=1 command", (0.578, 0.694)),
    time(FOUR, FOUR_DRIVES, &[], "adapter.channel.piece=64 B", (0.967, 0.978)),
    time(FOUR, FOUR_DRIVES, &["adapter.channel.piece=256 B"], "adapter.channel.fifo=256 B", (1.281, 1.45)),
    time(
        FOUR,
        HITS,
        &["bridge.boundary=4 KiB", "adapter.channel.piece=256 B"],
        "adapter.channel.fifo=256 B",
        (1.511, 1.858),
    ),
    time(FOUR, SINGLE, &[], "adapter.sequencer.command=50 us", (1.38, 1.623)),
    time(FOUR, SINGLE, &[], "adapter.sequencer.transfer=50 us", (1.404, 1.666)),
    time(FOUR, SINGLE, &[], "adapter.sequencer.completion=50 us", (1.404, 1.666)),
    time(FOUR, SINGLE, &["bridge.boundary=4 KiB"], "adapter.sequencer.control_block=4 KiB", (1.273, 1.437)),
    time(FOUR, SINGLE, &["bridge.boundary=4 KiB"], "adapter.sequencer.list=4 KiB", (1.269, 1.431)),
    time(
        FOUR,
        FOUR_DRIVES,
        &["bridge.boundary=4 KiB", "pci.speed=slowest card"],
        "adapter.pci.clock=16 MHz",
        (1.516, 1.868),
    ),
    time(
        FOUR,
        FOUR_DRIVES,
        &["bridge.boundary=4 KiB", "pci.width=8 B", "pci.clock=16 MHz"],
        "adapter.pci.width=4 B",
        (1.519, 1.874),
    ),
    time(FOUR, HITS, &["bridge.boundary=4 KiB", "pci.clock=16 MHz"], "adapter.pci.burst=64 B", (1.195, 1.308)),
    time(FOUR, HITS, &["bridge.boundary=4 KiB"], "adapter.pci.gap=200 clocks", (2.6, 4.35)),
    time(FOUR, WRITE_4K, &["bridge.boundary=4 KiB"], "adapter.pci.read=memory read", (1.096, 1.148)),
    time(FOUR, WRITE_4K, &["bridge.boundary=4 KiB"], "adapter.pci.retry_idle=200 clocks", (1.392, 1.644)),
    time(FOUR, SINGLE, &[], "adapter.pci.register=2000 clocks", (2.05, 3.0)),
    time(FOUR, SINGLE, &[], "host.interrupt=60 us", (1.486, 1.813)),
    rate(FOUR, RANDOM, &[], "driver.queue_depth=1 command", (0.578, 0.694)),
    time(FOUR, LONG, &["bridge.boundary=4 KiB"], "driver.transfer_max=512 B", (1.116, 1.174)),
    time(
        FOUR,
        FOUR_DRIVES,
        &["bridge.boundary=4 KiB", "adapter.sequencer.list=8 B", "pci.clock=12 MHz"],
        "driver.contiguous=64 KiB",
        (0.9837, 0.9892),
    ),
    time(FOUR, SINGLE, &[], "driver.submission=60 us", (1.4, 1.658)),
    time(FOUR, SINGLE, &[], "driver.completion=60 us", (1.442, 1.732)),
    rate(FOUR, SINGLE, &[], "driver.time_above=90 us", (0.587, 0.702)),
    time(FOUR, SINGLE, &[], "driver.interrupt.handler=60 us", (1.461, 1.768)),
    // Whole clocks of 100 us.
    rate(FOUR, SINGLE, &[], "cpu.clock=10 kHz", (0.549, 0.671)),
    time(ALONE, SINGLE, &[], "initiator.host.command=1 ms", (3.6, 7.0)),
    time(ALONE, SINGLE, &[], "initiator.channel.rate=1 MB/s", (6.2, 15.55)),
    time(ALONE, SINGLE, &["scsi.round_trip=2 us"], "initiator.channel.offset=1 transfer", (6.2, 15.55)),
    time(ALONE, RANDOM, &[], "initiator.channel.tags=1 tag", (1.254, 1.406)),
    // Ids 8 to 15 stand behind 0: a drive whose turn it is no longer waits for new commands.
    time(FOUR, FOUR_HITS, &["scsi.order=ids"], "adapter.channel.id=id8", (0.218, 0.418)),
    // A segment that settles goes as slowly as its slowest card.
    time(
        FOUR,
        FOUR_DRIVES,
        &["bridge.boundary=4 KiB"],
        "pci.speed=slowest card; adapter.pci.clock=16 MHz",
        (1.516, 1.868),
    ),
];

#[test]
fn every_number_of_the_bus_bites() {
    check(BUS);
}

#[test]
fn every_number_of_adapter_and_driver_bites() {
    check(ADAPTER_AND_DRIVER);
}
