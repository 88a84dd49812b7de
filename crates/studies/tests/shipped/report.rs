//! What `hopscope reproduce STUDY --json` printed holds together, by arithmetic of its own.

use std::collections::BTreeSet;

use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_studies::{Study, Wish};

use crate::skipped::skipped;
use serde_json::Value;

/// Files with reports, with colons between them.
const NAMED_BY: &str = "HOPSCOPE_REPORT";
/// The studies, and how many cells their first table has.
const CELLS: &[(&str, usize)] =
    &[("piix4e", 108), ("pcie-bench", 240), ("myrinet", 34), ("raid-pci", 35), ("win2000", 19)];
/// The one that takes a second. Nobody has to bring its report.
const BRIEF: &str = "myrinet";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no list `{key}`"))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn a_report_agrees_with_itself() {
    let paths = std::env::var(NAMED_BY).unwrap_or_default();
    let read = |path: &str| serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut reports: Vec<Value> = paths.split(':').filter(|path| !path.is_empty()).map(read).collect();
    reports.push(brief_report());
    reports.iter().for_each(agrees_with_itself);
    let unseen = CELLS.iter().map(|(study, _)| *study).filter(|study| reports.iter().all(|r| r["study"] != *study));
    let unseen: Vec<&str> = unseen.collect();
    if !unseen.is_empty() {
        let what = unseen.join(", ");
        skipped(&format!("no report of {what}; name what `hopscope reproduce STUDY --json` printed in {NAMED_BY}"));
    }
}

fn brief_report() -> Value {
    let library = Library::new(None).unwrap();
    let study = Study::shipped().into_iter().find(|study| study.id() == BRIEF).unwrap();
    let wish = Wish {
        library: &library,
        trains: true,
        sensitivity: false,
        stop: &|| false,
        progress: &|_: usize, _, _: &str| {},
    };
    let opened = study.open(&library, &mut Sources::default()).unwrap();
    serde_json::to_value(opened.reproduce(&wish).unwrap()).unwrap()
}

fn agrees_with_itself(report: &Value) {
    let known = CELLS.iter().find(|(study, _)| report["study"] == *study);
    let (_, count) = known.unwrap_or_else(|| panic!("{} is new: say here how many cells it has", report["study"]));

    let mut keys = BTreeSet::new();
    for table in list(report, "tables") {
        for cell in list(table, "cells") {
            assert!(keys.insert(format!("{} {}", table["id"], cell["key"])), "{} occurs twice", cell["key"]);
            if cell["published"].is_null() {
                assert!(cell["error"].is_null() && table["id"] != list(report, "tables")[0]["id"], "{cell}");
            } else {
                let error = number(&cell["simulated"]) / number(&cell["published"]) - 1.0;
                assert!(close(error, number(&cell["error"])), "{cell}");
            }
            let standing = cell["forecast"]["stands"] == true && cell["forecast"]["in_time"] == true;
            assert!(cell["basis"] != "predicted" || standing, "nothing is predicted without a forecast: {cell}");
            assert!(["input", "fitted", "seen", "predicted"].contains(&cell["basis"].as_str().unwrap()), "{cell}");
        }
    }
    for claim in list(report, "claims") {
        let holds = claim["holds"].as_bool().unwrap();
        assert!(!holds || claim["basis"] != "input", "what was put in does not count as holding: {claim}");
    }

    let cells = list(&report["tables"][0], "cells");
    assert_eq!(cells.len(), *count);
    let errors = |basis: Option<&str>| -> Vec<f64> {
        let counted = cells.iter().filter(|cell| cell["repeats"].is_null());
        let counted = counted.filter(|cell| basis.is_none_or(|basis| cell["basis"] == basis));
        counted.map(|cell| number(&cell["error"]).abs()).collect()
    };
    let summary = &report["summary"];
    let agrees = |key: &str, errors: &[f64]| {
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let known = &summary[key];
        assert!(if errors.is_empty() { known.is_null() } else { close(number(known), mean) }, "{key}: {known}, {mean}");
    };
    let (all, predicted, seen) = (errors(None), errors(Some("predicted")), errors(Some("seen")));
    agrees("mean_abs_error", &all);
    agrees("mean_abs_error_predicted", &predicted);
    agrees("mean_abs_error_seen", &seen);
    agrees("mean_abs_error_fitted", &errors(Some("fitted")));
    let counts = [("cells", all.len()), ("predicted", predicted.len()), ("seen", seen.len())];
    for (key, expected) in counts.into_iter().chain([("repeats", count - all.len())]) {
        assert_eq!(summary[key], expected, "{key}");
    }
    assert!(close(number(&summary["max_abs_error"]), all.iter().copied().fold(0.0, f64::max)));
    let within = all.iter().filter(|error| **error <= 0.05).count() as f64 / all.len() as f64;
    assert!(close(number(&summary["within_5_percent"]), within));
    let fitted = list(report, "parameters").iter().filter(|parameter| parameter["basis"] == "fitted").count();
    assert_eq!(summary["fitted_parameters"], fitted);
}
