//! Lives on drives and RAID cards: what a request asked of a drive is in its life, however many are in flight; of parallel
//! pieces the last one decides; what has been reported is written for nobody, and what is joined is waited for.

use hopscope_files::library::Library;
use hopscope_kernel::Time;
use hopscope_observe::lives::{Shares, StageKind};

use crate::lives::{Lived, of, table};
use crate::random_machines::{self, Drawn};

const MEGARAID: &str = "raid-megaraid-64-66";
const MYLEX: &str = "raid-acceleraid-pci-x-100";
const THROUGH: &str = "raid.cache.writes=write-through";
const RAID_5: &str = "raid.array.level=RAID 5";
/// A write cache that is full at once.
const SMALL: [&str; 3] = ["raid.write_back.limit=2 MiB", "raid.write_back.kept=0 B", "raid.write_back.together=1 MiB"];

fn lived(system: &str, changes: &[&str], options: &str) -> Lived {
    let library = Library::new(None).expect("the shipped files can be read");
    let words: Vec<&str> = options.split(' ').collect();
    let mut drawn = random_machines::of(&library, system, &words);
    crate::raid::put(&mut drawn.blueprint, changes);
    of(&drawn, &format!("{system} {changes:?} {options}"))
}

/// Mean wait of all requests for a reason, behind what a lane like that was doing, ns.
fn waited_ns(lived: &Lived, reason: &str, lane: &str) -> f64 {
    let of =
        |s: &&hopscope_observe::lives::Stage| s.kind == StageKind::Wait && s.phase == reason && s.lane.contains(lane);
    let sum = lived.latency.mean.stages.iter().filter(of).fold(Time::ZERO, |sum, stage| sum + stage.time);
    sum.as_ps() as f64 / 1e3 / lived.latency.mean.count as f64
}

fn arms(lived: &Lived) -> Shares {
    let arms = lived.shares.iter().filter(|(lane, _)| lane.ends_with(".arm"));
    arms.fold(Shares::default(), |sum, (_, shares)| Shares {
        in_life: sum.in_life + shares.in_life,
        outside: sum.outside + shares.outside,
        housekeeping: sum.housekeeping + shares.housekeeping,
    })
}

#[test]
fn a_read_of_the_media_is_in_its_requests_life_at_every_depth() {
    for (system, runtime) in [
        ("atlas-15k", "2"),
        ("barracuda-4lp", "5"),
        ("scsi-ultra160", "3"),
        ("raid-megaraid-32-33", "600ms"),
        ("raid-acceleraid-pci-x-100", "600ms"),
        ("raid-5-megaraid-64-66", "600ms"),
        ("raid-5-acceleraid-pci-x-100", "600ms"),
    ] {
        let at_depth = |depth: u32| {
            let job = format!("--rw=randread --bs=4k --iodepth={depth} --runtime={runtime} --time_based");
            lived(system, &[], &job)
        };
        let alone = at_depth(1).service_ns("read media");
        assert!(alone > 20_000.0, "{system}: {alone} ns of media");
        for depth in [4, 32, 256] {
            let lived = at_depth(depth);
            let read = lived.service_ns("read media");
            // Zones differ, and so do the tracks that a read begins on.
            assert!((0.8..1.25).contains(&(read / alone)), "{system} at {depth}: {read} ns\n{}", table(&lived.latency));
            assert!(waited_ns(&lived, "in line", ".arm") > 0.0, "{system} at depth {depth}\n{}", table(&lived.latency));
        }
    }
}

#[test]
fn a_small_write_of_raid_5_reads_and_then_writes() {
    let job = "--rw=randwrite --bs=4k --size=1g --norandommap --runtime=1 --time_based";
    for system in [MEGARAID, MYLEX] {
        for depth in [1, 32] {
            let lived = lived(system, &[THROUGH, RAID_5], &format!("{job} --iodepth={depth}"));
            let words = || table(&lived.latency);
            // Data and parity are read side by side, then written side by side: one of each decides. The last sectors
            // of a read come while the first ones cross the bus.
            let (read, written) = (lived.service_ns("read media"), lived.service_ns("write media"));
            assert!(read > 20_000.0 && (0.4..1.1).contains(&(read / written)), "{read} {written}\n{}", words());
            assert!(lived.service_ns("parity") > 0.0, "{}", words());
        }
    }
}

