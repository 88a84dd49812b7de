//! The shipped machines with SCSI drives: what limits them, and what is refused.

use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Options, run};
use hopscope_questions::explain::{EXTENT, explain};

const FOUR: &str = "scsi-ultra160";
const ALONE: &str = "barracuda-4lp";

/// From the drive's buffer, nearly all of them: what is besides the drive counts.
const SINGLE: &str = "--rw=read --bs=2k --iodepth=1 --runtime=60ms";
const DEEP: &str = "--rw=read --bs=2k --iodepth=8 --runtime=60ms";
const LONG: &str = "--rw=read --bs=128k --iodepth=1 --runtime=100ms";
const RANDOM: &str = "--rw=randread --bs=2k --iodepth=8 --runtime=250ms";
const WRITES: &str = "--rw=randwrite --bs=8k --iodepth=8 --runtime=200ms";

fn machine(system: &str, changes: &[&str], options: &str) -> (Blueprint, Vec<Job>) {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let mut blueprint = Blueprint::read(&library, &mut sources, file).expect("a right system");
    for change in changes {
        blueprint.set(change).unwrap_or_else(|problem| panic!("{change}: {problem:?}"));
    }
    let words: Vec<&str> = options.split(' ').collect();
    (blueprint, job_file::read_options(&mut sources, &words).expect("right options").jobs)
}

/// MB/s of all jobs.
fn rate(system: &str, changes: &[&str], options: &str) -> f64 {
    let (blueprint, jobs) = machine(system, changes, options);
    run(&blueprint, &jobs, Options::default(), None).expect("the jobs run").rate.bytes_per_second / 1e6
}

/// Drives of the machine with four, each with a job of its own.
fn on_drives(count: usize, options: &str) -> String {
    let jobs = (0..count).map(|n| format!(" --name=job{n} --filename=disk{n}"));
    jobs.fold(options.to_string(), |all, job| all + &job)
}

#[test]
fn an_offset_of_one_transfer_is_one_a_round_trip_whatever_the_width() {
    let narrow = rate(FOUR, &["scsi.width=1B", "scsi.rate=10MB/s", "scsi.round_trip=2us"], SINGLE);
    let wide = rate(FOUR, &["scsi.rate=10MB/s", "scsi.round_trip=2us", "adapter.channel.offset=1 transfer"], SINGLE);
    let ahead = rate(FOUR, &["scsi.rate=10MB/s", "scsi.round_trip=2us"], SINGLE);
    assert!(wide < 0.9 * ahead, "one transfer a round trip of 2 us is 1 MB/s: {wide} {ahead}");
    assert!((narrow / ahead - 1.0).abs() < 0.01, "8 bits at 10 MB/s are as fast as 16: {narrow} {ahead}");
}

#[test]
fn drives_add_up_until_the_pci_bus_is_full() {
    let on = |drives| rate(FOUR, &[], &on_drives(drives, "--rw=read --bs=64k --iodepth=4 --runtime=150ms"));
    let [one, three, four] = [1, 3, 4].map(on);
    assert!((23.0..24.0).contains(&one), "an Atlas 10K reads 23 to 24 MB/s on its outer tracks: {one}");
    assert!(three > 2.9 * one && four < 1.02 * three, "{one}, {three}, {four}");
    // A burst of a cache line: an address, two clocks to the target's answer, eight data phases, two clocks to stop it,
    // and two without REQ#. What four drives get is less by control blocks and registers only.
    let line = 32.0 / (15.0 * 0.03);
    assert!(four > 0.95 * line && four < line, "{four} of {line}");
    let lines = ["bridge.boundary=4KiB"];
    let long = rate(FOUR, &lines, &on_drives(4, "--rw=read --bs=64k --iodepth=4 --runtime=150ms"));
    assert!(long > 3.95 * one, "bursts that nobody stops carry four drives: {long}");
    let slow = ["scsi.rate=40MB/s"];
    let limited = rate(FOUR, &slow, &on_drives(4, "--rw=read --bs=64k --iodepth=4 --runtime=150ms"));
    assert!((30.0..40.0).contains(&limited), "a bus of 40 MB/s carries no more: {limited}");
}

