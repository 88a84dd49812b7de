//! Operating systems: what a request costs, what a file cache makes of reads and writes, and how systems differ.

use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::Figures;
use hopscope_machine::run::{Failure, Options, Outcome, run};
use hopscope_parts::cpu::Layer;

use crate::lives;
use crate::paces::doubles_on;
use crate::random_machines;
use crate::shipped::{jobs, machine};

const ATLAS: &str = "win2000-atlas-10k";
/// The drive's outer zone, MB/s: 334 sectors a track, 10,025 turns a minute, skews.
const MEDIA_MB: f64 = 23.5;

fn ran_on(blueprint: &Blueprint, job: &str) -> Outcome {
    run(blueprint, &jobs(job), Options::default(), None).unwrap_or_else(|failure| panic!("{job}: {failure:?}"))
}

fn ran(system: &str, changes: &[&str], job: &str) -> Outcome {
    ran_on(&machine(system, changes), job)
}

fn mb(outcome: &Outcome) -> f64 {
    Figures::of_all(&outcome.jobs).map_or(0.0, |all| all.bytes_per_second / 1e6)
}

fn mb_of(system: &str, job: &str) -> f64 {
    mb(&ran(system, &[], job))
}

/// Processor time, microseconds a request.
fn us(outcome: &Outcome) -> f64 {
    let cost = outcome.processor.as_ref().expect("it has processors");
    cost.ps_per_request(cost.busy()).expect("requests ended") / 1e6
}

fn layer_ps(outcome: &Outcome, layer: Layer) -> u64 {
    let cost = outcome.processor.as_ref().expect("it has processors");
    cost.layers.iter().find(|(known, _)| *known == layer).map_or(0, |(_, time)| time.as_ps())
}

#[test]
fn a_request_costs_what_was_published() {
    // Table 11 for 733 MHz: 50 us + 0.5 us a KB direct; 12 us + 6 us a KB read and 7 us a KB written, buffered.
    let cost = |rw: &str, kb: f64, fixed: f64, each: f64, direct: u32| {
        let job = format!("--rw={rw} --bs={kb}k --direct={direct} --time_based --ramp_time=2 --runtime=2");
        let (is, should) = (us(&ran(ATLAS, &[], &job)), fixed + each * kb);
        assert!((0.85..1.15).contains(&(is / should)), "{job}: {is} us of {should}");
    };
    for kb in [2.0, 8.0, 64.0] {
        cost("read", kb, 50.0, 0.5, 1);
        cost("write", kb, 50.0, 0.5, 1);
        cost("read", kb, 12.0, 6.0, 0);
        cost("write", kb, 12.0, 7.0, 0);
    }
}

#[test]
fn what_is_in_the_cache_needs_no_disk() {
    let job = "--rw=read --bs=64k --size=8m --direct=0 --time_based --ramp_time=1 --runtime=200ms";
    let outcome = ran(ATLAS, &[], job);
    // A request is 12 us of path and 64 times 4.7 us of copying, in whole clocks.
    let by_hand = 65_536.0 / (12.0 + 64.0 * 4.7);
    assert!((mb(&outcome) / by_hand - 1.0).abs() < 0.01, "{} MB/s of {by_hand}", mb(&outcome));
    assert_eq!((layer_ps(&outcome, Layer::Driver), layer_ps(&outcome, Layer::Interrupts)), (0, 0), "no command");
    // Twice as much copying is half of it: no disk is behind it.
    let slower = ran(ATLAS, &["system.copy.read=9.4 us"], job);
    assert!((mb(&slower) / (65_536.0 / (12.0 + 64.0 * 9.4)) - 1.0).abs() < 0.01, "{} MB/s", mb(&slower));
}

#[test]
fn buffered_reads_in_order_run_at_the_pace_of_the_media_whatever_their_size() {
    for size in ["2k", "4k", "16k", "64k", "128k", "256k", "1m"] {
        let job = format!("--rw=read --bs={size} --direct=0 --time_based --ramp_time=200ms --runtime=1");
        let got = mb_of(ATLAS, &job);
        assert!((0.93..1.02).contains(&(got / MEDIA_MB)), "{size}: {got} MB/s");
    }
}

