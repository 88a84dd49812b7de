//! SCSI drives: mechanics and electronics.

use super::bites::{Bite, check, rate, time};

pub const LISTS: &[&[Bite]] = &[MECHANICS, ELECTRONICS];

const RANDOM: &str = "--rw=randread --bs=16k --iodepth=1 --time_based --runtime=2s";
const DEEP: &str = "--rw=randread --bs=16k --iodepth=16 --time_based --runtime=2s";
const IN_ORDER: &str = "--rw=read --bs=64k --iodepth=2 --time_based --ramp_time=20ms --runtime=500ms";
const ONE_BY_ONE: &str = "--rw=read --bs=4k --iodepth=1 --thinktime=300us --time_based --runtime=500ms";
const HITS: &str = "--rw=read --bs=64k --size=64k --iodepth=1 --time_based --ramp_time=20ms --runtime=100ms";
const WRITES: &str = "--rw=write --bs=64k --iodepth=2 --time_based --ramp_time=100ms --runtime=500ms";
const RANDOM_WRITES: &str = "--rw=randwrite --bs=16k --iodepth=1 --time_based --runtime=2s";
const MIXED: &str =
    "--bs=4k --size=64k --runtime=1s --time_based --name=reads --rw=randread --name=writes --rw=randwrite";
const SLIPPED: &str = "--rw=randread --bs=512 --size=2m --offset=240k --iodepth=1 --time_based --runtime=2s";
const ATLAS_10K: &str = "scsi-ultra160";
const ATLAS_15K: &str = "atlas-15k";
const SHORT: &str = "disk.sectors=1000000 sectors";
const CROSSING: &str = "--rw=read --bs=64k --offset=12m --size=2m --iodepth=1 --time_based --runtime=1s";
const WRITE_128K: &str = "--rw=write --bs=128k --iodepth=1 --time_based --ramp_time=50ms --runtime=500ms";
const RANDOM_WRITE_128K: &str = "--rw=randwrite --bs=128k --iodepth=1 --time_based --runtime=1s";

const MECHANICS: &[Bite] = &[
    time(ATLAS_10K, RANDOM, &[], "disk0.rotation=5000 rpm", (1.308, 1.497)),
    time(ATLAS_10K, RANDOM, &[], "disk0.sectors=2000000 sectors", (0.663, 0.761)),
    time(ATLAS_10K, IN_ORDER, &[], "disk0.head_switch=1500 us", (1.526, 1.887)),
    time(ATLAS_10K, RANDOM_WRITES, &[], "disk0.write_settle=2 ms", (1.179, 1.282)),
    time(ATLAS_10K, RANDOM, &[], "disk0.read_settle=1 ms", (1.143, 1.224)),
    time(ATLAS_10K, RANDOM, &[], "disk0.layout.spare_group=600 tracks", (0.985, 0.99)),
    time(ATLAS_10K, IN_ORDER, &["disk0.head_switch=2100 us"], "disk0.layout.heads=forward", (1.0658, 1.1005)),
    time(ATLAS_15K, IN_ORDER, &[SHORT], "disk.zones.rows[0].cylinders=10 cylinders", (1.0234, 1.0354)),
    time(ATLAS_15K, IN_ORDER, &[SHORT], "disk.zones.rows[0].sectors_per_track=328 sectors", (1.85, 2.6)),
    time(ATLAS_15K, IN_ORDER, &[], "disk.zones.rows[0].track_skew=300 sectors", (1.194, 1.305)),
    time(ATLAS_15K, IN_ORDER, &[], "disk.zones.rows[0].cylinder_skew=400 sectors", (1.0783, 1.1199)),
    time(
        ATLAS_15K,
        IN_ORDER,
        &[SHORT, "disk.zones.rows[0].cylinders=60 cylinders"],
        "disk.zones.rows[0].front=156000 sectors",
        (1.0294, 1.0446),
    ),
    time(
        ATLAS_15K,
        SLIPPED,
        &[SHORT, "disk.slips.rows[0].first=500 sectors"],
        "disk.slips.rows[0].sectors=100000 sectors",
        (0.9754, 0.9836),
    ),
    time(
        ATLAS_15K,
        SLIPPED,
        &[SHORT, "disk.slips.rows[0].sectors=100000 sectors"],
        "disk.slips.rows[0].first=900000 sectors",
        (1.0166, 1.0252),
    ),
    time(
        ATLAS_15K,
        SLIPPED,
        &[SHORT, "disk.slips.rows[0].sectors=100000 sectors", "disk.slips.rows[0].first=500 sectors"],
        "disk.slips.rows[0].zone=1 zones",
        (1.0166, 1.0252),
    ),
    time(ATLAS_15K, RANDOM, &[], "disk.seek.between=straight line", (0.9334, 0.9552)),
    time(ATLAS_15K, RANDOM, &[], "disk.seek.rows[1].time=10 ms", (1.539, 1.911)),
    time(ATLAS_15K, RANDOM, &[], "disk.seek.rows[1].distance=100 cylinders", (1.229, 1.363)),
    time(ATLAS_15K, IN_ORDER, &[SHORT], "disk.heads=2 heads", (1.015, 1.0228)),
    time(
        ATLAS_15K,
        CROSSING,
        &[SHORT, "disk.zones.rows[0].cylinders=10 cylinders"],
        "disk.zones.rows[1].offset=300 sectors",
        (0.9886, 0.9924),
    ),
    // Spares at the end of every cylinder.
    time(
        ATLAS_15K,
        IN_ORDER,
        &[SHORT, "disk.layout.spare_group=4 tracks"],
        "disk.zones.rows[0].spares=300 sectors",
        (1.104, 1.162),
    ),
    // A gap of 15,650 cylinders before the last zone.
    time(
        ATLAS_15K,
        RANDOM,
        &["disk.seek.rows[2].distance=60000 cylinders"],
        "disk.zones.rows[7].first_cylinder=30000 cylinders",
        (1.0481, 1.0731),
    ),
];

