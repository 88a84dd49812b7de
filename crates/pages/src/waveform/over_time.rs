//! A bus and cables over time: a row each, and one for each initiator.

use hopscope_signals::ide::over_time::{USED_FOR, parts};
use hopscope_signals::ide::{direction, register};
use hopscope_signals::pci::pins::Pins;
use hopscope_signals::pci::{SPENT_ON, Transaction};
use hopscope_signals::timeline::steps::Steps;
use hopscope_signals::waveform::{Bus, Waveform};

use super::{CLASSES, who};
use crate::charts::levels::{Kind, Levels, Measure, Row, Single, kinds};
use crate::page::{Block, Section};

/// How each of [`USED_FOR`] is drawn.
const CABLE_CLASSES: [&str; 4] = ["protocol", "protocol", "payload", "waiting"];

/// All of it over time.
pub fn section(found: &Waveform) -> Option<Section> {
    let (bus, cables) = (found.bus.as_ref(), &found.cables);
    let mut rows = Vec::new();
    let mut singles = Vec::new();
    let mut listed_until_ps = u64::MAX;
    if let Some((Bus { pins, summary, .. }, steps)) =
        bus.and_then(|bus| Some((bus, bus.pins.decoder.over_time.as_ref()?)))
    {
        rows.push(row(pins.decoder.protocol().to_string() + " bus", kinds(&SPENT_ON, &CLASSES), 72.0, &steps.bus));
        let mut initiators: Vec<_> = steps.initiators.iter().collect();
        initiators.sort_by_key(|(initiator, _)| *initiator);
        for (initiator, steps) in &initiators {
            rows.push(row(who(pins, *initiator), kinds(&SPENT_ON, &CLASSES), 40.0, steps));
        }
        let place = |one: &Transaction| initiators.iter().position(|(known, _)| *known == one.initiator);
        let transactions = &pins.decoder.transactions;
        singles.extend(transactions.iter().map(|one| transaction(pins, one, place(one).map(|place| place + 1))));
        if (transactions.len() as u64) < summary.transactions {
            listed_until_ps = transactions.last().map_or(0, |one| one.end_ps);
        }
    }
    for of in cables {
        let Some(steps) = &of.decoder.over_time else { continue };
        let place = rows.len();
        rows.push(row(format!("IDE: {}", of.scope), kinds(&USED_FOR, &CABLE_CLASSES), 48.0, steps));
        let listed = of.decoder.accesses.iter().map(|access| {
            let way = if access.writes { "written" } else { "read" };
            let value = access.value.map_or(String::new(), |value| format!(": {value:#04x}"));
            let words = format!("{}, {way}{value}", register(access.control, access.da, access.writes));
            single(place, (access.start_ps, access.end_ps), words, vec![(0, access.end_ps)])
        });
        singles.extend(listed.chain(of.decoder.bursts.iter().map(|burst| {
            let parts = parts(burst).into_iter().map(|(kind, _, until)| (kind, until)).collect();
            let words = format!("{}, {} words {}", burst.protocol.word(), burst.words, direction(burst.reads));
            single(place, (burst.start_ps, burst.end_ps), words, parts)
        })));
        let limit = of.decoder.listed_max.unwrap_or(usize::MAX);
        if of.decoder.accesses.len().max(of.decoder.bursts.len()) >= limit {
            let ends = [of.decoder.accesses.last().map(|of| of.end_ps), of.decoder.bursts.last().map(|of| of.end_ps)];
            listed_until_ps = listed_until_ps.min(ends.into_iter().flatten().min().unwrap_or(0));
        }
    }
    let (from_ps, until_ps) =
        (rows.iter().map(|row| row.span_ps.0).min()?, rows.iter().map(|row| row.span_ps.1).max()?);
    let until_ps =
        bus.map_or(until_ps, |bus| until_ps.max(from_ps + (bus.summary.clocks as f64 * bus.summary.clock_ps) as u64));
    let levels = Levels::new("Over time", (from_ps, until_ps), rows, singles, listed_until_ps);
    Some(Section::new("timeline", "Over time").block(Block::Figures(vec![levels.figure("Where the time went.")], 1)))
}

fn row(name: String, kinds: Vec<Kind>, height: f64, steps: &Steps) -> Row {
    Row::new(name, kinds, Measure::Share, height, steps)
}

/// Something of one row.
fn single(row: usize, (from_ps, until_ps): (u64, u64), words: String, parts: Vec<(usize, u64)>) -> Single {
    Single { rows: vec![row], from_ps, until_ps, words, address: None, lane: 0, request: None, parts }
}

fn transaction(pins: &Pins, one: &Transaction, initiator: Option<usize>) -> Single {
    let phases =
        if one.data_phases == 1 { "1 data phase".to_string() } else { format!("{} data phases", one.data_phases) };
    let words = format!(
        "{}, {} bytes in {phases}, {}, ended by: {}",
        one.command.word(),
        one.bytes,
        who(pins, one.initiator),
        one.ended_by.word()
    );
    let stretches = one.stretches().into_iter().enumerate().filter(|(_, (from_ps, until_ps))| from_ps < until_ps);
    let parts = stretches.map(|(kind, (_, until_ps))| (kind, until_ps)).collect();
    let rows = [Some(0), initiator].into_iter().flatten().collect();
    Single {
        rows,
        from_ps: one.start_ps,
        until_ps: one.end_ps,
        words,
        address: one.address,
        lane: 0,
        request: None,
        parts,
    }
}
