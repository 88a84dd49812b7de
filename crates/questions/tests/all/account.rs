//! The loss account: it adds up to the picosecond, knows what every lane waited for, and needs no burst by burst.

use hopscope_files::library::Library;
use hopscope_files::problem::Problems;
use hopscope_kernel::Time;
use hopscope_machine::run::{Failure, Options};
use hopscope_observe::account::{Account, Entry, Extent, Use};
use hopscope_questions::diagnosis::diagnose;
use hopscope_questions::explain::{EXTENT, Explained, explain};
use hopscope_questions::trials::Setting;

use crate::random_machines;
use crate::random_machines::Drawn;

fn account(drawn: &Drawn, seed: u64, trains: bool) -> Account {
    let options = Options { seed, trains, ..Options::default() };
    let account = account_of(drawn, seed, options);
    account.unwrap_or_else(|problems| panic!("seed {seed} {}: {problems:?}", drawn.words))
}

/// The account of a run, or why its jobs do not fit the machine.
fn account_of(drawn: &Drawn, seed: u64, options: Options) -> Result<Account, Problems> {
    let explained = match explain(&drawn.blueprint, &drawn.jobs, options, Extent::ALL, None) {
        Ok(explained) => explained,
        Err(Failure::Input(problems)) => return Err(problems),
        Err(Failure::Defect(defect)) => panic!("seed {seed} {}: {defect}", drawn.words),
    };
    if let Some(latency) = &explained.latency {
        for split in [Some(&latency.mean), Some(&latency.median), latency.p99.as_ref()].into_iter().flatten() {
            let sum = split.stages.iter().fold(Time::ZERO, |sum, stage| sum + stage.time);
            assert_eq!(sum, split.sum, "seed {seed} {}", drawn.words);
        }
    }
    Ok(explained.account)
}

fn sum<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Time {
    entries.into_iter().fold(Time::ZERO, |sum, entry| sum + entry.time)
}

#[test]
fn the_account_adds_up_and_leaves_nothing_unattributed_on_a_thousand_random_machines() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut lanes = 0;
    for seed in 0..1_000 {
        lanes += adds_up(&random_machines::machine(&library, seed, "8ms"), seed);
    }
    assert!(lanes > 5_000, "{lanes} lanes were accounted for");
}

#[test]
fn the_account_adds_up_with_links_both_ways() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut lanes = 0;
    for seed in 0..120 {
        lanes += adds_up(&random_machines::serial(&library, seed, "150us"), seed);
    }
    assert!(lanes > 500, "{lanes} lanes were accounted for");
}

#[test]
fn the_account_adds_up_on_segments_with_bus_masters() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut lanes = 0;
    for seed in 0..150 {
        lanes += adds_up(&random_machines::pci_x(&library, seed, "120us"), seed);
    }
    assert!(lanes > 800, "{lanes} lanes were accounted for");
}

#[test]
fn the_account_adds_up_on_scsi_buses() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut lanes = 0;
    for seed in 0..80 {
        lanes += adds_up(&random_machines::scsi::machine(&library, seed, "40ms"), seed);
    }
    assert!(lanes > 500, "{lanes} lanes were accounted for");
}

#[test]
fn the_account_adds_up_whatever_numbers_are_drawn_from_what_is_declared_of_them() {
    let library = Library::new(None).expect("the shipped files can be read");
    let systems = library.systems().count() as u64;
    let (mut lanes, mut unfit) = (0, 0);
    // Three machines of each system.
    for seed in 0..3 * systems {
        let drawn = random_machines::declared::machine(&library, seed, 300);
        match account_of(&drawn, seed, Options { seed, ..Options::default() }) {
            Ok(account) => lanes += sums_of(&account, &format!("seed {seed} {}", drawn.words)),
            // A device that became smaller than a request.
            Err(_) => unfit += 1,
        }
    }
    assert!(lanes > 1_500 && unfit < systems / 10, "{lanes} lanes were accounted for, {unfit} jobs did not fit");
}

