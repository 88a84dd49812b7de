//! Machines that do for a while what they cannot go on to do: what a change gains is what long runs say, not what happens
//! until a buffer is full.

use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::Figures;
use hopscope_machine::run::{Options, run};
use hopscope_questions::explain::{EXTENT, explain};
use hopscope_questions::trials::{Setting, Shift, Trials};

use crate::shipped;

/// Bytes per second of the last half of a run of so many milliseconds.
fn rate(blueprint: &Blueprint, words: &str, ms: u64) -> f64 {
    let jobs = shipped::jobs(&format!("{words} --time_based --ramp_time={}ms --runtime={}ms", ms / 2, ms / 2));
    let ran = run(blueprint, &jobs, Options::default(), None).expect("it runs");
    Figures::of_all(&ran.jobs).expect("requests ended").bytes_per_second
}

/// What hops give, twice as fast, and the ramp of the trials that say so.
fn gains(blueprint: &Blueprint, words: &str, hops: &[&str]) -> (Vec<Shift>, Time) {
    gains_of(blueprint, words, hops.iter().map(|hop| shipped::twice_as_fast(blueprint, hop)).collect())
}

fn gains_of(blueprint: &Blueprint, words: &str, changed: Vec<Blueprint>) -> (Vec<Shift>, Time) {
    let setting = Setting { blueprint: blueprint.clone(), jobs: shipped::jobs(words) };
    let explained = explain(&setting.blueprint, &setting.jobs, Options::default(), EXTENT, None).expect("it runs");
    let mut trials = Trials::new(&setting, 1, &explained).expect("requests ended");
    let change = |blueprint| Setting { blueprint, jobs: setting.jobs.clone() };
    let changes: Vec<Setting> = changed.into_iter().map(change).collect();
    let gains = trials.gains(&changes, &|_, _| {}).expect("they run");
    (gains.iter().map(|gain| gain.expect("nothing refuses it").throughput).collect(), trials.effort().ramp)
}

/// Flash that takes less than a host gives, behind a buffer; a host that gives less than such flash takes, but more when
/// it is faster. The first is shipped as it is.
#[test]
fn gains_are_those_of_full_buffers() {
    let slower = "drive.flash.single_bit.program=380us";
    let words = "--rw=randwrite --bs=4k --iodepth=32";
    let (dies, controller) = ("drive.channel*.die*.plane*", "drive.controller");
    for (system, changes, ms, most, other) in [
        ("nvme-xeon", &[][..], 300, dies, controller),
        ("nvme-desktop", &[slower], 100, dies, controller),
        ("nvme-desktop", &[slower, "drive.controller.write=2us"], 100, controller, dies),
    ] {
        let blueprint = shipped::machine(system, changes);
        let (said, _) = gains(&blueprint, &format!("{words} --time_based --runtime={ms}ms"), &[most, other]);
        assert!(said[0].mean > 0.2 && said[1].mean < 0.03, "{system} {changes:?}: {said:?}");
        let before = rate(&blueprint, words, ms);
        for (hop, said) in [most, other].into_iter().zip(said) {
            let long = rate(&shipped::twice_as_fast(&blueprint, hop), words, ms) / before - 1.0;
            let apart = (said.mean - long).abs();
            assert!(
                apart < said.half_width + 0.06 && said.half_width < 0.1,
                "{system} {changes:?} {hop}: {said:?} {long}"
            );
        }
    }
}

/// No request takes longer before the buffer is full, which is long after the first few hundred.
#[test]
fn slower_flash_shows_once_its_buffer_is_full() {
    let words = "--rw=randwrite --bs=4k --iodepth=32";
    let changes = ["drive.flash.single_bit.program=380us"];
    let (blueprint, slower) = (shipped::machine("nvme-desktop", &[]), shipped::machine("nvme-desktop", &changes));
    let (said, _) = gains_of(&blueprint, &format!("{words} --time_based --runtime=100ms"), vec![slower.clone()]);
    let long = rate(&slower, words, 100) / rate(&blueprint, words, 100) - 1.0;
    assert!(long < -0.3 && (said[0].mean - long).abs() < said[0].half_width + 0.02, "{said:?}, {long}");
    assert!(said[0].mean + said[0].half_width < -0.05, "{said:?}");
}

/// The cache of an adapter takes in for a second what a faster processor gives it; what gives most is what gives it for
/// good. What could not be waited for is in the interval.
#[test]
fn a_gain_that_lasts_until_a_cache_is_full_says_so() {
    let words = "--rw=write --bs=64k --iodepth=2";
    let blueprint = shipped::machine("raid-megaraid-64-66", &[]);
    let (said, _) =
        gains(&blueprint, &format!("{words} --time_based --runtime=4s"), &["raid.memory", "raid.processor"]);
    let faster = shipped::twice_as_fast(&blueprint, "raid.processor");
    let [at_first, later] = [600, 8_000].map(|ms| rate(&faster, words, ms) / rate(&blueprint, words, ms) - 1.0);
    assert!(at_first > later + 0.1, "{at_first} at first, {later} later");
    let has = |gain: f64| (said[1].mean - gain).abs() < said[1].half_width + 0.02;
    assert!(has(at_first) && has(later), "{said:?}: {at_first} at first, {later} later");
    assert!(said[0].mean > said[1].mean && said[0].half_width < 0.05, "{said:?}");
}

/// The ramp that a job asks for is not simulated where nothing fills in it, and trials say what they say behind it.
#[test]
fn a_ramp_that_nothing_needs_is_not_waited_for() {
    let words = "--rw=randwrite --bs=4k --iodepth=32";
    let blueprint = shipped::machine("nvme-chipset", &[]);
    let hops = ["drive.controller", "cpu"];
    let (said, ramp) = gains(&blueprint, &format!("{words} --time_based --ramp_time=20ms --runtime=100ms"), &hops);
    assert!(ramp < Time::ms(10), "{ramp}");
    let before = rate(&blueprint, words, 40);
    for (hop, said) in hops.into_iter().zip(said) {
        let long = rate(&shipped::twice_as_fast(&blueprint, hop), words, 40) / before - 1.0;
        assert!((said.mean - long).abs() < said.half_width + 0.003, "{hop}: {said:?}, {long}");
    }
}