const ELECTRONICS: &[Bite] = &[
    time(ATLAS_10K, HITS, &["bridge.boundary=4 KiB"], "disk0.interface.rate=40 MB/s", (1.75, 2.35)),
    time(ATLAS_10K, ONE_BY_ONE, &[], "disk0.interface.stays_connected=false", (1.0365, 1.0554)),
    rate(ATLAS_10K, DEEP, &[], "disk0.queue.depth=2 commands", (0.541, 0.665)),
    rate(ATLAS_10K, DEEP, &[], "disk0.queue.scheduling=fcfs", (0.541, 0.665)),
    time(ATLAS_10K, MIXED, &[], "disk0.buffer.segments=1 segment", (1.15, 1.234)),
    time(ATLAS_10K, ONE_BY_ONE, &[], "disk0.buffer.segment=8 sectors", (23.65, 115.25)),
    time(ATLAS_10K, ONE_BY_ONE, &[], "disk0.buffer.read_ahead=0 sectors", (23.9, 117.0)),
    time(ATLAS_10K, ONE_BY_ONE, &[], "disk0.buffer.read_ahead_after_hit=false", (1.452, 1.752)),
    time(ATLAS_10K, ONE_BY_ONE, &[], "disk0.buffer.read_ahead_to=track", (1.192, 1.303)),
    time(ATLAS_10K, ONE_BY_ONE, &[], "disk0.buffer.read_ahead_after=reads in order", (1.0366, 1.0555)),
    time(ATLAS_10K, RANDOM, &[], "disk0.buffer.high_water=100 %", (1.0081, 1.0123)),
    time(ATLAS_10K, RANDOM, &["disk0.buffer.high_water=50 %"], "disk0.buffer.water_of=segment", (1.0081, 1.0123)),
    time(ATLAS_10K, RANDOM_WRITES, &[], "disk0.buffer.write_segments=0 segments", (1.0205, 1.0307)),
    time(ATLAS_10K, ONE_BY_ONE, &[], "disk0.overhead.read_completion=100 us", (1.68, 2.18)),
    time(ATLAS_10K, WRITES, &[], "disk0.overhead.write_completion=9 ms", (2.7, 4.6)),
    time(ATLAS_10K, ONE_BY_ONE, &[], "disk0.overhead.read_hit_after_read=400 us", (3.3, 6.05)),
    time(ATLAS_10K, MIXED, &[], "disk0.overhead.read_hit_after_write=2 ms", (1.151, 1.236)),
    time(ATLAS_10K, RANDOM, &[], "disk0.overhead.read_miss_after_read=2 ms", (1.192, 1.303)),
    time(ATLAS_10K, MIXED, &[], "disk0.overhead.read_miss_after_write=20 ms", (2.5, 4.0)),
    time(ATLAS_10K, MIXED, &[], "disk0.overhead.write_hit_after_read=2 ms", (0.9142, 0.9429)),
    time(ATLAS_10K, WRITES, &[], "disk0.overhead.write_hit_after_write=9 ms", (2.7, 4.55)),
    time(ATLAS_10K, MIXED, &[], "disk0.overhead.write_miss_after_read=20 ms", (3.05, 5.45)),
    time(ATLAS_10K, RANDOM_WRITES, &[], "disk0.overhead.write_miss_after_write=30 ms", (2.4, 3.85)),
    // A segment of 64 sectors, filled again when it is empty, or as it empties.
    time(
        ATLAS_15K,
        WRITE_128K,
        &["disk.buffer.segment=64 sectors", "disk.buffer.burst=32 sectors"],
        "disk.buffer.low_water=100 %",
        (1.471, 1.786),
    ),
    // A slow bus goes on in pieces of 2 KiB: each brings its own messages.
    time(
        ATLAS_15K,
        RANDOM_WRITE_128K,
        &["disk.buffer.write_segments=0 segments", "disk.interface.rate=5 MB/s"],
        "disk.buffer.burst=4 sectors",
        (1.0158, 1.0239),
    ),
];

#[test]
fn every_number_of_the_mechanics_bites() {
    check(MECHANICS);
}

#[test]
fn every_number_of_the_electronics_bites() {
    check(ELECTRONICS);
}
