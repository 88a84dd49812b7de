//! What every reader must withstand. The property tests and the fuzz targets share these bodies, so that what is
//! fuzzed is what is tested: nothing panics, every refusal says something and points into a text, and what is
//! accepted can be built and run.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use hopscope_kernel::Time;
use hopscope_machine::blueprint::{self, Blueprint};
use hopscope_machine::explain::{EXTENT, Explained, explain};
use hopscope_machine::job_file::{self, Job};
use hopscope_machine::library::Library;
use hopscope_machine::problem::{Problems, Sources};
use hopscope_machine::run::{Failure, Options, run};
use hopscope_machine::{measured, part_file, quantity};

/// Simulated time of a run: enough for a command to be set up and for its first data.
const SPAN: Time = Time::ms(1);
/// What reports may be long, bytes.
const LONGEST_REPORT: usize = 20_000;
/// Files of an overlay, at most.
const MOST_FILES: usize = 16;
/// Before the path of a file of an overlay.
pub const FILE: &str = "=== ";

const SYSTEM: &str = "piix4e-one-disk";

/// A quantity.
pub fn quantity(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Err(expected) = quantity::parse(text) {
        assert!(!expected.is_empty() && expected.len() <= LONGEST_REPORT + text.len(), "{expected}");
    }
}

/// A part file.
pub fn part_file(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let mut sources = Sources::default();
    let file = sources.add("mine.toml", text);
    let part = match part_file::read(&sources, file) {
        Ok(part) => part,
        Err(problems) => return refused(&problems, &sources, Some(file)),
    };
    if let Err(problems) = blueprint::check_part(shipped(), &mut sources, file) {
        return refused(&problems, &sources, Some(file));
    }
    // It takes the place of a shipped part of its model.
    let model = format!("model = \"{}\"", part.model);
    let replaced = shipped().parts().find(|name| shipped().part(name).is_some_and(|part| part.text.contains(&model)));
    let folder = tempfile::TempDir::new().expect("a scratch folder");
    write(folder.path(), &format!("parts/{}.toml", replaced.expect("a part of a known model")), text);
    let library = Library::new(Some(folder.path())).expect("a library");
    for name in shipped().systems() {
        let mut sources = Sources::default();
        if let Ok(blueprint) = read_system(&library, &mut sources, name) {
            runs(&blueprint, brief_jobs(), &sources, text);
        }
    }
}

/// A system file.
pub fn system_file(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let mut sources = Sources::default();
    let file = sources.add("mine.toml", text);
    match Blueprint::read(shipped(), &mut sources, file) {
        Ok(blueprint) => runs(&blueprint, brief_jobs(), &sources, text),
        Err(problems) => refused(&problems, &sources, Some(file)),
    }
}

/// A job file.
pub fn job_file(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let mut sources = Sources::default();
    let file = sources.add("mine.fio", text);
    match job_file::read(&sources, file) {
        Ok(read) => runs(shipped_machine(), &read.jobs, &sources, text),
        Err(problems) => refused(&problems, &sources, Some(file)),
    }
}

/// A result of fio: as a job, and as what was measured beside the simulation of another.
pub fn fio_result(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let mut sources = Sources::default();
    let file = sources.add("mine.json", text);
    match job_file::read(&sources, file) {
        Ok(read) => runs(shipped_machine(), &read.jobs, &sources, text),
        Err(problems) => refused(&problems, &sources, Some(file)),
    }
    let read = match measured::file::read(&sources, file) {
        Ok(read) => read,
        Err(problems) => return refused(&problems, &sources, Some(file)),
    };
    for jobs in [brief_jobs(), &brief_jobs()[..1]] {
        match measured::pair(&read, jobs) {
            Ok(pairing) => {
                let compared = measured::compare("mine.json", &read, &pairing, jobs, brief_run());
                let said = compared.verdict().concat();
                assert!(!said.is_empty() && !said.contains("NaN") && !said.contains("inf "), "{said}");
                assert!(compared.warnings.iter().all(|warning| !warning.words().is_empty()));
                let report = measured::json::report(&compared).to_string();
                assert!(report.len() <= 20 * (LONGEST_REPORT + text.len()), "{} bytes", report.len());
            }
            Err(problems) => refused(&problems, &sources, Some(file)),
        }
    }
}

/// A job's options on a command line, one a line.
pub fn job_options(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let mut sources = Sources::default();
    match job_file::read_options(&mut sources, &text.lines().collect::<Vec<_>>()) {
        Ok(read) => runs(shipped_machine(), &read.jobs, &sources, text),
        Err(problems) => refused(&problems, &sources, Some(0)),
    }
}

/// Assignments as `--set` takes them, one a line; the first that is refused is the last.
pub fn set_assignment(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let mut blueprint = shipped_machine().clone();
    for assignment in text.lines() {
        if let Err(problems) = blueprint.set(assignment) {
            // The texts that they may point into have been read before.
            return assert!(!problems.0.is_empty() && problems.0.iter().all(|problem| !problem.title.is_empty()));
        }
    }
    runs(&blueprint, brief_jobs(), &Sources::default(), text);
}

