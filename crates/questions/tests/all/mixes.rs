//! Jobs that mix directions and sizes, think, and run one after the other.

use hopscope_files::job_file::{self, JobFile};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::{self, Figures};
use hopscope_machine::run::{Failure, Options, Outcome, run};
use hopscope_observe::account::Use;
use hopscope_questions::explain::{EXTENT, explain};
use hopscope_questions::whatif::{Setting, base, sensitivities};

const ONE: &str = "piix4e-one-disk";

fn read(options: &str) -> (Blueprint, JobFile) {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(ONE).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let blueprint = Blueprint::read(&library, &mut sources, file).expect("a right system");
    let words: Vec<&str> = options.split(' ').collect();
    (blueprint, job_file::read_options(&mut sources, &words).expect("right options"))
}

fn outcome(options: &str) -> Outcome {
    let (blueprint, jobs) = read(options);
    run(&blueprint, &jobs.jobs, Options::default(), None).expect("the job runs")
}

#[test]
fn a_mix_has_both_directions_in_the_shares_that_were_asked_for() {
    let ran = outcome("--rw=randrw --rwmixread=70 --bssplit=2k/50:4k/50,8k/100 --size=8m --norandommap");
    let [reads, writes] = [0, 1].map(|side| Figures::of_side(&ran.jobs[0], side).expect("both directions"));
    let share = reads.count as f64 / (reads.count + writes.count) as f64;
    assert!((share - 0.7).abs() < 0.04, "{share} of {} are reads", reads.count + writes.count);
    assert_eq!(writes.bytes, writes.count * 8_192);
    let mean = reads.bytes as f64 / reads.count as f64;
    assert!((mean / 3_072.0 - 1.0).abs() < 0.05, "reads of {mean} bytes in the mean");
    let all = Figures::of(&ran.jobs[0]).expect("transfers ended");
    assert_eq!((all.bytes, all.count), (reads.bytes + writes.bytes, reads.count + writes.count));
    assert!(all.bytes <= 8 << 20 && all.bytes > (8 << 20) - 8_192, "the size is that of both together");
}

#[test]
fn the_report_of_a_mix_has_both_directions() {
    let (blueprint, jobs) = read("--rw=rw --bs=64k --size=2m");
    let outcome = run(&blueprint, &jobs.jobs, Options::default(), None).expect("the job runs");
    let report = fio_json::report(&fio_json::Run { jobs: &jobs, outcome: &outcome, seed: 1, wall: None, price: None });
    let job = &report["jobs"][0];
    let bytes = |side: &str| job[side]["io_bytes"].as_u64().expect("a number");
    assert!(bytes("read") > 0 && bytes("write") > 0 && bytes("read") + bytes("write") == 2 << 20);
    assert_eq!(job["read"]["clat_ns"]["N"].as_u64().map(|n| n * 65_536), Some(bytes("read")));
    assert_eq!(job["trim"]["io_bytes"], 0);
}

#[test]
fn think_time_is_added_to_every_request_or_to_every_few() {
    let gap_us = |more: &str| {
        let ran = outcome(&format!("--rw=read --bs=4k --size=64k --time_based --ramp_time=1 --runtime=2 {more}"));
        let figures = Figures::of(&ran.jobs[0]).expect("transfers ended");
        1e6 / figures.iops
    };
    let plain = gap_us("--iodepth=1");
    for (more, added) in [
        ("--thinktime=10ms", 10_000.0),
        ("--thinktime=10ms --thinktime_blocks=4", 2_500.0),
        ("--thinktime=700", 700.0),
        ("--thinktime=10ms --thinktime_blocks=4 --thinktime_blocks_type=issue", 2_500.0),
    ] {
        let got = gap_us(more) - plain;
        // The drive is ready sooner after a pause, and the window cuts the last one.
        assert!((got - added).abs() < 0.02 * added + 40.0, "{more}: {got} us instead of {added}");
    }
    let deep = gap_us("--iodepth=4 --thinktime=10ms");
    assert!(deep > 10_000.0, "what ends while the thread waits for all four counts for the next pause already: {deep}");
}

