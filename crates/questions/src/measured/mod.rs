//! A measurement beside the simulation: what was measured, what is simulated, and every hop's ceiling.
//!
//! The ceiling of a hop at this request size is the rate at which it would be busy all the time, if it did for each
//! request what it does in the account: simulated throughput over the share of the time in which it is busy. Of several
//! jobs it is that of all of them together, each with the share that it has in the simulation. It is given for hops that
//! requests wait for. What works behind them, as the arm below a write cache does, may be busy all the time and limit
//! nothing.

mod differences;
pub mod json;
mod words;

use hopscope_files::fio_result::{Got, Measured, MeasuredJob, SIDES};
use hopscope_files::job_file::Job;
use hopscope_files::problem::{Problem, Problems};
use hopscope_machine::fio_json::{Figures, six_decimals};
use hopscope_machine::run::JobOutcome;

use crate::explain::Explained;

/// A measurement sits at a ceiling that it misses by less than this share of it, either way.
pub const TOLERANCE: f64 = 0.05;
/// A hop that moves the workload's bytes to within this share moves each of them once: counts are whole, and an account
/// covers a window of the run only.
const SAME_BYTES: f64 = 0.1;

/// How jobs of a result were found among those simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matched {
    /// Their names are the same.
    Name,
    /// Their names differ, and they are as many.
    Order,
    /// The result reports all of them as one.
    Group,
}

impl Matched {
    /// In one word, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Matched::Name => "name",
            Matched::Order => "order",
            Matched::Group => "group",
        }
    }
}

/// Which jobs of a result are which of the simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// How they were found.
    pub matched: Matched,
    /// For each job of the result, in its order, the indices of those simulated.
    pub simulated: Vec<Vec<usize>>,
}

/// A figure, measured and simulated; nothing where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beside {
    /// As fio has it.
    pub measured: Option<f64>,
    /// As fio would have rounded it.
    pub simulated: Option<f64>,
}

impl Beside {
    /// What the model does not explain: measured less simulated.
    pub fn unexplained(&self) -> Option<f64> {
        Some(self.measured? - self.simulated?)
    }

    /// The same as a share of what was measured.
    pub fn unexplained_share(&self) -> Option<f64> {
        self.unexplained().zip(self.measured).filter(|(_, measured)| *measured > 0.0).map(|(rest, all)| rest / all)
    }
}

/// One direction of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name in the result.
    pub measured: String,
    /// The names of the simulated jobs.
    pub simulated: Vec<String>,
    /// `read`, `write` or `trim`.
    pub side: &'static str,
    /// Bytes per second.
    pub throughput: Beside,
    /// Transfers per second.
    pub iops: Beside,
    /// Mean completion latency, nanoseconds.
    pub latency_ns: Beside,
}

/// What one hop could carry of this workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// The part.
    pub part: String,
    /// Its lane.
    pub lane: String,
    /// The name that it stands under with those that are alike.
    pub hop: String,
    /// Share of the time in which it is busy.
    pub busy_share: f64,
    /// Bytes per second of the workload at which it would be busy all the time; nothing where no request waits for it.
    pub at_this_size: Option<f64>,
    /// Bytes per second of the workload that it could carry if it did nothing else; nothing where it has no rate.
    pub capacity: Option<f64>,
}

impl Ceiling {
    /// The lower of the two.
    pub fn lowest(&self) -> Option<f64> {
        self.at_this_size.into_iter().chain(self.capacity).reduce(f64::min)
    }
}

/// Something about the measurement that is not as it was simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The jobs of the result that it is about.
    pub jobs: Vec<String>,
    /// The option; empty where it is about none.
    pub option: String,
    /// What was measured.
    pub measured: String,
    /// What is simulated; empty where nothing is.
    pub simulated: String,
    /// Why it matters.
    pub why: String,
    /// What it may explain of the difference, in a few words; nothing where the measurement can be compared all the same.
    pub cause: Option<&'static str>,
    /// Whether it is to be known before the figures are read.
    pub stands_first: bool,
}

/// A measurement beside a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The file of the result.
    pub file: String,
    /// The program that measured.
    pub version: String,
    /// How jobs were found.
    pub matched: Matched,
    /// Job by job, and direction by direction.
    pub rows: Vec<Row>,
    /// All of them: bytes per second.
    pub throughput: Beside,
    /// Transfers per second.
    pub iops: Beside,
    /// Every hop, in the order of the account.
    pub ceilings: Vec<Ceiling>,
    /// The hop whose ceiling is the lowest that the measurement does not exceed.
    pub nearest: Option<usize>,
    /// Whether the measurement sits at that ceiling.
    pub sits_there: bool,
    /// Hops whose ceiling it exceeds.
    pub exceeded: Vec<usize>,
    /// What differs.
    pub warnings: Vec<Warning>,
}

