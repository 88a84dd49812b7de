//! Published figures stand in the studies' data, not in the code; forecasts were there before them, as the history says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skipped::skipped;
use hopscope_studies::Study;

/// Columns that hold published figures, by file.
const FIGURES: &[(&str, &[&str])] = &[
    ("claims.csv", &["value", "low", "high"]),
    ("sqlio.csv", &["throughput_mb_per_s"]),
    ("timeline.csv", &["stated_duration_ns"]),
    ("read_cycle.csv", &["pci_cycles"]),
    ("write_cycle.csv", &["pci_cycles"]),
    ("pcie_bench.csv", &["value"]),
    ("hosts.csv", &["mb_per_s"]),
    ("storagemark_2003.csv", &["iops"]),
    ("figures.csv", &["published"]),
];
/// Figures that code has for reasons of its own: percents, and a bound on rows.
const OF_ITS_OWN: [f64; 2] = [100.0, 10_000.0];
/// Fewer digits say nothing about where a number is from.
const DIGITS_MIN: usize = 3;

fn studies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies")
}

/// Numbers of a text, as it writes them: digits, with points, and commas or underscores between thousands.
fn numbers(text: &str) -> Vec<(String, f64)> {
    let is_part = |c: char| c.is_ascii_digit() || ".,_".contains(c);
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let named = rest[..start].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let end = rest[start..].find(|c: char| !is_part(c)).map_or(rest.len(), |end| start + end);
        let written = rest[start..end].trim_end_matches(['.', ',', '_']);
        if !named && let Ok(number) = written.replace([',', '_'], "").parse() {
            found.push((written.to_string(), number));
        }
        rest = &rest[end..];
    }
    found
}

/// Published figures of a study; those of claims are texts, with what they say besides.
fn figures(study: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (file, columns) in FIGURES {
        let Ok(mut reader) = csv::Reader::from_path(studies().join(study).join(file)) else { continue };
        let header = reader.headers().unwrap().clone();
        for row in reader.records() {
            let row = row.unwrap();
            let cells = header.iter().zip(&row).filter(|(name, _)| columns.contains(name));
            found.extend(cells.flat_map(|(_, cell)| numbers(cell)).map(|(_, number)| number.to_string()));
        }
    }
    found
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    if folder.is_file() {
        return vec![folder.to_path_buf()];
    }
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// What runs studies, and what reads figures off runs for them.
const CODE: &[&str] = &["studies/src", "questions/src/probes"];
/// What draws a figure of one study.
const PICTURE: (&str, &str) = ("piix4e", "pages/src/bridge_loss.rs");

/// Where some published figures stand in code.
fn standing(code: &str, figures: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(code)) {
        let text = fs::read_to_string(&path).unwrap();
        // Tests say what they expect.
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (line, words) in text.lines().enumerate().filter(|(_, words)| !words.trim_start().starts_with("//")) {
            for (written, number) in numbers(words) {
                let plain = number.to_string();
                let digits = plain.replace('.', "").trim_start_matches('0').len();
                let known = digits >= DIGITS_MIN && figures.contains(&plain) && !OF_ITS_OWN.contains(&number);
                if known && !(number as u64).is_power_of_two() {
                    found.push(format!("{}:{}: {written}", path.display(), line + 1));
                }
            }
        }
    }
    found
}

#[test]
fn no_published_figure_stands_in_the_code() {
    let mut all = BTreeSet::new();
    for study in Study::shipped() {
        let figures = figures(study.id());
        assert!(figures.len() > 10, "{}: only {} published figures are found", study.id(), figures.len());
        all.extend(figures);
    }
    let mut found: Vec<String> = CODE.iter().flat_map(|code| standing(code, &all)).collect();
    found.extend(standing(PICTURE.1, &figures(PICTURE.0)));
    assert!(found.is_empty(), "published figures belong into studies/*/*.csv: {found:#?}");
}

fn git(repository: &Path, words: &[&str]) -> Result<String, String> {
    let said = Command::new("git")
        .env("TZ", "UTC")
        .arg("-C")
        .arg(repository)
        .args(words)
        .output()
        .map_err(|e| e.to_string())?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_string();
    if said.status.success() { Ok(text(said.stdout)) } else { Err(format!("git {words:?}: {}", text(said.stderr))) }
}

