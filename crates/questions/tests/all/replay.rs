//! Recorded traces, right and wrong, on a shipped machine.

use std::fs;
use std::io::Cursor;

use hopscope_files::import::disksim;
use hopscope_files::library::Library;
use hopscope_files::problem::{Problems, Sources};
use hopscope_files::trace_file::{Format, Gaps, Only, Told};
use hopscope_kernel::Time;
use hopscope_machine::blueprint::Blueprint;
use hopscope_questions::replay::{Figures, Options, Refused, Replayed, Trace, replay, report};

use crate::samples::sample;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const VALIDATION: &str = include_str!("../traces/validation.trace");
const ASCII: &str = include_str!("../traces/ascii.trace");
const SPC: &str = include_str!("../traces/requests.spc");
const MSR: &str = include_str!("../../../../docs/office.msr.csv");
const BLKPARSE: &str = include_str!("../traces/requests.blkparse");
const ALL: [(&str, Format); 5] = [
    (VALIDATION, Format::DiskSimValidation),
    (ASCII, Format::DiskSimAscii),
    (SPC, Format::Spc),
    (MSR, Format::Msr),
    (BLKPARSE, Format::Blkparse),
];

fn machine(library: &Library, name: &str) -> Result<Blueprint, Problems> {
    let mut sources = Sources::default();
    let text = library.open_system(name)?;
    let file = sources.add(text.name, text.text);
    Blueprint::read(library, &mut sources, file)
}

fn bench() -> Blueprint {
    machine(&Library::new(None).unwrap(), "piix4e-one-disk").expect("a right system")
}

fn trace(text: &str, format: Option<Format>, only: Option<Only>) -> Trace {
    Trace { name: "a.trace".into(), input: Box::new(Cursor::new(text.as_bytes().to_vec())), format, only, gaps: None }
}

fn options(seed: u64) -> Options {
    Options { target: None, seed, trains: true, account: false }
}

fn played(text: &str) -> Replayed {
    let replayed = replay(&bench(), trace(text, None, None), &options(1), Box::new(|_, _, _| {}));
    replayed.unwrap_or_else(|refused| panic!("{refused:?}"))
}

/// What is said of a trace that is wrong, at once or after a while, and what had been computed by then.
fn wrong(text: &str, format: Option<Format>) -> (String, Option<Figures>) {
    let mut sources = Sources::default();
    let (problem, figures) = match replay(&bench(), trace(text, format, None), &options(1), Box::new(|_, _, _| {})) {
        Ok(Replayed { problem: Some(problem), figures, .. }) => (problem, Some(figures)),
        Err(Refused::Trace(problem)) => (problem, None),
        other => panic!("refused, not {other:?}"),
    };
    let problem = problem.with_its_line(&mut sources);
    (Problems::from(problem).render(&sources, false), figures)
}

#[track_caller]
fn refused(text: &str, words: &[&str]) {
    let (said, _) = wrong(text, None);
    for word in words {
        assert!(said.contains(word), "no {word:?} in\n{said}");
    }
    assert!(said.len() < 4_000, "{said}");
}

#[test]
fn every_format_is_told_from_its_first_lines() {
    for (text, format) in ALL {
        let replayed = played(text);
        assert_eq!((replayed.format, replayed.figures.count(), &replayed.problem), (format, 40, &None));
    }
}

#[test]
fn the_same_requests_give_the_same_figures_in_every_format_with_times() {
    let [ascii, spc, msr, blkparse] = [ASCII, SPC, MSR, BLKPARSE].map(played);
    for other in [&spc, &msr, &blkparse] {
        assert_eq!(other.figures.requests, ascii.figures.requests);
        assert_eq!(other.figures.bytes, ascii.figures.bytes);
        assert_eq!(other.figures.last_end, ascii.figures.last_end, "{:?}", other.format);
        assert_eq!(other.figures.simulated.mean_ns(), ascii.figures.simulated.mean_ns());
    }
    assert_eq!((ascii.figures.recorded.count(), ascii.figures.demerit_ns()), (0, None));
    assert_eq!(msr.figures.recorded.mean_ns(), blkparse.figures.recorded.mean_ns());
    assert_eq!(msr.figures.paired.count, 40);
    assert_eq!((blkparse.without_data, msr.without_data), (1, 0), "a flush");
}

