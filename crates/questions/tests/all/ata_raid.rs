//! ATA drives behind a RAID controller: how they add up, what the card's engine on PCI lets through, and levels.

use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_files::quantity;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Options, Outcome, run};
use hopscope_parts::parameters::Value;
use hopscope_questions::explain::{EXTENT, explain};

const FIRST: &str = "win2000-3ware-raid0-4";
const SECOND: &str = "win2000-escalade-6400";
const SEQUENTIAL: &str = "--bs=256k --iodepth=8 --time_based --ramp_time=150ms --runtime=350ms";

pub fn machine(system: &str, changes: &[&str], options: &str) -> (Blueprint, Vec<Job>) {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let mut blueprint = Blueprint::read(&library, &mut sources, file).unwrap_or_else(|problems| panic!("{problems}"));
    for change in changes {
        let (path, text) = change.split_once('=').expect("path=value");
        let entry = blueprint.entry_mut(path).unwrap_or_else(|problem| panic!("{change}: {problem:?}"));
        entry.value = quantity::parse(text).expect("a quantity");
    }
    let words: Vec<&str> = options.split(' ').collect();
    (blueprint, job_file::read_options(&mut sources, &words).expect("right options").jobs)
}

pub fn outcome(system: &str, changes: &[&str], options: &str) -> Outcome {
    let (blueprint, jobs) = machine(system, changes, options);
    let cut = Options { cut: true, ..Options::default() };
    run(&blueprint, &jobs, cut, None).unwrap_or_else(|failure| panic!("{changes:?} {options}: {failure:?}"))
}

/// Bursts that the bridge does not stop.
pub const LONG: &str = "bridge.boundary=4 KiB";

/// Bytes a second of all jobs.
pub fn rate(system: &str, changes: &[&str], options: &str) -> f64 {
    outcome(system, changes, options).rate.bytes_per_second
}

fn count(outcome: &Outcome) -> u64 {
    outcome.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.count).sum()
}

/// What an array of so many of the four drives gets.
fn of_drives(system: &str, rw: &str) -> [f64; 4] {
    [1, 2, 3, 4].map(|drives| {
        let (drives, spares) =
            (format!("raid.array.drives={drives} drives"), format!("raid.array.spares={} drives", 4 - drives));
        rate(system, &[&drives, &spares], &format!("--rw={rw} {SEQUENTIAL}"))
    })
}

#[test]
fn reads_scale_to_three_drives_and_the_fourth_meets_the_engine_of_the_first_generation() {
    let [one, two, three, four] = of_drives(FIRST, "read");
    assert!((1.9..=2.0).contains(&(two / one)) && (2.7..=3.01).contains(&(three / one)), "{one} {two} {three} {four}");
    assert!((1.0..=1.08).contains(&(four / three)), "{one} {two} {three} {four}");
    // Where the bus does not stop bursts at a cache line, which carries three.
    let fourth = rate(SECOND, &[LONG], &format!("--rw=read {SEQUENTIAL}"));
    let first = one;
    assert!((3.8..=4.01).contains(&(fourth / first)), "the second generation: {first} and {fourth}");
}

#[test]
fn writes_scale_to_three_drives_too() {
    let [one, _, three, four] = of_drives(FIRST, "write");
    assert!((2.6..=3.01).contains(&(three / one)) && (0.97..=1.08).contains(&(four / three)), "{one} {three} {four}");
}

#[test]
fn what_the_first_generation_moves_is_a_sector_in_its_set_up_and_its_burst() {
    let slow = ["raid.engine.setup=4.6 us", LONG];
    let (blueprint, _) = machine(FIRST, &slow, "--rw=read");
    let numbers = blueprint.numbers();
    let time = |path: &str| match numbers.iter().find(|(name, _)| name == path).map(|(_, entry)| &entry.value) {
        Some(Value::Time(time) | Value::Period(time)) => time.as_seconds_f64(),
        other => panic!("{path} is {other:?}"),
    };
    // An address phase and 128 data phases at least; at most some twenty clocks more for DEVSEL#, gaps and waits.
    let clocks = (1.0 + 128.0, 3.0 + 128.0 + 20.0);
    let per_second = |clocks: f64| 512.0 / (time("raid.engine.setup") + clocks * time("raid.pci.clock"));
    let four = rate(FIRST, &slow, &format!("--rw=read {SEQUENTIAL}"));
    assert!(four < per_second(clocks.0) && four > per_second(clocks.1) * 0.97, "{four} of {}", per_second(clocks.0));
}

#[test]
fn four_drives_do_nearly_four_times_as_many_random_requests_as_one() {
    let random = "--rw=randread --bs=8k --norandommap --time_based --runtime=8s";
    let one = rate("win2000-lct08", &[], &format!("{random} --iodepth=8"));
    let four = rate(SECOND, &[], &format!("{random} --iodepth=32"));
    assert!((3.2..=4.15).contains(&(four / one)), "{one} and {four}");
}

