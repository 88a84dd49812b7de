//! What the shipped drivers do to their controller, access by access.

use std::fs;

use hopscope_files::job_file;
use hopscope_files::library::Library;
use hopscope_files::part_file;
use hopscope_files::problem::Sources;
use hopscope_kernel::Sim;
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Failure, Options, run_in};
use hopscope_observe::Phases;
use hopscope_parts::parameters::{Parameters, Value};
use hopscope_parts::protocols::pci::REGISTER_DATA;

use crate::samples::sample;

const REQUESTS: usize = 10;

/// Register accesses of one request on the simulated bus, its interrupt acknowledge apart; retries carry no data.
fn accesses_of_a_request(system: &str, rw: &str) -> usize {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let blueprint = Blueprint::read(&library, &mut sources, file).expect("a right system");
    let words = [format!("--rw={rw}"), "--bs=64k".into(), format!("--size={}k", REQUESTS * 64)];
    let jobs = job_file::read_options(&mut sources, &words).expect("right options").jobs;
    let (sim, phases) = (Sim::new(), Phases::default());
    run_in(sim.clone(), &blueprint, &jobs, Options::default(), Some(Box::new(phases.clone()))).expect("the job runs");
    let seen = phases.of(&sim, "pci").iter().filter(|interval| interval.phase == &REGISTER_DATA).count();
    assert_eq!(seen % REQUESTS, 0, "{system}: {seen} accesses in {REQUESTS} requests");
    seen / REQUESTS - 1
}

#[test]
fn linux_makes_31_register_accesses_a_request_and_windows_22() {
    for rw in ["read", "write"] {
        assert_eq!(accesses_of_a_request("piix4e-one-disk", rw), 22, "{rw}");
        assert_eq!(accesses_of_a_request("piix4e-one-disk-linux", rw), 31, "{rw}");
    }
}

/// An access: the cycle, the register as a part file names it, the bytes, and what is written.
type Access = (String, String, u64, Option<u32>);

/// The accesses of a driver, in order; of values, those that every request has.
fn listed(driver: &str) -> Vec<Access> {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.part(driver).expect("a shipped driver");
    let file = sources.add(text.name.clone(), text.text.clone());
    let part = part_file::read(&sources, file).expect("a right part");
    let steps = ["service.rows", "start.rows"].map(|key| match &part.parameters.entries[key].value {
        Value::Rows(rows) => rows.clone(),
        other => panic!("{key} is {}", other.kind()),
    });
    let text = |row: &Parameters, key: &str| row.entries.get(key).map(|entry| entry.written.clone());
    let access = |row: &Parameters| {
        let bytes = match row.entries.get("bytes").map(|entry| &entry.value) {
            Some(Value::Bytes(bytes)) => *bytes,
            _ => 1,
        };
        let value = text(row, "value").and_then(|value| hexadecimal(&value));
        (text(row, "cycle").unwrap_or_default(), text(row, "register").unwrap_or_default(), bytes, value)
    };
    steps.iter().flatten().map(access).collect()
}

/// The accesses of a recording on the secondary channel, where the bus master's registers begin at C008h.
fn recorded(table: &str) -> Vec<Access> {
    let rows = table.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let access = |row: Vec<&str>| {
        let (port, width) = (row[2], row[4].parse().expect("a width"));
        let value = if row[3] == "W" { hexadecimal(row[5]) } else { None };
        let cycle = match row[3] {
            "INTACK" => return Some(("interrupt-acknowledge".into(), String::new(), width, None)),
            "R" => "io-read",
            "W" => "io-write",
            _ => return None, // memory: the descriptor and the data
        };
        let port = u32::from_str_radix(port, 16).expect("a port");
        let register = match port {
            0x170..=0x177 | 0x376 => format!("command-block + 0x{:X}", port - 0x170),
            0xC008..=0xC00F => format!("bus-master + 0x{:X}", port - 0xC008),
            _ => format!("0x{port:X}"),
        };
        Some((cycle.into(), register, width, value))
    };
    rows.filter_map(access).collect()
}

fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[test]
fn the_accesses_of_linux_are_those_that_were_recorded() {
    let listed = listed("driver/linux-ata-piix");
    for direction in ["r", "w"] {
        let name = format!("piix-drivers/table_libata_x86_{direction}_seq_64k_scat.csv");
        let Some(path) = sample(&name) else { return };
        let recorded = recorded(&fs::read_to_string(&path).expect("the recording can be read"));
        assert_eq!(listed.len(), recorded.len());
        for (step, (ours, theirs)) in listed.iter().zip(&recorded).enumerate() {
            assert_eq!((&ours.0, &ours.1, ours.2), (&theirs.0, &theirs.1, theirs.2), "step {}", step + 1);
            // Bit 3 of BMICX is the direction, which only the start sets here.
            let ignored = if ours.1 == "bus-master + 0x0" { 8 } else { 0 };
            if let (Some(ours), Some(theirs)) = (ours.3, theirs.3) {
                assert_eq!(ours & !ignored, theirs & !ignored, "step {}", step + 1);
            }
        }
    }
}

/// A known gap: a list of steps is a program, and nobody looks what it makes the controller do.
#[test]
fn a_driver_that_forgets_the_descriptor_table_ends_in_a_defect() {
    let text = include_str!("../../../../data/parts/driver/linux-ata-piix.toml");
    let forgetful: String = text.split_inclusive('\n').filter(|line| !line.contains("descriptor-table")).collect();
    let folder = tempfile::TempDir::new().expect("a scratch folder");
    fs::create_dir_all(folder.path().join("parts/driver")).expect("a folder");
    fs::write(folder.path().join("parts/driver/linux-ata-piix.toml"), forgetful).expect("a file");
    let library = Library::new(Some(folder.path())).expect("a library");
    let mut sources = Sources::default();
    let text = library.open_system("piix4e-one-disk-linux").expect("a shipped system");
    let file = sources.add(text.name, text.text);
    let blueprint = Blueprint::read(&library, &mut sources, file).expect("accepted");
    let jobs = job_file::read_options(&mut sources, &["--rw=read"]).expect("right options").jobs;
    let ended = run_in(Sim::new(), &blueprint, &jobs, Options::default(), None);
    let gone = "its row in docs/DEVIATIONS.md can go";
    assert!(matches!(ended, Err(Failure::Defect(what)) if what.contains("everybody waits")), "{gone}");
}
