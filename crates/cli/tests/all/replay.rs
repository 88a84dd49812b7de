//! `hopscope replay`: what it prints, and what becomes of what it computed when a trace is wrong.

use std::fs;

use crate::program::{Ran, command, hopscope, ran};
use serde_json::Value;
use tempfile::TempDir;

const SYSTEM: &str = "piix4e-one-disk";
const OFFICE: &str = include_str!("../../../../docs/office.msr.csv");

fn replayed(text: &str, words: &[&str]) -> Ran {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("office.csv");
    fs::write(&path, text).unwrap();
    hopscope(&[&["replay", path.to_str().unwrap(), SYSTEM], words].concat())
}

#[test]
fn both_distributions_and_their_distance_are_printed() {
    let ran = replayed(OFFICE, &[]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    for words in ["IOPS", "msr on disk of piix4e-one-disk", "29 reads and 11 writes", "simulated    recorded", "median"]
    {
        assert!(ran.out.contains(words), "{words}\n{}", ran.out);
    }
    assert!(ran.out.contains("Demerit figure: ") && ran.out.contains("within 1 ms"), "{}", ran.out);
    assert!(!ran.out.contains("It took") && replayed(OFFICE, &["--timing"]).out.contains("requests a second"));
}

#[test]
fn the_json_has_all_of_it_and_repeats_exactly() {
    let once = replayed(OFFICE, &["--json", "--seed", "3"]);
    assert_eq!((once.code, once.err.as_str()), (0, ""));
    let json: Value = serde_json::from_str(&once.out).unwrap();
    assert_eq!((&json["requests"], &json["format"], &json["seed"]), (&40.into(), &"msr".into(), &3.into()));
    assert!(json["demerit_ns"].as_f64().unwrap() > 0.0 && json["problem"].is_null());
    assert!(json["recorded"]["percentile_ns"]["50"].as_u64().unwrap() > 0);
    assert!((0.0..=1.0).contains(&json["paired"]["within_1_ms"].as_f64().unwrap()));
    let other: Value = serde_json::from_str(&replayed(OFFICE, &["--json", "--seed", "4"]).out).unwrap();
    assert_ne!(json["simulated"], other["simulated"], "the seed decides the platter's angle");
}

#[test]
fn what_was_computed_before_an_error_is_printed_and_the_exit_code_says_so() {
    let cut: String = OFFICE.lines().take(31).map(|line| format!("{line}\n")).collect();
    let ran = replayed(&format!("{cut}128166379000000000,bench,0,Read,512\n"), &[]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("22 reads and 8 writes") || ran.out.contains(" reads and "), "{}", ran.out);
    assert!(ran.err.contains("office.csv:32:") && ran.err.contains("this line is cut"), "{}", ran.err);
    let json = replayed(&format!("{cut}128166379000000000,bench,0,Read,512\n"), &["--json"]);
    let answer: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json.code, &answer["requests"], &answer["problem"]["line"]), (2, &30.into(), &32.into()));
}

#[test]
fn which_gaps_were_taken_is_said() {
    let text = "R Miss 800 8 9000.0 900.0\nW Miss 4000 8 9000.0 900.0\n";
    let told = replayed(text, &[]);
    assert!(told.out.contains("gaps are the time since the request before: the trace does not tell"), "{}", told.out);
    let asked = replayed(text, &["--gaps", "until-next"]);
    assert!(asked.out.contains("gaps are the time until the next request: as asked"), "{}", asked.out);
    let json: Value = serde_json::from_str(&replayed(text, &["--json"]).out).unwrap();
    assert_eq!((&json["gaps"]["lie"], &json["gaps"]["told_by"]), (&"since-last".into(), &"nothing".into()));
    let ran = replayed(OFFICE, &["--gaps", "until-next"]);
    assert!(ran.code == 2 && ran.err.contains("the format msr has times, and no gaps"), "{ran:?}");
}

#[test]
fn wrong_words_are_refused() {
    let refused = |words: &[&str], expected: &str| {
        let ran = hopscope(words);
        assert!(ran.code == 2 && ran.out.is_empty() && ran.err.contains(expected), "{expected}: {ran:?}");
    };
    refused(&["replay", "nowhere.csv", SYSTEM], "`nowhere.csv` is not there");
    refused(&["replay", ".", SYSTEM], "is a folder");
    refused(&["replay", "nowhere.csv", "piix4e-one-dsk"], "did you mean `piix4e-one-disk`?");
    refused(&["replay", "nowhere.csv", SYSTEM, "--format", "csv"], "expected one of disksim-validation");
    refused(&["replay", "nowhere.csv", SYSTEM, "--gaps", "none"], "expected since-last or until-next");
    refused(&["replay", "nowhere.csv", SYSTEM, "--device", "sda"], "expected a number, or all");
    let ran = replayed(OFFICE, &["--on", "dsk"]);
    assert!(ran.code == 2 && ran.err.contains("did you mean `disk`?"), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn a_trace_may_come_on_standard_input() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("office.csv");
    fs::write(&path, OFFICE).unwrap();
    let input = fs::File::open(&path).unwrap();
    let piped = ran(command(&["replay", "-", SYSTEM]).stdin(input).output().unwrap());
    assert!(piped.code == 0 && piped.out.starts_with("standard input: "), "{piped:?}");
}
