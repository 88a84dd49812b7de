//! Runs jobs on a machine.

use hopscope_kernel::{Counts, Ended, Observer, Record, Sim, Time};
use hopscope_observe::batches::Rate;
use hopscope_observe::{JobTransfers, Transfers};
use hopscope_parts::protocols::storage::{Operation, READ, Storage, WRITE};
use hopscope_parts::workload::{self, Order};

use crate::blueprint::Blueprint;
use crate::job_file::{Job, Rw};
use crate::nearest::did_you_mean;
use crate::problem::{Problem, Problems};

/// Simulated time after which a run without an end of its own is stopped.
pub const LIMIT: Time = Time::ms(60_000);
/// Largest request.
const BLOCK_MAX: u64 = 16 << 20;
/// Most requests in flight: of a job, and of all of them.
const DEPTH_MAX: u64 = 1_024;
const DEPTHS_MAX: u64 = 4_096;
/// Convergence is looked at in steps of simulated time, each longer by a quarter than the one before.
const FIRST_LOOK: Time = Time::ms(40);

/// Names of jobs' processes start with it; no part has such a name.
const JOB: &str = "job ";

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Decides every draw.
    pub seed: u64,
    /// Whether regular bursts are booked as trains. Results are the same, to the bit.
    pub trains: bool,
    /// Stop when the 95 % interval of the throughput is narrower than this share either way.
    pub until: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Options { seed: 1, trains: true, until: None }
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
    /// The jobs had no end; the limit of simulated time was reached.
    Limit,
}

impl Stop {
    /// In one word, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Stop::Finished => "finished",
            Stop::Runtime => "runtime",
            Stop::Converged => "converged",
            Stop::Limit => "limit",
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
    /// What it got after its ramp time; nothing where no transfer ended.
    pub got: Option<JobTransfers>,
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Job by job.
    pub jobs: Vec<JobOutcome>,
    /// All jobs together.
    pub rate: Rate,
    /// Simulated time.
    pub simulated: Time,
    /// Simulated time that counts: after the ramp.
    pub measured: Time,
    /// Why it stopped.
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
    let mut outcomes = Vec::new();
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
            Ok(spec) => workload::start(sim, &process_name(index, job), spec, volume.clone()),
            Err(problem) => problems.0.push(problem),
        }
        let (name, rw, iodepth) = (job.name.clone(), job.rw, job.iodepth);
        outcomes.push(JobOutcome { name, target, rw, block_bytes: job.block_bytes_min, iodepth, got: None });
    }
    problems.unless_empty(())?;
    let ramp = jobs.iter().map(|job| job.ramp_time).max().unwrap_or(Time::ZERO);
    let runtime = jobs.iter().map(|job| job.runtime).max().flatten();
    let transfers = Transfers::new(ramp);
    let counting = Box::new(transfers.clone());
    sim.observe(match watcher {
        Some(watcher) => Box::new(Both(counting, watcher)),
        None => counting,
    });
    let end = ramp.saturating_add(runtime.unwrap_or(LIMIT)).min(ramp + LIMIT * 60);
    let stop = advance(sim, &transfers, ramp, end, runtime.is_some(), options.until)?;
    let simulated = sim.now();
    sim.tear_down();
    let processes = sim.processes();
    for (index, (job, outcome)) in jobs.iter().zip(&mut outcomes).enumerate() {
        let process = processes.iter().position(|name| *name == process_name(index, job)).unwrap_or(0) as u16;
        outcome.got = transfers.of(process, if job.rw.writes() { &WRITE } else { &READ });
    }
    let (rate, measured) = (transfers.rate(), simulated.saturating_sub(ramp));
    Ok(Outcome { jobs: outcomes, rate, simulated, measured, stop, counts: sim.counts() })
}

