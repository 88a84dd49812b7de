//! Runs jobs on a machine.

use std::sync::atomic::AtomicBool;

use hopscope_kernel::{Counts, Ended, Observer, Record, Sim, Time};
use hopscope_observe::batches::Rate;
use hopscope_observe::{JobTransfers, Transfers};
use hopscope_parts::protocols::storage::{READ, Storage, WRITE};
use hopscope_parts::workload::{self, Order, Running, Sizes};

use crate::blueprint::Blueprint;
use crate::convergence::{Ending, Ends, Span, UNTIL, Unsettled, advance};
use crate::job_distributions::Distribution;
use crate::job_file::{Job, Rw};
use crate::nearest::did_you_mean;
use crate::problem::{Problem, Problems};

/// Simulated time after which a run without an end of its own is stopped.
pub const LIMIT: Time = Time::ms(60_000);
/// The same where it is to converge: the arm of a disk takes minutes.
const LIMIT_TO_CONVERGE: Time = Time::ms(600_000);
/// Largest request.
const BLOCK_MAX: u64 = 16 << 20;
/// Most requests in flight: of a job, and of all of them.
pub(crate) const DEPTH_MAX: u64 = 1_024;
const DEPTHS_MAX: u64 = 4_096;

/// Names of jobs' processes start with it; no part has such a name.
pub(crate) const JOB: &str = "job ";

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Decides every draw.
    pub seed: u64,
    /// Whether regular bursts are booked as trains. Results are the same, to the bit.
    pub trains: bool,
    /// Stop when everything has come to rest and the 95 % interval of the throughput is narrower than this share either
    /// way. Jobs that have no end of their own stop at [`UNTIL`] where nothing is said.
    pub until: Option<f64>,
    /// Stop when this is true.
    pub interrupted: Option<&'static AtomicBool>,
}

impl Default for Options {
    fn default() -> Self {
        Options { seed: 1, trains: true, until: None, interrupted: None }
    }
}

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The jobs were done.
    Finished,
    /// The jobs' time was over.
    Runtime,
    /// The mean was known as well as asked for.
    Converged,
    /// The same but for a store, such as spare blocks, that empties for longer than the run may take.
    Drifting,
    /// The jobs had no end; the limit of simulated time, or of requests, was reached.
    Limit,
    /// Somebody did not want to wait for more.
    Interrupted,
}

impl Stop {
    /// In one word, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Stop::Finished => "finished",
            Stop::Runtime => "runtime",
            Stop::Converged => "converged",
            Stop::Drifting => "drifting",
            Stop::Limit => "limit",
            Stop::Interrupted => "interrupted",
        }
    }
}

/// What one job got.
#[derive(Clone, Debug)]
pub struct JobOutcome {
    /// The job's name.
    pub name: String,
    /// The device.
    pub target: String,
    /// Direction and order.
    pub rw: Rw,
    /// Block size, bytes.
    pub block_bytes: u64,
    /// Requests in flight.
    pub iodepth: u64,
    /// Where its figures begin: the end of its ramp time, or of warm-up where the run was to converge.
    pub from: Time,
    /// What it got from there on; nothing where no transfer ended.
    pub got: Option<JobTransfers>,
    /// The same of its reads, and of its writes.
    pub sides: [Option<JobTransfers>; 2],
}

/// Both directions together; nothing where no transfer ended.
fn both(sides: &[Option<JobTransfers>; 2]) -> Option<JobTransfers> {
    match sides {
        [Some(reads), Some(writes)] => Some(reads.with(writes)),
        [one, other] => one.as_ref().or(other.as_ref()).cloned(),
    }
}

/// Jobs that ran at the same time.
#[derive(Clone, Debug)]
pub struct Stage {
    /// When they began.
    pub start: Time,
    /// When their ramp was over.
    pub from: Time,
    /// When they were stopped, or done.
    pub end: Time,
    /// All of them together, of the time that their figures are of.
    pub rate: Rate,
    /// When warm-up was over, also where it counts in the figures because the jobs have a runtime.
    pub warm_up: Time,
    /// Why they stopped.
    pub stop: Stop,
    /// Why the mean is not known as well as it was to be; nothing where it is, or where nobody asked.
    pub unsettled: Option<Unsettled>,
    /// When it was known to [`UNTIL`], where the jobs went on.
    pub settled: Option<Time>,
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Job by job.
    pub jobs: Vec<JobOutcome>,
    /// Stage by stage.
    pub stages: Vec<Stage>,
    /// All jobs together; where there are several stages, those of the last one.
    pub rate: Rate,
    /// Simulated time.
    pub simulated: Time,
    /// Simulated time that counts: after the ramps, or after warm-up where the run was to converge.
    pub measured: Time,
    /// Why it stopped: the last stage, where there are several.
    pub stop: Stop,
    /// What it cost the kernel.
    pub counts: Counts,
}