/// Whether the history bears out what a study's file says of its forecasts: committed then, unchanged since, and before
/// the commits that brought figures later than that.
fn borne_out(repository: &Path, study: &str) -> Result<(), String> {
    let folder = repository.join("studies").join(study);
    let file: toml::Table = fs::read_to_string(folder.join("study.toml")).unwrap().parse().unwrap();
    let Some(forecast) = file.get("forecast") else { return Ok(()) };
    let word = |table: &toml::Value, key: &str| table[key].as_str().unwrap().to_string();
    let (committed, commit) = (word(forecast, "committed"), word(forecast, "commit"));
    let path = format!("studies/{study}/forecast.csv");
    let date = git(repository, &["show", "-s", "--date=format-local:%Y-%m-%d %H:%M UTC", "--format=%cd", &commit])?;
    if date != committed {
        return Err(format!("{commit} is of {date}, not of {committed}"));
    }
    let then = git(repository, &["show", &format!("{commit}:{path}")])?;
    if then != fs::read_to_string(folder.join("forecast.csv")).unwrap().trim() {
        return Err(format!("{path} has changed since {commit}"));
    }
    for published in file.get("published").and_then(toml::Value::as_array).into_iter().flatten() {
        let (since, brought) = (word(published, "since"), word(published, "commit"));
        if since <= committed {
            continue;
        }
        if git(repository, &["merge-base", "--is-ancestor", &commit, &brought]).is_err() {
            return Err(format!("{commit} does not come before {brought}"));
        }
    }
    Ok(())
}

#[test]
fn the_history_bears_out_when_forecasts_were_made() {
    let repository = studies().join("..");
    match git(&repository, &["rev-parse", "--is-shallow-repository"]).as_deref() {
        Ok("false") => {}
        Ok(_) => return skipped("this clone has not the whole history; `git fetch --unshallow` gets it"),
        Err(problem) => return skipped(&format!("there is no history, as a clone has it: {problem}")),
    }
    for study in Study::shipped() {
        if let Err(problem) = borne_out(&repository, study.id()) {
            panic!("studies/{}: {problem}", study.id());
        }
    }
}

#[test]
fn a_forecast_that_was_changed_or_came_late_is_found() {
    let repository = std::env::temp_dir().join(format!("hopscope-forecasts-{}", std::process::id()));
    let folder = repository.join("studies/one");
    fs::create_dir_all(&folder).unwrap();
    let write = |file: &str, text: &str| fs::write(folder.join(file), text).unwrap();
    let commit = || {
        git(&repository, &["add", "-A"]).unwrap();
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        git(&repository, &[&who[..], &["commit", "-q", "--allow-empty", "-m", "x"]].concat()).unwrap();
        git(&repository, &["rev-parse", "--short", "HEAD"]).unwrap()
    };
    let date = "--date=format-local:%Y-%m-%d %H:%M UTC";
    git(&repository, &["init", "-q"]).unwrap();
    write("study.toml", "");
    let before = commit();
    write("forecast.csv", "table,id,simulated,unit,interval,machine\nclaims,a,1.000,s,0,x\n");
    let forecast = commit();
    let at = git(&repository, &["show", "-s", date, "--format=%cd", &forecast]).unwrap();
    let brought = commit();
    let study = |at: &str, brought: &str| {
        let published = format!("[[published]]\nsince = \"9999-01-01 00:00 UTC\"\ncommit = \"{brought}\"\n");
        write("study.toml", &format!("{published}[forecast]\ncommitted = \"{at}\"\ncommit = \"{forecast}\"\n"));
        borne_out(&repository, "one")
    };
    let right = study(&at, &brought);
    let (other_date, too_late) = (study("2000-01-01 00:00 UTC", &brought), study(&at, &before));
    write("forecast.csv", "table,id,simulated,unit,interval,machine\nclaims,a,2.000,s,0,x\n");
    let changed = study(&at, &brought);
    fs::remove_dir_all(&repository).unwrap();
    assert_eq!(right, Ok(()));
    for (problem, word) in [(other_date, "is of"), (too_late, "does not come before"), (changed, "has changed")] {
        assert!(problem.as_ref().is_err_and(|said| said.contains(word)), "{problem:?}");
    }
}
