//! Whatever hopscope is built from has a licence and a source that `deny.toml` allows. It is what `cargo deny` checks,
//! for those who have only cargo, and for the machine that they build on.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::skipped::skipped;
use serde_json::Value;

/// What cargo prints.
fn cargo(words: &[&str]) -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ran = Command::new(env!("CARGO")).args(words).current_dir(root).output().map_err(|e| e.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    if ran.status.success() { Ok(text(&ran.stdout)) } else { Err(text(&ran.stderr)) }
}

/// All that is built here, tests included. Nothing is fetched.
fn packages() -> Result<Vec<Value>, String> {
    let about = cargo(&["-vV"])?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("cargo names no host")?;
    let words = ["metadata", "--format-version=1", "--offline", "--locked", "--filter-platform", host];
    let metadata: Value = serde_json::from_str(&cargo(&words)?).map_err(|e| e.to_string())?;
    Ok(metadata["packages"].as_array().unwrap().clone())
}

/// Whether one of the alternatives is allowed in each of the things that have to be met. Parentheses that say otherwise
/// would make it refuse what it could allow, never the other way.
fn allowed(expression: &str, allow: &[String]) -> bool {
    let plain = expression.replace(['(', ')'], " ").replace('/', " OR ").to_uppercase();
    let one_of = |alternatives: &str| {
        alternatives.split(" OR ").any(|licence| allow.iter().any(|known| known.to_uppercase() == licence.trim()))
    };
    plain.split(" AND ").all(one_of)
}

#[test]
fn every_library_has_a_licence_and_a_source_that_are_allowed() {
    let packages = match packages() {
        Ok(packages) => packages,
        Err(problem) => return skipped(&format!("cargo does not say what is built here: {problem}")),
    };
    let deny = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml")).unwrap();
    let deny: toml::Table = deny.parse().unwrap();
    let allow: Vec<String> = deny["licenses"]["allow"].clone().try_into().unwrap();
    let licence = |package: &Value| package["license"].as_str().unwrap_or("none").to_string();
    let wrong = packages.iter().filter(|package| !allowed(&licence(package), &allow));
    let wrong: Vec<String> = wrong.map(|package| format!("{}: {}", package["name"], licence(package))).collect();
    assert!(wrong.is_empty(), "not in deny.toml: {wrong:#?}");
    // Ours have no source.
    let from = |package: &&Value| package["source"].as_str().is_some_and(|from| !from.contains("crates.io-index"));
    let elsewhere: Vec<&Value> = packages.iter().filter(from).map(|package| &package["id"]).collect();
    assert!(elsewhere.is_empty(), "not from the registry: {elsewhere:#?}");
    assert!(packages.len() > 100, "only {} packages are known", packages.len());
}

#[test]
fn a_licence_is_allowed_where_one_of_its_alternatives_is_and_all_that_it_asks_for() {
    let allow = ["MIT".to_string(), "Unicode-3.0".to_string()];
    for right in
        ["MIT", "Unlicense OR MIT", "Apache-2.0/MIT", "MIT or Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0"]
    {
        assert!(allowed(right, &allow), "{right}");
    }
    for wrong in ["none", "Apache-2.0", "MIT AND Apache-2.0", "(MIT OR Apache-2.0) AND NCSA", "GPL-3.0 WITH MIT"] {
        assert!(!allowed(wrong, &allow), "{wrong}");
    }
}
