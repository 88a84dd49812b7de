//! What is written of PCI Express links, read again: the packets that were simulated, and what a drive was told to do.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{Label, Observer, Record, Sim, Time, expand};
use hopscope_machine::trace::{self, Format, Out, Traced, Window};
use hopscope_parts::protocols::pcie::{DATA, DESCRIPTOR, HEADER, INTERRUPT, REGISTER};
use hopscope_signals::pcie::capture::{self, Capture};
use hopscope_signals::pcie::fields;
use hopscope_signals::pcie::nettlp::{self, Found, Way};
use hopscope_signals::pcie::pcap::Pcap;
use hopscope_signals::pcie::tlp::Tlp;

use super::buffer::Buffer;
use super::trace::{blueprint, jobs, observed};

pub fn written(system: &str, job: &str, window: Window) -> (Vec<u8>, Traced) {
    written_of(None, system, job, window)
}

fn written_of(link: Option<&str>, system: &str, job: &str, window: Window) -> (Vec<u8>, Traced) {
    let out = Buffer::default();
    let drawing = (Format::Pcap, Box::new(out.clone()) as Box<dyn Out>);
    let traced = trace::trace(&blueprint(system), &jobs(job), (window, 1), drawing, link).expect("a trace");
    (out.written(), traced)
}

/// A packet: when it began, whether towards the host, and its data in words.
type Seen = (u64, bool, u64);

/// Every packet of a file.
fn packets(bytes: &[u8]) -> Vec<Seen> {
    let mut file = Pcap::open(bytes).expect("a pcap file");
    let link = file.link();
    let mut all = Vec::new();
    while let Some(frame) = file.next_frame().expect("a whole file") {
        let Ok(Found::Packet(around, packet, _)) = nettlp::read(frame.bytes, link) else { panic!("a frame") };
        let tlp = Tlp::decode(packet).expect("a packet");
        all.push((frame.stamp_ns, around.way() == Way::Taken, tlp.payload_bytes() as u64 / 4));
    }
    all
}

/// What the lanes of links were in: where a header is there is a packet.
#[derive(Default)]
struct Phases {
    /// When, towards the host, when its header ended, how long its data took.
    packets: Vec<(Time, bool, Time, Time)>,
    doorbells: u64,
    interrupts: u64,
    /// Sizes of requests that ended.
    transfers: Vec<u32>,
}

struct Lister {
    sim: Sim,
    window: Window,
    found: Rc<RefCell<Phases>>,
}

/// Links that end in a device.
fn is_drawn(lane: &str) -> bool {
    lane.starts_with("link") && (lane.ends_with(".up") || lane.ends_with(".down"))
}

impl Observer for Lister {
    fn records(&mut self, batch: &[Record]) {
        let (lanes, window) = (self.sim.lanes(), self.window);
        let found = &mut *self.found.borrow_mut();
        let within = |at: Time| at >= window.from && at < window.end();
        found.transfers.extend(batch.iter().filter_map(|record| match *record {
            Record::Transfer { at, span, bytes, .. } if within(at) && within(at + span) => Some(bytes),
            _ => None,
        }));
        expand(
            batch,
            |_| None,
            |span| {
                let Some(lane) = span.phase_of().map(|lane| &lanes[usize::from(lane)].0) else { return };
                if !is_drawn(lane) {
                    return;
                }
                let is = |known: &Label| span.label == known;
                let up = lane.ends_with(".up");
                if is(&HEADER) {
                    found.packets.push((span.at, up, span.at + span.span, Time::ZERO));
                }
                let last = found.packets.iter_mut().rev().take(64).find(|one| one.1 == up && one.2 == span.at);
                if let (true, Some(last)) = ([&DATA, &DESCRIPTOR, &REGISTER, &INTERRUPT].into_iter().any(is), last) {
                    last.3 = span.span;
                    found.doorbells += u64::from(is(&REGISTER) && within(span.at));
                    found.interrupts += u64::from(is(&INTERRUPT) && within(span.at));
                }
            },
        );
        found.packets.retain(|one| within(one.0) || one.0 >= window.end());
    }
}

fn simulated(system: &str, job: &str, window: Window) -> Phases {
    let found = Rc::<RefCell<Phases>>::default();
    observed(&blueprint(system), job, (window, false), |sim| Lister { sim, window, found: found.clone() });
    let mut found = found.take();
    found.packets.retain(|one| one.0 < window.end());
    found.packets.sort_unstable();
    found
}

/// Drives alone, behind a chip set, and behind a switch; adapters; an accelerator.
const RUNS: [(&str, &str); 10] = [
    ("nvme-desktop", "rw=randread bs=4k iodepth=1"),
    ("nvme-desktop", "rw=randread bs=4k iodepth=32"),
    ("nvme-desktop", "rw=randwrite bs=4k iodepth=32"),
    ("nvme-server", "filename=drive0 rw=read bs=128k iodepth=4"),
    ("nvme-server", "filename=drive3 rw=write bs=128k iodepth=8"),
    ("nvme-chipset", "rw=randrw bs=16k iodepth=8"),
    ("gpu-server", "rw=read bs=1m iodepth=2"),
    ("nic-two-sockets", "rw=read bs=1k iodepth=16"),
    ("pcie-bench-ivy-bridge", "rw=write bs=64 iodepth=4"),
    ("nvme-server", TWO_DRIVES),
];

