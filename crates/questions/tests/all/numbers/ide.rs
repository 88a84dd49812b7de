//! The path of an IDE drive: host bridge, IDE bridge, cable, driver, and the drive.

use super::bites::{Bite, check, rate, time};

pub const LISTS: &[&[Bite]] = &[PATH, DRIVE];

const READ: &str = "--rw=read --bs=64k --size=64k --time_based --ramp_time=50ms --runtime=100ms";
const READ_4K: &str = "--rw=read --bs=4k --size=4k --time_based --ramp_time=50ms --runtime=100ms";
const WRITE: &str = "--rw=write --bs=64k --size=64k --time_based --ramp_time=50ms --runtime=200ms";
const TWO: &str = "--name=a --rw=read --bs=64k --size=64k --filename=disk --time_based --ramp_time=50ms --runtime=100ms \
     --name=b --rw=read --bs=64k --size=64k --filename=disk2 --time_based --ramp_time=50ms --runtime=100ms";
const IN_ORDER: &str = "--rw=read --bs=64k --time_based --ramp_time=50ms --runtime=1s";
const PAUSES: &str = "--rw=read --bs=4k --thinktime=3ms --time_based --ramp_time=50ms --runtime=500ms";
const THREE: &str = "--name=a --rw=read --bs=4k --offset=0 --size=1g --thinktime=30ms --time_based --runtime=4s --name=b \
     --rw=read --bs=4k --size=1g --offset=1g --thinktime=30ms --time_based --runtime=4s --name=c --rw=read \
     --bs=4k --size=1g --offset=2g --thinktime=30ms --time_based --runtime=4s";
const WRITES_4K: &str = "--rw=write --bs=4k --time_based --ramp_time=300ms --runtime=1s";
const RANDOM: &str = "--rw=randread --bs=16k --time_based --runtime=4s";
const RANDOM_WRITES: &str = "--rw=randwrite --bs=16k --time_based --ramp_time=500ms --runtime=4s";
const OVERWRITE: &str = "--rw=write --bs=16k --size=16k --time_based --ramp_time=50ms --runtime=200ms";
const ONE: &str = "piix4e-one-disk";
const PIO: &str = "piix4e-one-disk-pio";
const MULTIWORD: &[&str] = &["disk.transfer_mode=multiword-dma-2"];
const CHANNELS: &str = "piix4e-two-disks-two-channels";
const SMALL: &str = "disk.sectors=1000000 sectors";

const PATH: &[Bite] = &[
    time(ONE, READ_4K, &[], "host.hold_acknowledge=40 clocks", (1.239, 1.38)),
    time(CHANNELS, TWO, &[], "host.hold_acknowledge=40 clocks", (1.14, 1.219)),
    time(ONE, READ, &[], "host.retry_idle=40 clocks", (1.003, 1.0046)),
    time(ONE, READ_4K, &[], "host.retry_idle=40 clocks", (1.0272, 1.0412)),
    time(ONE, WRITE, &["pci.latency_timer=255 clocks"], "host.memory.read_first_data=40 clocks", (1.412, 1.68)),
    time(ONE, READ, &[], "host.memory.write_first_data=20 clocks", (1.157, 1.246)),
    time(ONE, WRITE, &[], "host.memory.cache_line=16 B", (1.306, 1.494)),
    time(ONE, WRITE, &[], "pci.clock=20 MHz", (1.5, 1.838)),
    time(ONE, READ, &["ide.buffer=64 B"], "ide.buffer=32 B", (1.0637, 1.0972)),
    time(ONE, WRITE, &[], "ide.buffer=128 B", (0.847, 0.896)),
    time(ONE, WRITE, &[], "ide.hold_again=30 clocks", (1.209, 1.33)),
    time(ONE, WRITE, &[], "ide.rerequest_delay=20 clocks", (1.15, 1.234)),
    time(ONE, WRITE, &[], "ide.first_strobe=30 clocks", (1.201, 1.318)),
    time(ONE, READ_4K, &[], "ide.descriptor_delay=100 us", (1.09, 1.139)),
    time(CHANNELS, TWO, &[], "ide.channel_switch=1 us", (1.482, 1.805)),
    time(CHANNELS, TWO, &[], "ide.channel_switch_at=command", (0.832, 0.885)),
    time(ONE, WRITE, &[], "ide.refill=when a half is free", (0.68, 0.775)),
    time(ONE, READ_4K, &[], "ide.register_first_data=40 clocks", (1.0394, 1.0599)),
    time(ONE, READ_4K, &[], "ide.retry_after=1000 clocks", (0.9952, 0.9968)),
    time(ONE, READ_4K, &[], "ide.retry_after=30 clocks", (0.9952, 0.9968)),
    time(ONE, WRITE, &[], "ide.ultra_dma.rows[2].word=4 clocks", (1.46, 1.766)),
    time(ONE, READ_4K, &[], "cable.register_access=60 us", (2.7, 4.5)),
    time(ONE, READ, &[], "cable.ultra_dma.rows[2].word=120 ns", (1.69, 2.199)),
    time(ONE, WRITE, &[], "cable.ultra_dma.rows[2].t_cyc=112 ns", (1.46, 1.766)),
    time(ONE, READ_4K, &[], "cable.ultra_dma.rows[2].t_env=20 us", (1.0657, 1.1002)),
    time(ONE, READ_4K, &[], "cable.ultra_dma.rows[2].t_fs=20 us", (1.0653, 1.0997)),
    time(CHANNELS, TWO, &[], "cable.ultra_dma.rows[2].t_rfs=5 us", (2.4, 3.8)),
    time(CHANNELS, TWO, &[], "cable.ultra_dma.rows[2].t_rp=5 us", (1.0157, 1.0237)),
    time(ONE, READ, &[], "cable.ultra_dma.rows[2].t_rp=5 us", (1.0277, 1.042)),
    time(ONE, WRITE, &[], "cable.ultra_dma.rows[2].t_ss=5 us", (1.0191, 1.0289)),
    time(ONE, WRITE, &[], "cable.ultra_dma.rows[2].t_li=5 us", (1.0188, 1.0284)),
    time(ONE, WRITE, &[], "cable.ultra_dma.rows[2].t_mli=5 us", (1.0193, 1.0292)),
    time(ONE, WRITE, &[], "cable.ultra_dma.rows[2].t_ack=5 us", (1.0398, 1.0605)),
    time(ONE, READ, &[], "disk.transfer_mode=ultra-dma-1", (1.24, 1.383)),
    // 66 to 26 clocks for each of 32,768 words of 11 clocks.
    time(PIO, READ, &[], "driver.words.gap=314 ns", (1.5, 1.65)),
    time(PIO, READ, &[], "driver.words.width=4 B", (0.48, 0.56)),
    time(PIO, READ, &[], "driver.words.multiple=1 sectors", (1.05, 1.15)),
    time(PIO, OVERWRITE, &[], "driver.words.poll=300 us", (1.01, 1.5)),
    // 128 demand reads of 200 clocks more.
    time(PIO, READ, &[], "ide.pio.start_up=202 clocks", (1.05, 1.09)),
    time(PIO, READ, &[], "ide.pio.rows[4].cycle=20 clocks", (1.8, 2.0)),
    time(PIO, READ, &[], "cable.pio.rows[4].cycle=600 ns", (1.8, 2.0)),
    time(ONE, READ, MULTIWORD, "ide.multiword_dma.rows[2].cycle=8 clocks", (1.8, 2.0)),
    time(ONE, READ, MULTIWORD, "cable.multiword_dma.rows[2].cycle=240 ns", (1.8, 2.0)),
    time(ONE, READ, &[], "driver.transfer_max=4 KiB", (1.263, 1.421)),
    rate(ONE, READ_4K, &[], "driver.time_above=277.5 us", (0.551, 0.673)),
    time(ONE, READ_4K, &[], "driver.service.rows[1].gap=501.5 us", (2.45, 3.9)),
    time(ONE, READ_4K, &[], "driver.start.rows[1].gap=500 us", (2.45, 3.9)),
    // Whole clocks of 10 us.
    rate(ONE, READ_4K, &[], "cpu.clock=10 kHz", (0.9173, 0.9441)),
];

