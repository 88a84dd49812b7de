//! What is drawn of a run, decoded again: the transactions that were simulated.

use std::cell::RefCell;
use std::io::Cursor;
use std::rc::Rc;

use hopscope_files::job_file::{self, Job};
use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_kernel::{Class, Kind, Observer, Record, Sim, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{self, Options};
use hopscope_machine::trace::{self, Drawn, Format, Out, Traced, Window};
use hopscope_parts::bridge::pci_x::host::INTERRUPT;
use hopscope_parts::protocols::pci::{ATTRIBUTE, Command, DESCRIPTOR_DATA, REGISTER_DATA, unpacked};
use hopscope_signals::pci::EndedBy;
use hopscope_signals::pci::pattern::pattern;
use hopscope_signals::pci::pins::Pins;
use hopscope_signals::waves::fst_in::FstReader;
use hopscope_signals::waves::read::{Next, Signal};
use hopscope_signals::waves::vcd_in::VcdReader;

use crate::buffer::Buffer;

pub fn blueprint(system: &str) -> Blueprint {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut sources = Sources::default();
    let text = library.open_system(system).expect("a shipped system");
    let file = sources.add(text.name, text.text);
    Blueprint::read(&library, &mut sources, file).expect("a right system")
}

pub fn jobs(words: &str) -> Vec<Job> {
    let mut sources = Sources::default();
    let text = format!("[job]\n{}\n", words.replace(' ', "\n"));
    let file = sources.add("job", text);
    job_file::read(&sources, file).unwrap_or_else(|_| panic!("{words}")).jobs
}

pub(super) fn drawn(machine: &Blueprint, job: &str, window: Window) -> (Vec<u8>, Traced) {
    drawn_as(Format::Vcd, machine, job, window)
}

fn drawn_as(format: Format, machine: &Blueprint, job: &str, window: Window) -> (Vec<u8>, Traced) {
    let out = Buffer::default();
    let drawing = (format, Box::new(out.clone()) as Box<dyn Out>);
    let traced = trace::trace(machine, &jobs(job), (window, 1), drawing, None).expect("a trace");
    (out.written(), traced)
}

pub(super) fn decoded(dump: &[u8]) -> Pins {
    let (reader, signals) = VcdReader::new(dump).expect("a dump");
    let mut pins = Pins::find(&signals, &[], None).expect("a bus");
    pins.follow_all(reader).expect("a whole dump");
    pins
}

/// A transaction as the records have it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Simulated {
    start: Time,
    command: &'static str,
    address: u64,
    data_clocks: u64,
}

/// Puts transactions together from records, burst by burst, without a wire.
#[derive(Clone, Default)]
struct Listed(Rc<RefCell<(Option<u16>, Vec<Simulated>)>>);

struct Lister {
    sim: Sim,
    bus: &'static str,
    list: Listed,
    clock: Time,
}

impl Observer for Lister {
    fn records(&mut self, batch: &[Record]) {
        let (lane, list) = &mut *self.list.0.borrow_mut();
        let lane = *lane.get_or_insert_with(|| {
            let lanes = self.sim.lanes();
            let found = lanes.iter().position(|(name, _)| name == self.bus).expect("a segment");
            self.clock = lanes[found].1.expect("a segment has a clock");
            found as u16
        });
        for record in batch {
            match *record {
                Record::Carried { lane: of, label, at: start, value, .. } if of == lane => {
                    let Some(command) = Command::of_label(label) else { continue };
                    let (address, ..) = unpacked(value);
                    let (address, command) = (u64::from(address), command.label().name);
                    list.push(Simulated { start, command, address, data_clocks: 0 });
                }
                Record::Phase { lane: of, label, .. } if of == lane && label == &ATTRIBUTE => {
                    // PCI-X 1.0a, 2.4: the same lines have other names.
                    let last = list.last_mut().expect("an address comes before its attributes");
                    last.command = match last.command {
                        "memory read" => "memory read double word",
                        "memory read line" | "memory read multiple" => "memory read block",
                        "memory write and invalidate" => "memory write block",
                        command => command,
                    };
                }
                Record::Phase { lane: of, label, span, .. } if of == lane => {
                    let carries = label.class == Class::Payload || [&REGISTER_DATA, &DESCRIPTOR_DATA].contains(&label);
                    if let (true, Some(last)) = (carries, list.last_mut()) {
                        last.data_clocks += span / self.clock;
                    }
                }
                _ => {}
            }
        }
    }

