//! Runs in which something is used up: what they get phase by phase is what all of them gets that is simulated, and what
//! limits is of the phase that it is said of.

use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::Figures;
use hopscope_machine::phases::{Phase, phases, whole};
use hopscope_machine::run::{Options, Outcome, Stop, run};
use hopscope_questions::compare::{Comparison, Phase as Beside, read};
use hopscope_questions::explanation::{Explanation, Listening};
use hopscope_questions::trials::Setting;
use hopscope_questions::whatif::outlook;

use crate::shipped;

const BY_PHASES: Options = Options { not_longer_than_needed: true, by_phases: true, ..Options::USUAL };

/// Drives so small that their spare blocks and single-bit cells are used up within a second.
const SMALL: [&str; 3] = [".capacity=8GB", ".flash.pages_per_block=144 pages", ".flash.over_provisioning=14%"];
const CELLS: [&str; 2] = ["drive.flash.single_bit.fixed=200MB", "drive.flash.single_bit.dynamic=300MB"];

fn small(system: &str, drives: &[&str], more: &[&str]) -> Blueprint {
    let of_drive = |drive: &&str| SMALL.map(|change| format!("{drive}{change}"));
    let changes: Vec<String> = drives.iter().flat_map(of_drive).collect();
    let changes: Vec<&str> = changes.iter().map(String::as_str).chain(more.iter().copied()).collect();
    shipped::machine(system, &changes)
}

fn iops(outcome: &Outcome) -> f64 {
    Figures::of_all(&outcome.jobs).expect("requests ended").iops
}

/// The phases of a run; none where it does not end as a store empties.
fn in_phases(blueprint: &Blueprint, words: &str) -> Vec<Phase> {
    let jobs = shipped::jobs(words);
    let first = run(blueprint, &jobs, BY_PHASES, None).expect("it runs");
    if first.stop != Stop::Emptying {
        return Vec::new();
    }
    let run = |blueprint: &Blueprint, jobs: &[_], _: Time, by_phases| {
        run(blueprint, jobs, Options { by_phases, ..BY_PHASES }, None)
    };
    phases(blueprint, &jobs, 1, first, (&run, &|_| {})).expect("they run")
}

/// How far one is off the other.
fn off(ours: f64, expected: f64) -> f64 {
    (ours / expected - 1.0).abs()
}

fn latency(outcome: &Outcome) -> f64 {
    let got = outcome.jobs.iter().map(|job| job.got.as_ref().expect("requests ended"));
    let (sum, count) =
        got.fold((0.0, 0), |(sum, count), got| (sum + got.latency_ns.mean() * got.count as f64, count + got.count));
    sum / count as f64
}

#[test]
fn a_run_in_phases_gets_what_all_of_it_gets() {
    let random = "--rw=randwrite --bs=4k --iodepth=32";
    let (cells, blocks) = ("the single-bit cells of drive", "the spare blocks of drive");
    let desktop = small("nvme-desktop", &["drive"], &CELLS);
    let larger = small("nvme-desktop", &["drive"], &["drive.flash.single_bit.fixed=2GB"]);
    let server = small("nvme-server", &["drive0", "drive1"], &["drive1.flash.over_provisioning=40%"]);
    let sata = small("sata-ssd", &["ssd"], &[]);
    let both =
        |runtime: &str, second: &str| format!("--runtime={runtime} --name=one {random} --name=other --bs=4k {second}");
    for (blueprint, words, used_up) in [
        (&desktop, format!("{random} --runtime=300ms"), cells),
        (&desktop, format!("{random} --ramp_time=150ms --runtime=150ms"), cells),
        (&desktop, format!("{random} --size=700m --runtime=600ms"), cells),
        (&desktop, both("300ms", "--rw=randread"), cells),
        (&desktop, format!("{random} --rwmixread=70 --rw=randrw --runtime=700ms"), cells),
        (&larger, format!("{random} --runtime=350ms"), blocks),
        (&server, both("500ms", "--iodepth=16 --rw=randwrite --filename=drive1"), "the spare blocks of drive0"),
        (&sata, "--rw=randwrite --bs=64k --iodepth=8 --runtime=4".to_string(), "the spare blocks of ssd"),
    ] {
        let (phases, jobs) = (in_phases(blueprint, &words), shipped::jobs(&words));
        let said: Vec<&str> = phases.iter().filter_map(|phase| phase.used_up.as_deref()).collect();
        assert_eq!(said.first(), Some(&used_up), "{words}: {said:?}");
        let (ours, all) = (whole(&jobs, &phases), run(blueprint, &jobs, Options::USUAL, None).expect("it runs"));
        let (rate, latency) = (off(iops(&ours), iops(&all)), off(latency(&ours), latency(&all)));
        assert!(rate < 0.01 && latency < 0.02, "{words}: off by {rate} and {latency}");
        let first = Time::ps(phases[0].until.as_ps() / 2);
        assert!(phases[0].outcome.simulated < first, "{words}: {} were simulated", phases[0].outcome.simulated);
        // It is not the same all along.
        let rates = |of: &Phase| of.outcome.rate.bytes_per_second;
        assert!(off(rates(&phases[1]), rates(&phases[0])) > 0.05, "{words}");
        assert!(phases.windows(2).all(|two| two[0].until == two[1].from), "{words}");
    }
}

