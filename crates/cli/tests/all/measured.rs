//! A result of fio beside the simulation, and in the place of a job.

#![cfg(unix)]

use std::fs;

use crate::program::{Ran, hopscope};
use serde_json::Value;
use tempfile::TempDir;

const SYSTEM: &str = "piix4e-one-disk";
const JOB: &[&str] = &["--rw=write", "--bs=64k", "--size=64k", "--time_based", "--runtime=500ms"];
const FIO_3_1: &str = include_str!("../../../questions/tests/fio/fio-3.1.json");
const FIO_3_16: &str = include_str!("../../../questions/tests/fio/fio-3.16.json");
const FIO_3_36: &str = include_str!("../../../questions/tests/fio/fio-3.36.json");

/// A folder with these files, and their paths.
fn files(files: &[(&str, &str)]) -> (TempDir, Vec<String>) {
    let folder = TempDir::new().unwrap();
    let paths = files.iter().map(|(name, text)| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    });
    let paths = paths.collect();
    (folder, paths)
}

#[track_caller]
fn answered(words: &[&str]) -> String {
    let ran = hopscope(words);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{words:?}: {ran:?}");
    ran.out
}

#[track_caller]
fn refused(ran: &Ran, words: &[&str]) {
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    for word in words {
        assert!(ran.err.contains(word), "no `{word}` in\n{}", ran.err);
    }
}

/// A text in one line.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What `run --json` says of the job.
fn simulated(more: &[&str]) -> String {
    answered(&[&["run", SYSTEM, "--json"], JOB, more].concat())
}

#[test]
fn what_hopscope_ran_itself_is_measured_as_it_is_simulated() {
    let (_folder, paths) = files(&[("result.json", &simulated(&[]))]);
    let own = ["explain", SYSTEM, "--json", "--measured", &paths[0]];
    let given: Value = serde_json::from_str(&answered(&[&own, JOB].concat())).unwrap();
    let measured = &given["measured"];
    for figure in ["bytes_per_s", "iops", "latency_mean_ns"] {
        let beside = &measured["jobs"][0][figure];
        assert!(beside["measured"].as_f64().is_some_and(|value| value > 0.0), "{figure}: {measured}");
        assert_eq!(
            (&beside["measured"], beside["unexplained"].as_f64()),
            (&beside["simulated"], Some(0.0)),
            "{figure}"
        );
    }
    assert_eq!(measured["bytes_per_s"]["unexplained_share"].as_f64(), Some(0.0));
    assert_eq!((measured["warnings"].as_array().unwrap().len(), &measured["matched_by"]), (0, &"name".into()));
    let hops = given["hops"].as_array().unwrap().len();
    assert_eq!(measured["ceilings"].as_array().unwrap().len(), hops, "every hop of the account");
    // It is its own job, too.
    let same: Value = serde_json::from_str(&answered(&["explain", SYSTEM, &paths[0], "--json"])).unwrap();
    assert_eq!(same["hops"], given["hops"]);
    assert!(same.get("measured").is_none() && given["nearest_above"].is_null());
}

#[test]
fn a_machine_that_is_not_the_one_described_shows_as_unexplained() {
    let slower = simulated(&["--set", "host.memory.read_first_data=20clocks"]);
    let (_folder, paths) = files(&[("result.json", &slower)]);
    let text = answered(&[&["explain", SYSTEM, "--measured", &paths[0]], JOB].concat());
    assert!(text.contains("Measured by hopscope-"), "{text}");
    assert!(flowing(&text).contains("of what was measured. The simulation gives more, and nothing"), "{text}");
    assert!(text.contains("\nUnexplained: -"), "{text}");
    assert!(text.contains("What each hop could carry of this workload"), "{text}");
    assert!(text.lines().filter(|line| !line.contains(&paths[0])).all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.lines().all(|line| !line.ends_with(' ')), "{text}");
}

#[test]
fn the_page_has_what_was_measured() {
    let (folder, paths) = files(&[("result.json", FIO_3_1)]);
    let (html, csv) = (folder.path().join("where.html"), folder.path().join("csv"));
    let outputs = ["--html", html.to_str().unwrap(), "--csv", csv.to_str().unwrap()];
    answered(&[&["explain", SYSTEM, &paths[0], "--measured", &paths[0]], &outputs[..]].concat());
    let page = fs::read_to_string(html).unwrap();
    assert!(page.contains("Measured, beside the simulation") && page.contains("fio-3.1"));
    assert!(page.contains(" --measured "), "how to make it again");
    let tables: Vec<String> =
        fs::read_dir(csv).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(tables.iter().any(|name| name.ends_with("measured-table.csv")), "{tables:?}");
    assert!(tables.iter().any(|name| name.ends_with("ceilings-table.csv")), "{tables:?}");
}

