//! The diagnosis: an independent trial confirms what it names, also with many requests in flight.

use std::collections::BTreeSet;

use hopscope_files::job_file::Job;
use hopscope_files::library::Library;
use hopscope_kernel::Pace;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Options, run};
use hopscope_questions::diagnosis::{Diagnosis, Headline, diagnose};
use hopscope_questions::explain::{EXTENT, Explained, explain};
use hopscope_questions::trials::Setting;

use crate::random_machines;

fn diagnosed(system: &str, options: &str) -> (Setting, Explained, Diagnosis) {
    let library = Library::new(None).expect("the shipped files can be read");
    let words: Vec<&str> = options.split(' ').collect();
    let drawn = random_machines::of(&library, system, &words);
    let setting = Setting { blueprint: drawn.blueprint, jobs: drawn.jobs };
    let explained = explain(&setting.blueprint, &setting.jobs, Options::default(), EXTENT, None).expect("it runs");
    let diagnosis = diagnose(&setting, 1, &explained, &|_, _| {}).expect("trials run").expect("requests ended");
    (setting, explained, diagnosis)
}

/// Mean rate over seeds that the diagnosis has not seen.
fn rate(blueprint: &Blueprint, jobs: &[Job]) -> f64 {
    let with = |seed| {
        let options = Options { seed, until: Some(0.005), ..Options::default() };
        run(blueprint, jobs, options, None).expect("it runs").rate.bytes_per_second
    };
    (101..=103).map(with).sum::<f64>() / 3.0
}

/// The same with some hops at twice their pace.
fn rate_with_faster(setting: &Setting, hops: &[&str]) -> f64 {
    rate_at_pace(setting, hops, Pace::new(2, 1).expect("a pace"))
}

/// The same at any pace.
fn rate_at_pace(setting: &Setting, hops: &[&str], pace: Pace) -> f64 {
    let mut faster = setting.blueprint.clone();
    for hop in hops {
        faster.pace(hop, pace).expect("a hop");
    }
    rate(&faster, &setting.jobs)
}

/// No hop gives more than the one that is named, by runs of their own; what is tried are those at the head of the profile
/// and the fullest ones.
fn is_confirmed(system: &str, options: &str) -> Diagnosis {
    let (setting, _, diagnosis) = diagnosed(system, options);
    let before = rate(&setting.blueprint, &setting.jobs);
    let gain = |hop: &str| rate_with_faster(&setting, &[hop]) / before - 1.0;
    let mut fullest: Vec<_> = diagnosis.profile.iter().collect();
    fullest.sort_by(|a, b| b.busy.total_cmp(&a.busy));
    let tried = diagnosis.profile.iter().take(3).chain(fullest.into_iter().take(2));
    let mut known = BTreeSet::new();
    let each = tried.filter(|hop| known.insert(&hop.hop));
    let gains: Vec<(String, f64)> = each.map(|hop| (hop.hop.clone(), gain(&hop.hop))).collect();
    let named = gains[0].1;
    for (hop, gain) in &gains[1..] {
        assert!(*gain <= named + 0.015, "{system} {options} names {} ({named}), {hop} gives {gain}", gains[0].0);
    }
    let said = diagnosis.profile[0].doubled.throughput.mean;
    assert!((said - named).abs() < 0.02 + 0.05 * named.abs(), "{system} {options}: {said} said, {named} found");
    diagnosis
}

#[test]
fn what_is_named_is_what_gives_most_where_drives_go_on_after_the_jobs() {
    // The cells of the drive are at work for long after the last request has ended.
    let found = is_confirmed("nvme-chipset", "--rw=randwrite --bs=4k --iodepth=32 --size=16m");
    assert_eq!(found.profile[0].hop, "drive.controller", "{}", found.why);
}

#[test]
fn what_is_named_is_what_gives_most_at_every_depth() {
    for (depth, headline) in [(1, Headline::Latency), (32, Headline::Mixed), (256, Headline::Capacity)] {
        let found = is_confirmed("nvme-desktop", &format!("--rw=randread --bs=4k --iodepth={depth}"));
        assert_eq!(found.headline, headline, "depth {depth}: {}", found.why);
        let planes = "drive.channel*.die*.plane*";
        assert_eq!(found.profile[0].hop == planes, depth < 256, "depth {depth}: {}", found.why);
    }
    is_confirmed("piix4e-one-disk", "--rw=write --bs=64k --size=64k --time_based --runtime=300ms");
    is_confirmed("piix4e-one-disk", "--rw=randread --bs=4k --size=32m --time_based --runtime=30");
    is_confirmed("sata-ssd", "--rw=randread --bs=4k --iodepth=32");
}

