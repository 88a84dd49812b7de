//! `hopscope trace` and `hopscope analyze`: what they write, read, and refuse.

use std::fs;

use crate::perfetto::Timeline;
use crate::program::{Ran, hopscope};
use serde_json::Value;
use tempfile::TempDir;

const WRITES: [&str; 6] = ["trace", "piix4e-one-disk", "--rw=write", "--bs=64k", "--from=3ms", "--for=200us"];

fn traced(folder: &TempDir, words: &[&str], name: &str) -> (Ran, String) {
    let path = folder.path().join(name).to_str().unwrap().to_string();
    (hopscope(&[words, &["-o", &path]].concat()), path)
}

fn analyzed(path: &str, words: &[&str]) -> Ran {
    hopscope(&[&["analyze", path], words].concat())
}

#[test]
fn a_trace_is_read_again_and_repeats_exactly() {
    let folder = TempDir::new().unwrap();
    let (once, path) = traced(&folder, &WRITES, "once.vcd");
    assert_eq!((once.code, once.err.as_str()), (0, ""), "{once:?}");
    let (_, again) = traced(&folder, &WRITES, "again.vcd");
    assert_eq!(fs::read(&path).unwrap(), fs::read(&again).unwrap());
    let plain = analyzed(&path, &[]);
    assert_eq!((plain.code, plain.err.as_str()), (0, ""), "{plain:?}");
    assert!(plain.out.contains("What repeats: 2 transactions in 98 clocks (2925 ns), 64 bytes"), "{}", plain.out);
    let json: Value = serde_json::from_str(&analyzed(&path, &["--json"]).out).unwrap();
    let transactions = json["transactions"].as_array().unwrap();
    assert!(transactions.len() > 100, "{json:#}");
    for key in ["start_ns", "initiator", "command", "address", "bytes", "data_phases", "wait_clocks", "ended_by"] {
        assert!(transactions.iter().all(|one| !one[key].is_null()), "{key}");
    }
    assert_eq!(json["bus"]["clock_ns"], 29.851);
    let spent = json["bus"]["spent_clocks"].as_array().unwrap();
    let sum: u64 = spent.iter().map(|part| part["clocks"].as_u64().unwrap()).sum();
    assert_eq!(sum, json["bus"]["clocks"].as_u64().unwrap());
    assert_eq!(json["table"].as_array().unwrap().len(), 2);
    // What is shown as bars is in the report: each of the transactions with data had its first ones after some clocks.
    let with_data = transactions.iter().filter(|one| one["data_phases"] != 0).count() as u64;
    let waited = json["bus"]["clocks_to_first_data"].as_array().unwrap();
    assert_eq!(waited.iter().map(|pair| pair[1].as_u64().unwrap()).sum::<u64>(), with_data);
    assert!(waited.iter().any(|pair| pair[0] == 14), "{waited:?}");
    assert!(plain.out.contains("\nIdle clocks between transactions\n"), "{}", plain.out);
    assert!(plain.out.lines().any(|line| line.starts_with("  14 ") && line.ends_with(&"█".repeat(36))));
}

#[test]
fn both_buses_of_a_capture_are_told_and_what_lies_between_them() {
    let folder = TempDir::new().unwrap();
    let (_, path) = traced(&folder, &WRITES, "both.vcd");
    let plain = analyzed(&path, &[]).out;
    assert!(plain.contains("IDE cable cable: ") && plain.contains("Ultra DMA to the drive"), "{plain}");
    let json: Value = serde_json::from_str(&analyzed(&path, &["--json"]).out).unwrap();
    let cable = &json["cables"][0];
    let delays = cable["summary"]["delays"].as_array().unwrap();
    let of = |name: &str| delays.iter().find(|of| of["delay"] == name).unwrap_or_else(|| panic!("{delays:?}"));
    // Figure 1 of the report: the bubble behind every 64 bytes.
    assert_eq!(of("pause of the cable beyond its pace")["longest_ns"], 985.083);
    assert_eq!(of("last strobe before a pause to FRAME#")["median_ns"], 298.51);

    // The cable alone, as somebody else's scope may have it.
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("$scope module pci").unwrap();
    let (_, after) = rest.split_once("$upscope $end\n").unwrap();
    fs::write(&path, format!("{before}{after}")).unwrap();
    let alone: Value = serde_json::from_str(&analyzed(&path, &["--json"]).out).unwrap();
    assert_eq!(alone["cables"][0]["bursts"], cable["bursts"]);
    let delays = alone["cables"][0]["summary"]["delays"].as_array().unwrap();
    assert!(alone.get("bus").is_none() && delays.len() == 1, "{delays:?}");
    let csv = analyzed(&path, &["--csv", "mine.csv"]);
    assert!(csv.code == 2 && csv.err.contains("there is no PCI bus in it"), "{csv:?}");
}

