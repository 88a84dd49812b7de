//! The house law that a machine can check: who may know whom, how files are named, how long they are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate, and those of ours that it may name in its manifest. What is not here may not be there.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("kernel", &[]),
    ("declare", &[]),
    ("parts", &["kernel", "declare"]),
    ("observe", &["kernel"]),
    ("signals", &["kernel", "parts"]),
    ("files", &["kernel", "parts"]),
    ("machine", &["kernel", "parts", "observe", "signals", "files"]),
    ("questions", &["kernel", "parts", "observe", "signals", "files", "machine"]),
    ("studies", &["kernel", "parts", "observe", "signals", "files", "machine", "questions"]),
    ("pages", &["kernel", "parts", "observe", "signals", "files", "machine", "questions", "studies"]),
    ("cli", &["kernel", "parts", "observe", "signals", "files", "machine", "questions", "studies", "pages"]),
];

/// The folders of `parts`: each may know those before it, and itself.
const ROLES: &[&str] = &[
    "nearest",
    "parameters",
    "chance",
    "cpu",
    "protocols",
    "requests",
    "workload",
    "volume",
    "system",
    "bus",
    "bridge",
    "attachment",
    "flash",
    "disk",
    "controller",
    "accelerator",
    "network",
    "driver",
    "catalog",
];

/// Names that say nothing about what is in a file.
const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "manager", "base", "misc"];
/// A file beyond this is split by what it does.
const LINES_MAX: usize = 450;
/// Longer files, and how long they may be: this list only gets shorter, and its numbers smaller.
const LONGER: &[(&str, usize)] = &[
    ("crates/kernel/tests/lane.rs", 668),
    ("crates/pages/src/study.rs", 685),
    ("crates/pages/tests/all/pages.rs", 495),
    ("crates/signals/src/pci/tests.rs", 514),
];
/// Crates and paths that let a part know a file format, the host's clock or its random numbers.
const NOT_IN_PARTS: &[&str] = &["std::fs", "std::io", "std::time", "std::env", "toml", "serde", "csv", "thread_rng"];

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn crates() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// All files below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// Everything that is written by hand: no build output, no version control.
fn written() -> Vec<PathBuf> {
    let folders = ["crates", "data", "docs", "studies", ".ci"].map(|folder| root().join(folder));
    let mut written: Vec<PathBuf> = folders.iter().flat_map(|folder| files(folder)).collect();
    written.extend(["README.md", "Cargo.toml"].map(|file| root().join(file)));
    written
}

fn manifest(name: &str) -> toml::Table {
    let path = root().join("crates").join(name).join("Cargo.toml");
    fs::read_to_string(path).unwrap().parse().unwrap()
}

/// The crates of ours in one table of a manifest.
fn ours(manifest: &toml::Table, table: &str) -> BTreeSet<String> {
    let Some(toml::Value::Table(entries)) = manifest.get(table) else { return BTreeSet::new() };
    entries.keys().filter_map(|name| name.strip_prefix("hopscope-")).map(String::from).collect()
}

#[test]
fn dependencies_point_one_way() {
    for name in crates() {
        let (_, may_know) = MAY_KNOW.iter().find(|(known, _)| *known == name).unwrap_or_else(|| {
            panic!("crates/{name} is new: say in this test, and in docs/ARCHITECTURE.md, whom it may know")
        });
        let manifest = manifest(&name);
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for known in ours(&manifest, table) {
                assert!(may_know.contains(&known.as_str()), "crates/{name} must not know crates/{known} ({table})");
            }
        }
    }
}

#[test]
fn roles_of_parts_know_each_other_one_way() {
    let source = root().join("crates/parts/src");
    let role_of = |path: &Path| -> String {
        let first = path.strip_prefix(&source).unwrap().components().next().unwrap();
        first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_string()
    };
    let place = |role: &str| ROLES.iter().position(|known| *known == role);
    for path in files(&source) {
        let role = role_of(&path);
        let in_tests =
            path.components().any(|part| part.as_os_str().to_str().unwrap().trim_end_matches(".rs") == "tests");
        if role == "lib" || in_tests {
            continue;
        }
        let place_of = place(&role).unwrap_or_else(|| panic!("{role} is new: say among ROLES which roles it may know"));
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
        for named in text.split("crate::").skip(1) {
            let known: String = named.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let knows = place(&known).is_some_and(|known| known <= place_of);
            assert!(knows, "{} is of {role}, which must not know {known}", path.display());
        }
    }
}

