//! RAID controllers with SCSI channels, their arrays and their driver.

use super::bites::{Bite, check, rate, time};

pub const LISTS: &[&[Bite]] = &[CONTROLLER, ARRAY, BUSES, DRIVER];

const MIXED: &str = "--rw=randrw --bs=24k --size=24m --iodepth=4 --norandommap --time_based --runtime=400ms";
const WRITES: &str = "--rw=write --bs=96k --size=512m --iodepth=2 --time_based --runtime=400ms";
const WRITE_ONE: &str = "--rw=write --bs=64k --size=1m --iodepth=1 --time_based --runtime=100ms";
const HIT: &str = "--rw=read --bs=4k --size=64k --iodepth=1 --time_based --ramp_time=50ms --runtime=100ms";
const HITS: &str = "--rw=read --bs=64k --size=64k --iodepth=4 --time_based --ramp_time=100ms --runtime=100ms";
const CACHED: &str = "--rw=randread --bs=64k --size=6m --iodepth=4 --norandommap --time_based --runtime=400ms";
const BUSY: &str = "--rw=randread --bs=4k --size=1g --iodepth=32 --norandommap --time_based --runtime=400ms";
const RANDOM_WRITES: &str = "--rw=randwrite --bs=4k --size=1g --iodepth=8 --norandommap --time_based --runtime=1s";
const RANDOM: &str = "--rw=randread --bs=64k --size=4g --iodepth=1 --norandommap --time_based --runtime=1s";
const IN_ORDER: &str = "--rw=read --bs=64k --size=2g --iodepth=1 --time_based --runtime=300ms";
const LONG: &str = "--rw=read --bs=256k --size=2g --iodepth=1 --time_based --runtime=300ms";
const STREAMS: &str = "--rw=read --bs=64k --iodepth=1 --size=128m --time_based --runtime=400ms --name=a --name=b --offset=1g \
     --name=c --offset=2g";
const REBUILD: &str =
    "--rw=randread --bs=64k --size=1g --iodepth=1 --norandommap --time_based --ramp_time=200ms --runtime=2s";
const MEGARAID: &str = "raid-megaraid-64-66";
const ACCELERAID: &str = "raid-acceleraid-64-66";
const PCI_X: &str = "raid-acceleraid-pci-x-100";
const THROUGH: &str = "raid.cache.writes=write-through";
const RAID_5: &str = "raid.array.level=RAID 5; raid.cache.writes=write-through";
const LOST: &str = "raid.array.level=RAID 5; raid.cache.writes=write-through; raid.failure.drive=drive2";
const SPARE: &str = "raid.array.drives=3 drives; raid.array.spares=1 drive; raid.failure.noticed=1 ms";
const SLOW: &str = "pci.clock=8 MHz";
const HIT_64K: &str = "--rw=read --bs=64k --size=64k --iodepth=1 --time_based --ramp_time=100ms --runtime=100ms";

const CONTROLLER: &[Bite] = &[
    time(MEGARAID, HITS, &[], "raid.memory.rate=28 MB/s", (3.25, 5.95)),
    time(MEGARAID, HITS, &["raid.memory.burst=4 KiB"], "raid.memory.burst=1 KiB", (1.012, 1.0182)),
    time(MEGARAID, HIT, &[], "raid.firmware.description=4 KiB", (1.0175, 1.0265)),
    time(MEGARAID, HIT, &[], "raid.firmware.status=4 KiB", (1.0187, 1.0283)),
    time(MEGARAID, HITS, &[], "raid.firmware.page=512 B", (1.0094, 1.0142)),
    time(MEGARAID, HIT, &[], "raid.firmware.command=600 us", (1.642, 2.105)),
    time(MEGARAID, RANDOM, &[], "raid.firmware.drive_command=2 ms", (1.389, 1.638)),
    time(MEGARAID, HITS, &[], "raid.firmware.line=500 us", (1.378, 1.62)),
    rate(MEGARAID, BUSY, &[], "raid.firmware.commands=1 command", (0.158, 0.293)),
    rate(MEGARAID, BUSY, &[], "raid.firmware.drive_tags=1 command", (0.686, 0.778)),
    // Lines of 4 KiB instead of 64: as many more of them have work of their own.
    time(MEGARAID, HITS, &[], "raid.cache.line=4 KiB", (1.111, 1.172)),
    time(MEGARAID, WRITE_ONE, &[], "raid.cache.writes=write-through", (4.1, 8.4)),
    rate(
        MEGARAID,
        CACHED,
        &["raid.write_back.limit=2 MiB", "raid.write_back.kept=0 B", "raid.write_back.together=1 MiB"],
        "raid.cache.size=4 MiB",
        (0.9199, 0.9459),
    ),
    rate(MEGARAID, RANDOM_WRITES, &[], "raid.write_back.limit=1 MiB", (0.614, 0.723)),
    rate(MEGARAID, MIXED, &[], "raid.write_back.kept=0 B", (0.636, 0.74)),
    rate(
        MEGARAID,
        WRITES,
        &["raid.write_back.kept=0 B", "raid.write_back.limit=4 MiB"],
        "raid.write_back.together=64 KiB",
        (0.576, 0.693),
    ),
    time(ACCELERAID, IN_ORDER, &[], "raid.read_ahead.size=0 B", (1.625, 2.074)),
    time(ACCELERAID, IN_ORDER, &[], "raid.read_ahead.when=never", (1.625, 2.074)),
    time(ACCELERAID, STREAMS, &[], "raid.read_ahead.streams=1 stream", (0.764, 0.837)),
    rate(MEGARAID, RANDOM_WRITES, &[], "raid.write_back.when=limit reached", (0.839, 0.89)),
];

