//! Programmed I/O and multiword DMA: clocks counted by hand, and what the processor pays.

use hopscope_kernel::{Sim, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Options, Outcome, run, run_in};
use hopscope_observe::Phases;
use hopscope_parts::cpu::Layer;

use crate::shipped::{WINDOW, changed, jobs, machine};
use crate::whatif::changed as rewired;

const ONE_DISK: &str = "piix4e-one-disk";
const SAME_CHANNEL: &str = "piix4e-two-disks-same-channel";
const TWO_CHANNELS: &str = "piix4e-two-disks-two-channels";
/// One block of the drive's buffer, so that the media have no part in it.
const SAME_BLOCK: &str = "--bs=64k --size=64k --time_based --ramp_time=50ms --runtime=300ms";
const MODES: [&str; 14] = [
    "pio-0",
    "pio-1",
    "pio-2",
    "pio-3",
    "pio-4",
    "multiword-dma-0",
    "multiword-dma-1",
    "multiword-dma-2",
    "ultra-dma-0",
    "ultra-dma-1",
    "ultra-dma-2",
    "ultra-dma-3",
    "ultra-dma-4",
    "ultra-dma-5",
];

/// The clock of the test bed's PCI: 33.5 MHz.
const CLOCK_PS: u64 = 29_850;

fn in_mode(system: &str, mode: &str) -> Blueprint {
    machine(system, &[&format!("disk.transfer_mode={mode}")])
}

fn ran(blueprint: &Blueprint, options: &str) -> Outcome {
    let outcome = run(blueprint, &jobs(options), WINDOW, None);
    outcome.unwrap_or_else(|failure| panic!("{options}: {failure:?}"))
}

/// Bytes per second of all jobs.
fn rate(mode: &str, rw: &str) -> f64 {
    let job = format!("--rw={rw} --bs=64k --size=64k --time_based --ramp_time=50ms --runtime=3s");
    ran(&in_mode(ONE_DISK, mode), &job).rate.bytes_per_second
}

/// Spans in which the processor moved words, and the whole time.
fn words(blueprint: &Blueprint, options: &str) -> (Vec<Time>, Time) {
    let (sim, phases) = (Sim::new(), Phases::default());
    let outcome = run_in(sim.clone(), blueprint, &jobs(options), WINDOW, Some(Box::new(phases.clone())));
    let outcome = outcome.unwrap_or_else(|failure| panic!("{options}: {failure:?}"));
    let of_processor = phases.of(&sim, "cpu");
    let spans = of_processor.iter().filter(|interval| interval.phase == Layer::Words.phase());
    (spans.map(|interval| interval.span).collect(), outcome.simulated)
}

/// Clocks from the end of an access to the end of the next: 4 for the instruction (114 ns), address 1, wait 4, data 1,
/// turnaround 1.
const ACCESS: u64 = 11;
/// Accesses of 16 bits in a sector.
const ACCESSES: u64 = 256;

#[test]
fn a_sector_takes_the_clocks_that_its_accesses_add_up_to() {
    // PIO 4 is never waited for but by the demand read: 2 clocks of start-up and a cycle of 4 are one more than the
    // four that any register takes.
    let pio_4 = ACCESSES * ACCESS + 1;
    // Posted words are 4 clocks on the cable; the last leaves 3 clocks after its access has ended.
    let posted = ACCESSES * ACCESS + 3;
    // PIO 0: 20 clocks a cycle. An access begins 5 clocks after the one before had its data; with 14 left it is retried
    // after 9, comes again after 2, and has its data 6 later: 22. The demand read needs 22 clocks and two retries:
    // 4 + 11 + 11 + 6 + 1.
    let pio_0 = 33 + (ACCESSES - 1) * 22;
    for (mode, rw, clocks) in [("pio-4", "read", pio_4), ("pio-4", "write", posted), ("pio-0", "read", pio_0)] {
        let (spans, _) = words(&in_mode(ONE_DISK, mode), &format!("--rw={rw} {SAME_BLOCK}"));
        assert!(spans.len() >= 128, "{mode} {rw}: {} sectors", spans.len());
        // The first sector of a block begins between two edges.
        let most = Time::ps((clocks + 1) * (CLOCK_PS + 2));
        let least = Time::ps(clocks * CLOCK_PS - CLOCK_PS);
        let wrong = spans.iter().find(|span| !(least..=most).contains(*span));
        assert!(wrong.is_none(), "{mode} {rw}: {wrong:?}, expected {clocks} clocks, {least} to {most}");
        let exact = spans.iter().filter(|span| (span.as_ps() + CLOCK_PS / 2) / CLOCK_PS == clocks).count();
        assert!(exact * 16 >= spans.len() * 15, "{mode} {rw}: {exact} of {} have {clocks} clocks", spans.len());
    }
}