#[test]
fn a_timeline_is_written_for_any_machine_and_repeats_exactly() {
    let folder = TempDir::new().unwrap();
    let reads = ["trace", "nvme-desktop", "--rw=randread", "--bs=4k", "--iodepth=4", "--from=1ms", "--for=200us"];
    let (once, path) = traced(&folder, &reads, "once.pftrace");
    assert_eq!((once.code, once.err.as_str()), (0, ""), "{once:?}");
    assert!(once.out.contains(" requests\n") && once.out.contains("Open it with ui.perfetto.dev"), "{}", once.out);
    let (json, again) = traced(&folder, &[&reads[..], &["--json"]].concat(), "again.pftrace");
    assert!(fs::read(&path).unwrap() == fs::read(&again).unwrap());
    let json: Value = serde_json::from_str(&json.out).unwrap();
    let requests = json["drawn"][0]["requests"].as_u64().unwrap();
    let timeline = Timeline::read(&fs::read(&path).unwrap());
    let of_requests =
        timeline.slices.iter().filter(|slice| timeline.path(slice.track).starts_with("requests of job/slot "));
    let (ways, drawn): (Vec<_>, Vec<_>) = of_requests.partition(|slice| slice.within.is_some());
    assert_eq!(drawn.len() as u64, requests);
    assert!(ways.iter().any(|stretch| stretch.text("at").starts_with("drive.channel")), "{ways:?}");
}

#[test]
fn a_machine_without_a_bus_of_wires_is_drawn_in_words() {
    let folder = TempDir::new().unwrap();
    let (ran, path) = traced(&folder, &["trace", "nvme-desktop", "--rw=read", "--bs=4k", "--for=50us"], "words.vcd");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("$var string 1 ") && text.lines().any(|line| line.starts_with("sdriver ")), "{text:.2000}");
    let read = analyzed(&path, &[]);
    assert!(read.code == 2 && read.err.contains("no clk, frame"), "{read:?}");
}

#[test]
fn a_window_may_be_named_by_what_happens_in_it_whatever_is_drawn() {
    let folder = TempDir::new().unwrap();
    let work = ["trace", "piix4e-one-disk", "--rw=write", "--bs=64k", "--json"];
    for choice in [&["--request=2"][..], &["--around=cable.pause", "--for=50us", "--from=4ms"]] {
        let windows = ["a.vcd", "a.pftrace"].map(|name| {
            let (ran, _) = traced(&folder, &[&work[..], choice].concat(), name);
            assert_eq!(ran.code, 0, "{ran:?}");
            let json: Value = serde_json::from_str(&ran.out).unwrap();
            (json["from_ns"].as_f64().unwrap(), json["for_ns"].as_f64().unwrap())
        });
        assert!(windows[0] == windows[1] && windows[0].0 > 1e6, "{windows:?}");
    }
    for choice in
        [&["--request=2", "--from=1ms"][..], &["--request=2", "--for=1ms"], &["--request=2", "--around=cable.pause"]]
    {
        let (ran, _) = traced(&folder, &[&work[..], choice].concat(), "b.vcd");
        assert!(ran.code == 2 && ran.err.contains("cannot be used with"), "{ran:?}");
    }
    let (ran, path) =
        traced(&folder, &[&work[..], &["--request=900", "--runtime=1", "--time_based"]].concat(), "b.vcd");
    assert!(ran.code == 2 && ran.err.contains("are issued in that time"), "{ran:?}");
    assert!(!fs::exists(path).unwrap());
}

