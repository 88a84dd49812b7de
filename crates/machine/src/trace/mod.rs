//! The bus on a screen: runs a machine and draws what happens in it in a window of time.
//!
//! Until the window begins bursts may be booked as trains; within it each is made by itself, so that every clock is
//! drawn from what happened in it.
//!
//! - `waves`: segments as waveforms.

mod waves;

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use hopscope_kernel::{Observer, Record, Sim, Time};

use crate::blueprint::Blueprint;
use crate::job_file::Job;
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

/// As what a run is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A value change dump.
    Vcd,
}

impl Format {
    /// Every format, by the ending of its files.
    pub const ENDINGS: [(&str, Format); 1] = [("vcd", Format::Vcd)];

    /// The format of a file with this name.
    pub fn of(file: &Path) -> Option<Format> {
        let ending = file.extension()?;
        Format::ENDINGS.iter().find(|(of, _)| ending == *of).map(|(_, format)| *format)
    }

    fn drawing(self, blueprint: &Blueprint, window: Window, seed: u64, out: Box<dyn Write>) -> Box<dyn Drawing> {
        match self {
            Format::Vcd => Box::new(waves::Waves::new(blueprint, window, seed, out)),
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
    /// Hops that the format could draw and this program cannot, by name, with why.
    pub left_out: Vec<(String, &'static str)>,
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

    /// The run has ended, with the window.
    fn finish(&mut self, sim: &Sim) -> io::Result<Traced>;
}

/// A drawing under way, with the first error of its file.
type UnderWay = (Box<dyn Drawing>, io::Result<()>);

/// An observer that others keep hold of.
struct Watcher {
    sim: Sim,
    drawing: Rc<RefCell<UnderWay>>,
}

impl Observer for Watcher {
    fn records(&mut self, batch: &[Record]) {
        let (drawing, so_far) = &mut *self.drawing.borrow_mut();
        if so_far.is_ok() {
            *so_far = drawing.records(&self.sim, batch);
        }
    }

    fn wants_signals(&self) -> bool {
        true
    }
}

/// Runs `jobs` until the window ends, and writes what happened in it.
pub fn trace(
    blueprint: &Blueprint,
    jobs: &[Job],
    (window, seed): (Window, u64),
    (format, out): (Format, Box<dyn Write>),
) -> Result<Traced, Untraced> {
    let sim = Sim::new();
    let drawing = Rc::new(RefCell::new((format.drawing(blueprint, window, seed, out), Ok(()))));
    let jobs: Vec<Job> = jobs
        .iter()
        .map(|job| Job { ramp_time: Time::ZERO, runtime: Some(window.end()), time_based: true, ..job.clone() })
        .collect();
    let options = run::Options { seed, cut: true, ..run::Options::default() };
    let unrolling = sim.clone();
    sim.process("~window", async move {
        unrolling.wait_until(window.from).await;
        unrolling.end_trains();
    });
    let watcher = Box::new(Watcher { sim: sim.clone(), drawing: drawing.clone() });
    run::run_in(sim.clone(), blueprint, &jobs, options, Some(watcher)).map_err(Untraced::Run)?;
    let (drawing, so_far) = &mut *drawing.borrow_mut();
    std::mem::replace(so_far, Ok(())).and_then(|()| drawing.finish(&sim)).map_err(Untraced::File)
}
