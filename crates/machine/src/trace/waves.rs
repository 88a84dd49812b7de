//! Segments as waveforms.

use std::collections::HashMap;
use std::io::{self, Write};

use hopscope_kernel::{Kind, Record, Sim, Time};
use hopscope_parts::protocols::pci::{ATTRIBUTE, Command, DATA};
use hopscope_signals::pci::segment::Segment;
use hopscope_signals::waves::changes::Changes;
use hopscope_signals::waves::vcd_out::VcdFile;

use super::{Drawing, Drawn, Traced, Window};
use crate::blueprint::Blueprint;

/// Changes are written so long after their time: whoever asks for a bus is known when he gets it. REQ# of those who
/// wait longer is drawn for so long.
const LAG: Time = Time::us(100);

/// A segment that is drawn.
struct DrawnSegment {
    name: String,
    segment: Segment,
    /// Initiators by process.
    initiators: HashMap<u16, usize>,
    agents: Vec<String>,
    transactions: u64,
    speaks_pci_x: bool,
}

/// Draws the segments of a machine.
pub struct Waves {
    window: Window,
    seed: u64,
    /// Cards and bridge of each segment, by its name.
    agents: HashMap<String, Vec<String>>,
    out: Option<Box<dyn Write>>,
    file: Option<VcdFile<Box<dyn Write>>>,
    changes: Changes,
    /// By lane.
    drawn: HashMap<u16, DrawnSegment>,
    processes: Vec<String>,
    seen: Time,
}

impl Waves {
    /// Nothing drawn yet.
    pub fn new(blueprint: &Blueprint, window: Window, seed: u64, out: Box<dyn Write>) -> Waves {
        Waves {
            window,
            seed,
            agents: agents(blueprint),
            out: Some(out),
            file: None,
            changes: Changes::default(),
            drawn: HashMap::new(),
            processes: Vec::new(),
            seen: window.from,
        }
    }

    fn begin(&mut self, sim: &Sim) -> io::Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        self.processes = sim.processes();
        let rates = sim.rates();
        for (number, (name, clock)) in sim.lanes().into_iter().enumerate() {
            let width = rates[number].iter().find(|rate| std::ptr::eq(rate.phase, &DATA)).map(|rate| rate.bytes);
            let (Some(clock), Some(width), Some(agents)) = (clock, width, self.agents.get(&name)) else { continue };
            let agents = agents.clone();
            let (from, seed) = (self.window.from, self.seed);
            let segment = Segment::new(&mut self.changes, &name, (clock, width as u32), &agents, (from, seed));
            let (initiators, transactions, speaks_pci_x) = (HashMap::new(), 0, false);
            self.drawn
                .insert(number as u16, DrawnSegment { name, segment, initiators, agents, transactions, speaks_pci_x });
        }
        self.file = Some(VcdFile::new(out, self.changes.declared(), self.window.from.as_ps())?);
        Ok(())
    }

    fn pass_on(&mut self, until: Time) -> io::Result<()> {
        for of in self.drawn.values_mut() {
            of.segment.run_clock(&mut self.changes, until);
        }
        match &mut self.file {
            Some(file) => self.changes.pass_on(until.as_ps(), file),
            None => Ok(()),
        }
    }
}

impl Drawing for Waves {
    fn records(&mut self, sim: &Sim, batch: &[Record]) -> io::Result<()> {
        self.begin(sim)?;
        let Waves { drawn, changes, processes, window, .. } = self;
        for record in batch {
            if record.at < window.from && record.kind != Kind::Wait {
                continue;
            }
            let Some(of) = drawn.get_mut(&record.lane) else { continue };
            match record.kind {
                Kind::Mark => {
                    let Some(command) = Command::of_label(record.label) else { continue };
                    let initiator = of.initiator(record.who, processes);
                    of.segment.begins(changes, (record.at, initiator), (command, record.span.as_ps()));
                    of.transactions += 1;
                    self.seen = self.seen.max(record.at);
                }
                Kind::Phase => {
                    of.speaks_pci_x |= std::ptr::eq(record.label, &ATTRIBUTE);
                    of.segment.phase(record.label, record.at, record.span);
                }
                Kind::Wait if record.at + record.span >= window.from => {
                    let initiator = of.initiator(record.who, processes);
                    of.segment.granted(initiator, record.at.max(window.from));
                }
                _ => {}
            }
        }
        let settled = self.drawn.values().filter_map(|of| of.segment.settled()).min().unwrap_or(self.seen);
        self.pass_on(settled.min(self.seen).saturating_sub(LAG))
    }

    fn finish(&mut self, sim: &Sim) -> io::Result<Traced> {
        let end = self.window.end();
        self.begin(sim)?;
        for of in self.drawn.values_mut() {
            of.segment.finish(&mut self.changes, end);
        }
        self.pass_on(end)?;
        if let Some(file) = self.file.take() {
            file.finish(end.as_ps())?;
        }
        let mut traced = Traced::default();
        for of in self.drawn.values() {
            let name = of.name.clone();
            match of.speaks_pci_x {
                true => traced.left_out.push((name, "speaks PCI-X, which is not drawn")),
                false => traced.drawn.push(Drawn { name, count: of.transactions, what: "transactions" }),
            }
        }
        traced.drawn.sort();
        traced.left_out.sort();
        Ok(traced)
    }
}

impl DrawnSegment {
    /// Whose wires a process drives: those of the part that it is of, or of the bridge above.
    fn initiator(&mut self, process: u16, processes: &[String]) -> usize {
        let (agents, name) = (&self.agents, processes.get(usize::from(process)));
        *self.initiators.entry(process).or_insert_with(|| {
            let part = name.map_or("", |name| name.split_once('.').map_or(&name[..], |(part, _)| part));
            agents.iter().position(|agent| agent == part).unwrap_or(0)
        })
    }
}

/// What a segment is plugged into, and then what is plugged into the segment, by its name.
fn agents(blueprint: &Blueprint) -> HashMap<String, Vec<String>> {
    let part_of = |port: &str| port.split_once('.').map_or(port, |(part, _)| part).to_string();
    let mut agents: HashMap<String, Vec<String>> = HashMap::new();
    for part in blueprint.parts() {
        let above = part.plugs().next().map(|(_, port)| part_of(&port));
        agents.insert(part.name.clone(), vec![above.unwrap_or_else(|| "host".to_string())]);
    }
    for part in blueprint.parts() {
        for (_, port) in part.plugs() {
            if let Some(of) = agents.get_mut(&part_of(&port)) {
                of.push(part.name.clone());
            }
        }
    }
    agents
}
