//! Tests of segments with bus masters and bridges: conversations, boundaries, limits, and what a segment settles to.

use std::cell::RefCell;
use std::rc::Rc;

use hopscope_kernel::{Ended, Errand, Observer, Record, Sim, Span, Time, expand};

use super::*;
use crate::bridge::pci_x;
use crate::bridge::pci_x::host::Memory;
use crate::bridge::pci_x::initiator::Initiator;
use crate::bridge::pci_x::path::{LinkSpec, Path};
use crate::bridge::pci_x::port::{Beyond, Port};
use crate::bridge::pci_x::slot::Slot;
use crate::cpu::{self, Processor};

const MHZ_33: Time = Time::ps(30_000);
const MHZ_66: Time = Time::ps(15_000);
const MHZ_133: Time = Time::ps(7_500);

fn segment(mode: Mode, clock: Time, width_bytes: u32, fixed: bool) -> Spec {
    let (turnaround, disconnect, master_abort, latency_timer, slots) = (1, 2, 5, 64, 4);
    Spec { clock, mode, fixed, width_bytes, turnaround, disconnect, master_abort, latency_timer, slots }
}

fn card(mode: Mode, clock: Time, width_bytes: u32) -> CardSpec {
    CardSpec {
        mode,
        clock,
        width_bytes,
        gap: 4,
        retry_idle: 2,
        burst: 4_096,
        read: Command::MemoryReadMultiple,
        read_request: 4_096,
        splits: 2,
        register: 3,
    }
}

#[derive(Clone, Default)]
struct Kept(Rc<RefCell<Vec<Record>>>);

impl Observer for Kept {
    fn records(&mut self, records: &[Record]) {
        self.0.borrow_mut().extend_from_slice(records);
    }
}

struct Bed {
    sim: Sim,
    bus: Rc<PciBus>,
    port: Rc<Port>,
    slot: Slot,
    kept: Kept,
}

/// A segment behind a bridge and a link.
fn bed(spec: Spec, bridge: pci_x::Spec, link: LinkSpec) -> Bed {
    let (sim, kept) = (Sim::new(), Kept::default());
    sim.observe(Box::new(kept.clone()));
    let memory = Memory::new(&sim, "host", pci_x::host::Spec::example());
    let path = Path::new(&sim, &memory).with("link", link).unwrap();
    let port = Port::new(&sim, "bridge", &Rc::new(bridge), Beyond::Host(path));
    let bus = PciBus::new(&sim, "pci", spec);
    port.attach(&bus);
    let slot = Slot::of_bridge(&sim, &bus, &port);
    Bed { sim, bus, port, slot, kept }
}

fn fast() -> LinkSpec {
    LinkSpec::example(4_000_000_000, false)
}

impl Bed {
    fn card(&self, spec: CardSpec) -> Rc<Initiator> {
        Initiator::new(&self.sim, "card", spec, &self.slot).unwrap()
    }

    fn run(&self) {
        // Whoever serves waits for ever.
        assert!(matches!(self.sim.run(Time::ms(100)), Ended::Deadlock(_)));
    }

    /// Phases of the segment, in order.
    fn phases(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        let of_bus = self.bus.lane().number();
        expand(
            &self.kept.0.borrow(),
            |_| None,
            |span| {
                if span.phase_of() == Some(of_bus) {
                    spans.push(span);
                }
            },
        );
        spans.sort_by_key(|span| span.at);
        spans
    }

    /// The same in words: clocks of each phase, idle clocks between.
    fn conversation(&self) -> String {
        let (clock, mut words, mut end) = (self.bus.clock(), Vec::new(), None);
        for span in self.phases() {
            let idle = end.map_or(0, |end| (span.at - end) / clock);
            if idle > 0 {
                words.push(format!("idle {idle}"));
            }
            words.push(format!("{} {}", span.label.name, span.span / clock));
            end = Some(span.at + span.span);
        }
        words.join(", ")
    }
}

/// What is said on the segment when a card writes, or reads, so many bytes.
fn conversation(spec: Spec, card_spec: CardSpec, address: u32, bytes: u32, writes: bool) -> String {
    let bed = bed(spec, pci_x::Spec::example(4, 8), fast());
    let card = bed.card(card_spec);
    bed.sim.process("engine", async move {
        if writes {
            card.write(address, bytes, &DATA, Errand::NOBODY).await;
        } else {
            card.read(address, bytes, &DATA, Errand::NOBODY).await;
        }
    });
    bed.run();
    bed.conversation()
}

