//! Runs that begin where others were: the next requests take as long as they do in the run that goes on.

use std::num::NonZeroU64;

use hopscope_files::job_file::Job;
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::Figures;
use hopscope_machine::going::Going;
use hopscope_machine::run::{Options, run};
use hopscope_questions::explain::{EXTENT, explain};
use hopscope_questions::trials::{Setting, Trials};

use crate::shipped;
use crate::trials::Ends;

const OFFICE: &str = "--name=office --filename=raid --rw=randrw --rwmixread=60 --bs=35k --size=1g --norandommap=1 \
                      --random_distribution=zoned:78/1:22/99 --time_based";

fn office(times: &str) -> Vec<Job> {
    shipped::jobs(&format!("{OFFICE} {times}"))
}

fn on(going: &Going, requests: u64) {
    going.on(NonZeroU64::new(requests).expect("some"), Time::MAX).expect("it goes on");
}

/// How long the last so many requests took, from the end of the one before them.
fn last(ends: &Ends, requests: usize) -> Time {
    let ends: Vec<Time> = ends.0.borrow().iter().map(|(at, span)| *at + *span).collect();
    ends[ends.len() - 1].saturating_sub(ends[ends.len() - 1 - requests])
}

/// With one request under way to the last digit, and from an empty cache not at all; with several, chance has its share.
#[test]
fn a_machine_that_remembers_goes_on_as_the_run_did() {
    for (system, depth, counted, off) in [
        ("raid-acceleraid-64-66", 1, 600, 1e-6),
        ("raid-megaraid-32-33", 1, 600, 1e-6),
        ("raid-5-megaraid-64-66", 1, 600, 1e-6),
        ("raid-acceleraid-pci-x-100", 4, 4_000, 0.04),
    ] {
        let jobs = office(&format!("--iodepth={depth} --runtime=100"));
        let (blueprint, ends) = (shipped::machine(system, &[]), Ends::default());
        let whole = Going::new(&blueprint, &jobs, 1, Box::new(ends.clone())).expect("it is built");
        on(&whole, 2_500);
        let remembered = whole.remembered().expect("a cache remembers");
        let asked_for = remembered.requests();
        assert!((2_500..2_500 + depth).contains(&asked_for), "{system}: {asked_for}");
        on(&whole, 200 + counted);
        let took = last(&ends, counted as usize);
        let of = |going: Going, ends: Ends| {
            on(&going, 2_700 + counted - asked_for);
            last(&ends, counted as usize).as_seconds_f64() / took.as_seconds_f64() - 1.0
        };
        let ends = Ends::default();
        let behind = Going::behind(&blueprint, &jobs, 1, Box::new(ends.clone()), &remembered).expect("it is built");
        let apart = of(behind.expect("it is the same machine"), ends);
        assert!(apart.abs() < off, "{system}: {apart}");
        let ends = Ends::default();
        let from_nothing = Going::new(&blueprint, &jobs, 1, Box::new(ends.clone())).expect("it is built");
        let apart = of(from_nothing, ends);
        assert!(depth > 1 || apart.abs() > 0.03, "{system}: {apart} from an empty cache");
        // Other lines are nothing that it can remember; with a smaller cache it remembers what it can.
        let going = |change: &str| {
            let changed = shipped::machine(system, &[change]);
            Going::behind(&changed, &jobs, 1, Box::new(Ends::default()), &remembered).expect("it is built")
        };
        assert!(going("raid.cache.line=32KiB").is_none() && going("raid.cache.size=100MiB").is_some(), "{system}");
    }
    // Of a disk nothing is remembered, and of another adapter nothing can be.
    let jobs = shipped::jobs("--rw=read");
    let going = Going::new(&shipped::machine("piix4e-one-disk", &[]), &jobs, 1, Box::new(Ends::default()));
    assert!(going.expect("it is built").remembered().is_none());
}

/// A job that has begun goes on at once, however late it was to begin.
#[test]
fn a_job_does_not_wait_for_its_start_twice() {
    let jobs = office("--startdelay=2 --runtime=100");
    let (blueprint, ends) = (shipped::machine("raid-acceleraid-64-66", &[]), Ends::default());
    let whole = Going::new(&blueprint, &jobs, 1, Box::new(ends.clone())).expect("it is built");
    on(&whole, 100);
    assert!(ends.0.borrow()[0].0 >= Time::ms(2_000));
    let (remembered, ends) = (whole.remembered().expect("a cache remembers"), Ends::default());
    let behind = Going::behind(&blueprint, &jobs, 1, Box::new(ends.clone()), &remembered).expect("it is built");
    on(&behind.expect("it is the same machine"), 1);
    assert!(ends.0.borrow()[0].0 < Time::ms(1));
}