/// Jobs start, are measured and stop together.
fn same_times(jobs: &[Job], problems: &mut Problems) {
    let Some(first) = jobs.first() else { return };
    for job in &jobs[1..] {
        let runtime = ("runtime", job.runtime == first.runtime);
        let ramp_time = ("ramp_time", job.ramp_time == first.ramp_time);
        for (option, _) in [runtime, ramp_time].iter().filter(|(_, same)| !same) {
            let title = format!("`{}` has another `{option}` than `{}`", job.name, first.name);
            let problem = Problem::at(job.place_of(option), title).label("not modelled");
            problems.0.push(problem.help(format!("jobs start and stop together: move `{option}` to [global]")));
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

/// Runs until the end, or until the mean is known well enough.
fn advance(
    sim: &Sim,
    transfers: &Transfers,
    ramp: Time,
    end: Time,
    has_runtime: bool,
    until: Option<f64>,
) -> Result<Stop, Failure> {
    let mut look = if until.is_some() { ramp + FIRST_LOOK } else { end };
    loop {
        let ended = sim.run(look.min(end));
        match ended {
            Ended::Finished | Ended::Stopped => return Ok(Stop::Finished),
            // The parts wait for the next request, which never comes.
            Ended::Deadlock(lines) if !lines.iter().any(|line| line.starts_with(JOB)) => return Ok(Stop::Finished),
            Ended::Deadlock(lines) => return Err(defect("everybody waits for somebody", sim, &lines)),
            Ended::Livelock(lines) => return Err(defect("time stands still", sim, &lines)),
            Ended::Limit if sim.now() >= end => return Ok(if has_runtime { Stop::Runtime } else { Stop::Limit }),
            Ended::Limit => {}
        }
        let rate = transfers.rate();
        if until.is_some_and(|share| rate.relative_half_width <= share) {
            return Ok(Stop::Converged);
        }
        look += Time::ps((look - ramp).as_ps() / 4);
    }
}

fn defect(what: &str, sim: &Sim, lines: &[String]) -> Failure {
    Failure::Defect(format!("at {}: {what}\n  {}", sim.now(), lines.join("\n  ")))
}

/// What a job asks of a device, checked against it.
fn fit(job: &Job, volume: &dyn Storage, seed: u64) -> Result<workload::Spec, Problem> {
    let block = u64::from(volume.block_bytes());
    let (min, max) = (job.block_bytes_min, job.block_bytes_max);
    for (size, option) in [(min, "bs"), (max, "bs"), (job.offset_bytes, "offset")] {
        if size % block != 0 {
            let problem = Problem::at(job.place_of(option), format!("{size} bytes are no whole sectors"));
            return Err(problem.help(format!("a multiple of {block} bytes is needed")));
        }
    }
    if max > BLOCK_MAX || max % min != 0 {
        let problem = Problem::at(job.place_of("bs"), format!("requests of {min} to {max} bytes"));
        return Err(problem.help("at most 16 MiB, and the largest a multiple of the smallest"));
    }
    if job.iodepth > DEPTH_MAX {
        let problem = Problem::at(job.place_of("iodepth"), format!("{} requests in flight", job.iodepth));
        return Err(problem.help(format!("at most {DEPTH_MAX}")));
    }
    let room = volume.size_bytes().saturating_sub(job.offset_bytes);
    let asked = job.size_bytes.or(job.size_percent.map(|percent| volume.size_bytes() / 100 * percent));
    let size_bytes = asked.unwrap_or(room) / min * min;
    if size_bytes > room || size_bytes < max {
        let option = if size_bytes > room && asked.is_none() { "offset" } else { "size" };
        let problem = Problem::at(job.place_of(option), format!("{size_bytes} bytes from byte {}", job.offset_bytes));
        let help = format!("the device has {} bytes, and a request needs {max}", volume.size_bytes());
        return Err(problem.help(help));
    }
    Ok(workload::Spec {
        operation: if job.rw.writes() { Operation::Write } else { Operation::Read },
        order: match (job.rw.is_random(), job.random_map) {
            (false, _) => Order::Sequential,
            (true, true) => Order::RandomMap,
            (true, false) => Order::Random,
        },
        block_bytes_min: min as u32,
        block_bytes_max: max as u32,
        depth: job.iodepth as usize,
        offset_bytes: job.offset_bytes,
        size_bytes,
        once: !job.time_based,
        seed: job.randseed.unwrap_or(0).wrapping_mul(0x9E37_79B9).wrapping_add(seed),
    })
}
