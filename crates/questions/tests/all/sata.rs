//! The shipped machine with a Serial ATA drive: what its cable lets through, and what limits it.

use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Options, run};
use hopscope_questions::explain::{EXTENT, explain};

const RANDOM: &str = "--rw=randread --bs=4k --iodepth=32 --runtime=20ms";
const SINGLE: &str = "--rw=randread --bs=4k --iodepth=1 --runtime=20ms";
const WRITES: &str = "--rw=write --bs=128k --iodepth=32 --runtime=30ms";
const IN_ORDER: &str = "--rw=read --bs=128k --iodepth=32 --runtime=30ms";
const ONE_BY_ONE: &str = "--rw=read --bs=64k --iodepth=1 --runtime=20ms";

fn machine(changes: &[&str], options: &str) -> (Blueprint, Vec<Job>) {
    machine_with("", changes, options)
}

/// The machine with more parts, as a system file has them.
fn machine_with(more: &str, changes: &[&str], options: &str) -> (Blueprint, Vec<Job>) {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system("sata-ssd").expect("a shipped system");
    let file = sources.add(text.name, format!("{}{more}", text.text));
    let mut blueprint = Blueprint::read(&library, &mut sources, file).expect("a right system");
    for change in changes {
        blueprint.set(change).unwrap_or_else(|problem| panic!("{change}: {problem:?}"));
    }
    let words: Vec<&str> = options.split(' ').collect();
    (blueprint, job_file::read_options(&mut sources, &words).expect("right options").jobs)
}

/// MB/s.
fn rate(changes: &[&str], options: &str) -> f64 {
    let (blueprint, jobs) = machine(changes, options);
    let outcome = run(&blueprint, &jobs, Options::default(), None).expect("the job runs");
    outcome.rate.bytes_per_second / 1e6
}

fn between(low: f64, high: f64, got: f64) {
    assert!((low..high).contains(&got), "{got} is not within {low} to {high}");
}

#[test]
fn a_cable_delivers_what_framing_leaves_of_its_rate() {
    between(550.0, 565.0, rate(&[], IN_ORDER));
    between(270.0, 285.0, rate(&["ahci.rate=3GT/s"], IN_ORDER));
    between(130.0, 145.0, rate(&["ssd.rate=1.5GT/s"], IN_ORDER));
    between(500.0, 550.0, rate(&[], WRITES));
    between(440.0, 550.0, rate(&[], ONE_BY_ONE));
}

#[test]
fn what_is_between_two_frames_limits_small_blocks() {
    // 4 KiB go in five frames: command, answer, DMA setup, data, device bits.
    let dwords = 5 * 3 + 5 + 5 + 7 + 1 + 2 + 1_024 + 1_024 * 2 / 254 + 10 * 20;
    let ceiling = 4_096.0 / (f64::from(dwords) * 40.0 / 6e9 + 10.0 * 225e-9) / 1e6;
    let got = rate(&[], RANDOM);
    between(0.9 * ceiling, ceiling, got);
    between(85_000.0, 100_000.0, got * 1e6 / 4_096.0);
}

#[test]
fn a_turnaround_is_a_time_whatever_the_rate_of_the_cable() {
    // Between two rates of the cable only double words differ: ten round trips of 20, and 1,067 of frames and data.
    let seconds = |changes: &[&str]| 4_096.0 / (rate(changes, RANDOM) * 1e6);
    let (six, three) = (seconds(&[]), seconds(&["ahci.rate=3GT/s"]));
    let slower = 1_267.0 * 40.0 * (1.0 / 3e9 - 1.0 / 6e9);
    assert!(((three - six) / slower - 1.0).abs() < 0.03, "{} for {slower}", three - six);
    // Drives of several makers stop at 52,300 to 52,900 behind 3 Gb/s, whatever they do behind 6.
    between(51_500.0, 53_500.0, 1.0 / three);
}

#[test]
fn descriptors_and_buffers_cost_a_write_what_the_adapter_reads_for_it() {
    let latency = |changes: &[&str], text: Option<&str>| {
        let (mut blueprint, jobs) = machine(changes, "--rw=randwrite --bs=64k --iodepth=1 --runtime=10ms");
        if let Some(text) = text {
            let entry = blueprint.entry_mut("driver.buffers").expect("the driver has buffers");
            entry.value = hopscope_parts::parameters::Value::Text(text.into());
        }
        let outcome = run(&blueprint, &jobs, Options::default(), None).expect("the job runs");
        outcome.jobs[0].got.as_ref().expect("writes ended").latency_ns.mean()
    };
    // Sixteen descriptors of 16 bytes, or one: 240 bytes at 2 GB/s, framing and completions of 64 bytes apart.
    let (sixteen, one) = (latency(&[], None), latency(&["driver.contiguous=64KiB"], None));
    assert!((100.0..300.0).contains(&(sixteen - one)), "{sixteen} {one}");
    // The first burst comes 70 ns sooner from the cache, and those after it are there in time.
    let cached = latency(&[], Some("cache"));
    assert!(cached < sixteen - 50.0, "{sixteen} {cached}");
}

