//! What is drawn of an IDE cable, decoded again: the register accesses, bursts and words that were simulated.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::LazyLock;

use hopscope_kernel::{Label, Observer, Record, Sim, Span, Time, expand};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::Options;
use hopscope_machine::trace::Window;
use hopscope_parts::protocols::ide::{BURST_END, BURST_START, PIO, WORDS_IN, WORDS_OUT};
use hopscope_signals::ide::decode::Decoder;
use hopscope_signals::ide::over_time::USED_FOR;
use hopscope_signals::ide::pins::Pins;
use hopscope_signals::ide::together::{Delay, delays};
use hopscope_signals::ide::{Protocol, register};
use hopscope_signals::waves::read::{Bits, Next};
use hopscope_signals::waves::vcd_in::VcdReader;
use rayon::prelude::*;

use super::trace::{blueprint, drawn, observed};

/// The spans of one cable, from a run that draws nothing.
#[derive(Clone, Default)]
struct Listed(Rc<RefCell<Vec<Span>>>);

struct Lister {
    sim: Sim,
    cable: &'static str,
    list: Listed,
}

impl Observer for Lister {
    fn records(&mut self, batch: &[Record]) {
        let lane = self.sim.lanes().iter().position(|(name, _)| name == self.cable).expect("a cable") as u16;
        let list = &mut *self.list.0.borrow_mut();
        expand(batch, |_| None, |span| list.extend(Some(span).filter(|span| span.phase_of() == Some(lane))));
    }
}

fn simulated(machine: &Blueprint, job: &str, cable: &'static str, window: Window) -> Vec<Span> {
    let list = Listed::default();
    observed(machine, job, (window, Options::default().trains), |sim| Lister { sim, cable, list: list.clone() });
    let mut all = list.0.take();
    all.sort_by_key(|span| span.at);
    all
}

fn decoded(dump: &[u8], cable: &str) -> Pins {
    let (reader, signals) = VcdReader::new(dump).expect("a dump");
    let mut pins = Pins::find_all(&signals).into_iter().find(|pins| pins.scope == cable).expect("the cable");
    pins.decoder.watch();
    reader.for_each(|next| pins.follow(next.expect("a whole dump")));
    pins.finish();
    pins
}

fn phases<'a>(spans: &'a [Span], of: &'static Label) -> impl Iterator<Item = &'a Span> {
    spans.iter().filter(move |span| span.label == of)
}

/// Systems, jobs, and their cables: Ultra DMA from and to the drive, programmed I/O, two cables on one bridge, four
/// behind a card.
const RUNS: [(&str, &str, &[&str]); 6] = [
    ("piix4e-one-disk", "rw=write bs=64k", &["cable"]),
    ("piix4e-one-disk", "rw=read bs=64k", &["cable"]),
    ("piix4e-one-disk", "rw=randrw bs=4k iodepth=32", &["cable"]),
    ("piix4e-one-disk-pio", "rw=randrw bs=4k", &["cable"]),
    ("piix4e-two-disks-two-channels", "rw=write bs=64k iodepth=4", &["cable", "cable2"]),
    ("win2000-3ware-raid0-2", "rw=read bs=64k iodepth=4", &["cable0", "cable1"]),
];

const WINDOW: Window = Window { from: Time::ms(9), span: Time::ms(21) };

/// The cables of those runs, each with the words that name it; once.
fn decoded_runs() -> &'static [Vec<(String, Decoder)>] {
    static DECODED: LazyLock<Vec<Vec<(String, Decoder)>>> = LazyLock::new(|| {
        let one = |(system, job, cables): (&str, &str, &[&str])| {
            let (dump, traced) = drawn(&blueprint(system), job, WINDOW);
            let decoder = |cable: &&str| (format!("{system} {job} {cable}: {traced:?}"), decoded(&dump, cable).decoder);
            cables.iter().map(decoder).collect()
        };
        RUNS.into_par_iter().map(one).collect()
    });
    &DECODED
}