#[test]
fn buffered_writes_beyond_the_limit_run_at_the_pace_of_the_disk() {
    for size in ["2k", "64k", "1m"] {
        let job = format!("--rw=write --bs={size} --direct=0 --time_based --ramp_time=1 --runtime=2");
        let got = mb_of(ATLAS, &job);
        assert!((0.9..1.05).contains(&(got / MEDIA_MB)), "{size}: {got} MB/s");
    }
    // What the cache takes is written at the pace of the copy: 5.7 us a KiB.
    let burst = mb_of(ATLAS, "--rw=write --bs=64k --size=4m --direct=0");
    assert!((150.0..180.0).contains(&burst), "{burst} MB/s");
    // Scattered writes end early, and are the disk's in the long run: in its order, and several at a time.
    let job = "--rw=randwrite --bs=8k --norandommap --time_based --ramp_time=3 --runtime=3";
    let (direct, buffered) = (mb_of(ATLAS, job), mb_of(ATLAS, &format!("{job} --direct=0")));
    assert!((1.5..5.0).contains(&(buffered / direct)), "{buffered} MB/s, and {direct} direct");
}

#[test]
fn long_direct_requests_are_split_and_their_pieces_under_way_together() {
    let job = "--rw=read --bs=1m --size=1m --time_based --ramp_time=200ms --runtime=1";
    let driver = |outcome: &Outcome| {
        layer_ps(outcome, Layer::Driver) as f64 / outcome.processor.as_ref().unwrap().requests as f64
    };
    let (whole, split) = (
        ran(ATLAS, &[], job),
        ran(ATLAS, &["driver.transfer_max=512 B"], "--rw=read --bs=512 --runtime=50ms --time_based"),
    );
    let commands = driver(&whole) / driver(&split);
    assert!((15.5..16.5).contains(&commands), "{commands} commands");
    let stream = mb_of(ATLAS, "--rw=read --bs=1m --time_based --ramp_time=200ms --runtime=1");
    assert!(stream > 20.0, "{stream} MB/s");
}

#[test]
fn systems_differ_as_it_was_published() {
    for bs in ["2k", "8k", "64k"] {
        let job = format!("--rw=read --bs={bs} --time_based --ramp_time=100ms --runtime=500ms");
        let ratio = mb_of("win2000-dynamic", &job) / mb_of(ATLAS, &job);
        assert!((0.95..=1.05).contains(&ratio), "{bs}: dynamic over basic {ratio}");
    }
    let ratio = |job: &str| {
        let job = format!("{job} --time_based --ramp_time=100ms --runtime=500ms");
        mb_of("win2000-nt4-sp3", &job) / mb_of("win2000-nt4-sp6", &job)
    };
    let small = ratio("--rw=read --bs=2k");
    assert!((0.3..0.9).contains(&small), "SP3 over SP6, 2 KB: {small}");
    let large = ratio("--rw=read --bs=64k");
    assert!((0.98..=1.02).contains(&large), "SP3 over SP6, 64 KB: {large}");
    let deep = ratio("--rw=read --bs=2k --size=64k --iodepth=4");
    assert!(deep < 0.9, "SP3 over SP6, several at a time: {deep}");
    let old = mb_of("win2000-barracuda", "--rw=read --bs=64k --time_based --ramp_time=200ms --runtime=1");
    assert!((8.5..10.0).contains(&old), "the old machine: {old} MB/s");
}

#[test]
fn many_requests_several_jobs_and_mixes_pass_the_cache() {
    let deep = mb_of(ATLAS, "--rw=read --bs=8k --iodepth=32 --direct=0 --time_based --ramp_time=200ms --runtime=1");
    assert!(deep > 20.0, "{deep} MB/s");
    let two = "--direct=0 --bs=64k --time_based --ramp_time=200ms --runtime=2 --name=a --rw=randread --name=b --rw=randread --offset=2g";
    let outcome = ran(ATLAS, &[], two);
    assert!(outcome.jobs.iter().all(|job| job.got.as_ref().is_some_and(|got| got.count > 20)), "{:?}", outcome.jobs);
    let mixed = ran(ATLAS, &[], "--rw=randrw --bs=6k --iodepth=32 --size=64m --direct=0 --time_based --runtime=2");
    let [reads, writes] = &mixed.jobs[0].sides;
    assert!(reads.as_ref().unwrap().count > 50 && writes.as_ref().unwrap().count > 50);
    // As long as a request may be, more of them than the cache holds: twice around 48 MiB.
    let huge = ran(ATLAS, &["system.cache.size=16 MiB"], "--rw=read --bs=16m --size=48m --iodepth=8 --direct=0");
    assert_eq!(huge.jobs[0].got.as_ref().unwrap().bytes, 48 << 20);
    let huge =
        ran(ATLAS, &["system.write_behind.limit=2 MiB"], "--rw=write --bs=16m --size=48m --iodepth=8 --direct=0");
    assert_eq!(huge.jobs[0].got.as_ref().unwrap().bytes, 48 << 20);
}

