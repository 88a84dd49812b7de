//! A drive's own overheads, and those of the host on which it was measured.

use hopscope_files::job_file;
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Options, run};
use hopscope_parts::parameters::Value;

fn machine(system: &str, changes: &[&str]) -> Blueprint {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let mut blueprint = Blueprint::read(&library, &mut sources, file).unwrap_or_else(|problems| panic!("{problems}"));
    for change in changes {
        blueprint.set(change).unwrap_or_else(|problem| panic!("{change}: {problem:?}"));
    }
    blueprint
}

/// MB/s.
fn rate(system: &str, changes: &[&str], options: &str) -> f64 {
    let mut sources = Sources::default();
    let jobs = job_file::read_options(&mut sources, &options.split(' ').collect::<Vec<_>>());
    let jobs = jobs.unwrap_or_else(|problems| panic!("{options}: {problems}")).jobs;
    let outcome = run(&machine(system, changes), &jobs, Options::default(), None).expect("the job runs");
    println!("{system} {changes:?} {options}: {:.3} MB/s", outcome.rate.bytes_per_second / 1e6);
    outcome.rate.bytes_per_second / 1e6
}

const NEW: &str = "scsi-ultra160";
const SEQUENTIAL: &str = "--rw=read --bs=2k --runtime=500ms --iodepth=";

fn deep(pattern: &str, depth: u32) -> String {
    format!("{pattern}{depth}")
}

/// MSR-TR-2000-55 measured 17.7 MB/s one deep, 23 to 24 from two deep on; 105 reads and writes of 8 KB a second at random.
#[test]
fn the_host_of_the_measurement_is_not_counted_on_another_host() {
    let one = rate(NEW, &[], &deep(SEQUENTIAL, 1));
    assert!((17.4..18.0).contains(&one), "one deep: {one} MB/s");
    for depth in [2, 3, 8] {
        let many = rate(NEW, &[], &deep(SEQUENTIAL, depth));
        assert!((23.0..24.0).contains(&many), "{depth} deep: {many} MB/s");
    }
    for rw in ["randread", "randwrite"] {
        let a_second = rate(NEW, &[], &format!("--rw={rw} --bs=8k --iodepth=1 --runtime=5")) * 1e6 / 8_192.0;
        assert!((98.0..115.0).contains(&a_second), "{rw}: {a_second} a second");
    }
    // A second drive, measured on another host: the media decide at every depth.
    for depth in [1, 3, 8] {
        let barracuda = rate("barracuda-4lp", &[], &deep(SEQUENTIAL, depth));
        assert!((9.0..9.5).contains(&barracuda), "Barracuda, {depth} deep: {barracuda} MB/s");
    }
}

#[test]
fn an_overhead_does_not_vanish_where_commands_queue() {
    let slow = ["disk0.overhead.read_hit_after_read=184us", "disk0.overhead.write_hit_after_write=189us"];
    for depth in [2, 3, 8, 32] {
        for (pattern, us) in [(SEQUENTIAL, 184.0), ("--rw=write --bs=2k --runtime=500ms --iodepth=", 189.0)] {
            let got = rate(NEW, &slow, &deep(pattern, depth));
            assert!(got <= 2_048.0 / us * 1.001, "{pattern}{depth}: {got} MB/s, and {us} us a command");
        }
    }
    // What continues a read that waits is sought no more than what continues one that is there.
    let miss = ["disk0.overhead.read_miss_after_read=5ms"];
    let got = rate(NEW, &miss, &deep(SEQUENTIAL, 8));
    assert!((23.0..24.0).contains(&got), "{got} MB/s");
}

#[test]
fn the_drives_overheads_and_the_validation_hosts_are_disksims() {
    let machine = machine("barracuda-4lp-validation", &[]);
    let time = |part: &str, key: &str| {
        let part = machine.parts().iter().find(|found| found.name == part).expect("a part of the system");
        match part.parameters.entries[key].value {
            Value::Time(time) => time,
            ref other => panic!("{key} is {other:?}"),
        }
    };
    let host = time("initiator", "host.command");
    let disksims = [
        ("read_hit_after_read", 82_000),
        ("read_hit_after_write", 596_000),
        ("read_miss_after_read", 613_070),
        ("read_miss_after_write", 568_130),
        ("write_hit_after_read", 1_010_000),
        ("write_hit_after_write", 929_100),
        ("write_miss_after_read", 1_053_630),
        ("write_miss_after_write", 815_600),
    ];
    for (key, ns) in disksims {
        assert_eq!(time("disk", &format!("overhead.{key}")) + host, Time::ns(ns), "{key}");
    }
    let alone = rate("barracuda-4lp", &[], &deep(SEQUENTIAL, 1));
    let held = rate("barracuda-4lp", &["initiator.host.command=1ms"], &deep(SEQUENTIAL, 1));
    assert!(held < 2.048 && alone > 9.0, "a host that takes a millisecond a command: {held} and {alone} MB/s");
}