/// Why there is no outcome.
#[derive(Debug)]
pub enum Failure {
    /// The jobs do not fit the machine.
    Input(Problems),
    /// The model came to a stop by itself: a defect, with what was going on.
    Defect(String),
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Failure::Input(problems)
    }
}

/// Two observers at once.
pub(crate) struct Both(pub(crate) Box<dyn Observer>, pub(crate) Box<dyn Observer>);

impl Observer for Both {
    fn records(&mut self, batch: &[Record]) {
        self.0.records(batch);
        self.1.records(batch);
    }

    fn wants_phases(&self) -> bool {
        self.0.wants_phases() || self.1.wants_phases()
    }
}

/// Runs `jobs` on the machine, with `watcher` besides.
pub fn run(
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    watcher: Option<Box<dyn Observer>>,
) -> Result<Outcome, Failure> {
    run_in(Sim::new(), blueprint, jobs, options, watcher)
}

/// The same in a simulation that the caller keeps, to ask it for its lanes afterwards.
pub fn run_in(
    sim: Sim,
    blueprint: &Blueprint,
    jobs: &[Job],
    options: Options,
    watcher: Option<Box<dyn Observer>>,
) -> Result<Outcome, Failure> {
    let machine = blueprint.instantiate(sim, options.seed)?;
    let sim = &machine.sim;
    if !options.trains {
        sim.without_trains();
    }
    let mut problems = Problems::default();
    same_times(jobs, &mut problems);
    not_too_many(jobs, &mut problems);
    let (mut outcomes, mut running) = (Vec::new(), Vec::new());
    for (index, job) in jobs.iter().enumerate() {
        let target = match &job.targets[..] {
            [] => blueprint.default_target.clone(),
            [one] => one.clone(),
            _ => {
                let problem = Problem::at(job.place_of("filename"), "a job on several devices is not modelled");
                problems.0.push(problem.help("write one job a device"));
                continue;
            }
        };
        let Some(volume) = machine.volumes.get(&target) else {
            let names: Vec<&str> = machine.volumes.keys().map(String::as_str).collect();
            let problem = Problem::at(job.place_of("filename"), format!("this system has no device `{target}`"));
            problems.0.push(problem.help(format!("{} (devices: {})", did_you_mean(&target, &names), names.join(", "))));
            continue;
        };
        match fit(job, &**volume, options.seed) {
            Ok(spec) => {
                let name = process_name(index, job);
                running.push(workload::start(sim, &name, spec, volume.clone(), job.stage > 0));
            }
            Err(problem) => problems.0.push(problem),
        }
        let (name, rw, iodepth) = (job.name.clone(), job.rw, job.iodepth);
        let (block_bytes, from) = (job.block_bytes_min, Time::ZERO);
        outcomes.push(JobOutcome { name, target, rw, block_bytes, iodepth, from, got: None, sides: [None, None] });
    }
    problems.unless_empty(())?;
    let transfers = Transfers::new(Time::ZERO);
    let counting = Box::new(transfers.clone());
    sim.observe(match watcher {
        Some(watcher) => Box::new(Both(counting, watcher)),
        None => counting,
    });
    let last = jobs.iter().map(|job| job.stage).max().unwrap_or(0);
    let mut stages = Vec::new();
    for number in 0..=last {
        let (processes, start) = (sim.processes(), sim.now());
        let of_stage = |job: &Job| job.stage == number;
        let ramp = jobs.iter().filter(|job| of_stage(job)).map(|job| job.ramp_time).max().unwrap_or(Time::ZERO);
        let runtime = jobs.iter().filter(|job| of_stage(job)).map(|job| job.runtime).max().flatten();
        let in_flight = jobs.iter().filter(|job| of_stage(job)).map(|job| job.iodepth).sum();
        let now: Vec<&Running> = jobs.iter().zip(&running).filter(|(job, _)| of_stage(job)).map(|(_, it)| it).collect();
        let from = start + ramp;
        let until = options.until.or_else(|| jobs.iter().filter(|job| of_stage(job)).any(is_endless).then_some(UNTIL));
        transfers.restart(from, until.is_some());
        for running in &now {
            running.begin();
            if number < last {
                running.stop_at_end();
            }
        }
        let limit = if until.is_some() { LIMIT_TO_CONVERGE } else { LIMIT };
        let end = from.saturating_add(runtime.unwrap_or(limit)).min(from + LIMIT * 60);
        let drawn = jobs.iter().filter(|job| of_stage(job)).any(is_drawn);
        let longest = jobs.iter().filter(|job| of_stage(job)).map(|job| job.block_bytes_max).max().unwrap_or(0);
        let span = Span { from, end, has_runtime: runtime.is_some(), in_flight, drawn, longest };
        let loosens = options.until.is_none() && until.is_some();
        let ends = Ends { until, loosens, interrupted: options.interrupted };
        let all_ended = || now.iter().all(|running| running.has_ended());
        let Ending { stop, unsettled, settled } = advance(sim, &transfers, &span, ends, all_ended)?;
        let rate = transfers.rate();
        let warm_up = transfers.batches().warmed_up().max(rate.warm_up);
        for (index, (job, outcome)) in jobs.iter().zip(&mut outcomes).enumerate().filter(|(_, (job, _))| of_stage(job))
        {
            let process = processes.iter().position(|name| *name == process_name(index, job)).unwrap_or(0) as u16;
            let sides = [transfers.of(process, &READ), transfers.of(process, &WRITE)];
            (outcome.from, outcome.got, outcome.sides) = (rate.warm_up, both(&sides), sides);
        }
        stages.push(Stage { start, from, end: sim.now(), rate, warm_up, stop, unsettled, settled });
        if stop == Stop::Interrupted {
            break;
        }
        if number < last {
            drain(sim, &now)?;
        }
    }
    sim.tear_down();
    let measured = stages.iter().fold(Time::ZERO, |sum, stage| sum + stage.end.saturating_sub(stage.rate.warm_up));
    let Some((rate, stop, simulated)) = stages.last().map(|stage| (stage.rate, stage.stop, stage.end)) else {
        return Err(Failure::Defect("a run without a stage".to_string()));
    };
    Ok(Outcome { jobs: outcomes, stages, rate, simulated, measured, stop, counts: sim.counts() })
}

