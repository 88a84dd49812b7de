//! What `hopscope reproduce STUDY --json` printed holds together, by arithmetic of its own.

use std::collections::BTreeSet;

use serde_json::Value;

/// Reports, with colons between them.
const NAMED_BY: &str = "HOPSCOPE_REPORT";
/// The studies, and how many cells their first table has.
const CELLS: &[(&str, usize)] = &[("piix4e", 108), ("pcie-bench", 240), ("myrinet", 34), ("raid-pci", 35)];

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
    // .ci/run makes reports and names them; without one there is nothing to check here.
    let Ok(paths) = std::env::var(NAMED_BY) else { return };
    for path in paths.split(':') {
        let text = std::fs::read_to_string(path).unwrap();
        agrees_with_itself(&serde_json::from_str(&text).unwrap());
    }
}

fn agrees_with_itself(report: &Value) {
    let known = CELLS.iter().find(|(study, _)| report["study"] == *study);
    let (_, count) = known.unwrap_or_else(|| panic!("{} is new: say here how many cells it has", report["study"]));

    let mut keys = BTreeSet::new();
    for table in list(report, "tables") {
        for cell in list(table, "cells") {
            assert!(keys.insert(format!("{} {}", table["id"], cell["key"])), "{} occurs twice", cell["key"]);
            let error = number(&cell["simulated"]) / number(&cell["published"]) - 1.0;
            assert!(close(error, number(&cell["error"])), "{cell}");
            assert!(["input", "fitted", "predicted"].contains(&cell["basis"].as_str().unwrap()), "{cell}");
        }
    }
    for claim in list(report, "claims") {
        let holds = claim["holds"].as_bool().unwrap();
        assert!(!holds || claim["basis"] != "input", "what was put in does not count as holding: {claim}");
    }

    let cells = list(&report["tables"][0], "cells");
    assert_eq!(cells.len(), *count);
    let errors = |predicted_only: bool| -> Vec<f64> {
        let counted = cells.iter().filter(|cell| !predicted_only || cell["basis"] == "predicted");
        counted.map(|cell| number(&cell["error"]).abs()).collect()
    };
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    let (all, predicted) = (errors(false), errors(true));
    let summary = &report["summary"];
    assert_eq!((&summary["cells"], &summary["predicted"]), (&all.len().into(), &predicted.len().into()));
    assert!(close(number(&summary["mean_abs_error"]), mean(&all)));
    assert!(close(number(&summary["mean_abs_error_predicted"]), mean(&predicted)));
    assert!(close(number(&summary["max_abs_error"]), all.iter().copied().fold(0.0, f64::max)));
    let within = all.iter().filter(|error| **error <= 0.05).count() as f64 / all.len() as f64;
    assert!(close(number(&summary["within_5_percent"]), within));
    let fitted = list(report, "parameters").iter().filter(|parameter| parameter["basis"] == "fitted").count();
    assert_eq!(summary["fitted_parameters"], fitted);
}
