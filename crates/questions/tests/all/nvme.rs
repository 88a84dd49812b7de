//! NVM Express drives and their drivers: latencies by formula, to the picosecond; what each number does; ceilings; and an
//! account that leaves nothing unattributed.

use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Options, Outcome, run};
use hopscope_observe::account::{Entry, Extent};
use hopscope_questions::explain::explain;

use crate::shipped::WINDOW;

const DESKTOP: &str = "nvme-desktop";
const SYSTEMS: [&str; 3] = [DESKTOP, "nvme-chipset", "nvme-server"];

/// No SKP ordered set falls due in a short run.
const NO_SKIP: &str = "link.generation.rows[3].skip_every=16MiB";

/// A shipped system with some of its words replaced and some of its numbers changed, and jobs.
struct Machine {
    blueprint: Blueprint,
    jobs: Vec<Job>,
}

fn machine(system: &str, changes: &[&str], job: &[&str]) -> Machine {
    machine_with(system, ("drive", "drive"), changes, job)
}

fn machine_with(system: &str, (word, by): (&str, &str), changes: &[&str], job: &[&str]) -> Machine {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let replaced = text.text.replace(word, by);
    let file = sources.add(text.name, replaced);
    let read = Blueprint::read(&library, &mut sources, file);
    let mut blueprint = read.unwrap_or_else(|problems| panic!("{}", problems.render(&sources, false)));
    for change in changes {
        assert!(blueprint.set(change).is_ok(), "{change}");
    }
    Machine { blueprint, jobs: job_file::read_options(&mut sources, job).expect("right options").jobs }
}

fn ran(system: &str, changes: &[&str], job: &[&str]) -> Outcome {
    let machine = machine(system, changes, job);
    run(&machine.blueprint, &machine.jobs, WINDOW, None).unwrap_or_else(|e| panic!("{changes:?} {job:?}: {e:?}"))
}

/// Each block is a page of its own, read when it is asked for.
const APART: [&str; 2] = ["drive.read_ahead.ahead=0segments", "drive.flash.page=4KiB"];

/// Time from one request to the next with one in flight, exactly.
fn period(changes: &[&str], job: &[&str], block_kib: u64) -> Time {
    let of = |requests: u64| {
        let size = format!("--size={}k", requests * block_kib);
        let block = format!("--bs={block_kib}k");
        ran(DESKTOP, &[&APART, changes].concat(), &[job, &[&block, &size, "--iodepth=1"]].concat()).simulated
    };
    // Whole programs of writes: the last one goes on after the last write.
    let (few, more) = (of(4), of(12));
    Time::ps((more - few).as_ps() / 8)
}

/// Requests a second, with so many in flight.
fn rate(changes: &[&str], rw: &str, block: &str, depth: u32) -> f64 {
    let (rw, block, depth) = (format!("--rw={rw}"), format!("--bs={block}"), format!("--iodepth={depth}"));
    let outcome = ran(DESKTOP, changes, &[&rw, &block, &depth, "--time_based", "--ramp_time=1ms", "--runtime=4ms"]);
    let count: u64 = outcome.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.count).sum();
    count as f64 / outcome.measured.as_seconds_f64()
}

/// A packet on four lanes of 16 GT/s: framing, header and data.
fn packet(bytes: u64) -> u64 {
    bytes * 16_250 / 128
}

const FLIGHT: u64 = 50_000;
/// What follows the data of a command, up to the thread: an entry that has to be visible, the interrupt and its handler.
const COMPLETION: u64 = 1_200_000 + 400_000 + 200_000;
/// The thread, in whole clocks of 227 ps, and the submission.
const SUBMISSION: u64 = 450_141 + 200_000;

/// From the doorbell to a fetched command: the doorbell, a read of 64 bytes from the cache.
fn fetched() -> u64 {
    packet(8 + 16 + 4) + FLIGHT + packet(24) + FLIGHT + 250_000 + packet(20 + 64) + FLIGHT
}