/// Finds the jobs of a result among those that are simulated: by name where names agree, else by their order where
/// they are as many, else all of them where the result reports one group.
pub fn pair(measured: &Measured, jobs: &[Job]) -> Result<Pairing, Problems> {
    let named = |name: &str| -> Vec<usize> { (0..jobs.len()).filter(|index| jobs[*index].name == name).collect() };
    let mut by_name: Vec<Vec<usize>> = Vec::new();
    for (index, job) in measured.jobs.iter().enumerate() {
        let same: Vec<usize> = (0..measured.jobs.len()).filter(|i| measured.jobs[*i].name == job.name).collect();
        let simulated = named(&job.name);
        match (same.len(), simulated.len()) {
            (1, 1..) => by_name.push(simulated),
            (all, count) if all == count => {
                let nth = same.iter().position(|i| *i == index).unwrap_or(0);
                by_name.push(vec![simulated[nth]]);
            }
            _ => break,
        }
    }
    let all_found = by_name.len() == measured.jobs.len();
    if all_found && by_name.iter().map(Vec::len).sum::<usize>() == jobs.len() {
        return Ok(Pairing { matched: Matched::Name, simulated: by_name });
    }
    if measured.jobs.len() == jobs.len() {
        let simulated = (0..jobs.len()).map(|index| vec![index]).collect();
        return Ok(Pairing { matched: Matched::Order, simulated });
    }
    if let [group] = &measured.jobs[..]
        && measured.is_group(group)
    {
        return Ok(Pairing { matched: Matched::Group, simulated: vec![(0..jobs.len()).collect()] });
    }
    let list = |names: &mut dyn Iterator<Item = &str>, count: usize| {
        const SHOWN: usize = 8;
        let shown: Vec<String> = names.take(SHOWN).map(|name| format!("`{name}`")).collect();
        let more = if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
        format!("{}{more}", shown.join(", "))
    };
    let (there, here) = (measured.jobs.len(), jobs.len());
    let there_names = list(&mut measured.jobs.iter().map(|job| job.name.as_str()), there);
    let here_names = list(&mut jobs.iter().map(|job| job.name.as_str()), here);
    let place = measured.jobs.first().map(|job| job.place);
    let title = "the jobs of the result are not those that are simulated";
    let problem = place.map_or_else(|| Problem::nowhere(title), |place| Problem::at(place, title));
    let help = format!("measured: {there_names}; simulated: {here_names}. Give them the same names, or as many jobs");
    Err(problem.help(help).into())
}

/// Puts a result beside a run of these jobs.
pub fn compare(file: &str, measured: &Measured, pairing: &Pairing, jobs: &[Job], explained: &Explained) -> Comparison {
    let pairs: Vec<(&MeasuredJob, &Vec<usize>)> = measured.jobs.iter().zip(&pairing.simulated).collect();
    let mut rows = Vec::new();
    for (job, simulated) in &pairs {
        rows.extend((0..SIDES.len()).filter_map(|side| row(job, side, simulated, explained)));
    }
    let sum = |of: fn(&Row) -> Beside| Beside {
        measured: rows.iter().filter_map(|row| of(row).measured).reduce(|a, b| a + b),
        simulated: rows.iter().filter_map(|row| of(row).simulated).reduce(|a, b| a + b),
    };
    let (throughput, iops) = (sum(|row| row.throughput), sum(|row| row.iops));
    let ceilings = ceilings(explained);
    let got = throughput.measured.unwrap_or(0.0);
    let limits = || ceilings.iter().enumerate().filter_map(|(index, hop)| Some((index, hop.lowest()?)));
    let is_exceeded = |limit: f64| got > limit * (1.0 + TOLERANCE);
    let nearest = limits().filter(|(_, limit)| !is_exceeded(*limit)).min_by(|a, b| a.1.total_cmp(&b.1));
    let exceeded = limits().filter(|(_, limit)| is_exceeded(*limit)).map(|(index, _)| index).collect();
    let sits_there = nearest.is_some_and(|(_, limit)| got >= limit * (1.0 - TOLERANCE));
    let mut warnings = Vec::new();
    for (job, simulated) in &pairs {
        differences::add(&mut warnings, measured, job, simulated, jobs);
    }
    Comparison {
        file: file.to_string(),
        version: measured.version.clone(),
        matched: pairing.matched,
        throughput,
        iops,
        ceilings,
        nearest: nearest.map(|(index, _)| index),
        sits_there,
        exceeded,
        warnings,
        rows,
    }
}

