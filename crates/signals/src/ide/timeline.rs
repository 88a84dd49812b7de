//! A cable of a capture as a timeline: its register accesses on one track, its bursts with what they are made of on
//! another.

use std::io::{self, Write};

use super::over_time::{USED_FOR, parts};
use super::pins::Pins;
use super::{direction, register};
use crate::timeline::pftrace::{Note, Place, Slice, TimelineFile};

/// Draws what is listed of a cable, behind `rank` other tracks.
pub fn draw(pins: &Pins, file: &mut TimelineFile<impl Write>, rank: u32) -> io::Result<()> {
    let name = format!("IDE: {}", pins.scope);
    let cable = file.track(Place { parent: None, name: &name, rank })?;
    let registers = file.track(Place { parent: Some(cable), name: "registers", rank: 0 })?;
    for one in &pins.decoder.accesses {
        let way = ("way", Note::Text(if one.writes { "written" } else { "read" }));
        let notes = [way, ("value", Note::Address(u64::from(one.value.unwrap_or(0))))];
        let notes = if one.value.is_some() { &notes[..] } else { &notes[..1] };
        let name = register(one.control, one.da, one.writes);
        let slice = Slice { name, category: "register", flows: &[], flows_end: &[], notes };
        file.slice(registers, (one.start_ps, one.end_ps), &slice)?;
    }
    let bursts = file.track(Place { parent: Some(cable), name: "bursts", rank: 1 })?;
    for one in &pins.decoder.bursts {
        let notes = [("words", Note::Number(one.words)), ("direction", Note::Text(direction(one.reads)))];
        let span = (one.start_ps, one.end_ps);
        let slice = Slice { name: one.protocol.word(), category: "burst", flows: &[], flows_end: &[], notes: &notes };
        file.begin(bursts, span.0, &slice)?;
        for (kind, from_ps, until_ps) in parts(one) {
            let slice = Slice { name: USED_FOR[kind], category: "part of a burst", ..Slice::default() };
            file.slice(bursts, (from_ps, until_ps), &slice)?;
        }
        file.end(bursts, span, &[])?;
    }
    Ok(())
}
