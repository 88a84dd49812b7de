//! Requests of a file that lies in a cache fall into one of several rhythms, by chance: what is said of such a machine holds
//! in all of them. And where too little happens for any rhythm, nothing is said of what limits.

use hopscope_machine::fio_json::Figures;
use hopscope_machine::run::{Options, run};
use hopscope_questions::diagnosis::diagnose;
use hopscope_questions::explain::{EXTENT, explain};
use hopscope_questions::trials::{Gain, Setting, Trials};

use crate::shipped;

const CACHED: &str = "--rw=randread --bs=64k --size=1m --norandommap --time_based --ramp_time=200ms --runtime=200ms";

/// Bytes per second of a whole run with a seed.
fn rate(setting: &Setting, seed: u64) -> f64 {
    let options = Options { seed, ..Options::default() };
    let ran = run(&setting.blueprint, &setting.jobs, options, None).expect("it runs");
    Figures::of_all(&ran.jobs).expect("requests ended").bytes_per_second
}

#[test]
fn what_is_said_of_a_rhythm_has_what_the_others_do_in_its_interval() {
    for (system, hop) in [
        ("raid-acceleraid-64-66", "pci"),
        ("raid-acceleraid-pci-x-100", "raid.processor"),
        ("raid-megaraid-32-33", "pci"),
    ] {
        let setting =
            Setting { blueprint: shipped::machine(system, &[]), jobs: shipped::jobs(&format!("{CACHED} --iodepth=2")) };
        let faster = Setting { blueprint: shipped::twice_as_fast(&setting.blueprint, hop), jobs: setting.jobs.clone() };
        let [before, after] = [&setting, &faster].map(|of| [1, 2, 3, 4].map(|seed| rate(of, seed)));
        let most = before.iter().copied().fold(0.0, f64::max);
        let least = before.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(most > 1.2 * least, "{system} has one rhythm: {before:?}");
        for (seed, own) in (1..).zip(before).take(2) {
            let options = Options { seed, ..Options::default() };
            let explained = explain(&setting.blueprint, &setting.jobs, options, EXTENT, None).expect("it runs");
            let mut trials = Trials::new(&setting, seed, &explained).expect("requests ended");
            let another = own * (1.0 + trials.another_rhythm().expect("it runs").expect("there are others"));
            assert!(
                before.iter().any(|known| (another / known - 1.0).abs() < 0.03),
                "{system}: {another} of {before:?}"
            );
            assert!((another / own - 1.0).abs() > 0.2, "{system}: {another} beside {own}");
            let gain = trials.gains(std::slice::from_ref(&faster), &|_, _| {}).expect("they run")[0]
                .expect("nothing refuses it");
            let gain = gain.throughput;
            for after in after {
                let apart = (after / own - 1.0 - gain.mean).abs();
                assert!(apart < gain.half_width + 0.03, "{system} {hop} with seed {seed}: {gain:?}, {after} of {own}");
            }
        }
    }
}

#[test]
fn what_is_drawn_again_and_again_or_comes_one_by_one_has_one_rhythm() {
    for (system, words) in [
        ("raid-acceleraid-64-66", format!("{CACHED} --iodepth=1")),
        ("raid-acceleraid-64-66", "--rw=read --bs=64k --iodepth=2 --ramp_time=1 --runtime=1 --time_based".to_string()),
        ("win2000-atlas-10k", "--rw=randread --bs=4k --iodepth=4 --runtime=20 --time_based".to_string()),
        ("sata-ssd", "--rw=randread --bs=4k --iodepth=32 --runtime=200ms --time_based".to_string()),
        ("nvme-desktop", "--rw=randread --bs=4k --iodepth=32 --runtime=20ms --time_based".to_string()),
        ("nvme-desktop", "--rw=randwrite --bs=4k --iodepth=4 --runtime=20ms --time_based".to_string()),
    ] {
        let setting = Setting { blueprint: shipped::machine(system, &[]), jobs: shipped::jobs(&words) };
        let explained = explain(&setting.blueprint, &setting.jobs, Options::default(), EXTENT, None).expect("it runs");
        let mut trials = Trials::new(&setting, 1, &explained).expect("requests ended");
        assert_eq!(trials.another_rhythm().expect("it runs"), None, "{system} {words}");
    }
}

/// Thirty-two reads of 128 KiB take programmed I/O longer than half a second, share the processor, and end together: by the
/// first few the processor limits, whereas it is the bus.
#[test]
fn of_a_runtime_that_replaces_nothing_that_is_in_flight_no_limit_is_said() {
    let said = |runtime: &str| {
        let words = format!("--rw=read --bs=128k --iodepth=32 --time_based --ramp_time=10ms --runtime={runtime}");
        let setting = Setting { blueprint: shipped::machine("piix4e-one-disk-pio", &[]), jobs: shipped::jobs(&words) };
        let explained = explain(&setting.blueprint, &setting.jobs, Options::default(), EXTENT, None).expect("it runs");
        (diagnose(&setting, 1, &explained, &|_, _| {}).expect("trials run"), explained, setting)
    };
    let (short, explained, _) = said("500ms");
    assert!(short.is_none() && explained.undiagnosed().contains("a longer run would"));
    let (long, _, setting) = said("4");
    let long = long.expect("enough requests ended");
    let before = rate(&setting, 1);
    for hop in long.profile.iter().filter(|hop| hop.doubled != Gain::NONE) {
        let blueprint = shipped::twice_as_fast(&setting.blueprint, &hop.hop);
        let whole = rate(&Setting { blueprint, jobs: setting.jobs.clone() }, 1) / before - 1.0;
        let gain = hop.doubled.throughput;
        assert!((gain.mean - whole).abs() < gain.half_width + 0.03, "{}: {gain:?}, {whole} of whole runs", hop.hop);
    }
    assert_eq!(long.profile[0].hop, "pci");
}
