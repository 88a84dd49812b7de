//! A run on tracks: what each lane was in, who waited for it, and each request with the way it went.
//!
//! ```text
//!   requests of a job      slot   ▕ write                                  ▏
//!                                 ▕ command ▕ seek ▕ data ▕ status         ▏   the request's way
//!   part  ── lane                    address│wait│data│…  ← flows of requests
//!            ├── waiting             bus busy               whoever waits for the lane
//!            ├── owed                firmware               delays that are owed to its part
//!            └── at work             %
//!         ── process                 queue empty            waits where no lane is concerned
//!   levels ── what waits and what parts hold
//! ```

mod carried;
mod requests;
mod tracks;
mod used;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use hopscope_kernel::{Class, Holder, Kind, Record, Sim, Span, Time, Unit};
use hopscope_observe::lives::ways::{Happened, Said, Ways};
use hopscope_signals::timeline::pftrace::{self, Note, Place, Slice, TimelineFile, Track};

use self::carried::Carried;
use self::requests::Requests;
use self::tracks::{Rows, Tracks};
use self::used::Used;
use super::{Drawing, Drawn, Traced, Window, part_of};
use crate::blueprint::{Blueprint, Part};

/// How much is where is said so often in a window, and so often the share of its time that a lane is at work.
const STEPS: u64 = 200;

/// Ranks below the track of a lane.
const WAITING: u32 = 0;
const OWED: u32 = 10_000;
const AT_WORK: u32 = 20_000;
const HELD: u32 = 20_001;

/// Draws a run.
pub struct Timeline {
    window: Window,
    step: Time,
    parts: Vec<String>,
    out: Option<Box<dyn Write>>,
    board: Option<(Ways, Board)>,
}

/// What is drawn on.
struct Board {
    window: Window,
    step: Time,
    tracks: Tracks,
    lanes: Vec<Lane>,
    /// Waits of processes where no lane is concerned, and how many.
    processes: HashMap<u16, (Rows, u64)>,
    requests: Requests,
    levels: HashMap<Holder, (Option<Track>, u64)>,
}

/// What is drawn of a lane.
#[derive(Default)]
struct Lane {
    phases: Rows,
    waiting: Rows,
    owed: Rows,
    carried: Carried,
    used: Used,
    counter: Option<Track>,
    /// How many spans.
    spans: u64,
    /// When its last phase ended, whose that was, and for which request.
    last: Option<(Time, u16, Option<u32>)>,
}

impl Timeline {
    /// Nothing drawn yet.
    pub fn new(blueprint: &Blueprint, window: Window, out: Box<dyn Write>) -> Timeline {
        let step = Time::ns(window.span.as_ps().div_ceil(STEPS).div_ceil(1_000).max(1));
        Timeline { window, step, parts: as_wired(blueprint.parts()), out: Some(out), board: None }
    }

    fn begin(&mut self, sim: &Sim) -> io::Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        let tracks = Tracks::new(TimelineFile::new(out)?, &self.parts, sim);
        let lanes = sim.lanes().iter().map(|_| Lane::default()).collect();
        let board = Board {
            window: self.window,
            step: self.step,
            tracks,
            lanes,
            processes: HashMap::new(),
            requests: Requests::new(self.window),
            levels: HashMap::new(),
        };
        self.board = Some((Ways::new(sim), board));
        Ok(())
    }
}

impl Drawing for Timeline {
    fn records(&mut self, sim: &Sim, batch: &[Record]) -> io::Result<()> {
        self.begin(sim)?;
        let Some((ways, board)) = &mut self.board else { return Ok(()) };
        ways.follow(batch, |ways, said| board.said(ways, said))
    }

    fn samples_every(&self) -> Option<Time> {
        Some(self.step)
    }

    fn sample(&mut self, sim: &Sim) -> io::Result<()> {
        self.begin(sim)?;
        let Some((_, board)) = &mut self.board else { return Ok(()) };
        board.sample(sim)
    }

