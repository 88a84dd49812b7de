//! Captures: what is said of one, and of what is none, or not all of one.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::perfetto::Timeline;
use crate::program::hopscope;
use crate::skipped::skipped;

/// A frame around a packet: Ethernet, IPv4, UDP to port 0x3000, the adapter's number and clock.
fn frame(number: u16, packet: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    bytes.extend([8, 0, 0x45, 0]);
    bytes.extend((34 + packet.len() as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x30, 0, 0x30, 0]);
    bytes.extend((14 + packet.len() as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(number.to_be_bytes());
    bytes.extend(u32::from(number).to_be_bytes());
    bytes.extend(packet);
    bytes
}

/// A read of 256 bytes that 19:00.0 asks for and gets in two pieces, and a write of four bytes.
fn capture() -> Vec<u8> {
    let mut halves =
        [[0x4a, 0, 0, 0x20, 0x1b, 0, 1, 0, 0x19, 0, 5, 0], [0x4a, 0, 0, 0x20, 0x1b, 0, 0, 0x80, 0x19, 0, 5, 0]]
            .map(|header| header.to_vec());
    halves.iter_mut().for_each(|half| half.extend([7; 128]));
    let frames = [
        frame(1, &[0, 0, 0, 0x40, 0x19, 0, 5, 0xff, 0xa0, 0, 0, 0]),
        frame(0, &halves[0]),
        frame(0, &halves[1]),
        frame(2, &[0x40, 0, 0, 1, 0x19, 0, 0, 0x0f, 0xfe, 0xe0, 0, 0, 1, 2, 3, 4]),
    ];
    let mut file = [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 128, 1].map(u32::to_le_bytes).concat();
    for (place, frame) in frames.iter().enumerate() {
        let length = frame.len() as u32;
        file.extend([5, 1_000 * place as u32, length, length].map(u32::to_le_bytes).concat());
        file.extend(frame);
    }
    file
}

fn written(folder: &TempDir, bytes: &[u8]) -> String {
    let path = folder.path().join("some.pcap");
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_string()
}

#[test]
fn a_capture_is_reported_as_text_json_and_csv() {
    let folder = TempDir::new().unwrap();
    let path = written(&folder, &capture());
    let ran = hopscope(&["analyze", &path]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    for part in
        ["4 packets in 3.000 us", "1 completed", "2 x 128 B", "2.000 us / 2.000 us / 2.000 us", "read_request_max"]
    {
        assert!(ran.out.contains(part), "no `{part}` in\n{}", ran.out);
    }
    let csv = folder.path().join("list.csv");
    let ran = hopscope(&["analyze", &path, "--json", "--csv", csv.to_str().unwrap()]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let read = &report["transactions"][0];
    assert_eq!((&read["initiator"], &read["command"], &read["bytes"]), (&"19:00.0".into(), &"MRd".into(), &256.into()));
    assert_eq!((&read["address"], &read["ended_by"]), (&"0xa0000000".into(), &"completed".into()));
    assert_eq!((&report["packets"]["packets"], &report["table"][0]["latency_ns"]["max"]), (&4.into(), &2000.into()));
    let lines = fs::read_to_string(&csv).unwrap();
    assert_eq!(lines.lines().nth(1), Some("1,0,taken,19:00.0,5,MRd,0xa0000000,256,2,1000,2000,completed,1"), "{lines}");
}

#[test]
fn packets_become_a_timeline_of_their_requests() {
    let folder = TempDir::new().unwrap();
    let path = written(&folder, &capture());
    let drawn = folder.path().join("requests.pftrace");
    let ran = hopscope(&["analyze", &path, "--json", "--pftrace", drawn.to_str().unwrap()]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let timeline = Timeline::read(&fs::read(&drawn).unwrap());
    assert_eq!(timeline.slices.len(), report["transactions"].as_array().unwrap().len());
    let [read, write] = &timeline.slices[..] else { panic!("{timeline:#?}") };
    assert_eq!((read.name.as_str(), read.number("bytes"), read.text("ended")), ("MRd", Some(256), "completed"));
    assert_eq!((read.ps, read.number("address")), (2_000_000, Some(0xa000_0000)), "{read:?}");
    assert_eq!((write.name.as_str(), write.from_ns, write.ps), ("MWr", 3_000, 0));
    assert!(timeline.path(read.track).starts_with("19:00.0 ("), "{}", timeline.path(read.track));
    let completions: Vec<(&str, u64)> = timeline.instants.iter().map(|one| (one.name.as_str(), one.from_ns)).collect();
    assert_eq!(completions, [("first completion", 1_000), ("completion", 2_000)]);
    assert_eq!((&read.flows, &timeline.instants[1].flows_end, write.flows.len()), (&vec![1], &vec![1], 0));
}

#[test]
fn packets_become_a_page() {
    let folder = TempDir::new().unwrap();
    let path = written(&folder, &capture());
    let page = folder.path().join("drive.html");
    let ran = hopscope(&["analyze", &path, "--html", page.to_str().unwrap()]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let html = fs::read_to_string(&page).unwrap();
    for part in ["4 packets in", "requests of 19:00.0 (taken) that wait", "1 completed", "1 posted"] {
        assert!(html.contains(part), "{part}");
    }
    let ran = hopscope(&["analyze", &path, "--html", &path]);
    assert!(ran.code == 2 && ran.err.contains("an input of this command"), "{ran:?}");
}

#[test]
fn a_cut_capture_is_reported_as_far_as_it_goes() {
    let folder = TempDir::new().unwrap();
    let whole = capture();
    let path = written(&folder, &whole[..whole.len() - 5]);
    let ran = hopscope(&["analyze", &path]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.out.contains("3 packets") && ran.err.contains("cut within frame 4, which begins at byte"), "{ran:?}");
}

#[test]
fn what_is_no_capture_is_refused_with_what_it_is() {
    let folder = TempDir::new().unwrap();
    for (bytes, what) in [
        (&b""[..], "the file is empty"),
        (b"model = \"disk\"", "neither as a waveform does nor as a pcap file"),
        (b"$date today $end", "ends before $enddefinitions"),
        (b"\x0a\x0d\x0d\x0a....", "pcapng"),
        (b"\xa1\xb2\xc3\xd4\0\x02", "cut within its header"),
    ] {
        let path = written(&folder, bytes);
        let ran = hopscope(&["analyze", &path]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains(what) && ran.err.contains("some.pcap"), "no `{what}` in {}", ran.err);
    }
    let ran = hopscope(&["analyze", "nowhere.pcap"]);
    assert!(ran.code == 2 && ran.err.contains("`nowhere.pcap` is not there"), "{ran:?}");
    let path = written(&folder, &capture());
    let ran = hopscope(&["analyze", &path, "--csv", &path]);
    assert!(ran.code == 2 && ran.err.contains("an input of this command"), "{ran:?}");
    assert_eq!(fs::read(&path).unwrap(), capture());
}

#[test]
fn a_p4600_that_writes_has_sixteen_reads_of_512_bytes_in_flight() {
    let folder = std::env::var_os("HOPSCOPE_SAMPLES").map(PathBuf::from);
    let path = folder.map(|folder| folder.join("pcie-tlp/p4600/p4600-write-64blk.pcap")).filter(|path| path.is_file());
    let Some(path) = path else {
        return skipped("no pcie-tlp/p4600/p4600-write-64blk.pcap; set HOPSCOPE_SAMPLES to the folder that has it");
    };
    let ran = hopscope(&["analyze", path.to_str().unwrap()]);
    for line in ["read_request_max = { value = \"512 B\"", "tags             = { value = \"16 tags\"", "[pcie]"] {
        assert!(ran.out.contains(line), "no `{line}` in\n{}", ran.out);
    }
    // Two reads of one tag overlap in it: completions go to the one that the usual latency fits.
    let ran = hopscope(&["analyze", path.to_str().unwrap(), "--json"]);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    let all = json["transactions"].as_array().unwrap();
    let took = |frame: u64| {
        let one = all.iter().find(|one| one["frame"] == frame).unwrap_or_else(|| panic!("frame {frame}"));
        one["end_ns"].as_i64().unwrap() - one["start_ns"].as_i64().unwrap()
    };
    assert_eq!((took(80), took(124)), (178_902, 188_911));
    assert_eq!(json["table"][0]["latency_ns"]["max"], 325_947);
}