/// Two drives behind one switch, at the same addresses of the host.
const TWO_DRIVES: &str =
    "rw=randread bs=4k iodepth=16 filename=drive1 [other] rw=write bs=128k iodepth=4 filename=drive6";

#[test]
fn every_packet_that_was_simulated_is_in_the_file() {
    let window = Window { from: Time::us(700), span: Time::us(300) };
    let (mut all, mut compared) = (0, 0);
    for (system, job) in RUNS {
        let (bytes, traced) = written(system, job, window);
        let (mut read, simulated) = (packets(&bytes), simulated(system, job, window));
        read.sort_unstable();
        let context = format!("{system} {job}: {traced:?}");
        assert_eq!(traced.drawn.iter().map(|of| of.count).sum::<u64>() as usize, read.len(), "{context}");
        // A packet under way when the run ends has not been recorded.
        let missing = read.len().abs_diff(simulated.packets.len());
        assert!(missing <= 8, "{context}: {} read, {} simulated", read.len(), simulated.packets.len());
        let as_read = |one: &(Time, bool, Time, Time)| (one.0.as_ps() / 1_000, one.1, one.3 > Time::ZERO);
        let until = simulated.packets.last().map_or(0, |one| one.0.as_ps() / 1_000);
        let mut expected: Vec<(u64, bool, bool)> = simulated.packets.iter().map(as_read).collect();
        let mut found: Vec<(u64, bool, bool)> = read.iter().map(|one| (one.0, one.1, one.2 > 0)).collect();
        for list in [&mut expected, &mut found] {
            list.retain(|one| one.0 + 2_000 < until);
            list.sort_unstable();
        }
        assert_eq!(found, expected, "{context}");
        all += read.len();
        if traced.drawn.len() == 1 {
            compared += sizes_are_those_of(&read, &simulated.packets, &context);
        }
    }
    assert!(all > 20_000 && compared > 5_000, "{all} packets, {compared} sizes");
}

/// A link takes as long for each word: what packets carry against how long their data were on it.
fn sizes_are_those_of(read: &[Seen], simulated: &[(Time, bool, Time, Time)], context: &str) -> usize {
    let mut compared = 0;
    for up in [false, true] {
        let words = read.iter().filter(|one| one.1 == up && one.2 > 0).map(|one| one.2);
        let spans = simulated.iter().filter(|one| one.1 == up && one.3 > Time::ZERO).map(|one| one.3.as_ps());
        let pairs: Vec<(u64, u64)> = words.zip(spans).collect();
        // The last ones are cut by the end of the window.
        let pairs = &pairs[..pairs.len().saturating_sub(8)];
        let Some((most, span)) = pairs.iter().max() else { continue };
        compared += pairs.len();
        for (words, ps) in pairs {
            let expected = span * words / most;
            assert!(
                ps.abs_diff(expected) <= 300 + expected / 100,
                "{context}: {words} words in {ps} ps, not {expected}"
            );
        }
    }
    compared
}

#[test]
fn how_a_device_orders_is_read_off_its_packets() {
    let window = Window { from: Time::us(700), span: Time::us(300) };
    for (system, job, ordering) in [
        ("nvme-desktop", "rw=randread bs=4k iodepth=32", "strict"),
        ("nvme-server", "filename=drive0 rw=read bs=128k iodepth=4", "relaxed"),
        ("nvme-server", "filename=drive3 rw=write bs=128k iodepth=8", "relaxed"),
    ] {
        let capture = analysed(&written(system, job, window).0);
        let decided = fields::decided(&capture);
        let said: Vec<&str> = decided
            .iter()
            .flat_map(|of| &of.fields)
            .filter(|of| of.key == "ordering")
            .map(|of| &of.value[..])
            .collect();
        assert_eq!(said, [ordering], "{system} {job}");
    }
}

pub fn analysed(bytes: &[u8]) -> Capture {
    capture::analyze(bytes, usize::MAX).expect("a capture")
}