#[test]
fn drives_that_are_alike_are_one_hop() {
    let (_, _, found) = diagnosed("nvme-server", "--rw=randread --bs=4k --iodepth=16 --numjobs=8 --runtime=5ms");
    let named = |hop: &str| found.profile.iter().any(|known| known.hop == hop);
    assert!(named("cpu*") && !found.profile.iter().any(|hop| hop.hop.starts_with("drive0")), "{:?}", found.profile);
}

#[test]
fn where_it_is_smooth_the_shares_of_small_changes_add_up_to_one() {
    let (_, _, found) = diagnosed("nvme-desktop", "--rw=randread --bs=4k --iodepth=8");
    let sum: f64 = found.profile.iter().map(|hop| hop.share.throughput.mean).sum();
    // The processor counts whole clocks, and what moves nothing at twice its pace is left away.
    assert!((0.93..1.06).contains(&sum), "{sum}: {:?}", found.profile);
    let latency: f64 = found.profile.iter().map(|hop| hop.share.latency.mean).sum();
    assert!((0.93..1.06).contains(&latency), "{latency}: {:?}", found.profile);
}

#[test]
fn a_job_that_thinks_is_limited_by_the_workload() {
    let (_, _, found) =
        diagnosed("nvme-desktop", "--rw=randread --bs=4k --thinktime=1000 --runtime=200ms --time_based");
    assert_eq!(found.headline, Headline::Workload, "{}", found.why);
    assert!(found.without_thinking.is_some_and(|gain| gain.throughput.mean > 10.0), "{found:?}");
}

#[test]
fn more_in_flight_is_tried_where_no_hop_is_full_and_the_gain_is_simulated() {
    let (setting, explained, found) = diagnosed("nvme-desktop", "--rw=randread --bs=4k --iodepth=16");
    let deeper = found.remedies.iter().find(|remedy| remedy.change.starts_with("--iodepth=")).expect("depth helps");
    let depth: u64 = deeper.change.trim_start_matches("--iodepth=").parse().expect("a depth");
    let jobs: Vec<Job> = setting.jobs.iter().map(|job| Job { iodepth: depth, ..job.clone() }).collect();
    let gain = rate(&setting.blueprint, &jobs) / explained.throughput() - 1.0;
    assert!((gain / deeper.gain.throughput.mean - 1.0).abs() < 0.05, "{gain} {deeper:?}");
}

/// A disk turns and its arm moves: each helps by itself, and whole runs say so.
#[test]
fn no_number_that_helps_much_is_left_out() {
    for (system, options) in [
        ("piix4e-one-disk-linux", "--rw=randwrite --bs=4k"),
        ("piix4e-two-disks-same-channel", "--rw=randread --bs=4k --iodepth=8"),
    ] {
        let (setting, _, found) = diagnosed(system, options);
        let rate = |blueprint: &Blueprint| {
            let options = Options { seed: 101, until: Some(60.0), ..Options::default() };
            run(blueprint, &setting.jobs, options, None).expect("it runs").rate.bytes_per_second
        };
        let before = rate(&setting.blueprint);
        for number in ["disk.seek.rows[1].time", "disk.rotation"] {
            let sets = format!("--set {number}=");
            let named = found.remedies.iter().find(|remedy| remedy.change.starts_with(&sets));
            let named = named.unwrap_or_else(|| panic!("{system}: {number} is not among {:?}", found.remedies));
            let mut changed = setting.blueprint.clone();
            changed.set(named.change.trim_start_matches("--set ")).expect("a right change");
            let (gain, said) = (rate(&changed) / before - 1.0, named.gain.throughput);
            assert!(
                gain > 0.1 && (gain - said.mean).abs() < said.half_width + 0.03,
                "{system}: {gain}, said {named:?}"
            );
        }
    }
}

