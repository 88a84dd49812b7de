//! What must hold of the shipped machines, whatever a study says of them.

use std::rc::Rc;

use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::{Observer, Record, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Options, Outcome, run};

use crate::shipped;

pub fn read(system: &str, options: &str) -> (Blueprint, Vec<Job>) {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let blueprint = Blueprint::read(&library, &mut sources, file).expect("a right system");
    let words: Vec<&str> = options.split(' ').collect();
    (blueprint, job_file::read_options(&mut sources, &words).expect("right options").jobs)
}

fn rate(system: &str, changes: &[&str], options: &str) -> f64 {
    outcome(system, changes, options, 1).rate.bytes_per_second
}

fn outcome(system: &str, changes: &[&str], options: &str, seed: u64) -> Outcome {
    let (mut blueprint, jobs) = read(system, options);
    for change in changes {
        blueprint.set(change).expect("a right change");
    }
    run(&blueprint, &jobs, Options { seed, ..Options::default() }, None).expect("the job runs")
}

const ONE: &str = "piix4e-one-disk";
const REREAD: &str = "--rw=read --bs=64k --size=64k --iodepth=2 --time_based --runtime=300ms";
const REWRITE: &str = "--rw=write --bs=64k --size=64k --iodepth=2 --time_based --runtime=300ms";

#[test]
fn no_clock_drives_the_cable_beyond_its_mode() {
    for clock in ["pci.clock=33.5MHz", "pci.clock=66MHz", "pci.clock=100MHz"] {
        for job in [REREAD, REWRITE] {
            let got = rate(ONE, &[clock], job);
            assert!(got < 2.0 / 54e-9, "{clock}: {got} B/s through two bytes every 54 ns at least");
        }
    }
}

#[test]
fn a_slower_mode_of_the_drive_slows_both_directions() {
    let mut ceilings = vec![];
    for (mode, word_ns) in [("ultra-dma-0", 120.0), ("ultra-dma-1", 80.0), ("ultra-dma-2", 60.0)] {
        let (mut blueprint, jobs) = read(ONE, REREAD);
        let entry = blueprint.entry_mut("disk.transfer_mode").expect("the disk has a mode");
        entry.value = hopscope_parts::parameters::Value::Text(mode.into());
        let got = run(&blueprint, &jobs, Options::default(), None).expect("the job runs").rate.bytes_per_second;
        assert!(got < 2e9 / word_ns && got > 0.85 * 2e9 / word_ns, "{mode}: {got}");
        ceilings.push(got);
    }
    assert!(ceilings.is_sorted());
}

#[test]
fn two_disks_do_not_depend_on_how_they_start() {
    let job = "--rw=read --bs=4k --size=4k --time_based --runtime=1 --ramp_time=100ms --iodepth=2 \
               --name=a --filename=disk --name=b --filename=disk2";
    let rates: Vec<f64> =
        (1..=6).map(|seed| outcome("piix4e-two-disks-two-channels", &[], job, seed).rate.bytes_per_second).collect();
    let (low, high) = rates.iter().fold((f64::MAX, 0.0f64), |(low, high), r| (low.min(*r), high.max(*r)));
    assert!(high < 1.03 * low, "{rates:?}");
}

#[test]
fn littles_law_holds_for_every_depth() {
    for depth in [1, 2, 7] {
        let job = format!("--rw=randread --bs=8k --size=32m --time_based --runtime=10 --iodepth={depth}");
        let outcome = outcome(ONE, &[], &job, 1);
        let got = outcome.jobs[0].got.as_ref().expect("transfers ended");
        let seconds = got.last_end.as_seconds_f64();
        let in_flight = got.latency_ns.mean() * 1e-9 * got.count as f64 / seconds;
        // The thread holds a request for a moment before it submits it: never more than the depth are in flight.
        assert!(in_flight <= depth as f64 && in_flight > 0.97 * depth as f64, "depth {depth}: {in_flight}");
    }
}

