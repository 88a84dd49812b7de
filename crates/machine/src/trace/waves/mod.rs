//! Buses as waveforms: a scope each.
//!
//! - `segment`: PCI. `cable`: IDE. `states`: what has no wires, as words.

mod cable;
mod segment;
mod states;

use std::collections::HashMap;
use std::io;

use hopscope_kernel::{Record, Sim, Time, whole};
use hopscope_parts::protocols::pci::DATA;
use hopscope_signals::waves::changes::{Changes, Declared, Sink};
use hopscope_signals::waves::fst_out::FstFile;
use hopscope_signals::waves::vcd_out::VcdFile;

use super::{Drawing, Drawn, Out, Traced, Window, part_of};
use crate::blueprint::Blueprint;

/// Changes are written so long after their time: whoever asks for a bus is known when he gets it, and some hops say what
/// they were doing when it is over. What is said later is drawn from where the file has come to.
const LAG: Time = Time::ms(5);

/// Wires that are drawn: those of a lane.
trait Wired {
    /// The next record of the lane.
    fn record(&mut self, changes: &mut Changes, record: &Record, processes: &[String]);

    /// A train with its phases, most of them before the window.
    fn train(&mut self, _changes: &mut Changes, _train: &[Record]) {}

    /// Nothing will be said any more of what was before; nothing where the lane is quiet.
    fn settled(&self) -> Option<Time> {
        None
    }

    /// What goes on without anybody doing anything, until then.
    fn run_until(&mut self, _changes: &mut Changes, _until: Time) {}

    /// What is under way, until `end`.
    fn finish(&mut self, _changes: &mut Changes, _end: Time) {}

    /// What was drawn.
    fn drawn(&self) -> Vec<Drawn>;
}

/// A file of waveforms that is being written.
type WavesFile = Box<dyn Sink<Error = io::Error>>;

/// Begins a file that has these wires, at this time.
type Begin = Box<dyn FnOnce(&[Declared], u64) -> io::Result<WavesFile>>;

/// A value change dump.
pub fn vcd(out: Box<dyn Out>) -> Begin {
    Box::new(|wires, start_ps| Ok(Box::new(VcdFile::new(out, wires, start_ps)?)))
}

/// A file in GTKWave's format.
pub fn fst(out: Box<dyn Out>) -> Begin {
    Box::new(|wires, start_ps| Ok(Box::new(FstFile::new(out, wires, start_ps)?)))
}

/// Draws the buses of a machine.
pub struct Waves {
    window: Window,
    seed: u64,
    /// What is plugged into each part, and first what that is plugged into, by its name.
    agents: HashMap<String, Vec<String>>,
    /// Names of IDE cables.
    cables: Vec<String>,
    begin: Option<Begin>,
    file: Option<WavesFile>,
    changes: Changes,
    /// By lane.
    drawn: HashMap<u16, Box<dyn Wired>>,
    processes: Vec<String>,
    seen: Time,
}

impl Waves {
    /// Nothing drawn yet.
    pub fn new(blueprint: &Blueprint, window: Window, seed: u64, begin: Begin) -> Waves {
        let cables = blueprint.parts().iter().filter(|part| part.kind.model == "ide-cable");
        Waves {
            window,
            seed,
            agents: agents(blueprint),
            cables: cables.map(|part| part.name.clone()).collect(),
            begin: Some(begin),
            file: None,
            changes: Changes::from(window.from.as_ps()),
            drawn: HashMap::new(),
            processes: Vec::new(),
            seen: window.from,
        }
    }

    fn begin(&mut self, sim: &Sim) -> io::Result<()> {
        let Some(begin) = self.begin.take() else { return Ok(()) };
        self.processes = sim.processes();
        let (rates, pattern) = (sim.rates(), (self.window.from, self.seed));
        for (number, (name, clock)) in sim.lanes().into_iter().enumerate() {
            let width = rates[number].iter().find(|rate| rate.phase == &DATA).map(|rate| rate.bytes);
            let wired: Box<dyn Wired> = match (clock, width, self.agents.get(&name)) {
                (Some(clock), Some(width), Some(agents)) => {
                    let timing = (clock, width as u32);
                    Box::new(segment::DrawnSegment::new(&mut self.changes, &name, timing, agents, pattern))
                }
                _ if self.cables.contains(&name) => Box::new(cable::DrawnCable::new(&mut self.changes, &name, pattern)),
                _ => Box::new(states::DrawnStates::new(&mut self.changes, &name, self.window.from)),
            };
            self.drawn.insert(number as u16, wired);
        }
        self.file = Some(begin(self.changes.declared(), self.window.from.as_ps())?);
        Ok(())
    }

    fn pass_on(&mut self, until: Time) -> io::Result<()> {
        for of in self.drawn.values_mut() {
            of.run_until(&mut self.changes, until);
        }
        match &mut self.file {
            Some(file) => self.changes.pass_on(until.as_ps(), &mut **file),
            None => Ok(()),
        }
    }
}

impl Drawing for Waves {
    fn records(&mut self, sim: &Sim, batch: &[Record]) -> io::Result<()> {
        self.begin(sim)?;
        for records in whole(batch) {
            let Some((lane, begun)) = on_lane(&records[0]) else { continue };
            let Some(of) = self.drawn.get_mut(&lane) else { continue };
            self.seen = begun.map_or(self.seen, |at| self.seen.max(at));
            match records {
                [record] => of.record(&mut self.changes, record, &self.processes),
                train => of.train(&mut self.changes, train),
            }
        }
        let settled = self.drawn.values().filter_map(|of| of.settled()).min().unwrap_or(self.seen);
        self.pass_on(settled.min(self.seen).saturating_sub(LAG))
    }

    fn finish(&mut self, sim: &Sim) -> io::Result<Traced> {
        let end = self.window.end();
        self.begin(sim)?;
        for of in self.drawn.values_mut() {
            of.finish(&mut self.changes, end);
        }
        self.pass_on(end)?;
        if let Some(file) = self.file.take() {
            file.end(end.as_ps())?;
        }
        let mut traced = Traced::default();
        traced.drawn.extend(self.drawn.values().flat_map(|of| of.drawn()));
        traced.drawn.sort();
        Ok(traced)
    }
}

/// The lane that a record is of, if it is of one, and when what it says began; what is planned has not begun.
fn on_lane(record: &Record) -> Option<(u16, Option<Time>)> {
    match *record {
        Record::Phase { lane, at, .. }
        | Record::Delay { lane, at, .. }
        | Record::LaneWait { lane, at, .. }
        | Record::Carried { lane, at, .. }
        | Record::Train { lane, at, .. } => Some((lane, Some(at))),
        Record::Planned { lane, .. } | Record::Left { lane, .. } => Some((lane, None)),
        _ => None,
    }
}

/// What a part is plugged into, and then what is plugged into it, by its name.
fn agents(blueprint: &Blueprint) -> HashMap<String, Vec<String>> {
    let mut agents: HashMap<String, Vec<String>> = HashMap::new();
    for part in blueprint.parts() {
        let above = part.plugs().next().map(|(_, port)| part_of(&port).to_string());
        agents.insert(part.name.clone(), vec![above.unwrap_or_else(|| "host".to_string())]);
    }
    for part in blueprint.parts() {
        for (_, port) in part.plugs() {
            if let Some(of) = agents.get_mut(part_of(&port)) {
                of.push(part.name.clone());
            }
        }
    }
    agents
}