    fn wants_signals(&self) -> bool {
        true
    }
}

/// The run that is drawn, without a drawing: until the window ends, before whoever `observer` makes.
pub(super) fn observed<O: Observer + 'static>(
    machine: &Blueprint,
    job: &str,
    (window, trains): (Window, bool),
    observer: impl FnOnce(Sim) -> O,
) {
    let sim = Sim::new();
    let whole = |job| Job { ramp_time: Time::ZERO, runtime: Some(window.end()), time_based: true, ..job };
    let jobs: Vec<Job> = jobs(job).into_iter().map(whole).collect();
    let observer = Box::new(observer(sim.clone()));
    let options = Options { trains, cut: true, ..Options::default() };
    run::run_in(sim, machine, &jobs, options, Some(observer)).unwrap_or_else(|_| panic!("{job}"));
}

fn simulated(machine: &Blueprint, job: &str, bus: &'static str, window: Window) -> Vec<Simulated> {
    let list = Listed::default();
    let lister = |sim| Lister { sim, bus, list: list.clone(), clock: Time::ZERO };
    observed(machine, job, (window, false), lister);
    let mut all = list.0.take().1;
    all.retain(|one| one.start >= window.from && one.start < window.end());
    all
}

/// Systems with a segment each that are unlike: who initiates, who answers, how wide, what is retried.
const RUNS: [(&str, &str); 15] = [
    ("myrinet-x5dl8", "rw=read bs=4k iodepth=32"),
    ("myrinet-melody", "rw=write bs=4k iodepth=8"),
    ("raid-acceleraid-pci-x-100", "rw=read bs=64k iodepth=4"),
    ("raid-acceleraid-pci-x-100", "rw=randrw bs=8k iodepth=32"),
    ("raid-acceleraid-pci-x-100", "rw=write bs=64k"),
    ("piix4e-one-disk", "rw=write bs=64k"),
    ("piix4e-one-disk", "rw=read bs=64k"),
    ("piix4e-one-disk-pio", "rw=read bs=4k"),
    ("piix4e-two-disks-two-channels", "rw=randrw bs=16k iodepth=4"),
    ("raid-megaraid-32-33", "rw=read bs=64k iodepth=8"),
    ("raid-megaraid-64-66", "rw=randwrite bs=16k iodepth=32"),
    ("raid-megaraid-32-33-loaded", "rw=read bs=64k iodepth=4"),
    ("win2000-atlas-10k", "rw=write bs=64k iodepth=2"),
    ("win2000-3ware-raid0-2", "rw=randread bs=8k iodepth=256"),
    ("win2000-cifs", "rw=read bs=16k"),
];

#[test]
fn what_is_drawn_of_a_run_is_what_was_simulated() {
    let window = Window { from: Time::ms(9), span: Time::ms(4) };
    let mut seen = 0;
    for (system, job) in RUNS {
        let machine = blueprint(system);
        let (dump, traced) = drawn(&machine, job, window);
        let segments: Vec<&Drawn> = traced.drawn.iter().filter(|of| of.what == "transactions").collect();
        let [Drawn { name: bus, .. }] = segments[..] else { panic!("{system}: {traced:?}") };
        let bus: &'static str = bus.clone().leak();
        let expected = simulated(&machine, job, bus, window);
        let pins = decoded(&dump);
        let read: Vec<Simulated> = pins
            .decoder
            .transactions
            .iter()
            .map(|one| Simulated {
                start: Time::ps(one.start_ps),
                command: one.command.word(),
                address: one.address.expect("an address"),
                data_clocks: one.data_phases,
            })
            .collect();
        // The last one may be cut by the end of the window.
        let whole = expected.len().saturating_sub(1);
        assert!(read.len() >= whole, "{system} {job}: {} decoded of {}", read.len(), expected.len());
        for (index, (read, expected)) in read.iter().zip(&expected).take(whole).enumerate() {
            assert_eq!(read, expected, "{system} {job}: transaction {index}");
        }
        assert_eq!(pins.decoder.violations, [], "{system} {job}");
        assert!(pins.decoder.transactions.iter().all(|one| one.parity_errors == 0), "{system} {job}");
        seen += whole;
    }
    assert!(seen > 10_000, "{seen}");
}

