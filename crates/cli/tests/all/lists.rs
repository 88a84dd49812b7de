//! Help, and the lists of what there is.

use std::process::Stdio;

use crate::documents::root;
use crate::program::{command, hopscope, ran};
use serde_json::Value;

fn text(words: &[&str]) -> String {
    let ran = hopscope(words);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    ran.out
}

fn json(words: &[&str]) -> Value {
    serde_json::from_str(&text(words)).unwrap()
}

#[test]
fn every_command_has_help_with_examples() {
    assert!(text(&["--version"]).starts_with("hopscope 0."));
    let help = text(&["--help"]);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(
        names.starts_with(&["run", "explain", "whatif", "compare", "replay", "trace", "analyze", "parts"]),
        "{help}"
    );
    for name in names.into_iter().filter(|name| *name != "help") {
        let help = text(&[name, "--help"]);
        assert!(help.matches(&format!("\n  hopscope {name}")).count() >= 2, "{help}");
    }
}

#[test]
fn every_system_in_the_list_can_be_shown_and_run() {
    let systems = json(&["systems", "--json"]);
    let systems = systems["systems"].as_array().unwrap();
    assert!(!systems.is_empty());
    for system in systems {
        let name = system["name"].as_str().unwrap();
        assert!(system["title"].is_string() && system.get("study").is_some());
        let shown = json(&["systems", name, "--json"]);
        assert!(shown["parts"].as_array().unwrap().iter().all(|part| part["plugs"].is_object()));
        let numbers = shown["numbers"].as_array().unwrap();
        assert!(!numbers.is_empty());
        for number in numbers {
            for key in ["name", "value", "basis", "from"] {
                assert!(number[key].is_string(), "{name}: {number}");
            }
        }
        let plain = text(&["systems", name]);
        assert!(plain.contains(&format!("\n{} numbers: ", numbers.len())), "{plain}");
        assert!(plain.lines().count() <= 40 && plain.lines().all(|line| line.chars().count() <= 80), "{plain}");
        let all = text(&["systems", name, "--numbers"]);
        assert!(all.contains(numbers[0]["name"].as_str().unwrap()), "{all}");
        for (command, size) in [("run", "--bs=64k"), ("explain", "--bs=4k")] {
            let ran = hopscope(&[command, name, "--rw=read", size, "--runtime=50ms"]);
            assert_eq!(ran.code, 0, "{ran:?}");
        }
    }
}

#[test]
fn parts_and_links_that_are_alike_are_one_row() {
    let plain = text(&["systems", "nvme-server"]);
    let row = |begin: &str| plain.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{plain}"));
    assert!(row("drive0..7 ").contains(" 8 x drive/enterprise-gen5-3.84tb "), "{plain}");
    assert!(row("drive0..7 ").ends_with(" at link0..7.device"), "{plain}");
    assert!(row("driver0..7 ").contains(" 8 x driver/linux-io-uring "), "{plain}");
    assert!(row("driver8 ").contains(" driver/cuda "), "{plain}");
    assert!(row("link0..7 ").contains(" 32 GT/s x4 ") && row("link8 ").contains(" 32 GT/s x16 "), "{plain}");
    assert!(plain.contains("\ndrive0..7   flash.state=fresh, pcie.ordering=relaxed\n"), "{plain}");
    // What is not alike in its training stands by itself.
    let text_of = include_str!("../../../../data/systems/nvme-server.toml");
    let link = "[part.link3]\nuse   = \"bus/pcie-link\"\nat    = \"switch.port3\"\nwidth = { value = \"4 lanes\"";
    assert!(text_of.contains(link), "the link that is made narrower");
    let folder = tempfile::TempDir::new().unwrap();
    let low = folder.path().join("low.toml");
    std::fs::write(&low, text_of.replace(link, &link.replace("4 lanes", "2 lanes"))).unwrap();
    let plain = text(&["systems", low.to_str().unwrap()]);
    assert!(plain.contains("\nlink0..2,4..7  32 GT/s x4 ") && plain.contains("\nlink3 "), "{plain}");
    assert!(plain.contains("32 GT/s x2 (low)"), "{plain}");
}

#[test]
fn every_part_in_the_list_can_be_shown() {
    let parts = json(&["parts", "--json"]);
    for part in parts["parts"].as_array().unwrap() {
        let name = part["name"].as_str().unwrap();
        let shown = json(&["parts", name, "--json", "--no-run"]);
        assert_eq!((&shown["title"], &shown["model"]), (&part["title"], &part["model"]));
        assert!(text(&["parts", name, "--no-run"]).contains("number"));
    }
    assert!(text(&["parts"]).lines().all(|line| line.chars().count() <= 80));
    let disk = text(&["parts", "disk/quantum-fireball-el10.2a", "--no-run"]);
    assert!(disk.contains("seek.rows[0].time") && disk.contains("5400 rpm") && disk.contains("source: "), "{disk}");
    assert!(disk.contains("transfer_mode"), "{disk}");
    // What a number means and what it may be stands beside it.
    assert!(disk.contains("what, and why") && disk.contains("Heads, each with"), "{disk}");
    let shown = json(&["parts", "bus/pcie-link", "--json"]);
    let width = shown["numbers"].as_array().unwrap().iter().find(|number| number["name"] == "width").unwrap();
    assert_eq!((&width["meaning"], &width["may_be"]), (&"Lanes.".into(), &"1, 2, 4, 8, 12 or 16".into()));
    let machine = text(&["systems", "nvme-desktop", "--numbers"]);
    assert!(machine.contains("what, and why") && machine.contains("Ports (1 to"), "{machine}");
}