#[test]
fn the_kernel_depends_on_nothing() {
    let manifest = manifest("kernel");
    assert!(manifest["dependencies"].as_table().unwrap().is_empty());
}

#[test]
fn every_crate_forbids_unsafe_code_through_the_workspace() {
    let workspace: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    assert_eq!(workspace["workspace"]["lints"]["rust"]["unsafe_code"].as_str(), Some("forbid"));
    for name in crates() {
        assert_eq!(manifest(&name)["lints"]["workspace"].as_bool(), Some(true), "crates/{name}");
    }
}

#[test]
fn no_file_has_a_name_that_says_nothing() {
    for path in written() {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        assert!(!EMPTY_NAMES.contains(&stem), "{}", path.display());
    }
}

#[test]
fn no_file_is_too_long() {
    let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    for path in files(&root().join("crates")).into_iter().filter(is_source) {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
        match LONGER.iter().find(|(longer, _)| *longer == name) {
            Some((_, most)) => {
                assert!(lines <= *most, "{name} has {lines} lines: it may only get shorter than {most}");
                assert!(lines > LINES_MAX, "{name} has {lines} lines by now: take it off the list of longer files");
            }
            None => assert!(lines <= LINES_MAX, "{name} has {lines} lines: split it by what it does"),
        }
    }
    for (name, _) in LONGER {
        assert!(root().join(name).exists(), "{name} is not there: take it off the list of longer files");
    }
}

#[test]
fn no_entry_of_a_document_is_there_twice() {
    for document in ["docs/CHANGELOG.md", "docs/ARCHITECTURE.md"] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let mut seen = BTreeSet::new();
        for line in text.lines().filter(|line| line.starts_with("- ") || line.starts_with("| ")) {
            // The beginning is enough: who adds an entry again words its end anew.
            let begins: String = line.chars().take(60).collect();
            let is_head = line.starts_with("| ") && line.len() < 60;
            assert!(is_head || seen.insert(begins.clone()), "{document} has this twice: {begins}");
        }
    }
}

#[test]
fn parts_know_no_file_format_and_no_clock_of_the_host() {
    for path in files(&root().join("crates/parts/src")).into_iter().chain(files(&root().join("crates/kernel/src"))) {
        let text = fs::read_to_string(&path).unwrap();
        for line in text.lines().map(str::trim_start).filter(|line| line.starts_with("use ")) {
            let named = NOT_IN_PARTS.iter().find(|name| line.contains(*name));
            assert!(named.is_none(), "{}: {line}", path.display());
        }
    }
}

#[test]
fn labels_are_the_same_where_they_are_one_static() {
    // Put together here, so that this file does not do what it looks for.
    let by_words = ["label", "phase"].map(|of| ["=", "!"].map(|is| format!("{of}.name {is}= \"")));
    let by_words = by_words.as_flattened();
    let eq = ["ptr", "eq("].join("::");
    for path in files(&root().join("crates")) {
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
        if !name.ends_with(".rs") {
            continue;
        }
        for line in fs::read_to_string(&path).unwrap().lines() {
            let by_address = line.contains(&eq) && ["label", "phase"].iter().any(|of| line.contains(of));
            let told = by_address || by_words.iter().any(|words| line.contains(words.as_str()));
            assert!(!told, "{name}: a label is compared with `==` to its static: {}", line.trim());
        }
    }
}

#[test]
fn no_file_names_a_folder_of_one_machine() {
    // Put together here, so that this file does not name them either.
    let folders = ["home", "work", "root", "Users", "tmp"].map(|folder| format!("/{folder}/"));
    for path in written() {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for folder in &folders {
            assert!(!text.contains(folder.as_str()), "{} names {folder}", path.display());
        }
    }
}

#[test]
fn every_part_says_what_it_is_and_every_model_has_a_device() {
    for path in files(&root().join("crates/parts/src")) {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//! "), "{} begins with what it is", path.display());
    }
    let parts = files(&root().join("data/parts"));
    let models: BTreeSet<String> = parts
        .iter()
        .map(|path| fs::read_to_string(path).unwrap().parse::<toml::Table>().unwrap())
        .map(|part| part["model"].as_str().unwrap().to_string())
        .collect();
    for kind in hopscope_parts::catalog::KINDS {
        assert!(models.contains(kind.model), "no file in data/parts has model = \"{}\"", kind.model);
    }
}
