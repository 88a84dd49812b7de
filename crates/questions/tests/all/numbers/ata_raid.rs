//! RAID controllers with ATA channels, what their drives add to those of other cables, and striped volumes.

use super::bites::{Bite, check, rate, time};

pub const LISTS: &[&[Bite]] = &[CONTROLLER, ARRAY, BUSES, DRIVE, VOLUME];

const ESCALADE: &str = "win2000-escalade-6400";
const FIRST: &str = "win2000-3ware-raid0-4";
const ONE: &str = "win2000-lct08";
const STRIPED: &str = "win2000-3ware-jbod";
const SEQ: &str = "--rw=read --bs=64k --iodepth=8 --time_based --ramp_time=50ms --runtime=300ms";
const HITS: &str = "--rw=read --bs=64k --size=64k --iodepth=4 --time_based --ramp_time=100ms --runtime=100ms";
const HIT: &str = "--rw=read --bs=4k --size=64k --iodepth=1 --time_based --ramp_time=50ms --runtime=100ms";
const BUSY: &str = "--rw=randread --bs=4k --size=8g --iodepth=32 --norandommap --time_based --runtime=3s";
const RANDOM_WRITES: &str = "--rw=randwrite --bs=4k --size=1g --iodepth=8 --norandommap --time_based --runtime=2s";
const RANDOM: &str = "--rw=randread --bs=64k --size=4g --iodepth=1 --norandommap --time_based --runtime=2s";
const IN_ORDER: &str = "--rw=read --bs=64k --size=2g --iodepth=1 --time_based --ramp_time=50ms --runtime=300ms";
const LONG: &str = "--rw=read --bs=256k --size=2g --iodepth=1 --time_based --ramp_time=50ms --runtime=300ms";
const STREAMS: &str = "--rw=read --bs=64k --iodepth=1 --size=128m --time_based --runtime=400ms --name=a --name=b --offset=1g --name=c --offset=2g";
const CACHED: &str = "--rw=randread --bs=64k --size=6m --iodepth=4 --norandommap --time_based --runtime=400ms";
const WRITE_ONE: &str = "--rw=write --bs=64k --size=1m --iodepth=1 --time_based --runtime=100ms";
const WRITES: &str = "--rw=write --bs=256k --size=512m --iodepth=4 --time_based --ramp_time=200ms --runtime=400ms";
const REBUILD: &str =
    "--rw=randread --bs=64k --size=1g --iodepth=1 --norandommap --time_based --ramp_time=200ms --runtime=2s";
const DRIVE_WRITES: &str =
    "--rw=randwrite --bs=8k --size=20g --iodepth=1 --norandommap --time_based --ramp_time=500ms --runtime=6s";
const CHUNKS: &str = "--rw=read --bs=256k --iodepth=1 --size=64m --time_based --ramp_time=50ms --runtime=300ms";
const PAUSED: &str =
    "--rw=randwrite --bs=64k --size=1g --iodepth=1 --norandommap --thinktime=100ms --time_based --runtime=3s";

const CONTROLLER: &[Bite] = &[
    time(ESCALADE, HITS, &[], "raid.memory.rate=28 MB/s", (2.8537, 7.2481)),
    time(ESCALADE, HIT, &[], "raid.firmware.description=4 KiB", (1.1953, 1.4008)),
    time(ESCALADE, HIT, &[], "raid.firmware.status=4 KiB", (1.1984, 1.4075)),
    time(ESCALADE, HITS, &[], "raid.firmware.page=512 B", (1.1093, 1.2164)),
    time(ESCALADE, HIT, &[], "raid.firmware.command=600 us", (3.6431, 11.4963)),
    time(ESCALADE, RANDOM, &[], "raid.firmware.drive_command=5 ms", (1.2480, 1.5196)),
    time(ESCALADE, HITS, &[], "raid.firmware.line=2 ms", (2.5749, 5.9686)),
    rate(ESCALADE, BUSY, &[], "raid.firmware.commands=1 command", (0.1408, 0.3542)),
    rate(ESCALADE, BUSY, &[], "raid.firmware.order=first come", (0.7058, 0.8315)),
    time(ESCALADE, HITS, &[], "raid.cache.line=4 KiB", (1.0089, 1.0133)),
    time(ESCALADE, WRITE_ONE, &[], "raid.cache.writes=write-back", (0.3450, 0.5693)),
    rate(ESCALADE, CACHED, &[], "raid.cache.size=16 MiB", (1.1736, 1.3531)),
    rate(ESCALADE, RANDOM_WRITES, &["raid.cache.writes=write-back"], "raid.write_back.limit=128 KiB", (0.9485, 0.9657)),
    rate(
        ESCALADE,
        RANDOM_WRITES,
        &["raid.cache.writes=write-back", "raid.write_back.when=drives idle"],
        "raid.write_back.kept=1920 KiB",
        (0.9791, 0.9861),
    ),
    rate(ESCALADE, WRITES, &["raid.cache.writes=write-back"], "raid.write_back.together=1 MiB", (1.0070, 1.0106)),
    time(
        ESCALADE,
        PAUSED,
        &["raid.cache.writes=write-back", "raid.write_back.limit=128 KiB"],
        "raid.write_back.when=drives idle",
        (0.3627, 0.5846),
    ),
    time(ESCALADE, IN_ORDER, &["raid.read_ahead.when=any stream"], "raid.read_ahead.size=512 KiB", (0.4328, 0.6419)),
    time(ESCALADE, IN_ORDER, &["raid.read_ahead.size=512 KiB"], "raid.read_ahead.when=any stream", (0.4328, 0.6419)),
    time(
        ESCALADE,
        STREAMS,
        &["raid.read_ahead.size=512 KiB", "raid.read_ahead.when=any stream"],
        "raid.read_ahead.streams=8 streams",
        (1.8660, 3.2489),
    ),
];