#[test]
fn hops_are_accounted_for_without_changing_what_is_computed() {
    for (text, format) in ALL {
        let asked = Options { account: true, ..options(1) };
        let with = replay(&bench(), trace(text, None, None), &asked, Box::new(|_, _, _| {})).expect("it is played");
        let without = played(text);
        assert!(without.accounted.is_none());
        assert_eq!(with.figures.last_end, without.figures.last_end, "{format:?}");
        let accounted = with.accounted.unwrap_or_else(|| panic!("{format:?}: no account"));
        let latency = accounted.latency.unwrap_or_else(|| panic!("{format:?}: no latency"));
        let mean_ns = latency.mean.sum.as_ns_f64() / latency.mean.count as f64;
        assert_eq!(latency.mean.count, with.figures.count(), "{format:?}: every request of a short trace");
        assert!((mean_ns - without.figures.simulated.mean_ns()).abs() < 1.0, "{format:?}: {mean_ns}");
        let arm = accounted.account.lanes.iter().find(|lane| lane.lane == "disk.arm").expect("the arm was at work");
        assert!(arm.busy_share() > 0.05, "{format:?}: {}", arm.busy_share());
    }
}

#[test]
fn a_request_that_follows_a_completion_comes_after_its_gap() {
    let figures = played(VALIDATION).figures;
    let gaps: f64 =
        VALIDATION.lines().map(|line| line.split_whitespace().last().unwrap().parse::<f64>().unwrap()).sum();
    let responses = figures.simulated.mean_ns() * figures.count() as f64;
    assert!((figures.last_end.as_ns_f64() - gaps * 1e3 - responses).abs() < 100.0, "{gaps} us and {responses} ns");
}

