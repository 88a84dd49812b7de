//! Parts, systems, jobs and results, folders of them, and what a command line has.

use hopscope_files::fio_result;
use hopscope_files::job_file::{self, JobFile};
use hopscope_files::library::Library;
use hopscope_files::problem::{Problems, Sources};
use hopscope_files::{part_file as parts, quantity as quantities};
use hopscope_machine::blueprint::{self, Blueprint};
use hopscope_questions::compare::{self, Column, Comparison};
use hopscope_questions::measured;

use super::drawn::Drawn;
use super::machines::{self, brief_jobs, brief_run, jobs_of, read_system, shipped};
use super::runs::runs;
use super::{LONGEST_REPORT, files_of, refused, text, write};

/// Of the systems that use a part, so many are run.
const MOST_SYSTEMS: usize = 2;

/// A quantity.
pub fn quantity(data: &[u8]) -> bool {
    let Some(text) = text(data) else { return false };
    match quantities::parse(text) {
        Ok(_) => true,
        Err(expected) => {
            assert!(!expected.is_empty() && expected.len() <= LONGEST_REPORT + text.len(), "{expected}");
            false
        }
    }
}

/// A part file.
pub fn part_file(data: &[u8]) -> bool {
    let (drawn, data) = Drawn::of(data);
    let Some(text) = text(data) else { return false };
    let mut sources = Sources::default();
    let file = sources.add("mine.toml", text);
    let part = match parts::read(&sources, file) {
        Ok(part) => part,
        Err(problems) => return refused(&problems, &sources, Some(file)),
    };
    if let Err(problems) = blueprint::check_part(shipped(), &mut sources, file) {
        return refused(&problems, &sources, Some(file));
    }
    runs_as_part(&part.model, text, &drawn);
    true
}

/// Runs a part in the place of shipped ones of its model.
pub fn runs_as_part(model: &str, text: &str, drawn: &Drawn) {
    let users = machines::all().iter().flat_map(|(system, machine)| {
        let of_its_model = machine.parts().iter().filter(|part| part.model() == model);
        of_its_model.map(|part| (system.as_str(), part.uses.as_str())).take(1)
    });
    let users: Vec<(&str, &str)> = users.collect();
    for number in 0..MOST_SYSTEMS.min(users.len()) {
        let (system, replaced) = *drawn.choose(20 + number as u32, &users);
        let folder = tempfile::TempDir::new().expect("a scratch folder");
        write(folder.path(), &format!("parts/{replaced}.toml"), text);
        let library = Library::new(Some(folder.path())).expect("a library");
        let mut sources = Sources::default();
        if let Ok(blueprint) = read_system(&library, &mut sources, system) {
            runs(&blueprint, jobs_of(drawn), drawn, &sources, text);
        }
    }
}

/// A system file.
pub fn system_file(data: &[u8]) -> bool {
    let (drawn, data) = Drawn::of(data);
    let Some(text) = text(data) else { return false };
    let mut sources = Sources::default();
    let file = sources.add("mine.toml", text);
    match Blueprint::read(shipped(), &mut sources, file) {
        Ok(blueprint) => {
            runs(&blueprint, jobs_of(&drawn), &drawn, &sources, text);
            true
        }
        Err(problems) => refused(&problems, &sources, Some(file)),
    }
}

/// A job file.
pub fn job_file(data: &[u8]) -> bool {
    let (drawn, data) = Drawn::of(data);
    let Some(text) = text(data) else { return false };
    let mut sources = Sources::default();
    let file = sources.add("mine.fio", text);
    jobs(job_file::read(&sources, file), &drawn, sources, (text, file))
}

/// A result of fio: as a job, and as what was measured beside the simulation of another.
pub fn fio_result(data: &[u8]) -> bool {
    let (drawn, data) = Drawn::of(data);
    let Some(text) = text(data) else { return false };
    let mut sources = Sources::default();
    let file = sources.add("mine.json", text);
    let is_job = jobs(job_file::read(&sources, file), &drawn, sources.clone(), (text, file));
    let read = match fio_result::read(&sources, file) {
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
            Err(problems) => {
                refused(&problems, &sources, Some(file));
            }
        }
    }
    is_job
}