/// The signals of a dump whose values are words.
fn paths_of_words(dump: &[u8]) -> Vec<String> {
    let (mut scopes, mut paths): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    for line in std::str::from_utf8(dump).expect("a text").lines().take_while(|line| !line.starts_with('#')) {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["$scope", _, name, "$end"] => scopes.push(name),
            ["$upscope", ..] => drop(scopes.pop()),
            ["$var", "string", _, _, name, ..] => paths.push(format!("{}.{name}", scopes.join("."))),
            _ => {}
        }
    }
    paths
}

/// Interrupts on their way to the host's handler.
#[derive(Clone, Default)]
struct OnTheirWay(Rc<RefCell<Vec<(u64, u64)>>>);

impl Observer for OnTheirWay {
    fn records(&mut self, batch: &[Record]) {
        let delays = batch.iter().filter_map(Record::span).filter(|span| matches!(span.kind, Kind::Delay(_)));
        let of_interrupts = delays.filter(|span| span.label == &INTERRUPT);
        self.0.borrow_mut().extend(of_interrupts.map(|span| (span.at.as_ps(), span.end().as_ps())));
    }
}

#[test]
fn a_card_asserts_its_interrupt_until_the_handler_has_it() {
    let window = Window { from: Time::ms(9), span: Time::ms(20) };
    for (system, job) in [
        ("raid-megaraid-32-33", "rw=randread bs=4k iodepth=4"),
        ("raid-acceleraid-pci-x-100", "rw=write bs=64k iodepth=4"),
        ("scsi-ultra160", "rw=read bs=4k iodepth=2"),
    ] {
        let machine = blueprint(system);
        let (dump, _) = drawn(&machine, job, window);
        let (reader, signals) = VcdReader::new(&dump[..]).expect("a dump");
        let of =
            |name: &str| signals.iter().filter(|of| of.name.starts_with(name)).map(|of| of.code).collect::<Vec<_>>();
        let (wires, selects) = (of("INTA#"), of("IDSEL"));
        assert!(!wires.is_empty() && wires.len() == selects.len(), "{system}");
        let (mut now, mut asserted, mut edges) = (0, None, Vec::new());
        for next in reader {
            match next.expect("a whole dump") {
                Next::Time(at_ps) => now = at_ps,
                Next::Change(code, bits) if wires.contains(&code) => match (bits.value, asserted.take()) {
                    (0, _) => asserted = Some(now),
                    (_, Some(since)) => edges.push((since, now)),
                    _ => {}
                },
                Next::Change(code, bits) => assert!(!selects.contains(&code) || bits.value == 0, "{system}"),
            }
        }
        let seen = OnTheirWay::default();
        observed(&machine, job, (window, Options::default().trains), |_| seen.clone());
        let mut expected = seen.0.take();
        expected.retain(|(from, until)| *from >= window.from.as_ps() && *until < window.end().as_ps());
        expected.sort_unstable();
        edges.retain(|(from, _)| *from > window.from.as_ps());
        assert!(!expected.is_empty(), "{system}: no interrupt");
        assert_eq!(edges[..], expected[expected.len() - edges.len()..], "{system}");
        assert!(expected.len() - edges.len() <= 1, "{system}: {edges:?} {expected:?}");
    }
}

