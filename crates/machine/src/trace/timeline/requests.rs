//! Requests on tracks: each from its issue to its end, on a track of its own among those in flight with it, and within it
//! what its time was spent in.

use std::collections::{BTreeSet, HashMap};
use std::io;

use hopscope_kernel::{Label, Time};
use hopscope_observe::lives::StageKind;
use hopscope_observe::lives::ways::{Happened, Issued, Way};
use hopscope_parts::protocols::storage::{READ, WRITE};
use hopscope_signals::timeline::pftrace::{Note, Place, Slice, Track, Unit};

use super::tracks::Tracks;
use super::within;
use crate::run::JOB;
use crate::trace::{Drawn, Window};

/// The job of a process of that name.
fn job_of(process: &str) -> &str {
    let numbered = process.strip_prefix(JOB).and_then(|rest| rest.split_once(' '));
    numbered.map_or(process, |(_, job)| job)
}

/// A request that is in flight.
struct Open {
    issued: Issued,
    /// Which of the tracks of its job.
    slot: usize,
    /// Direction and place, where they are known.
    asked: Option<(&'static Label, u64)>,
    /// The track and when its slice begins, once it has begun.
    drawn: Option<(Track, Time)>,
}

/// The tracks of a job.
#[derive(Default)]
struct Slots {
    tracks: Vec<Option<Track>>,
    free: BTreeSet<usize>,
    in_flight: u64,
    /// Above them all, and the counter of those in flight.
    group: Option<(Track, Track)>,
    drawn: u64,
}

/// Draws requests.
pub(super) struct Requests {
    window: Window,
    /// Whether something that ended in the window has been seen.
    begun: bool,
    open: HashMap<u32, Open>,
    jobs: HashMap<u16, Slots>,
    asked: HashMap<u16, (&'static Label, u64)>,
}

impl Requests {
    /// None yet.
    pub(super) fn new(window: Window) -> Requests {
        Requests { window, begun: false, open: HashMap::new(), jobs: HashMap::new(), asked: HashMap::new() }
    }

    /// What the request is for that this process issues next.
    pub(super) fn asked(&mut self, &Happened { who, label, value, .. }: &Happened) {
        if [&READ, &WRITE].contains(&label) {
            self.asked.insert(who, (label, value));
        }
    }

    /// Whether the flow of a request may come by at `at`: it is drawn, and has begun.
    pub(super) fn flows_by(&self, request: u32, at: Time) -> bool {
        self.open.get(&request).and_then(|open| open.drawn).is_some_and(|(_, begins)| begins <= at)
    }

    /// Something ended then. Once that is in the window, those in flight are drawn.
    pub(super) fn come_to(&mut self, at: Time, tracks: &mut Tracks) -> io::Result<()> {
        if self.begun || at <= self.window.from {
            return Ok(());
        }
        self.begun = true;
        let mut waiting: Vec<u32> = self.open.keys().copied().collect();
        waiting.sort_unstable();
        waiting.into_iter().try_for_each(|request| self.begin(request, tracks))
    }

    /// A request is issued.
    pub(super) fn issued(&mut self, issued: Issued, tracks: &mut Tracks) -> io::Result<()> {
        let job = self.jobs.entry(issued.who).or_default();
        let slot = job.free.pop_first().unwrap_or_else(|| {
            job.tracks.push(None);
            job.tracks.len() - 1
        });
        let asked = self.asked.remove(&issued.who);
        self.open.insert(issued.request, Open { issued, slot, asked, drawn: None });
        self.come_to(issued.at, tracks)?;
        if self.begun { self.begin(issued.request, tracks) } else { Ok(()) }
    }

