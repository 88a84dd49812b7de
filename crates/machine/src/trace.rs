//! The bus on a screen: runs a machine and draws its segments in a window of time, as waveforms.
//!
//! Until the window begins bursts may be booked as trains; within it each is made by itself, so that every clock is
//! drawn from what happened in it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Write};
use std::rc::Rc;

use hopscope_kernel::{Kind, Observer, Record, Sim, Time};
use hopscope_parts::protocols::pci::{ATTRIBUTE, Command, DATA};
use hopscope_signals::pci::segment::Segment;
use hopscope_signals::waves::changes::Changes;
use hopscope_signals::waves::vcd_out::VcdFile;

use crate::blueprint::Blueprint;
use crate::job_file::Job;
use crate::run::{self, Failure};

/// Changes are written so long after their time: whoever asks for a bus is known when he gets it.
const LAG: Time = Time::us(100);

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// From when on.
    pub from: Time,
    /// For how long.
    pub span: Time,
}

/// What was drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// The segments, by name, and transactions on each.
    pub segments: Vec<(String, u64)>,
    /// Segments that are not drawn, since they speak PCI-X.
    pub left_out: Vec<String>,
}

/// Why there is no trace.
#[derive(Debug)]
pub enum Untraced {
    /// The run failed.
    Run(Failure),
    /// The file cannot be written.
    File(io::Error),
}

/// A segment that is drawn.
struct Drawn {
    name: String,
    segment: Segment,
    /// Initiators by process.
    initiators: HashMap<u16, usize>,
    agents: Vec<String>,
    transactions: u64,
    speaks_pci_x: bool,
}

struct Drawing<W: Write> {
    sim: Sim,
    window: Window,
    seed: u64,
    /// Cards and bridge of each segment, by its name.
    agents: HashMap<String, Vec<String>>,
    out: Option<W>,
    file: Option<VcdFile<W>>,
    changes: Changes,
    /// By lane.
    drawn: HashMap<u16, Drawn>,
    processes: Vec<String>,
    seen: Time,
    failed: Option<io::Error>,
}

/// An observer that others keep hold of.
struct Watcher<W: Write>(Rc<RefCell<Drawing<W>>>);

impl<W: Write> Observer for Watcher<W> {
    fn records(&mut self, batch: &[Record]) {
        self.0.borrow_mut().records(batch);
    }

    fn wants_signals(&self) -> bool {
        true
    }
}

impl<W: Write> Drawing<W> {
    fn begin(&mut self) -> io::Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        self.processes = self.sim.processes();
        let rates = self.sim.rates();
        for (number, (name, clock)) in self.sim.lanes().into_iter().enumerate() {
            let width = rates[number].iter().find(|rate| std::ptr::eq(rate.phase, &DATA)).map(|rate| rate.bytes);
            let (Some(clock), Some(width), Some(agents)) = (clock, width, self.agents.get(&name)) else { continue };
            let agents = agents.clone();
            let (from, seed) = (self.window.from, self.seed);
            let segment = Segment::new(&mut self.changes, &name, (clock, width as u32), &agents, (from, seed));
            let (initiators, transactions, speaks_pci_x) = (HashMap::new(), 0, false);
            self.drawn.insert(number as u16, Drawn { name, segment, initiators, agents, transactions, speaks_pci_x });
        }
        self.file = Some(VcdFile::new(out, self.changes.declared(), self.window.from.as_ps())?);
        Ok(())
    }

    fn records(&mut self, batch: &[Record]) {
        if self.failed.is_none()
            && let Err(error) = self.draw(batch)
        {
            self.failed = Some(error);
        }
    }

    fn draw(&mut self, batch: &[Record]) -> io::Result<()> {
        self.begin()?;
        let Drawing { drawn, changes, processes, window, .. } = self;
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

    fn pass_on(&mut self, until: Time) -> io::Result<()> {
        for of in self.drawn.values_mut() {
            of.segment.run_clock(&mut self.changes, until);
        }
        match &mut self.file {
            Some(file) => self.changes.pass_on(until.as_ps(), file),
            None => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<Traced> {
        let end = self.window.from + self.window.span;
        self.begin()?;
        for of in self.drawn.values_mut() {
            of.segment.finish(&mut self.changes, end);
        }
        self.pass_on(end)?;
        if let Some(file) = self.file.take() {
            file.finish(end.as_ps())?;
        }
        let mut traced = Traced::default();
        for of in self.drawn.values() {
            match of.speaks_pci_x {
                true => traced.left_out.push(of.name.clone()),
                false => traced.segments.push((of.name.clone(), of.transactions)),
            }
        }
        traced.segments.sort();
        traced.left_out.sort();
        Ok(traced)
    }
}

impl Drawn {
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

/// Runs `jobs` until the window ends, and writes what was on the wires in it as a value change dump.
pub fn trace<W: Write + 'static>(
    blueprint: &Blueprint,
    jobs: &[Job],
    (window, seed): (Window, u64),
    out: W,
) -> Result<Traced, Untraced> {
    let sim = Sim::new();
    let drawing = Drawing {
        sim: sim.clone(),
        window,
        seed,
        agents: agents(blueprint),
        out: Some(out),
        file: None,
        changes: Changes::default(),
        drawn: HashMap::new(),
        processes: Vec::new(),
        seen: window.from,
        failed: None,
    };
    let drawing = Rc::new(RefCell::new(drawing));
    let end = window.from + window.span;
    let jobs: Vec<Job> = jobs
        .iter()
        .map(|job| Job { ramp_time: Time::ZERO, runtime: Some(end), time_based: true, ..job.clone() })
        .collect();
    let options = run::Options { seed, cut: true, ..run::Options::default() };
    let unrolling = sim.clone();
    sim.process("~window", async move {
        unrolling.wait_until(window.from).await;
        unrolling.end_trains();
    });
    let watcher = Box::new(Watcher(drawing.clone()));
    run::run_in(sim, blueprint, &jobs, options, Some(watcher)).map_err(Untraced::Run)?;
    let mut drawing = drawing.borrow_mut();
    match drawing.failed.take() {
        Some(error) => Err(Untraced::File(error)),
        None => drawing.finish().map_err(Untraced::File),
    }
}