#[test]
fn a_run_is_the_same_in_either_kind_of_file() {
    let window = Window { from: Time::ms(9), span: Time::ms(4) };
    for (system, job) in [RUNS[0], RUNS[5], RUNS[14]] {
        let machine = blueprint(system);
        let (dump, of_dump) = drawn(&machine, job, window);
        let (packed, of_packed) = drawn_as(Format::Fst, &machine, job, window);
        assert_eq!(of_dump, of_packed, "{system}");
        assert!(packed.len() * 3 < dump.len(), "{system}: {} bytes, and {} as text", packed.len(), dump.len());
        let (mut reader, signals) = FstReader::new(Cursor::new(&packed[..])).expect("an FST file");
        let (_, of_text) = VcdReader::new(&dump[..]).expect("a dump");
        let paths = |signals: &[Signal]| signals.iter().map(|of| (of.path(), of.bits)).collect::<Vec<_>>();
        // What other hops are doing is said in words, which an FST file has not.
        let of_buses: Vec<Signal> =
            of_text.into_iter().filter(|of| !paths_of_words(&dump).contains(&of.path())).collect();
        assert_eq!(paths(&signals), paths(&of_buses), "{system}");
        let mut pins = Pins::find(&signals, &[], None).expect("a bus");
        reader.only(&pins.codes().collect());
        pins.follow_all(reader).expect("a whole file");
        let expected = decoded(&dump).decoder;
        assert!(expected.transactions.len() > 100, "{system}: {}", expected.transactions.len());
        assert_eq!(pins.decoder.transactions, expected.transactions, "{system}");
        assert_eq!((pins.decoder.clocks, pins.decoder.busy), (expected.clocks, expected.busy), "{system}");
    }
}

#[test]
fn the_cycle_of_the_report_comes_out_of_the_waveform_alone() {
    let window = Window { from: Time::ms(3), span: Time::us(400) };
    let (dump, _) = drawn(&blueprint("piix4e-one-disk"), "rw=write bs=64k", window);
    let pins = decoded(&dump);
    let repeats = pattern(&pins.decoder.transactions).expect("something repeats");
    // PIIX4E report, Table 2: 98 clocks; two fetches of 32 bytes, 13 wait clocks and 8 of data each.
    assert_eq!((repeats.clocks(), repeats.bytes()), (98, 64));
    let steps: Vec<(u64, u64)> = repeats.steps.iter().map(|step| (step.wait, step.data)).collect();
    assert_eq!(steps, [(13, 8), (13, 8)]);
}

#[test]
fn a_read_on_pci_x_is_split_and_completed_with_as_many_bytes() {
    let window = Window { from: Time::ms(9), span: Time::ms(2) };
    let (dump, _) = drawn(&blueprint("raid-acceleraid-pci-x-100"), "rw=write bs=64k iodepth=4", window);
    let pins = decoded(&dump);
    assert!(pins.decoder.pci_x);
    let all = &pins.decoder.transactions;
    let of = |word: &'static str| all.iter().filter(move |one| one.command.word() == word);
    let asked: u64 = of("memory read block")
        .filter(|one| one.ended_by == EndedBy::SplitResponse)
        .map(|one| u64::from(one.attributes.expect("attributes").bytes))
        .sum();
    let completed: u64 = of("split completion").map(|one| one.bytes).sum();
    let (reader, signals) = VcdReader::new(&dump[..]).expect("a dump");
    let mut few = Pins::find(&signals, &[], None).expect("a bus");
    few.list(5);
    few.follow_all(reader).expect("a whole dump");
    assert_eq!((&few.decoder.transactions[..], few.decoder.count()), (&all[..5], pins.decoder.count()));
    // What is under way at either end of the window is asked for in it, or completed, and not both.
    assert!(asked > 100_000 && asked.abs_diff(completed) <= 16_384, "{asked} asked, {completed} completed");
}