#[test]
fn a_gap_until_the_next_request_comes_after_its_own() {
    let told = Trace { gaps: Some(Gaps::UntilNext), ..trace(VALIDATION, None, None) };
    let replayed = replay(&bench(), told, &options(1), Box::new(|_, _, _| {})).expect("it is played");
    assert_eq!(replayed.gaps, Some((Gaps::UntilNext, Told::Asked)));
    let gaps: Vec<f64> =
        VALIDATION.lines().map(|line| line.split_whitespace().last().unwrap().parse().unwrap()).collect();
    let between: f64 = gaps[..gaps.len() - 1].iter().sum();
    let figures = replayed.figures;
    let responses = figures.simulated.mean_ns() * figures.count() as f64;
    assert!((figures.last_end.as_ns_f64() - between * 1e3 - responses).abs() < 100.0, "none before the first one");
    let json = report("a.trace", "piix4e-one-disk", 1, &played(VALIDATION));
    assert_eq!(json["gaps"], serde_json::json!({ "lie": "since-last", "told_by": "nothing" }), "too short to tell");
    assert!(report("a.trace", "piix4e-one-disk", 1, &played(SPC))["gaps"].is_null());
    let asked = Trace { gaps: Some(Gaps::UntilNext), ..trace(SPC, None, None) };
    match replay(&bench(), asked, &options(1), Box::new(|_, _, _| {})) {
        Err(Refused::Trace(problem)) => assert!(problem.title().contains("has times, and no gaps"), "{problem:?}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn disksims_words_for_two_and_three_connections_are_known() {
    let figures = played("R Doub 800 8 9000.0 900.0\nR Trip 4000 8 9000.0 900.0\nW Miss 80 8 9000.0 900.0\n").figures;
    assert_eq!(figures.requests, [2, 1]);
    refused("R Quad 800 8 500.0 900.0\nR Hit 1 8 1.0 1.0\n", &["no line of a trace"]);
    refused("R Hit 800 8 500.0 900.0\nR Quad 1 8 1.0 1.0\n", &["a.trace:2:3", "expected Hit, Miss, Doub or Trip"]);
}

#[test]
fn a_request_with_a_time_is_issued_then_and_one_too_many_waits() {
    let far = "0.0 0 800 8 1\n500.0 0 2000000 8 1\n1000.0 0 4000000 8 1\n";
    let figures = played(far).figures;
    assert!((1_000.0..1_040.0).contains(&(figures.last_end.as_ns_f64() / 1e6)), "{:?}", figures.last_end);
    let alone = figures.simulated.mean_ns();
    let crowded: String = (0..30).map(|n| format!("{n} 0 {} 8 1\n", n * 100_000)).collect();
    let waiting = played(&crowded).figures.simulated.mean_ns();
    assert!(waiting > 5.0 * alone, "thirty at once wait for each other: {waiting} and {alone}");
}

#[test]
fn more_requests_than_drivers_queue_are_held_back_and_none_is_lost() {
    let text: String = (0..3_000).map(|n| format!("{}.{:03} 0 {} 8 1\n", n / 40, n % 40 * 25, n * 8)).collect();
    let figures = played(&text).figures;
    assert_eq!(figures.count(), 3_000);
    assert!(figures.held_back > 1_000, "{}", figures.held_back);
    assert!(figures.simulated.ns.max() > 100_000_000, "from when they were due");
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_column() {
    let line = |line: &str| format!("1.0 0 800 8 1\n# a comment\n\n{line}\n");
    refused("", &["a.trace: there is no request in this trace"]);
    refused("# nothing\n", &["there is no request"]);
    refused("GIF89a\u{1}\n", &["a.trace:1:1", "no line of a trace", "disksim-ascii, spc, msr, blkparse"]);
    refused(&line("2.0 0 800 8"), &["a.trace:4:12", "this line is cut: 4 columns instead of 5", "flags"]);
    refused(&line("2.0 0 800 8 1 7"), &["a.trace:4:15", "6 columns instead of 5"]);
    refused(&line("2.0 0 8o0 8 1"), &["a.trace:4:7", "`8o0` is no number", "expected a block", "missing or swapped?"]);
    refused(&line("2.0 0 -8 8 1"), &["a.trace:4:7", "a block is negative"]);
    refused(&line("0.5 0 800 8 1"), &["a.trace:4:1", "time goes backwards", "sort it"]);
    refused(
        &line("2.0 1 800 8 1"),
        &["a.trace:4:5", "several devices: 1 here, 0 before", "--device 0, or --device all"],
    );
    refused(&line("2.0 0 800 0 1"), &["a.trace:4:11", "a request of 0 bytes"]);
    refused(&line("2.0 0 8 800000 1"), &["a.trace:4:9", "a request of 800000 blocks", "are columns swapped?"]);
    refused(&line("2.0 0 800 40960 1"), &["a.trace:4:11", "this looks like bytes: they would be 80 blocks"]);
    refused(&line("2.0 0 99999999 8 1"), &["a.trace:4:7", "block 99999999 is beyond the device, which has"]);
    refused(&line("2.0 0 40960000 8 1"), &["a.trace:4:7", "this looks like bytes: they would be block 80000"]);
    refused(&line("1e12 0 8 8 1"), &["`1e12` is no"]);
    refused(&line("99999999999 0 8 8 1"), &["more than a hundred days"]);
    refused(&line("2.0 0 8 8 r"), &["a.trace:4:11", "`r` are no flags"]);
    refused(&line(&"9".repeat(5_000)), &["longer than 4096 bytes"]);

    refused("Hit R 800 8 500.0 900.0\n", &["a.trace:1:1", "`Hit` is no direction", "expected R or W"]);
    refused("R Hit 800 8 500.0\n", &["a.trace:1:18", "this line is cut"]);
    refused("0,800,8,r,0.0\n", &["a.trace:1:7", "this looks like blocks; 4096 bytes would be 8"]);
    refused("0,800,r,4096,0.0\n", &["a.trace:1:7", "`r` is no number", "expected a size in bytes"]);
    refused("1234567890,h,0,Read,0,512,9\n", &["a.trace:1:1", "looks like seconds since 1970", "100 ns since 1601"]);
    refused("128166372003061629,h,0,Read,13,512,9\n", &["a.trace:1:29", "are these blocks instead of bytes?"]);
    refused("128166372003061629,h,0,512,Read,0,9\n", &["a.trace:1:24", "`512` is no direction"]);
    refused("8,0 1 1 0.0 7 D R 800 +\n", &["a.trace:1:", "this line is cut"]);
}

#[test]
fn times_in_another_unit_are_suspected_and_can_be_insisted_on() {
    let times = |scale: f64| -> String {
        (0..200).map(|n| format!("{:.7} 0 {} 8 1\n", f64::from(n) * scale, n * 64)).collect()
    };
    refused(&times(0.01), &["200 requests are", "are they seconds instead of milliseconds?", "--format disksim-ascii"]);
    let insisted =
        replay(&bench(), trace(&times(0.01), Some(Format::DiskSimAscii), None), &options(1), Box::new(|_, _, _| {}));
    assert_eq!(insisted.map(|replayed| replayed.figures.count()).ok(), Some(200));
    let spc: String = (0..200).map(|n| format!("0,{},4096,r,{}\n", n * 64, n * 10_000)).collect();
    refused(&spc, &["are they milliseconds instead of seconds?"]);
    let ms: String = (0..200).map(|n| format!("R Miss {} 8 13.2 2000.0\n", n * 64)).collect();
    refused(&ms, &["responses took 13.2", "are they milliseconds instead of microseconds?"]);
}

#[test]
fn what_was_computed_before_an_error_is_kept() {
    for (text, _) in ALL {
        let lines: Vec<&str> = text.lines().collect();
        let cut: String = lines[..20].iter().map(|line| format!("{line}\n")).collect();
        let (said, figures) = wrong(&format!("{cut}R x\n1,2,x\n"), None);
        let figures = figures.unwrap_or_else(|| panic!("figures with {said}"));
        assert!(figures.count() >= 6 && figures.last_end > Time::ZERO, "{} before {said}", figures.count());
        assert!(said.contains("a.trace:21:"), "{said}");
    }
}

#[test]
fn one_of_several_devices_is_played_or_all_as_one() {
    let text = "0.0 0 800 8 1\n1.0 3 1600 8 1\n2.0 3 2400 8 0\n";
    let of = |only| {
        let replayed = replay(&bench(), trace(text, None, Some(only)), &options(1), Box::new(|_, _, _| {}));
        replayed.map(|replayed| replayed.figures.requests).ok()
    };
    assert_eq!((of(Only::One(3)), of(Only::One(0)), of(Only::All)), (Some([1, 1]), Some([1, 0]), Some([2, 1])));
}

#[test]
fn a_replay_repeats_exactly_with_trains_and_without() {
    let json = |trains| {
        let options = Options { trains, ..options(3) };
        let replayed = replay(&bench(), trace(MSR, None, None), &options, Box::new(|_, _, _| {})).unwrap();
        report("a.trace", "piix4e-one-disk", 3, &replayed).to_string()
    };
    assert_eq!(json(true), json(true));
    assert_eq!(json(true), json(false));
}

#[test]
fn reads_get_past_more_writes_than_the_drive_keeps() {
    let line = |direction: char| move |n: u64| format!("{direction} Hit {} 128 1000.0 0.0\n", n * 128);
    let text: String = (0..64).map(line('W')).chain((0..64).map(line('R'))).collect();
    assert_eq!(played(&text).figures.requests, [64, 64]);
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(60) })]

    #[test]
    fn a_damaged_trace_is_played_or_refused_briefly(which in 0usize..5, at in any::<usize>(), byte in any::<Option<u8>>()) {
        let mut bytes = ALL[which].0.as_bytes().to_vec();
        let at = at % bytes.len();
        match byte {
            Some(byte) => bytes[at] = byte,
            None => bytes.truncate(at),
        }
        let input = Box::new(Cursor::new(bytes));
        let trace = Trace { name: "a.trace".into(), input, format: None, only: None, gaps: None };
        let mut sources = Sources::default();
        let problem = match replay(&bench(), trace, &options(1), Box::new(|_, _, _| {})) {
            Ok(replayed) => replayed.problem,
            Err(Refused::Trace(problem)) => Some(problem),
            Err(Refused::Machine(failure)) => panic!("{failure:?}"),
        };
        if let Some(problem) = problem {
            let problem = problem.with_its_line(&mut sources);
            let said = Problems::from(problem).render(&sources, false);
            prop_assert!(said.len() < 4_000 && said.contains("a.trace"), "{said}");
        }
    }
}