#[test]
fn what_cannot_be_noted_without_time_is_simulated() {
    let desktop = small("nvme-desktop", &["drive"], &CELLS);
    let words = "--rw=randwrite --bs=4k --iodepth=32 --runtime=200ms --thinktime=100us --thinktime_blocks=64";
    let found = in_phases(&desktop, words);
    let all = run(&desktop, &shipped::jobs(words), Options::USUAL, None).expect("it runs");
    assert!(found.len() <= 1, "{} phases", found.len());
    for phase in found {
        assert!(off(iops(&phase.outcome), iops(&all)) < 0.006);
    }
    // In equilibrium nothing is used up.
    let steady = small("nvme-desktop", &["drive"], &["drive.flash.state=steady"]);
    assert!(in_phases(&steady, "--rw=randwrite --bs=4k --iodepth=32 --runtime=200ms").is_empty());
}

/// What numbers do is said of the first phase, in which other drives and other blocks can begin, too.
#[test]
fn what_numbers_do_is_of_the_first_phase() {
    let desktop = small("nvme-desktop", &["drive"], &[&CELLS[..], &["drive.controller.write=1.5us"]].concat());
    let setting =
        Setting { blueprint: desktop, jobs: shipped::jobs("--rw=randwrite --bs=4k --iodepth=32 --runtime=1") };
    let (library, mut sources) = (Library::new(None).expect("the shipped files can be read"), Sources::default());
    let found = outlook(&setting, &library, &mut sources, Options::USUAL, &|_| {}).expect("it runs");
    let only = found.only.expect("its cells are used up");
    assert!((Time::ms(150)..Time::ms(220)).contains(&only.lasts), "{only:?}");
    assert_eq!(
        only.words(|time| time.to_string()),
        format!("All of this is of the first {}: then the single-bit cells of drive are used up.", only.lasts)
    );
    let before = found.sensitivities.before.throughput_bytes_per_s;
    assert!(off(before, 4_096.0 / 1.5e-6) < 0.01, "{before}");
    let named =
        |name: &str| found.sensitivities.numbers.iter().find(|number| number.parameter == name).expect("a number");
    assert!(named("drive.controller.write").size() > 0.05);
    assert!(!named("drive.flash.over_provisioning").effects.is_empty(), "nothing refuses it");
}

/// What limits is said of the phase that lasts longest. An account of the beginning names what does next to nothing.
#[test]
fn what_is_named_limits_the_longest_phase() {
    let (controller, dies) = ("drive.controller", "drive.channel*.die*.plane*");
    let random = "--rw=randwrite --bs=4k --iodepth=32";
    let slower = &["drive.controller.write=1.5us"][..];
    for (runtime, more, named, other, of) in
        [("600ms", &[][..], dies, controller, 1), ("220ms", slower, controller, dies, 0)]
    {
        let desktop = small("nvme-desktop", &["drive"], &[&CELLS, more].concat());
        let words = format!("{random} --runtime={runtime}");
        let setting = Setting { blueprint: desktop.clone(), jobs: shipped::jobs(&words) };
        let options = Options { not_longer_than_needed: true, ..Options::USUAL };
        let listening = Listening { watcher: &|_| None, news: &|_| {} };
        let explanation = Explanation::of(&setting, options, None, listening).expect("it runs");
        let report = explanation.json(&desktop, ("small", &words));
        assert_eq!(report["window"]["phase"], of, "{words}");
        let phases = report["phases"].as_array().expect("phases");
        let [from, until] = ["from_ps", "until_ps"].map(|of_phase| phases[of][of_phase].as_u64().expect("a time"));
        let window = ["from_ps", "until_ps"].map(|of| report["window"][of].as_u64().expect("a time"));
        assert!(from <= window[0] && window[1] <= until, "{words}: {window:?} of {from} to {until}");
        // Side by side with others it is said, too.
        let mut sources = Sources::default();
        let file = sources.add("saved.json", report.to_string());
        let columns = read(&sources, file).expect("its own report");
        assert_eq!(columns[0].phase, Some(Beside { from_ps: from as f64, until_ps: until as f64 }));
        let compared =
            Comparison::new([columns.clone(), columns].concat(), Vec::new(), 1, None).expect("there are two");
        let verdict = compared.verdict(&compared.groups[0]).concat();
        assert_eq!(verdict.matches("it is not the same all along").count(), 2, "{verdict}");
        let limiting = explanation.diagnosis.expect("requests ended").limiting().expect("something limits");
        assert!(limiting.hops.iter().any(|hop| hop == named), "{words}: {:?}", limiting.hops);
        // All of it, simulated: what is named gains, and what limits the other phase hardly does.
        let got = |of: &Blueprint| iops(&run(of, &setting.jobs, Options::USUAL, None).expect("it runs"));
        let before = got(&desktop);
        let gain = |hop: &str| got(&shipped::twice_as_fast(&desktop, hop)) / before - 1.0;
        let (ours, others) = (gain(named), gain(other));
        assert!(ours > 0.05 && others < ours / 2.0, "{words}: {named} {ours}, {other} {others}");
        let (said, all) = (explanation.explained.throughput(), before * 4_096.0);
        assert!(off(said, all) < 0.006, "{words}: {said} instead of {all}");
    }
}