#[test]
fn a_burst_goes_as_the_mode_of_its_segment_says() {
    let pci_x = || segment(Mode::PciX, MHZ_133, 8, false);
    let pci_66 = || segment(Mode::Pci, MHZ_66, 8, false);
    let pci_33 = || segment(Mode::Pci, MHZ_33, 4, false);
    let x = || card(Mode::PciX, MHZ_133, 8);
    // Posted, in pieces of 256 bytes; one clock of decode.
    let of_512 = "address 1, attribute 1, target response 1, data 32, data 32, turnaround 1";
    assert_eq!(conversation(pci_x(), x(), 0, 512, true), of_512);
    // A request is answered with a split response. The first piece is there 290 ns after the bridge knew of it (bridge 40,
    // link 22, memory 132, link 56, bridge 40), the others arrive while it crosses the bus.
    let split = "address 1, attribute 1, target response 2, split response 1, turnaround 1, idle 37, address 1, \
                 attribute 1, target response 1, data 16, data 48, turnaround 1";
    assert_eq!(conversation(pci_x(), x(), 0, 512, false), split);
    // The same card on a conventional segment: 66 MHz, medium decode, latched and retried.
    assert_eq!(
        conversation(pci_66(), x(), 0, 512, true),
        "address 1, target response 1, data 32, data 32, turnaround 1"
    );
    let delayed = "address 1, target response 2, delayed read latched 1, turnaround 1, idle 2, address 1, target \
                   response 2, retry 1, turnaround 1, idle 2, address 1, target response 2, retry 1, turnaround 1, idle 2, \
                   address 1, target response 2, data 16, data 48, turnaround 1";
    assert_eq!(conversation(pci_66(), x(), 0, 512, false), delayed);
    // 32 bits: twice the data phases. A card of 32 bits leaves half of a wide bus unused.
    let narrow = card(Mode::Pci, MHZ_33, 4);
    assert_eq!(
        conversation(pci_33(), narrow.clone(), 0, 64, true),
        "address 1, target response 1, data 16, turnaround 1"
    );
    assert_eq!(
        conversation(pci_66(), narrow, 0, 64, true),
        "address 1, target response 1, data of 32 bits 16, turnaround 1"
    );
}

#[test]
fn no_burst_crosses_4_kib_and_pci_x_ends_at_128_bytes_only() {
    for (seed, rate) in [(1_u32, 4_000_000_000), (2, 600_000_000), (3, 1_000_000_000), (4, 300_000_000)] {
        let bed =
            bed(segment(Mode::PciX, MHZ_133, 8, false), pci_x::Spec::example(4, 8), LinkSpec::example(rate, true));
        let card = bed.card(card(Mode::PciX, MHZ_133, 8));
        let mut draw = seed;
        let mut next = move |below: u32| {
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (draw >> 8) % below
        };
        let transfers: Vec<(u32, u32, bool)> =
            (0..60).map(|_| (next(1 << 20), 1 + next(12_000), next(2) == 0)).collect();
        let all: u64 = transfers.iter().map(|t| u64::from(t.1)).sum();
        let writes = transfers.clone();
        let (readers, starts) = (card.clone(), Rc::new(RefCell::new(Vec::new())));
        let begun = starts.clone();
        bed.sim.process("writer", async move {
            for (address, bytes, _) in writes.into_iter().filter(|t| t.2) {
                begun.borrow_mut().push((address, bytes));
                card.write(address, bytes, &DATA, Errand::NOBODY).await;
            }
        });
        bed.sim.process("reader", async move {
            for (address, bytes, _) in transfers.into_iter().filter(|t| !t.2) {
                readers.read(address, bytes, &DATA, Errand::NOBODY).await;
            }
        });
        bed.run();
        let phases = bed.phases();
        let mut data_clocks = 0;
        for burst in phases.split(|span| span.label == &ADDRESS) {
            let data = burst.iter().filter(|span| span.label == &DATA);
            let clocks: u64 = data.map(|span| span.span / MHZ_133).sum();
            // 4 KiB from wherever it begins, and one phase more where it begins within a phase.
            assert!(clocks <= 512, "seed {seed}: a burst of {clocks} data phases");
            data_clocks += clocks;
        }
        // Every piece of a burst but its first begins at a boundary, so that at most two phases of each are not full.
        assert!(data_clocks * 8 >= all, "seed {seed}: {data_clocks} data phases carry {all} bytes");
        let ceiling = all as f64 / 8.0 * MHZ_133.as_seconds_f64();
        assert!(bed.sim.now().as_seconds_f64() > ceiling, "seed {seed}: faster than its bus");
    }
}

#[test]
fn a_burst_that_is_stopped_goes_on_at_a_boundary() {
    let bed =
        bed(segment(Mode::PciX, MHZ_133, 8, false), pci_x::Spec::example(4, 8), LinkSpec::example(300_000_000, false));
    let card = bed.card(card(Mode::PciX, MHZ_133, 8));
    bed.sim.process("engine", async move { card.write(64, 4_000, &DATA, Errand::NOBODY).await });
    bed.run();
    let phases = bed.phases();
    let bursts: Vec<u64> = phases
        .split(|span| span.label == &ADDRESS)
        .map(|burst| burst.iter().filter(|s| s.label == &DATA).map(|s| s.span / MHZ_133).sum())
        .filter(|clocks| *clocks > 0)
        .collect();
    assert!(bursts.len() > 3, "a slow link stops the bursts: {bursts:?}");
    let mut address = 64;
    for clocks in &bursts {
        address += clocks * 8;
        assert!(address == 4_064 || address.is_multiple_of(128), "a burst ended at {address}: {bursts:?}");
    }
    assert_eq!(address, 4_064);
}

