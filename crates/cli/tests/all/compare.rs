//! `hopscope compare`: its text fits a terminal, what it writes it reads, and wrong input is shown with its place.

use std::fs;
use std::path::Path;

use crate::program::{Ran, hopscope};
use serde_json::Value;

const JOB: [&str; 5] = ["--rw=randread", "--bs=4k", "--size=1m", "--time_based", "--runtime=5ms"];
const TWO: [&str; 2] = ["sata-ssd", "nvme-desktop"];

fn compare(words: &[&str]) -> Ran {
    hopscope(&[&["compare"], words].concat())
}

fn answer(words: &[&str]) -> String {
    let ran = compare(words);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    ran.out
}

fn json(words: &[&str]) -> Value {
    serde_json::from_str(&answer(&[words, &["--json"]].concat())).unwrap()
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_string()
}

#[track_caller]
fn refused(words: &[&str], says: &[&str]) {
    let ran = compare(words);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    for word in says {
        assert!(ran.err.contains(word), "no `{word}` in\n{}", ran.err);
    }
}

#[test]
fn two_systems_fit_eighty_columns_and_the_answer_comes_first() {
    let text = answer(&[&TWO[..], &JOB].concat());
    assert!(text.lines().all(|line| line.chars().count() <= 80 && !line.ends_with(' ')), "{text}");
    assert!(text.starts_with("nvme-desktop is faster: "), "{text}");
    for row in ["throughput", "IOPS", "latency, mean", "latency, p99", "limited by", "stage"] {
        assert!(text.lines().any(|line| line.starts_with(row)), "{row}: {text}");
    }
    assert!(text.contains("Where a request's time goes") && text.contains(" more of sata-ssd: "), "{text}");
    assert_eq!(text, answer(&[&JOB[..], &TWO].concat()));
    let three = answer(&[&TWO[..], &["nvme-chipset", "sata-ssd"], &JOB].concat());
    assert!(three.lines().all(|line| line.chars().count() <= 80), "{three}");
    assert!(three.contains("sata-ssd (2)"), "{three}");
}

#[test]
fn saved_results_say_what_fresh_ones_say() {
    let folder = tempfile::tempdir().unwrap();
    let save = |words: &[&str], name: &str| {
        let ran = hopscope(&[words, &JOB, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let path = path(folder.path(), name);
        fs::write(&path, ran.out).unwrap();
        path
    };
    let fresh = json(&[&TWO[..], &JOB].concat());
    let explained = TWO.map(|system| save(&["explain", system], &format!("{system}.json")));
    assert_eq!(json(&[&explained[0], &explained[1]]), fresh);
    // What run writes has the same figures, rounded as fio rounds them, and no stages.
    let ran = TWO.map(|system| save(&["run", system], &format!("ran-{system}.json")));
    let of_runs = json(&[&ran[0], &ran[1]]);
    for (column, fresh) in of_runs["columns"].as_array().unwrap().iter().zip(fresh["columns"].as_array().unwrap()) {
        for key in ["throughput_bytes_per_s", "iops", "latency_mean_ns", "latency_p99_ns", "in_flight"] {
            let (is, was) = (column[key].as_f64().unwrap(), fresh[key].as_f64().unwrap());
            assert!((is / was - 1.0).abs() < 1e-6, "{key}: {is} {was}");
        }
        assert_eq!((&column["interval"], &column["from"]), (&fresh["interval"], &"run".into()));
    }
    let text = answer(&[&ran[0], &ran[1]]);
    assert!(text.contains("Where that comes from is not in ran-"), "{text}");
    // What compare writes stands beside the others.
    let both = save(&[&["compare"], &TWO[..]].concat(), "both.json");
    let all = json(&[&both, &explained[0]]);
    let names: Vec<&str> = all["columns"].as_array().unwrap().iter().filter_map(|of| of["name"].as_str()).collect();
    assert_eq!(names, ["both: sata-ssd", "both: nvme-desktop", "sata-ssd"]);
    let changes = &all["groups"][0]["differences"][1];
    assert_eq!((&changes["throughput"]["change"], &changes["throughput"]["sure"]), (&0.0.into(), &false.into()));
}

#[test]
fn a_tolerance_that_does_not_hold_is_the_exit_code() {
    let slower = compare(&["nvme-desktop", "sata-ssd", "--tolerance", "5%", JOB[0], JOB[1], JOB[2], JOB[3], JOB[4]]);
    assert_eq!(slower.code, 1, "{slower:?}");
    assert!(slower.out.contains("Worse than nvme-desktop by more than 5.0 %: sata-ssd."), "{slower:?}");
    let faster = answer(&[&TWO[..], &["--tolerance=5%"], &JOB].concat());
    assert!(faster.contains("None is worse than sata-ssd by more than 5.0 %."), "{faster}");
    let report = json(&["nvme-desktop", "nvme-desktop", "--tolerance=0.1%", JOB[0], JOB[1], JOB[2], JOB[3], JOB[4]]);
    assert_eq!(report["tolerance"], serde_json::json!({ "share": 0.001, "exceeded": [] }));
}

#[test]
fn the_page_has_what_the_json_has() {
    let folder = tempfile::tempdir().unwrap();
    let html = path(folder.path(), "side.html");
    let words = [&TWO[..], &JOB, &["--json", "--html", &html]].concat();
    let report: Value = serde_json::from_str(&answer(&words)).unwrap();
    let page = fs::read_to_string(&html).unwrap();
    let data = page.split("id=\"compare-data\"").nth(1).unwrap();
    let data = data.split_once('>').unwrap().1.split("</script>").next().unwrap();
    assert_eq!(serde_json::from_str::<Value>(data).unwrap(), report);
    assert!(page.contains("Where a request&#x27;s time goes") || page.contains("Where a request's time goes"));
}

#[test]
fn wrong_input_is_refused_before_anything_is_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = path(folder.path(), name);
        fs::write(&path, text).unwrap();
        path
    };
    let cut = write("cut.json", "{\n  \"shape\": 1,\n");
    let newer = write("newer.json", "{\"shape\": 7, \"columns\": []}");
    let other = write("other.json", "{\"studies\": []}");
    let job = write("job.fio", "[a]\nrw=read\nbs=4k\nfilename=drive\n");
    refused(&["piix4e-one-disk", "--rw=read", "--bs=4k"], &["one thing", "name two systems"]);
    refused(&["piix4e-one-disk", "nvme-desktop"], &["There is no job"]);
    refused(&["nvme-desktp", "sata-ssd", "--rw=read"], &["is no system", "did you mean `nvme-desktop`?"]);
    refused(&[&cut, &newer], &["cut.json:2", "is cut", "newer.json:1:2", "shape 7"]);
    refused(&[&other, &cut], &["no result of explain, run or compare"]);
    refused(&[&path(folder.path(), "gone.json"), &cut], &["gone.json", "is not there"]);
    refused(&["nvme-desktop", "piix4e-one-disk", &job], &["`piix4e-one-disk` has no device `drive`", "job.fio:4:1"]);
    refused(&["nvme-desktop", "sata-ssd", &job, "--rw=read"], &["there is a job file"]);
    refused(&[&job, &job], &["on which system"]);
    refused(&["nvme-desktop", "sata-ssd", "--rw=raed"], &["raed"]);
    refused(&["nvme-desktop", "sata-ssd", "--rw=read", "--tolerance=x"], &["percentage"]);
    let many = vec!["nvme-desktop"; 65];
    refused(&[&many[..], &["--rw=read", "--bs=4k"]].concat(), &["65 columns", "at most 64"]);
    assert_eq!(compare(&[]).code, 2);
}