/// A result that was saved, compared with itself.
pub fn saved(data: &[u8]) -> bool {
    let Some(text) = text(data) else { return false };
    let mut sources = Sources::default();
    let file = sources.add("mine.json", text);
    let columns = match compare::read(&sources, file) {
        Ok(columns) => columns,
        Err(problems) => return refused(&problems, &sources, Some(file)),
    };
    let twice: Vec<Column> = columns.iter().chain(&columns).cloned().collect();
    let count = twice.len();
    let comparison = match Comparison::new(Vec::new(), twice, 0, Some(0.05)) {
        Ok(comparison) => comparison,
        Err(problem) => return refused(&problem.into(), &sources, None),
    };
    for group in &comparison.groups {
        let said = comparison.verdict(group).concat();
        assert!(!said.contains("NaN") && !said.contains("inf "), "{said}");
    }
    let again = sources.add("again.json", compare::json::report(&comparison).to_string());
    let read = compare::read(&sources, again).map(|columns| columns.len());
    assert_eq!(read.expect("what was compared can be compared"), count);
    true
}

/// A job's options on a command line, one a line.
pub fn job_options(data: &[u8]) -> bool {
    let (drawn, data) = Drawn::of(data);
    let Some(text) = text(data) else { return false };
    let mut sources = Sources::default();
    let read = job_file::read_options(&mut sources, &text.lines().collect::<Vec<_>>());
    jobs(read, &drawn, sources, (text, 0))
}

/// Settles jobs that were read with a shipped machine, and runs them there.
fn jobs(read: Result<JobFile, Problems>, drawn: &Drawn, mut sources: Sources, (text, file): (&str, u32)) -> bool {
    let mut read = match read {
        Ok(read) => read,
        Err(problems) => return refused(&problems, &sources, Some(file)),
    };
    let targets = |name: &str| read.jobs.iter().flat_map(|job| &job.targets).any(|target| target == name);
    let has_a_target = |machine: &&Blueprint| machine.parts().iter().any(|part| targets(&part.name));
    let any: Vec<&Blueprint> = machines::of_each_kind().collect();
    let machine = machines::of_each_kind().find(has_a_target).unwrap_or_else(|| *drawn.choose(31, &any));
    let mut machine = machine.clone();
    if let Err(problems) = machine.settle(&mut read, shipped(), &mut sources) {
        return refused(&problems, &sources, None);
    }
    assert!(read.said().iter().all(|line| !line.is_empty()));
    runs(&machine, &read.jobs, drawn, &sources, text);
    true
}

/// Assignments as `--set` takes them, one a line; the first that is refused is the last.
pub fn set_assignment(data: &[u8]) -> bool {
    let (drawn, data) = Drawn::of(data);
    let Some(text) = text(data) else { return false };
    let mut blueprint = machines::for_text(text).clone();
    for assignment in text.lines() {
        if let Err(problems) = blueprint.set(assignment) {
            // The texts that they may point into have been read before.
            assert!(!problems.0.is_empty() && problems.0.iter().all(|problem| !problem.title.is_empty()));
            return false;
        }
    }
    runs(&blueprint, jobs_of(&drawn), &drawn, &Sources::default(), text);
    true
}

/// A folder as `--data` takes it.
pub fn overlay(data: &[u8]) -> bool {
    let (drawn, data) = Drawn::of(data);
    let Some(text) = text(data) else { return false };
    let folder = tempfile::TempDir::new().expect("a scratch folder");
    files_of(text).for_each(|(path, content)| drop(write(folder.path(), path, content)));
    let library = match Library::new(Some(folder.path())) {
        Ok(library) => library,
        Err(problems) => return refused(&problems, &Sources::default(), None),
    };
    let is_own = |name: &str| library.system(name) != shipped().system(name);
    let own: Vec<&str> = library.systems().filter(|name| is_own(name)).collect();
    let all: Vec<&str> = library.systems().collect();
    // Where none is its own, one shows what its parts do.
    let some = if own.is_empty() { vec![*drawn.choose(32, &all)] } else { own };
    let mut is_right = true;
    for name in some {
        let mut sources = Sources::default();
        match read_system(&library, &mut sources, name) {
            Ok(blueprint) => runs(&blueprint, brief_jobs(), &drawn, &sources, text),
            Err(problems) => is_right = refused(&problems, &sources, None),
        }
    }
    is_right
}
