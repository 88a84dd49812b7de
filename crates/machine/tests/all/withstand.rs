//! Damaged files and random texts through every reader, with the bodies of the fuzz targets in `fuzz/`.
//!
//! `PROPTEST_CASES` sets how many of each; `cargo fuzz` (fuzz/README.md) goes on from where this ends.

use crate::targets;
use hopscope_machine::library::{Library, TextOf};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A body that a fuzz target has, too.
type Target = fn(&[u8]);

/// The same cases every time. Others: `PROPTEST_RNG_SEED`.
const SEED: u64 = 1;

fn config(cases: u32) -> ProptestConfig {
    let asked = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let rng_seed = match std::env::var_os("PROPTEST_RNG_SEED") {
        Some(_) => asked.rng_seed,
        None => RngSeed::Fixed(SEED),
    };
    let asked = ProptestConfig { rng_seed, ..asked };
    if std::env::var_os("PROPTEST_CASES").is_some() { asked } else { ProptestConfig { cases, ..asked } }
}

/// All shipped files of one kind.
fn shipped(kind: &str) -> Vec<TextOf> {
    let library = Library::new(None).expect("the shipped files can be read");
    let parts = library.parts().filter_map(|name| library.part(name));
    let systems = library.systems().filter_map(|name| library.system(name));
    let jobs = library.jobs().filter_map(|name| library.job(name));
    let files: Vec<TextOf> = match kind {
        "parts" => parts.cloned().collect(),
        "systems" => systems.cloned().collect(),
        "jobs" => jobs.cloned().collect(),
        _ => parts.chain(systems).chain(jobs).cloned().collect(),
    };
    assert!(!files.is_empty());
    files
}

/// Results of fio, as files are.
fn results() -> Vec<TextOf> {
    let text = |name: &str, text: &'static str| TextOf { name: name.to_string(), text: text.into() };
    vec![
        text("3.1", include_str!("../fio/fio-3.1.json")),
        text("3.16", include_str!("../fio/fio-3.16.json")),
        text("3.36", include_str!("../fio/fio-3.36.json")),
    ]
}

/// One change of a text.
#[derive(Clone, Debug)]
enum Damage {
    /// A byte is another.
    Byte(prop::sample::Index, u8),
    /// The text ends.
    Cut(prop::sample::Index),
    /// A number is another: what it is most sensitive to.
    Number(prop::sample::Index, u64),
    /// A line is gone.
    NoLine(prop::sample::Index),
    /// A line is there twice.
    LineTwice(prop::sample::Index, prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    let number = prop_oneof![Just(0), Just(1), 2..100_000u64, any::<u64>()];
    prop_oneof![
        1 => (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        1 => at().prop_map(Damage::Cut),
        6 => (at(), number).prop_map(|(at, number)| Damage::Number(at, number)),
        1 => at().prop_map(Damage::NoLine),
        1 => (at(), at()).prop_map(|(from, to)| Damage::LineTwice(from, to)),
    ]
}

fn damaged(text: &str, damages: &[Damage]) -> String {
    damages.iter().fold(text.to_string(), |text, damage| {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        if lines.is_empty() {
            return text;
        }
        match damage {
            Damage::Byte(at, byte) => {
                let mut bytes = text.into_bytes();
                let at = at.index(bytes.len());
                bytes[at] = *byte;
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Damage::Cut(at) => String::from_utf8_lossy(&text.as_bytes()[..at.index(text.len())]).into_owned(),
            Damage::Number(at, number) => {
                let starts = text.char_indices().filter(|(at, c)| {
                    c.is_ascii_digit() && !text[..*at].ends_with(|before: char| before.is_ascii_alphanumeric())
                });
                let starts: Vec<usize> = starts.map(|(at, _)| at).collect();
                if starts.is_empty() {
                    return text;
                }
                let start = starts[at.index(starts.len())];
                let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
                format!("{}{number}{}", &text[..start], &text[start + digits..])
            }
            Damage::NoLine(at) => {
                lines.remove(at.index(lines.len()));
                lines.concat()
            }
            Damage::LineTwice(from, to) => {
                lines.insert(to.index(lines.len()), lines[from.index(lines.len())]);
                lines.concat()
            }
        }
    })
}

/// A shipped file with some damage.
fn wreck(kind: &str) -> impl Strategy<Value = (TextOf, String)> {
    let files = prop::sample::select(if kind == "results" { results() } else { shipped(kind) });
    let wreck = |(file, damages): (TextOf, Vec<Damage>)| {
        let text = damaged(&file.text, &damages);
        (file, text)
    };
    (files, prop::collection::vec(damage(), 0..4)).prop_map(wreck)
}

/// A number of a machine, changed as `--set` does it, mostly by a number of its own unit.
fn assignment() -> impl Strategy<Value = String> {
    let numbers: Vec<(String, String)> =
        targets::shipped_machine().numbers().into_iter().map(|(path, entry)| (path, entry.written.clone())).collect();
    let change =
        |((path, written), damages): ((String, String), Vec<Damage>)| format!("{path}={}", damaged(&written, &damages));
    (prop::sample::select(numbers), prop::collection::vec(damage(), 1..3)).prop_map(change)
}

/// Texts of the alphabet of the formats, and any.
fn noise() -> impl Strategy<Value = String> {
    prop_oneof!["([a-z0-9_\\[\\]{}=\"., \n%#/-]){0,300}", any::<String>()]
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn part_files((_, text) in wreck("parts")) {
        targets::part_file(text.as_bytes());
    }

    #[test]
    fn system_files((_, text) in wreck("systems")) {
        targets::system_file(text.as_bytes());
    }

    #[test]
    fn job_files((_, text) in wreck("jobs")) {
        targets::job_file(text.as_bytes());
    }

    #[test]
    fn results_of_fio((_, text) in wreck("results")) {
        targets::fio_result(text.as_bytes());
    }

    #[test]
    fn job_options((_, text) in wreck("jobs")) {
        let options = text.lines().filter(|line| !line.starts_with('['));
        let options: Vec<String> = options.map(|line| format!("--{line}")).collect();
        targets::job_options(options.join("\n").as_bytes());
    }

    #[test]
    fn overlays(files in prop::collection::vec(wreck("all"), 1..3)) {
        let shipped_at = |file: &TextOf| file.name.trim_start_matches("data/").to_string();
        let files: Vec<String> =
            files.iter().map(|(file, text)| format!("{}{}\n{text}", targets::FILE, shipped_at(file))).collect();
        targets::overlay(files.concat().as_bytes());
    }

    #[test]
    fn assignments(lines in prop::collection::vec(assignment(), 1..4)) {
        targets::set_assignment(lines.join("\n").as_bytes());
    }

    #[test]
    fn noise_of_any_kind(text in noise()) {
        let overlay = format!("{}systems/mine.toml\n{text}", targets::FILE);
        let braced = format!("{{\n{text}");
        let all: [(Target, &str); 9] = [
            (targets::quantity, &text),
            (targets::part_file, &text),
            (targets::system_file, &text),
            (targets::job_file, &text),
            (targets::fio_result, &text),
            (targets::fio_result, &braced),
            (targets::job_options, &text),
            (targets::set_assignment, &text),
            (targets::overlay, &overlay),
        ];
        for (target, text) in all {
            target(text.as_bytes());
        }
    }
}