/// Jobs of a stage start, are measured and stop together.
fn same_times(jobs: &[Job], problems: &mut Problems) {
    for job in jobs {
        let Some(first) = jobs.iter().find(|first| first.stage == job.stage) else { continue };
        let runtime = ("runtime", job.runtime == first.runtime);
        let ramp_time = ("ramp_time", job.ramp_time == first.ramp_time);
        for (option, _) in [runtime, ramp_time].iter().filter(|(_, same)| !same) {
            let title = format!("`{}` has another `{option}` than `{}`", job.name, first.name);
            let problem = Problem::at(job.place_of(option), title).label("not modelled");
            problems.0.push(problem.help(format!("jobs start and stop together: move `{option}` to [global]")));
        }
    }
}

/// What looks at a window of a run looks at jobs that run at the same time.
pub(crate) fn at_once(jobs: &[Job]) -> Result<(), Problem> {
    match jobs.iter().find(|job| job.stage > 0) {
        None => Ok(()),
        Some(later) => {
            let problem = Problem::at(later.place_of("stonewall"), format!("`{}` runs after other jobs", later.name));
            Err(problem
                .label("not at the same time")
                .help("`run` takes such jobs; here, write one file for each stage"))
        }
    }
}

/// Drivers queue what all jobs have in flight.
fn not_too_many(jobs: &[Job], problems: &mut Problems) {
    let depths = jobs.iter().fold(0u64, |sum, job| sum.saturating_add(job.iodepth));
    if let Some(last) = jobs.last().filter(|_| depths > DEPTHS_MAX) {
        let title = format!("{depths} requests in flight, over all {} jobs", jobs.len());
        problems.0.push(Problem::at(last.place_of("iodepth"), title).help(format!("at most {DEPTHS_MAX}")));
    }
}

fn process_name(index: usize, job: &Job) -> String {
    format!("{JOB}{index:03} {}", job.name)
}

/// Whether a job goes on for ever: nothing says how long it runs, or how much it moves.
pub fn is_endless(job: &Job) -> bool {
    job.runtime.is_none() && job.size_bytes.is_none() && job.size_percent.is_none()
}

/// Whether chance decides anything about its requests.
fn is_drawn(job: &Job) -> bool {
    let sizes_vary = job.block_bytes_min < job.block_bytes_max || job.write_blocks.is_some();
    job.rw.is_random() || job.rw.sides() == [true, true] || sizes_vary || !job.splits.iter().all(Vec::is_empty)
}

/// Lets jobs end that have been stopped: what is in flight ends, nothing more is issued.
fn drain(sim: &Sim, running: &[&Running]) -> Result<(), Failure> {
    running.iter().for_each(|running| running.end());
    let end = sim.now() + LIMIT * 60;
    while !running.iter().all(|running| running.has_ended()) {
        match sim.run(end) {
            Ended::Finished | Ended::Stopped => {}
            Ended::Deadlock(lines) => return Err(defect("everybody waits for somebody", sim, &lines)),
            Ended::Livelock(lines) => return Err(defect("time stands still", sim, &lines)),
            Ended::Limit => return Err(defect("requests in flight do not end", sim, &[])),
        }
    }
    Ok(())
}

