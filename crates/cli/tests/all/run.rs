//! `hopscope run`: the shape of its JSON, and that the same inputs give the same bytes.

use crate::program::{command, hopscope, ran};
use hopscope_questions::probes::PROBES;
use serde_json::Value;

const WORK: &[&str] =
    &["run", "piix4e-one-disk", "--rw=randread", "--bs=64k", "--size=6m", "--time_based", "--runtime=1"];

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
fn json_has_the_shape_of_fio() {
    let report = json(&["--direct=1", "--iodepth=2"]);
    assert_eq!(keys(&report), ["fio version", "timestamp", "timestamp_ms", "time", "jobs", "hopscope"]);
    assert!(report["fio version"].as_str().unwrap().starts_with("hopscope-"));
    assert_eq!(report["timestamp"], 0);
    let job = &report["jobs"][0];
    for key in ["jobname", "groupid", "error", "job options", "read", "write", "trim"] {
        assert!(job.get(key).is_some(), "{key}");
    }
    assert_eq!((&job["job options"]["bs"], &job["job options"]["time_based"]), (&"64k".into(), &"".into()));
    let read = &job["read"];
    for key in
        ["io_bytes", "io_kbytes", "bw_bytes", "bw", "iops", "runtime", "total_ios", "slat_ns", "clat_ns", "lat_ns"]
    {
        assert!(read.get(key).is_some(), "{key}");
    }
    assert_eq!(keys(&read["clat_ns"]), ["min", "max", "mean", "stddev", "N", "percentile"]);
    let percentiles = keys(&read["clat_ns"]["percentile"]);
    assert_eq!((percentiles.len(), percentiles[0], percentiles[16]), (17, "1.000000", "99.990000"));
    assert_eq!(read["io_bytes"].as_u64().unwrap(), read["total_ios"].as_u64().unwrap() * 65_536);
    assert_eq!(read["clat_ns"]["N"], read["total_ios"]);
    assert_eq!((&job["write"]["io_bytes"], &job["trim"]["total_ios"]), (&0.into(), &0.into()));
    let own = &report["hopscope"];
    assert_eq!(keys(own), ["simulated_seconds", "seed", "options_without_effect", "ended", "interval", "processor"]);
    // The request in flight ends, as in fio.
    let simulated = own["simulated_seconds"].as_f64().unwrap();
    assert!(own["ended"] == "runtime" && (1.0..1.05).contains(&simulated), "{own}");
    assert_eq!(own["options_without_effect"], serde_json::json!(["direct"]));
}

#[test]
fn the_same_inputs_give_the_same_bytes_and_trains_change_none() {
    let bytes = answer(&["--json"]);
    assert_eq!(bytes, answer(&["--json"]));
    assert_eq!(bytes, answer(&["--json", "--no-trains"]));
    assert_eq!(answer(&[]), answer(&["--no-trains"]));
    assert_ne!(bytes, answer(&["--json", "--seed=2"]));
}

#[test]
fn timing_is_there_only_when_asked_for() {
    let timing = &json(&["--timing"])["hopscope"]["timing"];
    assert!(timing["events"].as_u64().unwrap() > 0 && timing["wall_seconds"].as_f64().unwrap() > 0.0);
    assert!(answer(&["--timing"]).contains(" events, "));
}

#[test]
fn a_change_of_a_number_changes_the_result() {
    let bytes_per_second = |more: &[&str]| json(more)["jobs"][0]["read"]["bw_bytes"].as_u64().unwrap();
    let faster = ["--set", "disk.rotation=10000 rpm", "--set=disk.head_switch=100 us"];
    assert!(bytes_per_second(&faster) > bytes_per_second(&[]));
}

