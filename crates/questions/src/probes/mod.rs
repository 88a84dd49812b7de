//! Probes: what can be read off a short run, off the phases of its lanes or off its account.
//!
//! A probe knows lanes by their names (`pci`, `cable`, `link.up`), not the machine around them.

mod cable_account;
mod ide_transfers;
mod pci_dma;
mod pci_transactions;
mod pci_x_bursts;
mod pcie_reads;

use hopscope_files::job_file::Job;
use hopscope_files::problem::{Problem, Problems};
use hopscope_kernel::{Label, Rate, Sim, Time};
use hopscope_machine::blueprint::Blueprint;
use hopscope_machine::run::{Failure, Options, run_in};
use hopscope_observe::account::{Account, Extent};
use hopscope_observe::{Interval, Phases};
use hopscope_parts::nearest::did_you_mean;
use hopscope_parts::parameters::Value;
use serde_json::{Map, json};

use crate::explain::{EXTENT, explain};
use crate::work::Work;

pub use pci_dma::dma_write_cycle;

/// Something that can be read off a short run.
#[derive(Clone, Copy)]
pub struct Probe {
    /// Its name, as in a formula.
    pub name: &'static str,
    /// The unit of its figure; empty where it counts.
    pub unit: &'static str,
    /// What it measures, and on which lanes.
    pub what: &'static str,
    how: How,
}

/// What a probe reads its figure off.
#[derive(Clone, Copy)]
enum How {
    Trace(fn(&Trace) -> Figure),
    Account(fn(&Account) -> Figure),
}

/// What was read; or what there was none of.
type Figure = Result<f64, String>;

/// Every probe, family by family.
pub static PROBES: &[Probe] = &joined();

const FAMILIES: [&[Probe]; 5] =
    [&pci_dma::PROBES, &ide_transfers::PROBES, &pcie_reads::PROBES, &pci_x_bursts::PROBES, &cable_account::PROBES];

const fn joined() -> [Probe; 41] {
    let (mut all, mut at, mut family, mut index) = ([FAMILIES[0][0]; 41], 0, 0, 0);
    while family < FAMILIES.len() {
        if index == FAMILIES[family].len() {
            (family, index) = (family + 1, 0);
        } else {
            all[at] = FAMILIES[family][index];
            (at, index) = (at + 1, index + 1);
        }
    }
    assert!(at == all.len());
    all
}

impl Probe {
    const fn traced(name: &'static str, unit: &'static str, what: &'static str, read: fn(&Trace) -> Figure) -> Probe {
        Probe { name, unit, what, how: How::Trace(read) }
    }

    const fn accounted(
        name: &'static str,
        unit: &'static str,
        what: &'static str,
        read: fn(&Account) -> Figure,
    ) -> Probe {
        Probe { name, unit, what, how: How::Account(read) }
    }
}

/// The names of all.
pub fn names() -> Vec<&'static str> {
    PROBES.iter().map(|probe| probe.name).collect()
}

/// The probe of this name.
pub fn find(name: &str) -> Option<&'static Probe> {
    PROBES.iter().find(|probe| probe.name == name)
}

/// The probes of these names.
pub fn named(names: &[String]) -> Result<Vec<&'static Probe>, Problem> {
    let of = |name: &String| {
        find(name).ok_or_else(|| {
            let near = did_you_mean(name, &self::names());
            let help = format!("{near} (`hopscope run --help` lists all)");
            Problem::nowhere(format!("there is no probe `{name}`")).help(help)
        })
    };
    names.iter().map(of).collect()
}

/// So much of some work is traced, at most: hundreds of requests of a disk.
const TRACED: Time = Time::ms(100);

/// What probes read off some work, each beside its probe: off its jobs' runtime, or as much of it as is traced.
pub fn read_off<'a>(work: &Work, trains: bool, probes: &[&'a Probe]) -> Result<Vec<(&'a Probe, f64)>, Failure> {
    let jobs = &work.jobs.jobs;
    let runtime = jobs.iter().filter_map(|job| job.runtime).max();
    let span = runtime.map_or(TRACED, |runtime| runtime.min(TRACED));
    let values = read(&work.blueprint, jobs, span, trains, probes)?;
    Ok(probes.iter().copied().zip(values).collect())
}