pub(crate) fn defect(what: &str, sim: &Sim, lines: &[String]) -> Failure {
    Failure::Defect(format!("at {}: {what}\n  {}", sim.now(), lines.join("\n  ")))
}

/// What a job asks of a device, checked against it.
fn fit(job: &Job, volume: &dyn Storage, seed: u64) -> Result<workload::Spec, Problem> {
    let block = u64::from(volume.block_bytes());
    let reads = (job.block_bytes_min, job.block_bytes_max);
    let of_writes = job.write_blocks.unwrap_or(reads);
    let sides = job.rw.sides();
    let used = || [reads, of_writes].into_iter().zip(sides).filter(|(_, used)| *used).map(|(sizes, _)| sizes);
    let bs = if job.places.contains_key("bssplit") { "bssplit" } else { "bs" };
    let sizes = used().flat_map(|(min, max)| [min, max]).chain(job.splits.iter().flatten().map(|size| size.0));
    for (size, option) in sizes.map(|size| (size, bs)).chain([(job.offset_bytes, "offset")]) {
        if size % block != 0 {
            let problem = Problem::at(job.place_of(option), format!("{size} bytes are no whole sectors"));
            return Err(problem.help(format!("a multiple of {block} bytes is needed")));
        }
    }
    for (min, max) in used() {
        if max > BLOCK_MAX || max % min != 0 {
            let problem = Problem::at(job.place_of(bs), format!("requests of {min} to {max} bytes"));
            return Err(problem.help("at most 16 MiB, and the largest a multiple of the smallest"));
        }
    }
    for side in job.splits.iter() {
        let min = side.iter().map(|size| size.0).min().unwrap_or(1);
        if let Some((size, _)) = side.iter().find(|(size, _)| size % min != 0) {
            let problem = Problem::at(job.place_of(bs), format!("requests of {min} and of {size} bytes"));
            return Err(problem.help("each size a multiple of the smallest, on which addresses are aligned"));
        }
    }
    if job.iodepth > DEPTH_MAX {
        let problem = Problem::at(job.place_of("iodepth"), format!("{} requests in flight", job.iodepth));
        return Err(problem.help(format!("at most {DEPTH_MAX}")));
    }
    let (min, max) = used().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or(reads);
    let room = volume.size_bytes().saturating_sub(job.offset_bytes);
    let asked = job.size_bytes.or(job.size_percent.map(|percent| volume.size_bytes() / 100 * percent));
    let size_bytes = asked.unwrap_or(room) / min * min;
    if size_bytes > room || size_bytes < max {
        let option = if size_bytes > room && asked.is_none() { "offset" } else { "size" };
        let problem = Problem::at(job.place_of(option), format!("{size_bytes} bytes from byte {}", job.offset_bytes));
        let help = format!("the device has {} bytes, and a request needs {max}", volume.size_bytes());
        return Err(problem.help(help));
    }
    let sizes_of = |side: usize, (min, max): (u64, u64)| match &job.splits[side][..] {
        [] => Sizes::Range { min: min as u32, max: max as u32 },
        split => Sizes::Split(split.iter().map(|(bytes, percent)| (*bytes as u32, *percent)).collect()),
    };
    Ok(workload::Spec {
        reads_percent: match sides {
            [true, true] => job.reads_percent,
            [reads, _] => 100 * u32::from(reads),
        },
        order: match (job.rw.is_random(), job.distribution, job.random_map) {
            (false, ..) => Order::Sequential,
            (true, Distribution::Random, true) => Order::RandomMap,
            (true, Distribution::Random, false) => Order::Random,
            (true, Distribution::Zipf(theta), _) => Order::Zipf(theta),
            (true, Distribution::Pareto(share), _) => Order::Pareto(share),
            (true, Distribution::Normal(percent), _) => Order::Normal(percent),
            (true, Distribution::Zoned, _) => Order::Zoned(job.zones.clone()),
        },
        random_percent: job.random_percent,
        sizes: [sizes_of(0, reads), sizes_of(1, of_writes)],
        depth: job.iodepth as usize,
        offset_bytes: job.offset_bytes,
        size_bytes,
        once: !job.time_based,
        think: Some(job.think).filter(|think| think.time > Time::ZERO),
        seed: job.randseed.unwrap_or(0).wrapping_mul(0x9E37_79B9).wrapping_add(seed),
    })
}