#[test]
fn a_drive_is_recognised_by_its_packets_alone() {
    let window = Window { from: Time::us(700), span: Time::us(600) };
    for (system, job) in RUNS.iter().take(6) {
        let (bytes, _) = written(system, job, window);
        let (capture, simulated) = (analysed(&bytes), simulated(system, job, window));
        let [drive] = &capture.drives[..] else { panic!("{system} {job}: {} drives", capture.drives.len()) };
        let context = format!("{system} {job}");
        let rung: u64 = drive.doorbells.values().map(|(_, _, count)| count).sum();
        assert!(rung.abs_diff(simulated.doorbells) <= 2, "{context}: {rung} of {} doorbells", simulated.doorbells);
        let told: u64 = drive.interrupts.values().sum();
        assert!(told.abs_diff(simulated.interrupts) <= 2, "{context}: {told} of {}", simulated.interrupts);
        // Requests that began and ended within the window, by what the workload itself counts.
        let requests = simulated.transfers.len() as u64;
        let whole: Vec<_> = drive
            .commands
            .iter()
            .filter(|command| command.doorbell_ns.is_some() && command.entry_ns.is_some())
            .collect();
        assert!(requests > 0 && whole.len() as u64 >= requests, "{context}: {} commands, {requests}", whole.len());
        let bytes = u64::from(simulated.transfers[0]);
        let asked = whole.iter().filter_map(|command| command.blocks()).map(|(_, blocks)| u64::from(blocks) * 512);
        assert!(asked.clone().all(|asked| asked == bytes), "{context}");
        let moved = whole.iter().filter(|command| command.data_bytes == bytes).count();
        // At the beginning pages are still those of commands that were fetched before.
        assert!(moved as u64 * 10 >= whole.len() as u64 * 9, "{context}: {moved} of {}", whole.len());
        assert!(whole.iter().all(|command| command.status == Some(0) && command.queue == Some(1)), "{context}");
    }
}

#[test]
fn two_drives_behind_a_switch_are_told_apart() {
    let window = Window { from: Time::us(700), span: Time::us(600) };
    let (bytes, traced) = written("nvme-server", TWO_DRIVES, window);
    let links: Vec<&str> = traced.drawn.iter().map(|of| &of.name[..]).collect();
    assert_eq!(links, ["link1", "link6"]);
    let capture = analysed(&bytes);
    let [reads, writes] = &capture.drives[..] else { panic!("{} drives", capture.drives.len()) };
    assert!(reads.commands.len() > 100 && reads.commands.iter().all(|command| command.word() == "read"));
    assert!(writes.commands.len() > 10 && writes.commands.iter().all(|command| command.word() == "write"));
    let whole = |of: &hopscope_signals::pcie::nvme::Drive, bytes: u64| {
        of.commands.iter().filter(|command| command.data_bytes == bytes).count() * 10 >= of.commands.len() * 7
    };
    assert!(whole(reads, 4_096) && whole(writes, 131_072));
    assert_eq!([reads.registers, writes.registers], [Some(0xe100_0000), Some(0xe600_0000)]);
}

/// Above a switch both drives are in one capture, each still known by what it does, and every packet of either comes by.
#[test]
fn the_uplink_of_a_switch_carries_what_is_below_it() {
    let window = Window { from: Time::us(700), span: Time::us(600) };
    let below = analysed(&written("nvme-server", TWO_DRIVES, window).0);
    let (bytes, traced) = written_of(Some("uplink"), "nvme-server", TWO_DRIVES, window);
    assert_eq!(traced.drawn.iter().map(|of| &of.name[..]).collect::<Vec<_>>(), ["uplink"]);
    let above = analysed(&bytes);
    // What is between the two when the window begins or ends is in one of them alone: completions wait in the switch
    // for the slower link below.
    for way in [Way::Taken, Way::Given] {
        let count = |capture: &Capture| -> u64 {
            capture.packets.kinds.iter().filter(|((of, ..), _)| *of == way).map(|(_, count)| count).sum()
        };
        let (here, there) = (count(&above), count(&below));
        let between = if way == Way::Taken { 20 } else { there / 25 };
        assert!(there > 2_000 && here.abs_diff(there) <= between, "{way:?}: {here} above, {there} below");
    }
    let commands = |capture: &Capture| -> Vec<(String, &'static str, usize)> {
        capture.drives.iter().map(|of| (of.id.to_string(), of.commands[0].word(), of.commands.len())).collect()
    };
    let (above, below) = (commands(&above), commands(&below));
    assert_eq!(above.len(), 2, "{above:?}");
    for (above, below) in above.iter().zip(&below) {
        assert_eq!((&above.0, above.1), (&below.0, below.1));
        assert!(above.2.abs_diff(below.2) <= 2, "{above:?} {below:?}");
    }
}

/// What captures of the real drive decide (a P4600: payloads of 256 bytes, 16 reads of 512 bytes at once, relaxed), from
/// packets of the simulated one of its family.
#[test]
fn a_simulated_drive_is_seen_doing_what_the_real_one_was_seen_doing() {
    let window = Window { from: Time::us(700), span: Time::ms(2) };
    let decided = |job: &str| -> Vec<(&'static str, String)> {
        let capture = analysed(&written("nvme-xeon", job, window).0);
        let all = fields::decided(&capture).into_iter().flat_map(|of| of.fields);
        all.filter(|of| of.table == "pcie").map(|of| (of.key, of.value)).collect()
    };
    let expected = |fields: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
        fields.iter().map(|(key, value)| (*key, value.to_string())).collect()
    };
    let write = decided("rw=write bs=32k");
    let of_real =
        [("payload_max", "256 B"), ("read_request_max", "512 B"), ("tags", "16 tags"), ("ordering", "relaxed")];
    for field in expected(&of_real) {
        assert!(write.contains(&field), "{field:?}: {write:?}");
    }
    let read = decided("rw=read bs=32k");
    for field in expected(&[("payload_max", "256 B"), ("ordering", "relaxed")]) {
        assert!(read.contains(&field), "{field:?}: {read:?}");
    }
}
