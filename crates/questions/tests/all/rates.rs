//! What rates are divided by, where jobs pause: as in results of fio, and as in the long run.

use std::fs;
use std::path::Path;

use hopscope_files::job_file::{self, Job, JobFile};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::{self, Figures, Run};
use hopscope_machine::run::{Options, Outcome, Stop, run};
use hopscope_questions::explain::{EXTENT, explain};
use hopscope_questions::trials::{Setting, Trials};
use serde_json::Value;

const PAUSES: [&str; 11] = [
    "think-10s",
    "think-400ms",
    "think-blocks",
    "think-deep",
    "think-deep-blocks",
    "think-deep-size",
    "think-issue",
    "think-mix",
    "think-numjobs",
    "think-size",
    "think-two",
];

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/fio/{name}.json"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn machine(system: &str) -> (Library, Sources, Blueprint) {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let blueprint = Blueprint::read(&library, &mut sources, file).expect("a right system");
    (library, sources, blueprint)
}

fn setting(system: &str, options: &str) -> (Blueprint, JobFile) {
    let (_, mut sources, blueprint) = machine(system);
    let words: Vec<&str> = options.split(' ').collect();
    (blueprint, job_file::read_options(&mut sources, &words).expect("right options"))
}

fn outcome(system: &str, options: &str) -> Outcome {
    let (blueprint, jobs) = setting(system, options);
    run(&blueprint, &jobs.jobs, Options::default(), None).expect("the job runs")
}

fn figures(system: &str, options: &str) -> Figures {
    Figures::of(&outcome(system, options).jobs[0]).expect("transfers ended")
}

/// What a report of fio's shape says of the directions of a job: transfers, runtime, transfers a second, bytes, bytes a
/// second.
fn sides(job: &Value) -> Vec<(u64, u64, f64, u64, u64)> {
    let side = |name: &str| {
        let of = |key: &str| job[name][key].as_u64().unwrap_or_else(|| panic!("{name}.{key}"));
        (of("total_ios"), of("runtime"), job[name]["iops"].as_f64().unwrap(), of("io_bytes"), of("bw_bytes"))
    };
    ["read", "write"].map(side).into_iter().filter(|side| side.0 > 0).collect()
}

#[test]
fn fio_divides_by_whole_milliseconds_up_to_the_end_of_the_last_pause() {
    for name in PAUSES {
        let report: Value = serde_json::from_str(&fixture(name)).expect("fio writes JSON");
        for job in report["jobs"].as_array().expect("jobs") {
            for (transfers, runtime, iops, bytes, rate) in sides(job) {
                assert!((iops - 1e3 * transfers as f64 / runtime as f64).abs() < 1e-6, "{name}");
                assert_eq!(rate, 1_000 * bytes / runtime, "{name}");
                // One is rounded up, the other one down.
                assert_eq!(job["job_runtime"].as_u64(), Some(runtime - 1), "{name}");
            }
        }
    }
    let report: Value = serde_json::from_str(&fixture("think-group")).expect("fio writes JSON");
    let group = &report["jobs"][0];
    let (transfers, runtime, iops, ..) = sides(group)[0];
    assert!(transfers == 9 && (1_200..1_300).contains(&runtime), "of three jobs the time of the longest");
    assert!((iops - 9e3 / runtime as f64).abs() < 1e-6 && group["job_runtime"].as_u64() > Some(3 * 1_200));
}

#[test]
fn jobs_that_pause_end_after_as_many_requests_and_pauses_as_those_of_fio() {
    for name in PAUSES {
        let (library, mut sources, mut blueprint) = machine("nvme-desktop");
        let file = sources.add(name, fixture(name));
        let mut jobs = job_file::read(&sources, file).unwrap_or_else(|problems| panic!("{name}: {problems}"));
        blueprint.settle(&mut jobs, &library, &mut sources).expect("the default device stands for the file");
        let outcome = run(&blueprint, &jobs.jobs, Options::default(), None).expect("the jobs run");
        let ours = fio_json::report(&Run { jobs: &jobs, outcome: &outcome, seed: 1, wall: None, price: None });
        let theirs: Value = serde_json::from_str(&fixture(name)).expect("fio writes JSON");
        let (ours, theirs) = (ours["jobs"].as_array().unwrap(), theirs["jobs"].as_array().unwrap());
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (ours, theirs) in ours.iter().zip(theirs) {
            let count = |sides: &[(u64, u64, f64, u64, u64)]| sides.iter().map(|side| side.0).sum::<u64>();
            let (got, wanted) = (sides(ours), sides(theirs));
            assert_eq!(count(&got), count(&wanted), "{name}");
            let (runtime, measured) = (got[0].1, wanted[0].1);
            // A pause took up to 5 ms more than was asked for where fio ran, and a request up to 10 ms.
            let late = measured.saturating_sub(runtime);
            assert!(runtime <= measured && late <= 15 * wanted[0].0, "{name}: {runtime} ms and {measured} ms");
            for (transfers, its_runtime, iops, bytes, rate) in got {
                assert_eq!(its_runtime, runtime, "{name}: a direction has the time of the whole job");
                let within = |got: f64, amount: u64| {
                    let of = |ms: u64| 1e3 * amount as f64 / ms as f64;
                    (of(runtime) - 1.0..=of(runtime - 1) + 1.0).contains(&got)
                };
                assert!(within(iops, transfers) && within(rate as f64, bytes), "{name}: {iops} in {runtime} ms");
            }
            assert!(runtime - ours["job_runtime"].as_u64().unwrap() <= 1, "{name}");
        }
    }
}

