//! Hand-made cables: names of other makers, protocols that no shipped machine uses, what is broken.

use hopscope_kernel::{Label, Record, Time};
use hopscope_parts::protocols::ide as says;

use super::cable::Cable;
use super::decode::{Decoder, Levels};
use super::pins::Pins;
use super::{Access, Protocol, crc};
use crate::waves::changes::Changes;
use crate::waves::vcd_in::VcdReader;
use crate::waves::vcd_out::VcdFile;

fn decoded(dump: &[u8]) -> Pins {
    let (reader, signals) = VcdReader::new(dump).expect("a dump");
    let mut pins = Pins::find_all(&signals).pop().expect("a cable");
    reader.for_each(|next| pins.follow(next.expect("a whole dump")));
    pins.finish();
    pins
}

fn phase(label: &'static Label, at: Time, span: Time) -> Record {
    Record::Phase { lane: 0, who: 0, label, at, span }
}

fn carried(label: &'static Label, at: Time, value: u64) -> Record {
    Record::Carried { lane: 0, who: 0, label, at, value }
}

/// What a cable says, drawn and decoded.
fn drawn(said: &[Record], end: Time) -> Pins {
    let mut changes = Changes::from(0);
    let mut cable = Cable::new(&mut changes, "cable", (Time::ZERO, 7));
    let mut out = Vec::new();
    let mut file = VcdFile::new(&mut out, changes.declared(), 0).unwrap();
    said.iter().for_each(|record| cable.record(&mut changes, record));
    cable.finish(&mut changes, end);
    changes.pass_on(end.as_ps(), &mut file).unwrap();
    file.finish(end.as_ps()).unwrap();
    decoded(&out)
}

fn moves(mode: says::Strobes, reads: bool, word: Time) -> Record {
    let moves = says::Moves { mode, reads, address: 0x1000, word };
    carried(&says::MOVES, Time::us(1), moves.packed())
}

#[test]
fn multiword_dma_is_told_from_ultra_dma_in_both_directions() {
    for reads in [false, true] {
        let word = Time::ns(120);
        let label = if reads { &says::WORDS_IN[0] } else { &says::WORDS_OUT[0] };
        let said = [
            moves(says::Strobes::Multiword, reads, word),
            phase(label, Time::us(1), word * 16),
            phase(label, Time::us(5), word * 16),
            carried(&says::TERMINATION, Time::us(7), 0),
        ];
        let pins = drawn(&said, Time::us(20));
        let [burst] = &pins.decoder.bursts[..] else { panic!("{:?}", pins.decoder.bursts) };
        assert_eq!((burst.protocol, burst.reads, burst.words), (Protocol::Multiword, reads, 32));
        assert_eq!((burst.word_ps, burst.pauses.len(), burst.crc), (Some(120_000), 1, None));
    }
}

#[test]
fn bursts_of_a_request_that_stays_do_not_overlap() {
    let mut decoder = Decoder::default();
    let idle = Levels { dmarq: true, ..Levels::default() };
    decoder.follow(0, Levels::default());
    decoder.follow(1_000, idle);
    for begin in [2_000, 12_000] {
        let held = Levels { dmack: false, dd: Some(7), ..idle };
        decoder.follow(begin, held);
        for word in 1..4 {
            decoder.follow(begin + word * 1_000, Levels { diow: false, ..held });
            decoder.follow(begin + word * 1_000 + 500, held);
        }
        decoder.follow(begin + 5_000, idle);
    }
    decoder.finish();
    let spans: Vec<(u64, u64)> = decoder.bursts.iter().map(|burst| (burst.start_ps, burst.end_ps)).collect();
    assert_eq!(spans, [(1_000, 7_000), (7_000, 17_000)]);
}

fn ultra(reads: bool, words: u64) -> Vec<Record> {
    let word = Time::ns(60);
    let label = if reads { &says::WORDS_IN[0] } else { &says::WORDS_OUT[0] };
    let begun = Time::us(2);
    let initiation = says::packed_times([Time::ns(20), Time::ns(40), Time::ZERO]);
    let termination = says::packed_times([Time::ns(100), Time::ns(75), Time::ns(20)]);
    let ended = begun + word * (words - 1);
    vec![
        moves(says::Strobes::Ultra, reads, word),
        carried(&says::INITIATION, Time::us(1), initiation),
        phase(&says::BURST_START, Time::us(1), Time::us(1)),
        phase(label, begun, word * words),
        carried(&says::TERMINATION, ended, termination),
        phase(&says::BURST_END, ended + word, Time::ns(200)),
    ]
}

#[test]
fn an_ultra_dma_burst_has_its_words_and_its_crc_whether_even_or_odd() {
    for (reads, words) in [(false, 16), (true, 16), (false, 17), (true, 17), (true, 1), (false, 1)] {
        let pins = drawn(&ultra(reads, words), Time::us(20));
        let [burst] = &pins.decoder.bursts[..] else { panic!("{reads} {words}: {:?}", pins.decoder.bursts) };
        assert_eq!((burst.protocol, burst.reads, burst.words), (Protocol::Ultra, reads, words));
        let (right, sent) = burst.crc.expect("a CRC");
        assert_eq!((Some(right), burst.cut, burst.start_ps), (sent, false, 1_000_000), "{reads} {words}");
        assert_eq!(burst.strobes_ps.0, 2_000_000);
    }
}

