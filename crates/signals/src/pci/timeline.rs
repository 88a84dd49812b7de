//! Transactions of a capture as a timeline: on a track of the bus with address, wait and data, and on a track of each
//! initiator, with a flow between the two.

use std::collections::HashMap;
use std::io::{self, Write};

use super::Transaction;
use super::pins::{NOBODY, Pins};
use crate::timeline::pftrace::{Note, Place, Slice, TimelineFile};

/// Draws those that are listed.
pub fn draw(pins: &Pins, file: &mut TimelineFile<impl Write>) -> io::Result<()> {
    let name = if pins.scope.is_empty() { "bus" } else { &pins.scope };
    let bus = file.track(Place { parent: None, name, rank: 0 })?;
    let mut initiators = HashMap::new();
    for (number, one) in (1..).zip(&pins.decoder.transactions) {
        let initiator = match initiators.get(&one.initiator) {
            Some(track) => *track,
            None => {
                let name = pins.initiator(one.initiator).unwrap_or(NOBODY);
                let rank = initiators.len() as u32 + 1;
                let track = file.track(Place { parent: None, name, rank })?;
                initiators.insert(one.initiator, track);
                track
            }
        };
        let notes = [
            ("bytes", Note::Number(one.bytes)),
            ("data phases", Note::Number(one.data_phases)),
            ("ended by", Note::Text(one.ended_by.word())),
            ("address", Note::Address(one.address.unwrap_or(0))),
        ];
        let notes = if one.address.is_some() { &notes[..] } else { &notes[..3] };
        let (name, span, flow) = (one.command.word(), (one.start_ps, one.end_ps), [number]);
        file.slice(initiator, span, &Slice { name, category: "initiator", flows: &flow, flows_end: &[], notes })?;
        file.begin(bus, span.0, &Slice { name, category: "transaction", flows: &[], flows_end: &flow, notes })?;
        for (name, from, until) in phases(one) {
            file.slice(bus, (from, until), &Slice { name, category: "phase", ..Slice::default() })?;
        }
        file.end(bus, span, &[])?;
    }
    Ok(())
}

/// What a transaction's clocks were, one after the other. Waits between data phases are not told apart from data.
fn phases(one: &Transaction) -> Vec<(&'static str, u64, u64)> {
    let [address, wait, data, between, after] = one.stretches();
    let transfer = if one.data_phases > 0 { "data" } else { "end" };
    let parts = [("address", address), ("wait", wait), (transfer, (data.0, between.1)), ("after data", after)];
    let spans = parts.into_iter().map(|(name, (from, until))| (name, from, until));
    spans.filter(|(_, from, until)| from < until).collect()
}
