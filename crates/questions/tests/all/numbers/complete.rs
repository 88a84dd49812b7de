//! The lists of numbers beside the parts themselves: what a kind of part asks for is in a list, or here with a reason.

use std::collections::{BTreeMap, BTreeSet};

use hopscope_files::library::Library;
use hopscope_files::part_file;
use hopscope_files::problem::Sources;
use hopscope_parts::parameters::{Parameters, Value};

use super::bites::Bite;
use super::{ata_raid, cifs, ide, network, nvme, pci, pcie, raid, sata, scsi, scsi_disk, system};
use crate::shipped::machine;

fn lists() -> Vec<&'static [Bite]> {
    let lists = [
        ata_raid::LISTS,
        cifs::LISTS,
        ide::LISTS,
        network::LISTS,
        nvme::LISTS,
        pci::LISTS,
        pcie::LISTS,
        raid::LISTS,
        sata::LISTS,
        scsi::LISTS,
        scsi_disk::LISTS,
        system::LISTS,
    ];
    lists.concat()
}

/// What a part may ask for and no list has, and why: a kind of part, or `*` for all kinds; a key; the reason.
const WITHOUT: &[(&str, &str, &str)] = &[
    ("ahci-adapter", "ports", "how many sockets there are, not what happens at them"),
    ("io-host", "ports", "how many sockets there are, not what happens at them"),
    ("pcie-switch", "ports", "how many sockets there are, not what happens at them"),
    ("root-complex", "ports", "how many sockets there are, not what happens at them"),
    (
        "nvme-drive",
        "queue_pairs",
        "with one processor a driver sets up one: `queues` has drives with one, two and eight",
    ),
    (
        "root-complex",
        "register_writes",
        "a processor hardly rings again before a write has arrived: no list has two of them",
    ),
    ("pci-bus", "slots", "how many sockets there are, not what happens at them"),
    ("*", "channels", "how many sockets there are, not what happens at them"),
    ("*", "buses", "how many sockets there are, not what happens at them"),
    ("*", "memory.size", "how far addresses go: what a job may address, not how long that takes"),
    ("*", "window", "how far addresses go: what a job may address, not how long that takes"),
    ("*", "capacity", "how far addresses go: what a job may address, not how long that takes"),
    ("nvme-drive", "block", "what lengths are counted in: the time of a request is by its bytes"),
    ("ide-bridge", "bus_master_base", "where registers lie: an access takes as long at any address"),
    ("ide-driver", "service.rows[].bytes", "an access of up to 4 bytes is one data phase on a bus of 4"),
    ("ide-driver", "start.rows[].bytes", "an access of up to 4 bytes is one data phase on a bus of 4"),
    ("pcie-link", "generation.rows[].rate", "by what a row is found: its other columns are in lists"),
    ("pcie-link", "acknowledge.rows[].width", "by what a row is found: its other columns are in lists"),
    ("pci-bus", "master_abort", "what an access takes that nobody answers: no shipped driver makes one"),
    ("pci-to-pci-bridge", "pci.register", "no shipped machine has a driver that reads the bridge's registers"),
    ("myrinet-adapter", "pci.register", "no shipped machine with this adapter has a driver on a processor"),
    (
        "myrinet-adapter",
        "firmware.clock",
        "threads take whole clocks of it, and none takes time there: no model uses it",
    ),
    ("programmable-adapter", "clock", "threads take whole clocks of it, and none takes time there: no model uses it"),
    ("pci-to-pci-bridge", "read.latched", "one card below reads once at a time; it is in the list of bridges to PCI-X"),
    ("root-complex", "peer_to_peer", "no shipped device sends to another one: bus/pcie/tests.rs does"),
    ("pcie-switch", "credits.drain", "a packet leaves a switch over its next link: no model uses it there"),
    ("scsi-adapter", "pci.mode", "a card of conventional PCI, which a segment of PCI-X refuses"),
    ("scsi-adapter", "pci.read_request", "of PCI-X only, which this card does not speak"),
    ("scsi-adapter", "pci.splits", "of PCI-X only, which this card does not speak"),
    ("ata-raid-controller", "pci.mode", "a card of conventional PCI, which a segment of PCI-X refuses"),
    ("ata-raid-controller", "pci.read_request", "of PCI-X only, which this card does not speak"),
    ("ata-raid-controller", "pci.splits", "of PCI-X only, which this card does not speak"),
    ("scsi-initiator", "channel.id", "who wins an arbitration: its drive is alone with it"),
    ("raid-controller", "channel.id", "who wins an arbitration: two drives a bus hardly meet"),
    ("network-adapter-pci", "pci.mode", "a card of conventional PCI, which a segment of PCI-X refuses"),
    ("network-adapter-pci", "pci.read_request", "of PCI-X only, which this card does not speak"),
    ("network-adapter-pci", "pci.splits", "of PCI-X only, which this card does not speak"),
    (
        "network-adapter-pci",
        "rx.fetch",
        "of the engine that network-adapter has, where it is in a list: a window of TCP never empties this ring",
    ),
    (
        "network-adapter-pci",
        "rx.fetches",
        "of the engine that network-adapter has, where it is in a list: a window of TCP never empties this ring",
    ),
    (
        "network-adapter-pci",
        "rx.prefetch",
        "of the engine that network-adapter has, where it is in a list: a window of TCP never empties this ring",
    ),
    (
        "network-adapter-pci",
        "tx.completion",
        "of the engine that network-adapter has, where it is in a list: frames of Ethernet hide it on this bus",
    ),
    (
        "ata-raid-controller",
        "memory.burst",
        "in what pieces its memory takes turns: pieces of a drive's FIFO are as short already",
    ),
    ("network-adapter-pci", "rx.contexts", "writes are posted, and a slot of PCI takes one at a time: more wait there"),
    ("network-adapter-pci", "tx.segment_header", "TCP makes the segments: no packet is longer than a frame"),
    (
        "network-adapter-pci",
        "rx.buffer",
        "what finds no room stays on the wire, which loses nothing: it waits elsewhere",
    ),
    (
        "cifs-server",
        "serves",
        "which device it is: cifs.rs, a_server_that_serves_what_is_not_there_is_refused_with_what_is",
    ),
    ("network-adapter", "rx.buffer", "what finds no room stays on the wire, which loses nothing: it waits elsewhere"),
    (
        "ahci-driver",
        "contiguous",
        "some 200 ns: sata.rs, descriptors_and_buffers_cost_a_write_what_the_adapter_reads_for_it",
    ),
    (
        "nvme-driver",
        "notice",
        "no shipped system polls: nvme.rs, a_polled_completion_is_found_at_the_next_look_and_interrupts_nobody",
    ),
    (
        "nvme-driver",
        "poll.interval",
        "no shipped system polls: nvme.rs, a_polled_completion_is_found_at_the_next_look_and_interrupts_nobody",
    ),
    ("nvme-driver", "poll.look", "what a look takes beside the interval: no shipped system polls"),
    (
        "sata-ssd",
        "flash.single_bit.fixed",
        "this drive has none; it has the flash of NVMe drives, where it is in a list",
    ),
    (
        "sata-ssd",
        "flash.single_bit.dynamic",
        "this drive has none; it has the flash of NVMe drives, where it is in a list",
    ),
];

