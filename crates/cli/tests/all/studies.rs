//! Studies: what is called what, and the search for fitted numbers. On the one that takes a second.

use std::collections::BTreeSet;

use crate::program::hopscope;
use serde_json::Value;

fn json(words: &[&str]) -> Value {
    let ran = hopscope(words);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no list `{key}`"))
}

#[test]
fn a_study_without_forecasts_has_no_prediction_and_says_so() {
    let report = json(&["reproduce", "myrinet", "--json"]);
    let summary = &report["summary"];
    assert_eq!((&summary["predicted"], &summary["seen"]), (&0.into(), &12.into()));
    assert!(summary["mean_abs_error_predicted"].is_null() && summary["mean_abs_error_seen"].is_number());
    let cells = list(&report, "tables").iter().flat_map(|table| list(table, "cells"));
    assert!(cells.chain(list(&report, "claims")).all(|cell| cell["basis"] != "predicted"));
    let ran = hopscope(&["reproduce", "myrinet"]);
    assert!(ran.out.contains("0 predicted (none), 12 seen"), "{}", ran.out);
}

#[test]
fn null_models_stand_beside_this_model_on_the_same_cells() {
    let report = json(&["reproduce", "myrinet", "--json"]);
    let nulls: Vec<&Value> = list(&report, "alternatives").iter().filter(|a| a["ours"].is_object()).collect();
    assert_eq!(nulls.len(), 3);
    for null in nulls {
        let [theirs, ours] =
            [&null["mean_abs_error"], &null["ours"]["mean_abs_error"]].map(|mean| mean.as_f64().unwrap());
        assert_eq!(null["ours"]["wins"], ours < theirs, "{null}");
        assert_eq!(list(null, "cells").len(), 12);
    }
}

#[test]
fn what_is_published_cannot_be_forecast() {
    let file = std::env::temp_dir().join(format!("hopscope-forecast-{}.csv", std::process::id()));
    let ran = hopscope(&["reproduce", "myrinet", "--forecast", file.to_str().unwrap()]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("myrinet has nothing left to forecast") && ran.err.contains("help"), "{}", ran.err);
    assert!(!file.exists());
}

#[test]
fn a_fit_says_of_each_fitted_number_where_it_ends_and_how() {
    let (report, fit) = (json(&["reproduce", "myrinet", "--json"]), json(&["fit", "myrinet", "--json"]));
    let names = |list: &[&Value]| -> BTreeSet<String> { list.iter().map(|p| p["name"].to_string()).collect() };
    let fitted: Vec<&Value> = list(&report, "parameters").iter().filter(|p| p["basis"] == "fitted").collect();
    let moved: Vec<&Value> = list(&fit, "searches").iter().flat_map(|search| list(search, "parameters")).collect();
    assert_eq!(names(&fitted), names(&moved));
    assert_eq!(report["summary"]["fitted_parameters"], moved.len());
    for search in list(&fit, "searches") {
        let [before, after] = ["mean_abs_error_before", "mean_abs_error"].map(|key| search[key].as_f64().unwrap());
        assert!(after <= before && search["ended"] == "settled", "{search}");
    }
}