#[test]
fn the_barracuda_answers_as_the_real_one_did() {
    let Some(path) = sample("disksim/barracuda.trace") else { return };
    let text = fs::read_to_string(path).expect("the trace can be read");
    let barracuda = machine(&Library::new(None).unwrap(), "barracuda-4lp-validation").expect("a shipped system");
    for seed in 1..=2 {
        let replayed = replay(&barracuda, trace(&text, None, None), &options(seed), Box::new(|_, _, _| {})).unwrap();
        assert_eq!((replayed.figures.count(), replayed.problem), (10_000, None));
        assert_eq!(replayed.gaps, Some((Gaps::SinceLast, Told::Platter)));
        let demerit_ms = replayed.figures.demerit_ns().unwrap() / 1e6;
        let close = replayed.figures.paired.close_share();
        // DiskSim's own model of this drive has 0.348 ms and 64 %.
        assert!(demerit_ms <= 0.348 && close > 0.64, "seed {seed}: {demerit_ms} ms, {close} within 1 ms");
    }
}

/// A drive of another maker and another dialect, imported as it is.
#[test]
fn the_hp_c2490a_answers_as_the_real_one_did() {
    let (Some(path), Some(specs)) = (sample("disksim/hp_c2490a.trace"), sample("disksim/hp_c2490a.diskspecs")) else {
        return;
    };
    let text = fs::read_to_string(path).expect("the trace can be read");
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("parts/disk");
    fs::create_dir_all(&parts).unwrap();
    let mut sources = Sources::default();
    let import = disksim::import(&mut sources, &[specs]).expect("a drive");
    // Its bus is in the file beside it: 0.14841 ms a block.
    assert!(import.part.contains("{ value = \"3449902 B/s\", source = \"hp_c2490a.parv\" }"), "{}", import.part);
    fs::write(parts.join("hp.toml"), &import.part).unwrap();
    let library = Library::new(Some(folder.path())).unwrap();
    let system = library.open_system("barracuda-4lp").unwrap();
    let file = sources.add("hp.toml", system.text.replace("seagate-barracuda-4lp", "hp"));
    let hp = Blueprint::read(&library, &mut sources, file).unwrap_or_else(|problems| panic!("{problems}"));
    let played = |gaps| replay(&hp, Trace { gaps, ..trace(&text, None, None) }, &options(1), Box::new(|_, _, _| {}));
    let replayed = played(None).unwrap();
    assert_eq!((replayed.figures.count(), replayed.problem), (9_984, None));
    assert_eq!(replayed.gaps, Some((Gaps::UntilNext, Told::Platter)));
    let demerit_ms = replayed.figures.demerit_ns().unwrap() / 1e6;
    let close = replayed.figures.paired.close_share();
    println!("demerit {demerit_ms} ms, {close} within 1 ms");
    // DiskSim's own model of this drive has 0.254 ms and 89 %.
    assert!(demerit_ms <= 0.48 && close > 0.885, "{demerit_ms} ms, {close} within 1 ms");
    let other = played(Some(Gaps::SinceLast)).unwrap().figures.paired.close_share();
    assert!(other < 0.5, "the other reading: {other} within 1 ms");
}
