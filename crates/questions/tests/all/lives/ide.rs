//! Lives on IDE disks and Myrinet adapters: what the media, the arm and the write cache had to do with a request.

use hopscope_kernel::Time;
use hopscope_observe::lives::{Shares, StageKind};

use super::{Lived, lives, table};

const ONE_DISK: &str = "piix4e-one-disk";
const TWO_DISKS: [&str; 2] = ["piix4e-two-disks-same-channel", "piix4e-two-disks-two-channels"];
const DEPTHS: [u32; 4] = [1, 4, 32, 256];

/// Mean wait of all requests that had something to do with `word`, ns.
fn wait_ns(lived: &Lived, word: &str) -> f64 {
    let mean = &lived.latency.mean;
    let of = |s: &&hopscope_observe::lives::Stage| s.kind == StageKind::Wait && (s.phase == word || s.behind == word);
    let sum = mean.stages.iter().filter(of).fold(Time::ZERO, |sum, stage| sum + stage.time);
    sum.as_ps() as f64 / 1e3 / mean.count as f64
}

fn shares(lived: &Lived, lane: &str) -> Shares {
    lived.shares.iter().find(|(name, _)| name == lane).unwrap_or_else(|| panic!("no lane {lane}")).1
}

#[test]
fn a_read_contains_its_seek_and_its_media_read_at_every_depth() {
    for system in [ONE_DISK, "piix4e-one-disk-linux", "piix4e-one-disk-pio", TWO_DISKS[0], TWO_DISKS[1]] {
        let two = TWO_DISKS.contains(&system);
        for depth in DEPTHS {
            let on_both = if two { " --name=a --filename=disk --name=b --filename=disk2" } else { "" };
            let job = format!("--rw=randread --bs=4k --iodepth={depth} --time_based --runtime=3s{on_both}");
            let lived = lives(system, &job);
            let words = format!("{system} at depth {depth}\n{}", table(&lived.latency));
            // Eight sectors of three hundred or so, 9 ms a seek, half a revolution of 11 ms.
            for (phase, least, most) in
                [("read media", 0.15e6, 0.6e6), ("seek and settle", 5e6, 13e6), ("rotation", 4e6, 7.5e6)]
            {
                let service = lived.service_ns(phase);
                assert!((least..most).contains(&service), "{service} ns of {phase}: {words}");
            }
            let waits = wait_ns(&lived, "seek and settle");
            assert!((depth > 1 || system == TWO_DISKS[0]) == (waits > 1e6), "{waits} ns behind seeks: {words}");
        }
    }
}

#[test]
fn what_the_arm_does_for_nobody_is_housekeeping() {
    let reads = lives(ONE_DISK, "--rw=randread --bs=4k --time_based --runtime=2s");
    let arm = shares(&reads, "disk.arm");
    assert!(arm.in_life > Time::ms(1_000) && arm.outside == Time::ZERO, "{arm:?}");
    let sequential = lives(ONE_DISK, "--rw=read --bs=4k --iodepth=4 --time_based --runtime=1s");
    let arm = shares(&sequential, "disk.arm");
    assert!(arm.housekeeping > Time::ZERO, "{arm:?}");
    let writes = lives(ONE_DISK, "--rw=randwrite --bs=4k --iodepth=32 --time_based --runtime=4s");
    let arm = shares(&writes, "disk.arm");
    assert!(arm.in_life == Time::ZERO && arm.housekeeping > Time::ms(3_000), "{arm:?}");
}

#[test]
fn a_full_write_cache_is_waited_for_behind_the_arm() {
    let lived = lives(ONE_DISK, "--rw=randwrite --bs=4k --time_based --runtime=4s");
    let words = table(&lived.latency);
    assert!(wait_ns(&lived, "write cache full") > 5e6, "{words}");
    assert!(wait_ns(&lived, "seek and settle") > 2e6 && wait_ns(&lived, "rotation") > 2e6, "{words}");
    assert_eq!(lived.service_ns("write media"), 0.0, "{words}");
}

#[test]
fn a_read_that_joins_the_read_ahead_contains_the_rest_of_it() {
    for (bs, depth) in [("4k", 1), ("64k", 4), ("512k", 1), ("256k", 256)] {
        let lived = lives(ONE_DISK, &format!("--rw=read --bs={bs} --iodepth={depth} --time_based --runtime=1s"));
        let (words, read) = (table(&lived.latency), lived.service_ns("read media"));
        // What comes from the media is waited for there, unless the cable is slower.
        assert!(read > 0.0, "{bs}: {words}");
        let known: f64 = ["data words", "read media", "to the next track", "rotation", "driver"]
            .iter()
            .map(|phase| lived.service_ns(phase))
            .sum();
        assert!(depth > 1 || known > 0.7 * lived.mean_ns, "{bs}: {known} of {} ns: {words}", lived.mean_ns);
    }
}

#[test]
fn blocks_of_a_transfer_are_its_own_service_however_many_there_are() {
    for system in ["myrinet-x5dl8", "myrinet-x5dl8-two-ports", "myrinet-x5dl8-behind-bridge", "myrinet-g5"] {
        for device in ["nic", "nic.both", "nic.user"] {
            for (bs, depth) in [("4k", 1), ("64k", 1), ("64k", 4), ("4k", 32), ("16k", 256)] {
                let options = format!("--rw=rw --bs={bs} --iodepth={depth} --runtime=3ms --time_based");
                let lived = lives(system, &format!("{options} --filename={device}"));
                if depth == 1 && device != "nic.user" {
                    let own: Time = (lived.latency.mean.stages.iter())
                        .filter(|stage| stage.kind == StageKind::Service)
                        .fold(Time::ZERO, |sum, stage| sum + stage.time);
                    let words = table(&lived.latency);
                    assert!(own.as_ps() * 10 > lived.latency.mean.sum.as_ps() * 7, "{system} {device} {bs}: {words}");
                }
            }
        }
    }
    // On one of them also as many of the long ones as there are in flight elsewhere.
    lives("myrinet-g5", "--rw=rw --bs=64k --iodepth=256 --runtime=3ms --time_based --filename=nic.both");
}