#[test]
fn a_result_is_a_job_for_every_command_that_takes_one_and_its_device_is_said_to_be_another() {
    let (_folder, paths) = files(&[("result.json", FIO_3_1), ("group.json", FIO_3_16)]);
    let ran = answered(&["run", SYSTEM, &paths[0]]);
    assert!(ran.starts_with("scan: ") && ran.contains("sequential reads of 64 KiB at depth 1 on disk"), "{ran}");
    let said = "Options without effect here: direct, filename=/dev/sdb (the system's default device), ioengine";
    assert!(ran.contains(said), "{ran}");
    assert!(answered(&["run", SYSTEM, &paths[1]]).starts_with("all 2 jobs: "), "numjobs of the group");
    for command in [&["explain"][..], &["whatif", "--change", "pci.clock=66MHz"]] {
        let text = flowing(&answered(&[command, &[SYSTEM, &paths[0]]].concat()));
        assert!(text.contains("filename=/dev/sdb (the system's default device)"), "{command:?}: {text}");
    }
    assert_eq!(answered(&["check", &paths[0]]), format!("{}: ok\n", paths[0]));
}

#[test]
fn a_wrong_result_says_what_and_where() {
    let cut = &FIO_3_16[..1_000];
    let (_folder, paths) =
        files(&[("empty.json", ""), ("cut.json", cut), ("mixed.json", FIO_3_36), ("notes.json", "none"), ("a", "[1]")]);
    let explain = |path: &str| hopscope(&[&["explain", SYSTEM, "--measured", path], JOB].concat());
    refused(&explain(&paths[0]), &["empty.json:1:1", "this file is empty"]);
    refused(&explain(&paths[1]), &["cut.json:", "this result is cut"]);
    refused(&explain(&paths[2]), &["mixed.json:16:", "measured: `in`, `mix`; simulated: `job`"]);
    refused(&explain(&paths[3]), &["notes.json:1:1", "there is no JSON object"]);
    refused(&explain(&paths[4]), &["there is no JSON object"]);
    refused(&explain("nowhere.json"), &["`nowhere.json` is not there"]);
    refused(&explain("/dev/zero"), &["`/dev/zero` is larger than 64 MiB"]);
    let run = |path: &str| hopscope(&["run", SYSTEM, path]);
    refused(&run(&paths[0]), &["empty.json:1:1", "this file is empty"]);
    let trims = FIO_3_36.replace("\"randrw\"", "\"randtrim\"");
    let (_folder, paths) = files(&[("trims.json", &trims)]);
    refused(&run(&paths[0]), &["trims.json:65:17", "`rw=randtrim` changes the result and is not modelled"]);
}

#[test]
fn what_was_done_otherwise_is_said() {
    let (_folder, paths) = files(&[("result.json", FIO_3_36)]);
    let jobs = ["--runtime=1", "--direct=1", "--name=in", "--rw=read", "--bs=64k", "--name=mix", "--rw=randread"];
    let text = answered(&[&["explain", SYSTEM, "--measured", &paths[0]], &jobs[..]].concat());
    for line in [
        "mix: read",
        "mix: write",
        "all 3 together",
        "Not as it was simulated:",
        "  error 5 measured: the job failed",
        "  rw randrw measured, randread simulated: another direction or order",
        "  direct 0 (fio's default) measured, 1 simulated (2 jobs):",
    ] {
        assert!(text.lines().any(|shown| shown.starts_with(line)), "{line}\n{text}");
    }
}

const FIO_TIME_BASED: &str = include_str!("../../../questions/tests/fixtures/fio/time-based.json");
const FIO_NUMJOBS: &str = include_str!("../../../questions/tests/fixtures/fio/numjobs-group.json");
const FIO_BUFFERED: &str = include_str!("../../../questions/tests/fixtures/fio/buffered.json");
const FIO_TEXT: &str = include_str!("../../../questions/tests/fixtures/fio/normal.txt");
const FIO_TERSE: &str = include_str!("../../../questions/tests/fixtures/fio/terse.txt");

