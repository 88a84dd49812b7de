//! The order within a file, and that nothing is written twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::layout::{files, root};

/// So many lines may stand in two places; more are a thing of their own.
const ALIKE_MAX: usize = 12;

/// Rust that is no test, with its name.
fn sources() -> impl Iterator<Item = (String, String)> {
    let paths = files(&root().join("crates")).into_iter();
    let named = paths.map(|path| (path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/"), path));
    let is_source = |name: &str| name.ends_with(".rs") && name.contains("/src/");
    named.filter(move |(name, _)| is_source(name)).map(|(name, path)| (name, read(&path)))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// What a line at the left margin begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Begins {
    /// A module or an import: what a file needs.
    Needs,
    /// Anything else.
    Item,
    /// The tests.
    Tests,
}

fn begins(line: &str) -> Option<Begins> {
    let without = line.strip_prefix("pub ").or_else(|| Some(line.strip_prefix("pub(")?.split_once(") ")?.1));
    let bare = without.unwrap_or(line);
    let word = bare.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    match word {
        "mod" if bare.starts_with("mod tests") => Some(Begins::Tests),
        "mod" if bare.ends_with(';') => Some(Begins::Needs),
        "use" => Some(Begins::Needs),
        "fn" | "async" | "const" | "static" | "struct" | "enum" | "trait" | "impl" | "type" | "macro_rules" => {
            Some(Begins::Item)
        }
        _ => None,
    }
}

/// The first line that stands where none of its kind does.
fn out_of_order(text: &str) -> Option<&str> {
    let (mut last, mut is_test) = (Begins::Needs, false);
    for line in text.lines() {
        let Some(now) = begins(line) else {
            is_test = line == "#[cfg(test)]";
            continue;
        };
        // A module that only tests see may stand with them or with the others.
        let among_tests = is_test && line.ends_with(';');
        is_test = false;
        if among_tests {
            continue;
        }
        if now < last {
            return Some(line);
        }
        // What follows is the text of tests.
        if now == Begins::Tests {
            return None;
        }
        last = now;
    }
    None
}

#[test]
fn a_file_says_what_it_is_then_what_it_needs_then_what_it_has_and_tests_come_last() {
    for (name, text) in sources() {
        assert!(text.starts_with("//! "), "{name} begins with what it is");
        let found = out_of_order(&text);
        assert!(found.is_none(), "{name}: this stands too late: {}", found.unwrap_or_default());
    }
}

#[test]
fn what_stands_too_late_is_found() {
    let right = "//! What it is.\n\nmod part;\n\nuse std::fmt;\n\nfn one() {}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n";
    assert_eq!(out_of_order(right), None);
    assert_eq!(out_of_order("fn one() {}\npub use other::Thing;\n"), Some("pub use other::Thing;"));
    assert_eq!(out_of_order("const A: u8 = 1;\npub(crate) mod late;\n"), Some("pub(crate) mod late;"));
    assert_eq!(out_of_order("fn one() {}\n#[cfg(test)]\nmod tests;\n"), None);
    assert_eq!(out_of_order("#[cfg(test)]\nmod tests;\nuse std::fmt;\nfn one() {}\n"), None);
}

/// Runs of lines that stand in two places, where comments, imports and empty lines do not count.
fn twice(sources: &[(String, String)]) -> Vec<String> {
    let mut known: BTreeMap<Vec<&str>, String> = BTreeMap::new();
    let mut found = Vec::new();
    for (name, text) in sources {
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
        let counts = |line: &&str| !line.is_empty() && !line.starts_with("//") && !line.starts_with("use ");
        let lines: Vec<&str> = text.lines().map(str::trim).filter(counts).collect();
        for (at, run) in lines.windows(ALIKE_MAX + 1).enumerate() {
            let here = format!("{name} from the {}th line that counts", at + 1);
            if let Some(there) = known.insert(run.to_vec(), here) {
                found.push(format!("{there} and {name}: {}", run[0]));
            }
        }
    }
    found
}

#[test]
fn more_than_twelve_lines_stand_in_one_place_only() {
    let sources: Vec<(String, String)> = sources().filter(|(name, _)| !name.ends_with("tests.rs")).collect();
    let found = twice(&sources);
    assert!(found.is_empty(), "written twice: {found:#?}");
}

#[test]
fn what_is_written_twice_is_found() {
    let lines = |count: usize| (0..count).map(|n| format!("    line({n});\n")).collect::<String>();
    let source = |name: &str, text: String| (name.to_string(), text);
    let alike =
        |count| twice(&[source("a", lines(count)), source("b", format!("fn b() {{\n\n// Why.\n{}", lines(count)))]);
    assert_eq!((alike(12).len(), alike(13).len(), alike(14).len()), (0, 1, 2));
}
