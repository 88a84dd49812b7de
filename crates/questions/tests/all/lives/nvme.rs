//! Lives on NVM Express drives whose numbers are not the shipped ones: what each path of driver, controller and flash
//! does for a request is in its life, and what it waits for is a hop.

use hopscope_kernel::{Sim, Time};
use hopscope_machine::run::{Options, run_in};
use hopscope_observe::Lives;
use hopscope_observe::lives::{Enough, Stage, StageKind};

use super::{Lived, of, table};
use crate::paces::nvme::changed;
use crate::random_machines::Drawn;

fn lived(changes: &[&str], options: &str) -> Lived {
    let (blueprint, jobs) = changed("nvme-desktop", changes, options);
    let words = format!("{changes:?} {options}");
    let lived = of(&Drawn { blueprint, jobs, words: words.clone() }, &words);
    let is_lane = |stage: &&Stage| lived.shares.iter().any(|(lane, _)| *lane == stage.lane);
    let of_no_lane = lived.latency.mean.stages.iter().filter(|stage| !is_lane(stage));
    let time = of_no_lane.fold(Time::ZERO, |sum, stage| sum + stage.time);
    assert!(time * 1_000 <= lived.latency.mean.sum, "{words}: waits for no hop\n{}", table(&lived.latency));
    lived
}

impl Lived {
    /// Mean time of a kind of stage whose phase, or what was behind it, is that.
    fn mean_ns_of(&self, is: impl Fn(&Stage) -> bool) -> f64 {
        let time = self.latency.mean.stages.iter().filter(|stage| is(stage)).fold(Time::ZERO, |sum, s| sum + s.time);
        time.as_ns_f64() / self.latency.mean.count as f64
    }

    fn waits_ns(&self, behind: &str) -> f64 {
        self.mean_ns_of(|stage| stage.kind == StageKind::Wait && stage.behind == behind)
    }

    fn about(&self, what: &str, is: f64, should: f64) {
        assert!((is - should).abs() < 1e-3 * should, "{what}: {is} instead of {should}\n{}", table(&self.latency));
    }
}

const SMALL_BUFFER: [&str; 4] = [
    "drive.flash.buffer=1MiB",
    "drive.flash.state=steady",
    "drive.flash.program=190us",
    "drive.flash.pages_per_program=1pages",
];
const NOT_AHEAD: &str = "drive.read_ahead.ahead=0segments";
const COALESCED: [&str; 2] = ["drive.interrupt.threshold=8entries", "drive.interrupt.time=20us"];

#[test]
fn every_read_contains_one_array_read_and_one_command_at_any_depth() {
    for options in [
        "--rw=randread --bs=4k",
        "--rw=randread --bs=4k --iodepth=32",
        "--rw=randread --bs=4k --iodepth=64 --numjobs=4",
        "--rw=randread --bs=4k --iodepth=256",
        "--rw=read --bs=128k",
        "--rw=read --bs=128k --iodepth=16",
        "--rw=randread --bs=48k --iodepth=8",
    ] {
        for changes in [&[][..], &["driver.poll.interval=3us"], &COALESCED] {
            let lived = lived(&[&[NOT_AHEAD], changes].concat(), options);
            let read = lived.service_ns("array read");
            lived.about(&format!("array read of {changes:?} {options}"), read, 32_000.0);
            lived.about("decode", lived.service_ns("ECC decode"), 1_500.0);
            lived.about("command", lived.service_ns("command processing"), 1_000.0);
            let noticed = if changes.len() == 1 { "until the next poll" } else { "interrupt delivery" };
            assert!(lived.service_ns(noticed) > 100.0, "{changes:?} {options}\n{}", table(&lived.latency));
        }
    }
}

#[test]
fn a_read_that_joins_a_page_contains_the_rest_of_its_array_read() {
    // Four commands a page, all at once: one asks the array, and the others wait for it.
    let lived = lived(&[NOT_AHEAD], "--rw=read --bs=4k --iodepth=4");
    let (asked, joined) = (lived.service_ns("array read"), lived.waits_ns("array read"));
    assert!((asked / 8_000.0 - 1.0).abs() < 0.05, "{asked}\n{}", table(&lived.latency));
    assert!(joined > 5_000.0 && asked + joined <= 32_000.0, "{joined}\n{}", table(&lived.latency));
}