#[test]
fn the_same_question_has_the_same_diagnosis() {
    let job = "--rw=randread --bs=4k --iodepth=4 --runtime=4ms";
    assert_eq!(diagnosed("nvme-desktop", job).2, diagnosed("nvme-desktop", job).2);
}

#[test]
fn numbers_that_help_together_only_are_found_together() {
    // Link and drive hand over at one rate: either alone, twice as fast, only fills the other.
    let (_, _, diagnosis) = diagnosed("nvme-desktop", "--rw=read --bs=128k --iodepth=8");
    let best = diagnosis.remedies.first().expect("something helps");
    let numbers = best.change.matches("--set").count();
    assert!((2..=4).contains(&numbers) && best.gain.throughput.mean > 0.5, "{best:?}");
    assert!(best.change.contains("link.rate") && best.change.contains("channel_rate"), "{best:?}");
}

/// What is named where no hop helps by itself: all of it is needed, and nothing besides it helps as much alone.
fn all_of_them_are_needed(setting: &Setting, diagnosis: &Diagnosis, expected: &[&str]) {
    let limiting = diagnosis.limiting().expect("something is at work");
    let mut named: Vec<&str> = limiting.hops.iter().map(String::as_str).collect();
    assert_eq!(limiting.first.hop, named[0]);
    let before = rate(&setting.blueprint, &setting.jobs);
    let gain = |hops: &[&str]| rate_with_faster(setting, hops) / before - 1.0;
    let all = gain(&named);
    assert!(all > 0.5 && (all - limiting.doubled.throughput.mean).abs() < 0.03, "{all}, said {limiting:?}");
    for left in &named {
        let others: Vec<&str> = named.iter().copied().filter(|hop| hop != left).collect();
        let without = gain(&others);
        assert!(without < all - 0.1, "without {left} {named:?} give {without} of {all}");
    }
    let lead = diagnosis.profile[0].doubled.throughput.mean;
    assert!(lead < 0.02 && diagnosis.why.contains("together"), "{lead}: {}", diagnosis.why);
    named.sort_unstable();
    assert_eq!(named, expected);
}

#[test]
fn hops_that_limit_only_together_are_named_and_no_more_of_them_than_it_takes() {
    let disk = |name: &str| format!("--name={name} --filename={name} --rw=read --bs=64k --iodepth=2");
    let both = format!("--time_based --runtime=3 {} {}", disk("disk"), disk("disk2"));
    let (setting, _, diagnosis) = diagnosed("piix4e-two-disks-same-channel", &both);
    all_of_them_are_needed(&setting, &diagnosis, &["cable", "disk.arm", "disk2.arm"]);
    let (mut setting, ..) = diagnosed("nvme-desktop", "--rw=read --bs=128k --iodepth=32 --runtime=10ms");
    setting.blueprint.set("drive.flash.channel_rate=910MB/s").expect("a right change");
    let explained = explain(&setting.blueprint, &setting.jobs, Options::default(), EXTENT, None).expect("it runs");
    let diagnosis = diagnose(&setting, 1, &explained, &|_, _| {}).expect("trials run").expect("requests ended");
    all_of_them_are_needed(&setting, &diagnosis, &["drive.channel*", "link.up"]);
}

/// Each hop has its own share, and no other's: what a twentieth more than its pace gives, by runs of their own.
#[test]
fn shares_are_of_the_hops_that_they_stand_with() {
    let (setting, _, diagnosis) = diagnosed("nvme-desktop", "--rw=read --bs=64k");
    let before = rate(&setting.blueprint, &setting.jobs);
    for hop in &diagnosis.profile {
        let faster = rate_at_pace(&setting, &[&hop.hop], Pace::new(21, 20).expect("a pace"));
        let share = (faster / before - 1.0) / 0.05;
        let said = hop.share.throughput;
        assert!((said.mean - share).abs() < said.half_width + 0.02, "{}: {said:?}, {share}", hop.hop);
    }
    let mut shares: Vec<f64> = diagnosis.profile.iter().map(|hop| hop.share.throughput.mean).collect();
    shares.sort_by(|a, b| b.total_cmp(a));
    assert!(shares[0] > 0.2 && shares.windows(2).filter(|pair| pair[0] - pair[1] > 0.04).count() > 2, "{shares:?}");
}
