//! What is drawn is what is decoded.

use hopscope_kernel::{Label, Time};
use hopscope_parts::protocols::pci::{
    ADDRESS, ATTRIBUTE, Command, DATA, DISCONNECT, MASTER_ABORT, REGISTER_DATA, RESPONSE, RETRY, SPECIAL,
    SPLIT_RESPONSE, TURNAROUND, packed,
};
use proptest::prelude::*;

use super::decode::Decoder;
use super::draw::Course;
use super::pins::{Missing, Pins};
use super::segment::Segment;
use super::summary::Summary;
use super::{Attributes, Clock, EndedBy, SPENT_ON, Transaction};
use crate::content::word;
use crate::timeline::steps::Steps;
use crate::waves::changes::Changes;
use crate::waves::vcd_in::VcdReader;
use crate::waves::vcd_out::VcdFile;

const CLOCK: Time = Time::ns(30);

fn course(command: Command, address: u32, wanted: u32, phases: &[(&'static Label, u64)]) -> Course {
    Course {
        start: Time::ns(300),
        command,
        address,
        wanted,
        width_bytes: 4,
        phases: phases.to_vec(),
        initiator: 0,
        written: None,
    }
}

/// FRAME#, IRDY#, DEVSEL#, TRDY#, STOP#: a letter where it is asserted.
fn shown(clocks: &[Clock]) -> Vec<String> {
    let line = |of: &dyn Fn(&Clock) -> bool, letter: char| -> String {
        clocks.iter().map(|clock| if of(clock) { letter } else { '.' }).collect()
    };
    vec![
        line(&|clock| clock.frame, 'F'),
        line(&|clock| clock.irdy, 'I'),
        line(&|clock| clock.devsel, 'D'),
        line(&|clock| clock.trdy, 'T'),
        line(&|clock| clock.stop, 'S'),
    ]
}

#[test]
fn a_read_burst_is_drawn_as_the_standard_has_it() {
    let phases: [(&'static Label, u64); 4] = [(&ADDRESS, 1), (&RESPONSE, 3), (&DATA, 3), (&TURNAROUND, 1)];
    let clocks = course(Command::MemoryRead, 0x1000, 12, &phases).clocks(7);
    assert_eq!(shown(&clocks), ["FFFFFF.", ".IIIIII", "..DDDDD", "....TTT", "......."]);
    let ad: Vec<Option<u64>> = clocks.iter().map(|clock| clock.ad).collect();
    let data = [0x1000, 0x1004, 0x1008].map(|at| Some(u64::from(word(7, at))));
    assert_eq!(ad, [&[Some(0x1000), None, None, None], &data[..]].concat());
    assert_eq!(clocks[0].cbe, Some(0b0110));
    assert!(clocks[1..].iter().all(|clock| clock.cbe == Some(0)));
}

#[test]
fn a_target_disconnects_with_its_last_data() {
    let phases: [(&'static Label, u64); 4] = [(&ADDRESS, 1), (&RESPONSE, 2), (&DATA, 2), (&DISCONNECT, 2)];
    let clocks = course(Command::MemoryWrite, 0x1000, 64, &phases).clocks(7);
    assert_eq!(shown(&clocks), ["FFFFF.", ".IIIII", "..DDDD", "...TT.", "....SS"]);
    // What is written is there from IRDY# on.
    assert_eq!(clocks[1].ad, Some(u64::from(word(7, 0x1000))));
}

#[test]
fn a_byte_and_a_retry_have_frame_for_a_clock() {
    let byte: [(&'static Label, u64); 4] = [(&ADDRESS, 1), (&RESPONSE, 1), (&REGISTER_DATA, 1), (&TURNAROUND, 1)];
    let clocks = course(Command::IoRead, 0x177, 1, &byte).clocks(0);
    assert_eq!(shown(&clocks), ["F..", ".II", "..D", "..T", "..."]);
    assert_eq!(clocks[2].cbe, Some(0b0111));
    let retry: [(&'static Label, u64); 4] = [(&ADDRESS, 1), (&RESPONSE, 2), (&RETRY, 1), (&TURNAROUND, 1)];
    let clocks = course(Command::MemoryRead, 0x1000, 64, &retry).clocks(0);
    assert_eq!(shown(&clocks), ["FFF.", ".III", "..DD", "....", "..SS"]);
    let nobody: [(&'static Label, u64); 3] = [(&ADDRESS, 1), (&SPECIAL, 4), (&TURNAROUND, 1)];
    let clocks = course(Command::SpecialCycle, 0, 4, &nobody).clocks(0);
    assert_eq!(shown(&clocks), ["F....", ".IIII", ".....", ".....", "....."]);
}

#[test]
fn a_split_read_and_a_write_on_pci_x_are_drawn_as_the_standard_has_them() {
    let head: [(&'static Label, u64); 3] = [(&ADDRESS, 1), (&ATTRIBUTE, 1), (&RESPONSE, 2)];
    let split = [&head[..], &[(&SPLIT_RESPONSE, 1), (&TURNAROUND, 1)]].concat();
    let clocks = course(Command::MemoryReadMultiple, 0x1000, 4_096, &split).clocks(7);
    assert_eq!(shown(&clocks), ["FFFF.", "...II", "..DD.", "....T", "....."]);
    assert_eq!((clocks[0].cbe, clocks[1].cbe), (Some(0b1110), Some(0)));
    let write = [&head[..], &[(&DATA, 5), (&DISCONNECT, 2)]].concat();
    let clocks = course(Command::MemoryWrite, 0x1000, 600, &write).clocks(7);
    assert_eq!(shown(&clocks), ["FFFFFFF..", "...IIIIII", "..DDDDDDD", "....TTTTT", "........S"]);
    // 600 bytes: 2 in C/BE#, 58h in AD[7:0].
    assert_eq!((clocks[1].ad.map(|ad| ad & 0xff), clocks[1].cbe), (Some(0x58), Some(2)));
}

/// Transactions on PCI-X, a line of letters a clock: FRAME#, IRDY#, DEVSEL#, TRDY#, STOP#.
fn on_pci_x(command: u8, clocks: &[&str]) -> Vec<Transaction> {
    let mut decoder = Decoder::of_pci_x();
    for (index, letters) in clocks.iter().enumerate() {
        let is = |letter| letters.contains(letter);
        let (ad, cbe) = match index {
            0 => (0x8000, command),
            1 => (0x0500_1080, 0b0001),
            _ => (0, 0),
        };
        let clock = Clock {
            frame: is('F'),
            irdy: is('I'),
            devsel: is('D'),
            trdy: is('T'),
            stop: is('S'),
            ad: Some(ad),
            cbe: Some(cbe),
            ..Clock::default()
        };
        decoder.clock(index as u64 * 10, index as u64 * 10 + 10, &clock);
    }
    decoder.clock(1_000, 1_010, &Clock::default());
    decoder.finish();
    decoder.transactions
}

#[test]
fn every_way_to_end_on_pci_x_is_told_from_the_others() {
    let attributes = Some(Attributes { requester: 0x10, tag: 5, bytes: 0x180 });
    for (ending, phases, ended_by) in [
        (&["FID", "IDT"][..], 1, EndedBy::Initiator),
        (&["FID", "IT"], 0, EndedBy::SplitResponse),
        (&["FID", "ITS"], 1, EndedBy::DisconnectWithData),
        (&["FID", "FIDT", "IDTS"], 2, EndedBy::DisconnectWithData),
        (&["FID", "IDS"], 0, EndedBy::Retry),
        (&["FID", "IS"], 0, EndedBy::TargetAbort),
        (&["FI", "FI", "FI", "I"], 0, EndedBy::MasterAbort),
    ] {
        let clocks = [&["F", "F", "F"], ending].concat();
        let all = on_pci_x(0b1110, &clocks);
        let [one] = &all[..] else { panic!("{ending:?}: {all:?}") };
        assert_eq!((one.ended_by, one.data_phases, one.attributes), (ended_by, phases, attributes), "{ending:?}");
        assert_eq!((one.command.word(), one.address), ("memory read block", Some(0x8000)));
    }
    assert!(!on_pci_x(0b1100, &["F", "F", "F", "FID", "IDT"])[0].command.reads());
}

/// A transaction with what is known of it.
#[derive(Clone, Debug)]
struct Drawn {
    idle: u64,
    initiator: usize,
    asked: bool,
    course: Course,
    data: u64,
    waits: u64,
    ended_by: EndedBy,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let commands = prop::sample::select(vec![
        Command::MemoryRead,
        Command::MemoryWrite,
        Command::MemoryReadLine,
        Command::IoRead,
        Command::IoWrite,
    ]);
    let numbers = (0u64..40, 0usize..2, any::<bool>(), 1u64..9, 1u64..20, 0u32..4_000, 0u8..5);
    (commands, numbers, prop::sample::select(vec![4u32, 8])).prop_map(
        |(command, (idle, initiator, asked, waits, data, place, how), width)| {
            let address = 0x8000_0000 + place * width;
            let all = data as u32 * width;
            let waited: [(&'static Label, u64); 2] = [(&ADDRESS, 1), (&RESPONSE, waits)];
            let (more, wanted, data, ended_by): (Vec<(&'static Label, u64)>, u32, u64, EndedBy) = match how {
                0 => (vec![(&RETRY, 1), (&TURNAROUND, 1)], all, 0, EndedBy::Retry),
                1 => (vec![(&DATA, data), (&DISCONNECT, 2)], all + width, data, EndedBy::DisconnectWithData),
                2 => (vec![(&MASTER_ABORT, 4), (&TURNAROUND, 1)], all, 0, EndedBy::MasterAbort),
                _ => (vec![(&DATA, data), (&TURNAROUND, 1)], all, data, EndedBy::Initiator),
            };
            let phases = if how == 2 { [&[waited[0]], &more[..]].concat() } else { [&waited, &more[..]].concat() };
            let waits = if how == 2 { 3 } else { waits };
            let course = Course {
                start: Time::ZERO,
                command,
                address,
                wanted,
                width_bytes: width,
                phases,
                initiator: 0,
                written: None,
            };
            Drawn { idle, initiator, asked, course, data, waits, ended_by }
        },
    )
}

/// Draws transactions one after the other, and says when each begins.
fn dump(all: &[Drawn], width_bytes: u32) -> (Vec<u8>, Vec<Time>) {
    let (mut changes, mut out, mut starts) = (Changes::default(), Vec::new(), Vec::new());
    let names = ["host".to_string(), "card".to_string()];
    let mut segment = Segment::new(&mut changes, "pci", (CLOCK, width_bytes), &names, (Time::ZERO, 3));
    let mut at = CLOCK * 2;
    for one in all {
        let idle = CLOCK * one.idle;
        if one.asked {
            segment.granted(one.initiator, at);
        }
        at += idle;
        starts.push(at);
        let Course { command, address, wanted, width_bytes, .. } = one.course;
        segment.begins(&mut changes, (at, one.initiator), (command, packed(address, wanted, width_bytes)));
        for &(label, clocks) in &one.course.phases {
            segment.phase(label, at, CLOCK * clocks);
            at += CLOCK * clocks;
        }
    }
    segment.finish(&mut changes, at + CLOCK * 3);
    let mut file = VcdFile::new(&mut out, changes.declared(), 0).expect("a buffer takes everything");
    changes.pass_on(u64::MAX, &mut file).expect("a buffer takes everything");
    file.finish((at + CLOCK * 3).as_ps()).expect("a buffer takes everything");
    (out, starts)
}

fn read(dump: &[u8]) -> Pins {
    let (reader, signals) = VcdReader::new(dump).expect("a dump");
    let mut pins = Pins::find(&signals, &[], None).expect("a bus");
    pins.follow_all(reader).expect("a whole dump");
    pins
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_drawn_is_decoded(all in prop::collection::vec(drawn(), 1..12)) {
        let width = all.iter().map(|one| one.course.width_bytes).max().unwrap_or(4);
        let (dump, starts) = dump(&all, width);
        let pins = read(&dump);
        prop_assert_eq!(pins.decoder.violations.len(), 0);
        prop_assert_eq!(&pins.initiators[..], &["host".to_string(), "card".to_string()][..]);
        prop_assert_eq!(pins.decoder.transactions.len(), all.len());
        for ((one, start), decoded) in all.iter().zip(&starts).zip(&pins.decoder.transactions) {
            let Transaction { start_ps, initiator, command, address, bytes, data_phases, .. } = decoded;
            prop_assert_eq!(*start_ps, start.as_ps());
            prop_assert_eq!(*initiator, Some(one.initiator));
            prop_assert_eq!(command.0, one.course.command.lines());
            prop_assert_eq!(*address, Some(u64::from(one.course.address)));
            prop_assert_eq!(*data_phases, one.data);
            prop_assert_eq!(*bytes, one.data * u64::from(one.course.width_bytes));
            prop_assert_eq!(decoded.wait_clocks, one.waits);
            prop_assert_eq!(decoded.ended_by, one.ended_by);
            prop_assert_eq!(decoded.parity_errors, 0);
        }
    }

    /// Steps against the transactions one by one: each picosecond of a transaction is in one kind of one step.
    #[test]
    fn where_the_time_goes_adds_up(all in prop::collection::vec(drawn(), 1..40)) {
        let width = all.iter().map(|one| one.course.width_bytes).max().unwrap_or(4);
        let (dump, _) = dump(&all, width);
        let (reader, signals) = VcdReader::new(&dump[..]).expect("a dump");
        let mut pins = Pins::find(&signals, &[], None).expect("a bus");
        pins.watch();
        pins.follow_all(reader).expect("a whole dump");
        let over_time = pins.decoder.over_time.as_ref().expect("it was asked for");
        let sums = |steps: &Steps| {
            let mut sums = vec![0; SPENT_ON.len()];
            steps.sums().iter().for_each(|step| sums.iter_mut().zip(step).for_each(|(all, sum)| *all += sum));
            sums
        };
        let bus = sums(&over_time.bus);
        let whole: u64 = pins.decoder.transactions.iter().map(|one| one.end_ps - one.start_ps).sum();
        prop_assert_eq!(bus.iter().sum::<u64>(), whole);
        let busy = |step: &Vec<u64>| step.iter().sum::<u64>() <= over_time.bus.step_ps();
        prop_assert!(over_time.bus.sums().iter().all(busy));
        // The clock is 30 ns, to the picosecond.
        let clock_ps = CLOCK.as_ps();
        let waits: u64 = pins.decoder.transactions.iter().map(|one| one.wait_clocks).sum();
        let data: u64 = pins.decoder.transactions.iter().map(|one| one.data_phases).sum();
        prop_assert_eq!((bus[1], bus[2]), (waits * clock_ps, data * clock_ps));
        let mut of_initiators = vec![0; SPENT_ON.len()];
        for (initiator, steps) in &over_time.initiators {
            let mine = pins.decoder.transactions.iter().filter(|one| one.initiator == *initiator);
            let (sums, spans) = (sums(steps), mine.map(|one| one.end_ps - one.start_ps).sum::<u64>());
            prop_assert_eq!(sums.iter().sum::<u64>(), spans);
            of_initiators.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
        }
        prop_assert_eq!(of_initiators, bus);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[#$01xzbr a-f!\"\n]{0,300}") {
        if let Ok((reader, signals)) = VcdReader::new(text.as_bytes()) {
            let _ = Pins::find(&signals, &[], None);
            let _ = reader.take_while(Result::is_ok).count();
        }
    }
}

#[test]
fn wrong_parity_is_found() {
    let clock =
        |ad, cbe, frame, irdy, par| Clock { ad: Some(ad), cbe: Some(cbe), frame, irdy, par, ..Clock::default() };
    let mut decoder = Decoder::default();
    let trdy = |clock: Clock| Clock { trdy: true, devsel: true, ..clock };
    for (index, clock) in [
        clock(0x1000, 0b0111, true, false, None),
        trdy(clock(0xff, 0, false, true, Some(super::parity(0x1000, 0b0111)))),
        Clock { par: Some(!super::parity(0xff, 0)), ..Clock::default() },
    ]
    .iter()
    .enumerate()
    {
        decoder.clock(index as u64 * 30, index as u64 * 30 + 30, clock);
    }
    decoder.finish();
    assert_eq!(decoder.transactions.iter().map(|one| one.parity_errors).collect::<Vec<_>>(), [1]);
}

/// A dump whose first clocks have one memory read of a word, with pins declared so.
fn foreign(declared: &[(&str, &str, u32)], ad: impl Fn(u32) -> String) -> String {
    let mut text = "$timescale 1 ns $end\n$scope module tb $end\n$scope module bus $end\n".to_string();
    for (name, code, bits) in declared {
        text += &format!("$var wire {bits} {code} {name} $end\n");
    }
    text += "$upscope $end\n$upscope $end\n$enddefinitions $end\n#0\n0c\n1f\n1i\n1t\n1d\n1s\nbx b\n";
    let rise = |at: u32, changes: &str| format!("#{at}\n1c\n{changes}#{}\n0c\n", at + 15);
    text += &rise(30, &format!("0f\nb0110 b\n{}", ad(0x1234_5670)));
    text += &rise(60, "1f\n0i\nb0 b\n");
    text += &rise(90, &format!("0d\n0t\n{}", ad(0xdead_beef)));
    text += &rise(120, "1i\n1d\n1t\n");
    text + &rise(150, "")
}

#[test]
fn clocks_in_which_a_pin_has_no_level_are_counted() {
    let declared = [("clk", "c", 1), ("FRAMEn", "f", 1), ("IRDYn", "i", 1), ("TRDYn", "t", 1)];
    let declared =
        [&declared[..], &[("DEVSELn", "d", 1), ("STOPn", "s", 1), ("AD", "a", 32), ("CBE", "b", 4)]].concat();
    let text = foreign(&declared, |value| format!("b{value:b} a\n"));
    let counted = |text: &str| read(text.as_bytes()).unknown_clocks().collect::<Vec<_>>();
    assert_eq!(counted(&text), []);
    // IRDY# of the whole read; before its first level nothing is expected of a pin.
    let lost = text.replace("1f\n0i\n", "1f\nxi\n");
    assert_eq!(counted(&lost), [("IRDY#", 2)]);
    assert_eq!(counted(&text.replace("\n1s\n", "\nxs\n")), []);
}

#[test]
fn a_bus_is_found_by_whatever_names_its_pins_have() {
    let vector = |ad: u32| format!("b{ad:b} a\n");
    let each = |ad: u32| (0..32).map(|bit| format!("{}a{bit}\n", ad >> bit & 1)).collect::<String>();
    let control = [("c", 1), ("f", 1), ("i", 1), ("t", 1), ("d", 1), ("s", 1), ("b", 4)];
    let named = |names: [&'static str; 7], ad: &[(&'static str, &'static str, u32)]| {
        let control = names.into_iter().zip(control).map(|(name, (code, bits))| (name, code, bits));
        control.chain(ad.iter().copied()).collect::<Vec<_>>()
    };
    let bits: Vec<(&'static str, &'static str, u32)> =
        (0..32).map(|bit| (&*format!("ad[{bit}]").leak(), &*format!("a{bit}").leak(), 1)).collect();
    for dump in [
        foreign(&named(["CLK", "FRAME#", "IRDY#", "TRDY#", "DEVSEL#", "STOP#", "C/BE#"], &[("AD", "a", 32)]), vector),
        foreign(
            &named(
                ["pci_clk", "pci_frame_n", "pci_irdy_n", "pci_trdy_n", "pci_devsel_n", "pci_stop_n", "pci_cbe_n"],
                &[("pci_ad[31:0]", "a", 32)],
            ),
            vector,
        ),
        foreign(&named(["pclk", "FRAMEn", "IRDYn", "TRDYn", "DEVSELn", "STOPn", "CBEn"], &bits), each),
    ] {
        let pins = read(dump.as_bytes());
        let [one] = &pins.decoder.transactions[..] else { panic!("{:?}", pins.decoder.transactions) };
        assert_eq!((one.address, one.data_phases, one.bytes, one.wait_clocks), (Some(0x1234_5670), 1, 4, 1));
        assert_eq!((one.start_ps, one.devsel_clocks, one.ended_by), (30_000, Some(2), EndedBy::Initiator));
        assert_eq!(one.initiator, None);
    }
}

#[test]
fn what_is_missing_is_named_and_can_be_mapped() {
    let declared = [
        ("CLK", "c", 1),
        ("weird", "f", 1),
        ("IRDY#", "i", 1),
        ("TRDY#", "t", 1),
        ("DEVSEL#", "d", 1),
        ("STOP#", "s", 1),
        ("C/BE#", "b", 4),
        ("AD", "a", 32),
    ];
    let dump = foreign(&declared, |ad| format!("b{ad:b} a\n"));
    let (_, signals) = VcdReader::new(dump.as_bytes()).expect("a dump");
    let missing = Pins::find(&signals, &[], None).err().expect("FRAME# is missing");
    assert_eq!(missing.pins, ["frame"]);
    assert!(missing.found.iter().any(|(pin, path)| *pin == "irdy" && path == "tb.bus.IRDY#"), "{missing:?}");
    let map = |path: &str| [("frame".to_string(), path.to_string())];
    assert!(Pins::find(&signals, &map("tb.bus.weird"), None).is_ok());
    assert_eq!(Pins::find(&signals, &map("tb.gone"), None).err().expect("no such signal").wrong, ["frame=tb.gone"]);
}

#[test]
fn a_file_that_is_broken_says_where() {
    let broken = |text: &str| -> String {
        let read =
            VcdReader::new(text.as_bytes()).and_then(|(mut reader, _)| reader.try_for_each(|next| next.map(drop)));
        read.map_or_else(|broken| format!("{}: {}", broken.at, broken.what), |()| "whole".to_string())
    };
    assert_eq!(broken("$scope module a $end\n"), "line 2: the file ends before $enddefinitions");
    assert_eq!(broken("$enddefinitions $end\n#10\n#5\n"), "line 3: time goes back to 5");
    assert_eq!(broken("$enddefinitions $end\n#10\n?\n"), "line 3: expected a time or a value, not `?`");
    let deep: String = (0..300).map(|_| "$scope module a $end\n").collect();
    assert_eq!(broken(&deep), "line 257: more than 256 scopes within each other");
}

/// Declarations of a bus in a scope, its pins named so, and codes that begin with `code`.
fn bus(scope: &str, names: [&str; 8], code: char) -> String {
    let bits = [1, 1, 1, 1, 1, 1, 4, 32];
    let wires = names.iter().zip("cfitdsba".chars()).zip(bits);
    let wires = wires.map(|((name, pin), bits)| format!("$var wire {bits} {code}{pin} {name} $end\n"));
    format!("$scope module {scope} $end\n{}$upscope $end\n", wires.collect::<String>())
}

const LOW: [&str; 8] = ["CLK", "FRAMEn", "IRDYn", "TRDYn", "DEVSELn", "STOPn", "C_BEn", "AD"];

fn buses_of(text: &str, scope: Option<&str>) -> Result<(String, Vec<String>), Missing> {
    let text = format!("{text}$enddefinitions $end\n");
    let (_, signals) = VcdReader::new(text.as_bytes()).expect("a dump");
    Pins::find(&signals, &[], scope).map(|pins| (pins.scope, pins.others))
}

#[test]
fn each_bus_is_found_once_and_can_be_chosen() {
    let top = bus("top", LOW, 'p');
    // The same nets again in a device, and a second bus behind it.
    let twice = top.clone() + &bus("device", LOW, 'p');
    assert_eq!(buses_of(&twice, None), Ok(("top".to_string(), vec![])));
    let both = twice + &bus("secondary_side", LOW, 's');
    assert_eq!(buses_of(&both, None), Ok(("top".to_string(), vec!["secondary_side".to_string()])));
    assert_eq!(buses_of(&both, Some("secondary_side")), Ok(("secondary_side".to_string(), vec!["top".to_string()])));
    let missing = buses_of(&both, Some("gone")).expect_err("no such bus");
    assert_eq!((missing.no_scope, missing.buses), (true, vec!["top".to_string(), "secondary_side".to_string()]));
}

#[test]
fn two_buses_of_a_bridge_lie_in_one_scope() {
    let primary = ["p_clk", "p_frame_n", "p_irdy_n", "p_trdy_n", "p_devsel_n", "p_stop_n", "p_cbe_n", "p_ad"];
    let secondary = ["s_clk", "s_frame_n", "s_irdy_n", "s_trdy_n", "s_devsel_n", "s_stop_n", "s_cbe_n", "s_ad"];
    let text = bus("bridge", primary, 'p') + &bus("bridge", secondary, 's');
    assert_eq!(buses_of(&text, None), Ok(("bridge.p".to_string(), vec!["bridge.s".to_string()])));
    // Ways that ports go are no buses.
    let ports = ["i_clk", "i_frame_l", "i_irdy_l", "o_trdy_l", "o_devsel_l", "o_stop_l", "i_cbe_l", "io_ad"];
    assert_eq!(buses_of(&bus("card", ports, 'c'), None), Ok(("card".to_string(), vec![])));
}

#[test]
fn a_register_that_sounds_like_a_pin_is_none() {
    let declared: Vec<(&str, &str, u32)> = LOW
        .iter()
        .zip(["c", "f", "i", "t", "d", "s", "b", "a"])
        .zip([1, 1, 1, 1, 1, 1, 4, 32])
        .map(|((name, code), bits)| (*name, code, bits))
        // A target's own, high where it is asserted: as STOP# it would be a disconnect.
        .chain([("Stop", "r", 1), ("MAS1_GNT", "g", 1), ("MAS2_GNT", "h", 1)])
        .collect();
    let dump = foreign(&declared, |ad| format!("b{ad:b} a\n")).replacen("#0\n", "#0\n0r\n1g\n0h\n", 1);
    let pins = read(dump.as_bytes());
    let [one] = &pins.decoder.transactions[..] else { panic!("{:?}", pins.decoder.transactions) };
    assert_eq!((one.ended_by, one.data_phases), (EndedBy::Initiator, 1));
    assert_eq!(one.initiator.map(|number| pins.initiators[number].as_str()), Some("mas2"));
}

#[test]
fn data_with_a_stop_that_waits_for_the_initiator_break_no_rule() {
    let held = Clock { devsel: true, cbe: Some(0), ad: Some(0), ..Clock::default() };
    let decoded = |clocks: &[Clock]| {
        let mut decoder = Decoder::default();
        for (clock, index) in clocks.iter().zip(0..) {
            decoder.clock(index * 30, index * 30 + 30, clock);
        }
        decoder.finish();
        (decoder.transactions[0].ended_by, decoder.violations.len())
    };
    let begin = Clock { frame: true, cbe: Some(0b0111), ad: Some(0x1000), ..Clock::default() };
    // STOP# and TRDY# together, a clock before IRDY#: disconnect A. PCI 2.2, 3.3.3.2.1.
    let offered = Clock { frame: true, trdy: true, stop: true, ..held };
    let taken = Clock { irdy: true, trdy: true, stop: true, ..held };
    assert_eq!(decoded(&[begin, offered, taken, Clock::default()]), (EndedBy::DisconnectWithData, 0));
    let refused = Clock { frame: true, irdy: true, stop: true, ..held };
    assert_eq!(decoded(&[begin, refused, taken, Clock::default()]).1, 1);
}

#[test]
fn what_is_not_listed_is_added_up_all_the_same() {
    let one = Drawn {
        idle: 2,
        initiator: 0,
        asked: true,
        course: course(Command::MemoryRead, 0x1000, 8, &[(&ADDRESS, 1), (&RESPONSE, 2), (&DATA, 2), (&TURNAROUND, 1)]),
        data: 2,
        waits: 2,
        ended_by: EndedBy::Initiator,
    };
    let (dump, _) = dump(&vec![one; 40], 4);
    let (reader, signals) = VcdReader::new(&dump[..]).expect("a dump");
    let mut pins = Pins::find(&signals, &[], None).expect("a bus");
    pins.decoder.listed_max = Some(7);
    pins.follow_all(reader).expect("a whole dump");
    let all = read(&dump);
    assert_eq!((pins.decoder.transactions.len(), all.decoder.transactions.len()), (7, 40));
    assert_eq!(pins.decoder.transactions[..], all.decoder.transactions[..7]);
    let (summary, of_all) = (Summary::of(&pins.decoder, 30_000.0), Summary::of(&all.decoder, 30_000.0));
    assert_eq!((summary.transactions, summary.bytes), (40, 320));
    assert_eq!(summary, of_all);
}