/// Keys of one set of parameters; those of the rows of a table are `table[].column`. Words in rows are a program.
fn keys_of(parameters: &Parameters) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for (key, entry) in parameters.entries.iter() {
        match &entry.value {
            Value::Rows(rows) => {
                let columns = rows.iter().flat_map(|row| row.entries.iter());
                let numbers = columns.filter(|(_, entry)| !matches!(entry.value, Value::Text(_)));
                keys.extend(numbers.map(|(column, _)| format!("{key}[].{column}")));
            }
            _ => drop(keys.insert(key.clone())),
        }
    }
    keys
}

/// What the shipped parts of each kind ask for. A key that no part asks for is refused when its file is read.
fn asked() -> BTreeMap<&'static str, BTreeSet<String>> {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut asked: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
    for name in library.parts() {
        let mut sources = Sources::default();
        let text = library.part(name).expect("a listed part");
        let file = sources.add(text.name.clone(), text.text.clone());
        let part = part_file::read(&sources, file);
        let part = part.unwrap_or_else(|problems| panic!("{}", problems.render(&sources, false)));
        let kind = hopscope_parts::catalog::kind(&part.model).expect("a known kind");
        asked.entry(kind.model).or_default().extend(keys_of(&part.parameters));
    }
    asked
}

/// The kind of part and the key that a change is about.
fn of_kind(bite: &Bite) -> (&'static str, String) {
    let (name, key) = bite.number().split_once('.').expect("part.key");
    let blueprint = machine(bite.system, &[]);
    let part = blueprint.parts().iter().find(|part| part.name == name);
    let key = match (key.split_once('['), key.split_once(']')) {
        (Some((table, _)), Some((_, column))) => format!("{table}[]{column}"),
        _ => key.to_string(),
    };
    (part.unwrap_or_else(|| panic!("{} has no {name}", bite.system)).model(), key)
}

fn excused(kind: &str, key: &str) -> bool {
    WITHOUT.iter().any(|(of, without, _)| (*of == "*" || *of == kind) && *without == key)
}

#[test]
fn every_number_of_every_kind_of_part_is_in_a_list_or_says_why_not() {
    let asked = asked();
    let listed: BTreeSet<(&str, String)> = lists().into_iter().flatten().map(of_kind).collect();
    let mut wrong = Vec::new();
    for (kind, key) in asked.iter().flat_map(|(kind, keys)| keys.iter().map(move |key| (*kind, key))) {
        match (listed.contains(&(kind, key.clone())), excused(kind, key)) {
            (false, false) => wrong.push(format!("{kind} {key} is in no list")),
            (true, true) => wrong.push(format!("{kind} {key} is in a list, and excused")),
            _ => {}
        }
    }
    for (of, key, reason) in WITHOUT {
        let known = asked.iter().any(|(kind, keys)| (*of == "*" || of == kind) && keys.contains(*key));
        if !known || reason.len() < 20 {
            wrong.push(format!("{of} {key} is excused, and nobody asks for it"));
        }
    }
    assert!(wrong.is_empty(), "{} numbers:\n{}", wrong.len(), wrong.join("\n"));
}