#[test]
fn the_first_line_is_the_answer_and_the_last_ones_say_how_it_was_got() {
    let text = answer(&["--ioengine=libaio"]);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("job: ") && first.contains(" MB/s (") && first.contains(" MiB/s), "), "{first}");
    for words in ["random reads of 64 KiB at depth 1 on disk", "95 % interval", "s simulated (seed 1)"] {
        assert!(text.contains(words), "{text}");
    }
    assert!(text.contains("Options without effect here: ioengine"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn a_job_with_an_end_finishes_and_one_that_converges_stops() {
    let finished = hopscope(&["run", "piix4e-one-disk", "--rw=write", "--bs=16k", "--size=1m", "--json"]);
    let finished: Value = serde_json::from_str(&finished.out).unwrap();
    assert_eq!(finished["hopscope"]["ended"], "finished");
    assert_eq!(finished["jobs"][0]["write"]["io_bytes"], 1 << 20);
    assert_eq!(finished["jobs"][0]["read"]["io_bytes"], 0);

    let converged = hopscope(&["run", "piix4e-one-disk", "--rw=read", "--bs=64k", "--until", "5%", "--json"]);
    let converged: Value = serde_json::from_str(&converged.out).unwrap();
    assert_eq!(converged["hopscope"]["ended"], "converged");
    assert!(converged["hopscope"]["interval"]["relative_half_width_95"].as_f64().unwrap() <= 0.05);
}

#[test]
fn a_job_without_an_end_stops_at_half_a_per_cent_with_one_rate() {
    let job = ["run", "nvme-desktop", "--rw=randread", "--bs=4k", "--iodepth=32"];
    let text = hopscope(&job);
    assert!(text.code == 0 && text.out.contains("its mean was known as well as asked for."), "{text:?}");
    assert_eq!(text.out.matches(" MB/s").count(), 1, "{text:?}");
    let report: Value = serde_json::from_str(&hopscope(&[&job[..], &["--json"]].concat()).out).unwrap();
    let (own, read) = (&report["hopscope"], &report["jobs"][0]["read"]);
    assert_eq!((&own["ended"], &own["not_converged"]), (&"converged".into(), &Value::Null));
    assert!(own["interval"]["relative_half_width_95"].as_f64().unwrap() <= 0.005);
    let window_s = own["simulated_seconds"].as_f64().unwrap() - own["interval"]["from_seconds"].as_f64().unwrap();
    let bytes = read["io_bytes"].as_f64().unwrap();
    assert!((bytes / window_s / read["bw_bytes"].as_f64().unwrap() - 1.0).abs() < 2e-3, "{report}");
    assert_eq!((bytes, &read["clat_ns"]["N"]), (read["total_ios"].as_f64().unwrap() * 4_096.0, &read["total_ios"]));
    let drifting = hopscope(&["run", "sata-ssd", "--rw=write", "--bs=16k", "--json"]);
    let drifting: Value = serde_json::from_str(&drifting.out).unwrap();
    let why = drifting["hopscope"]["not_converged"].as_str().unwrap();
    assert!(drifting["hopscope"]["ended"] == "drifting" && why.starts_with("the spare blocks of ssd went"), "{why}");
}

#[test]
fn a_long_runtime_says_what_until_would_have_saved() {
    let of = |runtime: &str| hopscope(&["run", "piix4e-one-disk", "--rw=write", "--bs=64k", "--time_based", runtime]);
    let (long, short) = (of("--runtime=120"), of("--runtime=20"));
    assert!(long.out.contains("--until 0.5% ends there") && !short.out.contains("--until"), "{long:?} {short:?}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_prints_what_is_known_so_far() {
    use std::process::{Command, Stdio};
    use std::time::Duration;
    let interrupted = |more: &[&str]| {
        let job = ["run", "nvme-desktop", "--rw=randread", "--bs=4k", "--iodepth=32", "--runtime=600"];
        let mut command = command(&[&job[..], more].concat());
        let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(2));
        // The shell's own: not every machine has a program `kill`.
        let interrupt = format!("kill -INT {}", running.id());
        assert!(Command::new("sh").args(["-c", &interrupt]).status().unwrap().success());
        ran(running.wait_with_output().unwrap())
    };
    let text = interrupted(&[]);
    assert!(text.code == 130 && text.out.starts_with("Partial: interrupted after "), "{text:?}");
    assert!(text.out.contains("it was interrupted.") && text.out.contains("\njob: "), "{text:?}");
    let json = interrupted(&["--json"]);
    let report: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json.code, &report["hopscope"]["ended"]), (130, &"interrupted".into()));
    assert!(report["jobs"][0]["read"]["total_ios"].as_u64().unwrap() > 1_000, "{report}");
}

