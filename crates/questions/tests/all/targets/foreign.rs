//! What other programs have written: traces, drives as DiskSim describes them, and waveforms.

use std::io::Cursor;
use std::path::PathBuf;

use hopscope_files::import::disksim as import;
use hopscope_files::part_file;
use hopscope_files::problem::{Problems, Sources};
use hopscope_files::trace_file::{Format, Gaps, Only, TraceProblem};
use hopscope_machine::blueprint;
use hopscope_questions::replay::{Options, Refused, Replayed, Trace, replay, report};
use hopscope_signals::pci::json;
use hopscope_signals::pci::pattern::pattern;
use hopscope_signals::pci::pins::Pins;
use hopscope_signals::pci::summary::Summary;
use hopscope_signals::waves::vcd_in::VcdReader;

use super::drawn::Drawn;
use super::files::runs_as_part;
use super::machines::{self, shipped};
use super::runs::failed;
use super::{FILE, files_of, refused, text, write};

/// Lines of a trace that are played.
const MOST_LINES: usize = 64;
/// What traces are played on.
const SYSTEMS: [&str; 4] = ["piix4e-one-disk", "nvme-desktop", "barracuda-4lp", "sata-ssd"];
/// A name as a file may have it.
const NAME: &str = "mine.trace";

/// A trace of requests, in a format that its first line decides or that somebody has named.
pub fn trace(data: &[u8]) -> bool {
    let (drawn, data) = Drawn::of(data);
    let data: Vec<u8> = data.split_inclusive(|byte| *byte == b'\n').take(MOST_LINES).flatten().copied().collect();
    let mut formats = vec![None; 12];
    formats.extend(Format::ALL.map(Some));
    let trace = Trace {
        name: NAME.to_string(),
        input: Box::new(Cursor::new(data)),
        format: *drawn.choose(40, &formats),
        only: *drawn.choose(41, &[None, None, None, Some(Only::All), Some(Only::One(0)), Some(Only::One(u64::MAX))]),
        gaps: *drawn.choose(42, &[None, None, None, Some(Gaps::SinceLast), Some(Gaps::UntilNext)]),
    };
    let system = *drawn.choose(43, &SYSTEMS);
    let options = Options { target: None, seed: drawn.seed, trains: drawn.trains, account: false };
    match replay(machines::named(system), trace, &options, Box::new(|_, _, _| {})) {
        Ok(replayed) => played(system, drawn.seed, replayed),
        Err(Refused::Trace(problem)) => wrong(problem),
        Err(Refused::Machine(failure)) => {
            failed(failure, &Sources::default(), "");
            false
        }
    }
}

/// A value change dump, with the bus that is in it.
pub fn waveform(data: &[u8]) -> bool {
    let Ok((reader, signals)) = VcdReader::new(data) else { return false };
    let Ok(mut pins) = Pins::find(&signals, &[], None) else { return false };
    let read = pins.follow_all(reader);
    assert!(read.as_ref().err().is_none_or(|broken| !broken.what.is_empty()));
    let whole = read.is_ok();
    let clock_ps = pins.period_ps.1 as f64 / pins.period_ps.2.max(1) as f64;
    if clock_ps > 0.0 {
        let summary = Summary::of(&pins.decoder, clock_ps);
        let repeats = pattern(&pins.decoder.transactions);
        let report = json::report(&pins, &summary, repeats.as_ref(), None).to_string();
        assert!(!report.contains("NaN") && !report.contains("inf"));
    }
    whole
}

fn played(system: &str, seed: u64, replayed: Replayed) -> bool {
    assert!(replayed.figures.count() as usize <= MOST_LINES);
    assert!(replayed.figures.last_end <= replayed.simulated);
    let report = report(NAME, system, seed, &replayed).to_string();
    assert!(!report.is_empty());
    replayed.problem.is_none_or(wrong)
}

/// It says where.
fn wrong(problem: TraceProblem) -> bool {
    let (line, _) = problem.line_and_column();
    let mut sources = Sources::default();
    let problem = problem.with_its_line(&mut sources);
    assert!(line > 0 || problem.title.starts_with(NAME), "nowhere: {}", problem.title);
    refused(&Problems::from(problem), &sources, None)
}

/// A drive as DiskSim describes it: files, each after a line with its path, or one file.
pub fn disksim(data: &[u8]) -> bool {
    let (drawn, data) = Drawn::of(data);
    let Some(text) = text(data) else { return false };
    let folder = tempfile::TempDir::new().expect("a scratch folder");
    let files: Vec<(&str, &str)> =
        if text.contains(FILE) { files_of(text).collect() } else { vec![("mine.diskspecs", text)] };
    let written = files.into_iter().filter_map(|(path, content)| write(folder.path(), path, content));
    let paths: Vec<PathBuf> = written.collect();
    let mut sources = Sources::default();
    let imported = match import::import(&mut sources, &paths) {
        Ok(imported) => imported,
        Err(problem) => return refused(&problem.into(), &sources, None),
    };
    assert!(imported.notes.iter().all(|note| !note.is_empty()));
    let mut sources = Sources::default();
    let file = sources.add("mine.toml", imported.part.clone());
    let part =
        part_file::read(&sources, file).unwrap_or_else(|problems| panic!("{}", problems.render(&sources, false)));
    match blueprint::check_part(shipped(), &mut sources, file) {
        Ok(()) => {
            runs_as_part(&part.model, &imported.part, &drawn);
            true
        }
        Err(problems) => refused(&problems, &sources, Some(file)),
    }
}
