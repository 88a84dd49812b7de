//! Operating systems, and processors that count.

use super::bites::{Bite, check, rate, time};

pub const LISTS: &[&[Bite]] = &[SYSTEM];

const SP3: &str = "win2000-nt4-sp3";
const SMALL: &str = "--rw=read --bs=2k --iodepth=1 --time_based --ramp_time=5ms --runtime=60ms";
const DEEP: &str = "--rw=read --bs=2k --size=64k --iodepth=4 --time_based --ramp_time=10ms --runtime=60ms";
const IN_CACHE: &str = "--rw=read --bs=64k --size=64k --direct=0 --time_based --ramp_time=50ms --runtime=50ms";
const SMALL_IN_CACHE: &str = "--rw=read --bs=2k --size=64k --direct=0 --time_based --ramp_time=50ms --runtime=20ms";
const LONG_IN_CACHE: &str = "--rw=read --bs=128k --size=128k --direct=0 --time_based --ramp_time=50ms --runtime=50ms";
const BUFFERED: &str = "--rw=read --bs=64k --direct=0 --time_based --ramp_time=50ms --runtime=500ms";
const AROUND: &str = "--rw=read --bs=64k --size=24m --direct=0 --time_based --ramp_time=1500ms --runtime=300ms";
const WRITTEN: &str = "--rw=write --bs=64k --size=512k --direct=0 --time_based --runtime=50ms";
const BURST: &str = "--rw=write --bs=64k --size=4m --direct=0";
const SCATTERED: &str = "--rw=randwrite --bs=8k --direct=0 --time_based --ramp_time=2 --runtime=2 --norandommap";

const SYSTEM: &[Bite] = &[
    rate(SP3, SMALL, &[], "system.direct.fixed=100 us", (0.66, 0.75)),
    rate(SP3, SMALL, &[], "system.direct.kib=20 us", (0.77, 0.87)),
    rate(SP3, SMALL_IN_CACHE, &[], "system.buffered.fixed=100 us", (0.18, 0.21)),
    rate(SP3, BUFFERED, &[], "system.paging.fixed=20 ms", (0.18, 0.28)),
    rate(SP3, BUFFERED, &[], "system.paging.kib=300 us", (0.18, 0.28)),
    rate(SP3, BUFFERED, &["system.paging.fixed=1 ms"], "system.piece=4 KiB", (0.21, 0.32)),
    time(SP3, IN_CACHE, &[], "system.copy.read=47 us", (9.5, 10.5)),
    time(SP3, WRITTEN, &[], "system.copy.write=57 us", (9.5, 10.5)),
    rate(SP3, AROUND, &[], "system.cache.size=16 MiB", (0.09, 0.14)),
    rate(SP3, BUFFERED, &["system.copy.read=47 us"], "system.cache.ahead=0 requests", (0.6, 0.85)),
    rate(SP3, WRITTEN, &["cpu.processors=1 processor"], "system.write_behind.from=4 KiB", (0.94, 0.99)),
    rate(SP3, SCATTERED, &[], "system.write_behind.pieces=1 request", (0.6, 0.85)),
    time(SP3, BURST, &[], "system.write_behind.limit=2 MiB", (3.1, 5.2)),
    rate(SP3, SMALL, &[], "system.extra.small_read=240 us", (0.46, 0.53)),
    rate(SP3, SMALL, &[], "system.extra.small_read_below=0 B", (1.4, 1.62)),
    rate(SP3, DEEP, &[], "system.extra.asynchronous=400 us", (0.12, 0.17)),
    time(SP3, LONG_IN_CACHE, &[], "system.extra.long_read=20 us", (3.4, 4.0)),
    time(SP3, IN_CACHE, &[], "system.extra.long_read_from=0 B", (1.36, 1.49)),
    // One thread, and the driver beside it.
    rate(SP3, DEEP, &[], "cpu.processors=1 processor", (0.66, 0.8)),
];

#[test]
fn every_number_of_an_operating_system_bites() {
    check(SYSTEM);
}