/// From the last data to when the interrupt is delivered, which waits for the entry to be visible.
fn completed() -> u64 {
    packet(24 + 16) + FLIGHT + 100_000
}

#[test]
fn a_read_with_one_in_flight_takes_the_sum_of_its_parts() {
    let flash = 32_000_000 + 200_000 + 4_096 * 1_000_000 / 1_200 + 1_500_000;
    let sum = SUBMISSION + fetched() + 2_000_000 + flash + 16 * packet(24 + 256) + completed() + COMPLETION;
    assert_eq!(period(&[NO_SKIP], &["--rw=read"], 4), Time::ps(sum));
}

#[test]
fn a_write_with_one_in_flight_takes_the_sum_of_its_parts() {
    let changes = [NO_SKIP, "drive.pcie.read_request_max=4KiB"];
    // A page from memory; its completions are cut to lines, since the request before it was small.
    let memory = 320_000 + 4_096 * 1_000 / 60;
    let data = packet(24) + FLIGHT + memory + 64 * packet(20 + 64) + FLIGHT;
    let sum = SUBMISSION + fetched() + 12_500_000 + data + completed() + COMPLETION;
    assert_eq!(period(&changes, &["--rw=write"], 4), Time::ps(sum));
}

#[test]
fn a_list_of_pages_costs_a_read_that_one_descriptor_does_not() {
    let prp = period(&[NO_SKIP], &["--rw=read"], 12);
    let one = period(&[NO_SKIP, "driver.transfer=sgl", "driver.contiguous=16KiB"], &["--rw=read"], 12);
    let two = period(&[NO_SKIP, "driver.transfer=sgl", "driver.contiguous=8KiB"], &["--rw=read"], 12);
    let list = |bytes: u64| Time::ps(packet(24) + FLIGHT + 250_000 + packet(20 + bytes) + FLIGHT);
    assert_eq!(prp - one, list(16), "two entries of 8 bytes");
    assert_eq!(two - one, list(32), "two descriptors of 16 bytes");
    let page = period(&[NO_SKIP], &["--rw=read"], 8);
    let page_sgl = period(&[NO_SKIP, "driver.transfer=sgl", "driver.contiguous=8KiB"], &["--rw=read"], 8);
    assert_eq!(page, page_sgl, "two pages have their entries in the command");
}

#[test]
fn coalescing_holds_a_lone_completion_back_and_spares_the_processor_interrupts() {
    let coalesced = [NO_SKIP, "drive.interrupt.threshold=8entries", "drive.interrupt.time=100us"];
    let plain = period(&[NO_SKIP], &["--rw=read"], 4);
    let waited = period(&coalesced, &["--rw=read"], 4) - plain;
    // The message no longer follows the entry: it is not held up until that is visible.
    assert!((Time::us(100) - Time::ns(200)..=Time::us(100)).contains(&waited), "{waited}");
    let slow = "driver.interrupt.handler=10us";
    assert!(
        rate(&[slow, coalesced[1], coalesced[2]], "randread", "4k", 64) > 1.1 * rate(&[slow], "randread", "4k", 64)
    );
    // A threshold of one entry, or no time, is no coalescing.
    assert_eq!(period(&[NO_SKIP, "drive.interrupt.time=100us"], &["--rw=read"], 4), plain);
    assert_eq!(period(&[NO_SKIP, "drive.interrupt.threshold=8entries"], &["--rw=read"], 4), plain);
}

#[test]
fn a_read_of_the_submission_queue_fetches_several_commands() {
    // A fetch that takes 4 us and brings one command caps what a drive does; one that brings eight does not.
    let far = "link.flight=1us";
    let one = rate(&[far, "drive.fetch.commands=1commands"], "randread", "4k", 64);
    let eight = rate(&[far, "drive.fetch.commands=8commands"], "randread", "4k", 64);
    let fetch = (packet(24) + 2 * 1_000_000 + 250_000 + packet(84)) as f64 * 1e-12;
    assert!(one <= 1.01 / fetch, "{one}");
    assert!(eight > 1.3 * one, "{eight} {one}");
}