/// Figures by the names of their probes, for programs.
pub fn json(figures: &[(&Probe, f64)]) -> serde_json::Value {
    let one = |(probe, value): &(&Probe, f64)| (probe.name.to_string(), json!({ "value": value, "unit": probe.unit }));
    figures.iter().map(one).collect::<Map<_, _>>().into()
}

/// What an account is made of: some dozens of requests, however many spans they take.
const REQUESTS: Extent = Extent { spans: 200_000, requests: 40, ..EXTENT };

/// Reads probes off one run of `jobs` for `span`, in their order: off a trace, off an account, or both. It is an error
/// where there was nothing of that kind.
pub fn read(
    blueprint: &Blueprint,
    jobs: &[Job],
    span: Time,
    trains: bool,
    probes: &[&Probe],
) -> Result<Vec<f64>, Failure> {
    let (mut trace, mut account) = (None, None);
    let (mut figures, mut problems) = (Vec::new(), Problems::default());
    for probe in probes {
        let figure = match probe.how {
            How::Trace(read) => read(match &mut trace {
                Some(trace) => trace,
                none => none.insert(Trace::of(blueprint, jobs, span, trains)?),
            }),
            How::Account(read) => read(match &mut account {
                Some(account) => account,
                none => {
                    let (jobs, options) = (for_a(span, jobs), cut(trains));
                    none.insert(explain(blueprint, &jobs, options, REQUESTS, None)?.account)
                }
            }),
        };
        match figure {
            Ok(figure) => figures.push(figure),
            Err(missing) => {
                let title = format!("there is no `{}` in {span} of this run: {missing}", probe.name);
                problems.0.push(Problem::nowhere(title).help(format!("it is: {}", probe.what)));
            }
        }
    }
    Ok(problems.unless_empty(figures)?)
}

/// The jobs from the first request on, for that long.
fn for_a(span: Time, jobs: &[Job]) -> Vec<Job> {
    let timed = |job: &Job| Job { ramp_time: Time::ZERO, runtime: Some(span), time_based: true, ..job.clone() };
    jobs.iter().map(timed).collect()
}

/// A window is looked at, whatever is in flight at its end.
fn cut(trains: bool) -> Options {
    Options { trains, cut: true, ..Options::default() }
}

/// A short run with every phase kept.
pub struct Trace {
    sim: Sim,
    phases: Phases,
    machine: Blueprint,
}

impl Trace {
    /// Runs `jobs` for `span`.
    pub fn of(blueprint: &Blueprint, jobs: &[Job], span: Time, trains: bool) -> Result<Trace, Failure> {
        let (sim, phases) = (Sim::new(), Phases::default());
        run_in(sim.clone(), blueprint, &for_a(span, jobs), cut(trains), Some(Box::new(phases.clone())))?;
        Ok(Trace { sim, phases, machine: blueprint.clone() })
    }

    /// The phases of a lane, in order of time; none where there is no such lane.
    pub fn lane(&self, name: &str) -> Vec<Interval> {
        self.phases.of(&self.sim, name)
    }

    /// The period of a lane's clock, where it has one.
    pub fn clock(&self, lane: &str) -> Option<Time> {
        self.sim.lanes().into_iter().find(|(name, _)| name == lane)?.1
    }

    /// The phases of a lane that was used.
    fn used(&self, name: &str) -> Result<Vec<Interval>, String> {
        match self.lane(name) {
            phases if !phases.is_empty() => Ok(phases),
            _ if self.sim.lanes().iter().any(|(lane, _)| lane == name) => Err(format!("nobody used the lane `{name}`")),
            _ => Err(format!("the machine has no lane `{name}`")),
        }
    }

    /// The period of the clock of a lane that has to have one.
    fn clocked(&self, lane: &str) -> Result<Time, String> {
        self.clock(lane).ok_or_else(|| format!("the lane `{lane}` has no clock"))
    }

    /// How fast a lane moves bytes in a phase.
    fn rate(&self, lane: &str, phase: &'static Label) -> Option<Rate> {
        let number = self.sim.lanes().iter().position(|(name, _)| name == lane)?;
        self.sim.rates().get(number)?.iter().find(|rate| rate.phase == phase).copied()
    }

    /// A number of the machine that is a time, by path.
    fn time(&self, path: &str) -> Result<Time, String> {
        match self.machine.numbers().into_iter().find(|(known, _)| known == path).map(|(_, entry)| &entry.value) {
            Some(Value::Time(time)) => Ok(*time),
            _ => Err(format!("the machine has no time `{path}`")),
        }
    }
}