#[test]
fn a_receiver_that_pauses_negates_its_ready_and_no_word_is_lost() {
    let word = Time::ns(60);
    let mut said = ultra(true, 16);
    said.insert(4, carried(&says::READY_AGAIN, Time::us(6), Time::us(1).as_ps()));
    said.insert(5, phase(&says::WORDS_IN[0], Time::us(5), word * 16));
    for later in &mut said[6..] {
        if let Record::Carried { at, .. } | Record::Phase { at, .. } = later {
            *at = Time::us(6);
        }
    }
    let pins = drawn(&said, Time::us(20));
    let [burst] = &pins.decoder.bursts[..] else { panic!("{:?}", pins.decoder.bursts) };
    assert_eq!((burst.words, burst.pauses.len()), (32, 1));
    assert_eq!(burst.pauses[0], (2_900_000, 5_000_000));
    assert!(burst.crc.is_some_and(|(right, sent)| sent == Some(right)));
}

/// A cable of somebody else: other names, a signal a chip select, strobes that a board's scope has with it.
const FOREIGN: &str = "\
$timescale 1 ns $end
$scope module top $end
$scope module dut $end
$var wire 1 ! ide_cs0_n $end
$var wire 1 \" ide_cs1_n $end
$var wire 3 # ide_da [2:0] $end
$var wire 16 $ ide_dd [15:0] $end
$var wire 1 % ide_diow_n $end
$var wire 1 & ide_dior_n $end
$var wire 1 ' ide_iordy $end
$var wire 1 ( ide_dmarq $end
$var wire 1 ) ide_dmack_n $end
$var wire 1 * ide_intrq $end
$var wire 1 + unrelated $end
$upscope $end
$upscope $end
$enddefinitions $end
#0
1!
1\"
b000 #
bz $
1%
1&
1'
0(
1)
0*
";

fn foreign(rest: &str) -> Pins {
    decoded((FOREIGN.to_string() + rest).as_bytes())
}

#[test]
fn registers_go_by_their_names_whoever_drew_them() {
    let pins = foreign(
        "#10\n0!\nb111 #\n#20\n0%\nb11001000 $\n#90\n1%\n#100\n1!\nbz $\n1*\n#200\n0\"\nb110 #\n#210\n0&\nb1010000 $\n#280\n1&\n#290\n1\"\n0*\n",
    );
    assert_eq!(pins.scope, "top.dut.ide");
    let [command, alternate] = pins.decoder.accesses[..] else { panic!("{:?}", pins.decoder.accesses) };
    assert_eq!(
        command,
        Access { start_ps: 20_000, end_ps: 90_000, control: false, da: 7, writes: true, value: Some(0xc8) }
    );
    assert_eq!((alternate.control, alternate.da, alternate.writes, alternate.value), (true, 6, false, Some(0x50)));
    assert_eq!(pins.decoder.interrupts, [(100_000, Some(290_000))]);
}

/// An Ultra DMA burst from the drive of two words, with this CRC.
fn two_words(crc: u16) -> String {
    let start =
        "#10\n1(\n#20\n0)\n#30\n0%\n0&\n#60\nb1 $\n#70\n0'\n#100\nb10 $\n#110\n1'\n#150\n1&\n#200\n1%\n#210\n0(\n";
    format!("{start}b{crc:b} $\n#300\n1)\n#310\nbz $\n")
}

#[test]
fn a_wrong_crc_is_seen() {
    let right = [1, 2].into_iter().fold(crc::SEED, crc::with);
    for (sent, wrong) in [(right, 0), (right ^ 0x10, 1)] {
        let pins = foreign(&two_words(sent));
        let summary = super::summary::Summary::of(&pins.decoder);
        let of = &summary.bursts[&(Protocol::Ultra, true)];
        assert_eq!((of.bursts, of.bytes, of.wrong_crc), (1, 4, wrong));
    }
}

#[test]
fn a_burst_that_the_capture_cuts_has_no_crc() {
    let whole = two_words(0);
    let pins = foreign(whole.split_once("#200").expect("STOP").0);
    let [burst] = &pins.decoder.bursts[..] else { panic!("{:?}", pins.decoder.bursts) };
    assert_eq!((burst.words, burst.cut, burst.crc), (2, true, None));
}

#[test]
fn no_cable_is_seen_where_there_is_none() {
    let wires =
        ["cs_n", "addr", "data", "rd", "wr", "da", "dd"].map(|name| format!("$var wire 1 {name} {name} $end\n"));
    let text = format!("$scope module memory $end\n{}$upscope $end\n$enddefinitions $end\n", wires.concat());
    let (_, signals) = VcdReader::new(text.as_bytes()).expect("a dump");
    assert!(Pins::find_all(&signals).is_empty());
}