/// Accounts for a machine's run and checks the sums; returns how many lanes there were.
fn adds_up(drawn: &Drawn, seed: u64) -> usize {
    sums_of(&account(drawn, seed, true), &format!("seed {seed} {}", drawn.words))
}

fn sums_of(account: &Account, words: &str) -> usize {
    assert_eq!(account.unattributed(), [], "{words}");
    for lane in &account.lanes {
        assert_eq!(sum(&lane.entries), account.span(), "{words}: {}", lane.lane);
        let busy: Time = lane.busy.iter().fold(Time::ZERO, |sum, time| sum + *time);
        let classes = [Use::Payload, Use::WidthUnused, Use::Protocol];
        let worked: Time = classes.iter().fold(Time::ZERO, |sum, class| sum + lane.time_in(*class));
        assert_eq!(busy, worked, "{words}: {}", lane.lane);
        let shares = account.busy_over_time(lane);
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{words}: {} {shares:?}", lane.lane);
    }
    account.lanes.len()
}

#[test]
fn the_account_is_the_same_burst_by_burst() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut with_path = 0;
    let disks = (0..150).map(|seed| (seed, random_machines::machine(&library, seed, "8ms")));
    let links = (200..260).map(|seed| (seed, random_machines::serial(&library, seed, "100us")));
    for (seed, drawn) in disks.chain(links) {
        let (whole, single) = (account(&drawn, seed, true), account(&drawn, seed, false));
        // What the end of the run cuts short is known a little later or earlier.
        if whole.until != single.until {
            continue;
        }
        with_path += usize::from(!whole.path.is_empty());
        for (a, b) in whole.lanes.iter().zip(&single.lanes) {
            assert_eq!((&a.lane, &a.entries), (&b.lane, &b.entries), "seed {seed} {}", drawn.words);
        }
        assert_eq!(whole.path, single.path, "seed {seed} {}", drawn.words);
    }
    assert!(with_path > 50, "{with_path} runs with a critical path were compared");
}

fn explained(system: &str, options: &[&str]) -> (Drawn, Explained) {
    let library = Library::new(None).expect("the shipped files can be read");
    let drawn = random_machines::of(&library, system, options);
    let run = explain(&drawn.blueprint, &drawn.jobs, Options::default(), Extent { spans: 400_000, ..EXTENT }, None);
    (drawn, run.expect("the job runs"))
}

fn lane_share(account: &Account, lane: &str, of: impl Fn(&Entry) -> bool) -> f64 {
    let lane = account.lanes.iter().find(|line| line.lane == lane).expect("the lane was used");
    sum(lane.entries.iter().filter(|entry| of(entry))).as_ps() as f64 / account.span().as_ps() as f64
}

const SINGLE_BLOCK: [&str; 3] = ["--size=64k", "--time_based", "--runtime=1"];

#[test]
fn a_cable_that_writes_waits_for_the_buffer_that_waits_for_memory() {
    let (_, run) = explained("piix4e-one-disk", &[&["--rw=write", "--bs=64k"], &SINGLE_BLOCK[..]].concat());
    let pause = |entry: &Entry| entry.class == Use::Waiting && entry.cause == "pause";
    let pauses = lane_share(&run.account, "cable", pause);
    assert!((0.28..0.40).contains(&pauses), "{pauses}");
    let memory = lane_share(&run.account, "cable", |entry| pause(entry) && entry.phase == "wait for memory");
    assert!(memory > pauses / 4.0, "{memory} of {pauses}");
    let cable = run.account.lanes.iter().find(|lane| lane.lane == "cable").expect("the cable was used");
    let delivered = cable.delivered().expect("a cable has a capacity");
    assert!((delivered / run.throughput() - 1.0).abs() < 0.02, "{delivered} {}", run.throughput());
}