#[test]
fn more_numbers_of_drive_and_driver_change_the_latency_by_what_they_say() {
    let plain = |rw| period(&[NO_SKIP], &[rw], 4);
    let (read, write) = (plain("--rw=read"), plain("--rw=write"));
    for (rw, change, by) in [
        ("--rw=read", "drive.controller.read=3us", 2_000_000),
        ("--rw=write", "drive.controller.write=3us", 2_000_000),
        ("--rw=read", "drive.controller.read_latency=5us", 4_000_000),
        ("--rw=write", "drive.controller.write_latency=12us", 500_000),
        ("--rw=read", "drive.flash.read=42us", 10_000_000),
        ("--rw=read", "driver.submission=1us", 800_000),
        ("--rw=read", "driver.completion=1us", 800_000),
        ("--rw=read", "driver.interrupt.handler=1us", 600_000),
        ("--rw=read", "driver.interrupt.delivery=2us", 800_000),
        // In whole clocks of 227 ps.
        ("--rw=read", "driver.time_above=900ns", 450_141 - 227),
    ] {
        let before = if rw == "--rw=read" { read } else { write };
        assert_eq!(period(&[NO_SKIP, change], &[rw], 4) - before, Time::ps(by), "{change}");
    }
    let remote = period(&[NO_SKIP, "driver.socket=remote", "root.interconnect.latency=80ns"], &["--rw=read"], 4);
    assert!(remote > read + Time::ns(80), "{remote} {read}");
    let cached = period(&[NO_SKIP, "driver.buffers=cache"], &["--rw=write"], 4);
    assert!(cached + Time::ns(70) < write, "{cached} {write}");
}

#[test]
fn more_numbers_of_drive_and_driver_change_the_rate_in_their_direction() {
    let quick = ["driver.time_above=100ns", "driver.submission=50ns", "driver.completion=50ns"];
    for (change, rw, block, depth, factor) in [
        ("drive.controller.read=2us", "randread", "4k", 64, 0.52),
        ("drive.controller.write=4us", "randwrite", "4k", 64, 0.4),
        ("drive.controller.engines=4engines", "randread", "4k", 256, 1.2),
        ("drive.controller.commands=8commands", "randread", "4k", 64, 0.4),
        ("drive.controller.transfers=1transfers", "read", "1m", 4, 0.5),
        ("drive.transfer_max=4KiB", "read", "128k", 8, 0.8),
        ("driver.transfer_max=4KiB", "read", "128k", 8, 0.8),
        ("driver.queue=9entries", "randread", "4k", 64, 0.4),
        ("drive.pcie.tags=1tags", "write", "128k", 8, 0.5),
    ] {
        let before = rate(&quick, rw, block, depth);
        let after = rate(&[&quick[..], &[change]].concat(), rw, block, depth);
        let holds = if factor < 1.0 { after < before * factor } else { after > before * factor };
        assert!(holds, "{change}: {before} before, {after} after");
    }
    // With a switch in between, one page at a time leaves the link idle.
    let job = ["--rw=read", "--bs=128k", "--iodepth=16", "--time_based", "--runtime=4ms"];
    let dma =
        |count: &str| ran("nvme-server", &[&format!("drive0.controller.dma={count}")], &job).rate.bytes_per_second;
    assert!(dma("4engines") > 1.3 * dma("1engines"), "{} {}", dma("4engines"), dma("1engines"));
}

#[test]
fn nothing_exceeds_the_ceilings_of_controller_link_and_processor() {
    let link = 1e12 / packet(24 + 256) as f64 * 256.0;
    for (read, depth) in [("1us", 1), ("1us", 64), ("2500ns", 64), ("1us", 512), ("100ns", 512)] {
        let changes = [&*format!("drive.controller.read={read}"), "driver.time_above=50ns", "driver.submission=50ns"];
        let controller = if read == "100ns" {
            1e7
        } else if read == "1us" {
            1e6
        } else {
            4e5
        };
        let got = rate(&changes, "randread", "4k", depth);
        assert!(got <= controller * 1.001, "{got} a second, {read}");
        assert!(got * 4_096.0 <= link * 1.001, "{got} a second of 4 KiB, {link} B/s");
        let got = rate(&changes, "read", "128k", depth.min(64));
        assert!(got * 131_072.0 <= link * 1.03, "{got} a second of 128 KiB, {link} B/s");
    }
    let processor = rate(&["driver.time_above=10us"], "randread", "4k", 64);
    assert!(processor <= 1e5 && processor > 0.9e5, "{processor}");
}