#[test]
fn modes_come_in_the_order_of_their_cycles() {
    for rw in ["read", "write"] {
        let of = |mode| rate(mode, rw);
        let (pio_0, pio_4) = (of("pio-0"), of("pio-4"));
        let (multiword_0, multiword_1, multiword_2) =
            (of("multiword-dma-0"), of("multiword-dma-1"), of("multiword-dma-2"));
        let ultra_2 = of("ultra-dma-2");
        assert!(pio_0 * 1.5 < pio_4 && pio_4 < multiword_2 && multiword_2 * 1.3 < ultra_2, "{rw}");
        assert!(multiword_0 * 2.0 < multiword_1 && multiword_1 * 1.2 < multiword_2, "{rw}");
        // 16 bits in 22 and in 11 clocks.
        let bounds = [(pio_0, 2e12 / (22 * CLOCK_PS) as f64), (pio_4, 2e12 / (ACCESS * CLOCK_PS) as f64)];
        // 20, 6 and 4 clocks a word.
        let of_cycles = [(multiword_0, 20), (multiword_1, 6), (multiword_2, 4)];
        let of_cycles = of_cycles.map(|(rate, clocks)| (rate, 2e12 / (clocks * CLOCK_PS) as f64));
        for (rate, bound) in bounds.into_iter().chain(of_cycles) {
            assert!(rate < bound && rate > 0.75 * bound, "{rw}: {rate} B/s of at most {bound}");
        }
    }
}

#[test]
fn accesses_of_32_bits_move_twice_as_much_until_the_cable_limits() {
    let of = |width: &str, mode: &str| {
        let blueprint =
            machine(ONE_DISK, &[&format!("disk.transfer_mode={mode}"), &format!("driver.words.width={width}")]);
        let (spans, _) = words(&blueprint, &format!("--rw=read {SAME_BLOCK}"));
        spans.iter().fold(Time::ZERO, |sum, span| sum + *span).as_ns_f64() / spans.len() as f64
    };
    // Two cycles of 4 clocks are there when the next access comes, 5 clocks after the data, and waits 4: 11 clocks still.
    let ratio = of("4 B", "pio-4") / of("2 B", "pio-4");
    assert!((0.495..0.51).contains(&ratio), "{ratio}");
    // 40 clocks a double word, and retries that end in steps of 11: 5 + 11 + 11 + 11 + 6 of 44 to 2 times 22.
    let ratio = of("4 B", "pio-0") / of("2 B", "pio-0");
    assert!((0.98..1.02).contains(&ratio), "{ratio}");
}

#[test]
fn the_processor_moves_every_word_of_programmed_io_and_none_of_dma() {
    let job = "--rw=read --bs=64k --runtime=500ms --time_based";
    let share = |mode| {
        let (spans, whole) = words(&in_mode(ONE_DISK, mode), job);
        spans.iter().fold(Time::ZERO, |sum, span| sum + *span).as_ns_f64() / whole.as_ns_f64()
    };
    assert!(share("pio-4") > 0.9, "{}", share("pio-4"));
    assert_eq!(share("multiword-dma-2"), 0.0);
    let rate = |mode| ran(&in_mode(ONE_DISK, mode), job).rate.bytes_per_second;
    let ratio = rate("pio-4") / rate("ultra-dma-2");
    assert!((0.05..0.6).contains(&ratio), "{ratio}");
}

#[test]
fn every_mode_moves_all_bytes_behind_either_bridge() {
    for mode in MODES {
        for rw in ["read", "write", "randrw"] {
            let job = format!("--rw={rw} --bs=9k --size=180k --iodepth=4");
            let set = format!("disk.transfer_mode={mode}");
            let faster = ["-ide=bridge/intel-piix4e-ultra-66", "-cable=bus/ide-ultra-100", &set];
            let fits_33 = !matches!(mode, "ultra-dma-3" | "ultra-dma-4" | "ultra-dma-5");
            for changes in [&faster[..], &faster[2..]].iter().take(if fits_33 { 2 } else { 1 }) {
                let setting = rewired(ONE_DISK, &job, changes).expect("a right change").setting;
                let outcome = run(&setting.blueprint, &setting.jobs, Options::default(), None);
                let outcome = outcome.unwrap_or_else(|failure| panic!("{mode} {rw}: {failure:?}"));
                let bytes: u64 = outcome.jobs.iter().filter_map(|job| job.got.as_ref()).map(|got| got.bytes).sum();
                assert_eq!(bytes, 180 << 10, "{mode} {rw}");
            }
        }
    }
}