#[test]
fn what_is_drawn_of_a_cable_is_what_was_simulated() {
    let window = WINDOW;
    let (mut all_words, mut all_accesses, mut all_bursts) = (0, 0, 0);
    for ((system, job, cables), decoded) in RUNS.into_iter().zip(decoded_runs()) {
        let machine = blueprint(system);
        for (cable, (context, decoder)) in cables.iter().zip(decoded) {
            let spans = simulated(&machine, job, cable, window);
            let within = |at: Time, span: Time| at >= window.from && at + span < window.end();

            let expected: Vec<Time> = phases(&spans, &PIO)
                .filter(|of| within(of.at, of.span))
                .map(|of| of.at + Time::ps(of.span.as_ps() / 4))
                .collect();
            let read: Vec<Time> = decoder.accesses.iter().map(|access| Time::ps(access.start_ps)).collect();
            assert_eq!(read[..], expected[..read.len()], "{context}");
            assert!(expected.len() - read.len() <= 1, "{context}");
            all_accesses += read.len();

            // Words of a burst that has not ended are recorded when it has.
            let last = phases(&spans, &BURST_END).map(|of| of.at + of.span).filter(|end| *end < window.end()).max();
            let until = last.unwrap_or(window.end());
            let bursts = decoder.bursts.iter().filter(|burst| burst.end_ps <= until.as_ps());
            let words = bursts.clone().map(|burst| burst.words).sum::<u64>();
            let Some(word) = bursts.clone().filter_map(|burst| burst.word_ps).min().map(Time::ps) else { continue };
            let crossed = |of: &Span| {
                let (begin, end) = (of.at.max(window.from), (of.at + of.span).min(until));
                end.saturating_sub(begin) / word
            };
            let expected: u64 =
                WORDS_IN.iter().chain(&WORDS_OUT).flat_map(|label| phases(&spans, label)).map(crossed).sum();
            let edges = 1 + bursts.filter(|burst| burst.cut).count() as u64;
            assert!(words.abs_diff(expected) <= edges, "{context}: {words} words of {expected}");
            all_words += words;

            let begun: Vec<u64> =
                phases(&spans, &BURST_START).filter(|of| within(of.at, of.span)).map(|of| of.at.as_ps()).collect();
            let whole = decoder.bursts.iter().filter(|burst| burst.protocol == Protocol::Ultra && !burst.cut);
            let starts: Vec<u64> = whole.clone().map(|burst| burst.start_ps).collect();
            assert!(starts.iter().all(|start| begun.contains(start)), "{context}");
            let ended = phases(&spans, &BURST_END).filter(|of| within(of.at, of.span)).count();
            assert!(ended.abs_diff(starts.len()) <= 1, "{context}: {ended} ended, {} decoded", starts.len());
            for burst in whole {
                let (right, sent) = burst.crc.expect("Ultra DMA has one");
                assert_eq!(Some(right), sent, "{context}: {burst:?}");
                all_bursts += 1;
            }
        }
    }
    assert!(all_words > 200_000 && all_accesses > 200 && all_bursts > 200, "{all_words} {all_accesses} {all_bursts}");
}

/// What a cable's steps add up to, against its bursts and accesses one by one.
#[test]
fn a_cable_over_time_adds_up() {
    let mut all_held = 0;
    for (context, decoder) in decoded_runs().iter().flatten() {
        let mut sums = [0; USED_FOR.len()];
        let steps = decoder.over_time.as_ref().expect("it was asked for");
        for step in steps.sums() {
            // The wires do one thing at a time; DMARQ may be asserted while a register is read.
            assert!(step.iter().sum::<u64>() <= steps.step_ps() * 2, "{context}");
            sums.iter_mut().zip(step).for_each(|(all, sum)| *all += sum);
        }
        let accesses: u64 = decoder.accesses.iter().map(|of| of.end_ps - of.start_ps).sum();
        let held: u64 = decoder.bursts.iter().map(|of| of.end_ps - of.start_ps).sum();
        let pauses: u64 = decoder.bursts.iter().map(|of| of.paused.1).sum();
        assert_eq!((sums[0], sums[1] + sums[2] + sums[3], sums[3]), (accesses, held, pauses), "{context}");
        all_held += held;
    }
    assert!(all_held > Time::ms(50).as_ps(), "{all_held} ps");
}

/// The values of wires by their names, change by change.
fn values(dump: &[u8], mut each: impl FnMut(&HashMap<String, Bits>, &str)) {
    let (reader, signals) = VcdReader::new(dump).expect("a dump");
    let names: HashMap<_, _> = signals.iter().map(|signal| (signal.code, signal.path())).collect();
    let mut levels = HashMap::new();
    for next in reader {
        if let Next::Change(code, bits) = next.expect("a whole dump") {
            levels.insert(names[&code].clone(), bits);
            each(&levels, &names[&code]);
        }
    }
}