    fn begin(&mut self, request: u32, tracks: &mut Tracks) -> io::Result<()> {
        let end = self.window.end();
        let known = self.open.get_mut(&request).filter(|open| open.drawn.is_none() && open.issued.at < end);
        let Some(open) = known else { return Ok(()) };
        let at = open.issued.at.max(self.window.from);
        let job = self.jobs.entry(open.issued.who).or_default();
        let (group, counter) = match job.group {
            Some(group) => group,
            None => {
                let name = format!("requests of {}", job_of(tracks.process(open.issued.who)));
                let group = tracks.file.track(Place { parent: None, name: &name, rank: 0 })?;
                let place = Place { parent: Some(group), name: "in flight", rank: 0 };
                *job.group.insert((group, tracks.file.counter(place, Unit::Count)?))
            }
        };
        let track = match job.tracks[open.slot] {
            Some(track) => track,
            None => {
                let (parent, rank) = (Some(group), open.slot as u32 + 1);
                let name = format!("slot {rank}");
                *job.tracks[open.slot].insert(tracks.file.track(Place { parent, name: &name, rank })?)
            }
        };
        (job.in_flight, job.drawn) = (job.in_flight + 1, job.drawn + 1);
        open.drawn = Some((track, at));
        let number = ("request", Note::Number(u64::from(request)));
        let (name, notes) = match open.asked {
            Some((label, offset)) => (label.name, [number, ("offset", Note::Number(offset))].to_vec()),
            None => ("request", vec![number]),
        };
        let flows = [u64::from(request)];
        let slice = Slice { name, category: "request", flows: &flows, flows_end: &[], notes: &notes };
        tracks.file.begin(track, at.as_ps(), &slice)?;
        tracks.file.count(counter, at.as_ps(), job.in_flight)
    }

    /// A request has ended: what it spent its time in is known.
    pub(super) fn ended(&mut self, way: &Way, tracks: &mut Tracks) -> io::Result<()> {
        self.come_to(way.ended, tracks)?;
        let Some(open) = self.open.remove(&way.issued.request) else { return Ok(()) };
        if let Some((track, _)) = open.drawn {
            for stretch in &way.stretches {
                let Some(within) = within(self.window, stretch.from, stretch.until) else { continue };
                let place = match stretch.lane {
                    Some(lane) => tracks.lane(lane),
                    None => tracks.process(stretch.who),
                };
                let place = place.to_string();
                let notes = [("at", Note::Text(&place))];
                let category = match stretch.kind {
                    StageKind::Service => "service",
                    StageKind::Shared => "shared",
                    StageKind::Wait => "wait",
                };
                let slice = Slice { name: stretch.label.name, category, notes: &notes, ..Slice::default() };
                tracks.file.slice(track, within, &slice)?;
            }
        }
        let bytes = [("bytes", Note::Number(u64::from(way.bytes)))];
        self.end(&open, way.ended, ("completed", &bytes), tracks)
    }

    fn end(
        &mut self,
        open: &Open,
        at: Time,
        (how, notes): (&str, &[(&str, Note)]),
        tracks: &mut Tracks,
    ) -> io::Result<()> {
        let job = self.jobs.entry(open.issued.who).or_default();
        job.free.insert(open.slot);
        let Some((track, begun)) = open.drawn else { return Ok(()) };
        job.in_flight -= 1;
        let flows_end = [u64::from(open.issued.request)];
        let instant = Slice { name: how, category: "request", flows_end: &flows_end, ..Slice::default() };
        tracks.file.instant(track, at.as_ps(), &instant)?;
        tracks.file.end(track, (begun.as_ps(), at.as_ps()), notes)?;
        job.group.map_or(Ok(()), |(_, counter)| tracks.file.count(counter, at.as_ps(), job.in_flight))
    }

    /// The window is over.
    pub(super) fn finish(&mut self, tracks: &mut Tracks) -> io::Result<()> {
        self.come_to(self.window.end(), tracks)?;
        let mut left: Vec<Open> = self.open.drain().map(|(_, open)| open).collect();
        left.sort_by_key(|open| open.issued.request);
        let end = self.window.end();
        left.iter().try_for_each(|open| self.end(open, end, ("goes on", &[]), tracks))
    }

    /// How many of each job.
    pub(super) fn drawn(&self, tracks: &Tracks) -> Vec<Drawn> {
        let jobs = self.jobs.iter().filter(|(_, job)| job.drawn > 0);
        let named = jobs.map(|(who, job)| (job_of(tracks.process(*who)).to_string(), job.drawn));
        let mut drawn: Vec<Drawn> = named.map(|(name, count)| Drawn { name, count, what: "requests" }).collect();
        drawn.sort();
        drawn
    }
}