/// A shipped machine with an operating system besides, and nothing above its driver.
fn with_system(system: &str) -> Blueprint {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let with = format!("{}\n[part.os]\nuse = \"system/windows-2000\"\nruns_on = \"cpu.software\"\n", text.text);
    let file = sources.add(text.name, with);
    let read = Blueprint::read(&library, &mut sources, file);
    let mut blueprint = read.unwrap_or_else(|problems| panic!("{}", problems.render(&sources, false)));
    assert!(blueprint.set("driver.time_above=0 us").is_ok());
    blueprint
}

#[test]
fn a_system_stands_above_any_driver() {
    for system in ["sata-ssd", "nvme-desktop", "piix4e-one-disk", "raid-megaraid-32-33"] {
        let blueprint = with_system(system);
        for job in ["--rw=randread --bs=4k", "--rw=write --bs=1m", "--rw=randrw --bs=64k --iodepth=8"] {
            for direct in ["--direct=1", "--direct=0"] {
                let outcome = ran_on(&blueprint, &format!("{job} {direct} --size=256m --time_based --runtime=60ms"));
                assert!(mb(&outcome) > 0.1, "{system} {job} {direct}: {} MB/s", mb(&outcome));
                assert!(layer_ps(&outcome, Layer::FileSystem) > 0, "{system} {job} {direct}");
            }
        }
    }
}

#[test]
fn a_machine_without_a_cache_says_so_where_a_job_asks_for_one() {
    let refused = run(&machine("scsi-ultra160", &[]), &jobs("--rw=read --bs=4k --direct=0"), Options::default(), None);
    let Err(Failure::Input(problems)) = refused else { panic!("it has no cache") };
    assert!(problems.to_string().contains("changes the result"), "{problems}");
    let two = format!(
        "{}\n[part.another]\nuse = \"system/windows-2000\"\nruns_on = \"cpu.software\"\n",
        Library::new(None).unwrap().open_system(ATLAS).unwrap().text
    );
    let (library, mut sources) = (Library::new(None).unwrap(), Sources::default());
    let file = sources.add("two", two);
    let problems = Blueprint::read(&library, &mut sources, file).err().expect("one system is enough");
    assert!(problems.to_string().contains("another operating system"), "{problems}");
}

const EACH_WAY: [&str; 6] = [
    "--rw=read --bs=256k --iodepth=2 --runtime=100ms --time_based",
    "--rw=read --bs=8k --direct=0 --runtime=100ms --time_based",
    "--rw=read --bs=1m --iodepth=2 --direct=0 --runtime=300ms --time_based",
    "--rw=randread --bs=4k --iodepth=8 --direct=0 --runtime=200ms --time_based",
    "--rw=randwrite --bs=8k --iodepth=4 --direct=0 --runtime=1 --time_based",
    "--rw=write --bs=24k --direct=0 --runtime=400ms --time_based",
];

#[test]
fn whatever_a_system_does_doubles() {
    for job in EACH_WAY {
        doubles_on(job, &machine(ATLAS, &["system.write_behind.limit=2 MiB"]), &jobs(job));
    }
}

#[test]
fn nothing_of_a_request_that_passes_a_system_is_left_unsaid() {
    let library = Library::new(None).expect("the shipped files can be read");
    for job in EACH_WAY {
        let words: Vec<&str> = job.split(' ').collect();
        let mut drawn = random_machines::of(&library, ATLAS, &words);
        crate::raid::put(&mut drawn.blueprint, &["system.write_behind.limit=2 MiB"]);
        lives::of(&drawn, job);
    }
}