#[test]
fn a_drive_without_read_ahead_pays_a_revolution_a_request() {
    for job in
        ["--rw=read --bs=16k --time_based --runtime=2", "--rw=randread --bs=16k --size=1m --time_based --runtime=2"]
    {
        let outcome = outcome(ONE, &["disk.buffer.read_ahead=0sectors"], job, 1);
        let got = outcome.jobs[0].got.as_ref().expect("transfers ended");
        assert!(
            got.count > 100 && got.latency_ns.mean() > 5e6,
            "{job}: {} in {:.0} ns",
            got.count,
            got.latency_ns.mean()
        );
    }
}

#[test]
fn a_job_by_size_moves_exactly_its_size() {
    for rw in ["read", "write", "randread", "randwrite"] {
        let outcome = outcome(ONE, &[], &format!("--rw={rw} --bs=16k --size=1m --iodepth=3"), 1);
        assert_eq!(outcome.jobs[0].got.as_ref().map(|got| got.bytes), Some(1 << 20), "{rw}");
    }
}

#[test]
fn what_lies_between_memory_and_drive_bites() {
    let plain = rate(ONE, &[], REWRITE);
    for (change, least) in [
        ("host.memory.read_first_data=5clocks", 1.05),
        ("host.hold_acknowledge=0clocks", 1.10),
        ("host.memory.cache_line=64B", 1.005),
        ("ide.rerequest_delay=0clocks", 1.005),
    ] {
        let faster = rate(ONE, &[change], REWRITE);
        assert!(faster > least * plain, "{change}: {faster} instead of {plain}");
    }
    assert!(rate(ONE, &["ide.rerequest_delay=10clocks"], REWRITE) < 0.95 * plain);
}

#[test]
fn the_drive_is_asked_for_its_capacity_and_no_more() {
    let (blueprint, _) = read(ONE, REREAD);
    let entry = blueprint.numbers().into_iter().find(|(path, _)| path == "disk.sectors").map(|(_, e)| e.value.clone());
    let Some(hopscope_parts::parameters::Value::Count(sectors)) = entry else { panic!("a capacity") };
    let (machine, jobs) = read(ONE, &format!("--rw=read --bs=64k --size={} --offset=64k", sectors * 512));
    assert!(run(&machine, &jobs, Options::default(), None).is_err());
    let last = format!("--rw=read --bs=512 --size=512 --offset={}", (sectors - 1) * 512);
    assert!(outcome(ONE, &[], &last, 1).simulated < Time::ms(60));
}

#[test]
fn a_skew_that_does_not_cover_the_head_switch_costs_a_revolution_a_track() {
    let job = "--rw=read --bs=64k --iodepth=2 --time_based --ramp_time=200ms --runtime=2";
    let (covered, missed) =
        (rate(ONE, &["disk.head_switch=1038us"], job), rate(ONE, &["disk.head_switch=1040us"], job));
    assert!(missed < 0.6 * covered, "{missed} instead of {covered}");
}

#[test]
fn a_memory_too_small_for_the_drivers_buffers_is_refused() {
    let (mut blueprint, _) = read(ONE, REREAD);
    assert!(blueprint.set("host.memory.size=64MiB").is_ok());
    assert!(blueprint.set("host.memory.size=8MiB").is_err());
}

#[test]
fn a_port_that_a_number_took_away_is_named_where_a_part_is_plugged_into_it() {
    let (mut blueprint, _) = read(ONE, REREAD);
    let problems = blueprint.set("pci.slots=2 slots").expect_err("the bridge is in the eighth");
    let found = format!("{problems:?}");
    assert!(found.contains("there is no port `pci.slot7`, where `ide` is plugged in"), "{found}");
    assert!(found.contains("`pci` has slot0, slot1 as its numbers are"), "{found}");
}

