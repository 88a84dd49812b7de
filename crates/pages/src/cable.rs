//! What a page says of a cable in a capture.

use hopscope_signals::ide::pins::Pins;
use hopscope_signals::ide::summary::{Bursts, Summary};
use hopscope_signals::ide::together::{Delay, Measured};
use hopscope_signals::ide::{Protocol, direction};

use crate::page::{Block, Section};
use crate::table::{Cell, Table, Tone};
use crate::wording::{percent, rate, span_ps};

/// How much there was.
pub fn in_a_sentence(cable: &Pins) -> String {
    let summary = Summary::of(&cable.decoder);
    let accesses: u64 = summary.registers.values().map(|(count, _)| count).sum();
    let bursts: u64 = summary.bursts.values().map(|of| of.bursts).sum();
    let bytes: u64 = summary.bursts.values().map(|of| of.bytes).sum();
    let interrupts = summary.interrupts.0;
    format!(
        "IDE, {}: {accesses} register accesses, {bursts} bursts of {bytes} bytes, {interrupts} interrupts.",
        cable.scope
    )
}

/// Its tables, where there was anything.
pub fn section(number: usize, cable: &Pins, delays: &[(Delay, Measured)]) -> Option<Section> {
    let summary = Summary::of(&cable.decoder);
    let id = |what: &str| format!("cable-{number}-{what}");
    let mut section = Section::new(&format!("cable-{number}"), &format!("IDE: {}", cable.scope));
    if !cable.without.is_empty() {
        section = section.words(format!("Not in the capture: {}.", cable.without.join(", ")));
    }
    if !summary.bursts.is_empty() {
        let rows = summary.bursts.iter().map(|((protocol, reads), of)| burst(*protocol, *reads, of));
        let columns = [
            ("words by", "protocol"),
            ("", "direction"),
            ("bursts", "bursts"),
            ("bytes", "bytes"),
            ("rate", "bytes_per_s"),
            ("from word to word", "word_ps"),
            ("set-up and end", "around_share"),
            ("paused", "paused_share"),
            ("wrong CRC", "wrong_crc"),
        ];
        section.blocks.push(Block::Table(Table::new(&id("bursts"), "Bursts", &columns, rows.collect())));
    }
    if !summary.registers.is_empty() {
        let rows = summary.registers.iter().map(|((register, writes), (count, spent))| {
            let each = *spent as f64 / *count as f64;
            vec![
                Cell::words(*register),
                Cell::words(if *writes { "written" } else { "read" }),
                Cell::figure(count.to_string(), count),
                Cell::figure(span_ps(each), each),
            ]
        });
        let columns = [("register", "register"), ("", "way"), ("count", "count"), ("strobe", "strobe_ps")];
        section.blocks.push(Block::Table(Table::new(&id("registers"), "Register accesses", &columns, rows.collect())));
    }
    if !delays.is_empty() {
        let rows = delays.iter().map(|(delay, of)| {
            let spans = [of.least_ps, of.median_ps, of.longest_ps].map(|ps| Cell::figure(span_ps(ps as f64), ps));
            [Cell::words(delay.word()), Cell::figure(of.count.to_string(), of.count)].into_iter().chain(spans).collect()
        });
        let columns = [
            ("from … to", "delay"),
            ("count", "count"),
            ("least", "least_ps"),
            ("median", "median_ps"),
            ("longest", "longest_ps"),
        ];
        let table = Table::new(&id("delays"), "Delays between cause and effect", &columns, rows.collect());
        section.blocks.push(Block::Table(table));
    }
    (!section.blocks.is_empty()).then_some(section)
}

fn burst(protocol: Protocol, reads: bool, of: &Bursts) -> Vec<Cell> {
    let speed = of.bytes as f64 / (of.held_ps.max(1) as f64 / 1e12);
    let share = |part: u64| part as f64 / of.held_ps.max(1) as f64;
    let wrong = Cell::figure(of.wrong_crc.to_string(), of.wrong_crc);
    vec![
        Cell::words(protocol.word()),
        Cell::words(direction(reads)),
        Cell::figure(of.bursts.to_string(), of.bursts),
        Cell::figure(of.bytes.to_string(), of.bytes),
        Cell::figure(rate(speed), speed),
        of.word_ps.map_or_else(Cell::empty, |ps| Cell::figure(span_ps(ps as f64), ps)),
        Cell::figure(percent(share(of.around_ps)), share(of.around_ps)),
        Cell::figure(percent(share(of.pauses.1)), share(of.pauses.1)),
        if of.wrong_crc > 0 { wrong.tone(Tone::Poor) } else { wrong },
    ]
}
