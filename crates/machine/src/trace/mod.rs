//! A run on a screen: runs a machine and draws what happens in it in a window of time.
//!
//! Until the window begins bursts may be booked as trains; within it each is made by itself, so that every clock is
//! drawn from what happened in it.
//!
//! - `packets`: what crosses PCI Express links.
//! - `sought`: windows that are named by what happens in them.
//! - `timeline`: requests and hops on tracks.
//! - `waves`: segments as waveforms.

mod packets;
pub mod sought;
mod timeline;
mod waves;

use std::cell::RefCell;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::rc::Rc;

use hopscope_files::job_file::Job;
use hopscope_files::problem::Problem;
use hopscope_kernel::{Observer, Record, Sim, Time};

use crate::blueprint::Blueprint;
use crate::run::{self, Failure};

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// From when on.
    pub from: Time,
    /// For how long.
    pub span: Time,
}

impl Window {
    /// When it ends.
    pub fn end(&self) -> Time {
        self.from + self.span
    }
}

/// Where a drawing goes. An FST file's beginning is written last.
pub trait Out: Write + Seek {}

impl<T: Write + Seek> Out for T {}

/// As what a run is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A value change dump: segments clock by clock, cables edge by edge.
    Vcd,
    /// A pcap file: packets of PCI Express.
    Pcap,
    /// The same in GTKWave's format, which is smaller.
    Fst,
    /// A timeline as Perfetto reads it: requests, and what hops were in.
    Timeline,
}

impl Format {
    /// Every format, by the ending of its files.
    pub const ENDINGS: [(&str, Format); 4] =
        [("vcd", Format::Vcd), ("fst", Format::Fst), ("pftrace", Format::Timeline), ("pcap", Format::Pcap)];

    /// The format of a file with this name.
    pub fn of(file: &Path) -> Result<Format, Problem> {
        let named = |ending| Format::ENDINGS.iter().find(|(of, _)| ending == *of);
        file.extension().and_then(named).map(|(_, format)| *format).ok_or_else(|| {
            let title = format!("the ending of `{}` says no format", file.display());
            let endings = Format::ENDINGS.map(|(ending, _)| format!("FILE.{ending}"));
            Problem::nowhere(title).help(format!("name it {}", endings.join(" or ")))
        })
    }

    /// Whether the packets of this link alone can be drawn.
    pub fn has_link(self, blueprint: &Blueprint, link: &str) -> Result<(), Problem> {
        if self != Format::Pcap {
            return Err(Problem::nowhere("--link is of packets").help("name the file FILE.pcap"));
        }
        let links = links(blueprint);
        if links.contains(&link) {
            return Ok(());
        }
        let there = if links.is_empty() { "none".to_string() } else { links.join(", ") };
        let problem = Problem::nowhere(format!("no link is called `{link}`"));
        Err(problem.help(format!("links of PCI Express: {there}")))
    }

    fn drawing(
        self,
        blueprint: &Blueprint,
        link: Option<&str>,
        (window, seed): (Window, u64),
        out: Box<dyn Out>,
    ) -> Box<dyn Drawing> {
        match self {
            Format::Vcd => Box::new(waves::Waves::new(blueprint, window, seed, waves::vcd(out))),
            Format::Fst => Box::new(waves::Waves::new(blueprint, window, seed, waves::fst(out))),
            Format::Pcap => Box::new(packets::Packets::new(blueprint, link, (window, seed), out)),
            Format::Timeline => Box::new(timeline::Timeline::new(blueprint, window, out)),
        }
    }
}

/// A hop that was drawn.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Drawn {
    /// Its name.
    pub name: String,
    /// How much of it.
    pub count: u64,
    /// Of what, in the plural.
    pub what: &'static str,
}

/// What was drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// By name.
    pub drawn: Vec<Drawn>,
}

/// Why there is no trace.
#[derive(Debug)]
pub enum Untraced {
    /// The run failed.
    Run(Failure),
    /// The file cannot be written.
    File(io::Error),
}

/// Whoever draws what is recorded.
trait Drawing {
    /// The next records of the run; the machine stands by the first of them.
    fn records(&mut self, sim: &Sim, batch: &[Record]) -> io::Result<()>;

    /// How often it wants to know how much is where.
    fn samples_every(&self) -> Option<Time> {
        None
    }

    /// This is where how much is, now.
    fn sample(&mut self, _: &Sim) -> io::Result<()> {
        Ok(())
    }

    /// The run has ended, with the window.
    fn finish(&mut self, sim: &Sim) -> io::Result<Traced>;
}

/// A drawing, with the first error of its file.
type Begun = (Box<dyn Drawing>, io::Result<()>);

/// An observer that others keep hold of.
#[derive(Clone)]
struct Watcher {
    sim: Sim,
    drawing: Rc<RefCell<Begun>>,
}

impl Watcher {
    fn draws(&self, draw: impl FnOnce(&mut dyn Drawing, &Sim) -> io::Result<()>) {
        let (drawing, so_far) = &mut *self.drawing.borrow_mut();
        if so_far.is_ok() {
            *so_far = draw(&mut **drawing, &self.sim);
        }
    }
}

impl Observer for Watcher {
    fn records(&mut self, batch: &[Record]) {
        self.draws(|drawing, sim| drawing.records(sim, batch));
    }

    fn wants_signals(&self) -> bool {
        true
    }
}

/// The part that a lane, a process or a port is of, by its name.
fn part_of(name: &str) -> &str {
    name.split_once('.').map_or(name, |(part, _)| part)
}

/// Jobs that go on until `end`, and are looked at from their beginning.
fn until(jobs: &[Job], end: Time) -> Vec<Job> {
    let to_the_end = |job: &Job| Job { ramp_time: Time::ZERO, runtime: Some(end), time_based: true, ..job.clone() };
    jobs.iter().map(to_the_end).collect()
}

/// Links of PCI Express, by name: what packets can be drawn of.
fn links(blueprint: &Blueprint) -> Vec<&str> {
    let links = blueprint.parts().iter().filter(|part| part.kind.model == "pcie-link");
    links.map(|part| &part.name[..]).collect()
}

/// Runs `jobs` until the window ends, and writes what happened in it; of packets those of one link, where one is named.
pub fn trace(
    blueprint: &Blueprint,
    jobs: &[Job],
    (window, seed): (Window, u64),
    (format, out): (Format, Box<dyn Out>),
    link: Option<&str>,
) -> Result<Traced, Untraced> {
    let sim = Sim::new();
    let drawing = format.drawing(blueprint, link, (window, seed), out);
    let every = drawing.samples_every();
    let drawing = Rc::new(RefCell::new((drawing, Ok(()))));
    let jobs = until(jobs, window.end());
    let options = run::Options { seed, cut: true, ..run::Options::default() };
    let watcher = Watcher { sim: sim.clone(), drawing: drawing.clone() };
    let (unrolling, sampling) = (sim.clone(), watcher.clone());
    sim.process("~window", async move {
        unrolling.wait_until(window.from).await;
        unrolling.end_trains();
        while let Some(every) = every.filter(|_| unrolling.now() < window.end()) {
            sampling.draws(|drawing, sim| drawing.sample(sim));
            unrolling.wait_until(unrolling.now() + every).await;
        }
    });
    run::run_in(sim.clone(), blueprint, &jobs, options, Some(Box::new(watcher))).map_err(Untraced::Run)?;
    let (drawing, so_far) = &mut *drawing.borrow_mut();
    std::mem::replace(so_far, Ok(())).and_then(|()| drawing.finish(&sim)).map_err(Untraced::File)
}