#[test]
fn a_narrow_link_makes_the_adapter_hold_the_cable() {
    let narrow = ["ahci.pcie.rate=2.5GT/s", "ahci.pcie.width=1 lanes"];
    let got = rate(&narrow, IN_ORDER);
    // 250 MB/s, in packets of 128 bytes with 24 of header and framing, and acknowledgements.
    between(190.0, 211.0, got);
    let (blueprint, jobs) = machine(&narrow, IN_ORDER);
    let explained = explain(&blueprint, &jobs, Options::default(), EXTENT, None).expect("it runs");
    let cable = explained.account.lanes.iter().find(|lane| lane.lane == "cable").expect("the cable is used");
    let held = cable.entries.iter().filter(|entry| entry.cause == "HOLD" || entry.phase == "HOLD");
    let held = held.fold(0, |sum, entry| sum + entry.time.as_ps());
    assert!(held as f64 > 0.4 * explained.account.span().as_ps() as f64, "{:?}", cable.entries);
    // With a FIFO for all of a request the cable waits no less: the link decides.
    let deep = rate(&[&narrow[..], &["ahci.fifo=128KiB"]].concat(), IN_ORDER);
    assert!((deep / got - 1.0).abs() < 0.02, "{deep} for {got}");
}

#[test]
fn every_instant_has_a_name() {
    let mixed = "--bs=4k --iodepth=8 --runtime=10ms --name=a --rw=randread --name=b --rw=randwrite";
    let long = "--rw=write --bs=2m --iodepth=2 --runtime=20ms";
    for job in [RANDOM, SINGLE, WRITES, IN_ORDER, ONE_BY_ONE, mixed, long] {
        let (blueprint, jobs) = machine(&[], job);
        let explained = explain(&blueprint, &jobs, Options::default(), EXTENT, None).expect("it runs");
        assert_eq!(explained.account.unattributed(), [], "{job}");
    }
}

#[test]
fn the_state_of_the_drive_decides_what_random_writes_get() {
    let job = "--rw=randwrite --bs=4k --iodepth=32 --runtime=400ms";
    let steady = {
        let (mut blueprint, jobs) = machine(&[], job);
        let entry = blueprint.entry_mut("ssd.flash.state").expect("the drive has a state");
        entry.value = hopscope_parts::parameters::Value::Text("steady".into());
        run(&blueprint, &jobs, Options::default(), None).expect("it runs").rate.bytes_per_second / 1e6
    };
    let fresh = rate(&[], job);
    assert!(steady < 0.8 * fresh, "{steady} for {fresh}");
}

#[test]
fn drives_at_two_ports_share_the_adapter_and_its_interrupt_but_no_cable() {
    let second = "
[part.cable2]
use = \"bus/sata-cable\"
at  = \"ahci.port4\"

[part.ssd2]
use = \"disk/sata-ssd-1tb\"
at  = \"cable2.drive\"
";
    let both = |job: &str| format!("{job} --name=a --filename=ssd --name=b --filename=ssd2");
    for (job, share) in [(IN_ORDER, 1.95), (WRITES, 1.8)] {
        let (blueprint, jobs) = machine_with(second, &[], &both(job));
        let outcome = run(&blueprint, &jobs, Options::default(), None).expect("the jobs run");
        let (two, one) = (outcome.rate.bytes_per_second / 1e6, rate(&[], job));
        assert!(two > share * one && two < 2.01 * one, "{job}: {two} for {one}");
        let explained = explain(&blueprint, &jobs, Options::default(), EXTENT, None).expect("it runs");
        assert_eq!(explained.account.unattributed(), [], "{job}");
    }
}

#[test]
fn trains_of_packets_change_nothing() {
    for job in [RANDOM, WRITES, ONE_BY_ONE] {
        let (blueprint, jobs) = machine(&[], job);
        let got = |trains| {
            let options = Options { trains, ..Options::default() };
            let outcome = run(&blueprint, &jobs, options, None).expect("the job runs");
            let got = outcome.jobs[0].got.as_ref().expect("transfers ended");
            (got.count, got.last_end, got.latency_ns.mean().to_bits())
        };
        assert_eq!(got(true), got(false), "{job}");
    }
}