    fn finish(&mut self, sim: &Sim) -> io::Result<Traced> {
        self.begin(sim)?;
        let Some((_, mut board)) = self.board.take() else { return Ok(Traced::default()) };
        board.requests.finish(&mut board.tracks)?;
        let (from, end, step) = (self.window.from, self.window.end(), self.step);
        for lane in &mut board.lanes {
            if let Some(counter) = lane.counter {
                let file = &mut board.tracks.file;
                lane.used.finish((from, end, step), |at, share| file.share(counter, at.as_ps(), share))?;
            }
        }
        let mut drawn = board.requests.drawn(&board.tracks);
        let mut parts: BTreeMap<&str, u64> = BTreeMap::new();
        let of_lanes = (0..).zip(&board.lanes).map(|(number, lane)| (board.tracks.lane(number), lane.spans));
        let of_processes = board.processes.iter().map(|(number, of)| (board.tracks.process(*number), of.1));
        for (name, count) in of_lanes.chain(of_processes).filter(|(_, count)| *count > 0) {
            *parts.entry(part_of(name)).or_default() += count;
        }
        drawn.extend(parts.into_iter().map(|(name, count)| Drawn { name: name.to_string(), count, what: "spans" }));
        board.tracks.file.finish()?;
        Ok(Traced { drawn })
    }
}

/// The part of a window that a span covers, where there is any.
fn within(window: Window, from: Time, until: Time) -> Option<(u64, u64)> {
    let (from, until) = (from.max(window.from), until.min(window.end()));
    (from < until).then(|| (from.as_ps(), until.as_ps()))
}

impl Board {
    fn said(&mut self, ways: &Ways, said: Said) -> io::Result<()> {
        match said {
            Said::Issued(issued) => self.requests.issued(issued, &mut self.tracks),
            Said::Ended(way) => self.requests.ended(&way, &mut self.tracks),
            Said::Happened(happened) => match happened.lane {
                Some(lane) => self.carried(lane, &happened),
                None => {
                    self.requests.asked(&happened);
                    Ok(())
                }
            },
            Said::Span(span) => match within(self.window, span.at, span.at + span.span) {
                Some(stretch) => self.span(ways, &span, stretch),
                None => Ok(()),
            },
        }
    }

    fn span(&mut self, ways: &Ways, span: &Span, stretch: (u64, u64)) -> io::Result<()> {
        self.requests.come_to(span.at + span.span, &mut self.tracks)?;
        if let Some(lane) = span.lane() {
            self.lanes[usize::from(lane)].spans += 1;
        }
        let track = match span.kind {
            Kind::Phase(lane) => return self.phase(ways, lane, span, stretch),
            Kind::QueueWait(_) => {
                let (rows, count) = self.processes.entry(span.who).or_default();
                *count += 1;
                self.tracks.process_row(rows, span.who, stretch)?
            }
            Kind::Delay(number) => {
                let lane = &mut self.lanes[usize::from(number)];
                let parent = self.tracks.lane_row(&mut lane.phases, number, None)?;
                self.tracks.row(&mut lane.owed, parent, ("owed", OWED), stretch)?
            }
            Kind::LaneWait(number) => {
                let lane = &mut self.lanes[usize::from(number)];
                let parent = self.tracks.lane_row(&mut lane.phases, number, None)?;
                self.tracks.row(&mut lane.waiting, parent, ("waiting", WAITING), stretch)?
            }
        };
        self.attached(track, ways, span, stretch)
    }

    /// A phase of a lane. Flows of requests come by where a process begins to hold the lane for them.
    fn phase(&mut self, ways: &Ways, number: u16, span: &Span, stretch: (u64, u64)) -> io::Result<()> {
        let lane = &mut self.lanes[usize::from(number)];
        let request = ways.of(span.who).next().map(|issued| issued.request);
        let before = lane.last.replace((span.at + span.span, span.who, request));
        let goes_on = before == Some((span.at, span.who, request));
        let track = self.tracks.lane_row(&mut lane.phases, number, Some(stretch))?;
        if matches!(span.label.class, Class::Payload | Class::Through | Class::Protocol) {
            let counter = match lane.counter {
                Some(counter) => counter,
                None => {
                    let parent = self.tracks.lane_row(&mut lane.phases, number, None)?;
                    let place = Place { parent: Some(parent), name: "at work", rank: AT_WORK };
                    *lane.counter.insert(self.tracks.file.counter(place, pftrace::Unit::Percent)?)
                }
            };
            let file = &mut self.tracks.file;
            let window = (self.window.from, self.window.end(), self.step);
            lane.used.add(stretch, window, |at, share| file.share(counter, at.as_ps(), share))?;
        }
        let flows: Vec<u64> = ways
            .of(span.who)
            .filter(|issued| !goes_on && self.requests.flows_by(issued.request, Time::ps(stretch.0)))
            .map(|issued| u64::from(issued.request))
            .collect();
        self.slice(track, ways, span, (stretch, &flows))
    }

