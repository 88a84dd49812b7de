//! `hopscope whatif`: the shape of its answers, and that the same question has the same answer.

use crate::program::hopscope;
use serde_json::Value;

const WORK: &[&str] = &[
    "whatif",
    "piix4e-one-disk",
    "--rw=write",
    "--bs=64k",
    "--size=64k",
    "--iodepth=2",
    "--time_based",
    "--runtime=100ms",
];

fn answer(more: &[&str]) -> String {
    let ran = hopscope(&[WORK, more].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    ran.out
}

fn json(more: &[&str]) -> Value {
    serde_json::from_str(&answer(&[&["--json"], more].concat())).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn json_ranks_upgrades_and_numbers() {
    let all = json(&[]);
    let top = ["system", "effort", "before", "upgrades", "do_not_fit", "sensitivities", "refused"];
    assert_eq!(keys(&all), top);
    assert_eq!(keys(&all["before"]), ["throughput_bytes_per_s", "latency_mean_ns", "transfers", "limit"]);
    let gains: Vec<f64> = all["upgrades"].as_array().unwrap().iter().map(|u| u["gain"].as_f64().unwrap()).collect();
    assert!(gains.len() >= 5 && gains.is_sorted_by(|a, b| a >= b), "{gains:?}");
    let first = &all["upgrades"][0];
    for key in ["name", "title", "basis", "from", "changes", "throughput_bytes_per_s", "next_limit"] {
        assert!(!first[key].is_null(), "{key}: {first}");
    }
    let numbers = all["sensitivities"].as_array().unwrap();
    assert!(numbers.len() > 100);
    for number in numbers {
        let count = number["changed_to"].as_array().unwrap().len();
        for key in ["throughput_effect", "latency_effect", "throughput_half_width_95"] {
            assert_eq!(number[key].as_array().unwrap().len(), count, "{key}: {number}");
        }
    }
    assert!(numbers.iter().any(|number| number["holds_until"]["value"].is_string()));
}

#[test]
fn given_changes_are_made_together_and_compared() {
    let both = ["--change", "host.hold_acknowledge=0clocks", "--set=host.memory.read_first_data=5clocks"];
    let compared = json(&both);
    assert_eq!(keys(&compared), ["system", "changes", "also_on", "gain", "before", "after"]);
    assert_eq!(compared["changes"], serde_json::json!(["host.hold_acknowledge is 0clocks instead of 9 clocks"]));
    assert!(compared["gain"].as_f64().unwrap() > 0.05, "{}", compared["gain"]);
    assert!(compared["after"]["account"]["hops"].is_array());
    // What --set says holds before, too.
    let plain = json(&["--change=host.hold_acknowledge=0clocks"]);
    assert_ne!(plain["before"]["throughput_bytes_per_s"], compared["before"]["throughput_bytes_per_s"]);
    let added = json(&["--add", "disk2=disk/quantum-fireball-el10.2a@cable.free"]);
    assert_eq!(added["also_on"], serde_json::json!(["disk2"]));
}

#[test]
fn the_first_line_is_the_answer_and_all_fit_eighty_columns() {
    let outlook = answer(&[]);
    assert!(outlook.lines().next().unwrap().contains(" would buy most: +"), "{outlook}");
    let change = ["--change=pci.clock=36 MHz", "--add=disk2=disk/quantum-fireball-el10.2a@cable.free"];
    let compared = answer(&change);
    let first = compared.lines().next().unwrap();
    assert!(first.starts_with(['+', '-']) && first.contains(" instead of "), "{compared}");
    assert!(compared.contains("the same job runs on disk2, too"), "{compared}");
    for line in outlook.lines().chain(compared.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert_eq!(outlook, answer(&[]));
    assert!(answer(&["--all"]).lines().count() > 2 * outlook.lines().count());
}

#[test]
fn a_wrong_change_is_shown_with_its_place_and_the_nearest_name() {
    for (words, says) in [
        (&["--change", "pci.clok=66MHz"][..], "did you mean `pci.clock`?"),
        (&["--replace", "disk=bus/pci-32-33"], "--replace disk=bus/pci-32-33"),
        (&["--add", "disk2=disk/quantum-fireball-el10.2a@cable.drive0"], "already used by `disk`"),
        (&["--change", "job.bs=100"], "no whole sectors"),
    ] {
        let ran = hopscope(&[WORK, words].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains(says), "{}", ran.err);
    }
}

#[test]
fn an_own_upgrade_is_checked_and_joins_the_shipped_ones() {
    let folder = tempfile::TempDir::new().unwrap();
    let upgrades = folder.path().join("upgrades");
    std::fs::create_dir(&upgrades).unwrap();
    let file = upgrades.join("mine.toml");
    let right = "title = \"Mine\"\nbasis = { assumed = \"a test\" }\napplies_to = [\"[pci-bus]\"]\n\
                 change = [\"[pci-bus].turnaround=0 clocks\"]\n";
    std::fs::write(&file, right).unwrap();
    let path = file.to_str().unwrap();
    assert_eq!(hopscope(&["check", path]).code, 0);
    let all = json(&["--data", folder.path().to_str().unwrap()]);
    assert!(all["upgrades"].as_array().unwrap().iter().any(|upgrade| upgrade["name"] == "mine"), "{all}");
    for (wrong, says) in [
        (right.replace("turnaround", "turnarond"), "did you mean `pci.turnaround`?"),
        (right.replace("[pci-bus]\"]", "[pci-bus].clock < 5 MHz\"]"), "not [pci-bus].clock < 5 MHz"),
        (right.replace("basis", "bases"), "did you mean `basis`?"),
        (right.replace("change = [", "change = [1, "), "is not a text"),
        (right.replace("change = [", "# ["), "changes nothing"),
    ] {
        std::fs::write(&file, wrong).unwrap();
        let ran = hopscope(&["check", path]);
        assert!(ran.code == 2 && ran.err.contains(says) && ran.err.contains("mine.toml"), "{says}: {ran:?}");
    }
}