#[test]
fn a_drive_alone_does_what_was_measured_of_it() {
    let requests = |rw: &str, depth: u32| {
        let options =
            format!("--rw={rw} --bs=8k --iodepth={depth} --norandommap --time_based --ramp_time=1s --runtime=40s");
        rate("win2000-lct08", &[], &options) / 8_192.0
    };
    let got = [requests("randread", 1), requests("randwrite", 1), requests("randread", 32), requests("randwrite", 32)];
    let windows = [(63.5, 68.0), (88.0, 94.0), (96.0, 108.0), (96.0, 108.0)];
    for (got, (from, to)) in got.into_iter().zip(windows) {
        assert!((from..to).contains(&got), "{got} is not in {from} to {to}");
    }
}

#[test]
fn firmware_that_sorts_what_waits_gains_with_depth_and_one_that_does_not_gains_nothing() {
    let random = "--rw=randread --bs=8k --iodepth=32 --norandommap --time_based --runtime=8s";
    let sorted = rate("win2000-lct08", &[], random);
    let as_they_come = rate("win2000-lct08", &["raid.firmware.order=first come"], random);
    assert!(sorted > 1.4 * as_they_come, "{sorted} and {as_they_come}");
    let alone = rate("win2000-lct08", &[], &random.replace("=32", "=1"));
    assert!((0.95..1.08).contains(&(as_they_come / alone)), "{as_they_come}, one deep {alone}");
}

#[test]
fn two_deep_jobs_of_reads_and_writes_share_an_array() {
    let jobs = "--bs=64k --size=256m --iodepth=32 --norandommap --time_based --runtime=1s --name=a --rw=randread --name=b \
         --rw=randwrite --offset=1g";
    let outcome = outcome(SECOND, &[], jobs);
    let each: Vec<u64> = outcome.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.count).collect();
    assert!(each.len() == 2 && each.iter().all(|count| *count > 20), "{each:?}");
}

#[test]
fn all_bytes_of_a_job_arrive_at_every_level() {
    for level in ["RAID 0", "RAID 5", "RAID 10"] {
        for rw in ["read", "write", "randrw"] {
            let job = format!("--rw={rw} --bs=24k --size=3m --iodepth=4");
            let got = outcome(SECOND, &[&format!("raid.array.level={level}")], &job);
            let bytes: u64 = got.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.bytes).sum();
            assert_eq!((bytes, count(&got)), (3 << 20, 128), "{level} {rw}");
        }
    }
}

#[test]
fn raid_5_of_ata_drives_does_without_one() {
    let level = "raid.array.level=RAID 5";
    let reads = "--rw=randread --bs=16k --size=256m --iodepth=4 --norandommap --time_based --runtime=2s";
    let (well, lost) = (
        rate(SECOND, &[level], reads),
        rate(SECOND, &[level, "raid.failure.drive=drive1", "raid.failure.noticed=1 ms"], reads),
    );
    assert!(lost > 0.3 * well && lost < 0.98 * well, "{well} with all drives, {lost} with one lost");
    let writes = "--rw=randwrite --bs=16k --size=1m --iodepth=4";
    assert_eq!(count(&outcome(SECOND, &[level, "raid.failure.drive=drive1"], writes)), 64);
}

#[test]
fn drives_alone_have_their_own_names_and_bytes() {
    let (blueprint, _) = machine("win2000-3ware-jbod", &[], "--rw=read");
    let devices = blueprint.devices();
    for name in ["disk0", "disk1", "disk2", "disk3", "stripe2", "stripe3", "stripe4"] {
        assert!(devices.iter().any(|device| device == name), "{name} in {devices:?}");
    }
    let far = "--rw=read --bs=64k --size=1m --offset=24g";
    for disk in ["disk0", "disk3"] {
        assert_eq!(count(&outcome("win2000-3ware-jbod", &[], &format!("--filename={disk} {far}"))), 16);
    }
    // Two drives at a time do twice as much as one.
    let one = "--bs=64k --iodepth=2 --time_based --ramp_time=100ms --runtime=300ms --rw=read --filename=disk0";
    let two = format!(
        "{} --name=a --rw=read --filename=disk0 --name=b --rw=read --filename=disk2",
        one.split(" --rw").next().unwrap_or(one)
    );
    let ratio = rate("win2000-3ware-jbod", &[], &two) / rate("win2000-3ware-jbod", &[], one);
    assert!((1.9..=2.05).contains(&ratio), "{ratio}");
}

