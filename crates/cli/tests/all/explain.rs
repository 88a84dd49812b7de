//! `hopscope explain`: its JSON adds up, its text fits a terminal, and the same question has the same answer.

use crate::program::hopscope;
use serde_json::Value;

const WORK: &[&str] =
    &["explain", "piix4e-one-disk", "--rw=write", "--bs=64k", "--size=64k", "--iodepth=2", "--time_based"];

fn answer(more: &[&str]) -> String {
    let ran = hopscope(&[WORK, &["--runtime=500ms"], more].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    ran.out
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("{key} is a list: {value}"))
}

fn ps(entries: &[Value]) -> u64 {
    entries.iter().map(|entry| entry["ps"].as_u64().expect("picoseconds")).sum()
}

#[test]
fn every_hop_adds_up_to_the_window_in_picoseconds_and_in_bytes() {
    let all: Value = serde_json::from_str(&answer(&["--json"])).expect("one JSON object");
    let window = all["window"]["until_ps"].as_u64().unwrap() - all["window"]["from_ps"].as_u64().unwrap();
    let hops = list(&all, "hops");
    assert!(hops.len() >= 5, "{} hops", hops.len());
    for hop in hops {
        let classes: u64 = hop["time_ps"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert_eq!(classes, window, "{hop}");
        assert_eq!(ps(list(hop, "losses")) + ps(list(hop, "payload")), window, "{hop}");
        if let (Some(capacity), Some(delivered)) =
            (hop["capacity_bytes_per_s"].as_f64(), hop["delivered_bytes_per_s"].as_f64())
        {
            let lost: f64 = list(hop, "losses").iter().filter_map(|loss| loss["bytes_per_s"].as_f64()).sum();
            assert!((capacity - lost - delivered).abs() < 1.0, "{capacity} - {lost} != {delivered}");
        }
    }
    let latency = &all["latency"];
    assert!(latency["p99"].is_null(), "half a second has too few requests for a 99th percentile");
    for split in [latency, &latency["median"]] {
        assert_eq!(ps(list(split, "phases")), split["sum_ps"].as_u64().unwrap());
        assert_eq!(ps(list(split, "stages")), split["sum_ps"].as_u64().unwrap());
    }
    let waits = list(latency, "stages").iter().filter(|stage| stage["kind"] == "wait");
    assert!(waits.count() > 0, "at depth 2 a request waits for the other one");
    for key in ["part", "lane", "kind", "why", "next"] {
        assert!(all["bottleneck"][key].as_str().is_some_and(|text| !text.is_empty()), "{}", all["bottleneck"]);
    }
    let profile = list(&all, "profile");
    assert_eq!(profile[0]["lane"], all["bottleneck"]["lane"]);
    let gain = |hop: &Value| hop["throughput_gain"].as_f64().expect("a gain");
    assert!(profile.is_sorted_by(|a, b| gain(a) >= gain(b)) && gain(&profile[0]) > 0.05, "{profile:?}");
    for key in ["assumed", "fitted"] {
        assert!(list(&all, key).iter().all(|number| number["from"].is_string()), "{key}");
    }
}

/// Of the account, and not of the lives that were looked at: there are three times as many of them.
#[test]
fn the_window_has_the_requests_that_ended_in_it() {
    let ran = hopscope(&["explain", "nvme-desktop", "nvme-random-read-4k", "--json"]);
    let all: Value = serde_json::from_str(&ran.out).expect("one JSON object");
    let window = ["from_ps", "until_ps"].map(|of| all["window"][of].as_f64().expect("a time"));
    let expected = all["iops"].as_f64().expect("a rate") * (window[1] - window[0]) / 1e12;
    let requests = all["window"]["requests"].as_f64().expect("a number");
    assert!((requests / expected - 1.0).abs() < 0.05, "{requests} requests, {expected} at that rate");
    assert!(all["latency"]["requests"].as_f64().expect("a number") > 2.0 * requests, "{}", all["latency"]["requests"]);
}

#[test]
fn the_text_fits_eighty_columns_and_names_the_bottleneck() {
    let text = answer(&[]);
    assert!(text.lines().all(|line| line.chars().count() <= 80 && !line.ends_with(' ')), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("MB/s") && lines[1].starts_with("Limited by "), "{text}");
    assert!(lines.len() <= 20 && text.contains("To try, each simulated:"), "{text}");
    let hops = answer(&["--hops"]);
    assert!(hops.lines().all(|line| line.chars().count() <= 80 && !line.ends_with(' ')), "{hops}");
    for heading in ["Every hop at twice", "cable: ", "Latency, and what each request"] {
        assert!(hops.lines().any(|line| line.starts_with(heading)), "{heading}: {hops}");
        assert!(!lines.iter().any(|line| line.starts_with(heading)), "{heading} is for those who ask: {text}");
    }
}

#[test]
fn the_same_question_has_the_same_answer() {
    assert_eq!(answer(&["--json"]), answer(&["--json"]));
}

#[test]
fn a_run_in_which_hardly_a_request_ends_is_explained_as_far_as_it_went() {
    let ran = hopscope(&[WORK, &["--runtime=1ms"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("Too few requests ended in the measured time"), "{ran:?}");
    assert!(!ran.out.contains("Limited by"), "{ran:?}");
}

#[test]
fn wrong_input_is_an_error_as_for_a_run() {
    let ran = hopscope(&["explain", "piix4e-one-disk", "--rw=write", "--bs=100"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    assert!(ran.err.contains("no whole sectors"), "{ran:?}");
}
