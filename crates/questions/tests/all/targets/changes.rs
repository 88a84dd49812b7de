//! Upgrades and changes, made on a machine and tried there, and what a data sheet promises.

use std::sync::atomic::AtomicBool;

use hopscope_files::change::Change;
use hopscope_files::library::Library;
use hopscope_files::part_file;
use hopscope_files::problem::{Sources, place};
use hopscope_files::upgrade_file;
use hopscope_machine::run::Options;
use hopscope_questions::check;
use hopscope_questions::data_sheet;
use hopscope_questions::explain::{EXTENT, explain};
use hopscope_questions::trials::Setting;
use hopscope_questions::whatif::{self, upgrades};

use super::drawn::Drawn;
use super::files::runs_as_part;
use super::machines::{self, endless_jobs, shipped};
use super::runs::{can_be_tried, failed, options, runs, runs_briefly};
use super::{refused, text, write};

/// Changes of one input, at most.
const MOST_CHANGES: usize = 16;

/// Changes as `whatif` takes them, one a line: `change part.key=value`, `replace part=role/model`, `add name=…`.
pub fn change(data: &[u8]) -> bool {
    let (drawn, data) = Drawn::of(data);
    let Some(text) = text(data) else { return false };
    let mut sources = Sources::default();
    let file = sources.add("command line", text);
    let (mut changes, mut named, mut start) = (Vec::new(), String::new(), 0);
    for line in text.split_inclusive('\n').take(MOST_CHANGES) {
        let (at, said) = (start, line.trim_end_matches(['\n', '\r']));
        start += line.len();
        let (word, rest) = said.split_once(' ').unwrap_or(("", said));
        let at = place(file, at + said.len() - rest.len()..at + said.len());
        let read = match word {
            "replace" => Change::replacement(rest, at),
            "add" => Change::addition(rest, at),
            _ => Change::assignment(rest, at),
        };
        named += &format!("{}\n", rest.rsplit('@').next().unwrap_or(rest));
        named += &format!("{rest}\n");
        match read {
            Ok(change) => changes.push(change),
            Err(problem) => return refused(&problem.into(), &sources, Some(file)),
        }
    }
    let setting = Setting { blueprint: machines::for_text(&named).clone(), jobs: endless_jobs().to_vec() };
    let changed = match whatif::apply(&setting, &changes, shipped(), &mut sources) {
        Ok(changed) => changed,
        Err(problems) => return refused(&problems, &machines_texts(sources), None),
    };
    assert!(changed.words.iter().all(|words| !words.is_empty()));
    runs(&changed.setting.blueprint, &changed.setting.jobs, &drawn, &sources, text);
    if drawn.is_tried()
        && let Some(brief) = runs_briefly(&setting.blueprint, &setting.jobs, &drawn, &sources, text)
        && let Ok(explained) = explain(&brief.blueprint, &brief.jobs, options(&drawn), EXTENT, None)
        && can_be_tried(&explained)
    {
        match whatif::compare(&brief, &changes, shipped(), &mut sources, options(&drawn)) {
            Ok(compared) => {
                assert_eq!(compared.changes, changed.words);
                assert!(!whatif::json::comparison("mine", &compared).to_string().is_empty());
            }
            Err(failure) => failed(failure, &sources, text),
        }
    }
    true
}

/// A machine's texts were read before; what is wrong with a changed one may point into them.
fn machines_texts(mut sources: Sources) -> Sources {
    const MOST_TEXTS: usize = 256;
    for number in 0..MOST_TEXTS {
        sources.add(format!("text {number}"), " ".repeat(1 << 16));
    }
    sources
}

/// An upgrade file.
pub fn upgrade(data: &[u8]) -> bool {
    let (drawn, data) = Drawn::of(data);
    let Some(text) = text(data) else { return false };
    let mut sources = Sources::default();
    let file = sources.add("mine.toml", text);
    let read = match upgrade_file::read(&sources, file) {
        Ok(read) => read,
        Err(problems) => return refused(&problems, &sources, Some(file)),
    };
    if drawn.is_tried()
        && let Err(problems) = check::check(shipped(), &mut sources.clone(), file)
    {
        assert!(!problems.0.is_empty());
    }
    let (mut fits, jobs) = (false, endless_jobs());
    for blueprint in machines::of_each_kind() {
        let setting = Setting { blueprint: blueprint.clone(), jobs: jobs.to_vec() };
        let Ok(changed) = upgrades::with_upgrade(&read, &setting, shipped(), &mut sources) else { continue };
        runs(&changed.setting.blueprint, &changed.setting.jobs, &drawn, &sources, text);
        if !fits && drawn.is_tried() {
            ranked(&setting, &drawn, text);
        }
        fits = true;
    }
    fits
}

/// Ranks an upgrade among the shipped ones.
fn ranked(setting: &Setting, drawn: &Drawn, text: &str) {
    let mut sources = Sources::default();
    let Some(brief) = runs_briefly(&setting.blueprint, &setting.jobs, drawn, &sources, text) else { return };
    let options = options(drawn);
    let Ok(base) = explain(&brief.blueprint, &brief.jobs, options, EXTENT, None) else { return };
    if !can_be_tried(&base) {
        return;
    }
    let folder = tempfile::TempDir::new().expect("a scratch folder");
    write(folder.path(), "upgrades/mine.toml", text);
    let library = Library::new(Some(folder.path())).expect("a library");
    match whatif::upgrades(&brief, &library, &mut sources, options, &base, &|_| {}) {
        Ok(ranked) => {
            let all = ranked.upgrades.len() + ranked.do_not_fit.len();
            assert!(all <= library.upgrades().count() && ranked.upgrades.iter().all(|one| one.gain.is_finite()));
        }
        Err(failure) => failed(failure, &sources, text),
    }
}

/// A part file with what its data sheet promises.
pub fn data_sheet(data: &[u8]) -> bool {
    static INTERRUPTED: AtomicBool = AtomicBool::new(true);
    let (drawn, data) = Drawn::of(data);
    let Some(text) = text(data) else { return false };
    let mut sources = Sources::default();
    let file = sources.add("mine.toml", text);
    let part = match part_file::read(&sources, file) {
        Ok(part) => part,
        Err(problems) => return refused(&problems, &sources, Some(file)),
    };
    let Some(sheet) = &part.data_sheet else { return false };
    if let Err(problems) = data_sheet::check(shipped(), &mut sources, file) {
        return refused(&problems, &sources, None);
    }
    assert!(sheet.rows.iter().all(|row| row.figure.amount() > 0.0 && row.figure.amount().is_finite()));
    // Every row is built; what it gives would take too long.
    let interrupted = Options { interrupted: Some(&INTERRUPTED), seed: drawn.seed, ..Options::default() };
    match data_sheet::hold(shipped(), &mut sources, ("", &part), interrupted, &|_, _| {}) {
        Ok(held) => assert!(held.len() == sheet.rows.len() && held.iter().all(Option::is_none)),
        Err(failure) => failed(failure, &sources, text),
    }
    runs_as_part(&part.model, text, &drawn);
    true
}