/// Faster arms, a smaller cache and lines of another size, which have to be tried from an empty cache: as in long runs.
#[test]
fn trials_behind_a_ramp_say_what_long_runs_say() {
    let setting = Setting {
        blueprint: shipped::machine("raid-acceleraid-64-66", &[]),
        jobs: office("--ramp_time=2 --runtime=5"),
    };
    let explained = explain(&setting.blueprint, &setting.jobs, Options::default(), EXTENT, None).expect("it runs");
    // A ramp that is long enough is all that an account leaves away.
    assert_eq!(explained.account.from, Time::ms(2_000));
    let mut trials = Trials::new(&setting, 1, &explained).expect("requests ended");
    let faster = shipped::twice_as_fast(&setting.blueprint, "disk*.arm");
    let changed = |change| shipped::machine("raid-acceleraid-64-66", &[change]);
    let blueprints = [faster, changed("raid.cache.size=40MiB"), changed("raid.cache.line=32KiB")];
    let changes = blueprints.map(|blueprint| Setting { blueprint, jobs: setting.jobs.clone() });
    let gains = trials.gains(&changes, &|_, _| {}).expect("they run");
    assert!(trials.effort().ramp < Time::ms(200), "{:?}", trials.effort());
    let jobs = office("--ramp_time=2 --runtime=15");
    let rate = |blueprint: &Blueprint, seed| {
        let ran = run(blueprint, &jobs, Options { seed, ..Options::default() }, None).expect("it runs");
        Figures::of_all(&ran.jobs).expect("requests ended").bytes_per_second
    };
    let before = [1, 2].map(|seed| (seed, rate(&setting.blueprint, seed)));
    for (change, gain) in changes.iter().zip(gains) {
        let gain = gain.expect("nothing refuses it").throughput;
        let long = before.map(|(seed, before)| rate(&change.blueprint, seed) / before - 1.0).iter().sum::<f64>() / 2.0;
        assert!((gain.mean - long).abs() < gain.half_width.max(0.01) + 0.02, "{gain:?}, {long} in long runs");
    }
}

/// A copy goes on for stretches in which each request gains the same with a faster processor, and for others in which none
/// does: the first stretch is not all of it.
#[test]
fn what_a_stretch_of_a_copy_gains_is_not_what_the_copy_does() {
    let blueprint = shipped::machine("raid-5-acceleraid-pci-x-100", &[]);
    let jobs = |runtime: u64| {
        let copy = "--filename=raid --rw=rw --rwmixread=53 --bs=101376 --size=8g --ramp_time=2 --time_based";
        shipped::jobs(&format!("{copy} --runtime={runtime}"))
    };
    let setting = Setting { blueprint, jobs: jobs(5) };
    let faster = shipped::twice_as_fast(&setting.blueprint, "cpu");
    let explained = explain(&setting.blueprint, &setting.jobs, Options::default(), EXTENT, None).expect("it runs");
    let mut trials = Trials::new(&setting, 1, &explained).expect("requests ended");
    let changed = Setting { blueprint: faster.clone(), jobs: setting.jobs.clone() };
    let gain = trials.gains(&[changed], &|_, _| {}).expect("they run")[0].expect("nothing refuses it").throughput;
    let rate = |blueprint: &Blueprint| {
        let ran = run(blueprint, &jobs(20), Options::default(), None).expect("it runs");
        Figures::of_all(&ran.jobs).expect("requests ended").bytes_per_second
    };
    let long = rate(&faster) / rate(&setting.blueprint) - 1.0;
    assert!((gain.mean - long).abs() < gain.half_width + 0.003, "{gain:?}, {long} in long runs");
}