#[test]
fn two_drives_of_a_cable_have_a_mode_each() {
    let job = |rw: &str| {
        format!(
            "--name=a --rw={rw} --bs=64k --size=64k --filename=disk --iodepth=4 --time_based --runtime=300ms \
             --name=b --rw={rw} --bs=64k --size=64k --filename=disk2 --iodepth=4 --time_based --runtime=300ms"
        )
    };
    for rw in ["read", "write"] {
        let of = |modes: [&str; 2]| {
            let changes = [format!("disk.transfer_mode={}", modes[0]), format!("disk2.transfer_mode={}", modes[1])];
            let outcome = ran(&machine(SAME_CHANNEL, &[&changes[0], &changes[1]]), &job(rw));
            let times = outcome.jobs.iter().map(|job| job.got.as_ref().expect("requests").latency_ns.mean());
            times.collect::<Vec<f64>>()
        };
        let (both, mixed, none) = (of(["pio-4"; 2]), of(["pio-4", "ultra-dma-2"]), of(["ultra-dma-2"; 2]));
        // The channel takes commands in turn: each job waits for the other's words, too.
        for job in 0..2 {
            assert!(none[job] * 1.3 < mixed[job] && mixed[job] * 1.3 < both[job], "{rw}: {none:?} {mixed:?} {both:?}");
        }
    }
}

#[test]
fn trains_of_accesses_are_single_accesses() {
    let cases = [
        (ONE_DISK, vec![], "--rw=randrw --bs=5k --size=1m --iodepth=4 --time_based --runtime=60ms"),
        (ONE_DISK, vec!["driver.words.width=4 B"], "--rw=rw --bs=16k --time_based --runtime=60ms"),
        (
            ONE_DISK,
            vec!["driver.words.gap=0 ns", "driver.words.multiple=1 sector"],
            "--rw=read --bs=16k --runtime=60ms",
        ),
        (
            TWO_CHANNELS,
            vec![],
            "--name=a --rw=rw --bs=16k --filename=disk --time_based --runtime=60ms \
             --name=b --rw=rw --bs=64k --filename=disk2 --time_based --runtime=60ms",
        ),
    ];
    let (mut booked, mut cut) = (0, 0);
    for (system, changes, options) in &cases {
        for mode in ["pio-0", "pio-2", "pio-4", "multiword-dma-2"] {
            let mode = format!("disk.transfer_mode={mode}");
            let blueprint = machine(system, &[&changes[..], &[&mode]].concat());
            let run = |trains| {
                let (sim, phases) = (Sim::new(), Phases::default());
                let options_of = Options { trains, ..Options::default() };
                let outcome =
                    run_in(sim.clone(), &blueprint, &jobs(options), options_of, Some(Box::new(phases.clone())));
                let outcome = outcome.unwrap_or_else(|failure| panic!("{system} {mode}: {failure:?}"));
                let lanes = sim.lanes().into_iter().map(|(name, _)| {
                    let mut spans = phases.of(&sim, &name);
                    // A part says what it did when that has ended.
                    spans.retain(|span| span.end() < outcome.simulated - Time::us(500));
                    (name, spans)
                });
                let lanes: Vec<_> = lanes.collect();
                (outcome.simulated, lanes, outcome.counts)
            };
            let (with, without) = (run(true), run(false));
            assert_eq!(with.0, without.0, "{system} {changes:?} {mode}");
            for ((name, with), (_, without)) in with.1.iter().zip(&without.1) {
                let differs = (0..with.len().max(without.len())).find(|&at| with.get(at) != without.get(at));
                let at = differs.map(|at| (with.get(at), without.get(at)));
                assert!(at.is_none(), "{system} {changes:?} {mode} {name}: {at:#?}");
            }
            booked += with.2.trains;
            cut += with.2.trains_cut;
        }
    }
    assert!(booked > 1_000 && cut > 100, "{booked} trains, {cut} cut");
}

#[test]
fn a_mode_that_there_is_not_is_told_the_nearest_one() {
    for (written, nearest) in [("pio4", "pio-4"), ("multiword-2", "multiword-dma-2"), ("ultra-dma2", "ultra-dma-2")] {
        let problem = changed(ONE_DISK, &[&format!("disk.transfer_mode={written}")]).err().unwrap_or_default();
        assert!(problem.contains(&format!("did you mean \"{nearest}\"?")), "{written}: {problem}");
    }
    let problem = changed(ONE_DISK, &["disk.transfer_mode=ultra-dma-4"]).err().unwrap_or_default();
    assert!(problem.contains("the cable carries Ultra DMA modes 0 to 2"), "{problem}");
    for wrong in [
        "ide.retry_after=1 clock",
        "driver.words.width=3 B",
        "driver.words.multiple=3 sectors",
        "driver.words.multiple=256 sectors",
    ] {
        assert!(changed(ONE_DISK, &[wrong]).is_err(), "{wrong}");
    }
}
