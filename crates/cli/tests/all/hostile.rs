//! Inputs and outputs that somebody has prepared: nothing of theirs steers a terminal or a spreadsheet, and no file is
//! lost.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{Ran, hopscope};
use tempfile::TempDir;

const SYSTEM: &str = include_str!("../../../../data/systems/piix4e-one-disk.toml");
const DISK: &str = include_str!("../../../../data/parts/disk/quantum-fireball-el10.2a.toml");
const JOB: [&str; 4] = ["--rw=read", "--bs=4k", "--size=64k", "--time_based=0"];

struct Bench(TempDir);

impl Bench {
    fn new() -> Bench {
        Bench(TempDir::new().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    }
}

#[track_caller]
fn refused(ran: &Ran, words: &[&str]) {
    assert_eq!(ran.code, 2, "{ran:?}");
    for word in words {
        assert!(ran.err.contains(word), "no `{word}` in\n{}", ran.err);
    }
}

/// A text that a terminal shows and does not obey.
#[track_caller]
fn tame(text: &str) {
    let steers = |letter: &char| {
        (letter.is_control() && !matches!(letter, '\n' | '\t')) || ('\u{202a}'..='\u{202e}').contains(letter)
    };
    assert_eq!(text.chars().find(steers), None, "{text:?}");
}

#[test]
fn no_title_or_name_of_an_input_steers_a_terminal_a_page_or_a_table() {
    let bench = Bench::new();
    let title = "title = \"=HYPERLINK(1)\\u001b[2J\\u009b31m\\u202e\\u0007\"";
    let system = SYSTEM.replacen(SYSTEM.lines().find(|line| line.starts_with("title")).unwrap(), title, 1);
    let system = bench.write("=1+1.toml", &system);
    let job = bench.write("job.fio", "[a\u{1b}[2J\u{202e}b]\nrw=read\nbs=4k\nsize=256k\n");
    let [html, svg, csv] = ["page.html", "svg", "csv"].map(|name| bench.at(name).to_str().unwrap().to_string());
    for words in [
        vec!["explain", &system, &job, "--hops", "--html", &html, "--svg", &svg, "--csv", &csv],
        vec!["explain", &system, &job, "--json"],
        vec!["run", &system, &job],
        vec!["run", &system, &job, "--json"],
        vec!["systems", &system],
        vec!["check", &system, &job],
    ] {
        let ran = hopscope(&words);
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        tame(&ran.out);
        tame(&ran.err);
    }
    tame(&fs::read_to_string(&html).unwrap());
    for folder in [&svg, &csv] {
        for file in fs::read_dir(folder).unwrap() {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            tame(&text);
            assert!(!text.lines().any(|line| line.starts_with("=") || line.contains(",=")), "{text}");
        }
    }
    // Errors quote names, too, and the command line.
    for words in
        [["run", &system, "--rw=re\u{1b}[2Jad"], ["run", "no\u{9b}31msuch", "--rw=read"], ["chec\u{1b}[2Jk", "a", "b"]]
    {
        let ran = hopscope(&words);
        assert_eq!(ran.code, 2, "{ran:?}");
        tame(&ran.err);
    }
}

#[test]
fn an_output_that_is_an_input_is_refused_before_anything_is_computed() {
    let bench = Bench::new();
    let system = bench.write("machine.toml", SYSTEM);
    let job = bench.write("job.fio", "[a]\nrw=read\nbs=4k\nsize=64k\n");
    let data = bench.write("data/systems/mine.toml", SYSTEM);
    let folder = bench.at("data").to_str().unwrap().to_string();
    for (words, input) in [
        (vec!["explain", &system, &job, "--html", &system], &system),
        (vec!["explain", &system, &job, "--html", &job], &job),
        (vec!["whatif", &system, &job, "--html", &job], &job),
        (vec!["explain", "mine", &job, "--data", &folder, "--html", &data], &data),
    ] {
        let before = fs::read(input).unwrap();
        refused(&hopscope(&words), &["an input of this command"]);
        assert_eq!(fs::read(input).unwrap(), before);
    }
    let trace = bench.write("requests.trace", "0.0 0 100 8 1\n1.0 0 200 8 1\n");
    refused(&hopscope(&["replay", &trace, "barracuda-4lp", "--html", &trace]), &["an input of this command"]);
}

#[cfg(unix)]
#[test]
fn an_output_does_not_go_through_a_link_and_a_pipe_among_the_data_is_refused() {
    let bench = Bench::new();
    let mine = bench.write("mine.txt", "mine");
    std::os::unix::fs::symlink(&mine, bench.at("page.html")).unwrap();
    let page = bench.at("page.html").to_str().unwrap().to_string();
    let words = [&["explain", "piix4e-one-disk"], &JOB[..3], &["--html", &page]].concat();
    refused(&hopscope(&words), &["it is a link"]);
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");

    fs::create_dir_all(bench.at("data/systems")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", bench.at("data/systems/endless.toml")).unwrap();
    let data = bench.at("data").to_str().unwrap().to_string();
    refused(&hopscope(&["systems", "--data", &data]), &["endless.toml", "not a file"]);
    let pipe = bench.at("data/systems/endless.toml");
    fs::remove_file(&pipe).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    refused(&hopscope(&["systems", "--data", &data]), &["endless.toml", "not a file"]);
}

#[test]
fn a_folder_of_data_has_an_end() {
    let bench = Bench::new();
    let text = format!("title = \"{}\"\n", "x".repeat(1_000_000));
    for number in 0..270 {
        bench.write(&format!("data/systems/large{number}.toml"), &text);
    }
    let data = bench.at("data").to_str().unwrap().to_string();
    refused(&hopscope(&["systems", "--data", &data]), &["more than 256 MiB"]);
}

#[test]
fn thousands_of_wrong_ports_are_counted_and_fifty_at_most_are_shown() {
    let bench = Bench::new();
    let part =
        |number| format!("\n[part.d{number}]\nuse = \"disk/quantum-fireball-el10.2a\"\nat = \"cable.drove{number}\"\n");
    let system = SYSTEM.to_string() + &(0..6_000).map(part).collect::<String>();
    let path = bench.write("ports.toml", &system);
    let ran = hopscope(&["check", &path]);
    refused(&ran, &["there is no port `cable.drove0`", "more problems"]);
    let ran = hopscope(&["check", &path, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let file = &json["files"][0];
    assert_eq!((file["problems"].as_array().unwrap().len(), &file["problems_count"]), (50, &6_000.into()), "{file}");
}

#[test]
fn all_that_a_part_lacks_is_said_at_once() {
    let bench = Bench::new();
    let lacking = |keys: &[&str]| {
        let keeps = |line: &&str| !keys.iter().any(|key| line.starts_with(&format!("{key} ")));
        DISK.lines().filter(keeps).map(|line| format!("{line}\n")).collect::<String>()
    };
    let keys = ["rotation", "look_up", "segments", "read_ahead"];
    let present: Vec<&str> =
        keys.into_iter().filter(|key| DISK.lines().any(|line| line.starts_with(&format!("{key} ")))).collect();
    assert!(present.len() > 2, "{present:?}");
    let ran = hopscope(&["check", &bench.write("disk.toml", &lacking(&present))]);
    let missing = |key: &&str| format!("{key}` is missing");
    refused(&ran, &present.iter().map(missing).collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>());
    // A part without any number says every one of them.
    let ran = hopscope(&["check", &bench.write("disk.toml", "model = \"hard-disk\"\ntitle = \"none\"\n"), "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let count = json["files"][0]["problems_count"].as_u64().unwrap();
    assert!(count >= 15, "{count}: {json:#}");
}

#[test]
fn more_processes_than_records_tell_apart_are_refused_with_the_limit() {
    let bench = Bench::new();
    let system = "title = \"Many\"\n[part.root]\nuse = \"host/xeon-e5-2620-v2-root\"\ncount = 70\n\
                  [part.link]\nuse = \"bus/pcie-link\"\nat = \"root{}.port0\"\ncount = 70\n\
                  [part.nfp]\nuse = \"network/netronome-nfp-6000\"\nat = \"link{}.device\"\ncount = 70\n\
                  contexts = { value = \"1000 transfers\", assumed = \"many\" }\n";
    let ran = hopscope(&["check", &bench.write("many.toml", system)]);
    refused(&ran, &["many.toml", "processes, and at most 65000 are possible"]);
}

#[test]
fn a_byte_order_mark_is_skipped_and_a_number_too_large_says_so() {
    let bench = Bench::new();
    let system = bench.write("marked.toml", &format!("\u{feff}{SYSTEM}"));
    let job = bench.write("marked.fio", "\u{feff}[a]\nrw=read\nbs=4k\nsize=64k\n");
    let ran = hopscope(&["run", &system, &job]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for option in ["--bs=99999999999999999999", "--iodepth=99999999999999999999", "--size=99999999999999999999"] {
        refused(&hopscope(&["run", &system, "--rw=read", option]), &["is too large"]);
    }
    refused(&hopscope(&["run", &system, "--rw=read", "--bs=4k", "--runtime=1000000000"]), &["longer than 213 days"]);
}

#[test]
fn a_part_that_a_system_lacks_is_said_at_a_place_in_that_system() {
    let bench = Bench::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/systems");
    for name in ["raid-megaraid-64-66", "nvme-desktop", "piix4e-two-disks-same-channel", "scsi-ultra160"] {
        let text = fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
        let tables: Vec<&str> = text.split("\n[").collect();
        for lacking in 1..tables.len() {
            let kept: Vec<&str> =
                tables.iter().enumerate().filter(|(at, _)| *at != lacking).map(|(_, table)| *table).collect();
            let path = bench.write("lacking.toml", &kept.join("\n["));
            let ran = hopscope(&["check", &path, "--json"]);
            let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
            for problem in json["files"][0]["problems"].as_array().unwrap() {
                assert_eq!(problem["file"], path.as_str(), "{name} without [{}: {problem}", tables[lacking]);
            }
        }
    }
}

#[test]
fn a_machine_that_only_waits_for_its_jobs_has_an_account_of_the_think_time() {
    let idle = ["--rw=read", "--bs=4k", "--thinktime=1s", "--ramp_time=500ms", "--runtime=100ms", "--time_based"];
    let job: Vec<&str> = ["explain", "piix4e-one-disk"].into_iter().chain(idle).collect();
    let said = hopscope(&job);
    assert!(said.code == 0 && said.out.contains("Limited by the workload: from 500.000 ms to 600.000 ms"), "{said:?}");
    let report: serde_json::Value = serde_json::from_str(&hopscope(&[&job[..], &["--json"]].concat()).out).unwrap();
    let hops = report["hops"].as_array().unwrap();
    let named: Vec<&str> = hops.iter().filter_map(|hop| hop["lane"].as_str()).collect();
    assert!(["cpu", "pci", "cable", "disk.arm"].iter().all(|lane| named.contains(lane)), "{named:?}");
    for hop in hops {
        assert_eq!(hop["time_ps"]["nothing to do"], 100_000_000_000u64, "{hop}");
        assert_eq!((&hop["busy_share"], &hop["losses"][0]["phase"]), (&0.0.into(), &"think time".into()), "{hop}");
    }
    let bench = Bench::new();
    let page = bench.at("page.html").to_str().unwrap().to_string();
    assert_eq!(hopscope(&[&job[..], &["--html", &page]].concat()).code, 0);

    let whatif: Vec<&str> = ["whatif", "piix4e-one-disk"].into_iter().chain(idle).collect();
    for words in [whatif.clone(), [&whatif[..], &["--change", "pci.clock=66MHz"]].concat()] {
        refused(&hopscope(&words), &["the jobs paused", "--thinktime=1s", "a longer `runtime`"]);
    }
}

#[test]
fn a_window_in_which_nothing_ends_is_accounted_for_to_the_end_of_what_was_asked_for_in_it() {
    for (system, ramp, runtime) in
        [("nvme-desktop", "1us", "1us"), ("nvme-desktop", "30us", "1us"), ("piix4e-one-disk", "3ms", "1us")]
    {
        let (ramp, runtime) = (format!("--ramp_time={ramp}"), format!("--runtime={runtime}"));
        let ran = hopscope(&["explain", system, "--rw=randread", "--bs=4k", &ramp, &runtime, "--time_based"]);
        assert!(ran.code == 0 && ran.out.contains("Too few requests ended"), "{ran:?}");
    }
}
