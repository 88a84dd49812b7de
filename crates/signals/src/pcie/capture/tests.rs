//! Captures: of simulated links, cut and damaged ones.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::super::nettlp::write as framed;
use super::super::pairs::Ended;
use super::super::pairs::conversation::{completion, read, write};
use super::super::pcap::{frame_for_tests, header_for_tests};
use super::*;
use crate::pcie::tlp::Id;
use crate::skipped::skipped;
use proptest::prelude::*;

/// A capture file that is being put together: a packet a microsecond.
pub struct Recorder {
    pub bytes: Vec<u8>,
    pub at: u64,
}

impl Recorder {
    pub fn new() -> Recorder {
        Recorder { bytes: header_for_tests(false), at: 0 }
    }

    pub fn add(&mut self, way: Way, tlp: &Tlp) -> &mut Recorder {
        self.at += 1;
        let sequence = if way == Way::Taken { self.at as u16 } else { 0 };
        let frame = Frame {
            hardware: [[1; 6]; 2],
            vlan: None,
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            ports: [0x3000; 2],
            sequence,
            clocks: sequence.into(),
        };
        let bytes = framed(&frame, &tlp.encode().unwrap()).unwrap();
        self.bytes.extend(frame_for_tests(false, 1_000_000_000 + self.at * 1_000, &bytes));
        self
    }

    pub fn capture(&self) -> Capture {
        analyze(&self.bytes[..], LISTED).unwrap()
    }
}

const DRIVE: u16 = 0x1900;

/// A submission entry: opcode, identifier, pages, blocks.
fn entry(opcode: u8, id: u16, pages: [u64; 2], blocks: u16) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    (bytes[0], bytes[4], bytes[40]) = (opcode, 1, 88);
    bytes[2..4].copy_from_slice(&id.to_le_bytes());
    bytes[24..32].copy_from_slice(&pages[0].to_le_bytes());
    bytes[32..40].copy_from_slice(&pages[1].to_le_bytes());
    bytes[48..50].copy_from_slice(&(blocks - 1).to_le_bytes());
    bytes
}

fn end(id: u16, queue: u8) -> Vec<u8> {
    let mut bytes = vec![0; 16];
    (bytes[8], bytes[10], bytes[14]) = (1, queue, 1);
    bytes[12..14].copy_from_slice(&id.to_le_bytes());
    bytes
}

/// One command that reads 24 blocks into three pages, two of them in a list, and one that writes a block.
fn conversation() -> Recorder {
    let mut file = Recorder::new();
    let commands = [entry(2, 7, [0x10_0000, 0x20_0100], 24), entry(1, 8, [0x13_0000, 0], 1)].concat();
    let list: Vec<u8> = [0x11_0000_u64, 0x12_0000].iter().flat_map(|page| page.to_le_bytes()).collect();
    file.add(Way::Given, &write(0, 0xf000_1008, &[2, 0, 0, 0])).add(Way::Taken, &read(DRIVE, 0, 0x30_0000, 128));
    file.add(Way::Given, &completion(DRIVE, 0, 128, &commands[..64]));
    file.add(Way::Given, &completion(DRIVE, 0, 64, &commands[64..])).add(Way::Taken, &read(DRIVE, 1, 0x20_0100, 16));
    file.add(Way::Given, &completion(DRIVE, 1, 16, &list));
    for piece in 0..48u64 {
        let address = 0x10_0000 + ((piece / 16) << 16) + piece % 16 * 256;
        file.add(Way::Taken, &write(DRIVE, address, &[piece as u8; 256]));
    }
    file.add(Way::Taken, &read(DRIVE, 2, 0x13_0000, 512));
    file.add(Way::Given, &completion(DRIVE, 2, 512, &[0xaa; 256]))
        .add(Way::Given, &completion(DRIVE, 2, 256, &[0xaa; 256]));
    for (place, id) in [7, 8].into_iter().enumerate() {
        file.add(Way::Taken, &write(DRIVE, 0x40_0000 + 16 * place as u64, &end(id, 1)));
        file.add(Way::Taken, &write(DRIVE, 0xfee0_1004, &[0x21, 0x40, 0, 0]));
    }
    file.add(Way::Given, &write(0, 0xf000_100c, &[2, 0, 0, 0]));
    file
}