#[test]
fn a_run_too_short_to_measure_anything_ends_its_request_and_knows_no_interval() {
    let ran = hopscope(&["run", "piix4e-one-disk", "--rw=read", "--bs=64k", "--runtime=1us"]);
    assert!(
        ran.code == 0 && ran.out.contains("64 KiB in 1 transfers") && ran.out.contains("interval: none"),
        "{ran:?}"
    );
}

#[test]
fn several_jobs_have_a_sum() {
    let words = ["run", "piix4e-two-disks-two-channels", "--bs=64k", "--runtime=1", "--name=a", "--filename=disk"];
    let ran = hopscope(&[&words[..], &["--name=b", "--filename=disk2"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.starts_with("all 2 jobs: ") && ran.out.contains("\na: ") && ran.out.contains("\nb: "), "{ran:?}");
}

#[test]
fn a_job_file_runs_like_the_same_options() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("scan.fio");
    std::fs::write(&path, "[job]\nrw=read\nbs=64k\nsize=1m\n").unwrap();
    let from_file = hopscope(&["run", "piix4e-one-disk", path.to_str().unwrap()]);
    let from_options = hopscope(&["run", "piix4e-one-disk", "--rw=read", "--bs=64k", "--size=1m"]);
    assert_eq!((from_file.code, from_file.out), (0, from_options.out));
}

#[test]
fn colours_are_forced_or_forbidden_by_the_environment() {
    let coloured = |key: &str| ran(command(WORK).env(key, "1").output().unwrap()).out.contains('\u{1b}');
    assert!(coloured("CLICOLOR_FORCE") && !coloured("NO_COLOR") && !coloured("NOTHING"));
    assert!(!answer(&["--json"]).contains('\u{1b}'));
}

#[test]
fn probes_are_read_off_a_trace_beside_the_same_answer() {
    let probes = ["--probe", "retry_clocks", "--probe=read_cycle_data_min"];
    let (plain, text) = (answer(&[]), answer(&probes));
    let lines: Vec<&str> = text.strip_prefix(&plain).expect("the answer is the same").lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    for (line, [name, value]) in
        lines[1..].iter().zip([["retry_clocks", " 9.000 clocks "], ["read_", " 8.000 clocks "]])
    {
        assert!(line.starts_with(name) && line.contains(value) && line.contains("`pci`"), "{line}");
    }
    let report = json(&probes);
    let expected = serde_json::json!({
        "retry_clocks": { "value": 9.0, "unit": "clocks" },
        "read_cycle_data_min": { "value": 8.0, "unit": "clocks" },
    });
    assert_eq!(report["hopscope"]["probes"], expected);
    assert!(json(&[])["hopscope"].get("probes").is_none());
    assert_eq!(answer(&probes), answer(&[&probes[..], &["--no-trains"]].concat()));
}

#[test]
fn a_probe_that_there_is_not_is_told_the_nearest_and_one_that_finds_nothing_leaves_the_answer() {
    let wrong = hopscope(&[WORK, &["--probe=retry_clock"]].concat());
    assert!(wrong.code == 2 && wrong.out.is_empty(), "{wrong:?}");
    for words in ["no probe `retry_clock`", "did you mean `retry_clocks`?", "`hopscope run --help` lists all"] {
        assert!(wrong.err.contains(words), "{words}: {}", wrong.err);
    }
    let help = hopscope(&["run", "--help"]).out;
    assert!(PROBES.iter().all(|probe| help.contains(probe.name)), "{help}");
    let nothing = hopscope(&[WORK, &["--probe=reads_under_way"]].concat());
    assert_eq!((nothing.code, nothing.out.as_str()), (2, answer(&[]).as_str()), "{nothing:?}");
    assert!(nothing.err.contains("the machine has no lane `link.up`"), "{}", nothing.err);
}

#[test]
fn help_names_every_option_of_fio_that_is_modelled() {
    let help = hopscope(&["run", "--help"]).out;
    let words: Vec<&str> = help.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    for name in hopscope_files::job_options::names() {
        assert!(words.contains(&name), "run --help does not name {name}");
    }
}