const ARRAY: &[Bite] = &[
    time(MEGARAID, LONG, &[], "raid.array.stripe=256 KiB", (1.246, 1.392)),
    rate(MEGARAID, RANDOM_WRITES, &[THROUGH], "raid.array.level=RAID 5", (0.242, 0.39)),
    rate(MEGARAID, RANDOM_WRITES, &[THROUGH], "raid.array.level=RAID 10", (0.618, 0.726)),
    time(MEGARAID, RANDOM_WRITES, &[RAID_5], "raid.array.parity=5 ms", (2.15, 3.25)),
    // Of a row of three or of four, one drive has gone.
    rate(MEGARAID, RANDOM, &[RAID_5], "raid.failure.drive=drive2", (0.875, 0.916)),
    time(MEGARAID, RANDOM, &[LOST], "raid.failure.at=900 ms", (0.8847, 0.9217)),
    time(MEGARAID, BUSY, &[LOST, "raid.failure.at=50 ms"], "raid.failure.noticed=300 ms", (1.082, 1.127)),
    time(MEGARAID, REBUILD, &[LOST, SPARE], "raid.rebuild.pause=500 ms", (0.863, 0.907)),
    time(MEGARAID, REBUILD, &[LOST, SPARE], "raid.rebuild.rows=1 row", (0.8885, 0.9243)),
    // 32 reads on three drives, or on two.
    rate(MEGARAID, BUSY, &[], "raid.array.drives=3 drives; raid.array.spares=1 drive", (0.74, 0.85)),
    rate(MEGARAID, BUSY, &[], "raid.array.spares=2 drives; raid.array.drives=2 drives", (0.45, 0.6)),
];

const BUSES: &[Bite] = &[
    time(MEGARAID, RANDOM, &[], "raid.channel.rate=20 MB/s", (1.474, 1.79)),
    time(MEGARAID, RANDOM, &[], "raid.channel.offset=1 transfer", (1.613, 2.049)),
    rate(MEGARAID, BUSY, &[], "raid.channel.tags=1 tag", (0.686, 0.778)),
    time(MEGARAID, RANDOM, &[], "raid.channel.fifo=512 B", (1.0381, 1.0578)),
    time(MEGARAID, RANDOM, &["raid.channel.fifo=64 KiB"], "raid.channel.piece=64 KiB", (1.0381, 1.0578)),
    time(MEGARAID, RANDOM, &[], "raid.channel.piece=1 KiB", (1.0381, 1.0578)),
    time(MEGARAID, HITS, &[], "raid.pci.clock=33.333333 MHz", (1.114, 1.177)),
    time(MEGARAID, HITS, &[SLOW], "raid.pci.width=4 B", (1.566, 1.961)),
    time(MEGARAID, HITS, &[SLOW], "raid.pci.burst=128 B", (1.195, 1.307)),
    time(MEGARAID, WRITE_ONE, &[], "raid.pci.read=memory read", (1.505, 1.849)),
    time(MEGARAID, WRITE_ONE, &[], "raid.pci.retry_idle=400 clocks", (1.8, 2.5)),
    time(MEGARAID, HIT, &[], "raid.pci.register=4000 clocks", (1.346, 1.562)),
    time(PCI_X, WRITE_ONE, &[], "raid.pci.read_request=4 KiB", (0.774, 0.844)),
    time(PCI_X, WRITE_ONE, &[], "raid.pci.splits=4 transactions", (0.82, 0.877)),
    time(
        PCI_X,
        WRITE_ONE,
        &["pci.clock=66.666667 MHz", "raid.pci.clock=66.666667 MHz"],
        "raid.pci.mode=PCI",
        (0.805, 0.866),
    ),
    time(MEGARAID, HIT_64K, &[SLOW, "raid.pci.burst=128 B"], "raid.pci.gap=40 clocks", (1.672, 2.164)),
];

const DRIVER: &[Bite] = &[
    rate(MEGARAID, HITS, &[], "driver.queue_depth=1 command", (0.726, 0.808)),
    time(MEGARAID, HITS, &[], "driver.transfer_max=4 KiB", (5.8, 14.15)),
    time(MEGARAID, HIT, &[], "driver.submission=200 us", (1.42, 1.694)),
    time(MEGARAID, HIT, &[], "driver.completion=200 us", (1.423, 1.699)),
    rate(MEGARAID, HIT, &[], "driver.time_above=300 us", (0.498, 0.629)),
    time(MEGARAID, HIT, &[], "driver.interrupt.handler=200 us", (1.43, 1.711)),
    time(MEGARAID, HIT, &[], "host.interrupt=200 us", (1.432, 1.715)),
];

#[test]
fn every_number_of_a_controller_bites() {
    check(CONTROLLER);
}

#[test]
fn every_number_of_an_array_bites() {
    check(ARRAY);
}

#[test]
fn every_number_of_its_buses_bites() {
    check(BUSES);
}

#[test]
fn every_number_of_the_driver_of_a_block_card_bites() {
    check(DRIVER);
}