#[test]
fn what_has_been_reported_is_written_for_nobody_and_waited_for_where_it_must_be() {
    for (level, when) in [("RAID 0", "drives idle"), ("RAID 0", "limit reached"), ("RAID 5", "limit reached")] {
        let changes = [&format!("raid.array.level={level}")[..], &format!("raid.write_back.when={when}")];
        let changes: Vec<&str> = changes.into_iter().chain(SMALL).collect();
        let job = "--rw=randwrite --bs=64k --size=1g --norandommap --iodepth=8 --runtime=1 --time_based";
        let full = lived(MEGARAID, &changes, job);
        assert_eq!(full.service_ns("write media"), 0.0, "{changes:?}\n{}", table(&full.latency));
        let waited = waited_ns(&full, "drives at work", ".arm")
            + waited_ns(&full, "as much unwritten as may be", ".arm")
            + waited_ns(&full, "row being written", ".arm");
        let mean = full.latency.mean.mean().as_ns_f64();
        assert!(waited > 0.3 * mean, "{changes:?}: {waited} of {mean} ns\n{}", table(&full.latency));
        let arms = arms(&full);
        assert!((arms.in_life + arms.outside) * 50 < arms.housekeeping, "{changes:?}: {arms:?}");
    }
    // The drive's own cache.
    let full = lived("barracuda-4lp", &[], "--rw=write --bs=64k --iodepth=2 --runtime=2 --time_based");
    assert_eq!(full.service_ns("write media"), 0.0, "{}", table(&full.latency));
    assert!(waited_ns(&full, "write segment full", "disk.arm") > 0.0, "{}", table(&full.latency));
    assert!(arms(&full).in_life == Time::ZERO && arms(&full).housekeeping > Time::ms(1_500));
}

#[test]
fn a_write_that_goes_through_has_its_media_in_its_life() {
    for level in ["RAID 0", "RAID 10"] {
        for depth in [1, 8, 256] {
            let job =
                format!("--rw=randwrite --bs=8k --size=1g --norandommap --iodepth={depth} --runtime=1 --time_based");
            let lived = lived(MEGARAID, &[THROUGH, &format!("raid.array.level={level}")], &job);
            let written = lived.service_ns("write media");
            assert!(written > 40_000.0, "{level} at depth {depth}: {written} ns\n{}", table(&lived.latency));
            assert!(arms(&lived).housekeeping * 20 < arms(&lived).in_life, "{level} at depth {depth}");
        }
    }
}

#[test]
fn a_read_that_joins_read_ahead_waits_for_the_rest_of_it() {
    let job = "--rw=read --bs=8k --size=1g --iodepth=1 --runtime=500ms --time_based";
    let lived = lived(MYLEX, &[], job);
    assert!(arms(&lived).housekeeping > arms(&lived).in_life * 5, "{:?}", arms(&lived));
    let joined = waited_ns(&lived, "line being read by another", "");
    assert!(joined > 0.0, "{}", table(&lived.latency));
}

#[test]
fn pieces_on_several_drives_count_as_the_one_that_ends_last() {
    let job = "--rw=randread --bs=256k --size=8g --norandommap --runtime=2 --time_based";
    let lived = lived("raid-megaraid-64-66", &[], job);
    // Four seeks begin at once: a life has one of them, not their sum.
    let (seek, rotation) = (lived.service_ns("seek and settle"), lived.service_ns("rotation"));
    let mean = lived.latency.mean.mean().as_ns_f64();
    assert!(seek + rotation > 0.3 * mean && seek < 8e6, "{seek} {rotation} of {mean}\n{}", table(&lived.latency));
}

#[test]
fn an_array_that_lost_a_drive_says_what_it_does() {
    let mixed = "--rw=randrw --bs=16k --size=64m --iodepth=8 --norandommap --runtime=1 --time_based";
    for (level, drives, spares) in [("RAID 5", 4, 0), ("RAID 5", 3, 1), ("RAID 10", 4, 0), ("RAID 1", 2, 2)] {
        for through in [true, false] {
            let shape = [
                format!("raid.array.level={level}"),
                format!("raid.array.drives={drives} drives"),
                format!("raid.array.spares={spares} drives"),
                "raid.failure.drive=drive1".into(),
                "raid.failure.at=200 ms".into(),
            ];
            let changes = shape.iter().map(String::as_str).chain(through.then_some(THROUGH));
            let lived = lived(MEGARAID, &changes.collect::<Vec<_>>(), mixed);
            let lost = lived.service_ns("lost commands noticed") + waited_ns(&lived, "in line", "raid.timer");
            assert!(!through || lost >= 0.0, "{level}\n{}", table(&lived.latency));
            if spares > 0 && level == "RAID 5" {
                assert!(arms(&lived).housekeeping > Time::ms(1), "a rebuild is nobody's");
            }
        }
    }
}

#[test]
fn lives_add_up_on_random_machines_with_drives() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut requests = 0;
    for seed in 0..30 {
        let drawn: Drawn = random_machines::scsi::machine(&library, seed, "200ms");
        let words = format!("seed {seed} {}", drawn.words);
        requests += of(&drawn, &words).latency.mean.count;
    }
    assert!(requests > 3_000, "{requests} requests");
}