#[test]
fn a_drives_commands_are_told_from_its_packets() {
    let capture = conversation().capture();
    assert_eq!((capture.drives.len(), capture.strays, capture.packets.missing > 0), (1, Strays::default(), true));
    let drive = &capture.drives[0];
    assert_eq!((drive.id, drive.way, drive.registers), (Id(DRIVE), Way::Taken, Some(0xf000_0000)));
    let doorbells = [(0xf000_1008, (true, 1, 1)), (0xf000_100c, (false, 1, 1))];
    assert_eq!(drive.doorbells, doorbells.into_iter().collect());
    let [read, write] = &drive.commands[..] else { panic!("{:?}", drive.commands) };
    assert_eq!(
        (read.word(), read.blocks(), read.block_bytes(), read.queue),
        ("read", Some((88, 24)), Some(512), Some(1))
    );
    let us = |at: i64| at * 1_000;
    assert_eq!((read.doorbell_ns, read.fetch_ns, read.list_ns), (Some(0), [us(1), us(3)], Some([us(4), us(5)])));
    assert_eq!((read.data_ns, read.data_requests, read.data_bytes), (Some([us(6), us(53)]), 48, 12_288));
    assert_eq!((read.entry_ns, read.interrupt_ns, read.status), (Some(us(57)), Some(us(58)), Some(0)));
    assert_eq!((write.word(), write.data_ns, write.list_ns), ("write", Some([us(54), us(56)]), None));
    assert_eq!((write.entry_ns, write.interrupt_ns), (Some(us(59)), Some(us(60))));
    let queue = &drive.queues[&Some(1)];
    assert_eq!((queue.submission, queue.completion), (Some([0x30_0000, 0x30_0080]), Some([0x40_0000, 0x40_0020])));
    let shapes = (&drive.fetches, &drive.lists, &drive.data_reads, &drive.data_writes);
    let one = |key: u32, count: u64| BTreeMap::from([(key, count)]);
    assert_eq!(shapes, (&BTreeMap::from([(2, 1)]), &one(16, 1), &one(512, 1), &one(256, 48)));
    assert_eq!((drive.unexplained, drive.completions, drive.interrupts[&0xfee0_1004]), (0, 2, 2));
    let lines: Vec<String> = crate::pcie::fields::of_drive(drive).iter().map(|field| field.line()).collect();
    assert!(
        lines[1].starts_with("commands         = { value = \"2 commands\", measured = \"the longest of 1 fetches"),
        "{lines:?}"
    );
}

#[test]
fn data_that_look_like_a_command_make_no_drive_of_who_reads_them() {
    let mut file = Recorder::new();
    // Nothing completes identifier 7: another entry is written, of identifier 9.
    file.add(Way::Taken, &read(DRIVE, 0, 0x30_0000, 64));
    file.add(Way::Given, &completion(DRIVE, 0, 64, &entry(2, 7, [0x1000, 0], 8)));
    file.add(Way::Taken, &write(DRIVE, 0x40_0000, &end(9, 1)));
    assert!(file.capture().drives.is_empty());
}

#[test]
fn a_request_that_comes_apart_on_its_way_is_seen_on_both_sides() {
    let mut file = Recorder::new();
    file.add(Way::Given, &read(0x1a00, 0, 0x1000, 128));
    file.add(Way::Taken, &read(0x6400, 0, 0x1000, 64)).add(Way::Taken, &read(0x6400, 1, 0x1040, 64));
    file.add(Way::Given, &completion(0x6400, 0, 64, &[0; 64])).add(Way::Given, &completion(0x6400, 1, 64, &[0; 64]));
    file.add(Way::Taken, &completion(0x1a00, 0, 128, &[0; 128]));
    let passages = file.capture().passages;
    assert_eq!(passages, [((Kind::MRd, 128), [(vec![64, 64], 1)].into_iter().collect())].into_iter().collect());
}

#[test]
fn what_is_listed_is_limited_and_what_is_added_up_is_not() {
    let capture = analyze(&conversation().bytes[..], 10).unwrap();
    assert_eq!((capture.transactions.len(), capture.not_listed), (10, 47));
    let all: u64 = capture.agents.rows.values().map(|row| row.count).sum();
    assert_eq!(all, 57);
}

#[test]
fn a_cut_file_gives_what_was_read_until_then() {
    let file = conversation().bytes;
    let capture = analyze(&file[..file.len() - 3], LISTED).unwrap();
    assert_eq!(capture.packets.packets, 61);
    assert!(capture.stopped.unwrap().to_string().contains("cut within frame 62"));
}

proptest! {
    #[test]
    fn no_damage_makes_it_panic(changes in prop::collection::vec((0usize..9_000, any::<u8>()), 0..40), cut in 0usize..9_000) {
        let mut bytes = conversation().bytes;
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - cut % 3_000);
        if let Ok(capture) = analyze(&bytes[..], 50) {
            prop_assert!(capture.transactions.len() <= 50);
        }
    }

    #[test]
    fn packets_in_any_order_make_no_panic(order in prop::collection::vec(0usize..62, 0..120)) {
        let whole = conversation().bytes;
        let mut frames = Vec::new();
        let mut at = 24;
        while at < whole.len() {
            let length = u32::from_le_bytes(whole[at + 8..at + 12].try_into().unwrap()) as usize;
            frames.push(&whole[at..at + 16 + length]);
            at += 16 + length;
        }
        let mut bytes = whole[..24].to_vec();
        order.iter().for_each(|&index| bytes.extend(frames[index % frames.len()]));
        let capture = analyze(&bytes[..], LISTED).unwrap();
        let ended: u64 = capture.agents.rows.values().map(|row| row.count).sum();
        prop_assert_eq!(ended, capture.transactions.len() as u64);
    }
}