#[test]
fn what_memory_sends_on_pci_is_what_the_drive_gets_on_the_cable() {
    let window = Window { from: Time::ms(3), span: Time::ms(2) };
    let (dump, _) = drawn(&blueprint("piix4e-one-disk"), "rw=write bs=64k", window);
    let (mut on_pci, mut on_cable, mut strobe) = (Vec::new(), Vec::new(), 1);
    values(&dump, |levels, changed| {
        let level = |name: &str| levels.get(name).copied().unwrap_or_default();
        let is = |name: &str, value: u64| level(name).known & 1 == 1 && level(name).value == value;
        // What a clock begins with is what the one before was sampled with: AD has not changed yet.
        if changed == "pci.CLK" && is("pci.CLK", 1) && is("pci.IRDY#", 0) && is("pci.TRDY#", 0) {
            let ad = level("pci.AD").value;
            on_pci.extend([ad as u16, (ad >> 16) as u16]);
        }
        if changed == "cable.DIOR-" && std::mem::replace(&mut strobe, level("cable.DIOR-").value) != strobe {
            let burst = is("cable.DIOW-", 0) && is("cable.DMACK-", 0);
            on_cable.extend(burst.then_some(level("cable.DD").value as u16));
        }
    });
    assert!(on_cable.len() > 10_000, "{} words", on_cable.len());
    // Descriptors and registers cross PCI, too: the words of the cable come in their order among all that crossed.
    let mut rest = on_pci.iter();
    let found = on_cable.iter().skip(64).take_while(|word| rest.any(|sent| sent == *word)).count();
    assert!(found + 64 + 32 >= on_cable.len(), "{found} of {} words came over PCI", on_cable.len());
}

#[test]
fn a_command_is_written_to_the_registers_of_the_drive() {
    let window = Window { from: Time::ms(3), span: Time::ms(6) };
    let (dump, _) = drawn(&blueprint("piix4e-one-disk"), "rw=write bs=64k", window);
    let decoder = decoded(&dump, "cable").decoder;
    let written = |name: &str| -> Vec<u8> {
        let named = |of: &&hopscope_signals::ide::Access| of.writes && register(of.control, of.da, true) == name;
        decoder.accesses.iter().filter(named).filter_map(|of| of.value).collect()
    };
    // WRITE DMA of 128 sectors, one after the other.
    assert!(written("command").len() > 1 && written("command").iter().all(|value| *value == 0xca));
    assert!(written("sector count").iter().all(|value| *value == 128));
    let low = written("sector number");
    assert!(low.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(128)), "{low:?}");
    assert!(!decoder.interrupts.is_empty() && decoder.interrupts.iter().all(|(start, end)| Some(*start) < *end));
}

#[test]
fn the_bubble_of_the_report_comes_out_of_both_waveforms() {
    let window = Window { from: Time::ms(3), span: Time::ms(1) };
    let (dump, _) = drawn(&blueprint("piix4e-one-disk"), "rw=write bs=64k", window);
    let bursts = decoded(&dump, "cable").decoder.bursts;
    let transactions = super::trace::decoded(&dump).decoder.transactions;
    let delays: HashMap<Delay, _> = delays(&bursts, &transactions, 29_851).into_iter().collect();
    let word = bursts.iter().filter_map(|burst| burst.word_ps).min().expect("words");
    let pauses = bursts.iter().flat_map(|burst| &burst.pauses).map(|(from, to)| to - from - word);
    let (short, long): (Vec<u64>, Vec<u64>) = pauses.partition(|pause| *pause < 100_000);
    // Figure 1: the drive waits for a clock between the halves, and for a microsecond behind every 64 bytes. What
    // the study reads off the phases of the cable comes off the edges of its wires.
    assert!(short.len() > 100 && short.iter().all(|pause| pause.abs_diff(30_000) < 1_000), "{short:?}");
    assert!(long.len() > 100 && long.iter().all(|pause| pause.abs_diff(1_000_000) < 30_000), "{long:?}");
    let bubbles = delays[&Delay::Pause];
    assert_eq!(bubbles.count as usize, short.len() + long.len());
    let (asked, sent) = (delays[&Delay::LastStrobeToFrame], delays[&Delay::DataToStrobe]);
    println!("{asked:?} {sent:?}");
    assert!(asked.count as usize + 5 >= long.len() && sent.count >= asked.count);
}