/// An observer that is dropped with its machine.
struct Witness(#[expect(dead_code, reason = "it is counted, not read")] Rc<()>);

impl Observer for Witness {
    fn records(&mut self, _: &[Record]) {}
}

/// Parts that hold each other would keep it for ever: `explain` runs dozens of machines one after the other.
#[test]
fn nothing_of_a_machine_is_left_when_its_run_has_ended() {
    let library = Library::new(None).expect("the shipped files can be read");
    for system in library.systems() {
        let alive = Rc::new(());
        let jobs = shipped::jobs("--rw=randread --bs=4k --iodepth=4 --runtime=200us --time_based");
        let watcher = Box::new(Witness(alive.clone()));
        run(&shipped::machine(system, &[]), &jobs, Options::default(), Some(watcher)).expect("it runs");
        assert_eq!(Rc::strong_count(&alive), 1, "{system}");
    }
}

/// Parts keep their numbers as they have read them, and parts of the same data share that. What is changed is read again:
/// of the part that it is of, whether it is set or assigned, and as often as it is changed.
#[test]
fn numbers_that_are_read_once_are_those_of_their_part() {
    const SYSTEM: &str = "win2000-3ware-jbod";
    const JOB: &str = "--rw=randread --bs=4k --runtime=300ms --time_based --filename=";
    let (alike, one) = (read(SYSTEM, "--rw=read").0, "disk1");
    let disks: Vec<&str> =
        alike.parts().iter().map(|part| &part.name[..]).filter(|name| name.starts_with("disk")).collect();
    assert!(disks.len() > 2 && disks.contains(&one), "{disks:?}");
    let of = |blueprint: &Blueprint, disk: &str| {
        let words = format!("{JOB}{disk}");
        let jobs = read(SYSTEM, &words).1;
        run(blueprint, &jobs, Options::default(), None).expect("the job runs").rate.bytes_per_second
    };
    let mut slower = alike.clone();
    slower.assign("disk1.rotation", "3_600 rpm", None).expect("a right number");
    let mut set = alike.clone();
    set.set("disk1.rotation=3_600 rpm").expect("a right number");
    for disk in &disks {
        let (before, after) = (of(&alike, disk), of(&slower, disk));
        assert!(if *disk == one { after < 0.95 * before } else { after == before }, "{disk}: {before}, {after}");
        assert_eq!(of(&set, disk), after, "{disk}");
    }
    let was =
        alike.numbers().into_iter().find(|(path, _)| path == "disk1.rotation").expect("it turns").1.written.clone();
    for mut changed in [slower, set] {
        changed.assign("disk1.rotation", &was, None).expect("a right number");
        assert_eq!(of(&changed, one), of(&alike, one));
    }
    // Whoever wants to know what parts ask for hears of each, though they are alike.
    let declared = alike.declared();
    for disk in disks {
        assert!(declared.contains_key(&format!("{disk}.rotation")), "{disk}");
    }
}

/// So many times what is there, of a number and of each row of a table.
#[test]
fn a_number_is_set_to_so_many_times_what_it_is() {
    let machine = read("win2000-atlas-10k", "--rw=read").0;
    let written = |of: &Blueprint, column: &str| -> Vec<String> {
        let entries: Vec<(String, String)> =
            of.numbers().into_iter().map(|(path, entry)| (path, entry.written.clone())).collect();
        let at = |path: String| entries.iter().find(|entry| entry.0 == path).expect("it is there").1.clone();
        of.numbers_at(column).into_iter().map(at).collect()
    };
    let after = |change: &str| {
        let mut changed = machine.clone();
        changed.set(change).map(|()| changed)
    };
    let turns = after("disk0.rotation=x2").expect("a number");
    assert_eq!(written(&turns, "disk0.rotation"), ["20050 rpm"]);
    let (seeks, all) = ("disk0.seek.rows[].time", written(&machine, "disk0.seek.rows[].time"));
    let faster = written(&after("disk0.seek.rows[].time=x0.5").expect("a number of each row"), seeks);
    assert!(faster.len() > 20 && all[0] == "1245 us" && faster[0] == "622.5 us", "{faster:?}");
    let us = |text: &String| text.trim_end_matches(" us").parse::<f64>().expect("microseconds");
    let is_half = |(was, is): (&String, &String)| (us(is) * 2.0 / us(was) - 1.0).abs() < 1e-4;
    assert!(all.iter().zip(&faster).all(is_half), "{faster:?}");
    assert_eq!(written(&turns, seeks), all);
    for (change, title) in [
        ("disk0.rotation=x0", "`disk0.rotation` cannot be x0 of 10025 rpm"),
        ("disk0.rotation=x", "`disk0.rotation` is a frequency, `x` is a text"),
        ("disk0.rotation=x-2", "`disk0.rotation` is a frequency, `x-2` is a text"),
    ] {
        assert_eq!(after(change).err().expect("no such number").0[0].title, title);
    }
}