#[test]
fn a_slower_mode_of_card_or_drive_is_the_slower_mode_of_both() {
    let hits = "--rw=read --bs=64k --size=64k --iodepth=1 --time_based --ramp_time=50ms --runtime=100ms";
    let card = rate(
        "win2000-lct08",
        &["raid.channel.transfer_mode=ultra-dma-0"],
        "--rw=read --bs=64k --time_based --runtime=300ms",
    );
    let drive =
        rate("win2000-lct08", &["disk0.transfer_mode=ultra-dma-0"], "--rw=read --bs=64k --time_based --runtime=300ms");
    let neither = rate("win2000-lct08", &[], "--rw=read --bs=64k --time_based --runtime=300ms");
    assert!((card / drive - 1.0).abs() < 0.01 && card < 0.9 * neither, "{card} {drive} {neither}");
    assert!(rate("win2000-lct08", &[], hits) > neither, "what the card holds needs no drive");
}

#[test]
fn the_account_of_an_array_sums_and_names_the_engine() {
    let (blueprint, jobs) = machine(FIRST, &[], "--rw=read --bs=256k --iodepth=8 --time_based --runtime=1s");
    let explained = explain(&blueprint, &jobs, Options::default(), EXTENT, None);
    let explained = explained.unwrap_or_else(|failure| panic!("{failure:?}"));
    let account = &explained.account;
    let length = account.until - account.from;
    for lane in &account.lanes {
        let sum = lane.entries.iter().fold(hopscope_kernel::Time::ZERO, |sum, entry| sum + entry.time);
        assert_eq!(sum, length, "{}", lane.lane);
    }
    let engine = account.lanes.iter().find(|lane| lane.lane.contains("raid.engine"));
    assert!(engine.is_some(), "the engine has a lane");
}

#[test]
fn the_load_of_raid_pci_is_the_pace_of_its_drive() {
    let at = |bytes: &str, place: &str| {
        let options = format!(
            "--filename=ide --rw=read --bs={bytes} --iodepth=2{place} --size=1g --time_based --ramp_time=1s --runtime=2s"
        );
        rate("raid-megaraid-32-33-loaded", &[], &options) / 1e6
    };
    for bytes in ["16k", "64k", "256k"] {
        let inside = at(bytes, " --offset=71g");
        assert!((24.7..=25.3).contains(&inside), "{bytes}: {inside} MB/s");
    }
    let outside = at("64k", "");
    assert!((43.0..=46.0).contains(&outside), "{outside} MB/s");
}

#[test]
fn a_card_without_a_cache_sends_while_the_drive_reads() {
    const NONE: &str = "raid.cache.size=0 B";
    let one_deep = "--rw=read --bs=64k --size=2g --iodepth=1 --time_based --ramp_time=50ms --runtime=300ms";
    let (kept, passed) = (rate(SECOND, &[], one_deep), rate(SECOND, &[NONE], one_deep));
    assert!(passed > 1.5 * kept, "{passed} without a cache, {kept} with one");
    for (rw, kib) in [("read", 4), ("read", 1_024), ("randwrite", 24), ("write", 200)] {
        let outcome = outcome(SECOND, &[NONE], &format!("--rw={rw} --bs={kib}k --size=16m --iodepth=4"));
        assert_eq!(count(&outcome), 16 * 1_024 / kib, "{rw} of {kib} KiB");
    }
    let (mut blueprint, _) = machine(SECOND, &[NONE], "--rw=read --bs=4k");
    blueprint.entry_mut("raid.array.level").expect("a number of the card").value = Value::Text("RAID 5".into());
    let said = blueprint.check().expect_err("no card has parity of nothing");
    assert!(said.render(&Sources::default(), false).contains("keeps nothing"), "{said}");
}

#[test]
fn scsi_numbers_or_buses_at_an_ata_controller_are_errors() {
    let library = Library::new(None).expect("the shipped files can be read");
    let text = library.open_system("win2000-lct08").expect("a shipped system").text.to_string();
    let read = |text: String| {
        let mut sources = Sources::default();
        let file = sources.add("mixed.toml".to_string(), text);
        Blueprint::read(&library, &mut sources, file).map(drop).expect_err("a wrong machine").to_string()
    };
    let bus = read(text.replace("use = \"bus/ide-ultra-66\"", "use = \"bus/scsi-ultra160\""));
    assert!(bus.contains("channel"), "{bus}");
    let number = read(text.replace(
        "use = \"controller/3ware-3w-5400\"",
        "use = \"controller/3ware-3w-5400\"\nchannel.id = { value = \"id7\", assumed = \"-\" }",
    ));
    assert!(number.contains("`channel.id`"), "{number}");
    let second = text + "\n[part.disk9]\nuse = \"disk/quantum-fireball-lct08\"\nat = \"cable0.drive1\"\n";
    let second = read(second);
    assert!(second.contains("second drive of channel0"), "{second}");
}
