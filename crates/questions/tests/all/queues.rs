//! Drives with several pairs of queues: a processor each, and threads that stay on theirs.

use hopscope_kernel::Time;
use hopscope_machine::run::{Outcome, run};
use hopscope_machine::trace::Window;

use crate::shipped::{WINDOW, changed, jobs, machine};
use crate::trace_packets::{analysed, written};

const SYSTEM: &str = "nvme-processors";
const JOB: &str = "--rw=randread --bs=4k --time_based --ramp_time=500us --runtime=2ms";

fn ran(changes: &[&str], job: &str) -> Outcome {
    let (machine, jobs) = (machine(SYSTEM, changes), jobs(&format!("{JOB} {job}")));
    run(&machine, &jobs, WINDOW, None).unwrap_or_else(|failure| panic!("{job}: {failure:?}"))
}

/// How many requests of each job have ended: all runs are equally long.
fn each(changes: &[&str], job: &str) -> Vec<f64> {
    ran(changes, job).jobs.iter().map(|job| job.got.as_ref().map_or(0, |got| got.count) as f64).collect()
}

fn all(changes: &[&str], job: &str) -> f64 {
    each(changes, job).iter().sum()
}

/// Everything that a processor does for a request, in an eighth of the time.
const EIGHTH: [&str; 4] =
    ["driver.time_above=56250ps", "driver.submission=25ns", "driver.completion=25ns", "driver.interrupt.handler=50ns"];

#[test]
fn eight_processors_get_what_one_gets_that_takes_an_eighth_of_the_time() {
    let one = all(&[], "--iodepth=64");
    let eight = each(&[], "--iodepth=64 --numjobs=8");
    let (sum, fast) = (eight.iter().sum::<f64>(), all(&EIGHTH, "--iodepth=512"));
    assert!((sum / fast - 1.0).abs() < 0.05, "{sum} by eight, {fast} by a fast one");
    assert!(sum > 2.0 * one, "{sum} by eight, {one} by one");
    assert!(eight.iter().all(|share| (share * 8.0 / sum - 1.0).abs() < 0.15), "{eight:?}");
}

#[test]
fn until_the_drive_is_what_limits_two_processors_get_twice_what_one_gets() {
    let fast = ["drive.flash.read=5us", "drive.controller.read=50ns"];
    let one = all(&fast, "--iodepth=32");
    for (job, times) in [("--iodepth=32 --numjobs=2", 2.0), ("--iodepth=32 --numjobs=3", 3.0)] {
        let got = all(&fast, job);
        assert!((got / one / times - 1.0).abs() < 0.03, "{job}: {got} of {one}");
    }
    // Threads that share a processor share what one gets.
    let shared = all(&fast, "--iodepth=32 --numjobs=3 --cpus_allowed=5");
    assert!((shared / one - 1.0).abs() < 0.1, "{shared} of {one}");
    let of_two = all(&fast, "--iodepth=32 --numjobs=4 --cpus_allowed=2,6");
    assert!((of_two / one / 2.0 - 1.0).abs() < 0.1, "{of_two} of {one}");
}

#[test]
fn a_drive_with_one_pair_of_queues_has_its_requests_served_by_one_processor() {
    let served =
        |pairs: &str| all(&[pairs, "drive.flash.read=5us", "drive.controller.read=50ns"], "--iodepth=32 --numjobs=8");
    let (one, two, eight) = (
        served("drive.queue_pairs=1 queues"),
        served("drive.queue_pairs=2 queues"),
        served("drive.queue_pairs=8 queues"),
    );
    // Two processors fill the link.
    assert!(two > 1.5 * one && (eight / two - 1.0).abs() < 0.05, "{one} {two} {eight}");
}

#[test]
fn a_thread_runs_where_it_may() {
    // A processor's pace is its own, by a part in a hundred thousand.
    let alike = |a: &str, b: &str| (all(&[], a) / all(&[], b) - 1.0).abs() < 0.001;
    assert!(alike("--iodepth=8", "--iodepth=8 --cpus_allowed=7"));
    let two = "--iodepth=32 --numjobs=2";
    assert!(alike(two, &format!("{two} --cpus_allowed=0-1 --cpus_allowed_policy=split")));
    assert!(!alike(two, &format!("{two} --cpus_allowed=0")));

    // A driver that serves interrupts on the first processor leaves the others to threads, unless they may not.
    let of_two = ["cpu.processors=2 processors"];
    let scsi = |job: &str| {
        let machine = machine("scsi-ultra160", &of_two);
        let (rw, end) = ("--rw=read --bs=512 --iodepth=16 --numjobs=2", "--time_based --runtime=20ms");
        let outcome = run(&machine, &jobs(&format!("{rw} {end} {job}")), WINDOW, None).expect("it runs");
        outcome.processor.expect("a processor").busy()
    };
    assert!(scsi("") > Time::ZERO);
    assert_eq!(scsi(""), scsi("--cpus_allowed=0,1"));
    assert_ne!(scsi(""), scsi("--cpus_allowed=0"));
}

#[test]
fn processors_of_jobs_are_read_as_fio_reads_them() {
    let of = |options: &str| -> Vec<Vec<usize>> {
        jobs(&format!("--rw=read --numjobs=3 {options}")).into_iter().map(|job| job.processors).collect()
    };
    assert_eq!(of(""), [[0; 0]; 3]);
    assert_eq!(of("--cpus_allowed=5-7,2"), vec![vec![2, 5, 6, 7]; 3]);
    assert_eq!(of("--cpus_allowed=5,2 --cpus_allowed_policy=shared"), vec![vec![2, 5]; 3]);
    assert_eq!(of("--cpus_allowed=5,2 --cpus_allowed_policy=split"), [[2], [5], [2]]);
}

#[test]
fn a_processor_that_is_not_there_is_refused() {
    let refused = |system: &str, changes: &[&str]| {
        let machine = changed(system, changes).expect("a machine");
        run(&machine, &jobs("--rw=read --cpus_allowed=1,8 --runtime=1ms"), WINDOW, None).expect_err("it is refused")
    };
    for (system, number) in [(SYSTEM, 8), ("nvme-desktop", 1), ("atlas-15k", 1)] {
        let failure = format!("{:?}", refused(system, &[]));
        assert!(failure.contains(&format!("has no processor {number}")), "{system}: {failure}");
    }
}

/// What is written of the link says which queue each command is of, and is read as such.
#[test]
fn packets_tell_the_queues_apart() {
    let window = Window { from: Time::us(200), span: Time::us(600) };
    let job = "rw=randread bs=4k iodepth=4 numjobs=3";
    let capture = analysed(&written(SYSTEM, job, window).0);
    let [drive] = &capture.drives[..] else { panic!("{:?}", capture.drives.len()) };
    let numbers: Vec<Option<u16>> = drive.queues.keys().copied().collect();
    assert_eq!(numbers, [Some(1), Some(2), Some(3)], "{:?}", drive.queues);
    let commands: Vec<u64> = drive.queues.values().map(|queue| queue.commands).collect();
    let all: u64 = commands.iter().sum();
    assert!(commands.iter().all(|count| count * 4 > all && *count > 20), "{commands:?}");
    let rung: Vec<u16> = drive.doorbells.values().filter(|of| of.0).map(|of| of.1).collect();
    assert_eq!(rung, [1, 2, 3], "{:?}", drive.doorbells);
}
