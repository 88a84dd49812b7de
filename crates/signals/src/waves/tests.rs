//! What is written is read again, as either kind of file, and a file that is damaged says so.

use std::collections::{BTreeMap, HashSet};
use std::io::Cursor;

use proptest::prelude::*;

use super::capture::{Capture, Kind};
use super::changes::{Changes, Level, Sink, Wire};
use super::fst_in::FstReader;
use super::fst_out::FstFile;
use super::read::{Bits, Broken, Next, Place, Signal};
use super::vcd_in::VcdReader;
use super::vcd_out::VcdFile;

type Read<'a> = Capture<&'a [u8], Cursor<&'a [u8]>>;

/// As either kind of file, from `start_ps` on.
fn written(changes: &[(u64, Wire, Level)], declared: &Changes, start_ps: u64, end_ps: u64) -> [Vec<u8>; 2] {
    let (mut text, mut packed) = (Vec::new(), Vec::new());
    let mut vcd = VcdFile::new(&mut text, declared.declared(), start_ps).expect("a buffer takes everything");
    let mut fst = FstFile::new(Cursor::new(&mut packed), declared.declared(), start_ps).expect("so it does");
    for (at, wire, level) in changes {
        vcd.change(*at, *wire, *level).expect("a buffer takes everything");
        fst.change(*at, *wire, *level).expect("a buffer takes everything");
    }
    vcd.finish(end_ps).expect("a buffer takes everything");
    fst.finish(end_ps).expect("a buffer takes everything");
    [text, packed]
}

fn opened(file: &[u8]) -> Result<(Read<'_>, Vec<Signal>), Broken> {
    match Kind::of(file).expect("a waveform") {
        Kind::Vcd => Capture::vcd(file),
        Kind::Fst => Capture::fst(Cursor::new(file)),
    }
}

/// What every signal carries and since when, by its path; and the last time.
fn courses(file: &[u8]) -> (BTreeMap<String, Vec<(u64, Bits)>>, u64) {
    let (reader, signals) = opened(file).expect("a file");
    let (mut courses, mut now) = (BTreeMap::new(), 0);
    for signal in &signals {
        courses.insert(format!("{} of {}", signal.path(), signal.bits), Vec::new());
    }
    for next in reader {
        match next.expect("a whole file") {
            Next::Time(at) => now = at,
            Next::Change(code, bits) => {
                for signal in signals.iter().filter(|signal| signal.code == code) {
                    let course: &mut Vec<(u64, Bits)> =
                        courses.get_mut(&format!("{} of {}", signal.path(), signal.bits)).expect("it was declared");
                    let mask = if signal.bits >= 64 { u64::MAX } else { (1 << signal.bits) - 1 };
                    let bits = Bits { value: bits.value & mask, known: bits.known & mask };
                    // What is carried for no time is not carried: a packed file says of its first instant how that ends.
                    course.pop_if(|(since, _)| *since == now);
                    if course.last().map_or(UNKNOWN, |(_, before)| *before) != bits {
                        course.push((now, bits));
                    }
                }
            }
        }
    }
    (courses, now)
}