/// A recording of a real device, where the folder of them is named and has it.
fn recording(name: &str) -> Option<Capture> {
    let folder = std::env::var_os("HOPSCOPE_SAMPLES").map(PathBuf::from);
    let path = folder.map(|folder| Path::new(&folder).join("pcie-tlp").join(name)).filter(|path| path.is_file());
    if path.is_none() {
        skipped(&format!("no pcie-tlp/{name}; set HOPSCOPE_SAMPLES to the folder that has it"));
    }
    path.map(|path| analyze(File::open(path).unwrap(), LISTED).unwrap())
}

#[test]
fn a_p4600_that_reads_writes_256_bytes_a_packet_as_many_blocks_as_it_was_asked_for() {
    for blocks in [1, 4, 8, 32, 64] {
        let Some(capture) = recording(&format!("p4600/p4600-read-{blocks}blk.pcap")) else { return };
        assert_eq!((capture.packets.packets, capture.packets.unreadable, capture.packets.missing), (2 * blocks, 0, 0));
        let agent = &capture.agents.agents[&(Way::Taken, Id(0x1900))];
        let writes = &agent.writes;
        assert_eq!((agent.reads.count, writes.count, writes.bytes), (0, 2 * blocks, 512 * blocks));
        assert_eq!((writes.size.min, writes.size.max, writes.relaxed, writes.wide), (256, 256, 2 * blocks, 0));
        assert_eq!(writes.extents, [(0xa000_0000, 0xa000_0000 + 512 * blocks)].into_iter().collect());
        assert!(capture.drives.is_empty() && capture.stopped.is_none());
    }
}

#[test]
fn a_p4600_that_writes_reads_512_bytes_a_request_sixteen_at_once() {
    for (blocks, at_once) in [(1, 1), (4, 4), (8, 8), (32, 16), (64, 16)] {
        let Some(capture) = recording(&format!("p4600/p4600-write-{blocks}blk.pcap")) else { return };
        assert_eq!((capture.packets.packets, capture.packets.missing), (3 * blocks, 0));
        assert_eq!(capture.agents.rows.len(), 1);
        let (key, row) = capture.agents.rows.iter().next().unwrap();
        assert_eq!((key.kind, key.bytes, row.count, row.ended[&Ended::Completed]), (Kind::MRd, 512, blocks, blocks));
        assert_eq!(row.splits, [(vec![256, 256], blocks)].into_iter().collect());
        let agent = &capture.agents.agents[&(Way::Taken, Id(0x1900))];
        assert_eq!((agent.in_flight_max, agent.tags.len() as u64), (at_once, at_once));
        assert_eq!(agent.reads.extents, [(0xa000_0000, 0xa000_0000 + 512 * blocks)].into_iter().collect());
        let boundary = capture.agents.boundaries[&Way::Given];
        assert_eq!((boundary.completions, boundary.cuts, boundary.payload_max), (2 * blocks, blocks, 256));
    }
}

#[test]
fn a_root_complex_takes_a_read_of_512_bytes_apart_and_a_switch_does_not() {
    let Some(capture) = recording("root-complex/mrd-512byte-rc.pcap") else { return };
    assert_eq!(capture.packets.packets, 19);
    assert_eq!(capture.passages[&(Kind::MRd, 512)], [(vec![64; 8], 1)].into_iter().collect());
    let key = |capture: &Capture, way, bytes| {
        let found = capture.agents.rows.iter().find(|(key, _)| (key.way, key.bytes) == (way, bytes));
        found.map(|(key, row)| (key.requester, row.splits.clone())).unwrap()
    };
    assert_eq!(key(&capture, Way::Taken, 64), (Id(0x6400), [(vec![64], 8)].into_iter().collect()));
    assert_eq!(key(&capture, Way::Given, 512), (Id(0x1a00), [(vec![256, 256], 1)].into_iter().collect()));
    let Some(capture) = recording("root-complex/mrd-512byte-plx.pcap") else { return };
    assert_eq!(capture.packets.packets, 6);
    assert_eq!(capture.passages[&(Kind::MRd, 512)], [(vec![512], 1)].into_iter().collect());
    for way in [Way::Taken, Way::Given] {
        assert_eq!(key(&capture, way, 512), (Id(0x1b00), [(vec![256, 256], 1)].into_iter().collect()));
    }
}