#[test]
fn a_read_that_joins_what_is_read_ahead_waits_for_the_rest_of_it() {
    for (options, least_of_array) in [("--rw=read --bs=64k", 100.0), ("--rw=read --bs=128k", 1_000.0)] {
        let lived = lived(&[], options);
        let ahead = |stage: &Stage| stage.kind == StageKind::Wait && stage.phase == "being read ahead";
        let waited = lived.mean_ns_of(ahead);
        let of = |phases: &[&str]| lived.mean_ns_of(|stage| ahead(stage) && phases.contains(&&*stage.behind));
        let flash = of(&["array read", "waits for the channel", "command", "data out", "ECC decode"]);
        let words = table(&lived.latency);
        assert!(waited > 1_000.0 && flash > 0.95 * waited, "{options}: {flash} of {waited}\n{words}");
        assert!(of(&["array read"]) > least_of_array, "{options}\n{words}");
        // What is read ahead is read for nobody.
        let dies = lived.shares.iter().filter(|(lane, _)| lane.contains("die"));
        let (own, nobody) = dies.fold((Time::ZERO, Time::ZERO), |(own, nobody), (_, shares)| {
            (own + shares.in_life + shares.outside, nobody + shares.housekeeping)
        });
        assert!(nobody > own * 4, "{options}: {own} {nobody}");
    }
}

#[test]
fn a_request_of_several_commands_lives_as_long_as_the_last_of_them() {
    // Four at once: the second four are submitted when the first have ended.
    let lived = lived(&[NOT_AHEAD, "driver.transfer_max=16KiB", "driver.queue=5entries"], "--rw=read --bs=128k");
    lived.about("array reads", lived.service_ns("array read"), 64_000.0);
    assert!(lived.service_ns("driver") > 800.0, "{}", table(&lived.latency));
}

#[test]
fn a_lone_completion_that_is_held_back_says_by_what() {
    let lived = lived(&COALESCED, "--rw=randread --bs=4k");
    lived.about("coalescing", lived.service_ns("interrupt coalescing"), 20_000.0);
}

#[test]
fn a_write_waits_for_programs_and_garbage_collection_where_the_buffer_is_full_only() {
    let few = lived(&SMALL_BUFFER, "--rw=randwrite --bs=4k");
    assert_eq!((few.waits_ns("program"), few.service_ns("program")), (0.0, 0.0));
    let many = lived(&SMALL_BUFFER, "--rw=randwrite --bs=4k --iodepth=64");
    for phase in ["program", "program of garbage collection"] {
        assert!(many.waits_ns(phase) > 1_000.0, "{phase}\n{}", table(&many.latency));
    }
    // Nobody's work: the program of what a request has left, and copies.
    let housekeeping = many.shares.iter().filter(|(lane, _)| lane.contains("die"));
    assert!(housekeeping.clone().all(|(_, shares)| shares.in_life == Time::ZERO && shares.outside == Time::ZERO));
    assert!(housekeeping.clone().any(|(_, shares)| shares.housekeeping > Time::us(100)));
    lived(&SMALL_BUFFER, "--rw=randrw --bs=12k --iodepth=32 --numjobs=4");
}

#[test]
fn address_translation_is_in_the_life_of_whose_address_it_is() {
    let lived =
        lived(&["root.iommu.entries=8entries", "root.iommu.walkers=1walkers"], "--rw=randrw --bs=16k --iodepth=16");
    assert!(lived.service_ns("page table walk") > 300.0, "{}", table(&lived.latency));
    assert!(lived.waits_ns("page table walk") > 300.0, "{}", table(&lived.latency));
}

#[test]
fn lives_are_the_same_packet_by_packet() {
    for options in ["--rw=randrw --bs=16k --iodepth=16", "--rw=read --bs=128k --iodepth=4"] {
        let (blueprint, jobs) = changed("nvme-desktop", &[], options);
        let latency = |trains| {
            let (sim, options) = (Sim::new(), Options { trains, ..Options::default() });
            let lives = Lives::new(&sim, Time::ZERO, Enough::ALL);
            run_in(sim, &blueprint, &jobs, options, Some(Box::new(lives.clone()))).expect("it runs");
            lives.latency().expect("requests ended").mean
        };
        assert_eq!(latency(true), latency(false), "{options}");
    }
}