const DRIVE: &[Bite] = &[
    time(ONE, RANDOM, &[], "disk.rotation=10800 rpm", (0.789, 0.855)),
    time(ONE, IN_ORDER, &[SMALL], "disk.heads=4 heads", (1.0092, 1.014)),
    time(ONE, RANDOM, &[], "disk.sectors=2000000 sectors", (0.564, 0.684)),
    time(ONE, IN_ORDER, &[], "disk.head_switch=10 ms", (1.685, 2.189)),
    time(ONE, RANDOM_WRITES, &[], "disk.write_settle=5 ms", (1.205, 1.324)),
    time(
        ONE,
        IN_ORDER,
        &[SMALL, "disk.zones.rows[1].sectors_per_track=139 sectors"],
        "disk.zones.rows[0].cylinders=10 cylinders",
        (1.0267, 1.0404),
    ),
    time(ONE, IN_ORDER, &[SMALL], "disk.zones.rows[0].sectors_per_track=139 sectors", (1.85, 2.6)),
    time(ONE, IN_ORDER, &[], "disk.zones.rows[0].track_skew=250 sectors", (1.495, 1.829)),
    time(ONE, IN_ORDER, &[], "disk.zones.rows[0].cylinder_skew=270 sectors", (1.0675, 1.103)),
    time(ONE, RANDOM, &[], "disk.seek.rows[1].time=17 ms", (1.239, 1.381)),
    time(ONE, RANDOM, &[], "disk.seek.rows[1].distance=30 cylinders", (1.208, 1.33)),
    time(ONE, THREE, &[], "disk.buffer.segments=1 segments", (1.176, 1.277)),
    time(ONE, PAUSES, &[], "disk.buffer.segment=8 sectors", (20.25, 91.4)),
    time(ONE, PAUSES, &[], "disk.buffer.read_ahead=0 sectors", (22.25, 105.2)),
    time(ONE, RANDOM, &[], "disk.buffer.offer=32 sectors", (1.0286, 1.0433)),
    time(ONE, WRITES_4K, &[], "disk.buffer.cached_writes=1 entries", (19.35, 85.35)),
    time(ONE, READ_4K, &[], "disk.firmware.decode=500 us", (2.45, 3.95)),
    time(ONE, READ_4K, &[], "disk.firmware.look_up=500 us", (2.3, 3.5)),
    time(ONE, READ_4K, &[], "disk.firmware.read_follow_up=2 ms", (5.35, 12.55)),
    time(ONE, WRITES_4K, &[], "disk.firmware.write_follow_up=2 ms", (4.7, 10.3)),
    time(ONE, OVERWRITE, &[], "disk.firmware.overwrite_interval=7 ms", (5.7, 13.8)),
    time(ONE, OVERWRITE, &[], "disk.firmware.variation=0 %", (0.9498, 0.9663)),
];

#[test]
fn every_number_of_the_path_bites() {
    check(PATH);
}

#[test]
fn every_number_of_the_drive_bites() {
    check(DRIVE);
}