#[test]
fn a_waveform_becomes_a_timeline_of_its_transactions() {
    let folder = TempDir::new().unwrap();
    let (_, path) = traced(&folder, &WRITES, "writes.vcd");
    let drawn = folder.path().join("writes.pftrace");
    let ran = analyzed(&path, &["--json", "--pftrace", drawn.to_str().unwrap()]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    let timeline = Timeline::read(&fs::read(&drawn).unwrap());
    let (clock_ps, mut whole) = (29_851, 0);
    let of = |category: &str| timeline.slices.iter().filter(|slice| slice.category == category).collect::<Vec<_>>();
    let (on_bus, of_initiators) = (of("transaction"), of("initiator"));
    let listed = json["transactions"].as_array().unwrap();
    assert_eq!((on_bus.len(), of_initiators.len()), (listed.len(), listed.len()));
    for ((slice, same), one) in on_bus.iter().zip(&of_initiators).zip(listed) {
        let start_ns = one["start_ns"].as_f64().unwrap();
        assert_eq!((slice.from_ns, slice.name.as_str()), (start_ns as u64, one["command"].as_str().unwrap()), "{one}");
        assert_eq!(
            (slice.number("bytes"), slice.text("ended by")),
            (one["bytes"].as_u64(), one["ended_by"].as_str().unwrap())
        );
        assert!(
            timeline.path(same.track) == one["initiator"].as_str().unwrap() && same.flows == slice.flows_end,
            "{same:?}"
        );
        let number = timeline.slices.iter().position(|other| std::ptr::eq(other, *slice));
        let within = || timeline.slices.iter().filter(|other| other.within == number);
        let of_phase = |name: &str| within().filter(|phase| phase.name == name).map(|phase| phase.ps).sum::<u64>();
        assert_eq!(within().map(|phase| phase.ps).sum::<u64>(), slice.ps, "{slice:?}");
        if one["ended_by"] != "end of the capture" {
            let waits = one["wait_clocks"].as_u64().unwrap();
            assert!(of_phase("wait").abs_diff(waits * clock_ps) <= 20, "{waits} clocks: {slice:?}");
            assert!(of_phase("data") + 20 >= one["data_phases"].as_u64().unwrap() * clock_ps, "{slice:?}");
            whole += 1;
        }
    }
    assert!(whole > 100, "{whole} transactions");
    let of_cable = json["cables"][0]["bursts"].as_array().unwrap();
    let bursts = of("burst");
    assert_eq!(
        (bursts.len(), of("register").len()),
        (of_cable.len(), json["cables"][0]["accesses"].as_array().unwrap().len())
    );
    for (slice, one) in bursts.iter().zip(of_cable) {
        let bytes = one["bytes"].as_u64().unwrap();
        assert_eq!((slice.from_ns, slice.number("words")), (one["start_ns"].as_f64().unwrap() as u64, Some(bytes / 2)));
        let number = timeline.slices.iter().position(|other| std::ptr::eq(other, *slice));
        let within = timeline.slices.iter().filter(|other| other.within == number).map(|part| part.ps).sum::<u64>();
        assert_eq!(within, slice.ps, "{slice:?}");
    }
    let ran = analyzed(&path, &["--pftrace", &path]);
    assert!(ran.code == 2 && ran.err.contains("an input of this command"), "{ran:?}");
}

#[test]
fn a_waveform_becomes_a_page() {
    let folder = TempDir::new().unwrap();
    let (_, path) = traced(&folder, &WRITES, "writes.vcd");
    let page = folder.path().join("writes.html");
    let ran = analyzed(&path, &["--json", "--html", page.to_str().unwrap()]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let (json, html): (Value, String) = (serde_json::from_str(&ran.out).unwrap(), fs::read_to_string(&page).unwrap());
    let transactions = json["bus"]["transactions"].as_u64().unwrap();
    assert!(html.contains(&format!("{transactions} transactions on PCI")), "{transactions}");
    for part in ["id=\"capture-over-time\"", "IDE: cable", "hopscope analyze", "Delays between cause and effect"] {
        assert!(html.contains(part), "{part}");
    }
    let ran = analyzed(&path, &["--html", &path]);
    assert!(ran.code == 2 && ran.err.contains("an input of this command"), "{ran:?}");
    // Without the bus the cable alone makes one.
    let text = fs::read_to_string(&path).unwrap().replace("FRAME#", "other");
    let alone = folder.path().join("alone.vcd");
    fs::write(&alone, text).unwrap();
    let ran = analyzed(alone.to_str().unwrap(), &["--html", page.to_str().unwrap()]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("id=\"capture-over-time\"") && !html.contains("PCI bus"), "{html:.500}");
}

#[test]
fn packets_of_a_drive_are_read_again_as_a_drives() {
    let folder = TempDir::new().unwrap();
    let reads = ["trace", "nvme-desktop", "--rw=randread", "--bs=4k", "--iodepth=8", "--from=1ms", "--for=500us"];
    let (ran, path) = traced(&folder, &reads, "once.pcap");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let (_, again) = traced(&folder, &reads, "again.pcap");
    assert!(fs::read(&path).unwrap() == fs::read(&again).unwrap());
    let read = analyzed(&path, &[]);
    assert_eq!((read.code, read.err.as_str()), (0, ""), "{read:?}");
    for said in ["NVMe drive 01:00.0 (taken)", "submission tail of queue 1", "completion head of queue 1"] {
        assert!(read.out.contains(said), "{said}: {}", read.out);
    }
    let (none, _) = traced(&folder, &WRITES, "none.pcap");
    assert!(none.code == 2 && none.err.contains("no packets in that window"), "{none:?}");
}

#[test]
fn a_capture_that_is_cut_is_answered_as_far_as_it_goes() {
    let folder = TempDir::new().unwrap();
    let (_, path) = traced(&folder, &WRITES, "whole.vcd");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text[..text.len() / 2].trim_end_matches(|c| c != '\n').to_string() + "#7 garbage").unwrap();
    let ran = analyzed(&path, &[]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.out.contains("The capture is broken at line ") && ran.err.contains("time goes back to 7"), "{ran:?}");
    let json: Value = serde_json::from_str(&analyzed(&path, &["--json"]).out).unwrap();
    assert!(
        json["cut"].as_str().unwrap().contains("time goes back")
            && !json["transactions"].as_array().unwrap().is_empty()
    );
}

#[test]
fn what_cannot_be_drawn_or_read_says_why() {
    let folder = TempDir::new().unwrap();
    let refused = |words: &[&str], name: &str, said: &str| {
        let (ran, path) = traced(&folder, words, name);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains(said), "{said}: {}", ran.err);
        assert!(!fs::exists(path).unwrap());
    };
    refused(&WRITES, "a.png", "says no format");
    refused(&[&WRITES[..], &["--link=pci"]].concat(), "a.vcd", "--link is of packets");
    let reads = ["trace", "nvme-chipset", "--rw=read", "--bs=4k", "--link=nowhere"];
    refused(&reads, "a.pcap", "no link is called `nowhere`");
    refused(&[&WRITES[..5], &["--for=0ms"]].concat(), "a.vcd", "a window of no time");
    refused(&[&WRITES[..5], &["--for=20s"]].concat(), "a.vcd", "expected 10 s at most");

    let read = |text: &str, said: &[&str]| {
        let path = folder.path().join("mine.vcd");
        fs::write(&path, text).unwrap();
        let ran = analyzed(path.to_str().unwrap(), &[]);
        assert_eq!(ran.code, 2, "{ran:?}");
        said.iter().for_each(|said| assert!(ran.err.contains(said), "{said}: {}", ran.err));
    };
    read("", &["the file is empty"]);
    read("hello", &["neither as a waveform does nor as a pcap file"]);
    read("\n\n\n\n$scope hello", &["mine.vcd:5: ", "expected a value change dump"]);
    let unit = fs::read_to_string(traced(&folder, &WRITES, "unit.vcd").1).unwrap().replace("$timescale 1 ps $end", "");
    let path = folder.path().join("no-unit.vcd");
    fs::write(&path, unit).unwrap();
    let ran = analyzed(path.to_str().unwrap(), &[]);
    assert!(ran.code == 0 && ran.err.contains("no $timescale says"), "{ran:.600?}");
    let two = "$scope module top $end\n$var wire 1 ! FRAMEn $end\n$var wire 1 \" led $end\n$upscope $end\n";
    let two = format!("{two}$enddefinitions $end\n");
    read(&two, &["no clk, irdy, trdy", "found: frame=top.FRAMEn", "signals: top.FRAMEn, top.led"]);
    let gone = analyzed("gone.vcd", &[]);
    assert!(gone.code == 2 && gone.err.contains("`gone.vcd` is not there"), "{gone:?}");
}

#[test]
fn a_waveform_is_known_by_how_it_begins_and_lists_so_many() {
    let folder = TempDir::new().unwrap();
    let (ran, packed) = traced(&folder, &WRITES, "once.fst");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let (_, text) = traced(&folder, &WRITES, "once.vcd");
    let renamed = folder.path().join("renamed.vcd").to_str().unwrap().to_string();
    fs::rename(&packed, &renamed).unwrap();
    let json = |path: &str, words: &[&str]| -> Value {
        serde_json::from_str(&analyzed(path, &[&["--json"], words].concat()).out).unwrap()
    };
    assert_eq!(json(&renamed, &[]), json(&text, &[]));
    let few = json(&text, &["--limit=5"]);
    assert_eq!(few["transactions"].as_array().unwrap().len(), 5);
    assert_eq!(few["bus"], json(&text, &[])["bus"]);
    let said = analyzed(&text, &["--limit=5"]).out;
    assert!(said.contains("All are added up; what repeats is that of the first 5"), "{said}");
    let elsewhere = analyzed(&text, &["--scope=elsewhere"]);
    assert!(elsewhere.code == 2 && elsewhere.err.contains("buses: pci"), "{elsewhere:?}");
}
