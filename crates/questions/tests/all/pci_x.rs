//! PCI and PCI-X in whole machines: nothing is faster than its bus, and what cannot be is refused.

use hopscope_files::job_file::Job;
use hopscope_files::library::Library;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::fio_json::Figures;
use hopscope_machine::run::run;

use crate::shipped::{WINDOW, jobs, machine};

use crate::random_machines;

const MELODY: &str = "myrinet-melody";

const WRITE: &str = "--filename=nic --rw=write --bs=4k --iodepth=32 --time_based --runtime=300us";

/// Bytes per second of all jobs.
fn rate(blueprint: &Blueprint, jobs: &[Job]) -> f64 {
    let outcome = run(blueprint, jobs, WINDOW, None).expect("the job runs");
    let figures = outcome.jobs.iter().filter_map(Figures::of);
    figures.map(|figures| figures.bytes_per_second).sum()
}

#[test]
fn nothing_is_faster_than_its_bus_on_random_segments() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut moved = 0;
    for seed in 500..600 {
        let drawn = random_machines::pci_x(&library, seed, "150us");
        let number = |path: &str| {
            let found = drawn.blueprint.numbers().into_iter().find(|(name, _)| name == path);
            found.map(|(_, entry)| entry.value.clone())
        };
        use hopscope_parts::parameters::Value;
        let segment = if number("pci2.clock").is_some() { "pci2" } else { "pci" };
        let clock = |path: &str| match number(path) {
            Some(Value::Period(clock)) => clock,
            other => panic!("{path}: {other:?}"),
        };
        let width = |path: &str| match number(path) {
            Some(Value::Bytes(bytes)) => bytes,
            other => panic!("{path}: {other:?}"),
        };
        let clock = clock(&format!("{segment}.clock")).max(clock("nic.pci.clock"));
        let width = width(&format!("{segment}.width")).min(width("nic.pci.width"));
        let ceiling = width as f64 / clock.as_seconds_f64();
        let outcome = run(&drawn.blueprint, &drawn.jobs, WINDOW, None).expect("the jobs run");
        let bytes: u64 = outcome.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.bytes).sum();
        let got = bytes as f64 / outcome.simulated.as_seconds_f64();
        moved += usize::from(got > 0.0);
        assert!(got < ceiling, "seed {seed}: {got} of {ceiling}: {}", drawn.words);
    }
    assert!(moved > 80, "{moved} of 100 machines moved something");
}

#[test]
fn a_card_that_a_fixed_segment_overclocks_is_refused_where_its_clock_is_written() {
    let mut melody = machine(MELODY, &["nic.pci.clock=66.666667 MHz"]);
    let problems = melody.set("pci.speed=fixed").expect_err("a 66 MHz card does not run at 133");
    let text = format!("{problems:?}");
    assert!(text.contains("a 67 MHz card clocked at 133 MHz"), "{text}");
    // The same card slows a segment down that settles.
    assert!(rate(&machine(MELODY, &["nic.pci.clock=66.666667 MHz"]), &jobs(WRITE)) < 540e6);
}

#[test]
fn a_segment_of_32_bits_stays_one() {
    let mut disk = machine("piix4e-one-disk", &[]);
    for change in ["pci.width=8 B", "pci.mode=PCI-X"] {
        assert!(disk.clone().set(change).is_err(), "{change}");
    }
    assert!(disk.set("pci.speed=slowest card").is_ok(), "no card says how fast it is");
}