/// Where chance is large, what hops hold says whether trials may begin there: of a copy they may, and say what long runs say.
/// Of an installation they may not, for what was forgotten fills again.
#[test]
fn trials_begin_behind_a_ramp_where_chance_is_large_if_nothing_fills_again() {
    let copy = "--name=dvd-copy --rw=rw --rwmixread=53 --bs=101376 --size=8g";
    let installation = "--name=software-installation --rw=randrw --rwmixread=20 --bs=44544 --size=1g --norandommap=1 \
                        --random_distribution=zoned:81/1:19/99";
    let jobs = |job: &str, runtime: u64| {
        shipped::jobs(&format!("--filename=raid {job} --ramp_time=2 --runtime={runtime} --time_based"))
    };
    let machine = || shipped::machine("raid-5-megaraid-64-66", &[]);
    let faster = || shipped::twice_as_fast(&machine(), "disk*.arm");
    for (job, is_behind) in [(copy, true), (installation, false)] {
        let setting = Setting { blueprint: machine(), jobs: jobs(job, 5) };
        let changed = Setting { blueprint: faster(), jobs: setting.jobs.clone() };
        let explained = explain(&setting.blueprint, &setting.jobs, Options::default(), EXTENT, None).expect("it runs");
        let mut trials = Trials::new(&setting, 1, &explained).expect("requests ended");
        let gains = trials.gains(&[changed], &|_, _| {}).expect("they run");
        let gain = gains[0].expect("nothing refuses it").throughput;
        assert_eq!(trials.effort().ramp < Time::ms(2_000), is_behind, "{job}: {:?}", trials.effort());
        let rate = |blueprint: &Blueprint, seed| {
            let ran = run(blueprint, &jobs(job, 15), Options { seed, ..Options::default() }, None).expect("it runs");
            Figures::of_all(&ran.jobs).expect("requests ended").bytes_per_second
        };
        let long = [1, 2].map(|seed| rate(&faster(), seed) / rate(&machine(), seed) - 1.0).iter().sum::<f64>() / 2.0;
        // That much is chance, and no more.
        assert!(long > 0.1 && gain.half_width > 0.05 && gain.half_width < 0.3, "{job}: {gain:?}, {long}");
        assert!((gain.mean - long).abs() < gain.half_width, "{job}: {gain:?}, {long} in long runs");
    }
}

/// A job that begins when the ramp is over is there from the beginning in trials, or what is counted of a faster machine
/// would be from before.
#[test]
fn trials_beside_a_job_that_begins_later_say_what_long_runs_say() {
    let load = "--name=load --filename=ide --rw=read --bs=64k --iodepth=2 --offset=71g --size=1g --time_based";
    let jobs = office(&format!("--ramp_time=2 --runtime=5 {load} --startdelay=2 --ramp_time=0 --runtime=5"));
    let setting = Setting { blueprint: shipped::machine("raid-megaraid-32-33-loaded", &[]), jobs };
    let explained = explain(&setting.blueprint, &setting.jobs, Options::default(), EXTENT, None).expect("it runs");
    let mut trials = Trials::new(&setting, 1, &explained).expect("requests ended");
    let blueprint = shipped::twice_as_fast(&setting.blueprint, "pci");
    let faster = Setting { blueprint, jobs: setting.jobs.clone() };
    let rate = |setting: &Setting| {
        let ran = run(&setting.blueprint, &setting.jobs, Options::default(), None).expect("it runs");
        Figures::of_all(&ran.jobs).expect("requests ended").bytes_per_second
    };
    let long = rate(&faster) / rate(&setting) - 1.0;
    let gain = trials.gains(&[faster], &|_, _| {}).expect("they run")[0].expect("nothing refuses it").throughput;
    let apart = (gain.mean - long).abs();
    assert!(long > 0.05 && apart < 0.05 && gain.half_width < 0.1, "{gain:?}, {long} in the whole run");
}

/// A machine that remembers less than it takes, as its operating system has a cache, too.
#[test]
fn a_trial_that_would_say_something_else_behind_the_ramp_is_made_from_the_beginning() {
    let words =
        "--filename=raid --rw=randread --bs=64k --size=64m --norandommap=1 --ramp_time=40 --runtime=1 --time_based";
    for (direct, is_behind) in [("--direct=0", false), ("--direct=1", true)] {
        let jobs = shipped::jobs(&format!("{words} {direct}"));
        let setting = Setting { blueprint: shipped::machine("win2000-3ware-raid0-2", &[]), jobs };
        let explained = explain(&setting.blueprint, &setting.jobs, Options::default(), EXTENT, None).expect("it runs");
        let mut trials = Trials::new(&setting, 1, &explained).expect("requests ended");
        let blueprint = shipped::twice_as_fast(&setting.blueprint, "cpu");
        let faster = Setting { blueprint, jobs: setting.jobs.clone() };
        let gains = trials.gains(&[faster], &|_, _| {}).expect("they run");
        let ramp = trials.effort().ramp;
        assert_eq!(ramp < Time::ms(40_000), is_behind, "{direct}: {ramp}, {gains:?}");
    }
}
