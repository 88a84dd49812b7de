//! Damaged files and random texts through every reader, with the bodies of the fuzz targets in `fuzz/`.
//!
//! `PROPTEST_CASES` sets how many of each; `cargo fuzz` (fuzz/README.md) goes on from where this ends.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::targets::{self, ALL, Target, machines};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

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

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files below a folder, by path from the root of the repository; descriptions of them are no inputs.
fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_string()]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(root().join(&folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
        for entry in entries {
            let path = format!("{folder}/{}", entry.unwrap().file_name().into_string().unwrap());
            match fs::read(root().join(&path)) {
                Ok(text) if !path.ends_with(".md") => found.push((path, text)),
                Ok(_) => {}
                Err(_) => folders.push(path),
            }
        }
    }
    found.sort();
    found
}

/// A target by its name, with the folders of its valid inputs.
fn target(name: &str) -> (Target, &'static [&'static str]) {
    let found = ALL.iter().find(|(known, ..)| *known == name);
    found.map(|(_, target, folders)| (*target, *folders)).unwrap_or_else(|| panic!("there is no target {name}"))
}

/// Valid inputs of a target.
fn seeds(name: &str) -> Vec<String> {
    let all = target(name).1.iter().flat_map(|folder| files(folder));
    let seeds: Vec<String> = all.filter_map(|(_, text)| String::from_utf8(text).ok()).collect();
    assert!(!seeds.is_empty());
    seeds
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

/// A valid input with some damage.
fn wreck(name: &str) -> impl Strategy<Value = String> {
    let wreck = |(text, damages): (String, Vec<Damage>)| damaged(&text, &damages);
    (prop::sample::select(seeds(name)), prop::collection::vec(damage(), 0..4)).prop_map(wreck)
}

/// A number of a machine, changed as `--set` does it, mostly by a number of its own unit.
fn assignment() -> impl Strategy<Value = String> {
    let numbers: Vec<(String, String)> = machines::named("piix4e-one-disk")
        .numbers()
        .into_iter()
        .map(|(path, entry)| (path, entry.written.clone()))
        .collect();
    let change =
        |((path, written), damages): ((String, String), Vec<Damage>)| format!("{path}={}", damaged(&written, &damages));
    (prop::sample::select(numbers), prop::collection::vec(damage(), 1..3)).prop_map(change)
}

/// Texts of the alphabet of the formats, and any.
fn noise() -> impl Strategy<Value = String> {
    prop_oneof!["([a-z0-9_\\[\\]{}=\"., \n%#/-]){0,300}", any::<String>()]
}

/// Shipped files with some damage, as a folder.
fn folder() -> impl Strategy<Value = String> {
    let all = ["parts", "systems", "jobs", "upgrades"].iter().flat_map(|kind| files(&format!("data/{kind}")));
    let all: Vec<(String, String)> =
        all.filter_map(|(path, text)| Some((path, String::from_utf8(text).ok()?))).collect();
    let one = (prop::sample::select(all), prop::collection::vec(damage(), 0..4)).prop_map(|((path, text), damages)| {
        format!("{}{}\n{}", targets::FILE, path.trim_start_matches("data/"), damaged(&text, &damages))
    });
    prop::collection::vec(one, 1..3).prop_map(|files| files.concat())
}

fn withstands(name: &str, text: &str) {
    target(name).0(text.as_bytes());
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn part_files(text in wreck("part_file")) {
        withstands("part_file", &text);
    }

    #[test]
    fn system_files(text in wreck("system_file")) {
        withstands("system_file", &text);
    }

    #[test]
    fn job_files(text in wreck("job_file")) {
        withstands("job_file", &text);
    }

    #[test]
    fn results_of_fio(text in wreck("fio_result")) {
        withstands("fio_result", &text);
    }

    #[test]
    fn saved_results(text in wreck("saved")) {
        withstands("saved", &text);
    }

    #[test]
    fn job_options(text in wreck("job_file")) {
        let options = text.lines().filter(|line| !line.starts_with('['));
        let options: Vec<String> = options.map(|line| format!("--{line}")).collect();
        withstands("job_options", &options.join("\n"));
    }

    #[test]
    fn overlays(text in folder()) {
        withstands("overlay", &text);
    }

    #[test]
    fn assignments(lines in prop::collection::vec(assignment(), 1..4)) {
        withstands("set_assignment", &lines.join("\n"));
    }

    #[test]
    fn changes(text in wreck("change")) {
        withstands("change", &text);
    }

    #[test]
    fn upgrades(text in wreck("upgrade")) {
        withstands("upgrade", &text);
    }

    #[test]
    fn data_sheets(text in wreck("data_sheet")) {
        withstands("data_sheet", &text);
    }

    #[test]
    fn traces(text in wreck("trace")) {
        withstands("trace", &text);
    }

    #[test]
    fn drives_of_disksim(text in wreck("disksim")) {
        withstands("disksim", &text);
    }

    #[test]
    fn waveforms(text in wreck("waveform")) {
        withstands("waveform", &text);
    }

    #[test]
    fn noise_of_any_kind(text in noise()) {
        for (_, target, _) in ALL {
            target(text.as_bytes());
        }
        withstands("fio_result", &format!("{{\n{text}"));
        withstands("saved", &format!("{{\n{text}"));
        withstands("overlay", &format!("{}systems/mine.toml\n{text}", targets::FILE));
    }
}

#[test]
fn every_valid_input_is_accepted() {
    let mut refused = Vec::new();
    for (name, target, folders) in ALL {
        // Shipped files have a test of their own, and those of the other folder are of two kinds.
        let kept = folders.iter().filter(|folder| !folder.starts_with("data/") && !folder.ends_with("fixtures/fio"));
        let inputs = kept.flat_map(|folder| files(folder));
        refused.extend(inputs.filter(|(_, text)| !target(text)).map(|(path, _)| format!("{path} by {name}")));
    }
    assert_eq!(refused, [""; 0]);
}

#[test]
fn every_input_that_was_a_find_is_withstood() {
    for (path, text) in files("fuzz/regressions") {
        println!("{path}");
        let name = path.split('/').nth(2).expect("a folder of a target");
        target(name).0(&text);
    }
}

#[test]
fn thousands_of_wrong_ports_are_refused() {
    let disk =
        |number| format!("[part.d{number}]\nuse = \"disk/quantum-fireball-el10.2a\"\nat = \"cable.x{number}\"\n");
    let system = fs::read_to_string(root().join("data/systems/piix4e-one-disk.toml")).unwrap();
    let wrong = system + &(0..6_000).map(disk).collect::<String>();
    assert!(!target("system_file").0(wrong.as_bytes()));
}

#[test]
fn every_target_is_one_of_the_fuzzer_and_every_other_way_round() {
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    let binaries: BTreeSet<&str> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\""))
        .collect();
    let files: BTreeSet<String> = files("fuzz/fuzz_targets").into_iter().map(|(path, _)| path).collect();
    let path = |name: &&str| format!("fuzz/fuzz_targets/{name}.rs");
    assert_eq!(binaries, ALL.iter().map(|(name, ..)| *name).collect());
    assert_eq!(files, binaries.iter().map(path).collect());
}