fn level() -> impl Strategy<Value = Level> {
    prop_oneof![Just(Level::Floating), any::<u64>().prop_map(Level::Driven), (0u64..2).prop_map(Level::Driven)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_kinds_of_file_say_the_same(
        widths in prop::collection::vec(prop::sample::select(vec![1u32, 2, 4, 8, 31, 32, 33, 63, 64]), 1..8),
        steps in prop::collection::vec((0u64..5_000, any::<prop::sample::Index>(), level()), 0..200),
        start in prop::sample::select(vec![0u64, 1, 3_000_000_000]),
    ) {
        let mut declared = Changes::default();
        let scopes: [&[&str]; 3] = [&["top"], &["top", "bus"], &["other"]];
        for (number, bits) in widths.iter().enumerate() {
            declared.declare(scopes[number % 3], &format!("w{number}#"), *bits, Level::Driven(0));
        }
        let (mut at, mut changes) = (start, Vec::new());
        for (later, wire, level) in steps {
            at += later;
            let bits = widths[wire.index(widths.len())];
            let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
            let level = match level {
                Level::Driven(value) => Level::Driven(value & mask),
                floating => floating,
            };
            changes.push((at, Wire(wire.index(widths.len()) as u32), level));
        }
        let [text, packed] = written(&changes, &declared, start, at + 7);
        let ((of_text, end_of_text), (of_packed, end_of_packed)) = (courses(&text), courses(&packed));
        prop_assert_eq!(end_of_text, end_of_packed);
        prop_assert_eq!(of_text, of_packed);
    }

    #[test]
    fn no_damage_makes_the_reader_panic(
        at in any::<prop::sample::Index>(),
        to in any::<u8>(),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let mut file = small();
        let at = at.index(file.len());
        file[at] = to;
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        if let Ok((reader, _)) = FstReader::new(Cursor::new(&file[..])) {
            prop_assert!(reader.take(100_000).count() < 100_000);
        }
    }
}

#[test]
fn what_changes_at_the_first_instant_is_in_both_kinds_of_file_as_it_is_behind_that() {
    let mut declared = Changes::default();
    let wires = ["a", "b"].map(|name| declared.declare(&["top"], name, 8, Level::Driven(0)));
    let changes = [(0, wires[0], Level::Floating), (0, wires[1], Level::Driven(5)), (0, wires[1], Level::Driven(9))];
    for file in written(&changes, &declared, 0, 7) {
        let (courses, end) = courses(&file);
        let nine = Bits { value: 9, known: 0xFF };
        assert_eq!((&courses["top.a of 8"][..], &courses["top.b of 8"][..], end), (&[][..], &[(0, nine)][..], 7));
    }
}

/// A small FST file.
fn small() -> Vec<u8> {
    let mut declared = Changes::default();
    let clk = declared.declare(&["pci"], "CLK", 1, Level::Driven(0));
    let ad = declared.declare(&["pci"], "AD", 32, Level::Floating);
    let mut changes = Vec::new();
    for clock in 0..40 {
        changes.push((clock * 30_000, clk, Level::Driven(1)));
        changes.push((clock * 30_000, ad, if clock % 4 == 0 { Level::Floating } else { Level::Driven(clock * 77) }));
        changes.push((clock * 30_000 + 15_000, clk, Level::Driven(0)));
    }
    let [_, packed] = written(&changes, &declared, 0, 1_200_000);
    packed
}

#[test]
fn a_file_of_many_blocks_is_one_course() {
    let mut declared = Changes::default();
    let ad = declared.declare(&["pci"], "AD", 64, Level::Driven(0));
    let clk = declared.declare(&["pci"], "CLK", 1, Level::Driven(0));
    let count = 1_200_000u64;
    let changes: Vec<(u64, Wire, Level)> = (1..=count)
        .flat_map(|step| {
            let mixed = step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            [(step * 10, ad, Level::Driven(mixed)), (step * 10, clk, Level::Driven(step & 1))]
        })
        .collect();
    let [_, packed] = written(&changes, &declared, 0, count * 10);
    let (courses, end) = courses(&packed);
    assert_eq!(end, count * 10);
    assert_eq!(
        (courses["pci.AD of 64"].len(), courses["pci.CLK of 1"].len()),
        (count as usize + 1, count as usize + 1)
    );
    let right = |(step, (at, bits)): (usize, &(u64, Bits))| {
        *at == step as u64 * 10 && bits.value == (step as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    assert!(courses["pci.AD of 64"].iter().enumerate().all(right));
    // More than one block, or this test has not seen what its name says.
    let blocks = packed_blocks(&packed).iter().filter(|kind| matches!(kind, 1 | 5 | 8)).count();
    assert!(blocks > 1, "{blocks}");
}

/// The kinds of a file's blocks, in order.
fn packed_blocks(file: &[u8]) -> Vec<u8> {
    let (mut kinds, mut at) = (Vec::new(), 0);
    while let Some(head) = file.get(at..at + 9) {
        kinds.push(head[0]);
        at += 1 + head[1..].iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    }
    kinds
}

#[test]
fn only_what_is_wanted_is_said() {
    let file = small();
    let (mut reader, signals) = opened(&file).expect("a file");
    let clk = signals.iter().find(|signal| signal.name == "CLK").expect("it was declared").code;
    reader.only(&HashSet::from([clk]));
    let codes: HashSet<_> = reader
        .filter_map(|next| match next.expect("a whole file") {
            Next::Change(code, _) => Some(code),
            Next::Time(_) => None,
        })
        .collect();
    assert_eq!(codes, HashSet::from([clk]));
}

#[test]
fn a_file_that_is_cut_says_so_and_what_was_whole_is_read() {
    let file = small();
    let cut = &file[..file.len() - 5];
    let what = |file: &[u8]| -> (usize, String) {
        match opened(file) {
            Ok((reader, _)) => {
                let all: Vec<_> = reader.collect();
                let why = all.iter().find_map(|next| next.as_ref().err()).map_or("whole".to_string(), |broken| {
                    assert!(matches!(broken.at, Place::Byte(_)), "{broken:?}");
                    broken.what.clone()
                });
                (all.iter().filter(|next| next.is_ok()).count(), why)
            }
            Err(broken) => (0, broken.what),
        }
    };
    assert_eq!(what(&file).1, "whole");
    assert!(what(&file).0 > 100);
    assert_eq!(what(cut), (0, "the file ends within a block".to_string()));
    // A block that its writer had begun, behind those that are whole.
    let begun = [&file[..], &[5, 0, 0, 0, 0, 0, 1, 0, 0, 9, 9]].concat();
    assert_eq!((what(&begun).0, what(&begun).1.as_str()), (what(&file).0, "the file ends within a block"));
    let open = [&file[..], &[255, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    assert_eq!(what(&open).1, "the file was not closed by whoever wrote it");
    assert!(what(&file[..340]).1.contains("no block of names comes"), "{}", what(&file[..340]).1);
    let whole = [&[254u8, 0, 0, 0, 0, 0, 0, 0, 40], &[0u8; 40][..]].concat();
    assert!(what(&whole).1.contains("packed once more as a whole"), "{}", what(&whole).1);
}

#[test]
fn a_kind_is_told_by_how_a_file_begins() {
    assert_eq!(Kind::of(&small()), Some(Kind::Fst));
    assert_eq!(Kind::of(b"$date"), Some(Kind::Vcd));
    assert_eq!(Kind::of(b"\r\n  $version"), Some(Kind::Vcd));
    assert_eq!((Kind::of(b""), Kind::of(b"\xd4\xc3\xb2\xa1"), Kind::of(b"hello")), (None, None, None));
}

/// What a dump says of its signals, or why it cannot be read.
fn dump_says(text: &str) -> Result<Vec<(u64, String, Bits)>, String> {
    let said = |broken: Broken| format!("{}: {}", broken.at, broken.what);
    let (reader, signals) = VcdReader::new(text.as_bytes()).map_err(said)?;
    let (mut now, mut all) = (0, Vec::new());
    for next in reader {
        match next.map_err(said)? {
            Next::Time(at) => now = at,
            Next::Change(code, bits) => {
                let of = signals.iter().filter(|signal| signal.code == code);
                all.extend(of.map(|signal| (now, signal.path(), bits)));
            }
        }
    }
    Ok(all)
}

const ONE: Bits = Bits { value: 1, known: u64::MAX };
const UNKNOWN: Bits = Bits { value: 0, known: 0 };

#[test]
fn what_simulators_add_to_a_dump_is_passed_over() {
    // Keywords, kinds of scopes and variables that the standard has not, carriage returns, no unit of time, numbers with
    // a fraction, text, and dumping that is switched off and on again.
    let text = "$version Some $var simulator $end\r\n$attrbegin misc 07 name 3 $end\r\n$timezero 5 $end\r\n\
        $scope vhdl_architecture top(rtl) $end\r\n$var logic 1 ! clk $end\r\n$var real 64 r temperature $end\r\n\
        $var string 1 s state $end\r\n$var wire 4 n nibble [3:0] $end\r\n$upscope $end\r\n$enddefinitions $end\r\n\
        #0\r\n$dumpvars\r\n1!\r\nr1.5e-3 r\r\nsIDLE s\r\nbx n\r\n$end\r\n$comment #7 0! $end\r\n#2\r\n\
        $dumpoff\r\nx!\r\n$end\r\n#3\r\n$dumpon\r\nH!\r\nb1 n\r\n$end\r\n";
    let (clk, nibble) = ("top(rtl).clk".to_string(), "top(rtl).nibble[3:0]".to_string());
    let level = |value, known| Bits { value, known };
    assert_eq!(
        dump_says(text),
        Ok(vec![
            (0, clk.clone(), ONE),
            (0, nibble.clone(), UNKNOWN),
            // Nanoseconds where nothing is said.
            (2_000, clk.clone(), UNKNOWN),
            (3_000, clk, level(1, 1)),
            (3_000, nibble, ONE),
        ])
    );
}

#[test]
fn what_is_wrong_with_a_dump_is_said_with_its_line() {
    let begin = "$timescale 1 ns $end\n$var wire 1 ! clk $end\n$enddefinitions $end\n";
    let wrong = |text: &str| dump_says(text).expect_err(text);
    assert_eq!(wrong(&format!("{begin}#0\n1!\n#5")), "line 6: the file ends in a word");
    assert_eq!(wrong(&format!("{begin}#0\n$comment no end\n")), "line 6: the file ends within $comment");
    assert_eq!(wrong(&format!("{begin}#0\nb01\n")), "line 6: the file ends behind a value");
    assert_eq!(wrong(&format!("{begin}#0\nb02 !\n")), "line 5: expected a value of 0, 1, x and z, not `2`");
    assert_eq!(wrong(&format!("{begin}#-3\n")), "line 4: expected a time behind #, not `-3`");
    assert_eq!(wrong(&format!("{begin}#9\n#8\n")), "line 5: time goes back to 8");
    assert!(wrong(&format!("{begin}#0\npU 0 6 <0\n")).contains("extended value change dump"));
    assert!(wrong("$timescale 1 fortnight $end\n").contains("expected a time such as 1 ns"));
    assert!(wrong("$var wire one ! clk $end\n").contains("expected `wire 1 ! name` behind $var"));
    assert!(wrong("hello\n").contains("expected a keyword such as $var, not `hello`"));
    assert!(wrong(&format!("{begin}{}\n", "1".repeat(2 << 20))).contains("a word of more than 1048576 characters"));
    let deep: String = (0..300).map(|_| "$scope module a $end\n").collect();
    assert_eq!(wrong(&deep), "line 257: more than 256 scopes within each other");
}

#[test]
fn a_million_scopes_and_signals_are_read() {
    let mut text = String::new();
    for number in 0u64..1_000_000 {
        let code = super::read::IdCode::from(number);
        text += &format!("$scope module m $end $var wire 1 {code} w $end $upscope $end\n");
    }
    text += "$enddefinitions $end\n#0\n1!\n";
    let (reader, signals) = VcdReader::new(text.as_bytes()).expect("a dump");
    assert_eq!((signals.len(), reader.filter(Result::is_ok).count()), (1_000_000, 2));
}
