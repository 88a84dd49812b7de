//! Tracks, made when something is drawn on them: parts as they are wired, and below them lanes and processes.

use std::collections::HashMap;
use std::io::{self, Write};

use hopscope_kernel::Sim;
use hopscope_signals::timeline::pftrace::{Place, TimelineFile, Track};
use hopscope_signals::timeline::slots::Slots;

use crate::trace::part_of;

/// Ranks below the track of a part: lanes, then processes.
const PROCESSES: u32 = 100_000;
/// Rank of what is no part, beside parts: after them.
const NO_PART: u32 = 100_000;

/// Tracks beside each other for spans that overlap.
#[derive(Default)]
pub(super) struct Rows {
    slots: Slots,
    tracks: Vec<Track>,
}

/// The file, with its tracks.
pub(super) struct Tracks {
    pub(super) file: TimelineFile<Box<dyn Write>>,
    lanes: Vec<String>,
    pub(super) processes: Vec<String>,
    /// Ranks of parts.
    parts: HashMap<String, u32>,
    groups: HashMap<String, Track>,
}

impl Tracks {
    /// None yet, of a machine with parts in this order.
    pub(super) fn new(file: TimelineFile<Box<dyn Write>>, parts: &[String], sim: &Sim) -> Tracks {
        let lanes = sim.lanes().into_iter().map(|(name, _)| name).collect();
        let parts = (1..).zip(parts).map(|(rank, part)| (part.clone(), rank)).collect();
        Tracks { file, lanes, processes: sim.processes(), parts, groups: HashMap::new() }
    }

    /// Name of a lane.
    pub(super) fn lane(&self, number: u16) -> &str {
        self.lanes.get(usize::from(number)).map_or("", |name| name)
    }

    /// Name of a process.
    pub(super) fn process(&self, number: u16) -> &str {
        self.processes.get(usize::from(number)).map_or("", |name| name)
    }

    /// The track of a part, or of something else that has others below it.
    pub(super) fn group(&mut self, name: &str) -> io::Result<Track> {
        if let Some(track) = self.groups.get(name) {
            return Ok(*track);
        }
        let rank = self.parts.get(name).copied().unwrap_or(NO_PART);
        let track = self.file.track(Place { parent: None, name, rank })?;
        self.groups.insert(name.to_string(), track);
        Ok(track)
    }

    /// The track of a lane on which a phase has room. A lane is in one phase at a time, so that there is one.
    pub(super) fn lane_row(&mut self, rows: &mut Rows, number: u16, stretch: Option<(u64, u64)>) -> io::Result<Track> {
        let row = stretch.map_or(0, |(from, until)| rows.slots.row(from, until));
        match rows.tracks.get(row) {
            Some(track) => Ok(*track),
            None => {
                let name = self.lane(number).to_string();
                let group = self.group(part_of(&name))?;
                self.new_row(rows, group, (&name, u32::from(number)))
            }
        }
    }

    /// The track on which a wait of a process has room.
    pub(super) fn process_row(&mut self, rows: &mut Rows, number: u16, stretch: (u64, u64)) -> io::Result<Track> {
        let row = rows.slots.row(stretch.0, stretch.1);
        match rows.tracks.get(row) {
            Some(track) => Ok(*track),
            None => {
                let name = self.process(number).to_string();
                let group = self.group(part_of(&name))?;
                let name = format!("{name} waits");
                self.new_row(rows, group, (&name, PROCESSES + u32::from(number)))
            }
        }
    }

    /// The track of these on which a span has room.
    pub(super) fn row(
        &mut self,
        rows: &mut Rows,
        parent: Track,
        named: (&str, u32),
        (from, until): (u64, u64),
    ) -> io::Result<Track> {
        let row = rows.slots.row(from, until);
        if row == rows.tracks.len() {
            return self.new_row(rows, parent, named);
        }
        Ok(rows.tracks[row])
    }

    fn new_row(&mut self, rows: &mut Rows, parent: Track, (name, rank): (&str, u32)) -> io::Result<Track> {
        let number = rows.tracks.len() as u32;
        let name = if number == 0 { name.to_string() } else { format!("{name} ({})", number + 1) };
        let track = self.file.track(Place { parent: Some(parent), name: &name, rank: rank + number })?;
        rows.tracks.push(track);
        Ok(track)
    }
}