#[test]
fn a_job_whose_time_is_over_still_ends_its_pause() {
    let timed = |think: &str| {
        let words = format!("--rw=read --bs=4k --runtime=1 --time_based --thinktime={think}");
        let ran = outcome("piix4e-one-disk", &words);
        assert_eq!(ran.stop, Stop::Runtime);
        let figures = Figures::of(&ran.jobs[0]).expect("transfers ended");
        assert_eq!((figures.bytes_per_second, ran.measured), (ran.rate.bytes_per_second, figures.span));
        figures
    };
    let (long, short) = (timed("10s"), timed("400ms"));
    assert!(long.count == 1 && (long.iops - 0.1).abs() < 0.001, "{long:?}");
    assert!(short.count == 3 && (short.iops - 2.5).abs() < 0.02, "{short:?}");
    let sized = figures("piix4e-one-disk", "--rw=read --bs=4k --size=8k --thinktime=500ms");
    assert!(sized.count == 2 && sized.span > Time::ms(1_000) && sized.span < Time::ms(1_020), "{sized:?}");
    let longer = outcome("piix4e-one-disk", "--rw=read --bs=4k --size=1m --thinktime=400ms");
    assert_eq!(longer.stop, Stop::Finished, "pauses take no effort: a size is moved however long that takes");
    assert!(longer.simulated > Time::ms(102_400), "{}", longer.simulated);
}

#[test]
fn requests_in_flight_when_the_time_is_over_are_counted_with_the_time_that_they_take() {
    let ran = outcome("piix4e-one-disk", "--rw=randread --bs=4k --iodepth=16 --runtime=500ms");
    let job = &ran.jobs[0];
    let got = job.got.as_ref().expect("requests ended");
    assert_eq!((job.until, ran.simulated), (got.last_end, got.last_end));
    assert!(got.last_end > Time::ms(550), "sixteen requests of an arm: {}", got.last_end);
    // Whoever looks at a window takes what ended in it.
    let (blueprint, jobs) = setting("piix4e-one-disk", "--rw=randread --bs=4k --iodepth=16 --runtime=500ms");
    let cut = run(&blueprint, &jobs.jobs, Options { cut: true, ..Options::default() }, None).expect("the job runs");
    assert_eq!(cut.simulated, Time::ms(500));
    assert_eq!(cut.jobs[0].got.as_ref().map(|got| got.count + 16), Some(got.count));
}

#[test]
fn jobs_together_have_the_time_of_the_longest_as_a_group_of_fio_has() {
    let ran = outcome(
        "piix4e-one-disk",
        "--rw=read --bs=4k --runtime=1 --time_based --thinktime=100ms --name=a --name=b --thinktime=3s",
    );
    let [a, b] = [0, 1].map(|job: usize| Figures::of(&ran.jobs[job]).expect("transfers ended"));
    let all = Figures::of_all(&ran.jobs).expect("transfers ended");
    assert_eq!((all.count, all.span), (a.count + b.count, b.span));
    assert!(a.span < Time::ms(1_200) && b.span > Time::ms(3_000), "{a:?} {b:?}");
    assert_eq!(all.bytes_per_second, ran.rate.bytes_per_second);
}

#[test]
fn a_ramp_that_ends_in_a_pause_leaves_whole_pauses_to_the_figures() {
    // fio 3.33 forgets after the ramp that it has paused: `think-ramp.json` has seven requests instead of three or four.
    let words = "--rw=read --bs=4k --ramp_time=1 --runtime=1 --time_based --thinktime=300ms";
    let ran = figures("piix4e-one-disk", words);
    assert!(ran.count == 3 && (ran.iops - 1.0 / 0.3).abs() < 0.02, "{ran:?}");
    let report: Value = serde_json::from_str(&fixture("think-ramp")).expect("fio writes JSON");
    assert_eq!(sides(&report["jobs"][0])[0].0, 7);
}