#[test]
fn a_polled_completion_is_found_at_the_next_look_and_interrupts_nobody() {
    let job = ["--rw=randread", "--bs=4k", "--iodepth=1", "--time_based", "--runtime=4ms"];
    let polled = |interval: &str| {
        let change = format!("driver.poll.interval={interval}");
        let machine = machine_with(DESKTOP, ("linux-io-uring", "linux-io-uring-polled"), &[&change], &job);
        let outcome = run(&machine.blueprint, &machine.jobs, Options::default(), None).expect("the job runs");
        outcome.jobs[0].got.as_ref().expect("requests ended").count
    };
    let often = polled("1ns");
    let interrupted = ran(DESKTOP, &[], &job);
    let interrupted = interrupted.jobs[0].got.as_ref().expect("requests ended").count;
    assert!(often as f64 > 1.02 * interrupted as f64, "{often} {interrupted}");
    // A look every 20 us finds nothing before the next multiple of that.
    assert!((polled("20us") as f64) < 0.9 * often as f64);
}

const JOBS: [[&str; 3]; 6] = [
    ["--rw=randread", "--bs=4k", "--iodepth=32"],
    ["--rw=randread", "--bs=4k", "--iodepth=1"],
    ["--rw=randwrite", "--bs=4k", "--iodepth=32"],
    ["--rw=read", "--bs=64k", "--iodepth=8"],
    ["--rw=write", "--bs=128k", "--iodepth=4"],
    ["--rw=randread", "--bs=20k", "--iodepth=5"],
];

#[test]
fn trains_change_nothing_and_the_account_of_every_drive_adds_up() {
    let sum = |entries: &[Entry]| entries.iter().fold(Time::ZERO, |sum, entry| sum + entry.time);
    let mut split = 0;
    for system in SYSTEMS {
        for job in JOBS {
            let job = [&job[..], &["--time_based", "--runtime=400us"]].concat();
            let machine = machine(system, &[], &job);
            let explained = |trains| {
                let options = Options { trains, ..Options::default() };
                let explained = explain(&machine.blueprint, &machine.jobs, options, Extent::ALL, None);
                explained.unwrap_or_else(|failure| panic!("{system} {job:?}: {failure:?}"))
            };
            let (with, without) = (explained(true), explained(false));
            assert_eq!(with.outcome.rate.bytes_per_second, without.outcome.rate.bytes_per_second, "{system} {job:?}");
            assert_eq!(with.account.unattributed(), [], "{system} {job:?}");
            for lane in &with.account.lanes {
                assert_eq!(sum(&lane.entries), with.account.span(), "{system} {job:?}: {}", lane.lane);
            }
            let Some(latency) = &with.latency else { continue };
            assert_eq!(sum(&latency.mean.phases()), latency.mean.sum, "{system} {job:?}");
            split += 1;
        }
    }
    assert!(split > 12, "{split} latencies were split");
}

#[test]
fn a_request_needs_few_events() {
    let machine =
        machine(DESKTOP, &[], &["--rw=randread", "--bs=4k", "--iodepth=32", "--time_based", "--runtime=10ms"]);
    let outcome = run(&machine.blueprint, &machine.jobs, Options::default(), None).expect("the job runs");
    let requests = outcome.jobs[0].got.as_ref().expect("requests ended").count;
    let (events, grants) = (outcome.counts.events / requests, outcome.counts.grants / requests);
    assert!(events <= 30 && grants <= 16, "{events} events and {grants} grants a request");
}
