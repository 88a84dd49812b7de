//! Trials are short; long runs say whether what they say is so.

use std::cell::RefCell;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hopscope_kernel::{Observer, Pace, Record, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::Figures;
use hopscope_machine::going::Going;
use hopscope_machine::run::{Options, run};
use hopscope_questions::diagnosis::{HopGain, diagnose};
use hopscope_questions::explain::{EXTENT, explain};
use hopscope_questions::trials::{Setting, Trials};

use crate::shipped;

/// What goes on bit by bit is what goes on in one go, to the last digit.
#[test]
fn a_run_that_goes_on_bit_by_bit_is_one_run() {
    let words = "--rw=randrw --bs=4k --iodepth=8";
    for system in ["nvme-desktop", "win2000-3ware-jbod", "raid-5-megaraid-64-66", "win2000-cifs"] {
        let (blueprint, jobs) = (shipped::machine(system, &[]), shipped::jobs(words));
        let ended = |bits: &[u64]| {
            let seen = Ends::default();
            let going = Going::new(&blueprint, &jobs, 1, Box::new(seen.clone())).expect("it is built");
            for bit in bits {
                let before = seen.0.borrow().len() as u64;
                let over = going.on(NonZeroU64::new(*bit).expect("some"), Time::MAX).expect("it goes on");
                // Others may end at the same instant.
                assert!(!over && seen.0.borrow().len() as u64 >= before + bit);
            }
            let kept = seen.0.borrow()[..900].to_vec();
            (kept, going.events())
        };
        let (in_one_go, events) = ended(&[900]);
        assert_eq!(ended(&[1, 7, 92, 800]).0, in_one_go, "{system}");
        assert!(ended(&[900, 900]).1 > events);
    }
}

/// What has ended: since when, and how long it took.
#[derive(Clone, Default)]
pub struct Ends(pub Rc<RefCell<Vec<(Time, Time)>>>);

impl Observer for Ends {
    fn records(&mut self, batch: &[Record]) {
        let ends = batch.iter().filter_map(|record| match *record {
            Record::Transfer { at, span, .. } => Some((at, span)),
            _ => None,
        });
        self.0.borrow_mut().extend(ends);
    }

    fn wants_phases(&self) -> bool {
        false
    }
}

/// Each hop of which a trial says that it does nothing, twice as fast, in runs that are many times as long.
#[test]
fn what_does_nothing_at_a_glance_does_nothing_in_the_long_run() {
    let words = "--rw=randread --bs=4k --iodepth=32";
    for (system, runtime) in [("piix4e-one-disk", "--runtime=60s"), ("win2000-barracuda", "--runtime=60s")] {
        let setting = Setting { blueprint: shipped::machine(system, &[]), jobs: shipped::jobs(words) };
        let explained = explain(&setting.blueprint, &setting.jobs, Options::default(), EXTENT, None).expect("it runs");
        let found = diagnose(&setting, 1, &explained, &|_, _| {}).expect("it runs").expect("requests ended");
        let nothing = |hop: &&HopGain| hop.doubled.throughput.mean.abs() < 1e-3;
        let idle: Vec<_> = found.profile.iter().filter(nothing).collect();
        assert!(idle.len() >= 4, "{system}: {:?}", found.profile);
        let jobs = shipped::jobs(&format!("{words} {runtime} --time_based"));
        let rate = |blueprint: &Blueprint| {
            let ran = run(blueprint, &jobs, Options::default(), None).expect("it runs");
            Figures::of_all(&ran.jobs).expect("requests ended").bytes_per_second
        };
        let before = rate(&setting.blueprint);
        for hop in idle {
            let gain = rate(&shipped::twice_as_fast(&setting.blueprint, &hop.hop)) / before - 1.0;
            assert!(gain.abs() < 0.006, "{system}: {} gives {gain} in the long run, not {:?}", hop.hop, hop.doubled);
        }
    }
}

/// Where nothing is drawn, a second seed is the first once more; and what was simulated for a look at a change is not
/// simulated again where the change is tried out.
#[test]
fn nothing_is_tried_twice() {
    let words = "--rw=read --bs=64k --runtime=50ms";
    let setting = Setting { blueprint: shipped::machine("pcie-bench-ivy-bridge", &[]), jobs: shipped::jobs(words) };
    let explained = explain(&setting.blueprint, &setting.jobs, Options::default(), EXTENT, None).expect("it runs");
    let faster =
        |hop: &str| Setting { blueprint: shipped::twice_as_fast(&setting.blueprint, hop), jobs: setting.jobs.clone() };
    let changes: Vec<Setting> = explained.hops.iter().map(|hop| faster(&hop.name)).collect();
    assert!(changes.len() >= 5);
    let mut trials = Trials::new(&setting, 1, &explained).expect("requests ended");
    let runs = AtomicUsize::new(0);
    let count = |_, _| _ = runs.fetch_add(1, Ordering::Relaxed);
    let looks = trials.at_a_glance(&changes, &count).expect("they run");
    assert_eq!(runs.swap(0, Ordering::Relaxed), changes.len());
    let gains: Vec<f64> = looks.iter().map(|look| look.gain.expect("nothing refuses it").throughput.mean).collect();
    let best = trials.gains_of_best(&changes, looks, 2, &count).expect("they run");
    // Those whose early and late requests do not say the same are run with a longer ramp, twice at most.
    let again = runs.swap(0, Ordering::Relaxed);
    assert!(again <= 4, "{again} runs of two that have been looked at");
    assert_eq!(best.iter().flatten().count(), 2);
    let most = gains.iter().copied().fold(0.0, f64::max);
    assert!(best.iter().flatten().any(|gain| (gain.throughput.mean - most).abs() < 0.02), "{gains:?} {best:?}");
    let all = trials.gains(&changes, &count).expect("they run");
    assert!(all.iter().all(Option::is_some));
    let runs = runs.load(Ordering::Relaxed);
    assert!(runs <= 3 * changes.len(), "{runs} runs of {} changes", changes.len());
}

/// What is known long before a run is over decides what is looked at, and how long trials are: whole runs say the same of
/// the hops that gain most.
#[test]
fn trials_of_what_is_known_early_say_what_whole_runs_say() {
    let twice = Pace::new(2, 1).expect("a pace");
    // A drive holds what is written, so the run goes on; an accelerator's memory has no more to say.
    for (system, words, hops, goes_on) in [
        ("sata-ssd", "--rw=randwrite --bs=4k --iodepth=32 --ramp_time=20ms --runtime=400ms", 6, true),
        ("gpu-server", "--rw=randwrite --bs=4k --iodepth=32 --runtime=200ms", 3, false),
    ] {
        let (blueprint, jobs) = (shipped::machine(system, &[]), shipped::jobs(words));
        let shorter = Options { not_longer_than_needed: true, ..Options::default() };
        let explained = explain(&blueprint, &jobs, shorter, EXTENT, None).expect("it runs");
        let (outcome, known) = (&explained.outcome, explained.outcome.first_known());
        assert_eq!(known.simulated < outcome.simulated, goes_on, "{system}");
        assert!(explained.account.until < outcome.simulated || !goes_on, "{system}: {}", explained.account.until);
        let over = jobs[0].ramp_time + jobs[0].runtime.expect("a runtime");
        assert!(known.simulated * 4 < over && explained.account.until * 4 < over, "{system}: {}", known.simulated);
        let setting = Setting { blueprint, jobs };
        let diagnosis = diagnose(&setting, 1, &explained, &|_, _| {}).expect("trials run").expect("requests ended");
        let rate = |blueprint: &Blueprint| {
            run(blueprint, &setting.jobs, Options::default(), None).expect("it runs").rate.bytes_per_second
        };
        let before = rate(&setting.blueprint);
        assert!(diagnosis.profile.len() > hops, "{system}: {:?}", diagnosis.profile);
        for HopGain { hop, doubled, .. } in &diagnosis.profile[..hops] {
            let mut faster = setting.blueprint.clone();
            faster.pace(hop, twice).expect("a hop");
            let (found, said) = (rate(&faster) / before - 1.0, doubled.throughput);
            let off = (said.mean - found).abs();
            assert!(off <= 1.5 * said.half_width + 0.003, "{system}: {hop} {said:?} said, {found} found");
        }
    }
}