#[test]
fn a_job_behind_a_stonewall_gets_what_it_gets_alone_and_begins_when_the_others_have_ended() {
    let ran = outcome("--bs=64k --size=2m --name=a --rw=write --name=b --stonewall --rw=read --name=c --rw=read");
    let [first, second] = &ran.stages[..] else { panic!("two stages: {:?}", ran.stages) };
    assert!(first.end <= second.start && first.start == Time::ZERO && second.end == ran.simulated);
    assert_eq!(ran.jobs[0].sides[1].as_ref().map(|got| got.last_end <= first.end), Some(true));
    let alone = outcome("--bs=64k --size=2m --rw=write");
    assert_eq!(
        ran.jobs[0].sides[1].as_ref().map(|got| got.last_end),
        alone.jobs[0].sides[1].as_ref().map(|g| g.last_end)
    );
    for job in &ran.jobs[1..] {
        assert_eq!(
            (job.from, job.sides[0].as_ref().map(|got| got.bytes)),
            (second.from, Some(2 << 20)),
            "{}",
            job.name
        );
    }

    let timed = "--bs=64k --time_based --ramp_time=100ms --size=1m --iodepth=4 --name=a --runtime=300ms --rw=read";
    let ran = outcome(&format!("{timed} --name=b --stonewall --runtime=500ms --rw=randwrite"));
    let [first, second] = &ran.stages[..] else { panic!("two stages: {:?}", ran.stages) };
    assert!(first.from == Time::ms(100) && first.end >= Time::ms(400) && first.end < Time::ms(500), "{first:?}");
    assert!(second.start == first.end, "requests in flight end first: {second:?}");
    let over = second.end - second.start;
    assert!(over >= Time::ms(600) && over < Time::ms(700), "{second:?}");
    for (job, stage) in ran.jobs.iter().zip(&ran.stages) {
        let figures = Figures::of(job).expect("transfers ended");
        assert_eq!((job.from, job.until, figures.span), (stage.from, stage.end, stage.end - stage.from));
    }
    assert_eq!(ran.measured, first.end - first.from + (second.end - second.from));
}

#[test]
fn thinking_is_the_workloads_own_and_nothing_goes_without_a_name() {
    let (blueprint, jobs) = read("--rw=randrw --bs=64k --size=64m --thinktime=20ms --time_based --runtime=2");
    let explained = explain(&blueprint, &jobs.jobs, Options::default(), EXTENT, None).expect("the job runs");
    assert_eq!(explained.account.unattributed(), []);
    let thinks = |entry: &&hopscope_observe::account::Entry| entry.phase == "think time";
    let pci = explained.account.lanes.iter().find(|lane| lane.lane == "pci").expect("the bus was used");
    let thought = pci.entries.iter().find(thinks).expect("the bus has nothing to do meanwhile");
    assert_eq!(thought.class, Use::Nothing, "the workload is its author");
    assert!(thought.time > Time::ps(explained.account.span().as_ps() / 4), "{thought:?}");
    assert!(explained.account.path.iter().any(|entry| thinks(&entry)), "it is on the critical path");
}

#[test]
fn a_mix_and_its_think_time_are_numbers_that_can_be_moved() {
    let (blueprint, jobs) =
        read("--rw=rw --rwmixread=60 --bs=4k --size=64k --thinktime=900 --time_based --runtime=100ms");
    let setting = Setting { blueprint, jobs: jobs.jobs };
    let base = base(&setting, Options::default()).expect("the job runs");
    let found = sensitivities(&setting, 1, &base, &|_| {}).expect("the job runs");
    let of = |name: &str| found.numbers.iter().find(|number| number.parameter == name).expect("a number of the job");
    let think = of("job.thinktime");
    assert_eq!((think.value.as_str(), of("job.rwmixread").value.as_str()), ("900 us", "60 %"));
    assert!(think.elasticity.is_some_and(|elasticity| elasticity < -0.2), "{think:?}");
    assert_eq!(of("job.rwmixread").effects.len(), 2);
}

#[test]
fn what_looks_at_a_window_refuses_jobs_that_run_one_after_the_other() {
    let (blueprint, jobs) = read("--bs=64k --size=1m --name=a --rw=read --name=b --stonewall --rw=read");
    match explain(&blueprint, &jobs.jobs, Options::default(), EXTENT, None) {
        Err(Failure::Input(problems)) => assert!(problems.to_string().contains("`b` runs after other jobs")),
        other => panic!("{other:?}"),
    }
}