#[test]
fn a_job_that_starts_later_gets_what_it_gets_at_once() {
    let words = "--rw=read --bs=4k --runtime=1 --time_based";
    let (at_once, later) =
        (figures("piix4e-one-disk", words), outcome("piix4e-one-disk", &format!("{words} --startdelay=2")));
    let got = Figures::of(&later.jobs[0]).expect("requests ended");
    assert_eq!(later.jobs[0].from, Time::ms(2_000));
    assert_eq!((got.count, (later.simulated - Time::ms(2_000)).as_seconds_f64().floor()), (at_once.count, 1.0));
    // Until then another one has the machine for itself.
    let both = |delay: &str| {
        let words = format!(
            "--ramp_time=500ms --runtime=500ms --time_based --bs=4k --name=a --rw=read --name=b --rw=read --offset=1g {delay}"
        );
        let (blueprint, jobs) = setting("piix4e-one-disk", words.trim_end());
        let all = Job { ramp_time: Time::ZERO, runtime: Some(Time::ms(500)), ..jobs.jobs[0].clone() };
        let before = [all.clone(), Job { ramp_time: Time::ZERO, runtime: all.runtime, ..jobs.jobs[1].clone() }];
        let of = |jobs: &[Job]| {
            let ran = run(&blueprint, jobs, Options::default(), None).expect("the jobs run");
            ran.jobs.iter().map(|job| Figures::of(job).map_or(0, |got| got.count)).collect::<Vec<u64>>()
        };
        (of(&before), of(&jobs.jobs))
    };
    let ((alone, then), (together, at_once)) = (both("--startdelay=500ms --ramp_time=0"), both(""));
    assert!(alone[0] > 3 * together[0] / 2 && alone[1] <= 1, "{alone:?} {together:?}");
    assert!(then[1] > 0 && then[0].abs_diff(at_once[0]) <= at_once[0] / 20, "{then:?} {at_once:?}");
}

#[test]
fn a_job_that_pauses_converges_to_one_request_in_its_latency_and_its_pause() {
    for (system, think) in [("nvme-desktop", "400ms"), ("piix4e-one-disk", "10s"), ("sata-ssd", "1ms")] {
        let ran = outcome(system, &format!("--rw=read --bs=4k --thinktime={think}"));
        assert_eq!(ran.stop, Stop::Converged, "{system} {think}: {:?}", ran.stages);
        let pause = setting(system, &format!("--rw=read --bs=4k --thinktime={think}")).1.jobs[0].think.time;
        let got = Figures::of(&ran.jobs[0]).expect("requests ended");
        let latency = ran.jobs[0].got.as_ref().unwrap().latency_ns.mean() * 1e-9;
        // The processor's work on a request comes before its latency: 78 us in 1999.
        let own = 1.0 / got.iops - latency - pause.as_seconds_f64();
        assert!((0.0..80e-6).contains(&own), "{system} {think}: {own} s a request are neither");
    }
}

#[test]
fn pauses_after_many_requests_are_in_a_mean_as_often_as_in_a_long_run() {
    for (every, think) in [(1_000, "10ms"), (700, "1s"), (64, "3ms")] {
        let words = format!("--rw=read --bs=4k --size=1g --thinktime={think} --thinktime_blocks={every}");
        let (blueprint, jobs) = setting("nvme-desktop", &words);
        let endless = jobs.jobs.iter().cloned().map(|mut job| {
            job.size_bytes = None;
            job
        });
        let endless: Vec<_> = endless.collect();
        let ran = run(&blueprint, &endless, Options::default(), None).expect("the job runs");
        assert_eq!(ran.stop, Stop::Converged, "{words}: {:?}", ran.stages);
        // Whole bursts, each with its pause.
        let requests = every * 100;
        let long = figures("nvme-desktop", &words.replace("--size=1g", &format!("--size={}", requests * 4_096)));
        assert_eq!(long.count, requests);
        let off = ran.rate.bytes_per_second / long.bytes_per_second - 1.0;
        assert!(off.abs() < 2e-3, "{words}: {off}");
    }
}

#[test]
fn a_job_that_pauses_beside_one_that_does_not_has_its_own_rate() {
    let words = "--rw=randread --bs=4k --name=a --iodepth=1 --name=b --thinktime=50ms";
    let ran = outcome("piix4e-one-disk", words);
    let [a, b] = [0, 1].map(|job: usize| Figures::of(&ran.jobs[job]).expect("requests ended"));
    assert_eq!(a.span, b.span, "one window");
    let latency = ran.jobs[1].got.as_ref().unwrap().latency_ns.mean() * 1e-9;
    assert!((b.iops * (0.05 + latency) - 1.0).abs() < 0.05, "{b:?} with a latency of {latency} s");
    assert!(((a.bytes_per_second + b.bytes_per_second) / ran.rate.bytes_per_second - 1.0).abs() < 1e-9);
}

#[test]
fn a_pause_of_a_thousand_seconds_takes_nearly_everything_away() {
    for asked in ["--rw=read --bs=4k", "--rw=read --bs=4k --runtime=1 --time_based"] {
        let (blueprint, jobs) = setting("piix4e-one-disk", asked);
        let before = Setting { blueprint, jobs: jobs.jobs };
        let mut slow = before.clone();
        slow.jobs[0].think.time = Time::ms(1_000_000);
        let explained = explain(&before.blueprint, &before.jobs, Options::default(), EXTENT, None).expect("it runs");
        let mut trials = Trials::new(&before, 1, &explained).expect("requests ended");
        let gain = trials.gains(&[slow.clone()], &|_, _| {}).expect("it runs")[0].expect("nothing refuses it");
        assert!(gain.throughput.mean < -0.9999, "{asked}: {gain:?}");
        let after = explain(&slow.blueprint, &slow.jobs, Options::default(), EXTENT, None).expect("it runs");
        assert!(after.throughput() < 5.0, "{asked}: {} bytes a second", after.throughput());
    }
}