    fn attached(&mut self, track: Track, ways: &Ways, span: &Span, stretch: (u64, u64)) -> io::Result<()> {
        self.slice(track, ways, span, (stretch, &[]))
    }

    fn slice(
        &mut self,
        track: Track,
        ways: &Ways,
        span: &Span,
        (stretch, flows): ((u64, u64), &[u64]),
    ) -> io::Result<()> {
        let Tracks { file, processes, .. } = &mut self.tracks;
        let who = processes.get(usize::from(span.who)).map_or("", |name| name);
        let mut requests = ways.of(span.who).map(|issued| issued.request);
        let request = requests.next().filter(|_| requests.next().is_none());
        let notes = [("by", Note::Text(who)), ("request", Note::Number(u64::from(request.unwrap_or(0))))];
        let notes = if request.is_some() { &notes[..] } else { &notes[..1] };
        let slice = Slice { name: span.label.name, category: word(span.label.class), flows, flows_end: &[], notes };
        file.slice(track, stretch, &slice)
    }

    /// What wires carry.
    fn carried(&mut self, number: u16, &Happened { label, at, value, .. }: &Happened) -> io::Result<()> {
        let lane = &mut self.lanes[usize::from(number)];
        let Some((name, notes)) = lane.carried.said(label, value) else { return Ok(()) };
        if at < self.window.from || at >= self.window.end() {
            return Ok(());
        }
        let track = self.tracks.lane_row(&mut lane.phases, number, None)?;
        let slice = Slice { name, category: "wires", notes: &notes, ..Slice::default() };
        self.tracks.file.instant(track, at.as_ps(), &slice)
    }

    /// How much is where now. What has been empty so far has no track.
    fn sample(&mut self, sim: &Sim) -> io::Result<()> {
        let levels = sim.levels();
        for (level, amount) in levels.known().iter().zip(levels.amounts()) {
            let (track, last) = self.levels.entry(level.holder).or_default();
            if *last == amount {
                continue;
            }
            *last = amount;
            let track = match *track {
                Some(track) => track,
                None => {
                    let (parent, name, rank) = match level.holder {
                        Holder::Lane(number) => {
                            let phases = &mut self.lanes[number].phases;
                            (self.tracks.lane_row(phases, number as u16, None)?, "how many wait", HELD)
                        }
                        Holder::Queue(number) => (self.tracks.group("levels")?, &level.name[..], number as u32 + 1_000),
                        Holder::Part(number) => (self.tracks.group("levels")?, &level.name[..], number as u32),
                    };
                    let unit = if level.unit == Unit::Bytes { pftrace::Unit::Bytes } else { pftrace::Unit::Count };
                    *track.insert(self.tracks.file.counter(Place { parent: Some(parent), name, rank }, unit)?)
                }
            };
            self.tracks.file.count(track, sim.now().as_ps(), amount)?;
        }
        Ok(())
    }
}

/// The category of slices of a class.
fn word(class: Class) -> &'static str {
    match class {
        Class::Payload => "payload",
        Class::Through => "passing on",
        Class::Protocol => "protocol",
        Class::Reason => "wait",
        Class::Queued => "in line",
        Class::Workload => "workload",
        Class::Mark => "mark",
    }
}

/// Parts in the order of the wiring: each after what it is plugged into, and before its neighbours.
fn as_wired(parts: &[Part]) -> Vec<String> {
    let above = |part: &Part| part.plugs().next().map(|(_, port)| part_of(&port).to_string());
    let mut below: HashMap<Option<String>, Vec<&str>> = HashMap::new();
    for part in parts.iter().rev() {
        below.entry(above(part)).or_default().push(&part.name);
    }
    let mut next = below.remove(&None).unwrap_or_default();
    let mut order: Vec<String> = Vec::new();
    while let Some(name) = next.pop() {
        order.push(name.to_string());
        next.extend(below.remove(&Some(name.to_string())).unwrap_or_default());
    }
    order
}