const ARRAY: &[Bite] = &[
    time(ESCALADE, LONG, &[], "raid.array.stripe=256 KiB", (1.4496, 2.0165)),
    rate(ESCALADE, RANDOM_WRITES, &[], "raid.array.level=RAID 5", (0.1080, 0.3078)),
    time(ESCALADE, RANDOM_WRITES, &["raid.array.level=RAID 5"], "raid.array.parity=20 ms", (1.8447, 3.1791)),
    rate(ESCALADE, RANDOM, &["raid.array.level=RAID 5"], "raid.failure.drive=drive2", (0.9146, 0.9538)),
    time(
        ESCALADE,
        REBUILD,
        &[
            "raid.array.level=RAID 5",
            "raid.array.drives=3 drives; raid.array.spares=1 drive",
            "raid.failure.drive=drive2",
            "raid.failure.noticed=1 ms",
        ],
        "raid.rebuild.pause=500 ms",
        (0.8192, 0.8998),
    ),
    time(
        ESCALADE,
        REBUILD,
        &[
            "raid.array.level=RAID 5",
            "raid.array.drives=3 drives; raid.array.spares=1 drive",
            "raid.failure.drive=drive2",
            "raid.failure.noticed=1 ms",
        ],
        "raid.rebuild.rows=1 row",
        (0.9304, 0.9625),
    ),
    rate(
        ESCALADE,
        RANDOM,
        &["raid.array.level=RAID 5", "raid.failure.drive=drive2", "raid.failure.noticed=1 ms"],
        "raid.failure.at=1500 ms",
        (1.0222, 1.0334),
    ),
    // A read under way is lost, and nothing else happens until then.
    rate(
        ESCALADE,
        RANDOM,
        &["raid.array.level=RAID 5", "raid.failure.drive=drive2", "raid.failure.at=500 ms"],
        "raid.failure.noticed=1000 ms",
        (0.43, 0.64),
    ),
    rate(ESCALADE, BUSY, &[], "raid.array.drives=3 drives; raid.array.spares=1 drive", (0.7, 0.8)),
    rate(ESCALADE, BUSY, &[], "raid.array.spares=2 drives; raid.array.drives=2 drives", (0.42, 0.57)),
];

const BUSES: &[Bite] = &[
    rate(FIRST, SEQ, &[], "raid.engine.setup=15 us", (0.3425, 0.5671)),
    rate(FIRST, SEQ, &["raid.engine.setup=4.6 us"], "raid.engine.burst=4 KiB", (1.1815, 1.3703)),
    time(ONE, IN_ORDER, &["raid.memory.rate=70 MB/s"], "raid.channel.fifo=4 KiB", (1.0485, 1.0727)),
    time(ONE, WRITES, &[], "raid.channel.clock=5 MHz", (1.5645, 2.3289)),
    time(ONE, IN_ORDER, &[], "raid.channel.transfer_mode=ultra-dma-0", (1.3857, 1.8519)),
    time(ESCALADE, HITS, &["pci.speed=slowest card"], "raid.pci.clock=16.666667 MHz", (1.6115, 2.4628)),
    time(ESCALADE, HITS, &["pci.width=8 B", "pci.clock=8 MHz"], "raid.pci.width=8 B", (0.4191, 0.6310)),
    time(ESCALADE, HITS, &["pci.clock=8 MHz"], "raid.pci.burst=64 B", (1.2784, 1.5903)),
    time(ESCALADE, HITS, &["pci.clock=8 MHz", "raid.pci.burst=128 B"], "raid.pci.gap=40 clocks", (1.5827, 2.3803)),
    time(ESCALADE, WRITE_ONE, &[], "raid.pci.read=memory read", (1.2607, 1.5490)),
    time(ESCALADE, WRITE_ONE, &[], "raid.pci.retry_idle=400 clocks", (2.0255, 3.7931)),
    time(ESCALADE, HIT, &[], "raid.pci.register=4000 clocks", (2.6356, 6.2374)),
    time(
        ONE,
        IN_ORDER,
        &["raid.memory.rate=70 MB/s", "raid.channel.fifo=64 KiB"],
        "raid.channel.piece=64 KiB",
        (1.0485, 1.0727),
    ),
];

const VOLUME: &[Bite] = &[
    time(STRIPED, CHUNKS, &[], "stripe4.chunk=256 KiB", (1.4106, 1.6160)),
    time(STRIPED, CHUNKS, &[], "stripe4.piece=1 ms", (1.4690, 2.0676)),
    rate(STRIPED, BUSY, &[], "stripe4.requests=2 requests", (0.2923, 0.5215)),
    rate(STRIPED, BUSY, &[], "stripe4.members=disk0, disk1", (0.3836, 0.6022)),
];

const DRIVE: &[Bite] = &[
    rate(ONE, DRIVE_WRITES, &[], "disk0.buffer.write_order=arrival", (0.6741, 0.8116)),
    rate(ONE, DRIVE_WRITES, &[], "disk0.buffer.cached_writes=2 entries", (0.6741, 0.8116)),
];

#[test]
fn every_number_of_a_controller_with_ata_channels_bites() {
    check(CONTROLLER);
}

#[test]
fn every_number_of_an_array_of_ata_drives_bites() {
    check(ARRAY);
}

#[test]
fn every_number_of_its_channels_and_its_pci_side_bites() {
    check(BUSES);
}

#[test]
fn every_number_of_how_a_drive_orders_its_writes_bites() {
    check(DRIVE);
}

#[test]
fn every_number_of_a_striped_volume_bites() {
    check(VOLUME);
}