#[test]
fn never_are_more_splits_outstanding_than_card_and_bridge_have() {
    for (splits, latched, most) in [(1, 8, 1), (3, 8, 3), (8, 2, 2), (32, 32, 16)] {
        let bed = bed(segment(Mode::PciX, MHZ_133, 8, false), pci_x::Spec::example(latched, 16), fast());
        let spec = CardSpec { splits, read_request: 512, ..card(Mode::PciX, MHZ_133, 8) };
        let card = bed.card(spec);
        for reader in 0..2 {
            let card = card.clone();
            bed.sim.process(&format!("reader{reader}"), async move {
                card.read(reader * 8_192, 4_096, &DATA, Errand::NOBODY).await
            });
        }
        bed.run();
        let got = bed.port.latched_most();
        assert!(got <= most, "{got} with {splits} splits and {latched} latches");
        assert!(got == most || most == 16, "{got} with {splits} splits and {latched} latches");
    }
}

#[test]
fn a_segment_settles_to_its_slowest_card() {
    let settled = |spec: Spec, cards: &[CardSpec]| {
        let bed = bed(spec, pci_x::Spec::example(4, 8), fast());
        for (number, spec) in cards.iter().enumerate() {
            let slot = Slot::of_bridge(&bed.sim, &bed.bus, &bed.port);
            Initiator::new(&bed.sim, &format!("card{number}"), spec.clone(), &slot)?;
        }
        Ok::<_, String>((bed.bus.mode(), bed.bus.clock()))
    };
    let x = |clock| card(Mode::PciX, clock, 8);
    let pci = |clock| card(Mode::Pci, clock, 4);
    let of = |cards: &[CardSpec]| settled(segment(Mode::PciX, MHZ_133, 8, false), cards).unwrap();
    assert_eq!(of(&[x(MHZ_133)]), (Mode::PciX, MHZ_133));
    assert_eq!(of(&[x(MHZ_133), x(Time::ps(10_000))]), (Mode::PciX, Time::ps(10_000)));
    // One conventional card makes it conventional, whatever came first.
    assert_eq!(of(&[x(MHZ_133), pci(MHZ_66)]), (Mode::Pci, MHZ_66));
    assert_eq!(of(&[pci(MHZ_66), x(MHZ_133)]), (Mode::Pci, MHZ_66));
    assert_eq!(of(&[pci(MHZ_66), x(MHZ_133), pci(MHZ_33)]), (Mode::Pci, MHZ_33));
    // A fixed clock is what the card gets, or the card is refused.
    let fixed = |card| settled(segment(Mode::Pci, MHZ_33, 4, true), &[card]);
    assert_eq!(fixed(pci(MHZ_66)), Ok((Mode::Pci, MHZ_33)));
    let too_fast = settled(segment(Mode::PciX, MHZ_133, 8, true), &[x(MHZ_66)]);
    assert_eq!(too_fast, Err("a 67 MHz card clocked at 133 MHz".to_string()));
    assert!(settled(segment(Mode::PciX, MHZ_133, 8, true), &[pci(MHZ_33)]).is_err());
}

#[test]
fn a_register_read_stalls_its_processor_and_a_write_does_not() {
    let bed = bed(segment(Mode::PciX, MHZ_133, 8, false), pci_x::Spec::example(4, 8), fast());
    let card = bed.card(card(Mode::PciX, MHZ_133, 8));
    let processor = Processor::new(&bed.sim, "cpu", cpu::Spec::of(Time::ns(1), 1));
    let (sim, slot) = (bed.sim.clone(), card.slot().clone());
    static WAIT: Label = Label::reason("test");
    bed.sim.process("driver", async move {
        let work = processor.dispatch().await;
        slot.register_write(&work, Errand::NOBODY).await;
        assert_eq!(sim.now(), Time::ZERO, "posted");
        slot.written().take(&WAIT).await;
        // Link 2 + 20 ns, bridge 40, the next clock edge, address, attribute, 3 waits, data.
        assert_eq!(sim.now(), Time::ps(67_500 + 6 * 7_500), "arrived");
        let start = sim.now();
        slot.register_read(&work).await;
        assert!(sim.now() > start + Time::ns(2 * 60), "there and back");
    });
    bed.run();
}

#[test]
fn an_interrupt_arrives_after_its_latency_and_not_twice() {
    let bed = bed(segment(Mode::PciX, MHZ_133, 8, false), pci_x::Spec::example(4, 8), fast());
    let card = bed.card(card(Mode::PciX, MHZ_133, 8));
    let slot = card.slot().clone();
    let sim = bed.sim.clone();
    static WAIT: Label = Label::reason("test");
    bed.sim.process("device", async move {
        card.interrupt(Errand::NOBODY);
        card.interrupt(Errand::NOBODY);
    });
    bed.sim.process("handler", async move {
        slot.interrupts().heard(&WAIT).await;
        assert_eq!(sim.now(), Time::us(1));
        assert!(!slot.interrupts().try_hear());
    });
    bed.run();
    assert_eq!(bed.sim.now(), Time::us(1));
}