#[test]
fn a_small_fifo_pauses_the_bus_and_the_account_says_so() {
    let long = "bridge.boundary=4KiB";
    let small = ["adapter.channel.piece=256B", "adapter.channel.fifo=256B", long];
    let job = on_drives(4, "--rw=read --bs=64k --iodepth=4 --runtime=60ms");
    let paused = |changes: &[&str]| {
        let (blueprint, jobs) = machine(FOUR, changes, &job);
        let explained = explain(&blueprint, &jobs, Options::default(), EXTENT, None).expect("it runs");
        assert_eq!(explained.account.unattributed(), [], "{changes:?}");
        let bus = explained.account.lanes.iter().find(|lane| lane.lane == "scsi").expect("the bus is used");
        let full = "FIFO of the adapter full";
        let entries = bus.entries.iter().filter(|entry| entry.cause == full || entry.phase == full);
        let sum = entries.fold(0, |sum, entry| sum + entry.time.as_ps());
        sum as f64 / explained.account.span().as_ps() as f64
    };
    let (half, large) = (paused(&small), paused(&["adapter.channel.fifo=128KiB", long]));
    assert!(half > 0.2, "{half} of the time is lost to a FIFO of one piece");
    assert!(large < half / 2.0, "{large} with a large one, {half} with a small one");
}

#[test]
fn a_drive_without_a_host_is_as_fast_as_bus_and_drive_allow() {
    let alone = rate(ALONE, &[], "--rw=read --bs=64k --iodepth=4 --runtime=400ms");
    assert!((8.0..10.5).contains(&alone), "a Barracuda 4LP reads 9 MB/s on its outer tracks: {alone}");
    for (change, job) in [
        ("initiator.channel.rate=1MB/s", SINGLE),
        ("initiator.channel.tags=1 tag", RANDOM),
        ("scsi.command=2ms", SINGLE),
    ] {
        let (before, after) = (rate(ALONE, &[], job), rate(ALONE, &[change], job));
        assert!(after < 0.97 * before, "{change}: {before} to {after}");
    }
    let one = rate(ALONE, &["scsi.round_trip=2us", "initiator.channel.offset=1 transfer"], SINGLE);
    assert!(one < 1.0, "{one}");
}

#[test]
fn every_instant_has_a_name() {
    let mixed = "--bs=4k --iodepth=8 --runtime=300ms --name=a --rw=randread --name=b --rw=randwrite";
    let jobs = [SINGLE, DEEP, LONG, RANDOM, WRITES, mixed].map(String::from);
    let several = [on_drives(4, "--rw=randread --bs=8k --iodepth=4 --runtime=200ms")];
    for (system, job) in jobs.iter().flat_map(|job| [(FOUR, job), (ALONE, job)]).chain([(FOUR, &several[0])]) {
        let (blueprint, jobs) = machine(system, &[], job);
        let explained = explain(&blueprint, &jobs, Options::default(), EXTENT, None).expect("it runs");
        assert_eq!(explained.account.unattributed(), [], "{system} {job}");
    }
}

/// What is said of a system that is wrong.
fn refusal(system: &str, from: &str, to: &str) -> String {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    assert!(text.text.contains(from), "{from}");
    let file = sources.add(text.name, text.text.replacen(from, to, 1));
    match Blueprint::read(&library, &mut sources, file) {
        Ok(_) => panic!("{to} is not refused"),
        Err(problems) => problems.render(&sources, false),
    }
}

#[test]
fn wires_that_no_bus_has_are_refused_where_they_are_written() {
    let ids = |from, to, part| {
        let said = refusal(FOUR, from, to);
        assert!(said.contains("scsi-ultra160.toml"), "{said}");
        assert!(said.contains(part), "{said}");
    };
    ids("scsi.id1", "scsi.id0", "`scsi.id0` is already used by `disk0`");
    ids("scsi.id1", "scsi.id7", "id 7 is the adapter's own");
    ids("scsi.id1", "scsi.id16", "there is no port `scsi.id16`");
}

#[test]
fn numbers_that_no_adapter_has_are_refused() {
    let refused = [
        (FOUR, "scsi.width=4B"),
        (FOUR, "scsi.rate=1B/s"),
        (FOUR, "adapter.channels=0 channels"),
        (FOUR, "adapter.contexts=257 commands"),
        (FOUR, "adapter.channel.offset=0 transfers"),
        (FOUR, "adapter.channel.tags=0 tags"),
        (FOUR, "adapter.channel.fifo=1B"),
        (FOUR, "adapter.channel.piece=1KiB"),
        (FOUR, "adapter.channel.piece=5B"),
        (FOUR, "adapter.sequencer.list=12B"),
        (FOUR, "adapter.sequencer.control_block=8KiB"),
        (FOUR, "driver.queue_depth=0 commands"),
        (FOUR, "driver.transfer_max=100B"),
        (FOUR, "driver.contiguous=5KiB"),
        (ALONE, "initiator.channel.id=7"),
        (ALONE, "initiator.channel.id=id16"),
        (ALONE, "initiator.channel.tags=257 tags"),
        (ALONE, "scsi.order=luck"),
    ];
    for (system, change) in refused {
        let (mut blueprint, _) = machine(system, &[], SINGLE);
        assert!(blueprint.set(change).is_err(), "{change} is not refused");
    }
}