/// A folder as `--data` takes it: before each file a line `=== path`.
pub fn overlay(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let folder = tempfile::TempDir::new().expect("a scratch folder");
    for file in text.split(FILE).skip(1).take(MOST_FILES) {
        let (path, content) = file.split_once('\n').unwrap_or((file, ""));
        write(folder.path(), path, content);
    }
    let library = match Library::new(Some(folder.path())) {
        Ok(library) => library,
        Err(problems) => return refused(&problems, &Sources::default(), None),
    };
    // Of the shipped systems one is enough.
    let is_own = |name: &str| name == SYSTEM || library.system(name) != shipped().system(name);
    for name in library.systems().filter(|name| is_own(name)) {
        let mut sources = Sources::default();
        match read_system(&library, &mut sources, name) {
            Ok(blueprint) => runs(&blueprint, brief_jobs(), &sources, text),
            Err(problems) => refused(&problems, &sources, None),
        }
    }
}

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

fn shipped() -> &'static Library {
    static SHIPPED: OnceLock<Library> = OnceLock::new();
    SHIPPED.get_or_init(|| Library::new(None).expect("the shipped files can be read"))
}

/// The machine that jobs and assignments are for.
pub fn shipped_machine() -> &'static Blueprint {
    static MACHINE: OnceLock<Blueprint> = OnceLock::new();
    MACHINE.get_or_init(|| read_system(shipped(), &mut Sources::default(), SYSTEM).expect("a right system"))
}

fn read_system(library: &Library, sources: &mut Sources, name: &str) -> Result<Blueprint, Problems> {
    let text = library.system(name).expect("a listed system");
    let file = sources.add(text.name.clone(), text.text.clone());
    Blueprint::read(library, sources, file)
}

/// A request of each direction.
fn brief_jobs() -> &'static [Job] {
    static JOBS: OnceLock<Vec<Job>> = OnceLock::new();
    JOBS.get_or_init(|| {
        let options = ["--bs=64k", "--size=64k", "--name=out", "--rw=write", "--name=in", "--rw=read"];
        job_file::read_options(&mut Sources::default(), &options).expect("right options").jobs
    })
}

/// A run of them, explained.
fn brief_run() -> &'static Explained {
    static RUN: OnceLock<Explained> = OnceLock::new();
    RUN.get_or_init(|| {
        explain(shipped_machine(), brief_jobs(), Options::default(), EXTENT, None).expect("a run of right jobs")
    })
}

/// Writes a file below a folder, if its path is one that stays there.
fn write(folder: &Path, path: &str, content: &str) {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let named = |name: &str| !name.is_empty() && name != "." && name != ".." && name.chars().all(allowed);
    if path.len() > 100 || !path.split('/').all(named) {
        return;
    }
    let path = folder.join(path);
    if path.parent().is_some_and(|parent| fs::create_dir_all(parent).is_ok()) {
        // Where a folder has this name, there is no file.
        let _ = fs::write(path, content);
    }
}

/// Runs a machine for a moment. A driver's steps are a program, and one of `text` may well leave the machine waiting.
fn runs(blueprint: &Blueprint, jobs: &[Job], sources: &Sources, text: &str) {
    let brief = |job: &Job| Job { runtime: Some(SPAN), ramp_time: Time::ZERO, ..job.clone() };
    let jobs: Vec<Job> = jobs.iter().map(brief).collect();
    // Requests of any length and pauses of any time would end first, as in fio.
    match run(blueprint, &jobs, Options { cut: true, ..Options::default() }, None) {
        // Between two stages what is in flight ends, however long that takes.
        Ok(outcome) => outcome.stages.iter().for_each(|stage| {
            let took = stage.end - stage.start;
            assert!(took <= SPAN, "{took} instead of {SPAN}");
        }),
        Err(Failure::Input(problems)) => assert!(!problems.render(sources, false).is_empty()),
        Err(Failure::Defect(what)) => {
            assert!(text.contains("cycle") && what.contains("everybody waits for somebody"), "{what}");
        }
    }
}

/// Something is said, briefly, and it points into a text: that of `file`, if it is given.
#[track_caller]
fn refused(problems: &Problems, sources: &Sources, file: Option<u32>) {
    assert!(!problems.0.is_empty());
    for problem in &problems.0 {
        assert!(!problem.title.is_empty());
        assert!(problem.place.is_some() || file.is_none(), "nowhere: {}", problem.title);
        let Some(place) = problem.place else { continue };
        assert!(file.is_none_or(|file| place.file == file), "in another file: {}", problem.title);
        let text = sources.text(place.file);
        assert!(!sources.name(place.file).is_empty(), "in no file: {}", problem.title);
        assert!(place.start <= place.end && place.end as usize <= text.len(), "outside of the text: {problem:?}");
    }
    let report = problems.render(sources, false);
    assert!(!report.is_empty() && report.len() <= LONGEST_REPORT, "{} bytes: {report}", report.len());
}
