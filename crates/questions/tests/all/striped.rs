//! Striped volumes: who serves a request, how much they get, and members that are not there.

use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_machine::blueprint::Blueprint;

use crate::ata_raid::{LONG, outcome, rate};

const DRIVES: &str = "win2000-3ware-jbod";

/// Mean latency, seconds.
fn latency(system: &str, changes: &[&str], options: &str) -> f64 {
    let outcome = outcome(system, changes, options);
    outcome.jobs[0].got.as_ref().expect("transfers ended").latency_ns.mean() / 1e9
}

#[test]
fn a_request_of_four_chunks_is_served_by_four_drives_at_once() {
    // 256 KiB are 13.8 ms of one drive at 19 MB/s, and 3.4 ms of four, beside 4.6 ms on PCI.
    let job = "--rw=randread --bs=256k --iodepth=1 --norandommap --time_based --runtime=4s";
    let alone = latency(DRIVES, &[], &format!("{job} --size=5g --filename=disk0"));
    let striped = latency(DRIVES, &[], &format!("{job} --size=20g --filename=stripe4"));
    assert!(alone > 0.024 && striped < alone, "{alone} alone, {striped} striped");
    // Chunks as long as the request: one drive serves it.
    let wide = latency(DRIVES, &["stripe4.chunk=256 KiB"], &format!("{job} --size=20g --filename=stripe4"));
    assert!((0.9..1.1).contains(&(wide / alone)), "{wide} in one chunk, {alone} alone");
}

#[test]
fn members_add_up_until_something_else_is_full() {
    let reads = "--rw=read --bs=256k --iodepth=8 --time_based --ramp_time=100ms --runtime=400ms";
    let of = |device: &str| rate("win2000-atlas-10k", &[LONG], &format!("{reads} --filename={device}"));
    let [one, two, three, four] = ["disk0", "stripe2", "stripe3", "stripe4"].map(of);
    assert!((1.95..=2.02).contains(&(two / one)) && (2.9..=3.02).contains(&(three / one)), "{one} {two} {three}");
    assert!(four > three && four < 133.3e6, "{three} {four}: PCI moves 133 MB/s at most");
}

#[test]
fn every_byte_of_a_job_arrives_once() {
    for (rw, bs) in [("read", "64k"), ("write", "200k"), ("randrw", "96k"), ("read", "2m")] {
        let job = format!("--rw={rw} --bs={bs} --size=6m --iodepth=3 --filename=stripe3");
        let outcome = outcome(DRIVES, &[], &job);
        let got = outcome.jobs[0].got.as_ref().expect("transfers ended");
        let bytes: u64 = match bs {
            "64k" => 64 << 10,
            "96k" => 96 << 10,
            "200k" => 200 << 10,
            _ => 2 << 20,
        };
        assert_eq!(got.bytes, got.count * bytes, "{rw} {bs}");
        assert_eq!(got.count, (6 << 20) / bytes, "{rw} {bs}");
    }
}

#[test]
fn two_volumes_may_share_members_and_are_slower_for_it() {
    let each = "--bs=64k --iodepth=4 --time_based --ramp_time=100ms --runtime=400ms --size=64m";
    let both =
        format!("{each} --name=a --rw=read --filename=stripe2 --name=b --rw=read --offset=4g --filename=stripe4");
    let alone = rate(DRIVES, &[], &format!("{each} --rw=read --filename=stripe4"));
    let together = rate(DRIVES, &[], &both);
    assert!(together < alone, "{together} together, {alone} alone");
}

#[test]
fn a_member_that_is_not_there_is_an_error_with_the_nearest_name() {
    let library = Library::new(None).expect("the shipped files can be read");
    let text = library.open_system(DRIVES).expect("a shipped system").text.to_string();
    let read = |members: &str| {
        let mut sources = Sources::default();
        let file = sources.add("volume.toml".to_string(), text.replace("\"disk0, disk1\"", &format!("\"{members}\"")));
        let problems = Blueprint::read(&library, &mut sources, file).map(drop).expect_err("a wrong machine");
        problems.render(&sources, false)
    };
    for (members, expected) in [
        ("disk0, dsk1", "did you mean `disk1`?"),
        ("disk0", "expected 2 to 64 devices"),
        ("disk0, disk0", "each once"),
        ("disk0, cable0", "`cable0` is no device"),
    ] {
        let said = read(members);
        assert!(said.contains(expected), "{members}: {said}");
    }
}
