//! Requests of a capture of packets as a timeline: each from its capture to that of its last completion, on as many
//! tracks of its requester as it has requests under way, with a flow to its first and to its last completion.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::capture::Capture;
use crate::timeline::pftrace::{Note, Place, Slice, TimelineFile, Track};
use crate::timeline::slots::Slots;

/// The tracks of a requester.
struct Requester {
    group: Track,
    completions: Option<Track>,
    slots: Slots,
    rows: Vec<Track>,
}

/// Writes them; those that are not listed are left out.
pub fn draw(capture: &Capture, out: impl Write) -> io::Result<()> {
    let mut file = TimelineFile::new(out)?;
    let mut requesters: BTreeMap<_, Requester> = BTreeMap::new();
    let first = capture.transactions.iter().map(|one| one.start_ns).min().unwrap_or(0);
    let at = |ns: i64| ns.saturating_sub(first).max(0) as u64 * 1_000;
    for (number, one) in (1..).zip(&capture.transactions) {
        let rank = requesters.len() as u32;
        let of = match requesters.entry((one.way, one.requester.id)) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                let name = format!("{} ({})", one.requester.id, one.way.word());
                let group = file.track(Place { parent: None, name: &name, rank })?;
                new.insert(Requester { group, completions: None, slots: Slots::default(), rows: Vec::new() })
            }
        };
        let span = (at(one.start_ns), at(one.end_ns.unwrap_or(one.start_ns).max(one.start_ns)));
        let row = of.slots.row(span.0, span.1);
        if row == of.rows.len() {
            let name = format!("requests ({})", row + 1);
            of.rows.push(file.track(Place { parent: Some(of.group), name: &name, rank: row as u32 })?);
        }
        let flow = [number];
        let notes = [
            ("frame", Note::Number(one.frame)),
            ("tag", Note::Number(u64::from(one.requester.tag))),
            ("address", Note::Address(one.address)),
            ("bytes", Note::Number(u64::from(one.bytes))),
            ("ended", Note::Text(one.ended.word())),
            ("completions", Note::Number(one.pieces.len() as u64)),
        ];
        let answered = one.first_ns.zip(one.end_ns);
        let flows = if answered.is_some() { &flow[..] } else { &[] };
        let slice = Slice { name: one.kind.word(), category: "request", flows, flows_end: &[], notes: &notes };
        file.slice(of.rows[row], span, &slice)?;
        let Some((first_ns, end_ns)) = answered else { continue };
        let completions = match of.completions {
            Some(track) => track,
            None => {
                let place = Place { parent: Some(of.group), name: "completions", rank: u32::MAX };
                *of.completions.insert(file.track(place)?)
            }
        };
        let notes = &notes[..2];
        if one.pieces.len() > 1 {
            let first = Slice { name: "first completion", category: "completion", flows: &flow, flows_end: &[], notes };
            file.instant(completions, at(first_ns.max(one.start_ns)), &first)?;
        }
        let last = Slice { name: "completion", category: "completion", flows: &[], flows_end: &flow, notes };
        file.instant(completions, at(end_ns.max(first_ns).max(one.start_ns)), &last)?;
    }
    file.finish()
}