#[test]
fn two_disks_on_one_channel_wait_for_the_channel_and_on_two_for_the_buffer() {
    let jobs = |first: &'static str, second: &'static str| {
        let one = ["--name=a", first, "--rw=read", "--bs=64k"];
        let two = ["--name=b", second, "--rw=read", "--bs=64k"];
        [&one[..], &SINGLE_BLOCK[..], &two[..], &SINGLE_BLOCK[..]].concat()
    };
    let options = jobs("--filename=disk", "--filename=disk2");
    let (_, same) = explained("piix4e-two-disks-same-channel", &options);
    let channel = |entry: &Entry| entry.class == Use::Waiting && entry.cause == "channel busy with another command";
    for firmware in ["disk.firmware", "disk2.firmware"] {
        let share = lane_share(&same.account, firmware, channel);
        assert!(share > 0.4, "{firmware} waits for the channel {share} of the time");
    }
    let (_, two) = explained("piix4e-two-disks-two-channels", &options);
    let buffer = |entry: &Entry| entry.cause == "buffer busy with the other channel" && entry.lane == "ide.buffer";
    for cable in ["cable", "cable2"] {
        let share = lane_share(&two.account, cable, buffer);
        assert!(share > 0.3, "{cable} waits for the buffer {share} of the time");
        assert_eq!(lane_share(&two.account, cable, channel), 0.0, "{cable}");
    }
}

#[test]
fn with_one_request_in_flight_what_comes_before_the_next_one_is_nothing_to_do() {
    let (_, one) =
        explained("piix4e-one-disk", &[&["--rw=read", "--bs=4k", "--iodepth=1"], &SINGLE_BLOCK[..]].concat());
    let (_, four) =
        explained("piix4e-one-disk", &[&["--rw=read", "--bs=4k", "--iodepth=4"], &SINGLE_BLOCK[..]].concat());
    let nothing = |run: &Explained| lane_share(&run.account, "cable", |entry| entry.class == Use::Nothing);
    assert!(nothing(&one) > 0.02, "{}", nothing(&one));
    assert!(nothing(&four) < 0.001, "{}", nothing(&four));
    let firmware = lane_share(&four.account, "disk.firmware", |entry| entry.class == Use::Nothing);
    assert!(firmware < 0.001, "{firmware}: the next request is in the driver's queue");
}

#[test]
fn a_latency_is_what_it_went_into_and_the_median_lies_between() {
    let job = ["--rw=randread", "--bs=4k", "--size=32m", "--time_based", "--runtime=2"];
    let (_, run) = explained("piix4e-one-disk", &job);
    let latency = run.latency.expect("requests ended");
    assert!(latency.median.mean() > Time::ZERO && latency.mean.count > 40);
    let stages = latency.mean.stages.iter().filter(|stage| stage.lane == "disk.arm");
    let arm = stages.fold(Time::ZERO, |sum, stage| sum + stage.time);
    assert!(arm.as_ps() * 10 > latency.mean.sum.as_ps() * 9, "random reads wait for the arm");
    assert!(latency.median.count < latency.mean.count / 10);
}

#[test]
fn what_limits_is_what_helps_when_it_is_made_faster() {
    let find = |system, options: &[&str]| {
        let (drawn, run) = explained(system, options);
        let setting = Setting { blueprint: drawn.blueprint, jobs: drawn.jobs };
        diagnose(&setting, 1, &run, &|_, _| {}).expect("trials run").expect("requests ended")
    };
    let leading = |found: &hopscope_questions::diagnosis::Diagnosis| found.profile[0].hop.clone();
    let random = ["--rw=randread", "--bs=4k", "--size=32m", "--time_based", "--runtime=2"];
    let found = find("piix4e-one-disk", &random);
    assert_eq!(leading(&found), "disk.arm", "{found:?}");
    assert!(found.remedies[0].change.starts_with("--set disk.rotation="), "{:?}", found.remedies);
    let read = [&["--rw=read", "--bs=64k", "--iodepth=2"], &SINGLE_BLOCK[..]].concat();
    let found = find("piix4e-one-disk", &read);
    assert_eq!(leading(&found), "cable", "{found:?}");
    assert!(found.remedies[0].change.starts_with("--set cable.ultra_dma.rows[2].word="), "{:?}", found.remedies);
    assert_eq!(found.next.map(|next| next.0).as_deref(), Some("pci"));
}
