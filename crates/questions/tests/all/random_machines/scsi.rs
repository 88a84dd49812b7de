//! Random machines with SCSI drives: without a host, or behind a host adapter on PCI.

use hopscope_files::job_file;
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_machine::blueprint::Blueprint;

use super::{Draw, Drawn, PCI_BRIDGE, PCI_BUS, PCI_LINK};

const BUS: &[(&str, &[&str])] = &[
    ("rate", &["5 MB/s", "40 MB/s", "160 MB/s", "320 MB/s"]),
    ("width", &["1 B", "2 B"]),
    ("order", &["ids", "fair"]),
    ("round_trip", &["30 ns", "1 us"]),
    ("command", &["0 us", "2.4 us", "50 us"]),
    ("status", &["0 us", "1 us"]),
    ("message_in", &["0 us", "1 us", "20 us"]),
];
const CHANNEL: &[(&str, &[&str])] = &[
    ("host.command", &["0 us", "58 us", "1 ms"]),
    ("channel.id", &["id7", "id6", "id5"]),
    ("channel.rate", &["10 MB/s", "320 MB/s"]),
    ("channel.offset", &["1 transfer", "8 transfers", "127 transfers"]),
    ("channel.tags", &["1 tag", "3 tags", "64 tags"]),
    ("channel.fifo", &["256 B", "512 B", "4 KiB"]),
    ("channel.piece", &["64 B", "256 B", "512 B"]),
    ("contexts", &["1 command", "4 commands", "64 commands"]),
    ("sequencer.command", &["0 us", "20 us"]),
    ("sequencer.list", &["8 B", "128 B"]),
    ("sequencer.completion", &["0 us", "20 us"]),
];
const DISK: &[(&str, &[&str])] = &[
    ("read_settle", &["0 us", "500 us"]),
    ("buffer.high_water", &["0 %", "50 %", "100 %"]),
    ("buffer.low_water", &["0 %", "50 %"]),
    ("buffer.water_of", &["request", "segment"]),
    ("buffer.read_ahead_to", &["sectors", "track", "cylinder", "track ahead"]),
    ("buffer.read_ahead_after", &["every read", "reads in order"]),
    ("overhead.read_completion", &["0 us", "81 us"]),
    ("overhead.write_completion", &["0 us", "30 us"]),
];
const DRIVER: &[(&str, &[&str])] = &[
    ("queue_depth", &["1 command", "5 commands"]),
    ("transfer_max", &["512 B", "8 KiB", "64 KiB"]),
    ("contiguous", &["4 KiB", "64 KiB"]),
    ("submission", &["0 us", "15 us"]),
    ("interrupt.handler", &["0 us", "5 us"]),
];

/// Ids that the drives of a machine are moved to.
const IDS: &[&[usize]] = &[&[0, 1, 2, 3], &[3, 2, 1, 0], &[0, 4, 2, 1]];

/// A shipped system with SCSI drives, its numbers drawn and its drives at other ids, one to three jobs on its devices.
#[allow(dead_code)]
pub fn machine(library: &Library, seed: u64, runtime: &str) -> Drawn {
    let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut sources = Sources::default();
    let system = draw.of(&["barracuda-4lp", "scsi-ultra160", "scsi-ultra160"]);
    let text = library.open_system(system).expect("a shipped system");
    let ids = IDS[seed as usize % IDS.len()];
    let moved =
        (0..4).fold(text.text.to_string(), |text, n| text.replace(&format!("scsi.id{n}\""), &format!("scsi.to{n}\"")));
    let moved = (0..4).fold(moved, |text, n| text.replace(&format!("scsi.to{n}\""), &format!("scsi.id{}\"", ids[n])));
    let file = sources.add(text.name, moved);
    let mut blueprint = Blueprint::read(library, &mut sources, file).expect("a right system");
    let mut changes = Vec::new();
    for part in blueprint.parts() {
        let table = match part.model() {
            "scsi-bus" => BUS,
            "scsi-initiator" | "scsi-adapter" => CHANNEL,
            "scsi-driver" => DRIVER,
            "scsi-disk" => DISK,
            "pci-bus" => PCI_BUS,
            "pci-x-bridge" => PCI_BRIDGE,
            "host-link" => PCI_LINK,
            _ => &[],
        };
        for (key, values) in table.iter().filter(|(key, _)| part.parameters.has(key)) {
            let (value, kept) = (draw.of(values), draw.of(&["as it is", "changed"]));
            if kept == "changed" {
                changes.push(format!("{}.{key}={value}", part.name));
            }
        }
    }
    // What one part refuses beside the others stays as it is shipped.
    changes.retain(|change| {
        let mut changed = blueprint.clone();
        let taken = changed.set(change).is_ok();
        blueprint = if taken { changed } else { blueprint.clone() };
        taken
    });
    let devices = blueprint.devices();
    let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
    let mut options = Vec::new();
    for name in ["first", "second", "third"].iter().take(1 + seed as usize % 3) {
        let (device, bs) = (draw.of(&devices), draw.of(&["512", "2k", "4k", "12k", "64k", "200k"]));
        let (rw, depth) = (draw.of(&["read", "write", "randread", "randwrite"]), draw.of(&["1", "4", "40"]));
        options.push(format!("--name={name}"));
        options.extend(
            [("filename", device), ("rw", rw), ("bs", bs), ("iodepth", depth), ("runtime", runtime)]
                .map(|(key, value)| format!("--{key}={value}")),
        );
        options.push("--time_based".into());
    }
    let jobs = job_file::read_options(&mut sources, &options).expect("right options").jobs;
    Drawn { blueprint, jobs, words: format!("{system} {ids:?} {options:?} {changes:?}") }
}