#[test]
fn what_makes_a_measurement_incomparable_stands_directly_under_the_headline() {
    let (_folder, paths) = files(&[("result.json", FIO_BUFFERED)]);
    let job = ["--rw=randread", "--bs=4k", "--size=4m", "--time_based", "--runtime=1s", "--iodepth=8"];
    let text = answered(&[&["explain", SYSTEM, "--measured", &paths[0]], &job[..]].concat());
    let (_, under) = text.split_once("beside the simulation (").unwrap();
    let under = flowing(under.split_once('\n').unwrap().1);
    let first = "Not comparable as it is: direct 0 measured, 1 simulated: the host's page cache stood between the job \
                 and the device, and is not simulated. Not comparable as it is: filename=/srv/x measured: a file system";
    assert!(under.starts_with(first), "{under}");
    assert!(under.contains("the page cache and the file system may explain it."), "{under}");
    assert!(!under.contains("nothing in the model says why"), "{under}");
    let json = answered(&[&["explain", SYSTEM, "--json", "--measured", &paths[0]], &job[..]].concat());
    let measured = &serde_json::from_str::<Value>(&json).unwrap()["measured"];
    assert_eq!(measured["causes"], serde_json::json!(["the page cache", "the file system"]));
    assert_eq!(measured["warnings"].as_array().unwrap().iter().filter(|one| !one["cause"].is_null()).count(), 2);
}

#[test]
fn what_fio_leaves_out_of_its_result_is_inferred_and_said() {
    let (_folder, paths) = files(&[("time.json", FIO_TIME_BASED), ("numjobs.json", FIO_NUMJOBS)]);
    let ran = answered(&["run", SYSTEM, &paths[0]]);
    assert!(ran.contains("`a` moved more than its size: taken as time_based"), "{ran}");
    assert!(ran.contains("filename=/srv/x (the system's default device)"), "{ran}");
    let ran = answered(&["run", SYSTEM, &paths[1]]);
    assert!(ran.starts_with("all 4 jobs: ") && ran.contains("taken as 4 jobs with group_reporting"), "{ran}");
    let json: Value = serde_json::from_str(&answered(&["run", SYSTEM, &paths[1], "--json"])).unwrap();
    assert_eq!(json["hopscope"]["notes"].as_array().unwrap().len(), 2, "{json}");
    let beside = flowing(&answered(&["explain", SYSTEM, &paths[1], "--measured", &paths[1]]));
    assert!(!beside.contains("numjobs 4 measured"), "{beside}");
}

#[test]
fn other_outputs_of_fio_are_known_and_the_right_one_is_asked_for() {
    let (_folder, paths) = files(&[("out.txt", FIO_TEXT), ("terse", FIO_TERSE)]);
    for (path, which) in [(&paths[0], "this is fio's text output"), (&paths[1], "this is fio's terse output")] {
        let again = "run it again with --output-format=json --output=result.json";
        refused(&hopscope(&["explain", SYSTEM, path, "--measured", path]), &[which, again]);
        refused(&hopscope(&[&["explain", SYSTEM, "--measured", path], JOB].concat()), &[which, again]);
        refused(&hopscope(&["run", SYSTEM, path]), &[which, again]);
    }
}

#[test]
fn a_job_that_polls_is_run_with_a_driver_that_does_and_psync_at_depth_one() {
    let of = |more: &[&str]| {
        answered(
            &[&["run", "nvme-desktop", "--rw=randread", "--bs=4k", "--runtime=1ms", "--ioengine=pvsync2"], more]
                .concat(),
        )
    };
    let (waits, polls) = (of(&["--iodepth=8"]), of(&["--hipri"]));
    assert!(waits.contains("at depth 1 on drive"), "{waits}");
    assert!(waits.contains("iodepth=8 (ioengine=pvsync2 has one request under way)"), "{waits}");
    assert!(polls.contains("hipri: driver polls, as driver/linux-io-uring-polled"), "{polls}");
    assert_ne!(waits.lines().next(), polls.lines().next());
}

#[test]
fn the_ceilings_have_one_row_for_lanes_that_are_alike() {
    let job = ["nvme-desktop", "--rw=randread", "--bs=4k", "--iodepth=4", "--runtime=1ms"];
    let result = answered(&[&["run"], &job[..], &["--json"]].concat());
    let (_folder, paths) = files(&[("result.json", &result)]);
    let text = answered(&[&["explain"], &job[..], &["--measured", &paths[0]]].concat());
    let (_, ceilings) = text.split_once("What each hop could carry of this workload").expect("the ceilings are there");
    assert!(ceilings.lines().all(|line| line.chars().count() <= 80), "{text}");
    let named = |name: &str| ceilings.lines().filter(|line| line.split_whitespace().next() == Some(name)).count();
    assert_eq!((named("drive.channel*"), named("drive.channel0"), named("drive.channel1")), (1, 0, 0), "{text}");
    assert!(ceilings.lines().any(|line| line.contains("*.plane*")), "{text}");
    assert!(!text.contains("the critical path"), "{text}");
}