/// One direction of a job; nothing where nothing was measured and nothing simulated.
fn row(job: &MeasuredJob, side: usize, simulated: &[usize], explained: &Explained) -> Option<Row> {
    let outcomes = || simulated.iter().filter_map(|index| explained.outcome.jobs.get(*index));
    let got = || outcomes().filter(|outcome| outcome.rw.sides().get(side) == Some(&true));
    let figures = as_fio_has_it(&got().collect::<Vec<_>>(), side);
    let measured = job.sides[side];
    if measured.is_none() && figures.is_none() {
        return None;
    }
    let of = |figure: fn(&Got) -> Option<f64>| Beside {
        measured: measured.as_ref().and_then(figure),
        simulated: figures.as_ref().and_then(figure),
    };
    Some(Row {
        measured: job.name.clone(),
        simulated: got().map(|outcome| outcome.name.clone()).collect(),
        side: SIDES[side],
        throughput: of(|got| got.bytes_per_second),
        iops: of(|got| got.iops),
        latency_ns: of(|got| got.latency_ns),
    })
}

/// What jobs of a group got together in one direction in the simulation, rounded as fio rounds it.
fn as_fio_has_it(jobs: &[&JobOutcome], side: usize) -> Option<Got> {
    let figures = Figures::of_all_in(side, jobs.iter().copied())?;
    let latencies = jobs.iter().filter_map(|job| job.sides.get(side)?.as_ref());
    let latencies: f64 = latencies.map(|got| got.latency_ns.mean() * got.count as f64).sum();
    Some(Got {
        bytes_per_second: Some(figures.bytes_per_second.round()),
        iops: Some(six_decimals(figures.iops)),
        latency_ns: Some(six_decimals(latencies / figures.count as f64)),
        p99_ns: None,
    })
}

impl Comparison {
    /// The ceilings with lanes that are alike as one, for readers: what the fullest of them allows.
    pub fn ceilings_alike(&self) -> Vec<Ceiling> {
        let lower = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::min);
        let mut alike: Vec<Ceiling> = Vec::new();
        for lane in &self.ceilings {
            match alike.iter_mut().find(|known| known.hop == lane.hop) {
                Some(known) => {
                    known.busy_share = known.busy_share.max(lane.busy_share);
                    known.at_this_size = lower(known.at_this_size, lane.at_this_size);
                    known.capacity = lower(known.capacity, lane.capacity);
                }
                None => alike.push(Ceiling { lane: lane.hop.clone(), ..lane.clone() }),
            }
        }
        alike
    }
}

fn ceilings(explained: &Explained) -> Vec<Ceiling> {
    let Explained { account, latency, names, .. } = explained;
    let throughput = explained.throughput();
    let is_waited_for = |lane: &str| {
        let stages = latency.iter().flat_map(|latency| &latency.mean.stages);
        let stages = stages.map(|stage| stage.lane.as_str());
        account.path.iter().map(|entry| entry.lane.as_str()).chain(stages).any(|known| known == lane)
    };
    let hops = account.lanes.iter().map(|lane| {
        let busy_share = lane.busy_share();
        let is_asked = throughput > 0.0 && busy_share > 0.0 && is_waited_for(&lane.lane);
        // A hop may move some of the bytes only, or each of them several times.
        let passes = lane.delivered().map_or(0.0, |delivered| delivered / throughput);
        let capacity = lane.capacity.as_ref().map(|capacity| capacity.bytes_per_second);
        Ceiling {
            part: lane.part.clone(),
            lane: lane.lane.clone(),
            hop: names.of(&lane.lane).to_string(),
            busy_share,
            at_this_size: is_asked.then(|| throughput / busy_share),
            capacity: match capacity {
                Some(capacity) if (passes - 1.0).abs() <= SAME_BYTES => Some(capacity),
                Some(capacity) if passes.is_finite() && passes > 0.0 => Some(capacity / passes),
                _ => None,
            },
        }
    });
    hops.collect()
}