#[test]
fn the_reference_of_parts_is_current() {
    let printed = text(&["parts", "--reference"]);
    let kept = std::fs::read_to_string(root().join("docs/PARTS.md")).unwrap();
    assert!(printed == kept, "write it again: hopscope parts --reference > docs/PARTS.md");
    // Every model has a section, and every number a meaning.
    let kinds = json(&["new", "--json"]);
    let kinds: Vec<&str> = kinds["kinds"].as_array().unwrap().iter().filter_map(|kind| kind["name"].as_str()).collect();
    assert!(kinds.len() > 35 && kinds.iter().all(|kind| kept.contains(&format!("\n### {kind}\n"))), "{kinds:?}");
    let without: Vec<&str> = kept.lines().filter(|line| line.starts_with('|') && line.contains("|  |")).collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn a_new_part_is_begun_checked_and_put_into_a_machine() {
    let folder = tempfile::TempDir::new().unwrap();
    let drives = folder.path().join("parts/drive");
    std::fs::create_dir_all(&drives).unwrap();
    let file = drives.join("mine.toml").display().to_string();
    let begin = ["new", "drive", "Mine", "capacity=2 TB", "controller.read=3 us", "--source", "its sheet", "-o", &file];
    let said = text(&begin);
    assert!(said.contains("is written") && said.contains("drive/intel-dc-p4500-2tb"), "{said}");
    assert!(text(&["check", &file]).contains(": ok"));
    let shown = json(&["parts", &file, "--json"]);
    let numbers = shown["numbers"].as_array().unwrap();
    let of = |name: &str| numbers.iter().find(|number| number["name"] == name).unwrap();
    assert_eq!((&of("capacity")["basis"], &of("capacity")["from"]), (&"source".into(), &"its sheet".into()));
    assert_eq!(of("block")["from"], "as drive/intel-dc-p4500-2tb has it");
    // What was given decides what the machine gets.
    let data = folder.path().display().to_string();
    let job = ["--rw=randread", "--bs=4k", "--iodepth=256", "--runtime=20ms", "--json"];
    let replaced = ["--replace", "drive=drive/mine", "--data", &data];
    let changed = json(&[&["whatif", "nvme-xeon"], &job[..], &replaced[..]].concat());
    let iops = changed["after"]["throughput_bytes_per_s"].as_f64().unwrap() / 4_096.0;
    assert!((iops / (1.0 / 3e-6) - 1.0).abs() < 0.05, "{iops} with 3 us of the one controller for each read");
    let again = hopscope(&begin);
    assert!(again.code == 2 && again.err.contains("is there already"), "{again:?}");
}

#[test]
fn a_drive_is_shown_beside_what_its_data_sheet_promises() {
    let drive = "disk/maxtor-atlas-15k";
    let shown = json(&["parts", drive, "--json"]);
    let row = &shown["data_sheet"][0];
    assert_eq!((&row["rw"], &row["bs"], &row["unit"]), (&"read".into(), &65_536.into(), &"bytes_per_s".into()));
    let (promised, simulated) = (row["promised"].as_f64().unwrap(), row["simulated"].as_f64().unwrap());
    assert_eq!(promised, 75e6);
    assert!((row["error"].as_f64().unwrap() - (simulated / promised - 1.0)).abs() < 1e-12, "{row}");
    assert!(row["basis"] == "source" && row["from"].as_str().unwrap().contains("Tweakers"), "{row}");

    let lines = |words: &[&str]| text(words).lines().take(10).collect::<Vec<_>>().join("\n");
    let plain = lines(&["parts", drive]);
    assert!(plain.contains("promised") && plain.contains("75.00 MB/s") && plain.contains("on atlas-15k."), "{plain}");
    let promised = lines(&["parts", drive, "--no-run"]);
    assert!(promised.contains("75.00 MB/s") && !promised.contains("Simulated"), "{promised}");
    let without = json(&["parts", "bus/pci-32-33", "--json"]);
    assert_eq!(without["data_sheet"], serde_json::json!([]));
}

#[test]
fn every_schema_in_the_list_can_be_had() {
    let schemas = json(&["schema", "--json"]);
    let names: Vec<&str> = schemas["schemas"].as_array().unwrap().iter().filter_map(|s| s["name"].as_str()).collect();
    assert!(names.starts_with(&["system", "part", "study"]), "{names:?}");
    let plain = text(&["schema"]);
    for name in names {
        assert!(plain.contains(&format!("\n{name} ")), "{plain}");
        let schema = json(&["schema", name]);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(schema["properties"]["title"].is_object() || schema["anyOf"].is_array(), "{name}");
    }
    let unknown = hopscope(&["schema", "sytem"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("did you mean `system`?"), "{unknown:?}");
}

#[test]
fn a_folder_of_own_files_joins_the_shipped_ones() {
    let folder = tempfile::TempDir::new().unwrap();
    let systems = folder.path().join("systems");
    std::fs::create_dir(&systems).unwrap();
    std::fs::write(systems.join("mine.toml"), include_str!("../../../../data/systems/piix4e-one-disk.toml")).unwrap();
    let data = folder.path().to_str().unwrap();
    assert!(text(&["systems", "--data", data]).contains("\nmine "));
    assert!(text(&["schema", "study", "--data", data]).contains("\"mine\""));
    assert!(text(&["run", "mine", "--data", data, "--rw=read", "--size=64k"]).starts_with("job: "));
}

#[cfg(unix)]
#[test]
fn a_reader_that_stops_reading_is_no_error() {
    let mut child =
        command(&["systems", "piix4e-one-disk"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = ran(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}
